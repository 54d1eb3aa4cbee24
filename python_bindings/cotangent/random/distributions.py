"""The continuous distributions of ``ct.random`` that are made of uniform and normal numbers; the draws are those of ``jax.random``."""

from __future__ import annotations

from typing import Any

from cotangent import _core
from cotangent import numpy as cnp
from cotangent._base import primitives
from cotangent._base.arguments import check_arguments
from cotangent._base.device import Placement
from cotangent._base.keys import Key
from cotangent._base.words import check_word
from cotangent._core import Array
from cotangent._ops.extents import capacities, capacity
from cotangent._ops.sizes import (
    common_shape,
    refuse_ragged_shape,
    static_shape,
    symbolic_shape,
)
from cotangent.errors import ShapeError
from cotangent.random import basic, continuous
from cotangent.random.gammas import _one_over, _parameters
from cotangent.random.orders import look_at_orders

__all__ = [
    "double_sided_maxwell",
    "lognormal",
    "maxwell",
    "multivariate_normal",
    "orthogonal",
    "pareto",
    "rayleigh",
    "triangular",
    "wald",
    "weibull_min",
]


# ---- Continuous distributions ----------------------------------------------------------------------------------------


def lognormal(
    key: Key, sigma: Any = 1.0, shape: Any = None, dtype: Any = None, *, out_sharding: Placement = None
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

    References
    ----------
    Norman L. Johnson, Samuel Kotz and N. Balakrishnan, "Continuous Univariate Distributions", 2nd edition, volume
    1, 1994, chapter 14.

    Examples
    --------
    >>> ct.random.lognormal(ct.random.key(0), 0.5, (3,)).round(3)
    Array([2.251, 2.753, 0.805], dtype=float32)
    """
    sizes, dtype, (sigma,) = _parameters("lognormal", shape, dtype, sigma)
    return primitives.exp(basic.normal(key, sizes, dtype) * sigma)


def pareto(key: Key, b: Any, shape: Any = None, dtype: Any = None, *, out_sharding: Placement = None) -> Array:
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

    References
    ----------
    Norman L. Johnson, Samuel Kotz and N. Balakrishnan, "Continuous Univariate Distributions", 2nd edition, volume
    1, 1994, chapter 20.

    Examples
    --------
    >>> ct.random.pareto(ct.random.key(0), 2.0, (3,)).round(3)
    Array([4.371, 6.833, 1.224], dtype=float32)
    """
    sizes, dtype, (b,) = _parameters("pareto", shape, dtype, b)
    return primitives.exp(continuous.exponential(key, sizes, dtype) / b)


def rayleigh(key: Key, scale: Any, shape: Any = None, dtype: Any = None, *, out_sharding: Placement = None) -> Array:
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

    References
    ----------
    Norman L. Johnson, Samuel Kotz and N. Balakrishnan, "Continuous Univariate Distributions", 2nd edition, volume
    1, 1994, chapter 18.

    Examples
    --------
    >>> ct.random.rayleigh(ct.random.key(0), 2.0, (3,)).round(3)
    Array([0.656, 0.416, 2.969], dtype=float32)
    """
    sizes, dtype, (scale,) = _parameters("rayleigh", shape, dtype, scale)
    return scale * primitives.sqrt(primitives.log(basic.uniform(key, sizes, dtype)) * -2.0)  # type: ignore[no-any-return]


def wald(key: Key, mean: Any, shape: Any = None, dtype: Any = None, *, out_sharding: Placement = None) -> Array:
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


def weibull_min(key: Key, scale: Any, concentration: Any, shape: Any = (), dtype: Any = None) -> Array:
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

    References
    ----------
    Norman L. Johnson, Samuel Kotz and N. Balakrishnan, "Continuous Univariate Distributions", 2nd edition, volume
    1, 1994, chapter 21.

    Examples
    --------
    >>> ct.random.weibull_min(ct.random.key(0), 2.0, 1.5, (3,)).round(3)
    Array([4.114, 4.907, 1.093], dtype=float32)
    """
    dtype = basic.float_dtype(dtype, "weibull_min")
    draws = -primitives.log1p(-basic.uniform(key, shape, dtype))
    return cnp.power(draws, _one_over(concentration, "weibull_min", "concentration")) * scale  # type: ignore[no-any-return]


def maxwell(key: Key, shape: Any = (), dtype: Any = None, *, out_sharding: Placement = None) -> Array:
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

    References
    ----------
    Norman L. Johnson, Samuel Kotz and N. Balakrishnan, "Continuous Univariate Distributions", 2nd edition, volume
    1, 1994, chapter 18.

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


def double_sided_maxwell(key: Key, loc: Any, scale: Any, shape: Any = (), dtype: Any = None) -> Array:
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

    References
    ----------
    Norman L. Johnson, Samuel Kotz and N. Balakrishnan, "Continuous Univariate Distributions", 2nd edition, volume
    1, 1994, chapter 18.

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
    key: Key, left: Any, mode: Any, right: Any, shape: Any = None, dtype: Any = None, *, out_sharding: Placement = None
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

    References
    ----------
    Norman L. Johnson, Samuel Kotz and N. Balakrishnan, "Continuous Univariate Distributions", 2nd edition, volume
    2, 1995, chapter 26.

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
    key: Key,
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

    References
    ----------
    Samuel Kotz, N. Balakrishnan and Norman L. Johnson, "Continuous Multivariate Distributions", 2nd edition, volume
    1, 2000, chapter 45.

    Examples
    --------
    >>> cov = ct.numpy.array([[1.0, 0.5], [0.5, 1.0]])
    >>> ct.random.multivariate_normal(ct.random.key(0), ct.numpy.zeros(2), cov, (2,)).round(3)
    Array([[ 1.623,  2.565],
           [-0.434, -0.285]], dtype=float32)
    """
    check_word("multivariate_normal", "method", method, ("svd", "eigh", "cholesky"))
    mean, cov = (_core.promote([x], inexact=True)[0] for x in (mean, cov))
    common = _core.promote_types([(mean.dtype, mean.weak_type), (cov.dtype, cov.weak_type)])[0]
    dtype = basic.float_dtype(common if dtype is None else dtype, "multivariate_normal")
    n = capacity(mean, -1) if mean.ndim else 0
    if mean.ndim < 1 or capacities(cov)[-2:] != (n, n):
        raise ShapeError(
            f"multivariate_normal: mean (..., n) and cov (..., n, n) have shapes {mean.shape} and {cov.shape}\n"
            "  ct.numpy.diag makes a matrix of variances; one number is of vectors of one: mean[None], cov[None, None]"
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
    key: Key, n: Any, shape: Any = (), dtype: Any = None, m: int | None = None, *, out_sharding: Placement = None
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


look_at_orders(globals())
check_arguments(globals())
