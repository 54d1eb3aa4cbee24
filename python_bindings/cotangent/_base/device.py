"""The devices that programs run on, and where arrays are: in the memory of the host, or of a GPU."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

from cotangent import _core
from cotangent._base.arguments import checked
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
    "platform_and_number",
    "process_count",
    "process_index",
]


# A device, its name, or a sharding of one device: where a function's result is to be. None: where it is made.
Placement = Any


class Device:
    """A place that computes with arrays: the processor, or a GPU.

    `devices` lists those that there are. Two of the same platform and number are equal.

    Parameters
    ----------
    platform : str
        The kind of processor: ``"cpu"`` or ``"cuda"``.
    id : int
        Its number among those of its kind.
    kind : str, optional
        What the device calls itself; by default the platform.

    Examples
    --------
    >>> device = ct.devices("cpu")[0]
    >>> device.platform, device.id, str(device)
    ('cpu', 0, 'cpu:0')
    """

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

    def memory_stats(self) -> dict[str, int] | None:
        """Returns how many bytes of a GPU's memory are in use.

        By JAX's names: ``bytes_in_use`` by this process's arrays and running programs, and their peak,
        ``peak_bytes_in_use``; ``bytes_reserved``: these and what is kept for the next arrays; ``bytes_limit``: what the
        GPU has; ``num_allocs``: how many blocks were asked for so far.

        Returns
        -------
        dict or None
            None for the processor, whose arrays are in the memory of the process.

        Examples
        --------
        >>> ct.devices("cpu")[0].memory_stats() is None
        True
        """
        if self.platform != "cuda":
            return None
        return _core.cuda_memory_use(self.id) | {"bytes_limit": _core.cuda_facts(self.id)["memory_bytes"]}

    def __repr__(self) -> str:
        return f"{self.platform.capitalize()}Device(id={self.id})"

    def __str__(self) -> str:
        return f"{self.platform}:{self.id}"


CPU = Device("cpu", 0)
# By the name of a device's platform, the back end that compiles for the first of its devices; for the further ones it is followed by
# a colon and their number.
_BACKENDS = {"cpu": "llvm", "gpu": "cuda", "cuda": "cuda", "cuda-emulated": "cuda-emulated"}


def devices(backend: str | None = None) -> list[Device]:
    """Lists the devices of a platform.

    GPUs are looked for by each call of this that does not name the processor, and by programs that are compiled for
    one; by nothing else. Those that cannot be used are left out.

    Parameters
    ----------
    backend : str, optional
        ``"cpu"``, ``"cuda"`` (also called ``"gpu"``), or None for all platforms.

    Returns
    -------
    list of Device
        The processor first.

    Raises
    ------
    RuntimeError
        There is no such platform.
    DeviceError
        There is no GPU, or none that can be used; it says why.

    Examples
    --------
    >>> ct.devices("cpu")
    [CpuDevice(id=0)]
    """
    if backend == "cpu":
        return [CPU]
    if backend is None:
        try:
            return [CPU, *_gpus()]
        except DeviceError:
            return [CPU]
    if backend in ("cuda", "gpu"):
        return _gpus()
    raise RuntimeError(f"unknown platform {backend!r}\n  ask for 'cpu' or 'cuda', or leave it out for all devices")


def _gpu(number: int) -> Device:
    return Device("cuda", number, _core.cuda_facts(number)["name"])


def _gpus() -> list[Device]:
    """Those that can be used; raises what is wrong with the first where none can."""
    found, failed = [], []
    for number in range(_core.cuda_device_count()):
        try:
            found.append(_gpu(number))
        except DeviceError as error:
            failed.append(error)
    if not found:
        raise failed[0]
    return found


def platform_and_number(name: str) -> tuple[str, int]:
    """Of a device's name or that of its back end: ``("cuda", 1)`` for ``"cuda:1"``; number 0 where the name has none, -1 where it has no number."""
    platform, colon, number = name.partition(":")
    if not colon:
        return platform, 0
    return platform, int(number) if number.isdecimal() and number.isascii() else -1


def device_at(backend: str) -> Device:
    """The device of a back end's name: empty, as `_core.place_of` gives it, or ``"llvm"`` for the host."""
    if backend in ("", "llvm"):
        return CPU
    platform, number = platform_and_number(backend)
    return _gpu(number) if platform == "cuda" else Device(platform, number)


def backend_of(placement: Any) -> str | None:
    """The back end whose device's memory a device, its name or a sharding means: ``"llvm"`` for the host; None for what is none of these."""
    if isinstance(placement, Sharding):
        placement = next(iter(getattr(placement, "device_set", ())), None)
    if not isinstance(placement, (str, Device)):
        return None
    platform, number = platform_and_number(str(placement))
    backend = _BACKENDS.get(platform)
    if backend is None or number == 0:
        return backend
    numbered = f"{backend}:{number}"
    return numbered if _core.has_backend(numbered) else None


def backend_of_arrays(arrays: Iterable[Any]) -> str:
    """The back end for a program of such arguments that names none: of the device where one of them is, else the default."""
    return next(filter(None, map(_core.place_of, arrays)), None) or _core.default_backend()


def put_beside(array: Any, others: Iterable[Any]) -> Any:
    """An array that was made on the host, where what is computed from the others is."""
    return _core.put_on(array, backend_of_arrays(others))


def local_devices(
    process_index: int | None = None, backend: str | None = None, host_id: int | None = None
) -> list[Device]:
    """Lists the devices of this process, which is the only one.

    Parameters
    ----------
    process_index : int, optional
        0 or None.
    backend : str, optional
        As of `devices`.
    host_id : int, optional
        Another name of ``process_index``.

    Returns
    -------
    list of Device
        What `devices` returns.

    Raises
    ------
    ValueError
        Another process is asked about.

    Examples
    --------
    >>> ct.local_devices(backend="cpu")
    [CpuDevice(id=0)]
    """
    for number in (process_index, host_id):
        if number not in (None, CPU.process_index):
            raise ValueError(
                f"local_devices: unknown process {number!r}; there is one process\n  leave it out, or pass {CPU.process_index}"
            )
    return devices(backend)


def device_count(backend: str | None = None) -> int:
    """Returns how many devices there are.

    Parameters
    ----------
    backend : str, optional
        As of `devices`.

    Returns
    -------
    int
        The length of what `devices` returns.

    Examples
    --------
    >>> ct.device_count("cpu")
    1
    """
    return len(devices(backend))


def local_device_count(backend: str | None = None) -> int:
    """Returns how many devices this process has.

    Parameters
    ----------
    backend : str, optional
        As of `devices`.

    Returns
    -------
    int
        The length of what `local_devices` returns.

    Examples
    --------
    >>> ct.local_device_count("cpu")
    1
    """
    return len(devices(backend))


def default_backend() -> str:
    """Returns the platform of programs that name none.

    Returns
    -------
    str
        ``"cpu"``, or what `cotangent.default_device` or the environment variable ``CT_DEVICE`` says.

    Examples
    --------
    >>> with ct.default_device("cpu"):
    ...     ct.default_backend()
    'cpu'
    """
    backend = _core.default_backend()
    return CPU.platform if backend == "llvm" else platform_and_number(backend)[0]


def process_index(backend: str | None = None) -> int:
    """Returns the number of this process among those that work together.

    Parameters
    ----------
    backend : str, optional
        Of no effect.

    Returns
    -------
    int
        0: there is one process.

    Examples
    --------
    >>> ct.process_index()
    0
    """
    return CPU.process_index if backend is None else devices(backend)[0].process_index


def process_count(backend: str | None = None) -> int:
    """Returns how many processes work together.

    Parameters
    ----------
    backend : str, optional
        Of no effect.

    Returns
    -------
    int
        1.

    Examples
    --------
    >>> ct.process_count()
    1
    """
    return len({device.process_index for device in devices(backend or CPU.platform)})


def check_device(device: Any, name: str) -> None:
    """Raises for what is no device.

    Raises:
        ValueError: it is neither None, one of `devices`, its name, nor a sharding of one device.
    """
    if device is not None and backend_of(device) is None and not _is_of_one_device(device):
        raise ValueError(
            f"{name}: unknown device {device!r}; the devices are 'cpu' and 'cuda', and what ct.devices() lists\n"
            "  pass 'cpu', or one of ct.devices()"
            "\n  see docs/errors.md#device-missing"
        )


class Sharding:
    """A placement of arrays: the base of the classes in `cotangent.sharding`.

    Examples
    --------
    >>> isinstance(ct.sharding.SingleDeviceSharding(ct.devices("cpu")[0]), ct.sharding.Sharding)
    True
    """


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
    asked = placed | ({compiler} if platform_and_number(compiler)[0] in _BACKENDS.values() else set())
    if len(asked) > 1:
        found = " and ".join(sorted(str(device_at(each)) for each in asked))
        raise ValueError(
            f"{name}: asked for {found}; a program runs on one device\n  name one, or move arrays by device_put"
        )
    return compiler or "".join(placed)


for _name in ("devices", "local_devices", "device_count", "local_device_count"):
    globals()[_name] = checked(globals()[_name])
