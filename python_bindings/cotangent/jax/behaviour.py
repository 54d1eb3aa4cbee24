"""What arrays do otherwise while JAX is answered from here: all that is not a matter of a name.

Constant indices out of bounds are clamped in reads and dropped in updates, where cotangent refuses them. Traced arrays have the attributes
by which libraries tell captures apart.
"""

from __future__ import annotations

from cotangent._core import Array
from cotangent._ops import index_plans
from cotangent.jax.internals.avals import Trace, current_trace, typeof

__all__ = ["start", "stop"]


def _trace(x: Array) -> Trace:
    return current_trace()


_ATTRIBUTES = {"_trace": property(_trace), "aval": property(typeof)}
_own: dict[str, object] = {}


def start() -> None:
    """From here on arrays act as JAX's."""
    index_plans.constants_are_as_arrays = True
    for name, member in _ATTRIBUTES.items():
        if name in vars(Array):
            _own[name] = vars(Array)[name]
        setattr(Array, name, member)


def stop() -> None:
    """From here on arrays act as cotangent's."""
    index_plans.constants_are_as_arrays = False
    for name in _ATTRIBUTES:
        if name in _own:
            setattr(Array, name, _own[name])
        else:
            delattr(Array, name)
