"""Which of NumPy's functions the user's program is calling, where that asks for the number that a size is."""

from __future__ import annotations

import dis
import sys
import types
from typing import Any

from cotangent._base.messages import own_frames

__all__ = ["numpy_call"]


def numpy_call() -> tuple[str, str] | None:
    """The function of NumPy's that has called this package, as the program writes it, and what does the same for a size.

    None where it is not one: Python itself asks, or another package.
    """
    frame: types.FrameType | None = sys._getframe(1)
    for within in own_frames(frame):
        frame = within.f_back
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "numpy":
        frame = frame.f_back
    names = _called_names(frame) if frame is not None else None
    if frame is None or not names:
        return None
    module = frame.f_locals.get(names[0], frame.f_globals.get(names[0]))
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


def _called_names(frame: types.FrameType) -> list[str] | None:
    """The names, joined by dots, of what the frame is calling now; None where it calls nothing."""
    instructions = list(dis.get_instructions(frame.f_code))
    # A call of a function in Python goes on behind what the instruction brings along.
    current = next((each for each in reversed(instructions) if each.offset <= frame.f_lasti), None)
    if current is None or "CALL" not in current.opname or current.positions is None:
        return None
    begin = current.positions.lineno, current.positions.col_offset
    names: list[str] = []
    for each in instructions:
        place = each.positions
        if each.offset >= current.offset or place is None or (place.lineno, place.col_offset) != begin:
            continue
        if each.opname.startswith("LOAD_") and isinstance(each.argval, str):
            if each.opname in ("LOAD_ATTR", "LOAD_METHOD"):
                names.append(each.argval)
            else:
                names = [each.argval]
    return names
