"""`shard_map` on a mesh of one device: the function runs on whole arrays, with the names of the mesh's axes, which have size 1."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import cotangent as ct
from cotangent import tree_util
from cotangent._base.capture import wraps
from cotangent.jax.internals.meshes import get_mesh
from cotangent.jax.internals.transforms import vmap

__all__ = ["shard_map", "smap"]

_MESH_OF_CONTEXT: Any = None


def _named(function: Callable[..., Any], name: Any) -> Callable[..., Any]:
    """The function inside of a mapped axis of size 1."""
    mapped = vmap(function, in_axes=None, out_axes=0, axis_name=name, axis_size=1)

    @wraps(function)
    def run(*args: Any) -> Any:
        return tree_util.tree_map(lambda x: x[0], mapped(*args))

    return run


def shard_map(
    f: Any = None,
    mesh: Any = _MESH_OF_CONTEXT,
    in_specs: Any = None,
    out_specs: Any = None,
    *,
    axis_names: Any = frozenset(),
    **_: Any,
) -> Any:
    """A function of the parts of arrays that are on each device; with one device these are the arrays.

    Collectives over the axes of the mesh are those of one participant. ``in_specs`` and ``out_specs`` say how arrays would be divided.

    Raises:
        ValueError: the mesh has no axes, or there is none.
    """
    if f is None:
        return functools.partial(shard_map, mesh=mesh, in_specs=in_specs, out_specs=out_specs, axis_names=axis_names)
    around = get_mesh() if mesh is None else mesh
    if not around.axis_names:
        raise ValueError("shard_map: there is no mesh\n  pass one with mesh=, or call it in a `with` block of one")
    names = [name for name in around.axis_names if not axis_names or name in axis_names]
    named = f
    for name in reversed(names):
        named = _named(named, name)

    @wraps(f)
    def run(*args: Any) -> Any:
        return named(*tree_util.tree_map(ct.numpy.asarray, args))

    return run


def smap(f: Any = None, *, in_axes: Any = None, out_axes: Any = None, axis_name: Any) -> Any:
    """`shard_map` over one axis of the mesh around."""
    if f is None:
        return functools.partial(smap, in_axes=in_axes, out_axes=out_axes, axis_name=axis_name)
    return shard_map(f, axis_names={axis_name})
