"""``jax._src.lax.lax``."""

from __future__ import annotations

from typing import Any

import numpy as np

from cotangent import _core
from cotangent._base import primitives
from cotangent.jax.mirror.dtypes import canonicalize_dtype
from cotangent.jax.narrowing import narrow

__all__ = ["_convert_element_type"]


def _convert_element_type(operand: Any, new_dtype: Any = None, weak_type: bool = False, sharding: Any = None) -> Any:
    """An array with another dtype, that may yield to the dtypes of others."""
    x = _core.array(narrow(operand))
    dtype = x.dtype if new_dtype is None else canonicalize_dtype(new_dtype, allow_extended_dtype=True)
    if x.dtype == dtype and x.weak_type == weak_type:
        return x
    return primitives.convert(x, dtype=np.dtype(dtype), weak=weak_type)
