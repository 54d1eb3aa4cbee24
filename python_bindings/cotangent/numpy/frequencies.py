"""The frequencies of the elements of a Fourier transform, and their order."""

from __future__ import annotations

import functools
import operator
from collections.abc import Sequence
from typing import Any

from cotangent import _core
from cotangent import _ops as ops
from cotangent._base.arguments import check_arguments
from cotangent._base.device import Placement
from cotangent._core import Array
from cotangent._ops.binding import own
from cotangent._ops.extents import bound_of
from cotangent._ops.sizes import (
    axis_size,
    is_dimension,
    length_of_size,
    normalize_axis,
    several,
)
from cotangent.numpy.ragged_fft import ragged_frequencies

__all__ = ["fftfreq", "fftshift", "ifftshift", "rfftfreq"]


def _frequency_arguments(n: Any, d: Any, name: str) -> None:
    if isinstance(n, (list, tuple)) or isinstance(d, (list, tuple)):
        raise ValueError(f"{name} takes an integer and a spacing; got {n!r} and {d!r}\n  give numbers: {name}(8, 0.5)")
    if not is_dimension(n) and operator.index(n) <= 0:
        raise ValueError(f"{name}: n must be positive; got {n}\n  give the number of samples, 1 or more")


def fftfreq(n: int, d: Any = 1.0, *, dtype: Any = None, device: Placement = None) -> Array:
    """The frequencies that belong to the elements of `fft`: 0, 1, …, -1 divided by ``n * d``.

    Parameters
    ----------
    n : int
        The length of what was transformed.
    d : number, default 1.0
        The distance of its samples; the frequencies are in cycles per unit of it.
    dtype : dtype, optional
        Of the result. None: the default floating dtype.
    device : Device, str or sharding, optional
        Where the result is made. None: on the default device.

    Returns
    -------
    array, shape (n,)
        The frequencies.

    Raises
    ------
    ValueError
        ``n`` is not positive.

    Examples
    --------
    >>> ct.numpy.fft.fftfreq(4, 0.5)
    Array([ 0. ,  0.5, -1. , -0.5], dtype=float32)
    """
    _frequency_arguments(n, d, "fftfreq")
    if is_dimension(n):
        dtype = _core.default_float_dtype() if dtype is None else _core.canonical_dtype(dtype)
        return ragged_frequencies(length_of_size(n), bound_of(n), d, dtype, half=False)
    dtype = _core.default_float_dtype() if dtype is None else _core.canonical_dtype(dtype)
    order = ops.arange(n)
    return ((order + n // 2) % n - n // 2).astype(dtype) / _core.convert(d * n, dtype)


def rfftfreq(n: int, d: Any = 1.0, *, dtype: Any = None, device: Placement = None) -> Array:
    """The frequencies that belong to the elements of `rfft`: 0, 1, …, n // 2 divided by ``n * d``.

    Parameters
    ----------
    n : int
        The length of what was transformed.
    d : number, default 1.0
        The distance of its samples; the frequencies are in cycles per unit of it.
    dtype : dtype, optional
        Of the result. None: the default floating dtype.
    device : Device, str or sharding, optional
        Where the result is made. None: on the default device.

    Returns
    -------
    array, shape (n // 2 + 1,)
        The frequencies.

    Raises
    ------
    ValueError
        ``n`` is not positive.

    Examples
    --------
    >>> ct.numpy.fft.rfftfreq(4, 0.5)
    Array([0. , 0.5, 1. ], dtype=float32)
    """
    _frequency_arguments(n, d, "rfftfreq")
    if is_dimension(n):
        dtype = _core.default_float_dtype() if dtype is None else _core.canonical_dtype(dtype)
        return ragged_frequencies(length_of_size(n), bound_of(n), d, dtype, half=True)
    dtype = _core.default_float_dtype() if dtype is None else _core.canonical_dtype(dtype)
    return ops.arange(n // 2 + 1).astype(dtype) / _core.convert(d * n, dtype)


def _shifted(x: Any, axes: Any, name: str, amount: Any) -> Array:
    array = _core.array(x)
    if axes is None:
        axes = range(array.ndim)
    elif not several(axes):
        axes = (axes,)
    move = functools.partial(normalize_axis, rank=array.ndim, name=name)
    for axis in map(move, axes):
        array = ops.roll(array, amount(axis_size(array, axis)), axis)
    return array


@own
def fftshift(x: Any, axes: int | Sequence[int] | None = None) -> Array:
    """The elements of a transform with frequency zero moved to the middle.

    Parameters
    ----------
    x : array
        Numbers of any dtype.
    axes : int, sequence of int or None, default None
        Along which axes. None: all.

    Returns
    -------
    array
        Of the dtype and the shape of ``x``.

    Examples
    --------
    >>> ct.numpy.fft.fftshift([0, 1, 2, -2, -1])
    Array([-2, -1,  0,  1,  2], dtype=int32)
    """
    return _shifted(x, axes, "fftshift", lambda n: n // 2)


@own
def ifftshift(x: Any, axes: int | Sequence[int] | None = None) -> Array:
    """The inverse of `fftshift`.

    Parameters
    ----------
    x : array
        Numbers of any dtype.
    axes : int, sequence of int or None, default None
        Along which axes. None: all.

    Returns
    -------
    array
        Of the dtype and the shape of ``x``.

    Examples
    --------
    >>> ct.numpy.fft.ifftshift([-2, -1, 0, 1, 2])
    Array([ 0,  1,  2, -2, -1], dtype=int32)
    """
    return _shifted(x, axes, "ifftshift", lambda n: -(n // 2))


check_arguments(globals())
