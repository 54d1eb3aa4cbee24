"""Convolutions: what windows see, multiplied with filters.

Many channels are a matrix product of the windows with the filters; filters for each channel alone are sums of moved inputs
(`tap_sums`), or of many places, a product that the compiler fuses with its sum.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from cotangent import _core
from cotangent._base import primitives
from cotangent._base.arguments import check_arguments
from cotangent._base.capture import give_lengths
from cotangent._base.device import Placement
from cotangent._base.precision import check_precision
from cotangent._core import Array, kind
from cotangent._ops.extents import capacities, capacity
from cotangent.errors import ShapeError
from cotangent.lax._operands import as_weak_as, listed, one_dtype
from cotangent.lax.convolution_shapes import (
    ConvDimensionNumbers,
    _transposed_pads,
    check_groups,
    conv_dimension_numbers,
)
from cotangent.lax.ragged_filters import with_ragged_filters
from cotangent.lax.tap_sums import has_few_taps, tap_sums
from cotangent.lax.window_geometry import check_windows, dilated_size, fit, per_axis, resolve_pads, slid, sliding

__all__ = [
    "conv",
    "conv_general_dilated",
    "conv_general_dilated_local",
    "conv_general_dilated_patches",
    "conv_transpose",
    "conv_with_general_padding",
]


def _transposed(x: Array, order: Sequence[int]) -> Array:
    order = list(order)
    return x if order == list(range(x.ndim)) else primitives.transpose(x, permutation=order)


def _reshaped(x: Array, shape: Sequence[int]) -> Array:
    return x if capacities(x) == tuple(shape) else primitives.reshape(x, shape=list(shape))


def conv_general_dilated(
    lhs: Any,
    rhs: Any,
    window_strides: Sequence[int],
    padding: Any,
    lhs_dilation: Sequence[int] | None = None,
    rhs_dilation: Sequence[int] | None = None,
    dimension_numbers: Any = None,
    feature_group_count: int = 1,
    batch_group_count: int = 1,
    precision: Any = None,
    preferred_element_type: Any = None,
    window_reversal: Sequence[bool] | None = None,
    out_sharding: Placement = None,
) -> Array:
    """Convolves an array with filters, over any number of spatial axes.

    As in neural networks it is a cross-correlation: filters are not turned round unless ``window_reversal`` asks
    for it.

    Parameters
    ----------
    lhs : array
        The input, by default of shape (batch, feature, spatial...).
    rhs : array
        The filters, by default of shape (output feature, input feature, spatial...).
    window_strides : sequence of int
        How far the filters move along each spatial axis.
    padding : str or sequence of (int, int)
        "SAME", "SAME_LOWER", "VALID", or a pair (low, high) for each spatial axis.
    lhs_dilation : sequence of int, optional
        The distance of the input's elements along each spatial axis; above 1 in a transposed convolution.
    rhs_dilation : sequence of int, optional
        The distance of the filters' elements along each spatial axis.
    dimension_numbers : sequence of str or ConvDimensionNumbers, optional
        As of `conv_dimension_numbers`.
    feature_group_count : int
        Into how many groups the features fall; each has filters of its own.
    batch_group_count : int
        Into how many groups the batch falls.
    precision : optional
        Checked only: products always have the precision of their dtype.
    preferred_element_type : dtype, optional
        The dtype of the result; operands are converted to it.
    window_reversal : sequence of bool, optional
        Which spatial axes of the filters are turned round.
    out_sharding : device or sharding, optional
        What the result is made on; by default the default device.

    Returns
    -------
    array
        By default of shape (batch, output feature, place...).

    Raises
    ------
    ShapeError
        Features and groups do not fit.
    DTypeError
        The operands have two dtypes.

    Examples
    --------
    >>> x, w = ct.numpy.ones((1, 1, 4)), ct.numpy.array([[[1.0, 2.0, 3.0]]])
    >>> ct.lax.conv_general_dilated(x, w, (1,), "SAME")
    Array([[[5., 6., 6., 3.]]], dtype=float32)
    """
    check_precision(precision)
    operands = x, filters = one_dtype("conv_general_dilated", (lhs, rhs))
    if preferred_element_type is not None:
        x, filters = _core.convert(x, preferred_element_type), _core.convert(filters, preferred_element_type)
    numbers = conv_dimension_numbers(capacities(x), capacities(filters), dimension_numbers)
    rank = x.ndim - 2
    batch, channels = (capacity(x, axis) for axis in numbers.lhs_spec[:2])
    outputs, inputs, *windows = (capacity(filters, axis) for axis in numbers.rhs_spec)
    check_groups(batch, channels, inputs, outputs, feature_group_count, batch_group_count)
    strides = per_axis("conv_general_dilated", "window_strides", window_strides, rank)
    dilation = per_axis("conv_general_dilated", "lhs_dilation", lhs_dilation, rank)
    spacing = per_axis("conv_general_dilated", "rhs_dilation", rhs_dilation, rank)
    if window_reversal is not None and any(window_reversal):
        turned = sorted(numbers.rhs_spec[2 + axis] for axis, reverse in enumerate(window_reversal) if reverse)
        filters = primitives.reverse(filters, axes=turned)
    if any(axis in numbers.rhs_spec[2:] for axis in _core.ragged_axes(filters)):
        groups = feature_group_count, batch_group_count
        result = with_ragged_filters(
            x, filters, numbers, strides, spacing, dilation, padding,
            lambda x, filters: conv_general_dilated(x, filters, strides, "VALID", None, spacing, numbers, *groups),
        )  # fmt: skip
        return as_weak_as(result, operands)

    # Where each place's features are next to each other they stay so: what windows see is copied in long runs.
    one_group = feature_group_count == batch_group_count == 1
    alone = inputs == 1 and batch_group_count == 1 and (not one_group or outputs == 1)
    features_last = (one_group or alone) and numbers.lhs_spec[1] == rank + 1
    x = _transposed(x, _features_last(numbers.lhs_spec) if features_last else numbers.lhs_spec)
    axes = list(range(1, 1 + rank) if features_last else range(2, 2 + rank))
    extents = [dilated_size(size, gap) for size, gap in zip(windows, spacing, strict=True)]
    x, pads, counts, lengths = fit("conv_general_dilated", x, axes, extents, strides, dilation, padding)
    low = [low for low, _ in pads]
    feature_axis = rank + 1 if features_last else 1
    if alone and has_few_taps(x, windows, counts):
        each = outputs // channels
        order, shape = [*numbers.rhs_spec[2:], *numbers.rhs_spec[1::-1]], [*windows, channels, each]
        known = None
        # Not under an eager transform, which is captured anew for each array that the program makes.
        if _core.capture_mode() == "jit" and _core.is_traced(x) and not _core.is_traced(filters):
            known = _core.to_numpy(filters).transpose(order).reshape(shape)
        filters = _reshaped(_transposed(filters, order), shape)
        result = tap_sums(x, filters, feature_axis, counts, strides, spacing, dilation, pads, known)
        out = _features_last(numbers.out_spec) if features_last else list(numbers.out_spec)
        result = give_lengths(result, {axes[place]: length for place, length in lengths.items()})
    elif one_group:
        outputs_of, inputs_of, *places = numbers.rhs_spec
        if _is_spread(x, axes, counts):
            filters = _transposed(filters, [inputs_of, *places, outputs_of])
            dtype = x.dtype
            if kind(x) == "float" and dtype.itemsize == 2:
                # Products that are rounded to 16 bits before they are summed would lose too much.
                x, filters = _core.convert(x, "float32"), _core.convert(filters, "float32")
            result = _spread_products(x, feature_axis, filters, counts, strides, spacing, dilation, low)
            result = _core.convert(result, dtype)
        else:
            # Contracted in the order in which they lie.
            order = [*places, inputs_of] if features_last else [inputs_of, *places]
            filters = _transposed(filters, [*order, outputs_of])
            at = 1 + rank if features_last else 2
            seen = sliding(x, axes, windows, counts, strides, spacing, dilation, low, at=at)
            kernel = list(range(at, at + rank + 1) if features_last else range(1, rank + 2))
            result = _dot(seen, filters, kernel, list(range(rank + 1)), [], [])
        out = _features_last(numbers.out_spec)  # [batch, place..., output]
        result = give_lengths(result, {1 + place: length for place, length in lengths.items()})
    else:
        if features_last:
            x, axes = _transposed(x, [0, rank + 1, *axes]), list(range(2, 2 + rank))
        filters = _transposed(filters, numbers.rhs_spec)
        seen = sliding(x, axes, windows, counts, strides, spacing, dilation, low, at=2)
        result = _product(seen, filters, rank, feature_group_count, batch_group_count)
        out = list(numbers.out_spec)
        result = give_lengths(result, {2 + place: length for place, length in lengths.items()})
    placed = [0] * (rank + 2)
    for position, axis in enumerate(out):
        placed[axis] = position
    return as_weak_as(_transposed(result, placed), operands)


def _features_last(spec: Sequence[int]) -> list[int]:
    return [spec[0], *spec[2:], spec[1]]


def _is_spread(x: Array, axes: Sequence[int], counts: Sequence[int]) -> bool:
    """Whether there are so many more places than elements that most of what windows see is the zeros between these."""
    return math.prod(counts) > 2 * math.prod(capacity(x, axis) for axis in axes) and kind(x) != "bool"


def _spread_products(
    x: Array,
    feature_axis: int,
    filters: Array,
    counts: Sequence[int],
    strides: Sequence[int],
    spacing: Sequence[int],
    dilation: Sequence[int],
    low: Sequence[int],
) -> Array:
    """Filters [feature, window..., output] to [batch, place..., output]: the products of each element, then their sums.

    The same as products of what windows see, as sliding is linear in each feature; but nothing is multiplied with zeros.
    """
    rank = len(counts)
    spatial, windows = list(range(1, 1 + rank)), list(range(1 + rank, 1 + 2 * rank))
    products = _dot(x, filters, [feature_axis], [0], [], [])  # [batch, spatial..., window..., output]
    placed = slid(products, spatial, windows, counts, strides, spacing, dilation, low)
    return primitives.reduce_sum(placed, axes=windows)


def _product(seen: Array, filters: Array, rank: int, feature_groups: int, batch_groups: int) -> Array:
    """[batch, feature, window..., place...] and filters to [batch, output feature, place...], in groups."""
    batch, channels, *rest = capacities(seen)
    windows, places = rest[:rank], rest[rank:]
    outputs, inputs = capacities(filters)[:2]
    groups = max(feature_groups, batch_groups)
    if feature_groups > 1 and inputs == 1:
        # A filter for each channel: nothing to multiply as matrices.
        each = outputs // groups
        shape = [batch, groups, each, *windows, *places]
        left = primitives.broadcast(seen, shape=shape, axes=[0, 1, *range(3, 3 + 2 * rank)])
        right = _reshaped(filters, [groups, each, *windows])
        right = primitives.broadcast(right, shape=shape, axes=list(range(1, 3 + rank)))
        product = primitives.mul(left, right)
        result = primitives.reduce_sum(product, axes=list(range(3, 3 + rank)))
        return _reshaped(result, [batch, outputs, *places])
    kernel = list(range(2, 2 + rank))
    filters = _reshaped(filters, [groups, outputs // groups, inputs, *windows])
    inner = [axis + 1 for axis in kernel]
    if feature_groups > 1:
        seen = _reshaped(seen, [batch, groups, inputs, *windows, *places])
        result = _dot(seen, filters, [2, *inner], [2, *inner], [1], [0])  # [group, batch, place..., output]
        result = _transposed(result, [1, 0, rank + 2, *range(2, rank + 2)])
        return _reshaped(result, [batch, outputs, *places])
    seen = _reshaped(seen, [groups, batch // groups, channels, *windows, *places])
    result = _dot(seen, filters, [2, *inner], [2, *inner], [0], [0])  # [group, batch, place..., output]
    result = _transposed(result, [1, 0, rank + 2, *range(2, rank + 2)])
    return _reshaped(result, [batch // groups, outputs, *places])


def _dot(
    x: Array, y: Array, x_contract: list[int], y_contract: list[int], x_batch: list[int], y_batch: list[int]
) -> Array:
    return primitives.dot_general(
        x,
        y,
        lhs_contract=x_contract,
        rhs_contract=y_contract,
        lhs_batch=x_batch,
        rhs_batch=y_batch,
    )


def conv(
    lhs: Any,
    rhs: Any,
    window_strides: Sequence[int],
    padding: Any,
    precision: Any = None,
    preferred_element_type: Any = None,
) -> Array:
    """A convolution in the default layout without dilations; see `conv_general_dilated`.

    Parameters
    ----------
    lhs : array, shape (batch, feature, spatial...)
        The input.
    rhs : array, shape (output feature, input feature, spatial...)
        The filters.
    window_strides : sequence of int
        How far the filters move along each spatial axis.
    padding : str or sequence of (int, int)
        As of `conv_general_dilated`.
    precision, preferred_element_type : optional
        As of `conv_general_dilated`.

    Returns
    -------
    array, shape (batch, output feature, place...)
        The sums.

    Examples
    --------
    >>> ct.lax.conv(ct.numpy.arange(4.0).reshape(1, 1, 4), ct.numpy.array([[[1.0, -1.0]]]), (1,), "VALID")
    Array([[[-1., -1., -1.]]], dtype=float32)
    """
    check_windows("conv", window_strides, padding, rhs)
    return conv_general_dilated(
        lhs, rhs, window_strides, padding, precision=precision, preferred_element_type=preferred_element_type
    )


def conv_with_general_padding(
    lhs: Any,
    rhs: Any,
    window_strides: Sequence[int],
    padding: Any,
    lhs_dilation: Sequence[int] | None,
    rhs_dilation: Sequence[int] | None,
    precision: Any = None,
    preferred_element_type: Any = None,
) -> Array:
    """A convolution in the default layout; see `conv_general_dilated`.

    Parameters
    ----------
    lhs : array, shape (batch, feature, spatial...)
        The input.
    rhs : array, shape (output feature, input feature, spatial...)
        The filters.
    window_strides : sequence of int
        How far the filters move along each spatial axis.
    padding : str or sequence of (int, int)
        As of `conv_general_dilated`.
    lhs_dilation, rhs_dilation : sequence of int or None
        The distance of the elements of input and filters along each spatial axis.
    precision, preferred_element_type : optional
        As of `conv_general_dilated`.

    Returns
    -------
    array, shape (batch, output feature, place...)
        The sums.

    Examples
    --------
    >>> x = ct.numpy.arange(4.0).reshape(1, 1, 4)
    >>> ct.lax.conv_with_general_padding(x, ct.numpy.ones((1, 1, 2)), (1,), [(1, 0)], None, (2,))
    Array([[[1., 2., 4.]]], dtype=float32)
    """
    check_windows("conv_with_general_padding", window_strides, padding, rhs)
    return conv_general_dilated(
        lhs,
        rhs,
        window_strides,
        padding,
        lhs_dilation,
        rhs_dilation,
        precision=precision,
        preferred_element_type=preferred_element_type,
    )


def conv_transpose(
    lhs: Any,
    rhs: Any,
    strides: Sequence[int],
    padding: Any,
    rhs_dilation: Sequence[int] | None = None,
    dimension_numbers: Any = None,
    transpose_kernel: bool = False,
    precision: Any = None,
    preferred_element_type: Any = None,
    use_consistent_padding: bool = False,
) -> Array:
    """Convolves an input that is spread by ``strides``: what the gradient of a strided convolution computes.

    Parameters
    ----------
    lhs : array
        The input, by default of shape (batch, spatial..., feature).
    rhs : array
        The filters, by default of shape (spatial..., input feature, output feature).
    strides : sequence of int
        The distance of the input's elements along each spatial axis.
    padding : str or sequence of (int, int)
        "SAME", "VALID", or a pair (low, high) for each spatial axis, of the spread input unless
        ``use_consistent_padding``.
    rhs_dilation : sequence of int, optional
        The distance of the filters' elements along each spatial axis.
    dimension_numbers : sequence of str or ConvDimensionNumbers, optional
        As of `conv_dimension_numbers`.
    transpose_kernel : bool
        Whether the filters are those of the convolution whose gradient is meant: they are turned round, with
        features exchanged.
    precision, preferred_element_type : optional
        As of `conv_general_dilated`.
    use_consistent_padding : bool
        Whether pairs are, as the names always are, the padding of the convolution that is transposed.

    Returns
    -------
    array
        By default of shape (batch, place..., output feature).

    Examples
    --------
    >>> x, w = ct.numpy.array([[[1.0], [2.0]]]), ct.numpy.array([[[1.0]], [[10.0]]])
    >>> ct.lax.conv_transpose(x, w, (2,), "VALID").ravel()
    Array([10.,  1., 20.,  2.], dtype=float32)
    """
    x, filters = _core.array(lhs), _core.array(rhs)
    rank = x.ndim - 2
    if dimension_numbers is None:
        spatial = "HWD"[:rank]
        dimension_numbers = (f"N{spatial}C", f"{spatial}IO", f"N{spatial}C")
    numbers = conv_dimension_numbers(capacities(x), capacities(filters), dimension_numbers)
    spacing = per_axis("conv_transpose", "rhs_dilation", rhs_dilation, rank)
    strides = per_axis("conv_transpose", "strides", strides, rank)
    if not isinstance(padding, str) and not hasattr(padding, "name"):
        padding = resolve_pads("conv_transpose", spacing, spacing, strides, padding)
    if isinstance(padding, str) or use_consistent_padding:
        given: Sequence[Any] = (
            [padding] * rank
            if isinstance(padding, str)
            else resolve_pads("conv_transpose", spacing, spacing, strides, padding)
        )
        pads = []
        for axis, stride, gap, pad in zip(numbers.rhs_spec[2:], strides, spacing, given, strict=True):
            extent = dilated_size(capacity(filters, axis), gap)
            pads.append(_transposed_pads(extent, stride, pad))
        padding = pads
    if transpose_kernel:
        filters = primitives.reverse(filters, axes=sorted(numbers.rhs_spec[2:]))
        order = list(range(filters.ndim))
        first, second = numbers.rhs_spec[:2]
        order[first], order[second] = second, first
        filters = _transposed(filters, order)
    return conv_general_dilated(
        x, filters, [1] * rank, padding, strides, spacing, numbers, 1, 1, precision, preferred_element_type
    )


def conv_general_dilated_patches(
    lhs: Any,
    filter_shape: Sequence[int],
    window_strides: Sequence[int],
    padding: Any,
    lhs_dilation: Sequence[int] | None = None,
    rhs_dilation: Sequence[int] | None = None,
    dimension_numbers: Any = None,
    precision: Any = None,
    preferred_element_type: Any = None,
) -> Array:
    """What the filters of a convolution see, as features of the result.

    The features are those of the input, each with all places of the window in row-major order.

    Parameters
    ----------
    lhs : array
        The input, by default of shape (batch, feature, spatial...).
    filter_shape : sequence of int
        The spatial sizes of the filters.
    window_strides : sequence of int
        How far the filters move along each spatial axis.
    padding : str or sequence of (int, int)
        As of `conv_general_dilated`.
    lhs_dilation, rhs_dilation : sequence of int, optional
        The distance of the elements of input and filters along each spatial axis.
    dimension_numbers : sequence of str or ConvDimensionNumbers, optional
        As of `conv_dimension_numbers`.
    precision, preferred_element_type : optional
        As of `conv_general_dilated`.

    Returns
    -------
    array
        By default of shape (batch, feature * window places, place...).

    Examples
    --------
    >>> ct.lax.conv_general_dilated_patches(ct.numpy.arange(4.0).reshape(1, 1, 4), (2,), (1,), "VALID")
    Array([[[0., 1., 2.],
            [1., 2., 3.]]], dtype=float32)
    """
    check_precision(precision)
    x = _core.array(lhs)
    if preferred_element_type is not None:
        x = _core.convert(x, preferred_element_type)
    windows = per_axis("conv_general_dilated_patches", "filter_shape", filter_shape, max(x.ndim - 2, 0))
    rank = len(windows)
    numbers = conv_dimension_numbers(capacities(x), [1] * x.ndim, dimension_numbers)
    x = _transposed(x, numbers.lhs_spec)
    batch, channels = capacities(x)[:2]
    strides = per_axis("conv_general_dilated_patches", "window_strides", window_strides, rank)
    dilation = per_axis("conv_general_dilated_patches", "lhs_dilation", lhs_dilation, rank)
    spacing = per_axis("conv_general_dilated_patches", "rhs_dilation", rhs_dilation, rank)
    extents = [dilated_size(size, gap) for size, gap in zip(windows, spacing, strict=True)]
    axes = list(range(2, 2 + rank))
    x, pads, counts, lengths = fit("conv_general_dilated_patches", x, axes, extents, strides, dilation, padding)
    seen = sliding(x, axes, windows, counts, strides, spacing, dilation, [low for low, _ in pads], at=2)
    result = _reshaped(seen, [batch, channels * math.prod(windows), *counts])
    result = give_lengths(result, {2 + place: length for place, length in lengths.items()})
    placed = [0] * (rank + 2)
    for position, axis in enumerate(numbers.out_spec):
        placed[axis] = position
    return _transposed(result, placed)


def conv_general_dilated_local(
    lhs: Any,
    rhs: Any,
    window_strides: Sequence[int],
    padding: Any,
    filter_shape: Sequence[int],
    lhs_dilation: Sequence[int] | None = None,
    rhs_dilation: Sequence[int] | None = None,
    dimension_numbers: Any = None,
    precision: Any = None,
) -> Array:
    """A convolution whose filters differ from place to place ("locally connected").

    Parameters
    ----------
    lhs : array
        The input, by default of shape (batch, feature, spatial...).
    rhs : array
        The filters, by default of shape (output feature, input feature * window places, place...).
    window_strides : sequence of int
        How far the filters move along each spatial axis.
    padding : str or sequence of (int, int)
        As of `conv_general_dilated`.
    filter_shape : sequence of int
        The spatial sizes of the filters.
    lhs_dilation, rhs_dilation : sequence of int, optional
        The distance of the elements of input and filters along each spatial axis.
    dimension_numbers : sequence of str or ConvDimensionNumbers, optional
        As of `conv_dimension_numbers`.
    precision : optional
        Checked only.

    Returns
    -------
    array
        By default of shape (batch, output feature, place...).

    Raises
    ------
    ShapeError
        The filters do not have the inputs and places that the windows have.

    Examples
    --------
    >>> x, w = ct.numpy.ones((1, 1, 3)), ct.numpy.array([[[1.0, 3.0], [2.0, 4.0]]])
    >>> ct.lax.conv_general_dilated_local(x, w, (1,), "VALID", (2,))
    Array([[[3., 7.]]], dtype=float32)
    """
    check_precision(precision)
    operands = x, filters = one_dtype("conv_general_dilated_local", (lhs, rhs))
    numbers = conv_dimension_numbers(capacities(x), capacities(filters), dimension_numbers)
    rank = len(listed("conv_general_dilated_local", "filter_shape", filter_shape))
    standard = tuple(range(rank + 2))
    patches = conv_general_dilated_patches(
        _transposed(x, numbers.lhs_spec),
        filter_shape,
        window_strides,
        padding,
        lhs_dilation,
        rhs_dilation,
        ConvDimensionNumbers(standard, standard, standard),
    )
    filters = _transposed(filters, numbers.rhs_spec)
    if capacities(filters)[1:] != capacities(patches)[1:]:
        raise ShapeError(
            f"conv_general_dilated_local: the filters must have {patches.shape[1]} inputs (features times the window) and "
            f"the places {tuple(patches.shape[2:])}; got {filters.shape[1]} and {tuple(filters.shape[2:])}\n"
            f"  make filters of shape (outputs, {', '.join(map(str, patches.shape[1:]))})"
        )
    places = list(range(2, 2 + rank))
    result = _dot(patches, filters, [1], [1], places, places)  # [place..., batch, output]
    result = _transposed(result, [rank, rank + 1, *range(rank)])
    placed = [0] * (rank + 2)
    for position, axis in enumerate(numbers.out_spec):
        placed[axis] = position
    return as_weak_as(_transposed(result, placed), operands)


check_arguments(globals())
