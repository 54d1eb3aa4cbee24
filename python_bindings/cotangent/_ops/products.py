"""Products that sum: dot, matmul, tensordot, and others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from cotangent import _core
from cotangent._base import primitives
from cotangent._base.arguments import check_arguments
from cotangent._base.capture import give_lengths
from cotangent._base.device import Placement
from cotangent._base.dimensions import check_equal_sizes
from cotangent._base.messages import CUT_BOTH, marked, placed, sizes_of
from cotangent._base.precision import check_precision
from cotangent._core import Array, entrance
from cotangent._ops.binding import kind
from cotangent._ops.diagonals import diagonal
from cotangent._ops.extents import drop_axes
from cotangent._ops.reductions import sum as _sum
from cotangent._ops.reshaping import flat
from cotangent._ops.shapes import moveaxis
from cotangent._ops.sizes import (
    insert_axes,
    move_last,
    normalize_axis,
    refuse_ragged,
    several,
)
from cotangent.errors import ShapeError

__all__ = [
    "cross",
    "dot",
    "inner",
    "matmul",
    "matvec",
    "tensordot",
    "trace",
    "vdot",
    "vecdot",
    "vecmat",
]


def one_pair(a: Any, b: Any, preferred: Any) -> list[Array]:
    """Two arrays of one dtype; bools count as default ints where numbers are summed."""
    x, y = _core.array(a), _core.array(b)
    dtype = (
        _core.promote_types([(x.dtype, x.weak_type), (y.dtype, y.weak_type)])[0]
        if preferred is None
        else _core.canonical_dtype(preferred)
    )
    return [_core.convert(x, dtype), _core.convert(y, dtype)]


def dot_general(
    x: Array,
    y: Array,
    contract: tuple[Sequence[int], Sequence[int]],
    batch: tuple[Sequence[int], Sequence[int]] = ((), ()),
) -> Array:
    """The primitive; bools are multiplied as integers and are nonzero or not."""
    attributes = {
        "lhs_contract": list(contract[0]),
        "rhs_contract": list(contract[1]),
        "lhs_batch": list(batch[0]),
        "rhs_batch": list(batch[1]),
    }
    if kind(x) == "bool":
        wide = [_core.convert(x, "int32"), _core.convert(y, "int32")]
        return _core.convert(primitives.dot_general(*wide, **attributes), bool)
    return primitives.dot_general(x, y, **attributes)


def _of_equal_sizes(name: str, x: Array, y: Array, i: int, j: int) -> tuple[Array, Array]:
    """The operands, whose axes i and j are summed together: of one length, those are padded to one bound."""
    bounds = x._bound_shape[i], y._bound_shape[j]
    if bounds[0] == bounds[1]:
        return x, y
    lengths = _core.length_of(x, i), _core.length_of(y, j)
    if lengths[0] is not None and lengths[1] is not None:
        if _core.same_length(*lengths):
            return _cut(x, i, lengths[0], min(bounds)), _cut(y, j, lengths[1], min(bounds))
        of = f"axis {i} has" if i == j else f"axis {i} of one array and axis {j} of another have"
        texts = _core.length_texts(*lengths)
        computed = any(set(text) & set(" (") for text in texts)
        advice = (
            "they must be equal for every length that there may be: cut the longer one, y[:x.shape[axis]]"
            if computed
            else f"give both axes the same name in ct.Ragged(..., names=...) where they are equal, or {CUT_BOTH}"
        )
        raise ShapeError(
            placed(
                f"{name}: {of} two different ragged lengths: {texts[0]} and {texts[1]}{marked((x.shape, [i]), (y.shape, [j]))}",
                advice,
                "lengths-that-differ",
            )
        )
    shapes = [", ".join(sizes_of(array.shape)) for array in (x, y)]
    if lengths[0] is None and lengths[1] is None:
        advice = "transpose or reshape an operand so that they agree"
    else:
        advice = "make the array of the size of the ragged axis, or cut it to that: y[:x.shape[axis]]"
    raise ShapeError(
        f"{name}: axis {i} of shape ({_with_comma(shapes[0])}) and axis {j} of shape ({_with_comma(shapes[1])}) are summed together, "
        f"but their sizes differ{marked((x.shape, [i]), (y.shape, [j]))}\n"
        f"  {advice}\n"
        "  see docs/errors.md#product-mismatch"
    )


def _with_comma(sizes: str) -> str:
    return sizes if ", " in sizes else f"{sizes},"


def _cut(x: Array, axis: int, length: Array, bound: int) -> Array:
    if x._bound_shape[axis] == bound:
        return x
    limit = [bound if i == axis else size for i, size in enumerate(x._bound_shape)]
    held = {i: _core.length_of(x, i) for i in _core.ragged_axes(x)} | {axis: length}
    cut = primitives.slice(x, start=[0] * x.ndim, limit=limit, stride=[1] * x.ndim)
    return give_lengths(cut, {i: size for i, size in held.items() if size is not None})


def dot(
    a: Any, b: Any, *, precision: Any = None, preferred_element_type: Any = None, out_sharding: Placement = None
) -> Array:
    """The sum of products over the last axis of ``a`` and the second to last, or only, axis of ``b``.

    Of vectors it is the inner product, of matrices the matrix product; with a scalar, the product of elements.
    Integers keep their dtype, and wrap around.

    Parameters
    ----------
    a, b : array
        Numbers; promoted to a common dtype.
    precision : str, Precision or None, default None
        Looked at only: products have at least the precision of their dtype, which satisfies all of them.
    preferred_element_type : dtype, optional
        What the operands are converted to; the dtype of the result. None: their common dtype.
    out_sharding : Device, str or sharding, optional
        Where the result is made. None: where the operands are.

    Returns
    -------
    array
        The axes of ``a`` but the last, then those of ``b`` but the summed one.

    Raises
    ------
    ShapeError
        The sizes of the summed axes differ.

    Examples
    --------
    >>> ct.numpy.dot([1.0, 2.0], [3.0, 4.0])
    Array(11., dtype=float32)

    >>> ct.numpy.dot([[1, 2], [3, 4]], [[0, 1], [1, 0]])
    Array([[2, 1],
           [4, 3]], dtype=int32)
    """
    check_precision(precision)
    x, y = one_pair(a, b, preferred_element_type)
    if x.ndim == 0 or y.ndim == 0:
        return x * y
    j = max(y.ndim - 2, 0)
    x, y = _of_equal_sizes("dot", x, y, x.ndim - 1, j)
    return dot_general(x, y, ([x.ndim - 1], [j]))


@entrance("matmul", primitives.dot_general)
def matmul(
    a: Any, b: Any, *, precision: Any = None, preferred_element_type: Any = None, out_sharding: Placement = None
) -> Array:
    """The product of the matrices in the last two axes; leading axes are broadcast.

    An operand of one axis is a row on the left, a column on the right, and that axis is not in the result. Integers
    keep their dtype, and wrap around.

    Parameters
    ----------
    a : array, shape (..., m, n) or (n,)
        Numbers; promoted with ``b`` to a common dtype.
    b : array, shape (..., n, k) or (n,)
        Numbers.
    precision : str, Precision or None, default None
        Looked at only: products have at least the precision of their dtype, which satisfies all of them.
    preferred_element_type : dtype, optional
        What the operands are converted to; the dtype of the result. None: their common dtype.
    out_sharding : Device, str or sharding, optional
        Where the result is made. None: where the operands are.

    Returns
    -------
    array, shape (..., m, k)
        The products.

    Raises
    ------
    ValueError
        An operand is a scalar.
    ShapeError
        The sizes do not fit.

    Examples
    --------
    >>> ct.numpy.matmul([[1, 2], [3, 4]], [1, 1])
    Array([3, 7], dtype=int32)
    """
    check_precision(precision)
    x, y = one_pair(a, b, preferred_element_type)
    if x.ndim == 0 or y.ndim == 0:
        raise ValueError(
            f"matmul takes arrays with at least one axis; got shapes {x.shape} and {y.shape}\n"
            "  multiply by scalars with *"
        )
    i, j = x.ndim - 1, max(y.ndim - 2, 0)
    x, y = _of_equal_sizes("matmul", x, y, i, j)
    if x.ndim <= 2 and y.ndim <= 2:
        return dot_general(x, y, ([i], [j]))
    x_lead, y_lead = x._bound_shape[:-2], y._bound_shape[:-2]
    if not x_lead and x.ndim <= 2:
        # The axes of y that are not summed: batch..., columns. x's row comes first in the product.
        result = dot_general(x, y, ([i], [j]))
        return result if x.ndim == 1 else _move_front(result, len(y_lead), y.ndim > 1)
    if not y_lead and y.ndim <= 2:
        return dot_general(x, y, ([i], [j]))
    lead = _core.broadcast_shapes([x_lead, y_lead])
    x = _core.broadcast_to(x, [*lead, *x._bound_shape[-2:]])
    y = _core.broadcast_to(y, [*lead, *y._bound_shape[-2:]])
    rank = len(lead)
    return dot_general(x, y, ([rank + 1], [rank]), (list(range(rank)), list(range(rank))))


def _move_front(x: Array, count: int, has_columns: bool) -> Array:
    """(rows, batch..., columns) to (batch..., rows, columns)."""
    order = [*range(1, count + 1), 0] + ([count + 1] if has_columns else [])
    return primitives.transpose(x, permutation=order)


def vdot(a: Any, b: Any, *, precision: Any = None, preferred_element_type: Any = None) -> Array:
    """The sum of the products of all elements of two arrays, those of the first conjugated.

    Parameters
    ----------
    a, b : array
        Numbers, as many in both; flattened, and promoted to a common dtype.
    precision : str, Precision or None, default None
        Looked at only: products have at least the precision of their dtype, which satisfies all of them.
    preferred_element_type : dtype, optional
        What the operands are converted to; the dtype of the result. None: their common dtype.

    Returns
    -------
    array
        A scalar.

    Raises
    ------
    ShapeError
        There are not as many elements in both.

    Examples
    --------
    >>> ct.numpy.vdot([1j, 2.0], [1j, 3.0])
    Array(7.+0.j, dtype=complex64)
    """
    check_precision(precision)
    x, y = one_pair(a, b, preferred_element_type)
    check_equal_sizes("vdot", "a.size", x.size, "b.size", y.size)
    if kind(x) == "complex":
        x = primitives.conj(x)
    axes = list(range(x.ndim))
    if x._bound_shape != y._bound_shape:
        x, y, axes = flat(x), flat(y), [0]
    return dot_general(x, y, (axes, axes))


def vecdot(x1: Any, x2: Any, /, *, axis: int = -1, precision: Any = None, preferred_element_type: Any = None) -> Array:
    """The sum of products along an axis, elements of the first array conjugated; other axes are broadcast.

    Parameters
    ----------
    x1, x2 : array
        Numbers; promoted to a common dtype.
    axis : int, default -1
        The axis of both that is summed.
    precision : str, Precision or None, default None
        Looked at only: products have at least the precision of their dtype, which satisfies all of them.
    preferred_element_type : dtype, optional
        What the operands are converted to; the dtype of the result. None: their common dtype.

    Returns
    -------
    array
        Of the broadcast shape without the axis.

    Raises
    ------
    ShapeError
        The sizes of the axis differ.

    Examples
    --------
    >>> ct.numpy.vecdot(ct.numpy.array([[1, 2], [3, 4]]), ct.numpy.array([1, 1]))
    Array([3, 7], dtype=int32)
    """
    check_precision(precision)
    x, y = one_pair(x1, x2, preferred_element_type)
    if kind(x) == "complex":
        x = primitives.conj(x)
    i, j = normalize_axis(axis, x.ndim, "vecdot"), normalize_axis(axis, y.ndim, "vecdot")
    x, y = _of_equal_sizes("vecdot", x, y, i, j)
    return _core.convert(_sum(move_last(x, i) * move_last(y, j), -1), x.dtype)


def matvec(x1: Any, x2: Any, /) -> Array:
    """The products of matrices and vectors, in the last axes; leading axes are broadcast.

    Parameters
    ----------
    x1 : array, shape (..., m, n)
        The matrices.
    x2 : array, shape (..., n)
        The vectors.

    Returns
    -------
    array, shape (..., m)
        The products.

    Raises
    ------
    ValueError
        An operand has too few axes.

    Examples
    --------
    >>> ct.numpy.matvec(ct.numpy.array([[1, 2], [3, 4]]), ct.numpy.array([1, 1]))
    Array([3, 7], dtype=int32)
    """
    x, y = one_pair(x1, x2, None)
    if x.ndim < 2 or y.ndim < 1:
        raise ValueError(
            f"matvec takes matrices and vectors; got shapes {x.shape} and {y.shape}\n"
            "  write vecdot(x, y) for two vectors, x * y with a number"
        )
    product = matmul(x, insert_axes(y, [y.ndim]))
    return drop_axes(product, [product.ndim - 1])


def vecmat(x1: Any, x2: Any, /) -> Array:
    """The products of vectors, conjugated, and matrices, in the last axes; leading axes are broadcast.

    Parameters
    ----------
    x1 : array, shape (..., m)
        The vectors.
    x2 : array, shape (..., m, n)
        The matrices.

    Returns
    -------
    array, shape (..., n)
        The products.

    Raises
    ------
    ValueError
        An operand has too few axes.

    Examples
    --------
    >>> ct.numpy.vecmat(ct.numpy.array([1, 1]), ct.numpy.array([[1, 2], [3, 4]]))
    Array([4, 6], dtype=int32)
    """
    x, y = one_pair(x1, x2, None)
    if x.ndim < 1 or y.ndim < 2:
        raise ValueError(
            f"vecmat takes vectors and matrices; got shapes {x.shape} and {y.shape}\n"
            "  write vecdot(x, y) for two vectors, x * y with a number"
        )
    x = primitives.conj(x) if kind(x) == "complex" else x
    product = matmul(insert_axes(x, [x.ndim - 1]), y)
    return drop_axes(product, [product.ndim - 2])


def inner(a: Any, b: Any, *, precision: Any = None, preferred_element_type: Any = None) -> Array:
    """The sums of products over the last axes of two arrays; with a scalar, the product of elements.

    Parameters
    ----------
    a, b : array
        Numbers; promoted to a common dtype. Their last axes have one size.
    precision : str, Precision or None, default None
        Looked at only: products have at least the precision of their dtype, which satisfies all of them.
    preferred_element_type : dtype, optional
        What the operands are converted to; the dtype of the result. None: their common dtype.

    Returns
    -------
    array
        The axes of ``a`` but the last, then those of ``b`` but the last.

    Raises
    ------
    ShapeError
        The sizes of the last axes differ.

    Examples
    --------
    >>> ct.numpy.inner([[1, 2], [3, 4]], [10, 1])
    Array([12, 34], dtype=int32)
    """
    check_precision(precision)
    x, y = one_pair(a, b, preferred_element_type)
    if x.ndim == 0 or y.ndim == 0:
        return x * y
    x, y = _of_equal_sizes("inner", x, y, x.ndim - 1, y.ndim - 1)
    return dot_general(x, y, ([x.ndim - 1], [y.ndim - 1]))


def tensordot(
    a: Any,
    b: Any,
    axes: Any = 2,
    *,
    precision: Any = None,
    preferred_element_type: Any = None,
    out_sharding: Placement = None,
) -> Array:
    """The sum of products over pairs of axes.

    Parameters
    ----------
    a, b : array
        Numbers; promoted to a common dtype.
    axes : int or two sequences of int, default 2
        How many of the last axes of ``a`` and first axes of ``b`` are summed; or those of each.
    precision : str, Precision or None, default None
        Looked at only: products have at least the precision of their dtype, which satisfies all of them.
    preferred_element_type : dtype, optional
        What the operands are converted to; the dtype of the result. None: their common dtype.
    out_sharding : Device, str or sharding, optional
        Where the result is made. None: where the operands are.

    Returns
    -------
    array
        The other axes of ``a``, then those of ``b``.

    Raises
    ------
    ShapeError
        The axes do not come in pairs, or the sizes of a pair differ.

    Examples
    --------
    >>> ct.numpy.tensordot([[1, 2], [3, 4]], [[1, 0], [0, 1]])
    Array(5, dtype=int32)

    >>> ct.numpy.tensordot([[1, 2], [3, 4]], [10, 1], axes=([0], [0]))
    Array([13, 24], dtype=int32)
    """
    check_precision(precision)
    x, y = one_pair(a, b, preferred_element_type)
    if isinstance(axes, (int, np.integer)):
        count = int(axes)
        if not 0 <= count <= min(x.ndim, y.ndim):
            raise ShapeError(
                f"tensordot: axes={axes} does not fit arrays with {x.ndim} and {y.ndim} axes\n"
                f"  give a number of axes from 0 to {min(x.ndim, y.ndim)}"
            )
        left, right = list(range(x.ndim - count, x.ndim)), list(range(count))
    else:
        if not several(axes) or len(axes) != 2:
            raise ShapeError(
                f"tensordot: axes must be an integer, or the axes of a and those of b; got {axes!r}\n"
                "  write axes=1 for the last of a and the first of b, axes=([1], [0]) for those that are named"
            )
        first, second = axes
        first = [first] if isinstance(first, (int, np.integer)) else first
        second = [second] if isinstance(second, (int, np.integer)) else second
        if len(first) != len(second):
            raise ShapeError(
                f"tensordot: axes must come in pairs; got {len(first)} and {len(second)}\n"
                "  name as many axes of b as of a: axes=([1], [0])"
            )
        left = [normalize_axis(axis, x.ndim, "tensordot") for axis in first]
        right = [normalize_axis(axis, y.ndim, "tensordot") for axis in second]
    for i, j in zip(left, right, strict=True):
        x, y = _of_equal_sizes("tensordot", x, y, i, j)
    return dot_general(x, y, (left, right))


def trace(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None, out: None = None) -> Array:
    """The sums of the diagonals of the matrices in two axes.

    Parameters
    ----------
    a : array
        Two or more axes.
    offset : int, default 0
        Which diagonal: 0 the main one, 1 that above it, -1 that below it.
    axis1, axis2 : int, default 0 and 1
        The axes of the rows and of the columns of the matrices.
    dtype : dtype, optional
        Of the result. None: as for `sum`.
    out : None
        Must be None: write ``out[...] = `` what is returned.

    Returns
    -------
    array
        The other axes.

    Examples
    --------
    >>> ct.numpy.trace([[1, 2], [3, 4]])
    Array(5, dtype=int32)
    """
    return _sum(diagonal(a, offset, axis1, axis2), -1, dtype, out)


def cross(a: Any, b: Any, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: int | None = None) -> Array:
    """The cross product of vectors of 3 elements along an axis, or of 2, whose third is 0.

    Parameters
    ----------
    a, b : array
        Numbers; promoted to a common dtype, other axes broadcast.
    axisa, axisb : int, default -1
        The axes of the vectors.
    axisc : int, default -1
        Where the axis of the result is.
    axis : int, optional
        For all three.

    Returns
    -------
    array
        Vectors of 3 elements; of two vectors of 2 elements the third alone, without the axis.

    Raises
    ------
    ValueError
        Vectors have neither 2 nor 3 elements.

    Examples
    --------
    >>> ct.numpy.cross([1, 0, 0], [0, 1, 0])
    Array([0, 0, 1], dtype=int32)
    """
    if axis is not None:
        axisa = axisb = axisc = axis
    x, y = one_pair(a, b, None)
    x, y = moveaxis(x, axisa, -1), moveaxis(y, axisb, -1)
    for vectors in (x, y):
        refuse_ragged("cross", vectors, [vectors.ndim - 1], "vectors of 2 and of 3 elements have other products")
    sizes = (x._bound_shape[-1], y._bound_shape[-1])
    if not set(sizes) <= {2, 3}:
        raise ValueError(
            f"cross takes vectors of 2 or 3 elements; got {sizes[0]} and {sizes[1]}\n"
            "  cut the vectors to three elements, or pad them with zeros"
        )
    parts_x = [x[..., i] for i in range(sizes[0])]
    parts_y = [y[..., i] for i in range(sizes[1])]
    if sizes == (2, 2):
        return parts_x[0] * parts_y[1] - parts_x[1] * parts_y[0]
    zero = _core.full((), 0, x.dtype)
    x0, x1, x2 = [*parts_x, zero][:3]
    y0, y1, y2 = [*parts_y, zero][:3]
    parts = [x1 * y2 - x2 * y1, x2 * y0 - x0 * y2, x0 * y1 - x1 * y0]
    joined = primitives.concatenate(*[insert_axes(part, [part.ndim]) for part in parts], axis=parts[0].ndim)
    return moveaxis(joined, -1, axisc)


check_arguments(globals())
