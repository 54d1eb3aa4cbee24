"""Where arrays live: one place so far, the memory of the host."""

from __future__ import annotations

from typing import Any

__all__ = [
    "Device",
    "Sharding",
    "check_device",
    "check_placement",
    "default_backend",
    "device_count",
    "devices",
    "local_device_count",
    "local_devices",
    "process_count",
    "process_index",
]


class Device:
    """A place that holds arrays and computes with them."""

    def __init__(self, platform: str, id: int) -> None:
        self._key = (platform, id)

    def __eq__(self, other: object) -> bool:
        return self._key == other._key if isinstance(other, Device) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._key)

    @property
    def platform(self) -> str:
        """The kind of processor."""
        return self._key[0]

    @property
    def id(self) -> int:
        """Its number among those of its kind."""
        return self._key[1]

    @property
    def device_kind(self) -> str:
        """What the device calls itself."""
        return self.platform

    @property
    def process_index(self) -> int:
        """Of the process that the device belongs to."""
        return 0

    def __repr__(self) -> str:
        return f"{self.platform.capitalize()}Device(id={self.id})"

    def __str__(self) -> str:
        return f"{self.platform}:{self.id}"


CPU = Device("cpu", 0)


def devices(backend: str | None = None) -> list[Device]:
    """The devices of a platform: ``"cpu"`` or None.

    Raises:
        RuntimeError: there is no such platform.
    """
    if backend not in (None, "cpu"):
        raise RuntimeError(f"unknown platform {backend!r}; there is 'cpu'")
    return [CPU]


def local_devices(
    process_index: int | None = None, backend: str | None = None, host_id: int | None = None
) -> list[Device]:
    """The devices of this process, which is the only one: `devices`.

    Raises:
        ValueError: another process is asked about.
    """
    for number in (process_index, host_id):
        if number not in (None, CPU.process_index):
            raise ValueError(f"local_devices: unknown process {number!r}; there is one process, {CPU.process_index}")
    return devices(backend)


def device_count(backend: str | None = None) -> int:
    """How many devices there are."""
    return len(devices(backend))


def local_device_count(backend: str | None = None) -> int:
    """How many devices this process has."""
    return len(devices(backend))


def default_backend() -> str:
    """The platform that programs run on."""
    return CPU.platform


def process_index(backend: str | None = None) -> int:
    """The number of this process among those that work together."""
    return devices(backend)[0].process_index


def process_count(backend: str | None = None) -> int:
    """How many processes work together: one."""
    return len({device.process_index for device in devices(backend)})


def check_device(device: Any, name: str) -> None:
    """Raises for a device that is not there.

    Raises:
        ValueError: the device is neither None, ``"cpu"`` nor one of `devices`.
    """
    if device is not None and device != CPU and device not in ("cpu", "cpu:0") and not _is_of_one_device(device):
        raise ValueError(f"{name}: unknown device {device!r}; there is {CPU!r}, also called 'cpu'")


class Sharding:
    """A placement of arrays; see `cotangent.sharding`."""


def _is_of_one_device(sharding: Any) -> bool:
    # Other libraries' shardings say how many devices they are of.
    if isinstance(sharding, Sharding) or getattr(sharding, "num_devices", 0) == 1:
        return True
    return len(getattr(sharding, "device_set", ())) == 1


def check_placement(sharding: Any, name: str) -> None:
    """Raises for a placement that asks for another device than the one there is: None, it, and shardings of one device do not.

    Raises:
        ValueError: it does.
    """
    if sharding is None or isinstance(sharding, Device) or sharding in ("cpu", "cpu:0") or _is_of_one_device(sharding):
        return
    # A specification names the axes of a mesh that arrays are cut along.
    if type(sharding).__name__ in ("PartitionSpec", "UnspecifiedValue") and not any(
        list(getattr(sharding, "__iter__", list)())
    ):
        return
    if isinstance(sharding, (str, int)):
        check_device(sharding, name)
    raise ValueError(
        f"{name}: {sharding!r} asks for several devices; there is {CPU!r}\n  leave it out, or place on one device"
    )


def check_placements(shardings: Any, name: str) -> None:
    """The same for a pytree of placements."""
    if isinstance(shardings, dict):
        shardings = tuple(shardings.values())
    if type(shardings) in (tuple, list):
        for item in shardings:
            check_placements(item, name)
    else:
        check_placement(shardings, name)
