"""Primitives of ours and operators of ONNX: one table, read in both directions.

A `Row` says which operator a primitive is, and where each attribute of the primitive stands: in an attribute of the operator, or in an input that is a
constant. The writer (`__init__.py`) and `bound` go by it. What is no operator by itself has a rewrite, in terms of primitives that are (`REWRITES`); what
other exporters write and is no primitive by itself is in `COMPOSITES`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from cotangent import _core, lax, nn
from cotangent import numpy as cnp
from cotangent._core import Array


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
_REDUCTIONS = {
    "reduce_sum": "ReduceSum",
    "reduce_max": "ReduceMax",
    "reduce_min": "ReduceMin",
    "reduce_prod": "ReduceProd",
}

ROWS = (
    *(Row(ours, theirs) for ours, theirs in _ELEMENTWISE.items()),
    *(Row(ours, theirs, kinds=("bool",)) for ours, theirs in _BITS.items()),
    *(Row(ours, f"Bitwise{theirs}", kinds=_INTEGERS) for ours, theirs in _BITS.items()),
    *(Row(ours, theirs, {"axes": 1}, {"keepdims": 0}, kinds=_NUMBERS) for ours, theirs in _REDUCTIONS.items()),
    Row("rem", "Mod", fixed={"fmod": 1}),
    Row("concatenate", "Concat", {"axis": "axis"}),
    Row("convert", "Cast", {"dtype": "to"}),
    Row("cumsum", "CumSum", {"axis": 1, "reverse": "reverse"}, {"exclusive": 0}),
    Row("gather", "Gather", {"axis": "axis"}, needs={"batch_dims": 0}),
    Row("reshape", "Reshape", {"shape": 1}),
    Row("slice", "Slice", {"start": 1, "limit": 2, "stride": 4}),
    Row("transpose", "Transpose", {"permutation": "perm"}),
)  # fmt: skip

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


# Of operands and attributes, in terms of what the table has.
REWRITES: dict[str, Callable[..., Any]] = {
    "div_no_nan": lambda x, y: cnp.where(y == 0, 0, x / cnp.where(y == 0, 1, y)),
    "expm1": _expm1,
    "is_finite": lambda x: abs(x) < cnp.inf,
    "log1p": _log1p,
    "mul_no_nan": lambda x, y: cnp.where(y == 0, 0, x * y),
    "ne": lambda x, y: cnp.logical_not(x == y),
    "reduce_and": _of_bools(cnp.min),
    "reduce_or": _of_bools(cnp.max),
    "reduce_max": _of_bools(cnp.max),
    "reduce_min": _of_bools(cnp.min),
}
# What only derivatives or transforms ask for, which are not exported.
TRANSPARENT = ("stop_gradient",)


# ---- The other direction ---------------------------------------------------------------------------------------------


def _axes(given: Any, rank: int) -> list[int]:
    return [int(axis) % rank for axis in np.asarray(given).reshape(-1)]


def _reduction(primitive: str) -> Callable[..., Any]:
    def read(x: Any, axes: Any = None, *, keepdims: int = 1, noop_with_empty_axes: int = 0) -> Any:
        x = _core.array(x)
        if axes is None or not np.asarray(axes).size:
            if noop_with_empty_axes:
                return x
            axes = range(x.ndim)
        places = sorted(_axes(list(axes), x.ndim))
        result = _core.primitives[primitive](x, axes=places)
        return cnp.expand_dims(result, places) if keepdims else result

    return read


def _reshape(x: Any, shape: Any, *, allowzero: int = 0) -> Any:
    x = _core.array(x)
    sizes = [int(size) for size in np.asarray(shape)]
    return x.reshape([x.shape[i] if size == 0 and not allowzero else size for i, size in enumerate(sizes)])


def _slice(x: Any, starts: Any, ends: Any, axes: Any = None, steps: Any = None) -> Any:
    x = _core.array(x)
    count = len(np.asarray(starts))
    places = range(count) if axes is None else _axes(axes, x.ndim)
    index: list[Any] = [slice(None)] * x.ndim
    for i, axis in enumerate(places):
        step = 1 if steps is None else int(np.asarray(steps)[i])
        end = int(np.asarray(ends)[i])
        index[axis] = slice(int(np.asarray(starts)[i]), None if step < 0 and end < -x.shape[axis] else end, step)
    return x[tuple(index)]


def _pad(x: Any, pads: Any, value: Any = 0, axes: Any = None, *, mode: bytes = b"constant") -> Any:
    x = _core.array(x)
    if mode != b"constant":
        raise NotImplementedError(f"onnx.load: Pad with mode={mode.decode()} is not read")
    places = range(x.ndim) if axes is None else _axes(axes, x.ndim)
    amounts = np.zeros((x.ndim, 2), int)
    for i, axis in enumerate(places):
        amounts[axis] = int(np.asarray(pads)[i]), int(np.asarray(pads)[i + len(places)])
    return lax.pad(x, _core.convert(_core.array(value), x.dtype).reshape(()), [(int(a), int(b), 0) for a, b in amounts])


def _gemm(
    a: Any, b: Any, c: Any = None, *, alpha: float = 1.0, beta: float = 1.0, transA: int = 0, transB: int = 0
) -> Any:
    a, b = (_core.array(a).T if transA else _core.array(a)), (_core.array(b).T if transB else _core.array(b))
    product = a @ b if alpha == 1 else alpha * (a @ b)
    return product if c is None else product + (c if beta == 1 else beta * _core.array(c))


def _expand(x: Any, shape: Any) -> Any:
    x = _core.array(x)
    return cnp.broadcast_to(x, np.broadcast_shapes(x.shape, tuple(int(n) for n in np.asarray(shape))))


def _flatten(x: Any, *, axis: int = 1) -> Any:
    x = _core.array(x)
    return x.reshape(int(np.prod(x.shape[: axis % (x.ndim + 1)])), -1)


def _squeeze(x: Any, axes: Any = None) -> Any:
    return cnp.squeeze(x, None if axes is None else tuple(np.asarray(axes).tolist()))


# Operators that need more than their row, which exporters of others write differently, or that are several primitives.
COMPOSITES: dict[str, Callable[..., Any]] = {
    **{theirs: _reduction(ours) for ours, theirs in _REDUCTIONS.items()},
    "Einsum": lambda *xs, equation: cnp.einsum(equation.decode(), *xs),
    "Expand": _expand,
    "Flatten": _flatten,
    "Gemm": _gemm,
    "Identity": lambda x: x,
    "LogSoftmax": lambda x, *, axis=-1: nn.log_softmax(x, axis),
    "MatMul": cnp.matmul,
    "Pad": _pad,
    "Reciprocal": lambda x: 1 / _core.array(x),
    "Relu": lambda x: cnp.maximum(x, 0),
    "Reshape": _reshape,
    "Sigmoid": nn.sigmoid,
    "Slice": _slice,
    "Softmax": lambda x, *, axis=-1: nn.softmax(x, axis),
    "Squeeze": _squeeze,
    "Transpose": lambda x, *, perm=None: cnp.transpose(x, perm),
    "Unsqueeze": lambda x, axes: cnp.expand_dims(x, tuple(np.asarray(axes).tolist())),
}


def bound(row: Row, inputs: Sequence[Any], attributes: Mapping[str, Any], decode: Callable[[Any], Any]) -> Array:
    """The equation that a node is, of inputs and of all its attributes; ``decode`` makes ours of a dtype of theirs."""
    for name, value in row.fixed.items():
        if attributes.get(name, value) != value:
            raise NotImplementedError(f"onnx.load: {row.operator} with {name}={attributes[name]} is not read")
    constants = {place for place in row.places.values() if isinstance(place, int)}
    operands = [_core.array(x) for number, x in enumerate(inputs) if number not in constants]
    given: dict[str, Any] = dict(row.needs)
    for name, place in row.places.items():
        value = np.asarray(inputs[place]).tolist() if isinstance(place, int) else attributes[place]
        if isinstance(value, list) and len(value) == 1 and name == "axis":
            value = value[0]
        if name == "axis":
            value = int(value) % operands[0].ndim
        given[name] = decode(value) if name == "dtype" else bool(value) if name == "reverse" else value
    if row.primitive == "convert":
        return _core.convert(operands[0], given["dtype"])
    if not row.places:
        operands = list(cnp.broadcast_arrays(*operands))
    return _core.primitives[row.primitive](*operands, **given)
