"""``jax.lax``: what `cotangent.lax` has otherwise."""

from __future__ import annotations

from cotangent.jax.internals.meshes import (
    with_sharding_constraint,
)
from cotangent.jax.mirror.extend.core.primitives import (
    cond_p,
    scan_p,
    while_p,
    stop_gradient_p,
)


__all__ = [
    "cond_p",
    "scan_p",
    "stop_gradient_p",
    "while_p",
    "with_sharding_constraint",
]
