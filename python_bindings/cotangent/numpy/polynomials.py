"""Polynomials as arrays of coefficients, the highest power first."""

from __future__ import annotations

from typing import Any

import numpy as np

from cotangent import _core
from cotangent._base import primitives
from cotangent._base.arguments import check_arguments, suggestion
from cotangent._core import Array
from cotangent._ops.binding import apart, convert, empty_fold, inexact, literal, own
from cotangent._ops.broadcasting import broadcast_arrays
from cotangent._ops.choice import where
from cotangent._ops.complex_parts import conjugate
from cotangent._ops.complex_parts import real as _real
from cotangent._ops.dtypes import finfo
from cotangent._ops.extents import capacities, capacity, stretched
from cotangent._ops.joining import concatenate
from cotangent._ops.outer_products import outer
from cotangent._ops.ranges import arange, vander
from cotangent._ops.reductions import sum as _sum
from cotangent._ops.selection import trim_zeros
from cotangent._ops.shapes import matrix_transpose
from cotangent._ops.sizes import axis_size, bound_size, index_dtype, insert_axes, static_count
from cotangent._transforms.control_flow import scan
from cotangent.errors import ShapeError
from cotangent.numpy.convolutions import convolve
from cotangent.numpy.ragged_polynomials import (
    ragged_companion,
    ragged_derivative,
    ragged_division,
    ragged_integral,
    ragged_pair,
    ragged_product,
)

__all__ = ["poly", "polyadd", "polyder", "polydiv", "polyfit", "polyint", "polymul", "polysub", "polyval", "roots"]

_FIRST_INFINITE_FACTORIAL = 171  # in float64
_MOST_UNROLLED = 32  # coefficients of `polyval`, and zeros of `poly`, that are equations of their own
_AT_ONCE = 6  # more go in a loop, so many at a time: its state is in memory between its steps


def _coefficients(p: Any, name: str) -> Array:
    x = _core.array(p)
    x = insert_axes(x, [0]) if x.ndim == 0 else x
    if x.ndim != 1:
        raise ValueError(
            f"{name}: coefficients must have one axis; got shape {x.shape}\n"
            "  make one axis of them, p.ravel(), or map over several with ct.vmap"
        )
    return x


def _pair(a1: Any, a2: Any, name: str) -> tuple[Array, Array]:
    """Two polynomials of one dtype and length. Along further axes, coefficients are broadcast onto those of the longer."""
    x, y = (insert_axes(p, [0]) if p.ndim == 0 else p for p in map(_core.array, (a1, a2)))
    dtype = _core.promote_types([(x.dtype, x.weak_type), (y.dtype, y.weak_type)])[0]
    sizes = axis_size(x, 0), axis_size(y, 0)
    if any(isinstance(size, Array) for size in sizes):
        x, y = convert(x, dtype), convert(y, dtype)
        same = all(isinstance(size, Array) for size in sizes) and _core.same_length(*sizes)
        return (x, y) if same else ragged_pair(x, y)
    if x.shape[0] == y.shape[0]:
        return convert(x, dtype), convert(y, dtype)
    long, short = (x, y) if x.shape[0] > y.shape[0] else (y, x)
    count, size = short.shape[0], long.shape[0]
    try:
        short = stretched(short, long, {0: count})
    except ValueError:
        raise ShapeError(
            f"{name}: {count} coefficients of shape {short.shape} do not fit the last {count} of shape {long.shape}\n"
            f"  broadcast the axes after the first to one shape"
        ) from None
    short = convert(short, dtype)
    rest = [0] * (short.ndim - 1)
    low = [size - count, *rest]
    short = primitives.pad(short, _core.full((), 0, dtype), low=low, high=[0, *rest], interior=[0, *rest])
    long = convert(long, dtype)
    return (long, short) if x.shape[0] > y.shape[0] else (short, long)


def polyadd(a1: Any, a2: Any) -> Array:
    """The sum of two polynomials.

    Coefficients, the highest first, lie along the first axis; along others there are as many polynomials as the
    longer one has.

    Parameters
    ----------
    a1, a2 : array
        The coefficients; promoted to a common dtype.

    Returns
    -------
    array
        As many coefficients as the longer one has.

    Examples
    --------
    >>> ct.numpy.polyadd(np.array([1, 2]), np.array([3, 0, 5]))
    Array([3, 1, 7], dtype=int64)
    """
    x, y = _pair(a1, a2, "polyadd")
    return x + y


def polysub(a1: Any, a2: Any) -> Array:
    """The difference of two polynomials.

    Coefficients, the highest first, lie along the first axis; along others there are as many polynomials as the
    longer one has.

    Parameters
    ----------
    a1, a2 : array
        The coefficients; promoted to a common dtype.

    Returns
    -------
    array
        As many coefficients as the longer one has.

    Examples
    --------
    >>> ct.numpy.polysub(np.array([1, 2]), np.array([3, 0, 5]))
    Array([-3,  1, -3], dtype=int64)
    """
    x, y = _pair(a1, a2, "polysub")
    return x - y


def polymul(a1: Any, a2: Any, *, trim_leading_zeros: bool = False) -> Array:
    """The product of two polynomials.

    Parameters
    ----------
    a1, a2 : array, shape (n,)
        The coefficients, the highest first; promoted to a common floating or complex dtype.
    trim_leading_zeros : bool, default False
        Whether leading zeros are left out, as NumPy does; values must be known then.

    Returns
    -------
    array
        The coefficients.

    Examples
    --------
    >>> ct.numpy.polymul(np.array([1, 2]), np.array([1, -2]))
    Array([ 1.,  0., -4.], dtype=float32)
    """
    x, y = _coefficients(a1, "polymul"), _coefficients(a2, "polymul")
    if trim_leading_zeros:
        x, y = _trimmed(x), _trimmed(y)
    x, y = (literal(p, 0)[:1] if bound_size(p) == 0 else p for p in (x, y))
    return convolve(x, y)


def _trimmed(p: Array) -> Array:
    """Without leading zeros; zero is one coefficient."""
    short = trim_zeros(p, "f")
    return short if short.size else _core.full((1,), 0, p.dtype)


def polydiv(u: Any, v: Any, *, trim_leading_zeros: bool = False) -> tuple[Array, Array]:
    """The quotient and the remainder of two polynomials.

    Parameters
    ----------
    u, v : array, shape (n,)
        The coefficients, the highest first; promoted to a common floating dtype.
    trim_leading_zeros : bool, default False
        Whether leading zeros of the remainder are left out, as NumPy does; values must be known then.

    Returns
    -------
    tuple of two arrays
        The coefficients of the quotient, and of the remainder: as many as of ``u``, unless they are trimmed.

    Examples
    --------
    >>> ct.numpy.polydiv(np.array([1.0, 5.0, 7.0]), np.array([1.0, 2.0]), trim_leading_zeros=True)
    (Array([1., 3.], dtype=float64), Array([1.], dtype=float64))
    """
    x, y = _coefficients(u, "polydiv"), _coefficients(v, "polydiv")
    dtype = _core.promote_types([(x.dtype, x.weak_type), (y.dtype, y.weak_type)])
    x, y = inexact(_core.convert(x, dtype[0])), inexact(_core.convert(y, dtype[0]))
    if _core.ragged_axes(x) or _core.ragged_axes(y):
        if trim_leading_zeros:
            raise NotImplementedError(
                "polydiv: the coefficients are ragged, and their leading zeros are not known\n  leave trim_leading_zeros out"
            )
        return ragged_division(x, y)
    steps = x.size - y.size + 1
    if steps <= 0:
        quotient, rest = _core.full((1,), 0, x.dtype), apart(x, u)
    else:
        parts = []
        rest = x
        for i in range(steps):
            factor = rest[i] / y[0]
            parts.append(insert_axes(factor, [0]))
            taken = primitives.pad(factor * y, _core.full((), 0, x.dtype), low=[i], high=[steps - 1 - i], interior=[0])
            rest = rest - taken
        quotient = concatenate(parts)
    if trim_leading_zeros:
        tiny = float(finfo(x.dtype).eps)
        values = np.asarray(rest)
        first = next((i for i in range(values.size - 1) if not abs(values[i]) <= tiny), max(values.size - 1, 0))
        rest = rest[first:]
    return quotient, rest


@own
def polyder(p: Any, m: int = 1) -> Array:
    """The derivative of a polynomial.

    Parameters
    ----------
    p : array
        The coefficients along the first axis, the highest first. Integers are converted to the default floating
        dtype.
    m : int, default 1
        How often.

    Returns
    -------
    array
        The coefficients.

    Raises
    ------
    ValueError
        ``m`` is negative.

    Examples
    --------
    >>> ct.numpy.polyder(np.array([1.0, 2.0, 3.0]))
    Array([2., 2.], dtype=float64)
    """
    x = inexact(_coefficients(p, "polyder"))
    count = static_count(m, "polyder: the order")
    for _ in range(count):
        if capacity(x, 0) <= 1:
            return _core.full((0,), 0, x.dtype)
        x = ragged_derivative(x) if _core.ragged_axes(x) else x[:-1] * _countdown(x.size - 1, x.dtype)
    return x


def _countdown(count: int, dtype: Any) -> Array:
    """The numbers from ``count`` down to 1: the powers of coefficients, but for the last."""
    places = primitives.iota(shape=[count], dtype=index_dtype(count + 1), axis=0)
    return convert(literal(places, count) - places, dtype)


def polyint(p: Any, m: int = 1, k: Any = None) -> Array:
    """The integral of a polynomial.

    Parameters
    ----------
    p : array
        The coefficients along the first axis, the highest first. Integers are converted to the default floating
        dtype.
    m : int, default 1
        How often.
    k : array, optional
        The constants, in the order of integration. None: 0.

    Returns
    -------
    array
        The coefficients.

    Raises
    ------
    ValueError
        ``m`` is negative, or the constants are not as many.

    Examples
    --------
    >>> ct.numpy.polyint(np.array([6.0, 4.0]), k=5.0)
    Array([3., 4., 5.], dtype=float64)
    """
    x = inexact(_coefficients(p, "polyint"))
    count = static_count(m, "polyint: the order")
    constants = _core.full((), 0, x.dtype) if k is None else _core.array(k)
    constants = insert_axes(constants, [0]) if constants.ndim == 0 else constants
    if constants.size == 1:
        constants = _core.broadcast_to(constants, (count,))
    if capacities(constants) != (count,):
        raise ValueError(
            f"polyint: {count} integrals need as many constants, or one; got shape {constants.shape}\n"
            f"  give one constant for each integral: k of shape ({count},)"
        )
    dtype = _core.promote_types([(x.dtype, x.weak_type), (constants.dtype, constants.weak_type)])[0]
    x, constants = convert(x, dtype), convert(constants, dtype)
    # That of x**i is x**(i + count) / ((i + 1) … (i + count)), and that of constant j of what integrals are left after it.
    # What overflows divides to 0.
    if _core.ragged_axes(x):
        return ragged_integral(x, constants)
    if count == 1:
        return concatenate([x / _countdown(x.size, dtype), constants])
    with np.errstate(over="ignore"):
        divisors = np.ones(x.size)
        for step in range(1, min(count, _FIRST_INFINITE_FACTORIAL) + 1):
            divisors *= np.arange(x.size) + step
        factorials = np.cumprod(np.maximum(np.arange(count), 1.0))
    parts = [(x, divisors), (constants, factorials)]
    return concatenate([part / convert(_core.array(by[::-1]), dtype) for part, by in parts])


def polyval(p: Any, x: Any, *, unroll: int = 16) -> Array:
    """The value of a polynomial at given numbers.

    Parameters
    ----------
    p : array, shape (n, ...)
        The coefficients, the highest first; further axes are broadcast with those of ``x``.
    x : array
        The numbers; promoted with the coefficients to a common dtype.
    unroll : int, default 16
        Accepted as in JAX, and without effect.

    Returns
    -------
    array
        Of the broadcast shape.

    Raises
    ------
    ValueError
        ``p`` is a scalar.

    Examples
    --------
    >>> ct.numpy.polyval([1.0, 2.0, 3.0], [2.0, 0.5])
    Array([11.  ,  4.25], dtype=float32)
    """
    del unroll
    coefficients = _core.array(p)
    if coefficients.ndim == 0:
        raise ValueError("polyval: coefficients need an axis\n  give a list of them: polyval([1.0], x)")
    start = empty_fold(coefficients, [0], 0)
    result, points = _core.promote([start, x])
    if capacity(coefficients, 0) > _MOST_UNROLLED:
        return _horner(coefficients, result, points)
    count = axis_size(coefficients, 0)
    for i in range(capacity(coefficients, 0)):
        step = result * points + coefficients[i]
        result = where(count > i, step, result) if isinstance(count, Array) else step
    return result


def _horner(coefficients: Array, start: Array, points: Array) -> Array:
    """Horner's scheme as a loop over a few coefficients at a time."""

    def steps(result: Array, rows: Array) -> Array:
        for i in range(capacity(rows, 0)):
            result = result * points + rows[i]
        return result

    first = broadcast_arrays(start, points)[0]
    if isinstance(axis_size(coefficients, 0), Array):
        return scan(lambda result, row: (result * points + row, None), first, coefficients)[0]  # type: ignore[no-any-return]
    shape = capacities(coefficients)
    odd = shape[0] % _AT_ONCE
    groups = coefficients[odd:].reshape((shape[0] // _AT_ONCE, _AT_ONCE, *shape[1:]))
    return scan(lambda result, rows: (steps(result, rows), None), steps(first, coefficients[:odd]), groups)[0]  # type: ignore[no-any-return]


def _linalg() -> Any:
    # Loaded at first use, as `ct.numpy` does.
    from cotangent.numpy import linalg

    return linalg


def poly(seq_of_zeros: Any) -> Array:
    """The polynomial with given zeros; or the characteristic polynomial of a matrix.

    Parameters
    ----------
    seq_of_zeros : array, shape (n,) or (n, n)
        The zeros, or a square matrix, whose eigenvalues they are.

    Returns
    -------
    array, shape (n + 1,)
        The coefficients, the highest, 1, first. Those of a matrix are complex.

    Raises
    ------
    ValueError
        There are other axes.

    Examples
    --------
    >>> ct.numpy.poly([1.0, 2.0])
    Array([ 1., -3.,  2.], dtype=float32)
    """
    zeros = inexact(seq_of_zeros)
    zeros = insert_axes(zeros, [0]) if zeros.ndim == 0 else zeros
    if zeros.ndim == 2 and bound_size(zeros) and capacity(zeros, 0) == capacity(zeros, 1):
        zeros = _linalg().eigvals(zeros)
    if zeros.ndim != 1:
        raise ValueError(
            f"poly takes zeros along one axis, or a square matrix; got shape {zeros.shape}\n"
            "  map over several with ct.vmap(ct.numpy.poly)"
        )
    if _core.ragged_axes(zeros):
        return ragged_product(zeros)
    one = _core.full((1,), 1, zeros.dtype)
    nothing = literal(one, 0)
    if zeros.size <= _MOST_UNROLLED:
        result = one
        for i in range(zeros.size):
            result = concatenate([result, nothing]) - concatenate([nothing, zeros[i] * result])
        return result
    powers = arange(zeros.size + 1)

    def step(result: Array, item: tuple[Array, Array]) -> tuple[Array, None]:
        zero, degree = item
        longer = result - concatenate([nothing, (zero * result)[:-1]])
        return where(powers > degree, literal(longer, 0), longer), None  # 0 times infinity is not 0

    first = concatenate([one, _core.full((zeros.size,), 0, zeros.dtype)])
    return scan(step, first, (zeros, powers[1:]))[0]  # type: ignore[no-any-return]


def roots(p: Any, *, strip_zeros: bool = True) -> Array:
    """The complex zeros of a polynomial.

    Parameters
    ----------
    p : array, shape (n,)
        The coefficients, the highest first.
    strip_zeros : bool, default True
        Whether leading zeros are left out, and trailing ones make zeros of the result; the coefficients must be known
        then. Else they must not be zero at the front.

    Returns
    -------
    array
        As many as the degree, complex.

    Examples
    --------
    >>> ct.numpy.sort(ct.numpy.roots(np.array([1.0, -3.0, 2.0])).real).round(3)
    Array([1., 2.], dtype=float64)
    """
    x = inexact(_coefficients(p, "roots"))
    at_zero = 0
    if strip_zeros:
        x = trim_zeros(x, "f")
        full = x.size
        x = trim_zeros(x, "b")
        at_zero = full - x.size
    complex_dtype = _core.promote_types([(x.dtype, False), (np.dtype("complex64"), False)])[0]
    zeros = _core.full((at_zero,), 0, complex_dtype)
    if capacity(x, 0) < 2:
        return zeros
    if _core.ragged_axes(x):
        return convert(_linalg().eigvals(ragged_companion(x)), complex_dtype)
    size = x.size - 1
    row = insert_axes(-x[1:] / x[0], [0])
    companion = concatenate([row, convert(_core.array(np.eye(size - 1, size)), x.dtype)])
    found = convert(_linalg().eigvals(companion), complex_dtype)
    return concatenate([found, zeros]) if at_zero else found


def polyfit(
    x: Any, y: Any, deg: int, rcond: float | None = None, full: bool = False, w: Any = None, cov: bool | str = False
) -> Any:
    """The polynomial of a degree that fits points best in the sense of least squares.

    Parameters
    ----------
    x : array, shape (n,)
        The coordinates of the points.
    y : array, shape (n,) or (n, k)
        Their values; or several sets of them as columns.
    deg : int
        The degree.
    rcond : float, optional
        Singular values below this share of the largest one count as zero. None: n times the precision.
    full : bool, default False
        Whether residuals, rank, singular values and ``rcond`` are returned, too.
    w : array, shape (n,), optional
        The weights of the residuals, which are squared afterwards.
    cov : bool or str, default False
        Whether the covariances of the coefficients are returned, too; ``"unscaled"``: for weights that are 1 / sigma.

    Returns
    -------
    array, shape (deg + 1,) or (deg + 1, k)
        The coefficients, the highest first; or a tuple of them and what else is wanted.

    Raises
    ------
    ValueError
        The degree is negative.
    TypeError
        Shapes do not fit, or there are no points.

    Examples
    --------
    >>> ct.numpy.polyfit([0.0, 1.0, 2.0], [1.0, 3.0, 5.0], 1).round(3)
    Array([2., 1.], dtype=float32)
    """
    if not isinstance(cov, (bool, int, np.bool_)) and not (isinstance(cov, str) and cov == "unscaled"):
        raise TypeError(
            f"polyfit: cov is True, False or 'unscaled'; got {cov!r}{suggestion(cov, ('unscaled',))}\n  write cov=True for the covariance of the coefficients"
        )
    points, values = _core.array(x), _core.array(y)
    if deg < 0:
        raise ValueError(f"polyfit: the degree must not be negative; got {deg}\n  deg=0 is the mean")
    if points.ndim != 1 or capacity(points, 0) == 0:
        raise TypeError(
            f"polyfit: x must have one axis and elements; got shape {points.shape}\n  make one axis of it: x.ravel()"
        )
    size = axis_size(points, 0)
    if values.ndim not in (1, 2) or capacity(values, 0) != capacity(points, 0):
        raise TypeError(
            f"polyfit: y must have {points.size} rows; got shape {values.shape}\n"
            f"  give y of shape ({points.size},), or ({points.size}, k) for k curves"
        )
    dtype = _core.promote_types([(points.dtype, points.weak_type), (values.dtype, values.weak_type)])
    points, values = inexact(_core.convert(points, dtype[0])), inexact(_core.convert(values, dtype[0]))
    cut: Any = size * float(finfo(points.dtype).eps) if rcond is None else rcond
    matrix = vander(points, deg + 1)
    if w is not None:
        weights = convert(_core.array(w), matrix.dtype)
        if capacities(weights) != capacities(points):
            raise TypeError(
                f"polyfit: {points.size} points need as many weights; got shape {weights.shape}\n"
                f"  give one weight for each point: w of shape ({points.size},)"
            )
        matrix = matrix * weights[:, None]
        values = values * (weights if values.ndim == 1 else weights[:, None])
    scale = primitives.sqrt(_real(_sum(matrix * conjugate(matrix), 0)))
    matrix = matrix / scale
    solution, residuals, rank, singular = _linalg().lstsq(matrix, values, cut)
    solution = solution / (scale if values.ndim == 1 else scale[:, None])
    if full:
        return solution, residuals, rank, singular, _core.array(cut)
    if not cov:
        return solution
    base = _linalg().inv(matrix_transpose(matrix) @ matrix) / outer(scale, scale)
    if isinstance(cov, str) and cov == "unscaled":
        return solution, base
    freedom = size - (deg + 1)
    if isinstance(freedom, int) and freedom <= 0:
        raise ValueError(
            f"polyfit: {points.size} points do not give the covariance of {deg + 1} coefficients\n"
            "  write cov='unscaled', or fit more points"
        )
    gap = values - matrix @ (solution * (scale if values.ndim == 1 else scale[:, None]))
    factor = _sum(_real(gap * conjugate(gap)), 0) / freedom
    return solution, base * factor if values.ndim == 1 else base[..., None] * factor


check_arguments(globals())
