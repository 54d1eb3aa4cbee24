"""The variables of a graph on its way to JAX's form, where operations of elements have single numbers beside arrays.

Ours have operands of one shape: a number is made an array of first. The equation that makes it is left out where only such operations use it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

__all__ = ["MAKING_ARRAYS", "GraphVariables"]

MAKING_ARRAYS = ("broadcast", "full")  # of single numbers


class GraphVariables(dict[int, Any]):
    """The variables of a graph by their numbers, with the equations that make arrays of single numbers, until an equation needs such an array."""

    def __init__(self, eqns: list[Any]) -> None:
        super().__init__()
        self._eqns = eqns
        self._numbers: dict[int, Any] = {}

    def wait(self, number: int, eqn: Any) -> None:
        """Leaves an equation out, of which the operand may do."""
        self._numbers[number] = eqn

    def __missing__(self, number: int) -> Any:
        eqn = self._numbers.pop(number)
        self._eqns.append(eqn)
        self[number] = eqn.outvars[0]
        return eqn.outvars[0]

    def operands(self, numbers: Sequence[int], are_mixed: bool) -> list[Any]:
        """The operands of an equation. One of elements may have single numbers beside an array, as JAX's has."""
        if are_mixed:
            if not any(number in self for number in numbers):
                self.__missing__(numbers[0])  # one of them is an array
            return [self._numbers[n].invars[0] if n in self._numbers else self[n] for n in numbers]
        return [self[number] for number in numbers]
