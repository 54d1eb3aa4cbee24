"""What tests need beyond the package is asked for in one place, and a test that lacks it says what and where it comes from."""

from __future__ import annotations

import re

import needs
import pytest
from places import ROOT, TESTS


def test_programs_and_modules_are_told_apart() -> None:
    assert needs.has("numpy") and needs.has("numpy.linalg")
    assert not needs.has("no_such_module") and not needs.has("no_such.module")
    assert needs.is_program("clang-22") and needs.is_program("g++") and not needs.is_program("jax")


def test_what_is_missing_says_where_it_comes_from(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(needs, "has", lambda name: name == "gcc")
    assert needs.lacks("gcc|clang") is None
    assert needs.lacks("clang-22|clang") == "needs clang-22 or clang (Debian's clang)"
    assert needs.lacks("jax.scipy") == "needs jax.scipy (PyPI's jax)"
    with pytest.raises(pytest.skip.Exception, match=r"needs node \(Debian's nodejs\)"):
        needs.require("gcc", "node")
    assert needs.needs("gcc").mark.args == (False,) and needs.needs("node").mark.args == (True,)


def test_what_is_not_built_says_what_builds_it() -> None:
    assert needs.unbuilt(ROOT / "pyproject.toml") is None
    assert (
        needs.unbuilt(ROOT / "build-release" / "no")
        == "needs build-release/no (`./dev test` without arguments builds it)"
    )


def test_tests_ask_in_this_way() -> None:
    """Those that look for a program or a module themselves do something else with it than to skip."""
    others = {
        "interop/test_interop_torch.py",  # torch of Debian's
        "interop/test_interop_onnx.py",  # a module of ours that needs onnx
        "interop/test_interop_onnx_models.py",
        "primitives/test_adding_a_primitive.py",  # ninja of the environment
        "errors/transcripts.py",  # programs that need a package are left out
        "cpp/test_cpp.py",  # whether setarch may
        "docs/docstring_examples.py",
        "shared/needs.py",
        "shared/faults.py",  # it hides packages
        "smoke/test_smoke.py",  # it reads no file of the repository
        "tools/test_needs.py",
        "tools/test_dev.py",
    }
    asking = re.compile(r"shutil\.which\(|importorskip|find_spec\(")
    found = {
        str(file.relative_to(TESTS))
        for file in TESTS.rglob("*.py")
        if "ecosystem" not in file.parts and asking.search(file.read_text())
    }
    assert found <= others


def test_names_that_nobody_has_are_refused() -> None:
    with pytest.raises(KeyError, match="qemu-z80 is no module"):
        needs.has("qemu-z80")
