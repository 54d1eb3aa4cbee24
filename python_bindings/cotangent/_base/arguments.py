"""Arguments of the wrong type are a TypeError that names the function and the parameter, whatever the function does with them.

A module of public functions ends with ``check_arguments(globals())``. From then on its functions look at what they are given for
parameters that are annotated ``bool``, ``int`` or ``str``, a sequence of the first two, or None, before they run: ``keepdims="no"`` is
not a flag, ``num="3"`` is no number, and ``axes=""`` no axes. A parameter that is annotated `Placement` (``device=``, ``out_sharding=``)
says where the result is: it is made there, without the function doing anything about it. One that is annotated `Key` is a random key. Other
parameters are the functions' own business.
"""

from __future__ import annotations

import inspect
import re
import types
from collections.abc import Iterable
from typing import Any

from cotangent import _core

_KINDS = {
    "bool": "b",
    "bool | Sequence[bool]": "f",
    "int": "i",
    "Sequence[int]": "l",
    "int | Sequence[int]": "l",
    "str": "s",
}
_KINDS |= {f"{text} | None": kind.upper() for text, kind in _KINDS.items()}
_KINDS["Placement"] = "p"
_KINDS["Key"] = "k"
_ANY = "."


def checked(function: Any) -> Any:
    """``function`` behind a check of its flags, integers and strings, if it has any.

    That a user calls it is known, too: inside of a mask an exact array that is given to it is as long as it says
    (``python_bindings/user_calls.h``). A decorated function that hands on all arguments takes what the function within takes.
    """
    outer = function
    while function.__code__.co_flags & inspect.CO_VARARGS and isinstance(
        getattr(function, "__wrapped__", None), types.FunctionType
    ):
        function = function.__wrapped__
    annotations = function.__annotations__
    kinds = {name: _KINDS[text] for name, text in annotations.items() if text in _KINDS and name != "return"}
    code = function.__code__
    count = code.co_argcount + code.co_kwonlyargcount
    by_name = {name: kinds[name] for name in code.co_varnames[code.co_posonlyargcount : count] if name in kinds}
    positional = "".join(kinds.get(name, _ANY) for name in code.co_varnames[: code.co_argcount])
    return _core.checked(outer, positional.rstrip(_ANY), by_name)


def nearest(word: object, words: Iterable[str], least: float = 0.6) -> str | None:
    """The one of ``words`` that was meant by a word that is none of them, if one is near: by `difflib`'s ratio."""
    import difflib

    if not isinstance(word, str):
        return None
    # Who writes a public name means none that is private; and what is no slip of the fingers may lack the beginning of the name.
    known = [other for other in words if word.startswith("_") or not other.startswith("_")]
    ending = [other for other in known if len(word) > 2 and other.endswith(f"_{word}")]
    attempts = ((known, max(least, 0.85)), (ending, 0.0), (known, least))
    near = next(filter(None, (difflib.get_close_matches(word, others, 1, cutoff) for others, cutoff in attempts)), [])
    return near[0] if near else None


def suggestion(word: object, words: Iterable[str], least: float = 0.6) -> str:
    """What ends a message about a word that is none of ``words``: the one that was meant, if one is near, or nothing."""
    meant = nearest(word, words, least)
    return "" if meant is None else f"; did you mean {meant!r}?"


def as_list(function: str, parameter: str, given: Any, instead: str = "") -> list[Any]:
    """What an argument has several of, as a list; ``instead``: what to write, by default a tuple of what was given.

    Raises:
        TypeError: it cannot be iterated over, as one number cannot.
    """
    try:
        return list(given)
    except TypeError:
        if hasattr(given, "__iter__") and getattr(given, "ndim", None) != 0:
            raise
        instead = instead or f"write ({given!r},) for one of them"
        raise TypeError(f"{function}: {parameter} must be a sequence; got {given!r}\n  {instead}") from None


# What functions of NumPy's have, and what to write where the function here has not.
_KEYWORDS_OF_NUMPY = {
    "out": "assign what it returns: out[...] = {}(...)",
    "where": "choose afterwards: ct.numpy.where(mask, {}(...), 0)",
    "dtype": "convert what it returns: {}(...).astype(dtype)",
    "casting": "leave it out, and convert with .astype(dtype)",
    "subok": "leave it out: there are no subclasses of arrays",
}


# What other libraries call parameters.
_KEYWORDS_ELSEWHERE = {
    "dim": "axis",
    "dims": "axis",
    "keepdim": "keepdims",
    "in_dims": "in_axes",
    "out_dims": "out_axes",
}


def _meant(keyword: str, names: list[str]) -> str:
    """What ends a message about a keyword that is none of ``names``."""
    other = _KEYWORDS_ELSEWHERE.get(keyword)
    return f"; did you mean {other!r}?" if other in names else suggestion(keyword, names)


def _within(function: Any) -> Any:
    while hasattr(function, "__wrapped__"):
        function = function.__wrapped__
    return function


def call_of(function: Any) -> str:
    """How a function is called: its name and parameters, with what they are by default."""
    parameters = inspect.signature(function).parameters.values()
    bare = [parameter.replace(annotation=inspect.Parameter.empty) for parameter in parameters]
    shown = [parameter for parameter in bare if not parameter.name.startswith("_") and parameter.name != "self"]
    return f"{function.__name__}{inspect.Signature(shown)}"


def explained(function: Any, error: Any) -> str | None:
    """What a call says that a function's parameters do not fit: Python's message, and what there is.

    Of a keyword that it does not have: the name that was meant, and those there are. Of too many or too few arguments: its parameters.
    """
    function = _within(function)
    code = getattr(function, "__code__", None)
    found = re.search(r"^(.*\(\)) (got an unexpected keyword argument '([^']*)'|takes |missing )", str(error))
    if code is None or found is None or found.group(1) != f"{function.__qualname__}()":
        return None  # another function says it, which this one calls
    if found.group(3) is None:
        return f"{error}\n  it is called as {call_of(function)}"
    names = code.co_varnames[code.co_posonlyargcount : code.co_argcount + code.co_kwonlyargcount]
    shown = [name for name in names if not name.startswith("_") and name != "self"]
    instead = _KEYWORDS_OF_NUMPY.get(found.group(3), "").format(function.__name__)
    taken = f"its keyword arguments: {', '.join(shown)}" if shown else "it has none: arguments are given by position"
    return f"{found.group(0)}{_meant(found.group(3), shown)}\n  {instead or taken}"


def refuse_key(function: Any, parameter: str, given: Any) -> None:
    """Says what else was given in the place of a random key, and how the function is called: as NumPy's it is without one.

    Raises:
        TypeError: always.
    """
    function = _within(function)
    dtype, shape = getattr(given, "dtype", None), getattr(given, "shape", None)
    shown = f"{dtype} of shape {shape}" if dtype is not None else repr(given)
    raise TypeError(
        f"{function.__name__}: {parameter} must be a random key; got {shown}\n"
        f"  make one with ct.random.key(seed); it is called as {call_of(function)}\n"
        "  see docs/errors.md#random-key"
    )


def adopt_members(namespace: dict[str, Any], within: str = "") -> None:
    """Says of the public members of a package that they are the package's, and not of a file within: pickles, `help` and messages do.

    Of a module whose members are defined elsewhere, ``within`` is the package where they are.
    """
    package = namespace["__name__"]
    for name in namespace["__all__"]:
        member = namespace[name]
        if callable(member) and getattr(member, "__module__", "").startswith(f"{within or package}."):
            member.__module__ = package


# Of methods that Python calls, those that are no part of a user's call: errors of the others leave the package there.
_WITHIN = {
    "__new__",
    "__init_subclass__",
    "__class_getitem__",
    "__reduce__",
    "__reduce_ex__",
    "__del__",
    "__set_name__",
}


def left(member: Any) -> Any:
    """A method or property that errors leave without the frames of this package; other members of a class as they are."""
    if isinstance(member, types.FunctionType):
        return _core.leaving(member)
    if isinstance(member, staticmethod | classmethod) and isinstance(member.__func__, types.FunctionType):
        return type(member)(_core.leaving(member.__func__))
    if isinstance(member, property) and isinstance(member.fget, types.FunctionType):
        fset = _core.leaving(member.fset) if isinstance(member.fset, types.FunctionType) else member.fset
        return property(_core.leaving(member.fget), fset, member.fdel, member.__doc__)
    return member


def leaving_methods(kind: Any) -> Any:
    """The class, whose methods, properties and constructors errors leave without the frames of this package."""
    for name, member in list(vars(kind).items()):
        if name in _WITHIN or (name.startswith("_") and not name.endswith("__")):
            continue  # what users call calls it
        if isinstance(member, property) and hasattr(type, name):
            continue  # a class takes no property for what it has itself: `__class__`, `__name__`
        if (made := left(member)) is not member:
            setattr(kind, name, made)
    return kind


def check_arguments(namespace: dict[str, Any]) -> None:
    """Puts the public functions, and methods of public classes, that a module defines behind a check of their arguments."""
    module = namespace["__name__"]
    made: dict[Any, Any] = {}  # other names of a function are names of the one that stands for it
    for name in namespace.get("__all__", tuple(namespace)):
        member = namespace[name]
        if name.startswith("_") and "__all__" not in namespace:
            continue
        if isinstance(member, types.FunctionType) and member.__module__ == module:
            namespace[name] = made[member] = made.get(member) or checked(member)
        elif isinstance(member, type) and member.__module__ == module:
            for attribute, method in list(vars(member).items()):
                public = not attribute.startswith("_") or attribute == "__call__"
                within = method.__wrapped__ if isinstance(method, _core.CheckedFunction) else method
                if isinstance(within, types.FunctionType) and public:
                    setattr(member, attribute, checked(within))
            leaving_methods(member)
        elif isinstance(member, _core.Entrance) and member.__wrapped__.__module__ == module:
            _core.set_entrance_function(member, checked(member.__wrapped__))
