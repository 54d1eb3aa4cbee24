"""Programs that fail, with the whole message of each error, and what the message says to write instead: ``tests/errors/*.md``.

A file is Markdown. Its first block of code is what every program begins with; each further one is a program, named by the heading above it::

    >>> cnp.reshape(cnp.ones(6), (4, 2))
    ShapeError: reshape: cannot reshape float32[6] of 6 elements to shape (4, 2) of 8
      the sizes of the new shape must multiply to the same number of elements
    >>> cnp.reshape(cnp.ones(6), (3, 2)).shape
    (3, 2)

What a statement prints and its value follow it, or the class and whole message of what it raises. ``CT_UPDATE_ERRORS=1`` writes what comes out into
the file, to be read before it is committed. `problems` says what else must hold of a program.

A file whose first block imports a package that is not installed is left out (`lacking`). Each program runs in an empty folder. Those of a
file whose first block installs the hook for JAX run in a process of their own, where it stays installed: ``python tests/transcripts.py FILE
RESULT`` is that process. Where the first block imports `faults` (tests/shared), which takes things away that a process has once, each program
runs in a fork of that process.
"""

from __future__ import annotations

import ast
import contextlib
import dataclasses
import importlib
import importlib.util
import io
import json
import os
import re
import subprocess
import sys
import tempfile
import traceback
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import cotangent as ct
from cotangent import _core

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "tests" / "errors"
PACKAGE = str(Path(ct.__file__).parent)
_BLOCK = re.compile(r"^```pycon\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_OWN_PROCESS = ("cotangent.jax.install()", "import faults")
_ADDRESS = re.compile(r"\b0x[0-9a-f]{6,}")


def remedy_of(message: str) -> str:
    """What a message says to do: its lines that begin with two spaces, but for the place and the link."""
    lines = message.splitlines()[1:]
    return "\n".join(line for line in lines if re.match(r"  \S", line) and not line.startswith(("  at ", "  see ")))


@dataclasses.dataclass
class Statement:
    """One statement of a program: its source, what it is to print, and what came out when it ran."""

    source: str
    expected: str
    printed: str = ""
    error: str = ""  # the class of what it raised
    message: str = ""  # the whole one, without what differs between runs
    frames: list[str] = dataclasses.field(default_factory=list)  # the files of the traceback
    sites: list[tuple[str, int]] = dataclasses.field(default_factory=list)

    @property
    def remedy(self) -> str:
        return remedy_of(self.message)


@dataclasses.dataclass
class Program:
    """A block of a file, with the heading that it stands under."""

    name: str
    statements: list[Statement]
    begin: int  # of the block's content in the file's text
    end: int

    def text(self) -> str:
        """The block as it is to be, by what its statements printed."""
        parts = []
        for statement in self.statements:
            lines = statement.source.splitlines()
            parts += [("... " if number else ">>> ") + line if line else "..." for number, line in enumerate(lines)]
            parts += statement.printed.splitlines()
        return "\n".join(parts) + "\n"


def _statements(block: str) -> list[Statement]:
    made: list[Statement] = []
    for line in block.splitlines():
        if line.startswith(">>> "):
            made.append(Statement(line[4:], ""))
        elif made and (line.startswith("... ") or line == "...") and not made[-1].expected:
            made[-1].source += "\n" + line[4:]
        elif made:
            made[-1].expected += line + "\n"
    return made


def programs(path: Path) -> tuple[list[Statement], list[Program]]:
    """What every program of a file begins with, and the programs."""
    text = path.read_text()
    made: list[Program] = []
    names: dict[str, int] = {}
    for block in _BLOCK.finditer(text):
        headings = re.findall(r"^#+ (.+)$", text[: block.start()], re.MULTILINE)
        name = headings[-1] if headings else path.stem
        names[name] = names.get(name, 0) + 1
        name += f" {names[name]}" if names[name] > 1 else ""
        made.append(Program(name, _statements(block.group(1)), block.start(1), block.end(1)))
    return made[0].statements, made[1:]


def _execute(statement: Statement, namespace: dict[str, Any]) -> None:
    tree = ast.parse(statement.source, "program")
    last = tree.body[-1] if tree.body else None
    value = ast.Expression(tree.body.pop().value) if isinstance(last, ast.Expr) else None  # type: ignore[attr-defined]
    exec(compile(tree, "program", "exec", dont_inherit=True), namespace)
    if value is None:
        return
    result = eval(compile(value, "program", "eval", dont_inherit=True), namespace)
    if result is not None:
        print(repr(result))


def _steady(text: str) -> str:
    """A text without what differs between runs: addresses, and the folder."""
    return _ADDRESS.sub("0x…", text.replace(f"{Path.cwd()}/", ""))


def run(begin: list[Statement], program: Program) -> None:
    """Runs a program in a module and a folder of its own; its statements then hold what came out."""
    sys.modules["program"] = types.ModuleType("program")  # where its classes are
    namespace = vars(sys.modules["program"])
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        for statement in begin:
            _execute(statement, namespace)
        for statement in program.statements:
            output = io.StringIO()
            _core.note_error_sites(True)
            with contextlib.redirect_stdout(output):
                try:
                    _execute(statement, namespace)
                except Exception as error:
                    statement.error = type(error).__name__
                    statement.message = _steady(str(error))
                    statement.frames = list(frames_of(error.__traceback__))
            statement.sites = list(_core.note_error_sites(False))
            statement.printed = _steady(output.getvalue())
            if statement.error:
                # An empty line would end the program.
                statement.printed += f"{statement.error}: {statement.message}\n"


def lacking(path: Path) -> str:
    """A package that the programs of a file begin with and that is not installed; or an empty text.

    A module of tests/shared that stands for what may not be there says so itself: ``LACKING``.
    """
    imports = [
        found for statement in programs(path)[0] for found in re.findall(r"^(?:import|from) (\w+)", statement.source)
    ]
    for name in imports:
        if name != "jax" and importlib.util.find_spec(name) is None:
            return name
        if (ROOT / "tests" / "shared" / f"{name}.py").exists() and (
            missing := getattr(importlib.import_module(name), "LACKING", "")
        ):
            return str(missing)
    return ""


def ran(path: Path) -> list[Program]:
    """The programs of a file, which have run."""
    begin, made = programs(path)
    if not any(text in statement.source for statement in begin for text in _OWN_PROCESS):
        for program in made:
            run(begin, program)
        return made
    with tempfile.NamedTemporaryFile("r", suffix=".json") as result:
        command = [sys.executable, __file__, str(path), result.name]
        paths = os.pathsep.join([str(ROOT / "tests" / "shared"), *filter(None, [os.environ.get("PYTHONPATH")])])
        environment = {**os.environ, "PYTHONPATH": paths}
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
        assert done.returncode == 0, done.stderr
        for program, statements in zip(made, json.load(result), strict=True):
            program.statements = [Statement(**statement) for statement in statements]
            for statement in program.statements:
                statement.sites = [(file, line) for file, line in statement.sites]
    return made


def _ran_in_a_fork(begin: list[Statement], program: Program) -> list[dict[str, Any]]:
    """What the statements of a program are when it has run in a fork of this process."""
    read, write = os.pipe()
    if child := os.fork():
        os.close(write)
        with os.fdopen(read) as file:
            text = file.read()
        os.waitpid(child, 0)
        return list(json.loads(text))
    status = 1
    try:
        run(begin, program)
        with os.fdopen(write, "w") as file:
            json.dump([dataclasses.asdict(statement) for statement in program.statements], file)
        status = 0
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(status)


def main(path: str, result: str) -> None:
    """Runs the programs of a file in this process, and writes what came out."""
    begin, made = programs(Path(path))
    if any("import faults" in statement.source for statement in begin):
        statements = [_ran_in_a_fork(begin, program) for program in made]
    else:
        for program in made:
            run(begin, program)
        statements = [[dataclasses.asdict(statement) for statement in program.statements] for program in made]
    Path(result).write_text(json.dumps(statements))


def frames_of(traceback: types.TracebackType | None) -> Iterator[str]:
    """The files of a traceback's frames."""
    while traceback is not None:
        yield traceback.tb_frame.f_code.co_filename
        traceback = traceback.tb_next


def problems(program: Program, anchors: set[str]) -> list[str]:
    """What is wrong with a program that has run."""
    found = []
    for number, statement in enumerate(program.statements):
        if statement.printed != statement.expected:
            found.append(f">>> {statement.source}\nprinted\n{statement.printed}and not\n{statement.expected}")
        if not statement.error:
            continue
        own = [file for file in statement.frames if file.startswith(PACKAGE)]
        if own:
            found.append(f">>> {statement.source}\nthe traceback shows frames of the package: {own}")
        if statement.remedy and all(later.error for later in program.statements[number + 1 :]):
            found.append(f">>> {statement.source}\nnothing after it does what the message says to do")
        unknown = set(re.findall(r"see docs/errors\.md#([\w-]+)", statement.message)) - anchors
        if unknown:
            found.append(f">>> {statement.source}\ndocs/errors.md has no section {unknown}")
    return found


def anchors_of_the_page() -> set[str]:
    """The sections of docs/errors.md."""
    return set(re.findall(r"^\(([\w-]+)\)=$", (ROOT / "docs" / "errors.md").read_text(), re.MULTILINE))


def update(path: Path, ran: list[Program]) -> None:
    """Writes what the programs printed into their file."""
    text = path.read_text()
    for program in reversed(ran):
        text = text[: program.begin] + program.text() + text[program.end :]
    path.write_text(text)


def files() -> list[Path]:
    """The files of programs that fail."""
    return sorted(FOLDER.glob("*.md"))


if __name__ == "__main__":
    main(*sys.argv[1:])
