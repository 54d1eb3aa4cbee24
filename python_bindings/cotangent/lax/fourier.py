"""The discrete Fourier transform by its primitive; `cotangent.numpy.fft` has the friendlier functions."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from typing import Any

from cotangent import _core
from cotangent._base import primitives
from cotangent._base.arguments import check_arguments, suggestion
from cotangent._core import Array
from cotangent._ops.binding import convert, kind
from cotangent._ops.sizes import static_int
from cotangent.lax._operands import listed

__all__ = ["FftType", "fft"]


class FftType(enum.IntEnum):
    """Which transform `fft` computes: of complex numbers, its inverse, of real numbers, or its inverse."""

    FFT = 0
    IFFT = 1
    RFFT = 2
    IRFFT = 3


def _fft_dtype(x: Array, real: bool) -> Any:
    """The dtype in which ``x`` is transformed: at least float32, or at least complex64."""
    # Of integers of 64 bits as wide as other functions make them: float64, if 64 bits are on.
    wide = kind(x) in ("signed", "unsigned") and x.dtype.itemsize == 8
    like = _core.default_float_dtype() if wide else _core.canonical_dtype("float32")
    dtype = _core.promote_types([(x.dtype, False), (like, True)])[0]
    if _core.dtype_kind(dtype) == "float" and dtype.itemsize < 4:
        dtype = _core.canonical_dtype("float32")
    if real or _core.dtype_kind(dtype) == "complex":
        return dtype
    return _core.canonical_dtype("complex128" if dtype.itemsize == 8 else "complex64")


def fft(x: Any, fft_type: FftType | str, fft_lengths: Sequence[int]) -> Array:
    """The discrete Fourier transform of the last axes.

    The inverses divide by the number of elements. `cotangent.numpy.fft` has the friendlier functions.

    Parameters
    ----------
    x : array
        Its last axes have the lengths given, the last of them n // 2 + 1 for IRFFT. Real for RFFT.
    fft_type : FftType or str
        FFT, IFFT, RFFT or IRFFT.
    fft_lengths : sequence of int
        The sizes in the time domain, one for each transformed axis.

    Returns
    -------
    array
        complex64 or complex128; of IRFFT float32 or float64.

    Raises
    ------
    ValueError
        The type is unknown, a length is not positive, or RFFT gets complex numbers.
    ShapeError
        An axis has another size.

    References
    ----------
    James W. Cooley and John W. Tukey, "An algorithm for the machine calculation of complex Fourier series", 1965.

    Examples
    --------
    >>> ct.lax.fft(ct.numpy.array([1.0, 0.0, 0.0, 0.0]), "RFFT", [4])
    Array([1.+0.j, 1.+0.j, 1.+0.j], dtype=complex64)
    """
    lengths = [static_int(n, "lax.fft: a length") for n in listed("fft", "fft_lengths", fft_lengths)]
    if any(n <= 0 for n in lengths):
        raise ValueError(
            f"fft: invalid number of FFT data points: lengths must be positive; got {lengths}\n"
            "  pass the sizes of the axes to transform, as in fft_lengths=x.shape[-1:]"
        )
    return transform(x, fft_type, lengths)


def transformable(x: Array, real: bool) -> Array:
    """``x`` in the dtype in which it is transformed.

    Raises:
        ValueError: complex numbers, where the transform is of real ones.
    """
    if real and kind(x) == "complex":
        raise ValueError("rfft takes real arrays; got complex ones\n  use fft, or the real part")
    return convert(x, _fft_dtype(x, real))


def _kind_of_transform(fft_type: FftType | str) -> str:
    name = fft_type.upper() if isinstance(fft_type, str) else getattr(fft_type, "name", "")
    if name not in FftType.__members__:
        kinds = FftType.__members__
        raise ValueError(
            f"fft: there is no type {fft_type!r}; the types are {', '.join(kinds)}{suggestion(name, kinds)}\n"
            "  pass one as a string, or as ct.lax.FftType.RFFT"
        )
    return name


def transform(x: Any, fft_type: FftType | str, lengths: Sequence[int]) -> Array:
    """`fft`, where a complex transform leaves axes of length 0 alone."""
    name = _kind_of_transform(fft_type)
    array = transformable(_core.array(x), name == "RFFT")
    return array if not lengths else primitives.fft(array, kind=name.lower(), lengths=list(lengths))


check_arguments(globals())
