"""How often jitted functions were captured, which test suites count."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from cotangent.jax.tracebacks import api_boundary

__all__ = ["count", "counted"]

_captured = 0


def count() -> int:
    """The number of captures of jitted functions so far."""
    return _captured


def counted(trace: Callable[..., Any]) -> Callable[..., Any]:
    """What captures a jitted function, counted, and with errors as functions of JAX's have them."""

    @functools.wraps(trace)
    def run(*args: Any, **kwargs: Any) -> Any:
        global _captured
        _captured += 1
        return trace(*args, **kwargs)

    return api_boundary(run)  # type: ignore[no-any-return]
