"""``jax.lax.linalg``: the primitives by their names, beside the functions that `cotangent.lax.linalg` has."""

from __future__ import annotations

from cotangent.jax.internals.jaxprs import built_ins_named_in

__all__: list[str] = []

_PRIMITIVES = built_ins_named_in("jax.lax.linalg")
globals().update(_PRIMITIVES)
__all__ += list(_PRIMITIVES)
