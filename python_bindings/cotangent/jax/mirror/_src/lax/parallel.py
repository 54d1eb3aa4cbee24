"""``jax._src.lax.parallel``: what the public module lacks of it."""

from __future__ import annotations

from typing import Any

from cotangent import lax
from cotangent import numpy as cnp

__all__ = ["pargmax", "pargmin"]


def pargmin(x: Any, axis_name: Any) -> Any:
    """The place along a named axis of the smallest element, the first of several."""
    return _place_of(x, axis_name, lax.pmin(x, axis_name))


def pargmax(x: Any, axis_name: Any) -> Any:
    """The place along a named axis of the largest element, the first of several."""
    return _place_of(x, axis_name, lax.pmax(x, axis_name))


def _place_of(x: Any, axis_name: Any, extreme: Any) -> Any:
    if isinstance(axis_name, tuple | list):
        raise TypeError(f"pargmin and pargmax take one axis; got {axis_name!r}\n  call it for one axis after the other")
    own = lax.axis_index(axis_name)
    return lax.pmin(cnp.where(x == extreme, own, lax.axis_size(axis_name)), axis_name)
