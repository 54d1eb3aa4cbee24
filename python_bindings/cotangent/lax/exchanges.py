"""Collectives that exchange values between the examples of a mapped axis."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from cotangent import _core
from cotangent._base import primitives
from cotangent._base.arguments import check_arguments
from cotangent._base.words import check_word
from cotangent._core import Array
from cotangent._ops.extents import capacity, join_axes
from cotangent.lax._mapped_axes import (
    Groups,
    _axes,
    _bind,
    _exchange,
    _gather,
    _gather_group,
    _grouped,
    _index,
    _map,
    _move,
    _position,
    _size,
    _split,
    _take,
)

__all__ = ["all_gather", "all_to_all", "pbroadcast", "ppermute", "pshuffle", "pswapaxes"]


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
    check_word("all_gather", "to", to, ("varying", "reduced"))  # which are the same here
    axes = _axes(axis_name, "all_gather")

    def gathered(leaf: Array) -> Array:
        position = _position(axis, leaf.ndim + (not tiled), "all_gather")
        result = _move(_gather_group(leaf, axes, axis_index_groups, "all_gather"), 0, position)
        if not tiled:
            return result
        return join_axes(result, position, position + 2)

    return _map(gathered, x, "all_gather's argument")


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
            raise ValueError(
                f"ppermute: there are {size} examples; got {list(perm)}\n"
                f"  number them from 0 to {size - 1}: (i, (i + 1) % {size}) sends each to the next, the last to the first"
            )
        if sources[destination] >= 0 or source in sources:
            raise ValueError(
                f"ppermute: each example may be a source once and a destination once; got {list(perm)}\n"
                "  to send one value to several, use pbroadcast or all_gather"
            )
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
        raise ValueError(
            f"pshuffle: perm must be a permutation; got {list(perm)}\n  name each of 0 … {len(perm) - 1} once"
        )
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
        raise ValueError(
            f"pbroadcast: there are {_size(axes)} examples; got source={source}\n"
            f"  pass a source from 0 to {_size(axes) - 1}"
        )
    return _map(lambda leaf: _take(_gather(leaf, axes), _core.full((), source, "int32")), x, "pbroadcast's argument")


check_arguments(globals())
