"""``jax.experimental.shard_map``."""

from __future__ import annotations

from cotangent.jax.internals.sharded import shard_map

__all__ = ["shard_map"]
