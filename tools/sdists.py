"""The source distribution: made from the last commit, looked into, and unpacked for the wheels to be built from."""

from __future__ import annotations

import shutil
import subprocess
import tarfile
from collections.abc import Iterable
from pathlib import Path

from development import ROOT, dev

# What a reader, a builder and a packager look for in it.
EXPECTED = [
    "CHANGELOG.md",
    "CITATION.cff",
    "LICENSE",
    "PKG-INFO",
    "README.md",
    "VERSION",
    "dev",
    "meson.build",
    "pyproject.toml",
    "python_bindings/cotangent/__init__.py",
    "tests/smoke/test_smoke.py",
    "tools/linked_software.toml",
]
# What machines make: caches, builds, environments.
UNWANTED_FOLDERS = {".cache", ".git", ".venv", "__pycache__", ".pytest_cache", ".mypy_cache", ".ruff_cache", "dist"}
UNWANTED_ENDINGS = (".pyc", ".o", ".a", ".so", ".whl", ".log")


def make(folder: Path) -> Path:
    """Makes the source distribution of HEAD; meson takes what git has."""
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("*.tar.gz"):
        old.unlink()
    program = f"import mesonpy; print(mesonpy.build_sdist({str(folder)!r}))"
    env = {**dev.environment(), "SOURCE_DATE_EPOCH": commit_time()}
    llvm = shutil.which(f"llvm-config-{dev.llvm_version()}")
    if llvm:
        env["LLVM_CONFIG"] = llvm
    dev.step("source distribution", [dev.PYTHON, "-c", program], env)
    return next(folder.glob("*.tar.gz"))


def commit_time() -> str:
    """When HEAD was committed, in seconds: what files made from it have for their time."""
    command = ["git", "log", "-1", "--format=%ct"]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()


def names(sdist: Path) -> list[str]:
    """The files in it, below its folder."""
    with tarfile.open(sdist) as archive:
        return [member.name.partition("/")[2] for member in archive.getmembers() if member.isfile()]


def complaints(files: Iterable[str]) -> list[str]:
    """What is wrong with the contents of a source distribution."""
    files = set(files)
    found = [f"the source distribution has no {name}" for name in EXPECTED if name not in files]
    for name in sorted(files):
        parts = name.split("/")
        if UNWANTED_FOLDERS & set(parts) or parts[0].startswith("build") or name.endswith(UNWANTED_ENDINGS):
            found.append(f"the source distribution has {name}, which is made")
    return found


def unpack(sdist: Path, folder: Path) -> Path:
    """A fresh folder of its sources."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    with tarfile.open(sdist) as archive:
        archive.extractall(folder, filter="data")
    return next(folder.iterdir())


def without_network(command: list[str]) -> list[str]:
    """The command without a network, where this user may make namespaces."""
    can = subprocess.run(["unshare", "--net", "true"], capture_output=True, check=False).returncode == 0
    if not can:
        dev.say("   (no network namespace can be made here: the build is not shown to need no network)")
    return ["unshare", "--net", *command] if can else command


def total_size(sdist: Path) -> float:
    """In MiB."""
    return sdist.stat().st_size / 2**20
