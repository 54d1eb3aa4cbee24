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


def updated(x: Any, indices: Any, updates: Any, axis: int, combine: Any = np.add) -> Any:
    """`x` with each update combined into what its index names; those outside are dropped."""
    result = np.moveaxis(x.copy(), axis, 0)
    last = axis + indices.ndim
    rows = np.moveaxis(updates, range(axis, last), range(indices.ndim))
    for at in np.ndindex(indices.shape):
        if 0 <= indices[at] < result.shape[0]:
            result[indices[at]] = combine(result[indices[at]], rows[at]) if combine else rows[at]
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

FLOATING = ("float32", "float64", "float16")
SCATTERS = {
    "scatter": (None, (*FLOATING, *COMPLEXES, *INTEGERS, *BOOLS)),
    "scatter_add": (np.add, (*FLOATING, *COMPLEXES, *INTEGERS, *BOOLS)),
    "scatter_mul": (np.multiply, (*FLOATING, *COMPLEXES, *INTEGERS, *BOOLS)),
    "scatter_min": (np.minimum, (*FLOATING, *INTEGERS, *BOOLS)),
    "scatter_max": (np.maximum, (*FLOATING, *INTEGERS, *BOOLS)),
}
for name, (combine, dtypes) in SCATTERS.items():
    record(
        name,
        lambda x, i, u, c=combine: updated(x, i, u, 0, c),
        M,
        INDICES,
        (3, 3),
        attrs={"axis": 0, "batch_dims": 0},
        dtypes=dtypes,
        masks=(
            ragged({0: "n"}, None, None),
            ragged({1: "m"}, None, {1: "m"}),
            ragged(None, {0: "k"}, {0: "k"}),
            ragged({0: "n"}, {0: "k"}, {0: "k"}),
        ),
    )
    record(
        name,
        lambda x, i, u, c=combine: updated(x, i, u, 1, c),
        (2, 4, 3),
        PAIRS,
        (2, 2, 2, 3),
        attrs={"axis": 1, "batch_dims": 0},
        dtypes=NUMBERS[:1],
        masks=(ragged({0: "n"}, None, {0: "n"}), ragged(None, {1: "k"}, {2: "k"}), ragged({1: "n"}, None, None)),
    )
    record(
        name,
        lambda x, i, u, c=combine: (
            np.stack([updated(*one, 0, c) for one in zip(x, i, u, strict=True)]) if len(x) else x
        ),
        (2, 4, 3),
        PAIRS,
        (2, 2, 3),
        attrs={"axis": 1, "batch_dims": 1},
        dtypes=NUMBERS[:1],
        masks=(ragged({0: "n"}, {0: "n"}, {0: "n"}), ragged(None, {1: "k"}, {1: "k"}), ragged({1: "n"}, None, None)),
    )
    record(
        name,
        lambda x, i, u, c=combine: updated(x, i, u, 0, c),
        M,
        constant(np.array([3, 0, -1], np.int64), np.array([1, 5, 2], np.int64)),
        (3, 3),
        attrs={"axis": 0, "batch_dims": 0, "unique": True},
        dtypes=NUMBERS[:1],
        masks=(ragged({0: "n"}, None, None),),
    )

START = constant(np.int32(1), np.int32(9), np.int32(-2))
WIDE_START = constant(np.uint64(2), np.uint64(2**63), np.uint64(0))


def starts_of(x: Any, starts: Any, sizes: Any) -> tuple[slice, ...]:
    """The window that `dynamic_slice` takes."""
    firsts = [min(max(int(s), 0), n - size) for s, n, size in zip(starts, x.shape, sizes, strict=True)]
    return tuple(slice(f, f + size) for f, size in zip(firsts, sizes, strict=True))


def written(x: Any, update: Any, *starts: Any) -> Any:
    result = x.copy()
    result[starts_of(x, starts, update.shape)] = update
    return result


for sizes, cases in [
    ((2, 3), (ragged({0: "n"}, None, None, n=(2, 3, 4)), ragged({1: "m"}, None, None, m=(3,)))),
    ((1, 2), (ragged({0: "n", 1: "m"}, None, None, n=(1, 3, 4), m=(2, 3)),)),
    ((0, 3), ()),
]:
    record(
        "dynamic_slice",
        lambda x, i, j, s=sizes: x[starts_of(x, (i, j), [min(a, n) for a, n in zip(s, x.shape, strict=True)])],
        M,
        START,
        WIDE_START,
        attrs={"batch_dims": 0, "sizes": list(sizes)},
        dtypes=NUMBERS + COMPLEXES + BOOLS if sizes == (1, 2) else NUMBERS[:1],
        masks=cases,
    )
record(
    "dynamic_slice",
    lambda x, i: np.stack([row[starts_of(row, (j,), (2,))] for row, j in zip(x, i, strict=True)]),
    (3, 4),
    constant(np.array([1, -3, 7], np.int8), np.array([0, 2, 1], np.int8)),
    attrs={"batch_dims": 1, "sizes": [2]},
    dtypes=NUMBERS[:1],
    masks=(ragged({1: "n"}, None, n=(2, 3, 4)), ragged({0: "b"}, {0: "b"}, b=(1, 2, 3))),
)
for sizes, cases in [
    (
        (2, 3),
        (
            ragged({0: "n"}, None, None, None, n=(2, 3, 4)),
            ragged({1: "m"}, {1: "m"}, None, None),
            ragged(None, {0: "k"}, None, None, error="axis 0 of the update is ragged"),
        ),
    ),
    ((1, 2), (ragged({0: "n", 1: "m"}, None, None, None, n=(1, 3, 4), m=(2, 3)),)),
    ((0, 3), ()),
]:
    record(
        "dynamic_update_slice",
        written,
        M,
        sizes,
        START,
        WIDE_START,
        attrs={"batch_dims": 0},
        dtypes=NUMBERS + COMPLEXES + BOOLS if sizes == (1, 2) else NUMBERS[:1],
        masks=cases,
    )
record(
    "dynamic_update_slice",
    lambda x, u, i: np.stack([written(row, v, j) for row, v, j in zip(x, u, i, strict=True)]),
    (3, 4),
    (3, 2),
    constant(np.array([1, -3, 7], np.int8), np.array([0, 2, 1], np.int8)),
    attrs={"batch_dims": 1},
    dtypes=NUMBERS[:1],
    masks=(ragged({1: "n"}, None, None, n=(2, 3, 4)), ragged({0: "b"}, {0: "b"}, {0: "b"}, b=(1, 2, 3))),
)
