"""The methods of `Array` that give its elements another shape or meaning, and whose arguments are not those of the function.

`_array_methods` makes them methods.
"""

from __future__ import annotations

from typing import Any

from cotangent._base.misplaced import shown
from cotangent._core import Array
from cotangent._ops import element_bytes, selection, shapes
from cotangent._ops.binding import separate
from cotangent._ops.sizes import several
from cotangent._ops.views import as_view


def reshape(self: Array, *shape: Any, order: str = "C") -> Array:
    """The elements under another shape; see `reshape`.

    Parameters
    ----------
    *shape : int, or one sequence of int
        The sizes of the axes; one of them may be -1, which the others determine.
    order : str, default "C"
        In which order elements are taken and placed: ``"C"``, the last index varies fastest; ``"F"``, the first.

    Returns
    -------
    array
        Of the shape.

    Raises
    ------
    ShapeError
        The shape has another number of elements.

    Examples
    --------
    >>> ct.numpy.arange(4).reshape(2, -1)
    Array([[0, 1],
           [2, 3]], dtype=int32)
    """
    sizes = shape[0] if len(shape) == 1 else shape
    return shapes.reshape(self, sizes) if order == "C" else shapes.reshape(self, sizes, order)


def _check_order(order: Any) -> None:
    """TypeError where other libraries have the first axis of those that become one."""
    if isinstance(order, str):
        return
    kept = f"(*x.shape[:{order}], -1)" if isinstance(order, int) else "shape"
    raise TypeError(
        f"flatten: order must be a string; got {shown(order)}\n"
        f"  all axes become one; to keep some of them write x.reshape({kept})"
    )


def flatten(self: Array, order: str = "C") -> Array:
    """All elements along one axis, as an array of its own.

    Parameters
    ----------
    order : str, default "C"
        In which order: ``"C"``, the last index varies fastest; ``"F"``, the first.

    Returns
    -------
    array, shape (size,)
        The elements.

    Examples
    --------
    >>> ct.numpy.array([[1, 2], [3, 4]]).flatten("F")
    Array([1, 3, 2, 4], dtype=int32)
    """
    _check_order(order)
    return separate(shapes.ravel(self, order), self)


def transpose(self: Array, *axes: Any) -> Array:
    """The axes in reverse order, or in another one; see `transpose`.

    Parameters
    ----------
    *axes : int, or one sequence of int
        For each axis of the result, that of the array which it is. None: the last one first.

    Returns
    -------
    array
        The same elements.

    Examples
    --------
    >>> ct.numpy.ones((2, 3, 4)).transpose(1, 0, 2).shape
    (3, 2, 4)
    """
    if not axes or (len(axes) == 1 and axes[0] is None):
        return shapes.transpose(self)
    return shapes.transpose(self, axes[0] if len(axes) == 1 and several(axes[0]) else axes)


def view(self: Array, dtype: Any = None, type: Any = None) -> Array:  # noqa: A002
    """The same bytes read as another dtype.

    Parameters
    ----------
    dtype : dtype, optional
        Of the result. None: that of the array.
    type : None
        Must be None: there are no subclasses.

    Returns
    -------
    array
        The last axis grows or shrinks with the size of an element.

    Raises
    ------
    ShapeError
        The bytes of the last axis are not a whole number of elements.

    Examples
    --------
    >>> ct.numpy.array([1.0, -2.0]).view(ct.numpy.uint32)
    Array([1065353216, 3221225472], dtype=uint32)
    """
    if isinstance(dtype, (int, tuple, list)):
        sizes = dtype if isinstance(dtype, (tuple, list)) else (dtype, type)
        shape = ", ".join(str(size) for size in sizes if size is not None)
        raise TypeError(
            f"view: a dtype is needed; got sizes, {shape}\n  write x.reshape({shape}), which is a view of the same elements"
        )
    if type is not None:
        raise NotImplementedError(
            "view: the argument type is not supported\n  leave it out: numpy.asarray(x) is an array of NumPy"
        )
    if dtype is None:
        return as_view(self, self, ...)
    return as_view(element_bytes.reinterpret(self, dtype), self, ("view", dtype))


def compress(
    self: Array,
    condition: Any,
    axis: int | None = None,
    *,
    out: None = None,
    size: int | None = None,
    fill_value: Any = 0,
) -> Array:
    """The slices along an axis at which a condition holds; see `compress`.

    Parameters
    ----------
    condition : array, shape (n,)
        Bools; may be shorter than the axis.
    axis : int or None, default None
        The axis, negative counting from the end. None: that of the flattened array.
    out : None
        Must be None: write ``out[...] = `` what is returned.
    size : int, optional
        How many to return: the shape does not depend on values then. None: as many as there are; under ``jit``, where
        that is a value, in a `Ragged`.
    fill_value : number, default 0
        Fills the slices that are missing, with ``size``.

    Returns
    -------
    array
        The slices, in order.

    Examples
    --------
    >>> ct.numpy.array([10, 20, 30]).compress([True, False, True])
    Array([10, 30], dtype=int32)
    """
    return selection.compress(condition, self, axis, out=out, size=size, fill_value=fill_value)


# ---- The array API standard ------------------------------------------------------------------------------------------
