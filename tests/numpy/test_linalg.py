"""ct.numpy.linalg, ct.lax.linalg and ct.scipy.linalg: against NumPy, SciPy and JAX; derivatives, vmap, mask, errors."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import cotangent as ct
import cotangent.numpy as cnp
import jax
import numpy as np
import pytest
import scipy.linalg

L, S, LL = ct.numpy.linalg, ct.scipy.linalg, ct.lax.linalg
SYSTEM_LAPACK = Path("/usr/lib/x86_64-linux-gnu/liblapack.so.3")
TOLERANCE = {"float16": 2e-2, "float32": 2e-4, "complex64": 2e-4, "float64": 1e-10, "complex128": 1e-10}


def drawn(*shape: int, dtype: str = "float64", seed: int = 0) -> np.ndarray[Any, Any]:
    rng = np.random.default_rng([seed, *shape])
    x = rng.standard_normal(shape)
    if np.dtype(dtype).kind == "c":
        x = x + 1j * rng.standard_normal(shape)
    return (4 * x if np.dtype(dtype).kind in "iu" else x).astype(dtype)


def regular(*shape: int, dtype: str = "float64", seed: int = 0) -> np.ndarray[Any, Any]:
    """Well-conditioned square matrices."""
    return (drawn(*shape, dtype=dtype, seed=seed) + 3 * np.eye(shape[-1])).astype(dtype)


def hermitian(*shape: int, dtype: str = "float64", seed: int = 0) -> np.ndarray[Any, Any]:
    """Hermitian positive definite matrices."""
    x = drawn(*shape, dtype=dtype, seed=seed)
    return (x @ x.swapaxes(-1, -2).conj() + np.eye(shape[-1])).astype(dtype)


def outputs(result: Any) -> list[np.ndarray[Any, Any]]:
    return [np.asarray(x) for x in (result if isinstance(result, (tuple, list)) else [result])]


def close(actual: Any, expected: Any, tolerance: float = 1e-10) -> None:
    for a, b in zip(outputs(actual), outputs(expected), strict=True):
        assert a.shape == b.shape
        scale = max(1.0, float(np.max(np.abs(b[np.isfinite(b)]), initial=0.0)))
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance * scale)


# ---- Values ----------------------------------------------------------------------------------------------------------

# What gives NumPy's own numbers: name, function of the operands, how to draw them.
NUMPY: list[tuple[str, Callable[..., Any], Callable[[str], tuple[Any, ...]]]] = [
    ("cholesky", lambda m, a: m.linalg.cholesky(a), lambda d: (hermitian(4, 4, dtype=d),)),
    ("cholesky batch", lambda m, a: m.linalg.cholesky(a, upper=True), lambda d: (hermitian(2, 3, 3, dtype=d),)),
    ("det", lambda m, a: m.linalg.det(a), lambda d: (drawn(5, 5, dtype=d),)),
    ("det 2", lambda m, a: m.linalg.det(a), lambda d: (drawn(3, 2, 2, dtype=d),)),
    ("det 3", lambda m, a: m.linalg.det(a), lambda d: (drawn(2, 3, 3, dtype=d),)),
    ("slogdet", lambda m, a: tuple(m.linalg.slogdet(a)), lambda d: (drawn(2, 4, 4, dtype=d),)),
    ("inv", lambda m, a: m.linalg.inv(a), lambda d: (regular(2, 4, 4, dtype=d),)),
    ("solve", lambda m, a, b: m.linalg.solve(a, b), lambda d: (regular(4, 4, dtype=d), drawn(4, 3, dtype=d))),
    ("solve vector", lambda m, a, b: m.linalg.solve(a, b), lambda d: (regular(2, 4, 4, dtype=d), drawn(4, dtype=d))),
    (
        "solve broadcast",
        lambda m, a, b: m.linalg.solve(a, b),
        lambda d: (regular(4, 4, dtype=d), drawn(2, 3, 4, 2, dtype=d)),
    ),
    (
        "solve both batches",
        lambda m, a, b: m.linalg.solve(a, b),
        lambda d: (regular(3, 1, 4, 4, dtype=d, seed=2), drawn(2, 4, 2, dtype=d)),
    ),
    ("svdvals", lambda m, a: m.linalg.svd(a, compute_uv=False), lambda d: (drawn(2, 4, 3, dtype=d),)),
    ("qr r", lambda m, a: abs(m.linalg.qr(a, "r")), lambda d: (drawn(2, 4, 3, dtype=d),)),
    ("eigvalsh", lambda m, a: m.linalg.eigvalsh(a), lambda d: (hermitian(2, 4, 4, dtype=d),)),
    ("pinv", lambda m, a: m.linalg.pinv(a), lambda d: (drawn(2, 4, 3, dtype=d),)),
    ("pinv wide", lambda m, a: m.linalg.pinv(a), lambda d: (drawn(3, 5, dtype=d),)),
    ("pinv hermitian", lambda m, a: m.linalg.pinv(a, hermitian=True), lambda d: (hermitian(4, 4, dtype=d),)),
    ("matrix_power", lambda m, a: m.linalg.matrix_power(a, 5), lambda d: (drawn(2, 3, 3, dtype=d),)),
    ("matrix_power 0", lambda m, a: m.linalg.matrix_power(a, 0), lambda d: (drawn(2, 3, 3, dtype=d),)),
    ("matrix_power -3", lambda m, a: m.linalg.matrix_power(a, -3), lambda d: (regular(3, 3, dtype=d),)),
    ("matrix_rank", lambda m, a: m.linalg.matrix_rank(a), lambda d: (np.diag([1, 2, 0]).astype(d),)),
    ("cond", lambda m, a: m.linalg.cond(a), lambda d: (regular(2, 3, 3, dtype=d),)),
    ("cond -2", lambda m, a: m.linalg.cond(a, -2), lambda d: (drawn(2, 4, 3, dtype=d),)),
    ("cond 1", lambda m, a: m.linalg.cond(a, 1), lambda d: (regular(2, 3, 3, dtype=d),)),
    ("cond fro", lambda m, a: m.linalg.cond(a, "fro"), lambda d: (regular(3, 3, dtype=d),)),
    (
        "multi_dot",
        lambda m, *xs: m.linalg.multi_dot(list(xs)),
        lambda d: (drawn(3, dtype=d), drawn(3, 5, dtype=d), drawn(5, 2, dtype=d), drawn(2, 4, dtype=d)),
    ),
    (
        "tensorsolve",
        lambda m, a, b: m.linalg.tensorsolve(a, b),
        lambda d: (regular(6, 6, dtype=d).reshape(2, 3, 6), drawn(2, 3, dtype=d)),
    ),
    (
        "tensorsolve axes",
        lambda m, a, b: m.linalg.tensorsolve(a, b, axes=(0, 2)),
        lambda d: (np.moveaxis(regular(6, 6, dtype=d).reshape(6, 2, 3), (1, 2), (0, 2)), drawn(6, dtype=d)),
    ),
    ("tensorinv", lambda m, a: m.linalg.tensorinv(a, 1), lambda d: (regular(6, 6, dtype=d).reshape(6, 2, 3),)),
    ("outer", lambda m, a, b: m.linalg.outer(a, b), lambda d: (drawn(3, dtype=d), drawn(4, dtype=d))),
    ("cross", lambda m, a, b: m.linalg.cross(a, b), lambda d: (drawn(2, 3, dtype=d), drawn(2, 3, dtype=d, seed=1))),
    ("trace", lambda m, a: m.linalg.trace(a, offset=1), lambda d: (drawn(2, 4, 3, dtype=d),)),
    ("diagonal", lambda m, a: m.linalg.diagonal(a, offset=-1), lambda d: (drawn(2, 4, 3, dtype=d),)),
    ("matrix_transpose", lambda m, a: m.linalg.matrix_transpose(a), lambda d: (drawn(2, 4, 3, dtype=d),)),
    ("vecdot", lambda m, a, b: m.linalg.vecdot(a, b), lambda d: (drawn(2, 3, dtype=d), drawn(3, dtype=d))),
    ("matmul", lambda m, a, b: m.linalg.matmul(a, b), lambda d: (drawn(2, 3, dtype=d), drawn(3, dtype=d))),
    (
        "tensordot",
        lambda m, a, b: m.linalg.tensordot(a, b, axes=1),
        lambda d: (drawn(2, 3, dtype=d), drawn(3, 2, dtype=d)),
    ),
    *[
        (
            f"norm {ord} {axis}",
            lambda m, a, o=ord, x=axis: m.linalg.norm(a, o, x, keepdims=True),
            lambda d: (drawn(2, 3, 4, dtype=d),),
        )
        for axis in (1, (2, 0), (-2, -1))
        for ord in (
            [None, 1, -1, 2, -2, np.inf, -np.inf, "fro", "nuc"]
            if isinstance(axis, tuple)
            else [None, 0, 1, 2, 3.5, -1, np.inf, -np.inf]
        )
    ],
    ("norm all", lambda m, a: m.linalg.norm(a), lambda d: (drawn(2, 3, 4, dtype=d),)),
    ("vector_norm", lambda m, a: m.linalg.vector_norm(a, axis=(0, 2), ord=3), lambda d: (drawn(2, 3, 4, dtype=d),)),
    ("matrix_norm", lambda m, a: m.linalg.matrix_norm(a, ord="nuc"), lambda d: (drawn(2, 3, 4, dtype=d),)),
]


@pytest.mark.parametrize("dtype", ["float64", "float32", "complex128", "complex64", "int32", "float16"])
@pytest.mark.parametrize(("f", "draw"), [case[1:] for case in NUMPY], ids=[case[0] for case in NUMPY])
def test_values_are_numpys(f: Callable[..., Any], draw: Callable[[str], tuple[Any, ...]], dtype: str) -> None:
    args = draw(dtype)
    wide = [a.astype({"float16": "float32", "int32": "float64"}.get(dtype, dtype)) for a in args]
    result = f(cnp, *args)
    expected = f(np, *wide)
    close(result, expected, 30 * TOLERANCE.get(dtype, 2e-4))
    for x in outputs(result):
        if dtype in ("float16", "float32", "float64") and x.dtype.kind == "f":
            assert x.dtype == dtype
        elif dtype == "int32" and x.dtype.kind == "f":
            assert x.dtype == "float32"
    if dtype in ("float64", "complex64"):
        close(ct.jit(lambda *xs: f(cnp, *xs))(*args), expected, 30 * TOLERANCE[dtype])


SHAPES = [(4, 4), (5, 3), (3, 5), (2, 4, 3), (1, 1), (20, 18)]


# Of the processor, which calls LAPACK. Kernels have their own way to vectors of other signs, phases and orders.
LAPACKS_SIGNS = pytest.mark.usefixtures("names_devices")


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
@pytest.mark.parametrize("shape", SHAPES)
def test_factors_are_lapacks(shape: tuple[int, ...], dtype: str) -> None:
    """NumPy calls the same routines, so even signs and phases agree."""
    a = drawn(*shape, dtype=dtype)
    for mode in ("reduced", "complete", "raw"):
        close(tuple(L.qr(a, mode)), tuple(np.linalg.qr(a, mode)), 1e-9)
    assert type(L.svd(a)).__name__ == "SVDResult" and L.qr(a)._fields == ("Q", "R")


@LAPACKS_SIGNS
@pytest.mark.parametrize("dtype", ["float64", "complex128"])
@pytest.mark.parametrize("shape", SHAPES)
def test_vectors_are_lapacks(shape: tuple[int, ...], dtype: str) -> None:
    a = drawn(*shape, dtype=dtype)
    square = a[..., : min(shape[-2:]), : min(shape[-2:])]
    close(tuple(L.eig(square)), tuple(np.linalg.eig(square)))
    close(L.eigvals(square), np.linalg.eigvals(square))
    for full in (True, False):
        close(tuple(L.svd(a, full_matrices=full)), tuple(np.linalg.svd(a, full_matrices=full)))


def close_to_unitary(found: Any) -> None:
    columns = np.asarray(found)
    one = np.broadcast_to(
        np.eye(columns.shape[-1], dtype=columns.dtype), (*columns.shape[:-2], *columns.shape[-1:] * 2)
    )
    close(columns.swapaxes(-1, -2).conj() @ columns, one)


def close_decompositions(found: Any, a: np.ndarray, full: bool) -> None:
    """Of singular values, whatever the signs and phases of their vectors."""
    u, s, vh = (np.asarray(x) for x in found)
    expected = np.linalg.svd(a, full_matrices=full)
    assert [x.shape for x in (u, s, vh)] == [x.shape for x in expected]
    close(s, expected[1])
    few = s.shape[-1]
    close((u[..., :few] * s[..., None, :]) @ vh[..., :few, :], a)
    close_to_unitary(u)
    close_to_unitary(vh.swapaxes(-1, -2).conj())


def in_order(values: Any) -> np.ndarray:
    """Each row by real and imaginary parts, which rounding tells apart nowhere here."""
    rounded = np.asarray(values).astype("complex128").round(9)
    return np.take_along_axis(np.asarray(values), np.lexsort((rounded.imag, rounded.real), axis=-1), -1)


def close_schur_forms(found: Any, a: np.ndarray, complex_form: bool) -> None:
    """Whatever the order of eigenvalues: unitary, and triangular but for blocks of two conjugate ones."""
    t, z = (np.asarray(x) for x in found)
    close_to_unitary(z)
    close(z @ t @ z.conj().T, a, 1e-9)
    assert not np.tril(t, -2).any()
    below = np.diag(t, -1)
    assert not below[:-1][below[1:] != 0].any()
    if complex_form or a.dtype.kind == "c":
        assert not below.any()
    close(in_order(np.linalg.eigvals(t)), in_order(np.linalg.eigvals(a)), 1e-9)


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
@pytest.mark.parametrize("shape", SHAPES)
def test_singular_values_and_vectors(shape: tuple[int, ...], dtype: str) -> None:
    a = drawn(*shape, dtype=dtype)
    for full in (True, False):
        close_decompositions(L.svd(a, full_matrices=full), a, full)


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
@pytest.mark.parametrize("shape", SHAPES)
def test_eigenvalues_and_vectors_of_any_matrix(shape: tuple[int, ...], dtype: str) -> None:
    a = drawn(*shape, dtype=dtype)[..., : min(shape[-2:]), : min(shape[-2:])]
    values, vectors = (np.asarray(x) for x in L.eig(a))
    close(a @ vectors, vectors * values[..., None, :])
    close(np.linalg.norm(vectors, axis=-2), np.ones(values.shape))
    close(in_order(values), in_order(np.linalg.eigvals(a)))
    close(in_order(L.eigvals(a)), in_order(values))


def hermitian_part(shape: tuple[int, ...], dtype: str) -> np.ndarray:
    square = drawn(*shape, dtype=dtype)[..., : min(shape[-2:]), : min(shape[-2:])]
    return square + square.swapaxes(-1, -2).conj()


@LAPACKS_SIGNS
def test_schur_forms_are_lapacks() -> None:
    for dtype in ("float64", "complex128"):
        a = drawn(5, 5, dtype=dtype)
        for output in ("real", "complex"):
            close(S.schur(a, output), scipy.linalg.schur(a, output), 1e-9)


@LAPACKS_SIGNS
@pytest.mark.parametrize("dtype", ["float64", "complex128"])
@pytest.mark.parametrize("shape", SHAPES)
def test_eigenvectors_are_lapacks(shape: tuple[int, ...], dtype: str) -> None:
    h = hermitian_part(shape, dtype)
    for uplo in ("L", "U"):
        close(tuple(L.eigh(h, uplo)), tuple(np.linalg.eigh(h, uplo)))


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
@pytest.mark.parametrize("shape", SHAPES)
def test_eigenvalues_and_vectors(shape: tuple[int, ...], dtype: str) -> None:
    h = hermitian_part(shape, dtype)
    for uplo in ("L", "U"):
        values, vectors = (np.asarray(x) for x in L.eigh(h, uplo))
        close(values, np.linalg.eigvalsh(h, uplo))
        close(h @ vectors, vectors * values[..., None, :])
        close(vectors.swapaxes(-1, -2).conj() @ vectors, np.broadcast_to(np.eye(h.shape[-1], dtype=dtype), h.shape))
        one_triangle = np.tril(h) if uplo == "L" else np.triu(h)
        close(L.eigvalsh(one_triangle, uplo, symmetrize_input=False), np.linalg.eigvalsh(h))
    u, s, vh = L.svd(h, hermitian=True)
    close(cnp.matmul(u * s[..., None, :].astype(dtype), vh), h)
    close(s, np.linalg.svd(h, compute_uv=False))
    close(L.svd(h, hermitian=True, compute_uv=False), s)


def test_without_elements() -> None:
    for shape in [(0, 0), (0, 3), (3, 0), (2, 0, 0), (0, 3, 3)]:
        a = np.zeros(shape)
        assert [x.shape for x in L.svd(a)] == [x.shape for x in np.linalg.svd(a)]
        assert [x.shape for x in L.qr(a)] == [x.shape for x in np.linalg.qr(a)]
        assert L.pinv(a).shape == np.linalg.pinv(a).shape
        if shape[-1] != shape[-2]:
            continue
        close(L.det(a), np.linalg.det(a))
        close(tuple(L.slogdet(a)), tuple(np.linalg.slogdet(a)))
        for f in ("inv", "cholesky", "eigvalsh", "eigvals"):
            assert getattr(L, f)(a).shape == getattr(np.linalg, f)(a).shape
        assert L.solve(a, np.zeros((*shape[:-1], 2))).shape == (*shape[:-1], 2)
        assert S.expm(a).shape == shape and S.sqrtm(a).shape == shape


@pytest.mark.parametrize(("m", "n"), [(5, 3), (3, 5), (4, 4)])
@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_lstsq(m: int, n: int, dtype: str) -> None:
    a, b = drawn(m, n, dtype=dtype), drawn(m, 2, dtype=dtype, seed=1)
    a[:, -1] = a[:, 0]  # not of full rank
    x, residual, rank, s = L.lstsq(a, b)
    expected = np.linalg.lstsq(a, b, rcond=None)
    close((x, s), (expected[0], expected[3]))
    assert int(rank) == expected[2]
    close(residual, np.sum(np.abs(b - a @ expected[0]) ** 2, 0))
    close(L.lstsq(a, b[:, 0])[0], expected[0][:, 0])
    assert L.lstsq(a, b, numpy_resid=True)[1].shape == expected[1].shape
    full = drawn(m, n, dtype=dtype)
    close(L.lstsq(full, b, numpy_resid=True)[1], np.linalg.lstsq(full, b, rcond=None)[1])


def test_failures_are_nan() -> None:
    bad = np.array([[[1.0, 2.0], [2.0, 1.0]], [[1.0, 0.0], [0.0, 1.0]]])
    result = np.asarray(L.cholesky(bad))
    assert np.isnan(result[0][np.tril_indices(2)]).all() and result[0, 0, 1] == 0
    close(result[1], np.eye(2))
    for size in (4, 20):
        large = -np.eye(size)
        assert np.isnan(np.asarray(L.cholesky(large))[np.tril_indices(size)]).all()
        upper = np.asarray(S.cholesky(large))
        assert np.isnan(upper[np.triu_indices(size)]).all() and not upper[np.tril_indices(size, -1)].any()
    for value in (np.nan, np.inf):
        a = np.eye(3)
        a[1, 1] = value
        for f in (
            L.svdvals,
            L.eigvalsh,
            L.eigvals,
            lambda x: L.svd(x)[0],
            lambda x: L.eigh(x)[1],
            lambda x: LL.schur(x)[0],
        ):
            assert np.isnan(np.asarray(f(a))).all()
    singular = np.ones((3, 3))
    assert not np.isfinite(np.asarray(L.inv(np.zeros((2, 2))))).any()
    assert not np.isfinite(np.asarray(L.solve(singular, np.arange(3.0)))).all()
    assert float(L.det(np.ones((4, 4)))) == 0.0
    assert [float(x) for x in L.slogdet(np.zeros((4, 4)))] == [0.0, -np.inf]


# ---- Derivatives -----------------------------------------------------------------------------------------------------

A, H = regular(4, 4, seed=3), hermitian(4, 4, seed=4)
W = drawn(4, 4, seed=9)
SMOOTH: list[tuple[str, Callable[..., Any], tuple[Any, ...]]] = [
    ("cholesky", lambda a: L.cholesky(a), (H,)),
    ("cholesky plain", lambda a: L.cholesky(a, symmetrize_input=False), (H,)),
    ("cholesky upper", lambda a: S.cholesky(a), (H,)),
    ("qr", lambda a: tuple(L.qr(a)), (drawn(5, 3),)),
    ("qr wide", lambda a: tuple(L.qr(a)), (drawn(3, 5),)),
    ("qr pivoting", lambda a: LL.qr(a, pivoting=True, full_matrices=False)[:2], (drawn(5, 3),)),
    ("svd", lambda a: tuple(L.svd(a, full_matrices=False)), (drawn(4, 3),)),
    ("svd square", lambda a: tuple(L.svd(a)), (drawn(3, 3),)),
    ("svdvals", L.svdvals, (drawn(3, 4),)),
    ("svd hermitian", lambda a: L.svd(a, compute_uv=False, hermitian=True), (H,)),
    ("eigh", lambda a: tuple(L.eigh(a)), (H,)),
    ("eigvalsh", lambda a: L.eigvalsh(a), (H,)),
    ("eigvals", lambda a: cnp.sum(L.eigvals(a) ** 3), (A,)),
    ("eig", lambda a: cnp.abs(L.eig(a)[1]), (regular(3, 3, seed=5),)),
    ("solve", L.solve, (A, drawn(4, 2))),
    ("solve vector", L.solve, (A, drawn(4))),
    ("solve broadcast", L.solve, (A, drawn(2, 4, 2))),
    ("inv", L.inv, (A,)),
    ("det", L.det, (A,)),
    ("det 3", L.det, (drawn(3, 3),)),
    ("det batch", L.det, (drawn(2, 4, 4),)),
    ("slogdet", lambda a: L.slogdet(a)[1], (A,)),
    ("pinv", L.pinv, (drawn(4, 3),)),
    ("pinv wide", L.pinv, (drawn(3, 4),)),
    ("lstsq", lambda a, b: L.lstsq(a, b)[0], (drawn(5, 3), drawn(5))),
    ("lstsq residual", lambda a, b: L.lstsq(a, b)[1], (drawn(5, 3), drawn(5, 2))),
    ("matrix_power", lambda a: L.matrix_power(a, -2), (A,)),
    ("norm", L.norm, (A,)),
    ("norm nuc", lambda a: L.norm(a, "nuc"), (A,)),
    ("norm 3", lambda a: L.norm(a, 3, 0), (A,)),
    ("cond", L.cond, (A,)),
    ("multi_dot", lambda a, b: L.multi_dot([a, b, a]), (A, W)),
    ("triangular_solve", lambda a, b: S.solve_triangular(a, b, "T", lower=True), (A, drawn(4, 2))),
    ("cho_solve", lambda a, b: S.cho_solve(S.cho_factor(a), b), (H, drawn(4, 2))),
    ("lu_solve", lambda a, b: S.lu_solve(S.lu_factor(a), b, 1), (A, drawn(4, 2))),
    ("solve pos", lambda a, b: S.solve((a + a.T) / 2, b, assume_a="pos"), (H, drawn(4))),
    ("lu", lambda a: S.lu(a)[1:], (A,)),
    ("expm", S.expm, (A / 4,)),
    ("expm large", lambda a: S.expm(a) / 1e3, (2 * A,)),
    ("expm_frechet", lambda a, e: S.expm_frechet(a / 4, e), (A, W)),
    ("solve_sylvester", S.solve_sylvester, (A, H, W)),
    ("polar", lambda a: S.polar(a), (drawn(4, 3),)),
    ("polar left", lambda a: S.polar(a, "left"), (drawn(3, 4),)),
    ("polar of equal singular values", lambda a: S.polar(a), (np.eye(3),)),
    ("sqrtm", lambda a: S.sqrtm(a), (H,)),
    ("sqrtm of equal eigenvalues", lambda a: S.sqrtm(a), (np.eye(3),)),
    ("toeplitz", S.toeplitz, (drawn(3), drawn(4))),
    ("tridiagonal_solve", LL.tridiagonal_solve, (drawn(5), drawn(5, seed=1), drawn(5, seed=2), drawn(5, 2))),
    ("householder_product", LL.householder_product, (drawn(4, 3), drawn(3))),
    ("cholesky_update", LL.cholesky_update, (np.linalg.cholesky(H).T, drawn(4))),
    ("eigh pair", lambda a, b: S.eigh(a, b, eigvals_only=True), (W + W.T, H)),
]


@pytest.mark.parametrize(("f", "args"), [case[1:] for case in SMOOTH], ids=[case[0] for case in SMOOTH])
def test_derivatives_to_second_order_in_both_modes(f: Callable[..., Any], args: tuple[Any, ...]) -> None:
    ct.test_util.check_grads(f, args, order=2, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    ("f", "args"),
    [
        (L.det, (drawn(4, 4, dtype="complex128"),)),
        (lambda a: tuple(L.slogdet(a)), (regular(4, 4, dtype="complex128"),)),
        (L.solve, (regular(3, 3, dtype="complex128"), drawn(3, 2, dtype="complex128"))),
        (L.pinv, (drawn(4, 2, dtype="complex128"),)),
        (L.cholesky, (hermitian(3, 3, dtype="complex128"),)),
        (lambda a: L.eigvals(a) ** 2, (regular(3, 3, dtype="complex128"),)),
        (lambda a: S.expm(a), (drawn(3, 3, dtype="complex128"),)),
        (lambda a: S.sqrtm(a), (regular(3, 3, dtype="complex128"),)),
        (lambda a: S.polar(a), (drawn(3, 2, dtype="complex128"),)),
        (L.norm, (drawn(3, dtype="complex128"),)),
    ],
    ids=["det", "slogdet", "solve", "pinv", "cholesky", "eigvals", "expm", "sqrtm", "polar", "norm"],
)
def test_derivatives_of_complex_functions(f: Callable[..., Any], args: tuple[Any, ...]) -> None:
    ct.test_util.check_grads(f, args, order=2, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("rank", [0, 1, 2, 3, 4])
@pytest.mark.parametrize("n", [3, 4, 5])
def test_gradient_of_det_is_the_adjugate_at_every_rank(n: int, rank: int) -> None:
    a = (drawn(n, rank) @ drawn(rank, n, seed=1)).round(1) if rank < n else drawn(n, n)
    minors = np.array([[np.linalg.det(np.delete(np.delete(a, i, 0), j, 1)) for j in range(n)] for i in range(n)])
    signs = (-1.0) ** np.add.outer(np.arange(n), np.arange(n))
    close(ct.grad(L.det)(a), minors * signs, 1e-8)


def _by_fractions(a: np.ndarray) -> float:
    """The determinant, by expansion."""

    def expanded(rows: list[list[Fraction]]) -> Fraction:
        if not rows:
            return Fraction(1)
        first, *rest = rows
        signs = itertools.cycle((1, -1))
        return sum(
            (s * x * expanded([r[:j] + r[j + 1 :] for r in rest]) for j, (s, x) in enumerate(zip(signs, first))),
            Fraction(0),
        )

    return float(expanded([[Fraction(float(x)) for x in row] for row in a]))


@pytest.mark.parametrize("shape", [(4, 3), (3, 5), (1, 2), (2, 1)])
def test_lu_factor_takes_matrices_of_any_shape(shape: tuple[int, int]) -> None:
    a = drawn(*shape)
    factors, pivots = S.lu_factor(a)
    expected, rows = scipy.linalg.lu_factor(a)
    np.testing.assert_allclose(factors, expected, rtol=1e-6, atol=1e-6)
    np.testing.assert_array_equal(pivots, rows)
    ct.test_util.check_grads(lambda a: S.lu_factor(a)[0], (np.float64(a),), order=2)


def test_det_and_its_gradient_hold_where_parts_of_them_overflow() -> None:
    rng = np.random.default_rng(0)
    for scales in ([1e20, 1e-15, 1e20, 1e-15], [1e15, 1e15, 1e15, 1e-15], [1e-15] * 3 + [1e20], [1e12] * 5):
        a = (np.diag(scales) @ rng.standard_normal((len(scales), len(scales)))).astype(np.float32)
        wide = a.astype(np.float64)
        determinant = np.linalg.det(wide)
        np.testing.assert_allclose(float(L.det(a)), np.float32(determinant), rtol=1e-4)
        adjugate = determinant * np.linalg.inv(wide).T
        expected = np.where(abs(adjugate) < 1e38, adjugate, np.inf * np.sign(adjugate))
        np.testing.assert_allclose(np.asarray(ct.grad(L.det)(a)), expected, rtol=1e-3, atol=1e-36)
    for a in (
        [[1e-20, 0, 0], [0, 1e20, 0], [0, 0, 1e20]],
        [[1e-20, 1e-20, 2e-20], [1e20, -2e20, 1e20], [3e20, 1e20, 1e20]],
        [[0, 1e20, 0], [1e-20, 1e20, 0], [0, 1e20, 1]],
        [[1e20, 1e20], [1e20, 1e20]],
        [[1e13, 0, 0], [0, 1e13, 0], [0, 0, 1e13]],
    ):
        x = np.array(a, np.float32)
        minors = [[np.delete(np.delete(x, i, 0), j, 1).astype(float) for j in range(len(a))] for i in range(len(a))]
        cofactors = [[(-1) ** (i + j) * _by_fractions(m) for j, m in enumerate(row)] for i, row in enumerate(minors)]
        with np.errstate(over="ignore"):
            np.testing.assert_allclose(L.det(x), np.float32(_by_fractions(x)), rtol=1e-5)
            np.testing.assert_allclose(ct.jit(ct.grad(L.det))(x), np.float32(cofactors), rtol=1e-5)
    many = np.diag(np.full(300, 1.9, np.float32))
    many[::2] /= 1.9**2
    close(L.det(many), np.linalg.det(many.astype(np.float64)), 1e-4)


def test_gradient_of_det_with_a_zero_pivot_before_the_last() -> None:
    a = np.array([[0.0, 1.0, 2.0, 1.0], [0.0, 3.0, 1.0, 0.0], [0.0, 1.0, 1.0, 5.0], [0.0, 2.0, 0.0, 1.0]])
    minors = [np.linalg.det(np.delete(np.delete(a, i, 0), 0, 1)) * (-1) ** i for i in range(4)]
    gradient = np.asarray(ct.grad(L.det)(a))
    close(gradient[:, 0], np.array(minors))
    assert not gradient[:, 1:].any()


@pytest.mark.parametrize(
    "name", ["det", "slogdet", "inv", "pinv", "cholesky", "eigvalsh", "svdvals", "norm", "lstsq", "solve", "expm"]
)
def test_gradients_are_those_of_jax(name: str) -> None:
    """In float32, of the same real function of all results."""
    a = (hermitian(4, 4, dtype="float32") / 4).astype(np.float32)
    b = drawn(4, 2, dtype="float32")

    def total(linalg: Any, xp: Any, tree: Any) -> Any:
        def f(x: Any, y: Any) -> Any:
            function = getattr(linalg, name)
            results = function(x, y) if name in ("lstsq", "solve") else function(x)
            results = results if isinstance(results, tuple) else (results,)
            return sum(xp.sum(xp.sin(r)) for r in results if r.dtype == "float32")

        return f

    ours = ct.grad(total(S if name == "expm" else L, cnp, None), argnums=(0, 1))(a, b)
    jax_module = jax.scipy.linalg if name == "expm" else jax.numpy.linalg
    theirs = jax.grad(total(jax_module, jax.numpy, None), argnums=(0, 1))(a, b)
    close(ours, theirs, 2e-3)


def test_norm_at_zero_has_gradient_zero() -> None:
    for f in (L.norm, lambda x: L.norm(x, 3, 0), lambda x: cnp.sum(L.norm(x[None], axis=1)), L.vector_norm):
        assert np.asarray(ct.grad(f)(np.zeros(3))).tolist() == [0.0, 0.0, 0.0]
    assert np.isnan(float(L.norm(np.array([1.0, np.nan]))))


def test_vectors_of_equal_values_have_no_derivative_but_values_do() -> None:
    a = np.eye(3)
    close(ct.jacfwd(lambda x: cnp.sum(L.eigvalsh(x)))(a), np.eye(3))
    close(ct.grad(lambda x: cnp.sum(L.svdvals(x)))(a), np.eye(3))
    assert not np.isfinite(np.asarray(ct.jacfwd(lambda x: L.eigh(x)[1])(a))).all()


def test_second_use_of_a_factorisation_is_free() -> None:
    """The gradient of a solution uses the factors that the solution was computed with."""
    graph = ct.make_ir(ct.value_and_grad(lambda a, b: cnp.sum(L.solve(a, b))))(A, drawn(4))
    names = [equation["primitive"] for equation in graph.equations()]
    assert names.count("lu") == 1 and names.count("lu_solve") == 2


# ---- vmap and mask ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "f",
    [
        lambda a, b: L.solve(a, b),
        lambda a, b: L.inv(a) @ b,
        lambda a, b: L.det(a) * b,
        lambda a, b: L.slogdet(a)[1] * b,
        lambda a, b: L.pinv(a) @ b,
        lambda a, b: L.lstsq(a, b)[0],
        lambda a, b: S.expm(a) @ b,
        lambda a, b: S.sqrtm(a) @ b,
        lambda a, b: S.solve_sylvester(a, a, b),
        lambda a, b: S.cho_solve(S.cho_factor(a + a.T + 9 * cnp.eye(3)), b),
        lambda a, b: L.norm(a, "nuc") * b,
        lambda a, b: L.eigh(a + a.T)[1] ** 2 @ b,
        lambda a, b: LL.hessenberg(a)[0] @ b,
    ],
    ids=[
        "solve",
        "inv",
        "det",
        "slogdet",
        "pinv",
        "lstsq",
        "expm",
        "sqrtm",
        "sylvester",
        "cho",
        "norm",
        "eigh",
        "hess",
    ],
)
def test_vmap_is_a_loop(f: Callable[..., Any]) -> None:
    a, b = regular(3, 3, 3, seed=2), drawn(3, 3, 3)
    for axes in [(0, 0), (0, None), (None, 1)]:
        pick = lambda x, axis, i: x[0] if axis is None else np.take(x, i, axis)  # noqa: E731
        expected = np.stack([np.asarray(f(pick(a, axes[0], i), pick(b, axes[1], i))) for i in range(3)])
        inputs = [x[0] if axis is None else x for x, axis in zip((a, b), axes, strict=True)]
        close(ct.vmap(f, in_axes=axes)(*inputs), expected, 1e-9)
        gradient = ct.vmap(ct.grad(lambda x, y: cnp.sum(cnp.real(f(x, y)) ** 2)), in_axes=axes)(*inputs)
        loop = [
            ct.grad(lambda x, y: cnp.sum(cnp.real(f(x, y)) ** 2))(pick(a, axes[0], i), pick(b, axes[1], i))
            for i in range(3)
        ]
        close(gradient, np.stack([np.asarray(g) for g in loop]), 1e-7)


MASKED: list[tuple[str, Callable[..., Any], bool]] = [
    ("solve", L.solve, True),
    ("solve matrix", lambda a, b: L.solve(a, cnp.stack([b, 2 * b], 1)), True),
    ("inv", lambda a, b: L.inv(a) @ b, True),
    ("det", lambda a, b: L.det(a), True),
    ("slogdet", lambda a, b: L.slogdet(a)[1], True),
    ("cholesky", lambda a, b: L.cholesky(a @ a.T + cnp.eye(a.shape[0])) @ b, True),
    ("cholesky upper", lambda a, b: S.cholesky(a @ a.T + cnp.eye(a.shape[0])) @ b, True),
    ("eigvalsh", lambda a, b: L.eigvalsh(a), True),
    ("svdvals", lambda a, b: L.svdvals(a), True),
    ("pinv", lambda a, b: L.pinv(a) @ b, True),
    ("lstsq", lambda a, b: L.lstsq(a, b)[0], True),
    ("matrix_power", lambda a, b: L.matrix_power(a, 3) @ b, True),
    ("expm", lambda a, b: S.expm(a / 4) @ b, True),
    ("norm", lambda a, b: L.norm(a) + L.norm(b, 1), True),
    ("norm 2", lambda a, b: L.norm(a, 2) + L.norm(a, 1), True),
    ("cond", lambda a, b: L.cond(a), False),
    ("matrix_rank", lambda a, b: L.matrix_rank(a), False),
]


@pytest.mark.parametrize(("f", "smooth"), [case[1:] for case in MASKED], ids=[case[0] for case in MASKED])
def test_mask_is_the_leading_part(f: Callable[..., Any], smooth: bool) -> None:
    a, b = regular(4, 4, seed=7), drawn(4)
    for n in (1, 3, 4):
        padded_a, padded_b = np.full((4, 4), np.nan), np.full(4, np.inf)
        padded_a[:n, :n], padded_b[:n] = a[:n, :n], b[:n]
        ragged = (ct.Ragged(padded_a, {0: n, 1: n}, {0: "n", 1: "n"}), ct.Ragged(padded_b, {0: n}, {0: "n"}))
        exact = (a[:n, :n].copy(), b[:n].copy())
        for g in (ct.mask(f), ct.jit(ct.mask(f))):
            result = g(*ragged)
            close(result.unpad() if isinstance(result, ct.Ragged) else result, f(*exact), 1e-9)
        if smooth:
            total = lambda x, y: cnp.sum(f(x, y) ** 2)  # noqa: E731
            gradient = np.asarray(ct.grad(ct.mask(total))(*ragged).data)
            close(gradient[:n, :n], ct.grad(total)(*exact), 1e-8)
            assert not gradient[n:].any() and not gradient[:, n:].any()


def test_ragged_batching_of_least_squares() -> None:
    """One compile for examples of every number of rows."""
    rows = [drawn(n, 2, seed=n) for n in (2, 5, 3)]
    batch = ct.ragged(rows)
    gram = ct.vmap(ct.mask(lambda x: L.qr(x)[1]))(batch)
    for r, x in zip(np.asarray(gram.data if isinstance(gram, ct.Ragged) else gram), rows, strict=True):
        close(np.abs(r), np.abs(np.linalg.qr(x)[1]))


# ---- ct.lax.linalg and ct.scipy.linalg -------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_reflections_are_lapacks(dtype: str) -> None:
    a = drawn(5, 5, dtype=dtype)
    (packed, taus), _ = scipy.linalg.qr(a[:, :3], mode="raw")
    close(LL.householder_product(packed, taus), scipy.linalg.qr(a[:, :3], mode="economic")[0])
    q = scipy.linalg.qr(a[:, :3])[0]
    for left in (True, False):
        for transpose in (True, False):
            op = q.conj().T if transpose else q
            close(LL.ormqr(packed, taus, a, left=left, transpose=transpose), op @ a if left else a @ op)
    h, q = S.hessenberg(a, calc_q=True)
    close((h, q), scipy.linalg.hessenberg(a, calc_q=True))
    # In parts.
    for n in (65, 130):
        x = drawn(n, n)
        close(S.hessenberg(x, calc_q=True), scipy.linalg.hessenberg(x, calc_q=True), 1e-9)
    for lower in (True, False):
        s = a + a.conj().T
        _, d, e, _ = LL.tridiagonal(s, lower=lower)
        t = np.diag(np.asarray(d)) + np.diag(np.asarray(e), 1) + np.diag(np.asarray(e), -1)
        close(np.linalg.eigvalsh(t), np.linalg.eigvalsh(s))


def test_pivots_systems_and_updates() -> None:
    a, b = regular(5, 5), drawn(5, 2)
    factors, pivots, permutation = LL.lu(a)
    close(LL.lu_pivots_to_permutation(pivots, 5), permutation)
    for trans, op in [(0, a), (1, a.T), (2, a.conj().T)]:
        close(LL.lu_solve(factors, permutation, b, trans), np.linalg.solve(op, b))
        close(S.lu_solve((factors, pivots), b[:, 0], trans), np.linalg.solve(op, b[:, 0]))
    dl, d, du = drawn(3, 6), drawn(3, 6, seed=1), drawn(3, 6, seed=2)
    d[0, 0] = 0.0  # needs an exchange
    right = drawn(3, 6, 2)
    dense = [np.diag(d[i]) + np.diag(dl[i, 1:], -1) + np.diag(du[i, :-1], 1) for i in range(3)]
    close(LL.tridiagonal_solve(dl, d, du, right), np.linalg.solve(np.stack(dense), right), 1e-8)
    r, w = np.linalg.cholesky(hermitian(4, 4)).T, drawn(4)
    close(LL.cholesky_update(r, w), np.linalg.cholesky(r.T @ r + np.outer(w, w)).T)
    close(LL.symmetric_product(b, a, alpha=2.0, beta=0.5), 2 * b @ b.T + a / 2)
    close(
        LL.triangular_solve(a, b[:, 0], left_side=True, lower=True),
        scipy.linalg.solve_triangular(a, b[:, 0], lower=True),
    )


def test_scipys_factorisations() -> None:
    for dtype in ("float64", "complex128"):
        a, h = drawn(5, 5, dtype=dtype), hermitian(5, 5, dtype=dtype)
        for part in (a, a[:, :3], a[:3]):
            close(S.lu(part), scipy.linalg.lu(part))
            close(S.lu(part, permute_l=True), scipy.linalg.lu(part, permute_l=True))
            close(S.qr(part), scipy.linalg.qr(part))
            close(S.qr(part, mode="economic", pivoting=True), scipy.linalg.qr(part, mode="economic", pivoting=True))
            close(S.qr(part, mode="r"), scipy.linalg.qr(part, mode="r"))
            close_decompositions(S.svd(part), part, True)
            close(S.polar(part), scipy.linalg.polar(part), 1e-9)
            close(S.polar(part, "left"), scipy.linalg.polar(part, "left"), 1e-9)
        close(S.qr_multiply(a[:, :3], h), scipy.linalg.qr_multiply(a[:, :3], h))
        close(S.qr_multiply(a[:, :3], h[:3], "left"), scipy.linalg.qr_multiply(a[:, :3], h[:3], "left"))
        close(S.cholesky(h), scipy.linalg.cholesky(h))
        close(S.cholesky(np.triu(h)), scipy.linalg.cholesky(h))
        close(S.cholesky(np.tril(h), lower=True), scipy.linalg.cholesky(h, lower=True))
        large = hermitian(40, 40, dtype=dtype)
        close(S.cholesky(np.triu(large)), scipy.linalg.cholesky(large))
        close(S.cho_solve(S.cho_factor(h), a), scipy.linalg.solve(h, a))
        close(S.solve(h, a[0], assume_a="pos", lower=True), scipy.linalg.solve(h, a[0]))
        close_schur_forms(S.schur(a), a, complex_form=False)
        close_schur_forms(S.schur(a, "complex"), a, complex_form=True)
        close(S.rsf2csf(*scipy.linalg.schur(a)), scipy.linalg.rsf2csf(*scipy.linalg.schur(a)), 1e-9)
        for kind in (1, 2, 3):
            w, v = S.eigh(h, hermitian(5, 5, dtype=dtype, seed=1), type=kind)
            expected = scipy.linalg.eigh(h, hermitian(5, 5, dtype=dtype, seed=1), type=kind)
            close((w, np.abs(np.asarray(v))), (expected[0], np.abs(expected[1])), 1e-8)
    main, beside = drawn(6), drawn(5, seed=1)
    w, v = S.eigh_tridiagonal(main, beside)
    close(
        (w, np.abs(np.asarray(v))),
        [np.abs(x) if i else x for i, x in enumerate(scipy.linalg.eigh_tridiagonal(main, beside))],
    )
    close(S.eigh_tridiagonal(main, beside, eigvals_only=True, select="i", select_range=(1, 3)), np.asarray(w)[1:4])
    above = drawn(5, dtype="complex128", seed=1)
    w, v = S.eigh_tridiagonal(main.astype("complex128"), above)
    matrix = np.diag(main) + np.diag(above, 1) + np.diag(above.conj(), -1)
    close(matrix @ np.asarray(v), np.asarray(v) * np.asarray(w))


@pytest.mark.parametrize("scale", [1e-3, 0.3, 3.0, 30.0])
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
def test_expm(dtype: str, scale: float) -> None:
    a = (scale * drawn(2, 4, 4, dtype=dtype)).astype(dtype)
    expected = scipy.linalg.expm(a.astype("complex128" if a.dtype.kind == "c" else "float64"))
    close(S.expm(a), expected, 300 * TOLERANCE[dtype])
    upper = np.triu(a[0])
    close(S.expm(upper, upper_triangular=True), scipy.linalg.expm(upper), 300 * TOLERANCE[dtype])
    assert np.isnan(np.asarray(S.expm(a * 1e9))).all()
    assert S.expm(a).dtype == dtype


def test_matrix_functions() -> None:
    a, h = drawn(4, 4, seed=8), hermitian(4, 4)
    for x in (a, h, drawn(3, 3, dtype="complex128")):
        close(S.sqrtm(x) @ S.sqrtm(x), x + 0j, 1e-9)
        close(S.sqrtm(x), scipy.linalg.sqrtm(x), 1e-9)
    close(S.sqrtm(np.zeros((3, 3))), np.zeros((3, 3)))
    # In blocks, with one that is not full, and roots that are 0.
    for n in (49, 100):
        x = np.stack([drawn(n, n) / 10 + k * np.eye(n) for k in (2, 3)])
        close(S.sqrtm(x)[1], scipy.linalg.sqrtm(x[1]), 1e-9)
        close(ct.jit(S.sqrtm)(x) @ S.sqrtm(x), x + 0j, 1e-9)
    zeros = np.diag(np.maximum(np.arange(100.0) - 60, 0))
    close(S.sqrtm(zeros), np.sqrt(zeros) + 0j)
    close(S.funm(a, cnp.exp), scipy.linalg.expm(a), 1e-8)
    value, error = S.funm(a, lambda x: x**2, disp=False)
    close(value, a @ a + 0j, 1e-9)
    assert float(error) < 1e-8
    close(S.expm_frechet(a, h), scipy.linalg.expm_frechet(a, h), 1e-9)
    close(S.solve_sylvester(a, h, a), scipy.linalg.solve_sylvester(a, h, a), 1e-9)
    assert np.isnan(np.asarray(S.solve_sylvester(np.eye(2), -np.eye(2), np.ones((2, 2))))).all()


@pytest.mark.parametrize(
    ("name", "args"),
    [
        ("toeplitz", ([1, 2, 3],)),
        ("toeplitz", ([1, 2, 3j], [5.0, 6.0])),
        ("hankel", ([1, 2, 3],)),
        ("hankel", ([1, 2, 3], [3, 7, 8, 9])),
        ("circulant", ([1, 2, 3],)),
        ("companion", ([2.0, 2, 3],)),
        ("fiedler", ([1.0, 2, 5],)),
        ("fiedler_companion", ([2.0, 2, 3, 4, 5, 7],)),
        ("leslie", ([0.1, 2, 1], [0.2, 0.8])),
        ("convolution_matrix", ([1, 2, 3], 4)),
        ("convolution_matrix", ([1, 2, 3, 4], 2, "same")),
        ("convolution_matrix", ([1, 2, 3], 5, "valid")),
        ("hilbert", (4,)),
        ("invhilbert", (5,)),
        ("pascal", (5,)),
        ("pascal", (4, "upper")),
        ("invpascal", (4,)),
        ("invpascal", (4, "lower")),
        ("helmert", (4,)),
        ("helmert", (4, True)),
        ("hadamard", (4,)),
        ("dft", (5, "sqrtn")),
        ("block_diag", ([[1, 2]], 3, [4, 5])),
        ("block_diag", ()),
    ],
)
def test_special_matrices(name: str, args: tuple[Any, ...]) -> None:
    close(getattr(S, name)(*args), getattr(scipy.linalg, name)(*args), 1e-6)


# ---- dtypes and errors -----------------------------------------------------------------------------------------------


def test_narrow_dtypes_are_computed_in_float32() -> None:
    a = cnp.asarray(hermitian(3, 3)).astype("bfloat16")
    for f in (L.inv, L.cholesky, L.det, L.pinv, S.expm):
        assert f(a).dtype == "bfloat16"
    assert L.eigh(a).eigenvectors.dtype == "bfloat16" and L.eigvals(a).dtype == "complex64"
    assert LL.cholesky(np.eye(2, dtype=np.float16)).dtype == "float16"
    assert L.solve(a, np.ones(3, np.float32)).dtype == "float32"
    assert L.inv([[1, 2], [3, 4]]).dtype == "float32"


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: L.inv(np.ones((2, 3))), L.LinAlgError, "inv.*shape \\[..., n, n\\]"),
        (lambda: L.cholesky(np.ones(3)), ValueError, "matrices"),
        (lambda: L.solve(np.eye(3), np.ones(2)), ValueError, "does not fit"),
        (lambda: L.solve(np.ones((2, 3, 3)), np.ones((2, 3))), ValueError, "b\\[..., None\\]"),
        (lambda: L.qr(np.eye(2), "bad"), ValueError, "mode"),
        (lambda: L.eigh(np.eye(2), "X"), ValueError, "UPLO"),
        (lambda: L.slogdet(np.eye(2), method="bad"), ValueError, "method"),
        (lambda: L.pinv(np.eye(2), rtol=1.0, rcond=1.0), ValueError, "give one of them"),
        (lambda: L.matrix_rank(np.eye(2), rtol=1.0, tol=1.0), ValueError, "give one of them"),
        (lambda: L.norm(np.ones((2, 2, 2)), 2), ValueError, "one axis"),
        (lambda: L.norm(np.ones(2), "fro", 0), ValueError, "order"),
        (lambda: L.norm(np.ones((2, 2)), 5), ValueError, "order"),
        (lambda: L.matrix_power(np.eye(2), 1.5), TypeError, "integer"),
        (lambda: L.multi_dot([np.eye(2)]), ValueError, "at least two"),
        (lambda: L.multi_dot([np.eye(2), np.eye(3)]), TypeError, "as long as"),
        (lambda: L.cross(np.ones(2), np.ones(2)), ValueError, "3 elements"),
        (lambda: L.outer(np.ones((2, 2)), np.ones(2)), ValueError, "one axis"),
        (lambda: L.tensorinv(np.ones((2, 3)), 1), ValueError, "as many elements"),
        (lambda: L.tensorsolve(np.ones((2, 3)), np.ones(2)), ValueError, "as many elements"),
        (lambda: L.lstsq(np.ones((2, 3)), np.ones(3)), ValueError, "lstsq"),
        (lambda: LL.lu(np.ones(3)), TypeError, "takes matrices"),
        (lambda: LL.cholesky(np.eye(2, dtype=np.int32)), TypeError, "float"),
        (lambda: LL.triangular_solve(np.eye(2), np.eye(2, dtype=np.float32)), TypeError, "equal dtypes"),
        (lambda: LL.triangular_solve(np.eye(2), np.ones((2, 3))), TypeError, "columns of|does not fit"),
        (lambda: LL.lu_solve(np.eye(2), np.arange(2), np.ones(3)), TypeError, "do not fit"),
        (lambda: LL.schur(np.eye(2), sort_eig_vals=True), NotImplementedError, "sort"),
        (lambda: S.solve(np.eye(2), np.ones(2), assume_a="bad"), ValueError, "assume_a"),
        (lambda: S.solve_triangular(np.eye(2), np.ones(2), trans=3), ValueError, "trans"),
        (lambda: S.polar(np.eye(2), "up"), ValueError, "side"),
        (lambda: S.hadamard(3), ValueError, "power of 2"),
        (lambda: ct.grad(lambda a: cnp.sum(LL.schur(a)[0]))(np.eye(2)), ct.errors.NotDifferentiableError, "schur"),
        (lambda: ct.grad(lambda a: cnp.sum(L.svd(a)[0]))(np.ones((3, 2))), TypeError, "full_matrices=False"),
        (lambda: ct.grad(lambda a: cnp.sum(L.qr(a, "complete")[0]))(np.ones((3, 2))), TypeError, "reduced"),
    ],
)
def test_errors(call: Callable[[], Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call()


def test_a_missing_lapack_is_a_clear_error() -> None:
    program = "import numpy, cotangent as ct\ntry: ct.numpy.linalg.eigvals(numpy.eye(3))\nexcept NotImplementedError as e: print(e)"
    run = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "COTANGENT_LAPACK": "/nowhere/liblapack.so", "CT_DEVICE": "cpu"},  # kernels need none
        capture_output=True,
        text=True,
        check=True,
    )
    assert "LAPACK" in run.stdout and "pip install numpy" in run.stdout and "/nowhere" in run.stdout


@pytest.mark.skipif(not SYSTEM_LAPACK.exists(), reason="the system has no LAPACK")
def test_the_systems_lapack_serves_as_well() -> None:
    """With 32-bit integers."""
    program = """
import numpy as np, cotangent as ct
a = np.random.default_rng(0).standard_normal((2, 20, 20))
for x in (a, a + 1j * a[::-1]):
    L = ct.numpy.linalg
    h = x @ x.swapaxes(-1, -2).conj() + np.eye(20)
    np.testing.assert_allclose(L.inv(x), np.linalg.inv(x), rtol=1e-8)
    np.testing.assert_allclose(L.cholesky(h), np.linalg.cholesky(h), rtol=1e-8)
    np.testing.assert_allclose(L.eigvalsh(h), np.linalg.eigvalsh(h), rtol=1e-8)
    np.testing.assert_allclose(L.svdvals(x), np.linalg.svdvals(x), rtol=1e-8)
    np.testing.assert_allclose(np.abs(L.qr(x)[1]), np.abs(np.linalg.qr(x)[1]), rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(np.sum(np.asarray(L.eigvals(x)), -1), np.trace(x, axis1=1, axis2=2), rtol=1e-8)
    q, r, p = ct.lax.linalg.qr(x, pivoting=True)
    np.testing.assert_allclose(q @ r, np.take_along_axis(x, np.asarray(p)[:, None, :], -1), rtol=1e-7, atol=1e-9)
    t, z = ct.lax.linalg.schur(x)
    z = np.asarray(z)
    np.testing.assert_allclose(z @ np.asarray(t) @ z.swapaxes(-1, -2).conj(), x, rtol=1e-7, atol=1e-8)
print("same")
"""
    run = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "COTANGENT_LAPACK": str(SYSTEM_LAPACK)},
        capture_output=True,
        text=True,
    )
    assert run.stdout.strip() == "same", run.stderr


SLOPED = {
    "toeplitz": lambda la, x: la.toeplitz(x, x[:3]),
    "toeplitz of few rows": lambda la, x: la.toeplitz(x[:3], x),
    "hankel": lambda la, x: la.hankel(x, x[:3]),
    "hankel of few rows": lambda la, x: la.hankel(x[:3], x),
    "circulant": lambda la, x: la.circulant(x),
    "companion": lambda la, x: la.companion(x),
    "leslie": lambda la, x: la.leslie(x[:4], x[4:]),
    "convolution_matrix": lambda la, x: la.convolution_matrix(x, 3),
    "convolution_matrix, valid": lambda la, x: la.convolution_matrix(x, 12, "valid"),
}


@pytest.mark.parametrize("name", SLOPED)
def test_matrices_of_vectors_and_their_derivatives_are_made_without_indices(name: str) -> None:
    """Windows of the vector, or its rows: a gather has a scatter for its derivative."""
    x = np.random.default_rng(0).uniform(1, 2, 7)
    expected = SLOPED[name](scipy.linalg, x)
    weights = np.random.default_rng(1).normal(size=expected.shape)

    def loss(x: Any) -> Any:
        return cnp.sum(SLOPED[name](ct.scipy.linalg, x) * weights)

    np.testing.assert_allclose(ct.jit(lambda x: SLOPED[name](ct.scipy.linalg, x))(x), expected, rtol=1e-12)
    slopes = [
        np.sum((SLOPED[name](scipy.linalg, x + h) - SLOPED[name](scipy.linalg, x - h)) * weights) / 2e-6
        for h in 1e-6 * np.eye(7)
    ]
    np.testing.assert_allclose(ct.jit(ct.grad(loss))(x), slopes, rtol=1e-5, atol=1e-5)
    for program in (loss, ct.grad(loss)):
        assert not any(word in str(ct.make_ir(program)(x)) for word in ("gather", "scatter"))


@pytest.mark.parametrize(
    ("matrix", "right"),
    [((3, 4, 4), (4,)), ((3, 4, 4), (4, 2)), ((4, 4), (3, 4, 2)), ((2, 1, 4, 4), (3, 4, 2))],
)
def test_cho_solve_broadcasts_batches(matrix: tuple[int, ...], right: tuple[int, ...]) -> None:
    factor, b = np.tril(regular(*matrix)), drawn(*right)
    for lower, c in ((True, factor), (False, factor.swapaxes(-1, -2))):
        close(S.cho_solve((c, lower), b), scipy.linalg.cho_solve((c, lower), b), 1e-9)


@pytest.mark.parametrize("shapes", [((3, 4, 4), (4, 4)), ((4, 4), (3, 4, 4))])
def test_rsf2csf_broadcasts_batches(shapes: tuple[tuple[int, ...], tuple[int, ...]]) -> None:
    forms = [scipy.linalg.schur(drawn(4, 4, seed=k)) for k in range(3)]
    t, z = (np.stack([form[i] for form in forms]) if len(shapes[i]) == 3 else forms[0][i] for i in range(2))
    close(S.rsf2csf(t, z), scipy.linalg.rsf2csf(t, z), 1e-9)


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
def test_rsf2csf_rotates_what_scipy_rotates(dtype: str) -> None:
    # Which of two eigenvalues comes first is LAPACK's choice, and what does not belong to the form stays.
    t, z = drawn(6, 6, dtype=dtype), drawn(6, 6, dtype=dtype, seed=1)
    close(S.rsf2csf(t, z), scipy.linalg.rsf2csf(t, z), 1e-4 if dtype in ("float32", "complex64") else 1e-11)


@pytest.mark.parametrize("n", [2, 5, 20])
def test_functions_of_real_matrices_with_negative_eigenvalues(n: int) -> None:
    # On the branch cut of the root stands the eigenvalue itself, without an imaginary part of rounding.
    for seed in range(4):
        a = drawn(n, n, seed=seed)
        a = a - 0.5 * np.eye(n)
        close(S.sqrtm(a), scipy.linalg.sqrtm(a), 1e-7)
        if n < 20:
            close(S.funm(a, lambda x: x**-1.5), scipy.linalg.funm(a, lambda x: x**-1.5), 1e-7)
        assert np.linalg.eigvals(a).real.min() < 0
