"""``jax.api_util``."""

from __future__ import annotations

from cotangent.jax.internals.functions import (
    debug_info,
    flatten_fun,
    flatten_fun_nokwargs,
    infer_argnums_and_argnames,
    safe_map,
    safe_zip,
    shaped_abstractify,
)

__all__ = [
    "debug_info",
    "flatten_fun",
    "flatten_fun_nokwargs",
    "infer_argnums_and_argnames",
    "safe_map",
    "safe_zip",
    "shaped_abstractify",
]
