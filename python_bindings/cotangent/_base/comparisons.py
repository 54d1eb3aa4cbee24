"""What comparing a size gives where its bounds do not tell."""

from __future__ import annotations

from typing import Any

from cotangent import _core
from cotangent._core import Array

__all__ = ["Comparison"]


class Comparison:
    """Whether a size, a `Dim`, compares to another as asked, where its bounds do not tell: a bool array, which has no truth yet."""

    def __init__(self, value: Array, text: str, size: Any, hint: str = "") -> None:
        self.value = value
        self.text = text
        self.size = size
        self.hint = hint

    def __ct_array__(self) -> Array:
        return self.value

    def __bool__(self) -> bool:
        raise self.size.undecided(self.text, also=self.hint)

    def __repr__(self) -> str:
        return f"Comparison({self.text})"

    def __and__(self, other: Any) -> Any:
        return self.value & _core.array(other)

    def __or__(self, other: Any) -> Any:
        return self.value | _core.array(other)

    def __xor__(self, other: Any) -> Any:
        return self.value ^ _core.array(other)

    __rand__, __ror__, __rxor__ = __and__, __or__, __xor__

    def __invert__(self) -> Any:
        return ~self.value
