"""``jax._src.lax.linalg``: what the public module lacks of it."""

from __future__ import annotations

from typing import Any

from cotangent.jax.narrowing import narrowed_function
from cotangent.lax import linalg

__all__ = ["_lu_python"]


def _plain_lu(x: Any) -> Any:
    """The LU decomposition, which here has one way to be computed."""
    return linalg.lu(x)


_lu_python = narrowed_function(_plain_lu)
