"""``jax.interpreters.ad``."""

from __future__ import annotations

from typing import Any

from cotangent import _core
from cotangent._base.capture import SymbolicZero
from cotangent.jax.internals.avals import (
    UndefinedPrimal,
    Zero,
    add_tangents,
    instantiate_zeros,
    is_undefined_primal,
    zeros_like_aval,
)
from cotangent.jax.internals.avals import (
    add_tangents as add_jaxvals,
)
from cotangent.jax.internals.primitives import (
    defjvp,
    deflinear,
    deflinear2,
    primitive_jvps,
    primitive_transposes,
)

__all__ = [
    "JVPTracer",
    "SymbolicZero",
    "UndefinedPrimal",
    "Zero",
    "add_jaxvals",
    "add_tangents",
    "defjvp",
    "deflinear",
    "deflinear2",
    "get_primitive_transpose",
    "instantiate_zeros",
    "instantiate_zeros_aval",
    "is_undefined_primal",
    "primitive_jvps",
    "primitive_transposes",
    "replace_internal_symbolic_zeros",
    "replace_rule_output_symbolic_zeros",
    "zeros_like_aval",
    "zeros_like_jaxval",
]


class _Differentiated(type):
    def __instancecheck__(cls, instance: Any) -> bool:
        return _core.is_traced(instance) and bool(_core.dependence(instance))


class JVPTracer(metaclass=_Differentiated):
    """``isinstance(x, JVPTracer)``: whether a traced value depends on what an enclosing transform differentiates."""


def instantiate_zeros_aval(aval: Any, tangent: Any) -> Any:
    """The tangent as an array."""
    return instantiate_zeros(tangent)


def zeros_like_jaxval(x: Any) -> Any:
    """Zeros of the type of a value."""
    return zeros_like_aval(Zero.from_primal_value(x).aval)


def get_primitive_transpose(primitive: Any) -> Any:
    """The transpose rule of a primitive."""
    return primitive_transposes[primitive]


def replace_internal_symbolic_zeros(x: Any) -> Any:
    """The zero as rules of custom functions are given it."""
    return SymbolicZero(x.aval) if type(x) is Zero else x


def replace_rule_output_symbolic_zeros(x: Any) -> Any:
    """The zero as rules of primitives return it."""
    return Zero(x.aval) if isinstance(x, SymbolicZero) else x
