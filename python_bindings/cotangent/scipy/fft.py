"""Cosine transforms, named and called as ``jax.scipy.fft``'s; types 1 to 4, as SciPy defines them."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import cotangent.numpy as cnp
from cotangent import _core
from cotangent._base import primitives
from cotangent._base.arguments import check_arguments
from cotangent._base.capture import set_length
from cotangent._base.names import suggest_names
from cotangent._base.words import check_word
from cotangent._core import Array
from cotangent._ops.binding import convert, kind
from cotangent._ops.extents import capacity
from cotangent._ops.sizes import is_dimension, length_of_size, move_last, normalize_axis
from cotangent.lax.fourier import _fft_dtype
from cotangent.numpy import fft as cnp_fft
from cotangent.numpy.fourier_axes import _fit
from cotangent.numpy.ragged_fft import fitted
from cotangent.scipy.ragged_cosine import ragged_cosine

__all__ = ["dct", "dctn", "idct", "idctn"]


def _complex_multiple(angles: np.ndarray[Any, Any], like: Array) -> Array:
    """exp(i angles) in the complex dtype that belongs to a real one."""
    dtype = "complex128" if like.dtype.itemsize == 8 else "complex64"
    return cnp.asarray(np.exp(1j * angles).astype(dtype))


def _type1(x: Array) -> Array:
    n = capacity(x, -1)
    if n < 2:
        raise ValueError("dct: type 1 needs at least two elements\n  pass type=2, which takes any number")
    # Even around both ends: 2 (n - 1) real numbers whose coefficients are real.
    return cnp.real(cnp_fft.rfft(cnp.concatenate([x, cnp.flip(x[..., 1:-1], -1)], -1)))


def _type2(x: Array) -> Array:
    n = capacity(x, -1)
    # Even elements, then odd ones backwards: Makhoul, "A fast cosine transform in one and two dimensions", 1980.
    ordered = cnp.concatenate([x[..., ::2], cnp.flip(x[..., 1::2], -1)], -1)
    turned = cnp_fft.fft(ordered) * _complex_multiple(-np.pi * np.arange(n) / (2 * n), x)
    return 2 * cnp.real(turned)


def _type3(x: Array) -> Array:
    n = capacity(x, -1)
    back = cnp.concatenate([cnp.zeros_like(x[..., :1]), cnp.flip(x[..., 1:], -1)], -1)
    spectrum = (x - 1j * back) * _complex_multiple(np.pi * np.arange(n) / (2 * n), x)
    ordered = n * cnp.real(cnp_fft.ifft(spectrum))
    half = (n + 1) // 2
    position = np.empty(n, np.int64)
    position[::2], position[1::2] = np.arange(half), np.arange(n - 1, half - 1, -1)
    return cnp.take(ordered, cnp.asarray(position), axis=-1)


def _type4(x: Array) -> Array:
    n = capacity(x, -1)
    # Of twice the length with zeros; the sum over (2 j + 1) (2 k + 1) is turned into one over j k.
    places = np.arange(n)
    turned = x * _complex_multiple(-np.pi * places / (2 * n), x)
    spectrum = cnp_fft.fft(turned, 2 * n)[..., :n]
    return 2 * cnp.real(spectrum * _complex_multiple(-np.pi * (2 * places + 1) / (4 * n), x))


_TRANSFORMS: dict[int, Callable[[Array], Array]] = {1: _type1, 2: _type2, 3: _type3, 4: _type4}
_INVERSE = {1: 1, 2: 3, 3: 2, 4: 4}


def _one(x: Array, number: int, norm: str | None, inverse: bool) -> Array:
    """The transform, or its inverse, of the last axis."""
    n = capacity(x, -1)
    # The inverse is the transform of the opposite type, divided by this.
    length = 2 * (n - 1) if number == 1 else 2 * n
    actual = _INVERSE[number] if inverse else number
    if x.ndim - 1 in _core.ragged_axes(x):
        return ragged_cosine(x, actual, norm, inverse)
    if norm == "ortho":
        root = math.sqrt(0.5)
        edge = np.ones(n)
        if actual == 1:
            edge[[0, -1]] = root
            return _TRANSFORMS[1](x * _real(1 / edge, x)) * _real(edge / math.sqrt(length), x)
        if actual == 2:
            edge[0] = root
            return _TRANSFORMS[2](x) * _real(edge / math.sqrt(length), x)
        if actual == 3:
            edge[0] = 1 / root
            return _TRANSFORMS[3](x * _real(edge, x)) / _scalar(math.sqrt(length), x)
        return _TRANSFORMS[4](x) / _scalar(math.sqrt(length), x)
    result = _TRANSFORMS[actual](x)
    divides = (norm == "forward") != inverse
    return result / _scalar(length, x) if divides else result


def _real(values: np.ndarray[Any, Any], like: Array) -> Array:
    return cnp.asarray(values.astype(like.dtype))


def _scalar(value: float, like: Array) -> Array:
    return _core.full((), value, like.dtype)


def _check(number: int, norm: str | None, name: str) -> None:
    if number not in _TRANSFORMS:
        raise NotImplementedError(
            f"{name}: type must be 1, 2, 3 or 4; got {number!r}\n"
            "  pass type=2, which is called the discrete cosine transform; its inverse is type=3"
        )
    check_word(name, "norm", norm, (None, "backward", "ortho", "forward"))


def _along(
    x: Any, number: int, sizes: Sequence[int] | None, axes: Sequence[int], norm: str | None, inverse: bool, name: str
) -> Array:
    _check(number, norm, name)
    array = _core.array(x)
    if kind(array) == "complex":
        parts = [_along(p, number, sizes, axes, norm, inverse, name) for p in (cnp.real(array), cnp.imag(array))]
        return primitives.complex(*parts)
    array = convert(array, _fft_dtype(array, True))
    for i, axis in enumerate(axes):
        place = normalize_axis(axis, array.ndim, name)
        if sizes is not None:
            array = _sized(array, place, sizes[i], name)
        if capacity(array, place) == 0:
            raise ValueError(
                f"{name}: invalid number of data points (0)\n"
                "  pass n=, the number of elements to pad to, or an array with elements"
            )
        array = move_last(_one(move_last(array, place), number, norm, inverse), place, back=True)
    return array


def _sized(x: Array, axis: int, size: Any, name: str) -> Array:
    """``x`` cut or padded with zeros to the size that an axis was given, which may be that of a ragged one."""
    if is_dimension(size):
        length = length_of_size(size)
        return set_length(fitted(x, axis, length, size.bound), length, axis)
    size = operator.index(size)
    if size < 1:
        raise ValueError(
            f"{name}: invalid number of data points ({size})\n"
            "  pass the number of elements to transform, 1 or more, or leave it out"
        )
    return _fit(x, axis, size)


def dct(x: Any, type: int = 2, n: int | None = None, axis: int = -1, norm: str | None = None) -> Array:
    """The discrete cosine transform along an axis.

    Parameters
    ----------
    x : array
        Numbers; complex ones are transformed part by part.
    type : int
        1, 2 (the default), 3 or 4.
    n : int, optional
        The length, which the axis is cut or padded with zeros to; by default its size, of a ragged axis its length.
    axis : int
        The axis, by default the last.
    norm : str, optional
        What divides by the number of elements: "backward" (None) the inverse, "forward" the transform, "ortho" both
        by its square root.

    Returns
    -------
    array
        Of the shape of ``x``, with the new sizes.

    Raises
    ------
    ValueError
        There is nothing to transform, or the norm is unknown.
    NotImplementedError
        There is no such type.

    References
    ----------
    - Nasir Ahmed, T. Natarajan and K. R. Rao, "Discrete cosine transform", 1974.
    - John Makhoul, "A fast cosine transform in one and two dimensions", 1980.

    Examples
    --------
    >>> ct.scipy.fft.dct(ct.numpy.array([1.0, 3.0])).round(4)
    Array([ 8.    , -2.8284], dtype=float32)
    """
    return _along(x, type, None if n is None else [n], [axis], norm, False, "dct")


def idct(x: Any, type: int = 2, n: int | None = None, axis: int = -1, norm: str | None = None) -> Array:
    """The inverse of `dct` along an axis.

    Parameters
    ----------
    x : array
        Numbers; complex ones are transformed part by part.
    type : int
        That of the transform that is inverted: 1, 2 (the default), 3 or 4.
    n : int, optional
        The length, which the axis is cut or padded with zeros to; by default its size.
    axis : int
        The axis, by default the last.
    norm : str, optional
        What divides by the number of elements: "backward" (None) the inverse, "forward" the transform, "ortho" both
        by its square root.

    Returns
    -------
    array
        Of the shape of ``x``, with the new sizes.

    References
    ----------
    John Makhoul, "A fast cosine transform in one and two dimensions", 1980.

    Examples
    --------
    >>> ct.scipy.fft.idct(ct.scipy.fft.dct(ct.numpy.array([1.0, 2.0, 3.0]))).round(4)
    Array([1., 2., 3.], dtype=float32)
    """
    return _along(x, type, None if n is None else [n], [axis], norm, True, "idct")


def _several(x: Any, number: int, s: Any, axes: Any, norm: str | None, inverse: bool, name: str) -> Array:
    rank = _core.array(x).ndim
    sizes = None if s is None else [operator.index(s)] if hasattr(s, "__index__") else list(s)
    if sizes is not None and len(sizes) > rank:
        raise ValueError(
            f"{name}: s must have at most {rank} elements; got {len(sizes)}\n"
            f"  pass the sizes of the last axes, as in s={tuple(sizes)[:rank]}"
        )
    if axes is None:
        axes = range(rank) if sizes is None else range(rank - len(sizes), rank)
    axes = [operator.index(axes)] if hasattr(axes, "__index__") else list(axes)
    if sizes is not None and len(sizes) != len(axes):
        raise ValueError(
            f"{name}: s and axes have different lengths: {len(sizes)} and {len(axes)}\n"
            "  pass one size for each of the axes, or leave out one of them"
        )
    return _along(x, number, sizes, axes, norm, inverse, name)


def dctn(
    x: Any, type: int = 2, s: Sequence[int] | None = None, axes: Sequence[int] | None = None, norm: str | None = None
) -> Array:
    """The discrete cosine transform along several axes.

    Parameters
    ----------
    x : array
        Numbers; complex ones are transformed part by part.
    type : int
        1, 2 (the default), 3 or 4.
    s : sequence of int, optional
        The lengths, which the axes are cut or padded with zeros to; by default their sizes.
    axes : sequence of int, optional
        The axes; by default the last ``len(s)``, or all.
    norm : str, optional
        What divides by the number of elements: "backward" (None) the inverse, "forward" the transform, "ortho" both
        by its square root.

    Returns
    -------
    array
        Of the shape of ``x``, with the new sizes.

    Raises
    ------
    ValueError
        ``s`` and ``axes`` have different lengths.

    References
    ----------
    John Makhoul, "A fast cosine transform in one and two dimensions", 1980.

    Examples
    --------
    >>> ct.scipy.fft.dctn(ct.numpy.array([[1.0, 2.0], [3.0, 5.0]])).round(4)
    Array([[ 44.    ,  -8.4853],
           [-14.1421,   2.    ]], dtype=float32)
    """
    return _several(x, type, s, axes, norm, False, "dctn")


def idctn(
    x: Any, type: int = 2, s: Sequence[int] | None = None, axes: Sequence[int] | None = None, norm: str | None = None
) -> Array:
    """The inverse of `dctn` along several axes.

    Parameters
    ----------
    x : array
        Numbers; complex ones are transformed part by part.
    type : int
        That of the transform that is inverted: 1, 2 (the default), 3 or 4.
    s : sequence of int, optional
        The lengths, which the axes are cut or padded with zeros to; by default their sizes.
    axes : sequence of int, optional
        The axes; by default the last ``len(s)``, or all.
    norm : str, optional
        What divides by the number of elements: "backward" (None) the inverse, "forward" the transform, "ortho" both
        by its square root.

    Returns
    -------
    array
        Of the shape of ``x``, with the new sizes.

    References
    ----------
    John Makhoul, "A fast cosine transform in one and two dimensions", 1980.

    Examples
    --------
    >>> ct.scipy.fft.idctn(ct.scipy.fft.dctn(ct.numpy.array([[1.0, 2.0], [3.0, 4.0]]))).round(4)
    Array([[1., 2.],
           [3., 4.]], dtype=float32)
    """
    return _several(x, type, s, axes, norm, True, "idctn")


check_arguments(globals())
suggest_names(globals())
