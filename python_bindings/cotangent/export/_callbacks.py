"""What an exported program cannot call: functions of Python, by the names that users know them by."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator

from cotangent import ir
from cotangent._core import Graph

# How the compiler begins its message about one.
_REFUSED = "export: host_callback: "

_INSTEAD = {
    "ct.debug.print": "it prints in Python alone: leave it out of what is exported, or return the value",
    "ct.debug.callback": "it calls Python: leave it out of what is exported, or return the value",
    "a check": "checks are results by ct.checkify.checkify(f), which is exported like any other function",
    "progress": "it is told in Python alone: leave progress= out of what is exported",
}


def _callbacks(graph: Graph) -> Iterator[ir.Equation]:
    for equation in ir.equations(graph):
        if equation.primitive == "host_callback":
            yield equation
        for within in equation.subgraphs:
            yield from _callbacks(within)


def _name(equation: ir.Equation) -> str:
    """What the user has called; "" for what is not known, as a primitive's own function is."""
    callback, effect = equation.attributes["callback"], equation.attributes["effect"]
    if hasattr(callback, "silent"):  # `checkify.checks` is not loaded by what has no checks
        return "a check"
    called = getattr(callback, "callback", None)
    if effect == "debug":
        module = getattr(called, "__module__", "") or type(called).__module__
        named = {"cotangent.debug": "ct.debug.print", "cotangent._base.progress": "progress"}
        return named.get(module, "ct.debug.callback")
    return "ct.pure_callback" if effect == "none" else "ct.experimental.io_callback"


@contextlib.contextmanager
def callbacks_named(graphs: Iterable[Graph]) -> Iterator[None]:
    """Names what the user has called where the compiler meets the primitive that all callbacks are."""
    try:
        yield
    except NotImplementedError as error:
        text = str(error)
        if not text.startswith(_REFUSED):
            raise
        found = [equation for graph in graphs for equation in _callbacks(graph)]
        there = [equation for equation in found if equation.location and equation.location in text]
        name = _name((there or found)[0]) if found else ""
        first, *lines = text.splitlines()
        if name in _INSTEAD:
            lines = [f"  {_INSTEAD[name]}" if line.startswith("  leave it out") else line for line in lines]
        first = f"export: {name}: {first.removeprefix(_REFUSED)}" if name else first
        raise NotImplementedError("\n".join((first, *lines))) from None
