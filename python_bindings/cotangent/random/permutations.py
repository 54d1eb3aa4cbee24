"""Random orders; the draws are those of ``jax.random``."""

from __future__ import annotations

import math
import operator
from typing import Any

from cotangent import _core
from cotangent import numpy as cnp
from cotangent._base.arguments import check_arguments
from cotangent._base.device import check_placement
from cotangent._core import Array
from cotangent._ops.binding import is_integer
from cotangent._ops.extents import capacities, capacity
from cotangent._ops.sizes import (
    normalize_axis,
    refuse_ragged,
)
from cotangent.random import basic

__all__ = [
    "permutation",
]


def permutation(key: Any, x: Any, axis: int = 0, independent: bool = False, *, out_sharding: Any = None) -> Array:
    """The slices of an axis, or the numbers below an integer, in random order.

    Args:
        key: the key.
        x: an array, or an integer n for ``arange(n)``.
        axis: the axis that is shuffled.
        independent: whether the elements of each line along the axis are shuffled for themselves.
        out_sharding: a placement on the one device.

    >>> import cotangent as ct
    >>> sorted(ct.random.permutation(ct.random.PRNGKey(0), 5).tolist())
    [0, 1, 2, 3, 4]
    """
    check_placement(out_sharding, "permutation")
    array = _core.array(x)
    if array.ndim == 0:
        if not is_integer(array):
            raise TypeError(f"permutation takes an integer or an array; got {array.dtype} of shape ()")
        normalize_axis(axis, 1, "permutation")
        return _shuffle(key, cnp.arange(operator.index(x)), 0)
    axis = normalize_axis(axis, array.ndim, "permutation")
    refuse_ragged("permutation", array, [axis], "a permutation of fewer elements takes other random bits")
    if independent:
        refuse_ragged(
            "permutation", array, range(array.ndim), "a permutation of fewer elements takes other random bits"
        )
    if independent or array.ndim == 1:
        return _shuffle(key, array, axis)
    order = _shuffle(key, cnp.arange(capacity(array, axis)), 0)
    return cnp.take(array, order, axis)


def _shuffle(key: Any, x: Array, axis: int) -> Array:
    """Sorted by random numbers, several times: equal numbers become unlikely."""
    rounds = math.ceil(3 * math.log(max(1, x.size)) / math.log(2**32 - 1))
    for _ in range(rounds):
        keys = basic.split(key)
        key = keys[0]
        order = cnp.argsort(basic.bits(keys[1], capacities(x), "uint32"), axis=axis, stable=True)
        x = cnp.take_along_axis(x, order, axis)
    return x


check_arguments(globals())
