"""Order, sets, statistics."""

from __future__ import annotations

import numpy as np

from numpy_cases import ALL, FLOATS, INTEGERS, NUMBERS, WIDE, case, draw, ints

X, M = draw(6, distinct=True), draw(3, 4, distinct=True)
NAN = np.array([[3.0, np.nan, 1.0, np.inf], [-np.inf, 2.0, 2.0, np.nan]])

case("sort", M, dtypes=ALL, ragged=0, axis=0)
case("sort", M)
case("sort", M, axis=None)
case("sort", M, descending=True, dtypes=NUMBERS, oracle=lambda x: -np.sort(-x.astype(float)), ragged=1)
case("sort", NAN, dtypes=("float64",))
for kind in ["quicksort", "heapsort", "mergesort", "stable"]:
    case("sort", M, kind=kind, dtypes=("float32",))
    case(
        "argsort",
        ints(3, 8, low=0, high=3),
        kind=kind,
        grads=False,
        oracle=lambda x: np.argsort(x, kind="stable"),
    )
case("sort", draw(0, 3), grads=False)
case("sort", draw(3, 0), grads=False)
case("argsort", draw(3, 4), dtypes=ALL, oracle=lambda x: np.argsort(x, kind="stable"), grads=False, ragged=1)
case("argsort", draw(3, 4), axis=0, oracle=lambda x: np.argsort(x, 0, kind="stable"), grads=False)
case(
    "argsort",
    draw(3, 4),
    descending=True,
    oracle=lambda x: np.argsort(-x.astype(float), kind="stable"),
    grads=False,
    ragged=1,
)
case("argsort", draw(3, 4), axis=None, oracle=lambda x: np.argsort(x, None, kind="stable"), grads=False)
case("argsort", NAN, dtypes=("float64",))
case("lexsort", [ints(6), ints(6)], ragged=0)
case("lexsort", [ints(3, 4, low=0, high=3), draw(3, 4)], axis=0, grads=False)
case("partition", M, 2, axis=0, oracle=lambda x, k: np.sort(x, 0))
case("argpartition", M, 2, oracle=lambda x, k: np.argsort(x), grads=False, dtypes=("float32",))
case("sort_complex", draw(3, 4), dtypes=("complex64", "complex128"), grads=False)
case("sort_complex", M, dtypes=("int8", "float64"), grads=False)
for side in ["left", "right"]:
    case("searchsorted", np.array([1, 2, 2, 4]), ints(3, 2, low=0, high=6), side, dtypes=("float32",), same_dtype=False)
    case(
        "searchsorted",
        np.array([1.0, 2.0, 2.0, np.inf, np.nan]),
        np.array([2.0, np.nan, 0.0, np.inf, 9.0]),
        side,
        dtypes=("float64",),
        same_dtype=False,
    )
    case(
        "searchsorted",
        X,
        draw(3, 2),
        call=lambda np_, a, v, side=side: np_.searchsorted(np_.sort(a), v, side),
        dtypes=WIDE,
        grads=False,
        same_dtype=False,
        ragged=0,
    )
case(
    "searchsorted",
    np.array([3.0, 1.0, 2.0], np.float32),
    draw(4),
    sorter=np.array([1, 2, 0]),
    dtypes=("float32",),
    grads=False,
    same_dtype=False,
)
case("searchsorted", np.zeros(0, np.float32), draw(4), dtypes=("float32",), grads=False, same_dtype=False)
case("digitize", draw(3, 2), np.array([-1, 0, 1]), dtypes=("float32", "int32"), grads=False, same_dtype=False, ragged=0)
case(
    "digitize", draw(3, 2), np.array([1, 0, -1]), right=True, dtypes=("float32", "int32"), grads=False, same_dtype=False
)

I = ints(8, low=0, high=4)
case("unique", I, jit=False, dtypes=("float32",))
case("unique", ints(3, 4, low=0, high=3), True, True, True, jit=False, dtypes=("float32",))
case("unique", np.array([1.0, np.nan, 1.0, np.nan]), jit=False, dtypes=("float64",))
case("unique", np.array([1.0, np.nan, 1.0, np.nan]), equal_nan=False, jit=False, dtypes=("float64",))
case("unique", np.array([[1, 2], [1, 2], [0, 5]]), True, True, True, 0, jit=False, dtypes=("int64",))
case("unique", np.array([[1, 2, 1], [0, 5, 0]]), axis=1, jit=False, dtypes=("int64",))
case("unique", I, True, True, True, size=6, fill_value=-1, oracle="jax", dtypes=("float32",), ragged=0)
case("unique", I, True, True, True, size=2, oracle="jax", dtypes=("float32",))
case("unique", ints(4, 2, low=0, high=2), True, True, True, 0, size=5, oracle="jax", dtypes=("float32",))
case("unique", draw(0), jit=False, grads=False)
for name in ["unique_all", "unique_counts", "unique_inverse", "unique_values"]:
    case(name, ints(3, 4, low=0, high=3), jit=False, dtypes=("float32",))
    case(name, I, size=6, oracle="jax", dtypes=("float32",), ragged=0)
for name in ["union1d", "setxor1d", "setdiff1d", "intersect1d"]:
    case(name, I, ints(5, low=2, high=6), jit=False, dtypes=("float32",))
    case(name, I, ints(5, low=2, high=6), size=6, oracle="jax", dtypes=("float32",))
    case(name, I, ints(5, low=2, high=6), size=6, fill_value=9, oracle="jax", dtypes=("float32",))
    case(name, draw(0), draw(3), jit=False, grads=False, dtypes=("int32",))
case("intersect1d", I, ints(5, low=2, high=6), return_indices=True, jit=False, dtypes=("float32",))
case("intersect1d", I, ints(5, low=2, high=6), return_indices=True, size=5, oracle="jax", dtypes=("float32",))
case("setdiff1d", np.array([5, 1, 4, 1]), np.array([4]), assume_unique=True, jit=False, dtypes=("int64",))
case("isin", draw(3, 4), np.array([1, 2]), dtypes=INTEGERS, ragged=0)
case("isin", np.array([1.0, np.nan]), np.array([np.nan, 1.0]), invert=True, dtypes=("float64",))
case("isin", draw(3), np.zeros(0), grads=False)

# Quantiles.
for name in ["median", "nanmedian"]:
    case(name, M, dtypes=(*FLOATS, "int32"), axis=0, tolerance=4)
    case(name, M, axis=(0, 1), keepdims=True)
    case(name, draw(5, distinct=True))
    case(name, NAN, axis=1, dtypes=("float64",))
case("median", draw(5, 2, distinct=True), axis=0, ragged=0)
LEVELS = np.array([0.0, 0.25, 0.4, 1.0])
for method in ["linear", "lower", "higher", "midpoint", "nearest"]:
    case("quantile", M, LEVELS, axis=0, method=method, dtypes=WIDE, tolerance=8, same_dtype=False)
    case(
        "nanquantile",
        NAN[:, 1:3] if method in ("linear", "midpoint") else NAN[:, :3],
        LEVELS,
        axis=0,
        method=method,
        dtypes=("float64",),
    )
for method in [
    "interpolated_inverted_cdf", "hazen", "weibull", "median_unbiased", "normal_unbiased", "inverted_cdf", "averaged_inverted_cdf",
    "closest_observation",
]:  # fmt: skip
    case(
        "quantile",
        draw(7, distinct=True),
        LEVELS,
        method=method,
        dtypes=("float64",),
        tolerance=8,
        same_dtype=False,
        grads=False,
    )
case("quantile", M, 0.3, tolerance=8)
case("quantile", draw(5, 2, distinct=True), 0.3, axis=0, ragged=0, tolerance=8)
case("quantile", draw(5, distinct=True), 0.3, keepdims=True, dtypes=("float16", "bfloat16", "int32"), tolerance=8)
case(
    "quantile",
    draw(7, distinct=True),
    LEVELS,
    method="inverted_cdf",
    weights=np.arange(1.0, 8.0),
    dtypes=("float64",),
    same_dtype=False,
)
case("percentile", M, np.array([10.0, 50.0]), axis=1, keepdims=True, tolerance=8, same_dtype=False)
case("percentile", M, 30, tolerance=8)
case("nanpercentile", M, 30, axis=0, tolerance=8)

# Counting.
case("bincount", ints(9, low=0, high=5), jit=False, dtypes=("float32",))
case("bincount", ints(9, low=0, high=5), minlength=9, jit=False, dtypes=("float32",))
case("bincount", ints(9, low=0, high=5), length=4, oracle="jax", dtypes=("float32",), ragged=0)
case("bincount", ints(9, low=0, high=5), draw(9), length=6, oracle="jax", dtypes=("float32",))
case("bincount", np.zeros(0, np.int32), minlength=2, jit=False, dtypes=("float32",))
H = draw(20)
case("histogram", H, dtypes=WIDE, grads=False, tolerance=4)
case("histogram", H, 4, (-1, 1), dtypes=WIDE, grads=False)
case("histogram", H, np.array([-2.0, 0, 1, 3]), density=True, dtypes=WIDE, grads=False, same_dtype=False, tolerance=4)
case("histogram", H, 5, weights=np.arange(20.0, dtype=np.float32), dtypes=("float32",), grads=False, tolerance=4)
case("histogram", ints(9), 3, dtypes=("float32",))
case("histogram", np.ones(3, np.float32), dtypes=("float32",))
case("histogram_bin_edges", H, 5, dtypes=WIDE, grads=False, tolerance=4)
case("histogram_bin_edges", H, "sturges", jit=False, dtypes=("float64",), grads=False, tolerance=4)
case("histogram2d", H, draw(20), 3, dtypes=WIDE, grads=False, tolerance=4)
case("histogram2d", H, draw(20), [2, 3], density=True, dtypes=WIDE, grads=False, tolerance=4)
case(
    "histogramdd",
    draw(20, 3),
    3,
    weights=np.arange(20.0, dtype=np.float32),
    dtypes=("float32",),
    grads=False,
    tolerance=4,
)
case("histogramdd", draw(20, 2), (2, 3), density=True, dtypes=WIDE, grads=False, tolerance=4)
case("histogramdd", [draw(20), draw(20)], (2, 3), dtypes=WIDE, grads=False, tolerance=4)

# Covariance.
C = draw(3, 6)
case("cov", C, dtypes=("float32", "float64", "int32", "complex64", "float16"), tolerance=16, ragged=1)
case("cov", C, rowvar=False, tolerance=16)
case("cov", C, bias=True, tolerance=16)
case("cov", draw(6), tolerance=16)
case("cov", draw(6), draw(6), dtypes=WIDE, tolerance=16)
case("cov", C, fweights=np.array([1, 2, 3, 1, 1, 2]), tolerance=16)
case("cov", C, aweights=np.array([1.0, 2, 3, 1, 1, 2], np.float32), tolerance=16, dtypes=("float32",))
case(
    "cov",
    C,
    ddof=2,
    fweights=np.array([1, 2, 3, 1, 1, 2]),
    aweights=np.array([1.0, 2, 3, 1, 1, 2], np.float32),
    dtypes=("float32",),
    tolerance=16,
)
case("corrcoef", C, dtypes=("float32", "complex64"), tolerance=32, grads=False)
case("corrcoef", draw(6), draw(6), dtypes=WIDE, tolerance=32, grads=False)
