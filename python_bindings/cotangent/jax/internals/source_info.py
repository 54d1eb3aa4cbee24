"""``source_info_util``: where equations are from, and the names of the scopes around them."""

from __future__ import annotations

import contextlib
import dataclasses
import threading
from collections.abc import Iterator
from typing import Any

__all__ = [
    "NameStack",
    "SourceInfo",
    "current",
    "current_name_stack",
    "extend_name_stack",
    "new_name_stack",
    "new_source_info",
    "reset_name_stack",
    "set_name_stack",
    "summarize",
    "transform_name_stack",
    "user_context",
]


@dataclasses.dataclass(frozen=True)
class NameStack:
    """Names of scopes, from the outermost; as text with ``/`` between them."""

    stack: tuple[str, ...] = ()

    def extend(self, name: str | tuple[str, ...]) -> NameStack:
        """The same with more scopes inside."""
        return NameStack((*self.stack, *((name,) if isinstance(name, str) else name)))

    def __add__(self, other: NameStack) -> NameStack:
        return NameStack((*self.stack, *other.stack))

    def __radd__(self, other: NameStack) -> NameStack:
        return NameStack((*other.stack, *self.stack))

    def __len__(self) -> int:
        return len(self.stack)

    def __str__(self) -> str:
        return "/".join(self.stack)


@dataclasses.dataclass(frozen=True)
class SourceInfo:
    """Where an equation is from: the user's line, as ``train.py:12 (loss)``."""

    traceback: Any = None
    name_stack: NameStack = NameStack()
    location: str = ""

    def replace(self, *, traceback: Any = None, name_stack: NameStack | None = None) -> SourceInfo:
        """The same with other parts."""
        return SourceInfo(
            self.traceback if traceback is None else traceback,
            self.name_stack if name_stack is None else name_stack,
            self.location,
        )

    def __str__(self) -> str:
        return self.location


def new_name_stack(name: str = "") -> NameStack:
    """A stack of one scope, or of none."""
    return NameStack((name,) if name else ())


def new_source_info() -> SourceInfo:
    """Of an equation that a library makes."""
    return SourceInfo()


def current() -> SourceInfo:
    """Of the equation that would be recorded now; the line is looked up when it is."""
    return SourceInfo(None, current_name_stack())


def current_name_stack() -> NameStack:
    """The scopes that are open: what `extend_name_stack` and its like opened."""
    return _open.stacks[-1]


def summarize(source_info: SourceInfo, num_frames: int = 1) -> str:
    """The line, as text."""
    return source_info.location or "unknown"


class _Open(threading.local):
    def __init__(self) -> None:
        self.stacks = [NameStack()]


_open = _Open()


@contextlib.contextmanager
def set_name_stack(name_stack: NameStack) -> Iterator[None]:
    """A block whose scopes are these."""
    _open.stacks.append(name_stack)
    try:
        yield
    finally:
        _open.stacks.pop()


def extend_name_stack(name: str) -> contextlib.AbstractContextManager[None]:
    """A block with one scope more."""
    return set_name_stack(_open.stacks[-1].extend(name))


def transform_name_stack(name: str) -> contextlib.AbstractContextManager[None]:
    """A block in a transform, whose name is put around those of the scopes."""
    return set_name_stack(NameStack((f"{name}({_open.stacks[-1]})",)))


def reset_name_stack() -> contextlib.AbstractContextManager[None]:
    """A block without scopes."""
    return set_name_stack(NameStack())


@contextlib.contextmanager
def user_context(traceback: Any, *, name_stack: NameStack | None = None) -> Iterator[None]:
    """A block whose equations are from where others were; those of this package are from the line that is running."""
    with set_name_stack(_open.stacks[-1] if name_stack is None else name_stack):
        yield
