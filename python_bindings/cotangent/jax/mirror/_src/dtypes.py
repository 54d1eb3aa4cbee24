"""``jax._src.dtypes``."""

from __future__ import annotations

import numpy as np

from cotangent.dtypes import extended
from cotangent.jax.mirror.dtypes import TypePromotionError
from cotangent.jax.narrowing import canonical

__all__ = ["DType", "ExtendedDType", "TypePromotionError", "canonical", "extended"]

DType = np.dtype
ExtendedDType = extended
