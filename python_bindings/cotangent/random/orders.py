"""Arguments in another order than that of ``ct.random``: NumPy's, whose shape comes last, and the shape in front of the parameters.

Where something stands in the place of the shape or of the dtype that is none, the error writes the call that was meant. Calls that are
possible, and make nothing or one number again and again, are warned of. Only arguments without names are looked at.

A module of distributions calls `look_at_orders` before it puts its functions behind a check of their arguments.
"""

from __future__ import annotations

import functools
import types
from collections.abc import Sequence
from typing import Any

import numpy as np

from cotangent import _core
from cotangent._base.arguments import call_of
from cotangent._base.messages import warn_user
from cotangent._core import Array
from cotangent._ops.sizes import is_dimension
from cotangent.errors import DTypeError, ShapeError

_OPTIONS = {"shape", "dtype", "axis", "m"}  # parameters that are none of a distribution, as words and flags are none
_BESIDES = {"dtype", "out_sharding"}  # what may have a name in a call that is looked at
# What NumPy's functions have that those here lack: a location and a scale, in front of all others, or a scale, behind them.
_SHIFTED = {"gumbel", "laplace", "logistic", "normal"}
_SCALED = {"exponential", "gamma"}
_LACKING = {**dict.fromkeys(_SHIFTED, 2), **dict.fromkeys(_SCALED, 1), "lognormal": 1, "wald": 1}
# Whose parameters are vectors, which a tuple may be.
_OF_VECTORS = {"categorical", "choice", "dirichlet", "multinomial", "multivariate_normal"}
_DTYPES = {"bits": "uint32", "rademacher": "int32", "randint": "int32"}


def look_at_orders(namespace: dict[str, Any]) -> None:
    """Puts the public functions of a module that take a key and a shape behind a look at the order of their arguments."""
    for name in namespace["__all__"]:
        function = namespace[name]
        if isinstance(function, types.FunctionType) and {"key", "shape"} <= set(function.__annotations__):
            namespace[name] = _looking(function)


def _looking(function: Any) -> Any:
    names = list(function.__code__.co_varnames[1 : function.__code__.co_argcount])  # behind the key
    shape = names.index("shape") if "shape" in names else len(names)
    dtype = names.index("dtype") if "dtype" in names else len(names)
    kinds = function.__annotations__
    own = [key for key in names if key not in _OPTIONS and not kinds[key].startswith(("str", "bool", "Literal"))]
    if function.__name__ == "choice":
        own.remove("p")

    required = len(names) - len(function.__defaults__ or ())

    @functools.wraps(function)
    def drawn(*args: Any, **kwargs: Any) -> Any:
        given = args[1:]
        if 0 < len(given) < required and not kwargs:
            _refuse_too_few(function, names, own, given, required)
        if given and kwargs.keys() <= _BESIDES:
            odd = shape < len(given) and type(given[shape]) is not tuple
            if odd or (dtype < len(given) and not _is_dtype(given[dtype])):
                _look(function, names, own, given)
        return function(*args, **kwargs)

    return drawn


def _look(function: Any, names: list[str], own: list[str], given: Sequence[Any]) -> None:
    name = function.__name__
    by_name = dict(zip(names, given, strict=False))
    shape, dtype = by_name.get("shape"), by_name.get("dtype")

    def write() -> str:
        meant = _meant(name, names, own, given)
        return f"\n  write {meant}" if meant else f"\n  it is called as {call_of(function)}"

    def listed() -> str:
        return ", ".join(f"{key}={_shown(value, key)}" for key, value in by_name.items())

    def warn(what: str) -> None:
        warn_user(f"{name}: {listed()} {what}{write()}; if the shape is meant, write it as ({shape},)")

    if not _is_dtype(dtype):
        such = _DTYPES.get(name, "float32")
        raise DTypeError(f"{name}: the dtype must be a name such as {such!r}; got {_shown(dtype, 'an array')}{write()}")
    if not _is_shape(shape):
        raise TypeError(f"{name}: the shape must be made of integers; got {_shown(shape, 'an array')}{write()}")
    if type(shape) is not int:
        return
    for parameter, value in by_name.items():
        if parameter == "shape" or not _is_sizes(value):
            continue
        if len(value) == 1:
            if shape == 0:  # what it would be is an array of nothing
                raise ShapeError(
                    f"{name}: {listed()} makes no numbers: the shape comes first here, and has {value} for {parameter}{write()}"
                )
            warn(f"has a number for the shape, and {value} for {parameter}")
            return
        if name not in _OF_VECTORS and len(value) != shape:
            raise ShapeError(f"{name}: {parameter}={value} does not broadcast to the shape ({shape},){write()}")
    low, high = by_name.get("minval"), by_name.get("maxval")
    if name == "randint" and type(low) is type(high) is int and shape < low and high >= 0:
        if shape <= 0 or high <= low:
            warn(
                f"makes {f'{shape} numbers, all of them {low}' if shape > 0 else 'no numbers'}; the shape comes first here"
            )
    elif shape == 0 and len(given) == 1 and (name in _SHIFTED or name == "uniform"):
        warn("makes no numbers; the shape comes first here")


def _refuse_too_few(function: Any, names: list[str], own: list[str], given: Sequence[Any], required: int) -> None:
    name, missing = function.__name__, [repr(each) for each in names[len(given) : required]]
    s, listed = "s" * (len(missing) > 1), " and ".join(missing)
    meant = _meant(name, names, own, given, ()) if len(given) == len(own) else None  # NumPy's, of one number
    hint = f"write {meant}" if meant else f"it is called as {call_of(function)}"
    raise TypeError(f"{name}() missing {len(missing)} required positional argument{s}: {listed}\n  {hint}")


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)


def _is_dtype(value: Any) -> bool:
    """Whether a value may be a dtype: all but numbers, shapes and arrays."""
    return not (_is_number(value) or isinstance(value, (tuple, list, Array, np.ndarray)))


def _is_shape(value: Any) -> bool:
    """Whether a value may be a shape: all but numbers that are no integers, and sequences of them."""
    if isinstance(value, (float, np.floating)):
        return False
    if isinstance(value, (Array, np.ndarray)):
        return bool(_core.dtype_kind(value.dtype) != "float")
    return not (isinstance(value, (tuple, list)) and any(isinstance(size, (float, np.floating)) for size in value))


def _is_sizes(value: Any) -> bool:
    """Whether a value is written as a shape is."""
    return type(value) is tuple and bool(value) and all(type(size) is int or is_dimension(size) for size in value)


def _shown(value: Any, instead: str) -> str:
    """A value as a program writes it; ``instead`` of what is too long for a line."""
    if isinstance(value, (Array, np.ndarray)) or (isinstance(value, list) and len(value) > 3):
        return instead
    return repr(value.item() if isinstance(value, np.generic) else value)


def _meant(name: str, names: list[str], own: list[str], given: Sequence[Any], default: Any = None) -> str | None:
    """The call whose arguments these are in another order, of a ``default`` shape; None where there is no telling."""
    lacking = _LACKING.get(name, 0)
    values = [value for value in given if value is not None and not isinstance(value, (str, type, np.dtype))]
    if not own and len(values) > 1 and all(type(value) is int and value > 0 for value in values):
        return _call(name, names, {}, tuple(values))  # sizes one by one
    at = _place_of_shape(name, names, values, len(own) + lacking)
    shape = default if at is None else values.pop(at)
    more = len(values) - len(own)  # what NumPy's function has besides
    if more > lacking or (more < 0 and name != "uniform"):
        return None
    more = max(more, 0)
    in_front = name in _SHIFTED or name == "lognormal"
    besides, left = (values[:more], values[more:]) if in_front else (values[len(own) :], values[: len(own)])
    texts = {key: _shown(value, key) for key, value in zip(own, left, strict=False)}
    if name == "wald" and besides:
        texts["mean"] += f" / {_shown(besides[0], 'scale')}"
    call = _call(name, names, texts, shape)
    if not besides:
        return call
    if name == "lognormal":
        return f"ct.numpy.exp({_shown(besides[0], 'mean')}) * {call}"
    location, scale = (0, besides[-1]) if len(besides) == 1 else besides
    if name in _SHIFTED and len(besides) == 1 and at != 0:
        location, scale = besides[0], 1  # NumPy's first, and nothing behind it
    if not (_is_number(scale) and scale == 1):
        call = f"{_shown(scale, 'scale')} * {call}"
    return call if _is_number(location) and location == 0 else f"{_shown(location, 'loc')} + {call}"


def _place_of_shape(name: str, names: list[str], values: Sequence[Any], count: int) -> int | None:
    """Which of the values is the shape, where NumPy's function takes ``count`` others; None if it is left out."""
    place = names.index("shape") if "shape" in names else len(names)
    if place < len(values) and (
        _is_sizes(values[place]) or (isinstance(values[place], list) and _is_shape(values[place]))
    ):
        return place
    for at, value in enumerate(values):
        if _is_sizes(value):
            return at
    if not values:
        return None
    first, last = (type(value) is int and value >= 0 for value in (values[0], values[-1]))
    of_ends = name in ("randint", "uniform")
    rising = of_ends and len(values) > 1 and _is_number(values[0]) and _is_number(values[1]) and values[0] < values[1]
    if len(values) > count:
        if last and (rising or not of_ends):
            return len(values) - 1
        return 0 if first and place == 0 else None
    return 0 if first and values[0] > 0 and place == 0 and len(values) > 1 and not rising else None


def _call(name: str, names: list[str], texts: dict[str, str], shape: Any) -> str:
    """A call with the parameters that a distribution has, by name where the dtype comes before them."""
    shown = dict(texts)
    if shape is not None:
        shown["shape"] = f"({shape},)" if type(shape) is int else repr(shape)
    arguments = ["key"]
    named = False
    for key in names if "shape" in names else [*names, "shape"]:
        if key in shown:
            arguments.append(f"{key}={shown[key]}" if named or key not in names else shown[key])
        else:
            named = True
    return f"ct.random.{name}({', '.join(arguments)})"
