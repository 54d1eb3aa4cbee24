"""Tests and measurements of a machine's GPU, from a folder that `./dev pack-gpu` has made: `python3 run.py [replay] [tests] [bench]`.

It needs NVIDIA's driver and Python, of the version that the folder's name says, and nothing else. Without arguments all parts run, in
this order, each within its share of ten minutes; what they find is written to ``results/`` as it comes.

- replay: every operation of the tests' records on the GPU, compared bit by bit with its run on the emulated one;
- tests: test files of the project, with every program on the GPU;
- bench: the figures of `measure.py`.
"""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
SITE = FOLDER / "site"
# Seconds that a part may take.
PARTS = {"replay": 150, "tests": 200, "bench": 240}
# Of the suite, what looks at values and needs no other library.
TESTS = [
    "device/test_residency.py",
    "transforms/test_control_flow.py",
    "transforms/test_transforms.py",
    "transforms/test_while_reverse.py",
    "random/test_random_bits.py",
    "ragged/test_pack.py",
]


def unpack() -> None:
    """The wheels are archives of what they install."""
    if SITE.exists():
        return
    for wheel in sorted((FOLDER / "wheels").glob("*.whl")):
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(SITE)


def environment(**more: str) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": os.pathsep.join([str(SITE), str(FOLDER / "tests" / "shared")]), **more}


def python(*arguments: str | Path, seconds: int, **more: str) -> int:
    """Runs Python with what was unpacked, for so long at most; returns its exit status."""
    try:
        return subprocess.run(
            [sys.executable, *arguments], env=environment(**more), cwd=FOLDER, timeout=seconds, check=False
        ).returncode
    except subprocess.TimeoutExpired:
        print(f"stopped after {seconds} s; what was found until then is in results/")
        return 124


PROBE = """
import cotangent as ct
from cotangent import _core
try:
    facts = _core.cuda_facts()
except ct.errors.DeviceError as error:
    raise SystemExit(f"There is no GPU that can be used: {error}") from None
print(", ".join(f"{name} {value}" for name, value in facts.items()))
"""


def main(parts: list[str]) -> int:
    for part in parts:
        if part not in PARTS:
            print(f"unknown part {part!r}; there are {', '.join(PARTS)}")
            return 2
    unpack()
    (FOLDER / "results").mkdir(exist_ok=True)
    if python("-c", PROBE, seconds=60) != 0:
        return 1
    failed = []
    for part in parts or PARTS:
        print(f"{part}:", flush=True)
        if part == "tests":
            files = [FOLDER / "tests" / name for name in TESTS]
            report = f"--junitxml={FOLDER / 'results' / 'tests.xml'}"
            status = python(
                "-m", "pytest", "-q", "-p", "no:cacheprovider", report, *files, seconds=PARTS[part], CT_DEVICE="cuda"
            )
        else:
            status = python(
                FOLDER / f"{'measure' if part == 'bench' else part}.py", FOLDER / "results", seconds=PARTS[part]
            )
        if status != 0:
            failed.append(part)
    print(f"failed: {', '.join(failed)}" if failed else "all parts ended well")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
