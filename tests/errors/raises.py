"""Counts the places that raise errors for users, those whose whole message a test compares, and those whose message says what to do:
``./dev coverage --errors``.

A place counts as tested where it is reached by

- a program of ``tests/errors`` (`transcripts`), which run in this process: the whole message stands there, and what it says to do is done;
- a test of ``tests/cpp`` that compares the whole message (``tests/cpp/error_sites.h``), where these programs are built. These are the errors that C++
  programs meet, and Python programs do not, because the package has checked before.

What a run of other tests reached is in the folder that ``CT_ERROR_SITES`` names, if the run had that in its environment, too (``conftest.py``); they may
compare a word of the message, and do not count. What is left is listed at the end, each place with the reason why (`LEFT`).

Not counted: failed checks of what the package relies on itself (``AssertionError``, `CT_CHECK`, errors of kind `kInternal`), what is raised again, and
exceptions that the package catches itself, which `CAUGHT` lists.
"""

from __future__ import annotations

import argparse
import ast
import collections
import dataclasses
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import transcripts

sys.path.insert(0, str(transcripts.ROOT / "tests" / "shared"))  # what programs import: pytest does it by pyproject.toml

ROOT = transcripts.ROOT
PYTHON = ROOT / "python_bindings" / "cotangent"
CPP_TESTS = ROOT / "tests" / "cpp"
# Exceptions that never reach a user: what raises them is caught where it was called.
CAUGHT = {"NotWrittenError", "ReferenceNeededError", "TracerMetError", "_NeededError", "_UnsaveableError"}
_STRING_OR_SEMICOLON = re.compile(r'"(?:\\.|[^"\\])*"|;')
# What no test can reach: a piece of the place's text, and why.
LEFT = {
    "the name of a primitive must be a str": "bind is called by the package alone, by names that it has; tests/primitives does it wrong",
    "this processor lacks what its code needs": "a processor that is older than what it was exported for: tests run on one only",
}


@dataclasses.dataclass(frozen=True)
class Site:
    """A statement that raises: the file below the repository's root, its lines, and how it begins."""

    file: str
    first: int
    last: int
    text: str

    @property
    def folder(self) -> str:
        parts = Path(self.file).parts
        return "/".join(parts[:3] if parts[:2] == ("python_bindings", "cotangent") else parts[:1])

    @property
    def left(self) -> str:
        """Why no test reaches it; or an empty text."""
        return next((reason for text, reason in LEFT.items() if text in self.text), "")


Reached = dict[tuple[str, int], bool]  # file and line: whether the message there says what to do


def of_python(path: Path) -> list[Site]:
    """The statements of a Python file that raise an error which they make."""
    source = path.read_text()
    found = []
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Raise) or not isinstance(node.exc, ast.Call):
            continue
        name = ast.unparse(node.exc.func)
        if name == "AssertionError" or name in CAUGHT or name.endswith(".with_traceback"):  # raised again
            continue
        text = ast.get_source_segment(source, node) or ""
        found.append(
            Site(str(path.relative_to(ROOT)), node.lineno, node.end_lineno or node.lineno, " ".join(text.split()))
        )
    return found


def of_cpp(path: Path) -> list[Site]:
    """The expressions of a C++ file that make an error."""
    source = path.read_text()
    found = []
    for match in re.finditer(r"\bError(?: \w+)?\(\s*(?:ErrorKind::|[^;{\"]{1,80}\? ErrorKind::|kind\b)", source):
        end = next(
            found.start() for found in _STRING_OR_SEMICOLON.finditer(source, match.end()) if found.group() == ";"
        )
        text = source[match.start() : end]
        if "kInternal" in text:
            continue
        first, last = (source.count("\n", 0, at) + 1 for at in (match.start(), end))
        found.append(Site(str(path.relative_to(ROOT)), first, last, " ".join(text.split())))
    return found


def sites() -> list[Site]:
    """All of them."""
    found = [site for path in sorted(PYTHON.rglob("*.py")) for site in of_python(path)]
    for folder in ("runtime", "ir", "interpreter", "transforms", "jit", "device", "python_bindings"):
        for path in sorted((ROOT / folder).rglob("*.cc")):
            found += of_cpp(path)
    return found


def in_repository(file: str) -> str:
    """A file that was noted, as a path below the root."""
    if file.startswith("/"):
        return f"python_bindings/cotangent/{Path(file).relative_to(transcripts.PACKAGE)}"
    return re.sub(r"^(\.\./)+", "", file)


def by_programs() -> Reached:
    """The places that the programs of tests/errors reach."""
    reached: Reached = {}
    for path in transcripts.files():
        if package := transcripts.lacking(path):
            print(f"not run: {path.name}: there is no {package}")
            continue
        for program in transcripts.ran(path):
            for statement in program.statements:
                for file, line in statement.sites:
                    place = (in_repository(file), line)
                    reached[place] = reached.get(place, False) or bool(statement.remedy)
    return reached


def by_cpp_tests() -> Reached:
    """The places whose whole message tests of tests/cpp compare."""
    reached: Reached = {}
    with tempfile.TemporaryDirectory() as folder:
        for source in sorted(CPP_TESTS.glob("*_test.cc")):
            if '#include "tests/cpp/error_sites.h"' not in source.read_text():
                continue
            program = ROOT / "build-release" / "tests" / "cpp" / source.stem
            if not program.exists():
                print(f"not run: {program.name}: './dev test' builds it")
                continue
            environment = {**os.environ, "CT_ERROR_SITES": folder}
            subprocess.run([program, "--gtest_brief=1"], check=True, capture_output=True, env=environment, cwd=ROOT)
        for path in Path(folder).glob("*.jsonl"):
            for file, line, message in map(json.loads, path.read_text().splitlines()):
                place = (in_repository(file), line)
                reached[place] = reached.get(place, False) or bool(transcripts.remedy_of(message))
    return reached


def by_tests() -> set[tuple[str, int]]:
    """The places that a run of the tests noted."""
    folder = os.environ.get("CT_ERROR_SITES")
    files = Path(folder).glob("*.json") if folder else []
    return {
        (in_repository(file), line)
        for path in files
        for file, line in json.loads(path.read_text())
        if not file.startswith("/") or Path(file).is_relative_to(transcripts.PACKAGE)  # tests make other packages, too
    }


def main() -> int:
    parser = argparse.ArgumentParser(description="Count places that raise errors, by folder.")
    parser.add_argument("--in", dest="folder", default="", help="only files whose path begins so")
    parser.add_argument(
        "--without-remedy", action="store_true", help="list those whose message does not say what to do"
    )
    options = parser.parse_args()
    programs, cpp, tests = by_programs(), by_cpp_tests(), by_tests()
    counts: dict[str, collections.Counter[str]] = collections.defaultdict(collections.Counter)
    left = []
    for site in sites():
        if not site.file.startswith(options.folder):
            continue
        lines = [(site.file, line) for line in range(site.first, site.last + 1)]
        program, in_cpp = any(line in programs for line in lines), any(line in cpp for line in lines)
        states = {
            "places": True,
            "program": program,
            "C++ alone": in_cpp and not program,
            "tested": program or in_cpp,
            "remedy": any(programs.get(line, False) or cpp.get(line, False) for line in lines),
        }
        for name in (site.folder, "all"):
            counts[name].update(state for state, holds in states.items() if holds)
        if not states["tested"]:
            left.append((site, any(line in tests for line in lines)))
        elif options.without_remedy and not states["remedy"]:
            print(f"{site.file}:{site.first}: {site.text[:200]}")
    columns = ("places", "program", "C++ alone", "tested", "remedy")
    print(f"{'':45}" + "".join(f"{column:>12}" for column in columns))
    for name in [*sorted(counts.keys() - {"all"}), "all"]:
        print(f"{name:45}" + "".join(f"{counts[name][column]:12}" for column in columns))
    every = counts["all"]
    unreached = sum(1 for site, _ in left if site.left)
    share = 100 * every["tested"] / max(every["places"] - unreached, 1)
    print(
        f"{share:.1f} % of the places that tests can reach are tested, {100 * every['remedy'] / max(every['places'], 1):.1f} % say what to do"
    )
    for site, by_test in left:
        reason = site.left or ("a test reaches it, and compares a part of the message" if by_test else "no test yet")
        print(f"left: {site.file}:{site.first}: {reason}\n    {site.text[:200]}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
