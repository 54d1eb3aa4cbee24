"""The one process and its devices, by the names of JAX's functions for many."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import cotangent as ct
from cotangent._base.device import CPU, Device

__all__ = [
    "ASKED_FOR",
    "DEVICE_MEMBERS",
    "Backend",
    "Memory",
    "copy_to_host_async",
    "devices",
    "get_backend",
    "host_count",
    "host_id",
    "host_ids",
    "local_devices",
    "make_array_from_callback",
    "make_array_from_process_local_data",
    "make_array_from_single_device_arrays",
    "process_indices",
]


# The platforms whose devices were asked for: libraries look whether importing them has done so.
ASKED_FOR: dict[str, Any] = {}


def devices(backend: str | None = None) -> list[Any]:
    """The devices of a platform.

    Raises:
        RuntimeError: there are none; in JAX's words, by which programs tell it from other errors.
    """
    try:
        found = list(ct.devices(backend))
        ASKED_FOR["cpu"] = CPU
        return found
    except RuntimeError as error:
        raise RuntimeError(
            f"Unknown backend: {backend!r} requested, but no platforms of this name are present\n  {error}"
        ) from None


class Backend:
    """What JAX calls the client of a platform: its name and its devices."""

    def __init__(self, of_platform: Sequence[Device]) -> None:
        self._devices = list(of_platform)

    @property
    def platform(self) -> str:
        """The kind of processor."""
        return self._devices[0].platform

    runtime_type = "cotangent"  # what moves arrays and runs programs

    @property
    def platform_version(self) -> str:
        """What programs are compiled with."""
        return f"cotangent {ct.__version__}"

    def process_index(self) -> int:
        """The number of this process."""
        return 0

    def device_count(self) -> int:
        """The number of devices."""
        return len(self._devices)

    def devices(self) -> list[Device]:
        """The devices."""
        return list(self._devices)

    local_device_count, local_devices = device_count, devices


def get_backend(platform: str | None = None) -> Backend:
    """The client of a platform."""
    return Backend(devices(platform))


@dataclasses.dataclass(frozen=True)
class Memory:
    """What a device keeps arrays in."""

    device: Device
    kind: str = "device"

    @property
    def platform(self) -> str:
        """The kind of processor."""
        return self.device.platform

    def addressable_by_devices(self) -> list[Device]:
        """Which devices read it."""
        return [self.device]


def _memory(device: Device, kind: str = "device") -> Memory:
    """The memory of a kind, of which there is one."""
    if kind != "device":
        raise ValueError(
            f"{device} has memory of the kind 'device', and none of {kind!r}\n  leave the kind out, or pass 'device'"
        )
    return Memory(device)


# Of devices, by name.
DEVICE_MEMBERS: dict[str, Any] = {
    "addressable_memories": lambda device: [Memory(device)],
    "client": property(lambda device: Backend([device])),
    "default_memory": _memory,
    "memory": _memory,
}


def local_devices(
    process_index: int | None = None, backend: str | None = None, host_id: int | None = None
) -> list[Any]:
    """The same: there is one process."""
    return devices(backend)


def process_indices() -> list[int]:
    """The numbers of the processes."""
    return [0]


host_ids = process_indices


def host_count() -> int:
    """The number of processes."""
    return 1


def host_id() -> int:
    """The number of this process."""
    return 0


def copy_to_host_async(x: Any) -> Any:
    """The tree, whose arrays may be read afterwards."""
    return x


def make_array_from_callback(
    shape: Sequence[int], sharding: Any, data_callback: Callable[..., Any], dtype: Any = None
) -> Any:
    """The array whose elements at an index a function gives: it is asked for all of them."""
    data = data_callback(tuple(slice(None) for _ in shape))
    return ct.device_put(ct.numpy.asarray(data, dtype), sharding)


def make_array_from_process_local_data(sharding: Any, local_data: Any, global_shape: Any = None) -> Any:
    """The array of this process's part of the elements, which are all."""
    return ct.device_put(local_data, sharding)


def make_array_from_single_device_arrays(shape: Sequence[int], sharding: Any, arrays: Sequence[Any], **_: Any) -> Any:
    """The array of its parts on single devices, of which there is one.

    Raises:
        ValueError: there are several.
    """
    if len(arrays) != 1:
        raise ValueError(
            f"make_array_from_single_device_arrays: {len(arrays)} parts; there is one device, and so one part\n"
            "  pass the whole array as the one part"
        )
    return arrays[0]
