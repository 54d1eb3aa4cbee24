"""Positions and elements drawn with given probabilities."""

from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np

from cotangent import _core
from cotangent._base import primitives
from cotangent._base.arguments import check_arguments
from cotangent._base.capture import give_lengths
from cotangent._base.device import Placement
from cotangent._base.dimensions import check_equal_sizes
from cotangent._base.keys import Key
from cotangent._core import Array
from cotangent._ops.extents import capacities, capacity
from cotangent._ops.extreme_positions import argmax
from cotangent._ops.reductions import sum as _sum
from cotangent._ops.running import cumsum
from cotangent._ops.shapes import moveaxis
from cotangent._ops.sizes import (
    Size,
    axis_size,
    flat_positions,
    insert_axes,
    is_dimension,
    normalize_axis,
    static_shape,
    symbolic_shape,
)
from cotangent._ops.sorting import argsort
from cotangent._ops.taking import take
from cotangent._transforms.lengths import require
from cotangent.random.basic import uniform
from cotangent.random.continuous import gumbel
from cotangent.random.integers import randint
from cotangent.random.orders import look_at_orders
from cotangent.random.permutations import permutation

__all__ = ["categorical", "choice"]


def categorical(
    key: Key,
    logits: Any,
    axis: int = -1,
    shape: Any = None,
    replace: bool = True,
    mode: Literal["highest", "high", "low"] | None = None,
    *,
    out_sharding: Placement = None,
) -> Array:
    """Positions along an axis, with probabilities proportional to ``exp(logits)``.

    The draw is the position of the largest sum of a logit and a Gumbel number.

    Parameters
    ----------
    key : key
        As of `key` or `PRNGKey`; a key gives the same numbers every time.
    logits : array
        Logarithms of probabilities, which need not be normalised.
    axis : int
        The axis of the categories, by default the last.
    shape : sequence of int, optional
        Of the result: leading axes, then the other axes of ``logits``, which alone are the default.
    replace : bool
        Whether positions along the leading axes may repeat (the default).
    mode : str, optional
        As of `gumbel`.
    out_sharding : device or sharding, optional
        What the result is made on; by default the default device.

    Returns
    -------
    array of int
        The positions.

    Raises
    ------
    ValueError
        The shape does not end with the other axes of ``logits``, or more different positions are asked for than
        there are.

    References
    ----------
    Chris J. Maddison, Daniel Tarlow and Tom Minka, "A* sampling", 2014, section 2.

    Examples
    --------
    >>> ct.random.categorical(ct.random.key(0), ct.numpy.log(ct.numpy.array([0.1, 0.8, 0.1])), shape=(5,))
    Array([1, 1, 1, 1, 1], dtype=int32)
    """
    array = _core.promote([logits], inexact=True)[0]
    axis = normalize_axis(axis, array.ndim, "categorical")
    others = [size for i, size in enumerate(capacities(array)) if i != axis]
    symbolic = array.shape[:axis] + array.shape[axis + 1 :] if shape is None else symbolic_shape(shape, "categorical")
    sizes, lengths = static_shape(symbolic, "categorical")
    lead = sizes[: len(sizes) - len(others)]
    fits = len(sizes) >= len(others) and all(
        size in (1, drawn) for size, drawn in zip(others, sizes[len(lead) :], strict=True)
    )
    if not fits:
        raise ValueError(
            f"categorical: shape {tuple(sizes)} does not end with {tuple(others)}, the other axes of logits\n"
            f"  pass shape=({', '.join(['n', *map(str, others)])}) for n of each, or leave it out for one"
        )
    if not replace:
        within = {at: length for at, length in lengths.items() if at < len(lead)}
        count = math.prod(lead)
        if not within and count > capacity(array, axis):
            raise ValueError(
                f"categorical: {count} different positions were asked for, but there are {capacity(array, axis)}\n"
                "  pass a smaller shape, or replace=True"
            )
        noisy = array + gumbel(key, array.shape, array.dtype, mode)
        order = argsort(primitives.neg(moveaxis(noisy, axis, -1)), axis=-1, stable=True)
        first = _leading(order, lead, within)
        return moveaxis(first, range(first.ndim - len(lead), first.ndim), range(len(lead)))
    drawn = list(symbolic)
    drawn.insert(len(lead) + axis, array.shape[axis])
    noise = gumbel(key, drawn, array.dtype, mode)
    wide = insert_axes(array, list(range(len(lead)))) if lead else array
    return argmax(noise + wide, axis + len(lead))


def choice(
    key: Key,
    a: Any,
    shape: Any = (),
    replace: bool = True,
    p: Any = None,
    axis: int = 0,
    mode: Literal["highest", "high", "low"] | None = None,
) -> Array:
    """Elements of an array, or numbers below an integer, drawn with or without replacement.

    Parameters
    ----------
    key : key
        As of `key` or `PRNGKey`; a key gives the same numbers every time.
    a : array or int
        What is drawn from: slices of ``axis``; an integer n stands for ``arange(n)``.
    shape : int or sequence of int
        How many are drawn, in which shape; by default one.
    replace : bool
        Whether an element may be drawn several times (the default).
    p : array, shape (n,), optional
        The probabilities; by default equal.
    axis : int
        The axis that is drawn from, by default 0.
    mode : str, optional
        As of `gumbel`, for ``p`` without replacement.

    Returns
    -------
    array
        The axes ``shape`` in the place of ``axis``.

    Raises
    ------
    ValueError
        There is nothing to choose from, fewer elements than are asked for, or ``p`` has another size.

    Examples
    --------
    >>> ct.random.choice(ct.random.key(0), ct.numpy.array([10, 20, 30]), (4,))
    Array([20, 10, 30, 20], dtype=int32)
    """
    array = None if isinstance(a, (int, np.integer)) or is_dimension(a) else _core.array(a)
    population: Size
    if array is None:  # a number, also while a transform captures
        population, most = (_core.array(a), a.bound) if is_dimension(a) else (int(a), int(a))
    elif array.ndim:
        at = normalize_axis(axis, array.ndim, "choice")
        population, most = axis_size(array, at), capacity(array, at)
    else:
        population = most = int(array)
    size = a if array is None else array.shape[at] if array.ndim else most
    sizes, lengths = static_shape(shape, "choice")
    if most <= 0 and 0 not in sizes:
        raise ValueError("choice: there is nothing to choose from\n  pass an array with elements, or a positive number")
    count = math.prod(sizes)
    if not replace and not lengths and count > most:
        raise ValueError(
            f"choice: {count} different elements were asked for, but there are {most}\n"
            "  pass a smaller shape, or replace=True"
        )
    if not replace:
        if not lengths and isinstance(population, Array) and array is not None and array.ndim:
            what = f"choice: {count} different elements were asked for, of axis {at}"
            require([population], lambda n: n >= count, what)
        if p is None:
            index = permutation(key, size)
        else:
            weights = _weights(p, most, size)
            noise = gumbel(key, weights.shape, weights.dtype, mode) + primitives.log(weights)
            index = argsort(primitives.neg(noise), stable=True)
        index = _leading(index, sizes, lengths)
    elif p is None:
        index = randint(key, shape, 0, population)
    else:
        weights = _weights(p, most, size)
        sums = cumsum(weights)
        draws = sums[-1] * (1 - uniform(key, shape, sums.dtype))
        below = insert_axes(draws, [draws.ndim]) > sums
        index = _sum(below, -1, dtype=_core.default_int_dtype())
    return index if array is None or array.ndim == 0 else take(array, index, normalize_axis(axis, array.ndim, "choice"))


def _weights(p: Any, most: int, size: Any) -> Array:
    """The probabilities of ``size`` elements, which are ``most`` at most."""
    weights: Array = _core.promote([p], inexact=True)[0]
    if weights.ndim == 1:
        check_equal_sizes("choice", "p.size", weights.size, "the number of elements", size, ValueError)
    if capacities(weights) != (most,):
        raise ValueError(
            f"choice: p has shape {weights.shape}, but there are {most} elements\n"
            "  pass one probability for each element along the axis"
        )
    return weights


def _leading(order: Array, sizes: list[int], lengths: dict[int, Array]) -> Array:
    """The first elements of the last axis, as many as a shape has, in that shape."""
    if not lengths and not _core.ragged_axes(order):
        first = order[..., : math.prod(sizes)]
        return primitives.reshape(first, shape=[*capacities(order)[:-1], *sizes])
    last = order.ndim - 1
    first = take(order, flat_positions(sizes, lengths, np.dtype("int32")), last, mode="clip")
    return give_lengths(first, {last + at: length for at, length in lengths.items()})


look_at_orders(globals())
check_arguments(globals())
