"""Sorting, the largest elements and where they are."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from cotangent import _core
from cotangent._base import primitives
from cotangent._base.arguments import check_arguments
from cotangent._base.capture import set_length
from cotangent._base.dimensions import Dim, bound_of, narrowed, size_if_computed, smallest
from cotangent._core import Array
from cotangent._ops import extreme_positions
from cotangent._ops.binding import convert
from cotangent._ops.choice import where
from cotangent._ops.comparisons import less
from cotangent._ops.extents import capacity, index_along
from cotangent._ops.sizes import axis_size, index_dtype, length_of_size, normalize_axis, static_int
from cotangent._ops.taking import take_along_axis
from cotangent._transforms.lengths import require
from cotangent.errors import DTypeError, ShapeError

__all__ = ["approx_max_k", "approx_min_k", "argmax", "argmin", "sort", "sort_key_val", "top_k"]

_INT32 = np.dtype("int32")


def sort(operand: Any, dimension: int = -1, is_stable: bool = True, num_keys: int = 1) -> Any:
    """Sorts along an axis, ascending; of several arrays by the first ones, the others along with them.

    NaN is last and -0 equal to 0. Equal elements keep their order, whether or not that is asked for.

    Parameters
    ----------
    operand : array, or sequence of array
        Several arrays are of one shape.
    dimension : int
        The axis, by default the last.
    is_stable : bool
        Whether equal elements must keep their order, which they always do.
    num_keys : int
        How many of the arrays are compared, one after the other where elements are equal.

    Returns
    -------
    array, or tuple of array
        As was given.

    Examples
    --------
    >>> ct.lax.sort(ct.numpy.array([3, 1, 2]))
    Array([1, 2, 3], dtype=int32)
    >>> [x.tolist() for x in ct.lax.sort((ct.numpy.array([3, 1, 2]), ct.numpy.array([30, 10, 20])))]
    [[1, 2, 3], [10, 20, 30]]
    """
    del is_stable
    several = isinstance(operand, (tuple, list))
    arrays = [_core.array(x) for x in (operand if several else [operand])]
    if not arrays:
        raise TypeError("lax.sort needs at least one array\n  pass an array, or a tuple with the keys in it")
    axis = normalize_axis(dimension, arrays[0].ndim, "lax.sort")
    results = primitives.sort(*arrays, axis=axis, num_keys=num_keys)
    return tuple(results) if several else results[0]


def sort_key_val(keys: Any, values: Any, dimension: int = -1, is_stable: bool = True) -> tuple[Array, Array]:
    """Sorts ``keys`` along an axis, and puts ``values`` into the same order.

    Parameters
    ----------
    keys : array
        Compared as by `sort`.
    values : array
        Of the same shape.
    dimension : int
        The axis, by default the last.
    is_stable : bool
        Whether equal keys must keep their order, which they always do.

    Returns
    -------
    (array, array)
        The sorted keys and the values.

    Examples
    --------
    >>> keys, values = ct.lax.sort_key_val(ct.numpy.array([3, 1, 2]), ct.numpy.array([30, 10, 20]))
    >>> values
    Array([10, 20, 30], dtype=int32)
    """
    first, second = sort((keys, values), dimension, is_stable)
    return first, second


def top_k(operand: Any, k: int | Dim, *, axis: int = -1) -> tuple[Array, Array]:
    """The k largest elements along an axis, largest first, and their positions.

    NaN counts as largest, and of equal elements the first comes first. Along a ragged axis whose length is
    computed, and less than ``k``, the rest is the smallest number of the dtype, -inf of floats, and the position
    that is the length; ``ct.numpy.minimum(k, n)`` asks for what there is.

    Parameters
    ----------
    operand : array
        Real numbers.
    k : int
        How many, at most the size of the axis; inside ``mask`` also a size.
    axis : int
        The axis, by default the last.

    Returns
    -------
    (array, array of int32)
        The elements and their positions, k along the axis.

    Raises
    ------
    ValueError
        ``k`` is above the size of the axis, or negative.

    Examples
    --------
    >>> values, places = ct.lax.top_k(ct.numpy.array([1, 5, 3]), 2)
    >>> values.tolist(), places.tolist()
    ([5, 3], [1, 2])
    """
    x = _core.array(operand)
    if x.ndim == 0:
        raise ShapeError("lax.top_k takes arrays with at least one axis; got a scalar\n  pass x[None]")
    if _core.dtype_kind(x.dtype) in ("complex", "bool"):
        raise DTypeError(
            f"lax.top_k takes real numbers; got {x.dtype}\n"
            f"  {'convert them first, with astype' if x.dtype == bool else 'take real numbers of them first, as abs(x) is'}"
        )
    at = normalize_axis(axis, x.ndim, "lax.top_k")
    k = size_if_computed(k, "lax.top_k: k")
    if isinstance(k, Dim):
        _require_elements(x, at, k.owner, k.value)
        most: Any = smallest(narrowed(k), capacity(x, at))
        values, places = _largest(x, bound_of(most), at)
        if not isinstance(most, Dim):
            return values, places
        count = length_of_size(most)
        return set_length(values, count, at), set_length(places, count, at)
    k = static_int(k, "lax.top_k: k")
    if 0 < k <= capacity(x, at):
        _require_elements(x, at, str(k), _core.full((), k, "int32"))
    return _largest(x, k, at)


def _require_elements(x: Array, axis: int, text: str, count: Array) -> None:
    size = axis_size(x, axis)
    if isinstance(size, Array):
        what = f"lax.top_k: the {text} largest elements were asked for, of axis {axis}"
        require([size, count], lambda n, k: n >= k, what)


def _largest(x: Array, k: int, at: int) -> tuple[Array, Array]:
    """`top_k`, of shorter axes, too."""
    if not 0 <= k <= capacity(x, at):
        raise ValueError(
            f"lax.top_k: k must be from 0 to {capacity(x, at)}, the size of axis {at}; got {k}\n"
            f"  pass min(k, x.shape[{at}])"
        )
    size = axis_size(x, at)
    if k == 1 and not isinstance(size, Array):
        place = extreme_positions.argmax(x, at, keepdims=True)
        return take_along_axis(x, place, at, mode="clip"), convert(place, index_dtype(capacity(x, at)))
    places = index_along(x, at)
    values, found = primitives.sort(x, places, axis=at, num_keys=1, descending=True, count=k)
    if isinstance(size, Array):
        is_there = less(index_along(values, at), size)
        least = -math.inf if _core.dtype_kind(x.dtype) == "float" else int(np.iinfo(x.dtype).min)
        values, found = where(is_there, values, least), where(is_there, found, size)
    return values, found


def approx_max_k(
    operand: Any,
    k: int,
    reduction_dimension: int = -1,
    recall_target: float = 0.95,
    reduction_input_size_override: int = -1,
    aggregate_to_topk: bool = True,
) -> tuple[Array, Array]:
    """The k largest elements along an axis, and their positions.

    All of them are found, whatever ``recall_target`` allows.

    Parameters
    ----------
    operand : array
        Floats.
    k : int
        How many.
    reduction_dimension : int
        The axis, by default the last.
    recall_target : float
        The share of them that must be found, in (0, 1].
    reduction_input_size_override : int
        What an approximation would be made for; there is none.
    aggregate_to_topk : bool
        Must be true: there are no partial results.

    Returns
    -------
    (array, array of int32)
        The elements, largest first, and their positions.

    Raises
    ------
    NotImplementedError
        ``aggregate_to_topk`` is false.

    Examples
    --------
    >>> [x.tolist() for x in ct.lax.approx_max_k(ct.numpy.array([1.0, 5.0, 3.0]), 2)]
    [[5.0, 3.0], [1, 2]]
    """
    return _approximate("approx_max_k", operand, k, reduction_dimension, recall_target, aggregate_to_topk, True)


def approx_min_k(
    operand: Any,
    k: int,
    reduction_dimension: int = -1,
    recall_target: float = 0.95,
    reduction_input_size_override: int = -1,
    aggregate_to_topk: bool = True,
) -> tuple[Array, Array]:
    """The k smallest elements along an axis, and their positions.

    All of them are found, whatever ``recall_target`` allows.

    Parameters
    ----------
    operand : array
        Floats.
    k : int
        How many.
    reduction_dimension : int
        The axis, by default the last.
    recall_target : float
        The share of them that must be found, in (0, 1].
    reduction_input_size_override : int
        What an approximation would be made for; there is none.
    aggregate_to_topk : bool
        Must be true: there are no partial results.

    Returns
    -------
    (array, array of int32)
        The elements, smallest first, and their positions.

    Raises
    ------
    NotImplementedError
        ``aggregate_to_topk`` is false.

    Examples
    --------
    >>> [x.tolist() for x in ct.lax.approx_min_k(ct.numpy.array([1.0, 5.0, 3.0]), 2)]
    [[1.0, 3.0], [0, 2]]
    """
    return _approximate("approx_min_k", operand, k, reduction_dimension, recall_target, aggregate_to_topk, False)


def _approximate(
    name: str, operand: Any, k: int, axis: int, recall_target: float, aggregate: bool, largest: bool
) -> tuple[Array, Array]:
    x = _core.array(operand)
    if _core.dtype_kind(x.dtype) != "float":
        raise DTypeError(f"lax.{name} takes floats; got {x.dtype}\n  use lax.top_k")
    if not aggregate:
        raise NotImplementedError(
            f"lax.{name}: aggregate_to_topk=False is not supported\n  leave it out: results are exact here"
        )
    if not 0 < recall_target <= 1:
        raise ValueError(
            f"lax.{name}: recall_target must be in (0, 1]; got {recall_target}\n  leave it out: results are exact here"
        )
    if largest:
        return top_k(x, k, axis=axis)
    values, places = top_k(primitives.neg(x), k, axis=axis)
    return primitives.neg(values), places


def _position(name: str, operand: Any, axis: int, index_dtype: Any) -> Array:
    if _core.dtype_kind(index_dtype) not in ("signed", "unsigned"):
        raise DTypeError(
            f"lax.{name}: index_dtype must be an integer dtype; got {_core.canonical_dtype(index_dtype)}\n"
            "  pass 'int32'"
        )
    x = _core.array(operand)
    at = normalize_axis(axis, x.ndim, f"lax.{name}")
    return convert(getattr(extreme_positions, name)(x, at), index_dtype)


def argmax(operand: Any, axis: int, index_dtype: Any) -> Array:
    """The position of the first largest element along an axis; the first NaN counts as largest.

    Parameters
    ----------
    operand : array
        Bools or numbers.
    axis : int
        The axis.
    index_dtype : dtype
        An integer dtype, of the result.

    Returns
    -------
    array of int
        Without that axis.

    Raises
    ------
    DTypeError
        ``index_dtype`` is none of integers.

    Examples
    --------
    >>> ct.lax.argmax(ct.numpy.array([1.0, 5.0, 3.0]), 0, "int32")
    Array(1, dtype=int32)
    """
    return _position("argmax", operand, axis, index_dtype)


def argmin(operand: Any, axis: int, index_dtype: Any) -> Array:
    """The position of the first smallest element along an axis; the first NaN counts as smallest.

    Parameters
    ----------
    operand : array
        Bools or numbers.
    axis : int
        The axis.
    index_dtype : dtype
        An integer dtype, of the result.

    Returns
    -------
    array of int
        Without that axis.

    Raises
    ------
    DTypeError
        ``index_dtype`` is none of integers.

    Examples
    --------
    >>> ct.lax.argmin(ct.numpy.array([4.0, 1.0, 3.0]), 0, "int32")
    Array(1, dtype=int32)
    """
    return _position("argmin", operand, axis, index_dtype)


check_arguments(globals())
