"""Primitives that put elements in order."""

from __future__ import annotations

from typing import Any

import numpy as np
from cotangent import _core

from records import BOOLS, COMPLEXES, NUMBERS, M, ragged, record


def ordered(*xs: Any, axis: int, num_keys: int = 1, descending: bool = False, count: int | None = None) -> Any:
    """The operands sorted by the first ones, stably; np.lexsort counts its last key most."""
    size = xs[0].shape[axis]
    keys = [np.flip(x, axis) if descending else x for x in reversed(xs[:num_keys])]
    order = np.lexsort(keys, axis=axis)
    if descending:
        # Equal elements stay in order: sorted backwards, then turned.
        order = size - 1 - np.flip(order, axis)
    results = [np.take(np.take_along_axis(x, order, axis), range(size if count is None else count), axis) for x in xs]
    return tuple(results) if len(results) > 1 else results[0]


for attrs in [{"axis": 0}, {"axis": 1}, {"axis": 1, "descending": True}, {"axis": 0, "descending": True, "count": 2}]:
    record(
        "sort",
        lambda x, a=attrs: ordered(x, **a),
        M,
        attrs={**attrs, "num_keys": 1},
        dtypes=NUMBERS + COMPLEXES + BOOLS if attrs == {"axis": 0} else NUMBERS[:1],
        masks=(ragged({0: "n"}, n=(2, 3, 4) if "count" in attrs else (0, 1, 3, 4)), ragged({1: "m"})),
    )
record("sort", lambda x: x, (0, 3), attrs={"axis": 0, "num_keys": 1}, dtypes=NUMBERS[:1])


def without_keys(num_keys: int) -> Any:
    """The sort of lines by an integer key, of which the operands that can be differentiated are results."""

    def call(key: Any, *xs: Any) -> Any:
        results = _core.bind("sort", [key, *xs], axis=np.ndim(key) - 1, num_keys=num_keys)[1:]
        return results[0] if len(results) == 1 else tuple(results)

    return call


# Ties in the first key, which the second one decides.
record(
    "sort",
    lambda k, x, y: ordered(k, x, y, axis=1, num_keys=2)[1:],
    np.array([[1, 0, 1, 0, 1]] * 2, np.int8),
    (2, 5),
    (2, 5),
    call=without_keys(2),
    dtypes=(*NUMBERS[:2], *COMPLEXES),
    masks=(ragged({1: "n"}, {1: "n"}, {1: "n"}),),
)
record(
    "sort",
    lambda k, x: ordered(k, x, axis=0)[1],
    np.array([1, 0, 1, 0, 1], np.int64),
    (5,),
    call=without_keys(1),
    dtypes=NUMBERS[:1],
    masks=(ragged({0: "n"}, {0: "n"}),),
)
