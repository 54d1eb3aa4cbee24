"""What was collected before: with ``-k``, files of which no test can match are not imported.

The names of all tests stand in `.cache/collected.json`, by their files, with the state of what each file is made of. A file is
left out when it and what it imports of the tests are as they were, and none of its tests matches. Files whose tests are
named after what stands elsewhere (functions of the package, pages, programs in C++) are always collected: `Known.fixed` is false.
When no known test matches, everything is collected.
"""

from __future__ import annotations

import itertools
import json
import os
import re
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, TypedDict

import pytest
from _pytest.mark.expression import Expression  # there is no public way to ask whether a name matches
from made_of import made_of
from places import ROOT, TESTS

PLACE = ".cache/collected.json"
DATA = (".toml", ".txt", ".json")


class Known(TypedDict):
    """What is known of a file."""

    state: list[tuple[str, int, int]]  # of what it is made of: path, time of change, size
    names: list[str]  # of its tests, with their parameters
    marks: list[str]
    fixed: bool


def state_of(files: Iterable[str | Path]) -> list[tuple[str, int, int]]:
    found = []
    for file in files:
        try:
            status = Path(file).stat()
        except OSError:
            return []
        found.append((str(file), status.st_mtime_ns, status.st_size))
    return found


def stands_in_files(names: Iterable[str], files: Iterable[Path]) -> bool:
    """Whether all words of the parameters in these names are words of the files, so that they change only with them."""
    known = {word for file in files for word in re.findall(r"[^\W\d_]+", file.read_text())}
    parameters = {name.partition("[")[2] for name in names}
    return all(word in known for text in parameters for word in re.findall(r"[^\W\d_]{2,}", text))


def can_match(expression: Expression, file: Path, known: Known) -> bool:
    """Whether ``-k`` selects any of a file's tests, if folders and marks count as names of theirs, or if they do not."""
    folders = file.parts[file.parts.index("tests") + 1 : -1] if "tests" in file.parts else ()
    for name in known["names"]:
        for more in ((), folders, known["marks"], (*folders, *known["marks"])):
            names = [each.lower() for each in (name, file.name, *more)]
            if expression.evaluate(lambda text, /, names=names, **_: any(text.lower() in each for each in names)):
                return True
    return False


def is_current(known: Known) -> bool:
    return bool(known["state"]) and state_of(path for path, *_ in known["state"]) == [*map(tuple, known["state"])]


def read(place: Path) -> dict[str, Known]:
    return {file: Known(**entry) for file, entry in json.loads(place.read_text()).items()} if place.is_file() else {}


def without_matches(keywords: str, known: Mapping[str, Known]) -> set[Path]:
    """The files of which ``-k`` certainly selects no test."""
    if not keywords.strip():
        return set()
    expression = Expression.compile(keywords)
    matching = {file for file, entry in known.items() if can_match(expression, Path(file), entry)}
    if not matching:
        return set()
    return {Path(file) for file in known.keys() - matching if known[file]["fixed"] and is_current(known[file])}


class Collected:
    """The plugin: reads what is known, leaves files out, writes down what was collected."""

    def __init__(self, config: pytest.Config) -> None:
        self.place = config.rootpath / PLACE
        self.known = read(self.place)
        self.found: dict[str, Known] = {}
        self.left_out = without_matches(str(config.getoption("keyword") or ""), self.known)

    def pytest_ignore_collect(self, collection_path: Path) -> bool | None:
        return True if collection_path in self.left_out else None

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, session: pytest.Session, items: list[pytest.Item]) -> None:
        """Before any are deselected. Files of which only some tests were asked for are not written down."""
        if any("::" in str(argument) for argument in session.config.args):
            return
        by_file: dict[Path, list[pytest.Item]] = {}
        for item in items:
            by_file.setdefault(item.path, []).append(item)
        for file, tests in by_file.items():
            if (entry := self.known.get(str(file))) is not None and is_current(entry):
                continue
            parts = made_of(file)
            data = sorted({each for part in parts for each in part.parent.iterdir() if each.suffix in DATA})
            names = ["::".join(item.nodeid.split("::")[1:]) for item in tests]
            marks = sorted({mark.name.lower() for item in tests for mark in item.iter_markers()})
            self.found[str(file)] = Known(
                state=state_of([*parts, *data]), names=names, marks=marks, fixed=stands_in_files(names, [*parts, *data])
            )

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """When the workers of a run have all collected: they read one state."""
        worker: Any = getattr(session.config, "workerinput", {}).get("workerid", "gw0")
        if not self.found or worker != "gw0":
            return
        kept = {file: entry for file, entry in self.known.items() if Path(file).is_file()}
        self.place.parent.mkdir(exist_ok=True)
        temporary = self.place.with_suffix(f".{os.getpid()}")
        temporary.write_text(json.dumps(kept | self.found))
        temporary.replace(self.place)


def main(arguments: list[str]) -> int:
    """Prints the test files that ``-k`` of these arguments of pytest's can select tests of."""
    keywords = next((value for word, value in itertools.pairwise(arguments) if word == "-k"), "")
    left_out = without_matches(keywords, read(ROOT / PLACE))
    print("\n".join(str(file.relative_to(ROOT)) for file in sorted(TESTS.rglob("test_*.py")) if file not in left_out))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
