"""Primitives that work on each element alone."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from records import BOOLS, COMPLEXES, FLOATS, INTEGERS, NUMBERS, M, V, constant, record

SHAPES = [M, V, (), (0, 3), (2, 3, 2)]  # the first one with every dtype, the others with the first dtype


def elementwise(name: str, oracle: Any, operands: int, dtypes: tuple[str, ...] = FLOATS, **options: Any) -> None:
    for shape in SHAPES:
        record(name, oracle, *[shape] * operands, dtypes=dtypes if shape == M else dtypes[:1], **options)


EVERY = NUMBERS + COMPLEXES + BOOLS


def bits_counted(x: Any, count: Callable[[str], int]) -> Any:
    """What counts in the binary digits of each number gives."""
    width = 8 * x.dtype.itemsize
    counts = [count(f"{int(element) % 2**width:0{width}b}") for element in x.ravel()]
    return np.array(counts, x.dtype).reshape(x.shape)


def quotient(x: Any, y: Any) -> Any:
    """The quotient; of integers, its whole part."""
    return (x - np.fmod(x, y)) // y if x.dtype.kind in "iu" else x / y


def erf(x: Any) -> Any:
    return np.vectorize(math.erf, otypes=[np.float64])(x).astype(x.dtype)


def complex_of(real: Any, imag: Any) -> Any:
    result = np.zeros(real.shape, np.result_type(real, np.complex64))
    result.real, result.imag = real, imag
    return result


def product_no_nan(x: Any, y: Any) -> Any:
    return np.where((x == 0) | (y == 0), np.zeros_like(x), x * y)


def quotient_no_nan(x: Any, y: Any) -> Any:
    return np.where(x == 0, np.zeros_like(x), x / y)


elementwise("neg", np.negative, 1, NUMBERS + COMPLEXES)
elementwise("abs", np.abs, 1, NUMBERS + COMPLEXES)
elementwise("sign", np.sign, 1, NUMBERS + COMPLEXES)
elementwise("floor", np.floor, 1)
elementwise("ceil", np.ceil, 1)
elementwise("round", np.round, 1)
elementwise("is_finite", np.isfinite, 1, FLOATS + COMPLEXES, differentiable=False)
elementwise("exp", np.exp, 1, FLOATS + COMPLEXES)
elementwise("expm1", np.expm1, 1, FLOATS + COMPLEXES)
elementwise("log", np.log, 1, FLOATS + COMPLEXES, domain=(0.3, 3.0))
elementwise("log1p", np.log1p, 1, FLOATS + COMPLEXES, domain=(-0.6, 3.0))
elementwise("sqrt", np.sqrt, 1, FLOATS + COMPLEXES, domain=(0.3, 3.0))
elementwise("sin", np.sin, 1, FLOATS + COMPLEXES)
elementwise("cos", np.cos, 1, FLOATS + COMPLEXES)
elementwise("tanh", np.tanh, 1, FLOATS + COMPLEXES)
elementwise("erf", erf, 1)
elementwise("tag", lambda x: x, 1, NUMBERS + COMPLEXES + BOOLS, attrs={"name": "x"})
elementwise("stop_gradient", lambda x: x, 1, EVERY, differentiable=False)
elementwise("not", np.invert, 1, INTEGERS + BOOLS, differentiable=False)
elementwise("conj", np.conj, 1, COMPLEXES)
elementwise("real", np.real, 1, COMPLEXES)
elementwise("imag", np.imag, 1, COMPLEXES)

elementwise("add", np.add, 2, EVERY)
elementwise("sub", np.subtract, 2, NUMBERS + COMPLEXES)
elementwise("mul", np.multiply, 2, EVERY)
elementwise("div", quotient, 2, NUMBERS + COMPLEXES, domain=(0.5, 2.0), integers=(1, 9))
elementwise("rem", np.fmod, 2, NUMBERS, domain=(0.5, 2.0), integers=(1, 9))
elementwise("pow", np.power, 2, NUMBERS + COMPLEXES, domain=(0.5, 2.0), integers=(0, 5))
elementwise("mul_no_nan", product_no_nan, 2, FLOATS + COMPLEXES)
elementwise("div_no_nan", quotient_no_nan, 2, FLOATS + COMPLEXES, domain=(0.5, 2.0))
elementwise("atan2", np.arctan2, 2, domain=(0.5, 2.0))
elementwise("max", np.maximum, 2, NUMBERS + BOOLS)
elementwise("min", np.minimum, 2, NUMBERS + BOOLS)
elementwise("complex", complex_of, 2, ("float32", "float64"))
for name, oracle in [("and", np.bitwise_and), ("or", np.bitwise_or), ("xor", np.bitwise_xor)]:
    elementwise(name, oracle, 2, INTEGERS + BOOLS, differentiable=False)
for name, oracle in [("eq", np.equal), ("ne", np.not_equal)]:
    elementwise(name, oracle, 2, EVERY, differentiable=False)
for name, oracle in [("lt", np.less), ("le", np.less_equal), ("gt", np.greater), ("ge", np.greater_equal)]:
    elementwise(name, oracle, 2, NUMBERS + BOOLS, differentiable=False)

for name, count in [
    ("population_count", lambda bits: bits.count("1")),
    ("leading_zeros", lambda bits: len(bits) - len(bits.lstrip("0"))),
]:
    elementwise(name, lambda x, count=count: bits_counted(x, count), 1, INTEGERS, differentiable=False)

elementwise("shift_left", np.left_shift, 2, INTEGERS, integers=(0, 7), differentiable=False)
for name in ["shift_right_logical", "shift_right_arithmetic"]:
    elementwise(name, np.right_shift, 2, INTEGERS, integers=(0, 7), differentiable=False)

for shape in [M, V, (), (0, 3), (2, 3, 2)]:
    predicate = np.arange(math.prod(shape)).reshape(shape) % 2 == 0
    record(
        "select",
        np.where,
        constant(predicate, ~predicate),
        shape,
        shape,
        dtypes=EVERY if shape == M else FLOATS[:1],
    )

for target in EVERY:
    kind, every = np.dtype(target).kind, target in ("float32", "int32", "bool", "complex64")
    record(
        "convert",
        lambda x, t=target: x.astype(t),
        M,
        attrs={"dtype": np.dtype(target)},
        dtypes=tuple(s for s in EVERY if s not in COMPLEXES or kind == "c") if every else ("float32",),
        domain=(-2.0, 2.0) if kind in "fc" else (0.0, 2.0),
        integers=(0, 6),
        differentiable=target in ("float64", "complex128"),  # others are too narrow for differences of float64
        specials=kind in "fc",
    )
for source, target in [
    ("float32", "int32"),
    ("int32", "float32"),
    ("float64", "uint64"),
    ("uint32", "int32"),
    ("int16", "float16"),
]:
    record(
        "bitcast",
        lambda x, t=target: x.view(t),
        M,
        attrs={"dtype": np.dtype(target)},
        dtypes=(source,),
        differentiable=False,
    )


def threefry(key0: Any, key1: Any, x0: Any, x1: Any) -> Any:
    """20 rounds of Threefry-2x32, as published."""
    keys = [key0, key1, key0 ^ key1 ^ np.uint32(0x1BD11BDA)]
    x0, x1 = x0 + keys[0], x1 + keys[1]
    for group in range(5):
        for distance in ((13, 15, 26, 6), (17, 29, 16, 24))[group % 2]:
            x0 = x0 + x1
            x1 = (x1 << np.uint32(distance)) | (x1 >> np.uint32(32 - distance))
            x1 = x1 ^ x0
        x0, x1 = x0 + keys[(group + 1) % 3], x1 + keys[(group + 2) % 3] + np.uint32(group + 1)
    return x0, x1


elementwise("threefry2x32", threefry, 4, ("uint32",), integers=(0, 2**32 - 1), differentiable=False)
