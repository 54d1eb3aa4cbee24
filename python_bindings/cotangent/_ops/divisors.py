"""Common divisors and multiples of integers."""

from __future__ import annotations

from typing import Any

from cotangent import _core
from cotangent._base import primitives
from cotangent._base.arguments import check_arguments
from cotangent._core import Array
from cotangent._ops.binding import (
    choose,
    kind,
    literal,
)
from cotangent._ops.element_bytes import _unsigned
from cotangent._transforms.control_flow import while_loop
from cotangent.errors import DTypeError

__all__ = ["gcd", "lcm"]


def _magnitudes(x1: Any, x2: Any, name: str) -> tuple[Array, Array, Any]:
    """Unsigned, as the magnitude of the lowest number is none of the signed ones; and the dtype of the result."""
    x, y = _core.promote([x1, x2])
    if kind(x) not in ("signed", "unsigned"):
        raise DTypeError(f"{name} takes integers; got {x.dtype}\n  convert the arguments first: x.astype('int32')")
    if kind(x) == "unsigned":
        return x, y, x.dtype
    unsigned = _unsigned(x.dtype.itemsize)
    return _core.convert(primitives.abs(x), unsigned), _core.convert(primitives.abs(y), unsigned), x.dtype


def _divisor(x: Array, y: Array) -> Array:
    def unfinished(pair: tuple[Array, Array]) -> Array:
        return primitives.reduce_max(primitives.ne(pair[1], literal(pair[1], 0)), axes=list(range(pair[1].ndim)))

    def step(pair: tuple[Array, Array]) -> tuple[Array, Array]:
        x, y = pair
        done = primitives.eq(y, literal(y, 0))
        rest = primitives.rem(x, choose(done, 1, y))
        return primitives.select(done, x, y), primitives.select(done, y, rest)

    return while_loop(unfinished, step, (x, y))[0]  # type: ignore[no-any-return]


def gcd(x1: Any, x2: Any) -> Array:
    """The greatest common divisor of two integers, element by element; of 0 and 0, 0.

    A divisor that the dtype does not have (128 of int8) wraps around, as NumPy's does.

    Parameters
    ----------
    x1, x2 : array
        Integers; promoted to a common dtype and broadcast.

    Returns
    -------
    array
        Not negative; of the common dtype and the broadcast shape.

    Raises
    ------
    DTypeError
        The numbers are not integers.

    Examples
    --------
    >>> ct.numpy.gcd([12, 0, -9], 18)
    Array([ 6, 18,  9], dtype=int32)
    """
    x, y, dtype = _magnitudes(x1, x2, "gcd")
    return _core.convert(_divisor(x, y), dtype)


def lcm(x1: Any, x2: Any) -> Array:
    """The least common multiple of two integers, element by element; with 0, 0.

    One that the dtype does not hold wraps around, as products do.

    Parameters
    ----------
    x1, x2 : array
        Integers; promoted to a common dtype and broadcast.

    Returns
    -------
    array
        Not negative; of the common dtype and the broadcast shape.

    Raises
    ------
    DTypeError
        The numbers are not integers.

    Examples
    --------
    >>> ct.numpy.lcm([4, 6], [6, 0])
    Array([12,  0], dtype=int32)
    """
    x, y, dtype = _magnitudes(x1, x2, "lcm")
    divisor = _divisor(x, y)
    multiple = primitives.mul(x, primitives.div(y, choose(divisor == literal(divisor, 0), 1, divisor)))
    return _core.convert(multiple, dtype)


check_arguments(globals())
