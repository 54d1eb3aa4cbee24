"""Arguments in the place of others: what a call that failed says where they stand one by one and belong together, or to another function.

``grad(loss, w, x)`` gives the arguments of the loss to `grad`, ``concatenate(a, b)`` arrays that are one argument, a sequence, and ``zeros(2, 3)``
sizes that are a shape. What the parameters stand for is known by their names, which are the same everywhere.
"""

from __future__ import annotations

import inspect
import operator
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from cotangent._core import Array

__all__ = ["Positions", "check_options", "check_positions", "misplaced", "shown"]

# Numbers of arguments, one or several: `check_positions` looks at them, and knows more than that they are no texts.
Positions = int | Sequence[int]

# Parameters that take several arrays, and several whole numbers.
_ARRAYS = ("arrays", "tup", "operands", "object")
_NUMBERS = ("shape", "axes", "axis", "reps", "dimensions", "sizes", "new_sizes")
_LONGEST = 100


def shown(value: Any) -> str:
    """A value in a message: arrays by their types, which say more than their elements and are short."""
    if isinstance(value, Array | np.ndarray) and value.ndim:
        return f"{value.dtype.name}[{','.join(map(str, value.shape))}]"
    if isinstance(value, Mapping) and type(value).__repr__ is dict.__repr__:
        text = "{" + ", ".join(f"{key!r}: {shown(item)}" for key, item in value.items()) + "}"
    elif type(value) is tuple:
        text = f"({', '.join(map(shown, value))}{',' if len(value) == 1 else ''})"
    elif type(value) is list:
        text = f"[{', '.join(map(shown, value))}]"
    else:
        text = repr(value)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def _is_data(value: Any) -> bool:
    """Whether a value can be an argument of a function of arrays, and cannot be an option: a flag, a number of an argument or an axis."""
    if isinstance(value, Array | np.ndarray):
        return value.ndim > 0 or value.dtype.kind not in "iub"
    if isinstance(value, Mapping):
        return any(map(_is_data, value.values()))
    if isinstance(value, tuple | list):
        return any(map(_is_data, value))
    return isinstance(value, float | complex | np.inexact)


def _is_whole(value: Any) -> bool:
    if isinstance(value, bool):
        return False
    try:
        operator.index(value)
    except TypeError:
        return False
    return True


def _given_to_transform(transform: str, function: Any, others: Sequence[Any]) -> str:
    name = getattr(function, "__name__", "")
    name = name if name.isidentifier() else "f"
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        parameters = []
    plain = all(
        parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD) for parameter in parameters
    )
    names = ", ".join(parameter.name for parameter in parameters[: len(others)])
    arguments = names if plain and len(parameters) >= len(others) else "x" if len(others) == 1 else "x, y"
    return (
        f"{transform} takes options after the function; got {', '.join(map(shown, others))}\n"
        f"  {transform} returns a function, which takes the arguments: ct.{transform}({name})({arguments})"
    )


def check_options(transform: str, function: Any, *options: Any) -> None:
    """Raises TypeError where an option of a transform is what can only be an argument of the function."""
    if any(map(_is_data, options)):
        count = max(number for number, option in enumerate(options, 1) if _is_data(option))
        raise TypeError(_given_to_transform(transform, function, options[:count]))


def check_positions(transform: str, function: Any, option: str, given: Any, names_option: str = "") -> None:
    """Raises TypeError where names of arguments are given for their positions: which those are.

    ``names_option``: what takes names.
    """
    names = (given,) if isinstance(given, str | bytes) else given if isinstance(given, list | tuple) else ()
    if not any(isinstance(name, str | bytes) for name in names):
        return
    try:
        parameters = list(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        parameters = []
    places = [parameters.index(name) if name in parameters else None for name in names]
    found = [place for place in places if place is not None]
    if not found or len(found) < len(places):
        hint = f"pass positions, counted from 0: {option}=0 for the first argument"
    else:
        hint = f"pass the position, counted from 0: {option}={found[0] if isinstance(given, str) else tuple(found)}"
    meant = f"; did you mean {names_option}={given!r}?" if names_option else ""
    raise TypeError(f"{transform}: {option} must be integers; got {given!r}{meant}\n  {hint}")


def misplaced(function: Any, args: Sequence[Any], began: bool) -> str | None:
    """What is said of a call of a public function that failed; None where its arguments are in their places.

    ``began``: the function has seen them. A transform that has may have called the user's function, whose error is another matter.
    """
    code = getattr(function, "__code__", None)
    if code is None or len(args) < 2:
        return None
    name: str = function.__name__
    parameters = code.co_varnames[: code.co_argcount]
    if parameters[:1] == ("key",):  # cotangent.random.orders knows more of what is meant
        return None
    if parameters[:1] == ("fun",) and callable(args[0]):
        takes_arguments = code.co_flags & inspect.CO_VARARGS or "primals" in parameters
        is_transform = not takes_arguments and not began
        return _given_to_transform(name, args[0], args[1:]) if is_transform and any(map(_is_data, args[1:])) else None
    for position, parameter in enumerate(parameters[: len(args) - 1]):
        before = ", ".join(f"{each}" for each in parameters[:position])
        before += ", " if before else ""
        following = function.__annotations__.get(parameters[position + 1], "") if position + 1 < len(parameters) else ""
        if parameter in _NUMBERS and "int" not in following and "bool" not in following:
            count = next((i for i, x in enumerate(args[position:]) if not _is_whole(x)), len(args) - position)
            required = len(parameters) - len(function.__defaults__ or ())
            if count < 2 or len(args) - count + 1 < required:  # of another one there is too little anyway
                return None
            numbers = ", ".join(str(operator.index(x)) for x in args[position : position + count])
            rest = "".join(f", {shown(x)}" for x in args[position + count :])
            return (
                f"{name}: {parameter} is one argument, a tuple where there are several; got {numbers}\n"
                f"  write {name}({before}({numbers}){rest})"
            )
        if parameter in _ARRAYS and position == 0 and not (parameter == "operands" and began):
            count = next((i for i, x in enumerate(args) if not _is_part(x, parameter)), len(args))
            if count < 2:
                return None
            inside = ", ".join(map(shown, args[:count]) if parameter == "object" else "abcdefgh"[:count])
            rest = "".join(f", {shown(x)}" for x in args[count:])
            return (
                f"{name}: {parameter} is one argument, a sequence; got {', '.join(map(shown, args[:count]))} one by one\n"
                f"  write {name}([{inside}]{rest})"
            )
    return None


def _is_part(value: Any, parameter: str) -> bool:
    if parameter == "object":
        return isinstance(value, int | float | complex | np.number) and not isinstance(value, bool)
    return isinstance(value, list | tuple) or (isinstance(value, Array | np.ndarray) and value.ndim > 0)
