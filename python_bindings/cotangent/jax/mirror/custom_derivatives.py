"""``jax.custom_derivatives``: primitives beside the functions that `cotangent.custom_derivatives` has."""

from __future__ import annotations

from cotangent.jax.mirror.extend.core.primitives import (
    custom_jvp_call_p,
    custom_vjp_call_p,
)

__all__ = [
    "custom_jvp_call_p",
    "custom_vjp_call_jaxpr_p",
    "custom_vjp_call_p",
]


custom_vjp_call_jaxpr_p = custom_vjp_call_p
