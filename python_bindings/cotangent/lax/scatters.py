"""The scatters: slices written into an array, or combined with it, at many computed places."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from cotangent import _core
from cotangent._base import primitives
from cotangent._base.arguments import check_arguments
from cotangent._base.capture import as_ragged_as, check_callable
from cotangent._core import Array, Primitive
from cotangent._ops.binding import constant
from cotangent._ops.extents import (
    capacities,
    capacity,
)
from cotangent._ops.repeated import repeated
from cotangent._ops.sizes import static_shape
from cotangent.errors import DTypeError, ShapeError
from cotangent.lax._operands import numbered
from cotangent.lax.slicing import (
    GatherDimensionNumbers,
    GatherScatterMode,
    ScatterDimensionNumbers,
    _flattened,
    _places,
    gather,
)

__all__ = ["scatter", "scatter_add", "scatter_apply", "scatter_max", "scatter_min", "scatter_mul", "scatter_sub"]


def _window_sizes(x: Array, updates: Array, numbers: ScatterDimensionNumbers) -> list[int]:
    """The sizes of the slices that updates hold, an axis of the operand."""
    shape = capacities(updates)
    if any(not 0 <= axis < len(shape) for axis in numbers.update_window_dims):
        raise ShapeError(
            f"lax.scatter: window axes {tuple(numbers.update_window_dims)} must be axes of the updates' {tuple(shape)}\n"
            + (
                f"  name axes that they have: {numbered(len(shape))}"
                if shape
                else "  give updates one axis for each of them"
            )
        )
    sizes = iter(shape[axis] for axis in numbers.update_window_dims)
    dropped = {*numbers.inserted_window_dims, *numbers.operand_batching_dims}
    return [1 if axis in dropped else next(sizes, -1) for axis in range(x.ndim)]


def _check_numbers(name: str, numbers: Any) -> None:
    if not isinstance(numbers, ScatterDimensionNumbers):
        raise TypeError(
            f"lax.{name}: dimension_numbers must be ScatterDimensionNumbers; got {numbers!r}\n"
            "  make them with ct.lax.ScatterDimensionNumbers, or write x.at[indices].set(updates)"
        )


def _as_gather(numbers: ScatterDimensionNumbers) -> GatherDimensionNumbers:
    return GatherDimensionNumbers(
        tuple(numbers.update_window_dims),
        tuple(numbers.inserted_window_dims),
        tuple(numbers.scatter_dims_to_operand_dims),
        tuple(numbers.operand_batching_dims),
        tuple(numbers.scatter_indices_batching_dims),
    )


def _scatter(
    name: str, primitive: Primitive, operand: Any, indices: Any, updates: Any, numbers: Any, unique: bool, mode: Any
) -> Array:
    _check_numbers(name, numbers)
    x, given = _core.array(operand), _core.array(updates)
    batch_axes = [axis for axis in _core.ragged_axes(given) if axis not in numbers.update_window_dims]
    if batch_axes or _core.ragged_axes(_core.array(indices)):
        raise NotImplementedError(f"lax.{name} of ragged updates is not supported\n  use x.at[...]")
    left_out = {*numbers.inserted_window_dims, *getattr(numbers, "operand_batching_dims", ())}
    window_axes = [axis for axis in range(x.ndim) if axis not in left_out]
    for axis, of_x in zip(numbers.update_window_dims, window_axes, strict=False):
        own, length = _core.length_of(given, axis), _core.length_of(x, of_x)
        if own is not None and (length is None or not _core.same_length(own, length)):
            raise NotImplementedError(
                f"lax.{name}: the updates are ragged along axis {axis}, and not as long as axis {of_x} of the array\n"
                "  use x.at[...]"
            )
    if given.dtype != x.dtype:
        if not given.weak_type:
            raise DTypeError(
                f"lax.{name}: the updates have dtype {given.dtype}, the array {x.dtype}\n"
                f"  convert them: updates.astype('{x.dtype}')"
            )
        given = _core.convert(given, x.dtype)
    places = _places(
        name, x, indices, _as_gather(numbers), _window_sizes(x, given, numbers), GatherScatterMode.from_any(mode)
    )
    back = [places.order.index(axis) for axis in range(len(places.order))]
    if given.ndim != len(back):
        raise ShapeError(
            f"lax.{name}: updates need {len(back)} axes; got shape {given.shape}\n"
            "  they have the axes of the indices but the last, and those of the window; x.at[indices].set(updates) finds them itself"
        )
    if back != sorted(back):
        given = primitives.transpose(given, permutation=back)
    options: dict[str, Any] = {"unique": True} if unique else {}
    result = primitive(_flattened(x, places), places.positions, given, axis=0, batch_dims=0, **options)
    result = primitives.reshape(result, shape=[capacity(x, axis) for axis in places.permutation])
    if places.permutation != list(range(x.ndim)):
        back = [places.permutation.index(axis) for axis in range(x.ndim)]
        result = primitives.transpose(result, permutation=back)
    return as_ragged_as(result, x)  # type: ignore[no-any-return]


def scatter(
    operand: Any,
    scatter_indices: Any,
    updates: Any,
    dimension_numbers: ScatterDimensionNumbers,
    *,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    mode: Any = None,
) -> Array:
    """Writes slices into an array at many computed places.

    Where places repeat, the last update stays. ``x.at[indices].set(values)`` is the friendlier interface.

    Parameters
    ----------
    operand : array
        What is written into; it is not changed.
    scatter_indices : array of int, shape (..., k)
        Where each slice begins, in the k axes of ``scatter_dims_to_operand_dims``.
    updates : array
        The slices, of the dtype of ``operand``.
    dimension_numbers : ScatterDimensionNumbers
        Which axes belong together.
    indices_are_sorted : bool
        A promise, which is not needed.
    unique_indices : bool
        A promise that no element is written twice.
    mode : str, GatherScatterMode or None
        For slices that reach outside: "drop" (the default), "clip" or "promise_in_bounds".

    Returns
    -------
    array
        Of the shape and dtype of ``operand``.

    Raises
    ------
    ShapeError
        Sizes or dimension numbers do not fit.
    DTypeError
        The updates have another dtype.

    Examples
    --------
    >>> numbers = ct.lax.ScatterDimensionNumbers((), (0,), (0,))
    >>> ct.lax.scatter(ct.numpy.arange(4), ct.numpy.array([[1], [3]]), ct.numpy.array([10, 30]), numbers)
    Array([ 0, 10,  2, 30], dtype=int32)
    """
    del indices_are_sorted
    return _scatter(
        "scatter", primitives.scatter, operand, scatter_indices, updates, dimension_numbers, unique_indices, mode
    )


_TEXT = """{summary}, at many computed places.

    Where places repeat, all updates count. ``x.at[indices].{method}(values)`` is the friendlier interface.

    Parameters
    ----------
    operand : array
        What the updates are combined with; it is not changed.
    scatter_indices : array of int, shape (..., k)
        Where each slice begins, as in `scatter`.
    updates : array
        The slices, of the dtype of ``operand``.
    dimension_numbers : ScatterDimensionNumbers
        Which axes belong together.
    indices_are_sorted, unique_indices : bool
        Promises, as in `scatter`.
    mode : str, GatherScatterMode or None
        For slices that reach outside, as in `scatter`.

    Returns
    -------
    array
        Of the shape and dtype of ``operand``.

    Examples
    --------
    >>> numbers = ct.lax.ScatterDimensionNumbers((), (0,), (0,))
    >>> x, places = ct.numpy.array([4, 4, 4]), ct.numpy.array([[0], [0], [2]])
    >>> ct.lax.{name}(x, places, ct.numpy.array([1, 2, 6]), numbers)
    {result}
    """


def _combining(primitive: Primitive, method: str, summary: str, result: str) -> Callable[..., Array]:
    """``result``: that of the example."""

    def function(
        operand: Any,
        scatter_indices: Any,
        updates: Any,
        dimension_numbers: ScatterDimensionNumbers,
        *,
        indices_are_sorted: bool = False,
        unique_indices: bool = False,
        mode: Any = None,
    ) -> Array:
        del indices_are_sorted
        return _scatter(
            primitive.name, primitive, operand, scatter_indices, updates, dimension_numbers, unique_indices, mode
        )

    function.__name__ = function.__qualname__ = primitive.name
    function.__doc__ = _TEXT.format(name=primitive.name, method=method, summary=summary, result=result)
    return function


scatter_add = _combining(primitives.scatter_add, "add", "Adds slices to an array", "Array([ 7,  4, 10], dtype=int32)")
scatter_mul = _combining(
    primitives.scatter_mul, "multiply", "Multiplies an array by slices", "Array([ 8,  4, 24], dtype=int32)"
)
scatter_min = _combining(
    primitives.scatter_min,
    "min",
    "Takes the smaller of an array's elements and slices",
    "Array([1, 4, 4], dtype=int32)",
)
scatter_max = _combining(
    primitives.scatter_max, "max", "Takes the larger of an array's elements and slices", "Array([4, 4, 6], dtype=int32)"
)


def scatter_sub(
    operand: Any,
    scatter_indices: Any,
    updates: Any,
    dimension_numbers: ScatterDimensionNumbers,
    *,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    mode: Any = None,
) -> Array:
    """Subtracts slices from an array at many computed places; where places repeat, all of them.

    Parameters
    ----------
    operand : array
        What is subtracted from; it is not changed.
    scatter_indices : array of int, shape (..., k)
        Where each slice begins, as in `scatter`.
    updates : array
        The slices, of the dtype of ``operand``.
    dimension_numbers : ScatterDimensionNumbers
        Which axes belong together.
    indices_are_sorted, unique_indices : bool
        Promises, as in `scatter`.
    mode : str, GatherScatterMode or None
        For slices that reach outside, as in `scatter`.

    Returns
    -------
    array
        Of the shape and dtype of ``operand``.

    Examples
    --------
    >>> numbers = ct.lax.ScatterDimensionNumbers((), (0,), (0,))
    >>> ct.lax.scatter_sub(ct.numpy.arange(3), ct.numpy.array([[0], [0]]), ct.numpy.array([1, 2]), numbers)
    Array([-3,  1,  2], dtype=int32)
    """
    del indices_are_sorted
    negated = primitives.neg(_core.array(updates))
    return _scatter(
        "scatter_sub",
        primitives.scatter_add,
        operand,
        scatter_indices,
        negated,
        dimension_numbers,
        unique_indices,
        mode,
    )


def scatter_apply(
    operand: Any,
    scatter_indices: Any,
    func: Callable[[Array], Any],
    dimension_numbers: ScatterDimensionNumbers,
    *,
    update_shape: Sequence[int] = (),
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    mode: Any = None,
) -> Array:
    """Applies a function to the elements at computed places, as often as each is named.

    Parameters
    ----------
    operand : array
        Where the elements are; it is not changed.
    scatter_indices : array of int, shape (..., k)
        Where each slice begins, as in `scatter`.
    func : callable
        From elements to elements: it is given arrays and must treat their elements one by one.
    dimension_numbers : ScatterDimensionNumbers
        Which axes belong together.
    update_shape : sequence of int
        The shape that updates of all slices together would have.
    indices_are_sorted, unique_indices : bool
        Promises, as in `scatter`.
    mode : str, GatherScatterMode or None
        For slices that reach outside, as in `scatter`.

    Returns
    -------
    array
        Of the shape and dtype of ``operand``.

    Examples
    --------
    >>> numbers = ct.lax.ScatterDimensionNumbers((), (0,), (0,))
    >>> places = ct.numpy.array([[1], [1], [2]])
    >>> ct.lax.scatter_apply(ct.numpy.arange(4), places, lambda x: 10 * x, numbers, update_shape=(3,))
    Array([  0, 100,  20,   3], dtype=int32)
    """
    _check_numbers("scatter_apply", dimension_numbers)
    check_callable(func, "lax.scatter_apply")
    x = _core.array(operand)
    update_shape, _ = static_shape(update_shape, "lax.scatter_apply")
    shaped = _core.full(tuple(update_shape), 0, x.dtype)
    sizes = _window_sizes(x, shaped, dimension_numbers)
    hints = {"indices_are_sorted": indices_are_sorted, "unique_indices": unique_indices, "mode": mode}
    ones = _core.full(tuple(update_shape), 1, np.dtype("int32"))
    none = constant(x, 0, np.dtype("int32"))
    counts = scatter_add(none, scatter_indices, ones, dimension_numbers, **hints)

    def slices(x: Array) -> Array:
        return gather(x, scatter_indices, _as_gather(dimension_numbers), sizes, mode="clip")

    chosen = slices(counts)

    def again(step: Any, x: Array) -> Array:
        values = slices(x)
        results = primitives.select(chosen > step, _core.convert(func(values), x.dtype), values)
        return scatter(x, scatter_indices, results, dimension_numbers, **hints)

    return repeated(again, x, counts)


check_arguments(globals())
