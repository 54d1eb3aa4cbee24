"""Factorisations read and write no more than the rows and columns that there are (`structures::HostCall::sized_axes`)."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cotangent as ct
import cotangent.numpy as cnp
import numpy as np
import pytest

linalg, scipy = cnp.linalg, ct.scipy.linalg

BOUND = 40
LENGTHS = [BOUND, 3, 17, 33, 1]
X = np.random.default_rng(1).standard_normal((BOUND, 8)).astype(np.float32)


def positive(x: Any) -> Any:
    return x @ x.T + 3.0 * cnp.eye(x.shape[0])


def composed(w: Any, v: Any) -> Any:
    return (v * w) @ v.T


def singular(u: Any, s: Any, vh: Any) -> Any:
    return (u * s) @ vh


PROGRAMS: dict[str, Callable[[Any], Any]] = {
    "cholesky": lambda x: linalg.cholesky(positive(x)),
    "upper cholesky": lambda x: scipy.cholesky(positive(x)),
    "cholesky and what is made of it": lambda x: (linalg.cholesky(positive(x)), linalg.cholesky(positive(x)).sum()),
    "solve": lambda x: linalg.solve(positive(x), x),
    "inverse": lambda x: linalg.inv(positive(x)),
    "determinant": lambda x: linalg.slogdet(positive(x))[1],
    "lu": lambda x: scipy.lu_factor(positive(x)),
    "qr": lambda x: linalg.qr(positive(x)),
    "qr of rows": lambda x: cnp.abs(linalg.qr(x)[1]),
    "complete qr": lambda x: linalg.qr(positive(x), mode="complete"),
    "eigenvalues": lambda x: linalg.eigvalsh(positive(x)),
    "eigenvectors": lambda x: composed(*linalg.eigh(positive(x))),
    "general eigenvalues": lambda x: cnp.sort(cnp.real(linalg.eigvals(positive(x)))),
    "singular values": lambda x: linalg.svd(x, compute_uv=False),
    "singular vectors": lambda x: singular(*linalg.svd(x, full_matrices=False)),
    "triangular": lambda x: scipy.solve_triangular(positive(x), x, lower=True),
    "transposed triangular": lambda x: scipy.solve_triangular(positive(x), x, trans=1),
    "triangular on the right": lambda x: ct.lax.linalg.triangular_solve(positive(x), x.T, left_side=False, lower=True),
    "square root": lambda x: cnp.real(scipy.sqrtm(positive(x))),
    "sylvester": lambda x: scipy.solve_sylvester(positive(x), positive(x), x @ x.T),
    "gradient of solve": ct.grad(lambda x: cnp.sum(linalg.solve(positive(x), x) ** 2)),
    "gradient of cholesky": ct.grad(lambda x: cnp.sum(cnp.log(cnp.diagonal(linalg.cholesky(positive(x)))))),
}


def padded(n: int) -> np.ndarray:
    return np.where(np.arange(BOUND)[:, None] < n, X, np.float32(np.nan))


def unpadded(tree: Any) -> list[np.ndarray]:
    leaves = ct.tree.leaves(tree, is_leaf=lambda x: isinstance(x, ct.Ragged))
    return [np.asarray(leaf.unpad() if isinstance(leaf, ct.Ragged) else leaf) for leaf in leaves]


def assert_same(ours: Any, theirs: Any) -> None:
    for got, want in zip(unpadded(ours), unpadded(theirs), strict=True):
        np.testing.assert_allclose(got, want, rtol=5e-3, atol=5e-3)


@pytest.mark.parametrize("name", PROGRAMS)
def test_memory_of_a_larger_matrix_is_not_read(name: str) -> None:
    f = PROGRAMS[name]
    compiled = ct.jit(ct.mask(f))
    for n in LENGTHS:
        assert_same(compiled(ct.Ragged(padded(n), {0: n})), f(cnp.array(X[:n])))
    rows = ct.Ragged(np.stack([padded(n) for n in LENGTHS]), {1: np.array(LENGTHS, np.int32)})
    batch = ct.jit(ct.vmap(ct.mask(f)))(rows)
    for row, n in enumerate(LENGTHS):
        of_row = ct.tree.map(lambda x, row=row: x[row], batch, is_leaf=lambda x: isinstance(x, ct.Ragged))
        assert_same(of_row, f(cnp.array(X[:n])))


def text_of(f: Any) -> str:
    """Loops as the processor has them, whatever device the tests run on."""
    return ct.jit(ct.mask(f), backend="llvm").lower(ct.Ragged(padded(3), {0: 3})).compile().as_text()


@pytest.mark.parametrize("name", ["solve", "eigenvectors", "singular values", "triangular", "gradient of solve"])
def test_no_loop_of_a_factorisation_goes_over_the_bound(name: str) -> None:
    text = text_of(PROGRAMS[name])
    assert not [n for n in re.findall(r"for %\d+ < (\d+)\b", text) if int(n) % BOUND == 0], text
    assert len(re.findall(r"gemm (\S+) first", text)) == text.count("gemm "), text


def test_factorisations_over_memory_of_nan() -> None:
    environment = {**os.environ, "CT_CHECK_LIMITS": "1", "CT_CACHE_DIR": ""}
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-k",
        "larger_matrix",
        "-p",
        "no:cacheprovider",
        str(Path(__file__)),
    ]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=1200)
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_factor_is_written_where_it_leaves() -> None:
    """Filled along two axes, one after the other."""
    text = text_of(PROGRAMS["cholesky"])
    assert re.search(r'"cholesky" \(out0\[0\]', text), text
