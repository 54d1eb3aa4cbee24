"""The site builds without a warning, and its own extension of Sphinx does what the pages say of it."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import cotangent as ct
import mask_table
import public_api
from needs import require
from places import ROOT

sys.path.append(str(ROOT / "docs"))

from cotangent_site import docstrings, headers, notebooks, reference, support


def test_it_builds_without_a_warning(tmp_path: Path) -> None:
    """Links, anchors, docstrings and tables of contents: Sphinx warns of what is wrong with any."""
    require("myst_parser")
    require("pydata_sphinx_theme")
    for entry in ROOT.iterdir():  # what is generated is written into a copy of docs/
        if entry.is_file():
            shutil.copy(entry, tmp_path)
        elif entry.name != "docs" and not entry.name.startswith((".", "build", "dist")):
            (tmp_path / entry.name).symlink_to(entry)
    docs = tmp_path / "docs"
    shutil.copytree(ROOT / "docs", docs, ignore=shutil.ignore_patterns("reference", "notebooks", "__pycache__"))
    done = subprocess.run(
        [sys.executable, "-m", "sphinx", "-b", "dummy", "-j", "2", "--fail-on-warning", "--keep-going", docs, tmp_path / "site"],
        capture_output=True, text=True, timeout=600, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-6000:]


def test_every_namespace_has_a_page_with_every_name() -> None:
    pages = reference.pages()
    for namespace in public_api.namespaces():
        text = pages[f"reference/{namespace}.rst"]
        for entry in public_api.entries(namespace):
            assert f":py:obj:`~{entry.path}`" in text
    assert ":py:obj:`~cotangent.grad`" in pages["reference/cotangent.rst"]
    assert ".. py:method:: at" not in pages["reference/cotangent.rst"]
    assert ".. py:property:: at" in pages["reference/cotangent.rst"]


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
    example = "Text *x.\n\n>>> f(*args)\n3"
    assert docstrings.prose(example) == "Text \\*x.\n\n>>> f(*args)\n3"
    assert docstrings.prose("As in [1]_.\n\n.. [1] A paper.") == "As in [1].\n\n- [1] A paper."


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


def test_notebooks_are_pages_with_their_plots() -> None:
    made = notebooks.pages()
    assert made["notebooks/02_ragged.md"]
    assert any(name.endswith(".png") for name in made)
    assert notebooks.fenced("```\ncode\n```", "text").startswith("````text")
