"""``jax.dtypes``: what `cotangent.dtypes` has otherwise."""

from __future__ import annotations

from typing import Any

import numpy as np

from cotangent import dtypes
from cotangent.jax.internals.promotion import TypePromotionError
from cotangent.jax.internals.tiny_types import is_tiny
from cotangent.jax.narrowing import canonical

__all__ = ["TypePromotionError", "canonicalize_dtype"]


def canonicalize_dtype(dtype: Any, allow_extended_dtype: bool = False) -> Any:
    """The dtype that arrays have where this one is asked for; without one, that of floating numbers."""
    if is_tiny(dtype):
        return np.dtype(dtype)
    if isinstance(dtype, np.dtype) and dtype == dtypes.float0:
        return dtype
    return canonical(dtypes.canonicalize_dtype(float if dtype is None else dtype, allow_extended_dtype))
