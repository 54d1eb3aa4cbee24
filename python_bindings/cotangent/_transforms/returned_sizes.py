"""Sizes of what loops and branches hand on: an exact array that the user's function returns never stands for a ragged one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from cotangent import _core
from cotangent._core import Array
from cotangent.errors import ShapeError


class AxesOf:
    """Which axes of an array are ragged, and which exact ones have a size that the user means."""

    def __init__(self, x: Array, returned: bool = False) -> None:
        """``returned``: by a function of the user, who means all sizes."""
        self.shape = x._bound_shape
        self.ragged = set(_core.ragged_axes(x))
        sized = {axis for axis, size in enumerate(self.shape) if size > 1} - self.ragged
        self.users = sized if returned else sized.intersection(_core.users_axes(x))


def axes_returned(leaves: Sequence[Array], function: Callable[..., Any]) -> list[AxesOf] | None:
    """Those of a function's results; None outside of masks, where all sizes are numbers."""
    if not _core.in_mask():
        return None
    returned = _core.written_by_user(function)
    return [AxesOf(x, returned) for x in leaves]


def check_one_size(what: str, path: str, x: AxesOf, y: AxesOf) -> None:
    """Of what takes the place of each other.

    Raises:
        ShapeError: an axis of the one is ragged, and that of the other is as long as it for one length only.
    """
    for axis in sorted((x.ragged & y.users) | (y.ragged & x.users)):
        raise ShapeError(
            f"{what}: axis {axis} of output{path} is ragged, and has {x.shape[axis]} elements as well: they are of one size for one"
            " length only\n  make the array of the size of the other's axis, or cut it to that: y[:x.shape[axis]]"
        )
