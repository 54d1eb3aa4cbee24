"""Shardings and meshes of one device: programs that lay out arrays on it run, and what asks for several devices is an error."""

from __future__ import annotations

import contextlib
import enum
import types
from collections.abc import Iterator
from typing import Any

import numpy as np

import cotangent as ct
from cotangent import sharding

__all__ = [
    "AbstractMesh",
    "AxisType",
    "Mesh",
    "NamedSharding",
    "PartitionSpec",
    "PositionalSharding",
    "get_abstract_mesh",
    "get_concrete_mesh",
    "get_mesh",
    "make_mesh",
    "reshard",
    "set_mesh",
    "use_mesh",
    "with_sharding_constraint",
]


class AxisType(enum.Enum):
    """How arrays along an axis of a mesh are divided; with one device all mean the same."""

    Auto = enum.auto()
    Explicit = enum.auto()
    Manual = enum.auto()


class PartitionSpec(tuple[Any, ...]):
    """Which mesh axis divides which axis of an array."""

    UNCONSTRAINED: Any = object()

    def __new__(cls, *partitions: Any, **_: Any) -> PartitionSpec:  # noqa: D102
        return super().__new__(cls, partitions)

    def __getnewargs__(self) -> tuple[Any, ...]:  # copies and pickles would pass the whole as the first
        return tuple(self)

    def __repr__(self) -> str:
        return f"PartitionSpec{tuple(self)!r}"


class AbstractMesh:
    """The axes of a mesh, without its devices."""

    def __init__(self, axis_sizes: Any = (), axis_names: Any = (), axis_types: Any = None, **_: Any) -> None:
        self.axis_sizes = tuple(axis_sizes)
        self.axis_names = tuple(axis_names)
        self.axis_types = axis_types or (AxisType.Auto,) * len(self.axis_names)

    @property
    def empty(self) -> bool:
        """Whether there are no axes."""
        return not self.axis_names

    @property
    def shape(self) -> types.MappingProxyType[str, int]:
        """Sizes by name."""
        return types.MappingProxyType(dict(zip(self.axis_names, self.axis_sizes, strict=True)))

    @property
    def shape_tuple(self) -> tuple[tuple[str, int], ...]:
        """Names and sizes."""
        return tuple(zip(self.axis_names, self.axis_sizes, strict=True))

    @property
    def size(self) -> int:
        """The number of devices."""
        return int(np.prod(self.axis_sizes, dtype=np.int64))

    are_all_axes_auto = True
    are_all_axes_explicit = False
    are_all_axes_manual = False
    _any_axis_manual = False

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.shape == getattr(other, "shape", None)

    def __hash__(self) -> int:
        return hash((self.axis_names, self.axis_sizes))


class Mesh(AbstractMesh):
    """A grid of devices, of which there is one, with names of its axes."""

    def __init__(self, devices: Any = (), axis_names: Any = (), axis_types: Any = None) -> None:
        self.devices = np.asarray(devices, dtype=object)
        names = (axis_names,) if isinstance(axis_names, str) else tuple(axis_names)
        if self.devices.size > 1:
            raise ValueError(
                f"Mesh: a grid of {self.devices.size} devices; an array is on one device here\n"
                "  pass a grid of one: np.array(jax.devices()[:1])"
            )
        if not names:
            super().__init__((), ())
        else:
            super().__init__(self.devices.shape, names, axis_types)

    @property
    def device_ids(self) -> Any:
        """The numbers of the devices, in a grid."""
        return np.array([device.id for device in self.devices.flat]).reshape(self.devices.shape)

    @property
    def local_mesh(self) -> Mesh:
        """The mesh of this process."""
        return self

    @property
    def local_devices(self) -> list[Any]:
        """The devices of this process."""
        return list(self.devices.flat)

    is_multi_process = False

    def __repr__(self) -> str:
        return f"Mesh(axis_sizes={self.axis_sizes}, axis_names={self.axis_names})"

    @property
    def abstract_mesh(self) -> AbstractMesh:
        """The axes alone."""
        return AbstractMesh(self.axis_sizes, self.axis_names)

    def __enter__(self) -> Mesh:
        _meshes.append(self)
        return self

    def __exit__(self, *exception: object) -> None:
        _meshes.pop()


_meshes: list[Mesh] = []


class NamedSharding(sharding.SingleDeviceSharding):
    """The placement of an array on a mesh of one device: all of it there."""

    def __init__(self, mesh: Any, spec: Any, *, memory_kind: str | None = None, **_: Any) -> None:
        grid = getattr(mesh, "devices", None)
        super().__init__(grid.flat[0] if grid is not None and grid.size else ct.devices()[0])
        self.mesh = mesh
        self.spec = spec

    def update(self, *, mesh: Any = None, spec: Any = None, **_: Any) -> NamedSharding:
        """The same on another mesh, or divided otherwise."""
        return NamedSharding(self.mesh if mesh is None else mesh, self.spec if spec is None else spec)


class PositionalSharding(sharding.SingleDeviceSharding):
    """The placement of an array on a list of one device."""

    def __init__(self, devices: Any, **_: Any) -> None:
        super().__init__(list(devices)[0])  # noqa: RUF015 (there must be no other)


def make_mesh(axis_shapes: Any, axis_names: Any, axis_types: Any = None, *, devices: Any = None) -> Mesh:
    """A mesh of the given sizes."""
    count = int(np.prod(axis_shapes, dtype=np.int64))
    given = list(devices) if devices is not None else ct.devices()[:1]
    if count != 1:
        raise ValueError(
            f"make_mesh: {tuple(axis_shapes)} asks for {count} devices; there is 1, where every array is\n"
            "  make a mesh of sizes 1: jax.make_mesh((1,), ('x',))"
        )
    return Mesh(np.array(given, dtype=object).reshape(tuple(axis_shapes)), axis_names, axis_types)


def get_mesh() -> Mesh:
    """The mesh of the enclosing ``with`` block, or one without axes."""
    return _meshes[-1] if _meshes else Mesh()


get_concrete_mesh = get_mesh


def get_abstract_mesh() -> AbstractMesh:
    """The axes of the mesh of the enclosing ``with`` block."""
    return get_mesh().abstract_mesh


@contextlib.contextmanager
def use_mesh(mesh: Mesh) -> Iterator[Mesh]:
    """A ``with`` block with a mesh."""
    with mesh:
        yield mesh


class set_mesh:  # noqa: N801 (JAX's name)
    """Sets the mesh, until the end of a ``with`` block if it is one."""

    def __init__(self, mesh: Mesh) -> None:
        self._before = list(_meshes)
        _meshes.append(mesh)

    def __enter__(self) -> None: ...

    def __exit__(self, *exception: object) -> None:
        _meshes[:] = self._before


def with_sharding_constraint(x: Any, shardings: Any) -> Any:
    """The array, which is on the one device."""
    return x


def reshard(x: Any, out_shardings: Any) -> Any:
    """The array, which is on the one device."""
    return x
