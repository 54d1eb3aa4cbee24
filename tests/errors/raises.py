"""Counts the places that raise errors for users, those that tests reach, and those whose message says what to do: ``./dev coverage --errors``.

The programs of ``tests/errors`` run in this process, and each place is looked for among those that they reached (`transcripts`). What a run of
the tests reached besides is in the folder that ``CT_ERROR_SITES`` names, if the run had that in its environment, too (``conftest.py``).

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
import sys
from pathlib import Path

import transcripts

ROOT = transcripts.ROOT
PYTHON = ROOT / "python_bindings" / "cotangent"
# Exceptions that never reach a user: what raises them is caught where it was called.
CAUGHT = {"NotWrittenError", "ReferenceNeededError", "TracerMetError", "_NeededError", "_UnsaveableError"}


@dataclasses.dataclass(frozen=True)
class Site:
    """A statement that raises: the file below the repository's root, its lines, and how it begins."""

    file: str
    first: int
    last: int
    text: str


def of_python(path: Path) -> list[Site]:
    """The statements of a Python file that raise an error which they make."""
    source = path.read_text()
    found = []
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Raise) or not isinstance(node.exc, ast.Call):
            continue
        name = ast.unparse(node.exc.func)
        if name == "AssertionError" or name in CAUGHT:
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
        end = source.find(";", match.end())
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
    return f"python_bindings/cotangent/{Path(file).relative_to(transcripts.PACKAGE)}" if file.startswith("/") else file


def reached_by_programs() -> dict[tuple[str, int], bool]:
    """The places that the programs of tests/errors reach, and whether the message there says what to do."""
    reached: dict[tuple[str, int], bool] = {}
    for path in transcripts.files():
        for program in transcripts.ran(path) if not transcripts.lacking(path) else ():
            for statement in program.statements:
                for file, line in statement.sites:
                    place = (in_repository(file), line)
                    reached[place] = reached.get(place, False) or bool(statement.remedy)
    return reached


def reached_by_tests() -> set[tuple[str, int]]:
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
        "--missing", action="store_true", help="list the places that no program of tests/errors reaches"
    )
    parser.add_argument(
        "--without-remedy", action="store_true", help="list those whose message does not say what to do"
    )
    options = parser.parse_args()
    programs, tests = reached_by_programs(), reached_by_tests()
    counts: dict[str, collections.Counter[str]] = collections.defaultdict(collections.Counter)
    for site in sites():
        if not site.file.startswith(options.folder):
            continue
        lines = [(site.file, line) for line in range(site.first, site.last + 1)]
        whole = any(line in programs for line in lines)
        states = {
            "sites": True,
            "whole message": whole,
            "any test": whole or any(line in tests for line in lines),
            "remedy": any(programs.get(line, False) for line in lines),
        }
        parts = Path(site.file).parts
        folder = "/".join(parts[:3] if parts[:2] == ("python_bindings", "cotangent") else parts[:1])
        for name in (folder, "all"):
            counts[name].update(state for state, holds in states.items() if holds)
        if options.missing and not whole:
            print(
                f"{site.file}:{site.first}: {'' if not states['any test'] else '(reached by a test) '}{site.text[:200]}"
            )
        if options.without_remedy and whole and not states["remedy"]:
            print(f"{site.file}:{site.first}: {site.text[:200]}")
    columns = ("sites", "whole message", "any test", "remedy")
    print(f"{'':45}" + "".join(f"{column:>15}" for column in columns))
    for name in [*sorted(counts.keys() - {"all"}), "all"]:
        print(f"{name:45}" + "".join(f"{counts[name][column]:15}" for column in columns))
    return 0


if __name__ == "__main__":
    sys.exit(main())
