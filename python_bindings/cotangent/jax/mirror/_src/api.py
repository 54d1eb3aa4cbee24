"""``jax._src.api``: what the public module lacks of it."""

from __future__ import annotations

from cotangent._base.capture import ShapeDtypeStruct

__all__ = ["ShapeDtypeStruct"]
