"""Integers in ONNX, of every width: as they wrap around here, and where onnxruntime has only some dtypes, or computes in float64."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from cotangent import _core, ir
from cotangent import numpy as cnp
from cotangent.interop.onnx._windows import pooling
from cotangent.interop.onnx._writer import Special, Writer, Written, named


def signed(writer: Writer, name: str) -> str:
    """Numbers of uint64 as int64 in the same order."""
    return writer.cast(writer.node("BitwiseXor", [name, writer.constant(np.uint64(1 << 63))]), np.int64)


def unsigned(writer: Writer, name: str) -> str:
    """What `signed` was given."""
    return writer.node("BitwiseXor", [writer.cast(name, np.uint64), writer.constant(np.uint64(1 << 63))])


def _in_front(x: Any, axes: Sequence[int]) -> Any:
    """An array with these axes as one, the first."""
    others = [axis for axis in range(x.ndim) if axis not in axes]
    count = int(np.prod([x.shape[axis] for axis in axes]))
    return cnp.transpose(x, [*axes, *others]).reshape(count, *(x.shape[axis] for axis in others))


def integer_sum(writer: Writer, equation: ir.Equation, given: list[Written]) -> list[Written] | None:
    """A sum: of what windows see, or of integers of 64 bits, without their rounding; None if it is another sum."""
    dtype = np.dtype(equation.out_types[0].dtype)
    axes = equation.attributes["axes"]
    pooled = pooling(writer, equation, given)
    if pooled is not None or dtype.kind not in "iu" or dtype.itemsize < 8 or not axes:
        return pooled

    # onnxruntime adds up as float64; a running sum it does not.
    def total(x: Any) -> Any:
        x = _in_front(x, axes)
        return _core.primitives["cumsum"](x, axis=0, reverse=False)[-1] if x.size else cnp.zeros(x.shape[1:], x.dtype)

    return writer.rewritten(total, equation.in_types, [named(value) for value in given])


def integer_product(writer: Writer, equation: ir.Equation, given: list[Written]) -> list[Written] | None:
    """A product of integers, which wraps around; None if it is another product."""
    dtype = np.dtype(equation.out_types[0].dtype)
    axes = equation.attributes["axes"]
    if dtype.kind not in "iu" or not axes:
        return None

    def product(x: Any) -> Any:
        x = _in_front(x, axes)
        if not x.shape[0]:
            return cnp.ones(x.shape[1:], x.dtype)
        while x.shape[0] > 1:
            half = x.shape[0] // 2
            x = cnp.concatenate([x[:half] * x[half : 2 * half], x[2 * half :]])
        return x[0]

    return writer.rewritten(product, equation.in_types, [named(value) for value in given])


def integer_extreme(operator: str) -> Special:
    """The largest or least of numbers of uint64, which the operators do not take."""

    def write(writer: Writer, equation: ir.Equation, given: list[Written]) -> list[Written] | None:
        if equation.out_types[0].dtype != "uint64":
            return None
        axes = writer.integers(equation.attributes["axes"])
        return [unsigned(writer, writer.node(operator, [signed(writer, named(given[0])), axes], keepdims=0))]

    return write


def shift(operator: str) -> Special:
    """Of integers as they are in memory; by their number of bits or more, only the sign is left, if any."""
    direction = "LEFT" if operator == "shift_left" else "RIGHT"

    def write(writer: Writer, equation: ir.Equation, given: list[Written]) -> list[Written]:
        dtype = np.dtype(equation.out_types[0].dtype)
        bits = 8 * dtype.itemsize
        unsigned = np.dtype(f"uint{bits}")
        wide = np.dtype(np.uint32) if bits == 16 else unsigned  # onnxruntime shifts no 16 bits

        def cast(name: str, *dtypes: Any) -> str:
            for before, after in itertools.pairwise(dtypes):
                name = name if before == after else writer.cast(name, after)
            return name

        x, by = (cast(name, dtype, unsigned, wide) for name in [named(value) for value in given])
        within = writer.node("Less", [by, writer.constant(np.asarray(bits, wide))])
        by = writer.node("Min", [by, writer.constant(np.asarray(bits - 1, wide))])
        if operator == "shift_right_arithmetic":
            # Of a negative number, what is shifted has its bits turned round.
            negative = writer.node("Greater", [x, writer.constant(np.asarray(2 ** (bits - 1) - 1, wide))])
            turned = writer.node("Mul", [writer.cast(negative, wide), writer.constant(np.asarray(2**bits - 1, wide))])
            moved = writer.node("BitShift", [writer.node("BitwiseXor", [x, turned]), by], direction=direction)
            result = writer.node("BitwiseXor", [moved, turned])
        else:
            moved = writer.node("BitShift", [x, by], direction=direction)
            result = writer.node("Mul", [moved, writer.cast(within, wide)])
        return [cast(result, wide, unsigned, dtype)]

    return write
