"""Discrete Fourier transforms, named and called as ``jax.numpy.fft``'s.

float16 and bfloat16 are transformed in float32; results are complex64 or complex128, or for inverse real transforms float32
or float64. Inside of `ct.mask` a ragged axis is transformed with its own length, and ``n`` and the sizes of ``s`` may be those of ragged axes.
"""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Sequence
from typing import Any, SupportsIndex

from cotangent import _core
from cotangent import _ops as ops
from cotangent._base import primitives
from cotangent._base.arguments import check_arguments
from cotangent._base.device import Placement
from cotangent._core import Array
from cotangent._ops.binding import literal, own
from cotangent._ops.extents import bound_of, capacity, slice_axis
from cotangent._ops.sizes import (
    as_dtype,
    axis_size,
    is_dimension,
    length_of_size,
    normalize_axis,
    ragged_length,
    several,
)
from cotangent.lax.fourier import transform as _transform
from cotangent.lax.fourier import transformable
from cotangent.numpy.ragged_fft import ragged_frequencies, ragged_transform

__all__ = [
    "fft",
    "fft2",
    "fftfreq",
    "fftn",
    "fftshift",
    "hfft",
    "ifft",
    "ifft2",
    "ifftn",
    "ifftshift",
    "ihfft",
    "irfft",
    "irfft2",
    "irfftn",
    "rfft",
    "rfft2",
    "rfftfreq",
    "rfftn",
]


def _fit(x: Array, axis: int, size: int) -> Array:
    """``x`` cut or padded with zeros to ``size`` elements along an axis."""
    if axis in _core.ragged_axes(x):
        x = primitives.fill_padding(x, axes=[axis], value=0.0)
    have = capacity(x, axis)
    if have > size:
        return slice_axis(x, axis, 0, size)
    if have < size:
        none, high = [0] * x.ndim, [0] * x.ndim
        high[axis] = size - have
        zero = _core.full((), 0, x.dtype)
        return primitives.pad(x, zero, low=none, high=high, interior=none)
    return x


def _factor(norm: str | None, inverse: bool, count: int, name: str) -> float:
    """What a result whose inverse divides by ``count`` is multiplied with for another norm."""
    if norm not in (None, "backward", "ortho", "forward"):
        raise ValueError(f'{name}: norm must be None, "backward", "ortho" or "forward"; got {norm!r}')
    if norm is None or norm == "backward":
        return 1.0
    power = 0.5 if norm == "ortho" else 1.0
    return math.pow(count, power if inverse else -power)


def _fft(
    name: str, kind: str, a: Any, sizes: Sequence[int] | None, axes: Sequence[int] | None, norm: str | None
) -> Array:
    x = _core.array(a)
    if sizes is not None:
        given: list[Any] = [n if is_dimension(n) else operator.index(n) for n in sizes]
        sizes = given
        if any(n <= 0 for n in sizes if not is_dimension(n)):
            raise ValueError(f"{name}: invalid number of FFT data points: lengths must be positive; got {sizes}")
    if axes is None:
        count = x.ndim if sizes is None else len(sizes)
        if count > x.ndim:
            raise ValueError(f"{name}: {count} lengths for an array with {x.ndim} axes")
        axes = range(x.ndim - count, x.ndim)
    where = [normalize_axis(axis, x.ndim, name) for axis in axes]
    if sizes is not None and len(sizes) != len(where):
        raise ValueError(f"{name}: shape and axes have different lengths: {len(sizes)} and {len(where)}")
    if len(set(where)) != len(where):
        raise ValueError(f"{name}: axes must not repeat; got {list(axes)}")
    ragged = _core.ragged_axes(x)
    if any(map(is_dimension, sizes)) if sizes is not None else any(axis in ragged for axis in where):
        return _ragged_fft(name, kind, x, sizes, where, norm)
    # Half a spectrum is along the last axis; other axes are where they are.
    last = list(range(x.ndim - len(where), x.ndim)) if kind in ("RFFT", "IRFFT") else where
    x = ops.moveaxis(x, where, last) if where != last else x
    if sizes is None:
        sizes = [capacity(x, axis) for axis in last]
        if kind == "IRFFT" and sizes:
            sizes[-1] = 2 * (sizes[-1] - 1)
        if any(n <= 0 for n in sizes):
            raise ValueError(f"{name}: invalid number of FFT data points: the shape is {x.shape}")
    else:
        for axis, n in zip(last, sizes, strict=True):
            x = _fit(x, axis, n // 2 + 1 if kind == "IRFFT" and axis == x.ndim - 1 else n)
    lengths = dict(zip(last, sizes, strict=True))
    result = _transform(x, kind, [lengths.get(axis, 0) for axis in range(min(last, default=x.ndim), x.ndim)])
    factor = _factor(norm, kind[0] == "I", math.prod(sizes), name)
    if factor != 1.0:
        result = result * literal(result, factor)
    return ops.moveaxis(result, last, where) if where != last else result


def _ragged_fft(
    name: str, kind: str, x: Array, sizes: Sequence[Any] | None, axes: Sequence[int], norm: str | None
) -> Array:
    """`_fft` where a length is a value: one axis after the other, that with half a spectrum where its array is real."""
    inverse = kind[0] == "I"
    given: Sequence[Any] = [None] * len(axes) if sizes is None else sizes
    steps = list(zip(axes, given, [kind[0] * inverse + "FFT"] * (len(axes) - 1) + [kind], strict=True))
    for axis, size, one in steps[::-1] if kind == "RFFT" else steps:
        if not is_dimension(size) and (size is not None or axis not in _core.ragged_axes(x)):
            x = _fft(name, one, x, None if size is None else [size], [axis], norm)
            continue
        x = transformable(x, one == "RFFT")
        if size is None:
            length, bound = ragged_length(x, axis), capacity(x, axis)
            if one == "IRFFT":
                two, none = _core.full((), 2, "int32"), _core.full((), 0, "int32")
                length, bound = primitives.max(length * two - two, none), 2 * bound - 2
        else:
            length, bound = length_of_size(size), bound_of(size)
        if bound <= 0:
            raise ValueError(f"{name}: invalid number of FFT data points: the shape is {x.shape}")
        power = {None: inverse, "backward": inverse, "ortho": 0.5, "forward": not inverse}
        if norm not in power:
            _factor(norm, inverse, 1, name)  # says what it must be
        count = as_dtype(primitives.max(length, _core.full((), 1, "int32")), "float64")
        factor = primitives.pow(count, _core.full((), -float(power[norm]), "float64")) if power[norm] else None
        x = ragged_transform(x, one, length, bound, axis, factor)
    return x


def _one_axis(axis: Any, name: str) -> int:
    if several(axis):
        raise ValueError(f"{name} takes one axis; got {axis!r}\n  {name}n takes several")
    try:
        return operator.index(axis)
    except TypeError:
        raise TypeError(f"{name}: axis must be an integer; got {axis!r}") from None


def _fft1(name: str, kind: str, a: Any, n: int | None, axis: SupportsIndex, norm: str | None) -> Array:
    return _fft(name, kind, a, None if n is None else [n], [_one_axis(axis, name)], norm)


def _fft2(name: str, kind: str, a: Any, s: Sequence[int] | None, axes: Sequence[int] | None, norm: str | None) -> Array:
    if axes is None or len(axes) != 2:
        raise ValueError(f"{name} takes two axes; got {axes!r}\n  {name[:-1]}n takes any number")
    return _fft(name, kind, a, s, axes, norm)


def fft(a: Any, n: int | None = None, axis: SupportsIndex = -1, norm: str | None = None) -> Array:
    """The discrete Fourier transform along an axis.

    Element k of the result is the sum of ``a[j] * exp(-2 pi i j k / n)`` over j.

    Parameters
    ----------
    a : array
        Real or complex; float16 and bfloat16 are transformed in float32.
    n : int, optional
        The length; the axis is cut off or padded with zeros to it. None: its size.
    axis : int, default -1
        Which axis.
    norm : str, optional
        What is divided by the number of elements n: ``"backward"`` (None): the inverse transform; ``"forward"``: this
        one; ``"ortho"``: both by the root of n.

    Returns
    -------
    array
        complex64, or complex128 of float64 and complex128.

    Raises
    ------
    ValueError
        There is nothing to transform, or no such ``norm``.

    Examples
    --------
    >>> ct.numpy.fft.fft([1.0, 2.0, 3.0, 4.0]).round(4)
    Array([10.+0.j, -2.+2.j, -2.+0.j, -2.-2.j], dtype=complex64)
    """
    return _fft1("fft", "FFT", a, n, axis, norm)


def ifft(a: Any, n: int | None = None, axis: SupportsIndex = -1, norm: str | None = None) -> Array:
    """The inverse of `fft`.

    Parameters
    ----------
    a : array
        Real or complex; float16 and bfloat16 are transformed in float32.
    n : int, optional
        The length; the axis is cut off or padded with zeros to it. None: its size.
    axis : int, default -1
        Which axis.
    norm : str, optional
        What is divided by the number of elements n: ``"backward"`` (None): this transform; ``"forward"``: the other
        one; ``"ortho"``: both by the root of n.

    Returns
    -------
    array
        complex64, or complex128 of float64 and complex128.

    Raises
    ------
    ValueError
        There is nothing to transform, or no such ``norm``.

    Examples
    --------
    >>> ct.numpy.fft.ifft([10.0, -2 + 2j, -2.0, -2 - 2j]).real.round(4)
    Array([1., 2., 3., 4.], dtype=float32)
    """
    return _fft1("ifft", "IFFT", a, n, axis, norm)


def rfft(a: Any, n: int | None = None, axis: SupportsIndex = -1, norm: str | None = None) -> Array:
    """The Fourier transform of real numbers along an axis: the n // 2 + 1 elements of `fft` that determine the others.

    Parameters
    ----------
    a : array
        Real; float16 and bfloat16 are transformed in float32.
    n : int, optional
        The length; the axis is cut off or padded with zeros to it. None: its size.
    axis : int, default -1
        Which axis.
    norm : str, optional
        What is divided by the number of elements n: ``"backward"`` (None): the inverse transform; ``"forward"``: this
        one; ``"ortho"``: both by the root of n.

    Returns
    -------
    array
        complex64, or complex128 of float64 and complex128.

    Raises
    ------
    ValueError
        There is nothing to transform, or no such ``norm``.

    Examples
    --------
    >>> ct.numpy.fft.rfft([1.0, 2.0, 3.0, 4.0]).round(4)
    Array([10.+0.j, -2.+2.j, -2.+0.j], dtype=complex64)
    """
    return _fft1("rfft", "RFFT", a, n, axis, norm)


def irfft(a: Any, n: int | None = None, axis: SupportsIndex = -1, norm: str | None = None) -> Array:
    """The inverse of `rfft`.

    Parameters
    ----------
    a : array
        Real or complex: the first m elements of a transform of real numbers.
    n : int, optional
        The length of the result. None: 2 (m - 1), which is even: give the length where it is odd.
    axis : int, default -1
        Which axis.
    norm : str, optional
        What is divided by the number of elements n: ``"backward"`` (None): this transform; ``"forward"``: the other
        one; ``"ortho"``: both by the root of n.

    Returns
    -------
    array
        float32, or float64 of complex128 and float64.

    Raises
    ------
    ValueError
        There is nothing to transform, or no such ``norm``.

    Examples
    --------
    >>> ct.numpy.fft.irfft([10.0, -2 + 2j, -2.0]).round(4)
    Array([1., 2., 3., 4.], dtype=float32)
    """
    return _fft1("irfft", "IRFFT", a, n, axis, norm)


def fftn(a: Any, s: Sequence[int] | None = None, axes: Sequence[int] | None = None, norm: str | None = None) -> Array:
    """The discrete Fourier transform along several axes.

    Parameters
    ----------
    a : array
        Real or complex; float16 and bfloat16 are transformed in float32.
    s : sequence of int, optional
        The lengths; axes are cut off or padded with zeros to them. None: their sizes.
    axes : sequence of int, optional
        Which axes, all different. None: the last ``len(s)``, or all.
    norm : str, optional
        What is divided by the number of elements n: ``"backward"`` (None): the inverse transform; ``"forward"``: this
        one; ``"ortho"``: both by the root of n.

    Returns
    -------
    array
        complex64, or complex128 of float64 and complex128.

    Raises
    ------
    ValueError
        There is nothing to transform, or no such ``norm``.

    Examples
    --------
    >>> ct.numpy.fft.fftn([[1.0, 2.0], [3.0, 4.0]]).real.round(4)
    Array([[10., -2.],
           [-4.,  0.]], dtype=float32)
    """
    return _fft("fftn", "FFT", a, s, axes, norm)


def ifftn(a: Any, s: Sequence[int] | None = None, axes: Sequence[int] | None = None, norm: str | None = None) -> Array:
    """The inverse of `fftn`.

    Parameters
    ----------
    a : array
        Real or complex; float16 and bfloat16 are transformed in float32.
    s : sequence of int, optional
        The lengths; axes are cut off or padded with zeros to them. None: their sizes.
    axes : sequence of int, optional
        Which axes, all different. None: the last ``len(s)``, or all.
    norm : str, optional
        What is divided by the number of elements n: ``"backward"`` (None): this transform; ``"forward"``: the other
        one; ``"ortho"``: both by the root of n.

    Returns
    -------
    array
        complex64, or complex128 of float64 and complex128.

    Raises
    ------
    ValueError
        There is nothing to transform, or no such ``norm``.

    Examples
    --------
    >>> ct.numpy.fft.ifftn([[10.0, -2.0], [-4.0, 0.0]]).real.round(4)
    Array([[1., 2.],
           [3., 4.]], dtype=float32)
    """
    return _fft("ifftn", "IFFT", a, s, axes, norm)


def rfftn(a: Any, s: Sequence[int] | None = None, axes: Sequence[int] | None = None, norm: str | None = None) -> Array:
    """The Fourier transform of real numbers along several axes, of which the last is halved as by `rfft`.

    Parameters
    ----------
    a : array
        Real; float16 and bfloat16 are transformed in float32.
    s : sequence of int, optional
        The lengths; axes are cut off or padded with zeros to them. None: their sizes.
    axes : sequence of int, optional
        Which axes, all different. None: the last ``len(s)``, or all.
    norm : str, optional
        What is divided by the number of elements n: ``"backward"`` (None): the inverse transform; ``"forward"``: this
        one; ``"ortho"``: both by the root of n.

    Returns
    -------
    array
        complex64, or complex128 of float64 and complex128.

    Raises
    ------
    ValueError
        There is nothing to transform, or no such ``norm``.

    Examples
    --------
    >>> ct.numpy.fft.rfftn(np.arange(8.0).reshape(2, 4)).shape
    (2, 3)
    """
    return _fft("rfftn", "RFFT", a, s, axes, norm)


def irfftn(a: Any, s: Sequence[int] | None = None, axes: Sequence[int] | None = None, norm: str | None = None) -> Array:
    """The inverse of `rfftn`.

    Parameters
    ----------
    a : array
        Real or complex: half of a transform of real numbers.
    s : sequence of int, optional
        The sizes of the result. None: those of the axes; of the last one 2 (m - 1) for m elements.
    axes : sequence of int, optional
        Which axes, all different. None: the last ``len(s)``, or all.
    norm : str, optional
        What is divided by the number of elements n: ``"backward"`` (None): this transform; ``"forward"``: the other
        one; ``"ortho"``: both by the root of n.

    Returns
    -------
    array
        float32, or float64 of complex128 and float64.

    Raises
    ------
    ValueError
        There is nothing to transform, or no such ``norm``.

    Examples
    --------
    >>> x = np.arange(8.0).reshape(2, 4)
    >>> ct.numpy.fft.irfftn(ct.numpy.fft.rfftn(x)).round(4)
    Array([[0., 1., 2., 3.],
           [4., 5., 6., 7.]], dtype=float64)
    """
    return _fft("irfftn", "IRFFT", a, s, axes, norm)


def fft2(a: Any, s: Sequence[int] | None = None, axes: Sequence[int] = (-2, -1), norm: str | None = None) -> Array:
    """The discrete Fourier transform along two axes.

    Parameters
    ----------
    a : array
        Real or complex; float16 and bfloat16 are transformed in float32.
    s : sequence of int, optional
        The lengths; axes are cut off or padded with zeros to them. None: their sizes.
    axes : sequence of two ints, default (-2, -1)
        Which axes.
    norm : str, optional
        What is divided by the number of elements n: ``"backward"`` (None): the inverse transform; ``"forward"``: this
        one; ``"ortho"``: both by the root of n.

    Returns
    -------
    array
        complex64, or complex128 of float64 and complex128.

    Raises
    ------
    ValueError
        There is nothing to transform, or no such ``norm``.

    Examples
    --------
    >>> ct.numpy.fft.fft2([[1.0, 2.0], [3.0, 4.0]]).real.round(4)
    Array([[10., -2.],
           [-4.,  0.]], dtype=float32)
    """
    return _fft2("fft2", "FFT", a, s, axes, norm)


def ifft2(a: Any, s: Sequence[int] | None = None, axes: Sequence[int] = (-2, -1), norm: str | None = None) -> Array:
    """The inverse of `fft2`.

    Parameters
    ----------
    a : array
        Real or complex; float16 and bfloat16 are transformed in float32.
    s : sequence of int, optional
        The lengths; axes are cut off or padded with zeros to them. None: their sizes.
    axes : sequence of two ints, default (-2, -1)
        Which axes.
    norm : str, optional
        What is divided by the number of elements n: ``"backward"`` (None): this transform; ``"forward"``: the other
        one; ``"ortho"``: both by the root of n.

    Returns
    -------
    array
        complex64, or complex128 of float64 and complex128.

    Raises
    ------
    ValueError
        There is nothing to transform, or no such ``norm``.

    Examples
    --------
    >>> ct.numpy.fft.ifft2([[10.0, -2.0], [-4.0, 0.0]]).real.round(4)
    Array([[1., 2.],
           [3., 4.]], dtype=float32)
    """
    return _fft2("ifft2", "IFFT", a, s, axes, norm)


def rfft2(a: Any, s: Sequence[int] | None = None, axes: Sequence[int] = (-2, -1), norm: str | None = None) -> Array:
    """The Fourier transform of real numbers along two axes, of which the second is halved as by `rfft`.

    Parameters
    ----------
    a : array
        Real; float16 and bfloat16 are transformed in float32.
    s : sequence of int, optional
        The lengths; axes are cut off or padded with zeros to them. None: their sizes.
    axes : sequence of two ints, default (-2, -1)
        Which axes.
    norm : str, optional
        What is divided by the number of elements n: ``"backward"`` (None): the inverse transform; ``"forward"``: this
        one; ``"ortho"``: both by the root of n.

    Returns
    -------
    array
        complex64, or complex128 of float64 and complex128.

    Raises
    ------
    ValueError
        There is nothing to transform, or no such ``norm``.

    Examples
    --------
    >>> ct.numpy.fft.rfft2([[1.0, 2.0], [3.0, 4.0]]).real.round(4)
    Array([[10., -2.],
           [-4.,  0.]], dtype=float32)
    """
    return _fft2("rfft2", "RFFT", a, s, axes, norm)


def irfft2(a: Any, s: Sequence[int] | None = None, axes: Sequence[int] = (-2, -1), norm: str | None = None) -> Array:
    """The inverse of `rfft2`.

    Parameters
    ----------
    a : array
        Real or complex: half of a transform of real numbers.
    s : sequence of int, optional
        The sizes of the result. None: those of the axes; of the second one 2 (m - 1) for m elements.
    axes : sequence of two ints, default (-2, -1)
        Which axes.
    norm : str, optional
        What is divided by the number of elements n: ``"backward"`` (None): this transform; ``"forward"``: the other
        one; ``"ortho"``: both by the root of n.

    Returns
    -------
    array
        float32, or float64 of complex128 and float64.

    Raises
    ------
    ValueError
        There is nothing to transform, or no such ``norm``.

    Examples
    --------
    >>> ct.numpy.fft.irfft2([[10.0, -2.0], [-4.0, 0.0]]).round(4)
    Array([[1., 2.],
           [3., 4.]], dtype=float32)
    """
    return _fft2("irfft2", "IRFFT", a, s, axes, norm)


_DUAL = {None: "forward", "backward": "forward", "ortho": "ortho", "forward": "backward"}


def hfft(a: Any, n: int | None = None, axis: SupportsIndex = -1, norm: str | None = None) -> Array:
    """The transform of numbers with Hermitian symmetry, of which the first half is given; the result is real.

    Parameters
    ----------
    a : array
        Real or complex: m numbers along the axis.
    n : int, optional
        The length of the result. None: 2 (m - 1).
    axis : int, default -1
        Which axis.
    norm : str, optional
        What is divided by the number of elements n: ``"backward"`` (None): the inverse transform; ``"forward"``: this
        one; ``"ortho"``: both by the root of n.

    Returns
    -------
    array
        float32, or float64 of complex128 and float64.

    Raises
    ------
    ValueError
        There is nothing to transform, or no such ``norm``.

    Examples
    --------
    >>> ct.numpy.fft.hfft([1.0, 2.0, 3.0]).round(4)
    Array([ 8., -2.,  0., -2.], dtype=float32)
    """
    return _fft(
        "hfft", "IRFFT", ops.conj(a), None if n is None else [n], [_one_axis(axis, "hfft")], _DUAL.get(norm, norm)
    )


def ihfft(a: Any, n: int | None = None, axis: SupportsIndex = -1, norm: str | None = None) -> Array:
    """The inverse of `hfft`: of real numbers, the first half of a result with Hermitian symmetry.

    Parameters
    ----------
    a : array
        Real; float16 and bfloat16 are transformed in float32.
    n : int, optional
        The length; the axis is cut off or padded with zeros to it. None: its size.
    axis : int, default -1
        Which axis.
    norm : str, optional
        What is divided by the number of elements n: ``"backward"`` (None): this transform; ``"forward"``: the other
        one; ``"ortho"``: both by the root of n.

    Returns
    -------
    array
        complex64, or complex128 of float64 and complex128.

    Raises
    ------
    ValueError
        There is nothing to transform, or no such ``norm``.

    Examples
    --------
    >>> ct.numpy.fft.ihfft([12.0, -4.0, 0.0, -4.0]).real.round(4)
    Array([1., 3., 5.], dtype=float32)
    """
    return ops.conj(
        _fft("ihfft", "RFFT", a, None if n is None else [n], [_one_axis(axis, "ihfft")], _DUAL.get(norm, norm))
    )


def _frequency_arguments(n: Any, d: Any, name: str) -> None:
    if isinstance(n, (list, tuple)) or isinstance(d, (list, tuple)):
        raise ValueError(f"{name} takes an integer and a spacing; got {n!r} and {d!r}")
    if not is_dimension(n) and operator.index(n) <= 0:
        raise ValueError(f"{name}: n must be positive; got {n}")


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


def _shifted(x: Any, axes: Any, amount: Any) -> Array:
    array = _core.array(x)
    if axes is None:
        axes = range(array.ndim)
    elif not several(axes):
        axes = (axes,)
    move = functools.partial(normalize_axis, rank=array.ndim, name="fftshift")
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
    return _shifted(x, axes, lambda n: n // 2)


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
    return _shifted(x, axes, lambda n: -(n // 2))


check_arguments(globals())
