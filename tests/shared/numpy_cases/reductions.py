"""Folds along axes, positions of extremes, running sums."""

from __future__ import annotations

import numpy as np

from numpy_cases import ALL, BOOLS, COMPLEXES, FLOATS, INTEGERS, NUMBERS, bools, case, draw

T = (2, 3, 4)
SUMS = FLOATS + INTEGERS + COMPLEXES + BOOLS

for name in ["sum", "prod", "mean"]:
    case(name, draw(3, 4), dtypes=SUMS, axis=0, tolerance=4, ragged=0)
for name in ["max", "min", "amax", "amin"]:
    case(name, draw(3, 4, distinct=True), dtypes=NUMBERS + BOOLS, axis=0, ragged=0)
for name in ["any", "all", "count_nonzero"]:
    case(name, draw(3, 4), dtypes=ALL, axis=0, grads=False, ragged=0)
for name in ["var", "std"]:
    case(name, draw(5, 3), dtypes=FLOATS + COMPLEXES + ("int32",), axis=0, tolerance=16, ragged=0)
    case(name, draw(5, 3), dtypes=("float32", "float64"), axis=1, ddof=1, tolerance=8)
    case(
        name,
        draw(5, 3),
        bools(5, 3),
        call=lambda np_, x, w, name=name: getattr(np_, name)(x, 0, where=w | (np.arange(5)[:, None] < 2)),
        tolerance=8,
    )
case(
    "var",
    draw(5, 3),
    call=lambda np_, x: np_.var(x, 0, mean=np_.mean(x, 0, keepdims=True)),
    same_dtype=False,
    tolerance=8,
)
case("var", draw(5, 3), correction=1, oracle=lambda x: np.var(x, ddof=1), tolerance=8)
case("var", draw(3), oracle=lambda x: np.full((), np.nan), ddof=4, grads=False)
for name in ["max", "min", "argmax", "argmin", "ptp"]:
    case(name, np.array([[1 + 2j, 1 - 1j, 0 + 5j], [1 + 2j, 1 + 3j, -2 + 0j]]), axis=0, dtypes=("complex128",))
    case(name, draw(3, 4, distinct=True), dtypes=COMPLEXES, axis=1, grads=False)
case(
    "max",
    np.array([1j, complex(np.nan, 0)]),
    oracle=lambda x: np.array(complex(np.nan, np.nan)),
    dtypes=("complex128",),
)
case(
    "max",
    draw(3, 4),
    bools(3, 4),
    dtypes=COMPLEXES,
    grads=False,
    call=lambda np_, x, w: np_.max(x, 0, where=w, initial=-9),
)
for axes in [(1, 2), (2, 0), (2, 0, 1)]:
    shape = tuple(T[axis] for axis in axes)
    case(
        "average",
        draw(*T),
        draw(*shape, domain=(0.5, 2.0)),
        dtypes=("float32",),
        tolerance=8,
        call=lambda np_, x, w, a=axes: np_.average(x, a, w),
    )
case("ptp", draw(3, 4, distinct=True), dtypes=FLOATS + INTEGERS[:4], axis=0, ragged=0)
for name in ["argmax", "argmin"]:
    case(name, draw(3, 4, distinct=True), dtypes=NUMBERS, axis=0, grads=False, ragged=0)
    case(name, np.array([[1.0, 3.0, 3.0], [np.nan, 5.0, np.nan]]), axis=1, dtypes=("float64",))
    case(name, draw(3, 4, distinct=True), grads=False)
    case(name, draw(*T, distinct=True), axis=-2, keepdims=True, grads=False)
    case(f"nan{name}", np.array([[1.0, np.nan, 3.0, -2.0], [np.nan, 5.0, 2.0, np.nan]]), axis=1, dtypes=("float64",))
    case(f"nan{name}", draw(3, 4, distinct=True), grads=False, ragged=(0, None), axis=0)
for name in [
    "sum",
    "prod",
    "max",
    "min",
    "mean",
    "var",
    "std",
    "any",
    "all",
    "count_nonzero",
    "nansum",
    "nanprod",
    "nanmax",
    "nanmin",
    "nanmean",
]:
    grads = name not in ("any", "all", "count_nonzero")
    for axis in [None, -1, (0, 2), ()]:
        if axis == () and name in ("nanmax", "nanmin"):
            continue  # NumPy's fmax reduces nothing
        case(name, draw(*T, distinct=True), axis=axis, grads=grads and axis == (0, 2), tolerance=8)
    case(name, draw(*T, distinct=True), axis=(0, -1), keepdims=True, grads=False, tolerance=8)
    case(name, draw(), grads=False)
    if name not in ("max", "min", "nanmax", "nanmin"):
        case(name, draw(0, 3), axis=0, grads=False)
        case(name, draw(2, 0), axis=0, grads=False)
for name in ["sum", "prod", "max", "min"]:
    case(
        name,
        draw(3, 4, distinct=True),
        bools(3, 4),
        call=lambda np_, x, w, name=name: getattr(np_, name)(x, 1, initial=1, where=w),
    )
    case(name, draw(0, 3), axis=0, initial=5, grads=False)
case("sum", draw(3, 4), dtype=np.float32, dtypes=("int32", "float16", "float32"), grads=False)
case("sum", np.ones(4096, np.float16), dtypes=("float16",))
case("mean", draw(3, 4), bools(3, 4), call=lambda np_, x, w: np_.mean(x, where=w), tolerance=4)
case("mean", draw(3, 4), dtype=np.float32, dtypes=("int32", "float16"))
for name in ["any", "all"]:
    case(
        name,
        draw(3, 4),
        bools(3, 4),
        call=lambda np_, x, w, name=name: getattr(np_, name)(x, 0, where=w),
        dtypes=("bool", "int32"),
    )

WITH_NAN = np.array([[1.0, np.nan, 3.0], [-2.0, 0.5, np.nan], [4.0, 1.0, 2.0]])
for name in ["nansum", "nanprod", "nanmax", "nanmin", "nanmean", "nanvar", "nanstd", "nancumsum", "nancumprod"]:
    case(name, WITH_NAN, axis=1, dtypes=("float64",), tolerance=4)
    case(name, WITH_NAN, axis=None, dtypes=("float64",), tolerance=4)
    case(
        name,
        draw(3, 4, distinct=True),
        axis=0,
        dtypes=("float32", "int32"),
        tolerance=8,
        ragged=0 if "prod" not in name else None,
    )
case("nanvar", WITH_NAN, ddof=1, axis=0, dtypes=("float64",))
case("nanmax", np.array([[np.nan, np.nan], [1.0, np.nan]]), axis=1, dtypes=("float64",))

case("average", draw(3, 4), axis=0, dtypes=("float32", "int32", "complex64"), tolerance=4, ragged=0)
case("average", draw(3, 4), axis=1, weights=np.arange(1.0, 5.0, dtype=np.float32), tolerance=4)
case(
    "average",
    draw(3, 4),
    draw(3, 4, domain=(0.5, 1.0)),
    call=lambda np_, x, w: np_.average(x, 0, w, returned=True),
    dtypes=("float32",),
    tolerance=4,
)
case("average", draw(3, 4), keepdims=True, tolerance=4)

for name in ["cumsum", "cumprod"]:
    case(
        name,
        draw(3, 4),
        axis=1,
        dtypes=SUMS,
        oracle=lambda x, name=name: getattr(np, name)(x, 1, dtype=x.dtype if x.dtype != bool else int),
        tolerance=4,
    )
    case(name, draw(3, 4), axis=None, dtypes=("float32", "float64"), tolerance=4)
    case(
        name,
        draw(3, 4),
        axis=-2,
        dtype=np.float32,
        dtypes=("int32", "float16"),
        oracle=lambda x, name=name: getattr(np, name)(x, 0, np.float32),
        tolerance=4,
    )
    case(name, draw(0, 3), axis=0, grads=False)
    case(name, draw(3, 0), axis=0, grads=False)
case("cumsum", draw(4, 2), axis=0, ragged=0, dtypes=("float32",))
case("cumprod", draw(4, 2), axis=0, ragged=0, dtypes=("float32",))
for name in ["cumulative_sum", "cumulative_prod"]:
    case(name, draw(5), dtypes=("float32", "int32"), tolerance=4)
    case(name, draw(3, 4), axis=0, include_initial=True, dtypes=("float32", "float64"), tolerance=4, ragged=None)
