"""The devices that programs run on, and where arrays are: in the memory of the host, or of a GPU."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

from cotangent import _core
from cotangent.errors import DeviceError

__all__ = [
    "Device",
    "Placement",
    "Sharding",
    "backend_for",
    "backend_of",
    "backend_of_arrays",
    "check_device",
    "default_backend",
    "device_at",
    "device_count",
    "devices",
    "local_device_count",
    "local_devices",
    "process_count",
    "process_index",
]


# A device, its name, or a sharding of one device: where a function's result is to be. None: where it is made.
Placement = Any


class Device:
    """A place that computes with arrays."""

    def __init__(self, platform: str, id: int, kind: str | None = None) -> None:
        self._key = (platform, id)
        self._kind = kind or platform

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
        return self._kind

    @property
    def process_index(self) -> int:
        """Of the process that the device belongs to."""
        return 0

    def __repr__(self) -> str:
        return f"{self.platform.capitalize()}Device(id={self.id})"

    def __str__(self) -> str:
        return f"{self.platform}:{self.id}"


CPU = Device("cpu", 0)
# By the name of a device's platform, the back end that compiles for it.
_BACKENDS = {"cpu": "llvm", "gpu": "cuda", "cuda": "cuda", "cuda-emulated": "cuda-emulated"}


def devices(backend: str | None = None) -> list[Device]:
    """The devices of a platform: ``"cpu"``, ``"cuda"`` (also called ``"gpu"``), or None for those of all platforms, the processor first.

    A GPU is looked for by each call of this that does not name the processor, and by programs that are compiled for one; by nothing else.

    Raises:
        RuntimeError: there is no such platform. `cotangent.errors.DeviceError`: there is no GPU, or none that can be used; it says why.
    """
    if backend == "cpu":
        return [CPU]
    if backend is None:
        try:
            return [CPU, _gpu()]
        except DeviceError:
            return [CPU]
    if backend in ("cuda", "gpu"):
        return [_gpu()]
    raise RuntimeError(f"unknown platform {backend!r}; there are 'cpu' and 'cuda'")


def _gpu() -> Device:
    return Device("cuda", 0, _core.cuda_facts()["name"])


def device_at(backend: str) -> Device:
    """The device of a back end's name: empty, as `_core.place_of` gives it, or ``"llvm"`` for the host."""
    if backend in ("", "llvm"):
        return CPU
    return _gpu() if backend == "cuda" else Device(backend, 0)


def backend_of(placement: Any) -> str | None:
    """The back end whose device's memory a device, its name or a sharding means: ``"llvm"`` for the host; None for what is none of these."""
    if isinstance(placement, Sharding):
        placement = next(iter(getattr(placement, "device_set", ())), None)
    if isinstance(placement, Device):
        placement = placement.platform
    if not isinstance(placement, str):
        return None
    name = placement.removesuffix(":0")
    return _BACKENDS.get(name)


def backend_of_arrays(arrays: Iterable[Any]) -> str:
    """The back end for a program of such arguments that names none: of the device where one of them is, else the default."""
    return next(filter(None, map(_core.place_of, arrays)), None) or _core.default_backend()


def put_beside(array: Any, others: Iterable[Any]) -> Any:
    """An array that was made on the host, where what is computed from the others is."""
    return _core.put_on(array, backend_of_arrays(others))


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
    """The platform that programs run on which name none."""
    backend = _core.default_backend()
    return CPU.platform if backend == "llvm" else backend


def process_index(backend: str | None = None) -> int:
    """The number of this process among those that work together."""
    return CPU.process_index if backend is None else devices(backend)[0].process_index


def process_count(backend: str | None = None) -> int:
    """How many processes work together: one."""
    return len({device.process_index for device in devices(backend or CPU.platform)})


def check_device(device: Any, name: str) -> None:
    """Raises for what is no device.

    Raises:
        ValueError: it is neither None, one of `devices`, its name, nor a sharding of one device.
    """
    if device is not None and backend_of(device) is None and not _is_of_one_device(device):
        raise ValueError(
            f"{name}: unknown device {device!r}; the devices are 'cpu' and 'cuda', and what ct.devices() lists"
        )


class Sharding:
    """A placement of arrays; see `cotangent.sharding`."""


def _is_sharding(placement: Any) -> bool:
    # Other libraries' say how many devices they are of.
    says = hasattr(placement, "num_devices") or hasattr(placement, "device_set")
    return isinstance(placement, Sharding) or says or type(placement).__name__ == "PartitionSpec"


def _is_of_one_device(sharding: Any) -> bool:
    if isinstance(sharding, Sharding) or getattr(sharding, "num_devices", 0) == 1:
        return True
    return len(getattr(sharding, "device_set", ())) == 1


def backend_for(placement: Any, name: str) -> str | None:
    """The back end whose device a placement asks for; None where it leaves that open. ``name``: of the function that it was given to.

    Raises:
        ValueError: it asks for several devices, or for one that there is not.
    """
    # A specification names the axes of a mesh that arrays are cut along.
    if placement is None or (
        type(placement).__name__ in ("PartitionSpec", "UnspecifiedValue")
        and not any(list(getattr(placement, "__iter__", list)()))
    ):
        return None
    if not _is_sharding(placement):
        check_device(placement, name)
    elif not _is_of_one_device(placement):
        raise ValueError(
            f"{name}: {placement!r} asks for several devices; arrays are whole, on one\n  leave it out, or place on one device"
        )
    return backend_of(placement)


_core.set_placement_hook(backend_for)
if _named := os.environ.get("CT_DEVICE"):
    try:
        _core.set_default_backend(backend_of(_named) or _named)
    except ValueError as error:
        raise ValueError(
            f"the environment variable CT_DEVICE is {_named!r}, which is no device\n  set it to one of {', '.join(_BACKENDS)}, or to nothing"
        ) from error


def backends_for(placements: Any, name: str) -> set[str]:
    """The same for a pytree of placements: all back ends that are asked for."""
    if isinstance(placements, dict):
        placements = tuple(placements.values())
    if type(placements) in (tuple, list):
        return set().union(*(backends_for(item, name) for item in placements))
    backend = backend_for(placements, name)
    return set() if backend is None else {backend}


def one_backend(compiler: str, placed: set[str], name: str) -> str:
    """The back end of a program that may name it and placements of its arguments and results; empty where nothing does.

    Raises:
        ValueError: they are of several devices.
    """
    asked = placed | {compiler} & set(_BACKENDS.values())
    if len(asked) > 1:
        found = " and ".join(sorted(str(device_at(each)) for each in asked))
        raise ValueError(
            f"{name}: asked for {found}; a program runs on one device\n  name one, or move arrays by device_put"
        )
    return compiler or "".join(placed)
