"""Warnings in tests: ignored, recorded, or raised."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterator

__all__ = ["ignore_warning", "raise_on_warnings", "record_warnings"]


@contextlib.contextmanager
def raise_on_warnings() -> Iterator[None]:
    """A block in which a warning is an error."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


@contextlib.contextmanager
def record_warnings() -> Iterator[list[warnings.WarningMessage]]:
    """A block of which the warnings are in a list."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        yield found


@contextlib.contextmanager
def ignore_warning(*, message: str | None = None, category: type[Warning] = Warning) -> Iterator[None]:
    """A block, or a function, in which warnings of a class, whose text begins as a pattern says, are not shown."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=message or "", category=category)
        yield
