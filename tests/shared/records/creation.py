"""Primitives without operands. The functions take one that they do not use, so that there is something to map over."""

from __future__ import annotations

from typing import Any

import numpy as np
from cotangent import _core

from records import BOOLS, COMPLEXES, NUMBERS, V, record


def value_of(dtype: Any) -> Any:
    return {"bool": True, "complex": 1.5 - 2.0j, "float": 1.5}.get(_core.dtype_kind(dtype), 3)


for shape in [(), (0, 3), (2, 3, 4)]:
    record(
        "full",
        lambda x, s=shape: np.full(s, value_of(x.dtype), x.dtype),
        V,
        call=lambda x, s=shape: _core.full(s, value_of(x.dtype), x.dtype),
        dtypes=NUMBERS + COMPLEXES + BOOLS if shape else NUMBERS[:1],
        masks=(),
    )
for shape, axis in [((2, 3, 4), 0), ((2, 3, 4), 1), ((2, 3, 4), 2), ((5,), 0), ((0, 3), 1)]:
    record(
        "iota",
        lambda x, s=shape, a=axis: np.indices(s)[a].astype(x.dtype),
        V,
        call=lambda x, s=shape, a=axis: _core.bind("iota", [], shape=list(s), dtype=x.dtype, axis=a)[0],
        dtypes=NUMBERS + COMPLEXES if axis == 1 else NUMBERS[:1],
        masks=(),
    )
