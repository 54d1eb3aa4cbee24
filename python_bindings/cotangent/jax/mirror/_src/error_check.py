"""``jax._src.error_check``."""

from __future__ import annotations

from cotangent.jax.internals.error_check import (
    ErrorState,
    JaxValueError,
    error_checking_context,
    raise_if_error,
    set_error_if,
    unwrap_from_import,
    wrap_for_export,
)

__all__ = [
    "JaxValueError",
    "_ErrorClass",
    "error_checking_context",
    "raise_if_error",
    "set_error_if",
    "unwrap_from_import",
    "wrap_for_export",
]

_ErrorClass = ErrorState
