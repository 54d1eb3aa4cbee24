"""The layouts of convolutions, and the shapes of their results."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from cotangent._base.arguments import check_arguments, suggestion
from cotangent.errors import ShapeError
from cotangent.lax._operands import listed
from cotangent.lax.window_geometry import dilated_size, per_axis, resolve_pads, window_count

__all__ = [
    "ConvDimensionNumbers",
    "conv_dimension_numbers",
    "conv_general_permutations",
    "conv_general_shape_tuple",
    "conv_shape_tuple",
    "conv_transpose_shape_tuple",
]


class ConvDimensionNumbers(NamedTuple):
    """Which axes of a convolution's operands are which.

    ``lhs_spec`` and ``out_spec`` are the batch axis, the feature axis and the spatial axes; ``rhs_spec`` the axis
    of output features, that of input features and the spatial axes.
    """

    lhs_spec: Sequence[int]
    rhs_spec: Sequence[int]
    out_spec: Sequence[int]


def _three_parts(dimension_numbers: Any, spatial: str = "HW") -> Sequence[Any]:
    if not isinstance(dimension_numbers, (tuple, list)) or len(dimension_numbers) != 3:
        raise ValueError(
            f"convolution: dimension_numbers has three parts; got {dimension_numbers!r}\n"
            f"  name the axes of input, filters and result: ('NC{spatial}', 'OI{spatial}', 'NC{spatial}')"
        )
    return dimension_numbers


def conv_dimension_numbers(lhs_shape: Sequence[int], rhs_shape: Sequence[int], dimension_numbers: Any) -> Any:
    """The dimension numbers of a convolution as axes.

    Parameters
    ----------
    lhs_shape, rhs_shape : sequence of int
        The shapes of input and filters; only their numbers of axes count.
    dimension_numbers : sequence of str, ConvDimensionNumbers or None
        Three strings such as ``("NHWC", "HWIO", "NHWC")``; None is ``NCHW``, ``OIHW``, ``NCHW``.

    Returns
    -------
    ConvDimensionNumbers
        The axes.

    Raises
    ------
    ValueError
        The strings do not name all axes once, or name several sets of spatial axes.

    Examples
    --------
    >>> ct.lax.conv_dimension_numbers((1, 8, 8, 3), (3, 3, 3, 4), ("NHWC", "HWIO", "NHWC")).rhs_spec
    (3, 2, 0, 1)
    """
    rank = len(listed("conv_dimension_numbers", "lhs_shape", lhs_shape))
    if len(listed("conv_dimension_numbers", "rhs_shape", rhs_shape)) != rank:
        raise ShapeError(
            f"convolution: input and filters must have equal ranks; got {rank} and {len(rhs_shape)}\n"
            "  both have two axes and the spatial ones: insert axes of size 1 with x[None]"
        )
    spatial_names = {3: "W", 4: "HW", 5: "DHW"}.get(rank, "WXYZABCDE"[: max(rank - 2, 0)])
    if isinstance(dimension_numbers, ConvDimensionNumbers):
        return dimension_numbers
    if dimension_numbers is None:
        order = tuple(range(rank))
        return ConvDimensionNumbers(order, order, order)
    lhs, rhs, out = _three_parts(dimension_numbers, spatial_names)
    if not isinstance(lhs, str):
        return ConvDimensionNumbers(tuple(lhs), tuple(rhs), tuple(out))
    for spec, letters in ((lhs, "NC"), (rhs, "OI"), (out, "NC")):
        if len(spec) != rank or len(set(spec)) != rank or not set(letters) <= set(spec):
            raise ValueError(
                f"convolution: {spec!r} must name {rank} different axes, {letters[0]} and {letters[1]} among them\n"
                f"  '{letters}{spatial_names}' is one order of them"
            )
    spatial = [letter for letter in rhs if letter not in "OI"]
    if {*spatial} != {*lhs} - {*"NC"} or {*spatial} != {*out} - {*"NC"}:
        raise ValueError(
            f"convolution: {lhs!r}, {rhs!r} and {out!r} must name the same spatial axes\n"
            f"  give each spatial axis one letter in all three, as in ('NC{spatial_names}', 'OI{spatial_names}', 'NC{spatial_names}')"
        )

    def axes(spec: str, letters: str) -> tuple[int, ...]:
        return tuple(spec.index(letter) for letter in [*letters, *spatial])

    return ConvDimensionNumbers(axes(lhs, "NC"), axes(rhs, "OI"), axes(out, "NC"))


def _transposed_pads(extent: int, stride: int, padding: str | Sequence[int]) -> tuple[int, int]:
    """The padding of a transposed convolution's spread input, from the padding of the convolution that it transposes."""
    if not isinstance(padding, str):
        low, high = padding
        return extent - 1 - low, extent - 1 - high
    total = extent + stride - 2
    if padding.upper() == "SAME":
        low = extent - 1 if stride > extent - 1 else -(-total // 2)
    elif padding.upper() == "VALID":
        total += max(extent - stride, 0)
        low = extent - 1
    else:
        near = suggestion(padding.upper(), ("SAME", "VALID"))
        raise ValueError(
            f'conv_transpose: padding must be "SAME", "VALID" or pairs; got {padding!r}{near}\n'
            "  pass padding='SAME', or pairs such as [(1, 1), (1, 1)], one a spatial axis"
        )
    return low, total - low


# ---- Shapes ----------------------------------------------------------------------------------------------------------


def conv_general_permutations(dimension_numbers: Any) -> tuple[tuple[int, ...], ...]:
    """How the axes of a convolution's input, filters and result are permuted to the default layout.

    Parameters
    ----------
    dimension_numbers : sequence of str
        Three strings, as of `conv_dimension_numbers`.

    Returns
    -------
    tuple of (tuple of int)
        Three permutations.

    Examples
    --------
    >>> ct.lax.conv_general_permutations(("NWC", "WIO", "NWC"))
    ((0, 2, 1), (2, 1, 0), (0, 2, 1))
    """
    lhs, rhs, _ = (listed("conv_general_permutations", "axes", axes) for axes in _three_parts(dimension_numbers))
    numbers = conv_dimension_numbers([0] * len(lhs), [0] * len(rhs), dimension_numbers)
    return tuple(tuple(axes) for axes in numbers)


def conv_shape_tuple(
    lhs_shape: Sequence[int], rhs_shape: Sequence[int], strides: Sequence[int], pads: Any, batch_group_count: int = 1
) -> tuple[int, ...]:
    """The shape of the result of a convolution in the default layout.

    Parameters
    ----------
    lhs_shape, rhs_shape : sequence of int
        The shapes of input and filters.
    strides : sequence of int
        How far the filters move along each spatial axis.
    pads : str or sequence of (int, int)
        As of `conv_general_dilated`.
    batch_group_count : int
        Into how many groups the batch falls.

    Returns
    -------
    tuple of int
        The shape.

    Examples
    --------
    >>> ct.lax.conv_shape_tuple((2, 3, 8), (5, 3, 3), (1,), "SAME")
    (2, 5, 8)
    """
    conv_dimension_numbers(lhs_shape, rhs_shape, None)  # says that they have equal numbers of axes
    strides = per_axis("conv_shape_tuple", "strides", strides, len(lhs_shape) - 2)
    pads = resolve_pads("conv_shape_tuple", lhs_shape[2:], rhs_shape[2:], strides, pads)
    places = [
        window_count(size + low + high, window, stride)
        for size, window, stride, (low, high) in zip(lhs_shape[2:], rhs_shape[2:], strides, pads, strict=True)
    ]
    return (lhs_shape[0] // batch_group_count, rhs_shape[0], *places)


def conv_general_shape_tuple(
    lhs_shape: Sequence[int],
    rhs_shape: Sequence[int],
    window_strides: Sequence[int],
    padding: Any,
    dimension_numbers: Any,
) -> tuple[int, ...]:
    """The shape of the result of a convolution without dilations, in any layout.

    Parameters
    ----------
    lhs_shape, rhs_shape : sequence of int
        The shapes of input and filters.
    window_strides : sequence of int
        How far the filters move along each spatial axis.
    padding : str or sequence of (int, int)
        As of `conv_general_dilated`.
    dimension_numbers : sequence of str
        Three strings, as of `conv_dimension_numbers`.

    Returns
    -------
    tuple of int
        The shape.

    Examples
    --------
    >>> ct.lax.conv_general_shape_tuple((2, 8, 3), (3, 3, 5), (1,), "SAME", ("NWC", "WIO", "NWC"))
    (2, 8, 5)
    """
    lhs, rhs, out = conv_general_permutations(dimension_numbers)
    conv_dimension_numbers(lhs_shape, rhs_shape, dimension_numbers)
    shape = conv_shape_tuple([lhs_shape[i] for i in lhs], [rhs_shape[i] for i in rhs], window_strides, padding)
    return tuple(shape[out.index(axis)] for axis in range(len(shape)))


def conv_transpose_shape_tuple(
    lhs_shape: Sequence[int],
    rhs_shape: Sequence[int],
    window_strides: Sequence[int],
    padding: Any,
    dimension_numbers: Any,
) -> tuple[int, ...]:
    """The shape of the result of a transposed convolution, in any layout.

    Parameters
    ----------
    lhs_shape, rhs_shape : sequence of int
        The shapes of input and filters.
    window_strides : sequence of int
        The distance of the input's elements along each spatial axis.
    padding : str or sequence of (int, int)
        As of `conv_transpose`.
    dimension_numbers : sequence of str
        Three strings, as of `conv_dimension_numbers`.

    Returns
    -------
    tuple of int
        The shape.

    Examples
    --------
    >>> ct.lax.conv_transpose_shape_tuple((2, 3, 8), (5, 3, 3), (2,), "SAME", ("NCW", "OIW", "NCW"))
    (2, 5, 16)
    """
    lhs, rhs, out = conv_general_permutations(dimension_numbers)
    conv_dimension_numbers(lhs_shape, rhs_shape, dimension_numbers)
    window_strides = per_axis("conv_transpose_shape_tuple", "window_strides", window_strides, len(lhs) - 2)
    sizes, windows = [lhs_shape[i] for i in lhs], [rhs_shape[i] for i in rhs]
    if isinstance(padding, str):
        padding = [
            _transposed_pads(window, stride, padding)
            for window, stride in zip(windows[2:], window_strides, strict=True)
        ]
    padding = resolve_pads("conv_transpose_shape_tuple", sizes[2:], windows[2:], window_strides, padding)
    places = [
        dilated_size(size, stride) + low + high - window + 1
        for size, window, stride, (low, high) in zip(sizes[2:], windows[2:], window_strides, padding, strict=True)
    ]
    shape = [sizes[0], windows[0], *places]
    return tuple(shape[out.index(axis)] for axis in range(len(shape)))


def _fitting_filters(channels: int, inputs: int, groups: int) -> str:
    """How filters are made to fit an input."""
    if inputs and channels % inputs == 0:
        return f"pass feature_group_count={channels // inputs}, or filters of {channels} features"
    if channels % groups == 0:
        return (
            f"pass filters of {channels // groups} features; where the features are another axis, name the axes: "
            "dimension_numbers=('NHWC', 'HWIO', 'NHWC')"
        )
    return "pass a feature_group_count that divides the features of the input"


def check_groups(batch: int, channels: int, inputs: int, outputs: int, feature_groups: int, batch_groups: int) -> None:
    """An error where features and groups do not fit."""
    if feature_groups < 1 or batch_groups < 1:
        raise ValueError(
            f"conv_general_dilated: group counts must be positive; got {feature_groups}, {batch_groups}\n"
            "  leave out feature_group_count and batch_group_count for a convolution without groups"
        )
    if feature_groups > 1 and batch_groups > 1:
        raise ValueError(
            "conv_general_dilated: feature_group_count and batch_group_count cannot both be above 1\n"
            "  leave out one of them, and make a convolution for each of its groups"
        )
    if channels != inputs * feature_groups:
        raise ShapeError(
            f"conv_general_dilated: the input has {channels} features, the filters take {inputs} in each of "
            f"{feature_groups} groups\n  {_fitting_filters(channels, inputs, feature_groups)}"
        )
    if outputs % feature_groups or outputs % batch_groups or batch % batch_groups:
        raise ShapeError(
            f"conv_general_dilated: {outputs} output features and a batch of {batch} do not divide into "
            f"{max(feature_groups, batch_groups)} groups\n"
            "  pass a group count that divides both, or leave it out"
        )


check_arguments(globals())
