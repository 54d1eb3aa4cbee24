"""One record per primitive, which drives every check in test_ops.py.

A record says how to call the primitive and what NumPy says the result is; the checks follow from it. `record(...)`
adds one; a primitive without a record must be in `ELSEWHERE` with the tests that cover it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

FLOATS = ("float32", "float64", "float16")
COMPLEXES = ("complex64",)
INTEGERS = ("int32", "int64", "uint8")
BOOLS = ("bool",)
NUMBERS = FLOATS + INTEGERS


@dataclass(frozen=True)
class Record:
    """How to call a primitive, and what it should give."""

    name: str
    oracle: Callable[..., Any]
    shapes: tuple[tuple[int, ...], ...]
    attrs: dict[str, Any] = field(default_factory=dict)
    dtypes: tuple[str, ...] = FLOATS
    domain: tuple[float, float] = (-2.0, 2.0)  # floats are drawn from here
    fixed: tuple[Any, ...] = ()  # further operands, the same for every dtype, not differentiated
    fixed_at: int | None = None  # where among the operands they stand; None: at the end
    differentiable: bool = True
    rtol: float = 1e-5  # of float32
    ragged: bool = True  # whether axis 0 of every operand may be ragged
    ragged_operands: tuple[int, ...] = ()  # the operands whose axis 0 is ragged; empty: all
    known_failures: dict[str, str] = field(default_factory=dict)  # check -> reason; strict expected failures

    @property
    def id(self) -> str:
        return f"{self.name}-{'x'.join(map(str, self.shapes[0])) or 'scalar'}" if self.shapes else self.name


RECORDS: list[Record] = []


def record(name: str, oracle: Callable[..., Any], *shapes: tuple[int, ...], **options: Any) -> None:
    """Adds a record; see `Record` for the options."""
    RECORDS.append(Record(name, oracle, shapes, **options))


V, M = (5,), (4, 3)

for unary_name, unary_oracle, unary_options in [
    ("neg", np.negative, {"dtypes": NUMBERS + COMPLEXES}),
    ("abs", np.abs, {"dtypes": NUMBERS}),
    ("sign", np.sign, {"dtypes": NUMBERS, "differentiable": False}),
    ("floor", np.floor, {"differentiable": False}),
    ("ceil", np.ceil, {"differentiable": False}),
    ("round", np.round, {"differentiable": False}),
    ("is_finite", np.isfinite, {"differentiable": False}),
    ("exp", np.exp, {"dtypes": FLOATS + COMPLEXES}),
    ("expm1", np.expm1, {}),
    ("log", np.log, {"domain": (0.3, 3.0)}),
    ("log1p", np.log1p, {"domain": (-0.6, 3.0)}),
    ("sqrt", np.sqrt, {"domain": (0.3, 3.0)}),
    ("sin", np.sin, {"dtypes": FLOATS + COMPLEXES}),
    ("cos", np.cos, {"dtypes": FLOATS + COMPLEXES}),
    ("tanh", np.tanh, {}),
    ("erf", np.vectorize(math.erf, otypes=[np.float64]), {}),
    ("stop_gradient", lambda x: x, {"dtypes": NUMBERS, "differentiable": False}),
    ("not", np.invert, {"dtypes": INTEGERS + BOOLS, "differentiable": False}),
    ("conj", np.conj, {"dtypes": COMPLEXES, "differentiable": False}),
    ("real", np.real, {"dtypes": COMPLEXES, "differentiable": False}),
    ("imag", np.imag, {"dtypes": COMPLEXES, "differentiable": False}),
]:
    for shape in [V, M, (), (0, 3), (2, 3, 2)]:
        record(unary_name, unary_oracle, shape, **unary_options)

for binary_name, binary_oracle, binary_options in [
    ("add", np.add, {"dtypes": NUMBERS + COMPLEXES}),
    ("sub", np.subtract, {"dtypes": NUMBERS + COMPLEXES}),
    ("mul", np.multiply, {"dtypes": NUMBERS + COMPLEXES}),
    ("div", np.divide, {"domain": (0.5, 2.0), "dtypes": FLOATS + COMPLEXES}),
    ("rem", np.fmod, {"domain": (0.5, 2.0)}),
    ("pow", np.power, {"domain": (0.5, 2.0)}),
    ("atan2", np.arctan2, {"domain": (0.5, 2.0)}),
    ("max", np.maximum, {"dtypes": NUMBERS}),
    ("min", np.minimum, {"dtypes": NUMBERS}),
    ("and", np.bitwise_and, {"dtypes": INTEGERS + BOOLS, "differentiable": False}),
    ("or", np.bitwise_or, {"dtypes": INTEGERS + BOOLS, "differentiable": False}),
    ("xor", np.bitwise_xor, {"dtypes": INTEGERS + BOOLS, "differentiable": False}),
    ("eq", np.equal, {"dtypes": NUMBERS + BOOLS, "differentiable": False}),
    ("ne", np.not_equal, {"dtypes": NUMBERS + BOOLS, "differentiable": False}),
    ("lt", np.less, {"dtypes": NUMBERS, "differentiable": False}),
    ("le", np.less_equal, {"dtypes": NUMBERS, "differentiable": False}),
    ("gt", np.greater, {"dtypes": NUMBERS, "differentiable": False}),
    ("ge", np.greater_equal, {"dtypes": NUMBERS, "differentiable": False}),
]:
    for shape in [V, M, (), (0, 3), (2, 3, 2)]:
        record(binary_name, binary_oracle, shape, shape, **binary_options)

record("complex", lambda re, im: re + 1j * im, V, V, dtypes=("float32", "float64"), differentiable=False)
for shift, shift_oracle in [
    ("shift_left", np.left_shift),
    ("shift_right_logical", np.right_shift),
    ("shift_right_arithmetic", np.right_shift),
]:
    record(shift, shift_oracle, V, V, dtypes=("uint8",), differentiable=False)
record("convert", lambda x: x.astype(np.int32), V, attrs={"dtype": np.dtype("int32")}, differentiable=False)
record("convert", lambda x: x.astype(np.float64), V, attrs={"dtype": np.dtype("float64")})
record(
    "bitcast",
    lambda x: x.view(np.int32),
    V,
    attrs={"dtype": np.dtype("int32")},
    dtypes=("float32",),
    differentiable=False,
)

for reduction, reduction_oracle, reduction_dtypes in [
    ("reduce_sum", np.sum, (*FLOATS, *COMPLEXES, "int32", "int64")),
    ("reduce_prod", np.prod, (*FLOATS, "int32", "int64")),
    ("reduce_max", np.max, NUMBERS),
    ("reduce_min", np.min, NUMBERS),
]:
    for axes in [(0,), (1,), (0, 1)]:
        record(
            reduction,
            lambda x, f=reduction_oracle, a=axes: (
                f(x, axis=a, dtype=x.dtype) if f in (np.sum, np.prod) else f(x, axis=a)
            ),
            M,
            attrs={"axes": list(axes)},
            dtypes=reduction_dtypes,
        )

for axis, backwards in [(0, False), (0, True), (1, False)]:

    def running_sum(x: Any, a: int = axis, back: bool = backwards) -> Any:
        return np.flip(np.cumsum(np.flip(x, a), a, x.dtype), a) if back else np.cumsum(x, a, x.dtype)

    record("cumsum", running_sum, M, attrs={"axis": axis, "reverse": backwards}, dtypes=(*FLOATS, "int32", "int64"))

record("reshape", lambda x: x.reshape(3, 4), M, attrs={"shape": [3, 4]}, dtypes=NUMBERS, ragged=False)
record("transpose", np.transpose, M, attrs={"permutation": [1, 0]}, dtypes=NUMBERS)
record("reverse", lambda x: np.flip(x, 0), M, attrs={"axes": [0]}, dtypes=NUMBERS)
record(
    "broadcast",
    lambda x: np.broadcast_to(x[:, None], (5, 2)),
    V,
    attrs={"shape": [5, 2], "axes": [0]},
    dtypes=NUMBERS,
    ragged=False,
)
record(
    "slice",
    lambda x: x[1:4:2, 0:2],
    M,
    attrs={"start": [1, 0], "limit": [4, 2], "stride": [2, 1]},
    dtypes=NUMBERS,
    ragged=False,
)
record(
    "pad",
    lambda x, v: np.pad(x, ((1, 0), (0, 2)), constant_values=v),
    M,
    (),
    attrs={"low": [1, 0], "high": [0, 2], "interior": [0, 0]},
    dtypes=NUMBERS,
    ragged_operands=(0,),
)
record("concatenate", lambda x, y: np.concatenate([x, y], 1), M, M, attrs={"axis": 1}, dtypes=NUMBERS)
record(
    "dot_general",
    np.matmul,
    (4, 3),
    (3, 2),
    attrs={"lhs_contract": [1], "rhs_contract": [0], "lhs_batch": [], "rhs_batch": []},
    dtypes=("float32", "float64", "int32", "complex64"),
    ragged_operands=(0,),
)
record(
    "dot_general",
    lambda x, y: x @ y,
    (5,),
    (5,),
    attrs={"lhs_contract": [0], "rhs_contract": [0], "lhs_batch": [], "rhs_batch": []},
    dtypes=("float32", "float64"),
)
INDICES = np.array([2, 0, 2], np.int32)
record(
    "gather",
    lambda x, i: x[i],
    M,
    attrs={"axis": 0, "batch_dims": 0},
    dtypes=NUMBERS,
    fixed=(INDICES,),
    ragged=False,
)

record(
    "gather",
    lambda x, i: np.stack([row[j] for row, j in zip(x, i, strict=True)]),
    (2, 4, 3),
    attrs={"axis": 1, "batch_dims": 1},
    fixed=(np.array([[2, 0], [3, 3]], np.int32),),
    ragged=False,
)


def added_rows(operand: Any, indices: Any, updates: Any) -> Any:
    """`operand` with each update added to the row that its index names."""
    result = operand.copy()
    np.add.at(result, indices, updates)
    return result


record(
    "scatter_add",
    lambda x, updates, indices: added_rows(x, indices, updates),
    M,
    (3, 3),
    attrs={"axis": 0, "batch_dims": 0},
    dtypes=("float32", "float64", "int32", "int64"),
    fixed=(INDICES,),
    fixed_at=1,
    ragged=False,
)
for select_shape in [V, (2, 3, 2), (0, 3)]:
    predicate = np.arange(math.prod(select_shape)).reshape(select_shape) % 2 == 0
    record(
        "select",
        lambda x, y, p: np.where(p, x, y),
        select_shape,
        select_shape,
        dtypes=NUMBERS + COMPLEXES,
        fixed=(predicate,),
        fixed_at=0,
        ragged=False,
    )
record(
    "dimension_size", lambda x: np.int32(x.shape[0]), M, attrs={"axis": 0}, dtypes=NUMBERS + BOOLS, differentiable=False
)
# What these mean outside of a mask; test_numpy_ragged.py has them inside.
record("set_length", lambda x, n: x, M, attrs={"axis": 0}, fixed=(np.int32(4),), ragged=False)
record("fill_padding", lambda x: x, M, attrs={"axes": [0], "value": 7.0}, ragged=False)
record(
    "ragged_concatenate",
    lambda x, y, m, n: np.concatenate([x, y]),
    M,
    (2, 3),
    attrs={"axis": 0},
    fixed=(np.int32(4), np.int32(2)),
    ragged=False,
)
record(
    "ragged_window",
    lambda x, offset: x[1:3],
    M,
    attrs={"axis": 0, "start": 1, "size": 2},
    fixed=(np.int32(1),),
    ragged=False,
)
record(
    "ragged_place",
    lambda x, offset: np.pad(x, ((1, 2), (0, 0))),
    M,
    attrs={"axis": 0, "start": 1, "size": 7},
    fixed=(np.int32(1),),
    ragged=False,
)

# Elsewhere: what has no array operands, or is a program rather than an operation.
ELSEWHERE = {
    "full": "tests/test_ops.py, tests/cpp/structure_ops_test.cc",
    "iota": "tests/test_ops.py, tests/cpp/structure_ops_test.cc",
    "threefry2x32": "tests/test_ops.py, tests/test_random.py",
    "call": "tests/test_control_flow.py",
    "cond": "tests/test_control_flow.py",
    "scan": "tests/test_control_flow.py",
    "while": "tests/test_control_flow.py",
    "custom_jvp": "tests/test_custom_rules.py",
    "custom_vjp": "tests/test_custom_rules.py",
    "custom_vjp_linear": "tests/test_custom_rules.py",
    "mask": "tests/test_numpy_ragged.py",
    "vmap_region": "tests/test_transforms.py",
}
