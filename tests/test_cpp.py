"""Runs every GoogleTest program, of the release build and of the build with address and undefined-behaviour sanitizers.

`./dev test` builds both; without a build the tests are skipped and say so.
"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
BUILDS = {"release": ROOT / "build-release", "sanitize": ROOT / "build-sanitize"}


def programs() -> list[tuple[str, str, Path]]:
    """(build, test name, program) of each C++ test that a configured build knows."""
    found = []
    for build, directory in BUILDS.items():
        listing = directory / "meson-info" / "intro-tests.json"
        if listing.exists():
            found += [(build, t["name"], Path(t["cmd"][0])) for t in json.loads(listing.read_text())]
    return found


@pytest.mark.parametrize(
    ("build", "name", "program"),
    [pytest.param(*row, id=f"{row[0]}-{row[1]}") for row in programs()],
)
def test_program(build: str, name: str, program: Path) -> None:
    if not program.exists():
        pytest.skip(f"{name} is not built; `./dev test` without arguments builds it")
    env = {
        **os.environ,
        # LLVM itself is not instrumented, so containers that it fills look overflown.
        "ASAN_OPTIONS": "detect_container_overflow=0:detect_stack_use_after_return=1",
        "UBSAN_OPTIONS": "print_stacktrace=1:halt_on_error=1",
    }
    result = subprocess.run([program, "--gtest_brief=1"], capture_output=True, text=True, env=env, cwd=ROOT)
    assert result.returncode == 0, f"{build} {name} failed:\n{result.stdout[-8000:]}\n{result.stderr[-8000:]}"


def test_both_builds_are_there() -> None:
    missing = [build for build, directory in BUILDS.items() if not directory.exists()]
    if missing:
        pytest.skip(f"no {' and no '.join(missing)} build; `./dev test` makes them")
