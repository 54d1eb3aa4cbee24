"""The page lists every mark of tests that run on the processor only."""

from __future__ import annotations

from pathlib import Path

import left_out
import pytest


def test_the_page_lists_them() -> None:
    assert left_out.written() == left_out.section(left_out.reasons()), "python tests/tools/left_out.py --write"


def test_reasons_are_found(tmp_path: Path) -> None:
    folder = tmp_path / "jit"
    folder.mkdir()
    (folder / "test_a.py").write_text(
        'WHY = {"x": "first", "y": "second"}\n'
        '@pytest.mark.processor("its threads")\ndef test_a(): ...\n'
        'ROWS = [pytest.param(n, marks=pytest.mark.processor(WHY[n])) for n in "xy"]\n'
    )
    (folder / "test_b.py").write_text('pytestmark = pytest.mark.processor("its threads")\n')
    found = list(left_out.reasons(tmp_path))
    assert sorted(found) == [
        ("first", "jit/test_a.py"),
        ("its threads", "jit/test_a.py"),
        ("its threads", "jit/test_b.py"),
        ("second", "jit/test_a.py"),
    ]
    assert "| `jit/test_a.py`, `jit/test_b.py` | its threads |" in left_out.section(iter(found))


def test_reasons_that_cannot_be_listed_are_an_error(tmp_path: Path) -> None:
    folder = tmp_path / "jit"
    folder.mkdir()
    (folder / "test_a.py").write_text("MARK = pytest.mark.processor(why())\n")
    with pytest.raises(ValueError, match=r"a text or OF_THE_PROCESSOR\[name\]: why\(\)"):
        list(left_out.reasons(tmp_path))
