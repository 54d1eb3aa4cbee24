"""``jax.experimental.pjit``."""

from __future__ import annotations

from cotangent.jax.internals.transforms import jit as pjit

__all__ = ["pjit"]
