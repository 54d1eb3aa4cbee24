"""Scopes around parts of a program: names for them, and evaluation while everything else is captured."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator
from typing import Any

from cotangent import _core
from cotangent._capture import capture, check_callable, flatten_arguments, function_name

Function = Callable[..., Any]


def named_call(fun: Function, *, name: str | None = None) -> Function:
    """``fun``, recorded as one equation of that name in the programs that call it.

    >>> import cotangent as ct
    >>> f = ct.named_call(lambda x: x + 1, name="increment")
    >>> print(ct.make_ir(f)(1.0).text())  # doctest: +ELLIPSIS
    graph (...
    """
    check_callable(fun, "named_call")
    text = function_name(fun) if name is None else name

    @functools.wraps(fun)
    def named(*args: Any, **kwargs: Any) -> Any:
        if not _core.is_capturing():
            return fun(*args, **kwargs)
        leaves, structure = flatten_arguments((args, kwargs), text)
        captured = capture(fun, leaves, structure, _core.capture_mode() or "jit", name=text, concrete=True)
        outputs = _core.bind("call", leaves + captured.closure, graph=captured.graph, name=text)
        return captured.structure.unflatten(outputs)

    return named


@contextlib.contextmanager
def named_scope(name: str) -> Iterator[None]:
    """A scope with a name, also usable as a decorator. Operations already carry the line that made them; the name changes nothing."""
    if not isinstance(name, str):
        raise TypeError(f"named_scope: the name must be a str; got {type(name).__name__}")
    yield


@contextlib.contextmanager
def ensure_compile_time_eval() -> Iterator[None]:
    """A scope in which operations are evaluated at once, also while a function is being captured.

    Values that are traced cannot be used in it: `ConcretizationError`.

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
    with _core.EagerScope():
        yield
