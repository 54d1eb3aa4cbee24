"""Lengths of ragged axes: what may be one, and which are equal.

A length that is known is looked at when it is given. One that a program computes is held to its bound where a masked region begins;
`checkify` reports one that had to be held, and two of one name that differ.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from cotangent import _core
from cotangent._base import primitives
from cotangent._core import Array
from cotangent.errors import DTypeError, ShapeError

_LONGEST = 2**31 - 1

# What lengths that should be equal are reported to, with bools that say where they are: `checkify` puts its function here before it
# asks for checks of indices.
report_unequal: Callable[[Array, str], None] | None = None


def checked_length(length: Any, axis: int, bound: int, name: str = "Ragged") -> Array:
    """The length as int32, which holds every size.

    The conversion could wrap it around: before, one that is known is checked, and one that a program computes held to the bound.

    Raises:
        DTypeError: the length is not of integers.
        ShapeError: it is known, and outside of ``0 … bound``.
    """
    bound = min(bound, _LONGEST)
    if isinstance(length, (bool, np.bool_)):
        raise _not_integers(name, axis, "bool")
    if length is None or isinstance(length, (str, bytes)):
        raise TypeError(
            f"{name}: the length of axis {axis} must be an integer; got {length!r}\n"
            "  give a number from 0 to the bound, or an integer array; leave out axes that are exact"
        )
    known: Any = length if isinstance(length, int) else None  # may have more bits than any dtype
    if known is None:
        array = length if isinstance(length, Array) else _core.array(length)
        if _core.kind(array) not in ("signed", "unsigned"):
            raise _not_integers(name, axis, array.dtype)
        if _core.is_traced(array):
            if array.dtype == np.int32:
                return array  # held where the region begins
            return primitives.clamp_length(array, _core.full(array._bound_shape, bound, "int32"))
        known = _core.to_numpy(array)
        if known.size and known.min() >= 0 and known.max() <= bound:
            return array if array.dtype == np.int32 else _core.convert(array, "int32")  # one array is one length
        known = known.tolist()
    values = np.asarray(known, dtype=object)
    if values.size and (values.min() < 0 or values.max() > bound):
        hint = (
            "a length is the number of elements that are there, 0 or more"
            if values.min() < 0
            else "pad the data to a larger bound"
        )
        raise ShapeError(
            f"{name}: axis {axis} has length {known}, outside 0 … {bound}, the bound that the data is padded to\n  {hint}"
        )
    return _core.convert(_core.array(length), "int32")


def _not_integers(name: str, axis: int, dtype: Any) -> DTypeError:
    return DTypeError(
        f"{name}: the length of axis {axis} must be of integers; got {dtype}\n"
        "  give an integer, or convert an array with .astype('int32')"
    )


def checked_batch(length: Array, axis: int, shape: Sequence[int], name: str = "Ragged") -> None:
    """Raises ShapeError unless a length has an entry for each example of a batch that stands in front of the ragged axis."""
    batch = tuple(length._bound_shape)
    if len(batch) > axis or batch != tuple(shape[: len(batch)]):
        raise ShapeError(
            f"{name}: the length of axis {axis} has shape {batch}, and the data shape {tuple(shape)}\n"
            "  give one length, or an array of them with the shape of the data's first axes: one an example"
        )


def are_lengths(values: Any) -> bool:
    """Whether a child of a ragged node is a length, and not what somebody put in its place: None, an axis of `vmap`, a label."""
    if isinstance(values, Array):
        return _core.kind(values) in ("signed", "unsigned")
    return isinstance(values, np.ndarray) and values.dtype.kind in "iu"


def check_equal(first: Any, second: Any, what: str, advice: str = "") -> None:
    """Checks that two lengths, of one example or of a batch each, are equal: at once if they are known, else under `checkify`.

    Raises:
        ShapeError: they are known and differ; ``what`` begins the message.
    """
    if first is second:
        return
    if _core.is_traced(first) or _core.is_traced(second):
        if _core.get_flag("index_checks") and report_unequal is not None:
            report_unequal(primitives.eq(*_alike(first, second)), f"{what} have different lengths")
        return
    left, right = _core.to_numpy(first), _core.to_numpy(second)
    if left.ndim and right.ndim and left.shape != right.shape:
        raise ShapeError(f"{what} are of batches of shapes {left.shape} and {right.shape}{advice}")
    left, right = np.broadcast_arrays(left, right)
    if (left == right).all():
        return
    place = np.argwhere(left != right)[0]
    where = f" in example {', '.join(map(str, place))}" if left.ndim else ""
    at = tuple(place)
    raise ShapeError(f"{what} have lengths {int(left[at])} and {int(right[at])}{where}{advice}")


class Requirements(threading.local):
    """Sizes that must be equal for the lengths at hand, found while a masked region is captured: they leave it, and are looked at then."""

    def __init__(self) -> None:
        self.found: list[list[tuple[Array, Array, str, str]]] = []  # of each region that is being captured


_requirements = Requirements()


def collect_requirements(run: Callable[[], Any]) -> tuple[Any, list[tuple[Array, Array, str, str]]]:
    """The result of the function of a masked region, and what it requires: two sizes of the region, and what `check_equal` says of them."""
    _requirements.found.append([])
    try:
        result = run()
    finally:
        found = _requirements.found.pop()
    return result, found


def require_equal(first: Array, second: Array, what: str, advice: str = "") -> None:
    """Checks two sizes inside of a masked region: where it is run if their values are known then, else under `checkify`.

    In a loop, a branch or a derivative within, where sizes may be those of a step, under `checkify`.
    """
    if _core.capture_mode() == "mask" and _requirements.found:
        _requirements.found[-1].append((first, second, what, advice))
    else:
        check_equal(first, second, what, advice)


def _alike(first: Any, second: Any) -> list[Array]:
    arrays = [_core.array(x) for x in (first, second)]
    shape = max((x._bound_shape for x in arrays), key=len)
    return [_core.broadcast_to(x, shape) for x in arrays]
