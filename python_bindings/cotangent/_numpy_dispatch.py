"""NumPy's and SciPy's functions of traced arrays: the functions of this package that have their names.

NumPy asks the type of an argument for ``__array_ufunc__`` and ``__array_function__`` before it computes anything. The type of
traced arrays has them, so ``np.exp(x)`` is recorded as ``ct.numpy.exp(x)`` is. That of concrete arrays does not: NumPy computes with
their elements, and returns arrays of its own.

Which function stands for which follows from the names in the modules: there is no list of them.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

import numpy as np

from cotangent import _core
from cotangent._core import Array, Traced

# By their names here: module of NumPy or SciPy -> module of this package.
_MODULES = {
    "numpy": "cotangent.numpy",
    "numpy.linalg": "cotangent.numpy.linalg",
    "numpy.fft": "cotangent.numpy.fft",
    "scipy.special": "cotangent.scipy.special",
}
_PLAIN = (Array, np.ndarray, np.generic, bool, int, float, complex)


@functools.cache
def _counterparts(theirs: ModuleType) -> dict[Any, Any]:
    """The functions of a module that have one of the same name here; aliases of it, too."""
    __import__(_MODULES[theirs.__name__])
    ours = vars(sys.modules[_MODULES[theirs.__name__]])
    found: dict[Any, Any] = {}
    for name, function in vars(theirs).items():
        counterpart = None if name.startswith("_") else ours.get(name)
        # What NumPy does itself is no counterpart; nor are types.
        if not callable(function) or not callable(counterpart) or counterpart is function or isinstance(function, type):
            continue
        # An alias of NumPy's may be a function of its own here: the name that the function itself has comes first.
        if name == getattr(function, "__name__", name):
            found[function] = counterpart
        else:
            found.setdefault(function, counterpart)
    return found


def _full_name(function: Any) -> str:
    for module in filter(sys.modules.get, _MODULES):
        if any(value is function for value in vars(sys.modules[module]).values()):
            return f"{module}.{function.__name__}"
    return getattr(function, "__name__", repr(function))


def _counterpart(function: Any) -> Any:
    for module in filter(sys.modules.get, _MODULES):
        if (found := _counterparts(sys.modules[module]).get(function)) is not None:
            return found
    raise _refused(_full_name(function), "nothing in ct.numpy or ct.scipy.special has its name")


def _refused(name: str, why: str, instead: str = "") -> TypeError:
    place = _core.calling_place()
    instead = instead or (
        "compose it of functions of ct.numpy, call it through ct.pure_callback, or, where a constant is meant and the value is known,"
        " pass ct.lax.stop_gradient(x) as a NumPy array"
    )
    return TypeError(f"{name} of a traced array: {why}{f'{chr(10)}  at {place}' if place else ''}\n  {instead}")


def _given(x: Any) -> Any:
    """An argument of an element-wise function: nested lists are arrays there."""
    return _core.array(x) if isinstance(x, (list, tuple)) else x


def array_ufunc(self: Array, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
    """``np.add(x, y)``, ``np.add.reduce(x)`` and the like, of traced arrays."""
    if not all(isinstance(x, (*_PLAIN, list, tuple)) or hasattr(x, "__jax_array__") for x in inputs):
        return NotImplemented
    name = _full_name(ufunc) if method == "__call__" else f"{_full_name(ufunc)}.{method}"
    counterpart = _counterpart(ufunc)
    if method == "at" or any(out is not None for out in kwargs.pop("out", ())):
        raise _refused(
            name,
            "it writes into an array of NumPy, where no derivative or transform can follow",
            "use the returned array: y = y + x for y += x, ct.numpy.asarray(y).at[i].add(x) for np.add.at(y, i, x)",
        )
    # How NumPy goes about it, which says nothing about the result.
    for option in ("casting", "order", "subok"):
        kwargs.pop(option, None)
    if any(kwargs.pop(option, None) is not None for option in ("sig", "signature")):
        raise _refused(name, "the argument signature is not supported", "convert with x.astype(...) before or after")
    if method == "__call__":
        return _called(counterpart, name, [_given(x) for x in inputs], **kwargs)
    if not hasattr(counterpart, method):
        from cotangent.numpy.ufuncs import ufunc as of_elements

        counterpart = of_elements(counterpart, ufunc.nin, ufunc.nout, identity=ufunc.identity)
    kwargs = {key: value for key, value in kwargs.items() if value is not np._NoValue}
    if kwargs.get("where") is True:
        del kwargs["where"]
    return getattr(counterpart, method)(*inputs, **kwargs)


def _called(
    function: Callable[..., Any], name: str, inputs: list[Any], dtype: Any = None, where: Any = True, **kwargs: Any
) -> Any:
    """An element-wise function, computed in ``dtype``; 0 where ``where`` does not hold, which NumPy leaves as it was."""
    from cotangent.numpy import where as choose

    if where is not True:
        # The function sees ones there, so that neither it nor its derivative is infinite or NaN.
        inputs = [choose(where, x, _core.convert(1, _core.array(x).dtype)) for x in inputs]
    if dtype is not None:
        dtype = _core.canonical_dtype(dtype)
        results = function(*inputs, **kwargs)
        if all(x.dtype == dtype for x in _several(results)):
            pass
        elif _core.dtype_kind(dtype) == "bool":
            raise _refused(name, f"dtype={dtype} is not that of its result", "convert the result with .astype(dtype)")
        else:
            results = function(*[_core.convert(x, dtype) for x in inputs], **kwargs)
    else:
        results = function(*inputs, **kwargs)
    if where is True:
        return results
    chosen = [choose(where, x, _core.convert(0, x.dtype)) for x in _several(results)]
    return tuple(chosen) if isinstance(results, (tuple, list)) else chosen[0]


def _several(results: Any) -> Sequence[Any]:
    return results if isinstance(results, (tuple, list)) else (results,)


def array_function(self: Array, function: Any, types: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """``np.concatenate([x, y])``, ``np.linalg.norm(x)`` and the like, of traced arrays."""
    if not all(issubclass(t, Array) or t is np.ndarray for t in types):
        return NotImplemented
    return _counterpart(function)(*args, **kwargs)


def _ragged_ufunc(self: Any, ufunc: Any, *_: Any, **__: Any) -> Any:
    raise _of_a_ragged(ufunc)


def _ragged_function(self: Any, function: Any, *_: Any, **__: Any) -> Any:
    raise _of_a_ragged(function)


def _of_a_ragged(function: Any) -> TypeError:
    # NumPy would take it for an object of its own: the sum of an array of one Ragged is that Ragged.
    name = _full_name(function)
    place = _core.calling_place()
    return TypeError(
        f"{name} of a Ragged: its length is known inside ct.mask only{f'{chr(10)}  at {place}' if place else ''}\n"
        f"  ct.mask(lambda x: {name}(x))(ragged)"
    )


def attach() -> None:
    """Gives the type of traced arrays, and Ragged, what NumPy asks for."""
    from cotangent.ragged import Ragged

    Ragged.__array_ufunc__ = _ragged_ufunc  # type: ignore[attr-defined]
    Ragged.__array_function__ = _ragged_function  # type: ignore[attr-defined]
    Traced.__array_ufunc__ = array_ufunc  # type: ignore[attr-defined]
    Traced.__array_function__ = array_function  # type: ignore[attr-defined]
