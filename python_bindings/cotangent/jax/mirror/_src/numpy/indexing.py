"""``jax._src.numpy.indexing``."""

from __future__ import annotations

import enum
from typing import Any

import numpy as np

import cotangent.numpy as cnp
from cotangent.jax.internals.windows import Slice, get_item
from cotangent.jax.narrowing import narrow
from cotangent.jax.settings import state

__all__ = ["IndexingStrategy", "rewriting_take"]


class IndexingStrategy(enum.Enum):
    """By which operations elements are looked up. What is computed is the same; static slices take no arrays as indices."""

    AUTO = "auto"
    GATHER = "gather"
    SCATTER = "scatter"
    STATIC_SLICE = "static_slice"
    DYNAMIC_SLICE = "dynamic_slice"


def _is_static(item: Any) -> bool:
    return item is None or item is Ellipsis or isinstance(item, (int, np.integer, slice))


def rewriting_take(arr: Any, idx: Any, *, indices_are_sorted: bool = False, unique_indices: bool = False, mode: Any = None,
                   fill_value: Any = None, normalize_indices: bool = True, out_sharding: Any = None,
                   strategy: IndexingStrategy = IndexingStrategy.AUTO) -> Any:  # fmt: skip
    """The elements at an index, ``arr[idx]``.

    Raises:
        TypeError: static slices are to be used, and the index has something else.
    """
    x = cnp.asarray(narrow(arr))
    items = idx if isinstance(idx, tuple) else (idx,)
    if strategy is IndexingStrategy.STATIC_SLICE:
        if not all(_is_static(item) for item in items):
            raise TypeError("static_slice: indices must be static scalars or slices.\n  use another strategy")
        if mode is None:
            with state("check_static_indices")(True):
                return get_item(x, idx)
    if any(isinstance(item, Slice) for item in items):
        return get_item(x, idx)
    return x.at[idx].get(mode=mode, fill_value=fill_value, wrap_negative_indices=normalize_indices)
