"""Arrays as sets: their different elements, and unions, intersections and differences of them.

How many elements a result has depends on values: these must be known, or ``size`` given.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from cotangent import _core
from cotangent._base import primitives
from cotangent._base.arguments import check_arguments
from cotangent._base.capture import as_ragged_as, set_length
from cotangent._base.device import put_beside
from cotangent._base.words import check_word, not_among
from cotangent._core import Array
from cotangent._ops.arithmetic import maximum
from cotangent._ops.binding import constant, is_inexact, literal
from cotangent._ops.choice import where
from cotangent._ops.extents import capacities, capacity, stretched, without_padding
from cotangent._ops.joining import concatenate
from cotangent._ops.positions import exact_mask, is_sized, known, sized_positions, true_positions
from cotangent._ops.reshaping import reshaped
from cotangent._ops.shapes import moveaxis, ravel
from cotangent._ops.sizes import (
    as_dtype,
    axis_size,
    bound_size,
    count_from,
    index_dtype,
    insert_axes,
    normalize_axis,
    ragged_length,
    symbolic_size,
    symbolic_sizes,
)
from cotangent._ops.sorting import positions_along, searchsorted, sort, sort_together

__all__ = [
    "intersect1d",
    "isin",
    "setdiff1d",
    "setxor1d",
    "union1d",
    "unique",
    "unique_all",
    "unique_counts",
    "unique_inverse",
    "unique_values",
]

_INT32 = np.dtype("int32")


class UniqueAllResult(NamedTuple):
    """What `unique_all` returns."""

    values: Array
    indices: Array
    inverse_indices: Array
    counts: Array


class UniqueCountsResult(NamedTuple):
    """What `unique_counts` returns."""

    values: Array
    counts: Array


class UniqueInverseResult(NamedTuple):
    """What `unique_inverse` returns."""

    values: Array
    inverse_indices: Array


def _differs(x: Array, equal_nan: bool) -> Array:
    """Whether each row differs from the one before it; the first does."""
    ahead, behind = x[1:], x[:-1]
    differs = primitives.ne(ahead, behind)
    if equal_nan and is_inexact(x):
        differs = differs & ~((ahead != ahead) & (behind != behind))
    if x.ndim > 1:
        differs = primitives.reduce_max(differs, axes=list(range(1, x.ndim)))
    first = concatenate([_core.full((min(1, capacity(x, 0)),), True, bool), differs])
    # Of no elements, none is first.
    return set_length(first, ragged_length(x, 0), 0) if 0 in _core.ragged_axes(x) else first


def _chosen(mask: Array, size: int | None, name: str) -> tuple[Array, Array | None]:
    """The positions of the true elements, and, where ``size`` is given, which of them are real."""
    if size is None and is_sized(mask):
        return sized_positions(mask)[0], None
    if size is None:
        return put_beside(
            _core.array(np.nonzero(known(mask, name))[0].astype(index_dtype(capacity(mask, 0)))), [mask]
        ), None
    count, length = count_from(size, f"{name}: size")
    found, total = true_positions(exact_mask(mask), count)
    real = primitives.iota(shape=[count], dtype=_INT32, axis=0) < total
    return (found, real) if length is None else (set_length(found, length, 0), set_length(real, length, 0))


def _filled(x: Array, real: Array | None, fill_value: Any) -> Array:
    """``x`` with the fill value (by default its first element) where it has no element of its own."""
    if real is None:
        return x
    if fill_value is None:
        fill = x[:1] if capacity(x, 0) else x
    else:
        fill = _core.convert(_core.array(fill_value), x.dtype)
    return where(real if x.ndim == 1 else insert_axes(real, list(range(1, x.ndim))), x, fill)  # type: ignore[no-any-return]


def unique(
    ar: Any,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: int | None = None,
    *,
    equal_nan: bool = True,
    size: int | None = None,
    fill_value: Any = None,
    sorted: bool = True,  # noqa: A002
) -> Any:
    """The different elements of an array in order, or the different slices along an axis.

    Parameters
    ----------
    ar : array
        Numbers of any dtype.
    return_index : bool, default False
        Whether the position of the first occurrence of each is returned, too.
    return_inverse : bool, default False
        Whether, for each element, the position of its value in the result is returned, too.
    return_counts : bool, default False
        Whether it is returned how often each occurs, too.
    axis : int or None, default None
        Slices along which axis are compared. None: elements are.
    equal_nan : bool, default True
        Whether all NaN are one value; else each is one of its own.
    size : int, optional
        How many to return: the shape does not depend on values then. None: as many as there are; under ``jit``, where
        that is a value, in a `Ragged`.
    fill_value : number, optional
        What is missing, with ``size``; by default the least value. Its count is 0.
    sorted : bool, default True
        Without effect: they are in order.

    Returns
    -------
    array, or tuple of array
        The values; then positions, inverse and counts, as wanted.

    Examples
    --------
    >>> ct.numpy.unique(np.array([2, 1, 2]))
    Array([1, 2], dtype=int64)

    >>> values, counts = ct.numpy.unique(np.array([2, 1, 2]), return_counts=True)
    >>> counts
    Array([1, 2], dtype=int32)

    >>> ct.jit(lambda x: ct.numpy.unique(x, size=3, fill_value=-1))(np.array([2, 1, 2]))
    Array([ 1,  2, -1], dtype=int64)
    """
    del sorted
    x = _core.array(ar)
    if axis is None:
        rows = ravel(x)
    else:
        axis = normalize_axis(axis, x.ndim, "unique")
        rows = moveaxis(x, axis, 0)
    count = capacity(rows, 0)
    index = primitives.iota(shape=[count], dtype=index_dtype(count), axis=0)
    if 0 in _core.ragged_axes(rows):
        index = set_length(index, ragged_length(rows, 0), 0)
    if rows.ndim == 1 and _core.kind(rows) == "complex":
        # Those with a NaN in either part come last, so that they are together.
        _, ordered, order = sort_together([primitives.ne(rows, rows), rows, index], 0, 2)
    elif rows.ndim == 1:
        ordered, order = sort_together([rows, index], 0)
    else:
        exact = without_padding(rows, range(1, rows.ndim))
        flat = reshaped(exact, [symbolic_size(exact, 0), math.prod(capacities(exact)[1:])])
        keys = [flat[:, i] for i in range(capacity(flat, 1))]
        order = sort_together([*keys, index], 0, max(len(keys), 1))[-1]
        ordered = primitives.gather(rows, order, axis=0, batch_dims=0)
    first = _differs(ordered, equal_nan)
    found, real = _chosen(first, size, "unique")
    values = primitives.gather(ordered, found, axis=0, batch_dims=0) if count else ordered[:0]
    if count == 0 and capacity(found, 0):
        values = _core.full(
            (capacity(found, 0), *capacities(rows)[1:]), 0 if fill_value is None else fill_value, rows.dtype
        )
        values = as_ragged_as(values, found)
    elif count:
        values = _filled(values, real, fill_value)
    results = [values if axis is None else moveaxis(values, 0, axis)]
    integer = _core.default_int_dtype()
    if return_index:
        starts = primitives.gather(order, found, axis=0, batch_dims=0) if count else found
        results.append(_core.convert(_filled(starts, real, None), integer))
    if return_inverse:
        group = primitives.cumsum(_core.convert(first, _INT32), axis=0, reverse=False) - literal(index, 1)
        inverse = primitives.scatter_add(constant(index, 0), order, group, axis=0, batch_dims=0)
        results.append(_core.convert(reshaped(inverse, symbolic_sizes(x)) if axis is None else inverse, integer))
    if return_counts:
        if real is None:
            whole = _core.broadcast_to(as_dtype(axis_size(rows, 0), _INT32), (1,))
            ends = concatenate([found[1:], whole])[: symbolic_size(found, 0)]
        else:
            # One more than asked for: where the last one that is returned ends. Behind those that are real come zeros.
            some = capacity(found, 0)
            starts, total = true_positions(first, some + 1)
            more = primitives.iota(shape=[some + 1], dtype=_INT32, axis=0) < total
            behind = as_ragged_as(where(more, starts, as_dtype(axis_size(rows, 0), _INT32))[1:], found)
            ends = where(real, behind, 0)
            found = where(real, found, 0)
        results.append(_core.convert(ends - found, integer))
    return results[0] if len(results) == 1 else tuple(results)


def unique_values(x: Any, /, *, size: int | None = None, fill_value: Any = None) -> Array:
    """The different elements of an array in order; each NaN is one of its own.

    Parameters
    ----------
    x : array
        Numbers of any dtype.
    size : int, optional
        How many to return: the shape does not depend on values then. None: as many as there are; under ``jit``, where
        that is a value, in a `Ragged`.
    fill_value : number, optional
        What is missing, with ``size``; by default the least value.

    Returns
    -------
    array, shape (number,)
        The values.

    Examples
    --------
    >>> ct.numpy.unique_values(ct.numpy.array([2, 1, 2]))
    Array([1, 2], dtype=int32)
    """
    return unique(x, equal_nan=False, size=size, fill_value=fill_value)  # type: ignore[no-any-return]


def unique_counts(x: Any, /, *, size: int | None = None, fill_value: Any = None) -> UniqueCountsResult:
    """The different elements of an array in order, and how often each occurs; each NaN is one of its own.

    Parameters
    ----------
    x : array
        Numbers of any dtype.
    size : int, optional
        How many to return: the shape does not depend on values then. None: as many as there are; under ``jit``, where
        that is a value, in a `Ragged`.
    fill_value : number, optional
        What is missing, with ``size``; by default the least value.

    Returns
    -------
    named tuple of two arrays
        ``values`` and ``counts``.

    Examples
    --------
    >>> ct.numpy.unique_counts(ct.numpy.array([2, 1, 2])).counts
    Array([1, 2], dtype=int32)
    """
    return UniqueCountsResult(*unique(x, return_counts=True, equal_nan=False, size=size, fill_value=fill_value))


def unique_inverse(x: Any, /, *, size: int | None = None, fill_value: Any = None) -> UniqueInverseResult:
    """The different elements of an array in order, and for each element the position of its value; each NaN is one of its own.

    Parameters
    ----------
    x : array
        Numbers of any dtype.
    size : int, optional
        How many to return: the shape does not depend on values then. None: as many as there are; under ``jit``, where
        that is a value, in a `Ragged`.
    fill_value : number, optional
        What is missing, with ``size``; by default the least value.

    Returns
    -------
    named tuple of two arrays
        ``values`` and ``inverse_indices``, of which the latter has the shape of ``x``.

    Examples
    --------
    >>> ct.numpy.unique_inverse(ct.numpy.array([2, 1, 2])).inverse_indices
    Array([1, 0, 1], dtype=int32)
    """
    return UniqueInverseResult(*unique(x, return_inverse=True, equal_nan=False, size=size, fill_value=fill_value))


def unique_all(x: Any, /, *, size: int | None = None, fill_value: Any = None) -> UniqueAllResult:
    """The different elements of an array in order, with positions and counts; each NaN is one of its own.

    Parameters
    ----------
    x : array
        Numbers of any dtype.
    size : int, optional
        How many to return: the shape does not depend on values then. None: as many as there are; under ``jit``, where
        that is a value, in a `Ragged`.
    fill_value : number, optional
        What is missing, with ``size``; by default the least value.

    Returns
    -------
    named tuple of four arrays
        ``values``, ``indices``: where each occurs first, ``inverse_indices``: for each element the position of its
        value, and ``counts``.

    Examples
    --------
    >>> ct.numpy.unique_all(ct.numpy.array([2, 1, 2])).indices
    Array([1, 0], dtype=int32)
    """
    return UniqueAllResult(*unique(x, True, True, True, equal_nan=False, size=size, fill_value=fill_value))


# ---- Two sets --------------------------------------------------------------------------------------------------------


def isin(
    element: Any,
    test_elements: Any,
    assume_unique: bool = False,
    invert: bool = False,
    *,
    kind: str | None = None,
    method: str = "auto",
) -> Array:
    """Whether each element of an array is among the elements of another one.

    Parameters
    ----------
    element : array
        What is asked about; promoted with the test elements to a common dtype.
    test_elements : array
        Among what; flattened.
    assume_unique : bool, default False
        Without effect.
    invert : bool, default False
        Whether it is asked if they are not.
    kind : str or None, default None
        Accepted as in NumPy, and without effect: ``"sort"`` or ``"table"``.
    method : str, default "auto"
        Accepted as in JAX, and without effect.

    Returns
    -------
    array of bool
        Of the shape of ``element``.

    Raises
    ------
    ValueError
        There is no such method or kind.

    Examples
    --------
    >>> ct.numpy.isin([1, 2, 3], [3, 1])
    Array([ True, False,  True], dtype=bool)
    """
    del assume_unique
    if method not in ("auto", "compare_all", "binary_search", "sort"):
        raise not_among("isin", "method", method, ("auto", "compare_all", "binary_search", "sort"))
    check_word("isin", "kind", kind, (None, "sort", "table"))
    x, tests = _core.array(element), ravel(test_elements)
    dtype = _core.promote_types([(x.dtype, x.weak_type), (tests.dtype, tests.weak_type)])[0]
    x, tests = _core.convert(x, dtype), _core.convert(tests, dtype)
    if bound_size(tests) == 0:
        return constant(x, invert, bool)
    ordered = sort(tests)
    at = searchsorted(ordered, x)
    last = stretched(as_dtype(maximum(axis_size(tests, 0) - 1, 0), at.dtype), at)
    found = primitives.gather(ordered, primitives.min(at, last), axis=0, batch_dims=0) == x
    if _core.ragged_axes(tests):
        found = found & (ragged_length(tests, 0) > 0)
    return ~found if invert else found


def _joined(ar1: Any, ar2: Any) -> tuple[Array, Array]:
    x, y = ravel(ar1), ravel(ar2)
    dtype = _core.promote_types([(x.dtype, x.weak_type), (y.dtype, y.weak_type)])[0]
    return _core.convert(x, dtype), _core.convert(y, dtype)


def union1d(ar1: Any, ar2: Any, *, size: int | None = None, fill_value: Any = None) -> Array:
    """The different elements of two arrays, in order.

    Parameters
    ----------
    ar1, ar2 : array
        Numbers; flattened, and promoted to a common dtype.
    size : int, optional
        How many to return: the shape does not depend on values then. None: as many as there are; under ``jit``, where
        that is a value, in a `Ragged`.
    fill_value : number, optional
        What is missing, with ``size``; by default the least value.

    Returns
    -------
    array, shape (number,)
        The elements.

    Examples
    --------
    >>> ct.numpy.union1d(np.array([3, 1]), np.array([2, 3]))
    Array([1, 2, 3], dtype=int64)
    """
    return unique(concatenate(list(_joined(ar1, ar2))), size=size, fill_value=fill_value)  # type: ignore[no-any-return]


def setxor1d(
    ar1: Any, ar2: Any, assume_unique: bool = False, *, size: int | None = None, fill_value: Any = None
) -> Array:
    """The elements that are in one of two arrays only, in order.

    Parameters
    ----------
    ar1, ar2 : array
        Numbers; flattened, and promoted to a common dtype.
    assume_unique : bool, default False
        Elements that are equal to a neighbour in order are left out then, as in NumPy, from one array or from both.
    size : int, optional
        How many to return: the shape does not depend on values then. None: as many as there are; under ``jit``, where
        that is a value, in a `Ragged`.
    fill_value : number, optional
        What is missing, with ``size``; by default the least element that is found, or of all.

    Returns
    -------
    array, shape (number,)
        The elements.

    Examples
    --------
    >>> ct.numpy.setxor1d(np.array([3, 1]), np.array([2, 3]))
    Array([1, 2], dtype=int64)
    """
    x, y = _joined(ar1, ar2)
    values, origin = _tagged(x, y)
    first = _differs(values, False)
    if assume_unique and not is_sized(values) and capacity(values, 0):
        alone = first & concatenate([first[1:], _core.full((1,), True, "bool")])
        found, real = _chosen(alone, size, "setxor1d")
        return _taken(values, found, real, fill_value)
    # Of the sorted elements of both, those of a group that holds one origin only; the first of each.
    from_x, from_y = _in_group(first, origin == 0), _in_group(first, origin == 1)
    found, real = _chosen(first & (from_x != from_y), size, "setxor1d")
    return _taken(values, found, real, fill_value)


def setdiff1d(
    ar1: Any, ar2: Any, assume_unique: bool = False, *, size: int | None = None, fill_value: Any = None
) -> Array:
    """The different elements of an array that are not in another one, in order.

    Parameters
    ----------
    ar1, ar2 : array
        Numbers; flattened.
    assume_unique : bool, default False
        Whether elements stay as they are: in their order, and as often as they occur.
    size : int, optional
        How many to return: the shape does not depend on values then. None: as many as there are; under ``jit``, where
        that is a value, in a `Ragged`.
    fill_value : number, optional
        What is missing, with ``size``; by default 0.

    Returns
    -------
    array, shape (number,)
        The elements.

    Examples
    --------
    >>> ct.numpy.setdiff1d(np.array([3, 1, 2]), np.array([2]))
    Array([1, 3], dtype=int64)
    """
    x = ravel(ar1)
    fill_value = 0 if fill_value is None else fill_value
    left = isin(x, ar2, invert=True)
    if assume_unique:
        found, real = _chosen(left, size, "setdiff1d")
        return _taken(x, found, real, fill_value)
    ordered, kept = sort_together([x, _core.convert(left, _INT32)], 0)
    found, real = _chosen(_differs(ordered, True) & (kept > 0), size, "setdiff1d")
    return _taken(ordered, found, real, fill_value)


def intersect1d(
    ar1: Any,
    ar2: Any,
    assume_unique: bool = False,
    return_indices: bool = False,
    *,
    size: int | None = None,
    fill_value: Any = None,
) -> Any:
    """The different elements that are in both of two arrays, in order.

    Parameters
    ----------
    ar1, ar2 : array
        Numbers; flattened, and promoted to a common dtype.
    assume_unique : bool, default False
        Without effect.
    return_indices : bool, default False
        Whether the position of the first occurrence in each array is returned, too.
    size : int, optional
        How many to return: the shape does not depend on values then. None: as many as there are; under ``jit``, where
        that is a value, in a `Ragged`.
    fill_value : number, optional
        What is missing, with ``size``; by default the least element that is found, or of all.

    Returns
    -------
    array, shape (number,), or tuple of three arrays
        The elements; and the positions, if wanted.

    Examples
    --------
    >>> ct.numpy.intersect1d(np.array([3, 1, 2]), np.array([2, 3, 5]))
    Array([2, 3], dtype=int64)
    """
    del assume_unique
    x, y = _joined(ar1, ar2)
    values, origin, index = _tagged(x, y, with_index=True)
    first = _differs(values, False)
    second = _in_group(first, origin == 1)
    found, real = _chosen(first & (origin == 0) & second, size, "intersect1d")
    result = _taken(values, found, real, fill_value)
    if not return_indices:
        return result
    # The sort is stable: the first of a group is the first of x; that of y is at the first place with origin 1.
    x_at = primitives.gather(index, found, axis=0, batch_dims=0)
    places = searchsorted(sort(y), result) if real is None else searchsorted(sort(y), _taken(values, found, None, None))
    y_order = sort_together([y, positions_along(y, 0)], 0)[1]
    y_at = primitives.gather(y_order, places, axis=0, batch_dims=0)
    integer = _core.default_int_dtype()
    if real is not None:
        x_at, y_at = where(real, x_at, x.size), where(real, y_at, y.size)
    return result, _core.convert(x_at, integer), _core.convert(y_at, integer)


def _tagged(x: Array, y: Array, with_index: bool = False) -> Any:
    """The elements of both in order, and for each 0 or 1, which it comes from (and where it was there)."""
    both = concatenate([x, y])
    origin = concatenate([as_ragged_as(literal(z, tag, _INT32), z) for tag, z in enumerate((x, y))])
    operands = [both, origin]
    if with_index:
        operands.append(concatenate([positions_along(x, 0), positions_along(y, 0)]))
    return sort_together(operands, 0)


def _in_group(first: Array, flag: Array) -> Array:
    """For each element of a sorted array, whether the flag holds for any of those that are equal to it."""
    group = primitives.cumsum(_core.convert(first, _INT32), axis=0, reverse=False) - literal(first, 1, _INT32)
    counts = primitives.scatter_add(
        literal(first, 0, _INT32),
        group,
        _core.convert(flag, _INT32),
        axis=0,
        batch_dims=0,
    )
    return primitives.gather(counts, group, axis=0, batch_dims=0) > 0


def _taken(values: Array, found: Array, real: Array | None, fill_value: Any) -> Array:
    if bound_size(values) == 0:
        return literal(found, 0 if fill_value is None else fill_value, values.dtype)
    return _filled(primitives.gather(values, found, axis=0, batch_dims=0), real, fill_value)


check_arguments(globals())
