"""Primitives that take or put elements at computed positions."""

from __future__ import annotations

from typing import Any

import numpy as np

from records import BOOLS, COMPLEXES, INTEGERS, NUMBERS, M, constant, ragged, record

INDICES = constant(np.array([2, 0, 2], np.int32), np.array([1, 1, 3], np.int32), np.array([-1, 4, 0], np.int32))
PAIRS = constant(np.array([[2, 0], [3, 3]], np.int32), np.array([[1, 1], [0, -1]], np.int32))


def taken(x: Any, indices: Any, axis: int) -> Any:
    """np.take along an axis; zeros for indices outside."""
    size = x.shape[axis]
    zero = np.zeros((*x.shape[:axis], 1, *x.shape[axis + 1 :]), x.dtype)
    inside = np.where((indices >= 0) & (indices < size), indices, size)
    return np.take(np.concatenate([x, zero], axis), inside, axis)


def added(x: Any, indices: Any, updates: Any, axis: int) -> Any:
    """`x` with each update added where its index says; those outside are dropped."""
    result = np.moveaxis(x.copy(), axis, 0)
    last = axis + indices.ndim
    rows = np.moveaxis(updates, range(axis, last), range(indices.ndim))
    for at in np.ndindex(indices.shape):
        if 0 <= indices[at] < result.shape[0]:
            result[indices[at]] += rows[at]
    return np.moveaxis(result, 0, axis)


for axis, case in [
    (0, (ragged({0: "n"}, None), ragged({1: "m"}, None), ragged(None, {0: "k"}), ragged({0: "n"}, {0: "k"}))),
    (1, None),
]:
    record(
        "gather",
        lambda x, i, a=axis: taken(x, i, a),
        M,
        INDICES,
        attrs={"axis": axis, "batch_dims": 0},
        dtypes=NUMBERS + COMPLEXES + BOOLS if axis == 0 else NUMBERS[:1],
        masks=case or (ragged({0: "n"}, None), ragged({1: "m"}, None), ragged({0: "n"}, {0: "k"})),
    )
record(
    "gather",
    lambda x, i: (
        np.stack([taken(row, j, 0) for row, j in zip(x, i, strict=True)]) if len(x) else np.zeros((0, 2, 3), x.dtype)
    ),
    (2, 4, 3),
    PAIRS,
    attrs={"axis": 1, "batch_dims": 1},
    dtypes=NUMBERS[:1],
    masks=(ragged({1: "n"}, None), ragged({0: "b"}, {0: "b"}), ragged({2: "m"}, None), ragged(None, {1: "k"})),
)
record(
    "gather",
    lambda x, i: taken(x, i, 0),
    M,
    np.zeros((0,), np.int64),
    attrs={"axis": 0, "batch_dims": 0},
    dtypes=NUMBERS[:1],
)
record(
    "gather",
    lambda x, i: taken(x, i, 0),
    M,
    constant(np.uint8(2), np.uint8(200)),
    attrs={"axis": 0, "batch_dims": 0},
    dtypes=NUMBERS[:1],
    masks=(ragged({0: "n"}, None),),
)

record(
    "scatter_add",
    lambda x, i, u: added(x, i, u, 0),
    M,
    INDICES,
    (3, 3),
    attrs={"axis": 0, "batch_dims": 0},
    dtypes=("float32", "float64", "float16", *COMPLEXES, *INTEGERS),
    masks=(
        ragged({0: "n"}, None, None),
        ragged({1: "m"}, None, {1: "m"}),
        ragged(None, {0: "k"}, {0: "k"}),
        ragged({0: "n"}, {0: "k"}, {0: "k"}),
    ),
)
record(
    "scatter_add",
    lambda x, i, u: added(x, i, u, 1),
    (2, 4, 3),
    PAIRS,
    (2, 2, 2, 3),
    attrs={"axis": 1, "batch_dims": 0},
    dtypes=NUMBERS[:1],
    masks=(ragged({0: "n"}, None, {0: "n"}), ragged(None, {1: "k"}, {2: "k"}), ragged({1: "n"}, None, None)),
)
record(
    "scatter_add",
    lambda x, i, u: np.stack([added(*one, 0) for one in zip(x, i, u, strict=True)]) if len(x) else x,
    (2, 4, 3),
    PAIRS,
    (2, 2, 3),
    attrs={"axis": 1, "batch_dims": 1},
    dtypes=NUMBERS[:1],
    masks=(ragged({0: "n"}, {0: "n"}, {0: "n"}), ragged(None, {1: "k"}, {1: "k"}), ragged({1: "n"}, None, None)),
)
