"""Functions of each element: arithmetic, comparisons, logic, bits."""

from __future__ import annotations

from typing import Any

import numpy as np

from numpy_cases import ALL, BOOLS, COMPLEXES, FLOATS, INTEGERS, NUMBERS, WIDE, case, draw, ints

M, E, S = (2, 3), (0, 3), ()


def unary(
    name: str, dtypes: tuple[str, ...], domain: tuple[float, float] = (-2.0, 2.0), grads: bool = True, **options: Any
) -> None:
    case(name, draw(*M, domain=domain), dtypes=dtypes, grads=grads, ragged=0, **options)
    case(name, draw(*S, domain=domain), dtypes=dtypes[:1], grads=False, **options)
    case(name, draw(*E, domain=domain), dtypes=dtypes[:1], grads=False, **options)


def binary(
    name: str,
    dtypes: tuple[str, ...],
    x: tuple[float, float] = (-2.0, 2.0),
    y: tuple[float, float] = (-2.0, 2.0),
    grads: bool = True,
    integers: tuple[int, int] = (-3, 6),
    **options: Any,
) -> None:
    make = lambda shape, domain: draw(*shape, domain=domain, integers=integers)  # noqa: E731
    case(name, make(M, x), make((3,), y), dtypes=dtypes, grads=grads, ragged=0, **options)
    case(name, make((2, 1), x), make(S, y), dtypes=dtypes[:1], grads=False, **options)
    case(name, make(E, x), make((3,), y), dtypes=dtypes[:1], grads=False, **options)
    case(name, make(M, x), 2, dtypes=dtypes[:1], grads=False, **options)
    case(name, 1.5 if "int" not in dtypes[0] else 3, make(M, y), dtypes=dtypes[:1], grads=False, **options)


POSITIVE = (0.3, 2.5)
for name in ["abs", "absolute", "negative", "positive", "square"]:
    unary(name, NUMBERS + COMPLEXES)
unary("fabs", (*FLOATS, "int32", "bool"))
unary("sign", NUMBERS + COMPLEXES)
unary("reciprocal", FLOATS + COMPLEXES, POSITIVE)
for name in ["exp", "sin", "cos", "tanh", "sinh", "cosh"]:
    unary(name, FLOATS + COMPLEXES + ("int32", "uint8", "bool"), tolerance=4)
for name in ["expm1", "tan"]:
    unary(name, FLOATS + COMPLEXES, (-1.2, 1.2), tolerance=4)
for name in ["sqrt", "log", "log2", "log10", "log1p"]:
    unary(name, FLOATS + COMPLEXES + ("int32",), POSITIVE, tolerance=4)
for name in ["exp2", "arctan", "atan", "arcsinh", "asinh", "cbrt", "sinc"]:
    unary(name, FLOATS, (0.2, 2.0), tolerance=8)
for name in ["arcsin", "asin", "arccos", "acos", "arctanh", "atanh"]:
    unary(name, FLOATS, (-0.9, 0.9), tolerance=8)
for name in ["arccosh", "acosh"]:
    unary(name, FLOATS, (1.2, 4.0), tolerance=8)
for name in ["arcsin", "arccos", "arctan", "arcsinh", "arccosh", "arctanh"]:
    unary(name, COMPLEXES, grads=False, tolerance=4)
PARTS = np.array([0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan])
ENDS = np.array([complex(x, y) for x in PARTS for y in PARTS])
for name in ["arcsin", "arccos", "arctan", "arcsinh", "arccosh", "arctanh"]:
    parts = lambda np_, x, f=name: (np_.abs(getattr(np_, f)(x).real), np_.abs(getattr(np_, f)(x).imag))  # noqa: E731
    case(name, ENDS, call=parts, dtypes=("complex128",), grads=False)
for name in ["deg2rad", "rad2deg", "radians", "degrees"]:
    unary(name, (*FLOATS, "int32"))
for name in ["floor", "ceil", "trunc", "rint", "fix"]:
    unary(name, FLOATS, (-9, 9), grads=False)
for name in ["floor", "ceil", "trunc", "isnan", "isfinite", "isinf"]:
    unary(name, INTEGERS + BOOLS, grads=False)
for name in ["isnan", "isfinite", "isinf"]:
    unary(name, FLOATS + COMPLEXES, grads=False)
for name in ["isposinf", "isneginf", "signbit"]:
    unary(name, (*FLOATS, "int32", "uint8"), grads=False, same_dtype=True)
for name in ["isreal", "iscomplex", "logical_not"]:
    unary(name, ALL, grads=False)
for name in ["real", "imag", "conj", "conjugate"]:
    unary(name, ("float32", "int32", *COMPLEXES), grads=name != "imag")
unary("real_if_close", ("float32", "int32"))
unary("angle", ("complex64", "complex128", "float32"), grads=False)
case("angle", draw(*M), dtypes=COMPLEXES, deg=True)
unary("nan_to_num", FLOATS + COMPLEXES + ("int32",))
SPECIAL = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1.5])
for dtype in (np.float32, np.float64, np.float16):
    for name in [
        "abs", "sign", "exp", "expm1", "log", "log1p", "sqrt", "sin", "cos", "tanh", "sinh", "cosh", "arctan", "arcsinh", "cbrt",
        "floor", "ceil", "trunc", "rint", "isnan", "isfinite", "isinf", "isposinf", "isneginf", "signbit", "nan_to_num", "square",
        "reciprocal", "exp2", "log2", "log10", "modf", "spacing", "frexp",
    ]:  # fmt: skip
        if not (name == "spacing" and dtype == np.float16):  # NumPy's is wrong there
            case(name, SPECIAL.astype(dtype), dtypes=("float64" if dtype == np.float64 else "float32",), grads=False)
case("nan_to_num", SPECIAL, nan=1.0, posinf=2.0, neginf=-2.0, dtypes=("float64",))
case("nan_to_num", SPECIAL, nan=np.float32(1.0), posinf=np.arange(6.0), dtypes=("float64",))

for name in ["add", "subtract", "multiply"]:
    binary(name, NUMBERS + COMPLEXES)
for name in ["divide", "true_divide"]:
    binary(name, FLOATS + COMPLEXES, y=POSITIVE)
    binary(name, ("int32", "uint8", "int8"), integers=(1, 6), grads=False)
for name in ["maximum", "minimum", "fmax", "fmin"]:
    binary(name, NUMBERS + BOOLS)
for name in ["arctan2", "atan2", "hypot", "logaddexp", "logaddexp2"]:
    binary(name, FLOATS, POSITIVE, POSITIVE, tolerance=4)
for name in ["power", "pow", "float_power"]:
    binary(name, FLOATS, POSITIVE, tolerance=8)
binary("power", INTEGERS, integers=(0, 4), grads=False)
binary("float_power", ("int32",), integers=(1, 4), grads=False, tolerance=8)
for exponent in (-2, -1, 0, 1, 2, 3, 10):
    case("power", draw(*M, domain=(0.4, 1.6)), exponent, dtypes=FLOATS + COMPLEXES, tolerance=16)
for name in ["remainder", "mod", "fmod", "floor_divide"]:
    binary(name, FLOATS, (-5.0, 5.0), (0.7, 1.3), grads=name != "floor_divide", tolerance=4)
    binary(name, INTEGERS, integers=(1, 9), grads=False)
    case(name, np.array([7, -7, 7, -7, 0]), np.array([3, 3, -3, -3, 5]), dtypes=("int64",))
    case(name, np.array([7.5, -7.5, 7.5, -7.5, 6.0]), np.array([3.0, 3.0, -3.0, -3.0, -3.0]), dtypes=("float64",))
case("divmod", draw(*M), draw(3, domain=(0.5, 1.5)), dtypes=FLOATS, grads=False)
case("divmod", ints(*M), 3, dtypes=("int32",))
for name in ["copysign", "nextafter", "heaviside"]:
    binary(name, FLOATS, grads=name == "copysign", y=POSITIVE)
case("heaviside", np.array([-1.0, 0.0, 2.0, np.nan]), 0.5, dtypes=("float64",))
for name in ["equal", "not_equal", "less", "less_equal", "greater", "greater_equal"]:
    binary(name, NUMBERS + BOOLS, grads=False)
for name in ["equal", "not_equal"]:
    binary(name, COMPLEXES, grads=False)
# Complex numbers are ordered by their real, then their imaginary part.
TIED = np.array([1 + 2j, 1 - 1j, 0 + 5j, -1 + 0j, 1 + 2j])
for name in ["less", "less_equal", "greater", "greater_equal", "maximum", "minimum", "fmax", "fmin"]:
    binary(name, COMPLEXES, grads=False)
    case(name, TIED, TIED[::-1].copy(), dtypes=("complex128",))
    case(name, np.array([complex(np.nan, 1), 1j]), np.array([2j, complex(0, np.nan)]), dtypes=("complex128",))
for operator_name in ["__lt__", "__le__", "__gt__", "__ge__"]:
    case(
        operator_name,
        TIED,
        TIED[::-1].copy(),
        dtypes=("complex128",),
        call=lambda np_, x, y, o=operator_name: getattr(np_.asarray(x), o)(y),
    )
for name in ["logaddexp", "logaddexp2"]:
    case(name, draw(*M), draw(3), dtypes=COMPLEXES, oracle="jax", tolerance=4, grads=False)
unary("rint", COMPLEXES, (-9, 9), grads=False)
unary("sinc", COMPLEXES, (-2, 2), tolerance=8)
for name in ["floor_divide", "divmod"]:
    case(name, np.array([1.0, -1.0, 0.0, np.nan]), np.array([0.0, 0.0, 0.0, 2.0]), dtypes=("float64",))
for name in ["logical_and", "logical_or", "logical_xor"]:
    binary(name, ALL, grads=False)
for name in ["bitwise_and", "bitwise_or", "bitwise_xor"]:
    binary(name, INTEGERS, grads=False)
    case(name, draw(*M), draw(3), dtypes=BOOLS)
for name in ["left_shift", "bitwise_left_shift", "right_shift", "bitwise_right_shift"]:
    binary(name, INTEGERS, integers=(0, 7), grads=False)
for name in ["invert", "bitwise_not", "bitwise_invert"]:
    unary(name, INTEGERS + BOOLS, grads=False)
unary("bitwise_count", INTEGERS, grads=False)
for name in ["gcd", "lcm"]:
    case(name, draw(*M), draw(3), dtypes=INTEGERS, ragged=0)
    case(name, np.array([0, 12, -18, 7]), np.array([0, 18, 12, 0]), dtypes=("int64",))
unary("frexp", FLOATS, POSITIVE)
unary("modf", FLOATS, (0.3, 0.9))
unary("spacing", ("float32", "float64"), grads=False)
case("ldexp", draw(*M), ints(*M), dtypes=WIDE, ragged=0)
case("ldexp", draw(*M), ints(*M), dtypes=("float16",))

case("round", draw(*M, domain=(-9, 9)), dtypes=(*FLOATS, "int32"), grads=False, ragged=0)
case("round", draw(*M, domain=(-99, 99)), 1, dtypes=("float32", "float64"), grads=False)
case("around", draw(*M, domain=(-99, 99)), -1, dtypes=("float32", "float64", "float16"), grads=False)
case("round", draw(*M), 1, dtypes=COMPLEXES, grads=False)
case("round", np.array([0.5, 1.5, 2.5, -0.5]), dtypes=("float64",))
case("round", np.array([123, 155, -25, 15]), -1, dtypes=("int64",), same_dtype=False)
EQUAL = np.array([2.0, -3.0], np.float32)
case("hypot", EQUAL, EQUAL, dtypes=("float32",), grads=False)
case("hypot", draw(2), call=lambda np_, x: np_.hypot(x, x + 0.0), dtypes=("float64",))
DIVIDENDS, ZEROS = np.array([1.5, -1.5, 0.0, 7.0], np.float32), np.array([0.0, 0.0, 0.0, -0.0], np.float32)
case("floor_divide", DIVIDENDS, ZEROS, dtypes=("float32",), grads=False)
case("clip", draw(*M), a_min=-0.5, a_max=1.0, dtypes=("float32",))
case("clip", draw(*M), -0.5, 1.0, dtypes=FLOATS, ragged=0)
case("clip", draw(*M), dtypes=("float32", "int32"), min=-1, grads=False)
case("clip", draw(*M), draw(3, domain=(-2, 0)), draw(2, 1, domain=(0, 2)), dtypes=("float32",), grads=False)
case("clip", draw(*M), -1, 2, dtypes=INTEGERS[:4])
case("isclose", draw(*M), draw(3), dtypes=(*FLOATS, "int32"), grads=False)
case("isclose", np.array([1.0, np.nan, np.inf, 0.0]), np.array([1.0 + 1e-9, np.nan, np.inf, 1e-9]), dtypes=("float64",))
case("isclose", np.array([1.0, np.nan, np.inf]), np.array([2.0, np.nan, -np.inf]), equal_nan=True, dtypes=("float64",))
for name in ["allclose", "array_equal", "array_equiv"]:
    case(name, draw(*M), draw(*M), dtypes=("float32", "int32"), grads=False, same_dtype=False)
    case(name, np.ones(3), np.ones(3), dtypes=("float64",), same_dtype=False)
    case(
        name,
        np.ones((2, 3)),
        np.ones((3, 3)) if name == "array_equal" else np.ones(3),
        dtypes=("float64",),
        same_dtype=False,
    )
case("array_equal", np.array([np.nan]), np.array([np.nan]), equal_nan=True, dtypes=("float64",), same_dtype=False)
case("array_equiv", np.ones((2, 3)), np.ones((3, 3)), dtypes=("float64",), same_dtype=False)
case("where", ints(*M, low=0, high=2), draw(*M), draw(3), dtypes=ALL, ragged=0)
case("where", np.array([True, False, True]), draw(*M), 0, dtypes=("float32", "int32", "float16"))
case("where", np.array([0, 1, 2]), dtypes=("float32",), jit=False)
case(
    "select",
    [ints(*M, low=0, high=2, dtype="bool"), np.array([True, False, True])],
    [draw(*M), draw(*M)],
    7.0,
    dtypes=("float32", "float64"),
)
# One condition in each row, and one choice.
case("select", ints(2, 3, low=0, high=2, dtype="bool"), draw(2, 3), draw(3), dtypes=("float32",))
case("packbits", ints(3, 19, low=0, high=2, dtype="uint8"), axis=1, dtypes=("float32",), ragged=0)
case("packbits", ints(3, 19, low=0, high=2, dtype="uint8"), bitorder="little", dtypes=("float32",), ragged=0)
case("unpackbits", ints(3, 2, low=0, high=255, dtype="uint8"), axis=0, dtypes=("float32",))
case("unpackbits", ints(3, 2, low=0, high=255, dtype="uint8"), axis=1, count=-3, bitorder="little", dtypes=("float32",))
case("unpackbits", ints(4, low=0, high=255, dtype="uint8"), count=40, dtypes=("float32",))

# Methods of functions.
for name in ["add", "multiply", "maximum", "minimum", "logaddexp"]:
    case(f"{name}.reduce", draw(3, 4, distinct=True), dtypes=("float32", "float64"), axis=1, tolerance=4)
    case(f"{name}.reduce", draw(3, 4, distinct=True), dtypes=("float32",), axis=None, keepdims=True, tolerance=4)
    case(f"{name}.accumulate", draw(3, 4, distinct=True), dtypes=("float32",), axis=-1, tolerance=4)
    case(f"{name}.outer", draw(3), draw(2, 2), dtypes=("float32",))
    case(f"{name}.reduceat", draw(6, distinct=True), np.array([0, 3, 1, 5]), dtypes=("float32",), tolerance=4)
for name in ["add", "multiply"]:
    case(f"{name}.reduce", draw(3, 4), dtypes=("float32",), axis=0, ragged=0)
    case(f"{name}.reduceat", draw(6), ints(3, low=0, high=6), dtypes=("float32",), tolerance=4)
for name in ["bitwise_and", "bitwise_or", "bitwise_xor"]:
    case(f"{name}.reduce", draw(5, 3), dtypes=("int32", "uint8", "bool"), axis=0, ragged=0)
    case(f"{name}.accumulate", draw(5, 3), dtypes=("int32",), axis=0)
for name in ["logical_and", "logical_or", "logical_xor"]:
    case(f"{name}.reduce", draw(4, 3), dtypes=("int32", "bool"), axis=0, ragged=0)
case("subtract.reduce", draw(3, 4), dtypes=("float32", "int32"), axis=1)
case("subtract.accumulate", draw(3, 4), dtypes=("float32",), axis=1)
case("logaddexp2.reduce", draw(3, 4), dtypes=("float32",), axis=0, tolerance=4)
case(
    "maximum.reduce",
    draw(3, 4, distinct=True),
    dtypes=("float32",),
    axis=1,
    initial=0.5,
    where=np.array([True, False, True, True]),
)
case(
    "add.at",
    draw(3),
    np.array([0, 0, 2]),
    draw(3),
    dtypes=("float32", "int32"),
    call=lambda np_, x, i, v: np_.add.at(x, i, v, inplace=False),
    oracle=lambda x, i, v: x + np.bincount(i, v, 3).astype(x.dtype),
)
case(
    "bitwise_or.at",
    draw(3),
    np.array([0, 0, 2]),
    8,
    dtypes=("int32",),
    call=lambda np_, x, i, v: np_.bitwise_or.at(x, i, v, inplace=False),
    oracle=lambda x, i, v: x | np.array([8, 0, 8], np.int32),
)
case(
    "negative.at",
    draw(3),
    np.array([0, 0, 2]),
    dtypes=("float32",),
    call=lambda np_, x, i: np_.negative.at(x, i, inplace=False),
    oracle=lambda x, i: x * np.array([1, 1, -1], np.float32),
)
