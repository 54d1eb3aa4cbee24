"""Reductions of sliding windows: pooling. Start with `reduce_window`."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from cotangent import _core, tree_util
from cotangent._base import primitives
from cotangent._base.arguments import check_arguments
from cotangent._base.capture import check_callable, give_lengths
from cotangent._base.messages import shapes_of
from cotangent._core import Array
from cotangent._ops.binding import constant, convert
from cotangent._ops.extents import alike, capacity, stretched
from cotangent.errors import ShapeError
from cotangent.lax._operands import as_weak_as, listed
from cotangent.lax.window_folds import (
    Fold,
    along_one,
    extremum,
    fold_of,
    folded,
    folded_by_elements,
    folded_by_slices,
    select_leaves,
)
from cotangent.lax.window_geometry import (
    Fitted,
    Slide,
    counts_of,
    dilated_size,
    fit,
    padtype_to_pads,
    per_axis,
    resolve_pads,
    sliding,
)

__all__ = ["padtype_to_pads", "reduce_window", "reduce_window_shape_tuple"]

# More elements of a window are not taken one by one.
_MOST_STEPS = 2**28
# Up to how many elements windows are looked at all at once, which without a compiler is that often the memory of the array.
_MOST_SEEN = 64


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
    """Combines the elements that each of many windows sees, as pooling does.

    The gradient of a maximum goes to the first of equal elements. Along a ragged axis windows end at the real
    length.

    Parameters
    ----------
    operand : array, or pytree of arrays
        Of one shape; several arrays are combined together.
    init_value : scalar, or pytree of scalars
        One for each array: what the combination begins with. Nothing outside of the array is combined.
    computation : callable
        `add`, `mul`, `max` or `min`, or another associative function of two elements (two pytrees of elements).
    window_dimensions : sequence of int
        The size of the window along each axis.
    window_strides : sequence of int, optional
        How far the window moves along each axis; by default 1.
    padding : str or sequence of (int, int)
        "SAME", "SAME_LOWER", "VALID" (the default), or a pair (low, high) for each axis.
    base_dilation : sequence of int, optional
        The distance of the array's elements along each axis; by default 1.
    window_dilation : sequence of int, optional
        The distance of the window's elements along each axis; by default 1.

    Returns
    -------
    array, or pytree of arrays
        One element for each place of the window.

    Raises
    ------
    ShapeError
        The arrays have several shapes, or an initial value is no scalar.

    Examples
    --------
    >>> x = ct.numpy.array([1.0, 3.0, 2.0, 5.0])
    >>> ct.lax.reduce_window(x, -ct.numpy.inf, ct.lax.max, (2,), (2,), "VALID")
    Array([3., 5.], dtype=float32)
    """
    check_callable(computation, "lax.reduce_window")
    arrays, inits, structure = _given(operand, init_value)
    rank = arrays[0].ndim
    windows = _moving(rank, window_dimensions, window_strides, padding, base_dilation, window_dilation)
    fold = fold_of(computation, arrays[0].dtype) if tree_util.treedef_is_leaf(structure) else None
    ragged = {axis for x in arrays for axis in _core.ragged_axes(x)}

    def typed(results: list[Array]) -> Any:
        # Of a dtype that is weak if that of the array is, in the named folds alone.
        return structure.unflatten(
            [as_weak_as(x, arrays) if fold is not None else convert(x, x.dtype) for x in results]
        )

    if not ragged.intersection(windows.axes):
        slides = [slide.cut() for slide in windows.slides(arrays[0])]
        if not ragged and any(slide.places == 0 or slide.window <= 0 for slide in slides):
            places = {axis: slide.places for axis, slide in zip(windows.axes, slides, strict=True)}
            return typed([stretched(init, arrays[0], places) for init in inits])
        if not ragged and any(slide.is_sparse() for slide in slides):
            results = folded_by_elements(computation, fold, structure, arrays, inits, windows.axes, slides)
            return typed(results)
        if all(slide.window > 0 for slide in slides):
            windows = windows.cut(slides)
    # Nothing but elements of the array is combined: what stands outside must change nothing.
    fitted = [
        windows.fitted(x, init if fold is None or fold.neutral is None else _core.full((), fold.neutral, x.dtype))
        for x, init in zip(arrays, inits, strict=True)
    ]
    lengths = {windows.axes[place]: length for place, length in fitted[0].lengths.items()}
    if fold is not None:
        result = _folded_by(fold, fitted[0], windows)
        return typed([give_lengths(fold.combine(stretched(inits[0], result), result), lengths)])
    results = _folded_by_any(computation, structure, arrays, inits, fitted, windows)
    return typed([give_lengths(result, lengths) for result in results])


def _given(operand: Any, init_value: Any) -> tuple[list[Array], list[Array], Any]:
    """The arrays of one shape, their initial values, and how they are nested."""
    leaves, structure = tree_util.tree_flatten(operand)
    given, init_structure = tree_util.tree_flatten(init_value)
    if structure != init_structure or not leaves:
        raise TypeError(
            f"lax.reduce_window: init_value must have the structure of operand, {structure}; got {init_structure}\n"
            "  pass one number for each array, nested alike"
        )
    arrays = [_core.array(leaf) for leaf in leaves]
    if not alike(*arrays):
        raise ShapeError(
            f"lax.reduce_window: operands must have one shape; got {shapes_of(arrays)}\n"
            "  broadcast them first, with ct.numpy.broadcast_arrays"
        )
    inits = []
    for x, start in zip(arrays, given, strict=True):
        init = _core.array(start)
        if init.ndim:
            raise ShapeError(
                f"lax.reduce_window: init_value must be a scalar; got shape {init.shape}\n"
                "  pass what changes nothing, as 0 does for sums, and combine the array with the result"
            )
        inits.append(_core.convert(init, x.dtype))
    return arrays, inits, structure


class _Windows(NamedTuple):
    """Windows that slide along some axes: what there is of each axis."""

    axes: list[int]
    sizes: list[int]
    strides: list[int]
    gaps: list[int]  # of the array's elements
    spacing: list[int]  # of the windows' elements
    padding: Any  # a word, or a pair an axis

    @property
    def extents(self) -> list[int]:
        """How far each window reaches."""
        return [dilated_size(size, gap) for size, gap in zip(self.sizes, self.spacing, strict=True)]

    def slides(self, x: Array) -> list[Slide]:
        """How the windows slide over ``x``, which is exact along their axes."""
        have = [capacity(x, axis) for axis in self.axes]
        sizes = [dilated_size(size, gap) for size, gap in zip(have, self.gaps, strict=True)]
        pads = resolve_pads("reduce_window", sizes, self.extents, self.strides, self.padding)
        counts = counts_of(sizes, pads, self.extents, self.strides)
        low = [pair[0] for pair in pads]
        return list(map(Slide, have, self.gaps, self.sizes, self.strides, self.spacing, low, counts))

    def cut(self, slides: Sequence[Slide]) -> _Windows:
        """Without the places of the windows that never meet an element."""
        sizes, pads = [slide.window for slide in slides], [(slide.low, slide.high()) for slide in slides]
        return self._replace(sizes=sizes, padding=pads)

    def fitted(self, x: Array, outside: Array) -> Fitted:
        """``x`` between its padding, with ``outside`` there and between its elements."""
        fit_x = fit("reduce_window", x, self.axes, self.extents, self.strides, self.gaps, self.padding, outside)
        low, high, interior = [0] * x.ndim, [0] * x.ndim, [0] * x.ndim
        for axis, pair, gap in zip(self.axes, fit_x.pads, self.gaps, strict=True):
            (low[axis], high[axis]), interior[axis] = pair, gap - 1
        y = fit_x.array
        if any(low) or any(high) or any(interior):
            y = primitives.pad(y, outside, low=low, high=high, interior=interior)
        return fit_x._replace(array=y)

    def seen(self, fitted: Fitted) -> Array:
        """What the windows see: their axes, then those of the array."""
        ones, none = [1] * len(self.axes), [0] * len(self.axes)
        return sliding(fitted.array, self.axes, self.sizes, fitted.counts, self.strides, self.spacing, ones, none)


def _moving(
    rank: int,
    dimensions: Sequence[int],
    strides: Sequence[int] | None,
    padding: Any,
    base_dilation: Sequence[int] | None,
    window_dilation: Sequence[int] | None,
) -> _Windows:
    """The windows along the axes where they do anything."""
    sizes = per_axis("reduce_window", "window_dimensions", dimensions, rank)
    steps = per_axis("reduce_window", "window_strides", strides, rank)
    gaps = per_axis("reduce_window", "base_dilation", base_dilation, rank)
    spacing = per_axis("reduce_window", "window_dilation", window_dilation, rank)
    named = isinstance(padding, str) or hasattr(padding, "name")
    if not named:
        padding = resolve_pads("reduce_window", [0] * rank, sizes, steps, padding)
    axes = [
        axis
        for axis in range(rank)
        if (sizes[axis], steps[axis], gaps[axis]) != (1, 1, 1) or (not named and padding[axis] != (0, 0))
    ]
    sizes, steps, gaps, spacing = ([values[axis] for axis in axes] for values in (sizes, steps, gaps, spacing))
    return _Windows(axes, sizes, steps, gaps, spacing, padding if named else [padding[axis] for axis in axes])


def _folded_by(fold: Fold, fitted: Fitted, windows: _Windows) -> Array:
    """The folds of windows by a primitive, without their initial value."""
    result = fitted.array
    geometry = list(zip(windows.axes, windows.sizes, windows.strides, windows.spacing, strict=True))
    if fold.is_extremum and _core.dtype_kind(result.dtype) == "float" and max(windows.sizes, default=1) <= 32:
        for axis, size, stride, spacing in reversed(geometry):
            result = extremum(fold, result, axis, size, stride, spacing)
        return result
    if math.prod(windows.sizes) <= _MOST_SEEN or not all(fitted.counts):
        return fold.reduce(windows.seen(fitted), axes=list(range(len(geometry))))
    for (axis, size, stride, spacing), places in reversed(list(zip(geometry, fitted.counts, strict=True))):
        result = along_one(fold, result, axis, size, stride, spacing, places)
    return result


def _folded_by_any(
    computation: Callable[[Any, Any], Any],
    structure: Any,
    arrays: list[Array],
    inits: list[Array],
    fitted: list[Fitted],
    windows: _Windows,
) -> list[Array]:
    """The folds of windows by any function, one place of the window after the other."""
    within, both, starts = computation, structure, inits
    if fitted[0].lengths or any(gap > 1 for gap in windows.gaps) or any(map(any, fitted[0].pads)):
        # Which elements are the array's own goes along.
        inside = constant(arrays[0], True, "bool")
        fitted = [*fitted, windows.fitted(inside, _core.full((), False, "bool"))]
        both, starts = tree_util.tree_structure((structure.unflatten(inits), 0)), [*inits, _core.full((), True, "bool")]

        def within(carry: Any, seen: Any) -> Any:
            return select_leaves(seen[1], computation(carry[0], seen[0]), carry[0]), carry[1]

    places = math.prod(windows.sizes)
    if places <= _MOST_SEEN or not all(fitted[0].counts):
        results = folded(within, both, [windows.seen(fit_x) for fit_x in fitted], starts, len(windows.axes))
    elif places > _MOST_STEPS:
        raise MemoryError(
            f"lax.reduce_window: windows of {tuple(windows.sizes)} have {places} elements, and a computation of its own takes "
            "them one by one\n  use lax.add, lax.mul, lax.max or lax.min, or smaller windows"
        )
    else:
        steps = list(zip(windows.axes, windows.sizes, windows.strides, windows.spacing, strict=True))
        results = folded_by_slices(within, both, fitted, starts, steps)
    return results[: len(arrays)]


def reduce_window_shape_tuple(
    operand_shape: Sequence[int],
    window_dimensions: Sequence[int],
    window_strides: Sequence[int],
    padding: Any,
    base_dilation: Sequence[int] | None = None,
    window_dilation: Sequence[int] | None = None,
) -> tuple[int, ...]:
    """The shape of the result of `reduce_window`.

    Parameters
    ----------
    operand_shape : sequence of int
        The shape of the array.
    window_dimensions, window_strides : sequence of int
        As of `reduce_window`.
    padding : sequence of (int, int)
        A pair (low, high) for each axis.
    base_dilation, window_dilation : sequence of int, optional
        As of `reduce_window`; by default 1.

    Returns
    -------
    tuple of int
        The shape.

    Examples
    --------
    >>> ct.lax.reduce_window_shape_tuple((5, 7), (2, 3), (1, 2), [(0, 0), (1, 1)])
    (4, 4)
    """
    rank = len(listed("reduce_window_shape_tuple", "operand_shape", operand_shape))
    window_dimensions = per_axis("reduce_window_shape_tuple", "window_dimensions", window_dimensions, rank)
    base = per_axis("reduce_window_shape_tuple", "base_dilation", base_dilation, rank)
    spacing = per_axis("reduce_window_shape_tuple", "window_dilation", window_dilation, rank)
    strides = per_axis("reduce_window_shape_tuple", "window_strides", window_strides, rank)
    extents = [dilated_size(size, gap) for size, gap in zip(window_dimensions, spacing, strict=True)]
    sizes = [dilated_size(size, gap) for size, gap in zip(operand_shape, base, strict=True)]
    pads = resolve_pads("reduce_window_shape_tuple", sizes, extents, strides, padding)
    return tuple(counts_of(sizes, pads, extents, strides))


check_arguments(globals())
