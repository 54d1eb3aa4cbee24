"""``jax.interpreters.mlir``: lowerings that are functions of arrays."""

from __future__ import annotations

from cotangent.jax.internals.primitives import (
    lower_fun,
    register_lowering,
)

__all__ = [
    "lower_fun",
    "register_lowering",
]
