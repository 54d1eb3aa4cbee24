"""Functions under their names in SciPy; the modules are loaded at first use."""

from __future__ import annotations


def __getattr__(name: str) -> object:
    if not name.startswith("_"):
        import importlib
        import importlib.util

        if importlib.util.find_spec(f"cotangent.scipy.{name}") is not None:
            return importlib.import_module(f"cotangent.scipy.{name}")
    raise AttributeError(f"module 'cotangent.scipy' has no attribute {name!r}")
