"""Export: the C library computes what Python computes, and needs nothing but libc."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from pathlib import Path
from typing import Any

import cotangent as ct
import cotangent.numpy as cnp
import numpy as np
import pytest


def loss(params: Any, x: Any) -> Any:
    return cnp.mean(cnp.tanh(x @ params["w"] + params["b"]) ** 2)


PARAMS = {"w": np.random.default_rng(0).standard_normal((4, 3)).astype(np.float32), "b": np.zeros(3, np.float32)}
X = np.random.default_rng(1).standard_normal((5, 4)).astype(np.float32)


def exported(directory: Path) -> Path:
    return ct.export.compile(ct.value_and_grad(loss), PARAMS, X, name="step").save(directory)


def test_files_and_symbols(tmp_path: Path) -> None:
    exported(tmp_path)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["libstep.a", "libstep.so", "step.ctir", "step.h"]
    if shutil.which("nm"):
        lines = subprocess.run(
            ["nm", "-D", tmp_path / "libstep.so"], capture_output=True, text=True, check=True
        ).stdout.splitlines()
        undefined = {line.split()[-1].split("@")[0] for line in lines if " U " in line}
        assert undefined <= {"malloc", "free", "aligned_alloc", "memcpy", "memset", "memmove"}, undefined


def test_shared_library_by_ctypes(tmp_path: Path) -> None:
    exported(tmp_path)
    library = ctypes.CDLL(str(tmp_path / "libstep.so"))
    value, gb, gw = np.zeros((), np.float32), np.zeros(3, np.float32), np.zeros((4, 3), np.float32)
    pointers = [a.ctypes.data_as(ctypes.c_void_p) for a in (PARAMS["b"], PARAMS["w"], X, value, gb, gw)]
    assert library.step(*pointers) == 0
    expected, gradient = ct.jit(ct.value_and_grad(loss))(PARAMS, X)
    np.testing.assert_allclose(value, expected, rtol=1e-6)
    np.testing.assert_allclose(gb, gradient["b"], rtol=1e-6)
    np.testing.assert_allclose(gw, gradient["w"], rtol=1e-6)


def test_header_compiles_as_c_and_names_arguments(tmp_path: Path) -> None:
    exported(tmp_path)
    header = (tmp_path / "step.h").read_text()
    assert "const float* params_w" in header and "float32(5, 4)" in header
    if shutil.which("cc"):
        (tmp_path / "user.c").write_text('#include "step.h"\nint main(void) { return step == 0; }\n')
        subprocess.run(
            ["cc", "-Wall", "-Werror", "-Wno-address", "user.c", "libstep.a", "-o", "user"], cwd=tmp_path, check=True
        )
        assert subprocess.run([tmp_path / "user"], check=False).returncode == 0


def test_load(tmp_path: Path) -> None:
    exported(tmp_path)
    step = ct.export.load(tmp_path)
    results = step(PARAMS["b"], PARAMS["w"], X)
    expected, gradient = ct.value_and_grad(loss)(PARAMS, X)
    np.testing.assert_allclose(results[0], expected, rtol=1e-6)
    np.testing.assert_allclose(results[2], gradient["w"], rtol=1e-5)


def test_errors(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="C function"):
        ct.export.compile(loss, PARAMS, X, name="no good")
    with pytest.raises(ValueError, match="C function"):
        ct.export.compile(loss, PARAMS, X, name="while").save(tmp_path)
    with pytest.raises(ValueError, match="traced"):
        ct.jit(lambda t: ct.export.compile(lambda x: x + t, X))(1.0)
    with pytest.raises(FileNotFoundError, match="no saved function"):
        ct.export.load(tmp_path / "nowhere")
    exported(tmp_path)
    data = bytearray((tmp_path / "step.ctir").read_bytes())
    data[len(data) // 2] ^= 0xFF
    (tmp_path / "step.ctir").write_bytes(bytes(data))
    with pytest.raises(ct.errors.CorruptFileError):
        ct.export.load(tmp_path)


def test_arrays_closed_over_are_built_in(tmp_path: Path) -> None:
    table, flags = cnp.array(X), cnp.array(np.array([True, False, True, False]))
    ct.export.compile(lambda x: cnp.where(flags, x @ table, 0.5), X.T, name="lookup").save(tmp_path)
    assert "x" in (tmp_path / "lookup.h").read_text()
    library = ctypes.CDLL(str(tmp_path / "liblookup.so"))
    out, x = np.zeros((4, 4), np.float32), np.ascontiguousarray(X.T)
    assert library.lookup(x.ctypes.data_as(ctypes.c_void_p), out.ctypes.data_as(ctypes.c_void_p)) == 0
    expected = np.where([True, False, True, False], X.T @ X, 0.5)
    np.testing.assert_allclose(out, expected, rtol=1e-5)
    np.testing.assert_allclose(ct.export.load(tmp_path)(x), expected, rtol=1e-5)


def test_other_processor(tmp_path: Path) -> None:
    ct.export.compile(loss, PARAMS, X, name="step").save(tmp_path, triple="aarch64-linux-gnu")
    assert (tmp_path / "libstep.so").read_bytes()[18:20] == b"\xb7\x00", "e_machine is AArch64"
