"""Factorisations and Fourier transforms in exported programs, which have neither LAPACK nor a library of transforms."""

from __future__ import annotations

import cotangent as ct
import cotangent.numpy as cnp
import numpy as np
import pytest

rng = np.random.default_rng(5)


def exported(f, *arguments, directory):
    ct.export.compile(f, *arguments, name="step").save(directory)
    loaded = ct.export.load(directory, native=True)
    return loaded(*arguments)


def check(f, *arguments, directory, rtol):
    results = ct.tree_util.tree_leaves(exported(f, *arguments, directory=directory))
    expected = ct.tree_util.tree_leaves(f(*arguments))
    for actual, wanted in zip(results, expected, strict=True):
        assert (actual.dtype, actual.shape) == (wanted.dtype, wanted.shape)
        np.testing.assert_allclose(actual, wanted, rtol=rtol, atol=rtol)


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex128"])
def test_linear_algebra(dtype, tmp_path):
    a, tall = rng.standard_normal((3, 5, 5)), rng.standard_normal((2, 6, 3))
    if dtype == "complex128":
        a, tall = a + 1j * rng.standard_normal(a.shape), tall + 1j * rng.standard_normal(tall.shape)
    a, tall = a.astype(dtype), tall.astype(dtype)
    b = rng.standard_normal((3, 5, 2)).astype(dtype)

    def f(a, b, tall):
        positive = a @ cnp.swapaxes(a, 1, 2).conj() + 5 * cnp.eye(5, dtype=dtype)
        lower = cnp.linalg.cholesky(positive)
        return (
            lower,
            cnp.linalg.cholesky(-positive),
            ct.lax.linalg.lu(a),
            ct.lax.linalg.lu(tall),
            cnp.linalg.solve(a, b),
            ct.lax.linalg.triangular_solve(lower, b, left_side=True, lower=True, transpose_a=True),
            ct.lax.linalg.triangular_solve(lower, cnp.swapaxes(b, 1, 2), left_side=False, lower=True, conjugate_a=True),
            cnp.linalg.inv(a),
            cnp.linalg.slogdet(a),
            cnp.linalg.qr(tall),
            cnp.linalg.qr(cnp.swapaxes(tall, 1, 2), "complete"),
            cnp.linalg.cholesky(cnp.zeros((0, 3, 3), dtype)),
        )

    check(f, a, b, tall, directory=tmp_path, rtol=1e-3 if dtype == "float32" else 1e-9)


def test_gradients_of_factorisations(tmp_path):
    a = rng.standard_normal((4, 4))

    def loss(a):
        positive = a @ a.T + 4 * cnp.eye(4)
        return cnp.linalg.slogdet(positive)[1] + cnp.linalg.cholesky(positive).sum() + cnp.linalg.qr(a)[1].sum()

    check(ct.value_and_grad(loss), a, directory=tmp_path, rtol=1e-8)


@pytest.mark.parametrize("dtype", ["float32", "complex128"])
def test_eigenvalues_and_vectors(dtype, tmp_path):
    a = rng.standard_normal((3, 6, 6))
    a = (a + 1j * rng.standard_normal(a.shape) if dtype == "complex128" else a).astype(dtype)
    a = a + a.swapaxes(1, 2).conj()
    a[1] = np.diag([3, 1, 2, 1, 1, 0])  # several times the same, and nothing to rotate

    def f(a):
        w, v = cnp.linalg.eigh(a)
        return w, v, cnp.linalg.eigvalsh(a), ct.grad(lambda a: (cnp.linalg.eigvalsh(a) ** 2).sum())(a.real[0])

    w, v, values, gradient = exported(f, a, directory=tmp_path)
    tolerance = 1e-4 if dtype == "float32" else 1e-10
    np.testing.assert_allclose(w, np.linalg.eigvalsh(a), rtol=tolerance, atol=tolerance)
    np.testing.assert_allclose(values, w, rtol=tolerance, atol=tolerance)
    vectors = np.asarray(v)
    np.testing.assert_allclose(a @ vectors, vectors * np.asarray(w)[:, None], atol=10 * tolerance)
    np.testing.assert_allclose(vectors.conj().swapaxes(1, 2) @ vectors, np.tile(np.eye(6), (3, 1, 1)), atol=tolerance)
    np.testing.assert_allclose(gradient, f(a)[3], rtol=tolerance, atol=10 * tolerance)


def test_ragged_sizes(tmp_path):
    a = np.full((6, 6), np.nan)
    a[:4, :4] = (b := rng.standard_normal((4, 4))) @ b.T + 4 * np.eye(4)
    x = ct.Ragged(a, {0: np.int32(4), 1: np.int32(4)}, names={0: "n", 1: "n"})
    f = ct.mask(
        lambda a: (
            cnp.linalg.slogdet(a)[1],
            cnp.abs(cnp.linalg.cholesky(a)).sum(),
            cnp.abs(cnp.linalg.qr(a)[1]).sum(),
            cnp.linalg.eigvalsh(a).max(),
        )
    )
    check(f, x, directory=tmp_path, rtol=1e-8)


LENGTHS = [1, 2, 5, 8, 12, 16, 17, 24, 30, 37, 64, 67, 97, 131, 210, 1000]


def test_fourier_transforms_of_every_kind_of_length(tmp_path):
    lines = [rng.standard_normal((2, n)) for n in LENGTHS]

    def f(lines):
        spectra = [cnp.fft.fft(x + 1j * x[::-1]) for x in lines]
        back = [cnp.fft.irfft(cnp.fft.rfft(x) * (1 + 2j), x.shape[-1]) for x in lines if x.shape[-1] > 1]
        return spectra, back, [cnp.fft.ifft(s) for s in spectra]

    check(f, lines, directory=tmp_path, rtol=1e-9)


def test_fourier_transforms_over_several_axes(tmp_path):
    x = rng.standard_normal((3, 4, 6)).astype(np.float32)

    def f(x):
        return (
            cnp.fft.fftn(x),
            cnp.fft.ifft2(x, axes=(0, 2)),
            cnp.fft.rfftn(x),
            cnp.fft.irfftn(x + 1j * x, (3, 4, 9)),
            cnp.fft.fft(cnp.zeros((0, 4))),
            ct.grad(lambda x: (cnp.abs(cnp.fft.rfft(x)) ** 2).sum())(x),
        )

    check(f, x, directory=tmp_path, rtol=2e-5)
