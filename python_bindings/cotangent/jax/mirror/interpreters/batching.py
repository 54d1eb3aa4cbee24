"""``jax.interpreters.batching``."""

from __future__ import annotations

from typing import Any

import cotangent.numpy as cnp
from cotangent.jax.internals.primitives import (
    AxisData,
    axis_primitive_batchers,
    defbroadcasting,
    defvectorized,
    fancy_primitive_batchers,
    primitive_batchers,
)

__all__ = [
    "AxisData",
    "axis_primitive_batchers",
    "bdim_at_front",
    "broadcast",
    "defbroadcasting",
    "defvectorized",
    "fancy_primitive_batchers",
    "matchaxis",
    "moveaxis",
    "not_mapped",
    "primitive_batchers",
    "register_vmappable",
    "unregister_vmappable",
]


not_mapped = None


def moveaxis(x: Any, source: int, destination: int) -> Any:
    """The array with an axis elsewhere."""
    return cnp.moveaxis(x, source, destination)


def broadcast(x: Any, size: int, axis: int, *_: Any) -> Any:
    """The array, repeated along a new axis."""
    return cnp.broadcast_to(cnp.expand_dims(x, axis), (*x.shape[:axis], size, *x.shape[axis:]))


def bdim_at_front(x: Any, axis: int | None, size: int, *_: Any) -> Any:
    """The array with its batch along the first axis."""
    return broadcast(x, size, 0) if axis is None else cnp.moveaxis(x, axis, 0)


def matchaxis(
    axis_data: Any, source: int | None, destination: int | None, x: Any, sum_match: bool = False, *_: Any
) -> Any:
    """The array with its batch along another axis."""
    if source == destination:
        return x
    if source is None:
        return broadcast(x, axis_data.size, destination or 0)
    if destination is None:
        if not sum_match:
            raise ValueError(
                f"the axis {axis_data.name!r} of a batch was to be none\n"
                "  pass sum_match=True for the sum over the batch, or an axis"
            )
        return x.sum(source)
    return cnp.moveaxis(x, source, destination)


_vmappable: dict[type, tuple[Any, ...]] = {}


def register_vmappable(
    data_type: type, spec_type: type, axis_size_type: type, to_elt: Any, from_elt: Any, make_iota: Any
) -> None:
    """Notes how values of a class are mapped. `vmap` takes pytrees of arrays: a value of such a class among its arguments is an error there."""
    _vmappable[data_type] = (spec_type, axis_size_type, to_elt, from_elt, make_iota)


def unregister_vmappable(data_type: type) -> None:
    """Forgets it."""
    _vmappable.pop(data_type, None)
