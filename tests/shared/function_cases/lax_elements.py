"""Functions of elements of ``ct.lax``. NumPy and SciPy are the oracle; `test_lax_elementwise.py` has the edge cases."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.special

from function_cases import BOOLS, COMPLEXES, FLOATS, INTEGERS, NUMBERS, Family, bools, draw

lax = Family("jax.lax")
X = draw(2, 3)
Y = draw(2, 3)
POSITIVE = draw(2, 3, domain=(0.3, 3.0))
UNIT = draw(2, 3, domain=(-0.9, 0.9))
SMOOTH = FLOATS + COMPLEXES
FLAT = "piecewise constant"
BITS = INTEGERS
I = draw(2, 3, integers=(0, 7))


def bits_of(x: Any) -> int:
    return x.dtype.itemsize * 8


for name in ["exp", "exp2", "expm1", "sin", "cos", "tanh", "sinh", "cosh", "square"]:
    lax.elements(name, X, dtypes=SMOOTH, oracle=getattr(np, name), tolerance=4)
lax.elements("neg", X, dtypes=NUMBERS + COMPLEXES, oracle=np.negative)
lax.elements("asinh", X, dtypes=SMOOTH, oracle=np.arcsinh, tolerance=4)
lax.elements("atan", X, dtypes=FLOATS, oracle=np.arctan)
lax.elements("tan", UNIT, dtypes=SMOOTH, oracle=np.tan, tolerance=4)
for name, theirs in [("asin", np.arcsin), ("acos", np.arccos), ("atanh", np.arctanh)]:
    lax.elements(name, UNIT, dtypes=SMOOTH, oracle=theirs, tolerance=4)
for name in ["log", "log1p", "sqrt", "reciprocal"]:
    lax.elements(name, POSITIVE, dtypes=SMOOTH, oracle=getattr(np, name), tolerance=2)
lax.elements("acosh", draw(2, 3, domain=(1.2, 4)), dtypes=SMOOTH, oracle=np.arccosh, tolerance=4)
lax.elements("rsqrt", POSITIVE, dtypes=SMOOTH, oracle=lambda x: 1 / np.sqrt(x), tolerance=2)
lax.elements("logistic", X, dtypes=SMOOTH, oracle=lambda x: 1 / (1 + np.exp(-x)), tolerance=4)
lax.elements("cbrt", POSITIVE, dtypes=FLOATS, oracle=np.cbrt)
lax.elements("abs", draw(2, 3, domain=(0.2, 2)), dtypes=(*FLOATS, *INTEGERS[:4]), oracle=np.abs)
lax.elements("abs", X, dtypes=COMPLEXES, oracle=np.abs)
lax.elements("sign", X, dtypes=NUMBERS, oracle=np.sign)
for name in ["floor", "ceil"]:
    lax.elements(name, X, dtypes=FLOATS, oracle=getattr(np, name))
lax.elements("round", X, dtypes=FLOATS, oracle=lambda x: np.sign(x) * np.floor(np.abs(x) + 0.5))
lax.elements("is_finite", X, dtypes=FLOATS, oracle=np.isfinite, grads=FLAT)
lax.elements("conj", X, dtypes=COMPLEXES, oracle=np.conj)
lax.elements("real", X, dtypes=COMPLEXES, oracle=np.real)
lax.elements("imag", X, dtypes=COMPLEXES, oracle=np.imag)
lax.elements("complex", X, Y, dtypes=("float32", "float64"), oracle=lambda x, y: x + 1j * y, loose=True)
for name, theirs in [
    ("erf", scipy.special.erf),
    ("erfc", scipy.special.erfc),
    ("bessel_i0e", scipy.special.i0e),
    ("bessel_i1e", scipy.special.i1e),
]:
    lax.elements(name, X, dtypes=FLOATS, oracle=theirs, tolerance=4)
lax.elements("erf_inv", UNIT, dtypes=FLOATS, oracle=scipy.special.erfinv, tolerance=8)
lax.elements("lgamma", POSITIVE, dtypes=FLOATS, oracle=scipy.special.gammaln, tolerance=8)
lax.elements("digamma", POSITIVE, dtypes=FLOATS, oracle=scipy.special.digamma, tolerance=8)

for name, theirs in [("add", np.add), ("sub", np.subtract), ("mul", np.multiply)]:
    lax.elements(name, X, Y, dtypes=NUMBERS + COMPLEXES, oracle=theirs)
lax.elements("div", X, POSITIVE, dtypes=SMOOTH, oracle=np.divide)
lax.elements(
    "div",
    draw(2, 3, integers=(-9, 9)),
    draw(2, 3, integers=(1, 4)),
    dtypes=INTEGERS,
    oracle=lambda x, y: (np.fix(x / y)).astype(x.dtype),
)
lax.elements("rem", X, draw(2, 3, domain=(2.5, 3.5), integers=(1, 4)), dtypes=FLOATS + INTEGERS, oracle=np.fmod)
for name, theirs in [("max", np.maximum), ("min", np.minimum)]:
    lax.elements(name, X, Y, dtypes=NUMBERS + BOOLS, oracle=theirs)
lax.elements("pow", POSITIVE, Y, dtypes=SMOOTH, oracle=np.power, tolerance=8)
lax.elements("atan2", X, POSITIVE, dtypes=FLOATS, oracle=np.arctan2)
for name, theirs in [
    ("eq", np.equal),
    ("ne", np.not_equal),
    ("lt", np.less),
    ("le", np.less_equal),
    ("gt", np.greater),
    ("ge", np.greater_equal),
]:
    lax.elements(name, X, Y, dtypes=NUMBERS + BOOLS, oracle=theirs, grads=FLAT)
for name in ["bitwise_and", "bitwise_or", "bitwise_xor"]:
    lax.elements(name, X, Y, dtypes=INTEGERS + BOOLS, oracle=getattr(np, name))
lax.elements("bitwise_not", X, dtypes=INTEGERS + BOOLS, oracle=np.invert)
lax.elements("population_count", I, dtypes=BITS, oracle=lambda x: np.bitwise_count(x).astype(x.dtype))
lax.elements(
    "clz",
    I,
    dtypes=BITS,
    oracle=lambda x: np.array([bits_of(x) - int(v).bit_length() for v in x.ravel()]).reshape(x.shape).astype(x.dtype),
)
lax.elements("shift_left", I, I, dtypes=INTEGERS, oracle=np.left_shift, tolerance=1)
for name in ["shift_right_logical", "shift_right_arithmetic"]:
    lax.elements(name, I, I, dtypes=INTEGERS, oracle=np.right_shift)
lax.elements(
    "mulhi", X, Y, dtypes=("int32", "int8"), oracle=lambda x, y: (x.astype(np.int64) * y >> bits_of(x)).astype(x.dtype)
)
lax.elements("nextafter", X, Y, dtypes=("float32", "float64"), oracle=np.nextafter, grads=FLAT)
lax.elements("zeta", draw(2, 3, domain=(1.5, 4)), POSITIVE, dtypes=FLOATS, oracle=scipy.special.zeta, tolerance=8)
lax.elements(
    "polygamma",
    draw(2, 3, dtype="float32", domain=(2, 2)),
    POSITIVE,
    oracle=scipy.special.polygamma,
    tolerance=8,
    grads="of orders none; test_special.py has those of the points",
)
for name, theirs in [("igamma", scipy.special.gammainc), ("igammac", scipy.special.gammaincc)]:
    lax.elements(name, POSITIVE, POSITIVE, dtypes=FLOATS, oracle=theirs, tolerance=16)
for name in ["igamma_grad_a", "random_gamma_grad"]:
    # Values: test_lax_elementwise.py. JAX takes seconds to compile its own.
    lax.elements(name, POSITIVE, POSITIVE, oracle=None, tolerance=16, grads="is a derivative itself, by a series")
lax.elements(
    "betainc",
    POSITIVE,
    POSITIVE,
    draw(2, 3, domain=(0.1, 0.9)),
    dtypes=FLOATS,
    oracle=scipy.special.betainc,
    tolerance=16,
)
lax.elements(
    "clamp",
    draw(2, 3, domain=(-1.0, -0.5)),
    X,
    draw(2, 3, domain=(0.5, 1), integers=(6, 9)),
    dtypes=NUMBERS,
    oracle=lambda a, x, b: np.clip(x, a, b),
    tolerance=1,
)
lax.elements("select", bools(2, 3), X, Y, dtypes=NUMBERS + COMPLEXES + BOOLS, oracle=np.where)
lax.elements(
    "select_n", bools(2, 3), X, Y, dtypes=NUMBERS + COMPLEXES + BOOLS, oracle=lambda w, x, y: np.where(w, y, x)
)
lax.elements("integer_pow", X, 3, dtypes=NUMBERS, oracle=lambda x, n: x**n, tolerance=4)
lax.elements("stop_gradient", X, dtypes=NUMBERS, oracle=lambda x: x, grads="zero by intent; test_custom_derivatives.py")
lax.elements("optimization_barrier", X, dtypes=NUMBERS, oracle=lambda x: x)
lax.elements("convert_element_type", X, "float64", dtypes=NUMBERS + BOOLS, oracle=lambda x, d: x.astype(d), loose=True)
