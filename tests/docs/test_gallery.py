"""The gallery has every example, follows from their files, and its pictures are those of the examples as they are."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest
from places import ROOT

sys.path.append(str(ROOT / "docs"))

import gallery_pictures
import generate_gallery as gallery

EXAMPLES = gallery.examples()


def test_the_page_is_current() -> None:
    assert (ROOT / "docs" / "gallery.md").read_text() == gallery.page(), "python docs/generate_gallery.py"


def test_every_file_of_an_example_is_shown_once() -> None:
    shown = [file for example in EXAMPLES for file in example.files]
    there = {
        file
        for file in (ROOT / "examples").rglob("*")
        if file.is_file() and not {"output", "__pycache__"} & set(file.parts)
    }
    assert len(shown) == len(set(shown)) and set(shown) == there
    assert {example.name for example in EXAMPLES} == set(gallery_pictures.PICTURE_OF)


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.name)
def test_its_picture_is_of_these_files(example: gallery.Example) -> None:
    picture = example.picture
    assert picture is not None
    assert 1000 < picture.stat().st_size <= gallery.LARGEST
    kept = gallery.record()["examples"][example.name]
    assert kept["files"] == example.digest, f"python docs/generate_gallery.py --draw {example.name}"
    assert not example.commands or kept["seconds"] > 0


def test_nothing_else_is_kept() -> None:
    pictures = {example.picture for example in EXAMPLES}
    assert set(gallery.PICTURES.iterdir()) - pictures == {gallery.RECORD}
    assert set(json.loads(gallery.RECORD.read_text())["examples"]) == {example.name for example in EXAMPLES}


def of(tmp_path: Path, text: str, name: str = "one.py") -> gallery.Example:
    file = tmp_path / name
    file.write_text(text)
    return gallery.Example(file, (file,))


def test_what_a_file_opens_with(tmp_path: Path) -> None:
    example = of(
        tmp_path,
        '"""A thing\nof two lines. It does: much.\n\n    python a.py build/a\n    cc -O2 a.c -o build/a/run\n\n'
        "writes and runs it. With CMake:\n\n    cmake -S a\n\nThe data are\nnone.\n" + '"""\n\nx = 1\n',
    )
    assert example.title == "A thing of two lines"
    assert example.text == "It does: much.\n\nThe data are none."
    assert example.commands == [["python", "a.py", "build/a"], ["cc", "-O2", "a.c", "-o", "build/a/run"]]
    assert example.lines == 15
    of_c = of(tmp_path, "/* Runs it: twice.\n * No more. usage: run IT */\nint x;\n", "one.c")
    assert (of_c.title, of_c.text, of_c.commands) == ("Runs it: twice", "No more.", [])


def test_a_change_of_a_file_is_seen(tmp_path: Path) -> None:
    assert of(tmp_path, '"""A."""\nx = 1\n').digest != of(tmp_path, '"""A."""\nx = 2\n').digest


def test_pictures_are_drawn_on_nothing() -> None:
    """Pages are light or dark: no picture that was drawn has a background of its own."""
    for picture in gallery.PICTURES.glob("*.svg"):
        assert not re.search(r'id="patch_1">\s*<path[^>]*fill: #fff', picture.read_text()), picture.name
