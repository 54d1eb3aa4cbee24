"""Running reductions along an axis."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from cotangent import _core, tree_util
from cotangent._base import primitives
from cotangent._base.arguments import check_arguments
from cotangent._base.capture import set_length
from cotangent._core import Array, Primitive
from cotangent._ops.binding import convert, kind, larger, literal, own
from cotangent._ops.exponentials import logaddexp
from cotangent._ops.extents import capacity, index_along, slice_axis, spread_over, stretched
from cotangent._ops.sizes import normalize_axis
from cotangent.lax._operands import as_weak_as

__all__ = ["associative_scan", "cumlogsumexp", "cummax", "cummin", "cumprod", "cumsum"]


def _running(primitive: Primitive, operand: Any, axis: int, reverse: bool) -> Array:
    array = _core.array(operand)
    return primitive(array, axis=normalize_axis(axis, array.ndim, primitive.name), reverse=reverse)


def cumsum(operand: Any, axis: int = 0, reverse: bool = False) -> Array:
    """Running sums along an axis.

    Parameters
    ----------
    operand : array
        Numbers.
    axis : int
        The axis, by default 0.
    reverse : bool
        Whether sums run from the end.

    Returns
    -------
    array
        Of the shape and dtype of ``operand``.

    Examples
    --------
    >>> ct.lax.cumsum(ct.numpy.array([1, 2, 3]))
    Array([1, 3, 6], dtype=int32)
    >>> ct.lax.cumsum(ct.numpy.array([1, 2, 3]), reverse=True)
    Array([6, 5, 3], dtype=int32)
    """
    return _running(primitives.cumsum, operand, axis, reverse)


def cumprod(operand: Any, axis: int = 0, reverse: bool = False) -> Array:
    """Running products along an axis; the derivative is right at zeros, too.

    Parameters
    ----------
    operand : array
        Numbers.
    axis : int
        The axis, by default 0.
    reverse : bool
        Whether products run from the end.

    Returns
    -------
    array
        Of the shape and dtype of ``operand``.

    Examples
    --------
    >>> ct.lax.cumprod(ct.numpy.array([1, 2, 3]))
    Array([1, 2, 6], dtype=int32)
    """
    return _running(primitives.cumprod, operand, axis, reverse)


def _running_extremum(primitive: Primitive, operand: Any, axis: int, reverse: bool) -> Array:
    array = _core.array(operand)
    if kind(array) != "complex":
        return _running(primitive, array, axis, reverse)
    at = normalize_axis(axis, array.ndim, primitive.name)
    further = partial(larger, primitives.max if primitive is primitives.cummax else primitives.min)
    return _core.array(associative_scan(further, array, reverse, at))


@own
def cummax(operand: Any, axis: int = 0, reverse: bool = False) -> Array:
    """The largest element so far along an axis; NaN stays.

    Complex numbers are compared by their real parts, then by their imaginary parts.

    Parameters
    ----------
    operand : array
        Bools or numbers.
    axis : int
        The axis, by default 0.
    reverse : bool
        Whether to begin at the end.

    Returns
    -------
    array
        Of the shape and dtype of ``operand``.

    Examples
    --------
    >>> ct.lax.cummax(ct.numpy.array([1, 3, 2]))
    Array([1, 3, 3], dtype=int32)
    """
    return _running_extremum(primitives.cummax, operand, axis, reverse)


@own
def cummin(operand: Any, axis: int = 0, reverse: bool = False) -> Array:
    """The smallest element so far along an axis; NaN stays.

    Complex numbers are compared by their real parts, then by their imaginary parts.

    Parameters
    ----------
    operand : array
        Bools or numbers.
    axis : int
        The axis, by default 0.
    reverse : bool
        Whether to begin at the end.

    Returns
    -------
    array
        Of the shape and dtype of ``operand``.

    Examples
    --------
    >>> ct.lax.cummin(ct.numpy.array([3, 1, 2]))
    Array([3, 1, 1], dtype=int32)
    """
    return _running_extremum(primitives.cummin, operand, axis, reverse)


def _woven(even: Array, odd: Array, axis: int, size: int) -> Array:
    """Elements of two arrays by turns."""
    spread = []
    for first, x in ((0, even), (1, odd)):
        low, high, interior = [0] * x.ndim, [0] * x.ndim, [0] * x.ndim
        low[axis], interior[axis] = first, 1
        high[axis] = size - first - (2 * capacity(x, axis) - 1)
        spread.append(primitives.pad(x, _core.full((), 0, x.dtype, x.weak_type), low=low, high=high, interior=interior))
    places = index_along(spread[0], axis)
    one = literal(places, 1)
    return primitives.select(primitives.eq(primitives.and_(places, one), one), spread[1], spread[0])


def _scanned(combine: Callable[..., list[Array]], xs: list[Array], axis: int) -> list[Array]:
    size = capacity(xs[0], axis)
    if size < 2:
        return xs
    # Neighbours in pairs; the pairs scanned give every second result, the others are one combination more.
    pairs = combine([slice_axis(x, axis, 0, size - 1, 2) for x in xs], [slice_axis(x, axis, 1, size, 2) for x in xs])
    odd = _scanned(combine, pairs, axis)
    even = [slice_axis(x, axis, 0, 1) for x in xs]
    if size > 2:
        later = (size - 1) // 2
        rest = combine([slice_axis(x, axis, 0, later) for x in odd], [slice_axis(x, axis, 2, size, 2) for x in xs])
        even = [primitives.concatenate(a, b, axis=axis) for a, b in zip(even, rest, strict=True)]
    return [_woven(a, b, axis, size) for a, b in zip(even, odd, strict=True)]


def _continued(x: Array, axis: int) -> Array:
    """``x``, exact along a ragged axis: the last element goes on behind the length.

    Results in front of it depend on none of that; where a function has no value at 0, derivatives do not, either.
    """
    length = _core.length_of(x, axis)
    assert length is not None
    filled = primitives.fill_padding(x, axes=[axis], value=0.0)
    last = primitives.max(length - literal(length, 1), literal(length, 0))
    edge = primitives.stop_gradient(primitives.gather(filled, last, axis=axis, batch_dims=0))
    edge = spread_over(edge, x, [i for i in range(x.ndim) if i != axis])
    position = index_along(x, axis, length.dtype)
    return primitives.select(primitives.lt(position, stretched(length, x)), filled, edge)


def _zeros_behind(x: Array, axis: int) -> Array:
    """``x``, exact along a ragged axis, for a function that has a value wherever one of its operands is 0."""
    return primitives.fill_padding(x, axes=[axis], value=0.0)


_Behind = Callable[[Array, int], Array]


def associative_scan(fn: Callable[[Any, Any], Any], elems: Any, reverse: bool = False, axis: int = 0) -> Any:
    """Running combinations ``x0, fn(x0, x1), fn(fn(x0, x1), x2), ...`` by an associative function.

    They are made in a tree: about twice as many combinations as a loop has, in a number of steps that grows with
    the logarithm of the size. ``fn`` is called with arrays of many elements at once.

    Parameters
    ----------
    fn : callable
        Of two pytrees like ``elems``, to be combined place by place; associative.
    elems : pytree of arrays
        Of one size along ``axis``.
    reverse : bool
        Whether to begin at the end.
    axis : int
        The axis, by default 0.

    Returns
    -------
    pytree of arrays
        Like ``elems``; dtypes are not weak, unless the axis has one element or none.

    Raises
    ------
    ValueError
        The arrays have several sizes along the axis.

    References
    ----------
    Guy E. Blelloch, "Prefix sums and their applications", 1990.

    Examples
    --------
    >>> ct.lax.associative_scan(ct.lax.mul, ct.numpy.array([1, 2, 3, 4]))
    Array([ 1,  2,  6, 24], dtype=int32)
    >>> affine = lambda f, g: (f[0] * g[0], f[1] * g[0] + g[1])
    >>> ct.lax.associative_scan(affine, (ct.numpy.array([2.0, 2.0, 2.0]), ct.numpy.array([1.0, 1.0, 1.0])))[1]
    Array([1., 3., 7.], dtype=float32)
    """
    return _combined(fn, elems, reverse, axis, _continued)


def _combined(fn: Callable[[Any, Any], Any], elems: Any, reverse: bool, axis: int, behind: _Behind) -> Any:
    """`associative_scan`; ``behind`` makes arrays exact along a ragged axis: what it puts there, the function is called for, too."""
    if not callable(fn):
        raise TypeError(
            f"lax.associative_scan: fn must be callable; got {fn!r}\n"
            "  pass the function first: associative_scan(ct.lax.add, x)"
        )
    leaves, structure = tree_util.tree_flatten(elems)
    xs = [_core.array(leaf) for leaf in leaves]
    if not xs:
        return elems
    at = normalize_axis(axis, xs[0].ndim, "associative_scan")
    if any(x.ndim <= at or capacity(x, at) != capacity(xs[0], at) for x in xs):
        shapes = [x.shape for x in xs]
        raise ValueError(
            f"lax.associative_scan: arrays must have one size along axis {at}; got shapes {shapes}\n"
            "  cut them to one size: x[:n]"
        )
    _core.check_sizes(xs, [at] * len(xs))

    def combine(earlier: list[Array], later: list[Array]) -> list[Array]:
        result = fn(structure.unflatten(earlier), structure.unflatten(later))
        return [_core.array(leaf) for leaf in tree_util.tree_leaves(result)]

    if reverse:
        xs = [primitives.reverse(x, axes=[at]) for x in xs]
    length = next((_core.length_of(x, at) for x in xs if at in _core.ragged_axes(x)), None)
    if length is not None:
        xs = [behind(x, at) if at in _core.ragged_axes(x) else x for x in xs]
    results = _scanned(combine, xs, at)
    if length is not None:
        results = [set_length(x, length, at) for x in results]
    if reverse:
        results = [primitives.reverse(x, axes=[at]) for x in results]
    if capacity(xs[0], at) > 1:
        results = [convert(x, x.dtype) for x in results]
    return structure.unflatten(results)


@own
def cumlogsumexp(operand: Any, axis: int = 0, reverse: bool = False) -> Array:
    """The logarithm of running sums of exponentials along an axis, without overflow.

    Parameters
    ----------
    operand : array
        Floats or complex numbers.
    axis : int
        The axis, by default 0.
    reverse : bool
        Whether sums run from the end.

    Returns
    -------
    array
        Of the shape and dtype of ``operand``.

    Examples
    --------
    >>> ct.lax.cumlogsumexp(ct.numpy.array([0.0, 0.0, 1000.0])).round(4)
    Array([0.000e+00, 6.931e-01, 1.000e+03], dtype=float32)
    """
    x = _core.array(operand)
    at = normalize_axis(axis, x.ndim, "cumlogsumexp")
    return as_weak_as(_core.array(_combined(logaddexp, x, reverse, at, _zeros_behind)), [x])


check_arguments(globals())
