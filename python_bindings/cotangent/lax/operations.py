"""The primitives under their names in ``jax.lax``: no implicit broadcasting or promotion beyond Python numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from cotangent import _core
from cotangent._core import Array
from cotangent.tree_util import tree_map


def _axis(axis: int, rank: int, name: str) -> int:
    if not -rank <= axis < rank:
        raise ValueError(f"{name}: axis {axis} is out of bounds for an array with {rank} axes")
    return axis % rank


def stop_gradient(x: Any) -> Any:
    """``x`` with zero derivative; leaf by leaf on a pytree."""
    return tree_map(lambda leaf: _core.bind("stop_gradient", [leaf])[0], x)


def erf(x: Any) -> Array:
    """The error function of a floating array, element by element."""
    return _core.bind("erf", [x])[0]


def rsqrt(x: Any) -> Array:
    """``1 / sqrt(x)``."""
    return 1.0 / _core.bind("sqrt", [x])[0]


def select(pred: Any, on_true: Any, on_false: Any) -> Array:
    """Elements of ``on_true`` where ``pred`` holds, else of ``on_false``; shapes equal, or ``pred`` a scalar."""
    on_true, on_false = _core.promote([on_true, on_false])
    return _core.bind("select", [_core.broadcast_to(pred, on_true._bound_shape), on_true, on_false])[0]


def convert_element_type(x: Any, new_dtype: Any) -> Array:
    """``x`` with another dtype."""
    return _core.convert(x, new_dtype)


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
    axis = _axis(axis, len(shape), "slice_in_dim")
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
    return _core.bind("concatenate", arrays, axis=_axis(dimension, arrays[0].ndim, "concatenate"))[0]


def expand_dims(x: Any, dimensions: Sequence[int]) -> Array:
    """New axes of size 1 at the positions they have in the result."""
    array = _core.array(x)
    rank = array.ndim + len(dimensions)
    positions = {_axis(d, rank, "expand_dims") for d in dimensions}
    sizes = iter(array._bound_shape)
    return _core.bind("reshape", [array], shape=[1 if axis in positions else next(sizes) for axis in range(rank)])[0]


def cumsum(operand: Any, axis: int = 0, reverse: bool = False) -> Array:
    """Running sums along an axis, from the end when ``reverse``."""
    array = _core.array(operand)
    return _core.bind("cumsum", [array], axis=_axis(axis, array.ndim, "cumsum"), reverse=reverse)[0]


def dot_general(
    lhs: Any, rhs: Any, dimension_numbers: Any, precision: Any = None, preferred_element_type: Any = None
) -> Array:
    """Products summed over contracted axes, for every index of batch axes.

    Args:
        dimension_numbers: ``((lhs contracting, rhs contracting), (lhs batch, rhs batch))``.
        preferred_element_type: the dtype that operands are converted to first.
    """
    del precision
    (lhs_contract, rhs_contract), (lhs_batch, rhs_batch) = dimension_numbers
    lhs, rhs = _core.array(lhs), _core.array(rhs)
    if preferred_element_type is not None:
        lhs, rhs = _core.convert(lhs, preferred_element_type), _core.convert(rhs, preferred_element_type)
    return _core.bind(
        "dot_general",
        [lhs, rhs],
        lhs_contract=list(lhs_contract),
        rhs_contract=list(rhs_contract),
        lhs_batch=list(lhs_batch),
        rhs_batch=list(rhs_batch),
    )[0]


def dynamic_index_in_dim(operand: Any, index: Any, axis: int = 0, keepdims: bool = True) -> Array:
    """The slice of an axis at an index that may be traced, clamped into range."""
    array = _core.array(operand)
    axis = _axis(axis, array.ndim, "dynamic_index_in_dim")
    size = array._bound_shape[axis]
    index = _core.array(index)
    index = select(index < 0, index + size, index)
    index = _core.bind("min", _core.promote([_core.bind("max", _core.promote([index, 0]))[0], size - 1]))[0]
    result = _core.bind("gather", [array, index], axis=axis, batch_dims=0)[0]
    return expand_dims(result, [axis]) if keepdims else result
