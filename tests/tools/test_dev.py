"""The ./dev command's own errors: what is missing, and what to do about it."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import ModuleType

import pytest
from places import ROOT


@pytest.fixture
def dev(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The script as a module, logging to a temporary directory."""
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    loader = SourceFileLoader("cotangent_dev", str(ROOT / "dev"))
    spec = importlib.util.spec_from_loader(loader.name, loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    monkeypatch.setattr(module, "ROOT", tmp_path)
    monkeypatch.setattr(module, "LOGS", tmp_path / "logs")
    return module


def test_without_apt_it_lists_the_packages(
    dev: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("COTANGENT_SKIP_PACKAGES", raising=False)
    monkeypatch.setattr(dev.shutil, "which", lambda name: None)
    with pytest.raises(SystemExit):
        dev.system_packages(dev.BUILD_PACKAGES, dev.TEST_PACKAGES)
    message = capsys.readouterr().err
    assert "not a Debian system" in message
    for package in ["g++", "llvm-22-dev", "liblld-22-dev", "libabsl-dev", "libgtest-dev"]:
        assert package in message
    assert "COTANGENT_SKIP_PACKAGES=1" in message


def test_without_root_it_says_exactly_what_to_install(
    dev: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("COTANGENT_SKIP_PACKAGES", raising=False)
    monkeypatch.setattr(dev.shutil, "which", lambda name: f"/usr/bin/{name}")
    monkeypatch.setattr(dev.os, "geteuid", lambda: 1000)
    monkeypatch.setattr(dev, "installed", lambda packages: set(packages) - {"mold", "libabsl-dev"})
    with pytest.raises(SystemExit):
        dev.system_packages(dev.BUILD_PACKAGES)
    assert "apt-get update && apt-get install mold libabsl-dev" in capsys.readouterr().err


def test_with_everything_installed_it_is_silent(
    dev: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(dev.shutil, "which", lambda name: f"/usr/bin/{name}")
    monkeypatch.setattr(dev.os, "geteuid", lambda: 1000)
    monkeypatch.setattr(dev, "installed", lambda packages: set(packages) - {"python3-torch"})
    dev.system_packages(dev.BUILD_PACKAGES, dev.TEST_PACKAGES)
    assert capsys.readouterr().err == ""


def test_a_failing_step_shows_its_errors_and_its_log(dev: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        dev.step("compile", [sys.executable, "-c", "print('x.cc:1: error: no such thing'); raise SystemExit(3)"])
    captured = capsys.readouterr()
    assert "x.cc:1: error: no such thing" in captured.out
    assert "'compile' failed with status 3" in captured.err
    assert "logs/compile.log" in captured.err


def test_programs_of_tests_are_kept_until_the_library_is_built_anew(
    dev: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(dev, "RELEASE", tmp_path / "build")
    library = tmp_path / "build" / "python_bindings" / "_core.so"
    library.parent.mkdir(parents=True)
    library.write_bytes(b"")
    program = dev.programs_of_tests() / "program"
    program.write_bytes(b"kernels")
    assert dev.programs_of_tests() == program.parent and program.exists()
    assert program.parent.stat().st_mode & 0o777 == 0o700  # else the library does not trust it
    later = program.parent.stat().st_mtime + 1
    os.utime(library, (later, later))
    assert dev.programs_of_tests() == program.parent and not program.exists()


@pytest.fixture
def ran(dev: ModuleType, monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """What a command of `./dev` would do: each step with what it is given."""
    steps: list[list[str]] = []
    monkeypatch.setattr(dev, "ROOT", ROOT)
    monkeypatch.setattr(dev, "system_packages", lambda *groups: steps.append(["packages", str(len(groups))]))
    monkeypatch.setattr(dev, "python_packages", lambda *sets, **_: None)
    monkeypatch.setattr(
        dev, "build", lambda tests=False: steps.append(["build", "with C++ tests" if tests else "package"])
    )
    monkeypatch.setattr(dev, "build_sanitized", lambda: steps.append(["build", "sanitized"]))
    monkeypatch.setattr(dev, "programs_of_tests", lambda: ROOT / ".cache" / "programs-of-tests")
    monkeypatch.setenv("CT_KEPT_PROGRAMS", "")  # the command sets it
    monkeypatch.setattr(dev, "may_match", lambda arguments: ["tests/laws/test_laws.py"])
    monkeypatch.setattr(dev, "run", lambda *command: steps.append([str(word) for word in command[1:]]) or 0)
    return steps


def test_all_tests_run_in_workers_and_are_reported(dev: ModuleType, ran: list[list[str]]) -> None:
    assert dev.test([]) == 0
    assert ran[:3] == [["packages", "2"], ["build", "with C++ tests"], ["build", "sanitized"]]
    assert ran[3][:3] == ["-m", "pytest", "-n"] and ran[3][-1] == "tests" and any("junitxml" in word for word in ran[3])
    assert len(ran) == 4


def test_a_part_builds_what_it_needs(dev: ModuleType, ran: list[list[str]]) -> None:
    dev.test(["-k", "erf"])
    assert ran == [["packages", "1"], ["build", "package"], ["-m", "pytest", "-k", "erf"]]
    ran.clear()
    dev.test(["tests/laws", "tests/jit/test_products.py"])
    assert (
        ran[1] == ["build", "package"]
        and "-n" in ran[2]
        and ran[2][-2:] == ["tests/laws", "tests/jit/test_products.py"]
    )
    for path in ("tests/cpp", "tests/device/test_gpu.py", "tests", "."):
        ran.clear()
        dev.test([path])
        assert ran[1] == ["build", "with C++ tests"], path


def test_what_has_changed_chooses_the_tests(
    dev: ModuleType, ran: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    given = []
    monkeypatch.setattr(dev, "affected_tests", lambda reference: given.append(reference) or ["tests/jit"])
    dev.test(["--changed", "HEAD~2", "-x"])
    dev.test(["-x", "--changed"])
    assert given == [["HEAD~2"], []]
    assert [step[-2:] for step in ran if step[0] == "-m"] == [["-x", "tests/jit"]] * 2
    monkeypatch.setattr(dev, "affected_tests", lambda reference: [])
    ran.clear()
    assert dev.test(["--changed"]) == 0 and ran == []


def test_times_are_written_after_all_have_run(dev: ModuleType, ran: list[list[str]]) -> None:
    dev.test(["--times"])
    assert ran[-1][0].endswith("suite_times.py") and ran[-1][-1] == "--write" and "--times" not in ran[-2]


def test_lint_repairs_before_it_checks(dev: ModuleType, ran: list[list[str]]) -> None:
    dev.lint(["--fix"])
    words = [" ".join(step) for step in ran]
    assert words.index("-m ruff check --fix") < words.index("-m ruff format") < words.index("-m ruff check")
    ran.clear()
    dev.lint([])
    assert not any("--fix" in step for step in ran)


def test_what_is_installed_is_installed_again_when_a_file_changed(
    dev: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name, place in {"ROOT": "", "RELEASE": "build", "VENV": "venv"}.items():
        monkeypatch.setattr(dev, name, tmp_path / place)
    steps: list[str] = []
    monkeypatch.setattr(dev, "configure", lambda *_: None)
    monkeypatch.setattr(dev, "step", lambda title, command, env=None: steps.append(title.split()[0]))
    module = tmp_path / "python_bindings" / "cotangent" / "nn.py"
    installed = tmp_path / "venv" / "lib" / "python3.11" / "site-packages" / "cotangent" / "nn.py"
    for file in (module, installed):
        file.parent.mkdir(parents=True)
        file.write_text("")
    (tmp_path / "build").mkdir()
    for change in (lambda: None, lambda: None, lambda: module.write_text("x = 1"), lambda: None, installed.unlink):
        change()
        dev.build()
        steps.append("|")
    assert "".join(step[0] for step in steps) == "ci|c|ci|c|ci|"


def test_an_unknown_command_lists_the_known_ones() -> None:
    done = subprocess.run([sys.executable, ROOT / "dev", "tset"], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "'tset'" in done.stderr
    assert "test" in done.stderr
