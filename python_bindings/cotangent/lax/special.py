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
    """The error function."""
    return _special.erf(*operands("erf", (x,), FLOATS))


def erfc(x: Any) -> Array:
    """``1 - erf(x)``, accurate where erf is close to 1."""
    return _special.erfc(*operands("erfc", (x,), FLOATS))


def erf_inv(x: Any) -> Array:
    """The inverse of the error function."""
    return _special.erf_inv(*operands("erf_inv", (x,), FLOATS))


def lgamma(x: Any) -> Array:
    """The logarithm of the magnitude of the gamma function."""
    return _special.lgamma(*operands("lgamma", (x,), FLOATS))


def digamma(x: Any) -> Array:
    """The derivative of `lgamma`."""
    return _special.digamma(*operands("digamma", (x,), FLOATS))


def polygamma(m: Any, x: Any) -> Array:
    """The derivative of order ``m``, a whole number of floating dtype, of `digamma`."""
    return _special.polygamma(*operands("polygamma", (m, x), FLOATS))


def zeta(x: Any, q: Any) -> Array:
    """The zeta function of Hurwitz: the sum of ``(q + k)**-x`` over k from 0."""
    return _special.zeta(*operands("zeta", (x, q), FLOATS))


def igamma(a: Any, x: Any) -> Array:
    """The regularised lower incomplete gamma function."""
    return _special.igamma(*operands("igamma", (a, x), FLOATS))


def igammac(a: Any, x: Any) -> Array:
    """The regularised upper incomplete gamma function."""
    return _special.igammac(*operands("igammac", (a, x), FLOATS))


def igamma_grad_a(a: Any, x: Any) -> Array:
    """The derivative of `igamma` by ``a``."""
    return _special.igamma_grad_a(*operands("igamma_grad_a", (a, x), FLOATS))


def random_gamma_grad(a: Any, x: Any) -> Array:
    """The derivative by ``a`` of a sample ``x`` of the gamma distribution, at a fixed quantile."""
    return _special.random_gamma_grad(*operands("random_gamma_grad", (a, x), FLOATS))


def betainc(a: Any, b: Any, x: Any) -> Array:
    """The regularised incomplete beta function."""
    return _special.betainc(*operands("betainc", (a, b, x), FLOATS))


def bessel_i0e(x: Any) -> Array:
    """``exp(-|x|)`` times the modified Bessel function of order 0."""
    return _special.i0e(*operands("bessel_i0e", (x,), FLOATS))


def bessel_i1e(x: Any) -> Array:
    """``exp(-|x|)`` times the modified Bessel function of order 1."""
    return _special.i1e(*operands("bessel_i1e", (x,), FLOATS))


check_arguments(globals())
