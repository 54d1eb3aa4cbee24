"""Rounding, and the parts of complex numbers."""

from __future__ import annotations

from enum import IntEnum
from typing import Any

from cotangent._base import primitives
from cotangent._base.arguments import check_arguments
from cotangent._core import Array
from cotangent._ops import elementary as _elementary
from cotangent._ops.binding import choose, kind, literal
from cotangent.errors import DTypeError
from cotangent.lax._operands import (
    FLOATS,
    INEXACTS,
    as_array,
    check_kind,
    operands,
    unary,
)

__all__ = ["RoundingMethod", "ceil", "complex", "conj", "floor", "imag", "real", "round"]


class RoundingMethod(IntEnum):
    """Where `round` takes numbers that lie halfway between two whole ones.

    ``AWAY_FROM_ZERO`` takes 0.5 to 1 and -0.5 to -1; ``TO_NEAREST_EVEN`` takes both to 0, as
    `cotangent.numpy.round` does.
    """

    AWAY_FROM_ZERO = 0
    TO_NEAREST_EVEN = 1


# ---- Rounding, complex parts -----------------------------------------------------------------------------------------


def floor(x: Any) -> Array:
    """The largest whole number that is not above each element.

    Parameters
    ----------
    x : array
        Floats.

    Returns
    -------
    array
        Of the shape and dtype of ``x``.

    Examples
    --------
    >>> ct.lax.floor(ct.numpy.array([-1.5, 1.5]))
    Array([-2.,  1.], dtype=float32)
    """
    return unary(primitives.floor, x, FLOATS)


def ceil(x: Any) -> Array:
    """The smallest whole number that is not below each element.

    Parameters
    ----------
    x : array
        Floats.

    Returns
    -------
    array
        Of the shape and dtype of ``x``.

    Examples
    --------
    >>> ct.lax.ceil(ct.numpy.array([-1.5, 1.5]))
    Array([-1.,  2.], dtype=float32)
    """
    return unary(primitives.ceil, x, FLOATS)


def round(x: Any, rounding_method: Any = RoundingMethod.AWAY_FROM_ZERO) -> Array:  # noqa: A001
    """The nearest whole number of each element.

    Parameters
    ----------
    x : array
        Floats.
    rounding_method : RoundingMethod or int
        What becomes of halves: away from zero by default, where `cotangent.numpy.round` takes them to even numbers.

    Returns
    -------
    array
        Of the shape and dtype of ``x``.

    Examples
    --------
    >>> ct.lax.round(ct.numpy.array([-0.5, 1.5, 2.5]))
    Array([-1.,  2.,  3.], dtype=float32)
    >>> ct.lax.round(ct.numpy.array([-0.5, 1.5, 2.5]), ct.lax.RoundingMethod.TO_NEAREST_EVEN)
    Array([-0.,  2.,  2.], dtype=float32)
    """
    if rounding_method not in tuple(RoundingMethod):
        raise ValueError(
            f"lax.round: there is no rounding method {rounding_method!r}\n"
            "  pass ct.lax.RoundingMethod.TO_NEAREST_EVEN or AWAY_FROM_ZERO; decimals are an argument of ct.numpy.round"
        )
    method = RoundingMethod(rounding_method)
    array = as_array("round", x)
    check_kind("round", array, FLOATS)
    if method is RoundingMethod.TO_NEAREST_EVEN:
        return primitives.round(array)
    size = primitives.abs(array)
    whole = primitives.floor(size)
    up = primitives.ge(primitives.sub(size, whole), literal(size, 0.5))
    rounded = primitives.add(whole, choose(up, 1.0, literal(whole, 0.0)))
    return _elementary.with_sign(rounded, array)


def complex(x: Any, y: Any) -> Array:  # noqa: A001
    """The complex numbers ``x + i y``.

    Parameters
    ----------
    x, y : array
        The real and the imaginary parts: float32 or float64, shapes as of `add`.

    Returns
    -------
    array
        complex64 or complex128, of the common shape.

    Raises
    ------
    DTypeError
        The parts are narrower than float32, or of two dtypes.

    Examples
    --------
    >>> ct.lax.complex(ct.numpy.array([1.0, 2.0]), ct.numpy.array([0.5, -1.0]))
    Array([1.+0.5j, 2.-1.j ], dtype=complex64)
    """
    x, y = operands("complex", (x, y), FLOATS)
    if x.dtype.itemsize < 4:
        raise DTypeError(
            f"lax.complex takes float32 or float64 arrays; got {x.dtype}\n"
            "  convert the parts first: x.astype('float32')"
        )
    return primitives.complex(x, y)


def real(x: Any) -> Array:
    """The real parts of complex numbers.

    Parameters
    ----------
    x : array
        Complex numbers; `cotangent.numpy.real` takes real ones, too.

    Returns
    -------
    array
        The parts, in the dtype that belongs to that of ``x``.

    Examples
    --------
    >>> ct.lax.real(ct.numpy.array([1.0 + 2.0j]))
    Array([1.], dtype=float32)
    """
    return unary(primitives.real, x, ("complex",))


def imag(x: Any) -> Array:
    """The imaginary parts of complex numbers.

    Parameters
    ----------
    x : array
        Complex numbers; `cotangent.numpy.imag` takes real ones, too.

    Returns
    -------
    array
        The parts, in the dtype that belongs to that of ``x``.

    Examples
    --------
    >>> ct.lax.imag(ct.numpy.array([1.0 + 2.0j]))
    Array([2.], dtype=float32)
    """
    return unary(primitives.imag, x, ("complex",))


def conj(x: Any) -> Array:
    """The complex conjugates.

    Floats become complex numbers, where `cotangent.numpy.conj` leaves them.

    Parameters
    ----------
    x : array
        Floats or complex numbers.

    Returns
    -------
    array
        Complex, of the shape of ``x``.

    Examples
    --------
    >>> ct.lax.conj(ct.numpy.array([1.0 + 2.0j]))
    Array([1.-2.j], dtype=complex64)
    """
    array = as_array("conj", x)
    check_kind("conj", array, INEXACTS)
    if kind(array) == "float":
        return complex(array, literal(array, 0.0))
    return primitives.conj(array)


check_arguments(globals())
