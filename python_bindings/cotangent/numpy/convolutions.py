"""Discrete convolutions of arrays with one axis."""

from __future__ import annotations

from typing import Any

from cotangent import _core
from cotangent._base import primitives
from cotangent._base.arguments import check_arguments
from cotangent._base.capture import give_lengths
from cotangent._base.precision import check_precision
from cotangent._core import Array
from cotangent._ops.arithmetic import conjugate
from cotangent._ops.binding import inexact
from cotangent._ops.products import dot_general, one_pair
from cotangent._ops.sizes import axis_size, bound_size
from cotangent.lax.window_geometry import sliding

__all__ = ["convolve", "correlate"]


def _convolved(a: Any, v: Any, preferred: Any) -> list[Array]:
    """Both operands of a convolution: of the preferred dtype, else floating."""
    if preferred is not None:
        return one_pair(a, v, preferred)
    return [inexact(x) for x in one_pair(a, v, None)]


def convolve(a: Any, v: Any, mode: str = "full", *, precision: Any = None, preferred_element_type: Any = None) -> Array:
    """The discrete convolution of two one-axis arrays; modes "full", "same" and "valid"."""
    check_precision(precision)
    x, y = _convolved(a, v, preferred_element_type)
    return _convolution("convolve", x, y, mode)


def _convolution(name: str, x: Array, y: Array, mode: str) -> Array:
    if x.ndim != 1 or y.ndim != 1:
        raise ValueError(f"{name} takes arrays with one axis; got shapes {x.shape} and {y.shape}")
    ragged = [bool(_core.ragged_axes(item)) for item in (x, y)]
    if any(ragged) and (mode != "full" or all(ragged)):
        raise NotImplementedError(
            f"{name}: the size of the result of mode {mode!r} depends on which of the arrays is longer, and one is ragged\n"
            "  use mode 'full' with one ragged array, or leave the mask for it"
        )
    if ragged[1] or (not any(ragged) and x.size < y.size):
        x, y = y, x
    m, n = bound_size(x), bound_size(y)
    length = axis_size(x, 0)
    if any(ragged):
        x = primitives.fill_padding(x, axes=[0], value=0.0)
    if n == 0:
        raise ValueError(f"{name}: the arrays must not be empty")
    places = {"full": (0, m + n - 1), "same": ((n - 1) // 2, m), "valid": (n - 1, m - n + 1)}
    if mode not in places:
        raise ValueError(f"{name}: mode must be 'full', 'same' or 'valid'; got {mode!r}")
    first, count = places[mode]
    # Row t: what y sees there, from its end. A product reads that from the padded array itself, through strides. Only the
    # rows of the mode are made: of arrays of one length, "valid" is one of twice as many.
    padded = primitives.pad(x, _core.full((), 0, x.dtype), low=[n - 1 - first], high=[first + count - m], interior=[0])
    windows = sliding(padded, [0], [n], [count], [1], [-1], [1], [1 - n], at=1)
    result = dot_general(windows, y, ([1], [0]))
    return give_lengths(result, {0: length + (n - 1)}) if isinstance(length, Array) else result


def correlate(
    a: Any, v: Any, mode: str = "valid", *, precision: Any = None, preferred_element_type: Any = None
) -> Array:
    """The correlation of two one-axis arrays: the convolution with ``v`` reversed and conjugated."""
    check_precision(precision)
    x, y = _convolved(a, v, preferred_element_type)
    exact = not (_core.ragged_axes(x) or _core.ragged_axes(y))
    if x.ndim == y.ndim == 1 and exact and x.size < y.size:
        # With the longer one first; the result runs the other way.
        swapped = correlate(y, x, mode, preferred_element_type=preferred_element_type)
        return conjugate(primitives.reverse(swapped, axes=[0]))
    flipped = primitives.reverse(conjugate(y), axes=[0])
    return _convolution("correlate", x, flipped, mode)


check_arguments(globals())
