"""``jax._src.literals``."""

from cotangent.jax.internals.literals import TypedComplex, TypedFloat, TypedInt, typed_scalar_types

__all__ = ["TypedComplex", "TypedFloat", "TypedInt", "typed_scalar_types"]
