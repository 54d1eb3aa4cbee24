"""What `debug.breakpoint` stops in: a prompt that shows the variables of the frames around the call, with the values of the running program.

A `Frame` is kept for each function on the stack when the program is captured. Its variables are there by name; arrays without values among them
(`traced`) become arguments of a callback, which is given the values of a run, and puts them back (`with_values`).
"""

from __future__ import annotations

import cmd
import inspect
import linecache
import pprint
import sys
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from types import FrameType
from typing import IO, Any

from cotangent import _core
from cotangent._base import primitives
from cotangent._base.arguments import check_arguments
from cotangent._core import Array

__all__ = ["Frame", "Prompt", "frames_around", "traced", "with_values"]

_PACKAGE = str(Path(__file__).parent)
_CONTEXT = 2  # lines on either side of the current one; `list` shows more
_LISTED = 5


class Frame:
    """A function on the stack: where it is, and what its variables are."""

    def __init__(self, file: str, line: int, lines: range, names: dict[str, Any], around: dict[str, Any]) -> None:
        self.file = file
        self.line = line
        self.lines = lines  # the numbers of its source's lines
        self.names = names  # its variables
        self.around = around  # those of its module

    def source(self, around: int) -> str:
        """The lines next to the current one, which an arrow points at."""
        near = [n for n in range(self.line - around, self.line + around + 1) if n in self.lines]
        texts = {n: linecache.getline(self.file, n).rstrip("\n") for n in near}
        shown = [f"{'->' if n == self.line else '  '}  {text}" for n, text in texts.items() if text or n != self.line]
        return "\n".join([f"> {self.file}({self.line})", *shown])

    def at(self) -> str:
        """The place, and the line there, as in a traceback."""
        text = linecache.getline(self.file, self.line).strip() or "<no source>"
        return f'  File "{self.file}", line {self.line}\n    {text}'

    def evaluate(self, expression: str) -> Any:
        """An expression of its variables. They are given as global ones, so that comprehensions and lambdas see them, too."""
        return eval(expression, {**self.around, **self.names})


def _lines_of(frame: FrameType) -> range:
    try:
        lines, first = inspect.getsourcelines(frame)
    except (OSError, TypeError):
        return range(frame.f_lineno, frame.f_lineno + 1)
    first = max(first, 1)
    return range(first, first + len(lines))


def frames_around(depth: int, *, filtered: bool, count: int | None) -> list[Frame]:
    """The frames from ``depth`` callers up, innermost first; filtered ones are those outside of this package."""
    frame: FrameType | None = sys._getframe(depth + 1)
    frames: list[Frame] = []
    while frame is not None and (count is None or len(frames) < count):
        file = frame.f_code.co_filename
        if not filtered or not file.startswith(_PACKAGE):
            frames.append(Frame(file, frame.f_lineno, _lines_of(frame), dict(frame.f_locals), frame.f_globals))
        frame = frame.f_back
    return frames


def _is_readable(x: Any) -> bool:
    """Whether a value has no numbers yet, and can be had by what is captured now: what has ended its capture cannot."""
    if not _core.is_traced(x):
        return False
    try:
        primitives.stop_gradient(x)
    except Exception:
        return False
    return True


def _parts(value: Any) -> tuple[list[Any], Callable[[Sequence[Any]], Any]]:
    """The leaves of a variable, and what makes it of others. One that is no pytree is a leaf."""
    try:
        leaves, structure = _core.tree_flatten(value, None)
    except Exception:
        return [value], lambda parts: parts[0]
    return leaves, lambda parts: structure.unflatten(list(parts))


def traced(frames: Sequence[Frame]) -> list[Array]:
    """The arrays without values among the variables, each once."""
    found: dict[int, Array] = {}
    for frame in frames:
        for value in frame.names.values():
            found.update({id(leaf): leaf for leaf in _parts(value)[0] if _is_readable(leaf)})
    return list(found.values())


def with_values(frames: Sequence[Frame], arrays: Sequence[Array]) -> Callable[[Sequence[Any]], list[Frame]]:
    """What makes the frames of a run, given the values of ``arrays`` in it."""
    places = {id(array): place for place, array in enumerate(arrays)}
    kept: list[tuple[Frame, dict[str, Any], dict[str, tuple[list[Any], Callable[[Sequence[Any]], Any]]]]] = []
    for frame in frames:
        plain: dict[str, Any] = {}
        changed: dict[str, tuple[list[Any], Callable[[Sequence[Any]], Any]]] = {}
        for name, value in frame.names.items():
            leaves, make = _parts(value)
            if any(id(leaf) in places for leaf in leaves):
                # Numbers in the place of arrays: the program does not keep what it is captured with.
                changed[name] = ([(True, places[id(x)]) if id(x) in places else (False, x) for x in leaves], make)
            else:
                plain[name] = value
        kept.append((frame, plain, changed))

    def filled(values: Sequence[Any]) -> list[Frame]:
        made = []
        for frame, plain, changed in kept:
            names = dict(plain)
            for name, (leaves, make) in changed.items():
                names[name] = make([values[x] if is_place else x for is_place, x in leaves])
            made.append(Frame(frame.file, frame.line, frame.lines, names, frame.around))
        return made

    return filled


class Prompt(cmd.Cmd):
    """Reads commands until one goes on with the program."""

    prompt = "(jdb) "
    intro = "Entering jdb:"

    def __init__(self, frames: Sequence[Frame], stdin: IO[str] | None, stdout: IO[str] | None) -> None:
        super().__init__(stdin=stdin, stdout=stdout)
        self.use_rawinput = stdin is None
        self._frames = frames
        self._index = 0

    def _say(self, text: str) -> None:
        print(text, file=self.stdout)

    def _show(self, expression: str, form: Callable[[Any], str]) -> None:
        try:
            self._say(form(self._frames[self._index].evaluate(expression)))
        except Exception as error:
            self._say("*** " + traceback.format_exception_only(error)[-1].strip())

    def default(self, line: str) -> None:
        """What is no command is an expression."""
        self._show(line, repr)

    def emptyline(self) -> bool:
        """Nothing is done, where `cmd` repeats the last command."""
        return False

    def do_p(self, expression: str) -> None:
        """Prints the value of an expression: p EXPRESSION."""
        self._show(expression, repr)

    def do_pp(self, expression: str) -> None:
        """Prints it over several lines: pp EXPRESSION."""
        self._show(expression, pprint.pformat)

    def _move(self, by: int, end: str) -> None:
        if 0 <= self._index + by < len(self._frames):
            self._index += by
        else:
            self._say(end)
        self._say(self._frames[self._index].source(_CONTEXT))

    def do_up(self, _: str) -> None:
        """The function that called this one: u(p)."""
        self._move(1, "At topmost frame.")

    def do_down(self, _: str) -> None:
        """The function that this one called: d(own)."""
        self._move(-1, "At bottommost frame.")

    def do_list(self, _: str) -> None:
        """The source around the current line: l(ist)."""
        self._say(self._frames[self._index].source(_LISTED))

    def do_where(self, _: str) -> None:
        """The functions, the innermost last: w(here), bt."""
        self._say("\n".join(["Traceback:", *(frame.at() for frame in reversed(self._frames))]))

    def do_continue(self, _: str) -> bool:
        """Goes on with the program: c(ont(inue))."""
        return True

    def do_quit(self, _: str) -> bool:
        """Ends the program: q(uit), exit."""
        raise SystemExit(0)

    do_u, do_d, do_l, do_w, do_bt = do_up, do_down, do_list, do_where, do_where
    do_c = do_cont = do_continue
    do_q = do_exit = do_EOF = do_quit  # noqa: N815 (what `cmd` calls at the end of its input)


check_arguments(globals())
