"""``jax._src.sharding_impls``."""

from cotangent.jax.internals import meshes
from cotangent.jax.internals.meshes import *  # noqa: F403
from cotangent.jax.missing import missing

GSPMDSharding = missing("jax._src.sharding_impls.GSPMDSharding")

__all__ = ["GSPMDSharding", *meshes.__all__]
