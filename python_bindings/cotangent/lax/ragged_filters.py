"""Convolutions with filters whose windows are ragged: what each of them sees is laid out first, for windows of the bound."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from cotangent import _core
from cotangent._base import primitives
from cotangent._base.arguments import check_arguments
from cotangent._base.capture import give_lengths
from cotangent._core import Array
from cotangent._ops.binding import choose, literal
from cotangent._ops.extents import capacity, stretched, without_padding
from cotangent._ops.sizes import as_dtype, axis_size, insert_axes
from cotangent.lax.window_geometry import padding_word

__all__ = ["with_ragged_filters"]

_INT32 = np.dtype("int32")


def _number(value: int) -> Array:
    return _core.full((), value, _INT32)


def _laid_out(
    x: Array, axis: int, window: Array, most: int, stride: int, spacing: int, padding: Any
) -> tuple[Array, Array]:
    """What windows of ``window`` elements see along an axis, for as many of ``most``, and how many windows there are."""
    size, bound = as_dtype(axis_size(x, axis), _INT32), capacity(x, axis)
    # Sums, quotients and bounds, so that lengths that are made twice are found to be equal.
    reach = primitives.max((window - 1) * _number(spacing) + 1, _number(0))
    if isinstance(padding, str):
        least = primitives.div(size + (stride - 1), _number(stride)) - 1
        total = primitives.max(least * _number(stride) + reach - size, _number(0)) if padding != "VALID" else _number(0)
        low = primitives.div(total + (1 if padding == "SAME_LOWER" else 0), _number(2))
        # "SAME" makes as many places as "VALID" with windows of one element, or of none.
        most_room = bound
    else:
        before, after = padding
        low, total, most_room = _number(before), _number(before + after), bound + before + after
    room = size + total - reach
    count = primitives.div(primitives.max(room + stride, _number(0)), _number(stride))
    counts = max(most_room // stride + 1, 0)
    places = primitives.iota(shape=[max((counts - 1) * stride + (most - 1) * spacing + 1, 0)], dtype=_INT32, axis=0)
    source = places - stretched(low, places)
    inside = (source >= literal(source, 0)) & (source < size)
    held = primitives.max(primitives.min(source, literal(source, max(bound - 1, 0))), literal(source, 0))
    seen = primitives.gather(without_padding(x, [axis]), held, axis=axis, batch_dims=0)
    inside = insert_axes(inside, [at for at in range(x.ndim) if at != axis])
    return choose(stretched(inside, seen), seen, 0), count


def with_ragged_filters(
    x: Array,
    filters: Array,
    numbers: Any,
    strides: Sequence[int],
    spacing: Sequence[int],
    dilation: Sequence[int],
    padding: Any,
    convolve: Callable[[Array, Array], Array],
) -> Array:
    """A convolution of which ``convolve`` is that without padding.

    Raises:
        NotImplementedError: the input is dilated.
    """
    if any(gap != 1 for gap in dilation):
        raise NotImplementedError(
            "lax.conv_general_dilated: the windows of the filters are ragged, and the input is dilated\n"
            "  put zeros between its elements with lax.pad"
        )
    if isinstance(padding, str) or hasattr(padding, "name"):
        padding = padding_word("conv_general_dilated", padding)
    lengths = {}
    for place, (stride, gap) in enumerate(zip(strides, spacing, strict=True)):
        of_filters, of_input = numbers.rhs_spec[2 + place], numbers.lhs_spec[2 + place]
        window = as_dtype(axis_size(filters, of_filters), _INT32)
        how = padding if isinstance(padding, str) else tuple(padding[place])
        exact = not any(isinstance(axis_size(*pair), Array) for pair in ((filters, of_filters), (x, of_input)))
        x, count = _laid_out(x, of_input, window, capacity(filters, of_filters), stride, gap, how)
        if not exact:
            lengths[numbers.out_spec[2 + place]] = count
    result = convolve(x, without_padding(filters, numbers.rhs_spec[2:]))
    return give_lengths(result, lengths)


check_arguments(globals())
