"""The page of suites is made of a report of pytest's and of what `tests/README.md` says; what was collected is remembered rightly."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import collected
import pytest
import suite_times
from places import ROOT, TESTS

REPORT = """<?xml version="1.0" encoding="utf-8"?>
<testsuites><testsuite name="pytest" time="7.5">
<testcase classname="tests.jit.test_products" name="test_a[1]" time="2.5" />
<testcase classname="tests.jit.test_products" name="test_b" time="0.5"><skipped message="needs a" /></testcase>
<testcase classname="tests.laws.test_laws" name="test_c" time="9.0" />
</testsuite></testsuites>
"""


def test_every_folder_is_described() -> None:
    folders = {file.parent.name for file in TESTS.glob("*/*.py")}
    assert suite_times.described().keys() == folders
    assert not list(TESTS.glob("test_*.py")), "tests stand in folders"


def test_no_two_test_files_have_one_name() -> None:
    names = [file.name for file in TESTS.rglob("test_*.py")]
    assert len(names) == len(set(names))


def test_a_report_becomes_a_table(tmp_path: Path) -> None:
    (tmp_path / "report.xml").write_text(REPORT)
    found, clock = suite_times.measured(tmp_path / "report.xml")
    assert clock == 7.5
    assert [(suite.name, suite.tests, suite.skipped, suite.seconds) for suite in found] == [
        ("jit", 2, 1, 3.0),
        ("laws", 1, 0, 9.0),
    ]
    lines = suite_times.page(found, clock).splitlines()
    assert "3 tests take 12 s of processors' time, and 8 s by the clock" in lines[2]
    first = next(number for number, line in enumerate(lines) if line == "| seconds | test |")
    assert lines[first + 2 : first + 4] == [
        "| 9.0 | `laws/test_laws.py::test_c` |",
        "| 2.5 | `jit/test_products.py::test_a[1]` |",
    ]


def test_the_page_has_a_row_for_each_folder_of_tests() -> None:
    text = suite_times.PAGE.read_text()
    for name in suite_times.described().keys() - {"ecosystem", "shared"}:
        assert f"| `{name}` |" in text, "run ./dev test --times"


CONFTEST = """
from collected import Collected

def pytest_configure(config):
    config.pluginmanager.register(Collected(config))
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Tests of two files and a helper."""
    folder = tmp_path / "tests"
    folder.mkdir()
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    (folder / "conftest.py").write_text(
        "from collected import Collected\n\ndef pytest_configure(config):\n    config.pluginmanager.register(Collected(config))\n"
    )
    (folder / "names.py").write_text("NAMES = ['sin', 'cos']\n")
    (folder / "test_a.py").write_text(
        "import pytest\nfrom names import NAMES\n\n@pytest.mark.parametrize('name', NAMES)\ndef test_of(name): pass\n"
    )
    (folder / "test_b.py").write_text("print('imported b')\ndef test_other(): pass\n")
    return tmp_path


def run(project: Path, *arguments: str) -> str:
    command = [sys.executable, "-m", "pytest", "-s", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", *arguments]
    environment = {"PYTHONPATH": str(TESTS / "shared"), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(command, cwd=project, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode in (0, 5), done.stdout + done.stderr
    return done.stdout


def test_files_that_cannot_match_are_not_imported(project: Path) -> None:
    assert "imported b" in run(project, "-k", "cos")  # nothing is known yet
    assert "imported b" in run(project)
    output = run(project, "-k", "cos")
    assert "imported b" not in output and "1 passed" in output
    assert "imported b" in run(project, "-k", "other") and "imported b" in run(project, "-k", "not of")
    assert "1 passed" in run(project, "tests/test_b.py", "-k", "other")


def test_a_changed_helper_is_collected_again(project: Path) -> None:
    run(project)
    (project / "tests" / "names.py").write_text("NAMES = ['sin', 'tangent', 'other']\n")
    output = run(project, "-k", "tangent")
    assert "1 passed" in output  # no known test matches: all are collected
    assert "2 passed" in run(project, "-k", "other")  # test_a is not as it was, test_b matches


def test_names_from_elsewhere_are_always_collected(project: Path) -> None:
    """The parameters stand in no file that the test is made of."""
    (project / "names").write_text("one two")
    (project / "tests" / "test_a.py").write_text(
        "import pathlib, pytest\n\n@pytest.mark.parametrize('name', pathlib.Path('names').read_text().split())\ndef test_of(name): pass\n"
    )
    run(project)
    (project / "names").write_text("one other")
    assert "2 passed" in run(project, "-k", "other")


def test_a_name_that_is_in_no_file_is_looked_for_in_all() -> None:
    assert collected.without_matches("", {}) == set()
    known = {
        str(TESTS / "laws" / "test_laws.py"): collected.Known(state=[], names=["test_laws[0]"], marks=[], fixed=True)
    }
    assert collected.without_matches("no_such_name", known) == set()
    assert collected.stands_in_files(["test_x[erf-float32-2]"], [TESTS / "shared" / "records" / "elementwise.py"])
    assert not collected.stands_in_files(["test_x[no_such_word]"], [ROOT / "pyproject.toml"])
