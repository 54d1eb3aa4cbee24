"""``jax._src.test_util``: what test suites of JAX and of its libraries import; `cotangent.jax.mirror._src.testing` has it. It needs absl-py."""

from __future__ import annotations

from absl.testing import parameterized

from cotangent.jax.mirror._src.config import Flag
from cotangent.jax.mirror._src.testing import (
    base,
    cases,
    closeness,
    counting,
    grids,
    kinds,
    loader,
    machine,
    many_digits,
    programs,
    samples,
    surroundings,
    warned,
)
from cotangent.jax.mirror._src.testing.closeness import assert_numpy_allclose as _assert_numpy_allclose
from cotangent.jax.mirror._src.testing.closeness import check_dtypes_match as _check_dtypes_match
from cotangent.jax.mirror._src.testing.closeness import default_tolerance
from cotangent.jax.mirror._src.testing.closeness import dtype_of as _dtype
from cotangent.jax.mirror._src.testing.loader import TEST_NUM_THREADS
from cotangent.jax.mirror._src.testing.samples import cast_to_shape as _cast_to_shape
from cotangent.jax.mirror._src.testing.samples import dims_of_shape as _dims_of_shape

_PARTS = (
    base,
    cases,
    closeness,
    counting,
    grids,
    kinds,
    loader,
    machine,
    many_digits,
    programs,
    samples,
    surroundings,
    warned,
)
for _part in _PARTS:
    globals().update({name: getattr(_part, name) for name in _part.__all__})

SKIP_SLOW_TESTS = Flag("jax_skip_slow_tests", False)
TEST_WITH_PERSISTENT_COMPILATION_CACHE = Flag("jax_test_with_persistent_compilation_cache", False)
_default_tolerance = default_tolerance()

__all__ = [
    "SKIP_SLOW_TESTS",
    "TEST_NUM_THREADS",
    "TEST_WITH_PERSISTENT_COMPILATION_CACHE",
    "_assert_numpy_allclose",
    "_cast_to_shape",
    "_check_dtypes_match",
    "_default_tolerance",
    "_dims_of_shape",
    "_dtype",
    "parameterized",
    *(name for part in _PARTS for name in part.__all__),
]
