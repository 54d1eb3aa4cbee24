"""Texts of errors that several modules have in common."""

from __future__ import annotations

import inspect
import re
import sys
import types
import warnings
from collections.abc import Iterator, Sequence
from typing import Any

from cotangent import _core

__all__ = [
    "argument_text",
    "called",
    "cell_name",
    "indented",
    "kind_of",
    "marked",
    "marked_axes",
    "marked_difference",
    "missing_return",
    "outermost_function",
    "own_frames",
    "placed",
    "returned",
    "shapes_of",
    "sizes_of",
    "structure_text",
    "warn_user",
    "with_hint",
]

_PACKAGE = __file__.removesuffix("_base/messages.py")


def own_frames(frame: types.FrameType | None) -> Iterator[types.FrameType]:
    """A frame and those that have called it, as far as they are the package's."""
    while frame is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        yield frame
        frame = frame.f_back


def cell_name(file: str) -> str:
    """What is shown of the file that a cell of IPython or Jupyter seems to be in: its number, as IPython says it.

    IPython compiles a cell as ``<ipython-input-3-0123456789ab>``, and a kernel of Jupyter as a file of its temporary folder, which is not there.
    """
    named = re.match(r"<ipython-input-(\d+)-", file)
    if named is None and re.search(r"[/\\]ipykernel_\d+[/\\][^/\\]+\.py$", file) is None:
        return file
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    number = named[1] if named else getattr(getattr(shell, "compile", None), "_filename_map", {}).get(file)
    return "<cell>" if number is None else f"In[{number}]"


def called(name: str) -> str:
    """The public function that the user has called, which may have others do its work; ``name`` if it is none: an operator, a method."""
    found = name
    for frame in own_frames(sys._getframe(1)):
        if frame.f_code.co_name in frame.f_globals.get("__all__", ()):
            found = frame.f_code.co_name
    return found


def _shown_name(frame: types.FrameType) -> str:
    """The name of the function of a frame; of one that a transform has made of a function of the user's: ``vmap of f``."""
    name = frame.f_code.co_name
    if not name.endswith("_fun"):
        return name
    function = frame.f_locals.get("fun", frame.f_locals.get("function"))
    within = getattr(function, "__name__", "")
    return f"{name.removesuffix('_fun')} of {within}" if within else name.removesuffix("_fun")


def outermost_function() -> str:
    """The name of the function of this package that the user has called; "" where it has none of its own."""
    name = ""
    for frame in own_frames(sys._getframe(1)):
        if not frame.f_code.co_filename.endswith(("_numpy_dispatch.py", "boundary.py")):
            name = _shown_name(frame)
    return "" if name.startswith(("_", "<")) else name


def warn_user(text: str) -> None:
    """A warning about the line of the user's program that has called this package."""
    warnings.warn(text, stacklevel=1 + sum(1 for _ in own_frames(sys._getframe(0))))


def marked(*shapes: tuple[Sequence[Any], Sequence[int]]) -> str:
    """Lines that show shapes one below the other, with a mark below each axis that is named: for the end of a message's first line."""
    return _core.marked_shapes([(sizes_of(shape), axes) for shape, axes in shapes])


def placed(text: str, hint: str, section: str = "") -> str:
    """A message with the user's line that it is about, if something is captured, what to do, and the section of docs/errors.md."""
    place = _core.calling_place()
    link = f"\n  see docs/errors.md#{section}" if section else ""
    return f"{text}\n  at {place}\n  {hint}{link}" if place else f"{text}\n  {hint}{link}"


def with_hint(error: Exception, hint: str, section: str = "") -> str:
    """The message of an error with another line of what to do, and the section of docs/errors.md; without one, that of the error."""
    first, *lines = str(error).splitlines()
    place = [line for line in lines if line.startswith("  at ")]
    link = [f"  see docs/errors.md#{section}"] if section else [line for line in lines if line.startswith("  see ")]
    return "\n".join([first, *place, f"  {hint}", *link])


# What to do about two lengths that need not be one: of the longer one as much as of the other would be a third one.
CUT_BOTH = "cut both to the smaller one, n = ct.numpy.minimum(x.shape[axis], y.shape[axis]): x[:n] and y[:n]"


def sizes_of(shape: Sequence[Any]) -> list[str]:
    """The sizes of a shape as texts, ragged ones by what they are the length of."""
    return [str(getattr(size, "owner", size)) for size in shape]


def shapes_of(arrays: Sequence[Any]) -> str:
    """The shapes of arrays as a list, ragged sizes by what they are the length of."""
    listed = [sizes_of(array.shape) for array in arrays]
    texts = [f"({sizes[0]},)" if len(sizes) == 1 else f"({', '.join(sizes)})" for sizes in listed]
    return f"[{', '.join(texts)}]"


def marked_difference(x: Sequence[Any], y: Sequence[Any]) -> str:
    """Two shapes that should be one, below each other, with the axes marked that differ."""
    pairs = zip(reversed(sizes_of(x)), reversed(sizes_of(y)), strict=False)
    unlike = [number for number, (m, n) in enumerate(pairs, 1) if m != n]
    unlike += range(min(len(x), len(y)) + 1, max(len(x), len(y)) + 1)
    return marked(*((shape, [-number for number in unlike if number <= len(shape)]) for shape in (x, y)))


def marked_axes(shapes: Sequence[Sequence[Any]], axes: Sequence[int]) -> str:
    """Shapes below each other, each with one axis marked; nothing for a single one."""
    if len(shapes) < 2:
        return ""
    return marked(*((shape, [axis]) for shape, axis in zip(shapes, axes, strict=True)))


def returned(structure: _core.PyTreeDef) -> str:
    """What kind of value a function of the user returned, by its structure."""
    nodes = structure.num_nodes
    return (
        "an array"
        if nodes == 1 and structure.num_leaves == 1
        else kind_of(structure.unflatten([0] * structure.num_leaves))
    )


def structure_text(structure: _core.PyTreeDef) -> str:
    """A structure as it is written, with a star for each array."""
    return str(structure).removeprefix("PyTreeDef(").removesuffix(")")


def missing_return(structure: _core.PyTreeDef, function: str) -> str:
    """A line of what to do, where a function returned nothing; else an empty text."""
    is_none = structure.num_leaves == 0 and structure.unflatten([]) is None
    return f"\n  is a `return` missing? without one {function} returns None" if is_none else ""


def argument_text(function: Any, path: str) -> str:
    """A leaf of the arguments by the name of its parameter: ``params['w']`` for ``[0]['w']``."""
    found = re.match(r"\[(\d+)\]", path)
    if found is None:
        return path
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return path
    number = int(found[1])
    if number >= len(parameters) or any(each.kind == each.VAR_POSITIONAL for each in parameters[: number + 1]):
        return path
    return parameters[number].name + path[found.end() :]


def kind_of(value: Any) -> str:
    """What kind of value something is: what a function of the user returned."""
    if isinstance(value, (tuple, list)):
        return f"a {type(value).__name__} of {len(value)}"
    if isinstance(value, _core.Array):
        return "an array"
    return "None" if value is None else f"a {type(value).__name__}"


def indented(error: Exception) -> str:
    """The lines of another error, as a part of a message, which says itself where to read on."""
    return "\n".join(f"    {line.lstrip()}" for line in str(error).splitlines() if not line.startswith("  see "))
