"""Random orders; the draws are those of ``jax.random``."""

from __future__ import annotations

import math
import operator
from typing import Any

from cotangent import _core
from cotangent import numpy as cnp
from cotangent._base.arguments import check_arguments
from cotangent._base.device import Placement
from cotangent._base.keys import Key
from cotangent._core import Array
from cotangent._ops.binding import is_integer
from cotangent._ops.sizes import bound_size, element_count, is_dimension, normalize_axis
from cotangent.random import basic

__all__ = [
    "permutation",
]


def permutation(key: Key, x: Any, axis: int = 0, independent: bool = False, *, out_sharding: Placement = None) -> Array:
    """The slices of an axis, or the numbers below an integer, in random order.

    Parameters
    ----------
    key : key
        As of `key` or `PRNGKey`; a key gives the same numbers every time.
    x : array or int
        What is permuted; an integer n stands for ``arange(n)``. Inside ``mask`` a ragged axis is permuted as that
        of the array without padding.
    axis : int
        The axis that is shuffled, by default 0.
    independent : bool
        Whether the elements of each line along the axis are shuffled for themselves.
    out_sharding : device or sharding, optional
        What the result is made on; by default the default device.

    Returns
    -------
    array
        The same elements in another order.

    Raises
    ------
    TypeError
        ``x`` is a scalar and no integer.

    Examples
    --------
    >>> ct.random.permutation(ct.random.key(0), 5)
    Array([0, 1, 4, 3, 2], dtype=int32)
    """
    array = _core.array(x)
    if array.ndim == 0:
        if not is_integer(array):
            raise TypeError(
                f"permutation takes an integer or an array; got {array.dtype} of shape ()\n"
                "  pass an integer n for the numbers below it"
            )
        normalize_axis(axis, 1, "permutation")
        return _shuffle(key, cnp.arange(x if is_dimension(x) else operator.index(x)), 0)
    axis = normalize_axis(axis, array.ndim, "permutation")
    if independent or array.ndim == 1:
        return _shuffle(key, array, axis)
    order = _shuffle(key, cnp.arange(array.shape[axis]), 0)
    return cnp.take(array, order, axis)


def _rounds(size: int) -> int:
    """How often as many elements are sorted by random numbers: often enough that equal numbers become unlikely."""
    return math.ceil(3 * math.log(max(1, size)) / math.log(2**32 - 1))


def _most_elements(rounds: int) -> int:
    """The largest size for which so many rounds are enough."""
    size = int((2**32 - 1) ** (rounds / 3)) + 1
    while _rounds(size) > rounds:
        size -= 1
    return size


def _shuffle(key: Any, x: Array, axis: int) -> Array:
    """Sorted by random numbers, several times; where the size is a value, in the rounds that it takes."""
    size = element_count(x, range(x.ndim))
    for rounds in range(_rounds(bound_size(x))):
        keys = basic.split(key)
        key = keys[0]
        order = cnp.argsort(basic.bits(keys[1], x.shape, "uint32"), axis=axis, stable=True)
        ordered = cnp.take_along_axis(x, order, axis)
        x = cnp.where(size > _most_elements(rounds), ordered, x) if isinstance(size, Array) else ordered
    return x


check_arguments(globals())
