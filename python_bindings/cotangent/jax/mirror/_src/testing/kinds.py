"""`dtypes`: lists of the types of elements that arrays have, of which those of 64 bits are there where they are on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

import cotangent.numpy as cnp
from cotangent.jax.mirror._src.testing.machine import supported_dtypes

__all__ = ["dtypes"]

_BFLOAT16: Any = np.dtype(cnp.bfloat16).type


class _Kinds:
    """Each list as it is when it is asked for."""

    _LISTS: ClassVar[dict[str, list[Any]]] = {
        "floating": [np.float32, np.float64],
        "all_floating": [_BFLOAT16, np.float16, np.float32, np.float64],
        "integer": [np.int32, np.int64],
        "all_integer": [np.int8, np.int16, np.int32, np.int64],
        "unsigned": [np.uint32, np.uint64],
        "all_unsigned": [np.uint8, np.uint16, np.uint32, np.uint64],
        "complex": [np.complex64, np.complex128],
        "boolean": [np.bool_],
        "custom_floats": [_BFLOAT16],
    }
    _JOINED: ClassVar[dict[str, tuple[str, ...]]] = {
        "inexact": ("floating", "complex"),
        "all_inexact": ("all_floating", "complex"),
        "numeric": ("floating", "integer", "unsigned", "complex"),
        "all": ("all_floating", "all_integer", "all_unsigned", "complex", "boolean"),
    }

    def supported(self, dtypes: Sequence[Any]) -> list[Any]:
        """Those of some types that arrays have."""
        there = supported_dtypes()
        return [dtype for dtype in dtypes if dtype in there]

    def __getattr__(self, name: str) -> list[Any]:
        if name in self._LISTS:
            return self.supported(self._LISTS[name])
        if name in self._JOINED:
            return [dtype for part in self._JOINED[name] for dtype in getattr(self, part)]
        raise AttributeError(
            f"there is no list {name!r} of dtypes; there are {', '.join([*self._LISTS, *self._JOINED])}"
        )


dtypes = _Kinds()
