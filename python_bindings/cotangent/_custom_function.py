"""What functions with rules of the user's own share: how they are called, and what is captured of them."""

from __future__ import annotations

import functools
import inspect
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from cotangent import _core
from cotangent._capture import Captured, capture, check_callable, flatten_arguments, function_name, wraps
from cotangent._core import Array, PyTreeDef

Function = Callable[..., Any]

# A rule may call its own function again, directly or by way of another's rule; each such call serves one more order of
# derivatives. A graph is finite, so a call inside of this many rules is recorded without one, which is an error to differentiate.
_DEEPEST_RECURSION = 4


class _Recording(threading.local):
    """The functions whose rules are being captured in this thread, the outermost first."""

    def __init__(self) -> None:
        self.functions: list[CustomFunction] = []


_recording = _Recording()


@dataclass
class Opened:
    """One call of a custom function: its arrays, its plain Python values, and the captured function."""

    function: CustomFunction
    name: str
    leaves: list[Array]
    structure: PyTreeDef  # of (arguments but the static ones, {})
    static: list[Any]
    positions: tuple[int, ...]  # of the static arguments
    primal: Captured

    def arguments(self, leaves: Sequence[Any]) -> tuple[Any, ...]:
        """The arguments that are not static, made of these leaves."""
        return tuple(self.structure.unflatten(leaves)[0])

    def all_arguments(self, leaves: Sequence[Any]) -> list[Any]:
        """All arguments in their order."""
        return _merged(self.arguments(leaves), self.static, self.positions)


def _merged(dynamic: Sequence[Any], static: Sequence[Any], positions: Sequence[int]) -> list[Any]:
    merged = list(dynamic)
    for position, value in sorted(zip(positions, static, strict=True), key=lambda pair: pair[0]):
        merged.insert(position, value)
    return merged


class CustomFunction:
    """A function whose calls are recorded, with its rules, as one equation."""

    def __init__(
        self, fun: Function, nondiff_argnums: int | Sequence[int] = (), nondiff_argnames: str | Sequence[str] = ()
    ) -> None:
        self._kind = type(self).__name__
        check_callable(fun, self._kind)
        wraps(fun)(self)
        self.fun = fun
        self.nondiff_argnums = (nondiff_argnums,) if isinstance(nondiff_argnums, int) else tuple(nondiff_argnums)
        names = (nondiff_argnames,) if isinstance(nondiff_argnames, str) else tuple(nondiff_argnames)
        if names:
            parameters = list(inspect.signature(fun).parameters)
            for name in names:
                if name not in parameters:
                    raise ValueError(
                        f"{self._kind} of {function_name(fun)}: nondiff_argnames names {name!r}, which is no argument of the function"
                    )
            self.nondiff_argnums += tuple(
                parameters.index(name) for name in names if parameters.index(name) not in self.nondiff_argnums
            )

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else functools.partial(self, instance)

    def _check_rules(self) -> None:
        """Raises when the function has no rules yet."""

    def _record(self, call: Opened) -> list[Array]:
        """Binds the equation of a call; the leaves of the output."""
        raise NotImplementedError

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The function, with its rules recorded."""
        name = function_name(self.fun)
        if kwargs:
            args = self._positional(args, kwargs, name)
        self._check_rules()
        if not _core.is_capturing():
            return self.fun(*args)
        for number in self.nondiff_argnums:
            if not -len(args) <= number < len(args):
                raise ValueError(
                    f"{self._kind} of {name}: nondiff_argnums={self.nondiff_argnums}, but the call has {len(args)} arguments"
                )
        positions = tuple(number % len(args) for number in self.nondiff_argnums)
        static = [args[i] for i in positions]
        dynamic = tuple(arg for i, arg in enumerate(args) if i not in positions)
        leaves, structure = flatten_arguments((dynamic, {}), name)
        run = lambda *xs: self.fun(*_merged(xs, static, positions))  # noqa: E731
        mode = _core.capture_mode() or "jit"
        primal = capture(run, leaves, structure, mode, name=name, concrete=True, dependent_as=leaves)
        functions = _recording.functions
        if self in functions and len(functions) >= _DEEPEST_RECURSION:
            return primal.structure.unflatten(_core.bind("custom_jvp", leaves + primal.closure, graph=primal.graph))
        functions.append(self)
        try:
            outputs = self._record(Opened(self, name, leaves, structure, static, positions, primal))
        finally:
            functions.pop()
        return primal.structure.unflatten(outputs)

    def _positional(self, args: tuple[Any, ...], kwargs: dict[str, Any], name: str) -> tuple[Any, ...]:
        """All arguments by position, keyword arguments and defaults filled in."""
        bound = inspect.signature(self.fun).bind(*args, **kwargs)
        bound.apply_defaults()
        if bound.kwargs:
            raise TypeError(
                f"{name}: keyword-only arguments cannot be passed to a {self._kind} function: {sorted(bound.kwargs)}"
            )
        return bound.args
