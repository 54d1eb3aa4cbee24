"""Arrays joined into one along an axis, and one split into several."""

from __future__ import annotations

from typing import Any

import numpy as np

from cotangent import _core
from cotangent._base import primitives
from cotangent._base.arguments import check_arguments
from cotangent._base.dimensions import smallest
from cotangent._base.messages import shapes_of
from cotangent._core import Array
from cotangent._ops.binding import convert, no_out, own
from cotangent._ops.shapes import atleast_1d, atleast_2d, atleast_3d, moveaxis, ravel
from cotangent._ops.sized_slices import resolve_slice, slice_sized, take_slice
from cotangent._ops.sizes import (
    arrays_of,
    axis_size,
    insert_axes,
    normalize_axis,
    refuse_ragged,
    size_from,
    static_int,
    symbolic_size,
)
from cotangent._ops.views import as_view
from cotangent._transforms.lengths import require

__all__ = [
    "append",
    "array_split",
    "block",
    "column_stack",
    "concat",
    "concatenate",
    "dsplit",
    "dstack",
    "hsplit",
    "hstack",
    "split",
    "stack",
    "unstack",
    "vsplit",
    "vstack",
]


# ---- Joining ---------------------------------------------------------------------------------------------------------


def _joined_dtype(arrays: list[Array], dtype: Any) -> list[Array]:
    if dtype is None:
        common = _core.promote_types([(x.dtype, x.weak_type) for x in arrays])[0]
        return [_core.convert(x, common) for x in arrays]
    return [convert(x, dtype) for x in arrays]


def concatenate(arrays: Any, axis: int | None = 0, dtype: Any = None) -> Array:
    """Arrays joined along an axis that they have.

    Parameters
    ----------
    arrays : sequence of array
        The parts; promoted to a common dtype. Their shapes are equal but for the axis.
    axis : int or None, default 0
        Which axis. None: the parts are flattened first.
    dtype : dtype, optional
        Of the result. None: the common one.

    Returns
    -------
    array
        The parts, one after the other.

    Raises
    ------
    ValueError
        There are no arrays, or one has no axes.
    ShapeError
        Shapes differ along another axis.

    Examples
    --------
    >>> ct.numpy.concatenate([[1.0], [2.0, 3.0]])
    Array([1., 2., 3.], dtype=float32)
    """
    items = [_core.array(x) for x in arrays_of(arrays, "concatenate")]
    if not items:
        raise ValueError("concatenate needs at least one array\n  give a list of one array or more")
    if axis is None:
        items, axis = [ravel(x) for x in items], 0
    if any(x.ndim == 0 for x in items):
        raise ValueError(
            "concatenate: arrays without axes cannot be joined\n  use stack, or give them an axis with reshape(1)"
        )
    axis = normalize_axis(axis, items[0].ndim, "concatenate")
    return primitives.concatenate(*_joined_dtype(items, dtype), axis=axis)


def concat(arrays: Any, /, *, axis: int | None = 0) -> Array:
    """Arrays joined along an axis that they have: the array API standard's name of `concatenate`.

    Parameters
    ----------
    arrays : sequence of array
        The parts; promoted to a common dtype. Their shapes are equal but for the axis.
    axis : int or None, default 0
        Which axis. None: the parts are flattened first.

    Returns
    -------
    array
        The parts, one after the other.

    Raises
    ------
    ValueError
        There are no arrays, or one has no axes.
    ShapeError
        Shapes differ along another axis.

    Examples
    --------
    >>> ct.numpy.concat([[[1, 2]], [[3, 4]]], axis=1)
    Array([[1, 2, 3, 4]], dtype=int32)
    """
    return concatenate(arrays, axis)


def stack(arrays: Any, axis: int = 0, out: None = None, dtype: Any = None) -> Array:
    """Arrays of one shape joined along a new axis.

    Parameters
    ----------
    arrays : sequence of array
        The parts; promoted to a common dtype.
    axis : int, default 0
        Where the new axis is in the result.
    out : None
        Must be None: write ``out[...] = `` what is returned.
    dtype : dtype, optional
        Of the result. None: the common one.

    Returns
    -------
    array
        With one axis more than the parts.

    Raises
    ------
    ValueError
        There are no arrays, or their shapes differ.

    Examples
    --------
    >>> ct.numpy.stack([[1, 2], [3, 4]], axis=1)
    Array([[1, 3],
           [2, 4]], dtype=int32)
    """
    no_out(out, "stack")
    items = [_core.array(x) for x in arrays_of(arrays, "stack")]
    if not items:
        raise ValueError("stack needs at least one array\n  give a list of one array or more")
    _require_one_shape(items)
    position = normalize_axis(axis, items[0].ndim + 1, "stack")
    return primitives.concatenate(*_joined_dtype([insert_axes(x, [position]) for x in items], dtype), axis=position)


def _require_one_shape(items: list[Array]) -> None:
    if any(x._bound_shape != items[0]._bound_shape for x in items):
        raise ValueError(
            f"stack: all arrays must have the same shape; got {shapes_of(items)}\n"
            "  pad or broadcast them to one shape, or keep rows of different lengths with ct.ragged(rows)"
        )
    _core.check_sizes(items)  # before their axes have other numbers


def unstack(x: Any, /, *, axis: int = 0) -> tuple[Array, ...]:
    """The slices of an array along an axis, without it.

    Parameters
    ----------
    x : array
        Numbers of any dtype; not a scalar.
    axis : int, default 0
        Which axis.

    Returns
    -------
    tuple of array
        As many as the size of the axis.

    Examples
    --------
    >>> ct.numpy.unstack(ct.numpy.array([[1, 2], [3, 4]]))
    (Array([1, 2], dtype=int32), Array([3, 4], dtype=int32))
    """
    moved = moveaxis(x, axis, 0)
    refuse_ragged("unstack", moved, [0], "the number of slices depends on its length")
    return tuple(moved[i] for i in range(moved._bound_shape[0]))


def vstack(tup: Any, dtype: Any = None) -> Array:
    """Arrays joined along their first axis, vectors as rows.

    Parameters
    ----------
    tup : sequence of array
        The parts; those of fewer than two axes become one row.
    dtype : dtype, optional
        Of the result. None: the common one.

    Returns
    -------
    array
        Two or more axes.

    Examples
    --------
    >>> ct.numpy.vstack([[1, 2], [3, 4]])
    Array([[1, 2],
           [3, 4]], dtype=int32)
    """
    return concatenate([atleast_2d(x) for x in arrays_of(tup, "vstack")], 0, dtype)


def hstack(tup: Any, dtype: Any = None) -> Array:
    """Arrays joined along their second axis; vectors along the only one.

    Parameters
    ----------
    tup : sequence of array
        The parts.
    dtype : dtype, optional
        Of the result. None: the common one.

    Returns
    -------
    array
        One or more axes.

    Raises
    ------
    ValueError
        There are no arrays.

    Examples
    --------
    >>> ct.numpy.hstack([[1, 2], [3]])
    Array([1, 2, 3], dtype=int32)
    """
    items = [atleast_1d(x) for x in arrays_of(tup, "hstack")]
    if not items:
        raise ValueError("hstack needs at least one array\n  give a list of one array or more")
    return concatenate(items, 0 if items[0].ndim == 1 else 1, dtype)


def dstack(tup: Any, dtype: Any = None) -> Array:
    """Arrays joined along their third axis.

    Parameters
    ----------
    tup : sequence of array
        The parts; a vector of size n has shape (1, n, 1) here, a matrix (m, n) has (m, n, 1).
    dtype : dtype, optional
        Of the result. None: the common one.

    Returns
    -------
    array
        Three or more axes.

    Examples
    --------
    >>> ct.numpy.dstack([[1, 2], [3, 4]])
    Array([[[1, 3],
            [2, 4]]], dtype=int32)
    """
    return concatenate([atleast_3d(x) for x in arrays_of(tup, "dstack")], 2, dtype)


def column_stack(tup: Any) -> Array:
    """Vectors as columns, and matrices, side by side.

    Parameters
    ----------
    tup : sequence of array, shape (m,) or (m, n)
        The parts.

    Returns
    -------
    array
        Two axes.

    Examples
    --------
    >>> ct.numpy.column_stack([[1, 2], [3, 4]])
    Array([[1, 3],
           [2, 4]], dtype=int32)
    """
    items = [_core.array(x) for x in arrays_of(tup, "column_stack")]
    return concatenate([insert_axes(atleast_1d(x), [1]) if x.ndim < 2 else x for x in items], 1)


@own
def block(arrays: Any) -> Array:
    """An array from nested lists of blocks, as they are written down.

    The innermost lists are joined along the last axis, the next ones along the one before, and so on.

    Parameters
    ----------
    arrays : array or nested list of array
        The blocks; all lists are equally deep.

    Returns
    -------
    array
        With as many axes as the deepest block or the nesting.

    Raises
    ------
    ValueError
        A list is empty, or lists are not equally deep.

    Examples
    --------
    >>> ct.numpy.block([[np.eye(2), np.zeros((2, 1))], [np.ones((1, 3))]])
    Array([[1., 0., 0.],
           [0., 1., 0.],
           [1., 1., 1.]], dtype=float64)
    """

    def depth_of(item: Any, above: int = 0) -> int:
        if not isinstance(item, list):
            return 0
        if not item:
            raise ValueError("block: a list is empty\n  leave empty lists out")
        if above == 64:
            raise ValueError(
                "block: lists nest deeper than the 64 axes of an array, or contain themselves\n"
                "  use concatenate or stack along axes that are named"
            )
        depths = {depth_of(part, above + 1) for part in item}
        if len(depths) != 1:
            raise ValueError(
                f"block: lists are nested to different depths, {sorted(depths)}\n"
                "  write every row as a list, and one array in a row as [a]: block([[a, b], [c]])"
            )
        return depths.pop() + 1

    def rank_of(item: Any) -> int:
        return max(map(rank_of, item)) if isinstance(item, list) else _core.array(item).ndim

    depth = depth_of(arrays)
    rank = max(depth, rank_of(arrays))

    def join(item: Any, axis: int) -> Array:
        if isinstance(item, list):
            return concatenate([join(part, axis + 1) for part in item], axis)
        array = _core.array(item)
        return insert_axes(array, list(range(rank - array.ndim))) if array.ndim < rank else array

    return join(arrays, rank - depth)


def append(arr: Any, values: Any, axis: int | None = None) -> Array:
    """Values joined to the end of an array.

    Parameters
    ----------
    arr : array
        The first part.
    values : array
        The second part.
    axis : int or None, default None
        Along which axis. None: both are flattened first.

    Returns
    -------
    array
        Of the common dtype.

    Examples
    --------
    >>> ct.numpy.append([1, 2], [[3], [4]])
    Array([1, 2, 3, 4], dtype=int32)
    """
    return concatenate([arr, values], axis)


# ---- Splitting -------------------------------------------------------------------------------------------------------


def _split(name: str, ary: Any, indices_or_sections: Any, axis: int, equal: bool) -> list[Array]:
    array = _core.array(ary)
    axis = normalize_axis(axis, array.ndim, name)
    total = symbolic_size(array, axis)
    if isinstance(indices_or_sections, (tuple, list)) or (
        isinstance(indices_or_sections, (np.ndarray, Array)) and indices_or_sections.ndim > 0
    ):
        cuts = [0, *(size_from(i, f"{name}: an index") for i in indices_or_sections), None]
        pieces = [slice(start, stop) for start, stop in zip(cuts[:-1], cuts[1:], strict=True)]
        return [
            as_view(
                take_slice(array, axis, resolve_slice(total, piece, 1, axis)), array, (*[slice(None)] * axis, piece)
            )
            for piece in pieces
        ]
    sections = static_int(indices_or_sections, f"{name}: the number of sections")
    if sections <= 0:
        raise ValueError(
            f"{name}: the number of sections must be positive; got {sections}\n"
            "  give 1 or more sections, or the positions where to cut: [1, 3]"
        )
    if equal and isinstance(total, int) and total % sections:
        raise ValueError(
            f"{name}: {total} elements along axis {axis} do not divide into {sections} equal parts\n  use array_split"
        )
    length = axis_size(array, axis)
    if equal and isinstance(length, Array) and sections > 1:
        what = f"{name}: {sections} equal parts were asked for, of axis {axis}"
        fault, advice = "whose length does not divide into them", "\n  use array_split"
        require([length], lambda n: n % sections == 0, what, fault, advice=advice)
    base, extra = divmod(total, sections)
    starts = [i * base + (0 if equal else smallest(extra, i)) for i in range(sections + 1)]
    return [
        as_view(slice_sized(array, axis, start, stop), array, (*[slice(None)] * axis, slice(start, stop)))
        for start, stop in zip(starts[:-1], starts[1:], strict=True)
    ]


def split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[Array]:
    """Equal parts of an array along an axis, or those between given positions.

    Parameters
    ----------
    ary : array
        Numbers of any dtype.
    indices_or_sections : int or sequence of int
        The number of equal parts; or the positions at which to cut.
    axis : int, default 0
        Along which axis.

    Returns
    -------
    list of array
        The parts.

    Raises
    ------
    ValueError
        The axis cannot be divided into equal parts.

    Examples
    --------
    >>> ct.numpy.split(ct.numpy.arange(5), [1, 3])
    [Array([0], dtype=int32), Array([1, 2], dtype=int32), Array([3, 4], dtype=int32)]
    """
    return _split("split", ary, indices_or_sections, axis, True)


def array_split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[Array]:
    """Parts of an array along an axis, of sizes that differ by at most 1, or those between given positions.

    Parameters
    ----------
    ary : array
        Numbers of any dtype.
    indices_or_sections : int or sequence of int
        The number of parts, of which the first ones are longer; or the positions at which to cut.
    axis : int, default 0
        Along which axis.

    Returns
    -------
    list of array
        The parts.

    Examples
    --------
    >>> ct.numpy.array_split(ct.numpy.arange(5), 2)
    [Array([0, 1, 2], dtype=int32), Array([3, 4], dtype=int32)]
    """
    return _split("array_split", ary, indices_or_sections, axis, False)


def vsplit(ary: Any, indices_or_sections: Any) -> list[Array]:
    """Parts of an array along the first axis; see `split`.

    Parameters
    ----------
    ary : array
        Two or more axes.
    indices_or_sections : int or sequence of int
        The number of equal parts; or the positions at which to cut.

    Returns
    -------
    list of array
        The parts.

    Examples
    --------
    >>> ct.numpy.vsplit(ct.numpy.array([[1, 2], [3, 4]]), 2)
    [Array([[1, 2]], dtype=int32), Array([[3, 4]], dtype=int32)]
    """
    return _split("vsplit", ary, indices_or_sections, 0, True)


def hsplit(ary: Any, indices_or_sections: Any) -> list[Array]:
    """Parts of an array along the second axis, or of a vector along the only one; see `split`.

    Parameters
    ----------
    ary : array
        One or more axes.
    indices_or_sections : int or sequence of int
        The number of equal parts; or the positions at which to cut.

    Returns
    -------
    list of array
        The parts.

    Examples
    --------
    >>> ct.numpy.hsplit(ct.numpy.array([[1, 2], [3, 4]]), 2)
    [Array([[1],
           [3]], dtype=int32), Array([[2],
           [4]], dtype=int32)]
    """
    return _split("hsplit", ary, indices_or_sections, 0 if _core.array(ary).ndim == 1 else 1, True)


def dsplit(ary: Any, indices_or_sections: Any) -> list[Array]:
    """Parts of an array along the third axis; see `split`.

    Parameters
    ----------
    ary : array
        Three or more axes.
    indices_or_sections : int or sequence of int
        The number of equal parts; or the positions at which to cut.

    Returns
    -------
    list of array
        The parts.

    Examples
    --------
    >>> ct.numpy.dsplit(ct.numpy.array([[[1, 2], [3, 4]]]), 2)
    [Array([[[1],
            [3]]], dtype=int32), Array([[[2],
            [4]]], dtype=int32)]
    """
    return _split("dsplit", ary, indices_or_sections, 2, True)


check_arguments(globals())
