"""Collectives: operations across the examples of a `vmap` whose batch axis has a name.

``vmap(f, axis_name="i")`` binds the name for what runs inside ``f``, functions called by ``jit`` and derivatives included. A tuple of
names means their product, the last one varying fastest. ``axis_index_groups`` divides the examples into groups that do not see each
other. Integers among the names of `psum`, `pmean`, `pmax` and `pmin` are axes of the array itself.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from cotangent import _core
from cotangent._base import primitives
from cotangent._base.arguments import check_arguments
from cotangent._base.capture import RAGGED_NAMES
from cotangent._base.words import check_word
from cotangent._core import Array, Primitive
from cotangent._ops.binding import own
from cotangent._ops.sizes import element_count, normalize_axes
from cotangent.lax._mapped_axes import (
    Groups,
    _axes,
    _bind,
    _count,
    _exchange,
    _gather,
    _gather_group,
    _grouped,
    _index,
    _map,
    _number,
    _parted,
    _reduced,
    _size,
    _split,
    _sum,
    _take,
)
from cotangent.lax.exchanges import all_to_all

__all__ = ["axis_index", "axis_size", "pcast", "pmax", "pmean", "pmin", "psum", "psum_scatter"]


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

    return _map(own(total), x, "psum's argument")


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

    return _map(own(extreme), x, f"{what}'s argument")


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
    check_word("pcast", "to", to, ("varying", "reduced", "unreduced"))
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
