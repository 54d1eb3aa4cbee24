"""``jax._src.public_test_util``: comparisons to tolerances by dtype."""

from __future__ import annotations

from cotangent.jax.mirror._src.testing import closeness
from cotangent.jax.mirror._src.testing.closeness import *  # noqa: F403
from cotangent.jax.mirror._src.testing.closeness import assert_numpy_allclose as _assert_numpy_allclose
from cotangent.jax.mirror._src.testing.closeness import check_dtypes_match as _check_dtypes_match
from cotangent.jax.mirror._src.testing.closeness import dtype_of as _dtype

__all__ = ["_assert_numpy_allclose", "_check_dtypes_match", "_dtype", *closeness.__all__]
