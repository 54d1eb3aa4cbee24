"""Discrete convolutions of arrays with one axis."""

from __future__ import annotations

from typing import Any

import numpy as np

from cotangent import _core
from cotangent._base import primitives
from cotangent._base.arguments import check_arguments
from cotangent._base.capture import give_lengths
from cotangent._base.precision import check_precision
from cotangent._base.words import not_among
from cotangent._core import Array
from cotangent._ops.binding import inexact, literal
from cotangent._ops.complex_parts import conjugate
from cotangent._ops.extents import capacity, without_padding
from cotangent._ops.products import dot_general, one_pair
from cotangent._ops.sizes import as_dtype, axis_size
from cotangent.lax.window_geometry import sliding

__all__ = ["convolve", "correlate"]


def _convolved(a: Any, v: Any, preferred: Any) -> list[Array]:
    """Both operands of a convolution: of the preferred dtype, else floating."""
    if preferred is not None:
        return one_pair(a, v, preferred)
    return [inexact(x) for x in one_pair(a, v, None)]


def convolve(a: Any, v: Any, mode: str = "full", *, precision: Any = None, preferred_element_type: Any = None) -> Array:
    """The discrete convolution of two vectors.

    Parameters
    ----------
    a : array, shape (m,)
        Numbers; promoted with ``v`` to a common floating or complex dtype, integers too.
    v : array, shape (n,)
        Numbers.
    mode : str, default "full"
        ``"full"``: all m + n - 1 sums; ``"same"``: the middle max(m, n) of them; ``"valid"``: those in which all
        elements of the shorter one take part.
    precision : str, Precision or None, default None
        Looked at only: products have at least the precision of their dtype, which satisfies all of them.
    preferred_element_type : dtype, optional
        What the operands are converted to; the dtype of the result. None: their common dtype.

    Returns
    -------
    array
        One axis.

    Raises
    ------
    ValueError
        There is no such mode, or an operand is empty or does not have one axis.

    Examples
    --------
    >>> ct.numpy.convolve([1, 2, 3], [1, 10])
    Array([ 1., 12., 23., 30.], dtype=float32)
    """
    check_precision(precision)
    x, y = _convolved(a, v, preferred_element_type)
    return _convolution("convolve", x, y, mode)


def _convolution(name: str, x: Array, y: Array, mode: str) -> Array:
    if x.ndim != 1 or y.ndim != 1:
        raise ValueError(
            f"{name} takes arrays with one axis; got shapes {x.shape} and {y.shape}\n"
            f"  map over the other axes with ct.vmap, or use ct.scipy.signal.{name} for all axes at once"
        )
    if _core.ragged_axes(x) or _core.ragged_axes(y):
        return _ragged_convolution(name, x, y, mode)
    if x.size < y.size:
        x, y = y, x
    m, n = x.size, y.size
    if n == 0:
        raise ValueError(f"{name}: the arrays must not be empty\n  test the sizes first")
    places = {"full": (0, m + n - 1), "same": ((n - 1) // 2, m), "valid": (n - 1, m - n + 1)}
    if mode not in places:
        raise not_among(
            name, "mode", mode, ("valid", "full", "same") if name == "correlate" else ("full", "same", "valid")
        )
    return _rows(x, y, *places[mode])


def _rows(x: Array, y: Array, first: int, count: int) -> Array:
    """``count`` elements of the convolution of exact arrays, from element ``first`` on."""
    m, n = x.size, y.size
    # Row t: what y sees there, from its end. A product reads that from the padded array itself, through strides. Only the
    # rows of the mode are made: of arrays of one length, "valid" is one of twice as many.
    padded = primitives.pad(x, _core.full((), 0, x.dtype), low=[n - 1 - first], high=[first + count - m], interior=[0])
    windows = sliding(padded, [0], [n], [count], [1], [-1], [1], [1 - n], at=1)
    return dot_general(windows, y, ([1], [0]))


def _ragged_convolution(name: str, x: Array, y: Array, mode: str, swapped: bool = False) -> Array:
    """The convolution of arrays of which one or both are ragged: all of it, and of that the elements of the mode.

    With ``swapped``, where ``y`` is the longer, they are those of the convolution of both arrays reversed, from its end.
    """
    if mode not in ("full", "same", "valid"):
        raise not_among(
            name, "mode", mode, ("valid", "full", "same") if name == "correlate" else ("full", "same", "valid")
        )
    int32 = np.dtype("int32")
    lengths = [as_dtype(axis_size(item, 0), int32) for item in (x, y)]
    bounds = [capacity(x, 0), capacity(y, 0)]
    if 0 in bounds:
        raise ValueError(f"{name}: the arrays must not be empty\n  test the sizes first")
    one, zero = _core.full((), 1, int32), _core.full((), 0, int32)
    both = primitives.max(lengths[0] + lengths[1] - one, zero)
    x, y = without_padding(x), without_padding(y)
    whole = _rows(x, y, 0, sum(bounds) - 1) if bounds[0] >= bounds[1] else _rows(y, x, 0, sum(bounds) - 1)
    if mode == "full":
        return give_lengths(whole, {0: both})
    longer, shorter = primitives.max(*lengths), primitives.min(*lengths)
    if mode == "valid":
        start, length = shorter - one, primitives.min(longer, longer - shorter + one)
    else:
        start, length = primitives.div(shorter - one, _core.full((), 2, int32)), longer
        if swapped:
            start = primitives.select(lengths[0] < lengths[1], shorter - one - start, start)
    places = primitives.iota(shape=[max(bounds)], dtype=int32, axis=0) + start
    places = primitives.max(primitives.min(places, literal(places, sum(bounds) - 2)), literal(places, 0))
    return give_lengths(primitives.gather(whole, places, axis=0, batch_dims=0), {0: length})


def correlate(
    a: Any, v: Any, mode: str = "valid", *, precision: Any = None, preferred_element_type: Any = None
) -> Array:
    """The correlation of two vectors: the convolution with the second reversed and conjugated.

    Parameters
    ----------
    a : array, shape (m,)
        Numbers; promoted with ``v`` to a common floating or complex dtype, integers too.
    v : array, shape (n,)
        Numbers.
    mode : str, default "valid"
        As of `convolve`.
    precision : str, Precision or None, default None
        Looked at only: products have at least the precision of their dtype, which satisfies all of them.
    preferred_element_type : dtype, optional
        What the operands are converted to; the dtype of the result. None: their common dtype.

    Returns
    -------
    array
        One axis.

    Raises
    ------
    ValueError
        There is no such mode, or an operand is empty or does not have one axis.

    Examples
    --------
    >>> ct.numpy.correlate([1, 2, 3], [1, 10])
    Array([21., 32.], dtype=float32)
    """
    check_precision(precision)
    x, y = _convolved(a, v, preferred_element_type)
    exact = not (_core.ragged_axes(x) or _core.ragged_axes(y))
    if x.ndim == y.ndim == 1 and exact and x.size < y.size:
        # With the longer one first; the result runs the other way.
        swapped = correlate(y, x, mode, preferred_element_type=preferred_element_type)
        return conjugate(primitives.reverse(swapped, axes=[0]))
    flipped = primitives.reverse(conjugate(y), axes=[0])
    if x.ndim == y.ndim == 1 and not exact:
        return _ragged_convolution("correlate", x, flipped, mode, swapped=True)
    return _convolution("correlate", x, flipped, mode)


check_arguments(globals())
