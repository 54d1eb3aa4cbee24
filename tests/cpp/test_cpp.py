"""Runs every GoogleTest program, of the release build and of the builds with sanitizers: all of them with those for
addresses and undefined behaviour, the one that has threads with that for data races.

`./dev test` builds all; without a build the tests are skipped and say so.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from needs import require_built
from places import ROOT

BUILDS = {name: ROOT / f"build-{name}" for name in ("release", "sanitize", "thread")}


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
    require_built(program)
    env = {
        **os.environ,
        # LLVM itself is not instrumented: memory of its allocators that its inline functions, which are compiled with our
        # code, mark as unused, it takes into use without a mark.
        "ASAN_OPTIONS": "allow_user_poisoning=0:detect_stack_use_after_return=1",
        "UBSAN_OPTIONS": "print_stacktrace=1:halt_on_error=1",
        "TSAN_OPTIONS": "halt_on_error=1:second_deadlock_stack=1",
    }
    # Older versions of the thread sanitizer do not find their memory where newer kernels randomise addresses.
    fixed = ["setarch", "-R"] if build == "thread" and fixed_addresses() else []
    command = [*fixed, program, "--gtest_brief=1"]
    result = subprocess.run(command, capture_output=True, text=True, env=env, cwd=ROOT)
    assert result.returncode == 0, f"{build} {name} failed:\n{result.stdout[-8000:]}\n{result.stderr[-8000:]}"


def fixed_addresses() -> bool:
    """Whether this system may run a program without randomised addresses."""
    return shutil.which("setarch") is not None and subprocess.run(["setarch", "-R", "true"]).returncode == 0


def test_all_builds_are_there() -> None:
    missing = [build for build, directory in BUILDS.items() if not directory.exists()]
    if missing:
        pytest.skip(f"no build {', '.join(missing)}; `./dev test` makes them")
