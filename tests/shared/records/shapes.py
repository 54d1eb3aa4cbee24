"""Primitives that arrange elements: reshape, transpose, broadcast, slice, pad, concatenate."""

from __future__ import annotations

from typing import Any

import numpy as np

from records import BOOLS, COMPLEXES, NUMBERS, M, V, ragged, record

ALL = NUMBERS + COMPLEXES + BOOLS
ONE = NUMBERS[:1]

SPLIT = "ragged axis 0 would be split"
record(
    "reshape", lambda x: x.reshape(3, 4), M, attrs={"shape": [3, 4]}, dtypes=ALL, masks=(ragged({0: "n"}, error=SPLIT),)
)
record(
    "reshape",
    lambda x: x.reshape(-1),
    M,
    attrs=lambda x: {"shape": [x[0] * x[1]]},
    dtypes=ONE,
    masks=(ragged({0: "n"}), ragged({1: "m"}, error="ragged axis 1 would be merged")),
)
record(
    "reshape",
    lambda x: x.reshape(x.shape[0], 1, x.shape[1] * x.shape[2]),
    (4, 3, 2),
    attrs=lambda x: {"shape": [x[0], 1, x[1] * x[2]]},
    dtypes=ONE,
    masks=(ragged({0: "n"}), ragged({1: "m"}), ragged({0: "n", 1: "m"})),
)
record("reshape", lambda x: x.reshape(1, 1), (), attrs={"shape": [1, 1]}, dtypes=ONE)
record("reshape", lambda x: x.reshape(0), (0, 3), attrs={"shape": [0]}, dtypes=ONE, masks=())

record("transpose", np.transpose, M, attrs={"permutation": [1, 0]}, dtypes=ALL)
record("transpose", lambda x: x.transpose(2, 0, 1), (2, 3, 4), attrs={"permutation": [2, 0, 1]}, dtypes=ONE)
record("transpose", np.transpose, (0, 3), attrs={"permutation": [1, 0]}, dtypes=ONE)
record("reverse", lambda x: np.flip(x, 0), M, attrs={"axes": [0]}, dtypes=ALL)
record("reverse", lambda x: np.flip(x, (0, 2)), (2, 3, 4), attrs={"axes": [0, 2]}, dtypes=ONE)
record("reverse", lambda x: np.flip(x, 0), (0, 3), attrs={"axes": [0]}, dtypes=ONE)

record(
    "broadcast",
    lambda x: np.broadcast_to(x[:, None], (x.shape[0], 2)),
    V,
    attrs=lambda x: {"shape": [x[0], 2], "axes": [0]},
    dtypes=ALL,
)
record(
    "broadcast",
    lambda x: np.broadcast_to(x[None], (2, *x.shape)),
    M,
    attrs=lambda x: {"shape": [2, *x], "axes": [1, 2]},
    dtypes=ONE,
)
record("broadcast", lambda x: np.broadcast_to(x, (2, 3)), (), attrs={"shape": [2, 3], "axes": []}, dtypes=ONE)
record("broadcast", lambda x: np.broadcast_to(x, (0, 2)), (), attrs={"shape": [0, 2], "axes": []}, dtypes=ONE)


def window(start: list[int], limit: list[int | None], stride: list[int]) -> Any:
    """The slice; a limit of None is the axis' end, also of a ragged one."""
    cut = tuple(slice(*bounds) for bounds in zip(start, limit, stride, strict=True))

    def attrs(shape: Any) -> Any:
        limits = [size if end is None else min(end, size) for end, size in zip(limit, shape, strict=True)]
        return {"start": [min(s, e) for s, e in zip(start, limits, strict=True)], "limit": limits, "stride": stride}

    return lambda x: x[cut], attrs


for start, limit, stride in [
    ([1, 0], [4, 2], [2, 1]),
    ([0, 0], [3, 3], [1, 2]),
    ([1, 1], [None, None], [3, 1]),
    ([2, 0], [2, 3], [1, 1]),
    ([0, 0], [None, None], [1, 1]),
]:
    oracle, attrs = window(start, limit, stride)
    record("slice", oracle, M, attrs=attrs, dtypes=ALL if stride == [2, 1] else ONE)


def padded(x: Any, value: Any, low: list[int], high: list[int], interior: list[int]) -> Any:
    """XLA's pad: also between elements, and negative, which crops what padding has made."""
    for axis in range(x.ndim):
        shape, every = list(x.shape), [slice(None)] * x.ndim
        shape[axis] += max(x.shape[axis] - 1, 0) * interior[axis]
        spread = np.full(shape, value, x.dtype)
        every[axis] = slice(None, None, interior[axis] + 1)
        spread[tuple(every)] = x
        widths = [(0, 0)] * x.ndim
        widths[axis] = (max(low[axis], 0), max(high[axis], 0))
        x = np.pad(spread, widths, constant_values=value)
        every[axis] = slice(max(-low[axis], 0), x.shape[axis] - max(-high[axis], 0))
        x = x[tuple(every)]
    return x


for low, high, interior in [
    ([1, 0], [0, 2], [0, 0]),
    ([0, 2], [1, 0], [2, 1]),
    ([0, 0], [0, 0], [0, 0]),
    ([2, 0], [3, 1], [0, 0]),
]:
    record(
        "pad",
        lambda x, value, args=(low, high, interior): padded(x, value, *args),
        M,
        (),
        attrs={"low": low, "high": high, "interior": interior},
        dtypes=ALL if low == [1, 0] else ONE,
        masks=(ragged({0: "n"}, None), ragged({1: "m"}, None), ragged({0: "n", 1: "m"}, None)),
    )
record(
    "pad",
    lambda x, value: padded(x, value, [-1, 1], [2, -2], [0, 1]),
    M,
    (),
    attrs={"low": [-1, 1], "high": [2, -2], "interior": [0, 1]},
    dtypes=ONE,
    masks=(ragged({0: "n"}, None, n=(1, 2, 3, 4)), ragged({1: "m"}, None, m=(1, 2, 3))),
)

record("concatenate", lambda x, y: np.concatenate([x, y], 1), M, M, attrs={"axis": 1}, dtypes=ALL)
record(
    "concatenate",
    lambda x, y, z: np.concatenate([x, y, z]),
    M,
    (2, 3),
    (0, 3),
    attrs={"axis": 0},
    dtypes=ONE,
    masks=(
        ragged({0: "n"}, None, None),
        ragged(None, {0: "m"}, None),
        ragged({0: "n"}, {0: "m"}, None),
        ragged({1: "k"}, {1: "k"}, {1: "k"}),
    ),
)
record("concatenate", lambda x: x, V, attrs={"axis": 0}, dtypes=ONE)
