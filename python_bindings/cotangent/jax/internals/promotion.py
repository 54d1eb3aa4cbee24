"""Which dtypes meet in a common one, and which may not where the option ``jax_numpy_dtype_promotion`` is strict."""

from __future__ import annotations

from typing import Any

import cotangent.numpy as cnp
from cotangent.jax.narrowing import narrowed_function
from cotangent.jax.settings import state

__all__ = ["TypePromotionError", "check_strict", "common_dtype", "yields"]


class TypePromotionError(ValueError):
    """Dtypes have no common dtype."""


common_dtype = narrowed_function(cnp.result_type)
_KINDS = "biufc"
_WEAK = {"b": "bool", "i": "int*", "u": "uint*", "f": "float*", "c": "complex*"}


def check_strict(args: tuple[Any, ...]) -> None:
    """TypePromotionError for dtypes that differ where the option ``jax_numpy_dtype_promotion`` is strict."""
    if state("numpy_dtype_promotion").value != "strict":
        return
    dtypes = {str(dtype): dtype for dtype in (common_dtype(arg) for arg in args if not yields(arg))}
    strong = set(dtypes)
    weak = [common_dtype(arg).kind.replace("V", "f") for arg in args if yields(arg)]
    kinds = [dtype.kind.replace("V", "f") for dtype in dtypes.values()]
    if len(strong) > 1 or (
        kinds and any(_KINDS.index(kind) > max(_KINDS.index(kinds[0]), 2) or kinds[0] == "b" for kind in weak)
    ):
        names = ", ".join(sorted({*strong, *(_WEAK[kind] for kind in weak)}))
        raise TypePromotionError(
            f"Input dtypes ({names}) have no available implicit dtype promotion path when jax_numpy_dtype_promotion=strict\n"
            "  convert one explicitly with .astype(...)"
        )


def yields(x: Any) -> bool:
    """Whether the dtype of a value, or a type, yields to others."""
    return (
        type(x) in (int, float, complex)
        or (isinstance(x, type) and x in (int, float, complex))
        or bool(getattr(x, "weak_type", False))
    )
