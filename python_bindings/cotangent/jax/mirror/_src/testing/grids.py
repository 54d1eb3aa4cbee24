"""Meshes for tests, which skip themselves where there are not enough devices."""

from __future__ import annotations

import contextlib
import functools
import math
import unittest
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import cotangent as ct
from cotangent.jax.internals import meshes

__all__ = ["create_mesh", "with_explicit_mesh", "with_mesh", "with_mesh_from_kwargs"]


def _need(sizes: Sequence[int]) -> None:
    needed, found = math.prod(sizes), len(ct.devices())
    if found < needed:
        raise unittest.SkipTest(f"needs {needed} devices; there are {found}")


def create_mesh(
    mesh_shape: Sequence[int], axis_names: Any, iota_order: bool = False, axis_types: Any = None
) -> meshes.Mesh:
    """A mesh of some sizes."""
    _need(mesh_shape)
    return meshes.make_mesh(mesh_shape, axis_names, axis_types or (meshes.AxisType.Auto,) * len(mesh_shape))


@contextlib.contextmanager
def with_mesh(named_shape: Sequence[tuple[str, int]]) -> Iterator[None]:
    """A block with a mesh, of which names and sizes are given."""
    with create_mesh([size for _, size in named_shape], tuple(name for name, _ in named_shape)):
        yield


def with_mesh_from_kwargs(f: Callable[..., Any]) -> Callable[..., Any]:
    """The function in a block with the mesh that its argument ``mesh`` describes."""

    def run(*args: Any, **kwargs: Any) -> Any:
        with with_mesh(kwargs["mesh"]):
            return f(*args, **kwargs)

    return run


def with_explicit_mesh(
    sizes: Sequence[int], names: Any, axis_types: Any = None, iota_order: bool = False
) -> Callable[..., Any]:
    """The decorator of a test that is given a mesh, and runs in a block with it."""

    def decorate(test: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(test)
        def run(*args: Any, **kwargs: Any) -> Any:
            mesh = create_mesh(sizes, names, iota_order, axis_types or (meshes.AxisType.Explicit,) * len(sizes))
            with meshes.set_mesh(mesh):
                return test(*args, **kwargs, mesh=mesh)

        del run.__wrapped__  # whose argument ``mesh`` runners would look for  # type: ignore[attr-defined]
        return run

    return decorate
