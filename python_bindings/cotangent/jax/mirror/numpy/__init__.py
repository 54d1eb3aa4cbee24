"""``jax.numpy``: types of 64 bits, of which arrays have 32 unless ``jax_enable_x64`` is set, and the dtypes that others have in common."""

from __future__ import annotations

from typing import Any

import cotangent.numpy as cnp
from cotangent import _core
from cotangent._ops.dtypes import ScalarType
from cotangent.jax.narrowing import canonical, narrow, narrowed_function, narrowed_type

__all__ = ["complex128", "double", "float64", "int64", "promote_types", "result_type", "shape", "uint64"]


class _Wide(ScalarType):
    """A type that makes arrays of 32 bits where 64 are off."""

    def __call__(self, x: Any = 0) -> Any:
        """A scalar, or an array of an array."""
        return cnp.array(x, narrowed_type(self.dtype))

    def __eq__(self, other: object) -> bool:
        return super().__eq__(other)

    __hash__ = ScalarType.__hash__


def _wide(name: str) -> ScalarType:
    return _Wide(name, (), {"_spec": name, "__module__": "jax.numpy", "__slots__": ()})


float64 = double = _wide("float64")
int64, uint64, complex128 = _wide("int64"), _wide("uint64"), _wide("complex128")


_result_type = narrowed_function(cnp.result_type)


def result_type(*args: Any) -> Any:
    """The dtype that arrays and types have in common: int32, where signed and unsigned ones of 32 bits meet in one of 64."""
    return canonical(_result_type(*args)) if not _core.get_enable_x64() else cnp.result_type(*args)


def promote_types(a: Any, b: Any) -> Any:
    """The dtype that two have in common."""
    return canonical(cnp.promote_types(narrowed_type(a), narrowed_type(b)))


def shape(a: Any) -> Any:
    """The sizes of the axes; none of what is no array, as NumPy has it."""
    return () if a is None else cnp.shape(narrow(a))
