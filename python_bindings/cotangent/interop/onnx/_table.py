"""Primitives of ours and operators of ONNX: one table, read in both directions.

A `Row` says which operator a primitive is, and where each attribute of the primitive stands: in an attribute of the operator, or in an input that is a
constant. The writer (`_writer.py`) and the reader (`_reader.py`) go by it. What is no operator by itself has a rewrite, in terms of primitives that are
(`REWRITES`), or several nodes (`_writing.py`); what is read and is no primitive by itself is in `_operators.py` and `_layers.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from cotangent import lax
from cotangent import numpy as cnp


@dataclass(frozen=True)
class Row:
    """A primitive that is an operator.

    Attributes:
        places: of the primitive's attributes: the name of the operator's attribute, or the number of its input.
        fixed: attributes of the operator that have this value.
        needs: attributes of the primitive that must have this value.
        kinds: of the dtype of the last operand, if it is this operator for some only.
    """

    primitive: str
    operator: str
    places: Mapping[str, str | int] = field(default_factory=dict)
    fixed: Mapping[str, Any] = field(default_factory=dict)
    needs: Mapping[str, Any] = field(default_factory=dict)
    kinds: tuple[str, ...] = ()


_NUMBERS = ("float", "signed", "unsigned")
_INTEGERS = ("signed", "unsigned")
_ELEMENTWISE = {
    "abs": "Abs", "add": "Add", "ceil": "Ceil", "cos": "Cos", "div": "Div", "eq": "Equal", "erf": "Erf", "exp": "Exp", "floor": "Floor",
    "ge": "GreaterOrEqual", "gt": "Greater", "le": "LessOrEqual", "log": "Log", "lt": "Less", "max": "Max", "min": "Min", "mul": "Mul",
    "neg": "Neg", "pow": "Pow", "round": "Round", "select": "Where", "sign": "Sign", "sin": "Sin", "sqrt": "Sqrt",
    "sub": "Sub", "tanh": "Tanh",
}  # fmt: skip
_BITS = {"and": "And", "or": "Or", "xor": "Xor", "not": "Not"}
REDUCTIONS = {
    "reduce_sum": "ReduceSum",
    "reduce_max": "ReduceMax",
    "reduce_min": "ReduceMin",
    "reduce_prod": "ReduceProd",
}

ROWS = (
    *(Row(ours, theirs) for ours, theirs in _ELEMENTWISE.items()),
    *(Row(ours, theirs, kinds=("bool",)) for ours, theirs in _BITS.items()),
    *(Row(ours, f"Bitwise{theirs}", kinds=_INTEGERS) for ours, theirs in _BITS.items()),
    *(Row(ours, theirs, {"axes": 1}, {"keepdims": 0}, kinds=_NUMBERS) for ours, theirs in REDUCTIONS.items()),
    Row("rem", "Mod", fixed={"fmod": 1}),
    Row("concatenate", "Concat", {"axis": "axis"}),
    Row("convert", "Cast", {"dtype": "to"}),
    Row("cumsum", "CumSum", {"axis": 1, "reverse": "reverse"}, {"exclusive": 0}),
    Row("reshape", "Reshape", {"shape": 1}),
    Row("slice", "Slice", {"start": 1, "limit": 2, "stride": 4}),
    Row("transpose", "Transpose", {"permutation": "perm"}),
)  # fmt: skip

# Dtypes that an operator is not defined for, or that onnxruntime has not: integers and bools that another dtype holds, where sums and products wrap around.
_SMALL = {"bool": "int32", "int8": "int32", "int16": "int32", "uint8": "int32", "uint16": "int32", "uint32": "int64"}
_WRAPPED = {**_SMALL, "uint64": "int64"}
_16_BITS = {name: _SMALL[name] for name in ("bool", "int16", "uint16")}
_BOOLS = {"bool": "int32"}
_HALVES = {"float16": "float32", "bfloat16": "float32"}
WIDENED: Mapping[str, Mapping[str, str]] = {
    "CumSum": _WRAPPED,
    "Einsum": _WRAPPED,
    "MatMul": _WRAPPED,
    **dict.fromkeys(("Greater", "GreaterOrEqual", "Less", "LessOrEqual"), _BOOLS),
    "Max": _16_BITS,
    "Min": _16_BITS,
    "Neg": _WRAPPED,
    "Pad": {name: _SMALL[name] for name in ("int16", "uint16")},
    "ReduceMax": _SMALL,
    "ReduceMin": _SMALL,
    # onnxruntime adds integers up as float64: what has 32 bits is exact then, but overflows.
    "ReduceSum": dict.fromkeys((*_SMALL, "int32"), "int64"),
    "ScatterND": {**_HALVES, **_BOOLS},
    "Where": {**_16_BITS, "uint64": "int64"},
}

BY_PRIMITIVE: dict[str, list[Row]] = {}
BY_OPERATOR: dict[str, Row] = {}
for _row in ROWS:
    BY_PRIMITIVE.setdefault(_row.primitive, []).append(_row)
    BY_OPERATOR[_row.operator] = _row


def row_of(primitive: str, attributes: Mapping[str, Any], kind: str) -> Row | None:
    """The operator that an equation is, if it is one; ``kind``: of the dtype of its last operand."""
    for row in BY_PRIMITIVE.get(primitive, ()):
        fits = all(attributes.get(name, value) == value for name, value in row.needs.items())
        if fits and (not row.kinds or kind in row.kinds):
            return row
    return None


# ---- What is no operator ---------------------------------------------------------------------------------------------


def _log1p(x: Any) -> Any:
    # The rounding of 1 + x is undone by the quotient.
    above = 1 + x
    return cnp.where(above == 1, x, cnp.log(above) * (x / cnp.where(above == 1, 1, above - 1)))


def _expm1(x: Any) -> Any:
    half = cnp.tanh(x / 2)
    return cnp.where(abs(x) < 1, 2 * half / (1 - cnp.where(abs(x) < 1, half, 0)), cnp.exp(x) - 1)


def _of_bools(reduce: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x, *, axes: reduce(x.astype(np.int32), axis=tuple(axes)).astype(bool)


def _running(combine: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x, *, axis, reverse: lax.associative_scan(combine, x, reverse=reverse, axis=axis)


def _population_count(x: Any) -> Any:
    # Of pairs, of groups of four, of bytes; a product adds up those of all bytes in the highest.
    width = 8 * x.dtype.itemsize
    every = 2**width - 1
    counts = x - (lax.shift_right_logical(x, 1) & every // 3)
    counts = (counts & every // 5) + (lax.shift_right_logical(counts, 2) & every // 5)
    counts = (counts + lax.shift_right_logical(counts, 4)) & every // 17
    return lax.shift_right_logical(counts * (every // 255), width - 8)


def _leading_zeros(x: Any) -> Any:
    shift = 1
    while shift < 8 * x.dtype.itemsize:  # every bit below the highest one is set
        x, shift = x | lax.shift_right_logical(x, shift), 2 * shift
    return _population_count(~x)


# Of operands and attributes, in terms of what the table has.
REWRITES: dict[str, Callable[..., Any]] = {
    "cummax": _running(cnp.maximum),
    "cummin": _running(cnp.minimum),
    "cumprod": _running(cnp.multiply),
    "div_no_nan": lambda x, y: cnp.where(y == 0, 0, x / cnp.where(y == 0, 1, y)),
    "expm1": _expm1,
    "is_finite": lambda x: abs(x) < cnp.inf,
    "leading_zeros": _leading_zeros,
    "log1p": _log1p,
    "mul_no_nan": lambda x, y: cnp.where(y == 0, 0, x * y),
    "ne": lambda x, y: cnp.logical_not(x == y),
    "population_count": _population_count,
    "reduce_and": _of_bools(cnp.min),
    "reduce_or": _of_bools(cnp.max),
    "reduce_max": _of_bools(cnp.max),
    "reduce_min": _of_bools(cnp.min),
}
# What only derivatives or transforms ask for, which are not exported.
TRANSPARENT = ("stop_gradient",)
