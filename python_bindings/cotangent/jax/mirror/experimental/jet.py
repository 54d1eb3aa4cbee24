"""``jax.experimental.jet``: derivatives of higher order along a curve, by nested forward mode."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import cotangent as ct
from cotangent import tree_util

__all__ = ["fact", "jet"]


def fact(n: int) -> int:
    """The factorial of a number."""
    return math.factorial(n)


def _curve(primals: Sequence[Any], series: Sequence[Sequence[Any]], scales: Sequence[float]) -> Callable[[Any], Any]:
    def at(t: Any) -> list[Any]:
        points = []
        for primal, terms in zip(primals, series, strict=True):
            point = primal
            for order, (term, scale) in enumerate(zip(terms, scales, strict=True), start=1):
                point = tree_util.tree_map(lambda x, d, n=order, s=scale: x + t**n * (d * s), point, term)
            points.append(point)
        return points

    return at


def jet(
    fun: Callable[..., Any],
    primals: Sequence[Any],
    series: Sequence[Sequence[Any]],
    factorial_scaled: bool = True,
    **_: Any,
) -> tuple[Any, Any]:
    """The value of a function at the start of a curve, and the derivatives of the function along it.

    Args:
        fun: a function of arrays, or of trees of them.
        primals: where the curves of the arguments start.
        series: for each argument the derivatives of its curve, of order 1 and up.
        factorial_scaled: whether they are derivatives; else coefficients of Taylor's series, in and out.

    >>> from cotangent.jax.mirror.experimental.jet import jet
    >>> value, (first, second) = jet(lambda x: x**3, (2.0,), ((1.0, 0.0),))
    >>> float(value), float(first), float(second)
    (8.0, 12.0, 12.0)
    """
    orders = {len(terms) for terms in series}
    if len(orders) != 1 or not len(primals) == len(series):
        raise ValueError(
            "jet: every primal needs as many terms as the others\n"
            "  give series of one length: ((1.0, 0.0),) for one primal up to order 2"
        )
    order = orders.pop()
    factorials = [float(math.factorial(n)) for n in range(1, order + 1)]
    primals = [tree_util.tree_map(ct.numpy.asarray, primal) for primal in primals]
    at = _curve(primals, series, [1.0 / f if factorial_scaled else 1.0 for f in factorials])

    def along(t: Any) -> Any:
        return fun(*at(t))

    derivatives: list[Callable[[Any], Any]] = [along]
    for _unused in range(order):
        derivatives.append(_derivative(derivatives[-1]))
    zero = ct.numpy.zeros((), _dtype_of(primals))
    values = [function(zero) for function in derivatives]
    if not factorial_scaled:
        values[1:] = [tree_util.tree_map(lambda x, s=s: x / s, v) for v, s in zip(values[1:], factorials, strict=True)]
    structure = tree_util.tree_structure(values[0])
    leaves = [tree_util.tree_leaves(value) for value in values[1:]]
    return values[0], structure.unflatten([[terms[i] for terms in leaves] for i in range(structure.num_leaves)])


def _derivative(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def derivative(t: Any) -> Any:
        return ct.jvp(function, (t,), (ct.numpy.ones_like(t),))[1]

    return derivative


def _dtype_of(primals: Sequence[Any]) -> Any:
    """The real dtype in which the parameter of the curve is counted."""
    return ct.numpy.finfo(ct.numpy.result_type(*tree_util.tree_leaves(primals), 1.0)).dtype
