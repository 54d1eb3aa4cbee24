"""Sizes of ragged axes where functions take numbers, with 64-bit types: what an exact program of every length computes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cotangent as ct
import cotangent.numpy as cnp
import numpy as np
import pytest
from test_sizes_as_numbers import PROGRAMS

Program = Callable[[Any], Any]
BOUND = 5
ELEMENTS = np.array([2.0, -1.5, 3.0, 0.5, 1.25])
linalg, special = ct.scipy.linalg, ct.scipy.fft

# A function of a sequence, and the least length that it is defined for.
OF_SIZES: dict[str, tuple[Program, int]] = {
    "fft": (lambda x: cnp.fft.fft(x, n=x.shape[0]), 1),
    "fft of twice the size": (lambda x: cnp.fft.fft(x, n=2 * x.shape[0]), 1),
    "fft of one less": (lambda x: cnp.fft.fft(x, n=x.shape[0] - 1, norm="ortho"), 2),
    "rfft of twice the size": (lambda x: cnp.fft.rfft(x, n=2 * x.shape[0]), 1),
    "irfft of rfft": (lambda x: cnp.fft.irfft(cnp.fft.rfft(x), n=x.shape[0]), 1),
    "fft2": (lambda x: cnp.fft.fft2(cnp.outer(x, x), s=(x.shape[0], 3)), 1),
    "fftfreq": (lambda x: cnp.fft.fftfreq(x.shape[0], 0.5), 1),
    "rfftfreq": (lambda x: cnp.fft.rfftfreq(x.shape[0] + 1), 0),
    "dct": (lambda x: special.dct(x, n=2 * x.shape[0]), 1),
    "hilbert": (lambda x: linalg.hilbert(x.shape[0]), 0),
    "invhilbert": (lambda x: linalg.invhilbert(x.shape[0]), 1),
    "pascal": (lambda x: linalg.pascal(x.shape[0]), 0),
    "invpascal": (lambda x: linalg.invpascal(x.shape[0]), 1),
    "helmert": (lambda x: linalg.helmert(x.shape[0]), 1),
    "dft": (lambda x: linalg.dft(x.shape[0], "sqrtn"), 1),
    "convolution_matrix": (lambda x: linalg.convolution_matrix(x, x.shape[0]), 1),
    "hanning": (lambda x: cnp.hanning(x.shape[0]) * x, 1),
    "kaiser": (lambda x: cnp.kaiser(x.shape[0] + 1, 2.0), 0),
    "linspace": (lambda x: cnp.linspace(0.0, 1.0, x.shape[0]), 1),
    "eye": (lambda x: cnp.eye(x.shape[0], k=1), 0),
    "tri": (lambda x: cnp.tri(x.shape[0], 3), 0),
    "tile": (lambda x: cnp.tile(x, x.shape[0]), 0),
    "roll": (lambda x: cnp.roll(x, x.shape[0] // 2), 0),
    "clip": (lambda x: cnp.clip(cnp.arange(7), 0, x.shape[0]), 0),
    "full": (lambda x: cnp.full((x.shape[0], 2), x.shape[0]), 0),
    "indices": (lambda x: cnp.indices((x.shape[0], 2)), 0),
    "one_hot": (lambda x: ct.nn.one_hot(cnp.arange(3), x.shape[0]), 0),
    "take the last": (lambda x: cnp.take(x, x.shape[0] - 1), 1),
    "dynamic_slice": (lambda x: ct.lax.dynamic_slice(x, (x.shape[0] // 2,), (1,)), 1),
    "split": (lambda x: cnp.split(x, [x.shape[0] // 2])[1], 0),
    "vander": (lambda x: cnp.vander(x, x.shape[0]), 0),
    "fori_loop": (lambda x: ct.lax.fori_loop(0, x.shape[0], lambda i, s: s + x[i] * i, 0.0), 1),
    "trapezoid": (lambda x: cnp.trapezoid(x, dx=1 / x.shape[0]), 1),
    "remainders": (lambda x: cnp.arange(7) % cnp.maximum(x.shape[0], 1), 0),
    "unravel_index": (lambda x: cnp.unravel_index(cnp.arange(2), (x.shape[0], 2))[0], 1),
}


@pytest.mark.parametrize("name", [*OF_SIZES, *PROGRAMS])
def test_a_size_is_as_good_as_a_number_in_64_bits(name: str) -> None:
    f, least = OF_SIZES[name] if name in OF_SIZES else PROGRAMS[name]
    with ct.config.enable_x64(True):
        for length in range(least, BOUND + 1):
            padded = ELEMENTS.copy()
            padded[length:] = np.nan
            want = np.asarray(f(cnp.array(ELEMENTS[:length])))
            for run in (ct.mask(f), ct.jit(ct.mask(f))):
                found = run(ct.Ragged(cnp.array(padded), {0: length}))
                found = np.asarray(found.unpad() if isinstance(found, ct.Ragged) else found)
                assert found.dtype == want.dtype
                np.testing.assert_allclose(found, want, rtol=1e-9, atol=1e-9)
