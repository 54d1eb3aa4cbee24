"""Discrete Fourier transforms, named and called as ``jax.numpy.fft``'s.

float16 and bfloat16 are transformed in float32; results are complex64 or complex128, or for inverse real transforms float32
or float64. Inside of `ct.mask` a ragged axis is transformed with its own length, and ``n`` and the sizes of ``s`` may be those of ragged axes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, SupportsIndex

from cotangent import _ops as ops
from cotangent._base.arguments import check_arguments
from cotangent._base.names import suggest_names
from cotangent._core import Array
from cotangent.numpy.fourier_axes import _fft, _fft1, _fft2, _one_axis
from cotangent.numpy.frequencies import fftfreq, fftshift, ifftshift, rfftfreq

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
    >>> ct.numpy.fft.fft([1.0, 2.0, 4.0]).round(4)
    Array([ 7.+0.j    , -2.+1.7321j, -2.-1.7321j], dtype=complex64)
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
        There is nothing to transform, the numbers are complex, or there is no such ``norm``.

    Examples
    --------
    >>> ct.numpy.fft.rfft([1.0, 2.0, 4.0]).round(4)
    Array([ 7.+0.j    , -2.+1.7321j], dtype=complex64)
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
        The lengths; axes are cut off or padded with zeros to them. -1: the size of the axis. None: that of each.
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
        The lengths; axes are cut off or padded with zeros to them. -1: the size of the axis. None: that of each.
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
        The lengths; axes are cut off or padded with zeros to them. -1: the size of the axis. None: that of each.
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
        There is nothing to transform, the numbers are complex, or there is no such ``norm``.

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
        The sizes of the result. -1: that of the axis. None: those of the axes; of the last one 2 (m - 1) for m elements.
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
        The lengths; axes are cut off or padded with zeros to them. -1: the size of the axis. None: that of each.
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
        The lengths; axes are cut off or padded with zeros to them. -1: the size of the axis. None: that of each.
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
        The lengths; axes are cut off or padded with zeros to them. -1: the size of the axis. None: that of each.
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
        There is nothing to transform, the numbers are complex, or there is no such ``norm``.

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
        The sizes of the result. -1: that of the axis. None: those of the axes; of the second one 2 (m - 1) for m
        elements.
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
        There is nothing to transform, the numbers are complex, or there is no such ``norm``.

    Examples
    --------
    >>> ct.numpy.fft.ihfft([12.0, -4.0, 0.0, -4.0]).real.round(4)
    Array([1., 3., 5.], dtype=float32)
    """
    return ops.conj(
        _fft("ihfft", "RFFT", a, None if n is None else [n], [_one_axis(axis, "ihfft")], _DUAL.get(norm, norm))
    )


check_arguments(globals())
suggest_names(globals())
