"""Folds over axes."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from cotangent import _core, tree_util
from cotangent._base import primitives
from cotangent._base.arguments import check_arguments
from cotangent._base.capture import check_callable, set_length, wraps
from cotangent._base.device import Placement
from cotangent._base.messages import shapes_of
from cotangent._core import Array, Primitive
from cotangent._ops.binding import convert, empty_fold, kind, own
from cotangent._ops.extents import alike, capacities, capacity, drop_axes, join_axes, slice_axis, stretched
from cotangent._ops.reductions import largest
from cotangent._ops.sizes import normalize_axes
from cotangent._transforms.control_flow import scan
from cotangent.errors import DTypeError, ShapeError
from cotangent.lax._operands import as_weak_as, listed
from cotangent.lax.window_folds import fold_of

__all__ = ["reduce", "reduce_and", "reduce_max", "reduce_min", "reduce_or", "reduce_prod", "reduce_sum", "reduce_xor"]


def _over(name: str, axes: Any, rank: int) -> list[int]:
    return normalize_axes(tuple(listed(name, "axes", axes)), rank, f"lax.{name}")


def _reduced(primitive: Primitive, operand: Any, axes: Sequence[int]) -> Array:
    x = _core.array(operand)
    return as_weak_as(primitive(x, axes=_over(primitive.name, axes, x.ndim)), [x])


def reduce_sum(operand: Any, axes: Sequence[int], *, out_sharding: Placement = None) -> Array:
    """The sum of elements over axes.

    The dtype stays, so that small integers may wrap; bools are refused. Padding of ragged axes does not count.

    Parameters
    ----------
    operand : array
        Numbers.
    axes : sequence of int
        The axes that are summed over.
    out_sharding : device or sharding, optional
        What the result is made on; by default the default device.

    Returns
    -------
    array
        Without these axes.

    Examples
    --------
    >>> ct.lax.reduce_sum(ct.numpy.array([[1.0, 2.0], [3.0, 4.0]]), (0,))
    Array([4., 6.], dtype=float32)
    """
    return _reduced(primitives.reduce_sum, operand, axes)


def reduce_prod(operand: Any, axes: Sequence[int]) -> Array:
    """The product of elements over axes.

    The dtype stays, so that small integers may wrap. The derivative is right at zeros, too.

    Parameters
    ----------
    operand : array
        Numbers.
    axes : sequence of int
        The axes that are multiplied over.

    Returns
    -------
    array
        Without these axes.

    Examples
    --------
    >>> ct.lax.reduce_prod(ct.numpy.array([[1.0, 2.0], [3.0, 4.0]]), (1,))
    Array([ 2., 12.], dtype=float32)
    """
    return _reduced(primitives.reduce_prod, operand, axes)


def _extremum(name: str, operand: Any, axes: Sequence[int]) -> Array:
    x = _core.array(operand)
    over = _over(f"reduce_{name}", axes, x.ndim)
    if kind(x) == "complex" and 0 in [capacity(x, axis) for axis in over]:
        return as_weak_as(empty_fold(x, over, -math.inf if name == "max" else math.inf), [x])
    return as_weak_as(largest(name, x, over), [x])


def reduce_max(operand: Any, axes: Sequence[int]) -> Array:
    """The largest element over axes; NaN if one is NaN.

    Over no elements it is the lowest number of the dtype, -inf of floats. Complex numbers are compared by their
    real parts, then by their imaginary parts. Equal largest elements share the derivative.

    Parameters
    ----------
    operand : array
        Bools or numbers.
    axes : sequence of int
        The axes.

    Returns
    -------
    array
        Without these axes.

    Examples
    --------
    >>> ct.lax.reduce_max(ct.numpy.array([[1, 5], [3, 4]]), (0,))
    Array([3, 5], dtype=int32)
    """
    return _extremum("max", operand, axes)


def reduce_min(operand: Any, axes: Sequence[int]) -> Array:
    """The smallest element over axes; NaN if one is NaN.

    Over no elements it is the highest number of the dtype, inf of floats. Complex numbers are compared by their
    real parts, then by their imaginary parts. Equal smallest elements share the derivative.

    Parameters
    ----------
    operand : array
        Bools or numbers.
    axes : sequence of int
        The axes.

    Returns
    -------
    array
        Without these axes.

    Examples
    --------
    >>> ct.lax.reduce_min(ct.numpy.array([[1, 5], [3, 4]]), (0,))
    Array([1, 4], dtype=int32)
    """
    return _extremum("min", operand, axes)


def _bits(name: str, primitive: Primitive, operand: Any, axes: Sequence[int], neutral: int) -> Array:
    """A fold of bits, of a dtype that is not weak: the first half of the elements with the second, until one is left."""
    x = _core.array(operand)
    x = convert(x, x.dtype)
    if _core.dtype_kind(x.dtype) not in ("bool", "signed", "unsigned"):
        raise DTypeError(
            f"lax.{name} takes bools and integers; got {x.dtype}\n  compare or convert first: x != 0, x.astype('int32')"
        )
    over = _over(name, axes, x.ndim)
    if not over:
        return x
    ragged = [axis for axis in _core.ragged_axes(x) if axis in over]
    if ragged:
        x = primitives.fill_padding(x, axes=ragged, value=float(neutral))
    kept = [axis for axis in range(x.ndim) if axis not in over]
    if 0 in [capacity(x, axis) for axis in over]:
        return empty_fold(x, over, neutral)
    x = join_axes(primitives.transpose(x, permutation=[*over, *kept]), 0, len(over))
    count = capacity(x, 0)
    while count > 1:
        half = count // 2
        folded = primitive(slice_axis(x, 0, 0, half), slice_axis(x, 0, half, 2 * half))
        if count % 2:
            folded = primitives.concatenate(folded, slice_axis(x, 0, count - 1, count), axis=0)
        x, count = folded, half + count % 2
    return drop_axes(x, [0])


@own
def reduce_and(operand: Any, axes: Sequence[int]) -> Array:
    """The bits that are set in all elements over axes; of bools, whether all are true.

    Over no elements all bits are set.

    Parameters
    ----------
    operand : array
        Bools or integers.
    axes : sequence of int
        The axes.

    Returns
    -------
    array
        Without these axes, of the same dtype.

    Raises
    ------
    DTypeError
        The elements are neither bools nor integers.

    Examples
    --------
    >>> ct.lax.reduce_and(ct.numpy.array([[7, 6], [3, 12]]), (0,))
    Array([3, 4], dtype=int32)
    """
    signed = _core.dtype_kind(_core.array(operand).dtype) == "signed"
    x = _core.array(operand)
    ones = -1 if signed else 1 if x.dtype == bool else 2 ** (8 * x.dtype.itemsize) - 1
    return _bits("reduce_and", primitives.and_, x, axes, ones)


@own
def reduce_or(operand: Any, axes: Sequence[int]) -> Array:
    """The bits that are set in any element over axes; of bools, whether any is true.

    Over no elements no bit is set.

    Parameters
    ----------
    operand : array
        Bools or integers.
    axes : sequence of int
        The axes.

    Returns
    -------
    array
        Without these axes, of the same dtype.

    Raises
    ------
    DTypeError
        The elements are neither bools nor integers.

    Examples
    --------
    >>> ct.lax.reduce_or(ct.numpy.array([[1, 2], [4, 8]]), (1,))
    Array([ 3, 12], dtype=int32)
    """
    return _bits("reduce_or", primitives.or_, operand, axes, 0)


@own
def reduce_xor(operand: Any, axes: Sequence[int]) -> Array:
    """The bits that are set in an odd number of elements over axes.

    Of bools, whether an odd number is true. Over no elements no bit is set.

    Parameters
    ----------
    operand : array
        Bools or integers.
    axes : sequence of int
        The axes.

    Returns
    -------
    array
        Without these axes, of the same dtype.

    Raises
    ------
    DTypeError
        The elements are neither bools nor integers.

    Examples
    --------
    >>> ct.lax.reduce_xor(ct.numpy.array([1, 3, 7]), (0,))
    Array(5, dtype=int32)
    """
    return _bits("reduce_xor", primitives.xor, operand, axes, 0)


def reduce(
    operands: Any,
    init_values: Any,
    computation: Callable[[Any, Any], Any],
    dimensions: Sequence[int],
    out_sharding: Placement = None,
) -> Any:
    """Folds arrays over axes by an associative function of two elements.

    `add`, `mul`, `max` and `min` are folded at once; other functions one element after the other, in row-major
    order.

    Parameters
    ----------
    operands : array, or pytree of arrays
        Of one shape; several arrays are folded together.
    init_values : scalar, or pytree of scalars
        One for each array: what the fold begins with, neutral to ``computation``.
    computation : callable
        An associative function of two elements (two pytrees of elements).
    dimensions : sequence of int
        The axes that are folded.
    out_sharding : device or sharding, optional
        What the result is made on; by default the default device.

    Returns
    -------
    array, or pytree of arrays
        Without these axes, of the dtypes of ``operands``.

    Raises
    ------
    ShapeError
        The arrays have several shapes, or an initial value is no scalar.
    TypeError
        ``init_values`` has another structure than ``operands``.

    Examples
    --------
    >>> ct.lax.reduce(ct.numpy.array([[1, 2], [3, 4]]), 0, ct.lax.add, (0,))
    Array([4, 6], dtype=int32)
    >>> ct.lax.reduce(ct.numpy.array([1, 2, 3]), 0, lambda x, y: x + y + x * y, (0,))
    Array(23, dtype=int32)
    """
    leaves, structure = tree_util.tree_flatten(operands)
    given, init_structure = tree_util.tree_flatten(init_values)
    if structure != init_structure or not leaves:
        raise TypeError(
            f"lax.reduce: init_values must have the structure of operands, {structure}; got {init_structure}\n"
            "  pass one number for each array, nested alike"
        )
    check_callable(computation, "lax.reduce")
    arrays = [_core.array(leaf) for leaf in leaves]
    inits = [_core.convert(_core.array(value), x.dtype) for value, x in zip(given, arrays, strict=True)]
    for init in inits:
        if init.ndim:
            raise ShapeError(
                f"lax.reduce: init_values must be scalars; got shape {init.shape}\n"
                "  pass what changes nothing, as 0 does for sums, and combine the array with the result"
            )
    if not alike(*arrays):
        raise ShapeError(
            f"lax.reduce: operands must have one shape; got {shapes_of(arrays)}\n"
            "  broadcast them first, with ct.numpy.broadcast_arrays"
        )
    axes = _over("reduce", dimensions, arrays[0].ndim)
    if operands is leaves[0]:
        fold = fold_of(computation, arrays[0].dtype)
        if fold is not None:
            result = fold.reduce(*arrays, axes=axes)
            return as_weak_as(fold.combine(stretched(inits[0], result), result), [*arrays, _core.array(given[0])])
    ragged = {axis for x in arrays for axis in _core.ragged_axes(x)} & set(axes)
    # A ragged axis is walked alone: it cannot be joined with others.
    for axis in sorted(ragged, reverse=True):
        arrays = _walked(computation, structure, arrays, inits, [axis])
    rest = [axis - sum(gone < axis for gone in ragged) for axis in axes if axis not in ragged]
    if rest or not ragged:
        arrays = _walked(computation, structure, arrays, inits, rest)
    sources = zip(leaves, given, strict=True)
    return structure.unflatten(
        [as_weak_as(x, list(map(_core.array, pair))) for x, pair in zip(arrays, sources, strict=True)]
    )


def _walked(
    computation: Callable[[Any, Any], Any], structure: Any, arrays: list[Array], inits: list[Array], axes: list[int]
) -> list[Array]:
    """A fold over axes by any function, one element after the other."""
    rank = arrays[0].ndim
    kept = [axis for axis in range(rank) if axis not in axes]
    lines = [primitives.transpose(x, permutation=[*axes, *kept]) for x in arrays]
    shape = capacities(lines[0])[len(axes) :]
    if len(axes) != 1:
        lines = [join_axes(x, 0, len(axes)) for x in lines]
    starts = []
    for init, x in zip(inits, arrays, strict=True):
        start = _core.broadcast_to(init, shape)
        for place, axis in enumerate(kept):
            length = _core.length_of(x, axis)
            start = start if length is None else set_length(start, length, place)
        starts.append(start)

    @wraps(computation)
    def step(carry: Any, line: Any) -> tuple[Any, None]:
        return computation(carry, line), None

    last = scan(step, structure.unflatten(starts), structure.unflatten(lines))[0]
    return [_core.array(leaf) for leaf in tree_util.tree_leaves(last)]


check_arguments(globals())
