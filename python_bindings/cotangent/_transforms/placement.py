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
from cotangent._base.device import check_placements
from cotangent._core import Array


def device_put(x: Any, device: Any = None, *, src: Any = None, donate: Any = False, may_alias: Any = None) -> Any:
    """Arrays of a pytree's leaves; every array lives in host memory.

    Args:
        x: a pytree.
        device: a device or a sharding of one device, or a pytree of them. ``src``, ``donate``: of no effect.
        may_alias: False copies arrays, which are otherwise returned as they are.

    Raises:
        ValueError: it asks for several devices.
    """
    del src, donate
    check_placements(device, "device_put")
    leaves, structure = flatten_arguments(x, "device_put")
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
    """Returns ``x``: computation is synchronous."""
    return x


check_arguments(globals())
