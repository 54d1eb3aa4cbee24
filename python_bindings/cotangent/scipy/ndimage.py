"""Interpolation in arrays under its name in `scipy.ndimage`."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

from cotangent import numpy as cnp
from cotangent._base.arguments import as_list, check_arguments, suggestion
from cotangent._base.names import suggest_names
from cotangent._core import Array
from cotangent._ops.extents import without_padding
from cotangent._ops.sizes import Size, axis_size

__all__ = ["map_coordinates"]


def _reflect(index: Array, size: Size) -> Array:
    """… 2 1 0 | 0 1 2 … 2 1 0 | 0 …."""
    place = cnp.mod(index, 2 * size)
    return cnp.minimum(place, 2 * size - 1 - place)


def _mirror(index: Array, size: Size) -> Array:
    """… 2 1 | 0 1 2 … 2 1 0 | 1 …."""
    period: Any = cnp.maximum(2 * (size - 1), 1) if isinstance(size, Array) else max(2 * (size - 1), 1)
    place = cnp.mod(index, period)
    if not isinstance(size, Array) and size <= 1:
        return cnp.zeros_like(index)
    found: Array = cnp.minimum(place, period - place)  # of one element, 0
    return found


# How an index outside of the array finds its element; None: it has the value cval.
_MODES: dict[str, Callable[[Array, Size], Array] | None] = {
    "constant": None,
    "nearest": lambda index, size: cnp.clip(index, 0, size - 1),
    "wrap": cnp.mod,
    "mirror": _mirror,
    "reflect": _reflect,
}


def map_coordinates(
    input: Any,  # noqa: A002
    coordinates: Sequence[Any],
    order: int,
    mode: str = "constant",
    cval: Any = 0.0,
) -> Array:
    """The values of an array at coordinates between its elements.

    Parameters
    ----------
    input : array
        Of n axes.
    coordinates : sequence of array
        n arrays of coordinates, broadcast against each other; element i is at the coordinate i.
    order : int
        0 for the nearest element, 1 for linear interpolation.
    mode : str
        What lies outside: "constant", "nearest", "wrap", "mirror" (about the last element's centre) or "reflect"
        (about its edge).
    cval : float
        The value outside, for the mode "constant".

    Returns
    -------
    array
        Of the shape of the coordinates and the dtype of ``input``.

    Raises
    ------
    NotImplementedError
        The order is above 1, or the mode is unknown.
    ValueError
        There is not one array of coordinates for each axis.

    Examples
    --------
    >>> ct.scipy.ndimage.map_coordinates(ct.numpy.array([0.0, 10.0, 20.0]), [ct.numpy.array([0.5, 1.25])], order=1)
    Array([ 5. , 12.5], dtype=float32)
    """
    array = cnp.asarray(input)
    of_each = "pass a sequence of one array of positions for each axis: [rows, columns]"
    points = [cnp.asarray(c) for c in as_list("map_coordinates", "coordinates", coordinates, of_each)]
    if len(points) != array.ndim:
        raise ValueError(f"map_coordinates: {len(points)} coordinates for an array with {array.ndim} axes\n  {of_each}")
    if mode not in _MODES:
        raise NotImplementedError(
            f"map_coordinates: mode {mode!r} is not supported; choose one of {', '.join(_MODES)}{suggestion(mode, _MODES)}\n"
            "  pass mode='constant', which takes cval outside, or one of the others"
        )
    if order not in (0, 1):
        raise NotImplementedError(
            f"map_coordinates: order {order} is not supported; splines need order 0 or 1\n"
            "  pass order=1 for linear interpolation, 0 for the nearest element"
        )
    fold = _MODES[mode]
    # For each axis: the elements that count, with their weights.
    choices: list[list[tuple[Array, Array, Array]]] = []
    sizes = [axis_size(array, axis) for axis in range(array.ndim)]
    array = without_padding(array)
    for point, size in zip(points, sizes, strict=True):
        neighbours: list[tuple[Array, Any]]
        if cnp.issubdtype(point.dtype, cnp.integer):
            neighbours = [(point, 1)]
        elif order == 0:
            neighbours = [(_nearest(point), 1)]
        else:
            lower = cnp.floor(point)
            weight = point - lower
            index = lower.astype("int32")
            neighbours = [(index, 1 - weight), (index + 1, weight)]
        axis = []
        for index, weight in neighbours:
            within = (index >= 0) & (index < size)
            axis.append((cnp.clip(index, 0, size - 1) if fold is None else fold(index, size), weight, within))
        choices.append(axis)
    total: Any = None
    for items in itertools.product(*choices):
        indices, weights, valid = zip(*items, strict=True)
        value = array[indices]
        if fold is None:
            inside = valid[0]
            for one in valid[1:]:
                inside = inside & one
            value = cnp.where(inside, value, cnp.asarray(cval, array.dtype))
        for weight in weights:
            value = value * weight
        total = value if total is None else total + value
    if cnp.issubdtype(array.dtype, cnp.integer) and not cnp.issubdtype(total.dtype, cnp.integer):
        total = _nearest(total)
    result: Array = cnp.asarray(total).astype(array.dtype)
    return result


def _nearest(x: Array) -> Array:
    """The nearest whole number; away from zero from the middle."""
    rounded: Array = (cnp.sign(x) * cnp.floor(cnp.abs(x) + 0.5)).astype("int32")
    return rounded


check_arguments(globals())
suggest_names(globals())
