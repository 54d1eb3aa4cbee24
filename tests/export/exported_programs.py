"""Programs of all kinds that the tests export: each operation by its record, and models, sorts, linear algebra, loops, masks."""

from __future__ import annotations

from functools import cache
from typing import Any

import cotangent as ct
import cotangent.numpy as cnp
import numpy as np
from contract_models import mlp
from op_records import RECORDS
from record_checks import operands

Program = tuple[Any, tuple[Any, ...]]


def recorded() -> dict[str, Program]:
    """Each record's primitive, with operands of the first of its dtypes."""
    programs = {}
    for index, record in enumerate(RECORDS):
        programs[f"{record.id}-{index}"] = (record.__call__, tuple(operands(record, record.dtypes[0])))
    return programs


rng = np.random.default_rng(4)
X = rng.standard_normal((40, 33)).astype(np.float32)
A = rng.standard_normal((36, 36))
POSITIVE = A @ A.T + 36 * np.eye(36)
GATED = [rng.standard_normal(shape).astype(np.float32) / 4 for shape in ((9, 128), (32, 128), (128,))]
SMALL = (np.geomspace(1e-46, 1e-36, 64) * 1.7).astype(np.float32)  # subnormal numbers
TABLE = rng.integers(0, 1000, 100)
RAGGED = ct.Ragged(rng.standard_normal(20).astype(np.float32), {0: 13})
WIDE = (rng.standard_normal(200) * 10.0 ** rng.integers(-20, 20, 200)).astype(np.float64)
SOME_LARGE = (X * 10.0 ** (9 * (np.random.default_rng(5).integers(0, 300, X.shape) == 0))).astype(np.float32)


def _train(params: Any, x: Any, y: Any) -> Any:
    loss, *_ = mlp()
    value, gradient = ct.value_and_grad(lambda params: cnp.mean(ct.vmap(lambda x, y: loss(params, x, y))(x, y)))(params)
    return value, ct.tree_util.tree_map(lambda p, g: p - 0.1 * g, params, gradient)


def _attention(x: Any) -> Any:
    scores = cnp.where(cnp.tril(cnp.ones((40, 40), bool)), x @ x.T / 6, -cnp.inf)
    return ct.nn.softmax(scores, axis=-1) @ x


def _recurrent(x: Any) -> Any:
    def step(h: Any, row: Any) -> Any:
        h = cnp.tanh(0.5 * h + row)
        return h, cnp.sum(h)

    return ct.lax.scan(step, cnp.zeros(33, np.float32), x)


def _gated(params: Any, x: Any) -> Any:
    """A loss of the last state of a recurrent network with gates."""
    weights, recurrent, bias = params

    def step(carry: Any, row: Any) -> Any:
        h, c = carry
        i, f, g, o = cnp.split(row @ weights + h @ recurrent + bias, 4, axis=-1)
        c = ct.nn.sigmoid(f) * c + ct.nn.sigmoid(i) * cnp.tanh(g)
        return (ct.nn.sigmoid(o) * cnp.tanh(c), c), None

    zero = cnp.zeros((x.shape[1], recurrent.shape[0]), np.float32)
    (h, _), _ = ct.lax.scan(step, (zero, zero), x)
    return cnp.sum(h**2)


@cache
def models() -> dict[str, Program]:
    """Larger ones."""
    _, params, batch, labels = mlp(32)
    single = ct.tree_util.tree_map(lambda p: np.asarray(p, np.float32), params)
    z, w = np.exp(1j * A), (X + 1j * (1 - X)).astype(np.complex64)
    return {
        "training": (_train, (single, batch.astype(np.float32), labels)),
        "training in float64": (_train, (params, batch, labels)),
        "gradient": (ct.value_and_grad(lambda x: cnp.mean(cnp.tanh(x @ x.T) ** 2)), (X,)),
        "per example": (ct.vmap(ct.grad(lambda row: cnp.sum(cnp.sin(row) ** 2))), (X,)),
        "attention": (_attention, (X,)),
        "recurrent": (_recurrent, (X,)),
        "gradient of recurrent": (ct.grad(lambda x: cnp.sum(_recurrent(x)[1] ** 2)), (X,)),
        "gradient of a gated network": (ct.grad(_gated), (GATED, rng.standard_normal((3, 4, 9)).astype(np.float32))),
        "gradient of rows of products": (
            ct.grad(lambda h, w: cnp.sum(ct.lax.scan(lambda h, _: ((h @ w)[:24], None), h, None, length=2)[0])),
            (X[0, :24], rng.standard_normal((24, 48)).astype(np.float32)),
        ),
        "products": (lambda x, a: (x @ x.T, x.T @ x, a @ a, a[0] @ a, a @ a[1]), (X, A)),
        "complex products": (lambda z, w: (z @ z[:, :35], z.T @ cnp.conj(z)[:, 1:], w @ w.T), (z, w)),
        "convolution": (lambda x: ct.lax.conv(x[None, None], x[None, None, :5, :5], (1, 1), "SAME"), (X,)),
        "functions": (
            lambda x: [f(x) for f in (cnp.exp, cnp.tanh, cnp.sin, cnp.expm1, cnp.arctan, ct.nn.gelu, ct.nn.sigmoid)],
            (X,),
        ),
        "functions in float64": (
            lambda a: [f(a) for f in (cnp.exp, cnp.tanh, cnp.cos, cnp.log1p, cnp.sqrt)],
            (np.abs(A),),
        ),
        "large angles": (lambda x: (cnp.sin(x), cnp.cos(x)), (WIDE,)),
        "large angles in float32": (lambda x: (cnp.sin(x), cnp.cos(x)), (WIDE.astype(np.float32),)),
        "sums of large angles": (
            lambda x: (
                cnp.sum(cnp.sin(x)),
                cnp.sum(cnp.sin(x) * x, axis=0),
                cnp.cumsum(cnp.cos(x), axis=0),
                cnp.sin(cnp.sin(x) * x),
                ct.grad(lambda x: cnp.sum(cnp.cos(x) ** 2))(x),
            ),
            (SOME_LARGE,),
        ),
        "roots": (lambda x: (cnp.sqrt(cnp.abs(x)), ct.lax.rsqrt(cnp.abs(x))), (WIDE,)),
        "roots of subnormals": (lambda x: cnp.sqrt(x * 2.0**-1060), (np.arange(60, dtype=np.float64),)),
        "special functions": (lambda x: (ct.scipy.special.gammaln(x), ct.scipy.special.erf(x)), (np.abs(X) + 0.1,)),
        "rounding": (lambda x: [f(x) for f in (cnp.floor, cnp.ceil, cnp.round, cnp.trunc)], (100 * X,)),
        "rounding in float64": (lambda x: [f(x) for f in (cnp.floor, cnp.ceil, cnp.round, cnp.trunc)], (WIDE,)),
        "subnormals": (lambda x: (x * 0.5, x + x, x[::-1] - x, cnp.max(x)), (SMALL,)),
        "narrow floats": (
            lambda x: [x.astype(d) for d in (cnp.float16, cnp.bfloat16)] + [x.astype(cnp.bfloat16) * 3],
            (X,),
        ),
        "float16": (lambda x: cnp.sum(x * x + 1, axis=0), (X.astype(np.float16),)),
        "integers of floats": (
            lambda x, a: (
                (x * 1e10).astype(cnp.int32) // 7,
                a.astype(cnp.int64),
                (a * 1e17).astype(cnp.int64),
                cnp.abs(a * 1e18).astype(cnp.uint64),
            ),
            (X, A),
        ),
        "narrow integers of floats": (lambda x: ((x * 1e3).astype(cnp.int8), x.astype(cnp.uint16)), (X,)),
        "floats of integers": (
            lambda n: (n.astype(cnp.float32), n.astype(cnp.float64), n.astype(cnp.uint64).astype(cnp.float32)),
            (rng.integers(-(2**62), 2**62, 100),),
        ),
        "integers": (
            lambda n: (n // 7, n % 7, n * n, n >> 3, n << 2, -n, cnp.abs(n) // (n % 5 + 1)),
            (rng.integers(-(2**40), 2**40, 100),),
        ),
        "narrow integers": (lambda n: (n * n, n // 3, cnp.sum(n), n % 5), (rng.integers(0, 100, 77).astype(np.uint8),)),
        "sort": (lambda x, a: (cnp.sort(x, axis=1), cnp.argsort(a, axis=0), cnp.sort(x, axis=None)), (X, A)),
        "top": (lambda x: ct.lax.top_k(x, 3), (X,)),
        "random": (
            lambda x: (
                ct.random.permutation(ct.random.key(1), 100),
                ct.random.normal(ct.random.key(2), (50,)) + x,
                ct.random.randint(ct.random.key(3), (50,), 0, 1000),
            ),
            (np.float32(1),),
        ),
        "cholesky": (cnp.linalg.cholesky, (POSITIVE,)),
        "solve": (cnp.linalg.solve, (A, POSITIVE)),
        "solve in float32": (cnp.linalg.solve, (POSITIVE.astype(np.float32), A.astype(np.float32))),
        "eigenvalues": (cnp.linalg.eigvalsh, (POSITIVE,)),
        "qr": (lambda a: cnp.linalg.qr(a)[1], (A,)),
        "determinant": (cnp.linalg.slogdet, (A,)),
        "gradient of cholesky": (ct.grad(lambda a: cnp.sum(cnp.linalg.cholesky(a @ a.T + 9 * cnp.eye(36)))), (A,)),
        "fourier": (cnp.fft.fft, (A,)),
        "cumulative": (lambda a, x: (cnp.cumsum(a, axis=0), cnp.cumprod(x[:5], axis=0), ct.lax.cummax(x)), (A, X)),
        "gather": (lambda t, x: t[cnp.abs(x * 10).astype(int) % 100], (TABLE, X)),
        "scatter": (lambda x, t: cnp.zeros(50, np.float32).at[t % 50].add(x.ravel()[:100]), (X, TABLE)),
        "transposes": (lambda x: (x.T + 1, x.reshape(10, 4, 33).transpose(2, 0, 1) * 2), (X,)),
        "reductions": (
            lambda x, a: (cnp.sum(x), cnp.mean(x, 0), cnp.var(a, 1), cnp.max(x, 1), cnp.argmin(a, 0), cnp.any(x > 3)),
            (X, A),
        ),
        "masked sort": (ct.mask(lambda y: cnp.sort(cnp.cumsum(y))), (RAGGED,)),
        "masked mean": (ct.mask(lambda y: cnp.mean(cnp.tanh(y))), (RAGGED,)),
        "gradient of a mask": (ct.grad(lambda y: ct.mask(lambda y: cnp.sum(y**3))(y)), (RAGGED,)),
        "while": (
            lambda a: ct.lax.while_loop(lambda c: c[0] < 20, lambda c: (c[0] + 1, c[1] @ a / 10), (0, a))[1],
            (A,),
        ),
        "branches": (lambda x: ct.lax.map(lambda v: ct.lax.cond(v[0] > 0, cnp.sin, cnp.cos, v), x), (X,)),
        "search": (lambda x, q: cnp.searchsorted(cnp.sort(x), q), (X[0], X[1])),
    }
