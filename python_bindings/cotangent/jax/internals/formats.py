"""``jax.experimental.layout``: in which order elements lie in memory, and on which device. Arrays here lie in the order of their axes."""

from __future__ import annotations

import dataclasses
from typing import Any

__all__ = ["Format", "Layout", "placement_of"]


@dataclasses.dataclass(frozen=True)
class Layout:
    """The axes, from the one whose elements lie the furthest apart."""

    major_to_minor: tuple[int, ...]
    tiling: tuple[tuple[int, ...], ...] | None = None

    AUTO = None  # whichever is best


@dataclasses.dataclass(frozen=True)
class Format:
    """A layout, or None, and a sharding or device, or None."""

    layout: Any = None
    sharding: Any = None


def placement_of(target: Any) -> Any:
    """The sharding, or device, of what `device_put` is given.

    Raises:
        NotImplementedError: elements are to lie in another order than that of the axes.
    """
    if not isinstance(target, Format):
        return target
    order = getattr(target.layout, "major_to_minor", None)
    if order is not None and tuple(order) != tuple(range(len(order))):
        raise NotImplementedError(
            f"an array with the layout {order}: elements lie in the order of the axes here\n"
            "  pass no layout, and transpose the array where the order of its axes is to be another"
        )
    return target.sharding
