"""``jax._src.random.core``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from cotangent import lax
from cotangent.jax.mirror._src.random.prng import prngs
from cotangent.jax.settings import state

__all__ = ["_check_broadcast_shapes", "_safe_int_to_float", "default_prng_impl"]


def default_prng_impl() -> Any:
    """The generator of keys."""
    return prngs[state("default_prng_impl").value]


def _check_broadcast_shapes(name: str, shape: Sequence[int] | None, *param_shapes: Sequence[int]) -> tuple[int, ...]:
    """The shape of what is drawn, by the shapes of parameters where none is given.

    Raises:
        ValueError: the parameters do not fit the one that is given.
    """
    if shape is None:
        return lax.broadcast_shapes(*map(tuple, param_shapes)) if param_shapes else ()
    wanted = tuple(shape)
    for given in param_shapes:
        if np.broadcast_shapes(tuple(given), wanted) != wanted:
            raise ValueError(
                f"{name} got shape={wanted}, to which a parameter of shape {tuple(given)} is not broadcast"
            )
    return wanted


def _safe_int_to_float(bits: Any, dtype: Any) -> Any:
    """Of ints of 64 bits, in two words, the nearest number below in the interval from 0 to 1.

    Raises:
        RuntimeError: the words have not 32 bits, or the result is to have another number.
    """
    words = np.asarray(bits)
    if words.dtype != np.uint32 or np.dtype(dtype) != np.float32:
        raise RuntimeError("_safe_int_to_float: words of 32 bits make a float32")
    whole = (words[0].astype(np.uint64) << np.uint64(32)) | words[1].astype(np.uint64)
    kept = np.frompyfunc(lambda i: i >> max(i.bit_length() - 24, 0) << max(i.bit_length() - 24, 0), 1, 1)
    return lax.convert_element_type(np.ldexp(np.asarray(kept(whole.astype(object)), np.float64), -64), np.float32)
