"""Attributes of primitives that users define: any Python value, compared by what it is and given to rules as it was.

The program representation knows numbers, texts, dtypes and tuples of numbers of one kind; these are saved with a graph. Anything else is
carried as an object. Two that are equal, of equal types, are one object, so that equal calls make equal equations, and what was computed
for one serves the other. Values that can change (lists, dictionaries, sets, NumPy arrays) are copied when they are bound.
"""

from __future__ import annotations

import copy
import functools
import weakref
from typing import Any

import numpy as np

from cotangent._base.small_floats import has_small_floats, small_floats
from cotangent._core import Array, Graph

USER_DEFINED: set[str] = set()  # names of primitives whose attributes these are

_TYPE_PREFIX = "<type "


@functools.cache
def _types() -> dict[str, type]:
    """Types of elements are texts in the representation, so that they are saved, and are not dtypes: a rule may call them."""
    small = vars(small_floats()).values() if has_small_floats() else ()
    kinds = [bool, int, float, complex, *np.sctypeDict.values(), *small]
    return {
        f"{_TYPE_PREFIX}{kind.__module__}.{kind.__qualname__}>": kind
        for kind in kinds
        if isinstance(kind, type) and issubclass(kind, (int, float, complex, np.generic))
    }


@functools.cache
def _type_names() -> dict[type, str]:
    return {kind: name for name, kind in _types().items()}


_LEAST, _MOST = -(2**63), 2**63 - 1


class Held:
    """A value as it was when it was bound."""

    __slots__ = ("__weakref__", "_changes", "_value")

    def __init__(self, value: Any, changes: bool) -> None:
        self._value = value
        self._changes = changes

    def value(self) -> Any:
        """The value; a copy if it could be changed."""
        return copy.deepcopy(self._value) if self._changes else self._value

    def __repr__(self) -> str:
        return repr(self._value)


_HELD: weakref.WeakValueDictionary[Any, Held] = weakref.WeakValueDictionary()


def _is_native(value: Any) -> bool:
    kind = type(value)
    if kind is int:
        return bool(_LEAST <= value <= _MOST)
    if kind is tuple:
        kinds = {type(item) for item in value}
        return kinds == {float} or (kinds <= {int} and all(_LEAST <= item <= _MOST for item in value))
    if kind is str:
        return not value.startswith(_TYPE_PREFIX) or value not in _types()
    return kind in (bool, float, Graph) or isinstance(value, np.dtype)


def _key(value: Any) -> tuple[Any, bool]:
    """What tells the value from others, types included, and whether it can change."""
    kind = type(value)
    if kind in (float, complex):
        return (kind, repr(value)), False  # tells -0.0 from 0.0, and nan is itself
    if kind in (tuple, list):
        keys = [_key(item) for item in value]
        return (kind, tuple(key for key, _ in keys)), kind is list or any(changes for _, changes in keys)
    if kind is dict:
        items = [(_key(name)[0], _key(item)[0]) for name, item in value.items()]
        return (kind, frozenset(items)), True
    if kind in (set, frozenset):
        return (kind, frozenset(_key(item)[0] for item in value)), kind is set
    if isinstance(value, np.ndarray) and value.dtype != object:
        return (kind, value.dtype, value.shape, value.tobytes()), True
    if isinstance(value, Array):
        array = np.asarray(value)  # of a traced value this says why it cannot be had
        return (kind, array.dtype, array.shape, array.tobytes()), False
    try:
        hash(value)
    except TypeError:
        raise TypeError(
            f"attributes of primitives must be values that can be compared; got {kind.__name__}, which is not hashable\n"
            "  pass numbers, texts, tuples, lists, dictionaries or NumPy arrays of them, or give its class __eq__ and __hash__"
        ) from None
    return (kind, value), False


def to_attribute(value: Any) -> Any:
    """The value as an equation carries it."""
    if _is_native(value) or isinstance(value, Held):
        return value
    if isinstance(value, type) and value in _type_names():
        return _type_names()[value]
    key, changes = _key(value)
    held = _HELD.get(key)
    if held is None:
        held = Held(copy.deepcopy(value) if changes else value, changes)
        _HELD[key] = held
    return held


def from_attribute(value: Any) -> Any:
    """The value as it was given."""
    if isinstance(value, Held):
        return value.value()
    if isinstance(value, str):
        return _types().get(value, value) if value.startswith(_TYPE_PREFIX) else value
    # Lists are held: what the representation has as a list was a tuple.
    return tuple(value) if isinstance(value, list) and not (value and isinstance(value[0], Graph)) else value
