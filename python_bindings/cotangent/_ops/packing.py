"""`pack`: a ragged batch computed in groups of rows of similar length."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from cotangent import _core
from cotangent._base import primitives
from cotangent._base.arguments import check_arguments
from cotangent._base.capture import check_callable, function_name, transformed
from cotangent._core import Array
from cotangent._ops.joining import concatenate
from cotangent._ops.sorting import argsort
from cotangent._transforms.batching import flatten_axes, vmap
from cotangent._transforms.masking import mask
from cotangent._transforms.programs import eval_shape
from cotangent._transforms.ragged import Ragged
from cotangent.errors import ConcretizationError

__all__ = ["pack"]

_STEP = 8  # bounds of groups are multiples of it, so that batches of other lengths find programs that are there


def pack(fun: Callable[..., Any], in_axes: Any = 0, *, groups: int = 4) -> Callable[..., Any]:
    """Maps a function of one row over a ragged batch, in groups of rows of similar length.

    Rows are sorted by length and divided so that the least padding is computed with; each group is padded to its
    longest row, rounded up to a multiple of 8. Results are those of ``ct.vmap(ct.mask(fun), in_axes)``, in the order of
    the rows. Where lengths are traced, under ``jit``, groups are of equal size and keep the bound; what follows the
    data in a group (loops over rows) ends with its longest row.

    Parameters
    ----------
    fun : callable
        A function of one row, written for exact arrays.
    in_axes : 0, None, or a pytree of them, default 0
        0 for what has an entry for each row, None for what all rows share: for all arguments, or as a pytree prefix of
        them.
    groups : int, default 4
        Into how many groups rows are divided at most.

    Returns
    -------
    callable
        A function of the same arguments that returns what ``ct.vmap(ct.mask(fun), in_axes)`` does.

    Raises
    ------
    ValueError
        ``groups`` is not positive, or an axis is neither 0 nor None.
    TypeError
        No argument is a batch of ragged rows.

    Examples
    --------
    >>> rows = ct.ragged([[1.0, 2.0, 3.0], [4.0], [5.0, 6.0]])
    >>> ct.pack(lambda x: x.sum())(rows).tolist()
    [6.0, 4.0, 11.0]
    """
    check_callable(fun, "pack")
    if groups < 1:
        raise ValueError(f"pack: groups must be positive; got {groups}\n  groups=1 is one group of all rows")
    name = function_name(fun)
    together = vmap(mask(fun), in_axes)

    @transformed(fun)
    def pack_fun(*args: Any) -> Any:
        leaves, structure = _core.tree_flatten(args, _is_ragged)
        axes = _axes_of(in_axes, args, leaves, name)
        batch = [leaf for leaf, axis in zip(leaves, axes, strict=True) if axis == 0]
        ragged = [leaf for leaf in batch if _is_ragged(leaf) and _lengths(leaf)]
        if not ragged:
            raise TypeError(
                f"pack of {name}: no argument is a batch of ragged rows\n"
                "  make one of a list of rows, ct.ragged(rows); use ct.vmap for exact ones"
            )
        order, sizes = _division(ragged, groups)
        if len(sizes) < 2:
            return together(*args)
        whole = eval_shape(together, *args)  # or the errors of the whole batch, which those of a group would hide
        results = []
        for start, stop in zip(np.cumsum([0, *sizes[:-1]]), np.cumsum(sizes), strict=True):
            rows = order[int(start) : int(stop)]
            chosen = [_rows(x, rows) if axis == 0 else x for x, axis in zip(leaves, axes, strict=True)]
            results.append(together(*structure.unflatten(chosen)))
        back = argsort(_core.array(order))
        return _joined(results, whole, back)

    return pack_fun


def _is_ragged(x: Any) -> bool:
    return isinstance(x, Ragged)


def _axes_of(in_axes: Any, args: Any, leaves: list[Any], name: str) -> list[int | None]:
    """The axis of each leaf, a `Ragged` being one."""
    counts = [_core.tree_flatten(leaf, None)[1].num_leaves for leaf in leaves]
    in_axes = tuple(in_axes) if isinstance(in_axes, list) else in_axes
    each = iter(flatten_axes(in_axes, args, "in_axes", name))
    axes = [[next(each) for _ in range(count)] for count in counts]
    if any(axis not in (0, None) for own in axes for axis in own):
        raise ValueError(
            f"pack of {name}: in_axes must be made of 0 and None; got {in_axes!r}\n"
            "  move the batch to the front: ct.numpy.moveaxis(x, axis, 0)"
        )
    return [own[0] if own else None for own in axes]


def _lengths(x: Ragged) -> dict[int, Any]:
    """The lengths that rows have of their own, by axis from the end."""
    return {axis: length for axis, length in x._lengths.items() if _core.array(length).ndim == 1}


def _known(x: Any) -> np.ndarray[Any, Any] | None:
    try:
        return np.asarray(_core.peek_numpy(x))
    except ConcretizationError:
        return None


def _division(batch: Sequence[Ragged], groups: int) -> tuple[Any, list[int]]:
    """The rows in the order of their lengths, and how many go together."""
    lengths = [length for x in batch for length in _lengths(x).values()]
    known = [_known(length) for length in lengths]
    if any(length is None for length in known):
        total = functools.reduce(primitives.add, [_core.convert(length, "int32") for length in lengths])
        count = total._bound_shape[0]
        parts = min(groups, max(count, 1))
        return argsort(total), [count // parts + (i < count % parts) for i in range(parts)]
    rounded = np.sum([-(-np.asarray(length) // _STEP) for length in known], axis=0)
    order = np.argsort(rounded, kind="stable").astype(np.int32)
    return order, _cheapest(rounded[order], groups)


def _cheapest(costs: np.ndarray[Any, Any], groups: int) -> list[int]:
    """Sorted costs in so many runs that the sum of each run's last cost for all of its members is least."""
    values, counts = np.unique(costs, return_counts=True)
    ends = np.cumsum(counts)
    best: list[tuple[float, list[int]]] = [
        (float(value * end), [int(end)]) for value, end in zip(values, ends, strict=True)
    ]
    for _ in range(groups - 1):
        longer = []
        for last, (value, end) in enumerate(zip(values, ends, strict=True)):
            found = best[last]
            for before in range(last):
                cost, runs = best[before]
                cost += float(value * (end - ends[before]))
                if cost < found[0]:
                    found = cost, [*runs, int(end)]
            longer.append(found)
        best = longer
    return np.diff([0, *best[-1][1]]).tolist() if best else []


def _taken(x: Any, rows: Any) -> Array:
    return primitives.gather(_core.array(x), _core.array(rows), axis=0, batch_dims=0)


def _rows(x: Any, rows: Any) -> Any:
    """Some rows of a batch; of ragged ones, with the least bound that is enough where their lengths are known."""
    if not _is_ragged(x):
        return _taken(x, rows)
    data, own = _taken(x.data, rows), _lengths(x)
    lengths = {axis: _taken(length, rows) if axis in own else length for axis, length in x._lengths.items()}
    limit = list(data._bound_shape)
    for axis, length in lengths.items():
        known = _known(length)
        if known is not None and known.size:
            limit[axis] = min(limit[axis], max(int(-(-known.max() // _STEP) * _STEP), 1))
    cut = primitives.slice(data, start=[0] * data.ndim, limit=limit, stride=[1] * data.ndim)
    return Ragged._make(cut, lengths, x._names)


def _joined(results: list[Any], whole: Any, back: Array) -> Any:
    """The results of the groups as those of the whole batch, rows where they were."""
    flat = [_core.tree_flatten(result, _is_ragged) for result in results]
    shapes, _ = _core.tree_flatten(whole, _is_ragged)
    return flat[0][1].unflatten(
        [_joined_leaf([leaves[i] for leaves, _ in flat], shape, back) for i, shape in enumerate(shapes)]
    )


def _joined_leaf(parts: list[Any], shape: Any, back: Array) -> Any:
    if not _is_ragged(shape):
        return _taken(concatenate(parts), back)
    bound = shape.data.shape
    data = concatenate([_widened(part.data if _is_ragged(part) else part, bound) for part in parts])
    lengths = {axis: concatenate([_lengths_along(part, axis) for part in parts]) for axis in shape._lengths}
    return Ragged._make(
        _taken(data, back), {axis: _taken(length, back) for axis, length in lengths.items()}, shape._names
    )


def _lengths_along(part: Any, axis: int) -> Array:
    """The length of each row of a group's result: where its bound leaves one only, the axis is exact."""
    data, own = (part.data, part._lengths) if _is_ragged(part) else (part, {})
    size = own.get(axis, data._bound_shape[axis])
    return _core.broadcast_to(_core.convert(_core.array(size), "int32"), [data._bound_shape[0]])


def _widened(x: Any, bound: Sequence[int]) -> Array:
    none = [0] * len(bound)
    high = [0, *(size - own for size, own in zip(bound[1:], x._bound_shape[1:], strict=True))]
    return primitives.pad(x, _core.full((), 0, x.dtype), low=none, high=high, interior=none)


check_arguments(globals())
