"""Pytrees in files of safetensors: what comes back, and what a write that is cut off leaves."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import cotangent as ct
import numpy as np
import pytest
from needs import needed

safetensors = needed("safetensors")
files = ct.interop.safetensors


class State(NamedTuple):
    step: Any
    moments: Any


DTYPES = [
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "bfloat16", "float32", "float64",
    "float8_e4m3fn", "float8_e5m2", "float8_e4m3b11fnuz", "complex64", "complex128",
]  # fmt: skip


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(), (3,), (0, 2), (2, 3)])
def test_every_dtype_comes_back(dtype: str, shape: tuple[int, ...], tmp_path: Path) -> None:
    x = ct.numpy.asarray(np.arange(np.prod(shape)).reshape(shape) % 2).astype(dtype)
    files.save(tmp_path / "x.safetensors", [x])
    [y] = files.load(tmp_path / "x.safetensors", [x])
    assert (y.dtype, y.shape) == (x.dtype, x.shape)
    assert np.asarray(y).tobytes() == np.asarray(x).tobytes()


def tree() -> dict[str, Any]:
    return {
        "layers": [{"w": ct.numpy.ones((2, 3)), "b": ct.numpy.zeros(3, dtype="bfloat16")}] * 2,
        "state": State(3, (ct.numpy.arange(3), None)),
        "key": ct.random.key(7),
        "keys": ct.random.split(ct.random.key(1), 2),
        "rows": ct.ragged([[1.0, 2.0], []]),
    }


def test_pytrees(tmp_path: Path) -> None:
    place = tmp_path / "new" / "step.safetensors"
    files.save(place, tree(), metadata={"step": "3"})
    found = files.load(place, tree())
    ct.testing.assert_allclose(found, tree(), same_dtype=True)
    assert isinstance(found["state"], State)
    assert np.array_equal(ct.random.normal(found["keys"][1], (2,)), ct.random.normal(tree()["keys"][1], (2,)))
    assert found["rows"].tolist() == [[1.0, 2.0], []]
    by_name = files.load(place)
    assert by_name["layers.1.w"].tolist() == [[1.0] * 3] * 2
    assert int(by_name["state.step"]) == 3
    assert [p.name for p in place.parent.iterdir()] == ["step.safetensors"]
    with safetensors.safe_open(place, "numpy") as opened:
        assert opened.metadata()["step"] == "3"
        assert opened.get_tensor("layers.0.w").tolist() == [[1.0] * 3] * 2


def test_files_of_other_programs(tmp_path: Path) -> None:
    from safetensors.numpy import save_file

    save_file({"a": np.arange(3.0), "b": np.ones((2, 2), np.float16)}, tmp_path / "theirs.safetensors")
    found = files.load(tmp_path / "theirs.safetensors")
    assert found["a"].tolist() == [0.0, 1.0, 2.0]
    assert found["b"].dtype == "float16"


def test_a_write_that_is_cut_off_leaves_the_old_file(tmp_path: Path) -> None:
    place = tmp_path / "step.safetensors"
    files.save(place, {"w": ct.numpy.ones(3)})
    program = f"""
import os, cotangent as ct, safetensors.numpy
real = safetensors.numpy.save_file
def torn(tensors, path, metadata):
    real(tensors, path, metadata)
    os.truncate(path, 40)
    os._exit(1)
safetensors.numpy.save_file = torn
ct.interop.safetensors.save({str(place)!r}, {{"w": ct.numpy.zeros(3)}})
"""
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 1
    assert files.load(place)["w"].tolist() == [1.0, 1.0, 1.0]


def test_a_write_that_fails_leaves_the_old_file_and_no_other(tmp_path: Path, monkeypatch: Any) -> None:
    place = tmp_path / "step.safetensors"
    files.save(place, {"w": ct.numpy.ones(3)})

    import safetensors.numpy

    def full(tensors: Any, path: Any, metadata: Any) -> None:
        Path(path).write_bytes(b"part")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(safetensors.numpy, "save_file", full)
    with pytest.raises(OSError, match="No space left"):
        files.save(place, {"w": ct.numpy.zeros(3)})
    assert files.load(place)["w"].tolist() == [1.0, 1.0, 1.0]
    assert list(tmp_path.iterdir()) == [place]


def test_errors(tmp_path: Path) -> None:
    place = tmp_path / "x.safetensors"
    files.save(place, {"w": ct.numpy.ones(3)})
    with pytest.raises(ValueError, match="missing b; unknown w"):
        files.load(place, {"b": 1.0})
    with pytest.raises(ValueError, match=r"w is float32\[3\] in .*, and float32\[2\] was expected"):
        files.load(place, {"w": ct.numpy.ones(2)})
    with pytest.raises(ValueError, match=r"two leaves are called 'a.b'"):
        files.save(place, {"a": {"b": 1}, "a.b": 2})
    with pytest.raises(FileNotFoundError):
        files.load(tmp_path / "nothing")
    data = place.read_bytes()
    for damaged in (b"", data[:20], data[:-1], b"\xff" * 30, data[:8] + b"[]" + data[10:]):
        place.write_bytes(damaged)
        with pytest.raises(ct.errors.CorruptFileError, match="is damaged, or no file of safetensors"):
            files.load(place)
    with pytest.raises(ct.errors.ConcretizationError):
        ct.jit(lambda x: files.save(place, x))(1.0)


def test_arrays_in_npz_files(tmp_path: Path) -> None:
    np.savez(tmp_path / "x.npz", w=ct.numpy.ones(3), n=ct.numpy.asarray(2))
    ct.numpy.savez(tmp_path / "y.npz", w=ct.numpy.ones(3), n=2)
    for name in ("x.npz", "y.npz"):
        found = ct.numpy.load(tmp_path / name)
        assert found["w"].tolist() == [1.0, 1.0, 1.0]
        assert int(found["n"]) == 2
    ct.numpy.save(tmp_path / "z.npy", ct.numpy.ones(2, dtype="bfloat16"))
    assert ct.numpy.load(tmp_path / "z.npy").dtype == "bfloat16"
