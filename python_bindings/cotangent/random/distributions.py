"""The distributions of ``ct.random`` that are made of uniform and normal numbers; the draws are those of ``jax.random``."""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from cotangent import _core
from cotangent import numpy as cnp
from cotangent._base import primitives
from cotangent._base.arguments import check_arguments
from cotangent._core import Array
from cotangent._ops.binding import is_integer, literal
from cotangent._ops.keys import _words_of
from cotangent._ops.per_element import Elementwise, pick
from cotangent._ops.sizes import (
    common_shape,
    normalize_axis,
    refuse_ragged,
    refuse_ragged_shape,
    static_shape,
    symbolic_shape,
)
from cotangent._special.incomplete import _random_gamma_grad
from cotangent._transforms.batching import vmap
from cotangent._transforms.control_flow import scan, while_loop
from cotangent.errors import DTypeError, ShapeError
from cotangent.random import basic

__all__ = [
    "ball", "beta", "binomial", "chisquare", "dirichlet", "double_sided_maxwell", "f", "gamma", "generalized_normal",
    "geometric", "loggamma", "lognormal", "maxwell", "multinomial", "multivariate_normal", "orthogonal", "pareto",
    "permutation", "poisson", "rayleigh", "t", "triangular", "wald", "weibull_min",
]  # fmt: skip


def _parameters(name: str, shape: Any, dtype: Any, *given: Any) -> tuple[Any, Any, list[Array]]:
    """The shape of the result, symbolic where it is, its dtype, and parameters of that dtype, not broadcast.

    Raises:
        ShapeError: the parameters do not broadcast to the shape.
    """
    dtype = basic.float_dtype(dtype, name)
    arrays = [_core.convert(_core.array(x), dtype) for x in given]
    if shape is None:
        return common_shape([x.shape for x in arrays]), dtype, arrays
    shapes = [x._bound_shape for x in arrays]
    sizes = tuple(static_shape(shape, name)[0])
    if tuple(_core.broadcast_shapes([sizes, *shapes])) != sizes:
        raise ShapeError(f"{name}: parameters of shapes {', '.join(map(str, shapes))} do not broadcast to {sizes}")
    return symbolic_shape(shape, name), dtype, arrays


# ---- Permutations ----------------------------------------------------------------------------------------------------


def permutation(key: Any, x: Any, axis: int = 0, independent: bool = False, *, out_sharding: Any = None) -> Array:
    """The slices of an axis, or the numbers below an integer, in random order.

    Args:
        key: the key.
        x: an array, or an integer n for ``arange(n)``.
        axis: the axis that is shuffled.
        independent: whether the elements of each line along the axis are shuffled for themselves.
        out_sharding: of no effect.

    >>> import cotangent as ct
    >>> sorted(ct.random.permutation(ct.random.PRNGKey(0), 5).tolist())
    [0, 1, 2, 3, 4]
    """
    del out_sharding
    array = _core.array(x)
    if array.ndim == 0:
        if not is_integer(array):
            raise TypeError(f"permutation takes an integer or an array; got {array.dtype} of shape ()")
        normalize_axis(axis, 1, "permutation")
        return _shuffle(key, cnp.arange(operator.index(x)), 0)
    axis = normalize_axis(axis, array.ndim, "permutation")
    refuse_ragged("permutation", array, [axis], "a permutation of fewer elements takes other random bits")
    if independent:
        refuse_ragged(
            "permutation", array, range(array.ndim), "a permutation of fewer elements takes other random bits"
        )
    if independent or array.ndim == 1:
        return _shuffle(key, array, axis)
    order = _shuffle(key, cnp.arange(array._bound_shape[axis]), 0)
    return cnp.take(array, order, axis)


def _shuffle(key: Any, x: Array, axis: int) -> Array:
    """Sorted by random numbers, several times: equal numbers become unlikely."""
    rounds = math.ceil(3 * math.log(max(1, x.size)) / math.log(2**32 - 1))
    for _ in range(rounds):
        keys = basic.split(key)
        key = keys[0]
        order = cnp.argsort(basic.bits(keys[1], x._bound_shape, "uint32"), axis=axis, stable=True)
        x = cnp.take_along_axis(x, order, axis)
    return x


# ---- Gamma and what is made of it ------------------------------------------------------------------------------------


def _gamma_one(key: Array, alpha: Array, log_space: bool) -> Array:
    """One draw by Marsaglia and Tsang's method ("A simple method for generating gamma variables", 2000)."""
    dtype = alpha.dtype

    def number(value: float) -> Array:
        return _core.full((), value, dtype)

    boosted = primitives.not_(alpha >= 1.0)
    shape = pick(boosted, alpha + 1.0, alpha)
    d = shape - 1.0 / 3.0
    c = (1.0 / 3.0) / primitives.sqrt(d)

    def propose(state: Any) -> Any:
        keys = basic.split(state[0], 3)

        def draw(inner: Any) -> Any:
            pair = basic.split(inner[0])
            x = basic.normal(pair[1], (), dtype)
            return pair[0], x, 1.0 + x * c

        _, x, v = while_loop(lambda inner: inner[2] <= 0.0, draw, (keys[1], number(0.0), number(-1.0)))
        return keys[0], x * x, (v * v) * v, basic.uniform(keys[2], (), dtype)

    def rejected(state: Any) -> Any:
        _, x, v, u = state
        squeezed = u >= 1.0 - 0.0331 * (x * x)
        exact = primitives.log(u) >= x * 0.5 + d * ((1.0 - v) + primitives.log(v))
        return primitives.and_(squeezed, exact)

    keys = basic.split(key)
    _, _, v, _ = while_loop(rejected, propose, (keys[0], number(0.0), number(1.0), number(2.0)))
    if log_space:
        logs = -basic.exponential(keys[1], (), dtype)
        plain = primitives.or_(primitives.not_(boosted), logs == 0.0)
        boost = pick(plain, 0.0, logs * (1.0 / alpha))
        return (primitives.log(d) + primitives.log(v)) + boost
    samples = 1.0 - basic.uniform(keys[1], (), dtype)
    return (d * v) * pick(boosted, primitives.pow(samples, 1.0 / alpha), 1.0)  # type: ignore[no-any-return]


def _zero(sample: Array, a: Array, result: Array) -> Array:
    return _core.full((), 0.0, sample.dtype)


def _log_slope(sample: Array, a: Array, result: Array) -> Array:
    tiny = float(np.finfo(sample.dtype).tiny)
    plain = primitives.exp(result)
    plain = pick(plain == 0.0, tiny, plain)
    return _random_gamma_grad(a, plain) / plain


# A draw, which moves with the parameter so that its quantile stays the same.
_moving = Elementwise(
    lambda sample, a: sample, (_zero, lambda sample, a, result: _random_gamma_grad(a, result)), "gamma"
)
_moving_log = Elementwise(lambda sample, a: sample, (_zero, _log_slope), "loggamma")


def _gamma(key: Any, a: Array, sizes: tuple[Any, ...], log_space: bool) -> Array:

    wide: Array = cnp.broadcast_to(a, sizes)
    if _core.ragged_axes(wide):
        draw: Any = functools.partial(_gamma_one, log_space=log_space)
        for _ in sizes:
            draw = vmap(draw)
        samples = primitives.stop_gradient(draw(basic.split(key, sizes), primitives.stop_gradient(wide)))
        return (_moving_log if log_space else _moving)(samples, wide)
    count = math.prod(sizes)
    fixed = primitives.reshape(primitives.stop_gradient(wide), shape=[count])
    keys = basic.split(key, count)
    if count == 0:
        return wide
    draws = vmap(lambda k, alpha: _gamma_one(k, alpha, log_space))(keys, fixed)
    samples = primitives.stop_gradient(primitives.reshape(draws, shape=list(sizes)))
    return (_moving_log if log_space else _moving)(samples, wide)


def gamma(key: Any, a: Any, shape: Any = None, dtype: Any = None, *, out_sharding: Any = None) -> Array:
    """Numbers of the gamma distribution of shape parameter ``a`` and scale 1; differentiable in ``a``.

    >>> import cotangent as ct
    >>> ct.random.gamma(ct.random.PRNGKey(0), 2.0, (3,)).shape
    (3,)
    """
    sizes, _, (alpha,) = _parameters("gamma", shape, dtype, a)
    return _gamma(key, alpha, sizes, False)


def loggamma(key: Any, a: Any, shape: Any = None, dtype: Any = None, *, out_sharding: Any = None) -> Array:
    """Logarithms of `gamma`'s numbers, which do not underflow for small ``a``."""
    sizes, _, (alpha,) = _parameters("loggamma", shape, dtype, a)
    return _gamma(key, alpha, sizes, True)


def beta(key: Any, a: Any, b: Any, shape: Any = None, dtype: Any = None, *, out_sharding: Any = None) -> Array:
    """Numbers of the beta distribution."""
    sizes, _, (a, b) = _parameters("beta", shape, dtype, a, b)
    keys = basic.split(key)
    x, y = _gamma(keys[0], a, sizes, True), _gamma(keys[1], b, sizes, True)
    largest = primitives.max(x, y)
    p, q = primitives.exp(x - largest), primitives.exp(y - largest)
    return p / (p + q)


def _total(x: Array) -> Array:
    """The sum along the last axis, which stays, in the one order that all compilers and interpreters keep: that of running sums."""
    sums = primitives.cumsum(x, axis=x.ndim - 1, reverse=False)
    return sums[..., -1][..., None] if x.ndim - 1 in _core.ragged_axes(x) else sums[..., -1:]


def dirichlet(key: Any, alpha: Any, shape: Any = None, dtype: Any = None, *, out_sharding: Any = None) -> Array:
    """Vectors of the Dirichlet distribution; ``alpha`` has shape (..., n), ``shape`` is that of the batch."""
    dtype = basic.float_dtype(dtype, "dirichlet")
    array = _core.convert(_core.array(alpha), dtype)
    if array.ndim < 1:
        raise ValueError("dirichlet: alpha must have an axis of parameters; got a scalar")
    lead = array.shape[:-1] if shape is None else symbolic_shape(shape, "dirichlet")
    logs = loggamma(key, array, (*lead, array.shape[-1]), dtype)
    largest = primitives.reduce_max(logs, axes=[logs.ndim - 1])[..., None]
    weights = primitives.exp(logs - primitives.stop_gradient(largest))
    return weights / _total(weights)


def chisquare(key: Any, df: Any, shape: Any = None, dtype: Any = None, *, out_sharding: Any = None) -> Array:
    """Numbers of the chi-square distribution of ``df`` degrees of freedom."""
    sizes, _, (df,) = _parameters("chisquare", shape, dtype, df)
    return primitives.exp(_gamma(key, df / 2.0, sizes, True)) * 2.0


def f(key: Any, dfnum: Any, dfden: Any, shape: Any = None, dtype: Any = None, *, out_sharding: Any = None) -> Array:
    """Numbers of the F distribution."""
    sizes, dtype, (dfnum, dfden) = _parameters("f", shape, dtype, dfnum, dfden)
    keys = basic.split(key)
    return (chisquare(keys[1], dfnum, sizes, dtype) / dfnum) / (chisquare(keys[0], dfden, sizes, dtype) / dfden)  # type: ignore[no-any-return]


def t(key: Any, df: Any, shape: Any = None, dtype: Any = None, *, out_sharding: Any = None) -> Array:
    """Numbers of Student's t distribution of ``df`` degrees of freedom."""
    sizes, dtype, (df,) = _parameters("t", shape, dtype, df)
    keys = basic.split(key)
    half = df / 2.0
    ratio = half / _gamma(keys[1], half, sizes, False)
    return basic.normal(keys[0], sizes, dtype) * primitives.sqrt(ratio)


def generalized_normal(key: Any, p: Any, shape: Any = (), dtype: Any = None, *, out_sharding: Any = None) -> Array:
    """Numbers of density proportional to ``exp(-|x|**p)``."""
    dtype = basic.float_dtype(dtype, "generalized_normal")
    keys = basic.split(key)
    power = _core.convert(_core.array(1 / p), dtype)
    draws = gamma(keys[0], power, shape, dtype)
    return basic.rademacher(keys[1], shape, dtype) * cnp.power(draws, power)


def ball(key: Any, d: int, p: Any = 2, shape: Any = (), dtype: Any = None, *, out_sharding: Any = None) -> Array:
    """Points evenly distributed in the unit ball of the p-norm, of ``d`` dimensions."""
    dtype = basic.float_dtype(dtype, "ball")
    sizes, count = symbolic_shape(shape, "ball"), symbolic_shape(d, "ball")
    keys = basic.split(key)
    g = generalized_normal(keys[0], p, (*sizes, *count), dtype)
    e = basic.exponential(keys[1], sizes, dtype)
    size = cnp.power(_total(cnp.power(cnp.abs(g), p)) + e[..., None], 1 / p)
    return g / size


# ---- Continuous distributions ----------------------------------------------------------------------------------------


def lognormal(key: Any, sigma: Any = 1.0, shape: Any = None, dtype: Any = None, *, out_sharding: Any = None) -> Array:
    """Exponentials of normal numbers of standard deviation ``sigma``."""
    sizes, dtype, (sigma,) = _parameters("lognormal", shape, dtype, sigma)
    return primitives.exp(basic.normal(key, sizes, dtype) * sigma)


def pareto(key: Any, b: Any, shape: Any = None, dtype: Any = None, *, out_sharding: Any = None) -> Array:
    """Numbers of the Pareto distribution of exponent ``b``, from 1 on."""
    sizes, dtype, (b,) = _parameters("pareto", shape, dtype, b)
    return primitives.exp(basic.exponential(key, sizes, dtype) / b)


def rayleigh(key: Any, scale: Any, shape: Any = None, dtype: Any = None, *, out_sharding: Any = None) -> Array:
    """Numbers of the Rayleigh distribution."""
    sizes, dtype, (scale,) = _parameters("rayleigh", shape, dtype, scale)
    return scale * primitives.sqrt(primitives.log(basic.uniform(key, sizes, dtype)) * -2.0)  # type: ignore[no-any-return]


def wald(key: Any, mean: Any, shape: Any = None, dtype: Any = None, *, out_sharding: Any = None) -> Array:
    """Numbers of the Wald distribution (inverse Gauss) of scale 1."""
    sizes, dtype, (mean,) = _parameters("wald", shape, dtype, mean)
    keys = basic.split(key)
    mean = cnp.broadcast_to(mean, sizes)
    v = basic.normal(keys[0], sizes, dtype)
    y = v * v
    squared = mean * mean
    x = mean + squared * y / 2 - mean / 2 * primitives.sqrt(4 * mean * y + squared * (y * y))
    return primitives.select(basic.uniform(keys[1], sizes, dtype) <= mean / (mean + x), x, squared / x)


def weibull_min(key: Any, scale: Any, concentration: Any, shape: Any = (), dtype: Any = None) -> Array:
    """Numbers of the Weibull distribution."""
    dtype = basic.float_dtype(dtype, "weibull_min")
    draws = -primitives.log1p(-basic.uniform(key, shape, dtype))
    return cnp.power(draws, 1.0 / concentration) * scale  # type: ignore[no-any-return]


def maxwell(key: Any, shape: Any = (), dtype: Any = None, *, out_sharding: Any = None) -> Array:
    """Lengths of vectors of three normal numbers."""
    dtype = basic.float_dtype(dtype, "maxwell")
    draws = basic.normal(key, (*symbolic_shape(shape, "maxwell"), 3), dtype)
    return primitives.sqrt(primitives.reduce_sum(draws * draws, axes=[draws.ndim - 1]))


def double_sided_maxwell(key: Any, loc: Any, scale: Any, shape: Any = (), dtype: Any = None) -> Array:
    """`maxwell`'s numbers with random signs, scaled and moved."""
    dtype = basic.float_dtype(dtype, "double_sided_maxwell")
    common = common_shape([cnp.shape(loc), cnp.shape(scale)])
    sizes = (symbolic_shape(shape, "double_sided_maxwell") or common) + common
    keys = basic.split(key)
    return basic.rademacher(keys[1], sizes, dtype) * maxwell(keys[0], sizes, dtype) * scale + loc  # type: ignore[no-any-return]


def triangular(
    key: Any, left: Any, mode: Any, right: Any, shape: Any = None, dtype: Any = None, *, out_sharding: Any = None
) -> Array:
    """Numbers of the triangular distribution over [left, right] with its peak at ``mode``."""
    sizes, dtype, given = _parameters("triangular", shape, dtype, left, mode, right)
    left, mode, right = (cnp.broadcast_to(x, sizes) for x in given)
    u = basic.uniform(key, sizes, dtype)
    low = left + primitives.sqrt(u * (right - left) * (mode - left))
    high = right - primitives.sqrt((1 - u) * (right - left) * (right - mode))
    return primitives.select(u < (mode - left) / (right - left), low, high)


def multivariate_normal(
    key: Any,
    mean: Any,
    cov: Any,
    shape: Any = None,
    dtype: Any = None,
    method: str = "cholesky",
    *,
    out_sharding: Any = None,
) -> Array:
    """Normally distributed vectors.

    Args:
        key: the key.
        mean: shape (..., n).
        cov: shape (..., n, n).
        shape: of the batch.
        dtype: floating.
        method: how the covariance is factored: ``"cholesky"``, ``"eigh"`` or ``"svd"``.
        out_sharding: of no effect.
    """
    if method not in ("svd", "eigh", "cholesky"):
        raise ValueError(f"multivariate_normal: method must be 'svd', 'eigh' or 'cholesky'; got {method!r}")
    mean, cov = (_core.promote([x], inexact=True)[0] for x in (mean, cov))
    common = _core.promote_types([(mean.dtype, mean.weak_type), (cov.dtype, cov.weak_type)])[0]
    dtype = basic.float_dtype(common if dtype is None else dtype, "multivariate_normal")
    n = mean._bound_shape[-1] if mean.ndim else 0
    if mean.ndim < 1 or cov._bound_shape[-2:] != (n, n):
        raise ShapeError(
            f"multivariate_normal: mean (..., n) and cov (..., n, n) have shapes {mean.shape} and {cov.shape}"
        )
    lead = common_shape([mean.shape[:-1], cov.shape[:-2]])
    sizes = lead if shape is None else symbolic_shape(shape, "multivariate_normal")
    if method == "svd":
        u, s, _ = cnp.linalg.svd(cov)
        factor = u * cnp.sqrt(s[..., None, :])
    elif method == "eigh":
        w, v = cnp.linalg.eigh(cov)
        factor = v * cnp.sqrt(w[..., None, :])
    else:
        factor = cnp.linalg.cholesky(cov)
    draws = basic.normal(key, (*sizes, mean.shape[-1]), dtype)
    return mean + cnp.einsum("...ij,...j->...i", factor, draws)  # type: ignore[no-any-return]


def orthogonal(
    key: Any, n: int, shape: Any = (), dtype: Any = None, m: int | None = None, *, out_sharding: Any = None
) -> Array:
    """Evenly distributed orthogonal matrices, n by n; with ``m``, n by m with orthonormal rows or columns."""
    refuse_ragged_shape("orthogonal", (n, n if m is None else m), "a decomposition of fewer columns is another")
    (rows, columns), _ = static_shape((n, n if m is None else m), "orthogonal")
    dtype = _core.default_float_dtype() if dtype is None else _core.canonical_dtype(dtype)
    z = basic.normal(key, (*symbolic_shape(shape, "orthogonal"), max(rows, columns), min(rows, columns)), dtype)
    q, r = cnp.linalg.qr(z)
    x = q * cnp.expand_dims(cnp.sign(cnp.diagonal(r, axis1=-2, axis2=-1)), -2)
    return x.mT if rows < columns else x


# ---- Discrete distributions ------------------------------------------------------------------------------------------


def geometric(key: Any, p: Any, shape: Any = None, dtype: Any = None, *, out_sharding: Any = None) -> Array:
    """How many trials of probability ``p`` until the first success."""
    dtype = _core.default_int_dtype() if dtype is None else _core.canonical_dtype(dtype)
    if _core.dtype_kind(dtype) not in ("signed", "unsigned"):
        raise DTypeError(f"geometric: the dtype must be an integer; got {dtype}")
    probability = _core.promote([p], inexact=True)[0]
    sizes, _, _ = _parameters("geometric", shape, probability.dtype, probability)
    u = basic.uniform(key, sizes, probability.dtype)
    u = cnp.where(u == 0, 1, u)
    return _core.convert(primitives.floor(primitives.log(u) / primitives.log1p(-probability)) + 1, dtype)


def poisson(key: Any, lam: Any, shape: Any = None, dtype: Any = None, *, out_sharding: Any = None) -> Array:
    """Numbers of the Poisson distribution of mean ``lam``."""
    dtype = _core.default_int_dtype() if dtype is None else _core.canonical_dtype(dtype)
    if _core.dtype_kind(dtype) not in ("signed", "unsigned"):
        raise DTypeError(f"poisson: the dtype must be an integer; got {dtype}")
    sizes, _, (mean,) = _parameters("poisson", shape, "float32", lam)
    mean = cnp.broadcast_to(primitives.stop_gradient(mean), sizes)
    few = primitives.or_(primitives.ne(mean, mean), mean < 10)
    result = cnp.where(
        few,
        _poisson_by_product(key, cnp.where(few, mean, 0.0), sizes, dtype),
        _poisson_by_rejection(key, cnp.where(few, 1e5, mean), sizes, dtype),
    )
    return cnp.where(mean == 0, cnp.zeros_like(result), result)  # type: ignore[no-any-return]


def _until(proceed: Any, body: Any, state: Any) -> Any:

    return while_loop(lambda s: cnp.any(proceed(s)), body, state)


def _poisson_by_product(key: Any, mean: Array, sizes: Sequence[int], dtype: Any) -> Array:
    """Knuth's method: factors until their product is below ``exp(-mean)``."""

    def body(state: Any) -> Any:
        count, words, total = state
        keys = basic.split(words)
        count = cnp.where(total > -mean, count + 1, count)
        return count, keys[0], total + primitives.log(basic.uniform(keys[1], sizes, "float32"))

    start = cnp.full(sizes, 0, dtype), _words_of(key), cnp.full(sizes, 0.0, "float32")
    return _until(lambda state: state[2] > -mean, body, start)[0] - 1  # type: ignore[no-any-return]


def _deviance(x: Array, mean: Array) -> Array:
    """``x log(x / mean) + mean - x`` for positive numbers, of which the large parts would cancel.

    Logarithms of probabilities are made of this (Loader, "Fast and accurate computation of binomial probabilities", 2000): single
    precision would not have the digits of ``mean`` and ``x log(x)`` by themselves.
    """
    off = (x - mean) / mean
    near = primitives.abs(off) < 0.125
    close = primitives.select(near, off, primitives.sub(off, off))
    # (1 + d) log(1 + d) - d
    series = _core.full((), 0.0, x.dtype)
    for k in reversed(range(2, 14)):
        series = series * close + (-1.0) ** k / (k * (k - 1.0))
    return primitives.select(near, mean * (close * close * series), x * primitives.log(x / mean) + (mean - x))


def _poisson_by_rejection(key: Any, mean: Array, sizes: Sequence[int], dtype: Any) -> Array:
    """Hörmann's transformed rejection ("The transformed rejection method for generating Poisson random variables", 1993)."""
    log_mean = primitives.log(mean)
    b = 0.931 + 2.53 * primitives.sqrt(mean)
    a = -0.059 + 0.02483 * b
    inverse = 1.1239 + 1.1328 / (b - 3.4)
    limit = 0.9277 - 3.6224 / (b - 2)
    zero, half_log = cnp.full(sizes, 0.0, "float32"), 0.5 * math.log(2 * math.pi)

    def body(state: Any) -> Any:
        found, accepted, words = state
        keys = basic.split(words, 3)
        u = basic.uniform(keys[1], sizes, "float32") - 0.5
        v = basic.uniform(keys[2], sizes, "float32")
        shifted = 0.5 - primitives.abs(u)
        k = primitives.floor((2 * a / shifted + b) * u + mean + 0.43)
        s = primitives.log(v * inverse / (a / (shifted * shifted) + b))
        after = primitives.max(k, zero) + 1.0
        density = (
            0.5 * primitives.log(after) - log_mean - _deviance(after, mean) - _stirling_tail(after - 1.0) - half_log
        )
        outright = (shifted >= 0.07) & (v <= limit)
        reject = (k < 0) | ((shifted < 0.013) & (v > shifted))
        accept = outright | (~reject & (s <= density))
        return primitives.select(accept, k, found), accepted | accept, keys[0]

    start = cnp.full(sizes, -1, "float32"), cnp.full(sizes, False, bool), _words_of(key)
    return _core.convert(_until(lambda state: ~state[1], body, start)[0], dtype)


_STIRLING_TAIL = [
    0.0810614667953272, 0.0413406959554092, 0.0276779256849983, 0.02079067210376509, 0.0166446911898211,
    0.0138761288230707, 0.0118967099458917, 0.0104112652619720, 0.00925546218271273, 0.00833056343336287,
]  # fmt: skip


def _stirling_tail(k: Array) -> Array:
    """What Stirling's formula for ``log(k!)`` lacks."""
    small = k <= 9
    inverse = 1.0 / (primitives.max(k, literal(k, 0.0)) + 1.0)
    square = inverse * inverse
    series = (1.0 / 12 - (1.0 / 360 - 1.0 / 1260 * square) * square) * inverse
    k = cnp.clip(k, 0.0, 9.0)
    table = _core.convert(_core.array(np.array(_STIRLING_TAIL)), k.dtype)
    found = cnp.take(table, _core.convert(primitives.floor(k), "int32"), mode="clip")
    return primitives.select(small, found, series)


def binomial(key: Any, n: Any, p: Any, shape: Any = None, dtype: Any = None) -> Array:
    """How many of ``n`` trials of probability ``p`` succeed, as floats; NaN where n or p is negative or NaN."""
    dtype = basic.float_dtype(dtype, "binomial")
    prob = primitives.stop_gradient(_core.promote([p], inexact=True)[0])
    sizes, _, (count, prob) = _parameters("binomial", shape, prob.dtype, primitives.stop_gradient(_core.array(n)), prob)
    count, prob = cnp.broadcast_to(count, sizes), cnp.broadcast_to(prob, sizes)
    low = prob < 0.5
    q = primitives.select(low, prob, 1.0 - prob)
    bad_count = cnp.isnan(count) | (count < 0.0)
    infinite = cnp.isinf(count)
    unknown, negative = cnp.isnan(q), q < 0.0
    q = cnp.where(unknown | negative, 0.01, q)
    few = bad_count | (count * q <= 10.0)
    count = primitives.floor(count)
    samples = primitives.select(
        few,
        _binomial_by_waiting(key, cnp.where(few, count, 0.0), q, sizes, dtype),
        _binomial_by_rejection(key, cnp.where(few, 1e4, count), cnp.where(few, 0.5, q), sizes, dtype),
    )
    invalid = negative | unknown | bad_count
    samples = cnp.where(invalid, math.nan, samples)
    samples = cnp.where(infinite & ~invalid, math.inf, samples)
    keep = low | bad_count | unknown | infinite
    return primitives.select(keep, samples, _core.convert(count, dtype) - samples)


def _binomial_by_waiting(key: Any, count: Array, prob: Array, sizes: Sequence[int], dtype: Any) -> Array:
    """Waiting times added up until they exceed the number of trials."""
    scale = primitives.log1p(-prob)

    def body(state: Any) -> Any:
        found, total, words = state
        keys = basic.split(words)
        found = primitives.select(total <= count, found + 1, found)
        waited = primitives.ceil(primitives.log(basic.uniform(keys[0], sizes, prob.dtype)) / scale)
        return found, total + waited, keys[1]

    zeros = cnp.full(sizes, 0.0, prob.dtype)
    return _core.convert(_until(lambda state: state[1] <= count, body, (zeros, zeros, _words_of(key)))[0] - 1, dtype)


def _binomial_by_rejection(key: Any, count: Array, prob: Array, sizes: Sequence[int], dtype: Any) -> Array:
    """Hörmann's transformed rejection ("The generation of binomial random variates", 1993)."""

    def log(x: Array) -> Array:
        return primitives.log(x)

    spread = primitives.sqrt(count * prob * (1 - prob))
    b = 1.15 + 2.53 * spread
    a = -0.0873 + 0.0248 * b + 0.01 * prob
    c = count * prob + 0.5
    limit = 0.92 - 4.2 / b
    alpha = (2.83 + 5.1 / b) * spread
    m = primitives.floor((count + 1) * prob)
    zero = cnp.full(sizes, 0.0, prob.dtype)

    def probability(k: Array) -> Array:
        """Its logarithm, less what does not depend on k."""
        hits, misses = k + 1.0, count - k + 1.0
        apart = _deviance(hits, (count + 2.0) * prob) + _deviance(misses, (count + 2.0) * (1.0 - prob))
        return (0.5 * log(hits) + 0.5 * log(misses)) - apart - _stirling_tail(k) - _stirling_tail(count - k)

    at_mode = probability(m)

    def body(state: Any) -> Any:
        found, accepted, words = state
        keys = basic.split(words, 3)
        u = basic.uniform(keys[1], sizes, prob.dtype) - 0.5
        v = basic.uniform(keys[2], sizes, prob.dtype)
        shifted = 0.5 - primitives.abs(u)
        outright = (shifted >= 0.07) & (v <= limit)
        k = primitives.floor((2 * a / shifted + b) * u + c)
        reject = (k < 0) | (k > count)
        v = log(v * alpha / (a / (shifted * shifted) + b))
        inside = primitives.min(primitives.max(k, zero), count)
        bound = probability(inside) - at_mode
        accept = outright | (~reject & (v <= bound))
        return primitives.select(accept, k, found), accepted | accept, keys[0]

    start = cnp.full(sizes, -1.0, prob.dtype), cnp.full(sizes, False, bool), _words_of(key)
    return _core.convert(_until(lambda state: ~state[1], body, start)[0], dtype)


def multinomial(key: Any, n: Any, p: Any, *, shape: Any = None, dtype: Any = None, unroll: Any = 1) -> Array:
    """How often each outcome occurs in ``n`` trials; outcomes of probabilities ``p`` are along the last axis."""
    dtype = basic.float_dtype(dtype, "multinomial")
    probabilities = _core.promote([p], inexact=True)[0]
    sizes = probabilities.shape if shape is None else symbolic_shape(shape, "multinomial")
    refuse_ragged_shape("multinomial", sizes[-1:], "each outcome takes random bits of its own")
    trials = cnp.broadcast_to(_core.convert(_core.array(n), probabilities.dtype), sizes[:-1])
    moved = cnp.moveaxis(cnp.broadcast_to(probabilities, sizes), -1, 0)
    remaining = primitives.cumsum(moved, axis=0, reverse=True)
    ratios = moved / cnp.where(remaining == 0, 1, remaining)

    def step(rest: Array, given: Any) -> Any:
        ratio, words = given
        count = binomial(words, rest, cnp.clip(ratio, 0, 1), dtype=rest.dtype)
        return rest - count, count

    keys = basic.split(key, ratios._bound_shape[0])
    _, counts = scan(step, trials, (ratios, keys))
    return _core.convert(cnp.moveaxis(counts, 0, -1), dtype)


check_arguments(globals())
