"""Types for annotations: what functions of arrays take as an array, and as a dtype.

>>> import cotangent as ct
>>> isinstance(ct.numpy.ones(2), ct.typing.ArrayLike)
True
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from cotangent._base.names import suggest_names
from cotangent._core import Array

__all__ = ["ArrayLike", "DTypeLike"]

ArrayLike = Array | np.ndarray | np.bool_ | np.number | bool | int | float | complex


class SupportsDType(Protocol):
    """Anything with a dtype."""

    @property
    def dtype(self) -> np.dtype[Any]:
        """The `numpy.dtype`."""


DTypeLike = str | type[Any] | np.dtype[Any] | SupportsDType

suggest_names(globals())
