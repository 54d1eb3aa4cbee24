"""What tests look for in programs that `make_jaxpr` shows."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

from cotangent.jax.internals.jaxprs import make_jaxpr, subjaxprs
from cotangent.jax.internals.transforms import vjp

__all__ = ["assert_dot_precision", "assert_dot_preferred_element_type", "fwd_bwd_jaxprs", "iter_eqns"]


def iter_eqns(jaxpr: Any) -> Iterator[Any]:
    """The equations of a program, and then those of the programs inside of them."""
    yield from jaxpr.eqns
    for inner in subjaxprs(jaxpr):
        yield from iter_eqns(inner)


def _products(parameter: str, fun: Callable[..., Any], args: Any) -> list[Any]:
    program = make_jaxpr(fun)(*args)
    return [eqn.params[parameter] for eqn in iter_eqns(program.jaxpr) if str(eqn.primitive) == "dot_general"]


def assert_dot_precision(expected_precision: Any, fun: Callable[..., Any], *args: Any) -> None:
    """Raises AssertionError where a product of matrices in a function's program has another precision."""
    for found in _products("precision", fun, args):
        pair = found if isinstance(found, tuple) else (found, found)
        assert pair == (expected_precision, expected_precision), f"precision {found}, expected {expected_precision}"


def assert_dot_preferred_element_type(expected: Any, fun: Callable[..., Any], *args: Any, **kwargs: Any) -> None:
    """Raises AssertionError where a product of matrices in a function's program gives another dtype."""
    for found in _products("preferred_element_type", functools.partial(fun, **kwargs), args):
        assert found == expected, f"preferred_element_type {found}, expected {expected}"


def fwd_bwd_jaxprs(f: Callable[..., Any], *example_args: Any) -> tuple[Any, Any]:
    """The programs of a function with what its derivative needs, and of the derivative."""
    forward, (value, pull_back) = make_jaxpr(lambda *args: vjp(f, *args), return_shape=True)(*example_args)
    return forward, make_jaxpr(lambda pull_back, value: pull_back(value))(pull_back, value)
