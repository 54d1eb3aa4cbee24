"""The tool that counts places which raise errors (`raises`)."""

from __future__ import annotations

from pathlib import Path

import pytest
import raises


@pytest.fixture
def places(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setattr(raises, "ROOT", tmp_path)
    return tmp_path


def test_places_of_python(places: Path) -> None:
    (places / "made.py").write_text(
        "def f(x):\n    if x:\n        raise ValueError(\n            'no'\n        )\n    raise AssertionError('never')\n\n"
        "def g(error):\n    raise error\n\ndef h():\n    raise NotWrittenError('caught')\n"
    )
    assert raises.of_python(places / "made.py") == [raises.Site("made.py", 3, 5, "raise ValueError( 'no' )")]


def test_places_of_cpp(places: Path) -> None:
    (places / "made.cc").write_text(
        'void f(int x) {\n  if (x > 0) throw Error(ErrorKind::kValue, concat("no; not ", x)).hint("do");\n  CT_CHECK(x == 0);\n'
        '  Error late(x < -1 ? ErrorKind::kShape : ErrorKind::kType,\n             "late");\n  throw Error(ErrorKind::kInternal, "a bug");\n}\n'
    )
    first, second = raises.of_cpp(places / "made.cc")
    assert (first.first, first.last, second.first, second.last) == (2, 2, 4, 5)


def test_what_is_left_is_a_place_with_a_reason() -> None:
    found = raises.sites()
    assert len(found) > 1000
    for text, reason in raises.LEFT.items():
        assert reason and any(text in site.text for site in found), text


def test_files_are_named_from_the_root() -> None:
    assert raises.in_repository("../../runtime/aval.cc") == "runtime/aval.cc"
    package = raises.transcripts.PACKAGE
    assert raises.in_repository(f"{package}/lax/pieces.py") == "python_bindings/cotangent/lax/pieces.py"
