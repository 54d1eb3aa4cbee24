"""Which frames tracebacks show: those of the user's program, by the option ``jax_traceback_filtering``; ``jax._src.traceback_util``.

Functions that programs call as JAX's are `api_boundary` functions: what is raised inside of them leaves without the frames of this package.
"""

from __future__ import annotations

import functools
import sys
import types
from pathlib import Path
from typing import Any

from cotangent import _core
from cotangent.jax import settings, wording

__all__ = ["UnfilteredStackTrace", "_exclude_paths", "api_boundary", "include_frame", "register_exclusion"]

_exclude_paths = [str(Path(__file__).parents[1])]  # this package; libraries put theirs there and take them away
_REMOVED = "For simplicity, frames of the package itself are left out above; jax_traceback_filtering=off shows them."


class UnfilteredStackTrace(Exception):  # noqa: N818 (JAX's name)
    """The cause of an error whose traceback was filtered: it has the whole one."""


def register_exclusion(path: str) -> None:
    """Frames of a file that tracebacks may leave out."""
    _exclude_paths.append(path)


def include_frame(frame: Any) -> bool:
    """Whether tracebacks show a frame."""
    return not frame.f_code.co_filename.startswith(tuple(_exclude_paths))


def _shown(traceback: types.TracebackType | None) -> types.TracebackType | None:
    frames = []
    while traceback is not None:
        if include_frame(traceback.tb_frame):
            frames.append(traceback)
        traceback = traceback.tb_next
    result = None
    for frame in reversed(frames):
        result = types.TracebackType(result, frame.tb_frame, frame.tb_lasti, frame.tb_lineno)
    return result


def _hide(traceback: types.TracebackType | None) -> None:
    while traceback is not None:
        if not include_frame(traceback.tb_frame):
            traceback.tb_frame.f_locals["__tracebackhide__"] = True
        traceback = traceback.tb_next


def _filter(error: BaseException, mode: str) -> None:
    if mode == "tracebackhide":
        _hide(error.__traceback__)
        return
    whole = error.__traceback__
    error.__traceback__ = _shown(whole)
    if mode == "remove_frames":
        if not isinstance(error.__cause__, UnfilteredStackTrace):
            unfiltered = UnfilteredStackTrace("the traceback of the error below, with all frames").with_traceback(whole)
            unfiltered.__context__, unfiltered.__cause__ = error.__context__, error.__cause__
            unfiltered.__suppress_context__ = error.__suppress_context__
            error.__cause__ = unfiltered
    elif _REMOVED not in getattr(error, "__notes__", ()):
        error.add_note(_REMOVED)


def api_boundary(fun: Any = None, **_: Any) -> Any:
    """The function, out of which errors come in JAX's words and without the frames of this package."""
    if fun is None:
        return api_boundary

    @functools.wraps(fun)
    def run(*args: Any, **kwargs: Any) -> Any:
        try:
            return fun(*args, **kwargs)
        except Exception:
            leave()
            raise  # which adds no frame

    return run


def leave(name: str = "") -> None:
    """What happens to the error in flight where it leaves a function that programs call. No frame keeps it: that would be a cycle."""
    error = sys.exception() if sys.version_info >= (3, 11) else sys.exc_info()[1]
    assert error is not None
    wording.add_phrase(error, name)
    _core.shorten_traceback(error)
    mode = settings.config.read("jax_traceback_filtering")
    if mode != "off":
        _filter(error, "quiet_remove_frames" if mode == "auto" else mode)
