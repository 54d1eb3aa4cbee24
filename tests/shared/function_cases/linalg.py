"""``ct.numpy.linalg`` and ``ct.scipy.linalg`` against NumPy and SciPy. `test_linalg.py` has repeated values, batches and failures."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg as theirs

from function_cases import Family, draw

linalg = Family("numpy.linalg")
BOTH = ("float32", "float64", "complex64", "complex128")
REAL = ("float32", "float64")
A, B = draw(3, 3), draw(3, 2)


def eye(x: Any) -> Any:
    """The identity of a matrix's size, which may be ragged."""
    if isinstance(x, np.ndarray):
        return np.eye(x.shape[-1], dtype=x.dtype)
    import cotangent.numpy as cnp

    return cnp.eye(x.shape[-1], dtype=x.dtype)


def diagonal(x: Any) -> Any:
    """A well conditioned matrix."""
    return x + 4 * eye(x)


def positive(x: Any) -> Any:
    """A positive definite one."""
    return x @ x.conj().swapaxes(-1, -2) + 2 * eye(x)


# What the functions of a matrix are compared by where it is unique up to signs: a product, say.
def of(make: Any) -> Any:
    return lambda f, x, *rest: f(make(x), *rest)


def with_np(make: Any, f: Any) -> Any:
    return lambda x, *rest: f(make(x), *rest)


# A ragged matrix has ragged rows and columns.
SQUARE = ({0: (0, 1)},)
NONE: tuple[Any, ...] = ()

for name in ["inv", "det", "slogdet"]:
    linalg.record(
        name,
        A,
        call=of(diagonal),
        oracle=with_np(diagonal, getattr(np.linalg, name)),
        dtypes=BOTH,
        tolerance=16,
        ragged=SQUARE,
    )
linalg.record(
    "cholesky",
    A,
    call=of(positive),
    oracle=with_np(positive, np.linalg.cholesky),
    dtypes=BOTH,
    tolerance=16,
    ragged=SQUARE,
)
linalg.record("det", draw(0, 0), oracle=np.linalg.det, ragged=NONE)
linalg.record("inv", draw(2, 0, 0), oracle=np.linalg.inv, ragged=(0,))
linalg.record(
    "solve",
    A,
    B,
    call=of(diagonal),
    oracle=with_np(diagonal, np.linalg.solve),
    dtypes=BOTH,
    tolerance=16,
    ragged=({1: 1},),
)
linalg.record(
    "solve",
    draw(2, 3, 3),
    draw(2, 3, 1),
    call=of(diagonal),
    oracle=with_np(diagonal, np.linalg.solve),
    tolerance=16,
    ragged=({0: 0, 1: 0},),
)
linalg.record(
    "eigvalsh",
    A,
    call=of(positive),
    oracle=with_np(positive, np.linalg.eigvalsh),
    dtypes=BOTH,
    tolerance=16,
    ragged=SQUARE,
)
linalg.record(
    "eigh",
    A,
    call=lambda f, x: (lambda r: (r[0], abs(r[1])))(f(positive(x))),
    oracle=lambda x: (lambda r: (r[0], np.abs(r[1])))(np.linalg.eigh(positive(x))),
    dtypes=REAL,
    tolerance=64,
    ragged=SQUARE,
)
linalg.record(
    "svdvals", B, oracle=lambda x: np.linalg.svd(x, compute_uv=False), dtypes=BOTH, tolerance=16, ragged=(0, -1)
)
linalg.record(
    "svd",
    B,
    call=lambda f, x: (lambda r: (abs(r[0]), r[1], abs(r[2])))(f(x, full_matrices=False)),
    oracle=lambda x: (lambda r: (np.abs(r[0]), r[1], np.abs(r[2])))(np.linalg.svd(x, full_matrices=False)),
    dtypes=REAL,
    tolerance=64,
    ragged=NONE,
)
linalg.record(
    "qr",
    B,
    call=lambda f, x: tuple(abs(part) for part in f(x)),
    oracle=lambda x: tuple(np.abs(part) for part in np.linalg.qr(x)),
    dtypes=REAL,
    tolerance=64,
    ragged=NONE,
)
SPREAD = np.diag([1.0, 4.0, 9.0])
linalg.record(
    "eigvals",
    A,
    call=lambda f, x: f(x * 0.1 + SPREAD.astype(x.dtype)),
    oracle=lambda x: np.linalg.eigvals(x * np.float32(0.1) + SPREAD),
    dtypes=REAL,
    loose=True,
    tolerance=64,
    ragged=NONE,
)
linalg.record(
    "eig",
    A,
    call=lambda f, x: (lambda r: (r[0], abs(r[1])))(f(x * 0.1 + SPREAD.astype(x.dtype))),
    oracle=lambda x: (lambda r: (r[0], np.abs(r[1])))(np.linalg.eig(x * np.float32(0.1) + SPREAD)),
    dtypes=REAL,
    loose=True,
    tolerance=64,
    ragged=NONE,
    grads="of eigenvectors whose phase is free: test_linalg.py",
)
linalg.record("eigvals", A, call=of(diagonal), oracle=None, ragged=SQUARE, tolerance=64)
linalg.record("pinv", B, oracle=np.linalg.pinv, dtypes=BOTH, tolerance=64, ragged=(0, -1))
linalg.record(
    "lstsq",
    B,
    draw(3, 2),
    call=lambda f, a, b: f(a, b)[0],
    oracle=lambda a, b: np.linalg.lstsq(a, b, rcond=None)[0],
    dtypes=REAL,
    tolerance=64,
    ragged=({1: 1},),
)
linalg.record("matrix_rank", B, oracle=np.linalg.matrix_rank, loose=True, grads="a count", ragged=(0, -1))
linalg.record("cond", A, call=of(diagonal), oracle=with_np(diagonal, np.linalg.cond), tolerance=64, ragged=SQUARE)
linalg.record("matrix_power", A, 3, dtypes=(*BOTH, "int32"), oracle=np.linalg.matrix_power, tolerance=16, ragged=SQUARE)
linalg.record(
    "multi_dot",
    [draw(2, 3), draw(3, 4), draw(4, 2)],
    dtypes=BOTH,
    oracle=np.linalg.multi_dot,
    tolerance=16,
    ragged=({0: 0}, {0: 1, 1: 0}),
)
linalg.record(
    "matmul",
    B,
    draw(2, 4),
    dtypes=(*BOTH, "int32", "float16"),
    oracle=np.matmul,
    tolerance=8,
    ragged=({0: 0}, {1: 1}, {0: 1, 1: 0}),
)
linalg.record("outer", draw(3), draw(2), dtypes=BOTH, oracle=np.outer, ragged=({0: 0}, {1: 0}))
linalg.record("tensordot", draw(2, 3), draw(3, 4), 1, oracle=np.tensordot, tolerance=8, ragged=({0: 0}, {0: 1, 1: 0}))
linalg.record("vecdot", draw(2, 3), draw(2, 3), dtypes=BOTH, oracle=np.vecdot, tolerance=8)
linalg.record("cross", draw(2, 3), draw(2, 3), dtypes=(*REAL, "int32"), oracle=np.linalg.cross, ragged=(0,))
linalg.record("trace", A, dtypes=BOTH, oracle=np.linalg.trace, tolerance=4, ragged=SQUARE)
linalg.record("diagonal", A, offset=1, dtypes=BOTH, oracle=lambda x: np.diagonal(x, 1), ragged=SQUARE)
linalg.record("matrix_transpose", draw(2, 3, 4), dtypes=BOTH, oracle=lambda x: x.swapaxes(1, 2))
for order in [None, 1, -1, 2, np.inf, "nuc"]:
    linalg.record(
        "matrix_norm" if order is not None else "norm",
        draw(2, 3, distinct=True),
        call=lambda f, x, order=order: f(x, ord=order) if order is not None else f(x),
        oracle=lambda x, order=order: np.linalg.norm(x, ord=order),
        tolerance=32,
    )
for order in [2, 1, 3, np.inf, -np.inf]:
    linalg.record(
        "vector_norm",
        draw(2, 3, distinct=True),
        call=lambda f, x, order=order: f(x, axis=1, ord=order),
        oracle=lambda x, order=order: np.linalg.norm(x, order, axis=1),
        tolerance=8,
    )
linalg.record(
    "norm",
    draw(2, 3),
    axis=-1,
    keepdims=True,
    dtypes=BOTH,
    oracle=lambda x: np.linalg.norm(x, axis=-1, keepdims=True),
    tolerance=8,
)
linalg.record(
    "tensorinv",
    draw(4, 2, 2),
    ind=1,
    oracle=lambda x: np.linalg.tensorinv(x, 1),
    tolerance=256,
    ragged=(),
)
linalg.record(
    "tensorsolve",
    draw(2, 2, 4),
    draw(2, 2),
    call=lambda f, a, b: f(a + 4 * np.eye(4, dtype=a.dtype).reshape(2, 2, 4), b),
    oracle=lambda a, b: np.linalg.tensorsolve(a + 4 * np.eye(4, dtype=a.dtype).reshape(2, 2, 4), b),
    tolerance=64,
    ragged=NONE,
)
linalg.no_record("an error", "LinAlgError")

scipy = Family("jax.scipy.linalg")
for name in ["inv", "det", "expm", "sqrtm"]:
    scipy.record(
        name,
        A,
        call=of(positive),
        oracle=with_np(positive, getattr(theirs, name)),
        dtypes=REAL,
        tolerance=256,
        ragged=SQUARE,
        loose=name == "sqrtm",
        grads=True if name != "sqrtm" else "by Schur's form, which has none: test_linalg.py",
    )
scipy.record(
    "cholesky",
    A,
    call=of(positive),
    oracle=with_np(positive, theirs.cholesky),
    dtypes=REAL,
    tolerance=16,
    ragged=SQUARE,
)
scipy.record(
    "cho_factor",
    A,
    call=lambda f, x: np_triu(f(positive(x))[0]),
    oracle=lambda x: theirs.cholesky(positive(x)),
    tolerance=16,
    ragged=SQUARE,
)
scipy.record(
    "cho_solve",
    A,
    B,
    call=lambda f, c, b: f((positive(c), False), b),
    oracle=lambda c, b: theirs.cho_solve((positive(c), False), b),
    tolerance=64,
    ragged=({1: 1},),
)
scipy.record("solve", A, B, call=of(diagonal), oracle=with_np(diagonal, theirs.solve), tolerance=16, ragged=({1: 1},))
scipy.record(
    "solve_banded",
    draw(4, 5),
    draw(5, 2),
    call=lambda f, ab, b: f((1, 2), ab + 8 * np.eye(4, 1, -2, dtype=np.float32), b),
    oracle=lambda ab, b: theirs.solve_banded((1, 2), ab + 8 * np.eye(4, 1, -2), b),
    tolerance=32,
    ragged=({0: 1, 1: 0},),
)
scipy.record(
    "solve_triangular",
    A,
    B,
    call=of(diagonal),
    oracle=with_np(diagonal, theirs.solve_triangular),
    tolerance=16,
    ragged=({1: 1},),
)
scipy.record(
    "lu_factor",
    A,
    call=lambda f, x: f(diagonal(x))[0],
    oracle=lambda x: theirs.lu_factor(diagonal(x))[0],
    tolerance=16,
    ragged=SQUARE,
)
scipy.record(
    "lu_solve",
    A,
    B,
    call=lambda f, a, b: f((diagonal(a), np.arange(3, dtype=np.int32)), b),
    oracle=lambda a, b: theirs.lu_solve((diagonal(a), np.arange(3)), b),
    tolerance=16,
    ragged=({1: 1},),
)
scipy.record("lu", A, call=of(diagonal), oracle=with_np(diagonal, theirs.lu), tolerance=16, ragged=SQUARE)
scipy.record(
    "eigh",
    A,
    call=lambda f, x: f(positive(x), eigvals_only=True),
    oracle=lambda x: theirs.eigh(positive(x), eigvals_only=True),
    tolerance=16,
    ragged=SQUARE,
)
scipy.record(
    "qr",
    B,
    call=lambda f, x: tuple(abs(p) for p in f(x, mode="economic")),
    oracle=lambda x: tuple(np.abs(p) for p in theirs.qr(x, mode="economic")),
    tolerance=64,
    ragged=(0, -1),
)
scipy.record(
    "svd", B, call=lambda f, x: f(x, compute_uv=False), oracle=lambda x: theirs.svdvals(x), tolerance=16, ragged=(0, -1)
)
scipy.record("polar", A, call=of(diagonal), oracle=with_np(diagonal, theirs.polar), tolerance=128, ragged=SQUARE)
scipy.record("expm_frechet", A, draw(3, 3), oracle=theirs.expm_frechet, tolerance=256, ragged=({0: (0, 1), 1: (0, 1)},))
scipy.record(
    "solve_sylvester",
    A,
    draw(2, 2),
    B,
    call=lambda f, a, b, q: f(diagonal(a), diagonal(b), q),
    oracle=lambda a, b, q: theirs.solve_sylvester(diagonal(a), diagonal(b), q),
    tolerance=256,
    ragged=({0: (0, 1), 2: 0},),
)
V = draw(3)
scipy.record("block_diag", A, B, oracle=theirs.block_diag, ragged=(0,))
scipy.record("toeplitz", V, draw(4), oracle=theirs.toeplitz)
scipy.record("hankel", V, draw(4), oracle=theirs.hankel)
scipy.record("circulant", V, oracle=theirs.circulant)
scipy.record("fiedler", draw(3, distinct=True), oracle=theirs.fiedler)
scipy.record(
    "companion fiedler_companion",
    draw(4, domain=(1, 2)),
    oracle=lambda x: (theirs.companion(x), theirs.fiedler_companion(x)),
    tolerance=4,
)
scipy.record("convolution_matrix", V, 4, oracle=theirs.convolution_matrix)
scipy.record("leslie", V, draw(2), oracle=theirs.leslie, ragged=())
for name in ["dft", "hadamard", "helmert", "hilbert", "invhilbert", "invpascal", "pascal"]:
    scipy.record(name, 4, oracle=getattr(theirs, name), loose=True)
scipy.record(
    "eigh_tridiagonal",
    V,
    draw(2),
    call=lambda f, d, e: f(d, e, eigvals_only=True),
    oracle=lambda d, e: theirs.eigh_tridiagonal(d, e, eigvals_only=True),
    tolerance=64,
    ragged=(),
)
scipy.record(
    "schur",
    A,
    call=lambda f, x: f(positive(x))[0],
    oracle=lambda x: theirs.schur(positive(x))[0],
    tolerance=64,
    grads="not differentiable: test_linalg.py",
    ragged=SQUARE,
)
scipy.record(
    "hessenberg",
    A,
    call=lambda f, x: abs(f(x)),
    oracle=lambda x: np.abs(theirs.hessenberg(x)),
    tolerance=64,
    ragged=SQUARE,
)
scipy.record(
    "rsf2csf",
    np.triu(np.arange(9.0).reshape(3, 3)),
    np.eye(3),
    oracle=lambda t, z: theirs.rsf2csf(t, z),
    loose=True,
    tolerance=8,
)
scipy.record(
    "qr_multiply",
    A,
    B,
    call=lambda f, a, c: abs(f(diagonal(a), c, mode="left")[0]),
    oracle=lambda a, c: np.abs(theirs.qr_multiply(diagonal(a), c, mode="left")[0]),
    tolerance=64,
    ragged=({0: (0, 1), 1: 0},),
)
scipy.no_record("takes a function: test_linalg.py", "funm")


def np_triu(x: Any) -> Any:
    import cotangent.numpy as cnp

    return cnp.triu(x)
