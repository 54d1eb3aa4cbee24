"""The symbolic size of a ragged axis, which programs inside ``mask`` see where exact ones have an integer."""

from __future__ import annotations

import math
from typing import Any

from cotangent import _core
from cotangent._core import Array
from cotangent.errors import ConcretizationError

__all__ = ["Dim"]


class Dim:
    """The size of a ragged axis inside ``mask``: usable as a number, and in comparisons that its bound settles.

    Arithmetic gives arrays; a comparison that the bound cannot settle raises ConcretizationError.
    """

    def __init__(self, bound: int, value: Array, owner: str) -> None:
        self.bound = bound
        self.value = value
        self.owner = owner

    def __ct_array__(self) -> Array:
        return self.value

    def __repr__(self) -> str:
        return f"Dim(<={self.bound})"

    def _undecided(self, text: str) -> ConcretizationError:
        return ConcretizationError(
            f"{text} cannot be settled: the ragged size {self.owner} is anything from 0 to {self.bound}\n"
            "  use ct.numpy.where or ct.lax.cond on the size as a value, or make the program independent of it"
        )

    def __bool__(self) -> bool:
        raise self._undecided(f"the truth of {self.owner}")

    def __int__(self) -> int:
        raise self._undecided(f"int({self.owner})")

    __index__ = __int__

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Dim):
            if other.value is self.value or _core.same_length(self.value, other.value):
                return True
            raise self._undecided(f"{self.owner} == {other.owner} of another array")
        if isinstance(other, int):
            if other < 0 or other > self.bound:
                return False
            raise self._undecided(f"{self.owner} == {other}")
        return NotImplemented

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(Dim)  # equal sizes may belong to other axes, with other bounds

    def __le__(self, other: Any) -> bool:
        return self._compare(other, "<=", other >= self.bound, other < 0)

    def __lt__(self, other: Any) -> bool:
        return self._compare(other, "<", other > self.bound, other <= 0)

    def __ge__(self, other: Any) -> bool:
        return self._compare(other, ">=", other <= 0, other > self.bound)

    def __gt__(self, other: Any) -> bool:
        return self._compare(other, ">", other < 0, other >= self.bound)

    def _compare(self, other: Any, sign: str, always: bool, never: bool) -> bool:
        if not isinstance(other, int):
            raise self._undecided(f"{self.owner} {sign} {other}")
        if always or never:
            return always
        raise self._undecided(f"{self.owner} {sign} {other}")

    def _arithmetic(self, other: Any, name: str) -> Any:
        return getattr(self.value, name)(other.value if isinstance(other, Dim) else other)

    def __add__(self, other: Any) -> Any:
        return self._arithmetic(other, "__add__")

    def __radd__(self, other: Any) -> Any:
        return self._arithmetic(other, "__radd__")

    def __sub__(self, other: Any) -> Any:
        return self._arithmetic(other, "__sub__")

    def __rsub__(self, other: Any) -> Any:
        return self._arithmetic(other, "__rsub__")

    def __mul__(self, other: Any) -> Any:
        return self._arithmetic(other, "__mul__")

    def __rmul__(self, other: Any) -> Any:
        return self._arithmetic(other, "__rmul__")

    def __truediv__(self, other: Any) -> Any:
        return self._arithmetic(other, "__truediv__")

    def __rtruediv__(self, other: Any) -> Any:
        return self._arithmetic(other, "__rtruediv__")

    def __floordiv__(self, other: Any) -> Any:
        return self._arithmetic(other, "__floordiv__")

    def __mod__(self, other: Any) -> Any:
        return self._arithmetic(other, "__mod__")

    def __pow__(self, other: Any) -> Any:
        return self._arithmetic(other, "__pow__")

    def __neg__(self) -> Any:
        return -self.value


def _symbolic_shape(array: Array, axes: list[int]) -> tuple[Any, ...]:
    """The shape of a traced array with ragged axes: called by the `shape` attribute."""
    shape: list[Any] = list(array._bound_shape)
    for axis in axes:
        length = _core.length_of(array, axis)
        if length is not None:
            shape[axis] = Dim(shape[axis], length, f"axis {axis} (bound {shape[axis]})")
    return tuple(shape)


def _symbolic_size(array: Array, axes: list[int]) -> Dim:
    """The number of elements of a traced array with ragged axes: called by the `size` attribute."""
    bound = math.prod(array._bound_shape)
    count: Any = math.prod(size for axis, size in enumerate(array._bound_shape) if axis not in axes)
    for axis in axes:
        count = _core.length_of(array, axis) * count
    return Dim(bound, count, f"number of elements (bound {bound})")


_core.set_shape_hooks(_symbolic_shape, _symbolic_size)
