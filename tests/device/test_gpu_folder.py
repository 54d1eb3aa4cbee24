"""The folder that `./dev pack-gpu` makes for a machine with a GPU: its programs, run here."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy
import pytest
from places import ROOT

pytestmark = pytest.mark.usefixtures("names_devices")

PROGRAMS = ROOT / "benchmarks" / "gpu"


def run(*command: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *command],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=400,
        check=False,
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for program in PROGRAMS.glob("*.py"):
        shutil.copy(program, tmp_path)
    (tmp_path / "tests").symlink_to(ROOT / "tests")
    (tmp_path / "site").symlink_to(Path(numpy.__file__).parent.parent)
    return tmp_path


def test_without_a_driver_it_says_so(folder: Path) -> None:
    ended = run(folder / "run.py", CT_CUDA_DRIVER="libcuda-that-is-not-there.so")
    assert ended.returncode == 1
    assert "There is no GPU that can be used: there is no NVIDIA driver: libcuda-that-is-not-there.so" in ended.stderr
    ended = run(folder / "run.py", "speed")
    assert ended.returncode == 2 and "unknown part 'speed'; there are replay, tests, bench" in ended.stdout


def test_what_is_replayed_is_compared(folder: Path) -> None:
    """The emulated GPU with itself; and with the processor, whose transcendental functions have other bits."""
    program = "import replay, sys; from pathlib import Path; sys.exit(replay.main(Path(sys.argv[1]), sys.argv[2], 12))"
    path = os.pathsep.join([str(folder), str(folder / "tests" / "shared")])
    ended = run("-c", program, folder, "cuda-emulated", PYTHONPATH=path)
    found = json.loads((folder / "replay.json").read_text())
    assert ended.returncode == 0 and found["equal"] > 50 and found["different"] == found["errors"] == [], ended.stdout
    ended = run("-c", program, folder, "llvm", PYTHONPATH=path)
    found = json.loads((folder / "replay.json").read_text())
    assert found["equal"] > 20 and found["errors"] == [] and (ended.returncode == 1) == bool(found["different"])


def test_everything_is_measured(folder: Path) -> None:
    small = "import measure, sys; from pathlib import Path; f = measure.Figures(Path(sys.argv[1]), 'cuda-emulated', 1 << 16); f.overhead(); f.bandwidth()"
    ended = run("-c", small, folder / "bench.json", PYTHONPATH=str(folder))
    assert ended.returncode == 0, ended.stderr
    lines = json.loads((folder / "bench.json").read_text())
    assert [line["name"] for line in lines[:2]] == ["jitted x+1, enqueued", "scalar while_loop, an iteration"]
    assert len(lines) == 9 and all(line["value"] > 0 and line["aim"] for line in lines)
