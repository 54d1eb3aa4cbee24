"""The site builds without a warning, and its own extension of Sphinx does what the pages say of it."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import cotangent as ct
import mask_table
import public_api
import pytest
import site_links
from needs import needed
from places import ROOT

sys.path.append(str(ROOT / "docs"))

from cotangent_site import docstrings, headers, notebooks, reference, support


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, subprocess.CompletedProcess[str]]:
    """The site, and what Sphinx said."""
    needed("myst_parser")
    needed("pydata_sphinx_theme")
    tmp_path = tmp_path_factory.mktemp("site")
    for entry in ROOT.iterdir():  # what is generated is written into a copy of docs/
        if entry.is_file():
            shutil.copy(entry, tmp_path)
        elif entry.name != "docs" and not entry.name.startswith((".", "build", "dist")):
            (tmp_path / entry.name).symlink_to(entry)
    docs, site = tmp_path / "docs", tmp_path / "site"
    made = ("reference", "notebooks", "examples", "__pycache__")
    shutil.copytree(ROOT / "docs", docs, ignore=shutil.ignore_patterns(*made))
    done = subprocess.run(
        [sys.executable, "-m", "sphinx", "-b", "html", "-j", "2", "--fail-on-warning", "--keep-going", docs, site],
        capture_output=True, text=True, timeout=600, check=False,
    )  # fmt: skip
    return site, done


def test_it_builds_without_a_warning(built: tuple[Path, subprocess.CompletedProcess[str]]) -> None:
    """Links, anchors, docstrings and tables of contents: Sphinx warns of what is wrong with any."""
    _, done = built
    assert done.returncode == 0, done.stderr[-6000:]


def test_every_link_within_it_leads_somewhere(built: tuple[Path, subprocess.CompletedProcess[str]]) -> None:
    site, _ = built
    read = site_links.pages(site)
    assert len(read) > 100 and sum(len(page.targets) for page in read.values()) > 5000
    broken, outside = site_links.check(site)
    assert broken == []
    assert all(target.startswith("https://") for target in outside)


def test_no_page_of_the_reference_is_very_large(built: tuple[Path, subprocess.CompletedProcess[str]]) -> None:
    site, _ = built
    sizes = {file.name: file.stat().st_size for file in (site / "reference").rglob("*.html")}
    assert len(sizes) > 50
    assert {name: size for name, size in sizes.items() if size > 420_000} == {}


def test_links_that_lead_nowhere_are_found(tmp_path: Path) -> None:
    (tmp_path / "b.html").write_text('<p id="here"><a name="there"></a></p><a href="a.html#top">a</a>')
    (tmp_path / "a.html").write_text(
        '<a href="b.html#here">1</a><a href="b.html#there">2</a><a href="b.html#gone">3</a><a href="#gone">4</a>'
        '<a href="c.html">5</a><img src="d.png"><a href="https://example.org/x">6</a><a href="mailto:a@b">7</a><a href="#">8</a>'
    )
    broken, outside = site_links.check(tmp_path)
    assert broken == [
        "a.html: #gone has no such place",
        "a.html: b.html#gone has no such place",
        "a.html: c.html is no file",
        "a.html: d.png is no file",
    ]
    assert outside == {"https://example.org/x": ["a.html"]}


def test_every_namespace_has_a_page_with_every_name() -> None:
    pages = reference.pages()
    for namespace in public_api.namespaces():
        text = pages[f"reference/{namespace}.rst"]
        for entry in public_api.entries(namespace):
            assert f":py:obj:`~{entry.path}`" in text
    assert ":py:obj:`~cotangent.grad`" in pages["reference/cotangent.rst"]
    assert ".. py:method:: at" not in pages["reference/cotangent/Array.rst"]
    assert ".. py:property:: at" in pages["reference/cotangent/Array.rst"]


def test_a_function_says_what_is_known_of_it() -> None:
    text = reference.page("cotangent.scipy.fft")
    assert "**mask** ``f(" in text and "**export** yes" in text and "``fft``" in text


def test_every_primitive_of_a_function_is_exported_and_becomes_kernels() -> None:
    """What the reference says of functions by their primitives, with as few calls as have all of these."""
    calls = [
        (call, names)
        for row in mask_table.rows().values()
        if not row.none and not row.refused
        for call, names in support.programs(row)
    ]
    left = set().union(*(names for _, names in calls)) - support.OF_PYTHON
    assert len(left) > 90
    while left:
        call, names = max(calls, key=lambda one: len(one[1] & left))
        left -= names
        assert ct.export.compile(call, *call.exact(3)).header()
        assert ".entry" in ct.jit(call, backend="cuda-emulated").lower(*call.exact(3)).as_text("ptx")


def test_one_object_is_described_once() -> None:
    [twice] = [entry for entry in public_api.entries("cotangent.tree_util") if entry.name == "tree_map"]
    assert "The same as" in "\n".join(reference.described(twice)) or public_api.homes()[id(twice.value)] == twice.path
    [same] = [entry for entry in public_api.entries("cotangent.numpy") if entry.name == "transpose"]
    assert same.value is ct.transpose
    assert any("The same as :py:obj:`" in line for line in reference.described(same))


def test_methods_do_not_show_the_object_that_they_are_of() -> None:
    [array] = [entry for entry in public_api.entries("cotangent") if entry.name == "Array"]
    by_name = {member.name: member for member in public_api.members(array)}
    assert by_name["Array.argmax"].parameters[0] == "axis"
    assert by_name["Array.item"].parameters[0] == "args"


def test_prose_of_docstrings_is_plain() -> None:
    assert docstrings.plain("`Ragged`s and x_ and *axes, |x|") == r"`Ragged`\ s and x\_ and \*axes, \|x\|"
    assert docstrings.plain("``a * b_`` stays") == "``a * b_`` stays"
    assert docstrings.plain("write ``out[...] = `` what it is") == "write ``out[...] =`` what it is"
    assert docstrings.plain("``a`` and ``b``, ``c d``.") == "``a`` and ``b``, ``c d``."
    example = "Text *x.\n\n>>> f(*args)\n3"
    assert docstrings.prose(example) == "Text \\*x.\n\n>>> f(*args)\n3"
    under_a_heading = "Text *x.\n\nExamples\n--------\n>>> f(*args, x ** 2, a | b_)\n/* 4 */"
    assert docstrings.prose(under_a_heading) == under_a_heading.replace("Text *x", r"Text \*x")
    assert docstrings.prose("As in [1]_.\n\n.. [1] A paper.") == "As in [1].\n\n- [1] A paper."


def test_examples_of_the_reference_are_code_as_it_is_written() -> None:
    lines = [line for text in reference.pages().values() for line in examples_of(text)]
    assert len(lines) > 3000 and any("**" in line for line in lines)
    assert [line for line in lines if re.search(r"\\[*|_]", line)] == []


def examples_of(text: str) -> list[str]:
    """The lines of a page from ``>>>`` to an empty line."""
    found, inside = [], False
    for line in text.splitlines():
        inside = bool(line.strip()) and (inside or line.lstrip().startswith(">>> "))
        found += [line] if inside else []
    return found


def test_both_styles_of_sections_are_read() -> None:
    numpy = "Adds.\n\nParameters\n----------\nx : array\n    A number.\n"
    google = "Adds.\n\nArgs:\n    x: a number.\n"
    for text in (numpy, google):
        assert any(line.startswith(":Parameters: **x**") for line in docstrings.as_rst(text, "add", "function"))


def test_openings_of_headers() -> None:
    lines = headers.opening("// A thing* of x_y.\n//\n//   one  first\n//   two  second\n#pragma once\n// no\n")
    assert headers.as_markdown(lines) == "A thing\\* of x\\_y.\n\n```text\n  one  first\n  two  second\n```"
    page = headers.pages()["reference/cpp_headers.md"]
    assert "### ir/graph.h" in page and "The program representation" in page


DESCRIBED = re.compile(r"^\.\. py:(?:function|class|exception|data):: (\w+)", re.MULTILINE)


@pytest.mark.parametrize(
    ("namespace", "least"),
    [("cotangent.numpy", 20), ("cotangent.lax", 10), ("cotangent.scipy.stats", 20), ("cotangent", 2)],
)
def test_what_would_be_a_very_long_page_is_several(namespace: str, least: int) -> None:
    pages = reference.pages()
    contents = pages[f"reference/{namespace}.rst"]
    others = {name: text for name, text in pages.items() if name.startswith(f"reference/{namespace}/")}
    assert len(others) >= least
    for text in others.values():
        for name in DESCRIBED.findall(text):
            assert f":anchor:`{namespace}.{name}`" in contents, "where links to the one page ended"
    described = DESCRIBED.findall("\n".join([contents, *others.values()]))
    assert sorted(described) == sorted(entry.name for entry in public_api.entries(namespace)), "each once"
    for name in others:
        assert f"   {name.removeprefix('reference/').removesuffix('.rst')}\n" in contents
    assert reference.parts("cotangent.tree") == ()
    assert namespace != "cotangent" or ":anchor:`cotangent.Array.at`" in contents


def test_no_page_is_very_long() -> None:
    for name, text in reference.pages().items():
        described = text[text.find("Entries\n-------") :] if name.count("/") == 1 else text
        assert len(described) <= reference.LONGEST_PAGE + 1000, name


def test_notebooks_are_pages_with_their_plots() -> None:
    made = notebooks.pages()
    assert made["notebooks/02_ragged.md"]
    contents = made["notebooks/index.md"]
    names = contents[contents.index("{toctree}") :].split()[2:-1]
    assert names[0] == "08_tour" and sorted(names) == [path.stem for path in sorted(notebooks.FOLDER.glob("*.ipynb"))]
    assert (
        notebooks.with_links("[a](02_ragged.ipynb), [b](../docs/ragged.md)") == "[a](02_ragged.md), [b](../ragged.md)"
    )
    assert any(name.endswith(".png") for name in made)
    assert notebooks.fenced("```\ncode\n```", "text").startswith("````text")
