"""``jax.interpreters.xla``."""

from __future__ import annotations

from cotangent.jax.mirror.core import (
    pytype_aval_mappings,
)

__all__ = [
    "canonicalize_dtype_handlers",
    "pytype_aval_mappings",
]


canonicalize_dtype_handlers = pytype_aval_mappings
