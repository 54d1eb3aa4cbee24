"""Convolution, trends and spectra under their names in `scipy.signal`."""

from cotangent._base.names import suggest_names
from cotangent.scipy.convolutions import convolve, convolve2d, correlate, correlate2d, fftconvolve
from cotangent.scipy.detrending import detrend
from cotangent.scipy.spectra import csd, istft, stft, welch

__all__ = [
    "convolve",
    "convolve2d",
    "correlate",
    "correlate2d",
    "csd",
    "detrend",
    "fftconvolve",
    "istft",
    "stft",
    "welch",
]

suggest_names(globals())
