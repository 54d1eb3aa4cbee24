"""JAX's arithmetic has no 64 bits unless ``jax_enable_x64`` is set; cotangent honours data that has them.

The core does so for operands and for the dtype that they have in common (its flag "narrow"). JAX's functions are wrapped where they are looked
up besides: NumPy's arrays and dtypes of 64 bits among the arguments become those of 32. Functions
that are captured get their inputs narrowed inside of the program, where a call pays nothing for it.
"""

from __future__ import annotations

import functools
import types
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

import numpy as np

from cotangent import _core, tree_util
from cotangent._core import Array
from cotangent.jax.tracebacks import leave
from cotangent.numpy.ufuncs import ufunc

__all__ = [
    "TracerMetError",
    "canonical",
    "check_int",
    "narrow",
    "narrow_tree",
    "narrowed",
    "narrowed_function",
    "traceable",
]

_P = ParamSpec("_P")
_R = TypeVar("_R")

_NARROW: dict[Any, np.dtype[Any]] = {
    np.dtype("float64"): np.dtype("float32"),
    np.dtype("int64"): np.dtype("int32"),
    np.dtype("uint64"): np.dtype("uint32"),
    np.dtype("complex128"): np.dtype("complex64"),
}
_NARROW_TYPES = {wide.type: slim for wide, slim in _NARROW.items()}
_NARROW_NAMES = {name: slim for wide, slim in _NARROW.items() for name in (str(wide), wide.str, wide.str[1:])}

# The modules whose functions take arrays and dtypes; the others hand on what users give them.
_COMPUTING = ("jax.numpy", "jax.lax", "jax.nn", "jax.random", "jax.scipy", "jax.image", "jax.ops", "jax.dtypes")
# Functions that say what a dtype is, one of 64 bits included.
_ABOUT_DTYPES = ("can_cast", "dtype", "finfo", "iinfo", "isdtype", "issubdtype")
# Functions that write what they are given into files.
_WRITING = ("save", "savez", "savez_compressed")
# Parts of a ufunc beside its call.
_METHODS = ("accumulate", "at", "outer", "reduce", "reduceat")


class TracerMetError(TypeError):
    """A value of a library's own trace is used where an array is needed: what was called is to be handed to the trace, in `user_traces`."""

    def __init__(self, tracer: Any) -> None:
        super().__init__(f"{tracer!r} is used where an array is needed, and its trace is not the current one")


def _no_trace(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    raise AssertionError("a tracer was met before there was a class of them")


through_trace = _no_trace  # `user_traces` has it, which stands above

# What calls a function in its place while options ask for checks of what functions of arrays are given and return; `watched` has it.
watch: Callable[[Callable[..., Any], tuple[Any, ...], dict[str, Any]], Any] | None = None


def traceable(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """The function, which hands its operations to a library's own trace where the arguments are values of it."""

    @functools.wraps(function)
    def run(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        try:
            return function(*args, **kwargs)
        except TracerMetError:
            return through_trace(function, args, kwargs)  # type: ignore[no-any-return]
        except Exception:
            leave()
            raise

    return run


def canonical(dtype: Any) -> Any:
    """The dtype that JAX computes with where this one is asked for."""
    return dtype if _core.get_enable_x64() else _NARROW.get(dtype, dtype)


def narrow(value: Any) -> Any:
    """A value as JAX takes it: arrays, and types of elements however they are written, have 32 bits for 64 unless these are asked for."""
    return value if _core.get_enable_x64() else _narrow(value)


def _narrow(value: Any) -> Any:
    if isinstance(value, (np.ndarray, np.generic)):
        slim = _NARROW.get(value.dtype)
        return value if slim is None else value.astype(slim)
    if isinstance(value, Array):
        slim = _NARROW.get(value.dtype)
        return value if slim is None else _core.convert(value, slim)
    kind = type(value)
    if kind is tuple or kind is list:
        return kind([_narrow(item) for item in value])
    if kind is dict:
        return {key: _narrow(item) for key, item in value.items()}
    if isinstance(value, np.dtype):
        return _NARROW.get(value, value)
    if isinstance(value, type):  # the classes of ``jax.numpy.float64`` and its like equal NumPy's
        return _NARROW_TYPES.get(value, value)
    if kind is str:
        return _NARROW_NAMES.get(value, value)
    return value


def check_int(value: Any) -> None:
    """OverflowError for a Python int that makes no array, because it does not fit into 32 bits."""
    if type(value) is int and not -(2**31) <= value < 2**31 and not _core.get_enable_x64():
        raise OverflowError(
            f"Python int {value} too large to convert to int32\n  name a dtype that holds it, or set jax_enable_x64"
        )


def narrow_tree(tree: Any) -> Any:
    """A pytree whose arrays have 32 bits for 64, unless these are asked for."""
    if _core.get_enable_x64():
        return tree
    leaves, structure = tree_util.tree_flatten(tree)
    slim = [leaf if callable(leaf) else _narrow(leaf) for leaf in leaves]
    if all(x is y for x, y in zip(leaves, slim, strict=True)):
        return tree  # the objects of the user's that it is
    return structure.unflatten(slim)


def narrowed_function(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function on arguments as JAX takes them."""

    @functools.wraps(function)
    def run(*args: Any, **kwargs: Any) -> Any:
        try:
            if not _core.get_enable_x64():
                args = tuple(arg if type(arg) is Array else _narrow(arg) for arg in args)
                if kwargs:
                    kwargs = {key: _narrow(value) for key, value in kwargs.items()}
            return function(*args, **kwargs) if watch is None else watch(function, args, kwargs)
        except TracerMetError:
            return through_trace(run, args, kwargs)
        except Exception:
            leave(run.__name__)
            raise

    for name in _METHODS:
        if hasattr(function, name):
            setattr(run, name, getattr(function, name))
    return run


class _NarrowedUfunc(ufunc[Any]):
    """A ufunc whose call and methods take arguments as JAX takes them."""


def _method(name: str) -> Callable[..., Any]:
    own = getattr(ufunc, name)

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        return narrowed_function(own)(self, *args, **kwargs)

    return functools.wraps(own)(method)


for _name in _METHODS:
    if hasattr(ufunc, _name):
        setattr(_NarrowedUfunc, _name, _method(_name))


def _narrowed_ufunc(value: ufunc[Any]) -> ufunc[Any]:
    made = object.__new__(_NarrowedUfunc)
    vars(made).update(vars(value), _func=narrowed_function(value._func))
    return made


_wrapped: dict[tuple[int, str], tuple[Any, Any]] = {}


def _named(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    function.__doc__ = f"Alias of `{function.__name__}`. {function.__doc__}"
    function.__name__ = function.__qualname__ = name
    return function


def narrowed(value: Any, module: str, name: str) -> Any:
    """What a name of a module of JAX stands for, given what it is here."""
    if not module.startswith(_COMPUTING) or isinstance(value, (type, types.ModuleType)) or not callable(value):
        return value
    if getattr(value, "__name__", "") in (*_ABOUT_DTYPES, *_WRITING):
        return value
    # One wrapper a function, in however many modules it is: programs compare functions by identity. Other names of ours are
    # functions of their own in JAX, with that name.
    if isinstance(value, ufunc) or getattr(value, "__name__", name) == name:
        name = ""
    found = _wrapped.get((id(value), name))
    if found is None or found[0] is not value:
        made = _narrowed_ufunc(value) if isinstance(value, ufunc) else narrowed_function(value)
        found = _wrapped[id(value), name] = (value, _named(made, name) if name else made)
    return found[1]
