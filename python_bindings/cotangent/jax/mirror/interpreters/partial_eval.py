"""``jax.interpreters.partial_eval``."""

from __future__ import annotations

from cotangent.jax.internals.functions import (
    PartialVal,
    trace_to_jaxpr_nounits,
)

__all__ = [
    "PartialVal",
    "trace_to_jaxpr_nounits",
]
