"""Python's numbers with the dtype that they have as arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from cotangent.jax.internals.avals import ShapedArray

__all__ = ["TypedComplex", "TypedFloat", "TypedInt", "typed_scalar_types"]


class TypedInt(int):
    """An int with a dtype."""

    dtype: np.dtype[Any]
    aval: ShapedArray

    def __new__(cls, value: int, dtype: Any) -> TypedInt:
        """The number with a dtype."""
        made = super().__new__(cls, value)
        made.dtype, made.aval = np.dtype(dtype), ShapedArray((), dtype, weak_type=True)
        return made

    def __repr__(self) -> str:
        return f"TypedInt({int(self)}, dtype={self.dtype.name})"

    def __getnewargs__(self) -> tuple[int, Any]:  # type: ignore[override]
        return int(self), self.dtype


class TypedFloat(float):
    """A float with a dtype."""

    dtype: np.dtype[Any]
    aval: ShapedArray

    def __new__(cls, value: float, dtype: Any) -> TypedFloat:
        """The number with a dtype."""
        made = super().__new__(cls, value)
        made.dtype, made.aval = np.dtype(dtype), ShapedArray((), dtype, weak_type=True)
        return made

    def __repr__(self) -> str:
        return f"TypedFloat({float(self)}, dtype={self.dtype.name})"

    def __str__(self) -> str:
        return str(float(self))

    def __getnewargs__(self) -> tuple[float, Any]:  # type: ignore[override]
        return float(self), self.dtype


class TypedComplex(complex):
    """A complex number with a dtype."""

    dtype: np.dtype[Any]
    aval: ShapedArray

    def __new__(cls, value: complex, dtype: Any) -> TypedComplex:
        """The number with a dtype."""
        made = super().__new__(cls, value)
        made.dtype, made.aval = np.dtype(dtype), ShapedArray((), dtype, weak_type=True)
        return made

    def __repr__(self) -> str:
        return f"TypedComplex({complex(self)}, dtype={self.dtype.name})"

    def __getnewargs__(self) -> tuple[complex, Any]:
        return complex(self), self.dtype


typed_scalar_types: set[type] = {TypedInt, TypedFloat, TypedComplex}
