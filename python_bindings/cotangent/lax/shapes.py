"""Shapes and positions, under their names in ``jax.lax``: iota, reshaping, slicing, padding, joining."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from cotangent import _core
from cotangent._core import Array
from cotangent.lax.elementwise import select
from cotangent.numpy._support import normalize_axis

__all__ = [
    "concatenate",
    "dynamic_index_in_dim",
    "expand_dims",
    "iota",
    "pad",
    "rev",
    "slice",
    "slice_in_dim",
    "transpose",
]


def iota(dtype: Any, size: int) -> Array:
    """``0, 1, …, size - 1``."""
    return _core.bind("iota", [], shape=[size], dtype=_core.canonical_dtype(dtype), axis=0)[0]


def transpose(x: Any, permutation: Sequence[int]) -> Array:
    """Axes reordered: result axis i is axis ``permutation[i]``."""
    return _core.bind("transpose", [x], permutation=list(permutation))[0]


def rev(x: Any, dimensions: Sequence[int]) -> Array:
    """Elements reversed along ``dimensions``."""
    return _core.bind("reverse", [x], axes=list(dimensions))[0]


def slice(
    x: Any, start_indices: Sequence[int], limit_indices: Sequence[int], strides: Sequence[int] | None = None
) -> Array:  # noqa: A001
    """The elements from start up to limit in steps, on every axis."""
    return _core.bind(
        "slice",
        [x],
        start=list(start_indices),
        limit=list(limit_indices),
        stride=list(strides or [1] * len(start_indices)),
    )[0]


def slice_in_dim(x: Any, start_index: int, limit_index: int, stride: int = 1, axis: int = 0) -> Array:
    """A slice of one axis."""
    array = _core.array(x)
    shape = array._bound_shape
    axis = normalize_axis(axis, len(shape), "slice_in_dim")
    start, limit, strides = [0] * len(shape), list(shape), [1] * len(shape)
    start[axis], limit[axis], strides[axis] = start_index, limit_index, stride
    return _core.bind("slice", [array], start=start, limit=limit, stride=strides)[0]


def pad(x: Any, padding_value: Any, padding_config: Sequence[tuple[int, int, int]]) -> Array:
    """Pads with a scalar: (low, high, interior) an axis; negative low and high crop."""
    array = _core.array(x)
    low, high, interior = (
        (list(column) for column in zip(*padding_config, strict=True)) if padding_config else ([], [], [])
    )
    return _core.bind("pad", [array, _core.convert(padding_value, array.dtype)], low=low, high=high, interior=interior)[
        0
    ]


def concatenate(operands: Sequence[Any], dimension: int) -> Array:
    """Arrays joined along an axis."""
    arrays = [_core.array(x) for x in operands]
    if not arrays:
        raise ValueError("concatenate needs at least one array")
    return _core.bind("concatenate", arrays, axis=normalize_axis(dimension, arrays[0].ndim, "concatenate"))[0]


def expand_dims(x: Any, dimensions: Sequence[int]) -> Array:
    """New axes of size 1 at the positions they have in the result."""
    array = _core.array(x)
    rank = array.ndim + len(dimensions)
    positions = {normalize_axis(d, rank, "expand_dims") for d in dimensions}
    sizes = iter(array._bound_shape)
    return _core.bind("reshape", [array], shape=[1 if axis in positions else next(sizes) for axis in range(rank)])[0]


def dynamic_index_in_dim(operand: Any, index: Any, axis: int = 0, keepdims: bool = True) -> Array:
    """The slice of an axis at an index that may be traced, clamped into range."""
    array = _core.array(operand)
    axis = normalize_axis(axis, array.ndim, "dynamic_index_in_dim")
    size = array._bound_shape[axis]
    index = _core.array(index)
    index = select(index < 0, index + size, index)
    index = _core.bind("min", _core.promote([_core.bind("max", _core.promote([index, 0]))[0], size - 1]))[0]
    result = _core.bind("gather", [array, index], axis=axis, batch_dims=0)[0]
    return expand_dims(result, [axis]) if keepdims else result
