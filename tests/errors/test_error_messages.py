"""Each program of tests/errors fails with the whole message that stands there, and what the message says to do works (`transcripts`)."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import transcripts


@pytest.mark.parametrize("path", transcripts.files(), ids=lambda path: path.stem)
def test_programs_that_fail(path: Path) -> None:
    if package := transcripts.lacking(path):
        pytest.skip(f"{package} is not installed")
    programs = transcripts.ran(path)
    anchors = transcripts.anchors_of_the_page()
    if os.environ.get("CT_UPDATE_ERRORS"):
        transcripts.update(path, programs)
        for statement in (statement for program in programs for statement in program.statements):
            statement.expected = statement.printed
    found = {program.name: wrong for program in programs if (wrong := transcripts.problems(program, anchors))}
    assert not found, "\n\n".join(f"## {name}\n" + "\n".join(wrong) for name, wrong in found.items())


def test_a_wrong_message_is_found() -> None:
    program = transcripts.Program("", transcripts._statements(">>> 1 / 0\nZeroDivisionError: no\n"), 0, 0)
    transcripts.run([], program)
    assert "ZeroDivisionError: division by zero" in transcripts.problems(program, set())[0]


def test_a_remedy_that_nobody_tries_is_found() -> None:
    source = ">>> raise ValueError('no\\n  do this\\n  see docs/errors.md#nowhere')\nValueError: no\n  do this\n  see docs/errors.md#nowhere\n"
    program = transcripts.Program("", transcripts._statements(source), 0, 0)
    transcripts.run([], program)
    untried, unknown = transcripts.problems(program, set())
    assert "nothing after it does" in untried
    assert "'nowhere'" in unknown
