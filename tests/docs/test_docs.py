"""The documents hold: named files exist, links resolve, and the code in them runs."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from places import ROOT

# adding_a_primitive.md is executed by test_adding_a_primitive.py.
DOCUMENTS = [
    "README.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
    "SECURITY.md",
    *(f"docs/{p.name}" for p in sorted(ROOT.glob("docs/*.md"))),
]
EXECUTED = [name for name in DOCUMENTS if re.search(r"^```pycon$", (ROOT / name).read_text(), re.MULTILINE)]

# Something in backticks that looks like a path of this repository: has a slash or a known suffix, and no spaces.
PATH = re.compile(r"`((?:[\w.-]+/)*[\w.-]+(?:/|\.(?:cc|h|py|md|ipynb|build|toml|txt)))`")


@pytest.mark.parametrize("name", ["docs/reading_order.md", "README.md", "CONTRIBUTING.md", "SECURITY.md"])
def test_every_file_named_exists(name: str) -> None:
    named = PATH.findall((ROOT / name).read_text())
    assert named, f"{name} names no file: the pattern is wrong"
    missing = [
        path for path in named if not (ROOT / path).is_file() and not any(map(Path.is_file, (ROOT / path).rglob("*")))
    ]
    assert missing == [], "an empty folder does not count: git does not keep it"


def test_the_reading_order_leads_to_every_layer() -> None:
    named = PATH.findall((ROOT / "docs/reading_order.md").read_text())
    folders = {path.split("/")[0] for path in named}
    assert folders >= {"notebooks", "ir", "interpreter", "transforms", "jit", "device", "python_bindings"}


def without_code(text: str) -> str:
    """The page without its blocks of code."""
    return re.sub(r"^(`{3,}).*?^\1`*$", "", text, flags=re.MULTILINE | re.DOTALL)


def anchors(page: Path) -> set[str]:
    """The names of a page's headings in links, as GitHub and the site make them, and those that it gives places."""
    text = without_code(page.read_text())
    headings = re.findall(r"^#+ +(.*?) *$", text, re.MULTILINE)
    return set(re.findall(r"^\(([\w-]+)\)=$", text, re.MULTILINE)) | {
        re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings
    }


@pytest.mark.parametrize("name", DOCUMENTS)
def test_every_relative_link_resolves(name: str) -> None:
    page = ROOT / name
    for target in re.findall(r"\]\(([^)\s]+)\)", without_code(page.read_text())):
        file, _, anchor = target.partition("#")
        if re.match(r"[a-z]+:", target):
            continue
        found = page.parent / file if file else page
        assert found.exists(), target
        assert not anchor or anchor in anchors(found), target


def test_anchors_are_those_of_headings() -> None:
    assert anchors(ROOT / "docs/custom_rules.md") >= {"forwards-custom_jvp", "see-whether-it-is-right"}


def generated(program: str, expression: str) -> str:
    """What a generator of ``docs/`` writes."""
    script = f"import sys; sys.path.insert(0, sys.argv[1]); import {program} as made; print({expression}, end='')"
    return subprocess.run(
        [sys.executable, "-c", script, ROOT / "docs"], capture_output=True, text=True, timeout=300, check=True
    ).stdout


def test_what_follows_from_the_records_is_current() -> None:
    assert (ROOT / "docs/primitives.md").read_text() == generated("generate_primitives", "made.page()"), (
        "run ./dev docs"
    )
    assert (ROOT / "python_bindings/cotangent/_base/primitives.pyi").read_text() == generated(
        "generate_primitives", "made.stub()"
    ), "run ./dev docs"


@pytest.mark.parametrize("name", ["folders", "compiler", "package"])
def test_the_pictures_of_the_structure_are_current(name: str) -> None:
    picture = generated("generate_structure", f"made.pictures()['{name}.svg']")
    assert (ROOT / f"docs/structure/{name}.svg").read_text() == picture, "run ./dev docs"


def test_circles_are_errors() -> None:
    with pytest.raises(subprocess.CalledProcessError):
        generated("generate_structure", "made.levels({'a': {'b'}, 'b': {'a'}})")


@pytest.mark.parametrize("name", EXECUTED)
def test_every_snippet_gives_what_the_page_shows(name: str, tmp_path: Path) -> None:
    script = (
        "import doctest, sys\n"
        "result = doctest.testfile(sys.argv[1], module_relative=False, optionflags=doctest.ELLIPSIS)\n"
        "assert result.attempted\n"
        "sys.exit(bool(result.failed))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, ROOT / name], capture_output=True, text=True, timeout=300, cwd=tmp_path
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]


def test_every_environment_variable_is_listed() -> None:
    source = [
        file.read_text()
        for folder in ("runtime", "ir", "interpreter", "transforms", "device", "jit", "python_bindings")
        for file in (ROOT / folder).rglob("*")
        if file.suffix in {".cc", ".h", ".py", ".pth"}
    ]
    asked = r"(?:getenv|is_set|environ\.get)\(\"([A-Z][A-Z0-9_]+)\""
    read = {name for text in source for name in re.findall(asked, text)} - {"HOME", "XDG_CACHE_HOME"}
    listed = set(re.findall(r"`([A-Z][A-Z0-9_]+)`[,|]? ", (ROOT / "docs/environment.md").read_text())) - {
        "XDG_CACHE_HOME"
    }
    assert read == listed
