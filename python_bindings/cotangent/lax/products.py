"""Products summed over axes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from cotangent import _core
from cotangent._base import primitives
from cotangent._base.arguments import check_arguments
from cotangent._base.device import Placement
from cotangent._base.messages import marked
from cotangent._base.precision import DotAlgorithmPreset, Precision, check_precision
from cotangent._core import Array
from cotangent._ops.binding import kind, literal
from cotangent._ops.extents import capacities, capacity
from cotangent._ops.running import cumsum
from cotangent._ops.sizes import insert_axes
from cotangent.errors import DTypeError, ShapeError
from cotangent.lax._operands import as_array, as_weak_as, numbered

__all__ = [
    "DotAlgorithmPreset",
    "Precision",
    "RaggedDotDimensionNumbers",
    "batch_matmul",
    "dot",
    "dot_general",
    "ragged_dot",
    "ragged_dot_general",
]


def _numbers(name: str, dimension_numbers: Any) -> tuple[list[int], list[int], list[int], list[int]]:
    try:
        (lhs_contract, rhs_contract), (lhs_batch, rhs_batch) = dimension_numbers
        return list(lhs_contract), list(rhs_contract), list(lhs_batch), list(rhs_batch)
    except (TypeError, ValueError):
        raise TypeError(
            f"lax.{name}: dimension_numbers must be ((lhs contracting, rhs contracting), (lhs batch, rhs batch)); got "
            f"{dimension_numbers!r}\n  (((1,), (0,)), ((), ())) are those of the product of two matrices"
        ) from None


def _check_axes(name: str, side: str, array: Array, contract: list[int], batch: list[int]) -> None:
    axes = contract + batch
    if any(not 0 <= axis < array.ndim for axis in axes) or len(set(axes)) != len(axes):
        raise ShapeError(
            f"lax.{name}: contracting axes {tuple(contract)} and batch axes {tuple(batch)} must be distinct axes of the "
            f"{side} operand, which has shape {array.shape}\n  its axes are {numbered(array.ndim)}: name each in one of the two sequences"
        )


def dot_general(
    lhs: Any,
    rhs: Any,
    dimension_numbers: Any,
    precision: Any = None,
    preferred_element_type: Any = None,
    *,
    out_sharding: Placement = None,
) -> Array:
    """Products of two arrays summed over contracted axes, for every index of batch axes.

    Parameters
    ----------
    lhs, rhs : array
        The operands; several dtypes are promoted.
    dimension_numbers : ((sequence, sequence), (sequence, sequence)) of int
        The contracted axes of ``lhs`` and of ``rhs``, then their batch axes; axes in the same place belong together
        and have one size.
    precision : optional
        Checked only: products are exact to the rounding of their dtype.
    preferred_element_type : dtype, optional
        The dtype of the result, and of the sums where it is the wider one.
    out_sharding : device or sharding, optional
        What the result is made on; by default the default device.

    Returns
    -------
    array
        The batch axes, then the other axes of ``lhs``, then those of ``rhs``.

    Raises
    ------
    ShapeError
        Axes that belong together have several sizes.
    ValueError
        An axis is named twice, or there is none of that number.

    Examples
    --------
    >>> a = ct.numpy.array([[1.0, 2.0], [3.0, 4.0]])
    >>> ct.lax.dot_general(a, a, (((1,), (1,)), ((), ())))
    Array([[ 5., 11.],
           [11., 25.]], dtype=float32)
    >>> b = ct.numpy.ones((2, 3), "int8") * 100
    >>> ct.lax.dot_general(b, b, (((1,), (1,)), ((0,), (0,))), preferred_element_type="int32")
    Array([30000, 30000], dtype=int32)
    """
    check_precision(precision)
    left, right = as_array("dot_general", lhs), as_array("dot_general", rhs)
    lhs_contract, rhs_contract, lhs_batch, rhs_batch = _numbers("dot_general", dimension_numbers)
    _check_axes("dot_general", "left", left, lhs_contract, lhs_batch)
    _check_axes("dot_general", "right", right, rhs_contract, rhs_batch)
    for what, ours, theirs in (("contracting", lhs_contract, rhs_contract), ("batch", lhs_batch, rhs_batch)):
        sizes, others = [capacity(left, i) for i in ours], [capacity(right, i) for i in theirs]
        if sizes != others:
            shown = marked((left.shape, ours), (right.shape, theirs))
            raise ShapeError(
                f"lax.dot_general: {what} axes have sizes {tuple(sizes)} and {tuple(others)}{shown}\n"
                "  name axes of equal sizes, in the same order\n  see docs/errors.md#product-mismatch"
            )
    common, _ = _core.promote_types([(left.dtype, left.weak_type), (right.dtype, right.weak_type)])
    result = common if preferred_element_type is None else _core.canonical_dtype(preferred_element_type)
    if _core.dtype_kind(common) == "complex" and _core.dtype_kind(result) != "complex":
        raise DTypeError(
            f"lax.dot_general: a product of {common} cannot be {result}\n"
            "  leave out preferred_element_type, and take the real part of the result"
        )
    # What is multiplied: nothing of either dtype is lost. Bools are counted.
    working = common if _core.dtype_kind(common) != "bool" else _core.canonical_dtype("int32")
    integers = ("signed", "unsigned")
    if _core.dtype_kind(result) in integers and _core.dtype_kind(working) in integers:
        # Integers wrap, so that signs do not matter: the wider of both types has every digit that the result keeps.
        working = result if result.itemsize >= working.itemsize else working
    elif _core.dtype_kind(result) == _core.dtype_kind(working) or _core.dtype_kind(result) in ("float", "complex"):
        working, _ = _core.promote_types([(working, False), (result, False)])
    product = primitives.dot_general(
        _core.convert(left, working),
        _core.convert(right, working),
        lhs_contract=lhs_contract,
        rhs_contract=rhs_contract,
        lhs_batch=lhs_batch,
        rhs_batch=rhs_batch,
    )
    return as_weak_as(product if product.dtype == result else _core.convert(product, result), [left, right])


def dot(
    lhs: Any,
    rhs: Any,
    *,
    dimension_numbers: Any = None,
    precision: Any = None,
    preferred_element_type: Any = None,
    out_sharding: Placement = None,
) -> Array:
    """The product of vectors and matrices; with ``dimension_numbers``, `dot_general`.

    Parameters
    ----------
    lhs, rhs : array, shape (k,) or (m, k), and (k,) or (k, n)
        The operands; several dtypes are promoted.
    dimension_numbers : optional
        As of `dot_general`: operands may then have any number of axes.
    precision, preferred_element_type : optional
        As of `dot_general`.
    out_sharding : device or sharding, optional
        What the result is made on; by default the default device.

    Returns
    -------
    array
        Of shape (), (m,), (n,) or (m, n).

    Raises
    ------
    ShapeError
        There are more than two axes, or sizes do not fit.

    Examples
    --------
    >>> ct.lax.dot(ct.numpy.array([[1.0, 2.0], [3.0, 4.0]]), ct.numpy.array([1.0, -1.0]))
    Array([-1., -1.], dtype=float32)
    """
    left, right = as_array("dot", lhs), as_array("dot", rhs)
    if dimension_numbers is None:
        fits = left.ndim in (1, 2) and right.ndim in (1, 2) and capacity(left, -1) == capacity(right, 0)
        if not fits:
            if left.ndim in (1, 2) and right.ndim in (1, 2):
                shown = marked((left.shape, [left.ndim - 1]), (right.shape, [0]))
                raise ShapeError(
                    f"lax.dot: the last axis of shape {left.shape} and the first of shape {right.shape} are summed together, "
                    f"but their sizes differ{shown}\n"
                    "  transpose or reshape an operand so that they agree\n  see docs/errors.md#product-mismatch"
                )
            raise ShapeError(
                f"lax.dot multiplies vectors and matrices; got shapes {left.shape} and {right.shape}\n"
                "  give dimension_numbers for other products, or use ct.numpy.matmul"
            )
        dimension_numbers = (((left.ndim - 1,), (0,)), ((), ()))
    return dot_general(left, right, dimension_numbers, precision, preferred_element_type, out_sharding=out_sharding)


def batch_matmul(lhs: Any, rhs: Any, precision: Any = None) -> Array:
    """Products of the matrices in the last two axes, for every index of the axes before.

    Nothing is broadcast; `cotangent.numpy.matmul` does.

    Parameters
    ----------
    lhs : array, shape (..., m, k)
        The left matrices.
    rhs : array, shape (..., k, n)
        The right matrices, with equal axes in front.
    precision : optional
        Checked only.

    Returns
    -------
    array, shape (..., m, n)
        The products.

    Raises
    ------
    ShapeError
        The numbers of axes differ, or sizes do not fit.

    Examples
    --------
    >>> ct.lax.batch_matmul(ct.numpy.ones((2, 1, 3)), ct.numpy.ones((2, 3, 1))).tolist()
    [[[3.0]], [[3.0]]]
    """
    left, right = as_array("batch_matmul", lhs), as_array("batch_matmul", rhs)
    if left.ndim < 2 or left.ndim != right.ndim:
        raise ShapeError(
            f"lax.batch_matmul takes arrays of equally many axes, at least two; got {left.shape} and {right.shape}\n"
            "  use ct.numpy.matmul, which broadcasts the axes in front"
        )
    batch = tuple(range(left.ndim - 2))
    return dot_general(left, right, (((left.ndim - 1,), (right.ndim - 2,)), (batch, batch)), precision)


# ---- Ragged groups ---------------------------------------------------------------------------------------------------


class RaggedDotDimensionNumbers(NamedTuple):
    """Which axes `ragged_dot_general` pairs, cuts into groups, and finds a group's operand on.

    ``dot_dimension_numbers`` are those of `dot_general`; ``lhs_ragged_dimensions`` the one axis of ``lhs`` that is
    cut into groups; ``rhs_group_dimensions`` the axis of ``rhs`` that holds a slice for each group, or none.
    """

    dot_dimension_numbers: Any
    lhs_ragged_dimensions: Sequence[int]
    rhs_group_dimensions: Sequence[int]


def ragged_dot(
    lhs: Any,
    rhs: Any,
    group_sizes: Any,
    precision: Any = None,
    preferred_element_type: Any = None,
    group_offset: Any = None,
    out_sharding: Placement = None,
) -> Array:
    """Multiplies rows in consecutive groups, each group by a matrix of its own.

    Parameters
    ----------
    lhs : array, shape (m, k)
        The rows.
    rhs : array, shape (groups, k, n)
        A matrix for each group.
    group_sizes : array of int, shape (groups,)
        How many rows the groups have, one after the other; rows behind the last group give 0.
    precision, preferred_element_type : optional
        As of `dot_general`.
    group_offset : None
        Not supported.
    out_sharding : device or sharding, optional
        What the result is made on; by default the default device.

    Returns
    -------
    array, shape (m, n)
        The products.

    Raises
    ------
    NotImplementedError
        ``group_offset`` is given.

    Examples
    --------
    >>> rhs = ct.numpy.array([[[1.0]], [[10.0]]])
    >>> ct.lax.ragged_dot(ct.numpy.ones((3, 1)), rhs, ct.numpy.array([1, 2])).tolist()
    [[1.0], [10.0], [10.0]]
    """
    numbers = RaggedDotDimensionNumbers((((1,), (1,)), ((), ())), (0,), (0,))
    return ragged_dot_general(
        lhs, rhs, group_sizes, numbers, precision, preferred_element_type, group_offset, out_sharding
    )


def ragged_dot_general(
    lhs: Any,
    rhs: Any,
    group_sizes: Any,
    ragged_dot_dimension_numbers: Any,
    precision: Any = None,
    preferred_element_type: Any = None,
    group_offset: Any = None,
    out_sharding: Placement = None,
) -> Array:
    """`dot_general` of consecutive groups along an axis of ``lhs``.

    The axis may be one that the result keeps (each group has its own slice of ``rhs``, along its group axis), one
    that is contracted (each group has a slice of the result, along a new axis 0), or a batch axis (rows behind the
    groups give 0).

    Parameters
    ----------
    lhs, rhs : array
        The operands.
    group_sizes : array of int, shape (groups,)
        The sizes of the groups; or (batch..., groups), with the batch axes of ``lhs``.
    ragged_dot_dimension_numbers : RaggedDotDimensionNumbers
        Which axes belong together.
    precision, preferred_element_type : optional
        As of `dot_general`.
    group_offset : None
        Not supported.
    out_sharding : device or sharding, optional
        What the result is made on; by default the default device.

    Returns
    -------
    array
        Axes as of `dot_general`, or with the groups in front.

    Raises
    ------
    NotImplementedError
        ``group_offset`` is given.
    ShapeError
        Not one axis of ``lhs`` is ragged, or the groups do not fit it or ``rhs``.

    Examples
    --------
    >>> numbers = ct.lax.RaggedDotDimensionNumbers((((0,), (0,)), ((), ())), (0,), ())
    >>> x = ct.numpy.array([[1.0], [2.0], [3.0]])
    >>> ct.lax.ragged_dot_general(x, x, ct.numpy.array([1, 2]), numbers).tolist()
    [[[1.0]], [[13.0]]]
    """
    if group_offset is not None:
        raise NotImplementedError("lax.ragged_dot: group_offset is not supported\n  give the sizes of all groups")
    left, right, sizes = (as_array("ragged_dot", x) for x in (lhs, rhs, group_sizes))
    if kind(sizes) not in ("signed", "unsigned"):
        raise DTypeError(
            f"lax.ragged_dot: group_sizes must be integers; got {sizes.dtype}\n"
            "  convert them: group_sizes.astype('int32')"
        )
    if not isinstance(ragged_dot_dimension_numbers, RaggedDotDimensionNumbers):
        raise TypeError(
            f"lax.ragged_dot: dimension numbers must be RaggedDotDimensionNumbers; got {ragged_dot_dimension_numbers!r}\n"
            "  make them with ct.lax.RaggedDotDimensionNumbers, or use ct.lax.ragged_dot for a matrix and groups of rows"
        )
    numbers, ragged_axes, group_axes = ragged_dot_dimension_numbers
    lhs_contract, rhs_contract, lhs_batch, rhs_batch = _numbers("ragged_dot", numbers)
    if len(tuple(ragged_axes)) != 1:
        raise ShapeError(
            f"lax.ragged_dot: one axis of lhs is ragged; got {tuple(ragged_axes)}\n"
            "  pass the axis that group_sizes divides alone, as in lhs_ragged_dimensions=(0,)"
        )
    (axis,) = ragged_axes
    _check_groups(left, right, sizes, axis, ragged_dot_dimension_numbers)
    options = {"precision": precision, "preferred_element_type": preferred_element_type, "out_sharding": out_sharding}
    if axis in lhs_batch:
        inside = _groups(left, axis, sizes, [])
        covered = primitives.reduce_max(_core.convert(inside, "int32"), axes=[inside.ndim - 1])
        return dot_general(_times(left, primitives.ne(covered, literal(covered, 0)), [axis]), right, numbers, **options)
    lead = lhs_batch if sizes.ndim > 1 else []
    inside = _groups(left, axis, sizes, lead)
    # The groups become an axis in front of lhs.
    spread = _times(insert_axes(left, [0]), _to_front(inside), [i + 1 for i in lead] + [axis + 1], groups=True)
    shifted = [i + 1 for i in lhs_contract], [i + 1 for i in lhs_batch]
    if axis in lhs_contract:
        return _group_first(spread, right, shifted, rhs_contract, rhs_batch, options)
    if len(tuple(group_axes)) != 1:
        raise ShapeError(
            f"lax.ragged_dot: one axis of rhs holds the groups; got {tuple(group_axes)}\n"
            "  pass rhs_group_dimensions=(0,) for one matrix a group along axis 0"
        )
    paired = ([0, *shifted[0]], [group_axes[0], *rhs_contract]), (shifted[1], rhs_batch)
    return dot_general(spread, right, paired, **options)


def _check_groups(left: Array, right: Array, sizes: Array, axis: int, given: RaggedDotDimensionNumbers) -> None:
    """That an axis of ``lhs`` can be divided into groups of these sizes, and ``rhs`` has what they need."""
    numbers, _, group_axes = given
    lhs_contract, rhs_contract, lhs_batch, rhs_batch = _numbers("ragged_dot", numbers)
    if not 0 <= axis < left.ndim:
        raise ShapeError(
            f"lax.ragged_dot: the ragged axis {axis} must be one of lhs, which has shape {left.shape}\n"
            f"  its axes are {numbered(left.ndim)}"
        )
    batch = tuple(capacity(left, i) for i in lhs_batch)
    if sizes.ndim != 1 and (axis in lhs_batch or capacities(sizes)[:-1] != batch):
        wanted = (capacity(sizes, -1),) if sizes.ndim else ("groups",)
        raise ShapeError(
            f"lax.ragged_dot: expected group_sizes to have shape {wanted if axis in lhs_batch else (*batch, *wanted)}, got {sizes.shape}\n"
            "  pass one size for each group; for other groups in each example, with the batch axes of lhs in front"
        )
    if tuple(group_axes) and axis in (*lhs_batch, *lhs_contract):
        raise ShapeError(
            f"lax.ragged_dot: rhs holds no groups where axis {axis} of lhs is contracted or a batch axis; got {tuple(group_axes)}\n"
            "  pass rhs_group_dimensions=()"
        )
    for group_axis in group_axes:
        if group_axis in (*rhs_contract, *rhs_batch):
            raise ShapeError(
                f"lax.ragged_dot: axis {group_axis} of rhs holds the groups, and is contracted or a batch axis as well\n"
                "  give the groups an axis of their own"
            )
        if capacity(right, group_axis) != capacity(sizes, -1):
            raise ShapeError(
                f"lax.ragged_dot: group_sizes has {capacity(sizes, -1)} groups, axis {group_axis} of rhs {capacity(right, group_axis)}\n"
                "  pass one size for each of them"
            )


def _group_first(
    spread: Array, right: Array, shifted: Any, rhs_contract: list[int], rhs_batch: list[int], options: dict[str, Any]
) -> Array:
    product = dot_general(spread, right, ((shifted[0], rhs_contract), (shifted[1], rhs_batch)), **options)
    # The groups are the first axis that lhs keeps: after the batch.
    batch = len(rhs_batch)
    order = [batch, *range(batch), *range(batch + 1, product.ndim)]
    return primitives.transpose(product, permutation=order)


def _groups(left: Array, axis: int, sizes: Array, lead: list[int]) -> Array:
    """Bools of shape (batch..., size of the axis, groups): whether a position is in a group."""
    count = capacity(sizes, -1)
    shape = [*(capacity(left, i) for i in [*lead, axis]), count]
    ends = cumsum(sizes, axis=-1)
    starts = ends - sizes
    lead_axes = list(range(len(lead)))
    first, last = (primitives.broadcast(x, shape=shape, axes=[*lead_axes, len(shape) - 1]) for x in (starts, ends))
    position = primitives.iota(shape=shape, dtype=first.dtype, axis=len(shape) - 2)
    return primitives.and_(primitives.ge(position, first), primitives.lt(position, last))


def _to_front(inside: Array) -> Array:
    last = inside.ndim - 1
    return primitives.transpose(inside, permutation=[last, *range(last)])


def _times(x: Array, mask: Array, axes: list[int], groups: bool = False) -> Array:
    """``x``, zero where the mask over some of its axes (and over the groups, its first) is false."""
    shape = list(capacities(x))
    places = list(axes)
    if groups:
        shape[0] = capacity(mask, 0)
        places = [0, *places]
    order = sorted(range(len(places)), key=places.__getitem__)
    mask = primitives.transpose(mask, permutation=order)
    wide = primitives.broadcast(mask, shape=shape, axes=sorted(places))
    return primitives.select(wide, _core.broadcast_to(x, shape), _core.full(shape, 0, x.dtype))


check_arguments(globals())
