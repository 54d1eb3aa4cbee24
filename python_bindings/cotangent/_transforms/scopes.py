"""Scopes around parts of a program: names for them, and evaluation while everything else is captured."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

from cotangent import _core
from cotangent._base.arguments import check_arguments
from cotangent._base.capture import check_callable, function_name, wraps

Function = Callable[..., Any]


def named_call(fun: Function, *, name: Any = None) -> Function:
    """``fun`` in a `named_scope`, by default of its own name. Arguments and results may be any objects.

    >>> import cotangent as ct
    >>> f = ct.named_call(lambda x, how: x + 1 if how == "up" else x - 1, name="step")
    >>> float(ct.jit(lambda x: f(x, "up"))(1.0))
    2.0
    """
    check_callable(fun, "named_call")
    text = function_name(fun) if name is None else name

    @wraps(fun)
    def named(*args: Any, **kwargs: Any) -> Any:
        with named_scope(str(text)):
            return fun(*args, **kwargs)

    return named


@contextlib.contextmanager
def named_scope(name: str) -> Iterator[None]:
    """A scope with a name, also usable as a decorator. Operations already carry the line that made them; the name changes nothing."""
    if not isinstance(name, str):
        raise TypeError(f"named_scope: the name must be a str; got {type(name).__name__}")
    yield


@contextlib.contextmanager
def ensure_compile_time_eval() -> Iterator[None]:
    """A scope in which operations on known values are evaluated at once, also while a function is being captured.

    Operations on traced values are captured, as outside of the scope.

    >>> import cotangent as ct
    >>> @ct.jit
    ... def f(x):
    ...     with ct.ensure_compile_time_eval():
    ...         steps = int(ct.numpy.sum(ct.numpy.arange(4)))
    ...     for _ in range(steps):
    ...         x = x + 1
    ...     return x
    >>> float(f(0.0))
    6.0
    """
    with _core.ConstantScope():
        yield


check_arguments(globals())
