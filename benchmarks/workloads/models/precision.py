"""What programs of models share: modules that a library imports on demand, and programs in float64."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

Make = Callable[[Any], Any]


def part(library: Any, name: str) -> Any:
    """`scipy.linalg` of cotangent or JAX, say."""
    return importlib.import_module(f"{library.module.__name__}.{name}")


def in_double(make: Make) -> Make:
    """The same where numbers have 64 bits unless a program says otherwise. Calls open the scope, too, in both libraries."""

    def wrapped(library: Any) -> Any:
        if not hasattr(library, "module"):
            return make(library)
        with library.module.enable_x64(True):
            thunk = make(library)
        if thunk is None:
            return None

        def run() -> Any:
            with library.module.enable_x64(True):
                return thunk()

        return run

    return wrapped
