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


def test_an_unknown_command_lists_the_known_ones() -> None:
    done = subprocess.run([sys.executable, ROOT / "dev", "tset"], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "'tset'" in done.stderr
    assert "test" in done.stderr
