"""What functions of `jax.numpy`, and operators, check while options ask for it: ranks and dtypes that meet, NaNs, divisions by zero.

`narrowing.watch` is the function that calls them then; in other times there is none.
"""

from __future__ import annotations

import sys
import threading
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

import cotangent.numpy as cnp
from cotangent import _core, tree_util
from cotangent.jax import narrowing, settings
from cotangent.jax.internals import error_check, promotion
from cotangent.jax.settings import state

__all__ = ["set_error_if_divide_by_zero", "set_error_if_nan", "start", "stop"]

_ERRORS = ("error_checking_behavior_divide", "error_checking_behavior_nan")
_OPTIONS = {
    **dict.fromkeys(_ERRORS, "ignore"),
    "numpy_dtype_promotion": "standard",
    "numpy_rank_promotion": "allow",
}

_BY_OPERATOR = {
    "add": "add", "sub": "subtract", "mul": "multiply", "truediv": "divide", "floordiv": "floor_divide", "mod": "remainder",
    "pow": "power", "and": "bitwise_and", "or": "bitwise_or", "xor": "bitwise_xor", "lt": "less", "le": "less_equal",
    "divmod": "divmod", "lshift": "left_shift", "rshift": "right_shift", "gt": "greater", "ge": "greater_equal", "eq": "equal", "ne": "not_equal",
}  # fmt: skip
_OF_TWO = {
    *_BY_OPERATOR.values(), "true_divide", "mod", "pow", "divmod", "float_power", "fmod", "arctan2", "atan2", "copysign", "hypot",
    "maximum", "minimum", "fmax", "fmin", "logaddexp", "logaddexp2", "nextafter", "heaviside", "ldexp", "gcd", "lcm",
    "left_shift", "right_shift", "bitwise_left_shift", "bitwise_right_shift", "logical_and", "logical_or", "logical_xor",
}  # fmt: skip
_DIVIDING = {"divide", "true_divide", "floor_divide", "remainder", "mod", "divmod"}
_GIVING_NAN = {
    "add", "subtract", "arccos", "acos", "arccosh", "acosh", "arcsin", "asin", "arctanh", "atanh", "cos", "sin", "tan", "divide",
    "true_divide", "divmod", "float_power", "fmod", "log", "log10", "log1p", "log2", "mod", "remainder", "pow", "power", "sqrt",
}  # fmt: skip
# Of logical functions the operands become bools, and of shifts and powers each keeps its dtype.
_OF_ONE_DTYPE = _OF_TWO - {
    "logical_and",
    "logical_or",
    "logical_xor",
    "ldexp",
    "left_shift",
    "right_shift",
    "power",
    "pow",
}


def set_error_if_nan(x: Any) -> None:
    """Notes an error where an element is NaN, while the option asks for it."""
    if state("error_checking_behavior_nan").value != "ignore" and _core.dtype_kind(x.dtype) == "float":
        error_check.set_error_if(cnp.isnan(x), "NaN encountered")


def set_error_if_divide_by_zero(x: Any) -> None:
    """Notes an error where a divisor is 0, while the option asks for it."""
    if state("error_checking_behavior_divide").value != "ignore":
        error_check.set_error_if(cnp.equal(x, 0), "Division by zero encountered")


def _check_ranks(name: str, operands: tuple[Any, ...]) -> None:
    asked = state("numpy_rank_promotion").value
    shapes = [np.shape(x) for x in operands]
    if asked == "allow" or len({len(shape) for shape in shapes if shape}) < 2:
        return
    shown = " ".join(map(str, shapes))
    if asked == "warn":
        warnings.warn(
            f"Following NumPy automatic rank promotion for {name} on shapes {shown}. "
            "Set the jax_numpy_rank_promotion config option to 'allow' to disable this warning.",
            stacklevel=4,
        )
        return
    raise ValueError(
        f"Operands could not be broadcast together for {name} on shapes {shown} and with the config option "
        "jax_numpy_rank_promotion='raise'.\n  give both the same number of axes, as with x[None]"
    )


def _is_operand(x: Any) -> bool:
    return isinstance(x, (bool, int, float, complex, np.ndarray, np.generic)) or hasattr(x, "dtype")


# What calls functions of the user's, which may be operators themselves: ``jax.jit(operator.mod)``.
_CALLING = ("cotangent._transforms.", "cotangent.jax.internals.transforms", "cotangent.jax.internals.stateful")


def _is_ours(module: str) -> bool:
    return module.startswith("cotangent.") and not module.startswith(_CALLING)


def _watch(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    name = getattr(function, "__name__", "")
    operands = args[:2]
    if name.startswith("__"):
        if _is_ours(sys._getframe(2).f_globals.get("__name__", "")):
            return function(*args, **kwargs)  # in a function of ours, whose operands are as it has them
        plain = name.strip("_")
        if plain not in _BY_OPERATOR and plain.startswith("r"):
            plain, operands = plain[1:], operands[::-1]
        name = _BY_OPERATOR.get(plain, "")
    if name in _OF_TWO and len(operands) == 2 and all(_is_operand(x) for x in operands):
        _check_ranks(name, operands)
        if name in _OF_ONE_DTYPE:
            promotion.check_strict(operands)
    result = function(*args, **kwargs)
    if result is NotImplemented:
        return result
    if name in _DIVIDING and len(operands) == 2 and _is_operand(operands[1]):
        set_error_if_divide_by_zero(cnp.asarray(operands[1]))
    if name in _GIVING_NAN:
        for leaf in tree_util.tree_leaves(result):
            if hasattr(leaf, "dtype"):
                set_error_if_nan(leaf)
    return result


_threads: set[int] = set()  # in which a block asks for checks


def _update(of_thread: bool) -> None:
    is_asked = any(state(name).value != usual for name, usual in _OPTIONS.items())
    if of_thread:
        (_threads.add if is_asked else _threads.discard)(threading.get_ident())
    asked_of_all = any(state(name).get_global() != usual for name, usual in _OPTIONS.items())
    narrowing.watch = _watch if _threads or asked_of_all else None


def start() -> None:
    """From here on options that ask for checks have them."""
    settings.listeners.append(_update)
    _update(False)


def stop() -> None:
    """From here on nothing is checked."""
    settings.listeners.remove(_update)
    narrowing.watch = None
