"""What the program does at the line from which it has come to this package: the call, or what becomes of its value, as instructions say.

For messages, once there is something to say: nothing here is asked of a program that is right.
"""

from __future__ import annotations

import dis
import functools
import itertools
import sys
import types
from collections.abc import Iterator
from typing import Any

from cotangent._base.messages import own_frames, warn_user

__all__ = ["called", "calling_frame", "instruction", "is_statement", "later_instructions", "warn_of_unused"]

_CALLS = ("CALL", "PRECALL", "NOP", "NOT_TAKEN")


def calling_frame() -> types.FrameType | None:
    """The frame of what has called this package."""
    frame: types.FrameType | None = sys._getframe(1)
    for within in own_frames(frame):
        frame = within.f_back
    return frame


def instruction(frame: types.FrameType) -> dis.Instruction | None:
    """The instruction where a function is; after a call of one of Python's that is behind the call itself, in what it keeps there."""
    return next((x for x in reversed(list(dis.get_instructions(frame.f_code))) if x.offset <= frame.f_lasti), None)


def later_instructions(code: types.CodeType, offset: int) -> Iterator[dis.Instruction]:
    """Those behind an instruction."""
    return (x for x in dis.get_instructions(code) if x.offset > offset)


@functools.lru_cache(1024)
def is_statement(code: types.CodeType, offset: int) -> bool:
    """Whether the call at an instruction is a statement, whose value nobody sees."""
    behind = itertools.dropwhile(lambda x: x.opname.startswith(_CALLS), later_instructions(code, offset))
    return next((x.opname == "POP_TOP" for x in behind), False)


def warn_of_unused(text: str) -> None:
    """Warns where the call from which the program has come to this package is a statement."""
    frame = calling_frame()
    if frame is not None and is_statement(frame.f_code, frame.f_lasti):
        warn_user(text)


def called(frame: types.FrameType) -> tuple[Any, list[str]] | None:
    """What a function calls where it is: the object that is named first, and the names as the source has them, that one in front.

    A call among them is ``"()"``: of ``model().fit(x)`` they are ``model``, ``()`` and ``fit``. None where it calls nothing that has a name.
    """
    here = instruction(frame)
    if here is None or "CALL" not in here.opname or here.positions is None or here.positions.lineno is None:
        return None
    # Before the call stands what it calls, which begins in the source where the call does.
    begin = here.positions.lineno, here.positions.col_offset
    found: Any = None
    names: list[str] = []
    for each in dis.get_instructions(frame.f_code):
        if each.offset >= here.offset:
            break
        if each.positions is None or (each.positions.lineno, each.positions.col_offset) != begin:
            continue
        name = each.argval
        if each.opname.startswith(("LOAD_GLOBAL", "LOAD_NAME", "LOAD_FAST", "LOAD_DEREF", "LOAD_CLASSDEREF")):
            spaces: tuple[Any, ...] = (frame.f_locals, frame.f_globals, frame.f_builtins)
            space = next((space for space in spaces if isinstance(name, str) and name in space), None)
            found, names = (None, []) if space is None else (space[name], [name])
        elif names and each.opname in ("LOAD_ATTR", "LOAD_METHOD"):
            names.append(name)
        elif names and "CALL" in each.opname and each.opname != "PRECALL":
            names.append("()")
    return (found, names) if names else None
