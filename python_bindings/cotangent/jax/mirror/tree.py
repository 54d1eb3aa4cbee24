"""``jax.tree``: short names of those in ``jax.tree_util``."""

from __future__ import annotations

from cotangent.jax.mirror.tree_util import tree_broadcast as broadcast
from cotangent.jax.mirror.tree_util import tree_map_with_path as map_with_path
from cotangent.jax.mirror.tree_util import tree_transpose as transpose

__all__ = ["broadcast", "map_with_path", "transpose"]
