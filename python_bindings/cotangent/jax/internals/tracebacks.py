"""``jax._src.traceback_util``: tracebacks here have no frames of a tracer's own to leave out."""

from __future__ import annotations

from typing import Any

__all__ = ["api_boundary", "include_frame", "register_exclusion"]


def register_exclusion(path: str) -> None:
    """Frames of a file that tracebacks may leave out."""


def include_frame(frame: Any) -> bool:
    """Whether tracebacks show a frame."""
    return True


def api_boundary(fun: Any = None, **_: Any) -> Any:
    """The function, whose tracebacks are as they are."""
    return fun if fun is not None else api_boundary
