"""Elements by position or condition; differences, integrals, interpolation; polynomials."""

from __future__ import annotations

import numpy as np

from numpy_cases import WIDE, bools, case, draw, ints

D = ("float32", "int32", "bool", "bfloat16", "complex64")
M = draw(3, 4)

for name in ["nonzero", "argwhere", "flatnonzero"]:
    case(name, ints(3, 4, low=0, high=3), jit=False, dtypes=("float32",))
    case(name, ints(6, low=0, high=2), size=4, fill_value=-1, oracle="jax", dtypes=("float32",), ragged=0)
    case(name, ints(3, 4, low=0, high=3), size=15, oracle="jax", dtypes=("float32",))
    case(name, np.zeros((0, 3)), jit=False)
case("extract", bools(3, 4), M, jit=False, dtypes=D, grads=False)
case("extract", bools(3, 4), M, size=5, fill_value=2, oracle="jax", dtypes=("float32", "int32"))
case("compress", np.array([True, False, True]), M, axis=0, dtypes=D)
case("compress", np.array([True, False, True]), M)
case("compress", bools(3), M, axis=0, size=2, fill_value=3, oracle="jax", dtypes=("float32", "int32"))
case("trim_zeros", np.array([0, 0, 1, 0, 2, 0]), jit=False, dtypes=("int64",))
case("trim_zeros", np.array([0, 0, 1, 0, 2, 0]), "b", jit=False, dtypes=("int64",))
case("trim_zeros", np.zeros(3), jit=False, dtypes=("float64",))
case("take", M, np.array([[1, -1], [0, 2]]), dtypes=D)
case("take", M, np.array([2, 0]), 1, ragged=0)
case("take", M, ints(3, low=0, high=3), 0)
for mode in ["clip", "wrap"]:
    case("take", M, np.array([9, -20, 1]), mode=mode)
case("take", M, np.array([9, -20, 1]), oracle="jax", dtypes=("float32", "int32", "bool"), grads=False)
case("take", M, np.array([9, 1]), mode="fill", fill_value=7, oracle="jax")
case("take_along_axis", M, ints(3, 2, low=0, high=4), 1, dtypes=D, ragged=(0, None))
case("take_along_axis", M, ints(1, 4, low=-3, high=3), 0)
case("take_along_axis", M, ints(5, low=0, high=12), None)
for mode_dtype in ("float32", "int32", "bool"):
    case("take_along_axis", M, ints(3, 2, low=-6, high=6), 1, mode="one_hot", dtypes=(mode_dtype,), oracle="jax")
case("take_along_axis", M, ints(3, 2, low=-3, high=4), 1, mode="clip", wrap_negative_indices=False, oracle="jax")
case("choose", ints(3, 4, low=0, high=3), [M, M, draw(4)], mode="clip", dtypes=("float32", "int32"))
case("choose", np.array([[1], [0], [2]]), [M, M, draw(4)])
case("choose", ints(4, low=-3, high=9), [M, M], mode="wrap")
for nothing in (np.zeros(0), np.zeros((2, 0))):
    case(
        "put",
        M,
        np.array([0, 5]),
        nothing,
        dtypes=("float32", "int32"),
        call=lambda np_, x, i, v: np_.put(x, i, v, inplace=False),
        oracle=lambda x, i, v: (x := x.copy(), np.put(x, i, v), x)[2],
    )
case(
    "put",
    M,
    np.array([0, 5]),
    draw(2),
    dtypes=("float32", "int32"),
    call=lambda np_, x, i, v: np_.put(x, i, v, inplace=False),
    oracle=lambda x, i, v: (x := x.copy(), np.put(x, i, v), x)[2],
)
case(
    "put",
    M,
    np.array([0, 50, 3]),
    7,
    dtypes=("float32",),
    call=lambda np_, x, i, v: np_.put(x, i, v, mode="wrap", inplace=False),
    oracle=lambda x, i, v: (x := x.copy(), np.put(x, i, v, "wrap"), x)[2],
)
case(
    "put",
    M,
    np.array([0, 50]),
    7,
    dtypes=("float32",),
    call=lambda np_, x, i, v: np_.put(x, i, v, mode="clip", inplace=False),
    oracle=lambda x, i, v: (x := x.copy(), np.put(x, i, v, "clip"), x)[2],
)
case(
    "put_along_axis",
    M,
    np.array([[0, 1, 2, 0]]),
    draw(1, 4),
    0,
    dtypes=("float32", "int32"),
    call=lambda np_, *a: np_.put_along_axis(*a, inplace=False),
    oracle=lambda x, *a: (x := x.copy(), np.put_along_axis(x, *a), x)[2],
)
case(
    "put_along_axis",
    M,
    np.array([[0], [1], [3]]),
    5,
    -1,
    call=lambda np_, *a: np_.put_along_axis(*a, inplace=False),
    oracle=lambda x, *a: (x := x.copy(), np.put_along_axis(x, *a), x)[2],
)
case(
    "place",
    M,
    bools(3, 4),
    draw(2),
    dtypes=("float32", "int32"),
    call=lambda np_, *a: np_.place(*a, inplace=False),
    oracle=lambda x, *a: (x := x.copy(), np.place(x, *a), x)[2],
)
for shape, value, options in [
    ((3, 4), 9, {}),
    ((4, 3), draw(2), {}),
    ((7, 2), np.array([1.0, 2, 3]), {"wrap": True}),
    ((3, 3, 3), 4, {}),
]:
    case(
        "fill_diagonal",
        draw(*shape),
        value,
        dtypes=("float32",),
        call=lambda np_, x, v, options=options: np_.fill_diagonal(x, v, inplace=False, **options),
        oracle=lambda x, v, options=options: (x := x.copy(), np.fill_diagonal(x, v, **options), x)[2],
    )
for index in [1, -1, slice(0, 3, 2), np.array([0, 2]), np.array([True, False, True])]:
    case("delete", M, index, axis=0)
case("delete", M, 3, dtypes=D)
case("delete", M, ints(low=0, high=2), axis=0)
case(
    "delete",
    draw(6),
    np.array([3, 0]),
    call=lambda np_, x, i: (
        np_.delete(x, np_.asarray(i))
        if np_ is np
        else np_.delete(x, np_.asarray(i) + 0 * np_.sum(np_.asarray(i)), assume_unique_indices=True)
    ),
)
for index, values, axis in [
    (3, 9, None), (1, draw(4), 0), (1, draw(3), 1), (np.array([1, 2]), draw(2, 4), 0), (np.array([0, 3, 3]), 7, 1),
    (slice(0, 4, 2), 8, None), (-1, 5, None), (np.array([1]), draw(3, 1), 1),
]:  # fmt: skip
    case("insert", M, index, values, axis=axis, dtypes=("float32", "int32"))
case("insert", M, ints(low=0, high=3), draw(4), axis=0)
case("insert", draw(5), ints(3, low=0, high=5), draw(3), dtypes=("float32",))
case("ix_", np.array([0, 2]), np.array([1, 3]), dtypes=("int64",))
case("ix_", np.array([True, False]), np.array([1, 3]), jit=False, same_dtype=False)
case("mask_indices", 4, np.triu, 1, call=lambda np_, n, f, k: np_.mask_indices(n, np_.triu, k), jit=False)
case("unravel_index", np.array([1, 5, 11]), (3, 4), dtypes=("int64",))
case("unravel_index", np.array([-1, 100, -100]), (3, 4), oracle="jax", dtypes=("int64",))
case("unravel_index", ints(3, 2, low=0, high=24), (2, 3, 4), dtypes=("float32",))
case("ravel_multi_index", (np.array([0, 1]), np.array([2, 3])), (3, 4), dtypes=("int64",))
for mode in ["wrap", "clip"]:
    case("ravel_multi_index", (np.array([0, 7]), np.array([2, -3])), (3, 4), mode, dtypes=("int64",))
case(
    "ravel_multi_index",
    (np.array([0, 1]), np.array([2, 5])),
    (3, 4),
    "ignore",
    oracle=lambda i, d, m: np.array([2, 9]),
    dtypes=("int64",),
)
case("ravel_multi_index", (np.array([0, 2]), np.array([2, 3])), (3, 4), order="F", dtypes=("int64",))
for name in ["tril_indices_from", "triu_indices_from"]:
    case(name, draw(3, 4), 1, grads=False)
case("diag_indices_from", draw(3, 3), grads=False)

# Differences and integrals.
case("diff", M, dtypes=("float32", "int32", "bool", "complex64"), ragged=0)
case("diff", draw(4, 2), axis=0, ragged=0)
case("diff", M, 2, 0)
case("diff", M, 0, prepend=1)
case("diff", M, draw(3, 2), call=lambda np_, x, y: np_.diff(x, prepend=1, append=y), dtypes=("float32",))
case("ediff1d", M, dtypes=("float32", "int32"))
case("ediff1d", M, np.array([1, 2]), 7, dtypes=("float32", "int32"))
case("gradient", M, dtypes=("float32", "float64", "float16", "complex64"), tolerance=4)
case("gradient", M, 2.0, axis=0, tolerance=4, ragged=0)
case("gradient", M, 0.5, np.array([0.0, 1, 3, 7], np.float32), dtypes=("float32",), tolerance=4)
case("gradient", draw(5), np.array([0.0, 1, 3, 7, 8], np.float32), dtypes=("float32",), tolerance=8)
case("trapezoid", M, dtypes=("float32", "int32", "complex64"), tolerance=4, ragged=0)
case("trapezoid", draw(5, 2), axis=0, dx=2.0, tolerance=4, ragged=0)
case("trapezoid", M, np.array([0.0, 1, 3, 7], np.float32), dtypes=("float32",), tolerance=4)
case("trapezoid", M, M, axis=0, dtypes=WIDE, tolerance=4)
for distances, axis in [((4,), 0), ((4, 1), -1), ((3, 4), 0)]:
    case(
        "trapezoid",
        draw(4, 4),
        draw(*distances),
        dtypes=("float32",),
        tolerance=4,
        call=lambda np_, y, d, a=axis: np_.trapezoid(y, dx=d, axis=a),
    )
case("unwrap", draw(3, 4, domain=(-12, 12)), dtypes=WIDE, tolerance=16, grads=False)
case("unwrap", draw(3, 4, domain=(-12, 12)), axis=0, period=3.0, dtypes=WIDE, tolerance=16, grads=False)
case("unwrap", np.array([0, 1, 2, -1, 0]), period=4, dtypes=("int64",))
XP, FP = np.array([0.0, 1.0, 3.0, 4.0], np.float32), np.array([1.0, -1.0, 2.0, 5.0], np.float32)
case("interp", draw(3, 2, domain=(-1.0, 5.0)), XP, FP, dtypes=("float32",), tolerance=4, grads=False, ragged=0)
case("interp", draw(3, 2, domain=(0.1, 0.9)), XP, draw(4), dtypes=("float32",), tolerance=4)
case("interp", draw(6, domain=(-1.0, 5.0)), XP, FP, left=-7.0, right=9.0, dtypes=("float32",), tolerance=4, grads=False)
case("interp", draw(6, domain=(-9.0, 9.0)), XP, FP, period=5.0, dtypes=("float32",), tolerance=8, grads=False)
case(
    "interp",
    draw(6, domain=(-1.0, 5.0)),
    XP,
    FP,
    left="extrapolate",
    right="extrapolate",
    oracle="jax",
    dtypes=("float32",),
    tolerance=8,
    grads=False,
)
case("interp", 0.5, np.array([1.0]), np.array([3.0]), dtypes=("float64",))

# Polynomials.
P, Q = draw(5), draw(3)
case("polyadd", P, Q, dtypes=("float32", "int32", "complex64"))
case("polysub", Q, P)
# Several polynomials, one along the first axis of each column.
case("polyadd", draw(3, 2), draw(2, 2), oracle="jax", dtypes=("float32", "int32"))
case("polysub", draw(1, 2), draw(3, 2), oracle="jax", dtypes=("float32",))
case("polyadd", draw(3, 2), draw(2), oracle="jax", dtypes=("float32",))
case("polysub", draw(3, 2), draw(3, 1), oracle="jax", dtypes=("float32",))
case("polymul", P, Q, tolerance=8)
case("polydiv", P, np.array([2.0, 1.0, 1.0], np.float32), dtypes=("float32",), tolerance=16, oracle="jax")
case("polydiv", Q, P, dtypes=("float32",), oracle="jax")
case("polyder", P, dtypes=("float32", "complex64"))
case("polyder", P, 3)
case("polyder", Q, 5, grads=False, oracle="jax")
case("polyint", P, dtypes=("float32", "complex64"))
case("polyint", P, 2, k=np.array([1, 2]))
case("polyval", P, draw(3, 2), dtypes=("float32", "int32", "complex64"), tolerance=8)
case("polyval", draw(40), draw(3, 2, domain=(-1, 1)), dtypes=("float32", "int32", "complex64"), tolerance=64)
case("polyval", draw(40, 2), draw(3, 1, domain=(-1, 1)), tolerance=64)
case("poly", draw(4), dtypes=("float32", "complex64"), tolerance=8)
case("poly", draw(40, domain=(-1, 1)), dtypes=("float32", "complex64"), tolerance=64)
case(
    "poly",
    draw(3, 3),
    dtypes=("float32",),
    grads=False,
    tolerance=32,
    oracle=lambda x: np.poly(x).real,
    same_dtype=False,
)
case(
    "roots",
    np.array([1.0, -6.0, 11.0, -6.0]),
    dtypes=("float64",),
    call=lambda np_, p: np_.sort(np_.roots(p)),
    tolerance=1e3,
)
case(
    "roots",
    np.array([0.0, 2.0, -4.0, 0.0]),
    dtypes=("float64",),
    call=lambda np_, p: np_.sort(np_.roots(p)),
    jit=False,
    tolerance=1e3,
)
case(
    "roots",
    draw(4, domain=(1.0, 2.0)),
    call=lambda np_, p: np_.sort_complex(np_.roots(p, **({} if np_ is np else {"strip_zeros": False}))),
    dtypes=WIDE,
    grads=False,
    tolerance=1e3,
)
XS = np.linspace(-1, 1, 8).astype(np.float32)
case("polyfit", XS, draw(8), 2, dtypes=("float32",), tolerance=100)
case(
    "polyfit",
    XS,
    draw(8, 2),
    3,
    w=np.linspace(1, 2, 8).astype(np.float32),
    dtypes=("float32",),
    tolerance=200,
    grads=False,
)
case(
    "polyfit",
    XS,
    draw(8),
    2,
    call=lambda np_, *a: np_.polyfit(*a, cov=True),
    dtypes=("float32",),
    tolerance=200,
    grads=False,
)
case(
    "polyfit",
    XS,
    draw(8),
    2,
    call=lambda np_, *a: np_.polyfit(*a, full=True)[:1],
    dtypes=("float32",),
    tolerance=200,
    grads=False,
)
