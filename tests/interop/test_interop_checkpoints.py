"""The states of a training in a folder: the newest are kept, what is there is whole, and errors of the thread that writes are raised."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import cotangent as ct
import numpy as np
import pytest
from cotangent.interop.checkpoints import Checkpoints
from needs import require

require("safetensors")


def state(step: int) -> dict[str, Any]:
    return {"layers": [{"w": ct.numpy.full((2, 3), float(step))}], "step": step, "key": ct.random.key(step)}


@pytest.mark.parametrize("background", [False, True])
def test_the_newest_steps_stay(tmp_path: Path, background: bool) -> None:
    folder = tmp_path / "runs"
    with Checkpoints(folder, keep=2) as checkpoints:
        assert checkpoints.steps == []
        assert checkpoints.latest is None
        for step in (5, 100_000_000, 20):
            checkpoints.save(step, state(step), metadata={"loss": str(step)}, background=background)
    assert checkpoints.steps == [20, 100_000_000]
    assert sorted(file.name for file in folder.iterdir()) == [
        "step-00000020.safetensors",
        "step-100000000.safetensors",
    ]
    found = checkpoints.restore(like=state(0), step=20)
    assert found["layers"][0]["w"].tolist() == [[20.0] * 3] * 2
    assert int(found["step"]) == 20
    assert (ct.random.key_data(found["key"]) == ct.random.key_data(ct.random.key(20))).all()
    assert checkpoints.restore()["layers.0.w"][0, 0] == 1e8


def test_what_is_changed_after_the_call_is_not_saved(tmp_path: Path, monkeypatch: Any) -> None:
    go = threading.Event()
    real = ct.interop.safetensors.write

    def late(*arguments: Any) -> None:
        go.wait(20)
        real(*arguments)

    monkeypatch.setattr(ct.interop.safetensors, "write", late)
    checkpoints = Checkpoints(tmp_path)
    tree = {"w": np.ones(3, np.float32)}
    checkpoints.save(1, tree, background=True)
    tree["w"][:] = 7
    tree["other"] = np.zeros(1, np.float32)
    go.set()
    assert {name: x.tolist() for name, x in checkpoints.restore().items()} == {"w": [1.0, 1.0, 1.0]}


def test_what_fails_in_the_background_is_raised_once(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    checkpoints = Checkpoints(tmp_path / "file" / "folder")
    checkpoints.save(1, state(1), background=True)
    with pytest.raises(NotADirectoryError):
        checkpoints.wait()
    checkpoints.wait()
    assert checkpoints.steps == []


def test_a_process_that_dies_leaves_whole_steps(tmp_path: Path) -> None:
    program = f"""
import os, cotangent as ct, safetensors.numpy
checkpoints = ct.interop.checkpoints.Checkpoints({str(tmp_path)!r}, keep=1)
checkpoints.save(1, {{"w": ct.numpy.ones(3)}})
real = safetensors.numpy.save_file
def torn(tensors, path, metadata):
    real(tensors, path, metadata)
    os.truncate(path, 40)
    os._exit(1)
safetensors.numpy.save_file = torn
checkpoints.save(2, {{"w": ct.numpy.zeros(3)}}, background=True)
checkpoints.wait()
"""
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 1
    checkpoints = Checkpoints(tmp_path)
    assert checkpoints.steps == [1]
    assert checkpoints.restore()["w"].tolist() == [1.0, 1.0, 1.0]


def test_errors(tmp_path: Path) -> None:
    checkpoints = Checkpoints(tmp_path)
    with pytest.raises(FileNotFoundError, match="has no step; there: none"):
        checkpoints.restore()
    checkpoints.save(1, state(1))
    checkpoints.save(2, state(2))
    with pytest.raises(FileNotFoundError, match="has no step 3; there: 1, 2"):
        checkpoints.restore(step=3)
    for step, remedy in ((2, r"the step before it: restore\(step=1\)"), (1, "there is no earlier step")):
        checkpoints.path(step).write_bytes(b"damaged")
        with pytest.raises(ct.errors.CorruptFileError, match=remedy):
            checkpoints.restore(step=step)
    with pytest.raises(ValueError, match="counted from 0; got -1"):
        checkpoints.save(-1, {})
    with pytest.raises(ValueError, match="keep is the number of steps that stay, at least 1; got 0"):
        Checkpoints(tmp_path, keep=0)
    for background in (False, True):
        with pytest.raises(ct.errors.ConcretizationError):
            ct.jit(lambda x, background=background: checkpoints.save(4, x, background=background))(1.0)
    assert repr(checkpoints) == f"Checkpoints({str(tmp_path)!r}, steps=[1, 2])"


def test_after_going_back_what_is_saved_stays(tmp_path: Path) -> None:
    checkpoints = Checkpoints(tmp_path, keep=2)
    for step in (10, 20, 30, 21, 22):
        checkpoints.save(step, {"w": ct.numpy.full(1, float(step))})
        assert step in checkpoints.steps
    assert checkpoints.steps == [22, 30]


def test_a_child_of_a_process_writes_with_a_thread_of_its_own(tmp_path: Path) -> None:
    program = f"""
import os, cotangent as ct
checkpoints = ct.interop.checkpoints.Checkpoints({str(tmp_path)!r})
checkpoints.save(1, {{"w": ct.numpy.ones(3)}}, background=True)
checkpoints.wait()
child = os.fork()
if child == 0:
    checkpoints.save(2, {{"w": ct.numpy.zeros(3)}}, background=True)
    checkpoints.wait()
    os._exit(0)
os._exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    assert subprocess.run([sys.executable, "-W", "ignore", "-c", program], check=False, timeout=60).returncode == 0
    assert Checkpoints(tmp_path).steps == [1, 2]


def test_what_fails_at_the_end_of_a_process_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    program = f"""
import cotangent as ct
checkpoints = ct.interop.checkpoints.Checkpoints({str(tmp_path / "file" / "folder")!r})
checkpoints.save(1, {{"w": ct.numpy.ones(3)}}, background=True)
"""
    done = subprocess.run([sys.executable, "-c", program], check=False, capture_output=True, text=True, timeout=60)
    assert "NotADirectoryError" in done.stderr


def test_files_of_other_names_are_no_steps(tmp_path: Path) -> None:
    checkpoints = Checkpoints(tmp_path, keep=1)
    (tmp_path / "step-7.safetensors").write_bytes(b"")
    (tmp_path / "step-00000099.safetensors").mkdir()
    checkpoints.save(1, {"w": ct.numpy.ones(1)})
    checkpoints.save(2, {"w": ct.numpy.ones(1)})
    assert checkpoints.steps == [2]
    assert (tmp_path / "step-7.safetensors").exists()


def test_a_full_disk_is_an_error_of_the_system(tmp_path: Path, monkeypatch: Any) -> None:
    import safetensors
    import safetensors.numpy

    def full(tensors: Any, path: Any, metadata: Any) -> None:
        raise safetensors.SafetensorError("I/O error: No space left on device (os error 28)")

    monkeypatch.setattr(safetensors.numpy, "save_file", full)
    with pytest.raises(OSError, match="cannot be written: I/O error: No space left"):
        Checkpoints(tmp_path).save(1, {"w": ct.numpy.ones(1)})
    with pytest.raises(ValueError, match="keeps the name '__metadata__' to itself"):
        Checkpoints(tmp_path).save(1, {"__metadata__": ct.numpy.ones(1)})
