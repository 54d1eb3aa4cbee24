"""Scopes around parts of a program: names for them, and evaluation while everything else is captured."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

from cotangent import _core
from cotangent._base.arguments import check_arguments
from cotangent._base.capture import check_callable, function_name, transformed

Function = Callable[..., Any]


def named_call(fun: Function, *, name: Any = None) -> Function:
    """Makes a function whose calls stand in a `named_scope`.

    Arguments and results may be any objects.

    Parameters
    ----------
    fun : callable
        Any function.
    name : str, optional
        Of the scope; by default the function's own.

    Returns
    -------
    callable
        A function of the same arguments that returns what ``fun`` does.

    Raises
    ------
    TypeError
        ``fun`` cannot be called.

    Examples
    --------
    >>> f = ct.named_call(lambda x, how: x + 1 if how == "up" else x - 1, name="step")
    >>> float(ct.jit(lambda x: f(x, "up"))(1.0))
    2.0
    """
    check_callable(fun, "named_call")
    text = function_name(fun) if name is None else name

    @transformed(fun)
    def named(*args: Any, **kwargs: Any) -> Any:
        with named_scope(str(text)):
            return fun(*args, **kwargs)

    return named


@contextlib.contextmanager
def named_scope(name: str) -> Iterator[None]:
    """Opens a scope with a name, as a ``with`` block or a decorator.

    For programs that have it: operations already carry the line that made them, and the name changes nothing.

    Parameters
    ----------
    name : str
        The name.

    Returns
    -------
    context manager
        It gives None.

    Raises
    ------
    TypeError
        ``name`` is no str.

    Examples
    --------
    >>> @ct.jit
    ... def f(x):
    ...     with ct.named_scope("double"):
    ...         return 2 * x
    >>> int(f(3))
    6
    """
    yield


@contextlib.contextmanager
def ensure_compile_time_eval() -> Iterator[None]:
    """Opens a scope in which operations on known values are evaluated at once, also while a function is being captured.

    Operations on traced values are captured, as outside of the scope.

    Returns
    -------
    context manager
        It gives None.

    Examples
    --------
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
