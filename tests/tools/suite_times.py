"""The page `docs/tests.md`: each folder of tests with what it checks, its number of tests and its time; and the slowest tests.

    ./dev test --times                             runs all, and writes the page
    python tests/tools/suites.py REPORT.xml        what pytest's --junitxml wrote, as the page has it; without it numbers alone
    python tests/tools/suites.py REPORT.xml --write

What a folder checks is said in `tests/README.md`; numbers and times are those of the report.
"""

from __future__ import annotations

import json
import os
import platform
import re
import sys
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "tests.md"
BEGIN, END = "<!-- written by ./dev test --times: -->", "<!-- end -->"
SLOWEST = 50


@dataclass
class Suite:
    """A folder of tests."""

    name: str
    checks: str
    tests: int = 0
    skipped: int = 0
    seconds: float = 0.0
    slowest: list[tuple[float, str]] = field(default_factory=list)


def described(readme: Path = ROOT / "tests" / "README.md") -> dict[str, str]:
    """What each folder checks."""
    return dict(re.findall(r"^\| `(\w+)` \| (.*?) \|$", readme.read_text(), re.MULTILINE))


def measured(report: Path) -> tuple[list[Suite], float]:
    """The folders of a report, and how long its run took by the clock."""
    suites = {name: Suite(name, checks) for name, checks in described().items()}
    clock = 0.0
    for part in ElementTree.parse(report).getroot().iter("testsuite"):
        clock += float(part.get("time", 0))
        for case in part.iter("testcase"):
            names = case.get("classname", "").split(".")
            folder = names[names.index("tests") + 1] if "tests" in names[:-1] else ""
            if folder not in suites:
                continue
            suite = suites[folder]
            seconds = float(case.get("time", 0))
            suite.tests += 1
            suite.skipped += case.find("skipped") is not None
            suite.seconds += seconds
            suite.slowest.append((seconds, f"{'/'.join(names[names.index('tests') + 1 :])}.py::{case.get('name')}"))
    return [suite for suite in suites.values() if suite.tests], clock


def counted(place: Path = ROOT / ".cache" / "collected.json") -> list[Suite]:
    """The folders and their numbers of tests, of what pytest collected before (`tests/shared/collected.py`)."""
    suites = {name: Suite(name, checks) for name, checks in described().items()}
    for file, entry in json.loads(place.read_text()).items():
        if Path(file).exists() and (folder := Path(file).parent.name) in suites:
            suites[folder].tests += len(entry["names"])
    return [suite for suite in suites.values() if suite.tests]


def page(suites: list[Suite], clock: float) -> str:
    """What stands between the marks of the page."""
    count, seconds = sum(suite.tests for suite in suites), sum(suite.seconds for suite in suites)
    took = (
        f"take {seconds:,.0f} s of processors' time, and {clock:,.0f} s by the clock, on {os.cpu_count()} cores ({processor()})."
        if clock
        else "were counted; no times were taken when this was written."
    )
    slowest = sorted((each for suite in suites for each in suite.slowest), reverse=True)[:SLOWEST]
    rows = [
        f"| `{each.name}` | {each.checks} | {each.tests:,} | " + (f"{each.skipped:,} | {each.seconds:,.0f} |" if clock else "| |")
        for each in suites
    ]  # fmt: skip
    head = ["| folder | what it checks | tests | skipped | seconds |", "|---|---|---:|---:|---:|"]
    lines = [BEGIN, "", f"{count:,} tests {took}", "", *head, *rows, ""]
    if slowest:
        rows = [f"| {took:.1f} | `{name}` |" for took, name in slowest]
        lines += [f"The {len(slowest)} slowest:", "", "| seconds | test |", "|---:|---|", *rows, ""]
    return "\n".join([*lines, END])


def processor() -> str:
    names = re.findall(r"^model name\s*: (.*)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    return names[0] if names else platform.machine()


def write(text: str) -> None:
    before, rest = PAGE.read_text().split(BEGIN)
    PAGE.write_text(before + text + rest.split(END)[1])


def main(arguments: list[str]) -> int:
    reports = [argument for argument in arguments if not argument.startswith("-")]
    text = page(*measured(Path(reports[0]))) if reports else page(counted(), 0.0)
    if "--write" in arguments:
        write(text)
    else:
        print(text)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
