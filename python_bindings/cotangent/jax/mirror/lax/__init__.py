"""``jax.lax``: the primitives by their names, beside the functions that `cotangent.lax` has."""

from __future__ import annotations

from cotangent.jax.internals.jaxprs import built_in
from cotangent.jax.internals.meshes import with_sharding_constraint
from cotangent.jax.names import NAMES

__all__ = ["with_sharding_constraint"]

# What programs of `make_jaxpr` are searched for: ``eqn.primitive is jax.lax.sin_p``.
_PRIMITIVES = {name: built_in(name.removesuffix("_p")) for name in NAMES["jax.lax"] if name.endswith("_p")}
globals().update(_PRIMITIVES)
__all__ += list(_PRIMITIVES)
