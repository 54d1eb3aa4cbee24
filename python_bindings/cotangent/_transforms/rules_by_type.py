"""Functions of this package with derivative rules, captured once for each type of arguments.

A user's function may close over anything, so `custom_jvp` captures it at every call. A function of this package that looks at nothing but
the types of its arguments is the same program at every call, and has the same rule.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterator, Sequence
from typing import Any

from cotangent import _core
from cotangent._base import primitives
from cotangent._base.capture import Aval, Captured, ShapeDtypeStruct, aval_of, capture, flatten_arguments
from cotangent._core import Graph, PyTreeDef
from cotangent._transforms.custom_function import Function, Opened, Rule
from cotangent._transforms.custom_rules import custom_jvp

# The types of a call's arrays, how the arguments are made of them, and the settings that a capture depends on.
Types = tuple[tuple[Aval, ...], PyTreeDef, tuple[bool, ...]]

_MOST_TYPES = 256  # of one function, that are remembered


def _settings() -> tuple[bool, ...]:
    return _core.get_flag("enable_x64"), _core.get_flag("disable_jit")


@contextlib.contextmanager
def _apart() -> Iterator[None]:
    """Captures depend neither on what is being captured nor on where: equations take the line of the call that they become part of."""
    with _core.EagerScope():
        noted = _core.note_locations(False)
        try:
            yield
        finally:
            _core.note_locations(noted)


class _RuleByType:
    """The rule in the equation of a call. It does not hold the graph, which may hold rules of the same function."""

    def __init__(self, function: custom_jvp_by_type, avals: tuple[Aval, ...], structure: PyTreeDef) -> None:
        self.function = function
        self.avals = avals
        self.structure = structure

    def __repr__(self) -> str:
        return f"the rule of {self.function.__name__}"  # type: ignore[attr-defined]

    def __call__(self, moving: Sequence[bool]) -> Graph:
        return self.function.rule((self.avals, self.structure, _settings()))


class custom_jvp_by_type(custom_jvp):  # noqa: N801
    """A `custom_jvp` function whose program and rule follow from the types of its arguments, which are arrays.

    It closes over no arrays, looks at no values and names no axes.
    """

    def __init__(self, fun: Function) -> None:
        super().__init__(fun)
        self.program = functools.lru_cache(maxsize=_MOST_TYPES)(self._program)
        self.rule = functools.lru_cache(maxsize=_MOST_TYPES)(self._rule)

    def __call__(self, *args: Any) -> Any:
        """The function, with its rule recorded."""
        if not _core.may_be_differentiated():
            return self.fun(*args)
        leaves, structure = flatten_arguments((args, {}), self.__name__)  # type: ignore[attr-defined]
        if _core.keeps_lengths() or any(map(_core.ragged_axes, leaves)):
            return super().__call__(*args)
        try:
            primal, rule = self.program((tuple(map(aval_of, leaves)), structure, _settings()))
        except Exception:
            return super().__call__(*args)  # it is raised again, with the user's line
        return primal.structure.unflatten(primitives.custom_jvp(*leaves, graph=primal.graph, rule=rule))

    def _program(self, types: Types) -> tuple[Captured, _RuleByType]:
        avals, structure, _ = types
        with _apart():
            primal = capture(self.fun, _specs(avals), structure, "jit", name=self.__name__)  # type: ignore[attr-defined]
        assert not primal.closure
        return primal, _RuleByType(self, avals, structure)

    def _rule(self, types: Types) -> Graph:
        avals, structure, _ = types
        leaves: list[Any] = _specs(avals)
        primal, _ = self.program(types)
        call = Opened(self, self.__name__, leaves, structure, [], (), primal, [])  # type: ignore[attr-defined]
        with _apart():
            return Rule(self, call, leaves)([True] * len(leaves))


def _specs(avals: Sequence[Aval]) -> list[Any]:
    return [ShapeDtypeStruct(shape, dtype, weak_type=weak) for shape, dtype, weak in avals]
