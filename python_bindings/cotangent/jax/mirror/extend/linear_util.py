"""``jax.extend.linear_util``."""

from __future__ import annotations

from cotangent.jax.internals.functions import (
    WrappedFun,
    transformation,
    transformation_with_aux,
    wrap_init,
)

__all__ = [
    "WrappedFun",
    "transformation",
    "transformation_with_aux",
    "wrap_init",
]
