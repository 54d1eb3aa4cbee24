"""Short names of `cotangent.tree_util`: ``ct.tree.map`` and friends."""

from cotangent._base.names import suggest_names
from cotangent.tree_util import static
from cotangent.tree_util import tree_all as all  # noqa: A004
from cotangent.tree_util import tree_broadcast as broadcast
from cotangent.tree_util import tree_flatten as flatten
from cotangent.tree_util import tree_flatten_with_path as flatten_with_path
from cotangent.tree_util import tree_leaves as leaves
from cotangent.tree_util import tree_leaves_with_path as leaves_with_path
from cotangent.tree_util import tree_map as map  # noqa: A004
from cotangent.tree_util import tree_map_with_path as map_with_path
from cotangent.tree_util import tree_reduce as reduce
from cotangent.tree_util import tree_reduce_associative as reduce_associative
from cotangent.tree_util import tree_structure as structure
from cotangent.tree_util import tree_transpose as transpose
from cotangent.tree_util import tree_unflatten as unflatten

__all__ = [
    "all",
    "broadcast",
    "flatten",
    "flatten_with_path",
    "leaves",
    "leaves_with_path",
    "map",
    "map_with_path",
    "reduce",
    "reduce_associative",
    "static",
    "structure",
    "transpose",
    "unflatten",
]

suggest_names(globals())
