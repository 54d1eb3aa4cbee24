"""Collectives: operations across the examples of a `vmap` whose batch axis has a name.

``vmap(f, axis_name="i")`` binds the name for what runs inside ``f``, functions called by ``jit`` and derivatives included. A tuple of
names means their product, the last one varying fastest. ``axis_index_groups`` divides the examples into groups that do not see each
other. Integers among the names of `psum`, `pmean`, `pmax` and `pmin` are axes of the array itself.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np

from cotangent import _core
from cotangent._base import primitives
from cotangent._base.arguments import check_arguments
from cotangent._base.capture import RAGGED_NAMES, axis_text, flatten_arguments, set_length
from cotangent._base.dimensions import Dim
from cotangent._core import Array, Primitive
from cotangent._ops.extents import capacity, join_axes, split_axis
from cotangent._ops.sizes import element_count, normalize_axes
from cotangent.errors import ShapeError

__all__ = [
    "all_gather",
    "all_to_all",
    "axis_index",
    "axis_size",
    "pbroadcast",
    "pcast",
    "pmax",
    "pmean",
    "pmin",
    "ppermute",
    "pshuffle",
    "psum",
    "psum_scatter",
    "pswapaxes",
]

Axis = tuple[str, int]  # name and size
Groups = Sequence[Sequence[int]] | None


def _axes(axis_name: Hashable, what: str) -> list[Axis]:
    """The named axes, outermost first."""
    bound: dict[str, int] = {}
    for name, size in _core.named_axes():
        bound.setdefault(name, size)
    names = axis_name if isinstance(axis_name, (tuple, list)) else (axis_name,)
    found = []
    for name in names:
        text = axis_text(name)
        if text not in bound:
            known = f"bound here: {', '.join(map(repr, bound))}" if bound else "no axis is bound here"
            raise NameError(
                f"{what}: the axis name {name!r} is not bound; {known}\n  call it in a function under vmap(..., axis_name={name!r})"
            )
        found.append((text, bound[text]))
    return found


def _parted(axis_name: Hashable, groups: Groups, what: str) -> tuple[list[Axis], list[int]]:
    """The named axes, and the integers, which are axes of the array."""
    given = axis_name if isinstance(axis_name, (tuple, list)) else (axis_name,)
    positions = [int(axis) for axis in given if isinstance(axis, int)]
    if positions and groups is not None:
        raise ValueError(f"{what}: axis_index_groups are of named axes alone; got {axis_name!r}")
    return _axes(tuple(axis for axis in given if not isinstance(axis, int)), what), positions


def _reduced(primitive: Primitive, x: Array, positions: Sequence[int], what: str) -> Array:
    if not positions:
        return x
    return primitive(x, axes=normalize_axes(tuple(positions), x.ndim, what))


def _bind(primitive: Primitive, operands: list[Array], axis: Axis, **attributes: Any) -> Array:
    return primitive(*operands, axis_name=axis[0], axis_size=axis[1], **attributes)


def _map(f: Callable[[Array], Array], x: Any, what: str) -> Any:
    leaves, structure = flatten_arguments(x, what)
    return structure.unflatten([f(leaf) for leaf in leaves])


def _size(axes: Sequence[Axis]) -> int:
    for name, _ in axes:
        if name in RAGGED_NAMES.get():
            raise NotImplementedError(
                f"the axis named {name!r} is ragged: how many examples there are is not known\n"
                "  use psum, pmean, pmax, pmin and all_gather, which leave the padding out, or map over an exact axis"
            )
    return int(np.prod([size for _, size in axes], dtype=np.int64))


def _count(axes: Sequence[Axis]) -> Any:
    """The number of examples: an int, or a size where an axis is ragged."""
    lengths = RAGGED_NAMES.get()
    sizes = [Dim(size, lengths[name], f"axis {name!r}") if name in lengths else size for name, size in axes]
    return math.prod(sizes)


def _move(x: Array, source: int, target: int) -> Array:
    order = [axis for axis in range(x.ndim) if axis != source]
    order.insert(target, source)
    return primitives.transpose(x, permutation=order) if order != list(range(x.ndim)) else x


def _take(x: Array, index: Any) -> Array:
    return primitives.gather(x, index, axis=0, batch_dims=0)


def _sum(x: Array) -> Array:
    return primitives.reduce_sum(x, axes=[0])


def _gather(x: Array, axes: Sequence[Axis]) -> Array:
    """``x`` of all examples, along a new first axis."""
    for axis in reversed(axes):
        x = _bind(primitives.all_gather, [x], axis)
        length = RAGGED_NAMES.get().get(axis[0])
        if length is not None and 0 not in _core.ragged_axes(x):
            x = set_length(x, length, 0)
    if len(axes) == 1:
        return x
    _size(axes)  # which must be known
    return join_axes(x, 0, len(axes))


def _exchange(x: Array, axes: Sequence[Axis]) -> Array:
    """Entry j of example i becomes entry i of example j."""
    if len(axes) == 1:
        return _bind(primitives.all_to_all, [x], axes[0])
    x = split_axis(x, 0, [size for _, size in axes])
    for position, axis in enumerate(axes):
        x = _move(_bind(primitives.all_to_all, [_move(x, position, 0)], axis), 0, position)
    return join_axes(x, 0, len(axes))


def _index(axes: Sequence[Axis]) -> Array:
    result = _core.full((), 0, "int32")
    for axis in axes:
        result = result * axis[1] + _bind(primitives.axis_index, [], axis)
    return result


def _grouped(groups: Groups, axes: Sequence[Axis], what: str) -> tuple[Any, Array, Array]:
    """The groups as an array, the group that this example is in, and its place there."""
    size = _size(axes)
    members = [list(map(int, group)) for group in groups or ()]
    if sorted(i for group in members for i in group) != list(range(size)):
        raise ValueError(f"{what}: axis_index_groups must name each of the {size} examples once; got {groups}")
    if len({len(group) for group in members}) > 1:
        raise ValueError(f"{what}: the groups of axis_index_groups must have one size; got {groups}")
    table = np.array(members, np.int32)
    of, place = np.zeros(size, np.int32), np.zeros(size, np.int32)
    for number, group in enumerate(members):
        of[group] = number
        place[group] = np.arange(len(group))
    index = _index(axes)
    return _core.array(table), _take(_core.array(of), index), _take(_core.array(place), index)


def _gather_group(x: Array, axes: Sequence[Axis], groups: Groups, what: str) -> Array:
    if groups is None:
        return _gather(x, axes)
    table, own, _ = _grouped(groups, axes, what)
    return _take(_take(_gather(x, axes), table), own)


def _number(x: Array) -> Array:
    return _core.convert(x, "int32") if x.dtype == bool else x


def psum(x: Any, axis_name: Hashable, *, axis_index_groups: Groups = None) -> Any:
    """The sum over the examples of a mapped axis.

    Bools are counted.

    Parameters
    ----------
    x : pytree of arrays
        The value of this example.
    axis_name : name, int, or tuple of these
        The mapped axes; integers are axes of ``x``, which is summed along them.
    axis_index_groups : sequence of sequence of int, optional
        Groups of equal size that the examples are divided into; sums are over the own group.

    Returns
    -------
    pytree of arrays
        The same for all examples of a group.

    Raises
    ------
    NameError
        The name is not bound here.

    Examples
    --------
    >>> ct.vmap(lambda x: x / ct.lax.psum(x, "i"), axis_name="i")(ct.numpy.array([1.0, 3.0]))
    Array([0.25, 0.75], dtype=float32)
    """
    axes, positions = _parted(axis_name, axis_index_groups, "psum")

    def total(leaf: Array) -> Array:
        leaf = _reduced(primitives.reduce_sum, _number(leaf), positions, "psum")
        if axis_index_groups is not None:
            table, own, _ = _grouped(axis_index_groups, axes, "psum")
            return _take(primitives.reduce_sum(_take(_gather(leaf, axes), table), axes=[1]), own)
        for axis in axes:
            # Of a ragged axis, how many examples there are: what is the same for all of them is there once for each.
            length = RAGGED_NAMES.get().get(axis[0])
            leaf = _bind(primitives.psum, [leaf] if length is None else [leaf, length], axis)
        return leaf

    return _map(total, x, "psum's argument")


def pmean(x: Any, axis_name: Hashable, *, axis_index_groups: Groups = None) -> Any:
    """The mean over the examples of a mapped axis.

    Parameters
    ----------
    x : pytree of arrays
        The value of this example.
    axis_name : name, int, or tuple of these
        The mapped axes; integers are axes of ``x``, along which the mean is taken, too.
    axis_index_groups : sequence of sequence of int, optional
        As of `psum`.

    Returns
    -------
    pytree of arrays
        The same for all examples of a group.

    Raises
    ------
    NameError
        The name is not bound here.

    Examples
    --------
    >>> ct.vmap(lambda x: x - ct.lax.pmean(x, "i"), axis_name="i")(ct.numpy.array([1.0, 3.0]))
    Array([-1.,  1.], dtype=float32)
    """
    axes, positions = _parted(axis_name, axis_index_groups, "pmean")
    count = _count(axes) if axis_index_groups is None else len(axis_index_groups[0])

    def mean(leaf: Array) -> Array:
        along = element_count(leaf, normalize_axes(tuple(positions), leaf.ndim, "pmean"))
        return psum(leaf, axis_name, axis_index_groups=axis_index_groups) / (count * along)  # type: ignore[no-any-return]

    return _map(mean, x, "pmean's argument")


def _extremum(primitive: Primitive, x: Any, axis_name: Hashable, groups: Groups, what: str) -> Any:
    axes, positions = _parted(axis_name, groups, what)

    def extreme(leaf: Array) -> Array:
        found = _reduced(primitive, _number(leaf), positions, what)
        if axes:
            found = primitive(_gather_group(found, axes, groups, what), axes=[0])
        return _core.convert(found, leaf.dtype)

    return _map(extreme, x, f"{what}'s argument")


def pmax(x: Any, axis_name: Hashable, *, axis_index_groups: Groups = None) -> Any:
    """The largest value of the examples of a mapped axis.

    Parameters
    ----------
    x : pytree of arrays
        The value of this example.
    axis_name : name, int, or tuple of these
        The mapped axes; integers are axes of ``x``, along which the maximum is taken, too.
    axis_index_groups : sequence of sequence of int, optional
        As of `psum`.

    Returns
    -------
    pytree of arrays
        The same for all examples of a group.

    Raises
    ------
    NameError
        The name is not bound here.

    Examples
    --------
    >>> ct.vmap(lambda x: ct.lax.pmax(x, "i"), axis_name="i")(ct.numpy.array([1.0, 3.0]))
    Array([3., 3.], dtype=float32)
    """
    return _extremum(primitives.reduce_max, x, axis_name, axis_index_groups, "pmax")


def pmin(x: Any, axis_name: Hashable, *, axis_index_groups: Groups = None) -> Any:
    """The smallest value of the examples of a mapped axis.

    Parameters
    ----------
    x : pytree of arrays
        The value of this example.
    axis_name : name, int, or tuple of these
        The mapped axes; integers are axes of ``x``, along which the minimum is taken, too.
    axis_index_groups : sequence of sequence of int, optional
        As of `psum`.

    Returns
    -------
    pytree of arrays
        The same for all examples of a group.

    Raises
    ------
    NameError
        The name is not bound here.

    Examples
    --------
    >>> ct.vmap(lambda x: ct.lax.pmin(x, "i"), axis_name="i")(ct.numpy.array([1.0, 3.0]))
    Array([1., 1.], dtype=float32)
    """
    return _extremum(primitives.reduce_min, x, axis_name, axis_index_groups, "pmin")


def _position(axis: int, rank: int, what: str) -> int:
    if not -rank <= axis < rank:
        raise ValueError(f"{what}: there is no axis {axis}; the result has {rank} axes")
    return axis % rank


def all_gather(
    x: Any,
    axis_name: Hashable,
    *,
    axis_index_groups: Groups = None,
    axis: int = 0,
    tiled: bool = False,
    to: str = "varying",
) -> Any:
    """The values of all examples of a mapped axis.

    Parameters
    ----------
    x : pytree of arrays
        The value of this example.
    axis_name : name, or tuple of names
        The mapped axes.
    axis_index_groups : sequence of sequence of int, optional
        As of `psum`: the values of the own group.
    axis : int
        Where they lie in the result, by default 0.
    tiled : bool
        Whether values are joined along the existing axis rather than stacked along a new one.
    to : str
        "varying" or "reduced", which are the same here.

    Returns
    -------
    pytree of arrays
        With the values of all examples.

    Raises
    ------
    NameError
        The name is not bound here.

    Examples
    --------
    >>> ct.vmap(lambda x: ct.lax.all_gather(x, "i"), axis_name="i")(ct.numpy.arange(2))
    Array([[0, 1],
           [0, 1]], dtype=int32)
    """
    if to not in ("varying", "reduced"):
        raise ValueError(f"all_gather: to must be 'varying' or 'reduced', which are the same here; got {to!r}")
    axes = _axes(axis_name, "all_gather")

    def gathered(leaf: Array) -> Array:
        position = _position(axis, leaf.ndim + (not tiled), "all_gather")
        result = _move(_gather_group(leaf, axes, axis_index_groups, "all_gather"), 0, position)
        if not tiled:
            return result
        return join_axes(result, position, position + 2)

    return _map(gathered, x, "all_gather's argument")


def _split(x: Array, axis: int, parts: int, tiled: bool, what: str) -> Array:
    """The parts of an axis along a new first axis."""
    axis = _position(axis, x.ndim, what)
    size = capacity(x, axis)
    if not tiled:
        if size != parts:
            raise ShapeError(f"{what}: axis {axis} has size {size}; it must have the size of the named axis, {parts}")
        return _move(x, axis, 0)
    if size % parts:
        raise ShapeError(f"{what}: axis {axis} of size {size} cannot be divided among {parts} examples")
    return _move(split_axis(x, axis, [parts, size // parts]), axis, 0)


def all_to_all(
    x: Any,
    axis_name: Hashable,
    split_axis: int,
    concat_axis: int,
    *,
    axis_index_groups: Groups = None,
    tiled: bool = False,
) -> Any:
    """Divides an axis among the examples of a mapped axis and joins what comes from them.

    Parameters
    ----------
    x : pytree of arrays
        The value of this example.
    axis_name : name, or tuple of names
        The mapped axes.
    split_axis : int
        The axis that is divided: of the size of the mapped axis, and gone in the result; with ``tiled`` a multiple
        of it, and divided.
    concat_axis : int
        Where the new axis is in the result; with ``tiled`` the existing axis that the parts are joined along.
    axis_index_groups : sequence of sequence of int, optional
        As of `psum`: exchanged within the own group.
    tiled : bool
        Whether axes are divided and joined rather than taken and made.

    Returns
    -------
    pytree of arrays
        What came from all examples.

    Raises
    ------
    ShapeError
        The axis does not have that size.

    Examples
    --------
    >>> ct.vmap(lambda x: ct.lax.all_to_all(x, "i", 0, 0), axis_name="i")(ct.numpy.array([[1, 2], [3, 4]]))
    Array([[1, 3],
           [2, 4]], dtype=int32)
    """
    axes = _axes(axis_name, "all_to_all")

    def exchanged(leaf: Array) -> Array:
        if axis_index_groups is None:
            parts = _exchange(_split(leaf, split_axis, _size(axes), tiled, "all_to_all"), axes)
        else:
            table, own, place = _grouped(axis_index_groups, axes, "all_to_all")
            pieces = _split(leaf, split_axis, capacity(table, 1), tiled, "all_to_all")
            everything = _move(_gather(pieces, axes), 1, 0)  # piece, example, ...
            parts = _take(_take(_take(everything, place), table), own)
        position = _position(concat_axis, parts.ndim - tiled, "all_to_all")
        if not tiled:
            return _move(parts, 0, position)
        return join_axes(_move(parts, 0, position), position, position + 2)

    return _map(exchanged, x, "all_to_all's argument")


def psum_scatter(
    x: Any, axis_name: Hashable, *, scatter_dimension: int = 0, axis_index_groups: Groups = None, tiled: bool = False
) -> Any:
    """The sum over the examples of a mapped axis, divided among them.

    Parameters
    ----------
    x : pytree of arrays
        The value of this example.
    axis_name : name, or tuple of names
        The mapped axes.
    scatter_dimension : int
        The axis of ``x`` that is divided, by default 0: of the size of the mapped axis, or with ``tiled`` a
        multiple.
    axis_index_groups : sequence of sequence of int, optional
        As of `psum`.
    tiled : bool
        Whether the divided axis stays.

    Returns
    -------
    pytree of arrays
        The part of the sum that belongs to this example.

    Raises
    ------
    ShapeError
        The axis does not have that size.

    Examples
    --------
    >>> ct.vmap(lambda x: ct.lax.psum_scatter(x, "i"), axis_name="i")(ct.numpy.array([[1, 2], [3, 4]]))
    Array([4, 6], dtype=int32)
    """
    axes = _axes(axis_name, "psum_scatter")

    def scattered(leaf: Array) -> Array:
        if axis_index_groups is None:
            return _sum(_exchange(_split(leaf, scatter_dimension, _size(axes), tiled, "psum_scatter"), axes))
        count = len(axis_index_groups[0])
        parts = _split(leaf, scatter_dimension, count, tiled, "psum_scatter")
        parts = all_to_all(parts, axis_name, 0, 0, axis_index_groups=axis_index_groups)
        return _sum(parts)

    return _map(scattered, _map(_number, x, "psum_scatter's argument"), "psum_scatter's argument")


def ppermute(x: Any, axis_name: Hashable, perm: Sequence[tuple[int, int]]) -> Any:
    """Sends the values of examples to other ones.

    Parameters
    ----------
    x : pytree of arrays
        The value of this example.
    axis_name : name, or tuple of names
        The mapped axes.
    perm : sequence of (int, int)
        Pairs (source, destination), each of which occurs once at most.

    Returns
    -------
    pytree of arrays
        What was sent to this example; zeros if nothing was.

    Raises
    ------
    ValueError
        There is no such example, or one occurs twice.

    Examples
    --------
    >>> shift = lambda x: ct.lax.ppermute(x, "i", [(0, 1), (1, 2)])
    >>> ct.vmap(shift, axis_name="i")(ct.numpy.array([5, 6, 7]))
    Array([0, 5, 6], dtype=int32)
    """
    axes = _axes(axis_name, "ppermute")
    size = _size(axes)
    sources = [-1] * size
    for source, destination in perm:
        if not 0 <= source < size or not 0 <= destination < size:
            raise ValueError(f"ppermute: there are {size} examples; got {list(perm)}")
        if sources[destination] >= 0 or source in sources:
            raise ValueError(f"ppermute: each example may be a source once and a destination once; got {list(perm)}")
        sources[destination] = source

    def permuted(leaf: Array) -> Array:
        if len(axes) == 1:
            return _bind(primitives.ppermute, [leaf], axes[0], sources=sources)
        return _take(_gather(leaf, axes), _take(_core.array(np.array(sources, np.int32)), _index(axes)))

    return _map(permuted, x, "ppermute's argument")


def pshuffle(x: Any, axis_name: Hashable, perm: Sequence[int]) -> Any:
    """Gives each example the value of another one.

    Parameters
    ----------
    x : pytree of arrays
        The value of this example.
    axis_name : name, or tuple of names
        The mapped axes.
    perm : sequence of int
        A permutation: example i gets the value of example ``perm[i]``.

    Returns
    -------
    pytree of arrays
        The value of that example.

    Raises
    ------
    ValueError
        ``perm`` is no permutation.

    Examples
    --------
    >>> ct.vmap(lambda x: ct.lax.pshuffle(x, "i", [2, 0, 1]), axis_name="i")(ct.numpy.array([5, 6, 7]))
    Array([7, 5, 6], dtype=int32)
    """
    if sorted(perm) != list(range(len(perm))):
        raise ValueError(f"pshuffle: perm must be a permutation; got {list(perm)}")
    return ppermute(x, axis_name, [(int(source), i) for i, source in enumerate(perm)])


def pswapaxes(x: Any, axis_name: Hashable, axis: int, *, axis_index_groups: Groups = None) -> Any:
    """Exchanges a mapped axis with an axis of the array, which has its size.

    Parameters
    ----------
    x : pytree of arrays
        The value of this example.
    axis_name : name, or tuple of names
        The mapped axes.
    axis : int
        The axis of ``x``.
    axis_index_groups : sequence of sequence of int, optional
        As of `psum`.

    Returns
    -------
    pytree of arrays
        Of the same shape.

    Raises
    ------
    ShapeError
        The axis does not have the size of the mapped axis.

    Examples
    --------
    >>> ct.vmap(lambda x: ct.lax.pswapaxes(x, "i", 0), axis_name="i")(ct.numpy.array([[1, 2], [3, 4]]))
    Array([[1, 3],
           [2, 4]], dtype=int32)
    """
    return all_to_all(x, axis_name, axis, axis, axis_index_groups=axis_index_groups)


def pbroadcast(x: Any, axis_name: Hashable, source: int) -> Any:
    """The value of one example, for all examples of a mapped axis.

    Parameters
    ----------
    x : pytree of arrays
        The value of this example.
    axis_name : name, or tuple of names
        The mapped axes.
    source : int
        The number of the example whose value is taken.

    Returns
    -------
    pytree of arrays
        Its value.

    Raises
    ------
    ValueError
        There is no such example.

    Examples
    --------
    >>> ct.vmap(lambda x: ct.lax.pbroadcast(x, "i", 1), axis_name="i")(ct.numpy.array([5, 6, 7]))
    Array([6, 6, 6], dtype=int32)
    """
    axes = _axes(axis_name, "pbroadcast")
    if not 0 <= source < _size(axes):
        raise ValueError(f"pbroadcast: there are {_size(axes)} examples; got source={source}")
    return _map(lambda leaf: _take(_gather(leaf, axes), _core.full((), source, "int32")), x, "pbroadcast's argument")


def pcast(x: Any, axis_name: Hashable, *, to: str) -> Any:
    """The value itself: whether it varies over a mapped axis is found out here, not declared.

    Parameters
    ----------
    x : pytree of arrays
        Any value.
    axis_name : name, or tuple of names
        The mapped axes, which must be bound.
    to : str
        "varying", "reduced" or "unreduced".

    Returns
    -------
    pytree of arrays
        The same value.

    Raises
    ------
    ValueError
        ``to`` is none of these.

    Examples
    --------
    >>> ct.vmap(lambda x: ct.lax.pcast(x, "i", to="varying"), axis_name="i")(ct.numpy.array([5, 6]))
    Array([5, 6], dtype=int32)
    """
    _axes(axis_name, "pcast")
    if to not in ("varying", "reduced", "unreduced"):
        raise ValueError(f"pcast: to must be 'varying', 'reduced' or 'unreduced'; got {to!r}")
    return _map(lambda leaf: leaf, x, "pcast's argument")


def axis_index(axis_name: Hashable) -> Array:
    """The number of this example along a mapped axis.

    Parameters
    ----------
    axis_name : name, or tuple of names
        The mapped axes; of several, the last one varies fastest.

    Returns
    -------
    array of int32, shape ()
        From 0 on.

    Raises
    ------
    NameError
        The name is not bound here.

    Examples
    --------
    >>> ct.vmap(lambda x: x + ct.lax.axis_index("i"), axis_name="i")(ct.numpy.zeros(3))
    Array([0., 1., 2.], dtype=float32)
    """
    return _index(_axes(axis_name, "axis_index"))


def axis_size(axis_name: Hashable) -> Any:
    """The size of a mapped axis.

    Parameters
    ----------
    axis_name : name, or tuple of names
        The mapped axes; of several, the product of their sizes.

    Returns
    -------
    int
        Of a ragged axis, what its arrays' ``shape`` has.

    Raises
    ------
    NameError
        The name is not bound here.

    Examples
    --------
    >>> ct.vmap(lambda x: x / ct.lax.axis_size("i"), axis_name="i")(ct.numpy.array([1.0, 3.0]))
    Array([0.5, 1.5], dtype=float32)
    """
    return _count(_axes(axis_name, "axis_size"))


check_arguments(globals())
