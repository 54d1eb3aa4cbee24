"""Checks on values inside of programs, as values: `checkify` turns a function that may fail into one that also returns an `Error`.

``check(x > 0, "x must be positive, got {}", x)`` raises at once when it is evaluated, and when a compiled program runs. Inside of a function
given to `checkify` it raises nothing: the first check that fails is recorded in the error that the function returns, which can be
looked at, batched and handed on like any array. NaN, division by zero and indices out of bounds can be checked for everywhere.

    err, out = ct.checkify.checkify(f, errors=ct.checkify.all_checks)(x)
    err.throw()
"""

from cotangent._base.arguments import adopt_members as _adopt_members
from cotangent._base.names import suggest_names
from cotangent.checkify.checks import (
    CheckError,
    Error,
    JaxRuntimeError,
    all_checks,
    automatic_checks,
    check,
    check_error,
    debug_check,
    div_checks,
    empty_checks,
    float_checks,
    index_checks,
    nan_checks,
    user_checks,
)
from cotangent.checkify.transform import checkify

__all__ = [
    "CheckError",
    "Error",
    "JaxRuntimeError",
    "all_checks",
    "automatic_checks",
    "check",
    "check_error",
    "checkify",
    "debug_check",
    "div_checks",
    "empty_checks",
    "float_checks",
    "index_checks",
    "nan_checks",
    "user_checks",
]

_adopt_members(globals())

suggest_names(globals())
