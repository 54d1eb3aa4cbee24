"""``jax.dlpack``."""

from __future__ import annotations

from typing import Any

import numpy as np

from cotangent import _core
from cotangent.numpy import from_dlpack

__all__ = ["from_dlpack", "is_supported_dtype"]


def is_supported_dtype(dtype: Any) -> bool:
    """Whether arrays of a dtype can be handed over."""
    try:
        return np.dtype(_core.canonical_dtype(dtype)).kind in "biufc" or str(dtype) == "bfloat16"
    except (TypeError, ValueError):
        return False
