"""``jax.experimental.hijax``: types and primitives of a library's own may be defined; values of them cannot be made.

Flax defines some and makes none unless it is told to.
"""

from __future__ import annotations

from typing import Any

from cotangent.jax.internals.avals import (
    AbstractValue,
    ShapedArray,
    Zero,
    instantiate_zeros,
    is_undefined_primal,
)
from cotangent.jax.internals.primitives import Primitive
from cotangent.jax.missing import missing

__all__ = [
    "AbstractValue",
    "HiPrimitive",
    "HiType",
    "MutableHiType",
    "ShapedArray",
    "VJPHiPrimitive",
    "Zero",
    "aval_method",
    "aval_property",
    "control_flow_allowed_effects",
    "instantiate_zeros",
    "is_undefined_primal",
    "register_hitype",
]


class HiPrimitive(Primitive):
    """An operation on values of a library's own types."""

    def __init__(self, name: str | None = None) -> None:
        super().__init__(name or type(self).__name__)

    def bind(self, *args: Any, **params: Any) -> Any:
        """There are no such values."""
        return missing(f"jax.experimental.hijax.HiPrimitive({self.name!r}).bind")()


class VJPHiPrimitive(HiPrimitive):
    """One with a rule for reverse mode."""


class HiType(AbstractValue):
    """A type of values of a library's own."""


class MutableHiType(HiType):
    """One whose values change."""


def register_hitype(kind: type, typeof: Any) -> None:
    """Says which type the values of a class have."""


class _Effects:
    """Effects that loops and branches may have: of operations that cannot be bound."""

    def add_type(self, effect: type) -> None:
        """Allows one."""


control_flow_allowed_effects = _Effects()
aval_property = property


def aval_method(function: Any) -> Any:
    """A method of traced values."""
    return function
