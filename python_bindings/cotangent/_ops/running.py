"""Running sums and products along an axis."""

from __future__ import annotations

from typing import Any

from cotangent import _core
from cotangent._base import primitives
from cotangent._base.arguments import check_arguments
from cotangent._core import Array, Primitive
from cotangent._ops.binding import (
    convert,
    kind,
    no_out,
    working_dtype,
)
from cotangent._ops.reductions import _accumulator
from cotangent._ops.reshaping import flattened
from cotangent._ops.sizes import (
    normalize_axis,
)

__all__ = [
    "cumprod",
    "cumsum",
    "cumulative_prod",
    "cumulative_sum",
]


def cumsum(a: Any, axis: int | None = None, dtype: Any = None, out: None = None) -> Array:
    """The running sums of elements along an axis.

    Integers keep their dtype, and wrap around, where NumPy makes narrow ones wider; see `cumulative_sum`.

    Parameters
    ----------
    a : array
        Numbers or bools.
    axis : int or None, default None
        The axis, negative counting from the end. None: that of the flattened array.
    dtype : dtype, optional
        Of the result. None: that of ``a``; of bools the default integer dtype.
    out : None
        Must be None: write ``out[...] = `` what is returned.

    Returns
    -------
    array
        Of the shape of ``a``; one axis where ``axis`` is None.

    Examples
    --------
    >>> ct.numpy.cumsum([1, 2, 3])
    Array([1, 3, 6], dtype=int32)

    >>> rows = ct.ragged([np.float32([1, 2]), np.float32([5])])
    >>> ct.vmap(ct.mask(ct.numpy.cumsum))(rows)
    Ragged([[1., 3.], [5.]], lengths={1: [2, 1]}, dtype=float32)
    """
    no_out(out, "cumsum")
    x, position = flattened(_core.array(a), axis, "cumsum")
    return _running(primitives.cumsum, x, position, dtype)


def _running(primitive: Primitive, x: Array, axis: int, dtype: Any) -> Array:
    result_dtype = _accumulator(x, dtype, promote_integers=False)
    x = _core.convert(x, working_dtype(result_dtype))
    if kind(x) == "bool":
        x = _core.convert(x, _core.default_int_dtype())
    return convert(primitive(x, axis=axis, reverse=False), result_dtype)


def cumulative_sum(x: Any, /, *, axis: int | None = None, dtype: Any = None, include_initial: bool = False) -> Array:
    """The running sums of elements along an axis, with a 0 before them if wanted: the array API standard's.

    Parameters
    ----------
    x : array
        Numbers or bools.
    axis : int, optional
        The axis; may be left out where there is one.
    dtype : dtype, optional
        Of the result. None: that of ``x``; of bools and integers narrower than the default, the default integer
        dtype.
    include_initial : bool, default False
        Whether the sum of no elements comes first.

    Returns
    -------
    array
        Of the shape of ``x``; one longer along the axis with ``include_initial``.

    Raises
    ------
    ValueError
        ``axis`` is left out, and there is not one axis.

    Examples
    --------
    >>> ct.numpy.cumulative_sum(ct.numpy.array([1, 2, 3]), include_initial=True)
    Array([0, 1, 3, 6], dtype=int32)
    """
    return _with_initial(cumsum, x, axis, dtype, include_initial, "cumulative_sum", 0)


def cumprod(a: Any, axis: int | None = None, dtype: Any = None, out: None = None) -> Array:
    """The running products of elements along an axis.

    Integers keep their dtype, and wrap around, where NumPy makes narrow ones wider; see `cumulative_prod`.

    Parameters
    ----------
    a : array
        Numbers or bools.
    axis : int or None, default None
        The axis, negative counting from the end. None: that of the flattened array.
    dtype : dtype, optional
        Of the result. None: that of ``a``; of bools the default integer dtype.
    out : None
        Must be None: write ``out[...] = `` what is returned.

    Returns
    -------
    array
        Of the shape of ``a``; one axis where ``axis`` is None.

    Examples
    --------
    >>> ct.numpy.cumprod([1, 2, 3])
    Array([1, 2, 6], dtype=int32)
    """
    no_out(out, "cumprod")
    x, position = flattened(_core.array(a), axis, "cumprod")
    return _running(primitives.cumprod, x, position, dtype)


def cumulative_prod(x: Any, /, *, axis: int | None = None, dtype: Any = None, include_initial: bool = False) -> Array:
    """The running products of elements along an axis, with a 1 before them if wanted: the array API standard's.

    Parameters
    ----------
    x : array
        Numbers or bools.
    axis : int, optional
        The axis; may be left out where there is one.
    dtype : dtype, optional
        Of the result. None: that of ``x``; of bools and integers narrower than the default, the default integer
        dtype.
    include_initial : bool, default False
        Whether the product of no elements comes first.

    Returns
    -------
    array
        Of the shape of ``x``; one longer along the axis with ``include_initial``.

    Raises
    ------
    ValueError
        ``axis`` is left out, and there is not one axis.

    Examples
    --------
    >>> ct.numpy.cumulative_prod(ct.numpy.array([2, 3]), include_initial=True)
    Array([1, 2, 6], dtype=int32)
    """
    return _with_initial(cumprod, x, axis, dtype, include_initial, "cumulative_prod", 1)


def _with_initial(
    function: Any, x: Any, axis: int | None, dtype: Any, include_initial: bool, name: str, initial: int
) -> Array:
    array = _core.array(x)
    if axis is None:
        if array.ndim != 1:
            raise ValueError(
                f"{name}: an array with {array.ndim} axes needs an axis\n"
                "  give axis=-1 for the last one, or x.ravel() for all elements in turn"
            )
        axis = 0
    result: Array = function(array, axis, _accumulator(array, dtype))
    if not include_initial:
        return result
    position = normalize_axis(axis, array.ndim, name)
    shape = list(result._bound_shape)
    shape[position] = 1
    return primitives.concatenate(_core.full(shape, initial, result.dtype), result, axis=position)


check_arguments(globals())
