"""``x.at[index]``: updates of the elements that an index names, as pads, selects and scatters.

The stages of `indexing` run backward: the updates get the shape of the lookup, are scattered into the window, and the
window is put back into the array. A mask that gives all its elements the same is a select, whose values need not be
known while a program is captured.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from cotangent import _core
from cotangent._base import primitives
from cotangent._base.arguments import check_arguments, leaving_methods, suggestion
from cotangent._base.device import backend_for
from cotangent._base.messages import warn_user
from cotangent._base.words import not_among
from cotangent._core import Array
from cotangent._ops.binding import literal
from cotangent._ops.index_plans import outside_if_negative, resolve
from cotangent._ops.indexing import (
    arrays_of_positions,
    get_item,
    require_places,
)
from cotangent._ops.repeated import repeated, times_named
from cotangent.numpy.index_writes import _get_filled, _only_mask, update_item

_PROMISES = ("indices_are_sorted", "unique_indices", "wrap_negative_indices")


def _check_hints(hints: dict[str, Any], name: str) -> None:
    """Raises for what is no promise about the indices.

    Raises:
        TypeError: there is no such option. ValueError: a placement on several devices.
    """
    for hint, value in hints.items():
        if hint == "out_sharding":
            backend_for(value, f"at[...].{name}")
        elif hint not in _PROMISES:
            raise TypeError(
                f"at[...].{name} got an unexpected keyword argument {hint!r}"
                f"{suggestion(hint, (*_PROMISES, 'mode', 'fill_value'))}\n  it takes mode= and the promises {', '.join(_PROMISES)}"
            )


def _never_from_end(hints: dict[str, Any]) -> bool:
    return not (hints.get("wrap_negative_indices") is None or hints["wrap_negative_indices"])


@leaving_methods
class IndexUpdate:
    """What ``x.at[index]`` is: its methods return arrays with the indexed elements changed.

    Positions outside that are values are dropped; ``get`` clamps them. Where an index array names an element several
    times, ``add`` adds every update, ``multiply``, ``min`` and ``max`` combine them all, and ``set`` keeps the last
    one. A mask may be a value that is not known yet, under ``jit`` and ``vmap`` too, when all elements along its axes
    are given the same. Negative positions count from the end, unless ``wrap_negative_indices=False`` makes them lie
    outside.

    Parameters
    ----------
    array : array
        The one that is indexed.
    index : index
        As in ``x[index]``.

    Examples
    --------
    >>> ct.numpy.zeros(3).at[1].set(5.0)
    Array([0., 5., 0.], dtype=float32)

    >>> ct.jit(lambda x: x.at[x > 1].multiply(10.0))(ct.numpy.arange(4.0))
    Array([ 0.,  1., 20., 30.], dtype=float32)
    """

    def __init__(self, array: Array, index: Any) -> None:
        self._array = array
        self._index = index

    def __repr__(self) -> str:
        return f"IndexUpdate({self._array!r}, {self._index!r})"

    def get(self, *, mode: str | None = None, fill_value: Any = None, **hints: Any) -> Array:
        """The indexed elements, ``x[index]``, with a mode for positions outside that only a run of the program knows.

        Parameters
        ----------
        mode : str, optional
            ``"clip"`` (None and ``"promise_in_bounds"`` are the same): the nearest element, which has the derivative,
            too; ``"fill"`` or ``"drop"``: ``fill_value``, without derivative.
        fill_value : number, optional
            By default NaN, the lowest signed or the highest unsigned integer, or True.
        **hints : bool
            ``wrap_negative_indices=False``: negative positions are outside. ``unique_indices``,
            ``indices_are_sorted``: without effect.

        Returns
        -------
        array
            As ``x[index]``.

        Raises
        ------
        ValueError
            There is no such mode.

        Examples
        --------
        >>> ct.numpy.array([1.0, 2.0]).at[np.array([0, 5])].get(mode="fill")
        Array([ 1., nan], dtype=float32)
        """
        _check_hints(hints, "get")
        if mode is None and _core.in_mask() and _core.called_by_user(1):
            require_places(self._array, self._index)
        index = outside_if_negative(self._index, self._array) if _never_from_end(hints) else self._index
        if mode in (None, "clip", "promise_in_bounds"):
            return _with_mode(lambda index: get_item(self._array, index), index, mode)
        if mode not in ("fill", "drop"):
            raise not_among("at[...].get", "mode", mode, (None, "clip", "fill"))
        return _with_mode(lambda index: _get_filled(self._array, index, fill_value), index, mode)

    def set(self, values: Any, *, mode: str | None = None, **hints: Any) -> Array:
        """The array with the indexed elements replaced; by the last value, where an element is named several times.

        Parameters
        ----------
        values : array
            Broadcast to the indexed elements, and converted to the dtype of the array.
        mode : str, optional
            For positions outside that are values: ``"drop"`` (None, ``"fill"``): nothing is changed; ``"clip"``: the
            nearest element is.
        **hints : bool
            ``wrap_negative_indices=False``: negative positions are outside. ``unique_indices``: no element is named
            twice. ``indices_are_sorted``: without effect.

        Returns
        -------
        array
            Of the dtype and the shape of the array.

        Raises
        ------
        IndexError
            A position that is a Python int is outside, and there is no mode.
        ValueError
            There is no such mode.

        Examples
        --------
        >>> ct.numpy.array([1, 2, 3]).at[1].set(20)
        Array([ 1, 20,  3], dtype=int32)
        """
        return self._update("set", values, mode, hints)

    def add(self, values: Any, *, mode: str | None = None, **hints: Any) -> Array:
        """The array with values added to the indexed elements, once for each time that one is named.

        Parameters
        ----------
        values : array
            Broadcast to the indexed elements, and converted to the dtype of the array.
        mode : str, optional
            For positions outside that are values: ``"drop"`` (None, ``"fill"``): nothing is changed; ``"clip"``: the
            nearest element is.
        **hints : bool
            ``wrap_negative_indices=False``: negative positions are outside. ``unique_indices``: no element is named
            twice. ``indices_are_sorted``: without effect.

        Returns
        -------
        array
            Of the dtype and the shape of the array.

        Raises
        ------
        IndexError
            A position that is a Python int is outside, and there is no mode.
        ValueError
            There is no such mode.

        Examples
        --------
        >>> ct.numpy.array([1, 2, 3]).at[np.array([0, 0])].add(10)
        Array([21,  2,  3], dtype=int32)
        """
        return self._update("add", values, mode, hints)

    def subtract(self, values: Any, *, mode: str | None = None, **hints: Any) -> Array:
        """The array with values subtracted from the indexed elements, once for each time that one is named.

        Parameters
        ----------
        values : array
            Broadcast to the indexed elements, and converted to the dtype of the array.
        mode : str, optional
            For positions outside that are values: ``"drop"`` (None, ``"fill"``): nothing is changed; ``"clip"``: the
            nearest element is.
        **hints : bool
            ``wrap_negative_indices=False``: negative positions are outside. ``unique_indices``: no element is named
            twice. ``indices_are_sorted``: without effect.

        Returns
        -------
        array
            Of the dtype and the shape of the array.

        Raises
        ------
        IndexError
            A position that is a Python int is outside, and there is no mode.
        ValueError
            There is no such mode.

        Examples
        --------
        >>> ct.numpy.array([1, 2, 3]).at[np.array([0, 0])].subtract(10)
        Array([-19,   2,   3], dtype=int32)
        """
        if _core.called_by_user(1):
            warn_of_lost_fractions(self._array, values, _UPDATE)
        return self._update("add", primitives.neg(_core.convert(values, self._array.dtype)), mode, hints)

    def multiply(self, values: Any, *, mode: str | None = None, **hints: Any) -> Array:
        """The array with the indexed elements multiplied by values, once for each time that one is named.

        Parameters
        ----------
        values : array
            Broadcast to the indexed elements, and converted to the dtype of the array.
        mode : str, optional
            For positions outside that are values: ``"drop"`` (None, ``"fill"``): nothing is changed; ``"clip"``: the
            nearest element is.
        **hints : bool
            ``wrap_negative_indices=False``: negative positions are outside. ``unique_indices``: no element is named
            twice. ``indices_are_sorted``: without effect.

        Returns
        -------
        array
            Of the dtype and the shape of the array.

        Raises
        ------
        IndexError
            A position that is a Python int is outside, and there is no mode.
        ValueError
            There is no such mode.

        Examples
        --------
        >>> ct.numpy.array([1, 2, 3]).at[1:].multiply(10)
        Array([ 1, 20, 30], dtype=int32)
        """
        return self._update("mul", values, mode, hints)

    mul = multiply

    def divide(self, values: Any, *, mode: str | None = None, **hints: Any) -> Array:
        """The array with the indexed elements divided by values, once for each time that one is named.

        Parameters
        ----------
        values : array
            Broadcast to the indexed elements, and converted to the dtype of the array.
        mode : str, optional
            For positions outside that are values: ``"drop"`` (None, ``"fill"``): nothing is changed; ``"clip"``: the
            nearest element is.
        **hints : bool
            ``wrap_negative_indices=False``: negative positions are outside. ``unique_indices``: no element is named
            twice. ``indices_are_sorted``: without effect.

        Returns
        -------
        array
            Of the dtype and the shape of the array.

        Raises
        ------
        IndexError
            A position that is a Python int is outside, and there is no mode.
        ValueError
            There is no such mode.

        Examples
        --------
        >>> ct.numpy.array([1.0, 2.0, 3.0]).at[1:].divide(2)
        Array([1. , 1. , 1.5], dtype=float32)
        """
        return self._update("div", values, mode, hints)

    def power(self, values: Any, *, mode: str | None = None, **hints: Any) -> Array:
        """The array with the indexed elements raised to values.

        Parameters
        ----------
        values : array
            Broadcast to the indexed elements, and converted to the dtype of the array.
        mode : str, optional
            For positions outside that are values: ``"drop"`` (None, ``"fill"``): nothing is changed; ``"clip"``: the
            nearest element is.
        **hints : bool
            ``wrap_negative_indices=False``: negative positions are outside. ``unique_indices``: no element is named
            twice. ``indices_are_sorted``: without effect.

        Returns
        -------
        array
            Of the dtype and the shape of the array.

        Raises
        ------
        IndexError
            A position that is a Python int is outside, and there is no mode.
        ValueError
            There is no such mode.

        Examples
        --------
        >>> ct.numpy.array([1.0, 2.0, 3.0]).at[1:].power(2)
        Array([1., 4., 9.], dtype=float32)
        """
        return self._update("pow", values, mode, hints)

    def max(self, values: Any, *, mode: str | None = None, **hints: Any) -> Array:
        """The array with the indexed elements replaced by the larger of them and values.

        Parameters
        ----------
        values : array
            Broadcast to the indexed elements, and converted to the dtype of the array.
        mode : str, optional
            For positions outside that are values: ``"drop"`` (None, ``"fill"``): nothing is changed; ``"clip"``: the
            nearest element is.
        **hints : bool
            ``wrap_negative_indices=False``: negative positions are outside. ``unique_indices``: no element is named
            twice. ``indices_are_sorted``: without effect.

        Returns
        -------
        array
            Of the dtype and the shape of the array.

        Raises
        ------
        IndexError
            A position that is a Python int is outside, and there is no mode.
        ValueError
            There is no such mode.

        Examples
        --------
        >>> ct.numpy.array([1, 2, 3]).at[:2].max(2)
        Array([2, 2, 3], dtype=int32)
        """
        return self._update("max", values, mode, hints)

    def min(self, values: Any, *, mode: str | None = None, **hints: Any) -> Array:
        """The array with the indexed elements replaced by the smaller of them and values.

        Parameters
        ----------
        values : array
            Broadcast to the indexed elements, and converted to the dtype of the array.
        mode : str, optional
            For positions outside that are values: ``"drop"`` (None, ``"fill"``): nothing is changed; ``"clip"``: the
            nearest element is.
        **hints : bool
            ``wrap_negative_indices=False``: negative positions are outside. ``unique_indices``: no element is named
            twice. ``indices_are_sorted``: without effect.

        Returns
        -------
        array
            Of the dtype and the shape of the array.

        Raises
        ------
        IndexError
            A position that is a Python int is outside, and there is no mode.
        ValueError
            There is no such mode.

        Examples
        --------
        >>> ct.numpy.array([1, 2, 3]).at[1:].min(2)
        Array([1, 2, 2], dtype=int32)
        """
        return self._update("min", values, mode, hints)

    def apply(self, function: Any, *, mode: str | None = None, **hints: Any) -> Array:
        """The array with a function applied to the indexed elements, as often as the index names each.

        Parameters
        ----------
        function : callable
            Of an array of the indexed elements; returns one of the same shape.
        mode : str, optional
            For positions outside that are values: ``"drop"`` (None, ``"fill"``): nothing is changed; ``"clip"``: the
            nearest element is.
        **hints : bool
            ``wrap_negative_indices=False``: negative positions are outside. ``unique_indices``: no element is named
            twice. ``indices_are_sorted``: without effect.

        Returns
        -------
        array
            Of the dtype and the shape of the array.

        Examples
        --------
        >>> ct.numpy.array([1.0, 4.0, 9.0]).at[1:].apply(ct.numpy.sqrt)
        Array([1., 2., 3.], dtype=float32)
        """
        _check_hints(hints, "apply")
        if mode is None and _core.in_mask() and _core.called_by_user(1):
            require_places(self._array, self._index)
        if _never_from_end(hints):
            rest = {**hints, "wrap_negative_indices": None}
            return IndexUpdate(self._array, outside_if_negative(self._index, self._array)).apply(
                function, mode=mode, **rest
            )
        if (found := _only_mask(self._index, self._array)) is not None:
            x = self._array
            return primitives.select(found.spread_over(x), _core.convert(function(x), x.dtype), x)
        plan = resolve(self._index, self._array)
        if plan is None or not plan.looked_up or hints.get("unique_indices"):
            return self._update("set", function(get_item(self._array, self._index)), mode, {})
        counts = times_named(self._index, self._array)
        if counts is None:
            none = literal(self._array, 0, np.dtype("int32"))
            counts = IndexUpdate(none, self._index)._update("add", 1, mode, {})
        chosen = get_item(_core.array(counts), self._index)

        def again(step: Any, x: Array) -> Array:
            values = get_item(x, self._index)
            results = primitives.select(chosen > step, _core.convert(function(values), x.dtype), values)
            return IndexUpdate(x, self._index)._update("set", results, mode, {})

        return repeated(again, self._array, counts)

    def _update(self, operation: str, values: Any, mode: str | None, hints: dict[str, Any]) -> Array:
        check_mode(mode)
        _check_hints(hints, operation)
        if mode is None and _core.in_mask() and _core.called_by_user(2):
            require_places(self._array, self._index)
        if _core.called_by_user(2):
            warn_of_lost_fractions(self._array, values, _UPDATE)
        index = outside_if_negative(self._index, self._array) if _never_from_end(hints) else self._index
        outside, unique = "clip" if mode == "clip" else "drop", bool(hints.get("unique_indices"))
        values = _as_written(values, self._array.dtype)
        updated = _with_mode(
            lambda index: update_item(self._array, index, operation, values, outside, unique), index, mode
        )
        yields = self._array.weak_type and (
            type(values) in (int, float, complex) or getattr(values, "weak_type", False)
        )
        if updated.weak_type != yields:  # as both have it: a number may stand in the place of all elements
            return primitives.convert(updated, dtype=updated.dtype, **({"weak": True} if yields else {}))
        return updated

    def __getattr__(self, name: str) -> Any:
        near = suggestion(name, _METHODS)
        raise AttributeError(
            f"x.at[i] has no attribute {name!r}{near}\n  its methods are {', '.join(_METHODS)}", name=name
        )


_METHODS = [name for name in vars(IndexUpdate) if not name.startswith("_")]
_UPDATE = "x.at[i].set(y) and the like"


def warn_of_lost_fractions(x: Array, values: Any, update: str) -> None:
    """Warns where floats that a captured function computes are stored as integers or bools, which have no derivatives."""
    if not (
        isinstance(values, Array) and values.dtype.kind == "f" and x.dtype.kind in "iub" and _core.is_traced(values)
    ):
        return
    warn_user(
        f"{update}: y is {values.dtype}, and x is {x.dtype}: fractions are lost, and with them derivatives\n"
        f"  make x floating, as by x = x.astype({values.dtype.name!r}); if that is meant, write y.astype({x.dtype.name!r})"
    )


def _as_written(values: Any, dtype: Any) -> Any:
    """A list of Python's numbers with all their digits, as one number has them, where the array's elements have room for them."""
    if dtype.name not in ("float64", "complex128") or not isinstance(values, list):
        return values
    return np.asarray(values, dtype) if all(type(value) in (int, float) for value in values) else values


def check_mode(mode: Any) -> None:
    """Raises unless ``mode`` says what becomes of updates outside."""
    if mode not in (None, "drop", "clip", "fill", "promise_in_bounds"):
        raise not_among("at[...]", "mode", mode, (None, "drop", "clip"))


def _with_mode(apply: Callable[[Any], Array], index: Any, mode: str | None) -> Array:
    """``apply(index)``, where a constant position outside is an error unless a mode says what it means."""
    try:
        return apply(index)
    except IndexError:
        if mode is None:
            raise
    items = index if isinstance(index, tuple) else (index,)
    is_number = lambda item: isinstance(item, (int, np.integer)) and not isinstance(item, (bool, np.bool_))  # noqa: E731
    values = [_core.array(item) if is_number(item) else item for item in items]  # type: ignore[no-untyped-call]
    return apply(tuple(values))


def _refuse_operator(written: str, instead: str) -> Any:
    def refused(self: Any, *_: Any) -> Any:
        raise TypeError(f"{written}: x.at[i] waits for a method\n  write {instead}; the elements are x[i]")

    return refused


# What is written for arrays of NumPy's, and for elements.
_REFUSED = {"getitem": _refuse_operator("x.at[i][j]", "x.at[i, j].set(y)")}
for _name, _operator, _method in (
    ("add", "+", "add"),
    ("sub", "-", "subtract"),
    ("mul", "*", "multiply"),
    ("truediv", "/", "divide"),
    ("pow", "**", "power"),
):
    _instead = f"x = x.at[i].{_method}(y), or x[i] {_operator}"
    _REFUSED[_name] = _refuse_operator(f"x.at[i] {_operator} y", f"{_instead} y")
    _assigned = _refuse_operator(f"x.at[i] {_operator}= y", f"{_instead}= y where x may be assigned to")
    _REFUSED[f"i{_name}"] = _assigned
for _name, _refused in _REFUSED.items():
    setattr(IndexUpdate, f"__{_name}__", _refused)


@leaving_methods
class IndexUpdateHelper:
    """What ``x.at`` is: index it, then call ``set``, ``add``, ``multiply``, ``min``, ``max``, … on the result.

    Parameters
    ----------
    array : array
        The one that will be indexed.

    Examples
    --------
    >>> ct.numpy.array([1, 2, 3]).at[0].add(10)
    Array([11,  2,  3], dtype=int32)
    """

    def __init__(self, array: Array) -> None:
        self._array = array

    def __getitem__(self, index: Any) -> IndexUpdate:
        if _core.in_mask():
            _core.check_sizes(arrays_of_positions(index))
        return IndexUpdate(self._array, index)

    def __setitem__(self, index: Any, value: Any) -> None:
        raise TypeError(
            "x.at[i] = y: x.at[i] waits for a method\n  write x[i] = y, or x = x.at[i].set(y) for an array of its own"
        )

    def __getattr__(self, name: str) -> Any:
        if name in _METHODS:
            raise AttributeError(
                f"x.at.{name}(...): x.at is indexed, and then updated\n  write x.at[i].{name}(...), or x.at[...] for all elements",
                name=name,
            )
        raise AttributeError(
            f"x.at has no attribute {name!r}\n  write x.at[i].set(y), or .add(y), .multiply(y), .min(y), .max(y)",
            name=name,
        )

    def __call__(self, *_: Any) -> Any:
        """Raises: ``x.at`` is indexed.

        Raises
        ------
        TypeError
            Always.
        """
        raise TypeError("x.at(i): x.at is indexed, and then updated\n  write x.at[i].set(y), or x[i] for the elements")

    def __repr__(self) -> str:
        return f"IndexUpdateHelper({self._array!r})"


check_arguments(globals())
