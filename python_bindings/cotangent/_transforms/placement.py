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
    """Arrays of a pytree's leaves, in the memory of a device.

    Jitted functions that name no backend run where the arrays among their arguments are. Everything else may be done with an array
    of a GPU, too: it comes to the host, once, when that asks for its elements.

    Args:
        x: a pytree.
        device: a device, its name, or a sharding of one device; or a pytree of them, a prefix of ``x``. None: where the arrays are, and of what is
            no array the default device.
        src, donate: of no effect.
        may_alias: False copies arrays, which are otherwise returned as they are.

    Raises:
        ValueError: it asks for several devices. `cotangent.errors.DeviceError`: there is no GPU, or none that can be used.

    >>> import cotangent as ct
    >>> ct.device_put([1.0, 2.0], ct.devices()[0])
    [Array(1., dtype=float32, weak_type=True), Array(2., dtype=float32, weak_type=True)]
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
    """The leaves of a pytree as NumPy arrays; leaves that are no arrays are left as they are.

    >>> import cotangent as ct
    >>> ct.device_get({"a": ct.numpy.arange(3)})["a"]
    array([0, 1, 2], dtype=int32)
    """
    leaves, structure = _core.tree_flatten(x, None)
    return structure.unflatten([np.asarray(leaf) if isinstance(leaf, Array) else leaf for leaf in leaves])


def block_until_ready(x: Any) -> Any:
    """Returns ``x``, once the elements of its arrays are there: those of the host always are.

    Raises:
        `cotangent.errors.DeviceError`: what failed on a GPU until then.
    """
    for leaf in _core.tree_flatten(x, None)[0]:
        _core.wait_for(leaf)
    return x


check_arguments(globals())
