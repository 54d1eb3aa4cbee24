"""Where the elements of arrays are, and whether they are there: the methods and properties of `Array` that say so or change it."""

from __future__ import annotations

from typing import Any

from cotangent import _core
from cotangent._base.device import CPU, Device, backend_of, check_device, device_at
from cotangent._core import Array
from cotangent.errors import ConcretizationError
from cotangent.sharding import SingleDeviceSharding

# ---- Devices ---------------------------------------------------------------------------------------------------------


def _device(self: Array) -> Device:
    """Where the elements were made, or put.

    Examples
    --------
    >>> ct.numpy.ones(2).device
    CpuDevice(id=0)
    """
    return device_at(_core.place_of(self))


def _to_device(self: Array, device: Any, *, stream: Any = None) -> Array:
    """The array on a device: itself, if it is there.

    Parameters
    ----------
    device : Device or str
        Which one.
    stream : None
        Must be None: everything is done in the order of the calls.

    Returns
    -------
    array
        The same elements.

    Raises
    ------
    ValueError
        The device is not there, or a stream is given.

    Examples
    --------
    >>> ct.numpy.ones(2).to_device("cpu").device
    CpuDevice(id=0)
    """
    backend = backend_of(device)
    if backend is None:
        check_device(device, "to_device")
    if stream is not None:
        raise ValueError(
            f"to_device: everything is done in the order of the calls; got stream={stream!r}\n"
            "  leave stream out: to_device(device)"
        )
    return self if backend is None else _core.put_on(self, backend)


def _is_ready(self: Array) -> bool:
    """Whether the elements are there, so that asking for them would not wait.

    On a GPU, whose work is done in order, it is False until all that was asked of it so far is done.

    Returns
    -------
    bool

    Examples
    --------
    >>> ct.numpy.ones(2).is_ready()
    True
    """
    return _core.is_ready(self)


def _wait(self: Array) -> Array:
    """The array, once its elements are there; raises what failed until then.

    Returns
    -------
    array
        Itself.

    Examples
    --------
    >>> ct.numpy.ones(2).block_until_ready()
    Array([1., 1.], dtype=float32)
    """
    _core.wait_for(self)
    return self


def _devices(self: Array) -> set[Device]:
    """The devices that have elements of the array: the one.

    Returns
    -------
    set of Device

    Examples
    --------
    >>> ct.numpy.ones(2).devices()
    {CpuDevice(id=0)}
    """
    return {_device(self)}


def _sharding(self: Array) -> SingleDeviceSharding:
    """The placement of the array on its one device.

    Examples
    --------
    >>> ct.numpy.ones(2).sharding
    SingleDeviceSharding(device=CpuDevice(id=0))
    """
    return SingleDeviceSharding(_device(self))


def _committed(self: Array) -> bool:
    """Whether the array is on a GPU, where functions of it run then.

    Examples
    --------
    >>> ct.numpy.ones(2).committed
    False
    """
    return _device(self) != CPU


def _is_fully_addressable(self: Array) -> bool:
    """Whether all elements are in this process: they are.

    Examples
    --------
    >>> ct.numpy.ones(2).is_fully_addressable
    True
    """
    return True


def _is_fully_replicated(self: Array) -> bool:
    """Whether every device of the array has all elements: the one has.

    Examples
    --------
    >>> ct.numpy.ones(2).is_fully_replicated
    True
    """
    return True


def _copy_to_host_async(self: Array) -> None:
    """Accepted as in JAX, and without effect: elements are copied to the host when they are asked for.

    Examples
    --------
    >>> ct.numpy.ones(2).copy_to_host_async()
    """


# ---- Memory ----------------------------------------------------------------------------------------------------------


def _delete(self: Array) -> None:
    """Gives up the elements; the array cannot be used again. Its shape and dtype stay.

    Using it is a ``DeletedArrayError`` from then on.

    Raises
    ------
    ConcretizationError
        The array is traced, and has no memory of its own.

    Examples
    --------
    >>> x = ct.numpy.ones(2)
    >>> x.delete()
    >>> x.is_deleted(), x.shape
    (True, (2,))
    """
    if not _core.is_deleted(self) and _core.is_traced(self):
        raise ConcretizationError(
            "delete: a traced array has no memory of its own to give up\n"
            "  delete arrays outside of the function that is captured; memory within it is used again where nobody needs it"
        )
    _core.delete_array(self)


def _is_deleted(self: Array) -> bool:
    """Whether the elements are gone: by `delete`, or because the array was donated to a jitted function.

    Returns
    -------
    bool

    Examples
    --------
    >>> ct.numpy.ones(2).is_deleted()
    False
    """
    return _core.is_deleted(self)


PLACES: dict[str, Any] = {
    "block_until_ready": _wait,
    "committed": property(_committed),
    "copy_to_host_async": _copy_to_host_async,
    "delete": _delete,
    "device": property(_device),
    "devices": _devices,
    "is_deleted": _is_deleted,
    "is_fully_addressable": property(_is_fully_addressable),
    "is_fully_replicated": property(_is_fully_replicated),
    "is_ready": _is_ready,
    "sharding": property(_sharding),
    "to_device": _to_device,
}
