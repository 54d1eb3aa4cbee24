"""Python's numbers with the dtype that they have as arrays."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np

from cotangent.jax.internals.avals import ShapedArray

__all__ = ["TypedComplex", "TypedFloat", "TypedInt", "typed_scalar_types"]


class _Typed:
    """What a number with a dtype has beside the number; before Python's own class among the bases."""

    plain: ClassVar[Any]
    dtype: np.dtype[Any]
    aval: ShapedArray

    def __new__(cls, value: Any, dtype: Any) -> Self:
        """The number with a dtype."""
        made = cls.plain.__new__(cls, value)
        made.dtype, made.aval = np.dtype(dtype), ShapedArray((), dtype, weak_type=True)
        return made  # type: ignore[no-any-return]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.plain(self)}, dtype={self.dtype.name})"

    def __getnewargs__(self) -> tuple[Any, Any]:
        return self.plain(self), self.dtype


class TypedInt(_Typed, int):  # type: ignore[misc]
    """An int with a dtype."""

    plain = int


class TypedFloat(_Typed, float):  # type: ignore[misc]
    """A float with a dtype."""

    plain = float

    def __str__(self) -> str:
        return str(float(self))


class TypedComplex(_Typed, complex):
    """A complex number with a dtype."""

    plain = complex


typed_scalar_types: set[type] = {TypedInt, TypedFloat, TypedComplex}
