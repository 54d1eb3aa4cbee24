"""Primitives that mean something inside of a mask: lengths, padding, and the parts of ragged concatenations."""

from __future__ import annotations

from typing import Any

import cotangent.numpy as cnp
import numpy as np

from records import BOOLS, COMPLEXES, NUMBERS, M, constant, ragged, record

EVERY = NUMBERS + COMPLEXES + BOOLS
ONE_LENGTH = "one axis cannot have a different length for each example of a vmap inside a mask"

record(
    "dimension_size",
    lambda x: np.int32(x.shape[0]),
    M,
    attrs={"axis": 0},
    dtypes=EVERY,
    differentiable=False,
)
record(
    "set_length",
    lambda x, n: x,
    M,
    constant(np.int32(4)),
    attrs={"axis": 0, "cuts": True},
    dtypes=EVERY,
    unbatched={1: ONE_LENGTH},
    masks=(
        ragged(None, "n", like=lambda x, n: x[:n], n=(0, 1, 3, 4)),
        ragged({1: "m"}, "n", like=lambda x, n: x[:n], n=(0, 1, 3, 4)),
        ragged({0: "m"}, "n", like=lambda x, n: x[:n], m=(1, 3, 4), n=(0, 2, 1)),
    ),
)
record(
    "set_length",
    lambda x, n: x,
    M,
    constant(np.int32(4)),
    attrs={"axis": 0},
    unbatched={1: ONE_LENGTH},
    masks=(ragged({0: "n"}, "n"),),
)


def filled(x: Any) -> Any:
    """Seven behind the end, up to the bound of M."""
    return cnp.concatenate([x, cnp.full((M[0] - x.shape[0], x.shape[1]), 7.0, x.dtype)])


record(
    "fill_padding",
    lambda x: x,
    M,
    attrs={"axes": [0], "value": 7.0},
    dtypes=EVERY,
    masks=(ragged({0: "n"}, like=filled),),
)
record(
    "fill_padding",
    lambda x, n: x,
    M,
    constant(np.int32(4)),
    attrs={"axes": [0], "value": 7.0},
    unbatched={1: ONE_LENGTH},
    masks=(ragged({0: "n"}, "n", like=lambda x, n: filled(x)),),
)
record(
    "ragged_concatenate",
    lambda x, y, m, n: np.concatenate([x, y]),
    M,
    (2, 3),
    constant(np.int32(4)),
    constant(np.int32(2)),
    attrs={"axis": 0},
    dtypes=EVERY,
    unbatched={2: ONE_LENGTH, 3: ONE_LENGTH},
    masks=(ragged({0: "m"}, {0: "n"}, "m", "n", like=lambda x, y, m, n: cnp.concatenate([x, y])),),
)


def window(x: Any, offset: Any) -> Any:
    """Two rows from the offset on, zeros behind the end."""
    return cnp.concatenate([x, cnp.zeros((4, x.shape[1]), x.dtype)])[offset : offset + 2]


record(
    "ragged_window",
    lambda x, offset: x[1:3],
    M,
    constant(np.int32(1)),
    attrs={"axis": 0, "start": 1, "size": 2},
    dtypes=EVERY,
    unbatched={1: ONE_LENGTH},
    masks=(ragged(None, "k", like=window, k=(0, 1, 3)),),
)


def placed(x: Any, offset: Any) -> Any:
    """Seven rows of zeros but for x from the offset on."""
    ahead, behind = cnp.zeros((offset, x.shape[1]), x.dtype), cnp.zeros((7 - offset - x.shape[0], x.shape[1]), x.dtype)
    return cnp.concatenate([ahead, x, behind])


record(
    "ragged_place",
    lambda x, offset: np.pad(x, ((1, 2), (0, 0))),
    M,
    constant(np.int32(1)),
    attrs={"axis": 0, "start": 1, "size": 7},
    dtypes=EVERY,
    unbatched={1: ONE_LENGTH},
    masks=(ragged({0: "n"}, "k", like=placed, k=(0, 1, 3)),),
)

for dtype, lengths in (("int64", (-3, 0, 2, 2**32 + 1)), ("int32", (-1, 0, 3, 9)), ("uint8", (0, 1, 4, 255))):
    record(
        "clamp_length",
        lambda n, size: np.clip(n.astype(np.int64), 0, size).astype(np.int32),
        constant(np.array(lengths, dtype), np.array(lengths[::-1], dtype)),
        constant(np.array([4, 4, 3, 5], np.int32)),
        differentiable=False,
    )
