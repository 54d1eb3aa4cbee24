"""Windows of segments of a signal, as `scipy.signal.get_window` names them, and what spectra are divided by for them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from cotangent._base.arguments import check_arguments, suggestion
from cotangent._base.words import check_word

__all__ = ["power_scale", "window_samples"]


def _triangle(size: int) -> np.ndarray[Any, Any]:
    """Bartlett's window without the zeros at its ends."""
    return 1 - np.abs(2 * np.arange(size) - (size - 1)) / (size + size % 2)


def _cosines(*weights: float) -> Callable[[int], np.ndarray[Any, Any]]:
    """A sum of cosines of 0, 1, 2, … periods, of alternating sign."""

    def samples(size: int) -> np.ndarray[Any, Any]:
        phase = 2 * np.pi * np.arange(size) / (size - 1)
        terms = [(-1) ** k * weight * np.cos(k * phase) for k, weight in enumerate(weights)]
        return np.asarray(sum(terms))

    return samples


# Symmetric windows by the name that `scipy.signal.get_window` knows them by; those with parameters take them after the size.
_WINDOWS: dict[str, Callable[..., np.ndarray[Any, Any]]] = {
    "boxcar": np.ones,
    "hann": np.hanning,
    "hamming": np.hamming,
    "blackman": np.blackman,
    "bartlett": np.bartlett,
    "triang": _triangle,
    "kaiser": np.kaiser,
    "cosine": lambda size: np.sin(np.pi * (np.arange(size) + 0.5) / size),
    "nuttall": _cosines(0.3635819, 0.4891775, 0.1365995, 0.0106411),
    "blackmanharris": _cosines(0.35875, 0.48829, 0.14128, 0.01168),
    "flattop": _cosines(0.21557895, 0.41663158, 0.277263158, 0.083578947, 0.006947368),
    "gaussian": lambda size, deviation: np.exp(-0.5 * ((np.arange(size) - (size - 1) / 2) / deviation) ** 2),
}
_WINDOWS |= {"rectangular": np.ones, "ones": np.ones, "hanning": np.hanning}

# What SciPy has besides.
_OF_SCIPY = {
    "barthann", "bohman", "chebwin", "dpss", "exponential", "general_cosine", "general_gaussian", "general_hamming",
    "kaiser_bessel_derived", "lanczos", "parzen", "taylor", "tukey",
}  # fmt: skip


def window_samples(function: str, window: Any, nperseg: int, dtype: Any) -> np.ndarray[Any, Any]:
    """The window's samples: of a name (as `scipy.signal.get_window`), or given."""
    if isinstance(window, (str, tuple)):
        name, *parameters = (window,) if isinstance(window, str) else window
        if name not in _WINDOWS:
            kind = NotImplementedError if name in _OF_SCIPY else ValueError
            raise kind(
                f"{function}: the window {name!r} is not known{suggestion(name, _WINDOWS)}\n"
                f"  the windows are {', '.join(sorted(_WINDOWS))}; others are given as an array of their samples"
            )
        # Periodic, as spectra want them: the symmetric one of one more sample, without its last.
        return _WINDOWS[name](nperseg + 1, *parameters)[:-1].astype(dtype) if nperseg > 1 else np.ones(nperseg, dtype)
    samples = np.asarray(window, dtype)
    if samples.shape != (nperseg,):
        repair = f"pass nperseg={len(samples)}" if samples.ndim == 1 else "pass a vector of samples"
        raise ValueError(f"{function}: the window has shape {samples.shape} for segments of {nperseg}\n  {repair}")
    return samples


def power_scale(samples: np.ndarray[Any, Any], fs: Any, scaling: str, name: str) -> float:
    """What powers are multiplied with, to be a density or a spectrum.

    Raises:
        ValueError: the window is 0, or the scaling unknown.
    """
    if not samples.any():
        raise ValueError(
            f"{name}: the window is 0 everywhere\n  pass samples of which some are not 0, or a name such as 'hann'"
        )
    if scaling == "density":
        return float(1.0 / (fs * float((samples**2).sum())))
    check_word(name, "scaling", scaling, ("density", "spectrum"))
    if samples.sum() == 0:
        raise ValueError(
            f"{name}: the window sums to 0, so that no spectrum can be scaled by it\n"
            "  pass scaling='density', or another window"
        )
    return float(1.0 / float(samples.sum()) ** 2)


check_arguments(globals())
