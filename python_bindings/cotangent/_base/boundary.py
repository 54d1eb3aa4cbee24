"""Where functions that are handed to users end: errors leave them without the frames of this package.

``python_bindings/tracebacks.h`` says which frames these are. `python_bindings/location.cc` knows this file: its frame is no caller of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cotangent import _core

__all__ = ["leaving"]


def leaving(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, which errors leave without the frames of this package. A function of Python, as users expect of what `grad` returns."""

    def leave(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except BaseException as error:
            _core.shorten_traceback(error)
            raise  # which adds no frame

    return leave
