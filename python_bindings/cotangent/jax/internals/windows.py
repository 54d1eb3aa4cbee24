"""`Slice`: a part of an axis of which the beginning may be a value, ``x[jax.ds(i, 3)]``."""

from __future__ import annotations

import dataclasses
import operator
from typing import Any

import numpy as np

from cotangent import lax, tree_util
from cotangent._core import Array
from cotangent._ops import indexing
from cotangent._ops.index_plans import items_with_axes
from cotangent.jax.tracebacks import leave

__all__ = ["Slice", "ds", "dslice", "get_item"]


def _is_known(size: Any) -> bool:
    return isinstance(size, (int, np.integer))


@tree_util.register_pytree_node_class
@dataclasses.dataclass
class Slice:
    """`size` elements of an axis from `start`, `stride` apart."""

    start: Any
    size: Any
    stride: int = 1

    def __post_init__(self) -> None:
        if self.stride < 0:
            raise ValueError(f"Slice: `stride` must be >= 0; got {self.stride}")

    @property
    def is_dynamic_start(self) -> bool:
        """Whether the beginning is a value."""
        return not _is_known(self.start)

    @property
    def is_dynamic_size(self) -> bool:
        """Whether the number of elements is a value."""
        return not _is_known(self.size)

    def tree_flatten(self) -> tuple[tuple[Any, Any], tuple[Any, Any, int]]:
        """What is a value, and what is known."""
        parts = (self.start, self.size)
        values = tuple(None if _is_known(part) else part for part in parts)
        known = tuple(part if _is_known(part) else None for part in parts)
        return (values[0], values[1]), (known[0], known[1], self.stride)

    @classmethod
    def tree_unflatten(cls, aux_data: tuple[Any, Any, int], children: Any) -> Slice:
        """The slice of the two."""
        start, size = (known if value is None else value for value, known in zip(children, aux_data[:2], strict=True))
        return cls(start, size, aux_data[2])

    @classmethod
    def from_slice(cls, slc: slice, size: int) -> Slice:
        """That of Python's slice of an axis of some size.

        Raises:
            ValueError: it goes backward.
        """
        start, stop, step = slc.indices(size)
        if step < 1:
            raise ValueError(f"slice must have a step >= 1 (found: {step})")
        return cls(start, len(range(start, stop, step)), step)


def dslice(start: Any, size: Any = None, stride: int | None = None) -> slice | Slice:
    """The part of an axis with `size` elements from `start`; with one number, that many from the first.

    Raises:
        ValueError: the distance is a value.
    """
    if start is None:
        return slice(None)
    step = 1 if stride is None else stride
    if not isinstance(step, int):
        raise ValueError(f"Non-static stride in `dslice`: {stride!r}\n  pass a number")
    return Slice(0, start, step) if size is None else Slice(start, size, step)


ds = dslice


def _taken(x: Any, part: Slice, axis: int) -> Any:
    length = (operator.index(part.size) - 1) * part.stride + 1 if part.size else 0
    window = lax.dynamic_slice_in_dim(x, part.start, length, axis)
    return lax.slice_in_dim(window, 0, length, part.stride, axis) if part.stride > 1 else window


def get_item(x: Array, index: Any) -> Array:
    """``x[index]``, of which items may be a `Slice`."""
    if isinstance(index, Slice) or (isinstance(index, tuple) and any(isinstance(item, Slice) for item in index)):
        items, axes = items_with_axes(index, x)
        for place, (item, axis) in enumerate(zip(items, axes, strict=True)):
            if isinstance(item, Slice):
                x, items[place] = _taken(x, item, axis), slice(None)
        return x[tuple(items)]
    try:
        return indexing.get_item(x, index)
    except (IndexError, TypeError):
        leave()
        raise
