"""``jax._src.public_test_util``: comparisons to tolerances by dtype."""

from __future__ import annotations

from typing import Any

import numpy as np

from cotangent import tree_util
from cotangent.test_util import check_grads

__all__ = ["check_close", "check_grads"]

_TOLERANCE = {
    "bfloat16": 1e-2,
    "float16": 1e-3,
    "float32": 1e-6,
    "float64": 1e-15,
    "complex64": 1e-6,
    "complex128": 1e-15,
}


def _tolerance(dtype: Any, given: Any) -> float:
    if isinstance(given, dict):  # by dtypes however they are written
        given = {np.dtype(key): value for key, value in given.items()}.get(dtype)
    return _TOLERANCE.get(str(dtype), 0.0) if given is None else float(given)


def check_close(xs: Any, ys: Any, atol: Any = None, rtol: Any = None, err_msg: str = "") -> None:
    """Raises AssertionError where two trees differ by more than their dtypes' precision, or what is given."""

    def check(x: Any, y: Any) -> None:
        a, b = np.asarray(x), np.asarray(y)
        assert a.shape == b.shape, f"shapes {a.shape} and {b.shape} differ {err_msg}"
        both = [max(_tolerance(a.dtype, given), _tolerance(b.dtype, given)) for given in (atol, rtol)]
        # The more elements, the larger the largest difference may be.
        np.testing.assert_allclose(a, b, atol=both[0] * a.size, rtol=both[1] * b.size, err_msg=err_msg)

    tree_util.tree_map(check, xs, ys)
