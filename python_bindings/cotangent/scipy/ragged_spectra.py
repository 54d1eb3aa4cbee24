"""Spectra of signals whose length is a value.

A segment is as long as the program says, or as the signal where that is shorter; so its size, its window, how far segments are apart and how
many there are follow from the length. They are worked out for every length up to the bound, and looked up.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import cotangent.numpy as cnp
import cotangent.numpy.fft as fft
from cotangent._base.arguments import check_arguments
from cotangent._base.capture import give_lengths
from cotangent._base.words import check_word
from cotangent._core import Array
from cotangent._ops.extents import capacity, without_padding
from cotangent._ops.sizes import Size, as_dtype, axis_size
from cotangent.numpy.ragged_fft import ragged_frequencies

__all__ = ["Segments", "median_bias", "ragged_spectra", "segments_of"]

_INT32 = np.dtype("int32")
_MOST_SAMPLES = 1024


@dataclass
class Segments:
    """What follows from the length of a signal: int32 scalars, and what bounds them."""

    size: Array  # of a segment
    step: Array
    count: Array
    samples: Array  # of the window
    scale: Array
    transformed: Array  # the length of the transforms
    most_samples: int
    most_segments: int
    most_transformed: int


def _numbers(
    bound: int, nperseg: int, shortened: bool, noverlap: int | None, extended: bool, padded: bool
) -> tuple[np.ndarray[Any, Any], ...]:
    """For each length up to the bound, the size of segments, the distance of neighbours, and how many there are."""
    length = np.arange(bound + 1)
    size = np.maximum(np.minimum(nperseg, length) if shortened else np.full(bound + 1, nperseg), 1)
    step = np.maximum(size - (size // 2 if noverlap is None else noverlap), 1)
    total = length + (2 * (size // 2) if extended else 0)
    if padded:
        total = total + (-(total - size)) % step % size
    count = np.where((length > 0) & (total >= size), (total - size) // step + 1, 0)
    return size, step, count


def segments_of(
    name: str,
    length: Array,
    bound: int,
    window: Callable[[int], np.ndarray[Any, Any]],
    scale: Callable[[np.ndarray[Any, Any]], float],
    nperseg: int,
    shortened: bool,
    noverlap: int | None,
    nfft: int | None,
    extended: bool,
    padded: bool,
) -> Segments:
    """The segments of a signal of ``length`` elements.

    Args:
        window: the samples for a size.
        scale: what spectra are multiplied with, for such samples.
        shortened: whether segments are no longer than the signal.

    Raises:
        NotImplementedError: segments are so long that a table of windows would be too large.
    """
    nperseg = min(nperseg, bound) if shortened else nperseg
    if nperseg > _MOST_SAMPLES and shortened:
        raise NotImplementedError(
            f"{name}: the signal is ragged, and segments of {nperseg} samples are more than {_MOST_SAMPLES}\n"
            "  give the window's samples as an array, or a smaller nperseg"
        )
    size, step, count = _numbers(bound, nperseg, shortened, noverlap, extended, padded)
    sizes = np.unique(size)
    table, factors = np.zeros((len(sizes), nperseg)), np.zeros(len(sizes))
    for place, samples in enumerate(map(window, sizes.tolist())):
        table[place, : len(samples)] = samples
        factors[place] = scale(samples)

    def look_up(values: np.ndarray[Any, Any], index: Array) -> Array:
        found: Array = cnp.take(cnp.asarray(values), index, axis=0, mode="clip")
        return found

    row = look_up(np.searchsorted(sizes, size).astype(np.int32), length)
    transformed = size if nfft is None else np.full_like(size, nfft)
    by_length = [look_up(values.astype(np.int32), length) for values in (size, step, count, transformed)]
    return Segments(
        size=by_length[0],
        step=by_length[1],
        count=by_length[2],
        samples=look_up(table, row),
        scale=look_up(factors, row),
        transformed=by_length[3],
        most_samples=nperseg,
        most_segments=max(int(count.max()), 2),
        most_transformed=int(transformed.max()),
    )


def _extended(x: Array, segments: Segments, boundary: str | None) -> Array:
    """The signal, along an exact last axis with zeros behind it, with half a segment more at both ends."""
    last, length = x.ndim - 1, as_dtype(axis_size(x, x.ndim - 1), _INT32)
    bound = capacity(x, last)
    values = without_padding(x, [last])
    if boundary is None:
        return values
    check_word("stft", "boundary", boundary, ("even", "odd", "constant", "zeros", None))
    half = segments.size // 2
    place = cnp.arange(bound + 2 * (segments.most_samples // 2), dtype=_INT32) - half
    end = cnp.maximum(length - 1, 0)
    mirrored = cnp.where(place < 0, -place, cnp.where(place > end, 2 * end - place, place))

    def at(source: Array) -> Array:
        found: Array = cnp.take(values, cnp.clip(source, 0, bound - 1), axis=last)
        return found

    edge = at(cnp.clip(place, 0, end))
    outside = (place < 0) | (place > end)
    result: Array = at(mirrored)
    if boundary == "odd":
        result = cnp.where(outside, 2 * edge - result, result)
    elif boundary == "constant":
        result = edge
    elif boundary == "zeros":
        result = cnp.where(outside, 0, result)
    within = (place >= -half) & (place < length + half)
    found: Array = cnp.where(within, result, 0).astype(x.dtype)
    return found


def _cut(signal: Array, segments: Segments) -> Array:
    """Overlapping windows of the last axis: (..., segments, samples), both ragged."""
    first = cnp.arange(segments.most_segments, dtype=_INT32)[:, None] * segments.step
    index = first + cnp.arange(segments.most_samples, dtype=_INT32)
    size = capacity(signal, -1)
    taken = cnp.take(signal, cnp.clip(index, 0, size - 1), axis=-1)
    taken = cnp.where(index < size, taken, 0).astype(signal.dtype)
    return give_lengths(taken, {taken.ndim - 2: segments.count, taken.ndim - 1: segments.size})


def ragged_spectra(
    x: Array,
    y: Array | None,
    fs: Any,
    segments: Segments,
    detrended: Callable[[Array], Array],
    one_sided: bool,
    mode: str,
    boundary: str | None,
    nfft: int | None,
) -> tuple[Array, Array, Array]:
    """Frequencies, times, and for each segment the spectrum ("stft") or the product of two ("psd"): (..., frequencies, segments).

    Args:
        y: the other signal of a product; None is the first one.
    """
    real = cnp.real(x).dtype
    samples = segments.samples.astype(real)

    def transform(signal: Array) -> Array:
        tapered = detrended(_cut(_extended(signal, segments, boundary), segments)) * samples
        spectrum: Array = fft.rfft(tapered, nfft) if one_sided else fft.fft(tapered, nfft)
        return spectrum

    spectrum = transform(x)
    if mode == "psd":
        spectrum = cnp.conj(spectrum) * (spectrum if y is None else transform(y))
    scale = cnp.sqrt(segments.scale) if mode == "stft" else segments.scale
    spectrum = spectrum * scale.astype(real)
    length = segments.transformed
    if mode == "psd" and one_sided:
        place = cnp.arange(capacity(spectrum, -1), dtype=_INT32)
        once = (place == 0) | (2 * place == length)
        spectrum = spectrum * cnp.where(once, 1, 2).astype(real)
    if mode == "psd" and y is None:
        spectrum = cnp.real(spectrum)
    if nfft is None:
        frequencies = ragged_frequencies(length, segments.most_transformed, 1 / fs, real, one_sided)
    else:
        frequencies = cnp.asarray((np.fft.rfftfreq if one_sided else np.fft.fftfreq)(nfft, 1 / fs), real)
    middle = 0 if boundary is not None else segments.size.astype(real) / 2
    times = (cnp.arange(segments.most_segments, dtype=_INT32) * segments.step).astype(real) + middle
    times = give_lengths((times / fs).astype(real), {0: segments.count})
    return frequencies, times, cnp.swapaxes(spectrum, -1, -2)


def median_bias(count: Size, most: int, dtype: Any) -> Any:
    """The bias of the median of ``count`` exponential variables."""

    def bias(number: int) -> float:
        odd = 2 * np.arange(1, (number - 1) // 2 + 1)
        return 1 + float(np.sum(1.0 / (odd + 1) - 1.0 / odd))

    if not isinstance(count, Array):
        return bias(count)
    biases = np.array([bias(number) for number in range(most + 1)], dtype)
    return cnp.take(cnp.asarray(biases), count, mode="clip")


check_arguments(globals())
