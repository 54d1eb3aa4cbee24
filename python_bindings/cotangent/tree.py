"""Short names of `cotangent.tree_util`: ``ct.tree.map`` and friends."""

from cotangent.tree_util import tree_all as all  # noqa: A004
from cotangent.tree_util import tree_flatten as flatten
from cotangent.tree_util import tree_leaves as leaves
from cotangent.tree_util import tree_map as map  # noqa: A004
from cotangent.tree_util import tree_reduce as reduce
from cotangent.tree_util import tree_structure as structure
from cotangent.tree_util import tree_transpose as transpose
from cotangent.tree_util import tree_unflatten as unflatten

__all__ = ["all", "flatten", "leaves", "map", "reduce", "structure", "transpose", "unflatten"]
