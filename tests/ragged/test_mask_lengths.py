"""Functions whose result depends on the length as a number: under mask, jit and vmap they are those of arrays of that length."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cotangent as ct
import cotangent.numpy as cnp
import numpy as np
import pytest
from cotangent.errors import ShapeError

BOUND = 8
LENGTHS = [0, 1, 2, 5, BOUND]
X = np.random.default_rng(0).standard_normal((12, 3)).astype(np.float32)
KEY = ct.random.key(7)
FFT = cnp.fft


def leaves(tree: Any) -> list[Any]:
    return ct.tree.leaves(tree, is_leaf=lambda x: isinstance(x, ct.Ragged))


def padded(x: np.ndarray, garbage: float) -> ct.Ragged:
    data = np.full((BOUND, *x.shape[1:]), garbage).astype(x.dtype)
    data[: len(x)] = x
    return ct.Ragged(data, {0: len(x)})


def check(
    f: Callable[[Any], Any], make: Callable[[int], np.ndarray], exactly: bool = False, tolerance: float = 2e-5
) -> None:
    """mask(f) for all lengths at once by one compiled program, for a batch of them, and what gradients it has."""
    compiled, wanted = ct.jit(ct.mask(f)), {}
    for n in LENGTHS:
        try:
            wanted[n] = [np.asarray(y) for y in leaves(f(cnp.asarray(make(n))))]
        except (ValueError, IndexError):
            continue
        for garbage in (np.nan, np.inf) if make(n).dtype.kind == "f" else (77,):
            for ours, theirs in zip(leaves(compiled(padded(make(n), garbage))), wanted[n], strict=True):
                got = np.asarray(ours.unpad() if isinstance(ours, ct.Ragged) else ours)
                assert got.shape == theirs.shape
                assert got.dtype == theirs.dtype
                if exactly:
                    np.testing.assert_array_equal(got, theirs)
                else:
                    np.testing.assert_allclose(got, theirs, rtol=tolerance, atol=tolerance)
    assert len(wanted) >= 3
    rows = ct.ragged([cnp.asarray(make(n)) for n in wanted], bound=BOUND)
    for i, ours in enumerate(zip(*(_rows(y) for y in leaves(ct.vmap(ct.mask(f))(rows))), strict=True)):
        for got, theirs in zip(ours, list(wanted.values())[i], strict=True):
            np.testing.assert_allclose(got, theirs, rtol=tolerance, atol=tolerance)
    if make(1).dtype.kind != "f" or any(y.dtype.kind not in "fc" for y in wanted[BOUND]):
        return

    def loss(x: Any) -> Any:
        return sum(cnp.sum(cnp.sin(cnp.real(y)) * cnp.real(y) + cnp.imag(y) ** 2) for y in leaves(f(x)))

    slopes = ct.jit(ct.grad(ct.mask(loss)))
    for n in wanted:
        found = slopes(padded(make(n), np.nan))
        expected = np.asarray(ct.grad(loss)(cnp.asarray(make(n))))
        np.testing.assert_allclose(found.unpad(), expected, rtol=1e-3, atol=1e-3)
        assert not np.asarray(found.data)[n:].any()


def _rows(y: Any) -> list[np.ndarray]:
    return [np.asarray(row) for row in (y.to_list() if isinstance(y, ct.Ragged) else y)]


def vector(n: int) -> np.ndarray:
    return X[:n, 0]


def matrix(n: int) -> np.ndarray:
    return X[:n]


def numbers(n: int) -> np.ndarray:
    return np.arange(n, dtype=np.int32)


DRAWS = {
    "permutation": (lambda x: ct.random.permutation(KEY, x), vector),
    "permutation of a number": (lambda x: ct.random.permutation(KEY, x.shape[0]), vector),
    "permutation of rows": (lambda x: ct.random.permutation(KEY, x), matrix),
    "each line permuted": (lambda x: ct.random.permutation(KEY, x, independent=True), matrix),
    "each line beside a ragged axis": (lambda x: ct.random.permutation(KEY, x.T, 0, independent=True), matrix),
    "choice": (lambda x: ct.random.choice(KEY, x, (3,)), vector),
    "choice of a number": (lambda x: ct.random.choice(KEY, x.shape[0], (3,)), vector),
    "choice of different ones": (lambda x: ct.random.choice(KEY, x, (2,), replace=False), matrix),
    "all in another order": (lambda x: ct.random.choice(KEY, x, x.shape, replace=False), vector),
    "as many as a length": (lambda x: ct.random.choice(KEY, 50, x.shape, replace=False), matrix),
    "choice by weights": (lambda x: ct.random.choice(KEY, x, (4,), p=abs(x) / abs(x).sum()), vector),
    "different ones by weights": (lambda x: ct.random.choice(KEY, x, (2,), False, abs(x)), vector),
    "categories without repetition": (lambda x: ct.random.categorical(KEY, x, 0, (2, 3), replace=False), matrix),
    "as many categories as a length": (
        lambda x: ct.random.categorical(KEY, cnp.ones(9), shape=x.shape, replace=False), vector),
    "trials": (lambda x: ct.random.multinomial(KEY, 6, abs(x) / abs(x).sum()), vector),
    "trials of rows": (lambda x: ct.random.multinomial(KEY, 6, abs(x)), matrix),
}  # fmt: skip


@pytest.mark.parametrize("name", list(DRAWS))
def test_draws_are_those_of_the_exact_array_bit_for_bit(name):
    check(*DRAWS[name], exactly=True)


def test_a_permutation_takes_the_rounds_of_its_length():
    """Up to 1625 elements are sorted once, more of them twice."""
    shuffle = ct.jit(ct.mask(lambda x: ct.random.permutation(KEY, x)))
    for n in (1, 1625, 1626, 1700):
        data = np.arange(1700, dtype=np.int32)
        np.testing.assert_array_equal(
            shuffle(ct.Ragged(data, {0: n})).unpad(), ct.random.permutation(KEY, cnp.asarray(data[:n]))
        )


@pytest.mark.parametrize("norm", [None, "ortho", "forward"])
@pytest.mark.parametrize("name", ["fft", "ifft", "rfft", "irfft", "hfft", "ihfft"])
def test_fourier_transforms(name, norm):
    check(lambda x: getattr(FFT, name)(x, norm=norm), vector)
    check(lambda x: getattr(FFT, name)(x, axis=0, norm=norm), matrix)
    if name not in ("rfft", "ihfft"):
        check(lambda x: getattr(FFT, name)(x + 1j * cnp.flip(x), norm=norm), vector)


@pytest.mark.parametrize("name", ["fft2", "ifft2", "rfft2", "irfft2"])
def test_fourier_transforms_of_several_axes(name):
    check(getattr(FFT, name), matrix)
    check(lambda x: getattr(FFT, name)(x.T), matrix)
    check(lambda x: getattr(FFT, name)(x[:, None, 0] * x[None, :, 1]), matrix)


def test_lengths_of_transforms_may_be_those_of_axes():
    check(lambda x: FFT.irfft(FFT.rfft(x), n=x.shape[0]) - x, vector)
    check(lambda x: FFT.fft(cnp.ones(5), n=x.shape[0]), vector)
    check(lambda x: FFT.fft(cnp.pad(x, 2), n=x.shape[0]), vector)
    check(lambda x: FFT.rfftn(x, s=(4, x.shape[0])), matrix)
    check(lambda x: ct.scipy.fft.dct(cnp.ones(9), n=x.shape[0]), vector)
    check(lambda x: (FFT.fftfreq(x.shape[0], 2.0), FFT.rfftfreq(x.shape[0], 2.0)), vector)


def test_transforms_of_lengths_that_are_prime_and_long():
    """As exact as the transform of the exact array: angles are reduced in integers, so that they do not grow with the length."""
    data = np.random.default_rng(1).standard_normal(5003)
    wanted = np.fft.fft(data)
    for dtype, most in (("float64", 1e-13), ("float32", 1e-6)):
        got = ct.mask(FFT.fft)(ct.Ragged(np.append(data, [np.nan] * 97).astype(dtype), {0: 5003})).unpad()
        assert np.abs(np.asarray(got) - wanted).max() < most * np.abs(wanted).max()


@pytest.mark.parametrize("kind", [1, 2, 3, 4])
@pytest.mark.parametrize("norm", [None, "ortho", "forward"])
def test_cosine_transforms(kind, norm):
    check(lambda x: ct.scipy.fft.dct(x, kind, axis=0, norm=norm), matrix)
    check(lambda x: ct.scipy.fft.idct(x, kind, norm=norm), vector)
    check(lambda x: ct.scipy.fft.dctn(x[:, None, 0] * x[None, :, 1], kind, norm=norm), matrix)


@pytest.mark.parametrize("mode", ["full", "same", "valid"])
@pytest.mark.parametrize(
    "function", [cnp.convolve, cnp.correlate, ct.scipy.signal.convolve, ct.scipy.signal.fftconvolve]
)
def test_convolutions(function, mode):
    for size in (1, 2, 3, 4):
        other = X[:size, 1]
        check(lambda x, other=other: function(x, other, mode), vector)
        check(lambda x, other=other: function(other, x, mode), vector)
    check(lambda x: function(x, x[::-1], mode), vector)
    check(lambda x: function(x, cnp.pad(x, 1, mode="edge"), mode), vector)


MODES = ["edge", "reflect", "symmetric", "wrap", "maximum", "minimum", "mean", "median", "linear_ramp"]


@pytest.mark.parametrize("mode", MODES)
def test_pad(mode):
    for width in ((1, 2), (9, 11), (0, 3)):
        check(lambda x, width=width: cnp.pad(x, width, mode=mode), vector)
    check(lambda x: cnp.pad(x, ((2, 3), (1, 1)), mode=mode), matrix)
    check(lambda x: cnp.pad(x, (2, 1), mode=mode), numbers)
    if mode in ("reflect", "symmetric"):
        check(lambda x: cnp.pad(x, (9, 11), mode=mode, reflect_type="odd"), vector)
    if mode in ("maximum", "minimum", "mean", "median"):
        check(lambda x: cnp.pad(x, (2, 1), mode=mode, stat_length=2), vector)


OTHERS = {
    "slopes": (lambda x: cnp.gradient(x, 2.0, axis=0), matrix),
    "slopes between coordinates": (lambda x: cnp.gradient(x, cnp.cumsum(abs(x))), vector),
    "interpolation": (lambda x: cnp.interp(cnp.array([-0.5, 0.3, 2.2, 9]), cnp.arange(x.shape[0]) * 1.0, x), vector),
    "a period": (lambda x: cnp.interp(cnp.array([-0.5, 9]), cnp.arange(x.shape[0]) * 1.0, x, period=5.0), vector),
    "deleted": (lambda x: cnp.delete(x, [0, -1]), vector),
    "a slice deleted": (lambda x: cnp.delete(x, slice(-2, None, -2), 0), matrix),
    "deleted by a condition": (lambda x: cnp.delete(x, x > 0), vector),
    "inserted": (lambda x: cnp.insert(x, [1, 0, -1], [7.0, 8.0, 9.0]), vector),
    "a ragged one inserted": (lambda x: cnp.insert(x, 1, 2 * x, axis=0), matrix),
    "a quotient": (lambda x: cnp.polydiv(x, cnp.array([2.0, 1.0])), vector),
    "a sum": (lambda x: cnp.polyadd(x, cnp.ones(4)), vector),
    "an integral": (lambda x: cnp.polyint(x, 2, k=[1.0, 2.0]), vector),
    "zeros": (lambda x: cnp.poly(x), vector),
    "the degree of a derivative": (lambda x: cnp.polyder(x, 2), vector),
    "a window": (lambda x: cnp.hanning(x.shape[0]) * x, vector),
    "a kaiser window": (lambda x: cnp.kaiser(x.shape[0], 3.0) * x, vector),
    "halves": (lambda x: ct.nn.glu(cnp.concatenate([x, 2 * x]), 0), matrix),
    "toeplitz": (lambda x: ct.scipy.linalg.toeplitz(x, cnp.ones(3)), vector),
    "hankel": (lambda x: ct.scipy.linalg.hankel(cnp.ones(3), x), vector),
    "blocks": (lambda x: ct.scipy.linalg.block_diag(x, cnp.ones((2, 2)), x.T), matrix),
    "an update": (lambda x: ct.lax.dynamic_update_slice(cnp.zeros((9, 4)), x, (4, -3)), matrix),
    "trends": (lambda x: ct.scipy.signal.detrend(x, axis=0), matrix),
    "a larger image": (lambda x: ct.image.resize(x, (11, 2), "cubic"), matrix),
    "an image of ragged size": (lambda x: ct.image.resize(cnp.ones((4, 3)) * x[0], (x.shape[0], 5), "linear"), matrix),
    "eliminated": (lambda x: ct.scipy.linalg.hessenberg(cnp.cos(40 * x[:, None, 0] * x[None, :, 1])), matrix),
    "the transform's matrix": (lambda x: ct.scipy.linalg.dft(x.shape[0], "sqrtn") @ x, matrix),
}  # fmt: skip


@pytest.mark.parametrize("name", list(OTHERS))
def test_what_is_worked_out_with_the_length(name):
    check(*OTHERS[name], tolerance=2e-4)


@pytest.mark.parametrize("padding", ["SAME", "SAME_LOWER", "VALID", [(2, 1)]])
@pytest.mark.parametrize(("stride", "spacing"), [(1, 1), (2, 1), (1, 2), (3, 2)])
def test_filters_of_ragged_size(padding, stride, spacing):
    x = X.reshape(1, 3, 12)

    def filtered(w: Any) -> Any:
        filters = cnp.moveaxis(w, 0, -1)[None]
        return ct.lax.conv_general_dilated(x, filters, (stride,), padding, rhs_dilation=(spacing,))

    check(filtered, matrix)


SIGNAL = ct.scipy.signal
SPECTRA = {
    "segments of the program": lambda x: SIGNAL.stft(x, nperseg=3),
    "segments as long as the signal": SIGNAL.stft,
    "odd ends": lambda x: SIGNAL.stft(x, 2.0, nperseg=4, noverlap=1, boundary="odd", padded=False),
    "even ends": lambda x: SIGNAL.stft(x, window="boxcar", nperseg=4, boundary="even", return_onesided=False),
    "constant ends": lambda x: SIGNAL.stft(x, nperseg=2, boundary="constant"),
    "a density": SIGNAL.welch,
    "a spectrum": lambda x: SIGNAL.welch(x, 3.0, "blackman", nperseg=4, scaling="spectrum", detrend="linear"),
    "longer transforms": lambda x: SIGNAL.welch(x, nperseg=4, nfft=16),
    "a median": lambda x: SIGNAL.csd(x, cnp.cos(x), nperseg=3, average="median"),
    "rows": lambda x: SIGNAL.csd(x, x[::-1], axis=0, nperseg=2),
}


@pytest.mark.parametrize("name", list(SPECTRA))
def test_spectra(name):
    check(SPECTRA[name], matrix if name == "rows" else vector, tolerance=2e-4)


TWICE = {
    "transforms": lambda x: cnp.abs(FFT.rfft(x)) ** 2,
    "reflections": lambda x: cnp.pad(x, (3, 9), mode="reflect") ** 3,
    "convolutions": lambda x: cnp.convolve(x, x, "same"),
    "deleted": lambda x: cnp.delete(x, 0) ** 3,
    "quotients": lambda x: cnp.polydiv(x, cnp.array([2.0, 1.0]))[0] ** 3,
    "permuted": lambda x: ct.random.permutation(KEY, x) ** 3 * cnp.arange(x.shape[0]),
}


@pytest.mark.parametrize("name", list(TWICE))
def test_second_derivatives(name):
    def slope(x: Any) -> Any:
        return cnp.sum(cnp.sin(ct.grad(lambda x: cnp.sum(TWICE[name](x)))(x)))

    for n in (2, 5, BOUND):
        wanted = np.asarray(ct.grad(slope)(cnp.asarray(vector(n))))
        for found in (
            ct.grad(ct.mask(slope))(padded(vector(n), np.nan)),
            ct.mask(ct.grad(slope))(padded(vector(n), np.nan)),
        ):
            np.testing.assert_allclose(found.unpad(), wanted, rtol=1e-4, atol=1e-4)
            assert not np.asarray(found.data)[n:].any()


def test_what_is_still_an_error():
    x = padded(vector(3), np.nan)
    for call, message in [
        (lambda x: cnp.polydiv(x, cnp.ones(2), trim_leading_zeros=True), "leading zeros are not known"),
        (lambda x: SIGNAL.istft(x[:, None] * x[None]), "istft: axis 0 is ragged"),
        (lambda x: ct.random.orthogonal(KEY, x.shape[0], m=3), "which of n and m is larger"),
        (lambda x: ct.lax.unstack(x), "lax.unstack: axis 0 is ragged"),
    ]:
        with pytest.raises(NotImplementedError, match=message):
            ct.mask(call)(x)
    with pytest.raises(ValueError, match="norm must be"):
        ct.mask(lambda x: FFT.fft(x, norm="bad"))(x)
    with pytest.raises(ValueError, match="mode must be"):
        ct.mask(lambda x: cnp.convolve(x, x, "some"))(x)
    with pytest.raises(ShapeError, match="need as many coordinates"):
        ct.mask(lambda x: cnp.gradient(x, cnp.ones((2, 2))))(x)


RETURNED: dict[str, Any] = {
    "computed with": lambda x: ct.mask(lambda x: x * 2)(x),
    "as it is": lambda x: x,
    "from the region": lambda x: ct.mask(lambda x: x)(x),
    "in a tree": lambda x: {"a": (x, 1.0)},
    "of a program inside": lambda x: ct.jit(ct.mask(lambda x: x + 1))(x),
}


@pytest.mark.parametrize("name", RETURNED)
def test_a_computed_length_that_is_returned_is_held_to_its_bound(name: str) -> None:
    """The result said that it had more elements than its bound, or fewer than none, and was an error for whoever used it."""
    f = RETURNED[name]
    program = ct.jit(lambda n: f(ct.Ragged(cnp.arange(5.0), {0: n})))
    exact = lambda n: f(ct.Ragged(cnp.arange(5.0), {0: n}))  # noqa: E731
    for length, held in ((3, 3), (0, 0), (5, 5), (9, 5), (-3, 0)):
        for found, wanted in zip(ragged_leaves(program(length)), ragged_leaves(exact(held)), strict=True):
            assert found.shape == (held,)
            np.testing.assert_array_equal(found.unpad(), wanted.unpad())
            np.testing.assert_array_equal((found * 2).unpad(), 2 * wanted.unpad())


def ragged_leaves(tree: Any) -> list[Any]:
    leaves = ct.tree.leaves(tree, is_leaf=lambda leaf: isinstance(leaf, ct.Ragged))
    return [leaf for leaf in leaves if isinstance(leaf, ct.Ragged)]


def test_computed_lengths_of_a_batch_are_held() -> None:
    program = ct.jit(lambda n: ct.vmap(ct.mask(lambda x: x + 1))(ct.Ragged(cnp.ones((3, 4)), {1: n})))
    assert program(np.array([7, 2, -1])).tolist() == [[2.0] * 4, [2.0] * 2, []]


def test_lengths_of_arguments_leave_as_they_are() -> None:
    program = lambda x: (x, ct.mask(lambda x: x * 2)(x))  # noqa: E731
    x = ct.Ragged(np.arange(4.0), {0: 3}, {0: "n"})
    same, double = ct.jit(program)(x)
    np.testing.assert_array_equal(double.unpad(), 2 * same.unpad())
    assert double.names == {0: "n"}
    computed = ct.jit(lambda n: program(ct.Ragged(cnp.arange(4.0), {0: n})))
    assert "clamp_length" in str(ct.make_ir(computed)(3))
    assert "clamp_length" not in str(ct.make_ir(ct.jit(program))(x))
