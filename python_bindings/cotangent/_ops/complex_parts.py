"""Parts of complex numbers."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from cotangent import _core
from cotangent._base import primitives
from cotangent._base.arguments import check_arguments
from cotangent._core import Array
from cotangent._ops.binding import (
    choose,
    constant,
    inexact,
    kind,
    literal,
    own,
)
from cotangent._ops.floating_parts import signbit
from cotangent._ops.views import as_view, whole_view

__all__ = ["angle", "conj", "conjugate", "imag", "real", "real_if_close"]


@whole_view
def real(x: Any, /) -> Array:
    """The real part of each element; a real array is its own.

    Parameters
    ----------
    x : array
        Numbers of any dtype.

    Returns
    -------
    array
        Real, of the shape of ``x``.

    Examples
    --------
    >>> ct.numpy.real([1 + 2j, 3.0])
    Array([1., 3.], dtype=float32)
    """
    array = _core.array(x)
    return as_view(primitives.real(array), array, ("real", None)) if kind(array) == "complex" else array


def imag(x: Any, /) -> Array:
    """The imaginary part of each element; of real numbers, 0.

    Parameters
    ----------
    x : array
        Numbers of any dtype.

    Returns
    -------
    array
        Real, of the shape of ``x``.

    Examples
    --------
    >>> ct.numpy.imag([1 + 2j, 3.0])
    Array([2., 0.], dtype=float32)
    """
    array = _core.array(x)
    return as_view(primitives.imag(array), array, ("imag", None)) if kind(array) == "complex" else constant(array, 0)


@own
def conjugate(x: Any, /) -> Array:
    """The complex conjugate of each element; a real array is its own.

    Parameters
    ----------
    x : array
        Numbers of any dtype.

    Returns
    -------
    array
        Of the dtype and the shape of ``x``.

    Examples
    --------
    >>> ct.numpy.conjugate([1 + 2j])
    Array([1.-2.j], dtype=complex64)
    """
    array = _core.array(x)
    return primitives.conj(array) if kind(array) == "complex" else array


conj = conjugate


def angle(z: Any, deg: bool = False) -> Array:
    """The angle of complex numbers in the plane, in (-pi, pi]; of negative real numbers pi.

    Parameters
    ----------
    z : array
        Real or complex.
    deg : bool, default False
        Whether the angle is in degrees, and not in radians.

    Returns
    -------
    array
        Floating, of the shape of ``z``.

    Examples
    --------
    >>> ct.numpy.angle([1j, 1 + 1j], deg=True)
    Array([90., 45.], dtype=float32)
    """
    array = inexact(z)
    if kind(array) == "complex":
        result = primitives.atan2(imag(array), real(array))
    else:  # which is the same numbers, and constant between its jumps
        turned = signbit(array)
        result = choose(primitives.ne(array, array), math.nan, choose(turned, math.pi, literal(array, 0.0)))
    return result * literal(result, 180.0 / math.pi) if deg else result


@whole_view
def real_if_close(a: Any, tol: float = 100) -> Array:
    """The real parts of complex numbers if no imaginary part is beyond a bound, else the numbers.

    The dtype of the result depends on values: it can be used where they are known, and not within `jit`.

    Parameters
    ----------
    a : array
        Numbers.
    tol : float
        The bound: of more than 1 in machine epsilons of the dtype, else itself.

    Returns
    -------
    array
        Of the shape of ``a``.

    Raises
    ------
    ConcretizationError
        A program is being captured.

    Examples
    --------
    >>> ct.numpy.real_if_close(ct.numpy.array([1 + 1e-9j, 2]))
    Array([1., 2.], dtype=float32)
    """
    array = _core.array(a)
    if kind(array) != "complex":
        return array
    bound = tol * float(np.finfo(np.dtype(array.dtype)).eps) if tol > 1 else tol
    parts = np.abs(_core.peek_numpy(imag(array), "real_if_close, whose dtype depends on values,"))
    return real(array) if bool(np.all(parts < bound)) else array


check_arguments(globals())
