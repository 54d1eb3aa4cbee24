"""A function applied to elements as often as an index names them: `x.at[...].apply`, ``lax.scatter_apply``."""

from __future__ import annotations

from typing import Any

import numpy as np

from cotangent import _core
from cotangent._core import Array
from cotangent._ops.reductions import max as _max
from cotangent._ops.sizes import bound_size
from cotangent._transforms.control_flow import fori_loop


def times_named(index: Any, x: Array) -> Any:
    """How often an index names each element of ``x``; None where that is not known yet, or it reaches outside."""
    items = index if isinstance(index, tuple) else (index,)
    if any(isinstance(item, Array) and _core.is_traced(item) for item in items):
        return None
    counts = np.zeros(x._bound_shape, np.int32)
    try:
        np.add.at(counts, tuple(np.asarray(item) if isinstance(item, Array) else item for item in items), 1)
    except (IndexError, TypeError, ValueError):
        return None
    return counts


def repeated(step: Any, x: Array, counts: Any) -> Array:
    """``step(i, x)`` for i below the largest of ``counts``, one after the other.

    Counts that are known, a NumPy array, give no loop.
    """
    if counts.size == 0 if isinstance(counts, np.ndarray) else bound_size(counts) == 0:
        return x
    largest = counts.max() if isinstance(counts, np.ndarray) else _max(counts)
    if isinstance(counts, np.ndarray) or not _core.is_traced(largest):
        for i in range(int(largest)):
            x = step(i, x)
        return x
    return fori_loop(0, largest, step, x)  # type: ignore[no-any-return]
