"""What the special functions share: promotion of arguments, and tools of programs of one element."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from cotangent import _core
from cotangent._base import primitives
from cotangent._base.messages import called
from cotangent._core import Array
from cotangent._ops.binding import kind
from cotangent._ops.per_element import by_precision, pick, polynomial
from cotangent._transforms.control_flow import while_loop
from cotangent.errors import DTypeError


def floats(name: str, *operands: Any) -> list[Array]:
    """The operands as arrays of one floating dtype and shape.

    Raises:
        DTypeError: they are complex.
    """
    arrays = _core.promote(list(operands), inexact=True)
    if kind(arrays[0]) != "float":
        raise DTypeError(
            f"{called(name)} takes real arrays; got {arrays[0].dtype}\n"
            "  give it the parts, x.real and x.imag, or the absolute value, abs(x)"
        )
    return arrays


def fitted(x: Array, tables: Any, name: str) -> Array:
    """The fit of special_fit.py that belongs to the precision of ``x``, at ``x``."""
    centre, coefficients = getattr(tables, name + by_precision(x, "32", "64"))
    return polynomial(x - centre if centre else x, coefficients)


def split_square(x: Array) -> tuple[Array, Array]:
    """``x**2`` as a sum of two without rounding errors to speak of: an exact square, and a rest that is small (0 beyond 1e4)."""
    unsigned, mask = by_precision(x, (np.dtype("uint32"), 0xFFFFF000), (np.dtype("uint64"), 0xFFFFFFFFF8000000))
    bits = primitives.bitcast(x, dtype=unsigned)
    high = primitives.bitcast(primitives.and_(bits, _core.full((), mask, unsigned)), dtype=x.dtype)
    # An infinite square less itself would be NaN.
    return high * high, pick(primitives.abs(x) < 1e4, (x - high) * (x + high), 0.0)


def exp_of_minus_square(x: Array) -> Array:
    """``exp(-x**2)`` without the error of rounding the square."""
    square, rest = split_square(x)
    return primitives.exp(-square) * exp_of_minus_rest(rest)


def exp_of_minus_rest(rest: Array) -> Array:
    """``exp(-rest)`` of what `split_square` gives beside squares whose ``exp(-square)`` is not 0: at most 0.1, and 3e-5 for float64.

    An even number of terms follow the 1, so that it is positive beside the others.
    """
    terms = by_precision(rest, 6, 4)
    return polynomial(-rest, tuple(1.0 / math.factorial(k) for k in range(terms, -1, -1)))


def is_integral(x: Array) -> Array:
    """Whether a float is a whole number."""
    return primitives.eq(x, primitives.floor(x))


Result = TypeVar("Result", Array, tuple[Array, Array])


def where_needed(condition: Array, compute: Callable[[], Result], otherwise: Result) -> Result:
    """``compute()`` where the condition holds; not computed at all when it holds for no element of an array."""
    return while_loop(  # type: ignore[no-any-return]
        lambda state: state[0], lambda state: (primitives.ne(state[0], state[0]), compute()), (condition, otherwise)
    )[1]
