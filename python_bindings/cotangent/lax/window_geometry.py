"""Where windows lie: how many there are, what of an array each sees, and how arrays are padded for them.

``window_slice`` of an array that is broadcast over the places of a window gives what the window sees; reductions fold it, and
the compiler fuses both, so that no window is ever stored. Start with `fit` and `sliding`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from cotangent import _core
from cotangent._base import primitives
from cotangent._base.arguments import check_arguments, suggestion
from cotangent._core import Array
from cotangent._ops.extents import capacities, capacity, index_along, stretched
from cotangent._ops.sizes import static_int
from cotangent.lax._operands import listed

__all__ = ["padtype_to_pads"]

_INT32 = np.dtype("int32")
_INT64 = np.dtype("int64")


def dilated_size(size: int, dilation: int) -> int:
    """From the first to the last element with ``dilation - 1`` holes between neighbours."""
    return 0 if size == 0 else (size - 1) * dilation + 1


def window_count(size: int, window: int, stride: int) -> int:
    """At how many places a window of that extent fits."""
    return max((size - window) // stride + 1, 0)


def padtype_to_pads(
    in_shape: Sequence[int], window_shape: Sequence[int], window_strides: Sequence[int], padding: Any
) -> list[tuple[int, int]]:
    """The padding of each axis that "SAME", "SAME_LOWER" or "VALID" means.

    Parameters
    ----------
    in_shape, window_shape, window_strides : sequence of int
        Sizes of the array and of the window, and how far the window moves, along each axis.
    padding : str
        "SAME" pads so that windows begin at each stride, the odd element behind; "SAME_LOWER" the odd one in front;
        "VALID" not at all.

    Returns
    -------
    list of (int, int)
        How many elements in front and behind, along each axis.

    Raises
    ------
    TypeError
        ``padding`` is no such word but pairs.
    ValueError
        The word is unknown.

    Examples
    --------
    >>> ct.lax.padtype_to_pads([10], [3], [2], "SAME")
    [(0, 1)]
    """
    if not isinstance(padding, str) and not hasattr(padding, "name"):
        raise TypeError(
            f'padtype_to_pads: padding must be "SAME", "SAME_LOWER" or "VALID"; got {padding!r}\n'
            "  pairs are used as they are: pass them to the function that they are for"
        )
    rank = len(listed("padtype_to_pads", "in_shape", in_shape))
    window_shape = per_axis("padtype_to_pads", "window_shape", window_shape, rank, least=0)
    window_strides = per_axis("padtype_to_pads", "window_strides", window_strides, rank)
    return _pads_of_word("padtype_to_pads", in_shape, window_shape, window_strides, padding)


def padding_word(name: str, padding: Any) -> str:
    """The word that says how the function ``name`` is to pad.

    Raises:
        ValueError: there is no such word.
    """
    word = str(getattr(padding, "name", padding)).upper()
    if word not in ("SAME", "SAME_LOWER", "VALID"):
        near = suggestion(word, ("SAME", "SAME_LOWER", "VALID"))
        raise ValueError(
            f'lax.{name}: padding must be "SAME", "SAME_LOWER", "VALID" or pairs (low, high); got {padding!r}{near}\n'
            '  pass "SAME" for as many results as elements, "VALID" for windows inside of the array alone'
        )
    return word


def _pads_of_word(
    name: str, sizes: Sequence[int], windows: Sequence[int], strides: Sequence[int], padding: Any
) -> list[tuple[int, int]]:
    word = padding_word(name, padding)
    if word == "VALID":
        return [(0, 0)] * len(sizes)
    pads = []
    for size, window, stride in zip(sizes, windows, strides, strict=True):
        total = int(max((-(-size // stride) - 1) * stride + window - size, 0))
        low = total // 2 if word == "SAME" else total - total // 2
        pads.append((low, total - low))
    return pads


def resolve_pads(
    name: str, sizes: Sequence[int], windows: Sequence[int], strides: Sequence[int], padding: Any
) -> list[tuple[int, int]]:
    """Padding as pairs, whatever form it is given in."""
    if isinstance(padding, str) or hasattr(padding, "name"):
        return _pads_of_word(name, sizes, windows, strides, padding)
    return _pairs(name, padding, len(sizes))


def _pairs(name: str, padding: Any, rank: int) -> list[tuple[int, int]]:
    try:
        pairs = [(int(low), int(high)) for low, high in padding]
    except (TypeError, ValueError):
        numbers = listed_numbers(padding)
        if len(numbers) == 1:
            numbers *= rank
        example = [(number, number) for number in (numbers if len(numbers) == rank else [0] * rank)]
        raise ValueError(
            f'lax.{name}: padding must be "SAME", "SAME_LOWER", "VALID" or pairs (low, high); got {padding!r}\n'
            f"  pass {example}, for example: one pair an axis"
        ) from None
    if len(pairs) != rank:
        raise ValueError(
            f"lax.{name}: padding needs one pair for each of {rank} axes; got {len(pairs)}\n"
            "  pass (0, 0) for axes without padding"
        )
    return pairs


def listed_numbers(padding: Any) -> list[int]:
    """The whole numbers that are given where pairs are asked for: one, or several; none of anything else."""
    several = list(padding) if isinstance(padding, (tuple, list)) else [padding]
    return [int(number) for number in several if isinstance(number, (int, np.integer))]


def check_windows(name: str, strides: Any, padding: Any, filters: Any) -> None:
    """What `resolve_pads` and `per_axis` raise, by the name of the function that was called, which another one computes."""
    rank = max(np.ndim(filters) - 2, 0)
    per_axis(name, "window_strides", strides, rank)
    if isinstance(padding, str) or hasattr(padding, "name"):
        padding_word(name, padding)
    else:
        _pairs(name, padding, rank)


def per_axis(name: str, what: str, values: Any, rank: int, least: int = 1) -> list[int]:
    """One positive int an axis, or at least ``least``; ones by default."""
    if values is None:
        return [1] * rank
    instead = (
        "" if hasattr(values, "__iter__") else f"write {(values,) * rank}: one for each axis, 1 leaves it as it is"
    )
    result = [static_int(value, f"lax.{name}: {what}") for value in listed(name, what, values, instead)]
    if len(result) != rank:
        example = ((1,) * rank + tuple(result))[len(result) :] if len(result) < rank else (1,) * rank
        raise ValueError(
            f"lax.{name}: {what} needs one number for each of {rank} axes; got {tuple(result)}\n"
            f"  pass {example}, for example: 1 leaves an axis as it is"
        )
    if any(value < least for value in result):
        raise ValueError(
            f"lax.{name}: {what} must be positive; got {tuple(result)}\n  pass 1 for an axis that is left as it is"
        )
    return result


class Fitted(NamedTuple):
    """What windows slide over: an array that is exact along their axes, its padding, and how many places there are.

    Along an axis that was ragged ``counts`` is that of the bound, and ``lengths`` has the real one, by the position of
    the axis in the list of axes.
    """

    array: Array
    pads: list[tuple[int, int]]
    counts: list[int]
    lengths: dict[int, Array]


class Slide(NamedTuple):
    """How windows slide along an axis of exact length: elements ``gap`` apart, places of the window ``spacing`` apart."""

    size: int
    gap: int
    window: int
    stride: int
    spacing: int
    low: int
    places: int

    def cut(self) -> Slide:
        """With the places of the window that meet an element anywhere; none if none does."""
        first = max(-((self.stride * (self.places - 1) - self.low) // self.spacing), 0)
        last = min((self.low + dilated_size(self.size, self.gap) - 1) // self.spacing, self.window - 1)
        return self._replace(window=last + 1 - first, low=self.low - first * self.spacing)

    def high(self) -> int:
        """The padding behind with which the last window ends."""
        span = (self.places - 1) * self.stride + dilated_size(self.window, self.spacing)
        return span - self.low - dilated_size(self.size, self.gap)

    def is_sparse(self) -> bool:
        """Whether the windows span much more than there are pairs of an element and a window."""
        span = (self.places - 1) * self.stride + dilated_size(self.window, self.spacing)
        return span > 4 * (self.size + 1) * (self.places + 1) + 1024

    def sees(self) -> Array:
        """Whether each window sees each element: [places, size]."""
        shape = [self.places, self.size]

        def number(value: int) -> Array:
            return _core.full(shape, value, _INT64)

        window, element = (primitives.iota(shape=shape, dtype=_INT64, axis=axis) for axis in (0, 1))
        distance = element * number(self.gap) + number(self.low) - window * number(self.stride)
        place = primitives.div(distance, number(self.spacing))
        meets: Array = (distance >= number(0)) & (place * number(self.spacing) == distance)
        return meets & (place < number(self.window))


def _int(value: int) -> Array:
    return _core.full((), value, _INT32)


def _at_least_zero(x: Array) -> Array:
    return primitives.max(x, _int(0))


def fit(
    name: str,
    x: Array,
    axes: Sequence[int],
    extents: Sequence[int],
    strides: Sequence[int],
    dilation: Sequence[int],
    padding: Any,
    outside: Array | None = None,
) -> Fitted:
    """Prepares an array for `sliding`. Along a ragged axis padding stands at the real end, and so do the last windows.

    Args:
        name: of the function, for errors.
        x: the array.
        axes: along which windows slide.
        extents: of the windows, with their own dilation.
        strides: of the windows.
        dilation: the distance of the array's elements, which the windows are given as well.
        padding: "SAME", "SAME_LOWER", "VALID", or a pair an axis.
        outside: what stands outside of the array, a scalar; zero by default.
    """
    sizes = [dilated_size(capacity(x, axis), gap) for axis, gap in zip(axes, dilation, strict=True)]
    pads = resolve_pads(name, sizes, extents, strides, padding)
    word = "" if isinstance(padding, (list, tuple)) else str(getattr(padding, "name", padding)).upper()
    lengths: dict[int, Array] = {}
    for place, axis in enumerate(axes):
        length = _core.length_of(x, axis)
        if length is None:
            continue
        extent, stride, gap = extents[place], strides[place], dilation[place]
        x = _without_padding(x, axis, length, outside)
        size = length if gap == 1 else _at_least_zero((length - _int(1)) * _int(gap) + _int(1))
        if word == "VALID" or not word:
            room = size + _int(sum(pads[place]) - extent)
            count = primitives.div(_at_least_zero(room), _int(stride)) + _int(1)
            lengths[place] = primitives.select(room >= _int(0), count, _int(0))
        elif stride == 1:
            low = (extent - 1) // 2 if word == "SAME" else extent // 2
            pads[place] = (low, extent - 1 - low)
            lengths[place] = size
        elif gap == 1:
            # How much is padded in front depends on the length.
            lengths[place] = count = primitives.div(size + _int(stride - 1), _int(stride))
            total = _at_least_zero((count - _int(1)) * _int(stride) + _int(extent) - size)
            front = primitives.div(total if word == "SAME" else total + _int(1), _int(2))
            places = -(-sizes[place] // stride)
            x = _moved(x, axis, extent // 2, front, (places - 1) * stride + extent, outside)
            pads[place], sizes[place] = (0, 0), capacity(x, axis)
        else:
            raise NotImplementedError(
                f"lax.{name}: {word} padding of ragged axis {axis} with both a stride and a dilation is not supported\n"
                "  give the padding as pairs (low, high)"
            )
    return Fitted(x, pads, counts_of(sizes, pads, extents, strides), lengths)


def counts_of(
    sizes: Sequence[int], pads: Sequence[tuple[int, int]], extents: Sequence[int], strides: Sequence[int]
) -> list[int]:
    """At how many places windows fit, an axis."""
    return [
        window_count(size + low + high, extent, stride)
        for size, (low, high), extent, stride in zip(sizes, pads, extents, strides, strict=True)
    ]


def _without_padding(x: Array, axis: int, length: Array, outside: Array | None) -> Array:
    """``x``, exact along a ragged axis, with ``outside`` behind its length."""
    filled = primitives.fill_padding(x, axes=[axis], value=0.0)
    if outside is None:
        return filled
    valid = index_along(x, axis) < stretched(length, x)
    return primitives.select(valid, filled, stretched(outside, x))


def _moved(x: Array, axis: int, most: int, front: Array, size: int, outside: Array | None) -> Array:
    """``size`` elements along an axis that begin ``front`` places, at most ``most``, in front of the array."""
    none = [0] * x.ndim
    low, high = list(none), list(none)
    low[axis], high[axis] = most, max(size - capacity(x, axis), 0)
    fill = _core.full((), 0, x.dtype) if outside is None else outside
    padded = primitives.pad(x, fill, low=low, high=high, interior=none)
    starts = [_int(most) - front if i == axis else _int(0) for i in range(x.ndim)]
    shape = list(capacities(x))
    shape[axis] = size
    return primitives.dynamic_slice(padded, *starts, sizes=shape, batch_dims=0)


def sliding(
    x: Array,
    axes: Sequence[int],
    windows: Sequence[int],
    counts: Sequence[int],
    strides: Sequence[int],
    window_dilation: Sequence[int],
    dilation: Sequence[int],
    low: Sequence[int],
    at: int = 0,
) -> Array:
    """What windows see: an array with an axis for each window, the first of them axis ``at``. Zero outside of ``x``."""
    number = len(axes)
    sizes = capacities(x)
    place = [axis if axis < at else axis + number for axis in range(x.ndim)]
    spread = primitives.broadcast(x, shape=[*sizes[:at], *windows, *sizes[at:]], axes=place)
    return slid(
        spread, [place[axis] for axis in axes], range(at, at + number), counts, strides, window_dilation, dilation, low
    )


def slid(
    x: Array,
    axes: Sequence[int],
    window_axes: Sequence[int],
    counts: Sequence[int],
    strides: Sequence[int],
    window_dilation: Sequence[int],
    dilation: Sequence[int],
    low: Sequence[int],
) -> Array:
    """`sliding`, of an array that has the windows' axes already: each place of a window slides over elements of its own."""
    return primitives.window_slice(
        x,
        axes=list(axes),
        window_axes=list(window_axes),
        sizes=list(counts),
        step=list(strides),
        window_step=list(window_dilation),
        dilation=list(dilation),
        offset=[-value for value in low],
    )


check_arguments(globals())
