"""NumPy's and SciPy's functions of traced arrays: the functions of this package that have their names.

NumPy asks the type of an argument for ``__array_ufunc__`` and ``__array_function__`` before it computes anything. The type of
traced arrays has them, so ``np.exp(x)`` is recorded as ``ct.numpy.exp(x)`` is. That of concrete arrays does not: NumPy computes with
their elements, and returns arrays of its own.

Which function stands for which follows from the names in the modules: there is no list of them.
"""

from __future__ import annotations

import functools
import inspect
import operator
import sys
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

import numpy as np

from cotangent import _core
from cotangent._array_writes import UFUNCS, WRITERS
from cotangent._asked import asked_by_library
from cotangent._base.dimensions import Dim, largest, smallest
from cotangent._core import Array, Traced
from cotangent._ops.choice import where as choose
from cotangent._transforms.ragged import Ragged, check_known
from cotangent.errors import ConcretizationError
from cotangent.numpy.ufuncs import ufunc as of_elements

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
    module = sys.modules[_MODULES[theirs.__name__]]
    dir(module)  # loads what is loaded at first use
    ours = vars(module)
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


def _check_evaluation(frame: Any) -> None:
    """An error where one of ``numpy.polynomial``'s functions of values evaluates polynomials at a traced array.

    They ask whether x is NumPy's array to give the coefficients an axis for each of x's, and would combine the two wrongly.
    """
    module: str = frame.f_globals.get("__name__") or ""
    if not module.startswith("numpy.polynomial.") or "tensor" not in frame.f_code.co_varnames:
        return
    given = frame.f_locals
    x, coefficients = given.get("x"), given.get("c", given.get("r"))
    if not isinstance(x, Traced) or x.ndim == 0 or not given["tensor"]:
        return
    if coefficients.ndim > ("c" in given):
        letter = "c" if "c" in given else "r"
        raise _refused(
            f"{module}.{frame.f_code.co_name}",
            f"NumPy does not know x, of shape {x.shape}, for an array, and gives the coefficients, of shape {coefficients.shape}, no axes"
            " for it",
            f"pass {letter}.reshape({letter}.shape + (1,) * x.ndim) and tensor=False, or compose it of functions of ct.numpy",
        )


class NoMemoryError(ConcretizationError, AttributeError):
    """Asking whether there is such an attribute says no."""


def _of_memory(name: str) -> property:
    def absent(self: Array) -> Any:
        hint = asked_by_library(sys._getframe(1)) or "compute with functions of ct.numpy and ct.scipy"
        place = _core.calling_place()
        raise NoMemoryError(
            f"{name}: a traced array has no memory{f'{chr(10)}  at {place}' if place else ''}\n  {hint}",
        )

    return property(absent)


def _given(x: Any) -> Any:
    """An argument of an element-wise function: nested lists are arrays there."""
    return _core.array(x) if isinstance(x, (list, tuple)) else x


def array_ufunc(self: Array, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
    """``np.add(x, y)``, ``np.add.reduce(x)`` and the like, of traced arrays."""
    if not all(isinstance(x, (*_PLAIN, list, tuple)) or hasattr(x, "__jax_array__") for x in inputs):
        return NotImplemented
    _check_evaluation(sys._getframe(1))
    name = _full_name(ufunc) if method == "__call__" else f"{_full_name(ufunc)}.{method}"
    counterpart = _counterpart(ufunc)
    if method == "at" and ufunc.__name__ in UFUNCS and isinstance(inputs[0], Array):
        x, index, *values = inputs
        x[...] = getattr(x.at[index], UFUNCS[ufunc.__name__])(*values)
        return None
    outs = kwargs.pop("out", ())
    if outs and method != "at" and all(out is None or isinstance(out, Array) for out in outs):
        # Elsewhere an array that is written keeps what it has.
        where = kwargs.pop("where", True) if method == "__call__" else True
        made = list(_several(array_ufunc(self, ufunc, method, *inputs, **kwargs)))
        for position, out in enumerate(outs):
            if out is not None:
                out[...] = made[position] if where is True else choose(where, made[position], out)
                made[position] = out
        return tuple(made) if len(made) > 1 else made[0]
    if method == "at" or any(out is not None for out in outs):
        raise _refused(
            name,
            "it writes into an array of NumPy, where no derivative or transform can follow",
            "make y an array of ct.numpy, y = ct.numpy.asarray(y): then y = y + x for y += x, and np.add.at(y, i, x)",
        )
    # How NumPy goes about it, which says nothing about the result.
    for option in ("casting", "order", "subok"):
        kwargs.pop(option, None)
    if any(kwargs.pop(option, None) is not None for option in ("sig", "signature")):
        raise _refused(name, "the argument signature is not supported", "convert with x.astype(...) before or after")
    if method == "__call__":
        return _called(counterpart, name, [_given(x) for x in inputs], **kwargs)
    if not hasattr(counterpart, method):
        counterpart = of_elements(counterpart, ufunc.nin, ufunc.nout, identity=ufunc.identity)
    kwargs = {key: value for key, value in kwargs.items() if value is not np._NoValue}
    if kwargs.get("where") is True:
        del kwargs["where"]
    return getattr(counterpart, method)(*inputs, **kwargs)


# What operators of NumPy's numbers ask for beside a size: a size again.
_OF_SIZES: dict[Any, Callable[..., Any]] = {
    np.add: operator.add,
    np.subtract: operator.sub,
    np.multiply: operator.mul,
    np.floor_divide: operator.floordiv,
    np.remainder: operator.mod,
    np.power: operator.pow,
    np.minimum: smallest,
    np.maximum: largest,
    np.equal: operator.eq,
    np.not_equal: operator.ne,
    np.less: operator.lt,
    np.less_equal: operator.le,
    np.greater: operator.gt,
    np.greater_equal: operator.ge,
}


def _size_ufunc(self: Dim, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
    """``np.sqrt(n)``, ``np.int64(2) * n`` and the like, of sizes of ragged axes."""
    whole = all(isinstance(x, (Dim, int, np.integer)) for x in inputs)
    if whole and ufunc in _OF_SIZES and method == "__call__" and not kwargs:
        return _OF_SIZES[ufunc](*(x.item() if isinstance(x, np.integer) else x for x in inputs))
    arrays = [x.__ct_array__() if isinstance(x, Dim) else x for x in inputs]
    return array_ufunc(self.__ct_array__(), ufunc, method, *arrays, **kwargs)


def _called(
    function: Callable[..., Any], name: str, inputs: list[Any], dtype: Any = None, where: Any = True, **kwargs: Any
) -> Any:
    """An element-wise function, computed in ``dtype``; 0 where ``where`` does not hold, which NumPy leaves as it was."""
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
    _check_evaluation(sys._getframe(1))
    if write := WRITERS.get(function.__name__) if function.__module__ == "numpy" else None:
        written = args[0] if args else kwargs.pop(next(iter(inspect.signature(function).parameters), ""), None)
        if not isinstance(written, Array):
            raise _refused(
                _full_name(function),
                "it writes into an array of NumPy, where no derivative or transform can follow",
                "make that an array of ct.numpy first: x = ct.numpy.asarray(x)",
            )
        written[...] = write(written, *args[1:], **kwargs)
        return None
    counterpart = _counterpart(function)
    if "casting" in kwargs:
        _check_casting(function, kwargs.pop("casting"), args, kwargs)
    return counterpart(*args, **kwargs)


def _check_casting(function: Any, casting: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """NumPy's TypeError where the arrays that are joined are not to become what ``dtype`` says."""
    dtype = kwargs.get("dtype")
    if dtype is None or not args:
        return
    for x in args[0]:
        given = x.dtype if hasattr(x, "dtype") else np.result_type(x)
        if not np.can_cast(given, dtype, casting):  # type: ignore[arg-type]
            raise TypeError(
                f"{_full_name(function)}: arrays of dtype {given} are not to become {np.dtype(dtype)} by the rule casting={casting!r}\n"
                '  pass casting="unsafe", or convert them with .astype'
            )


# Python's operators, which arrays of NumPy on the left of a Ragged come to.
_OPERATORS: dict[Any, Any] = {
    np.add: operator.add, np.subtract: operator.sub, np.multiply: operator.mul, np.true_divide: operator.truediv,
    np.floor_divide: operator.floordiv, np.remainder: operator.mod, np.power: operator.pow, np.matmul: operator.matmul,
    np.bitwise_and: operator.and_, np.bitwise_or: operator.or_, np.bitwise_xor: operator.xor, np.left_shift: operator.lshift,
    np.right_shift: operator.rshift, np.equal: operator.eq, np.not_equal: operator.ne, np.less: operator.lt,
    np.less_equal: operator.le, np.greater: operator.gt, np.greater_equal: operator.ge,
}  # fmt: skip


def _ragged_ufunc(self: Any, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
    if method == "__call__" and not options and ufunc in _OPERATORS:
        return _OPERATORS[ufunc](*(_core.array(x) if isinstance(x, np.ndarray | np.generic) else x for x in inputs))
    return getattr(ufunc, method)(*_without_padding(ufunc, inputs), **_without_padding(ufunc, options))


def _ragged_function(self: Any, function: Any, _: Any, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    return function(*_without_padding(function, args), **_without_padding(function, options))


def _without_padding(function: Any, given: Any) -> Any:
    """The arguments of a function of NumPy's, with each Ragged as the array that it is.

    NumPy would take one that is not known for an object of its own: the sum of an array of one Ragged is that Ragged.
    """
    if isinstance(given, dict):
        return {key: _without_padding(function, x) for key, x in given.items()}
    if type(given) in (tuple, list):
        return type(given)(_without_padding(function, x) for x in given)
    if not isinstance(given, Ragged):
        return given
    place = _core.calling_place()
    check_known(given, f"{_full_name(function)} of a Ragged", f"{chr(10)}  at {place}" if place else "")
    return given.unpad()


def attach() -> None:
    """Gives the type of traced arrays, and Ragged, what NumPy asks for."""
    Ragged.__array_ufunc__ = _ragged_ufunc  # type: ignore[attr-defined]
    Ragged.__array_function__ = _ragged_function  # type: ignore[attr-defined]
    for name in ("base", "ctypes", "data", "flags", "strides"):
        setattr(Traced, name, _of_memory(name))
    Traced.__array_ufunc__ = array_ufunc  # type: ignore[attr-defined]
    Dim.__array_ufunc__ = _size_ufunc
    Traced.__array_function__ = array_function  # type: ignore[attr-defined]
