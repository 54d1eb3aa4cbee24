"""Sorting and factorisations in exported programs: loops of our own, which have to do without this process."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import cotangent as ct
import cotangent.numpy as cnp
import numpy as np
import pytest
from cotangent import _core
from exported_calls import Library, call_exported

rng = np.random.default_rng(11)
FLOATS = ("float32", "float64")


def unusual(shape: tuple[int, ...], dtype: str) -> np.ndarray:
    """Repeated values, and of floats NaN, infinities and both zeros."""
    kind = np.dtype(dtype).kind
    if kind == "b":
        return rng.integers(0, 2, shape).astype(bool)
    if kind in "iu":
        low, high = (-50, 50) if kind == "i" else (0, 100)
        x = rng.integers(low, high, shape).astype(dtype)
        x.flat[:2] = np.iinfo(dtype).min, np.iinfo(dtype).max
        return x
    x = np.round(rng.standard_normal(shape) * 20) / 4
    specials = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, -np.nan])
    x = np.where(rng.random(shape) < 0.2, rng.choice(specials, shape), x)
    if kind != "c":
        return x.astype(dtype)
    parts = np.empty(shape, dtype)
    parts.real, parts.imag = x, np.roll(x, 3)
    return parts


DTYPES = [
    "float32",
    "float64",
    "float16",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "bool",
    "complex64",
]


@pytest.mark.parametrize("size", [33, 300, 5000])
def test_sort(size: int, tmp_path: Path) -> None:
    arrays = [unusual((2, size), dtype) for dtype in DTYPES] + [unusual((3, size, 2), "float32")]

    def f(arrays: Any) -> Any:
        results = [ct.lax.sort(x, dimension=1) for x in arrays]
        results += [cnp.argsort(x, axis=1) for x in arrays]
        results += [cnp.argsort(x, axis=1, descending=True) for x in arrays if x.dtype != "complex64"]
        return results

    for actual, wanted in zip(call_exported(f, arrays, directory=tmp_path), f(arrays), strict=True):
        wanted = np.asarray(wanted)
        np.testing.assert_array_equal(actual, wanted)
        if wanted.dtype.kind == "f":
            np.testing.assert_array_equal(np.signbit(actual), np.signbit(wanted))


def test_sort_by_several_keys(tmp_path: Path) -> None:
    first, second, third = unusual((3, 700), "int8"), unusual((3, 700), "float64"), unusual((3, 700), "float32")

    def f(*keys: Any) -> Any:
        return [ct.lax.sort(keys, dimension=1, num_keys=n) for n in (1, 2, 3)]

    for actual, wanted in zip(
        call_exported(f, first, second, third, directory=tmp_path),
        ct.tree_util.tree_leaves(f(first, second, third)),
        strict=True,
    ):
        np.testing.assert_array_equal(actual, wanted)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int8", "uint16"])
def test_first_few(dtype: str, tmp_path: Path) -> None:
    arrays = [unusual((3, n), dtype) for n in (40, 128, 130, 1000)]
    arrays += [np.sort(arrays[3], axis=1), np.sort(arrays[3], axis=1)[:, ::-1].copy()]

    def f(arrays: Any) -> Any:
        return [ct.lax.top_k(x, k) for x in arrays for k in (1, 7, 32)]

    for actual, wanted in zip(
        call_exported(f, arrays, directory=tmp_path), ct.tree_util.tree_leaves(f(arrays)), strict=True
    ):
        np.testing.assert_array_equal(actual, wanted)


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int8", "uint64"])
def test_first_many(dtype: str, tmp_path: Path) -> None:
    arrays = [unusual((2, n), dtype) for n in (511, 512, 700, 3000)]
    arrays += [
        np.sort(arrays[3], axis=1),
        np.sort(arrays[3], axis=1)[:, ::-1].copy(),
        np.full_like(arrays[3], arrays[3][0, 0]),
    ]

    def f(arrays: Any) -> Any:
        return [ct.lax.top_k(x, k) for x in arrays for k in (33, 64, 200)]

    for actual, wanted in zip(
        call_exported(f, arrays, directory=tmp_path), ct.tree_util.tree_leaves(f(arrays)), strict=True
    ):
        np.testing.assert_array_equal(actual, wanted)


def test_the_first_of_many_take_less_time_than_all(tmp_path: Path) -> None:
    x, best = rng.standard_normal(100_000).astype(np.float32), {}
    calls = {}
    for name, count in (("all", 100_000), ("first", 100)):
        ct.export.compile(lambda x, count=count: ct.lax.top_k(x, count), x, name=name).save(tmp_path)
        calls[name] = (Library(tmp_path, name), [np.empty(count, np.float32), np.empty(count, np.int32)])
    for name, (library, results) in list(calls.items()) * 10:
        start = time.process_time()
        assert library.call([x], results) == 0
        best[name] = min(best.get(name, 1.0), time.process_time() - start)
    assert best["first"] * 3 < best["all"]


def test_permutation_and_masked_sort(tmp_path: Path) -> None:
    key = ct.random.key_data(ct.random.key(3))
    x = ct.Ragged(unusual((200,), "float32"), {0: 150})

    def f(key: Any, x: Any) -> Any:
        return ct.random.permutation(key, 1000), ct.mask(cnp.sort)(x)

    for actual, wanted in zip(
        call_exported(f, key, x, directory=tmp_path), ct.tree_util.tree_flatten(f(key, x))[0], strict=True
    ):
        np.testing.assert_array_equal(actual, wanted)


@pytest.mark.parametrize("size", [40, 600, 5000])
def test_sorts_of_ragged_lines(size: int, tmp_path: Path) -> None:
    """By insertion, by digits and as lists of the first few; what lies behind the length is garbage."""
    arrays = [unusual((size, 2), dtype) for dtype in ("float32", "int64", "bool", "complex64")]

    def f(arrays: Any) -> Any:
        results = [cnp.sort(x, axis=0) for x in arrays] + [cnp.argsort(x, axis=0) for x in arrays]
        return results + [ct.lax.top_k(arrays[1].T, count) for count in (3, 40)] + [cnp.median(arrays[0], axis=0)]

    lengths = np.array([n for n in (40, 41, 150, 400, 600, 4999, 5000) if n <= size], np.int32)
    ragged = [ct.Ragged(np.stack([x] * len(lengths)), {1: lengths}) for x in arrays]
    results = call_exported(ct.vmap(ct.mask(f)), ragged, directory=tmp_path)
    by_row = [ct.tree_util.tree_leaves(f([x[:n] for x in arrays])) for n in lengths]
    for actual, *rows in zip([x for x in results if x.shape != lengths.shape], *by_row, strict=True):
        for found, n, wanted in zip(actual, lengths, rows, strict=True):
            np.testing.assert_array_equal(found[: len(wanted)], np.asarray(wanted))


@pytest.mark.parametrize("n", [0, 1, 2, 31, 32, 33, 40])
def test_sorts_of_short_ragged_lines(n: int, tmp_path: Path) -> None:
    x = unusual((40,), "float32")
    results = call_exported(ct.mask(lambda x: (cnp.sort(x), cnp.argsort(x))), ct.Ragged(x, {0: n}), directory=tmp_path)
    np.testing.assert_array_equal(results[0][:n], np.asarray(cnp.sort(x[:n])))
    wanted = np.asarray(cnp.argsort(x[:n]))
    assert any(np.array_equal(r[:n], wanted) for r in results if r.shape == (40,) and r.dtype.kind == "i")


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("n", [1, 2, 31, 32, 33, 100])
def test_factorisations(n: int, dtype: str, tmp_path: Path) -> None:
    a = rng.standard_normal((2, n, n)).astype(dtype)
    tall, wide = (rng.standard_normal((2, *shape)).astype(dtype) for shape in ((n + 37, n), (n, n + 40)))
    b = rng.standard_normal((2, n, 3)).astype(dtype)

    def f(a: Any, tall: Any, wide: Any, b: Any) -> Any:
        positive = a @ cnp.swapaxes(a, 1, 2) + n * cnp.eye(n, dtype=dtype)
        lower = cnp.linalg.cholesky(positive)
        solve = ct.lax.linalg.triangular_solve
        triangles = [
            cnp.where(cnp.tri(n, dtype=bool), positive, cnp.nan),
            cnp.where(~cnp.tri(n, k=-1, dtype=bool), positive, cnp.nan),
        ]
        options = [
            {"left_side": left, "lower": lower, "transpose_a": transposed, "unit_diagonal": unit}
            for left in (True, False)
            for lower in (True, False)
            for transposed in (True, False)
            for unit in (True, False)
        ]
        return (
            lower,
            cnp.linalg.cholesky(-positive),
            cnp.linalg.cholesky(positive, upper=True),
            *[ct.lax.linalg.lu(x) for x in (a, tall, wide)],
            *[cnp.linalg.qr(x) for x in (a, tall, wide, tall * cnp.zeros_like(tall))],
            cnp.linalg.qr(tall, "complete")[1],
            cnp.linalg.solve(a, b),
            cnp.linalg.inv(positive),
            cnp.linalg.slogdet(a),
            [
                solve(triangles[0 if o["lower"] else 1] / n, b if o["left_side"] else cnp.swapaxes(b, 1, 2), **o)
                for o in options
                if n <= 33 or not o["unit_diagonal"]
            ],
        )

    results = call_exported(f, a, tall, wide, b, directory=tmp_path)
    rtol = (2e-3 if n > 33 else 5e-4) if dtype == "float32" else 1e-9
    for actual, wanted in zip(results, ct.tree_util.tree_leaves(f(a, tall, wide, b)), strict=True):
        wanted = np.asarray(wanted)
        np.testing.assert_allclose(actual, wanted, rtol=rtol, atol=rtol * np.nanmax(np.abs(wanted), initial=1e-3))


def hermitian(n: int, dtype: str, spread: float = 1) -> np.ndarray:
    """Eigenvalues from 1 to 1 / spread, of both signs."""
    q = rng.standard_normal((n, n)) + (1j * rng.standard_normal((n, n)) if dtype.startswith("complex") else 0)
    q = np.linalg.qr(q)[0]
    w = np.logspace(0, -np.log10(spread), n) * rng.choice([-1, 1], n)
    a = (q * w) @ q.conj().T
    return ((a + a.conj().T) / 2).astype(dtype)


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
@pytest.mark.parametrize("lower", [True, False])
def test_eigenvalues_of_ill_conditioned_matrices(dtype: str, lower: bool, tmp_path: Path) -> None:
    n = 60
    matrices = [hermitian(n, dtype, spread) for spread in (1, 1e3, 1e8, 1e15)]
    tiny, huge = (1e-30, 1e30) if dtype in ("float32", "complex64") else (1e-250, 1e250)
    matrices += [np.diag(rng.integers(0, 4, n)).astype(dtype), np.zeros((n, n), dtype), np.eye(n, dtype=dtype)]
    matrices += [(matrices[1] * np.float64(s)).astype(dtype) for s in (tiny, huge)]
    a = np.stack(matrices)
    garbage = np.triu(a, 1) if lower else np.tril(a, -1)
    given = np.where(garbage != 0, np.nan, a).astype(dtype)

    def f(a: Any) -> Any:
        w, v = ct.lax.linalg.eigh(a, lower=lower, symmetrize_input=False)[::-1]
        return w, v, _core.bind("eigh", [a], lower=lower, compute_vectors=False)[0]

    w, v, values = call_exported(f, given, directory=tmp_path)
    precision = np.finfo(dtype).eps
    exact = np.linalg.eigvalsh(a.astype("complex128"))
    norm = np.abs(exact).max(axis=1, keepdims=True) + np.finfo(w.dtype).tiny
    np.testing.assert_array_less(np.abs(w - exact) / norm, 1e-5 if precision > 1e-10 else 1e-13)
    np.testing.assert_array_less(np.abs(w - exact) / norm, (4 if precision > 1e-10 else 60) * precision)
    np.testing.assert_allclose(values, w, rtol=0, atol=float((norm * 10 * precision).max()))
    wide_v, wide_a = v.astype("complex128"), a.astype("complex128")
    residual = np.abs(wide_a @ wide_v - wide_v * w[:, None].astype("float64")).max(axis=(1, 2)) / norm[:, 0]
    np.testing.assert_array_less(residual, 100 * precision)
    np.testing.assert_allclose(
        wide_v.conj().swapaxes(1, 2) @ wide_v, np.tile(np.eye(n), (len(a), 1, 1)), atol=100 * precision
    )


def test_eigenvalues_of_small_and_damaged_matrices(tmp_path: Path) -> None:
    a = np.stack([hermitian(3, "float64"), np.full((3, 3), np.nan), hermitian(3, "float64"), np.diag([3.0, 1.0, 2.0])])
    a[2, 1, 0] = np.inf
    w, v, one, two = call_exported(
        lambda a: (*cnp.linalg.eigh(a), cnp.linalg.eigvalsh(a[:, :1, :1]), cnp.linalg.eigvalsh(a[:, :2, :2])),
        a,
        directory=tmp_path,
    )
    np.testing.assert_allclose(w[0], np.linalg.eigvalsh(a[0]), atol=1e-14)
    assert np.isnan(w[1:3]).all() and np.isnan(v[1:3]).all()
    assert w[3].tolist() == [1, 2, 3]
    np.testing.assert_array_equal(one[:, 0], a[:, 0, 0])
    np.testing.assert_allclose(two[[0, 3]], np.linalg.eigvalsh(a[[0, 3], :2, :2]), atol=1e-14)


def test_ragged_matrices(tmp_path: Path) -> None:
    n, sizes = 40, np.array([0, 1, 33, 40], np.int32)
    a = np.full((4, n, n), np.nan)
    for matrix, size in zip(a, sizes, strict=True):
        matrix[:size, :size] = (x := rng.standard_normal((size, size))) @ x.T + size * np.eye(size)

    def f(a: Any, size: Any) -> Any:
        def one(a: Any) -> Any:
            inverse = cnp.linalg.solve(a, a @ a)
            return (
                cnp.linalg.cholesky(a),
                cnp.linalg.slogdet(a),
                cnp.linalg.eigvalsh(a),
                inverse,
                cnp.abs(cnp.linalg.eigh(a)[1]),
            )

        results = ct.mask(one)(ct.Ragged(a, {0: size, 1: size}, names={0: "n", 1: "n"}))
        return [x for x in ct.tree_util.tree_leaves(results) if cnp.issubdtype(x.dtype, cnp.floating)]

    mapped = ct.vmap(f)
    for actual, wanted in zip(call_exported(mapped, a, sizes, directory=tmp_path), mapped(a, sizes), strict=True):
        np.testing.assert_allclose(actual, wanted, rtol=1e-8, atol=1e-8)
