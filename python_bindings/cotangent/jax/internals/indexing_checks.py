"""What JAX asks of the dimension numbers of ``gather`` and the scatters, which are accepted in any order elsewhere, in its words.

The rules are those of XLA's operations: lists of axes ascend and name axes that there are, once each, and sizes fit each other.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import numpy as np

import cotangent as ct
from cotangent.errors import ShapeError

__all__ = ["INDEXING_CHECKED"]

_Axes = Sequence[int]


def _refuse(text: str, advice: str) -> NoReturn:
    raise ShapeError(f"{text}\n  {advice}")


def _check_distinct(op: str, name: str, axes: _Axes) -> None:
    if len(set(axes)) != len(axes):
        _refuse(f"{name} in {op} op must not repeat; got: {tuple(axes)}", "name each axis once")


def _check_range(op: str, name: str, axes: _Axes, rank: int) -> None:
    for axis in axes:
        if not 0 <= axis < rank:
            _refuse(
                f"Invalid {name} set in {op} op; valid range is [0, {rank}); got: {axis}", "name axes that there are"
            )


def _check_ascending(op: str, name: str, axes: _Axes, rank: int) -> None:
    if list(axes) != sorted(axes):
        _refuse(f"{name} in {op} op must be sorted; got {tuple(axes)}", "name the axes in ascending order")
    _check_distinct(op, name, axes)
    _check_range(op, name, axes, rank)


def _check_disjoint(op: str, names: tuple[str, str], axes: _Axes, others: _Axes) -> None:
    if set(axes) & set(others):
        _refuse(f"{names[0]} and {names[1]} in {op} op must be disjoint; got: {tuple(axes)} and {tuple(others)}",
                "leave the batching axes out of the others")  # fmt: skip


def _check_index_map(op: str, name: str, axes: _Axes, indices: tuple[int, ...], rank: int, what: str) -> None:
    """That each number of an index has an axis of the operand."""
    at = len(indices) - 1
    if len(axes) != indices[at]:
        _refuse(
            f"{op.capitalize()} op has {len(axes)} elements in {name} and the bound of dimension index_vector_dim={at} of indices is "
            f"{indices[at]}. These two numbers must be equal.",
            "name one axis for each number along the last axis of the indices",
        )
    for i, axis in enumerate(axes):
        if not 0 <= axis < rank:
            _refuse(f"Invalid {name}{what}; domain is [0, {rank}), got: {i}->{axis}", "name axes of the operand")
    _check_distinct(op, name, axes)


def _check_batching(
    op: str, name: str, shape: tuple[int, ...], indices: tuple[int, ...], own: _Axes, other: _Axes
) -> None:
    """That the axes along which operand and indices are walked together are in pairs of one size."""
    _check_distinct(op, name, other)
    _check_range(op, name, other, len(indices))
    op = op.capitalize()
    if len(indices) - 1 in other:
        _refuse(f"{op} op cannot have the index vector dimension as a batching dimension; got {tuple(other)}",
                "name axes of the indices but the last")  # fmt: skip
    if len(own) != len(other):
        _refuse(f"{op} op requires equal numbers of operand_batching_dims and {name}, got {tuple(own)} and {tuple(other)}",
                "pair each batching axis of the operand with one of the indices")  # fmt: skip
    sizes, others = tuple(shape[axis] for axis in own), tuple(indices[axis] for axis in other)
    if sizes != others:
        _refuse(
            f"{op} op requires operand batching dimensions and indices batching dimensions to have the same shape, got {sizes} and "
            f"{others}",
            "give the indices axes of those sizes",
        )


def _check_gather(shape: tuple[int, ...], indices: tuple[int, ...], numbers: Any, sizes: _Axes) -> None:
    rank, op = len(shape), "gather"
    places, collapsed, batching = numbers.offset_dims, numbers.collapsed_slice_dims, numbers.operand_batching_dims
    if list(places) != sorted(places):
        _refuse(f"offset_dims in gather op must be sorted; got {tuple(places)}", "name the axes in ascending order")
    _check_distinct(op, "offset_dims", places)
    total = len(places) + len(indices) - 1
    for i, axis in enumerate(places):
        if not 0 <= axis < total:
            _refuse(f"Offset dimension {i} in gather op is out of bounds; got {axis}, but should have been in [0, {total})",
                    "name axes of the result")  # fmt: skip
    _check_index_map(op, "start_index_map", numbers.start_index_map, indices, rank, "")
    _check_ascending(op, "collapsed_slice_dims", collapsed, rank)
    _check_distinct(op, "operand_batching_dims", batching)
    _check_ascending(op, "operand_batching_dims", batching, rank)
    for name, axes in (("collapsed_slice_dims", collapsed), ("start_index_map", numbers.start_index_map)):
        _check_disjoint(op, (name, "operand_batching_dims"), axes, batching)
    _check_batching(op, "start_indices_batching_dims", shape, indices, batching, numbers.start_indices_batching_dims)
    if len(sizes) != rank:
        _refuse(f"Gather op must have one slice size for every input dimension; got: len(slice_sizes)={len(sizes)}, "
                f"input_shape.rank={rank}", "pass one size for each axis")  # fmt: skip
    if rank != len(places) + len(collapsed) + len(batching):
        _refuse(
            "All components of the offset index in a gather op must either be a offset dimension or explicitly collapsed/batching; got "
            f"slice sizes {tuple(sizes)}, offset_dims={tuple(places)}, collapsed_slice_dims={tuple(collapsed)}, "
            f"operand_batching_dims={tuple(batching)}",
            "name each axis of the operand in one of them",
        )
    for i, (size, bound) in enumerate(zip(sizes, shape, strict=True)):
        if not 0 <= size <= bound:
            _refuse(f"Slice size at index {i} in gather op is out of range, must be within [0, {bound} + 1), got {size}",
                    "pass at most the size of the axis")  # fmt: skip
    for axes, phrase in ((collapsed, "collapse slice"), (batching, "have operand batching")):
        for i, axis in enumerate(axes):
            if sizes[axis] not in ((1,) if axes is collapsed else (0, 1)):
                allowed = "1" if axes is collapsed else "0/1"
                _refuse(f"Gather op can only {phrase} dims with bound {allowed}, but bound is {sizes[axis]} for index {axis} at position {i}.",
                        "pass 1 there")  # fmt: skip


def _check_scatter(shape: tuple[int, ...], indices: tuple[int, ...], updates: tuple[int, ...], numbers: Any) -> None:
    rank, op = len(shape), "scatter"
    windows, inserted, batching = (
        numbers.update_window_dims,
        numbers.inserted_window_dims,
        numbers.operand_batching_dims,
    )
    axes_of_index = numbers.scatter_dims_to_operand_dims
    needed = len(indices) - 1 + len(windows)
    if len(updates) != needed:
        _refuse(f"Updates tensor must be of rank {needed}; got {len(updates)}.",
                "updates have the axes of the indices but the last, and those of the window")  # fmt: skip
    _check_ascending(op, "update_window_dims", windows, len(updates))
    _check_ascending(op, "inserted_window_dims", inserted, rank)
    _check_ascending(op, "operand_batching_dims", batching, rank)
    for name, axes in (("inserted_window_dims", inserted), ("scatter_dims_to_operand_dims", axes_of_index)):
        _check_disjoint(op, (name, "operand_batching_dims"), axes, batching)
    _check_batching(
        op, "scatter_indices_batching_dims", shape, indices, batching, numbers.scatter_indices_batching_dims
    )
    window = len(windows) + len(inserted) + len(batching)
    if window != rank:
        _refuse(f"Scatter op has window of size {window}; doesn't match operand of rank {rank}.",
                "name each axis of the operand in the window, or as inserted or batching")  # fmt: skip
    _check_index_map(op, "scatter_dims_to_operand_dims", axes_of_index, indices, rank, " mapping")
    bounds = [size for axis, size in enumerate(shape) if axis not in inserted and axis not in batching]
    for bound, axis in zip(bounds, windows, strict=True):
        if updates[axis] > bound:
            _refuse(
                "Bounds of the window dimensions of updates must not exceed the bounds of the corresponding dimensions of operand. "
                f"For dimension {axis}, updates bound is {updates[axis]}, operand bound is {bound}",
                "make the window smaller",
            )
    scattered = tuple(size for axis, size in enumerate(updates) if axis not in windows)
    if scattered != indices[:-1]:
        _refuse(
            "Bounds of the scatter dimensions of updates must be the same as the bounds of the corresponding dimensions of scatter "
            f"indices. Updates have {scattered}, scatter indices {indices[:-1]}",
            "give updates the axes of the indices but the last",
        )


def _shape(x: Any) -> tuple[int, ...]:
    return tuple(x.shape) if hasattr(x, "shape") else np.shape(x)


@functools.wraps(ct.lax.gather)
def _gather(operand: Any, start_indices: Any, dimension_numbers: Any, slice_sizes: Any, **options: Any) -> Any:
    indices = _shape(start_indices)
    if isinstance(dimension_numbers, ct.lax.GatherDimensionNumbers) and indices:
        _check_gather(_shape(operand), indices, dimension_numbers, slice_sizes)
    return ct.lax.gather(operand, start_indices, dimension_numbers, slice_sizes, **options)


def _checked(own: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(own)
    def scatter(operand: Any, scatter_indices: Any, updates: Any, dimension_numbers: Any, **options: Any) -> Any:
        indices = _shape(scatter_indices)
        if isinstance(dimension_numbers, ct.lax.ScatterDimensionNumbers) and indices:
            _check_scatter(_shape(operand), indices, _shape(updates), dimension_numbers)
        return own(operand, scatter_indices, updates, dimension_numbers, **options)

    return scatter


# The functions by name, for operands as JAX has them.
INDEXING_CHECKED: dict[str, Callable[..., Any]] = {
    "gather": _gather,
    **{name: _checked(getattr(ct.lax, name)) for name in ("scatter", "scatter_add", "scatter_max", "scatter_min", "scatter_mul", "scatter_sub")},
}  # fmt: skip
