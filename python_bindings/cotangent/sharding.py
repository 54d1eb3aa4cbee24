"""Shardings, of which there is one kind: everything on one device. Programs that place arrays so run as they are."""

from __future__ import annotations

from typing import Any

from cotangent._base.arguments import leaving_methods
from cotangent._base.device import Device, Sharding, backend_of, check_device, device_at
from cotangent._base.names import suggest_names

__all__ = ["Sharding", "SingleDeviceSharding"]


@leaving_methods
class SingleDeviceSharding(Sharding):
    """The placement of whole arrays on one device.

    Parameters
    ----------
    device : Device or str
        One of `cotangent.devices`, or its name.
    memory_kind : str, optional
        Only None: there is one kind of memory.

    Raises
    ------
    ValueError
        ``device`` is none, or ``memory_kind`` is not None.

    Examples
    --------
    >>> ct.device_put(1.0, ct.sharding.SingleDeviceSharding(ct.devices()[0])).tolist()
    1.0
    """

    def __init__(self, device: Any, *, memory_kind: str | None = None) -> None:
        backend = backend_of(device)
        if backend is None:
            check_device(device, "SingleDeviceSharding")
        self._device = device_at("" if backend in (None, "llvm") else str(backend))
        if memory_kind is not None:
            raise ValueError(
                f"SingleDeviceSharding: memory_kind={memory_kind!r}; there is one kind of memory\n  leave memory_kind out"
            )
        self.memory_kind = memory_kind

    num_devices = 1
    is_fully_replicated = True
    is_fully_addressable = True

    @property
    def device_set(self) -> set[Device]:
        """The device."""
        return {self._device}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SingleDeviceSharding) and self._device == other._device

    def __hash__(self) -> int:
        return hash((SingleDeviceSharding, self._device))

    def __repr__(self) -> str:
        return f"SingleDeviceSharding(device={self._device!r})"


suggest_names(globals())
