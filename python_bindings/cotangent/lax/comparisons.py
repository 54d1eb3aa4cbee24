"""Comparisons and choices of each element."""

from __future__ import annotations

from typing import Any

from cotangent import _core
from cotangent._base import primitives
from cotangent._base.arguments import check_arguments
from cotangent._base.messages import shapes_of
from cotangent._core import Array
from cotangent._ops.binding import apart, kind, literal
from cotangent._ops.extents import alike, stretched
from cotangent.errors import ShapeError
from cotangent.lax._operands import (
    ANY,
    FLOATS,
    INTEGERS,
    ORDERED,
    as_array,
    binary,
    check_kind,
    one_dtype,
    unary,
)
from cotangent.tree_util import tree_map

__all__ = [
    "clamp",
    "eq",
    "ge",
    "gt",
    "is_finite",
    "le",
    "lt",
    "ne",
    "optimization_barrier",
    "select",
    "select_n",
    "stop_gradient",
]


# ---- Comparisons -----------------------------------------------------------------------------------------------------


def eq(x: Any, y: Any) -> Array:
    """Whether elements are equal; NaN equals nothing.

    Parameters
    ----------
    x, y : array
        Bools or numbers, of one dtype and of shapes that are equal, scalar, or of size 1 where they differ.

    Returns
    -------
    array of bool
        Of the common shape.

    Examples
    --------
    >>> ct.lax.eq(ct.numpy.array([1, 2, 3]), 2)
    Array([False,  True, False], dtype=bool)
    """
    return binary(primitives.eq, x, y, ANY)


def ne(x: Any, y: Any) -> Array:
    """Whether elements differ; NaN differs from everything.

    Parameters
    ----------
    x, y : array
        Bools or numbers, of one dtype and of shapes that are equal, scalar, or of size 1 where they differ.

    Returns
    -------
    array of bool
        Of the common shape.

    Examples
    --------
    >>> ct.lax.ne(ct.numpy.array([1, 2, 3]), 2)
    Array([ True, False,  True], dtype=bool)
    """
    return binary(primitives.ne, x, y, ANY)


def lt(x: Any, y: Any) -> Array:
    """Whether elements of ``x`` are less than those of ``y``; False for NaN.

    Parameters
    ----------
    x, y : array
        Bools or real numbers, of one dtype and of shapes that are equal, scalar, or of size 1 where they differ.

    Returns
    -------
    array of bool
        Of the common shape.

    Examples
    --------
    >>> ct.lax.lt(ct.numpy.array([1, 2, 3]), 2)
    Array([ True, False, False], dtype=bool)
    """
    return binary(primitives.lt, x, y, ORDERED)


def le(x: Any, y: Any) -> Array:
    """Whether elements of ``x`` are at most those of ``y``; False for NaN.

    Parameters
    ----------
    x, y : array
        Bools or real numbers, of one dtype and of shapes that are equal, scalar, or of size 1 where they differ.

    Returns
    -------
    array of bool
        Of the common shape.

    Examples
    --------
    >>> ct.lax.le(ct.numpy.array([1, 2, 3]), 2)
    Array([ True,  True, False], dtype=bool)
    """
    return binary(primitives.le, x, y, ORDERED)


def gt(x: Any, y: Any) -> Array:
    """Whether elements of ``x`` are greater than those of ``y``; False for NaN.

    Parameters
    ----------
    x, y : array
        Bools or real numbers, of one dtype and of shapes that are equal, scalar, or of size 1 where they differ.

    Returns
    -------
    array of bool
        Of the common shape.

    Examples
    --------
    >>> ct.lax.gt(ct.numpy.array([1, 2, 3]), 2)
    Array([False, False,  True], dtype=bool)
    """
    return binary(primitives.gt, x, y, ORDERED)


def ge(x: Any, y: Any) -> Array:
    """Whether elements of ``x`` are at least those of ``y``; False for NaN.

    Parameters
    ----------
    x, y : array
        Bools or real numbers, of one dtype and of shapes that are equal, scalar, or of size 1 where they differ.

    Returns
    -------
    array of bool
        Of the common shape.

    Examples
    --------
    >>> ct.lax.ge(ct.numpy.array([1, 2, 3]), 2)
    Array([False,  True,  True], dtype=bool)
    """
    return binary(primitives.ge, x, y, ORDERED)


def is_finite(x: Any) -> Array:
    """Whether elements are neither infinite nor NaN.

    Parameters
    ----------
    x : array
        Floats.

    Returns
    -------
    array of bool
        Of the shape of ``x``.

    Examples
    --------
    >>> ct.lax.is_finite(ct.numpy.array([1.0, np.inf, np.nan]))
    Array([ True, False, False], dtype=bool)
    """
    return unary(primitives.is_finite, x, FLOATS)


# ---- Choices ---------------------------------------------------------------------------------------------------------


def select(pred: Any, on_true: Any, on_false: Any) -> Array:
    """The elements of ``on_true`` where ``pred`` holds, else those of ``on_false``.

    Nothing is broadcast and no dtype promoted; `cotangent.numpy.where` does both.

    Parameters
    ----------
    pred : array of bool
        A scalar, or of the shape of the cases.
    on_true, on_false : array
        Of one shape and dtype.

    Returns
    -------
    array
        Of the shape and dtype of the cases.

    Raises
    ------
    ShapeError
        The cases have unequal shapes, or ``pred`` has neither theirs nor ().

    Examples
    --------
    >>> ct.lax.select(ct.numpy.array([True, False]), ct.numpy.array([1, 2]), ct.numpy.array([10, 20]))
    Array([ 1, 20], dtype=int32)
    """
    return _choose_case("select", pred, (on_false, on_true))


def select_n(which: Any, *cases: Any) -> Array:
    """Each element from one of several cases, by the number of the case.

    Parameters
    ----------
    which : array
        Bools for one or two cases (False is the first), or integers, limited to the cases that there are; a scalar,
        or of the shape of the cases.
    *cases : array
        Of one shape and dtype.

    Returns
    -------
    array
        Of the shape and dtype of the cases.

    Raises
    ------
    ShapeError
        The cases have unequal shapes, or ``which`` has neither theirs nor ().
    TypeError
        ``which`` is bool and there are more than two cases.

    Examples
    --------
    >>> a = ct.numpy.arange(3)
    >>> ct.lax.select_n(ct.numpy.array([0, 2, 1]), a, a + 10, a + 20)
    Array([ 0, 21, 12], dtype=int32)
    """
    if not cases:
        raise ValueError(
            "lax.select_n needs at least one case\n  pass the cases behind the selector: select_n(which, x, y)"
        )
    return _choose_case("select_n", which, cases)


def _choose_case(name: str, which: Any, cases: Any) -> Array:
    index, arrays = as_array(name, which), one_dtype(name, cases)
    check_kind(name, index, ("bool", *INTEGERS))
    if not alike(*arrays):
        raise ShapeError(
            f"lax.{name}: the cases must have one shape; got {shapes_of(arrays)}\n"
            "  broadcast them first: ct.numpy.broadcast_arrays(x, y)"
        )
    if index.ndim and not alike(index, arrays[0]):
        raise ShapeError(
            f"lax.{name}: the selector must be a scalar or have the shape of the cases; got {index.shape} and {arrays[0].shape}\n"
            f"  broadcast it: ct.numpy.broadcast_to(which, {arrays[0].shape}), if it has equal or single sizes there"
        )
    index = stretched(index, arrays[0])
    if kind(index) == "bool":
        if len(arrays) > 2:
            raise TypeError(
                f"lax.{name}: a bool selector chooses between two cases; got {len(arrays)}\n"
                "  pass the number of the case instead, as integers"
            )
        return arrays[0] if len(arrays) == 1 else primitives.select(index, arrays[1], arrays[0])
    result = arrays[-1]
    for number in reversed(range(len(arrays) - 1)):
        result = primitives.select(primitives.le(index, literal(index, number)), arrays[number], result)
    return result


def clamp(min: Any, x: Any, max: Any) -> Array:  # noqa: A002
    """The elements of ``x`` limited to the range from ``min`` to ``max``.

    At an end ``x`` and the end have half of the derivative each, as by `cotangent.numpy.clip`. Where ``min`` is
    above ``max`` the result is ``max``.

    Parameters
    ----------
    min : array
        The lower end: a scalar, or of the shape of ``x``.
    x : array
        Bools or real numbers.
    max : array
        The upper end: a scalar, or of the shape of ``x``.

    Returns
    -------
    array
        Of the shape and dtype of ``x``.

    Examples
    --------
    >>> ct.lax.clamp(0.0, ct.numpy.array([-1.0, 0.5, 2.0]), 1.0)
    Array([0. , 0.5, 1. ], dtype=float32)
    """
    low, array, high = one_dtype("clamp", (min, x, max))
    check_kind("clamp", array, ORDERED)
    for end in (low, high):
        if end.ndim and not alike(end, array):
            raise ShapeError(
                f"lax.clamp: the ends must be scalars or have shape {array.shape}; got {end.shape}\n"
                "  use ct.numpy.clip(x, low, high), which broadcasts"
            )
    return primitives.min(primitives.max(array, stretched(low, array)), stretched(high, array))


def stop_gradient(x: Any) -> Any:
    """The value itself, with zero derivative.

    Parameters
    ----------
    x : pytree of arrays
        What is to count as a constant.

    Returns
    -------
    pytree of arrays
        The same values in the same structure.

    Examples
    --------
    >>> float(ct.grad(lambda x: x * ct.lax.stop_gradient(x))(3.0))
    3.0
    """
    return tree_map(lambda leaf: primitives.stop_gradient(leaf), x)


def optimization_barrier(operand: Any, /) -> Any:
    """The value itself; there is nothing here that it would have to hold back.

    JAX's compiler moves no computation past the barrier. The compiler here does not move computations in ways that
    a program could tell, so that this is the identity, derivatives included.

    Parameters
    ----------
    operand : pytree of arrays
        Any values.

    Returns
    -------
    pytree of arrays
        The same values in the same structure.

    Examples
    --------
    >>> ct.lax.optimization_barrier(ct.numpy.array([1.0, 2.0]))
    Array([1., 2.], dtype=float32)
    """
    return tree_map(lambda leaf: apart(_core.array(leaf), leaf), operand)


check_arguments(globals())
