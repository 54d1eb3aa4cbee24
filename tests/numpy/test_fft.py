"""ct.numpy.fft, ct.lax.fft and ct.scipy.fft: against NumPy and SciPy; derivatives, vmap, mask, errors."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import cotangent as ct
import cotangent.numpy as cnp
import numpy as np
import pytest
import scipy.fft

F, SF = ct.numpy.fft, ct.scipy.fft
NORMS = (None, "backward", "ortho", "forward")


def drawn(*shape: int, dtype: str = "float64") -> np.ndarray[Any, Any]:
    rng = np.random.default_rng(shape)
    x = rng.standard_normal(shape)
    if np.dtype(dtype).kind == "c":
        x = x + 1j * rng.standard_normal(shape)
    return (4 * x if np.dtype(dtype).kind in "iu" else x).astype(dtype)


def close(actual: Any, expected: Any, tolerance: float = 1e-12) -> None:
    a, b = np.asarray(actual), np.asarray(expected)
    assert a.shape == b.shape
    np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance * max(1.0, float(np.max(np.abs(b), initial=0.0))))


ONE = ["fft", "ifft", "rfft", "irfft", "hfft", "ihfft"]
SEVERAL = ["fftn", "ifftn", "rfftn", "irfftn"]


def operand(name: str, *shape: int, narrow: bool = False) -> np.ndarray[Any, Any]:
    real = name in ("rfft", "ihfft", "rfftn", "rfft2")
    return drawn(
        *shape, dtype=("float32" if narrow else "float64") if real else ("complex64" if narrow else "complex128")
    )


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("name", ONE)
def test_one_axis(name: str, norm: str | None) -> None:
    ours, numpys = getattr(F, name), getattr(np.fft, name)
    for n, axis in itertools.product((None, 1, 4, 5, 9), (-1, 0, 1)):
        x = operand(name, 5, 3, 6)
        close(ours(x, n, axis, norm), numpys(x, n, axis, norm))
    narrow = operand(name, 3, 8, narrow=True)
    result = ours(narrow, norm=norm)
    assert result.dtype == ("float32" if name in ("irfft", "hfft") else "complex64")
    close(result, numpys(narrow.astype("complex128" if narrow.dtype.kind == "c" else "float64"), norm=norm), 1e-6)
    close(ct.jit(lambda x: ours(x, norm=norm))(narrow), result, 1e-6)


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("name", SEVERAL)
def test_several_axes(name: str, norm: str | None) -> None:
    ours, numpys = getattr(F, name), getattr(np.fft, name)
    x = operand(name, 4, 3, 5)
    for s, axes in [(None, None), (None, (0, 2)), (None, (2, 0)), ((6, 2), (1, -1)), ((3, 4, 7), (0, 1, 2))]:
        close(ours(x, s, axes, norm), numpys(x, s, axes, norm))
    close(ours(x, (2, 6), None, norm), numpys(x, (2, 6), (-2, -1), norm))
    two = name[:-1] + "2"
    close(getattr(F, two)(x, norm=norm), getattr(np.fft, two)(x, norm=norm))


@pytest.mark.parametrize(
    "dtype", ["bool", "int32", "uint8", "float16", "float32", "float64", "complex64", "complex128"]
)
def test_dtypes(dtype: str) -> None:
    x = drawn(6, dtype=dtype)
    close(F.fft(x), np.fft.fft(x.astype("complex128")), 1e-5)
    assert F.fft(x).dtype == ("complex128" if dtype in ("float64", "complex128") else "complex64")
    close(F.irfft(x), np.fft.irfft(x.astype("complex128")), 1e-5)
    if np.dtype(dtype).kind != "c":
        close(F.rfft(x), np.fft.rfft(x.astype("float64")), 1e-5)
    assert F.fft(cnp.asarray([1.0, 2.0]).astype("bfloat16")).dtype == "complex64"


def test_frequencies_and_shifts() -> None:
    for n in (1, 2, 5, 8):
        close(F.fftfreq(n, 0.5), np.fft.fftfreq(n, 0.5), 1e-6)
        close(F.rfftfreq(n, 0.5), np.fft.rfftfreq(n, 0.5), 1e-6)
    assert F.fftfreq(4).dtype == "float32" and F.fftfreq(4, dtype="float64").dtype == "float64"
    x = drawn(4, 5)
    for axes in (None, 0, -1, (0, 1)):
        close(F.fftshift(x, axes), np.fft.fftshift(x, axes))
        close(F.ifftshift(x, axes), np.fft.ifftshift(x, axes))


# Compiled as loops where lengths are products of small primes, else a library's; of one row, many and in between.
COMPILED = [
    ((2,), 1), ((6,), 1), ((1000,), 1), ((30030,), 1), ((65536,), 1), ((17 * 300,), 1), ((1009,), 1), ((3, 8192), 1),
    ((40, 60), 1), ((18, 34), 1), ((7, 2048), 1), ((12, 20), 2), ((3, 5, 70), 2), ((9, 17, 4), 2), ((4, 1, 6), 3),
    ((2, 10, 9, 21), 3), ((20, 510), 1), ((5, 17 * 19), 1), ((23 * 16,), 1), ((40, 46), 2), ((3, 29 * 8), 1), ((20, 54 * 37), 1),
    ((61 * 4,), 1), ((33, 59), 1), ((41, 6), 2), ((17 * 300, 3), 2), ((3, 29 * 31), 1), ((67 * 3,), 1), ((16 * 53 * 54,), 1),
]  # fmt: skip


@pytest.mark.parametrize("name", SEVERAL)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("shape", "axes"), COMPILED)
def test_compiled(name: str, dtype: str, shape: tuple[int, ...], axes: int) -> None:
    x = drawn(*shape, dtype=dtype if name == "rfftn" else {"float32": "complex64", "float64": "complex128"}[dtype])
    over = tuple(range(-axes, 0))
    result = np.asarray(ct.jit(lambda x: getattr(F, name)(x * 2, None, over) * 3)(x))
    exact = getattr(scipy.fft, name)(x.astype("float64" if name == "rfftn" else "complex128") * 2, None, over) * 3
    assert result.dtype == (dtype if name == "irfftn" else {"float32": "complex64", "float64": "complex128"}[dtype])
    error = np.linalg.norm(result - exact) / max(np.linalg.norm(exact), 1e-300)
    assert error < 8 * np.finfo(dtype).eps, error


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("axes", [(0,), (1,), (0, 2), (0, 1)])
@pytest.mark.parametrize("shape", [(6, 50, 4), (33, 17, 40), (5000, 3, 2), (2, 9000, 5), (3, 1, 64)])
def test_axes_that_are_not_the_last(shape: tuple[int, ...], axes: tuple[int, ...], dtype: str) -> None:
    x = drawn(*shape, dtype=dtype)
    for ours, scipys in [(F.fftn, scipy.fft.fftn), (F.ifftn, scipy.fft.ifftn)]:
        exact = scipys(x.astype("complex128"), axes=axes)
        for f in (ct.jit(lambda x, ours=ours: ours(x, axes=axes)), lambda x, ours=ours: ours(x, axes=axes)):
            error = np.linalg.norm(np.asarray(f(x)) - exact) / np.linalg.norm(exact)
            assert error < 8 * np.finfo(dtype).eps, error


def test_compiled_inside_of_other_programs() -> None:
    x = drawn(5, 48, dtype="complex64")
    twice = ct.jit(lambda x: ct.lax.fori_loop(0, 3, lambda _, y: F.fft(y) / 7, x))
    close(twice(x), np.fft.fft(np.fft.fft(np.fft.fft(x))) / 343, 1e-5)
    rows = ct.jit(ct.vmap(lambda row: F.ifft(row).real.sum()))
    close(rows(x), np.fft.ifft(x).real.sum(1), 1e-5)
    in_place = ct.jit(lambda x: F.fft(x, axis=0), donate_argnums=0)
    wide = drawn(60, 300, dtype="complex64")
    close(in_place(cnp.asarray(wide)), np.fft.fft(wide, axis=0), 1e-5)


@pytest.mark.parametrize("name", ONE)
def test_compiled_rows_leave_each_other_alone(name: str) -> None:
    for n in (12, 13, 15):
        x = operand(name, 33, n, narrow=True)
        alone = ct.jit(getattr(F, name))(x)
        x[7] *= 1e20
        x[20] = np.nan
        among = np.asarray(ct.jit(getattr(F, name))(x))
        rest = [i for i in range(33) if i not in (7, 20)]
        np.testing.assert_array_equal(among[rest], np.asarray(alone)[rest])
        assert np.isfinite(among[7]).all() and np.isnan(among[20]).any()


def test_compiled_results_are_the_same_for_any_number_of_threads() -> None:
    for shape, axis in [((100_000,), 0), ((300, 270), 1), ((300, 270), 0)]:
        x = drawn(*shape, dtype="complex64")
        results = [np.asarray(ct.jit(lambda x, axis=axis: F.fft(x, axis=axis), threads=n)(x)) for n in (1, 2, 3)]
        for result in results[1:]:
            np.testing.assert_array_equal(result.view("float32"), results[0].view("float32"))


def test_batches_without_elements() -> None:
    assert F.fft(np.zeros((0, 4))).shape == (0, 4)
    assert F.irfft(np.zeros((2, 0, 3))).shape == (2, 0, 4)
    assert F.fftn(np.zeros((0, 4)), axes=(1,)).shape == (0, 4)


@pytest.mark.parametrize("kind", [1, 2, 3, 4])
@pytest.mark.parametrize("norm", NORMS)
def test_cosine_transforms(kind: int, norm: str | None) -> None:
    x = drawn(4, 7)
    for n, axis in itertools.product((None, 5, 9), (-1, 0)):
        close(SF.dct(x, kind, n, axis, norm), scipy.fft.dct(x, kind, n, axis, norm))
        close(SF.idct(x, kind, n, axis, norm), scipy.fft.idct(x, kind, n, axis, norm))
    for s, axes in [(None, None), ((3,), None), ((3, 5), (1, 0))]:
        close(SF.dctn(x, kind, s, axes, norm), scipy.fft.dctn(x, kind, s, axes, norm))
        close(SF.idctn(x, kind, s, axes, norm), scipy.fft.idctn(x, kind, s, axes, norm))
    z = x + 1j * x[::-1]
    close(SF.dct(z, kind, norm=norm), scipy.fft.dct(x, kind, norm=norm) + 1j * scipy.fft.dct(x[::-1], kind, norm=norm))
    assert SF.dct(x.astype("float32"), kind, norm=norm).dtype == "float32"
    ct.test_util.check_grads(lambda y: SF.dct(y, kind, norm=norm), (x,), order=2)


SMOOTH: list[tuple[str, Callable[..., Any], tuple[Any, ...]]] = [
    *[(name, lambda x, f=name: getattr(F, f)(x, norm="ortho"), (operand(name, 2, 5),)) for name in ONE],
    *[(name, lambda x, f=name: getattr(F, f)(x), (operand(name, 2, 3, 4),)) for name in SEVERAL],
    ("cut", lambda x: F.rfft(x, 3), (drawn(2, 5),)),
    ("padded", lambda x: F.irfft(x, 9), (drawn(2, 3, dtype="complex128"),)),
    ("power spectrum", lambda x: cnp.abs(F.rfft(x)) ** 2, (drawn(6),)),
    ("real operand", lambda x: F.fft(x), (drawn(6),)),
]


@pytest.mark.parametrize(("f", "args"), [case[1:] for case in SMOOTH], ids=[case[0] for case in SMOOTH])
def test_derivatives_to_second_order_in_both_modes(f: Callable[..., Any], args: tuple[Any, ...]) -> None:
    ct.test_util.check_grads(f, args, order=2)


@pytest.mark.parametrize("name", [*ONE, *SEVERAL])
def test_vmap_is_a_loop(name: str) -> None:
    f, x = getattr(F, name), operand(name, 4, 3, 5)
    for axis in (0, 1, 2):
        slices = [np.take(x, i, axis) for i in range(x.shape[axis])]
        for g in (ct.vmap(f, in_axes=axis), ct.jit(ct.vmap(f, in_axes=axis))):
            close(g(x), np.stack([np.asarray(f(s)) for s in slices]))


def test_mask() -> None:
    """Batch axes may be ragged; a transformed one has its own length, or that to which it is cut or padded with zeros."""
    x = drawn(4, 6)
    rows = np.full((4, 6), np.nan)
    rows[:3] = x[:3]
    result = ct.mask(lambda y: F.rfft(y))(ct.Ragged(rows, {0: 3}))
    close(result.unpad(), np.fft.rfft(x[:3]))
    columns = np.full((4, 6), np.nan)
    columns[:, :3] = x[:, :3]
    ragged = ct.Ragged(columns, {1: 3})
    for n in (2, 5, 8):
        close(ct.mask(lambda y, n=n: F.rfft(y, n))(ragged), np.fft.rfft(x[:, :3], n))
        total = lambda y, n=n: cnp.sum(cnp.abs(F.rfft(y, n)) ** 2)  # noqa: E731
        gradient = np.asarray(ct.grad(ct.mask(total))(ragged).data)
        close(gradient[:, :3], ct.grad(total)(x[:, :3].copy()))
        assert not gradient[:, 3:].any()
    close(ct.mask(lambda y: F.rfft(y))(ragged).unpad(), np.fft.rfft(x[:, :3]))


def test_lax_fft() -> None:
    x = drawn(2, 4, 6, dtype="complex128")
    close(ct.lax.fft(x, "FFT", [4, 6]), np.fft.fft2(x))
    close(ct.lax.fft(x, ct.lax.FftType.IFFT, (6,)), np.fft.ifft(x))
    close(ct.lax.fft(x.real, "rfft", (6,)), np.fft.rfft(x.real))
    close(ct.lax.fft(x[..., :4], ct.lax.FftType.IRFFT, (6,)), np.fft.irfft(x[..., :4]))
    close(ct.lax.fft(x, "FFT", []), x)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: F.fft(np.zeros(0)), ValueError, "invalid number of FFT data points"),
        (lambda: F.fft(np.zeros(3), 0), ValueError, "must be positive"),
        (lambda: F.irfft(np.zeros(1)), ValueError, "invalid number of FFT data points"),
        (lambda: F.fft(np.float64(1.0)), ValueError, "out of bounds"),
        (lambda: F.fft(np.zeros(3), norm="bad"), ValueError, "norm"),
        (lambda: F.fft(np.zeros((3, 3)), axis=(0, 1)), ValueError, "fftn takes several"),
        (lambda: F.fft2(np.zeros((3, 3)), axes=(0,)), ValueError, "two axes"),
        (lambda: F.fftn(np.zeros((3, 3)), axes=(0, -2)), ValueError, "must not repeat"),
        (lambda: F.fftn(np.zeros((3, 3)), (2,), (0, 1)), ValueError, "different lengths"),
        (lambda: F.rfft(np.zeros(3) + 1j), ValueError, "real"),
        (lambda: F.fftfreq([3]), TypeError, "n must be an integer"),
        (lambda: F.fftfreq(0), ValueError, "positive"),
        (lambda: ct.lax.fft(np.zeros(3), "bad", [3]), ValueError, "there is no type"),
        (lambda: ct.lax.fft(np.zeros(3), "FFT", [4]), TypeError, "must have size 4"),
        (lambda: SF.dct(np.zeros(3), 5), NotImplementedError, "type must be"),
        (lambda: SF.dct(np.zeros(3), norm="bad"), ValueError, "norm"),
        (lambda: SF.dct(np.zeros(0)), ValueError, "data points"),
        (lambda: SF.dct(np.zeros(1), 1), ValueError, "at least two"),
    ],
)
def test_errors(call: Callable[[], Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call()


def test_numpy_serves_where_scipy_is_not_installed(monkeypatch):
    from cotangent._base import fourier as _fourier

    x = np.random.default_rng(0).standard_normal((3, 10)).astype(np.float32)
    ours = ct.jit(lambda x: ct.numpy.fft.irfft(ct.numpy.fft.rfft(x) * 2, n=10))
    with_scipy = np.asarray(ours(x))
    monkeypatch.setattr(_fourier, "_library", lambda: np.fft)
    np.testing.assert_allclose(ours(x), with_scipy, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(ours(x), 2 * x, rtol=1e-5, atol=1e-6)
