"""The continuous distributions of ``ct.random`` that are made of uniform and normal numbers; the draws are those of ``jax.random``."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from cotangent import _core
from cotangent import numpy as cnp
from cotangent._base import primitives
from cotangent._base.arguments import check_arguments
from cotangent._base.device import Placement
from cotangent._core import Array
from cotangent._ops.extents import capacities, capacity
from cotangent._ops.per_element import Elementwise, pick
from cotangent._ops.sizes import (
    common_shape,
    refuse_ragged_shape,
    static_shape,
    symbolic_shape,
)
from cotangent._special.incomplete import _random_gamma_grad
from cotangent._transforms.batching import vmap
from cotangent._transforms.control_flow import while_loop
from cotangent.errors import ShapeError
from cotangent.random import basic

__all__ = [
    "ball",
    "beta",
    "chisquare",
    "dirichlet",
    "double_sided_maxwell",
    "f",
    "gamma",
    "generalized_normal",
    "loggamma",
    "lognormal",
    "maxwell",
    "multivariate_normal",
    "orthogonal",
    "pareto",
    "rayleigh",
    "t",
    "triangular",
    "wald",
    "weibull_min",
]


def _parameters(name: str, shape: Any, dtype: Any, *given: Any) -> tuple[Any, Any, list[Array]]:
    """The shape of the result, symbolic where it is, its dtype, and parameters of that dtype, not broadcast.

    Raises:
        ShapeError: the parameters do not broadcast to the shape.
    """
    dtype = basic.float_dtype(dtype, name)
    arrays = [_core.convert(_core.array(x), dtype) for x in given]
    if shape is None:
        return common_shape([x.shape for x in arrays]), dtype, arrays
    shapes = [capacities(x) for x in arrays]
    sizes = tuple(static_shape(shape, name)[0])
    if tuple(_core.broadcast_shapes([sizes, *shapes])) != sizes:
        raise ShapeError(f"{name}: parameters of shapes {', '.join(map(str, shapes))} do not broadcast to {sizes}")
    return symbolic_shape(shape, name), dtype, arrays


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


def gamma(key: Any, a: Any, shape: Any = None, dtype: Any = None, *, out_sharding: Placement = None) -> Array:
    """Numbers of the gamma distribution of shape parameter ``a`` and scale 1.

    They are differentiable in ``a``: a number moves so that its quantile stays the same.

    Parameters
    ----------
    key : key
        As of `key` or `PRNGKey`; a key gives the same numbers every time.
    a : array
        The shape parameter, above 0.
    shape : sequence of int, optional
        The shape of the result, which parameters are broadcast to; by default their common shape.
    dtype : dtype, optional
        Floating, by default the default floating dtype.
    out_sharding : device or sharding, optional
        What the result is made on; by default the default device.

    Returns
    -------
    array
        Floats of the given shape.

    Raises
    ------
    ShapeError
        The parameters do not broadcast to ``shape``.

    References
    ----------
    - George Marsaglia and Wai Wan Tsang, "A simple method for generating gamma variables", 2000.
    - Michael Figurnov, Shakir Mohamed and Andriy Mnih, "Implicit reparameterization gradients", 2018.

    Examples
    --------
    >>> ct.random.gamma(ct.random.key(0), 2.0, (3,)).round(3)
    Array([1.59 , 1.76 , 1.129], dtype=float32)
    """
    sizes, _, (alpha,) = _parameters("gamma", shape, dtype, a)
    return _gamma(key, alpha, sizes, False)


def loggamma(key: Any, a: Any, shape: Any = None, dtype: Any = None, *, out_sharding: Placement = None) -> Array:
    """Logarithms of numbers of the gamma distribution, which do not underflow for small ``a``.

    Parameters
    ----------
    key : key
        As of `key` or `PRNGKey`; a key gives the same numbers every time.
    a : array
        The shape parameter, above 0.
    shape : sequence of int, optional
        The shape of the result, which parameters are broadcast to; by default their common shape.
    dtype : dtype, optional
        Floating, by default the default floating dtype.
    out_sharding : device or sharding, optional
        What the result is made on; by default the default device.

    Returns
    -------
    array
        Floats of the given shape.

    Raises
    ------
    ShapeError
        The parameters do not broadcast to ``shape``.

    References
    ----------
    George Marsaglia and Wai Wan Tsang, "A simple method for generating gamma variables", 2000.

    Examples
    --------
    >>> ct.random.loggamma(ct.random.key(0), 0.01, (3,)).round(2)
    Array([ -11.48,   -9.83, -137.95], dtype=float32)
    """
    sizes, _, (alpha,) = _parameters("loggamma", shape, dtype, a)
    return _gamma(key, alpha, sizes, True)


def beta(key: Any, a: Any, b: Any, shape: Any = None, dtype: Any = None, *, out_sharding: Placement = None) -> Array:
    """Numbers of the beta distribution, whose density is proportional to ``x**(a - 1) * (1 - x)**(b - 1)``.

    Parameters
    ----------
    key : key
        As of `key` or `PRNGKey`; a key gives the same numbers every time.
    a, b : array
        The shape parameters, above 0.
    shape : sequence of int, optional
        The shape of the result, which parameters are broadcast to; by default their common shape.
    dtype : dtype, optional
        Floating, by default the default floating dtype.
    out_sharding : device or sharding, optional
        What the result is made on; by default the default device.

    Returns
    -------
    array
        Floats of the given shape.

    Raises
    ------
    ShapeError
        The parameters do not broadcast to ``shape``.

    Examples
    --------
    >>> ct.random.beta(ct.random.key(0), 2.0, 3.0, (3,)).round(3)
    Array([0.236, 0.49 , 0.684], dtype=float32)
    """
    sizes, _, (a, b) = _parameters("beta", shape, dtype, a, b)
    keys = basic.split(key)
    x, y = _gamma(keys[0], a, sizes, True), _gamma(keys[1], b, sizes, True)
    largest = primitives.max(x, y)
    p, q = primitives.exp(x - largest), primitives.exp(y - largest)
    return p / (p + q)


def _total(x: Array) -> Array:
    """The sum along the last axis, which stays, in the one order that all compilers and interpreters keep: that of running sums."""
    sums = primitives.cumsum(x, axis=x.ndim - 1, reverse=False)
    return sums[..., -1:]


def dirichlet(key: Any, alpha: Any, shape: Any = None, dtype: Any = None, *, out_sharding: Placement = None) -> Array:
    """Vectors of the Dirichlet distribution: positive numbers that sum to 1.

    Parameters
    ----------
    key : key
        As of `key` or `PRNGKey`; a key gives the same numbers every time.
    alpha : array, shape (..., n)
        The concentrations, above 0.
    shape : sequence of int, optional
        Of the batch; by default the leading axes of ``alpha``.
    dtype : dtype, optional
        Floating, by default the default floating dtype.
    out_sharding : device or sharding, optional
        What the result is made on; by default the default device.

    Returns
    -------
    array, shape (*shape, n)
        The vectors.

    Raises
    ------
    ValueError
        ``alpha`` is a scalar.

    Examples
    --------
    >>> ct.random.dirichlet(ct.random.key(0), ct.numpy.array([1.0, 2.0, 3.0])).sum().round(4)
    Array(1., dtype=float32)
    """
    dtype = basic.float_dtype(dtype, "dirichlet")
    array = _core.convert(_core.array(alpha), dtype)
    if array.ndim < 1:
        raise ValueError("dirichlet: alpha must have an axis of parameters; got a scalar")
    lead = array.shape[:-1] if shape is None else symbolic_shape(shape, "dirichlet")
    logs = loggamma(key, array, (*lead, array.shape[-1]), dtype)
    largest = primitives.reduce_max(logs, axes=[logs.ndim - 1])[..., None]
    weights = primitives.exp(logs - primitives.stop_gradient(largest))
    return weights / _total(weights)


def chisquare(key: Any, df: Any, shape: Any = None, dtype: Any = None, *, out_sharding: Placement = None) -> Array:
    """Numbers of the chi-square distribution: sums of squares of ``df`` normal numbers.

    Parameters
    ----------
    key : key
        As of `key` or `PRNGKey`; a key gives the same numbers every time.
    df : array
        The degrees of freedom, above 0.
    shape : sequence of int, optional
        The shape of the result, which parameters are broadcast to; by default their common shape.
    dtype : dtype, optional
        Floating, by default the default floating dtype.
    out_sharding : device or sharding, optional
        What the result is made on; by default the default device.

    Returns
    -------
    array
        Floats of the given shape.

    Raises
    ------
    ShapeError
        The parameters do not broadcast to ``shape``.

    Examples
    --------
    >>> ct.random.chisquare(ct.random.key(0), 3.0, (3,)).round(3)
    Array([2.205, 2.49 , 1.456], dtype=float32)
    """
    sizes, _, (df,) = _parameters("chisquare", shape, dtype, df)
    return primitives.exp(_gamma(key, df / 2.0, sizes, True)) * 2.0


def f(
    key: Any, dfnum: Any, dfden: Any, shape: Any = None, dtype: Any = None, *, out_sharding: Placement = None
) -> Array:
    """Numbers of the F distribution: quotients of two chi-square numbers, each divided by its degrees of freedom.

    Parameters
    ----------
    key : key
        As of `key` or `PRNGKey`; a key gives the same numbers every time.
    dfnum, dfden : array
        The degrees of freedom of numerator and denominator, above 0.
    shape : sequence of int, optional
        The shape of the result, which parameters are broadcast to; by default their common shape.
    dtype : dtype, optional
        Floating, by default the default floating dtype.
    out_sharding : device or sharding, optional
        What the result is made on; by default the default device.

    Returns
    -------
    array
        Floats of the given shape.

    Raises
    ------
    ShapeError
        The parameters do not broadcast to ``shape``.

    Examples
    --------
    >>> ct.random.f(ct.random.key(0), 3.0, 5.0, (3,)).round(3)
    Array([2.58 , 0.192, 0.16 ], dtype=float32)
    """
    sizes, dtype, (dfnum, dfden) = _parameters("f", shape, dtype, dfnum, dfden)
    keys = basic.split(key)
    return (chisquare(keys[1], dfnum, sizes, dtype) / dfnum) / (chisquare(keys[0], dfden, sizes, dtype) / dfden)  # type: ignore[no-any-return]


def t(key: Any, df: Any, shape: Any = None, dtype: Any = None, *, out_sharding: Placement = None) -> Array:
    """Numbers of Student's t distribution.

    Parameters
    ----------
    key : key
        As of `key` or `PRNGKey`; a key gives the same numbers every time.
    df : array
        The degrees of freedom, above 0.
    shape : sequence of int, optional
        The shape of the result, which parameters are broadcast to; by default their common shape.
    dtype : dtype, optional
        Floating, by default the default floating dtype.
    out_sharding : device or sharding, optional
        What the result is made on; by default the default device.

    Returns
    -------
    array
        Floats of the given shape.

    Raises
    ------
    ShapeError
        The parameters do not broadcast to ``shape``.

    References
    ----------
    Student, "The probable error of a mean", 1908.

    Examples
    --------
    >>> ct.random.t(ct.random.key(0), 3.0, (3,)).round(3)
    Array([ 0.69 , -3.239, -1.675], dtype=float32)
    """
    sizes, dtype, (df,) = _parameters("t", shape, dtype, df)
    keys = basic.split(key)
    half = df / 2.0
    ratio = half / _gamma(keys[1], half, sizes, False)
    return basic.normal(keys[0], sizes, dtype) * primitives.sqrt(ratio)


def _one_over(value: Any, function: str, parameter: str) -> Any:
    if isinstance(value, (int, float, np.generic)) and not float(value) > 0:
        raise ValueError(f"random.{function}: {parameter} must be positive; got {value}")
    return 1 / value


def generalized_normal(
    key: Any, p: Any, shape: Any = (), dtype: Any = None, *, out_sharding: Placement = None
) -> Array:
    """Numbers of the generalised normal distribution, whose density is proportional to ``exp(-|x|**p)``.

    Parameters
    ----------
    key : key
        As of `key` or `PRNGKey`; a key gives the same numbers every time.
    p : float
        The exponent, above 0: 1 for the Laplace distribution, 2 for a normal one of variance 1/2.
    shape : int or sequence of int
        The shape of the result, by default ().
    dtype : dtype, optional
        Floating, by default the default floating dtype.
    out_sharding : device or sharding, optional
        What the result is made on; by default the default device.

    Returns
    -------
    array
        Floats of the given shape.

    Raises
    ------
    DTypeError
        The dtype is not floating.
    ValueError
        ``p`` is not positive.

    Examples
    --------
    >>> ct.random.generalized_normal(ct.random.key(0), 2.0, (3,)).round(3)
    Array([ 0.954,  0.09 , -1.153], dtype=float32)
    """
    dtype = basic.float_dtype(dtype, "generalized_normal")
    keys = basic.split(key)
    power = _core.convert(_core.array(_one_over(p, "generalized_normal", "p")), dtype)
    draws = gamma(keys[0], power, shape, dtype)
    return basic.rademacher(keys[1], shape, dtype) * cnp.power(draws, power)


def ball(key: Any, d: int, p: Any = 2, shape: Any = (), dtype: Any = None, *, out_sharding: Placement = None) -> Array:
    """Points evenly distributed in the unit ball of the p-norm.

    Parameters
    ----------
    key : key
        As of `key` or `PRNGKey`; a key gives the same numbers every time.
    d : int
        The number of dimensions.
    p : float
        The exponent of the norm, above 0; by default 2.
    shape : int or sequence of int
        The shape of the array of points, by default ().
    dtype : dtype, optional
        Floating, by default the default floating dtype.
    out_sharding : device or sharding, optional
        What the result is made on; by default the default device.

    Returns
    -------
    array, shape (*shape, d)
        The points.

    Raises
    ------
    ValueError
        ``p`` is not positive.

    References
    ----------
    Franck Barthe, Olivier Guédon, Shahar Mendelson and Assaf Naor, "A probabilistic approach to the geometry of the
    l_p^n-ball", 2005.

    Examples
    --------
    >>> ct.random.ball(ct.random.key(0), 2, shape=(2,)).round(3)
    Array([[ 0.917,  0.393],
           [ 0.043, -0.909]], dtype=float32)
    """
    dtype = basic.float_dtype(dtype, "ball")
    power = _one_over(p, "ball", "p")
    sizes, count = symbolic_shape(shape, "ball"), symbolic_shape(d, "ball")
    keys = basic.split(key)
    g = generalized_normal(keys[0], p, (*sizes, *count), dtype)
    e = basic.exponential(keys[1], sizes, dtype)
    size = cnp.power(_total(cnp.power(cnp.abs(g), p)) + e[..., None], power)
    return g / size


# ---- Continuous distributions ----------------------------------------------------------------------------------------


def lognormal(
    key: Any, sigma: Any = 1.0, shape: Any = None, dtype: Any = None, *, out_sharding: Placement = None
) -> Array:
    """Exponentials of normally distributed numbers of mean 0.

    Parameters
    ----------
    key : key
        As of `key` or `PRNGKey`; a key gives the same numbers every time.
    sigma : array
        The standard deviation of the logarithm, by default 1.
    shape : sequence of int, optional
        The shape of the result, which parameters are broadcast to; by default their common shape.
    dtype : dtype, optional
        Floating, by default the default floating dtype.
    out_sharding : device or sharding, optional
        What the result is made on; by default the default device.

    Returns
    -------
    array
        Floats of the given shape.

    Raises
    ------
    ShapeError
        The parameters do not broadcast to ``shape``.

    Examples
    --------
    >>> ct.random.lognormal(ct.random.key(0), 0.5, (3,)).round(3)
    Array([2.251, 2.753, 0.805], dtype=float32)
    """
    sizes, dtype, (sigma,) = _parameters("lognormal", shape, dtype, sigma)
    return primitives.exp(basic.normal(key, sizes, dtype) * sigma)


def pareto(key: Any, b: Any, shape: Any = None, dtype: Any = None, *, out_sharding: Placement = None) -> Array:
    """Numbers of the Pareto distribution, whose density is ``b / x**(b + 1)`` for x >= 1.

    Parameters
    ----------
    key : key
        As of `key` or `PRNGKey`; a key gives the same numbers every time.
    b : array
        The exponent, above 0.
    shape : sequence of int, optional
        The shape of the result, which parameters are broadcast to; by default their common shape.
    dtype : dtype, optional
        Floating, by default the default floating dtype.
    out_sharding : device or sharding, optional
        What the result is made on; by default the default device.

    Returns
    -------
    array
        Floats of the given shape.

    Raises
    ------
    ShapeError
        The parameters do not broadcast to ``shape``.

    Examples
    --------
    >>> ct.random.pareto(ct.random.key(0), 2.0, (3,)).round(3)
    Array([4.371, 6.833, 1.224], dtype=float32)
    """
    sizes, dtype, (b,) = _parameters("pareto", shape, dtype, b)
    return primitives.exp(basic.exponential(key, sizes, dtype) / b)


def rayleigh(key: Any, scale: Any, shape: Any = None, dtype: Any = None, *, out_sharding: Placement = None) -> Array:
    """Numbers of the Rayleigh distribution: lengths of vectors of two normal numbers.

    Parameters
    ----------
    key : key
        As of `key` or `PRNGKey`; a key gives the same numbers every time.
    scale : array
        The standard deviation of the normal numbers.
    shape : sequence of int, optional
        The shape of the result, which parameters are broadcast to; by default their common shape.
    dtype : dtype, optional
        Floating, by default the default floating dtype.
    out_sharding : device or sharding, optional
        What the result is made on; by default the default device.

    Returns
    -------
    array
        Floats of the given shape.

    Raises
    ------
    ShapeError
        The parameters do not broadcast to ``shape``.

    Examples
    --------
    >>> ct.random.rayleigh(ct.random.key(0), 2.0, (3,)).round(3)
    Array([0.656, 0.416, 2.969], dtype=float32)
    """
    sizes, dtype, (scale,) = _parameters("rayleigh", shape, dtype, scale)
    return scale * primitives.sqrt(primitives.log(basic.uniform(key, sizes, dtype)) * -2.0)  # type: ignore[no-any-return]


def wald(key: Any, mean: Any, shape: Any = None, dtype: Any = None, *, out_sharding: Placement = None) -> Array:
    """Numbers of the Wald distribution (inverse Gauss) of scale 1.

    Parameters
    ----------
    key : key
        As of `key` or `PRNGKey`; a key gives the same numbers every time.
    mean : array
        The mean, above 0.
    shape : sequence of int, optional
        The shape of the result, which parameters are broadcast to; by default their common shape.
    dtype : dtype, optional
        Floating, by default the default floating dtype.
    out_sharding : device or sharding, optional
        What the result is made on; by default the default device.

    Returns
    -------
    array
        Floats of the given shape.

    Raises
    ------
    ShapeError
        The parameters do not broadcast to ``shape``.

    References
    ----------
    John R. Michael, William R. Schucany and Roy W. Haas, "Generating random variates using transformations with
    multiple roots", 1976.

    Examples
    --------
    >>> ct.random.wald(ct.random.key(0), 1.0, (3,)).round(3)
    Array([0.381, 0.416, 0.481], dtype=float32)
    """
    sizes, dtype, (mean,) = _parameters("wald", shape, dtype, mean)
    keys = basic.split(key)
    mean = cnp.broadcast_to(mean, sizes)
    v = basic.normal(keys[0], sizes, dtype)
    y = v * v
    squared = mean * mean
    x = mean + squared * y / 2 - mean / 2 * primitives.sqrt(4 * mean * y + squared * (y * y))
    return primitives.select(basic.uniform(keys[1], sizes, dtype) <= mean / (mean + x), x, squared / x)


def weibull_min(key: Any, scale: Any, concentration: Any, shape: Any = (), dtype: Any = None) -> Array:
    """Numbers of the Weibull distribution, whose distribution function is ``1 - exp(-(x / scale)**concentration)``.

    Parameters
    ----------
    key : key
        As of `key` or `PRNGKey`; a key gives the same numbers every time.
    scale : array
        The scale, above 0.
    concentration : array
        The shape parameter, above 0.
    shape : int or sequence of int
        The shape of the result, by default ().
    dtype : dtype, optional
        Floating, by default the default floating dtype.

    Returns
    -------
    array
        Floats of the given shape.

    Raises
    ------
    DTypeError
        The dtype is not floating.
    ValueError
        ``concentration`` is not positive.

    Examples
    --------
    >>> ct.random.weibull_min(ct.random.key(0), 2.0, 1.5, (3,)).round(3)
    Array([4.114, 4.907, 1.093], dtype=float32)
    """
    dtype = basic.float_dtype(dtype, "weibull_min")
    draws = -primitives.log1p(-basic.uniform(key, shape, dtype))
    return cnp.power(draws, _one_over(concentration, "weibull_min", "concentration")) * scale  # type: ignore[no-any-return]


def maxwell(key: Any, shape: Any = (), dtype: Any = None, *, out_sharding: Placement = None) -> Array:
    """Numbers of the Maxwell distribution of scale 1: lengths of vectors of three normal numbers.

    Parameters
    ----------
    key : key
        As of `key` or `PRNGKey`; a key gives the same numbers every time.
    shape : int or sequence of int
        The shape of the result, by default ().
    dtype : dtype, optional
        Floating, by default the default floating dtype.
    out_sharding : device or sharding, optional
        What the result is made on; by default the default device.

    Returns
    -------
    array
        Floats of the given shape.

    Raises
    ------
    DTypeError
        The dtype is not floating.

    Examples
    --------
    >>> ct.random.maxwell(ct.random.key(0), (3,)).round(3)
    Array([2.631, 0.991, 0.965], dtype=float32)
    """
    dtype = basic.float_dtype(dtype, "maxwell")
    draws = basic.normal(key, (*symbolic_shape(shape, "maxwell"), 3), dtype)
    x, y, z = (draws[..., i] for i in range(3))
    # In one order, whatever runs it.
    return primitives.sqrt((x * x + y * y) + z * z)


def double_sided_maxwell(key: Any, loc: Any, scale: Any, shape: Any = (), dtype: Any = None) -> Array:
    """Numbers of the Maxwell distribution with random signs, scaled and moved.

    Parameters
    ----------
    key : key
        As of `key` or `PRNGKey`; a key gives the same numbers every time.
    loc : array
        What is added.
    scale : array
        What is multiplied with.
    shape : int or sequence of int
        Leading axes of the result, before the common axes of ``loc`` and ``scale``.
    dtype : dtype, optional
        Floating, by default the default floating dtype.

    Returns
    -------
    array
        Floats of the given shape.

    Raises
    ------
    DTypeError
        The dtype is not floating.

    Examples
    --------
    >>> ct.random.double_sided_maxwell(ct.random.key(0), 1.0, 2.0, (3,)).round(3)
    Array([ 4.091,  4.148, -3.165], dtype=float32)
    """
    dtype = basic.float_dtype(dtype, "double_sided_maxwell")
    common = common_shape([cnp.shape(loc), cnp.shape(scale)])
    sizes = (symbolic_shape(shape, "double_sided_maxwell") or common) + common
    keys = basic.split(key)
    return basic.rademacher(keys[1], sizes, dtype) * maxwell(keys[0], sizes, dtype) * scale + loc  # type: ignore[no-any-return]


def triangular(
    key: Any, left: Any, mode: Any, right: Any, shape: Any = None, dtype: Any = None, *, out_sharding: Placement = None
) -> Array:
    """Numbers of the triangular distribution, whose density rises from ``left`` to ``mode`` and falls to ``right``.

    Parameters
    ----------
    key : key
        As of `key` or `PRNGKey`; a key gives the same numbers every time.
    left, mode, right : array
        The ends and the peak between them.
    shape : sequence of int, optional
        The shape of the result, which parameters are broadcast to; by default their common shape.
    dtype : dtype, optional
        Floating, by default the default floating dtype.
    out_sharding : device or sharding, optional
        What the result is made on; by default the default device.

    Returns
    -------
    array
        Floats of the given shape.

    Raises
    ------
    ShapeError
        The parameters do not broadcast to ``shape``.

    Examples
    --------
    >>> ct.random.triangular(ct.random.key(0), 0.0, 1.0, 2.0, (3,)).round(3)
    Array([1.676, 1.793, 0.815], dtype=float32)
    """
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
    out_sharding: Placement = None,
) -> Array:
    """Normally distributed vectors of given mean and covariance.

    Parameters
    ----------
    key : key
        As of `key` or `PRNGKey`; a key gives the same numbers every time.
    mean : array, shape (..., n)
        The means.
    cov : array, shape (..., n, n)
        The covariances: symmetric, positive definite for "cholesky" and semidefinite for the other methods.
    shape : sequence of int, optional
        Of the batch; by default the common axes (...) of mean and covariance.
    dtype : dtype, optional
        Floating, by default the default floating dtype.
    method : str
        How the covariance is factored: "cholesky", "eigh" or "svd".
    out_sharding : device or sharding, optional
        What the result is made on; by default the default device.

    Returns
    -------
    array, shape (*shape, n)
        The vectors.

    Raises
    ------
    ShapeError
        Mean and covariance do not fit.
    ValueError
        The method is unknown.

    Examples
    --------
    >>> cov = ct.numpy.array([[1.0, 0.5], [0.5, 1.0]])
    >>> ct.random.multivariate_normal(ct.random.key(0), ct.numpy.zeros(2), cov, (2,)).round(3)
    Array([[ 1.623,  2.565],
           [-0.434, -0.285]], dtype=float32)
    """
    if method not in ("svd", "eigh", "cholesky"):
        raise ValueError(f"multivariate_normal: method must be 'svd', 'eigh' or 'cholesky'; got {method!r}")
    mean, cov = (_core.promote([x], inexact=True)[0] for x in (mean, cov))
    common = _core.promote_types([(mean.dtype, mean.weak_type), (cov.dtype, cov.weak_type)])[0]
    dtype = basic.float_dtype(common if dtype is None else dtype, "multivariate_normal")
    n = capacity(mean, -1) if mean.ndim else 0
    if mean.ndim < 1 or capacities(cov)[-2:] != (n, n):
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
    key: Any, n: Any, shape: Any = (), dtype: Any = None, m: int | None = None, *, out_sharding: Placement = None
) -> Array:
    """Evenly distributed orthogonal matrices, unitary ones of complex dtypes.

    Parameters
    ----------
    key : key
        As of `key` or `PRNGKey`; a key gives the same numbers every time.
    n : int
        The number of rows, and of columns without ``m``.
    shape : int or sequence of int
        The shape of the batch, by default ().
    dtype : dtype, optional
        Floating or complex, by default the default floating dtype.
    m : int, optional
        The number of columns; rows or columns are orthonormal then, whichever are fewer.
    out_sharding : device or sharding, optional
        What the result is made on; by default the default device.

    Returns
    -------
    array, shape (*shape, n, m)
        The matrices.

    References
    ----------
    Francesco Mezzadri, "How to generate random matrices from the classical compact groups", 2007.

    Examples
    --------
    >>> q = ct.random.orthogonal(ct.random.key(0), 3)
    >>> ct.numpy.abs(q @ q.T).round(4)
    Array([[1., 0., 0.],
           [0., 1., 0.],
           [0., 0., 1.]], dtype=float32)
    """
    if m is not None:
        refuse_ragged_shape("orthogonal", (n, m), "which of n and m is larger decides what is drawn")
    (rows, columns), _ = static_shape((n, n if m is None else m), "orthogonal")
    dtype = _core.default_float_dtype() if dtype is None else _core.canonical_dtype(dtype)
    sizes = (n, n) if m is None else (max(rows, columns), min(rows, columns))
    z = basic.normal(key, (*symbolic_shape(shape, "orthogonal"), *sizes), dtype)
    q, r = cnp.linalg.qr(z)
    x = q * cnp.expand_dims(cnp.sign(cnp.diagonal(r, axis1=-2, axis2=-1)), -2)
    return x.mT if rows < columns else x


check_arguments(globals())
