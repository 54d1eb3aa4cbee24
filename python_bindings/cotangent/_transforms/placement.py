"""Arrays to and from the host: device_put, device_get, block_until_ready."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from cotangent import _core
from cotangent._base.arguments import check_arguments
from cotangent._base.capture import (
    flatten_arguments,
)
from cotangent._base.carriers import map_contents
from cotangent._base.device import backend_for, backends_for, put_beside
from cotangent._core import Array


def device_put(x: Any, device: Any = None, *, src: Any = None, donate: Any = False, may_alias: Any = None) -> Any:
    """Returns the arrays of a pytree, in the memory of a device.

    Jitted functions that name no backend run where the arrays among their arguments are. Everything else may be done
    with an array of a GPU, too: it comes to the host, once, when that asks for its elements.

    Parameters
    ----------
    x : pytree of arrays
        Arrays, NumPy's too, and numbers.
    device : Device, str, Sharding, or a pytree of them, optional
        A device, its name, or a sharding of one device; or a pytree of them, a prefix of ``x``. None: where the arrays
        are, and of what is no array the default device.
    src, donate : object
        Of no effect.
    may_alias : bool, optional
        False copies arrays, which are otherwise returned as they are where they are on the device.

    Returns
    -------
    pytree of arrays
        Of the structure of ``x``.

    Raises
    ------
    ValueError
        ``device`` asks for several devices, or is none.
    DeviceError
        There is no GPU, or none that can be used; it says why.

    Examples
    --------
    >>> placed = ct.device_put({"w": np.float32([1, 2])}, ct.devices("cpu")[0])
    >>> placed["w"], str(placed["w"].device)
    (Array([1., 2.], dtype=float32), 'cpu:0')
    """
    del src, donate
    if type(device) in (dict, list, tuple):
        backends_for(device, "device_put")
        return map_contents(
            lambda place, part: device_put(part, place, may_alias=may_alias),
            [device, x],
            lambda place: type(place) not in (dict, list, tuple),
        )
    backend = backend_for(device, "device_put")
    leaves, structure = flatten_arguments(x, "device_put")
    if backend is not None:
        leaves = [_core.put_on(leaf, backend) for leaf in leaves]
    else:
        given, _ = _core.tree_flatten(x, None)
        leaves = [
            leaf if isinstance(source, Array) else put_beside(leaf, ())
            for leaf, source in zip(leaves, given, strict=True)
        ]
    return structure.unflatten([copy.copy(leaf) for leaf in leaves] if may_alias is False else leaves)


def device_get(x: Any) -> Any:
    """Returns the arrays of a pytree as NumPy arrays.

    Parameters
    ----------
    x : pytree
        Leaves that are no arrays are left as they are.

    Returns
    -------
    pytree
        Of the structure of ``x``. A NumPy array shares the memory of an array of the host, and is read-only. Random keys, of which NumPy
        has no arrays, stay what they are.

    Raises
    ------
    ConcretizationError
        An array is traced.

    Examples
    --------
    >>> ct.device_get({"a": ct.numpy.arange(3)})["a"]
    array([0, 1, 2], dtype=int32)
    """
    leaves, structure = _core.tree_flatten(x, None)
    return structure.unflatten([np.asarray(leaf) if _is_numbers(leaf) else leaf for leaf in leaves])


def _is_numbers(leaf: Any) -> bool:
    return isinstance(leaf, Array) and _core.dtype_kind(leaf.dtype) != "key"


def block_until_ready(x: Any) -> Any:
    """Waits until the elements of all arrays of a pytree are computed.

    Those of the host always are: programs run to their end before they return. Programs for GPUs return at once.

    Parameters
    ----------
    x : pytree
        Leaves that are no arrays are passed over.

    Returns
    -------
    pytree
        ``x`` itself.

    Raises
    ------
    DeviceError
        What failed on a GPU until then.

    Examples
    --------
    >>> ct.block_until_ready({"a": ct.numpy.arange(3)})
    {'a': Array([0, 1, 2], dtype=int32)}
    """
    for leaf in _core.tree_flatten(x, None)[0]:
        _core.wait_for(leaf)
    return x


check_arguments(globals())
