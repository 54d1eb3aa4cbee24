"""How functions of this package are pickled: by name where a module has them, as functions are, else by what they are made of."""

from __future__ import annotations

import pickle
import sys
from contextvars import ContextVar
from types import FunctionType
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class Scoped(Generic[T]):
    """A `ContextVar` in a module, pickled by its name there.

    cloudpickle pickles the functions that transforms return with the globals that they use, and cannot pickle a ContextVar.
    """

    def __init__(self, module: str, name: str, default: T) -> None:
        self._place = module, name
        self._variable = ContextVar(name, default=default)
        self.get = self._variable.get
        self.set = self._variable.set
        self.reset = self._variable.reset

    def __reduce__(self) -> Any:
        return _member, self._place


def _member(module: str, name: str) -> Any:
    __import__(module)
    return getattr(sys.modules[module], name)


def _is_found(value: Any) -> bool:
    """Whether it is where pickle looks for functions of Python: by the name that they have themselves."""
    found: Any = sys.modules.get(str(getattr(value, "__module__", None)))
    for word in str(getattr(value, "__qualname__", "")).split("."):
        found = getattr(found, word, None)
    return found is value


def name_in_module(value: Any) -> str | None:
    """The name under which the module that an object says it is from has it, so that another process finds it there; None if it has not."""
    module = sys.modules.get(str(getattr(value, "__module__", None)))
    if module is None:
        return None
    if _is_found(value):
        return str(value.__qualname__)
    # g = jit(grad(f)) is called as f is.
    return next((name for name, member in list(vars(module).items()) if member is value), None)


def _takes_functions_by_value(depth: int) -> bool:
    """Whether the pickler that asks `__reduce_ex__`, some frames above, is cloudpickle's, which joblib and others have copies of.

    It pickles what is in ``__main__`` by value, as the process that reads it has another ``__main__``. A spawned process of multiprocessing
    has the same one, and pickle names what is in it.
    """
    asking = sys._getframe(depth).f_locals.get("self")
    return isinstance(asking, pickle.Pickler) and hasattr(asking, "reducer_override")


def own_name(value: Any) -> str | None:
    """What `__reduce_ex__` of a function object returns for it to be pickled by name; None if it cannot or should not be."""
    if value.__module__ == "__main__" and _takes_functions_by_value(3):
        return None
    return name_in_module(value)


def can_be_pickled(function: Any) -> bool:
    """Whether `pickle` can write a function or an object that is called: one of Python's by its name, another if its parts can be."""
    if isinstance(function, FunctionType):
        return _is_found(function) or _takes_functions_by_value(3)
    try:
        pickle.dumps(function)
    except Exception:  # whatever its parts raise
        return _takes_functions_by_value(3)
    return True
