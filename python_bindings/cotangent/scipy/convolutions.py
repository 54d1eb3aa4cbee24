"""Convolutions and correlations, for scipy.signal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import cotangent.numpy.fft as fft
from cotangent import _core, lax
from cotangent import numpy as cnp
from cotangent._base.arguments import check_arguments
from cotangent._base.precision import check_precision
from cotangent._base.words import check_word
from cotangent._core import Array
from cotangent._ops.extents import capacity
from cotangent._ops.sizes import as_dtype, axis_size
from cotangent.scipy.ragged_signal import cropped, ragged_convolution

__all__ = ["convolve", "convolve2d", "correlate", "correlate2d", "fftconvolve"]

# ---- convolution -----------------------------------------------------------------------------------------------------


def _pair(name: str, in1: Any, in2: Any, mode: str) -> tuple[Array, Array]:
    a, b = _same_dtype(in1, in2)
    if a.ndim != b.ndim:
        raise ValueError(
            f"{name}: the operands must have as many axes as each other; got {a.ndim} and {b.ndim}\n"
            "  insert axes of size 1: x[None]"
        )
    check_word(name, "mode", mode, ("full", "same", "valid"))
    return a, b


def _neither_within(name: str, a: Array, b: Array) -> str:
    return (
        f"{name}: in mode 'valid' one operand must be at least as long as the other along every axis; "
        f"got shapes {a.shape} and {b.shape}\n  pass mode='same' or 'full', which pad with zeros"
    )


def _same_dtype(a: Any, b: Any) -> tuple[Array, Array]:
    a, b = cnp.asarray(a), cnp.asarray(b)
    dtype = cnp.result_type(a, b)
    return a.astype(dtype), b.astype(dtype)


def _crop(full: Array, shape: Sequence[int], axes: Sequence[int]) -> Array:
    """The middle of the full result, of a given size along some axes."""
    window = [slice(None)] * full.ndim
    for axis, size in zip(axes, shape, strict=True):
        start = (full.shape[axis] - size) // 2
        window[axis] = slice(start, start + size)
    return full[tuple(window)]


def _sizes(mode: str, a: Sequence[int], b: Sequence[int]) -> list[int]:
    if mode == "same":
        return list(a)
    return [max(m, n) - min(m, n) + 1 for m, n in zip(a, b, strict=True)]


def _direct(a: Array, b: Array, mode: str) -> Array:
    """The convolution by a sum of products."""
    if a.ndim == 0:
        product: Array = a * b
        return product
    if mode == "valid" and any(m < n for m, n in zip(a.shape, b.shape, strict=True)):
        if any(m > n for m, n in zip(a.shape, b.shape, strict=True)):
            raise ValueError(_neither_within("convolve", a, b))
        a, b = b, a
    flipped = cnp.flip(b)
    # 'same' is the middle of the full result.
    padding = {
        "full": [(n - 1, n - 1) for n in b.shape],
        "same": [(n // 2, n - 1 - n // 2) for n in b.shape],
        "valid": [(0, 0)] * b.ndim,
    }[mode]
    result: Array = lax.conv_general_dilated(a[None, None], flipped[None, None], (1,) * a.ndim, padding)[0, 0]
    return result


def convolve(in1: Any, in2: Any, mode: str = "full", method: str = "auto", precision: Any = None) -> Array:
    """The convolution of two arrays with the same number of axes.

    Parameters
    ----------
    in1, in2 : array
        With as many axes; several dtypes are promoted.
    mode : str
        "full" (the default), "same" (the middle, of the size of ``in1``) or "valid" (where they overlap wholly).
    method : str
        "auto" and "direct" sum products, "fft" goes through Fourier transforms.
    precision : optional
        Checked only: products always have that of their dtype.

    Returns
    -------
    array
        With as many axes.

    Raises
    ------
    ValueError
        The mode or method is unknown, or the operands do not fit.

    Examples
    --------
    >>> ct.scipy.signal.convolve(ct.numpy.array([1.0, 2.0, 3.0]), ct.numpy.array([1.0, 10.0]))
    Array([ 1., 12., 23., 30.], dtype=float32)
    """
    check_precision(precision)
    if method == "fft":
        return fftconvolve(in1, in2, mode)
    check_word("convolve", "method", method, ("auto", "direct", "fft"))
    a, b = _pair("convolve", in1, in2, mode)
    if _core.ragged_axes(a) or _core.ragged_axes(b):
        return ragged_convolution(_direct, a, b, range(a.ndim), mode)
    return _direct(a, b, mode)


def correlate(in1: Any, in2: Any, mode: str = "full", method: str = "auto", precision: Any = None) -> Array:
    """The cross-correlation of two arrays: the convolution with the second one reversed and conjugated.

    Parameters
    ----------
    in1, in2 : array
        With as many axes; several dtypes are promoted.
    mode : str
        "full" (the default), "same" (the middle, of the size of ``in1``) or "valid" (where they overlap wholly).
    method : str
        "auto" and "direct" sum products, "fft" goes through Fourier transforms.
    precision : optional
        Checked only: products always have that of their dtype.

    Returns
    -------
    array
        With as many axes.

    Raises
    ------
    ValueError
        The mode or method is unknown, or the operands do not fit.

    Examples
    --------
    >>> ct.scipy.signal.correlate(ct.numpy.array([1.0, 2.0, 3.0]), ct.numpy.array([1.0, 10.0]))
    Array([10., 21., 32.,  3.], dtype=float32)
    """
    second = cnp.asarray(in2)
    return convolve(in1, cnp.flip(cnp.conj(second)), mode, method, precision)


def _check_matrices(name: str, in1: Any, in2: Any) -> None:
    if cnp.ndim(in1) != 2 or cnp.ndim(in2) != 2:
        raise ValueError(
            f"{name}: both operands must have two axes; got shapes {cnp.shape(in1)} and {cnp.shape(in2)}\n"
            f"  use {name.removesuffix('2d')}, which takes any number of axes"
        )


def _boundary(name: str, boundary: str, fillvalue: float) -> None:
    if boundary != "fill" or fillvalue != 0:
        raise NotImplementedError(
            f"{name}: only boundary='fill' with fillvalue=0 is supported\n"
            "  pad in1 first: ct.numpy.pad(in1, width, mode='wrap'), with mode 'symmetric' or constant_values, and pass mode='valid'"
        )


def convolve2d(
    in1: Any, in2: Any, mode: str = "full", boundary: str = "fill", fillvalue: float = 0, precision: Any = None
) -> Array:
    """The convolution of two matrices.

    Parameters
    ----------
    in1, in2 : array
        With two axes; several dtypes are promoted.
    mode : str
        "full" (the default), "same" (the middle, of the size of ``in1``) or "valid" (where they overlap wholly).
    boundary : str
        Only "fill": what lies outside has one value.
    fillvalue : float
        Only 0.
    precision : optional
        Checked only: products always have that of their dtype.

    Returns
    -------
    array
        With two axes.

    Raises
    ------
    ValueError
        The mode is unknown, or an operand has not two axes.
    NotImplementedError
        Another boundary is asked for.

    Examples
    --------
    >>> ct.scipy.signal.convolve2d(ct.numpy.array([[1.0, 2.0]]), ct.numpy.array([[1.0], [10.0]]))
    Array([[ 1.,  2.],
           [10., 20.]], dtype=float32)
    """
    _boundary("convolve2d", boundary, fillvalue)
    _check_matrices("convolve2d", in1, in2)
    return convolve(in1, in2, mode, "direct", precision)


def correlate2d(
    in1: Any, in2: Any, mode: str = "full", boundary: str = "fill", fillvalue: float = 0, precision: Any = None
) -> Array:
    """The cross-correlation of two matrices.

    Parameters
    ----------
    in1, in2 : array
        With two axes; several dtypes are promoted.
    mode : str
        "full" (the default), "same" (the middle, of the size of ``in1``) or "valid" (where they overlap wholly).
    boundary : str
        Only "fill": what lies outside has one value.
    fillvalue : float
        Only 0.
    precision : optional
        Checked only: products always have that of their dtype.

    Returns
    -------
    array
        With two axes.

    Raises
    ------
    ValueError
        The mode is unknown, or an operand has not two axes.
    NotImplementedError
        Another boundary is asked for.

    Examples
    --------
    >>> ct.scipy.signal.correlate2d(ct.numpy.array([[1.0, 2.0]]), ct.numpy.array([[1.0], [10.0]]))
    Array([[10., 20.],
           [ 1.,  2.]], dtype=float32)
    """
    _boundary("correlate2d", boundary, fillvalue)
    _check_matrices("correlate2d", in1, in2)
    x, y = cnp.asarray(in1), cnp.asarray(in2)
    if _core.ragged_axes(x) or _core.ragged_axes(y):
        return _ragged_correlation(x, y, mode)
    if mode == "valid" and any(m < n for m, n in zip(cnp.shape(in1), cnp.shape(in2), strict=True)):
        # As SciPy, which exchanges the matrices then: the conjugate is that of the first.
        return cnp.conj(correlate(in1, in2, mode, "direct", precision))
    if mode != "same":
        return correlate(in1, in2, mode, "direct", precision)
    # As in SciPy, the middle is the element after the one that `correlate` takes where the second matrix has an even size.
    full = correlate(in1, in2, "full", "direct", precision)
    starts = [size // 2 for size in cnp.shape(in2)]
    window = tuple(slice(start, start + size) for start, size in zip(starts, cnp.shape(in1), strict=True))
    return full[window]


def _ragged_correlation(x: Array, y: Array, mode: str) -> Array:
    """`correlate2d` of ragged matrices."""
    if mode == "same":
        full = correlate(x, y, "full", "direct")
        for axis in range(2):
            start = as_dtype(axis_size(y, axis), "int32") // 2
            full = cropped(full, axis, start, axis_size(x, axis), capacity(x, axis))
        return full
    result = correlate(x, y, mode, "direct")
    if mode != "valid" or not cnp.iscomplexobj(result):
        return result
    sizes = [[as_dtype(axis_size(z, axis), "int32") for axis in range(2)] for z in (x, y)]
    exchanged = (sizes[0][0] < sizes[1][0]) | (sizes[0][1] < sizes[1][1])
    found: Array = cnp.where(exchanged, cnp.conj(result), result)
    return found


def fftconvolve(in1: Any, in2: Any, mode: str = "full", axes: Sequence[int] | None = None) -> Array:
    """The convolution of two arrays by Fourier transforms, along some axes.

    Parameters
    ----------
    in1, in2 : array
        With as many axes; several dtypes are promoted.
    mode : str
        "full" (the default), "same" (the middle, of the size of ``in1``) or "valid" (where they overlap wholly).
    axes : int or sequence of int, optional
        The axes, by default all; the others are broadcast.

    Returns
    -------
    array
        With as many axes; floating or complex.

    Raises
    ------
    ValueError
        The mode or method is unknown, or the operands do not fit.

    References
    ----------
    Alan V. Oppenheim and Ronald W. Schafer, "Discrete-Time Signal Processing", 3rd edition, 2010, chapter 8.

    Examples
    --------
    >>> ct.scipy.signal.fftconvolve(ct.numpy.array([1.0, 2.0, 3.0]), ct.numpy.array([1.0, 10.0])).round(3)
    Array([ 1., 12., 23., 30.], dtype=float32)
    """
    a, b = _pair("fftconvolve", in1, in2, mode)
    chosen = range(a.ndim) if axes is None else [axis % a.ndim for axis in ([axes] if isinstance(axes, int) else axes)]
    if any(axis in chosen for z in (a, b) for axis in _core.ragged_axes(z)):
        return ragged_convolution(lambda a, b, mode: fftconvolve(a, b, mode, chosen), a, b, chosen, mode)
    shapes = [a.shape[axis] for axis in chosen], [b.shape[axis] for axis in chosen]
    if mode == "valid" and any(m < n for m, n in zip(*shapes, strict=True)):
        if any(m > n for m, n in zip(*shapes, strict=True)):
            raise ValueError(_neither_within("fftconvolve", a, b))
        a, b = b, a
    if a.size == 0 or b.size == 0:
        raise ValueError("fftconvolve: the operands must not be empty\n  use convolve, or pass arrays with elements")
    sizes = [m + n - 1 for m, n in zip(*shapes, strict=True)]
    if cnp.issubdtype(a.dtype, cnp.complexfloating):
        full = fft.ifftn(fft.fftn(a, sizes, chosen) * fft.fftn(b, sizes, chosen), sizes, chosen)
    else:
        dtype = cnp.result_type(a, 1.0)
        spectrum = fft.rfftn(a.astype(dtype), sizes, chosen) * fft.rfftn(b.astype(dtype), sizes, chosen)
        full = fft.irfftn(spectrum, sizes, chosen)
    return full if mode == "full" else _crop(full, _sizes(mode, *shapes), list(chosen))


check_arguments(globals())
