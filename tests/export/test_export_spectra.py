"""svd, eig, schur, sylvester and pivoted qr where there is no LAPACK: exported programs, and steps of GPUs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import cotangent as ct
import cotangent.numpy as cnp
import numpy as np
import pytest
from cotangent import _core
from exported_calls import call_exported

DTYPES = ("float32", "float64", "complex64", "complex128")


@pytest.fixture
def by_turns(request: pytest.FixtureRequest, long_run: bool) -> None:
    """Of cases that are compiled one by one a half, each dtype with other sizes, unless all are asked for."""
    indices = dict(request.node.callspec.indices)
    if not long_run and (indices.pop("dtype") + next(iter(indices.values()))) % 2:
        pytest.skip("the other half: with --long")


# Backward errors, in units of the precision times the norm.
ALLOWED = 60


def drawn(shape: tuple[int, ...], dtype: str, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    x = rng.standard_normal(shape)
    if dtype.startswith("complex"):
        x = x + 1j * rng.standard_normal(shape)
    return x.astype(dtype)


def adjoint(x: np.ndarray) -> np.ndarray:
    return x.conj().swapaxes(-1, -2)


def matrices(n: int, dtype: str) -> np.ndarray:
    """Random, graded, of rank 2, repeated and defective, with zeros, tiny and huge ones."""
    wide = "complex128" if dtype.startswith("complex") else "float64"
    a = drawn((n, n), wide)
    grades = np.logspace(0, -12, n)
    jordan = np.eye(n) * 2 + np.eye(n, k=1)
    tiny, huge = (1e-30, 1e30) if dtype in ("float32", "complex64") else (1e-250, 1e250)
    cycle = np.roll(np.eye(n), 1, axis=0)
    all_of_them = [
        a,
        a * grades,
        grades[:, None] * a,
        a[:, :2] @ a[:2],
        np.linalg.qr(a)[0] * 3,
        jordan,
        np.zeros((n, n)),
        np.eye(n),
        a * tiny,
        a * huge,
        cycle,
        np.triu(a),
    ]
    return np.stack([x.astype(wide) for x in all_of_them]).astype(dtype)


def norms(a: np.ndarray) -> np.ndarray:
    return np.abs(a).max(axis=(-1, -2), keepdims=True) * a.shape[-1] ** 0.5 + np.finfo(a.dtype).tiny


def is_small(error: np.ndarray, like: np.ndarray, factor: float = ALLOWED) -> None:
    relative = (np.abs(error) / norms(like).astype("float64")).max(axis=(-1, -2))
    np.testing.assert_array_less(relative, factor * np.finfo(like.dtype).eps)


def is_unitary(x: np.ndarray) -> None:
    wide = x.astype("complex128")
    error = np.abs(adjoint(wide) @ wide - np.eye(x.shape[-1])).max(initial=0)
    assert error < ALLOWED * np.finfo(x.dtype).eps


def check_svd(a: np.ndarray, s: np.ndarray, u: np.ndarray, vh: np.ndarray) -> None:
    k = min(a.shape[-2:])
    wide = a.astype("complex128")
    is_unitary(u)
    is_unitary(adjoint(vh))
    is_small((u[..., :k] * s[..., None, :].astype("float64")) @ vh[..., :k, :].astype("complex128") - wide, a)
    exact = np.linalg.svd(wide, compute_uv=False)
    is_small((s - exact)[..., None], a)
    assert (np.diff(s, axis=-1) <= 0).all() and (s >= 0).all()


@pytest.mark.usefixtures("by_turns")
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(2, 1, 1), (2, 2), (3, 2, 5), (1, 5, 2), (1, 4), (4, 1), (2, 9, 9), (40, 25)])
def test_svd(shape: tuple[int, ...], dtype: str, tmp_path: Path) -> None:
    a = drawn(shape, dtype)

    def f(a: Any) -> Any:
        return *cnp.linalg.svd(a), *cnp.linalg.svd(a, full_matrices=False), cnp.linalg.svdvals(a)

    u, s, vh, reduced_u, reduced_s, reduced_vh, values = call_exported(f, a, directory=tmp_path)
    check_svd(a, s, u, vh)
    check_svd(a, reduced_s, reduced_u, reduced_vh)
    np.testing.assert_allclose(values, s, rtol=0, atol=float(20 * np.finfo(dtype).eps * s.max()))


@pytest.mark.parametrize("dtype", DTYPES)
def test_svd_of_ill_conditioned_matrices(dtype: str, tmp_path: Path) -> None:
    a = matrices(24, dtype)
    u, s, vh = call_exported(cnp.linalg.svd, a, directory=tmp_path)
    check_svd(a, s, u, vh)


@pytest.mark.usefixtures("by_turns")
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", [1, 2, 3, 24])
def test_schur_and_eig(n: int, dtype: str, tmp_path: Path) -> None:
    a = matrices(n, dtype) if n > 3 else drawn((8, n, n), dtype)

    def f(a: Any) -> Any:
        return (
            *_core.bind("schur", [a], compute_vectors=True),
            *_core.bind("eig", [a], left=True, right=True),
            cnp.linalg.eigvals(a),
        )

    t, z, w, left, right, values = call_exported(f, a, directory=tmp_path)
    wide = a.astype("complex128")
    is_unitary(z)
    is_small(z.astype("complex128") @ t @ adjoint(z) - wide, a)
    assert not np.tril(t, -1 if dtype.startswith("complex") else -2).any()
    below = np.diagonal(t, -1, -2, -1)
    if not dtype.startswith("complex"):
        # Blocks are apart, and have equal numbers on the diagonal and two of different signs beside it.
        assert not (below[..., 1:] * below[..., :-1]).any()
        at = below != 0
        along = np.diagonal(t, 0, -2, -1)
        np.testing.assert_array_equal(along[..., 1:][at], along[..., :-1][at])
        assert (np.sign(np.diagonal(t, 1, -2, -1)[at]) == -np.sign(below[at])).all()
        pairs = w[w.imag != 0].reshape(-1, 2)
        np.testing.assert_array_equal(pairs[:, 0], pairs[:, 1].conj())
        assert (pairs[:, 0].imag > 0).all()
        assert not np.swapaxes(right, -1, -2)[w.imag == 0].imag.any()
    np.testing.assert_array_equal(values, w)
    wide_w = w.astype("complex128")
    is_small(wide @ right - right * wide_w[..., None, :], a)
    is_small(adjoint(left) @ wide - wide_w[..., :, None] * adjoint(left), a)
    for vectors in (left, right):
        np.testing.assert_allclose(np.linalg.norm(vectors, axis=-2), 1, rtol=20 * np.finfo(dtype).eps)
        # Several may be the largest but for rounding.
        sizes = np.abs(vectors)
        is_largest = sizes > sizes.max(-2, keepdims=True) * (1 - 20 * np.finfo(dtype).eps)
        assert (is_largest & (np.abs(vectors.imag) < 4 * np.finfo(dtype).eps)).any(-2).all()


@pytest.mark.usefixtures("by_turns")
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("m", "n"), [(1, 1), (1, 3), (4, 2), (12, 15)])
def test_sylvester(m: int, n: int, dtype: str, tmp_path: Path) -> None:
    a, b, c = (
        drawn((2, m, m), dtype),
        drawn((2, n, n), dtype, 1) + 4 * np.eye(n, dtype=dtype),
        drawn((2, m, n), dtype, 2),
    )
    (x,) = call_exported(lambda *args: _core.bind("sylvester", list(args)), a, b, c, directory=tmp_path)
    scale = np.abs(x).max() * max(np.linalg.norm(a), np.linalg.norm(b)) + np.abs(c).max()
    error = a.astype("complex128") @ x + x @ b.astype("complex128") - c
    assert np.abs(error).max() < ALLOWED * np.finfo(dtype).eps * scale


@pytest.mark.usefixtures("by_turns")
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(1, 1), (2, 6, 4), (2, 4, 6), (3, 7, 7)])
def test_qr_with_pivoting(shape: tuple[int, ...], dtype: str, tmp_path: Path) -> None:
    a = drawn(shape, dtype)

    def f(a: Any) -> Any:
        return [x for full in (True, False) for x in ct.lax.linalg.qr(a, pivoting=True, full_matrices=full)]

    for actual, wanted in zip(call_exported(f, a, directory=tmp_path), f(a), strict=True):
        np.testing.assert_allclose(actual, wanted, rtol=0, atol=float(100 * np.finfo(dtype).eps * np.abs(wanted).max()))


def expanded(f: Any, a: np.ndarray) -> list[np.ndarray]:
    """What a GPU computes: results of the one equation's expansion."""
    graph = ct.make_ir(f)(a).expand_equation(0)
    return [np.asarray(x) for x in _core.apply_graph(graph, [cnp.asarray(a)])]


@pytest.mark.usefixtures("by_turns")
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("full", [True, False])
def test_svd_by_rotations(full: bool, dtype: str) -> None:
    for a in (matrices(13, dtype), drawn((2, 7, 4), dtype), drawn((2, 3, 6), dtype), drawn((1, 1), dtype)):
        s, u, vh = expanded(lambda a: _core.bind("svd", [a], compute_uv=True, full_matrices=full), a)
        check_svd(a, s, u, vh)
        (values,) = expanded(lambda a: _core.bind("svd", [a], compute_uv=False, full_matrices=full), a)
        np.testing.assert_array_equal(values, s)


@pytest.mark.parametrize("pivoting", [True, False])
@pytest.mark.parametrize("dtype", ["float32", "complex64"])
def test_squares_of_expanded_qr_do_not_overflow(dtype: str, pivoting: bool) -> None:
    a = drawn((5, 3), dtype) * np.float32(1e30)
    q, r, *order = expanded(lambda a: _core.bind("qr", [a], pivoting=pivoting, full_matrices=False), a)
    is_unitary(q)
    is_small(q.astype("complex128") @ r - (a[:, order[0]] if pivoting else a), a)


def test_pivots_of_unequal_columns(tmp_path: Path) -> None:
    a = matrices(12, "float64")
    q, r, order = call_exported(lambda a: ct.lax.linalg.qr(a, pivoting=True), a, directory=tmp_path)
    is_unitary(q)
    is_small(q @ r - np.take_along_axis(a, order[:, None, :].astype(np.int64), -1), a)
    sizes = np.abs(np.diagonal(r, 0, -2, -1))
    assert (np.diff(sizes, axis=-1) <= 1e-13 * sizes.max(-1, keepdims=True)).all()


def test_what_is_made_of_factorisations_is_numpys(tmp_path: Path) -> None:
    a, tall = drawn((8, 8), "float64"), drawn((9, 4), "float64")
    b = drawn((9,), "float64", 1)
    low = tall[:, :2] @ tall[:2]

    def f(n: Any, a: Any, tall: Any, b: Any, low: Any) -> list[Any]:
        linalg = n.linalg
        return [
            linalg.pinv(tall),
            linalg.lstsq(tall, b)[0],
            linalg.matrix_rank(low),
            linalg.slogdet(a)[1],
            linalg.det(a),
            linalg.inv(a),
            linalg.solve(a, b[:8]),
            linalg.cholesky(a @ a.T),
            linalg.cond(a),
            linalg.norm(a, 2),
            linalg.norm(a, "nuc"),
            abs(linalg.eigvals(a)).sum(),
            linalg.eigvalsh(a + a.T),
            linalg.matrix_power(a, 3),
        ]

    wanted = f(np, a, tall, b, low)
    results = call_exported(lambda *x: [*f(cnp, *x), ct.scipy.linalg.expm(x[0])], a, tall, b, low, directory=tmp_path)
    for actual, each in zip(results, wanted, strict=False):
        np.testing.assert_allclose(actual, each, rtol=1e-9, atol=1e-12)
    w, v = np.linalg.eig(a)
    np.testing.assert_allclose(results[-1], ((v * np.exp(w)) @ np.linalg.inv(v)).real, rtol=1e-9, atol=1e-9)


def test_damaged_matrices_are_nan(tmp_path: Path) -> None:
    a = np.stack([drawn((3, 3), "float64"), np.full((3, 3), np.nan), drawn((3, 3), "float64")])
    a[2, 1, 0] = np.inf

    def f(a: Any) -> Any:
        return [
            *cnp.linalg.svd(a),
            *cnp.linalg.eig(a),
            *_core.bind("schur", [a], compute_vectors=True),
            *_core.bind("sylvester", [a, a, a[:, ::-1]]),
            ct.lax.linalg.qr(a, pivoting=True)[0],
        ]

    for result in call_exported(f, a, directory=tmp_path):
        assert np.isfinite(result[0]).all()
        assert np.isnan(result[1:]).all()


def test_nothing_of_no_size(tmp_path: Path) -> None:
    def f(wide: Any, none: Any) -> Any:
        return [
            *cnp.linalg.svd(wide),
            *cnp.linalg.svd(none, full_matrices=False),
            *_core.bind("eig", [none], left=True, right=True),
            *_core.bind("schur", [none], compute_vectors=True),
        ]

    for number, arrays in enumerate(
        ((np.zeros((2, 0, 3)), np.zeros((2, 0, 0))), (np.zeros((0, 2, 3)), np.zeros((0, 3, 3))))
    ):
        folder = tmp_path / str(number)
        for actual, wanted in zip(call_exported(f, *arrays, directory=folder), f(*arrays), strict=True):
            np.testing.assert_array_equal(actual, wanted)


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_ragged_matrices(dtype: str, tmp_path: Path) -> None:
    sizes = [(0, 0), (1, 3), (5, 2), (4, 6), (6, 6)]
    a = np.full((len(sizes), 6, 6), np.nan, dtype)
    for matrix, (m, n) in zip(a, sizes, strict=True):
        matrix[:m, :n] = drawn((m, n), dtype)
    rows, columns = np.array(sizes, np.int32).T

    def f(a: Any, rows: Any, columns: Any, square: Any) -> Any:
        return [
            *_core.bind("svd", [a, rows, columns], compute_uv=True, full_matrices=True),
            *_core.bind("svd", [a, rows, columns], compute_uv=True, full_matrices=False),
            *_core.bind("svd", [a, rows, columns], compute_uv=False, full_matrices=False),
            *_core.bind("schur", [a, square], compute_vectors=True),
            *_core.bind("eig", [a, square], left=True, right=True),
            *_core.bind("sylvester", [a, a, a, square, square]),
        ]

    square = np.minimum(rows, columns)
    s, u, vh, s2, u2, vh2, s3, t, z, w, left, right, x = call_exported(f, a, rows, columns, square, directory=tmp_path)
    for i, (m, n) in enumerate(sizes):
        k, given = min(m, n), a[i, :m, :n]
        if k == 0:
            assert not any(y[i].any() for y in (s, u, vh, s2, u2, vh2, s3, t, z, w, left, right, x))
            continue
        check_svd(given, s[i, :k], u[i, :m, :m], vh[i, :n, :n])
        check_svd(given, s2[i, :k], u2[i, :m, :k], vh2[i, :k, :n])
        np.testing.assert_allclose(s3[i, :k], s[i, :k], rtol=1e-12)
        part = a[i, :k, :k]
        is_small(z[i, :k, :k] @ t[i, :k, :k] @ adjoint(z[i, :k, :k]) - part, part)
        is_small(part @ right[i, :k, :k] - right[i, :k, :k] * w[i, :k], part)
        is_small(adjoint(left[i, :k, :k]) @ part - w[i, :k, None] * adjoint(left[i, :k, :k]), part)
        assert np.abs(part @ x[i, :k, :k] + x[i, :k, :k] @ part - part).max() < 1e-10 * np.abs(x[i]).max()
        for result, inside in ((u, (m, m)), (vh, (n, n)), (u2, (m, k)), (vh2, (k, n)), (z, (k, k)), (right, (k, k))):
            outside = result[i].copy()
            outside[: inside[0], : inside[1]] = 0
            assert not outside.any()
        assert not any(y[i, k:].any() for y in (s, s2, s3, w))


@pytest.mark.parametrize("name", ["svd", "eig", "schur", "sylvester", "qr", "eigh", "cholesky", "lu", "solve"])
def test_gpus_call_nothing_of_the_host(name: str) -> None:
    a = drawn((5, 5), "float32")
    functions: dict[str, Any] = {
        "svd": cnp.linalg.svd,
        "eig": cnp.linalg.eig,
        "schur": lambda a: _core.bind("schur", [a], compute_vectors=True),
        "sylvester": lambda a: _core.bind("sylvester", [a, a, a]),
        "qr": lambda a: ct.lax.linalg.qr(a, pivoting=True),
        "eigh": cnp.linalg.eigh,
        "cholesky": cnp.linalg.cholesky,
        "lu": ct.lax.linalg.lu,
        "solve": lambda a: cnp.linalg.solve(a, a),
    }
    explained = str(ct.explain(ct.jit(functions[name], backend="cuda-emulated"))(a))
    assert "kernel" in explained
    assert "on the host, " not in explained, explained
