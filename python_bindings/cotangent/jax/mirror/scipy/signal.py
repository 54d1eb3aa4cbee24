"""``jax.scipy.signal``: convolutions of integers are computed, and returned, as floating numbers."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import cotangent.numpy as cnp
from cotangent.jax.narrowing import narrow
from cotangent.scipy import signal

__all__ = ["convolve", "convolve2d", "correlate", "correlate2d"]


def _of_floats(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def run(in1: Any, in2: Any, *args: Any, **kwargs: Any) -> Any:
        arrays = [cnp.asarray(narrow(x)) for x in (in1, in2)]
        return function(
            *[x if cnp.issubdtype(x.dtype, cnp.inexact) else x.astype(float) for x in arrays], *args, **kwargs
        )

    return run


convolve, correlate = _of_floats(signal.convolve), _of_floats(signal.correlate)
convolve2d, correlate2d = _of_floats(signal.convolve2d), _of_floats(signal.correlate2d)
