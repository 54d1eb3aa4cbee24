"""Every public function that JAX has as well, jitted, value and gradient, at three sizes: `./dev bench --sweep`.

A function is called in the first of a few ways that JAX accepts (one array, two, a matrix, integers …); those that need more have a row
in `SPECIAL`. Both libraries run in one process, one after the other in turn, and the least time counts. Results are compared: one that
differs is WRONG, not a time, unless it is as close to what both compute in float64 as the other one. Figures are kept in
benchmarks/sweep.json, where those of a later run replace those of the same functions and sizes, so that parts can be run apart (`--only
spellings`: these alone). `--page`
writes docs/sweep.md of them: all functions that take more than 1.1 times as long as with JAX, each with its reason where one is known, and
what `spellings.py` measures.
"""

from __future__ import annotations

import fcntl
import functools
import json
import math
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import spellings

PAGE = Path(__file__).resolve().parent.parent / "docs" / "sweep.md"
FIGURES = Path(__file__).resolve().parent / "sweep.json"
SIZES = {"small": (8, 8), "medium": (256, 256), "large": (2000, 1000)}
LIMIT = 1.1
# Less than this is the time of a call, which `./dev bench` has lines for.
LEAST_MICROSECONDS = 2.0
# What takes JAX longer, or more, is not tried at larger sizes.
MOST_MICROSECONDS = 3e5
MOST_ELEMENTS = 2e7
MOST_BYTES = 4e9
NAMESPACES = ["numpy", "numpy.linalg", "numpy.fft", "nn", "scipy.special", "scipy.linalg", "lax"]

# What is known of functions that are slower, by name. Errors are the largest of 200,000 numbers against SciPy's float64, in
# units in the last place.
_GESDD = "LAPACK's gesdd is all of it; SciPy's takes as long by itself"
_ERF = "1.0 ulp, where JAX's is off by 5.3"
_ERFC = "4.1 ulp between -4 and 9, where JAX's is off by 65"
_TANH = "1.3 ulp; JAX's is off by 4.1"
_GAMMAINC = "0.5 ulp for arguments up to 20, where JAX's is off by 195"
_GAMMAINCC = "0.5 ulp for arguments up to 20, where JAX's is off by 304"
_SIGMOID = "right to the least subnormal: silu(-88) is -5.3e-37, which JAX has as 0, with its sigmoid"
_ROOT = "the derivative is 1e-30 at 1e30, where JAX's square overflows and leaves 0"
_LOG2, _LOG10 = "1.5 ulp; JAX's is off by 2.3", "1.9 ulp; JAX's is off by 2.6"
_LOGISTIC = "right to the least subnormal, which JAX has as 0"
_ATAN2 = "the derivative holds where squares overflow or underflow: 5e-31 at (1e30, 1e30), where JAX's is 0; 5e29 at 1e-30, JAX's inf"
_ERFINV = "2.7 ulp; JAX's is off by 4.8"
_LOG_OF_RATIO = "2.3 ulp from 0.01 to 0.99; JAX's p log(p) - p log(q) cancels where they are close: 65,000"
DIFFERENCES = {
    "lax.clamp": "where the operand equals a bound, both have half of the derivative, as in `clip` of both libraries; in JAX's `clamp` neither",
    "nn.dot_product_attention": "this one is off from float64 by 4e-4 of the largest element, JAX's by 2.5e-3",
    "scipy.linalg.qr": "the full Q of a tall matrix is not determined by it, so it has no derivative: an error here",
}
REASONS = {
    "scipy.special.rel_entr": _LOG_OF_RATIO,
    "scipy.special.kl_div": "as scipy.special.rel_entr, whose error is left where the sum cancels: JAX's is 130 times as large",
    "scipy.special.logit": "2.5 ulp from 0.01 to 0.99; JAX's is off by 65,000, near 1/2",
    "scipy.special.xlogy": "1.7 ulp; JAX's is off by 2.2",
    "numpy.polyval": "product and sum are rounded as NumPy rounds them; XLA contracts both to one instruction, and has other bits",
    "numpy.log2": _LOG2,
    "numpy.log10": _LOG10,
    "scipy.special.entr": "1.6 ulp; JAX's is off by 2.2",
    "scipy.special.expit": _LOGISTIC,
    "lax.logistic": _LOGISTIC,
    "nn.sigmoid": _LOGISTIC,
    "numpy.arctan2": _ATAN2,
    "numpy.atan2": _ATAN2,
    "lax.atan2": _ATAN2,
    "lax.erf_inv": _ERFINV,
    "scipy.special.erfinv": _ERFINV,
    "numpy.tanh": _TANH,
    "nn.tanh": _TANH,
    "lax.tanh": _TANH,
    "nn.gelu": "21 ulp from -4 to 4; JAX's cancels below 0: 58,000",
    "nn.squareplus": "2.3 ulp from -50 to 50, and the derivative 4.2; JAX's cancel below 0: 840 and 2,300",
    "nn.silu": _SIGMOID,
    "nn.swish": _SIGMOID,
    "nn.glu": _SIGMOID,
    "lax.asinh": _ROOT,
    "lax.acosh": _ROOT,
    "numpy.arcsinh": _ROOT,
    "numpy.arccosh": _ROOT,
    "numpy.asinh": _ROOT,
    "numpy.acosh": _ROOT,
    "scipy.special.gammainc": _GAMMAINC,
    "lax.igamma": _GAMMAINC,
    "scipy.special.gammaincc": _GAMMAINCC,
    "lax.igammac": _GAMMAINCC,
    "numpy.linalg.svd": _GESDD,
    "numpy.linalg.svdvals": _GESDD,
    "numpy.linalg.pinv": _GESDD,
    "scipy.linalg.svd": _GESDD,
    "scipy.linalg.svdvals": _GESDD,
    "scipy.linalg.qr_multiply": "a product with Q, which has a derivative, where JAX's is LAPACK's ormqr and has none",
    "scipy.linalg.expm_frechet": "13 of 16 squarings are not made, but carry matrices for the derivative: 3.12 s, and 2.84 with max_squarings=4",
    "scipy.linalg.hessenberg": "loops that have derivatives, where JAX's is LAPACK's gehrd and has none",
    "numpy.exp2": "1.1 ulp, and exact at whole numbers; JAX's is exp(x log 2), off by up to 67",
    "lax.exp2": "as numpy.exp2",
    "numpy.fmod": "the derivative by the divisor needs the exact remainder: JAX rounds x / y, and has -9 instead of -8 for 0.9 and 0.1",
    "lax.rem": "as numpy.fmod",
    "scipy.special.boxcox": "3.0 ulp, JAX's 6.0; the derivative by the power does not cancel: 11 ulp, JAX's 43,000",
    "scipy.special.boxcox1p": "as scipy.special.boxcox: 3.2 ulp, JAX's 7.0; by the power 5, JAX's 1,600",
    "scipy.special.erf": _ERF,
    "lax.erf": _ERF,
    "scipy.special.erfc": _ERFC,
    "lax.erfc": _ERFC,
    "scipy.special.erfcx": "4.6 ulp from -9 to 9, where JAX's is off by 63; the derivative does not cancel: -2.2554e-4 at 50, JAX's is -2.2566e-4",
}
# What takes JAX minutes, measured once.
NOT_RUN = {
    ("numpy.poly", "large"): "takes JAX more than 6 minutes to compile; here it takes 1.1 s",
    ("scipy.special.expn", "large"): "takes JAX 23 s; here it takes 0.25 s",
}
# Functions that do not compute on an array, or whose result is not one value (draws of memory, files, printing).
LEFT_OUT = {
    "frombuffer", "fromfile", "load", "save", "savez", "array_repr", "array_str", "printoptions", "set_printoptions", "get_printoptions",
    "empty", "empty_like", "from_dlpack", "associative_scan", "while_loop", "fori_loop", "cond", "switch", "scan", "map", "custom_root",
    "custom_linear_solve", "optimization_barrier", "infeed", "outfeed", "create_token", "after_all", "issubdtype",
}  # fmt: skip


@dataclass
class Row:
    name: str
    size: str
    kind: str  # value or gradient
    ours: float  # µs
    theirs: float
    wrong: str = ""
    missing: str = ""  # why it has no figures

    @property
    def ratio(self) -> float:
        """How many times as fast as JAX."""
        return math.nan if self.missing else self.theirs / self.ours


@functools.cache
def operands(shape: tuple[int, int]) -> SimpleNamespace:
    rng = np.random.default_rng(0)
    rows, columns = shape
    side = min(shape)
    square = rng.normal(size=(side, side))
    return SimpleNamespace(
        x=rng.uniform(0.1, 0.9, shape).astype(np.float32),
        y=rng.uniform(0.1, 0.9, shape).astype(np.float32),
        z=rng.uniform(0.1, 0.9, shape).astype(np.float32),
        # All different: the derivative of an element in order belongs to any of equal ones.
        v=(0.1 + 0.8 * (rng.permutation(rows * columns) + 0.5) / (rows * columns)).astype(np.float32),
        s=(square @ square.T / side + np.eye(side)).astype(np.float32),
        i=rng.integers(1, 100, shape).astype(np.int32),
        j=rng.integers(1, 8, shape).astype(np.int32),
        b=rng.integers(0, 2, shape).astype(bool),
        c=(rng.normal(size=shape) + 1j * rng.normal(size=shape)).astype(np.complex64),
        at=rng.integers(0, columns, rows).astype(np.int32),
        row=rng.uniform(0.1, 0.9, columns).astype(np.float32),
        segments=rng.integers(0, rows, rows * columns).astype(np.int32),
        rows=rows,
    )


# Ways to call a function: what it is given, as names of operands or plain values.
WAYS: list[tuple[Any, ...]] = [
    ("x",), ("x", "y"), ("x", "y", "z"), ("s",), ("s", "s"), ("v",), ("v", "v"), ("i",), ("i", "j"), ("b",), ("b", "b"), ("c",),
    ("x", 0), ("x", 1), ("x", 0, 1), ("x", (1, 0)), ("i", "x"), ("b", "x", "y"), (2, "x"), ("x", "x", "x", "x"),
]  # fmt: skip


def parted(library: Any, x: Any) -> list[Any]:
    """What is defined of rows that are partitioned at 3."""
    return [x[:, 3], library.numpy.max(x[:, :4], 1), library.numpy.min(x[:, 3:], 1), library.numpy.sum(x, 1)]


# More than the ways say, or other operands than the first that fit.
SPECIAL: dict[str, Callable[[Any, SimpleNamespace], tuple[Callable[..., Any], list[Any]]]] = {
    "numpy.take columns": lambda m, o: (lambda x, i: m.numpy.take(x, i, axis=1), [o.x, o.at]),
    "numpy.take rows": lambda m, o: (lambda x, i: m.numpy.take(x, i % x.shape[0], axis=0), [o.x, o.at]),
    "numpy.repeat rows": lambda m, o: (lambda x: m.numpy.repeat(x, 3, axis=0), [o.x]),
    "numpy.repeat columns": lambda m, o: (lambda x: m.numpy.repeat(x, 3, axis=1), [o.x]),
    "numpy.repeat flat": lambda m, o: (lambda x: m.numpy.repeat(x, 3), [o.v]),
    "numpy.tile": lambda m, o: (lambda x: m.numpy.tile(x, (2, 2)), [o.x]),
    "numpy.pad": lambda m, o: (lambda x: m.numpy.pad(x, 3), [o.x]),
    "numpy.roll": lambda m, o: (lambda x: m.numpy.roll(x, 3, axis=1), [o.x]),
    "numpy.bincount": lambda m, o: (lambda i: m.numpy.bincount(i, length=100), [o.i.ravel()]),
    "numpy.digitize": lambda m, o: (lambda x, a: m.numpy.digitize(x, a), [o.v, np.sort(o.v)]),
    "numpy.searchsorted": lambda m, o: (lambda a, x: m.numpy.searchsorted(a, x), [np.sort(o.v), o.v]),
    "numpy.interp": lambda m, o: (lambda x, a, b: m.numpy.interp(x, a, b), [o.v, np.sort(o.row), o.row]),
    "numpy.select": lambda m, o: (lambda b, x, y: m.numpy.select([b, ~b], [x, y]), [o.b, o.x, o.y]),
    "numpy.unravel_index": lambda m, o: (lambda i: m.numpy.unravel_index(i, (10, 10)), [o.i]),
    # Compared by what `parted` takes of them: the order on both sides of the element is the library's own.
    "numpy.partition": lambda m, o: (lambda x: parted(m, m.numpy.partition(x, 3)), [o.x]),
    "numpy.argpartition": lambda m, o: (
        lambda x: parted(m, m.numpy.take_along_axis(x, m.numpy.argpartition(x, 3), -1)), [o.x]),
    # The work grows with the square of the size.
    **{
        f"numpy.{name}": lambda m, o, name=name: (getattr(m.numpy, name), [o.v[:4096], o.v[-4096:]])
        for name in ("convolve", "correlate", "polymul")
    },
    "numpy.matmul matrix by vector": lambda m, o: (lambda x, v: x @ v, [o.x, o.row]),
    "numpy.matmul vector by matrix": lambda m, o: (lambda x, v: v @ x.T, [o.x, o.row]),
    "numpy.matmul": lambda m, o: (lambda x, y: x @ y.T, [o.x, o.y]),
    "numpy.matmul complex": lambda m, o: (lambda c: c @ c.T, [o.c]),
    "numpy.matmul complex adjoint": lambda m, o: (lambda c: m.numpy.conj(c.T) @ c, [o.c]),
    "numpy.matmul complex batches": lambda m, o: (
        lambda c: (lambda z: z @ m.numpy.swapaxes(z, 1, 2))(c.reshape(4, o.rows // 4, -1)), [o.c]),
    "numpy.matmul complex parts": lambda m, o: (
        lambda x, y: m.numpy.real(m.lax.complex(x, y) @ m.lax.complex(y, x).T), [o.x, o.y]),
    "numpy.sum rows": lambda m, o: (lambda x: m.numpy.sum(x, axis=1), [o.x]),
    "numpy.sum columns": lambda m, o: (lambda x: m.numpy.sum(x, axis=0), [o.x]),
    "numpy.cumsum columns": lambda m, o: (lambda x: m.numpy.cumsum(x, axis=0), [o.x]),
    "numpy.cumsum rows": lambda m, o: (lambda x: m.numpy.cumsum(x, axis=1), [o.x]),
    "numpy.sort columns": lambda m, o: (lambda x: m.numpy.sort(x, axis=0), [o.x]),
    "numpy.concatenate": lambda m, o: (lambda x, y: m.numpy.concatenate([x, y], 1), [o.x, o.y]),
    "numpy.stack": lambda m, o: (lambda x, y: m.numpy.stack([x, y], 1), [o.x, o.y]),
    "numpy.einsum ij,kj->ki": lambda m, o: (lambda x, y: m.numpy.einsum("ij,kj->ki", x, y), [o.x, o.y]),
    "numpy.transpose NCHW": lambda m, o: (
        lambda x: m.numpy.transpose(x.reshape(o.rows // 4, 2, 2, -1), (0, 3, 1, 2)), [o.x]),
    "gather x[i]": lambda m, o: (lambda x, i: x[i], [o.v, o.segments]),
    "gather x[i, j]": lambda m, o: (lambda x, i: x[i % x.shape[0], i], [o.x, o.at]),
    "scatter x.at[i].add": lambda m, o: (lambda x, i: x.at[i].add(1.0), [o.v, o.segments]),
    "ops.segment_sum": lambda m, o: (lambda x, i: m.ops.segment_sum(x, i, o.rows), [o.v, o.segments]),
    "lax.top_k": lambda m, o: (lambda x: m.lax.top_k(x, 8), [o.x]),
    "nn.one_hot": lambda m, o: (lambda i: m.nn.one_hot(i, 100), [o.at]),
    "nn.dot_product_attention": lambda m, o: (
        lambda x, y, z: m.nn.dot_product_attention(*(a.reshape(o.rows, 2, -1) for a in (x, y, z))), [o.x, o.y, o.z]),
    # Orders are whole numbers, and not differentiated; zeta has a derivative above 1.
    "scipy.special.expn": lambda m, o: (lambda x: m.scipy.special.expn(o.j.astype(np.float32), x), [o.x]),
    # With bounds in their order.
    "lax.clamp": lambda m, o: (
        lambda x, y, z: m.lax.clamp(m.numpy.minimum(x, z) / 2, y, 1 - m.numpy.maximum(x, z) / 2), [o.x, o.y, o.z]),
    "scipy.special.polygamma": lambda m, o: (lambda i, x: m.scipy.special.polygamma(i, x), [o.j, o.x]),
    "scipy.special.zeta": lambda m, o: (lambda x: m.scipy.special.zeta(2.5, x), [o.x]),
    "nn.softmax": lambda m, o: (lambda x: m.nn.softmax(x, axis=-1), [o.x]),
    "nn.logsumexp": lambda m, o: (lambda x: m.nn.logsumexp(x, axis=-1), [o.x]),
    "scipy.linalg.expm": lambda m, o: (lambda s: m.scipy.linalg.expm(0.1 * s), [o.s]),
    "scipy.linalg.solve_triangular": lambda m, o: (lambda s: m.scipy.linalg.solve_triangular(s, s), [o.s]),
    "scipy.linalg.cho_solve": lambda m, o: (lambda s: m.scipy.linalg.cho_solve(m.scipy.linalg.cho_factor((s + s.T) / 2), s), [o.s]),
    # Read one triangle, whose derivative JAX spreads over both: compared where that is the same.
    "scipy.linalg.cholesky": lambda m, o: (lambda s: m.scipy.linalg.cholesky((s + s.T) / 2), [o.s]),
    "scipy.linalg.cho_factor": lambda m, o: (lambda s: m.numpy.triu(m.scipy.linalg.cho_factor((s + s.T) / 2)[0]), [o.s]),
    # The determinant itself is beyond float32 at the larger sizes.
    "numpy.linalg.det": lambda m, o: (lambda s: m.numpy.linalg.det(s / len(s) + m.numpy.eye(len(s))), [o.s]),
    "scipy.linalg.det": lambda m, o: (lambda s: m.scipy.linalg.det(s / len(s) + m.numpy.eye(len(s))), [o.s]),
    # Tall, as a square system leaves residuals of rounding errors.
    "numpy.linalg.lstsq": lambda m, o: (lambda x, y: m.numpy.linalg.lstsq(x[:, : x.shape[1] // 2], y), [o.x, o.y]),
    # Of equal elements the derivative is any, from -1 to 1.
    "scipy.linalg.fiedler": lambda m, o: (m.scipy.linalg.fiedler, [o.v.reshape(o.x.shape)]),
    "numpy.linalg.slogdet": lambda m, o: (lambda s: m.numpy.linalg.slogdet(s)[1], [o.s]),
}  # fmt: skip
# Vectors have a sign or an order that is the library's own.
NOT_COMPARED = {
    "svd", "eig", "eigh", "schur", "rsf2csf", "qr", "qr_multiply", "top_k", "approx_max_k", "approx_min_k", "argsort", "lexsort", "lu",
    "lu_factor", "lu_pivots_to_permutation", "hessenberg", "householder_product", "polar", "tridiagonal",
}  # fmt: skip


def module_of(root: Any, namespace: str) -> Any:
    import importlib

    return importlib.import_module(f"{root.__name__}.{namespace}")


def functions(ours: Any, theirs: Any) -> Iterator[tuple[str, str, str]]:
    for namespace in NAMESPACES:
        mine, other = module_of(ours, namespace), module_of(theirs, namespace)
        for name in sorted(dir(other)):
            if name.startswith("_") or name in LEFT_OUT or not callable(getattr(other, name)):
                continue
            if isinstance(getattr(other, name), type) or not callable(getattr(mine, name, None)):
                continue
            yield f"{namespace}.{name}", namespace, name


def leaves(result: Any) -> list[Any]:
    if isinstance(result, (tuple, list)):
        return [leaf for item in result for leaf in leaves(item)]
    return [result] if hasattr(result, "dtype") else []


def called(function: Callable[..., Any], way: tuple[Any, ...]) -> Callable[..., Any]:
    """The function of the arrays in this way, its plain values filled in."""

    def run(*arrays: Any) -> Any:
        given = iter(arrays)
        return function(*[next(given) if isinstance(part, str) else part for part in way])

    return run


def find_way(jax: Any, function: Callable[..., Any], tiny: SimpleNamespace) -> tuple[Any, ...] | None:
    for way in WAYS:
        arrays = [getattr(tiny, part) for part in way if isinstance(part, str)]
        try:
            result = jax.eval_shape(called(function, way), *arrays)
        except Exception:
            continue
        if any(leaf.size > 0 for leaf in leaves(result)):
            return way
    return None


def least(
    thunks: list[Callable[[], Any]], seconds: float, clock: Callable[[], float] = time.perf_counter
) -> list[float]:
    """Of each, in turn, in µs."""
    best = [math.inf] * len(thunks)
    for thunk in thunks:
        thunk()
    end = time.perf_counter() + seconds * len(thunks)
    repeats = 0
    while repeats < 3 or (time.perf_counter() < end and repeats < 2000):
        for k, thunk in enumerate(thunks):
            start = clock()
            thunk()
            best[k] = min(best[k], clock() - start)
        repeats += 1
    return [1e6 * one for one in best]


def largest(array: Any) -> float:
    """The largest finite magnitude."""
    return float(np.max(np.abs(array[np.isfinite(array)]), initial=1e-30))


def differ(name: str, ours: Any, theirs: Any) -> str:
    if name.split(" ")[0].rpartition(".")[2] in NOT_COMPARED:
        return ""
    mine, other = leaves(ours), leaves(theirs)
    if len(mine) != len(other):
        return f"{len(mine)} results instead of {len(other)}"
    for one, expected in zip(mine, other, strict=True):
        one, expected = np.asarray(one), np.asarray(expected)
        if one.shape != expected.shape:
            return f"shape {one.shape} instead of {expected.shape}"
        scale = largest(expected)
        if not np.allclose(one / scale, expected / scale, rtol=2e-3, atol=2e-4, equal_nan=True):
            return "values differ"
    return ""


def distance(result: Any, exact: Any) -> float:
    """The largest difference, relative to the largest element."""
    worst = 0.0
    for one, expected in zip(leaves(result), leaves(exact), strict=True):
        one, expected = np.asarray(one), np.asarray(expected)
        scale = largest(expected)
        with np.errstate(invalid="ignore", over="ignore"):
            off = np.abs(one - expected) / scale
        same = (one == expected) | ((one != one) & (expected != expected))
        worst = max(worst, float(np.max(np.where(same, 0.0, np.where(np.isnan(off), np.inf, off)), initial=0.0)))
    return worst


def excused(jax: Any, name: str, ours: Any, theirs: Any, results: tuple[Any, Any], arrays: list[Any]) -> bool:
    """Whether both agree in float64, and the result here is at most 4 times as far from that as JAX's."""
    import cotangent

    wide = [array.astype({"f": np.float64, "c": np.complex128}.get(array.dtype.kind, array.dtype)) for array in arrays]
    with jax.enable_x64(True):
        exact = jax.jit(theirs)(*[jax.numpy.asarray(array) for array in wide])
        mine = cotangent.jit(ours)(*wide)
        return not differ(name, mine, exact) and distance(results[0], exact) <= 4 * distance(results[1], exact)


def weights(shape: tuple[int, ...]) -> Any:
    """What a gradient's results are summed with, as the plain sum of what is normalized has no derivative but rounding errors.

    They are operands: with constants JAX computes gradients of linear functions when it compiles.
    """
    return (1 + np.arange(shape[-1] if shape else 1) % 7).astype(np.float32)


def measure(
    ct: Any, jax: Any, name: str, size: str, ours: Any, theirs: Any, arrays: list[Any], seconds: float
) -> list[Row]:
    rows: list[Row] = []
    count = len(arrays)

    def total(function: Callable[..., Any], library: Any) -> Callable[..., Any]:
        def run(*args: Any) -> Any:
            floats = [leaf for leaf in leaves(function(*args[:count])) if leaf.dtype in (np.float32, np.float64)]
            parts = [library.numpy.sum(leaf * weight) for leaf, weight in zip(floats, args[count:], strict=True)]
            return sum(parts[1:], parts[0])

        return run

    floats = tuple(k for k, array in enumerate(arrays) if array.dtype == np.float32)
    for kind in ("value", "gradient"):
        functions_, operands_ = [ours, theirs], arrays
        if kind == "gradient":
            results = [leaf for leaf in leaves(jax.eval_shape(theirs, *arrays)) if leaf.dtype == np.float32]
            if not floats or not results:
                continue
            functions_ = [
                library.grad(total(f, library), floats) for f, library in zip(functions_, (ct, jax), strict=True)
            ]
            operands_ = [*arrays, *(weights(leaf.shape) for leaf in results)]
        try:
            jitted = [ct.jit(functions_[0]), jax.jit(functions_[1])]
            given = [[library.numpy.asarray(array) for array in operands_] for library in (ct, jax)]
            if size == "large":
                needed = jitted[1].lower(*given[1]).compile().memory_analysis().temp_size_in_bytes
                if needed > MOST_BYTES:
                    rows.append(Row(name, size, kind, 0.0, 0.0, missing=f"takes JAX {needed / 1e9:.0f} GB"))
                    continue
            expected = jax.block_until_ready(jitted[1](*given[1]))
        except Exception:
            continue
        try:
            result = jitted[0](*given[0])
            wrong = differ(name, result, expected)
            if wrong and excused(jax, name, functions_[0], functions_[1], (result, expected), operands_):
                wrong = ""
        except Exception as error:
            rows.append(
                Row(name, size, kind, math.inf, 1.0, f"{type(error).__name__}: {str(error).splitlines()[0][:80]}")
            )
            continue
        thunks = [
            lambda f=jitted[0], args=given[0]: f(*args),
            lambda f=jitted[1], args=given[1]: jax.block_until_ready(f(*args)),
        ]
        rows.append(Row(name, size, kind, *least(thunks, seconds, clock_of(size)), wrong))
    return rows


def clock_of(size: str) -> Callable[[], float]:
    """Processor time where a process has one core and calls take long, as another process may have the core meanwhile."""
    return time.process_time if size == "large" and len(os.sched_getaffinity(0)) == 1 else time.perf_counter


def wanted(title: str, only: str) -> bool:
    return not only or any(word.strip() in title for word in only.split(","))


def sweep(sizes: list[str], only: str, seconds: float, show: Callable[[str], None]) -> list[Row]:
    import cotangent as ct
    import cotangent.scipy.linalg
    import cotangent.scipy.special
    import jax
    import jax.scipy.linalg
    import jax.scipy.special

    tiny = operands((4, 4))
    cases: list[tuple[str, Callable[[SimpleNamespace], tuple[Any, Any, list[Any]]]]] = []
    for title, namespace, name in functions(ct, jax):
        if title in SPECIAL or not wanted(title, only):
            continue
        mine, other = getattr(module_of(ct, namespace), name), getattr(module_of(jax, namespace), name)
        way = find_way(jax, other, tiny)
        if way is None:
            continue

        def case(
            o: SimpleNamespace, mine: Any = mine, other: Any = other, way: Any = way
        ) -> tuple[Any, Any, list[Any]]:
            return called(mine, way), called(other, way), [getattr(o, part) for part in way if isinstance(part, str)]

        cases.append((title, case))
    for title, make in SPECIAL.items():
        if wanted(title, only):
            cases.append((title, lambda o, make=make: (make(ct, o)[0], *make(jax, o))))
    rows: list[Row] = []
    for title, case in cases:
        for size in sizes:
            earlier = [row for row in kept(rows, [])[0] if row.name == title and smaller(row.size, size)]
            ours, theirs, arrays = case(operands(SIZES[size]))
            if not accepts(jax, theirs, arrays):
                ours, theirs, arrays = case(operands((min(SIZES[size]),) * 2))
            why = NOT_RUN.get((title, size)) or untried(jax, theirs, arrays, earlier)
            found = (
                [Row(title, size, "value", 0.0, 0.0, missing=why)]
                if why
                else measure(ct, jax, title, size, ours, theirs, arrays, seconds)
            )
            for row in found:
                note = f"WRONG: {row.wrong}" if row.wrong else row.missing or ("slower" if is_slower(row) else "")
                show(
                    f"{row.name:34} {row.size:7} {row.kind:9} {row.ours:12.1f} {row.theirs:12.1f} {row.ratio:8.2f}  {note}"
                )
            rows += found
            jax.clear_caches()  # compiled functions and their constants fill the memory otherwise
    return rows


def smaller(size: str, than: str) -> bool:
    return math.prod(SIZES[size]) < math.prod(SIZES[than])


def accepts(jax: Any, function: Callable[..., Any], arrays: list[Any]) -> bool:
    try:
        jax.eval_shape(function, *arrays)
    except Exception:
        return False
    return True


def untried(jax: Any, function: Callable[..., Any], arrays: list[Any], earlier: list[Row]) -> str:
    """Why a function is not run at a size: arrays that no memory of a laptop holds, and minutes of work, tell nothing."""
    slowest = max(earlier, key=lambda row: row.theirs, default=None)
    if slowest and slowest.theirs > MOST_MICROSECONDS:
        return f"takes JAX {slowest.theirs / 1e6:.1f} s at {SIZES[slowest.size]}"
    try:
        elements = sum(leaf.size for leaf in leaves(jax.eval_shape(function, *arrays)))
    except OverflowError:
        return "its result has more elements than JAX counts"
    except Exception:
        return "JAX does not accept it"
    return f"its result has {elements:.0e} elements" if elements > MOST_ELEMENTS else ""


def is_slower(row: Row) -> bool:
    return row.ratio < 1 / LIMIT and row.ours >= LEAST_MICROSECONDS


def page(rows: list[Row], groups: list[spellings.Group]) -> str:
    right = [row for row in rows if not (row.wrong or row.missing)]
    mean = math.exp(sum(math.log(row.ratio) for row in right) / max(1, len(right)))
    slower = sorted((row for row in right if is_slower(row)), key=lambda row: row.ratio)
    lines = [
        "# Every public function next to JAX",
        "",
        "Written by `./dev bench --sweep --page`. Jitted functions of float32 arrays, value and gradient of a weighted sum, least times in µs of calls in",
        "turn in one process on one core; of large sizes, newer figures are processor time. Large arrays are (2000, 1000), where functions take square "
        f"matrices (1000, 1000). {len(right)} figures: in the geometric mean {mean:.2f} times as fast as JAX; "
        f"{len(slower)} of them slower by more than {LIMIT} times, below.",
        "",
        "| function | size | | here | JAX | times as fast | reason |",
        "|---|---|---|---|---|---|---|",
    ]
    for row in slower:
        reason = REASONS.get(row.name.split(" ")[0], "")
        lines.append(
            f"| `{row.name}` | {row.size} | {row.kind} | {row.ours:.1f} | {row.theirs:.1f} | {row.ratio:.2f} | {reason} |"
        )
    wrong = [row for row in rows if row.wrong]
    if wrong:
        lines += ["", "Results that differ, or fail:", ""]
        lines += [
            f"- `{row.name}` {row.size} {row.kind}: {'; '.join(filter(None, (row.wrong, DIFFERENCES.get(row.name))))}"
            for row in wrong
        ]
    missing = [row for row in rows if row.missing]
    if missing:
        lines += ["", "Sizes that are not run, and why:", ""]
        lines += [f"- `{row.name}` {row.size} {row.kind}: {row.missing}" for row in missing]
    lines += spellings.section(groups) if groups else []
    return "\n".join(lines) + "\n"


def main(sizes: str, only: str, seconds: float, write: bool) -> int:
    print(f"{'function':34} {'size':7} {'':9} {'here, µs':>12} {'JAX, µs':>12} {'times':>8}")
    import cotangent

    def show(line: str) -> None:
        print(line, flush=True)

    rows = sweep(sizes.split(","), only, seconds, show)
    groups = [] if only not in ("", "spellings") else spellings.measure(cotangent, seconds, least, show)
    all_rows, all_groups = kept(rows, groups)
    text = page(all_rows, all_groups)
    print("\n" + text)
    if write:
        PAGE.write_text(text, encoding="utf-8")
    return 1 if any(one.wrong for one in [*rows, *groups]) else 0


def kept(rows: list[Row], groups: list[spellings.Group]) -> tuple[list[Row], list[spellings.Group]]:
    """All figures: those of earlier runs, replaced by these where these are newer."""
    with FIGURES.open("a+", encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_EX)  # two cores measure two sizes at a time
        file.seek(0)
        earlier = json.loads(file.read() or '{"rows": [], "groups": []}')
        by_key = {(row.name, row.size, row.kind): row for row in [*(Row(**r) for r in earlier["rows"]), *rows]}
        by_title = {group.title: group for group in [*(spellings.Group(**g) for g in earlier["groups"]), *groups]}
        all_rows, all_groups = list(by_key.values()), list(by_title.values())
        file.truncate(0)
        json.dump({"rows": [asdict(r) for r in all_rows], "groups": [asdict(g) for g in all_groups]}, file)
    return all_rows, all_groups
