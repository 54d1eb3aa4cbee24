"""``jax.experimental.hijax``: operations with derivative rules of their own, and the names for types of a library's own.

Operations (`VJPHiPrimitive`) are custom functions. Values of a library's own types cannot be made: Flax defines such types and makes none unless it is
told to.
"""

from __future__ import annotations

from typing import Any

import cotangent as ct
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
    """An operation on arrays: what it computes, and its rules, as methods of a class.

    A subclass sets ``in_avals``, ``out_aval`` and ``params``, whose entries become attributes, before it calls this constructor; `expand` computes
    the result. Rules for reverse mode are ``vjp_fwd(nonzeros, *args)`` and ``vjp_bwd_retval(residuals, cotangent)``, one for forward mode is
    ``jvp(primals, tangents)``; with both, the rules for reverse mode are the ones that are used. What ``vmap`` gives is `expand` mapped.
    """

    in_avals: tuple[Any, ...]
    out_aval: Any
    params: dict[str, Any]

    def __init__(self) -> None:
        super().__init__(type(self).__name__)
        lacks = [name for name in ("in_avals", "out_aval", "params") if not hasattr(self, name)]
        if lacks:
            raise AttributeError(
                f"{self.name} has no {', '.join(lacks)}\n  set in_avals, out_aval and params before super().__init__()"
            )
        for name, value in self.params.items():
            setattr(self, name, value)

    def expand(self, *args: Any) -> Any:
        """The operation in terms of others."""
        raise NotImplementedError(f"{self.name} has no method expand(self, *args)\n  write what it computes")

    def __call__(self, *args: Any) -> Any:
        """The operation on arrays, with its rules."""
        kind = type(self)
        if hasattr(kind, "vjp_fwd"):
            with_reverse = ct.custom_vjp(self.expand)
            with_reverse.defvjp(self._forward, self._backward)
            return with_reverse(*args)
        if hasattr(kind, "jvp"):
            with_forward = ct.custom_jvp(self.expand)
            with_forward.defjvp(self._tangents)
            return with_forward(*args)
        return self.expand(*args)

    def _forward(self, *args: Any) -> Any:
        return getattr(self, "vjp_fwd")(ct.tree_util.tree_map(lambda _: True, args), *args)  # noqa: B009

    def _backward(self, residuals: Any, cotangent: Any) -> tuple[Any, ...]:
        if not hasattr(type(self), "vjp_bwd_retval"):
            raise NotImplementedError(
                f"{self.name} has vjp_fwd, and no vjp_bwd_retval\n  write vjp_bwd_retval(self, residuals, cotangent), which returns a tuple"
            )
        return tuple(getattr(self, "vjp_bwd_retval")(residuals, cotangent))  # noqa: B009

    def _tangents(self, primals: tuple[Any, ...], tangents: tuple[Any, ...]) -> Any:
        return getattr(self, "jvp")(primals, tangents)  # noqa: B009


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
