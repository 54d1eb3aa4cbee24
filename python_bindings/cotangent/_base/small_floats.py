"""NumPy's dtypes bfloat16 and float8: types of the package ml_dtypes, which is asked for when one of them is needed.

Arrays of these dtypes can be made without it; what asks for their `dtype`, as most functions do, needs the package, and says so.
"""

from __future__ import annotations

import functools
from typing import Any

from cotangent import _core
from cotangent._base.missing import needed

__all__ = ["SMALL_FLOATS", "has_small_floats", "small_float", "small_floats"]

SMALL_FLOATS = frozenset(_core.small_float_names())


def small_floats(asks: str = "NumPy's dtype of bfloat16 and float8") -> Any:
    """The module ml_dtypes.

    Raises:
        ImportError: it is not installed.
    """
    return needed("ml_dtypes", asks)


@functools.cache
def has_small_floats() -> bool:
    """Whether it is installed."""
    try:
        small_floats()
    except ImportError:
        return False
    return True


def small_float(name: str) -> Any:
    """The scalar type of that name. The extension asks for it."""
    return getattr(small_floats(f"NumPy's dtype {name}"), name)
