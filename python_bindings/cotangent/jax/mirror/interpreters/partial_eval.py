"""``jax.interpreters.partial_eval``."""

from __future__ import annotations

from typing import Any

from cotangent import _core
from cotangent.jax.internals.functions import (
    PartialVal,
    trace_to_jaxpr_nounits,
)

__all__ = [
    "DynamicJaxprTracer",
    "JaxprTracer",
    "PartialVal",
    "trace_to_jaxpr_nounits",
]


class _Captured(type):
    def __instancecheck__(cls, instance: Any) -> bool:
        return bool(_core.is_traced(instance))


class JaxprTracer(metaclass=_Captured):
    """``isinstance(x, JaxprTracer)``: whether a value is one of a program that is being captured."""


DynamicJaxprTracer = JaxprTracer
