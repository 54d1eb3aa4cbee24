"""Special functions under their names in ``jax.lax``: of floats only, without promotion."""

from __future__ import annotations

from typing import Any

from cotangent import _special
from cotangent._base.arguments import check_arguments
from cotangent._core import Array
from cotangent.lax._operands import FLOATS, operands

__all__ = [
    "bessel_i0e",
    "bessel_i1e",
    "betainc",
    "digamma",
    "erf",
    "erf_inv",
    "erfc",
    "igamma",
    "igamma_grad_a",
    "igammac",
    "lgamma",
    "polygamma",
    "random_gamma_grad",
    "zeta",
]


def erf(x: Any) -> Array:
    """The error function: the integral of ``2 / sqrt(pi) * exp(-t**2)`` from 0 to ``x``.

    Parameters
    ----------
    x : array
        Floats.

    Returns
    -------
    array
        Of the shape and dtype of ``x``.

    References
    ----------
    NIST Digital Library of Mathematical Functions, section 7.2.

    Examples
    --------
    >>> ct.lax.erf(ct.numpy.array([0.0, 0.5])).round(4)
    Array([0.    , 0.5205], dtype=float32)
    """
    return _special.erf(*operands("erf", (x,), FLOATS))


def erfc(x: Any) -> Array:
    """The complement ``1 - erf(x)``, which keeps its digits where erf is close to 1.

    Parameters
    ----------
    x : array
        Floats.

    Returns
    -------
    array
        Of the shape and dtype of ``x``.

    References
    ----------
    NIST Digital Library of Mathematical Functions, section 7.2.

    Examples
    --------
    >>> ct.lax.erfc(ct.numpy.array([0.0, 0.5])).round(4)
    Array([1.    , 0.4795], dtype=float32)
    """
    return _special.erfc(*operands("erfc", (x,), FLOATS))


def erf_inv(x: Any) -> Array:
    """The inverse of the error function: infinite at -1 and 1, NaN beyond.

    Parameters
    ----------
    x : array
        Floats.

    Returns
    -------
    array
        Of the shape and dtype of ``x``.

    References
    ----------
    NIST Digital Library of Mathematical Functions, section 7.17.

    Examples
    --------
    >>> ct.lax.erf_inv(ct.numpy.array([0.0, 0.5])).round(4)
    Array([0.    , 0.4769], dtype=float32)
    """
    return _special.erfinv(*operands("erf_inv", (x,), FLOATS))


def lgamma(x: Any) -> Array:
    """The logarithm of the magnitude of the gamma function; infinite at its poles.

    Parameters
    ----------
    x : array
        Floats.

    Returns
    -------
    array
        Of the shape and dtype of ``x``.

    References
    ----------
    NIST Digital Library of Mathematical Functions, sections 5.2 and 5.11.

    Examples
    --------
    >>> ct.lax.lgamma(ct.numpy.array([0.5, 4.0])).round(4)
    Array([0.5724, 1.7918], dtype=float32)
    """
    return _special.gammaln(*operands("lgamma", (x,), FLOATS))


def digamma(x: Any) -> Array:
    """The derivative of `lgamma`; NaN at the poles.

    Parameters
    ----------
    x : array
        Floats.

    Returns
    -------
    array
        Of the shape and dtype of ``x``.

    References
    ----------
    NIST Digital Library of Mathematical Functions, sections 5.2 and 5.11.

    Examples
    --------
    >>> ct.lax.digamma(ct.numpy.array([0.5, 4.0])).round(4)
    Array([-1.9635,  1.2561], dtype=float32)
    """
    return _special.digamma(*operands("digamma", (x,), FLOATS))


def polygamma(m: Any, x: Any) -> Array:
    """The derivative of order ``m`` of `digamma`.

    Parameters
    ----------
    m : array
        Whole numbers from 0 on, of floating dtype; NaN comes of others.
    x : array
        Floats of the same dtype.

    Returns
    -------
    array
        Of the common shape.

    References
    ----------
    NIST Digital Library of Mathematical Functions, section 5.15.

    Examples
    --------
    >>> ct.lax.polygamma(1.0, ct.numpy.array([1.0, 2.0])).round(4)
    Array([1.6449, 0.6449], dtype=float32)
    """
    return _special.polygamma(*operands("polygamma", (m, x), FLOATS))


def zeta(x: Any, q: Any) -> Array:
    """Hurwitz' zeta function: the sum of ``(q + k)**-x`` over k = 0, 1, 2, ...

    NaN for x < 1, where the sum diverges, and for fractional x with negative q.

    Parameters
    ----------
    x : array
        The exponent: floats.
    q : array
        Where the sum begins: floats of the same dtype.

    Returns
    -------
    array
        Of the common shape.

    References
    ----------
    NIST Digital Library of Mathematical Functions, section 25.11.

    Examples
    --------
    >>> ct.lax.zeta(ct.numpy.array([2.0, 4.0]), 1.0).round(4)
    Array([1.6449, 1.0823], dtype=float32)
    """
    return _special.zeta(*operands("zeta", (x, q), FLOATS))


def igamma(a: Any, x: Any) -> Array:
    """The lower incomplete gamma function, regularised: the probability that a gamma sample is at most ``x``.

    Parameters
    ----------
    a : array
        The shape parameter: floats above 0.
    x : array
        Floats from 0 on, of the same dtype.

    Returns
    -------
    array
        Of the common shape.

    References
    ----------
    - NIST Digital Library of Mathematical Functions, section 8.2.
    - N. M. Temme, "The asymptotic expansion of the incomplete gamma functions", 1979.

    Examples
    --------
    >>> ct.lax.igamma(1.0, ct.numpy.array([0.5, 1.0])).round(4)
    Array([0.3935, 0.6321], dtype=float32)
    """
    return _special.gammainc(*operands("igamma", (a, x), FLOATS))


def igammac(a: Any, x: Any) -> Array:
    """The upper incomplete gamma function, regularised: ``1 - igamma(a, x)``, which keeps its digits where it is small.

    Parameters
    ----------
    a : array
        The shape parameter: floats above 0.
    x : array
        Floats from 0 on, of the same dtype.

    Returns
    -------
    array
        Of the common shape.

    References
    ----------
    NIST Digital Library of Mathematical Functions, section 8.2.

    Examples
    --------
    >>> ct.lax.igammac(1.0, ct.numpy.array([0.5, 1.0])).round(4)
    Array([0.6065, 0.3679], dtype=float32)
    """
    return _special.gammaincc(*operands("igammac", (a, x), FLOATS))


def igamma_grad_a(a: Any, x: Any) -> Array:
    """The derivative of `igamma` by its shape parameter.

    Parameters
    ----------
    a : array
        The shape parameter: floats above 0.
    x : array
        Floats from 0 on, of the same dtype.

    Returns
    -------
    array
        Of the common shape.

    Examples
    --------
    >>> ct.lax.igamma_grad_a(1.0, ct.numpy.array([0.5, 1.0])).round(4)
    Array([-0.4895, -0.4317], dtype=float32)
    """
    return _special.igamma_grad_a(*operands("igamma_grad_a", (a, x), FLOATS))


def random_gamma_grad(a: Any, x: Any) -> Array:
    """How a sample of the gamma distribution moves with the shape parameter, at a fixed quantile.

    It is the derivative of ``x`` by ``a`` while ``igamma(a, x)`` stays the same, which makes samples
    differentiable.

    Parameters
    ----------
    a : array
        The shape parameter: floats above 0.
    x : array
        The sample: floats above 0, of the same dtype.

    Returns
    -------
    array
        Of the common shape.

    References
    ----------
    Michael Figurnov, Shakir Mohamed and Andriy Mnih, "Implicit reparameterization gradients", 2018.

    Examples
    --------
    >>> ct.lax.random_gamma_grad(1.0, ct.numpy.array([0.5, 1.0])).round(4)
    Array([0.807 , 1.1736], dtype=float32)
    """
    return _special.random_gamma_grad(*operands("random_gamma_grad", (a, x), FLOATS))


def betainc(a: Any, b: Any, x: Any) -> Array:
    """The incomplete beta function, regularised: the probability that a beta sample is at most ``x``.

    Parameters
    ----------
    a, b : array
        The shape parameters: floats above 0.
    x : array
        Floats in [0, 1], of the same dtype.

    Returns
    -------
    array
        Of the common shape.

    References
    ----------
    NIST Digital Library of Mathematical Functions, section 8.17.

    Examples
    --------
    >>> ct.lax.betainc(2.0, 3.0, ct.numpy.array([0.25, 0.5])).round(4)
    Array([0.2617, 0.6875], dtype=float32)
    """
    return _special.betainc(*operands("betainc", (a, b, x), FLOATS))


def bessel_i0e(x: Any) -> Array:
    """The modified Bessel function of the first kind and order 0, times ``exp(-|x|)``.

    Parameters
    ----------
    x : array
        Floats.

    Returns
    -------
    array
        Of the shape and dtype of ``x``.

    References
    ----------
    NIST Digital Library of Mathematical Functions, section 10.25.

    Examples
    --------
    >>> ct.lax.bessel_i0e(ct.numpy.array([0.0, 1.0])).round(4)
    Array([1.    , 0.4658], dtype=float32)
    """
    return _special.i0e(*operands("bessel_i0e", (x,), FLOATS))


def bessel_i1e(x: Any) -> Array:
    """The modified Bessel function of the first kind and order 1, times ``exp(-|x|)``.

    Parameters
    ----------
    x : array
        Floats.

    Returns
    -------
    array
        Of the shape and dtype of ``x``.

    References
    ----------
    NIST Digital Library of Mathematical Functions, section 10.25.

    Examples
    --------
    >>> ct.lax.bessel_i1e(ct.numpy.array([0.0, 1.0])).round(4)
    Array([0.    , 0.2079], dtype=float32)
    """
    return _special.i1e(*operands("bessel_i1e", (x,), FLOATS))


check_arguments(globals())
