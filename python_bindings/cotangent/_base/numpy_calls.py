"""Which of NumPy's functions the user's program is calling, where that asks for the number that a size is."""

from __future__ import annotations

import sys
import types
from typing import Any

from cotangent._base.calls import called, calling_frame

__all__ = ["numpy_call"]


def numpy_call() -> tuple[str, str] | None:
    """The function of NumPy's that has called this package, as the program writes it, and what does the same for a size.

    None where it is not one: Python itself asks, or another package.
    """
    frame = calling_frame()
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "numpy":
        frame = frame.f_back
    call = called(frame) if frame is not None else None
    if call is None:
        return None
    module, names = call
    if not isinstance(module, types.ModuleType) or module.__name__ != "numpy":
        return None
    written = ".".join(names)
    if names[1:2] == ["random"]:
        return (
            f"{names[0]}.random",
            "draw by a key, which takes sizes: ct.random.uniform(key, x.shape), ct.random.normal(key, x.shape)",
        )
    found: Any = sys.modules["cotangent.numpy"]
    for name in names[1:]:
        found = getattr(found, name, None)
    if found is None:
        return None
    ours = ".".join(["ct.numpy", *names[1:]])
    like = f", or {ours}_like(x)" if names[-1] in ("empty", "full", "ones", "zeros") else ""
    return written, f"write {ours}(...) for {written}(...), which takes sizes{like}"
