"""Functions of arrays applied to `Ragged` operands: which axes meet, and whether their lengths are one."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from cotangent import _core
from cotangent._base.messages import CUT_BOTH, marked, sizes_of
from cotangent._transforms.batching import vmap
from cotangent._transforms.lengths import check_equal
from cotangent._transforms.masking import mask
from cotangent._transforms.ragged import Ragged, keeping_lengths
from cotangent.errors import ShapeError

Function = Callable[..., Any]


# ---- the mechanism -----------------------------------------------------------------------------------------------------


def masked(function: Function, operands: Sequence[Any], name: str, example_rank: int | None = None) -> Any:
    """``ct.mask(function)(*operands)``, mapped over the axes of the batch.

    Args:
        function: of exact arrays.
        operands: at least one `Ragged`; arrays beside it are broadcast over the batch.
        name: of the operation, for errors.
        example_rank: how many of an array's last axes are of one example; by default those of the examples of the batch.
    """
    nodes = [x for x in operands if isinstance(x, Ragged)]
    deepest = max(nodes, key=lambda node: len(node._batch))
    batch = deepest._batch
    rank = deepest.ndim - len(batch) if example_rank is None else example_rank
    given: list[Any] = []
    axes: list[list[Any]] = [[] for _ in batch]
    for operand in _of_one_length(operands):
        value, levels = _spread(operand, batch, rank, name)
        given.append(value)
        for level, axis in zip(axes, levels, strict=True):
            level.append(axis)
    mapped = mask(function)
    for level in reversed(axes):
        mapped = vmap(mapped, in_axes=tuple(level))
    return mapped(*given)


def _spread(operand: Any, batch: tuple[int, ...], rank: int, name: str) -> tuple[Any, list[Any]]:
    """An operand with each axis of the batch that it has as long as the batch, and for each level of `vmap` its axes."""
    if not batch:
        return operand, []
    data = _core.array(operand.data if isinstance(operand, Ragged) else operand)
    front = max(data.ndim - rank, 0)
    shape = tuple(data._bound_shape)
    sizes = batch[len(batch) - front :]
    if front > len(batch) or any(size not in (1, wanted) for size, wanted in zip(shape, sizes, strict=False)):
        raise ShapeError(
            f"{name}: an operand of shape {shape} beside a batch of shape {batch} of arrays with {rank} axes\n"
            "  call ct.vmap(ct.mask(f)) and say with in_axes what is mapped"
        )
    if shape[:front] != sizes:
        data = _core.broadcast_to(data, (*sizes, *shape[front:]))
    of_data = _levels(front, len(batch))
    if not isinstance(operand, Ragged):
        return data, of_data
    ranks = [_core.array(x).ndim for x in operand._lengths.values()]
    of_lengths = [_levels(depth, len(batch)) for depth in ranks]
    children = zip(of_data, *of_lengths, strict=True) if of_lengths else [(axis,) for axis in of_data]
    levels = [
        Ragged._make(axis, dict(zip(operand._lengths, lengths, strict=True)), operand._names)
        for axis, *lengths in children
    ]
    return Ragged._make(data, operand._lengths, operand._names), levels


def _levels(depth: int, levels: int) -> list[int | None]:
    """For each nested `vmap` whether it maps a value with ``depth`` axes of the batch, the last ones."""
    return [None] * (levels - depth) + [0] * depth


def _of_one_length(operands: Sequence[Any]) -> list[Any]:
    """The operands with one array for lengths that are known to be the same numbers: in `mask` one array is one length."""
    nodes = [x for x in operands if isinstance(x, Ragged)]
    if len(nodes) < 2:
        return list(operands)
    seen: list[Any] = []
    for length in sorted((x for node in nodes for x in node._lengths.values()), key=lambda x: -_core.array(x).ndim):
        if not any(length is x for x in seen):
            seen.append(length)

    def first(length: Any) -> Any:
        return next(x for x in seen if x is length or _known_equal(x, length))

    return [
        Ragged._make(x.data, {axis: first(length) for axis, length in x._lengths.items()}, x._names)
        if isinstance(x, Ragged)
        else x
        for x in operands
    ]


def _known_equal(first: Any, second: Any) -> bool:
    if _core.is_traced(first) or _core.is_traced(second):
        return False
    left, right = _core.to_numpy(first), _core.to_numpy(second)
    return (right.ndim == 0 or left.shape == right.shape) and bool(np.all(left == right))


def element_wise(function: Function, operands: Sequence[Any], name: str) -> Any:
    """`masked` of a function of corresponding elements: the result has the lengths of the operands."""
    nodes = [x for x in operands if isinstance(x, Ragged)]
    _check_alignment(operands, name)
    lengths: dict[int, Any] = {}
    names: dict[int, str] = {}
    for node in sorted(nodes, key=lambda x: len(x._batch)):
        lengths |= node._lengths
        names |= {axis: text for axis, text in node._names.items() if text}
    result = masked(function, operands, name)
    if not isinstance(result, Ragged) or result._lengths.keys() != lengths.keys():
        return result
    return keeping_lengths(Ragged._make(result.data, lengths, names))


def _check_alignment(operands: Sequence[Any], name: str) -> None:
    """Raises ShapeError unless operands that are aligned at their last axes agree on the lengths of ragged ones."""
    for node, other in itertools.permutations(operands, 2):
        for axis in node._lengths if isinstance(node, Ragged) else ():
            _check_axes(node, axis, other, axis, name)


def _as_operands(values: Mapping[Any, Any]) -> dict[Any, Any]:
    """Which arguments of a method are arrays, whose axes are aligned with those of the batch: key -> array.

    Python's numbers are none: they take the dtype of the array.
    """
    return {
        key: value if isinstance(value, Ragged) else _core.array(value)
        for key, value in values.items()
        if value is not None and not _core.is_python_scalar(value)
    }


def _check_axes(node: Ragged, axis: int, other: Any, other_axis: int, name: str) -> None:
    """Raises ShapeError where a ragged axis meets one of another length, or of a length that is not known to be equal."""
    length = node._lengths[axis]
    what = f"{name}: axis {axis + node.ndim} of a Ragged, and axis"
    if isinstance(other, Ragged) and other_axis in other._lengths:
        met = other._lengths[other_axis]
        named = node._names[axis] == other._names[other_axis] != ""
        if met is not length:
            what = f"{what} {other_axis + other.ndim} of the other,"
            if not named and (_core.is_traced(length) or _core.is_traced(met)):
                raise _unknown(what)
            _check_lengths(length, met, what, node, axis, other, other_axis)
        return
    data = _core.array(other.data if isinstance(other, Ragged) else other)
    if data.ndim < -other_axis or (size := data._bound_shape[other_axis]) == 1:
        return
    if other_axis + data.ndim in _core.ragged_axes(data):
        raise ShapeError(
            f"{what} {other_axis + data.ndim} of an array inside of ct.mask, have lengths that are not known to be equal\n"
            "  hand the Ragged to the masked function as an argument"
        )
    bound = node.data._bound_shape[axis]
    if size != bound:
        shapes = marked((node.data._bound_shape, [axis]), (data._bound_shape, [other_axis]))
        raise ShapeError(
            f"{name}: axis {axis + node.ndim} of a Ragged is padded to {bound} elements, and axis {other_axis + data.ndim} of an exact"
            f" array of shape {tuple(data._bound_shape)} has {size}{shapes}\n"
            "  compute with arrays of the length, x.unpad(), or give the other its axis, too: ct.Ragged(padded, x.lengths)"
        )
    what = f"{what} {other_axis + data.ndim} of an exact array of shape {tuple(data._bound_shape)},"
    if _core.is_traced(length):
        raise _unknown(what)
    _check_lengths(length, _core.array(np.int32(size)), what, node, axis, other, other_axis)


def _sizes_of(x: Any) -> list[str]:
    """The sizes of a shape for messages: ragged ones by their names, or else the length, if there is one for all examples."""
    data = x.data if isinstance(x, Ragged) else _core.array(x)
    sizes = sizes_of(data.shape)
    for axis, length in x._lengths.items() if isinstance(x, Ragged) else ():
        known = not _core.is_traced(length) and length.ndim == 0
        sizes[axis] = x._names[axis] or (str(int(length)) if known else f"≤{data._bound_shape[axis]}")
    return sizes


def _check_lengths(first: Any, second: Any, what: str, x: Any, axis: int, y: Any, other_axis: int) -> None:
    """`check_equal` of the lengths of two axes, whose error shows the shapes one below the other."""
    try:
        check_equal(first, second, what)
    except ShapeError as error:
        shapes = marked((_sizes_of(x), [axis]), (_sizes_of(y), [other_axis]))
        what, _, advice = str(error).partition("\n")
        advice = advice or f"  under ct.mask {CUT_BOTH}; or make both of one length"
        raise ShapeError(f"{what}{shapes}\n{advice}\n  see docs/errors.md#lengths-that-differ") from None


def _unknown(what: str) -> ShapeError:
    return ShapeError(
        f"{what} have lengths that are not known to be equal\n"
        '  give both axes one name, ct.Ragged(data, lengths, {axis: "n"}), or compute all of it under ct.mask'
    )


# ---- operators ---------------------------------------------------------------------------------------------------------
