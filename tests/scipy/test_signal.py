"""scipy.signal, ndimage and integrate against SciPy."""

from __future__ import annotations

import cotangent as ct
import cotangent.scipy.integrate as integrate
import cotangent.scipy.ndimage as ndimage
import cotangent.scipy.signal as signal
import numpy as np
import pytest
from needs import needed

scipy_signal = needed("scipy.signal")
import scipy.integrate  # noqa: E402
import scipy.ndimage  # noqa: E402

random = np.random.default_rng(0)


@pytest.mark.parametrize("mode", ["full", "same", "valid"])
@pytest.mark.parametrize(("left", "right"), [((9,), (4,)), ((4,), (4,)), ((5, 6), (3, 2)), ((3,), (5,))])
@pytest.mark.parametrize("kind", ["float", "complex", "int"])
def test_convolution(mode, left, right, kind):
    a, b = random.standard_normal(left) * 3, random.standard_normal(right) * 3
    if kind == "complex":
        a, b = a + 1j * random.standard_normal(left), b - 1j
    if kind == "int":
        a, b = a.astype(np.int32), b.astype(np.int32)
    if mode == "valid" and len(left) == 1 and left < right and kind != "float":
        pytest.skip("covered by float")
    for name in ["convolve", "correlate"]:
        if name == "correlate" and mode != "full" and left < right:
            continue  # SciPy swaps the operands and reverses
        for method in ["direct", "fft"]:
            if kind == "int" and method == "fft":
                continue
            expected = getattr(scipy_signal, name)(a, b, mode, method)
            actual = ct.jit(lambda a, b: getattr(signal, name)(a, b, mode, method))(a, b)
            np.testing.assert_allclose(actual, expected, rtol=1e-9, atol=1e-10)
    if len(left) == 2:
        np.testing.assert_allclose(
            signal.convolve2d(a, b, mode), scipy_signal.convolve2d(a, b, mode), rtol=1e-9, atol=1e-10
        )
        np.testing.assert_allclose(
            signal.correlate2d(a, b, mode), scipy_signal.correlate2d(a, b, mode), rtol=1e-9, atol=1e-10
        )


def test_convolution_along_axes_and_its_gradient():
    a, b = random.standard_normal((3, 8)), random.standard_normal((1, 3))
    np.testing.assert_allclose(
        signal.fftconvolve(a, b, "same", axes=1), scipy_signal.fftconvolve(a, b, "same", axes=1), rtol=1e-9, atol=1e-10
    )
    gradient = ct.grad(lambda b: (signal.convolve(a[0], b) ** 2).sum())(b[0])
    step = 1e-6 * np.eye(3)
    ends = [[(np.convolve(a[0], b[0] + s * row) ** 2).sum() for row in step] for s in (1, -1)]
    np.testing.assert_allclose(gradient, (np.array(ends[0]) - ends[1]) / 2e-6, rtol=1e-6)


def test_detrend():
    x = random.standard_normal((3, 20)) + np.arange(20)
    for options in [{}, {"type": "constant"}, {"bp": [5, 12]}, {"axis": 0}]:
        np.testing.assert_allclose(
            signal.detrend(x, **options), scipy_signal.detrend(x, **options), rtol=1e-9, atol=1e-10
        )


SPECTRA = [
    {},
    {"fs": 10.0, "nperseg": 16},
    {"nperseg": 16, "noverlap": 4, "nfft": 32, "window": "hamming"},
    {"nperseg": 15},
    *[
        {"nperseg": n, "noverlap": 0, "window": window}
        for n in (1, 8, 13)
        for window in ("triang", "bartlett", "blackman", "hann")
    ],
    *[
        {"nperseg": 13, "noverlap": 4, "window": window}
        for window in ("boxcar", "cosine", "nuttall", "blackmanharris", "flattop", ("gaussian", 2.0), ("kaiser", 3.0))
    ],
]


def test_a_window_of_an_unknown_name_is_an_error():
    with pytest.raises(NotImplementedError, match="'chebwin' is not known") as raised:
        signal.welch(np.zeros(32), nperseg=8, window=("chebwin", 60))
    assert "hann" in str(raised.value)


@pytest.mark.parametrize("options", SPECTRA, ids=str)
def test_spectra(options):
    x, y = random.standard_normal((2, 100)), random.standard_normal((2, 100))
    for name, arguments in [("welch", (x,)), ("csd", (x, y)), ("stft", (x,))]:
        more = dict(options) if name != "stft" else {"nperseg": 64, **options}
        with np.errstate(all="ignore"):
            expected = getattr(scipy_signal, name)(*arguments, **more)
        actual = getattr(signal, name)(*arguments, **more)
        for a, b in zip(actual, expected, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-8, atol=1e-10, err_msg=name)
    median = signal.welch(x, nperseg=16, average="median", scaling="spectrum")
    np.testing.assert_allclose(
        median[1], scipy_signal.welch(x, nperseg=16, average="median", scaling="spectrum")[1], rtol=1e-8
    )
    complex_signal = x[0] + 1j * y[0]
    for a, b in zip(
        signal.welch(complex_signal, nperseg=16), scipy_signal.welch(complex_signal, nperseg=16), strict=True
    ):
        np.testing.assert_allclose(a, b, rtol=1e-8)


def test_the_way_back():
    x = random.standard_normal((2, 96))
    for options in [{"nperseg": 16}, {"nperseg": 16, "noverlap": 12}, {"nperseg": 16, "window": "hamming"}]:
        z = signal.stft(x, **options)[2]
        times, back = ct.jit(lambda z: signal.istft(z, **options))(z)
        expected = scipy_signal.istft(np.asarray(z), **options)[1]  # its times count the rows of several signals
        np.testing.assert_allclose(back, expected, rtol=1e-8, atol=1e-10)
        np.testing.assert_allclose(times, np.arange(back.shape[-1]))
        np.testing.assert_allclose(back[..., :96], x, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("mode", ["constant", "nearest", "wrap", "mirror", "reflect"])
@pytest.mark.parametrize("order", [0, 1])
def test_map_coordinates(mode, order):
    image = random.standard_normal((5, 6))
    points = random.uniform(0.1, 3.7, (2, 20))  # inside: SciPy's modes differ beyond half an element from the edge
    expected = scipy.ndimage.map_coordinates(image, points, order=order, mode=mode, cval=-1.0)
    np.testing.assert_allclose(
        ndimage.map_coordinates(image, points, order, mode, -1.0), expected, rtol=1e-9, atol=1e-12
    )
    jax_ndimage = needed("jax.scipy.ndimage")
    outside = random.uniform(-7, 12, (2, 30)).astype(np.float32)
    single = image.astype(np.float32)
    theirs = jax_ndimage.map_coordinates(single, list(outside), order, mode, -1.0)
    np.testing.assert_allclose(
        ndimage.map_coordinates(single, list(outside), order, mode, -1.0), theirs, rtol=1e-4, atol=1e-5
    )


def test_trapezoid():
    y, x = random.standard_normal((3, 7)), np.sort(random.standard_normal(7))
    np.testing.assert_allclose(integrate.trapezoid(y, x), scipy.integrate.trapezoid(y, x), rtol=1e-9)


def test_errors():
    with pytest.raises(ValueError, match="mode"):
        signal.convolve(np.ones(3), np.ones(2), "most")
    with pytest.raises(ValueError, match="axes"):
        signal.convolve(np.ones(3), np.ones((2, 2)))
    with pytest.raises(ValueError, match="noverlap"):
        signal.welch(np.ones(30), nperseg=8, noverlap=8)
    with pytest.raises(NotImplementedError, match="boundary"):
        signal.convolve2d(np.ones((3, 3)), np.ones((2, 2)), boundary="wrap")
    with pytest.raises(NotImplementedError, match="order"):
        ndimage.map_coordinates(np.ones((3, 3)), [np.ones(2), np.ones(2)], 3)


@pytest.mark.parametrize("mode", ["full", "same", "valid"])
def test_correlations_of_complex_matrices(mode):
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal(shape) + 1j * rng.standard_normal(shape) for shape in [(2, 3), (4, 4)])
    for x, y in [(a, b), (b, a)]:
        np.testing.assert_allclose(signal.correlate2d(x, y, mode), scipy_signal.correlate2d(x, y, mode), 1e-9)
        np.testing.assert_allclose(signal.convolve2d(x, y, mode), scipy_signal.convolve2d(x, y, mode), 1e-9)


def test_spectra_that_nothing_can_scale_are_errors():
    for call in (signal.welch, lambda x, fs: signal.istft(np.ones((5, 3)), fs)):
        with pytest.raises(ValueError, match="fs, the samples a unit of time, must be positive"):
            call(np.ones(8), fs=0)
    with pytest.raises(ValueError, match="the window is 0 everywhere"):
        signal.welch(np.ones(8), window=np.zeros(4), nperseg=4)
    with pytest.raises(ValueError, match="sums to 0"):
        signal.welch(np.ones(8), window=np.array([1.0, -1.0, 1.0, -1.0]), nperseg=4, scaling="spectrum")
