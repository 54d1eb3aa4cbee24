"""Folds along axes: sums, products, extremes, truth.

``axis`` is None (all axes), an int or a tuple; negative counts from the end. ``where`` is a bool array that says which elements
take part, ``initial`` a number that takes part too.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from cotangent import _core
from cotangent._base import primitives
from cotangent._base.arguments import check_arguments
from cotangent._core import Array, Primitive, entrance
from cotangent._ops.binding import (
    convert,
    kind,
    larger,
    literal,
    no_out,
    working_dtype,
)
from cotangent._ops.comparisons import truth
from cotangent._ops.sizes import (
    keep_axes,
    normalize_axes,
    position_dtype,
)
from cotangent.errors import DTypeError

__all__ = ["all", "amax", "amin", "any", "count_nonzero", "max", "min", "prod", "ptp", "sum"]


Axis = Any


def _chosen(where: Any) -> Array:
    """Which elements take part. Numbers are no answer to that: they could be meant as weights."""
    array = _core.array(where)
    if kind(array) != "bool":
        raise DTypeError(
            f"where must be an array of bools; got {array.dtype}\n  write where=mask != 0, or use average for weights"
        )
    return array


def _masked(x: Array, where: Any, identity: complex) -> Array:
    """``x`` with the identity where an element does not take part."""
    if where is None:
        return x
    chosen = _chosen(where)
    shape = _core.broadcast_shapes([x._bound_shape, chosen._bound_shape])
    x = _core.broadcast_to(x, shape)
    return primitives.select(_core.broadcast_to(chosen, shape), x, literal(x, identity))


def _accumulator(x: Array, dtype: Any, promote_integers: bool = True) -> Any:
    """The dtype of a sum or product: narrow integers and bools become the default int."""
    if dtype is not None:
        return _core.canonical_dtype(dtype)
    default = _core.default_int_dtype()
    if kind(x) == "bool":
        return default
    if promote_integers and kind(x) in ("signed", "unsigned") and x.dtype.itemsize < default.itemsize:
        return default if kind(x) == "signed" else np.dtype(f"u{default.name}")
    return x.dtype


def _fold(
    name: str,
    reduce: Primitive,
    combine: Primitive,
    a: Any,
    axis: Axis,
    dtype: Any,
    keepdims: bool,
    initial: Any,
    where: Any,
    identity: complex,
    promote_integers: bool,
) -> Array:
    x = _core.array(a)
    result_dtype = _accumulator(x, dtype, promote_integers)
    if _core.dtype_kind(result_dtype) == "bool":
        # Whether any element is not zero, or none is.
        is_sum = reduce is primitives.reduce_sum
        reduce = primitives.reduce_max if is_sum else primitives.reduce_min
        combine = primitives.max if is_sum else primitives.min
    x = _masked(_core.convert(x, working_dtype(result_dtype)), where, identity)
    axes = normalize_axes(axis, x.ndim, name)
    result = reduce(x, axes=axes)
    if keepdims:
        result = keep_axes(result, x, axes)
    result = convert(result, result_dtype)
    if initial is not None:
        result = combine(*_core.promote([result, _number(name, initial, result_dtype)]))
    return result


def _number(name: str, initial: Any, dtype: Any) -> Array:
    value = _core.convert(initial, dtype)
    if value.ndim:
        raise ValueError(
            f"{name}: initial must be a number; got an array of shape {value.shape}\n"
            "  give one number, and combine the result with an array after"
        )
    return value


@entrance("sum", primitives.reduce_sum)
def sum(  # noqa: A001
    a: Any,
    axis: Axis = None,
    dtype: Any = None,
    out: None = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = None,
    promote_integers: bool = True,
) -> Array:
    """The sum of elements along axes; of none, 0.

    float16 and bfloat16 are summed in float32.

    Parameters
    ----------
    a : array
        Numbers or bools.
    axis : int, sequence of int or None, default None
        The axes that are reduced and removed; negative ones count from the end. None: all.
    dtype : dtype, optional
        Of the result, and of the summation. None: that of ``a``; of bools and integers narrower than the default,
        that or its unsigned counterpart.
    out : None
        Must be None: write ``out[...] = `` what is returned.
    keepdims : bool, default False
        Whether reduced axes stay, with size 1.
    initial : number, optional
        A number that takes part, too.
    where : array of bool, optional
        Which elements take part; broadcast with ``a``.
    promote_integers : bool, default True
        Whether narrow integers are summed in the default integer dtype; else in their own.

    Returns
    -------
    array
        Without the reduced axes.

    Raises
    ------
    AxisError
        There is no such axis.

    Examples
    --------
    >>> ct.numpy.sum([[1.0, 2.0], [3.0, 4.0]], axis=0)
    Array([4., 6.], dtype=float32)

    >>> ct.numpy.sum(np.array([1.0, 2.0, 4.0]), where=np.array([True, False, True]))
    Array(5., dtype=float64)

    >>> rows = ct.ragged([np.float32([1, 2]), np.float32([5])])
    >>> ct.vmap(ct.mask(ct.numpy.sum))(rows)
    Array([3., 5.], dtype=float32)
    """
    no_out(out, "sum")
    return _fold(
        "sum", primitives.reduce_sum, primitives.add, a, axis, dtype, keepdims, initial, where, 0, promote_integers
    )


@entrance("sum", primitives.reduce_prod)
def prod(
    a: Any,
    axis: Axis = None,
    dtype: Any = None,
    out: None = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = None,
    promote_integers: bool = True,
) -> Array:
    """The product of elements along axes; of none, 1.

    Its derivatives are right where elements are 0, too.

    Parameters
    ----------
    a : array
        Numbers or bools.
    axis : int, sequence of int or None, default None
        The axes that are reduced and removed; negative ones count from the end. None: all.
    dtype : dtype, optional
        Of the result, and of the multiplication. None: that of ``a``; of bools and integers narrower than the
        default, that or its unsigned counterpart.
    out : None
        Must be None: write ``out[...] = `` what is returned.
    keepdims : bool, default False
        Whether reduced axes stay, with size 1.
    initial : number, optional
        A number that takes part, too.
    where : array of bool, optional
        Which elements take part; broadcast with ``a``.
    promote_integers : bool, default True
        Whether narrow integers are multiplied in the default integer dtype; else in their own.

    Returns
    -------
    array
        Without the reduced axes.

    Raises
    ------
    AxisError
        There is no such axis.

    Examples
    --------
    >>> ct.numpy.prod([[1.0, 2.0], [3.0, 4.0]], axis=0)
    Array([3., 8.], dtype=float32)

    >>> ct.grad(ct.numpy.prod)(np.float32([0, 2, 3]))
    Array([6., 0., 0.], dtype=float32)
    """
    no_out(out, "prod")
    return _fold(
        "prod", primitives.reduce_prod, primitives.mul, a, axis, dtype, keepdims, initial, where, 1, promote_integers
    )


def _extreme(name: str, a: Any, axis: Axis, keepdims: bool, initial: Any, where: Any) -> Array:
    x = _core.array(a)
    axes = normalize_axes(axis, x.ndim, name)
    if initial is None:
        if where is not None:
            raise ValueError(
                f"{name}: where needs initial, the result where no element takes part\n"
                "  give the result for no elements: initial=0.0"
            )
        if 0 in [x._bound_shape[i] for i in axes]:
            raise ValueError(
                f"{name} of zero elements{'' if axis is None else f' along axis {axis}'} has no value\n  pass initial, or test the size first"
            )
    result = largest(name, _masked(x, where, _lowest(x, name)) if where is not None else x, axes)
    if keepdims:
        result = keep_axes(result, x, axes)
    if initial is not None:
        result = larger(
            primitives.max if name == "max" else primitives.min,
            *_core.promote([result, _number(name, initial, x.dtype)]),
        )
    return result


def largest(name: str, x: Array, axes: list[int]) -> Array:
    """``max`` or ``min`` along axes; of complex numbers, of the real parts, then of the imaginary parts of those."""
    reduce = primitives.reduce_max if name == "max" else primitives.reduce_min
    if kind(x) != "complex":
        return reduce(x, axes=axes)
    real, imaginary = primitives.real(x), primitives.imag(x)
    first = reduce(real, axes=axes)
    among = primitives.eq(real, _core.broadcast_to(keep_axes(first, x, axes), x._bound_shape))
    second = reduce(primitives.select(among, imaginary, literal(real, _lowest(real, name))), axes=axes)
    undefined = primitives.reduce_max(primitives.ne(x, x), axes=axes)
    nan = _core.full(first._bound_shape, math.nan, x.dtype)
    return primitives.select(undefined, nan, primitives.complex(first, second))


def _lowest(x: Array, name: str) -> complex:
    """The identity of max or min."""
    if kind(x) == "bool":
        return name == "min"
    if kind(x) == "float":
        return -math.inf if name == "max" else math.inf
    if kind(x) == "complex":
        return complex(-math.inf, -math.inf) if name == "max" else complex(math.inf, math.inf)
    limits = np.iinfo(x.dtype)
    return limits.min if name == "max" else limits.max


@entrance("extreme", primitives.reduce_max)
def max(  # noqa: A001
    a: Any, axis: Axis = None, out: None = None, keepdims: bool = False, initial: Any = None, where: Any = None
) -> Array:
    """The largest element along axes; NaN if any is.

    Complex numbers are ordered by their real, then by their imaginary part. Elements that are equally large share the
    derivative. Inside of ``ct.mask`` the largest element of a ragged axis without elements is the lowest number of
    the dtype, -inf where there is one.

    Parameters
    ----------
    a : array
        Numbers or bools.
    axis : int, sequence of int or None, default None
        The axes that are reduced and removed; negative ones count from the end. None: all.
    out : None
        Must be None: write ``out[...] = `` what is returned.
    keepdims : bool, default False
        Whether reduced axes stay, with size 1.
    initial : number, optional
        A number that takes part, too; needed where there may be no elements, or with ``where``.
    where : array of bool, optional
        Which elements take part; broadcast with ``a``.

    Returns
    -------
    array
        Without the reduced axes.

    Raises
    ------
    ValueError
        There are no elements and no ``initial``; or ``where`` is given without it.

    Examples
    --------
    >>> ct.numpy.max([[1.0, 3.0], [5.0, 2.0]], axis=1)
    Array([3., 5.], dtype=float32)

    >>> ct.grad(ct.numpy.max)(np.float32([3, 3, 1]))
    Array([0.5, 0.5, 0. ], dtype=float32)
    """
    no_out(out, "max")
    return _extreme("max", a, axis, keepdims, initial, where)


@entrance("extreme", primitives.reduce_min)
def min(  # noqa: A001
    a: Any, axis: Axis = None, out: None = None, keepdims: bool = False, initial: Any = None, where: Any = None
) -> Array:
    """The smallest element along axes; NaN if any is.

    Complex numbers are ordered by their real, then by their imaginary part. Elements that are equally small share the
    derivative. Inside of ``ct.mask`` the smallest element of a ragged axis without elements is the highest number of
    the dtype, inf where there is one.

    Parameters
    ----------
    a : array
        Numbers or bools.
    axis : int, sequence of int or None, default None
        The axes that are reduced and removed; negative ones count from the end. None: all.
    out : None
        Must be None: write ``out[...] = `` what is returned.
    keepdims : bool, default False
        Whether reduced axes stay, with size 1.
    initial : number, optional
        A number that takes part, too; needed where there may be no elements, or with ``where``.
    where : array of bool, optional
        Which elements take part; broadcast with ``a``.

    Returns
    -------
    array
        Without the reduced axes.

    Raises
    ------
    ValueError
        There are no elements and no ``initial``; or ``where`` is given without it.

    Examples
    --------
    >>> ct.numpy.min([[1.0, 3.0], [5.0, 2.0]], axis=1)
    Array([1., 2.], dtype=float32)
    """
    no_out(out, "min")
    return _extreme("min", a, axis, keepdims, initial, where)


amax, amin = max, min


def ptp(a: Any, axis: Axis = None, out: None = None, keepdims: bool = False) -> Array:
    """The difference of the largest and the smallest element along axes.

    Parameters
    ----------
    a : array
        Numbers.
    axis : int, sequence of int or None, default None
        The axes that are reduced and removed; negative ones count from the end. None: all.
    out : None
        Must be None: write ``out[...] = `` what is returned.
    keepdims : bool, default False
        Whether reduced axes stay, with size 1.

    Returns
    -------
    array
        Without the reduced axes.

    Raises
    ------
    ValueError
        There are no elements.

    Examples
    --------
    >>> ct.numpy.ptp([[1.0, 3.0], [5.0, 2.0]], axis=1)
    Array([2., 3.], dtype=float32)
    """
    no_out(out, "ptp")
    return max(a, axis, keepdims=keepdims) - min(a, axis, keepdims=keepdims)


def any(a: Any, axis: Axis = None, out: None = None, keepdims: bool = False, *, where: Any = None) -> Array:  # noqa: A001
    """Whether any element along axes is nonzero; of none, False. NaN is.

    Parameters
    ----------
    a : array
        Numbers or bools.
    axis : int, sequence of int or None, default None
        The axes that are reduced and removed; negative ones count from the end. None: all.
    out : None
        Must be None: write ``out[...] = `` what is returned.
    keepdims : bool, default False
        Whether reduced axes stay, with size 1.
    where : array of bool, optional
        Which elements take part; broadcast with ``a``.

    Returns
    -------
    array of bool
        Without the reduced axes.

    Examples
    --------
    >>> ct.numpy.any([[0, 0], [0, 2]], axis=1)
    Array([False,  True], dtype=bool)
    """
    no_out(out, "any")
    x = _masked(truth(a), where, False)
    axes = normalize_axes(axis, x.ndim, "any")
    result = primitives.reduce_max(x, axes=axes)
    return keep_axes(result, x, axes) if keepdims else result


def all(a: Any, axis: Axis = None, out: None = None, keepdims: bool = False, *, where: Any = None) -> Array:  # noqa: A001
    """Whether all elements along axes are nonzero; of none, True. NaN is.

    Parameters
    ----------
    a : array
        Numbers or bools.
    axis : int, sequence of int or None, default None
        The axes that are reduced and removed; negative ones count from the end. None: all.
    out : None
        Must be None: write ``out[...] = `` what is returned.
    keepdims : bool, default False
        Whether reduced axes stay, with size 1.
    where : array of bool, optional
        Which elements take part; broadcast with ``a``.

    Returns
    -------
    array of bool
        Without the reduced axes.

    Examples
    --------
    >>> ct.numpy.all([[1, 0], [3, 2]], axis=1)
    Array([False,  True], dtype=bool)
    """
    no_out(out, "all")
    x = _masked(truth(a), where, True)
    axes = normalize_axes(axis, x.ndim, "all")
    result = primitives.reduce_min(x, axes=axes)
    return keep_axes(result, x, axes) if keepdims else result


def count_nonzero(a: Any, axis: Axis = None, keepdims: bool = False) -> Array:
    """How many elements along axes are nonzero.

    Parameters
    ----------
    a : array
        Numbers or bools.
    axis : int, sequence of int or None, default None
        The axes that are reduced and removed; negative ones count from the end. None: all.
    keepdims : bool, default False
        Whether reduced axes stay, with size 1.

    Returns
    -------
    array of int
        Of the default integer dtype, without the reduced axes.

    Examples
    --------
    >>> ct.numpy.count_nonzero([[1, 0], [3, 2]], axis=1)
    Array([1, 2], dtype=int32)
    """
    x = truth(a)
    axes = normalize_axes(axis, x.ndim, "count_nonzero")
    most = math.prod(x._bound_shape[i] for i in axes)
    return sum(x, tuple(axes), dtype=position_dtype(most), keepdims=keepdims)


check_arguments(globals())
