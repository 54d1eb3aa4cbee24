"""What ``jax.numpy`` says of itself by the array API standard: what holds of arrays where JAX is answered from here."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from cotangent import _core
from cotangent.numpy.array_api import NamespaceInfo

__all__ = ["ArrayNamespaceInfo", "__array_namespace_info__", "namespace_of"]

_WIDE = ("int64", "uint64", "float64", "complex128")


class ArrayNamespaceInfo(NamespaceInfo):
    """What JAX can do of the standard's optional parts, and has of its dtypes and devices."""

    def capabilities(self) -> dict[str, Any]:
        """None of the parts for which values have to be known: functions are to be captured."""
        return {"boolean indexing": False, "data-dependent shapes": False, "max dimensions": 64}

    def default_device(self) -> Any:
        """None: a new array may be wherever those are that it meets."""
        return None

    def devices(self) -> list[Any]:
        """None, for arrays that are not bound to one, and all devices."""
        return [None, *super().devices()]

    def dtypes(self, *, device: Any = None, kind: str | tuple[str, ...] | None = None) -> dict[str, Any]:
        """The dtypes of the standard by name, those of 64 bits only where they are enabled."""
        found = super().dtypes(device=device, kind=kind)
        return found if _core.get_enable_x64() else {name: found[name] for name in found if name not in _WIDE}


def __array_namespace_info__() -> ArrayNamespaceInfo:  # noqa: N807 (the standard's name)
    """What ``jax.numpy`` is capable of."""
    return ArrayNamespaceInfo()


def namespace_of(own: Callable[..., Any]) -> Callable[..., Any]:
    """``__array_namespace__``, whose answer is ``jax.numpy`` for every version of the standard that arrays know."""

    def __array_namespace__(x: Any, *, api_version: str | None = None) -> Any:  # noqa: N807 (the standard's name)
        own(x, api_version=api_version)  # which refuses others
        return importlib.import_module("jax.numpy")

    return __array_namespace__
