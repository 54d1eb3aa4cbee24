"""What tests need beyond the package: other programs and packages, and what is built of tests/cpp.

    @needs("gcc")                  above a test, or one of several: needs("gcc|clang")
    jax = needed("jax")            at the head of a file, or in a test: the module
    require("clang", "ld.lld")     in a test
    if has("rustc"):               where a test does more if it is there

A test that lacks something is skipped, and says in one form what and where it comes from. What `./dev setup` installs is in `dev`
(`TEST_PACKAGES`) and requirements/test.txt; the rest is for those who have it.
"""

from __future__ import annotations

import importlib
import importlib.util
import shutil
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from cotangent._base.assembler import find_assembler
from places import ROOT

# Programs by the Debian packages that have them; whatever else is asked for is a module of Python.
PROGRAMS = {
    "c++": "g++",
    "chromium": "chromium",
    "chromium-headless-shell": "chromium-headless-shell",
    "clang": "clang",
    "clang++": "clang",
    "cmake": "cmake",
    "g++": "g++",
    "gcc": "gcc",
    "cc": "gcc",
    "julia": "julia",
    "ld.lld": "lld",
    "llvm-ar": "llvm",
    "llvm-nm": "llvm",
    "nm": "binutils",
    "node": "nodejs",
    "pkg-config": "pkg-config",
    "qemu-aarch64": "qemu-user",
    "qemu-arm": "qemu-user",
    "qemu-riscv64": "qemu-user",
    "qemu-system-arm": "qemu-system-arm",
    "qemu-x86_64": "qemu-user",
    "rustc": "rustc",
    "rustfmt": "rustfmt",
    "valgrind": "valgrind",
}


def is_program(name: str) -> bool:
    return name.rsplit("-", 1)[0] in PROGRAMS or name in PROGRAMS


@cache
def has(name: str) -> bool:
    """Whether a program is on the path, or a module of Python can be imported."""
    if name == "ptxas":  # where the package looks for it: also among NVIDIA's of PyPI
        return find_assembler() is not None
    if is_program(name):
        return shutil.which(name) is not None
    if not all(part.isidentifier() for part in name.split(".")):
        raise KeyError(f"{name} is no module, and PROGRAMS does not say which package has it")
    try:
        return importlib.util.find_spec(name) is not None
    except ModuleNotFoundError:
        return False


def program_of(*names: str) -> str | None:
    """The first of these programs that is there."""
    return next((name for name in names if has(name)), None)


def lacks(name: str) -> str | None:
    """Why one of several, separated by ``|``, cannot be had; None if one is there."""
    names = name.split("|")
    if any(map(has, names)):
        return None
    package = PROGRAMS.get(names[0]) or PROGRAMS.get(names[0].rsplit("-", 1)[0])
    other = "nvidia-cuda-nvcc" if names[0] == "ptxas" else names[0].split(".")[0]
    source = f"Debian's {package}" if package else f"PyPI's {other}"
    return f"needs {' or '.join(names)} ({source})"


def missing(names: tuple[str, ...]) -> str | None:
    return next((why for why in map(lacks, names) if why is not None), None)


def needs(*names: str) -> pytest.MarkDecorator:
    """The mark of a test that is skipped without these."""
    why = missing(names)
    return pytest.mark.skipif(why is not None, reason=why or "")


def require(*names: str) -> None:
    """Skips the test that calls it, if one of these is not there."""
    if (why := missing(names)) is not None:
        pytest.skip(why, allow_module_level=True)


def needed(name: str) -> Any:
    """A module; without it the test, or the file, is skipped."""
    require(name)
    return importlib.import_module(name)


def unbuilt(file: Path) -> str | None:
    """Why a file of a build cannot be had; None if it is there."""
    return None if file.exists() else f"needs {file.relative_to(ROOT)} (`./dev test` without arguments builds it)"


def require_built(file: Path) -> None:
    if (why := unbuilt(file)) is not None:
        pytest.skip(why)
