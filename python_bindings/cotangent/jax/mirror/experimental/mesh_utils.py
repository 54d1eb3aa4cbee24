"""``jax.experimental.mesh_utils``: grids of devices, of which there is one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import cotangent as ct

__all__ = ["create_device_mesh", "create_hybrid_device_mesh"]


def create_device_mesh(mesh_shape: Sequence[int], devices: Sequence[Any] | None = None, **_: Any) -> Any:
    """The devices as an array of a shape.

    Raises:
        ValueError: it has room for another number of devices.
    """
    given = ct.devices()[:1] if devices is None else list(devices)
    count = int(np.prod(mesh_shape, dtype=np.int64))
    if count != len(given):
        raise ValueError(
            f"Number of devices {len(given)} must equal the product of mesh_shape {tuple(mesh_shape)}\n"
            "  pass a shape of ones, one for each axis"
        )
    return np.array(given, dtype=object).reshape(tuple(mesh_shape))


def create_hybrid_device_mesh(
    mesh_shape: Sequence[int], dcn_mesh_shape: Sequence[int], devices: Sequence[Any] | None = None, **_: Any
) -> Any:
    """The devices as an array whose shape is the product of two."""
    return create_device_mesh([inner * outer for inner, outer in zip(mesh_shape, dcn_mesh_shape, strict=True)], devices)
