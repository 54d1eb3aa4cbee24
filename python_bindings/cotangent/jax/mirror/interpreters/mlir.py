"""``jax.interpreters.mlir``: lowerings that are functions of arrays, or calls of Python."""

from __future__ import annotations

from cotangent.jax.internals.lowerings import (
    LoweringRuleContext,
    ModuleContext,
    emit_python_callback,
    lower_fun,
    register_lowering,
)

__all__ = [
    "LoweringRuleContext",
    "ModuleContext",
    "emit_python_callback",
    "lower_fun",
    "register_lowering",
]
