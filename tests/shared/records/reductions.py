"""Primitives that fold an axis: reductions, cumulative sums, products of matrices."""

from __future__ import annotations

from typing import Any

import numpy as np

from records import BOOLS, COMPLEXES, FLOATS, INTEGERS, NUMBERS, M, constant, ragged, record  # noqa: F401

for name, fold in [("reduce_sum", np.sum), ("reduce_prod", np.prod)]:
    for axes in [(0,), (1,), (0, 1), ()]:
        record(
            name,
            lambda x, f=fold, a=axes: f(x, axis=a, dtype=x.dtype),
            M,
            attrs={"axes": list(axes)},
            dtypes=(*FLOATS, *COMPLEXES, *INTEGERS) if axes == (1,) else FLOATS[:1],
        )
    for shape in [(0, 3), (3, 0)]:
        record(name, lambda x, f=fold: f(x, axis=0, dtype=x.dtype), shape, attrs={"axes": [0]}, dtypes=FLOATS[:1])


def extremum(fold: Any, sign: int) -> Any:
    """np.max or np.min, whose value for nothing is the dtype's lowest or highest."""

    def oracle(x: Any, axes: Any) -> Any:
        ends = {"f": (-np.inf, np.inf), "b": (False, True)}.get(x.dtype.kind)
        low, high = ends or (np.iinfo(x.dtype).min, np.iinfo(x.dtype).max)
        empty = low if sign > 0 else high
        return fold(x, axis=axes, initial=empty)

    return oracle


for name, fold in [("reduce_max", extremum(np.max, 1)), ("reduce_min", extremum(np.min, -1))]:
    for axes in [(0,), (1,), (0, 1)]:
        record(
            name,
            lambda x, f=fold, a=axes: f(x, a),
            M,
            attrs={"axes": list(axes)},
            dtypes=NUMBERS + BOOLS if axes == (1,) else FLOATS[:1],
        )
    record(name, lambda x, f=fold: f(x, (1,)), (3, 0), attrs={"axes": [1]}, dtypes=FLOATS[:1])


def running(fold: np.ufunc, x: Any, axis: int, reverse: bool) -> Any:
    flipped = np.flip(x, axis) if reverse else x
    result = fold.accumulate(flipped, axis, x.dtype) if x.size else flipped
    return np.flip(result, axis) if reverse else result


for name, ufunc, running_dtypes in [
    ("cumsum", np.add, (*FLOATS, *COMPLEXES, *INTEGERS)),
    ("cumprod", np.multiply, (*FLOATS, *COMPLEXES, *INTEGERS)),
    ("cummax", np.maximum, (*NUMBERS, "bool")),
    ("cummin", np.minimum, (*NUMBERS, "bool")),
]:
    for axis, reverse in [(0, False), (0, True), (1, False)]:
        for shape in [M, (0, 3)]:
            record(
                name,
                lambda x, f=ufunc, a=axis, r=reverse: running(f, x, a, r),
                shape,
                attrs={"axis": axis, "reverse": reverse},
                dtypes=running_dtypes if shape == M and axis == 1 else FLOATS[:1],
            )


def product(
    lhs: list[int], rhs: list[int], lhs_batch: list[int] | None = None, rhs_batch: list[int] | None = None
) -> Any:
    return {"lhs_contract": lhs, "rhs_contract": rhs, "lhs_batch": lhs_batch or [], "rhs_batch": rhs_batch or []}


record(
    "dot_general",
    np.matmul,
    (4, 3),
    (3, 2),
    attrs=product([1], [0]),
    dtypes=(*FLOATS, *COMPLEXES, *INTEGERS),
    masks=(
        ragged({0: "n"}, None),
        ragged({1: "k"}, {0: "k"}),
        ragged(None, {1: "m"}),
        ragged({0: "n", 1: "k"}, {0: "k"}),
    ),
)
record("dot_general", lambda x, y: np.dot(x, y), (5,), (5,), attrs=product([0], [0]), dtypes=FLOATS[:1])
record(
    "dot_general",
    lambda x, y: np.einsum("bij,kbj->bik", x, y),
    (2, 3, 4),
    (5, 2, 4),
    attrs=product([2], [2], [0], [1]),
    dtypes=FLOATS[:1],
    masks=(ragged({0: "b"}, {1: "b"}), ragged({2: "j"}, {2: "j"}), ragged({1: "i"}, {0: "k"})),
)
record(
    "dot_general",
    lambda x, y: np.einsum("ij,ji->", x, y),
    (4, 3),
    (3, 4),
    attrs=product([0, 1], [1, 0]),
    dtypes=FLOATS[:1],
    masks=(ragged({0: "i", 1: "j"}, {0: "j", 1: "i"}),),
)
for sizes in [((0, 3), (3, 2)), ((4, 0), (0, 2))]:
    record("dot_general", np.matmul, *sizes, attrs=product([1], [0]), dtypes=FLOATS[:1], masks=())
