"""Spectra of signals, whole and in segments, for scipy.signal."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

import cotangent.numpy.fft as fft
from cotangent import _core
from cotangent import numpy as cnp
from cotangent._base.arguments import check_arguments
from cotangent._base.words import check_word
from cotangent._core import Array
from cotangent._ops.extents import capacity
from cotangent._ops.sizes import axis_size, ragged_length, refuse_ragged
from cotangent.scipy.detrending import detrend
from cotangent.scipy.ragged_spectra import median_bias, ragged_spectra, segments_of
from cotangent.scipy.spectral_windows import power_scale, window_samples

__all__ = ["csd", "istft", "stft", "welch"]


Detrend = str | bool | Callable[[Array], Array]


def _segments(x: Array, nperseg: int, step: int) -> Array:
    """Overlapping windows of the last axis: (..., segments, nperseg)."""
    count = (x.shape[-1] - nperseg) // step + 1
    index = np.arange(count)[:, None] * step + np.arange(nperseg)
    return x[..., index]


def _detrended(segments: Array, how: Detrend) -> Array:
    if how is False or how is None:
        return segments
    if callable(how):
        return how(segments)
    return detrend(segments, type=str(how))


def _extended(x: Array, boundary: str | None, count: int) -> Array:
    """More samples at both ends."""
    if boundary is None or count == 0:
        return x
    check_word("stft", "boundary", boundary, ("even", "odd", "constant", "zeros", None))
    first, last = x[..., 1 : count + 1][..., ::-1], x[..., -count - 1 : -1][..., ::-1]
    if boundary == "odd":
        first, last = 2 * x[..., :1] - first, 2 * x[..., -1:] - last
    elif boundary == "zeros":
        first, last = cnp.zeros_like(first), cnp.zeros_like(last)
    elif boundary == "constant":
        first, last = cnp.zeros_like(first) + x[..., :1], cnp.zeros_like(last) + x[..., -1:]
    return cnp.concatenate([first, x, last], axis=-1)


def _check_rate(fs: Any, name: str) -> None:
    if not fs > 0:
        raise ValueError(
            f"{name}: fs, the samples a unit of time, must be positive; got {fs}\n"
            "  pass the number of samples a second, or leave it at 1.0"
        )


def _spectra(
    name: str,
    x: Any,
    y: Any,
    fs: Any,
    window: Any,
    nperseg: int | None,
    noverlap: int | None,
    nfft: int | None,
    detrend_how: Detrend,
    return_onesided: bool,
    scaling: str,
    axis: int,
    mode: str,
    boundary: str | None = None,
    padded: bool = False,
) -> tuple[Array, Array, Array]:
    """Frequencies, times, and for each segment the spectrum ("stft") or the product of two ("psd"): (..., frequencies, segments)."""
    (x,) = _core.promote([x], inexact=True)
    same = y is None
    if not same:
        x, y = _core.promote([x, y], inexact=True) if cnp.shape(x) == cnp.shape(y) else _uneven(x, y, axis)
    x = cnp.moveaxis(x, axis, -1)
    y = x if same else cnp.moveaxis(y, axis, -1)
    real = cnp.real(x).dtype
    is_array = not isinstance(window, (str, tuple))
    if nperseg is None:
        nperseg = len(window) if is_array else 256
    nperseg = int(nperseg)
    if nperseg < 1:
        raise ValueError(
            f"{name}: nperseg must be positive; got {nperseg}\n"
            "  pass the number of samples in a segment, or leave it out"
        )
    ragged = x.ndim - 1 in _core.ragged_axes(x)
    if not is_array:
        nperseg = min(nperseg, capacity(x, -1))
    _check_rate(fs, name)
    samples = window_samples(name, window, nperseg, real)
    scale = power_scale(samples, fs, scaling, name)
    if ragged:
        segments = segments_of(
            name, ragged_length(x, x.ndim - 1), capacity(x, -1),
            lambda size: window_samples(name, window, size, real), lambda samples: power_scale(samples, fs, scaling, name),
            nperseg, not is_array, noverlap, nfft, boundary is not None, padded,
        )  # fmt: skip
        halved = return_onesided and not (cnp.iscomplexobj(x) or cnp.iscomplexobj(y))
        how = functools.partial(_detrended, how=detrend_how)
        return ragged_spectra(x, None if same else y, fs, segments, how, halved, mode, boundary, nfft)
    nfft = nperseg if nfft is None else int(nfft)
    if nfft < nperseg:
        raise ValueError(
            f"{name}: nfft={nfft} must be at least nperseg={nperseg}\n  pass nfft={nperseg} or more, or leave it out"
        )
    noverlap = nperseg // 2 if noverlap is None else int(noverlap)
    if noverlap >= nperseg:
        raise ValueError(
            f"{name}: noverlap={noverlap} must be less than nperseg={nperseg}\n"
            f"  pass noverlap={nperseg // 2}, for example, or leave it out"
        )
    step = nperseg - noverlap
    if boundary is not None:
        x = _extended(x, boundary, nperseg // 2)
        y = x if same else _extended(y, boundary, nperseg // 2)
    if padded:
        missing = (-(x.shape[-1] - nperseg)) % step % nperseg
        ends = [(0, 0)] * (x.ndim - 1) + [(0, missing)]
        x = cnp.pad(x, ends)
        y = x if same else cnp.pad(y, ends)
    if mode == "stft":
        scale = math.sqrt(scale)
    one_sided = return_onesided and not (cnp.iscomplexobj(x) or cnp.iscomplexobj(y))

    def transform(signal: Array) -> Array:
        tapered = _detrended(_segments(signal, nperseg, step), detrend_how) * samples
        spectrum: Array = fft.rfft(tapered, nfft) if one_sided else fft.fft(tapered, nfft)
        return spectrum

    spectrum = transform(x)
    if mode == "psd":
        spectrum = cnp.conj(spectrum) * (spectrum if same else transform(y))
    spectrum = spectrum * scale
    if mode == "psd" and one_sided:
        doubled = np.full(spectrum.shape[-1], 2.0, real)
        doubled[0] = 1.0
        if nfft % 2 == 0:
            doubled[-1] = 1.0
        spectrum = spectrum * doubled
    if mode == "psd" and same:
        spectrum = cnp.real(spectrum)
    frequencies = cnp.asarray((np.fft.rfftfreq if one_sided else np.fft.fftfreq)(nfft, 1 / fs), real)
    times = (np.arange(spectrum.shape[-2]) * step + nperseg / 2) / fs
    if boundary is not None:
        times = times - nperseg / 2 / fs
    return frequencies, cnp.asarray(times, real), cnp.swapaxes(spectrum, -1, -2)


def _uneven(x: Array, y: Any, axis: int) -> tuple[Array, Array]:
    """Two signals of different lengths: the shorter one is padded with zeros."""
    y = cnp.asarray(y)
    dtype = cnp.result_type(x, y, 1.0)
    x, y = x.astype(dtype), y.astype(dtype)
    size = max(x.shape[axis], y.shape[axis])

    def pad(z: Array) -> Array:
        widths = [(0, 0)] * z.ndim
        widths[axis % z.ndim] = (0, size - z.shape[axis])
        padded: Array = cnp.pad(z, widths)
        return padded

    x, y = pad(x), pad(y)
    shape = cnp.broadcast_shapes(x.shape, y.shape)
    return cnp.broadcast_to(x, shape), cnp.broadcast_to(y, shape)


def stft(
    x: Any,
    fs: Any = 1.0,
    window: Any = "hann",
    nperseg: int | None = 256,
    noverlap: int | None = None,
    nfft: int | None = None,
    detrend: Detrend = False,
    return_onesided: bool = True,
    boundary: str | None = "zeros",
    padded: bool = True,
    axis: int = -1,
) -> tuple[Array, Array, Array]:
    """The short-time Fourier transform: the spectra of overlapping segments of a signal.

    Parameters
    ----------
    x : array
        The signal, real or complex.
    fs : float
        How many samples there are in a unit of time, by default 1.
    window : str, tuple or array
        The name of a window, a name with parameters, or its samples; by default "hann".
    nperseg : int
        The number of samples in a segment, by default 256; of a named window at most the length of the signal.
    noverlap : int, optional
        How many samples neighbouring segments share, by default half.
    nfft : int, optional
        The length of the transform, at least ``nperseg``; by default that.
    detrend : str, callable or False
        What is subtracted from each segment: "constant" for its mean, "linear" for its line of least squares, what
        a function leaves, or nothing.
    return_onesided : bool
        Whether of real signals only the frequencies from 0 on are returned (the default).
    boundary : str or None
        How the signal goes on at both ends: "zeros" (the default), "even", "odd", "constant", or None for not at
        all.
    padded : bool
        Whether zeros are put behind it, so that all of it is in segments.
    axis : int
        The axis of time, by default the last.

    Returns
    -------
    frequencies : array
        Those of the spectra, in units of ``fs``.
    times : array
        Those of the segments' centres.
    spectra : array
        The frequencies in the place of ``axis``, the segments along the last axis.

    Raises
    ------
    ValueError
        The sizes do not fit, or a name other than the window's is unknown.
    NotImplementedError
        There is no window of that name here.

    References
    ----------
    Jont B. Allen and Lawrence R. Rabiner, "A unified approach to short-time Fourier analysis and synthesis", 1977.

    Examples
    --------
    >>> f, t, z = ct.scipy.signal.stft(ct.numpy.array([1.0, 0.0, -1.0, 0.0, 1.0, 0.0, -1.0, 0.0]), nperseg=4)
    >>> f.tolist(), t.tolist(), ct.numpy.abs(z[1]).round(3).tolist()
    ([0.0, 0.25, 0.5], [0.0, 2.0, 4.0, 6.0, 8.0], [0.5, 0.5, 0.5, 0.5, 0.0])
    """
    frequencies, times, z = _spectra(
        "stft",
        x,
        None,
        fs,
        window,
        nperseg,
        noverlap,
        nfft,
        detrend,
        return_onesided,
        "spectrum",
        axis,
        "stft",
        boundary,
        padded,
    )
    return frequencies, times, cnp.moveaxis(z, -2, axis - 1 if axis < 0 else axis)


def _averaged(name: str, spectra: tuple[Array, Array, Array], average: str, axis: int) -> tuple[Array, Array]:
    """Frequencies, and the mean or median of spectra over time."""
    check_word(name, "average", average, ("mean", "median"))
    frequencies, _, z = spectra
    if average == "mean":
        z = cnp.mean(z, axis=-1)
    else:
        # The bias of the median of exponential variables (Allen et al., 2012).
        bias = median_bias(axis_size(z, z.ndim - 1), capacity(z, -1), cnp.real(z).dtype)
        if cnp.iscomplexobj(z):
            z = cnp.median(cnp.real(z), axis=-1) + 1j * cnp.median(cnp.imag(z), axis=-1)
        else:
            z = cnp.median(z, axis=-1)
        z = z / bias
    return frequencies, cnp.moveaxis(z, -1, axis)


def csd(
    x: Any,
    y: Any,
    fs: Any = 1.0,
    window: Any = "hann",
    nperseg: int | None = None,
    noverlap: int | None = None,
    nfft: int | None = None,
    detrend: Detrend = "constant",
    return_onesided: bool = True,
    scaling: str = "density",
    axis: int = -1,
    average: str = "mean",
) -> tuple[Array, Array]:
    """The cross power spectral density of two signals by Welch's method.

    Parameters
    ----------
    x : array
        The first signal, real or complex.
    y : array or None
        The second signal; None for ``x`` itself. The shorter one is padded with zeros.
    fs : float
        How many samples there are in a unit of time, by default 1.
    window : str, tuple or array
        The name of a window, a name with parameters, or its samples; by default "hann".
    nperseg : int, optional
        The number of samples in a segment, by default 256, or that of the window.
    noverlap : int, optional
        How many samples neighbouring segments share, by default half.
    nfft : int, optional
        The length of the transform, at least ``nperseg``; by default that.
    detrend : str, callable or False
        What is subtracted from each segment: "constant" for its mean, "linear" for its line of least squares, what
        a function leaves, or nothing.
    return_onesided : bool
        Whether of real signals only the frequencies from 0 on are returned (the default).
    scaling : str
        "density" (the default), by unit of frequency, or "spectrum".
    axis : int
        The axis of time, by default the last.
    average : str
        How segments are averaged: "mean" (the default) or "median", less its bias.

    Returns
    -------
    frequencies : array
        Those of the spectra, in units of ``fs``.
    density : array
        The frequencies in the place of ``axis``.

    Raises
    ------
    ValueError
        The sizes do not fit, or a name other than the window's is unknown.
    NotImplementedError
        There is no window of that name here.

    References
    ----------
    Peter D. Welch, "The use of fast Fourier transform for the estimation of power spectra", 1967.

    Examples
    --------
    >>> x = ct.numpy.array([1.0, 0.0, -1.0, 0.0, 1.0, 0.0, -1.0, 0.0])
    >>> f, density = ct.scipy.signal.csd(x, 2 * x, nperseg=4)
    >>> f.tolist(), density.real.round(3).tolist()
    ([0.0, 0.25, 0.5], [1.3329999446868896, 2.6670000553131104, 1.3329999446868896])
    """
    spectra = _spectra("csd", x, y, fs, window, nperseg, noverlap, nfft, detrend, return_onesided, scaling, axis, "psd")
    return _averaged("csd", spectra, average, axis)


def welch(
    x: Any,
    fs: Any = 1.0,
    window: Any = "hann",
    nperseg: int | None = None,
    noverlap: int | None = None,
    nfft: int | None = None,
    detrend: Detrend = "constant",
    return_onesided: bool = True,
    scaling: str = "density",
    axis: int = -1,
    average: str = "mean",
) -> tuple[Array, Array]:
    """The power spectral density of a signal by Welch's method.

    Parameters
    ----------
    x : array
        The signal, real or complex.
    fs : float
        How many samples there are in a unit of time, by default 1.
    window : str, tuple or array
        The name of a window, a name with parameters, or its samples; by default "hann".
    nperseg : int, optional
        The number of samples in a segment, by default 256, or that of the window.
    noverlap : int, optional
        How many samples neighbouring segments share, by default half.
    nfft : int, optional
        The length of the transform, at least ``nperseg``; by default that.
    detrend : str, callable or False
        What is subtracted from each segment: "constant" for its mean, "linear" for its line of least squares, what
        a function leaves, or nothing.
    return_onesided : bool
        Whether of real signals only the frequencies from 0 on are returned (the default).
    scaling : str
        "density" (the default), by unit of frequency, or "spectrum".
    axis : int
        The axis of time, by default the last.
    average : str
        How segments are averaged: "mean" (the default) or "median", less its bias.

    Returns
    -------
    frequencies : array
        Those of the spectra, in units of ``fs``.
    density : array
        Real; the frequencies in the place of ``axis``.

    Raises
    ------
    ValueError
        The sizes do not fit, or a name other than the window's is unknown.
    NotImplementedError
        There is no window of that name here.

    References
    ----------
    Peter D. Welch, "The use of fast Fourier transform for the estimation of power spectra", 1967.

    Examples
    --------
    >>> f, density = ct.scipy.signal.welch(ct.numpy.array([1.0, 0.0, -1.0, 0.0, 1.0, 0.0, -1.0, 0.0]), nperseg=4)
    >>> f.tolist(), density.round(3).tolist()
    ([0.0, 0.25, 0.5], [0.6669999957084656, 1.3329999446868896, 0.6669999957084656])
    """
    spectra = _spectra(
        "welch", x, None, fs, window, nperseg, noverlap, nfft, detrend, return_onesided, scaling, axis, "psd"
    )
    frequencies, density = _averaged("welch", spectra, average, axis)
    return frequencies, cnp.real(density)


def istft(
    Zxx: Any,
    fs: Any = 1.0,
    window: Any = "hann",
    nperseg: int | None = None,
    noverlap: int | None = None,
    nfft: int | None = None,
    input_onesided: bool = True,
    boundary: bool = True,
    time_axis: int = -1,
    freq_axis: int = -2,
) -> tuple[Array, Array]:
    """The inverse of `stft`, by weighted overlap and addition.

    Parameters
    ----------
    Zxx : array
        The spectra of segments.
    fs : float
        How many samples there are in a unit of time, by default 1.
    window : str, tuple or array
        The name of a window, a name with parameters, or its samples; by default "hann".
    nperseg : int, optional
        The number of samples in a segment; by default from the number of frequencies.
    noverlap : int, optional
        How many samples neighbouring segments share, by default half.
    nfft : int, optional
        The length of the transform, at least ``nperseg``; by default that.
    input_onesided : bool
        Whether the spectra have only the frequencies from 0 on (the default), of real signals.
    boundary : bool
        Whether the signal went on at both ends, so that the ends are cut off.
    time_axis : int
        The axis of the segments, by default the last.
    freq_axis : int
        The axis of the frequencies, by default the last but one.

    Returns
    -------
    times : array
        Those of the samples.
    signal : array
        Real for spectra of one side.

    Raises
    ------
    ValueError
        The segments' sizes do not fit the spectra.
    NotImplementedError
        There is no window of that name here.

    References
    ----------
    Daniel W. Griffin and Jae S. Lim, "Signal estimation from modified short-time Fourier transform", 1984.

    Examples
    --------
    >>> _, _, z = ct.scipy.signal.stft(ct.numpy.arange(8.0), nperseg=4)
    >>> ct.scipy.signal.istft(z, nperseg=4)[1].round(3)
    Array([0., 1., 2., 3., 4., 5., 6., 7.], dtype=float32)
    """
    _check_rate(fs, "istft")
    (z,) = _core.promote([Zxx], inexact=True)
    z = z.astype(cnp.result_type(z, cnp.complex64))
    if z.ndim < 2:
        raise ValueError("istft: the spectra must have axes for frequency and time\n  pass the third result of stft")
    if time_axis % z.ndim == freq_axis % z.ndim:
        raise ValueError(
            "istft: time_axis and freq_axis must differ\n"
            "  leave them out: time is the last axis of what stft returns, frequency the one before it"
        )
    z = cnp.moveaxis(z, (freq_axis, time_axis), (-2, -1))
    refuse_ragged("istft", z, [z.ndim - 2, z.ndim - 1], "the segments' number and size are of the program")
    count = z.shape[-1]
    default = 2 * (z.shape[-2] - 1) if input_onesided else z.shape[-2]
    nperseg = default if nperseg is None else int(nperseg)
    if nfft is None:
        nfft = default + 1 if input_onesided and nperseg == default + 1 else default
    if nfft < nperseg:
        raise ValueError(
            f"istft: nfft={nfft} must be at least nperseg={nperseg}\n"
            f"  pass nperseg={nfft} or less, as the spectra have it"
        )
    noverlap = nperseg // 2 if noverlap is None else int(noverlap)
    if noverlap >= nperseg:
        raise ValueError(
            f"istft: noverlap={noverlap} must be less than nperseg={nperseg}\n"
            "  pass the noverlap that the spectra were made with, or leave it out"
        )
    step = nperseg - noverlap
    real = cnp.real(z).dtype
    samples = window_samples("istft", window, nperseg, real)
    spectra = cnp.swapaxes(z, -1, -2)
    segments = (fft.irfft(spectra, nfft) if input_onesided else fft.ifft(spectra, nfft))[..., :nperseg]
    size = nperseg + (count - 1) * step
    index = np.arange(count)[:, None] * step + np.arange(nperseg)
    signal = cnp.zeros((*segments.shape[:-2], size), segments.dtype)
    signal = signal.at[..., index].add(segments * (samples * samples.sum()))
    norm = np.bincount(index.ravel(), np.tile(samples**2, count), minlength=size).astype(real)
    if boundary:
        cut = slice(nperseg // 2, size - nperseg // 2)
        signal, norm = signal[..., cut], norm[cut]
    signal = signal / np.where(norm > 1e-10, norm, 1.0)
    if input_onesided:
        signal = cnp.real(signal)
    times = cnp.asarray(np.arange(signal.shape[-1]) / fs, real)
    if signal.ndim > 1 and freq_axis != -2:
        signal = cnp.moveaxis(signal, -1, min(freq_axis % (signal.ndim + 1), time_axis % (signal.ndim + 1)))
    return times, signal


check_arguments(globals())
