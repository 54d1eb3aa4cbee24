"""``jax._src.api``: what the public module lacks of it."""

from __future__ import annotations

from cotangent._base.capture import ShapeDtypeStruct
from cotangent.jax.internals.pullbacks import DidntWant, DontWant, GradRef, GradValue

__all__ = ["DidntWant", "DontWant", "GradRef", "GradValue", "ShapeDtypeStruct"]
