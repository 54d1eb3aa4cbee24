"""Packages that a module is for, imported when they are needed."""

from __future__ import annotations

import importlib
from typing import Any


def needed(package: str, asks: str, name: str = "") -> Any:
    """The module of another package.

    Args:
        package: what is imported.
        asks: what needs it, for the error.
        name: what it is called where it is installed from; by default, as its module.

    Raises:
        ImportError: it is not installed.

    >>> needed("nowhere", "example")
    Traceback (most recent call last):
        ...
    ImportError: example needs the package nowhere
      pip install nowhere
    """
    try:
        return importlib.import_module(package)
    except ModuleNotFoundError as error:
        top = package.partition(".")[0]
        if (error.name or "").partition(".")[0] != top:
            raise  # the package is there, and lacks something itself
        raise ImportError(f"{asks} needs the package {name or top}\n  pip install {name or top}") from None
