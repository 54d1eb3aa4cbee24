"""The library behind the `fft` primitive: NumPy's pocketfft, called on the core's own memory.

NumPy 2 transforms float32 in float32; older versions compute in float64 and round.
"""

from __future__ import annotations

from typing import Any

import numpy as np

_TRANSFORMS: dict[str, Any] = {
    "fft": (np.fft.fft, np.fft.fftn),
    "ifft": (np.fft.ifft, np.fft.ifftn),
    "rfft": (np.fft.rfft, np.fft.rfftn),
    "irfft": (np.fft.irfft, np.fft.irfftn),
}
_WRITES_RESULT = np.lib.NumpyVersion(np.__version__) >= "2.0.0"


def transform(kind: str, operand: np.ndarray[Any, Any], lengths: list[int], result: np.ndarray[Any, Any]) -> None:
    """Writes the transform of the last axes of ``operand`` to ``result``."""
    one, several = _TRANSFORMS[kind]
    with np.errstate(all="ignore"):
        if len(lengths) > 1:
            result[...] = several(operand, lengths, range(-len(lengths), 0))
        elif _WRITES_RESULT:
            one(operand, lengths[0], -1, out=result)
        else:
            result[...] = one(operand, lengths[0], -1)
