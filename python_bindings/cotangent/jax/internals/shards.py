"""Parts of arrays on devices, by JAX's names: with one device an array is its only part."""

from __future__ import annotations

from typing import Any

import numpy as np

from cotangent import _core, random
from cotangent._base.keys import KEY_DTYPE
from cotangent._core import Array
from cotangent.sharding import SingleDeviceSharding

__all__ = ["ARRAY_MEMBERS", "SHARDING_MEMBERS", "Shard", "make_single_device_sharding"]


class Shard:
    """The part of an array that is on a device."""

    def __init__(self, device: Any, sharding: Any, global_shape: tuple[int, ...], data: Any = None) -> None:
        self.device = device
        self.replica_id = 0
        self.index = (slice(None),) * len(global_shape)
        self.data = data

    def __repr__(self) -> str:
        return f"Shard(device={self.device!r}, index={self.index}, replica_id={self.replica_id}, data={self.data})"


def _shards(x: Array) -> list[Shard]:
    """The parts of the array."""
    return [Shard(device, x.sharding, x.shape, x) for device in x.devices()]


def _data(x: Array, index: int) -> Array:
    """The part of the array at a position among its parts."""
    return _shards(x)[index].data  # type: ignore[no-any-return]


def _bytes(x: Array) -> int:
    """The size of the array in memory."""
    return int(x.nbytes)


def _address(x: Array) -> int:
    """Where the elements are."""
    return int(np.asarray(_core.to_numpy(x)).ctypes.data)


def _clone(x: Array) -> Array:
    """An array of its own with the same elements."""
    return _core.share_array(x)


def _platform(x: Array) -> str:
    """The kind of the processor that the array is on."""
    (device,) = x.devices()
    return str(device.platform)


def _words(x: Array) -> Array:
    """The words of random keys.

    Raises:
        AttributeError: it holds numbers.
    """
    if x.dtype != KEY_DTYPE:
        raise AttributeError(f"an array of {x.dtype} has no attribute '_base_array': that is the words of random keys")
    return random.key_data(x)


# Of arrays, by name; they are not traced.
ARRAY_MEMBERS: dict[str, Any] = {
    "_base_array": property(_words),
    "_committed": False,  # to its device, which is the only one
    "addressable_data": _data,
    "addressable_shards": property(_shards),
    "clone": _clone,
    "global_shards": property(_shards),
    "on_device_size_in_bytes": _bytes,
    "platform": _platform,
    "unsafe_buffer_pointer": _address,
}


def _whole(sharding: SingleDeviceSharding, global_shape: tuple[int, ...]) -> dict[Any, Any]:
    """What of an array of a shape is on which device."""
    return dict.fromkeys(sharding.device_set, (slice(None),) * len(global_shape))


def _part(sharding: SingleDeviceSharding, global_shape: tuple[int, ...]) -> tuple[int, ...]:
    """The shape of the parts of an array."""
    return tuple(global_shape)


def _is_equivalent(sharding: SingleDeviceSharding, other: Any, ndim: int) -> bool:
    """Whether another one places arrays on the same device."""
    return isinstance(other, SingleDeviceSharding) and sharding.device_set == other.device_set


def make_single_device_sharding(device: Any, *, memory_kind: str | None = None) -> SingleDeviceSharding:
    """The placement on a device."""
    return SingleDeviceSharding(device, memory_kind=None if memory_kind == "device" else memory_kind)


# Of shardings, by name.
SHARDING_MEMBERS: dict[str, Any] = {
    "_addressable_device_assignment": property(lambda sharding: tuple(sharding.device_set)),
    "addressable_devices": property(lambda sharding: sharding.device_set),
    "addressable_devices_indices_map": _whole,
    "devices_indices_map": _whole,
    "has_addressable_devices": True,
    "is_equivalent_to": _is_equivalent,
    "shard_shape": _part,
}
