"""A density estimated from points."""

from __future__ import annotations

import math
from typing import Any

from cotangent import _core, random
from cotangent import numpy as cnp
from cotangent._base.arguments import check_arguments
from cotangent._core import Array
from cotangent._ops.sizes import bound_size
from cotangent.scipy.special import (
    logsumexp,
    ndtr,
)
from cotangent.scipy.stats.multivariate import multivariate_normal
from cotangent.tree_util import register_pytree_node

__all__ = [
    "gaussian_kde",
]


class gaussian_kde:  # noqa: N801 (its name in SciPy)
    """A density estimated from points: a mean of Gaussian kernels around them.

    It is a pytree, immutable, and can be handed to functions under ``jit``.

    Parameters
    ----------
    dataset : array, shape (n,) or (d, n)
        The points; real.
    bw_method : str, float or callable, optional
        The factor of the bandwidth: "scott" (the default), "silverman", a number, or a function of this object.
    weights : array, shape (n,), optional
        Of the points; by default equal.

    Raises
    ------
    ValueError
        There are fewer than two elements, or the bandwidth is unknown.

    References
    ----------
    - David W. Scott, "Multivariate Density Estimation", 1992.
    - Bernard W. Silverman, "Density Estimation for Statistics and Data Analysis", 1986.

    Examples
    --------
    >>> kde = ct.scipy.stats.gaussian_kde(ct.numpy.array([0.0, 1.0, 2.0]))
    >>> kde(ct.numpy.array([1.0])).round(4)
    Array([0.3182], dtype=float32)
    """

    def __init__(self, dataset: Any, bw_method: Any = None, weights: Any = None) -> None:
        (self.dataset,) = _core.promote([cnp.atleast_2d(dataset)], inexact=True)
        if cnp.issubdtype(self.dataset.dtype, cnp.complexfloating):
            raise NotImplementedError(
                "gaussian_kde: complex points are not supported\n"
                "  stack the parts as two coordinates: ct.numpy.stack([x.real, x.imag])"
            )
        if bound_size(self.dataset) < 2:
            raise ValueError(
                "gaussian_kde: the dataset must have more than one element\n  pass (points,) or (coordinates, points)"
            )
        self.d, self.n = self.dataset.shape
        if weights is None:
            self.weights = cnp.full(self.n, 1.0, self.dataset.dtype) / cnp.asarray(self.n, self.dataset.dtype)
        else:
            given = cnp.asarray(weights).astype(self.dataset.dtype)
            if given.shape != (self.n,):
                raise ValueError(
                    f"gaussian_kde: weights must have shape {(self.n,)}; got {given.shape}\n"
                    "  pass one weight for each point: the last axis of the dataset"
                )
            self.weights = given / cnp.sum(given)
        self.neff = 1 / cnp.sum(self.weights**2)
        if bw_method is None or bw_method == "scott":
            self.factor = self.neff ** (-1.0 / (self.d + 4))
        elif bw_method == "silverman":
            self.factor = (self.neff * (self.d + 2) / 4.0) ** (-1.0 / (self.d + 4))
        elif callable(bw_method):
            self.factor = bw_method(self)
        elif isinstance(bw_method, str):
            raise ValueError(
                f"gaussian_kde: unknown bw_method {bw_method!r}; use 'scott', 'silverman', a number or a function\n"
                "  pass bw_method='scott', which is the default"
            )
        else:
            self.factor = cnp.asarray(bw_method)
        self.covariance = (
            cnp.atleast_2d(cnp.cov(self.dataset, rowvar=True, bias=False, aweights=self.weights)) * self.factor**2
        )
        self.inv_cov = cnp.linalg.inv(self.covariance)

    def _log_kernels(self, points: Any) -> Array:
        """The logarithms of weighted kernels: (n, m)."""
        points = cnp.atleast_2d(points).astype(self.dataset.dtype)
        if points.shape[0] != self.d:
            if points.shape[0] == 1 and points.shape[1] == self.d:
                points = points.reshape(self.d, 1)
            else:
                raise ValueError(
                    f"gaussian_kde: points have {points.shape[0]} coordinates, the dataset {self.d}\n"
                    f"  pass points of shape ({self.d}, n): the coordinates are the first axis"
                )
        difference = self.dataset[:, :, None] - points[:, None, :]
        energy = 0.5 * cnp.einsum("inm,ij,jnm->nm", difference, self.inv_cov, difference)
        scale = 0.5 * self.d * math.log(2 * math.pi) + 0.5 * cnp.linalg.slogdet(self.covariance)[1]
        result: Array = cnp.log(self.weights)[:, None] - energy - scale
        return result

    def logpdf(self, x: Any) -> Array:
        """The logarithm of the estimated density.

        Parameters
        ----------
        x : array, shape (m,) or (d, m)
            The points.

        Returns
        -------
        array, shape (m,)
            The logarithms.

        Examples
        --------
        >>> ct.scipy.stats.gaussian_kde(ct.numpy.array([0.0, 1.0, 2.0])).logpdf(ct.numpy.array([1.0])).round(4)
        Array([-1.1452], dtype=float32)
        """
        result: Array = logsumexp(self._log_kernels(x), axis=0)
        return result

    def evaluate(self, points: Any) -> Array:
        """The estimated density.

        Parameters
        ----------
        points : array, shape (m,) or (d, m)
            The points.

        Returns
        -------
        array, shape (m,)
            The densities.

        Examples
        --------
        >>> ct.scipy.stats.gaussian_kde(ct.numpy.array([0.0, 1.0, 2.0])).evaluate(ct.numpy.array([1.0])).round(4)
        Array([0.3182], dtype=float32)
        """
        return cnp.exp(self.logpdf(points))

    __call__ = pdf = evaluate

    def integrate_gaussian(self, mean: Any, cov: Any) -> Array:
        """The integral of the estimated density times a normal one.

        Parameters
        ----------
        mean : array, shape (d,)
            The mean of the normal density.
        cov : array, shape (d, d)
            Its covariance.

        Returns
        -------
        array, shape ()
            The integral.

        Examples
        --------
        >>> kde = ct.scipy.stats.gaussian_kde(ct.numpy.array([0.0, 1.0, 2.0]))
        >>> kde.integrate_gaussian(ct.numpy.array([1.0]), ct.numpy.array([[1.0]])).round(4)
        Array(0.2567, dtype=float32)
        """
        mean, cov = cnp.atleast_1d(mean), cnp.atleast_2d(cov)
        total = self.covariance + cov
        values = multivariate_normal.pdf(self.dataset.T, mean, total)
        return cnp.sum(values * self.weights)

    def integrate_box_1d(self, low: Any, high: Any) -> Array:
        """The probability between two numbers, for points of one coordinate.

        Parameters
        ----------
        low, high : float
            The ends.

        Returns
        -------
        array, shape ()
            The probability.

        Raises
        ------
        ValueError
            The points have several coordinates.

        Examples
        --------
        >>> ct.scipy.stats.gaussian_kde(ct.numpy.array([0.0, 1.0, 2.0])).integrate_box_1d(0.0, 2.0).round(4)
        Array(0.5915, dtype=float32)
        """
        if self.d != 1:
            raise ValueError(
                "gaussian_kde.integrate_box_1d: only for points of one coordinate\n"
                "  average the points of kde.resample(key, (n,)) that are inside"
            )
        deviation = cnp.sqrt(self.covariance[0, 0])
        ends = [ndtr((cnp.asarray(end) - self.dataset[0]) / deviation) for end in (low, high)]
        return cnp.sum(self.weights * (ends[1] - ends[0]))

    def integrate_kde(self, other: gaussian_kde) -> Array:
        """The integral of the product with another estimate.

        Parameters
        ----------
        other : gaussian_kde
            Of as many coordinates.

        Returns
        -------
        array, shape ()
            The integral.

        Raises
        ------
        ValueError
            The numbers of coordinates differ.

        Examples
        --------
        >>> kde = ct.scipy.stats.gaussian_kde(ct.numpy.array([0.0, 1.0, 2.0]))
        >>> kde.integrate_kde(kde).round(4)
        Array(0.2396, dtype=float32)
        """
        if other.d != self.d:
            raise ValueError(
                "gaussian_kde.integrate_kde: the estimates have different numbers of coordinates\n"
                "  take the same rows of both datasets"
            )
        total = self.covariance + other.covariance
        difference = self.dataset.T[:, None, :] - other.dataset.T[None, :, :]
        density = multivariate_normal.pdf(difference, cnp.zeros(self.d, self.dataset.dtype), total)
        return cnp.sum(density * self.weights[:, None] * other.weights[None, :])

    def resample(self, key: Any, shape: tuple[int, ...] = ()) -> Array:
        """Points drawn from the estimate.

        Parameters
        ----------
        key : key
            As of `cotangent.random.key`.
        shape : sequence of int
            How many points, in which shape; by default one.

        Returns
        -------
        array, shape (d, *shape)
            The points.

        Examples
        --------
        >>> kde = ct.scipy.stats.gaussian_kde(ct.numpy.array([0.0, 1.0, 2.0]))
        >>> kde.resample(ct.random.key(0), (5,)).shape
        (1, 5)
        """
        choose, noise = random.split(key)
        index = random.choice(choose, self.n, shape=shape, p=self.weights)
        zero = cnp.zeros(self.d, self.dataset.dtype)
        jitter = random.multivariate_normal(noise, zero, self.covariance, shape=shape, dtype=self.dataset.dtype)
        return self.dataset[:, index] + cnp.moveaxis(jitter, -1, 0)

    def integrate_box(self, low_bounds: Any, high_bounds: Any, maxpts: Any = None) -> Array:
        """Not available: an integral over a box, of several coordinates.

        Parameters
        ----------
        low_bounds, high_bounds : array
            The corners of the box.
        maxpts : int, optional
            How many points are used.

        Returns
        -------
        array
            None is computed.

        Raises
        ------
        NotImplementedError
            Always; only one coordinate is supported, by `integrate_box_1d`.
        """
        raise NotImplementedError(
            "gaussian_kde.integrate_box is not supported\n  use integrate_box_1d for one coordinate; for more, average "
            "the points of kde.resample(key, (n,)) that are inside"
        )

    def set_bandwidth(self, bw_method: Any = None) -> None:
        """Not available: the estimate is immutable.

        Parameters
        ----------
        bw_method : str, float or callable, optional
            The factor of the bandwidth.

        Raises
        ------
        NotImplementedError
            Always; make another estimate.
        """
        raise NotImplementedError("gaussian_kde is immutable\n  make another one: gaussian_kde(dataset, bw_method=...)")


def _flatten_kde(kde: gaussian_kde) -> tuple[tuple[Any, ...], Any]:
    names = tuple(name for name, value in vars(kde).items() if isinstance(value, Array))
    return tuple(vars(kde)[name] for name in names), (
        names,
        tuple((n, v) for n, v in vars(kde).items() if n not in names),
    )


def _unflatten_kde(plan: Any, arrays: Any) -> gaussian_kde:
    kde = object.__new__(gaussian_kde)
    names, rest = plan
    vars(kde).update(zip(names, arrays, strict=True))
    vars(kde).update(rest)
    return kde


register_pytree_node(gaussian_kde, _flatten_kde, _unflatten_kde)


check_arguments(globals())
