"""Methods of a `Ragged` that name axes, or work on arrays as a whole.

Those that stay within the rows of a batch are done row by row. For the others there is an error that says what would happen to the batch.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from cotangent import _core
from cotangent._transforms.ragged import Ragged
from cotangent._transforms.ragged_methods import (
    Function,
    _axes,
    _check_positions,
    _divided,
    _of_a_batch,
    give_members,
)
from cotangent._transforms.ragged_operands import masked


def _inner(self: Ragged, axis: Any, name: str) -> int:
    """The axis of an example that an axis of a batch is.

    Raises:
        TypeError: it is no integer.
        ShapeError: it is one of the batch.
    """
    if isinstance(axis, bool) or not (axis is None or isinstance(axis, (int, np.integer))):
        raise TypeError(
            f"{name}: axis must be an integer or None; got {axis!r}\n  number the axes from 0: axis={self.ndim - 1} is the last"
        )
    depth = len(self._batch)
    if axis is None:
        raise _of_a_batch(name, "axis=None takes the elements of all of them in one order\n  name an axis of the rows")
    (place,) = _axes(axis, self.ndim, name)
    if place < depth:
        raise _of_a_batch(name, f"axis={axis} is along the batch")
    return place - depth


def _along(name: str, default: int | None) -> Function:
    def method(self: Ragged, axis: Any = default, **options: Any) -> Any:
        inner = _inner(self, axis, name) if self._batch else axis
        return masked(lambda x: getattr(x, name)(axis=inner, **options), (self,), name)

    return method


def _peak_to_peak(self: Ragged, axis: Any = None, keepdims: bool = False) -> Any:
    outer, inner = _divided(self, axis, "ptp")
    if outer:
        return self.max(axis=axis, keepdims=keepdims) - self.min(axis=axis, keepdims=keepdims)
    return masked(lambda x: x.ptp(axis=inner, keepdims=keepdims), (self,), "ptp")


def _whole(name: str, why: str) -> Function:
    def method(self: Ragged, *args: Any, **options: Any) -> Any:
        if self._batch:
            raise _of_a_batch(name, why)
        return (
            masked(lambda x, *more: getattr(x, name)(*more, **options), (self, *args), name)
            if any(isinstance(x, Ragged) for x in args)
            else masked(lambda x: getattr(x, name)(*args, **options), (self,), name)
        )

    return method


def _of_rows(name: str, rows: Function) -> Function:
    """A method that is ``rows`` of a batch, and the array's own of one array."""
    single = _whole(name, "")

    def method(self: Ragged, *args: Any, **options: Any) -> Any:
        return rows(self, *args, **options) if self._batch else single(self, *args, **options)

    return method


def _swapaxes(self: Ragged, axis1: int, axis2: int) -> Any:
    first, second = (_inner(self, axis, "swapaxes") for axis in (axis1, axis2))
    return masked(lambda x: x.swapaxes(first, second), (self,), "swapaxes")


def _transpose(self: Ragged, *axes: Any) -> Any:
    given = axes[0] if len(axes) == 1 and isinstance(axes[0], (tuple, list)) else axes
    given = () if tuple(given) == (None,) else given
    depth = len(self._batch)
    order = _axes(tuple(given), self.ndim, "transpose")
    if sorted(order) != list(range(self.ndim)) and given:
        raise ValueError(
            f"transpose: axes {tuple(given)} are not each of the {self.ndim} axes once\n"
            f"  name each of them, {tuple(range(self.ndim))}, in the order that they are to be in"
        )
    if order[:depth] != tuple(range(depth)):
        raise _of_a_batch("transpose", "it would move the axes of the batch")
    inner = tuple(place - depth for place in order[depth:])
    return masked(lambda x: x.transpose(inner), (self,), "transpose")


def _of_two_axes(name: str) -> Function:
    def rows(self: Ragged, offset: int = 0, axis1: int = 0, axis2: int = 1, **options: Any) -> Any:
        first, second = (_inner(self, axis, name) for axis in (axis1, axis2))
        return masked(lambda x: getattr(x, name)(offset, first, second, **options), (self,), name)

    return rows


def _take(self: Ragged, indices: Any, axis: int | None = None, **options: Any) -> Any:
    inner = _inner(self, axis, "take")
    if isinstance(indices, Ragged):
        raise _of_a_batch("take", "the indices are ragged", "x.take(i)")
    if isinstance(indices, (int, np.integer)):
        _check_positions(self, (slice(None),) * (inner + len(self._batch)) + (indices,))
    return masked(lambda x: x.take(indices, axis=inner, **options), (self,), "take")


def _repeat(self: Ragged, repeats: Any, axis: int | None = None, **options: Any) -> Any:
    inner = _inner(self, axis, "repeat")
    if isinstance(repeats, Ragged) or _core.array(repeats).ndim:
        raise _of_a_batch("repeat", "repeats has an entry for each element of one array", "x.repeat(...)")
    return masked(lambda x: x.repeat(repeats, axis=inner, **options), (self,), "repeat")


def _squeeze(self: Ragged, axis: Any = None) -> Any:
    depth, shape = len(self._batch), self.data._bound_shape
    if axis is None:
        if 1 in shape[:depth]:
            raise _of_a_batch(
                "squeeze", "the batch has size 1, and axis=None would remove it\n  name an axis of the rows"
            )
        axis = tuple(a for a in range(depth, self.ndim) if shape[a] == 1 and a - self.ndim not in self._lengths)
    given = tuple(axis) if isinstance(axis, (tuple, list)) else (axis,)
    inner = tuple(_inner(self, a, "squeeze") for a in given)
    return masked(lambda x: x.squeeze(inner), (self,), "squeeze") if inner else self


def _dot(self: Ragged, b: Any, **options: Any) -> Any:
    rank = b.ndim if isinstance(b, Ragged) else _core.array(b).ndim
    if options or rank > 2 or (isinstance(b, Ragged) and b._batch):
        raise _of_a_batch("dot", "dot is for them and one vector or one matrix, without options", "x.dot(...)")
    return self * b if rank == 0 else self @ b


def attach() -> None:
    """Gives `Ragged` these methods."""
    members: dict[str, Any] = {name: _along(name, None) for name in ("argmax", "argmin", "cumprod", "cumsum")}
    members |= {name: _along(name, -1) for name in ("argsort", "sort")}
    end_to_end = "it would lay rows of different lengths end to end\n  to_offsets() does, for known lengths"
    members |= {name: _whole(name, end_to_end) for name in ("flatten", "ravel")}
    members["choose"] = _whole("choose", "the choices are of one array")
    members["searchsorted"] = _whole("searchsorted", "it is for one sorted vector")
    members["ptp"] = _peak_to_peak
    rows: dict[str, Function] = {
        "diagonal": _of_two_axes("diagonal"),
        "dot": _dot,
        "repeat": _repeat,
        "squeeze": _squeeze,
        "swapaxes": _swapaxes,
        "take": _take,
        "trace": _of_two_axes("trace"),
        "transpose": _transpose,
    }
    give_members(members | {name: _of_rows(name, function) for name, function in rows.items()})
