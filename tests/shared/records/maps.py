"""Programs of scalars applied element by element: one that loops, one whose derivatives are given."""

from __future__ import annotations

from typing import Any

import cotangent as ct
import numpy as np
from cotangent import _core
from cotangent._ops.per_element import Elementwise

from records import M, record


def _power_sum(x: Any, y: Any) -> Any:
    """x + x y + x y^2 + …, while |x y^k| is at least 1/8."""

    def step(state: Any) -> Any:
        term, total = state
        return term * y, total + term

    return ct.lax.while_loop(lambda state: _core.bind("abs", [state[0]])[0] >= 0.125, step, (x, x * 0))[1]


def _power_sum_in_numpy(x: Any, y: Any) -> Any:
    total = np.zeros_like(x)
    for index in np.ndindex(x.shape):
        term = x[index]
        while abs(term) >= 0.125:
            total[index] += term
            term = term * y[index]
    return total


record(
    "elementwise",
    _power_sum_in_numpy,
    M,
    M,
    call=Elementwise(_power_sum),
    dtypes=("float64", "float32"),
    domain=(0.2, 0.7),
    specials=False,
)
given = Elementwise(
    lambda x, y: x * x * y,
    (lambda x, y, result: 2 * x * y, None),
)
record("elementwise", lambda x, y: x * x * y, M, M, call=given, dtypes=("float64", "float32"))
record("elementwise", lambda x, y: x * x * y, (), (), call=given, dtypes=("float64",))
record("elementwise", lambda x, y: x * x * y, (0, 2), (0, 2), call=given, dtypes=("float64",))
