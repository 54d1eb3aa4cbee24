"""The logistic function."""

from __future__ import annotations

from typing import Any

from cotangent._base import primitives
from cotangent._base.arguments import check_arguments
from cotangent._core import Array
from cotangent._ops.binding import choose, inexact, kind, literal
from cotangent._transforms.rules_by_type import custom_jvp_by_type

__all__ = ["sigmoid"]


def _sigmoid(x: Array) -> tuple[Array, Array]:
    """The sigmoid, and its derivative: neither loses digits where it is small."""
    small = small_exponential(x)
    total = literal(small, 1.0) + small
    return choose(is_below(x, 0.0), small, 1.0) / total, small / (total * total)


@custom_jvp_by_type
def _real_sigmoid(x: Array) -> Array:
    return _sigmoid(x)[0]


@_real_sigmoid.defjvp
def _real_sigmoid_jvp(primals: tuple[Array], tangents: tuple[Array]) -> tuple[Array, Array]:
    # One factor is all that a backward pass has to keep.
    value, slope = _sigmoid(*primals)
    return value, tangents[0] * slope


def sigmoid(x: Any) -> Array:
    """The logistic function ``1 / (1 + exp(-x))``, without overflow.

    Parameters
    ----------
    x : array
        Numbers; integers are computed in the default floating dtype.

    Returns
    -------
    array
        Of the shape of ``x``.

    Examples
    --------
    >>> ct.nn.sigmoid(ct.numpy.array([0.0, 2.0])).round(4)
    Array([0.5   , 0.8808], dtype=float32)
    """
    array = inexact(x)
    if kind(array) == "complex":
        return literal(array, 1.0) / (literal(array, 1.0) + primitives.exp(primitives.neg(array)))
    return _real_sigmoid(array)  # type: ignore[no-any-return]


def is_below(x: Array, bound: float) -> Array:
    return primitives.lt(x, literal(x, bound))


def small_exponential(x: Array) -> Array:
    """``exp(-|x|)``, with derivatives of every order at 0 from the right."""
    return primitives.exp(choose(is_below(x, 0.0), x, primitives.neg(x)))


check_arguments(globals())
