"""``jax.ref``: references to arrays, and functions of them."""

from __future__ import annotations

from cotangent.jax.internals.references import (
    AbstractRef,
    Ref,
    addupdate,
    empty_ref,
    free_ref,
    freeze,
    get,
    new_ref,
    swap,
)
from cotangent.jax.internals.references import (
    set_ as set,  # noqa: A004 (JAX's name)
)

__all__ = ["AbstractRef", "Ref", "addupdate", "empty_ref", "free_ref", "freeze", "get", "new_ref", "set", "swap"]
