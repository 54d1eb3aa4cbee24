"""Reductions of sliding windows: pooling.

``window_slice`` of an array that is broadcast over the places of a window gives what the window sees; reductions fold it, and
the compiler fuses both, so that no window is ever stored.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from cotangent import _core, tree_util
from cotangent._base import primitives
from cotangent._base.arguments import check_arguments
from cotangent._base.capture import give_lengths
from cotangent._core import Array
from cotangent._ops.indexing import take_along_axis
from cotangent._transforms.control_flow import scan
from cotangent._transforms.custom_rules import custom_jvp
from cotangent.errors import ShapeError

__all__ = ["padtype_to_pads", "reduce_window", "reduce_window_shape_tuple"]

_INT32 = np.dtype("int32")
_INT64 = np.dtype("int64")
# The functions of two elements that a primitive folds.
_FOLDS = {"add": "reduce_sum", "mul": "reduce_prod", "max": "reduce_max", "min": "reduce_min"}


def dilated_size(size: int, dilation: int) -> int:
    """From the first to the last element with ``dilation - 1`` holes between neighbours."""
    return 0 if size == 0 else (size - 1) * dilation + 1


def window_count(size: int, window: int, stride: int) -> int:
    """At how many places a window of that extent fits."""
    return max((size - window) // stride + 1, 0)


def padtype_to_pads(
    in_shape: Sequence[int], window_shape: Sequence[int], window_strides: Sequence[int], padding: Any
) -> list[tuple[int, int]]:
    """The (low, high) padding an axis that "SAME", "SAME_LOWER" or "VALID" means.

    >>> import cotangent as ct
    >>> ct.lax.padtype_to_pads([10], [3], [2], "SAME")
    [(0, 1)]
    """
    if not isinstance(padding, str) and not hasattr(padding, "name"):
        raise TypeError(f'padtype_to_pads: padding must be "SAME", "SAME_LOWER" or "VALID"; got {padding!r}')
    name = str(getattr(padding, "name", padding)).upper()
    if name == "VALID":
        return [(0, 0)] * len(in_shape)
    if name not in ("SAME", "SAME_LOWER"):
        raise ValueError(f'padding must be "SAME", "SAME_LOWER", "VALID" or pairs (low, high); got {padding!r}')
    pads = []
    for size, window, stride in zip(in_shape, window_shape, window_strides, strict=True):
        total = int(max((-(-size // stride) - 1) * stride + window - size, 0))
        low = total // 2 if name == "SAME" else total - total // 2
        pads.append((low, total - low))
    return pads


def resolve_pads(
    name: str, sizes: Sequence[int], windows: Sequence[int], strides: Sequence[int], padding: Any
) -> list[tuple[int, int]]:
    """Padding as pairs, whatever form it is given in."""
    if isinstance(padding, str) or hasattr(padding, "name"):
        return padtype_to_pads(sizes, windows, strides, padding)
    try:
        pairs = [(int(low), int(high)) for low, high in padding]
    except (TypeError, ValueError):
        raise ValueError(
            f'lax.{name}: padding must be "SAME", "SAME_LOWER", "VALID" or pairs (low, high); got {padding!r}'
        ) from None
    if len(pairs) != len(sizes):
        raise ValueError(f"lax.{name}: padding needs one pair for each of {len(sizes)} axes; got {len(pairs)}")
    return pairs


def per_axis(name: str, what: str, values: Any, rank: int) -> list[int]:
    """One positive int an axis; ones by default."""
    result = [1] * rank if values is None else [int(value) for value in values]
    if len(result) != rank:
        raise ValueError(f"lax.{name}: {what} needs one number for each of {rank} axes; got {tuple(result)}")
    if any(value < 1 for value in result):
        raise ValueError(f"lax.{name}: {what} must be positive; got {tuple(result)}")
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
    sizes = [dilated_size(x._bound_shape[axis], gap) for axis, gap in zip(axes, dilation, strict=True)]
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
            pads[place], sizes[place] = (0, 0), x._bound_shape[axis]
        else:
            raise NotImplementedError(
                f"lax.{name}: {word} padding of ragged axis {axis} with both a stride and a dilation is not supported\n"
                "  give the padding as pairs (low, high)"
            )
    return Fitted(x, pads, _counts(sizes, pads, extents, strides), lengths)


def _counts(
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
    shape = list(x._bound_shape)
    position = primitives.iota(shape=shape, dtype=_INT32, axis=axis)
    valid = position < _core.broadcast_to(length, shape)
    return primitives.select(valid, filled, _core.broadcast_to(outside, shape))


def _moved(x: Array, axis: int, most: int, front: Array, size: int, outside: Array | None) -> Array:
    """``size`` elements along an axis that begin ``front`` places, at most ``most``, in front of the array."""
    none = [0] * x.ndim
    low, high = list(none), list(none)
    low[axis], high[axis] = most, max(size - x._bound_shape[axis], 0)
    fill = _core.full((), 0, x.dtype) if outside is None else outside
    padded = primitives.pad(x, fill, low=low, high=high, interior=none)
    starts = [_int(most) - front if i == axis else _int(0) for i in range(x.ndim)]
    shape = list(x._bound_shape)
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
    sizes = x._bound_shape
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


def _extremum(primitive: str, x: Array, axis: int, window: int, stride: int, spacing: int) -> Array:
    """The extremum of windows along one axis; the derivative is that of the first element that attains it.

    Windows are short, so that they are written out: slices fuse with what reads them, and no window is ever stored.
    """
    places = window_count(x._bound_shape[axis], dilated_size(window, spacing), stride)

    def seen(x: Array, k: int) -> Array:
        start, limit, steps = [0] * x.ndim, list(x._bound_shape), [1] * x.ndim
        start[axis], steps[axis] = k * spacing if places else 0, stride
        limit[axis] = k * spacing + (places - 1) * stride + 1 if places else start[axis]
        return primitives.slice(x, start=start, limit=limit, stride=steps)

    def value(x: Array) -> Array:
        result = seen(x, 0)
        for k in range(1, window):
            result = _core.bind(primitive, [result, seen(x, k)])[0]
        return result

    chosen = custom_jvp(value)

    def tangent_rule(primals: tuple[Array], tangents: tuple[Array]) -> tuple[Array, Array]:
        (x,), (t,) = primals, tangents
        result = chosen(x)
        shape = list(result._bound_shape)
        first = _core.full(shape, window, _INT32)
        for k in reversed(range(window)):
            attains = primitives.eq(seen(x, k), result)
            first = primitives.select(attains, _core.full(shape, k, _INT32), first)
        total = None
        for k in range(window):
            is_first = primitives.eq(first, _core.full(shape, k, _INT32))
            kept = primitives.select(is_first, seen(t, k), _core.full(shape, 0, t.dtype))
            total = kept if total is None else primitives.add(total, kept)
        return result, total if total is not None else _core.full(shape, 0, t.dtype)

    chosen.defjvp(tangent_rule)
    return _core.array(chosen(x))


def fold_of(computation: Callable[..., Any], dtype: Any) -> str | None:
    """The reduction that folds by a function of two scalars; None when it is another function."""
    scalar = ((), dtype, False)

    def run(inputs: list[Array]) -> tuple[list[Any], None]:
        return [_core.array(computation(*inputs))], None

    graph, closure, _ = _core.capture(run, [scalar, scalar], [], _core.capture_mode() or "jit", "computation")
    equations = graph.equations()
    if closure or len(equations) != 1 or graph.outputs != list(equations[0]["outputs"]):
        return None
    if sorted(equations[0]["operands"]) != [0, 1]:
        return None
    return str(equations[0]["primitive"])


def reduce_window(
    operand: Any,
    init_value: Any,
    computation: Callable[[Any, Any], Any],
    window_dimensions: Sequence[int],
    window_strides: Sequence[int] | None = None,
    padding: Any = "VALID",
    base_dilation: Sequence[int] | None = None,
    window_dilation: Sequence[int] | None = None,
) -> Any:
    """The elements in each window, combined.

    Args:
        operand: an array, or a pytree of arrays of one shape, which are combined together.
        init_value: a scalar for each: what the combination begins with. Nothing outside of the array is combined.
        computation: ``lax.add``, ``mul``, ``max`` or ``min``, or another associative function of two elements (two
            pytrees of elements).
        window_dimensions: the window's size an axis.
        window_strides: how far the window moves, an axis; 1 by default.
        padding: "SAME", "SAME_LOWER", "VALID" or a pair (low, high) an axis.
        base_dilation: the distance of the array's elements; 1 by default.
        window_dilation: the distance of the window's elements; 1 by default.

    The gradient of a maximum goes to the first of equal elements. Along a ragged axis windows end at the real length.

    >>> import cotangent as ct
    >>> x = ct.numpy.array([1.0, 3.0, 2.0, 5.0])
    >>> ct.lax.reduce_window(x, -ct.numpy.inf, ct.lax.max, (2,), (2,), "VALID").tolist()
    [3.0, 5.0]
    """
    leaves, structure = tree_util.tree_flatten(operand)
    given, init_structure = tree_util.tree_flatten(init_value)
    if structure != init_structure or not leaves:
        raise TypeError(
            f"lax.reduce_window: init_value must have the structure of operand, {structure}; got {init_structure}"
        )
    arrays = [_core.array(leaf) for leaf in leaves]
    rank = arrays[0].ndim
    if any(x._bound_shape != arrays[0]._bound_shape for x in arrays):
        raise ShapeError(f"lax.reduce_window: operands must have one shape; got {[x.shape for x in arrays]}")
    windows = per_axis("reduce_window", "window_dimensions", window_dimensions, rank)
    strides = per_axis("reduce_window", "window_strides", window_strides, rank)
    base = per_axis("reduce_window", "base_dilation", base_dilation, rank)
    spacing = per_axis("reduce_window", "window_dilation", window_dilation, rank)
    if not isinstance(padding, str) and not hasattr(padding, "name"):
        padding = resolve_pads("reduce_window", [0] * rank, windows, strides, padding)
    moving = [
        axis
        for axis in range(rank)
        if (windows[axis], strides[axis], base[axis]) != (1, 1, 1)
        or (isinstance(padding, list) and padding[axis] != (0, 0))
    ]

    def of_axes(values: Sequence[Any]) -> list[Any]:
        return [values[axis] for axis in moving]

    extents = [dilated_size(windows[axis], spacing[axis]) for axis in moving]
    pads = of_axes(padding) if isinstance(padding, list) else padding
    inits = []
    for x, start in zip(arrays, given, strict=True):
        init = _core.array(start)
        if init.ndim:
            raise ShapeError(f"lax.reduce_window: init_value must be a scalar; got shape {init.shape}")
        inits.append(_core.convert(init, x.dtype))
    name = fold_of(computation, arrays[0].dtype) if len(arrays) == 1 and operand is leaves[0] else None
    ragged = [axis for x in arrays for axis in range(rank) if _core.length_of(x, axis) is not None]
    if not any(axis in moving for axis in ragged):
        whole = arrays[0]._bound_shape
        sizes = [dilated_size(whole[axis], base[axis]) for axis in moving]
        pairs = resolve_pads("reduce_window", sizes, extents, of_axes(strides), pads)
        geometry = [
            Slide(whole[axis], base[axis], windows[axis], strides[axis], spacing[axis], pair[0], count)
            for axis, pair, count in zip(moving, pairs, _counts(sizes, pairs, extents, of_axes(strides)), strict=True)
        ]
        cut = [slide.cut() for slide in geometry]
        if not ragged and any(slide.places == 0 or slide.window <= 0 for slide in cut):
            shape = list(whole)
            for axis, slide in zip(moving, cut, strict=True):
                shape[axis] = slide.places
            return structure.unflatten([_core.broadcast_to(init, shape) for init in inits])
        if not ragged and any(slide.is_sparse() for slide in cut):
            results = _folded_by_elements(computation, name, structure, arrays, inits, moving, cut)
            return structure.unflatten(results)
        if all(slide.window > 0 for slide in cut):
            for axis, slide in zip(moving, cut, strict=True):
                windows[axis] = slide.window
            pads = [(slide.low, slide.high()) for slide in cut]
            extents = [dilated_size(windows[axis], spacing[axis]) for axis in moving]

    def padded(x: Array, outside: Array) -> Fitted:
        fit_x = fit("reduce_window", x, moving, extents, of_axes(strides), of_axes(base), pads, outside)
        low, high, interior = [0] * rank, [0] * rank, [gap - 1 for gap in base]
        for axis, pair in zip(moving, fit_x.pads, strict=True):
            low[axis], high[axis] = pair
        y = fit_x.array
        if any(low) or any(high) or any(interior):
            y = primitives.pad(y, outside, low=low, high=high, interior=interior)
        return fit_x._replace(array=y)

    # Nothing but elements of the array is combined: what stands outside must change nothing.
    fitted = [
        padded(x, _core.full((), _NEUTRAL[name], x.dtype) if name in _NEUTRAL else init)
        for x, init in zip(arrays, inits, strict=True)
    ]
    lengths = {moving[place]: length for place, length in fitted[0].lengths.items()}
    number = len(moving)
    if (
        name in ("max", "min")
        and _core.dtype_kind(arrays[0].dtype) == "float"
        and max(of_axes(windows), default=1) <= 32
    ):
        result = fitted[0].array
        for axis in reversed(moving):
            result = _extremum(str(name), result, axis, windows[axis], strides[axis], spacing[axis])
        result = _core.bind(str(name), [_core.broadcast_to(inits[0], result._bound_shape), result])[0]
        return give_lengths(result, lengths)

    computation_within, both, starts = computation, structure, inits
    if name not in _FOLDS and (lengths or any(gap > 1 for gap in base) or any(map(any, fitted[0].pads))):
        # Which elements are the array's own goes along.
        inside = _core.broadcast_to(_core.full((), True, "bool"), arrays[0]._bound_shape)
        known = ((axis, _core.length_of(arrays[0], axis)) for axis in range(rank))
        inside = give_lengths(inside, {axis: length for axis, length in known if length is not None})
        fitted = [*fitted, padded(inside, _core.full((), False, "bool"))]
        both, starts = tree_util.tree_structure((structure.unflatten(inits), 0)), [*inits, _core.full((), True, "bool")]

        def computation_within(carry: Any, seen: Any) -> Any:
            return _where(seen[1], computation(carry[0], seen[0]), carry[0]), carry[1]

    if math.prod(of_axes(windows)) > _MOST_SEEN and all(fitted[0].counts):
        if name in _FOLDS:
            result = fitted[0].array
            for place, axis in reversed(list(enumerate(moving))):
                places = fitted[0].counts[place]
                result = _along_one(str(name), result, axis, windows[axis], strides[axis], spacing[axis], places)
            result = _core.bind(str(name), [_core.broadcast_to(inits[0], result._bound_shape), result])[0]
            return give_lengths(result, lengths)
        places = math.prod(of_axes(windows))
        if places > _MOST_STEPS:
            raise MemoryError(
                f"lax.reduce_window: windows of {tuple(windows)} have {places} elements, and a computation of its own takes them "
                "one by one\n  use lax.add, lax.mul, lax.max or lax.min, or smaller windows"
            )
        steps = [(axis, windows[axis], strides[axis], spacing[axis]) for axis in moving]
        results = _folded_by_slices(computation_within, both, fitted, starts, steps)[: len(arrays)]
        return structure.unflatten([give_lengths(result, lengths) for result in results])

    def seen(fit_x: Fitted) -> Array:
        ones, none = [1] * number, [0] * number
        counts = fit_x.counts
        return sliding(fit_x.array, moving, of_axes(windows), counts, of_axes(strides), of_axes(spacing), ones, none)

    if name in _FOLDS:
        result = _core.bind(_FOLDS[str(name)], [seen(fitted[0])], axes=list(range(number)))[0]
        result = _core.bind(str(name), [_core.broadcast_to(inits[0], result._bound_shape), result])[0]
        return give_lengths(result, lengths)
    results = _folded(computation_within, both, [seen(fit_x) for fit_x in fitted], starts, number)[: len(arrays)]
    return structure.unflatten([give_lengths(result, lengths) for result in results])


_NEUTRAL = {"add": 0, "mul": 1}
# More elements of a window are not taken one by one.
_MOST_STEPS = 2**28
# Up to how many elements windows are looked at all at once, which without a compiler is that often the memory of the array.
_MOST_SEEN = 64


def _sliced(x: Array, axis: int, start: int, limit: int, stride: int = 1) -> Array:
    starts, limits, steps = [0] * x.ndim, list(x._bound_shape), [1] * x.ndim
    starts[axis], limits[axis], steps[axis] = start, limit, stride
    return primitives.slice(x, start=starts, limit=limits, stride=steps)


def _doubled(
    combine: Callable[[Any, Any], Any],
    x: list[Array],
    axis: int,
    window: int,
    stride: int,
    spacing: int,
    places: int,
) -> list[Array]:
    """Windows along an axis, made of pieces of 1, 2, 4, … elements: as many steps as the window's size has bits.

    ``combine`` is of two lists of arrays, the earlier elements first.
    """
    result: list[Array] | None = None
    piece, width, begin = x, 1, 0
    while True:
        if window & width:
            start = begin * spacing
            seen = [_sliced(y, axis, start, start + (places - 1) * stride + 1, stride) for y in piece]
            result = seen if result is None else combine(result, seen)
            begin += width
        if begin == window:
            return result  # type: ignore[return-value]
        size, shift = piece[0]._bound_shape[axis], width * spacing
        piece = combine(
            [_sliced(y, axis, 0, size - shift) for y in piece], [_sliced(y, axis, shift, size) for y in piece]
        )
        width *= 2


def _along_one(name: str, x: Array, axis: int, window: int, stride: int, spacing: int, places: int) -> Array:
    """The fold ``name`` of windows along one axis, which are at so many places; no window is stored."""
    if places == 0 or window == 1:
        return _sliced(x, axis, 0, (places - 1) * stride + 1 if places else 0, stride)

    def value(x: Array) -> Array:
        if spacing > 1 or (stride < window and places > 1):

            def combine(x: list[Array], y: list[Array]) -> list[Array]:
                return [_core.bind(name, [x[0], y[0]])[0]]

            return _doubled(combine, [x], axis, window, stride, spacing, places)[0]
        # Windows beside each other.
        if places == 1:
            lines, reduced = _sliced(x, axis, 0, window), axis
        else:
            covered = _sliced(x, axis, 0, min(x._bound_shape[axis], places * stride))
            high, none = [0] * x.ndim, [0] * x.ndim
            high[axis] = places * stride - covered._bound_shape[axis]
            if high[axis]:
                zero = _core.full((), 0, x.dtype)
                covered = primitives.pad(covered, zero, low=none, high=high, interior=none)
            shape = list(covered._bound_shape)
            shape[axis : axis + 1] = [places, stride]
            lines, reduced = primitives.reshape(covered, shape=shape), axis + 1
            lines = _sliced(lines, reduced, 0, window)
        result = _core.bind(_FOLDS[name], [lines], axes=[reduced])[0]
        shape = list(x._bound_shape)
        shape[axis] = places
        return primitives.reshape(result, shape=shape)

    if name not in ("max", "min") or _core.dtype_kind(x.dtype) != "float":
        return value(x)
    chosen = custom_jvp(value)

    # The derivative of the first element that attains the extremum.
    def tangent_rule(primals: tuple[Array], tangents: tuple[Array]) -> tuple[Array, Array]:
        (x,), (t,) = primals, tangents

        def later(x: list[Array], y: list[Array]) -> list[Array]:
            better = _core.bind("gt" if name == "max" else "lt", [y[0], x[0]])[0]
            first_nan = ~primitives.ne(x[0], x[0]) & primitives.ne(y[0], y[0])
            other = better | first_nan
            return [primitives.select(other, b, a) for a, b in zip(x, y, strict=True)]

        position = primitives.iota(shape=list(x._bound_shape), dtype=_INT32, axis=axis)
        _, index = _doubled(later, [x, position], axis, window, stride, spacing, places)
        return chosen(x), take_along_axis(t, index, axis, mode="clip")

    chosen.defjvp(tangent_rule)
    return _core.array(chosen(x))


def _folded_by_slices(
    computation: Callable[[Any, Any], Any],
    structure: Any,
    fitted: list[Fitted],
    inits: list[Array],
    geometry: list[tuple[int, int, int, int]],
) -> list[Array]:
    """A fold by any function of large windows: one place of the window after the other, each cut out when it is needed."""
    x = fitted[0].array
    shape, spans, steps = list(x._bound_shape), list(x._bound_shape), [1] * x.ndim
    for (axis, _, stride, _), count in zip(geometry, fitted[0].counts, strict=True):
        shape[axis], spans[axis], steps[axis] = count, max((count - 1) * stride + 1, 0), stride
    places = np.stack([grid.ravel() for grid in np.indices([window for _, window, _, _ in geometry])], 1)
    offsets = np.zeros((len(places), x.ndim), _INT32)
    for k, (axis, _, _, spacing) in enumerate(geometry):
        offsets[:, axis] = places[:, k] * spacing

    def step(carry: Any, offset: Array) -> tuple[Any, None]:
        starts = [primitives.reshape(_sliced(offset, 0, i, i + 1), shape=[]) for i in range(x.ndim)]
        seen = []
        for fit_x in fitted:
            part = primitives.dynamic_slice(fit_x.array, *starts, sizes=spans, batch_dims=0)
            none = [0] * x.ndim
            seen.append(primitives.slice(part, start=none, limit=spans, stride=steps))
        return computation(carry, structure.unflatten(seen)), None

    begin = structure.unflatten([_core.broadcast_to(init, shape) for init in inits])
    last = scan(step, begin, _core.array(offsets))[0]
    return [_core.array(leaf) for leaf in tree_util.tree_leaves(last)]


def _where(condition: Array, x: Any, y: Any) -> Any:
    """``x`` where the condition holds, leaf by leaf."""
    pairs = zip(tree_util.tree_leaves(x), tree_util.tree_leaves(y), strict=True)
    leaves = [primitives.select(condition, _core.array(a), _core.array(b)) for a, b in pairs]
    return tree_util.tree_structure(y).unflatten(leaves)


def _folded_by_elements(
    computation: Callable[[Any, Any], Any],
    name: str | None,
    structure: Any,
    arrays: list[Array],
    inits: list[Array],
    moving: list[int],
    slides: list[Slide],
) -> list[Array]:
    """Of windows that are far larger than the array: each element is combined where a window sees it."""
    if name in _FOLDS:
        result = arrays[0]
        for axis, slide in reversed(list(zip(moving, slides, strict=True))):
            result = _along_elements(str(name), result, inits[0], axis, slide.sees())
        return [_core.bind(str(name), [_core.broadcast_to(inits[0], result._bound_shape), result])[0]]
    sees = [slide.sees() for slide in slides]
    shape = list(arrays[0]._bound_shape)
    for axis, slide in zip(moving, slides, strict=True):
        shape[axis] = slide.places
    grid = np.indices([slide.size for slide in slides]).reshape(len(slides), -1).T

    def step(carry: Any, place: Array) -> tuple[Any, None]:
        seen = list(arrays)
        condition = _core.broadcast_to(_core.full((), True, "bool"), shape)
        for k, axis in enumerate(moving):
            position = primitives.reshape(_sliced(place, 0, k, k + 1), shape=[])

            def taken(x: Array, axis: int, position: Array = position) -> Array:
                starts = [position if i == axis else _int(0) for i in range(x.ndim)]
                sizes = [1 if i == axis else size for i, size in enumerate(x._bound_shape)]
                return primitives.dynamic_slice(x, *starts, sizes=sizes, batch_dims=0)

            seen = [taken(x, axis) for x in seen]
            line = primitives.reshape(taken(sees[k], 1), shape=[shape[axis]])
            condition = condition & primitives.broadcast(line, shape=shape, axes=[axis])
        spread = structure.unflatten([_core.broadcast_to(x, shape) for x in seen])
        return _where(condition, computation(carry, spread), carry), None

    begin = structure.unflatten([_core.broadcast_to(init, shape) for init in inits])
    last = scan(step, begin, _core.array(grid.astype(_INT32)))[0]
    return [_core.array(leaf) for leaf in tree_util.tree_leaves(last)]


def _along_elements(name: str, x: Array, init: Array, axis: int, sees: Array) -> Array:
    """The fold ``name`` of the elements along an axis that each window sees, [places, size], and of the initial value."""
    count, size = sees._bound_shape
    if name in _NEUTRAL:
        outside = _core.full((), _NEUTRAL[name], x.dtype)
    else:
        # One element more, which all see.
        high, none = [0] * x.ndim, [0] * x.ndim
        high[axis] = 1
        x = primitives.pad(x, init, low=none, high=high, interior=none)
        all_see = _core.full((), True, "bool")
        sees = primitives.pad(sees, all_see, low=[0, 0], high=[0, 1], interior=[0, 0])
        size, outside = size + 1, init
    spread = [*x._bound_shape[:axis], count, *x._bound_shape[axis:]]
    kept = [i for i in range(x.ndim + 1) if i != axis]
    condition = primitives.broadcast(sees, shape=spread, axes=[axis, axis + 1])

    def value(x: Array, outside: Array) -> Array:
        seen = primitives.broadcast(x, shape=spread, axes=kept)
        seen = primitives.select(condition, seen, _core.broadcast_to(outside, spread))
        return _core.bind(_FOLDS[name], [seen], axes=[axis + 1])[0]

    if name not in ("max", "min") or _core.dtype_kind(x.dtype) != "float":
        return value(x, outside)
    chosen = custom_jvp(value)

    # The derivative of the first element that attains the extremum.
    def tangent_rule(primals: tuple[Array, Array], tangents: tuple[Array, Array]) -> tuple[Array, Array]:
        (x, outside), (t, _) = primals, tangents
        result = chosen(x, outside)
        seen = primitives.broadcast(x, shape=spread, axes=kept)
        attained = primitives.broadcast(result, shape=spread, axes=[i for i in range(x.ndim + 1) if i != axis + 1])
        nan = primitives.ne(seen, seen) & primitives.ne(attained, attained)
        attains = condition & (primitives.eq(seen, attained) | nan)
        position = primitives.iota(shape=spread, dtype=_INT32, axis=axis + 1)
        position = primitives.select(attains, position, _core.full(spread, size - 1, _INT32))
        index = primitives.reduce_min(position, axes=[axis + 1])
        return result, take_along_axis(t, index, axis, mode="clip")

    chosen.defjvp(tangent_rule)
    return _core.array(chosen(x, outside))


def _folded(
    computation: Callable[[Any, Any], Any], structure: Any, seen: list[Array], inits: list[Array], number: int
) -> list[Array]:
    """A fold by any function, one place of the window after the other."""
    shape = list(seen[0]._bound_shape)
    lines = [primitives.reshape(x, shape=[math.prod(shape[:number]), *shape[number:]]) for x in seen]
    starts = [_core.broadcast_to(init, shape[number:]) for init in inits]

    def step(carry: Any, line: Any) -> tuple[Any, None]:
        return computation(carry, line), None

    last = scan(step, structure.unflatten(starts), structure.unflatten(lines))[0]
    return [_core.array(leaf) for leaf in tree_util.tree_leaves(last)]


def reduce_window_shape_tuple(
    operand_shape: Sequence[int],
    window_dimensions: Sequence[int],
    window_strides: Sequence[int],
    padding: Any,
    base_dilation: Sequence[int] | None = None,
    window_dilation: Sequence[int] | None = None,
) -> tuple[int, ...]:
    """The shape of the result of `reduce_window`, whose padding is given as pairs here.

    >>> import cotangent as ct
    >>> ct.lax.reduce_window_shape_tuple((5, 7), (2, 3), (1, 2), [(0, 0), (1, 1)])
    (4, 4)
    """
    rank = len(operand_shape)
    base = per_axis("reduce_window_shape_tuple", "base_dilation", base_dilation, rank)
    spacing = per_axis("reduce_window_shape_tuple", "window_dilation", window_dilation, rank)
    strides = per_axis("reduce_window_shape_tuple", "window_strides", window_strides, rank)
    extents = [dilated_size(size, gap) for size, gap in zip(window_dimensions, spacing, strict=True)]
    sizes = [dilated_size(size, gap) for size, gap in zip(operand_shape, base, strict=True)]
    pads = resolve_pads("reduce_window_shape_tuple", sizes, extents, strides, padding)
    return tuple(_counts(sizes, pads, extents, strides))


check_arguments(globals())
