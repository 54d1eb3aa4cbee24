"""Distributions of vectors."""

from __future__ import annotations

import math
from typing import Any

from cotangent import _core
from cotangent import numpy as cnp
from cotangent._base.arguments import check_arguments, leaving_methods
from cotangent._core import Array
from cotangent._ops.sizes import axis_size
from cotangent.lax.linalg import cholesky, triangular_solve
from cotangent.scipy._distributions import inside
from cotangent.scipy.special import (
    gammaln,
    xlogy,
)

__all__ = [
    "dirichlet",
    "multinomial",
    "multivariate_normal",
]

_HALF_LOG_TWO_PI = 0.5 * math.log(2 * math.pi)


@leaving_methods
class _Multinomial:
    """Counts of n draws among categories with probabilities p, along the last axis."""

    @staticmethod
    def logpmf(x: Any, n: Any, p: Any) -> Array:
        """The logarithm of the probability of counts among categories, along the last axis.

        Parameters
        ----------
        x : array, shape (..., k)
            The counts; impossible ones have probability 0.
        n : array, shape (...)
            The number of trials.
        p : array, shape (..., k)
            The probabilities of the categories.

        Returns
        -------
        array, shape (...)
            The logarithms; NaN of NaN, and where ``p`` has no probabilities or ``n`` is negative.

        References
        ----------
        Norman L. Johnson, Samuel Kotz and N. Balakrishnan, "Discrete Multivariate Distributions", 1997, chapter 35.

        Examples
        --------
        >>> ct.scipy.stats.multinomial.logpmf(ct.numpy.array([1, 2]), 3, ct.numpy.array([0.5, 0.5])).round(4)
        Array(-0.9808, dtype=float32)
        """
        x, p = _core.promote([x, p], inexact=True)
        n = cnp.asarray(n, x.dtype)
        possible = (cnp.sum(x, axis=-1) == n) & cnp.all((x >= 0) & (x == cnp.floor(x)), axis=-1)
        value = gammaln(n + 1) + cnp.sum(xlogy(x, p) - gammaln(x + 1), axis=-1)
        known = cnp.all((x == x) & (p >= 0) & (p <= 1), axis=-1) & (n >= 0)
        return inside(known, inside(possible, value), math.nan)

    @staticmethod
    def pmf(x: Any, n: Any, p: Any) -> Array:
        """The probability of counts among categories, along the last axis.

        Parameters
        ----------
        x : array, shape (..., k)
            The counts; impossible ones have probability 0.
        n : array, shape (...)
            The number of trials.
        p : array, shape (..., k)
            The probabilities of the categories.

        Returns
        -------
        array, shape (...)
            The probabilities; NaN of NaN, and where ``p`` has none or ``n`` is negative.

        References
        ----------
        Norman L. Johnson, Samuel Kotz and N. Balakrishnan, "Discrete Multivariate Distributions", 1997, chapter 35.

        Examples
        --------
        >>> ct.scipy.stats.multinomial.pmf(ct.numpy.array([1, 2]), 3, ct.numpy.array([0.5, 0.5])).round(4)
        Array(0.375, dtype=float32)
        """
        return cnp.exp(_Multinomial.logpmf(x, n, p))


multinomial = _Multinomial()


def _fewer(x: Array, y: Array) -> int | None:
    """How many elements less ``x`` has than ``y`` along the first axis; None where lengths do not tell."""
    sizes = axis_size(x, 0), axis_size(y, 0)
    if not any(isinstance(size, Array) for size in sizes):
        return int(sizes[1]) - int(sizes[0])
    if all(isinstance(size, Array) for size in sizes):
        for less in (0, 1):
            if _core.same_length(sizes[0], cnp.maximum(sizes[1] - less, 0) if less else sizes[1]):
                return less
    return None


@leaving_methods
class _Dirichlet:
    """Points of the simplex, along the first axis, with concentrations alpha."""

    @staticmethod
    def logpdf(x: Any, alpha: Any) -> Array:
        """The logarithm of the density of points of a simplex, along the first axis.

        Parameters
        ----------
        x : array, shape (k, ...) or (k - 1, ...)
            Coordinates from 0 on that sum to 1 (to 1e-6); the last may be left out.
        alpha : array, shape (k,)
            The concentrations, above 0.

        Returns
        -------
        array, shape (...)
            The logarithms; -inf beside the simplex, NaN of NaN and where a concentration is not above 0.

        Raises
        ------
        ValueError
            The numbers of coordinates and concentrations do not fit.

        References
        ----------
        Samuel Kotz, N. Balakrishnan and Norman L. Johnson, "Continuous Multivariate Distributions", 2nd edition, volume
        1, 2000, chapter 49.

        Examples
        --------
        >>> ct.scipy.stats.dirichlet.logpdf(ct.numpy.array([0.2, 0.3, 0.5]), ct.numpy.array([1.0, 2.0, 3.0])).round(4)
        Array(1.5041, dtype=float32)
        """
        alpha = cnp.asarray(alpha)
        x = cnp.asarray(x)
        x, alpha = x.astype(cnp.result_type(x, alpha, 1.0)), alpha.astype(cnp.result_type(x, alpha, 1.0))
        if alpha.ndim != 1:
            raise ValueError(
                f"dirichlet.logpdf: alpha must have one axis; got shape {alpha.shape}\n"
                "  map over several: ct.vmap(dirichlet.logpdf, in_axes=(None, 0))(x, alpha)"
            )
        fewer = _fewer(x, alpha)
        if fewer not in (0, 1):
            raise ValueError(
                f"dirichlet.logpdf: x has {x.shape[0]} coordinates for {alpha.shape[0]} concentrations\n"
                f"  pass x of shape ({alpha.shape[0]}, ...): the coordinates are the first axis; the last of them may be left out"
            )
        if fewer:
            x = cnp.concatenate([x, 1 - cnp.sum(x, axis=0, keepdims=True)])
        on_simplex = cnp.all(x >= 0, axis=0) & (cnp.abs(cnp.sum(x, axis=0) - 1) < 1e-6)
        column = alpha.reshape(-1, *[1] * (x.ndim - 1))
        value = gammaln(cnp.sum(alpha)) - cnp.sum(gammaln(alpha)) + cnp.sum(xlogy(column - 1, x), axis=0)
        known = cnp.all(x == x, axis=0) & cnp.all(alpha > 0)
        return inside(known, inside(on_simplex, value), math.nan)

    @staticmethod
    def pdf(x: Any, alpha: Any) -> Array:
        """The density of points of a simplex, along the first axis.

        Parameters
        ----------
        x : array, shape (k, ...) or (k - 1, ...)
            Coordinates from 0 on that sum to 1 (to 1e-6); the last may be left out.
        alpha : array, shape (k,)
            The concentrations, above 0.

        Returns
        -------
        array, shape (...)
            The densities; 0 beside the simplex, NaN of NaN and where a concentration is not above 0.

        Raises
        ------
        ValueError
            The numbers of coordinates and concentrations do not fit.

        References
        ----------
        Samuel Kotz, N. Balakrishnan and Norman L. Johnson, "Continuous Multivariate Distributions", 2nd edition, volume
        1, 2000, chapter 49.

        Examples
        --------
        >>> ct.scipy.stats.dirichlet.pdf(ct.numpy.array([0.2, 0.3, 0.5]), ct.numpy.array([1.0, 2.0, 3.0])).round(4)
        Array(4.5, dtype=float32)
        """
        return cnp.exp(_Dirichlet.logpdf(x, alpha))


dirichlet = _Dirichlet()


@leaving_methods
class _MultivariateNormal:
    """Normal vectors along the last axis."""

    @staticmethod
    def logpdf(x: Any, mean: Any, cov: Any, allow_singular: None = None) -> Array:
        """The logarithm of the density of normal vectors, along the last axis.

        Parameters
        ----------
        x : array, shape (..., n)
            The points.
        mean : array, shape (n,) or ()
            The mean.
        cov : array, shape (..., n, n)
            The covariances, positive definite; a scalar, for the variance of every coordinate.
        allow_singular : None
            Not supported.

        Returns
        -------
        array, shape (...)
            The logarithms; NaN where a covariance is not positive definite.

        Raises
        ------
        NotImplementedError
            ``allow_singular`` is given.
        ValueError
            The covariance does not fit.

        References
        ----------
        Samuel Kotz, N. Balakrishnan and Norman L. Johnson, "Continuous Multivariate Distributions", 2nd edition, volume
        1, 2000, chapter 45.

        Examples
        --------
        >>> cov = ct.numpy.array([[1.0, 0.5], [0.5, 1.0]])
        >>> ct.scipy.stats.multivariate_normal.logpdf(ct.numpy.array([0.5, 0.0]), ct.numpy.zeros(2), cov).round(4)
        Array(-1.8607, dtype=float32)
        """
        if allow_singular is not None:
            raise NotImplementedError(
                "multivariate_normal: allow_singular is not supported\n"
                "  leave it out, and add a little to the diagonal of cov: cov + 1e-6 * ct.numpy.eye(n)"
            )
        dtype = cnp.result_type(x, mean, cov, 1.0)
        x, mean, cov = (cnp.asarray(value).astype(dtype) for value in (x, mean, cov))
        if mean.ndim == 0:
            value: Array = -0.5 * (x - mean) ** 2 / cov - 0.5 * cnp.log(2 * math.pi * cov)
            return value
        n = mean.shape[-1]
        if cov.ndim == 0:
            cov = cov * cnp.eye(n, dtype=dtype)
        if cov.ndim < 2 or cov.shape[-2:] != (n, n):
            raise ValueError(
                f"multivariate_normal.logpdf: cov has shape {cov.shape} for vectors of {n}\n"
                f"  pass cov of shape (..., {n}, {n}): ct.numpy.diag makes one of variances"
            )
        lower = cholesky(cov)
        centred = x - mean
        batch = cnp.broadcast_shapes(centred.shape[:-1], lower.shape[:-2])
        lower_all = cnp.broadcast_to(lower, (*batch, n, n))
        solved = triangular_solve(
            lower_all, cnp.broadcast_to(centred, (*batch, n))[..., None], left_side=True, lower=True
        )[..., 0]
        log_determinant = cnp.sum(cnp.log(cnp.diagonal(lower, axis1=-2, axis2=-1)), axis=-1)
        result: Array = -0.5 * cnp.sum(solved * solved, axis=-1) - n * _HALF_LOG_TWO_PI - log_determinant
        return result

    @staticmethod
    def pdf(x: Any, mean: Any, cov: Any) -> Array:
        """The density of normal vectors, along the last axis.

        Parameters
        ----------
        x : array, shape (..., n)
            The points.
        mean : array, shape (n,) or ()
            The mean.
        cov : array, shape (..., n, n)
            The covariances, positive definite; a scalar, for the variance of every coordinate.

        Returns
        -------
        array, shape (...)
            The densities; NaN where a covariance is not positive definite.

        Raises
        ------
        ValueError
            The covariance does not fit.

        References
        ----------
        Samuel Kotz, N. Balakrishnan and Norman L. Johnson, "Continuous Multivariate Distributions", 2nd edition, volume
        1, 2000, chapter 45.

        Examples
        --------
        >>> cov = ct.numpy.array([[1.0, 0.5], [0.5, 1.0]])
        >>> ct.scipy.stats.multivariate_normal.pdf(ct.numpy.array([0.5, 0.0]), ct.numpy.zeros(2), cov).round(4)
        Array(0.1556, dtype=float32)
        """
        return cnp.exp(_MultivariateNormal.logpdf(x, mean, cov))


multivariate_normal = _MultivariateNormal()


check_arguments(globals())
