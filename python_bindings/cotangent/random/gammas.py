"""The gamma distribution and what is made of it."""

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
from cotangent._base.keys import Key
from cotangent._core import Array
from cotangent._ops.per_element import Elementwise, pick
from cotangent._ops.sizes import (
    common_shape,
    static_shape,
    symbolic_shape,
)
from cotangent._special.incomplete import _random_gamma_grad
from cotangent._transforms.batching import vmap
from cotangent._transforms.control_flow import while_loop
from cotangent.errors import DTypeError
from cotangent.random import basic, continuous
from cotangent.random.orders import look_at_orders

__all__ = ["ball", "beta", "chisquare", "dirichlet", "f", "gamma", "generalized_normal", "loggamma", "t"]


def _parameters(name: str, shape: Any, dtype: Any, *given: Any) -> tuple[Any, Any, list[Array]]:
    """The shape of the result, symbolic where it is, its dtype, and parameters of that dtype, not broadcast.

    Raises:
        ShapeError: the parameters do not broadcast to the shape. DTypeError: one is complex.
    """
    dtype = basic.float_dtype(dtype, name)
    arrays = [basic.real_parameter(name, x, dtype) for x in given]
    if shape is None:
        return common_shape([x.shape for x in arrays]), dtype, arrays
    basic.check_broadcast(name, static_shape(shape, name)[0], arrays)
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
        logs = -continuous.exponential(keys[1], (), dtype)
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


def gamma(key: Key, a: Any, shape: Any = None, dtype: Any = None, *, out_sharding: Placement = None) -> Array:
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


def loggamma(key: Key, a: Any, shape: Any = None, dtype: Any = None, *, out_sharding: Placement = None) -> Array:
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


def beta(key: Key, a: Any, b: Any, shape: Any = None, dtype: Any = None, *, out_sharding: Placement = None) -> Array:
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

    References
    ----------
    Norman L. Johnson, Samuel Kotz and N. Balakrishnan, "Continuous Univariate Distributions", 2nd edition, volume
    2, 1995, chapter 25.

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


def dirichlet(key: Key, alpha: Any, shape: Any = None, dtype: Any = None, *, out_sharding: Placement = None) -> Array:
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

    References
    ----------
    Samuel Kotz, N. Balakrishnan and Norman L. Johnson, "Continuous Multivariate Distributions", 2nd edition, volume
    1, 2000, chapter 49.

    Examples
    --------
    >>> ct.random.dirichlet(ct.random.key(0), ct.numpy.array([1.0, 2.0, 3.0])).sum().round(4)
    Array(1., dtype=float32)
    """
    dtype = basic.float_dtype(dtype, "dirichlet")
    array = basic.real_parameter("dirichlet", alpha, dtype)
    if array.ndim < 1:
        raise ValueError(
            "dirichlet: alpha must have an axis of parameters; got a scalar\n"
            "  pass a vector of one number for each part"
        )
    lead = array.shape[:-1] if shape is None else symbolic_shape(shape, "dirichlet")
    logs = loggamma(key, array, (*lead, array.shape[-1]), dtype)
    largest = primitives.reduce_max(logs, axes=[logs.ndim - 1])[..., None]
    weights = primitives.exp(logs - primitives.stop_gradient(largest))
    return weights / _total(weights)


def chisquare(key: Key, df: Any, shape: Any = None, dtype: Any = None, *, out_sharding: Placement = None) -> Array:
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

    References
    ----------
    Norman L. Johnson, Samuel Kotz and N. Balakrishnan, "Continuous Univariate Distributions", 2nd edition, volume
    1, 1994, chapter 18.

    Examples
    --------
    >>> ct.random.chisquare(ct.random.key(0), 3.0, (3,)).round(3)
    Array([2.205, 2.49 , 1.456], dtype=float32)
    """
    sizes, _, (df,) = _parameters("chisquare", shape, dtype, df)
    return primitives.exp(_gamma(key, df / 2.0, sizes, True)) * 2.0


def f(
    key: Key, dfnum: Any, dfden: Any, shape: Any = None, dtype: Any = None, *, out_sharding: Placement = None
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

    References
    ----------
    Norman L. Johnson, Samuel Kotz and N. Balakrishnan, "Continuous Univariate Distributions", 2nd edition, volume
    2, 1995, chapter 27.

    Examples
    --------
    >>> ct.random.f(ct.random.key(0), 3.0, 5.0, (3,)).round(3)
    Array([2.58 , 0.192, 0.16 ], dtype=float32)
    """
    sizes, dtype, (dfnum, dfden) = _parameters("f", shape, dtype, dfnum, dfden)
    keys = basic.split(key)
    return (chisquare(keys[1], dfnum, sizes, dtype) / dfnum) / (chisquare(keys[0], dfden, sizes, dtype) / dfden)  # type: ignore[no-any-return]


def t(key: Key, df: Any, shape: Any = None, dtype: Any = None, *, out_sharding: Placement = None) -> Array:
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
    if _core.dtype_kind(_core.array(value).dtype) == "complex":
        raise DTypeError(
            f"{function}: parameters must be real; got {_core.array(value).dtype}\n  take the real part, x.real"
        )
    if isinstance(value, (int, float, np.generic)) and not float(value) > 0:
        raise ValueError(f"random.{function}: {parameter} must be positive; got {value}\n  pass a number above 0")
    return 1 / value


def generalized_normal(
    key: Key, p: Any, shape: Any = (), dtype: Any = None, *, out_sharding: Placement = None
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

    References
    ----------
    M. T. Subbotin, "On the law of frequency of error", 1923.

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


def ball(key: Key, d: int, p: Any = 2, shape: Any = (), dtype: Any = None, *, out_sharding: Placement = None) -> Array:
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
    if isinstance(p, (tuple, list)):
        raise TypeError(
            f"ball: p must be a number; got {p!r}\n  the shape comes behind it: ct.random.ball(key, {d}, shape={tuple(p)})"
        )
    dtype = basic.float_dtype(dtype, "ball")
    power = _one_over(p, "ball", "p")
    sizes, count = symbolic_shape(shape, "ball"), symbolic_shape(d, "ball")
    keys = basic.split(key)
    g = generalized_normal(keys[0], p, (*sizes, *count), dtype)
    e = continuous.exponential(keys[1], sizes, dtype)
    size = cnp.power(_total(cnp.power(cnp.abs(g), p)) + e[..., None], power)
    return g / size


look_at_orders(globals())
check_arguments(globals())
