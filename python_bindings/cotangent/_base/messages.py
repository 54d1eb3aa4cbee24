"""Texts of errors that several modules have in common."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from cotangent import _core
from cotangent._base.arguments import suggestion

__all__ = ["marked", "no_attribute", "placed"]


def no_attribute(module: str, name: str) -> AttributeError:
    """The error of a module that has not the name, with the one that was meant."""
    near = "" if name.startswith("_") else suggestion(name, dir(sys.modules[module]))
    return AttributeError(f"module {module!r} has no attribute {name!r}{near}")


def marked(*shapes: tuple[Sequence[Any], Sequence[int]]) -> str:
    """Lines that show shapes one below the other, with a mark below each axis that is named: for the end of a message's first line."""
    return _core.marked_shapes([([str(size) for size in shape], axes) for shape, axes in shapes])


def placed(text: str, hint: str, section: str = "") -> str:
    """A message with the user's line that it is about, if something is captured, what to do, and the section of docs/errors.md."""
    place = _core.calling_place()
    link = f"\n  see docs/errors.md#{section}" if section else ""
    return f"{text}\n  at {place}\n  {hint}{link}" if place else f"{text}\n  {hint}{link}"
