"""Fourier transforms, signals, images, integrals and minimisation, against NumPy, SciPy and JAX."""

from __future__ import annotations

import numpy as np
import scipy.fft
import scipy.integrate
import scipy.ndimage
import scipy.signal

from function_cases import Family, draw

fft = Family("numpy.fft")
X = draw(3, 4)
COMPLEX = ("complex64", "complex128", "float32")
for name in ["fft", "ifft"]:
    fft.record(name, X, dtypes=COMPLEX, oracle=getattr(np.fft, name), tolerance=4, loose=True)
    fft.record(
        name,
        X,
        n=6,
        axis=0,
        norm="ortho",
        dtypes=COMPLEX,
        oracle=lambda x, f=getattr(np.fft, name): f(x, 6, 0, "ortho"),
        tolerance=4,
        loose=True,
    )
for name in ["rfft", "ihfft"]:
    fft.record(name, X, dtypes=("float32", "float64"), oracle=getattr(np.fft, name), tolerance=4, loose=True)
for name in ["irfft", "hfft"]:
    fft.record(
        name, X, n=5, dtypes=COMPLEX[:2], oracle=lambda x, f=getattr(np.fft, name): f(x, 5), tolerance=4, loose=True
    )
for name in ["fft2", "ifft2", "fftn", "ifftn"]:
    fft.record(
        name,
        draw(2, 3, 4),
        axes=(0, 2),
        dtypes=COMPLEX,
        oracle=lambda x, f=getattr(np.fft, name): f(x, axes=(0, 2)),
        tolerance=4,
        loose=True,
    )
for name in ["rfft2", "rfftn"]:
    fft.record(
        name,
        X,
        dtypes=("float32", "float64"),
        oracle=getattr(np.fft, name),
        tolerance=4,
        loose=True,
    )
for name in ["irfft2", "irfftn"]:
    fft.record(
        name,
        X,
        s=(3, 5),
        dtypes=COMPLEX[:2],
        oracle=lambda x, f=getattr(np.fft, name): f(x, s=(3, 5), axes=(0, 1)),
        tolerance=4,
        loose=True,
    )
fft.record("fftfreq rfftfreq", 5, 0.5, oracle=lambda n, d: (np.fft.fftfreq(n, d), np.fft.rfftfreq(n, d)), loose=True)
fft.record(
    "fftshift ifftshift",
    X,
    axes=1,
    dtypes=("float32", "int32"),
    oracle=lambda x: (np.fft.fftshift(x, 1), np.fft.ifftshift(x, 1)),
    ragged=(0,),
)

dct = Family("jax.scipy.fft")
for name in ["dct", "idct"]:
    dct.record(name, X, dtypes=("float32", "float64"), oracle=getattr(scipy.fft, name), tolerance=8)
for name in ["dctn", "idctn"]:
    dct.record(
        name,
        X,
        dtypes=("float32", "float64"),
        oracle=getattr(scipy.fft, name),
        tolerance=8,
    )

signal = Family("jax.scipy.signal")
LONG, SHORT = draw(6), draw(3)
for name in ["convolve", "correlate"]:
    for mode in ["full", "same", "valid"]:
        signal.record(name, LONG, SHORT, mode, oracle=getattr(scipy.signal, name), tolerance=8, ragged=())
for name in ["convolve2d", "correlate2d"]:
    signal.record(name, draw(4, 5), draw(2, 3), "same", oracle=getattr(scipy.signal, name), tolerance=8, ragged=())
signal.record("fftconvolve", LONG, SHORT, oracle=scipy.signal.fftconvolve, tolerance=8, ragged=())
signal.record("detrend", draw(2, 6), oracle=scipy.signal.detrend, tolerance=32, ragged=(0,))
WAVE = draw(2, 32)
signal.record(
    "stft", WAVE, nperseg=8, oracle=lambda x: scipy.signal.stft(x, nperseg=8), tolerance=16, ragged=(), loose=True
)
signal.record(
    "welch", WAVE, nperseg=8, oracle=lambda x: scipy.signal.welch(x, nperseg=8), tolerance=16, ragged=(), loose=True
)
signal.record(
    "csd",
    WAVE,
    draw(2, 32),
    nperseg=8,
    oracle=lambda x, y: scipy.signal.csd(x, y, nperseg=8),
    tolerance=16,
    ragged=(),
    loose=True,
)
signal.record(
    "istft",
    draw(5, 9),
    dtypes=("complex64",),
    nperseg=8,
    oracle=lambda z: scipy.signal.istft(z, nperseg=8),
    tolerance=32,
    ragged=(),
    loose=True,
)

integrate = Family("jax.scipy.integrate")
integrate.record(
    "trapezoid",
    X,
    dx=0.5,
    axis=0,
    dtypes=("float32", "float64", "complex64"),
    oracle=lambda y: scipy.integrate.trapezoid(y, dx=0.5, axis=0),
    tolerance=4,
)
image = Family("jax.scipy.ndimage")
POSITIONS = draw(5, domain=(0.2, 2.7))
image.record(
    "map_coordinates", draw(4, 4), [POSITIONS, POSITIONS], 1, tolerance=8, ragged=({1: 0, 2: 0},),
    oracle=lambda x, c, order: scipy.ndimage.map_coordinates(x, c, order=order),
)  # fmt: skip
optimize = Family("jax.scipy.optimize")
optimize.no_record("takes functions: test_optimize.py", "minimize OptimizeResults")
