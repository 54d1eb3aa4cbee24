"""Signs, bits and the parts of floating numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from cotangent import _core
from cotangent._core import Array
from cotangent.numpy._support import bind1, choose, kind, literal, promoted

__all__ = [
    "bitwise_and",
    "bitwise_invert",
    "bitwise_left_shift",
    "bitwise_not",
    "bitwise_or",
    "bitwise_right_shift",
    "bitwise_xor",
    "copysign",
    "heaviside",
    "invert",
    "left_shift",
    "right_shift",
    "signbit",
]

# ---- Signs and bits --------------------------------------------------------------------------------------------------


def signbit(x: Any, /) -> Array:
    """Whether the sign bit is set: true of -0.0 too."""
    array = _core.array(x)
    if kind(array) in ("bool", "unsigned"):
        return _core.full(array._bound_shape, False, bool)
    if kind(array) == "float":
        array = bind1("bitcast", array, dtype=np.dtype(f"int{8 * array.dtype.itemsize}"))
    return bind1("lt", array, literal(array, 0))


def copysign(x: Any, y: Any, /) -> Array:
    """The magnitude of x with the sign of y."""
    x, y = _core.promote([x, y], inexact=True)
    flip = bind1("ne", signbit(x), signbit(y))
    return bind1("select", flip, bind1("neg", x), x)


def heaviside(x: Any, y: Any, /) -> Array:
    """0 below 0, 1 above, ``y`` at 0."""
    x, y = _core.promote([x, y], inexact=True)
    zero = literal(x, 0.0)
    step = choose(bind1("gt", x, zero), 1.0, bind1("select", bind1("ne", x, x), x, zero))
    return bind1("select", bind1("eq", x, zero), y, step)


def bitwise_and(x: Any, y: Any, /) -> Array:
    """Bits set in both."""
    return promoted("and", x, y)


def bitwise_or(x: Any, y: Any, /) -> Array:
    """Bits set in either."""
    return promoted("or", x, y)


def bitwise_xor(x: Any, y: Any, /) -> Array:
    """Bits set in one of both."""
    return promoted("xor", x, y)


def bitwise_not(x: Any, /) -> Array:
    """All bits flipped; of bools, not."""
    return bind1("not", x)


bitwise_invert = invert = bitwise_not


def left_shift(x: Any, y: Any, /) -> Array:
    """Bits moved up by ``y``."""
    return promoted("shift_left", x, y)


bitwise_left_shift = left_shift


def right_shift(x: Any, y: Any, /) -> Array:
    """Bits moved down by ``y``; the sign is kept."""
    x, y = _core.promote([x, y])
    return bind1("shift_right_logical" if kind(x) == "unsigned" else "shift_right_arithmetic", x, y)


bitwise_right_shift = right_shift
