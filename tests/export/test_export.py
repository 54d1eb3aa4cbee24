"""Export: the C library computes what Python computes, and needs nothing but the memory functions of the C library."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import cotangent as ct
import cotangent.numpy as cnp
import numpy as np
import pytest
from exported_calls import Library, call_exported, empty_results, leaves_of
from needs import has


def loss(params: Any, x: Any) -> Any:
    return cnp.mean(cnp.tanh(x @ params["w"] + params["b"]) ** 2)


PARAMS = {"w": np.random.default_rng(0).standard_normal((4, 3)).astype(np.float32), "b": np.zeros(3, np.float32)}
X = np.random.default_rng(1).standard_normal((5, 4)).astype(np.float32)


def exported(directory: Path) -> Path:
    return ct.export.compile(ct.value_and_grad(loss), PARAMS, X, name="step", results=("value", "gradient")).save(
        directory
    )


def test_files_and_symbols(tmp_path: Path) -> None:
    exported(tmp_path)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["libstep.a", "libstep.so", "step.ctir", "step.h"]
    if has("nm"):
        lines = subprocess.run(
            ["nm", "-D", tmp_path / "libstep.so"], capture_output=True, text=True, check=True
        ).stdout.splitlines()
        undefined = {line.split()[-1].split("@")[0] for line in lines if " U " in line}
        assert undefined <= {"memcpy", "memset", "memmove"}, undefined
        defined = {line.split()[-1] for line in lines if " T " in line}
        own = {"check", "signature", "describe", "error", "leaves", "entry"}
        assert defined == {"step", *(f"step_{word}" for word in own)}
        archive = subprocess.run(
            ["nm", "--defined-only", "-g", tmp_path / "libstep.a"], capture_output=True, text=True, check=True
        ).stdout
        shown = {line.split()[-1] for line in archive.splitlines() if len(line.split()) == 3}
        assert all(name.startswith("step") for name in shown), shown


def test_leaves(tmp_path: Path) -> None:
    exported(tmp_path)
    value, gb, gw = np.zeros((), np.float32), np.zeros(3, np.float32), np.zeros((4, 3), np.float32)
    assert Library(tmp_path, "step").call([PARAMS["b"], PARAMS["w"], X], [value, gb, gw]) == 0
    expected, gradient = ct.jit(ct.value_and_grad(loss))(PARAMS, X)
    np.testing.assert_allclose(value, expected, rtol=1e-6)
    np.testing.assert_allclose(gb, gradient["b"], rtol=1e-6)
    np.testing.assert_allclose(gw, gradient["w"], rtol=1e-6)


def test_a_folder_runs_its_library_and_a_file_its_program(tmp_path: Path) -> None:
    exported(tmp_path)
    expected, gradient = ct.value_and_grad(loss)(PARAMS, X)
    for loaded, native in (
        (ct.export.load(tmp_path), True),
        (ct.export.load(tmp_path, native=True), True),
        (ct.export.load(tmp_path, native=False), False),
        (ct.export.load(tmp_path / "step.ctir"), False),
        (ct.export.load(tmp_path / "step.ctir", native=True), True),
        (ct.export.load(str(tmp_path), "step", verify="all"), True),
    ):
        assert loaded.native is native
        value, found = loaded.step(PARAMS, X)
        np.testing.assert_allclose(value, expected, rtol=1e-6)
        np.testing.assert_allclose(found["w"], gradient["w"], rtol=1e-5)
        assert sorted(found) == ["b", "w"]
        np.testing.assert_array_equal(loaded(PARAMS, x=X)[0], value)
        np.testing.assert_array_equal(loaded(params=PARAMS, x=X)[0], value)
    (tmp_path / "libstep.so").unlink()
    assert not ct.export.load(tmp_path).native
    with pytest.raises(ValueError, match=r"there is no libstep\.so beside"):
        ct.export.load(tmp_path, native=True)


def test_a_library_of_another_program_is_not_run(tmp_path: Path) -> None:
    """Same names and types, other numbers inside."""
    for number in (1, 2):
        ct.export.compile(lambda x, number=number: x * number, X, name="step").save(tmp_path / str(number))
    shutil.copy(tmp_path / "1" / "libstep.so", tmp_path / "2" / "libstep.so")
    loaded = ct.export.load(tmp_path / "2")
    assert not loaded.native
    np.testing.assert_array_equal(loaded(X), 2 * X)
    with pytest.raises(ValueError, match="it is not the one that was written with the file, or not all of it"):
        ct.export.load(tmp_path / "2", native=True)


def test_what_is_written_again_is_what_is_loaded(tmp_path: Path) -> None:
    kept = []
    for number in range(1, 6):
        ct.export.compile(lambda x, number=number: x * number, X, name="step").save(tmp_path)
        loaded = ct.export.load(tmp_path)
        assert loaded.native
        np.testing.assert_array_equal(loaded(X), number * X)
        kept += [(number, loaded), (number, ct.export.load(tmp_path))][number % 2 :]
    for number, loaded in kept:
        np.testing.assert_array_equal(loaded(X), number * X)


def test_errors(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="C function"):
        ct.export.compile(loss, PARAMS, X, name="no good")
    with pytest.raises(ValueError, match="C function"):
        ct.export.compile(loss, PARAMS, X, name="while").save(tmp_path)
    with pytest.raises(ValueError, match="traced"):
        ct.jit(lambda t: ct.export.compile(lambda x: x + t, X))(1.0)
    with pytest.raises(FileNotFoundError, match="no saved functions"):
        ct.export.load(tmp_path / "nowhere")
    with pytest.raises(
        ValueError,
        match=r"files='exe' is no kind of file\n  the kinds: h, c, a, so, wasm, mjs, ctir, cmake, pc, hpp, rs, py, jl",
    ):
        ct.export.compile(loss, PARAMS, X).save(tmp_path, files=("h", "exe"))
    with pytest.raises(ValueError, match="verify='some' is neither"):
        ct.export.load(tmp_path, verify="some")
    exported(tmp_path)
    ct.export.compile(lambda x: x, X, name="other").save(tmp_path)
    with pytest.raises(ValueError, match=r"holds several libraries: \['other', 'step'\]\n  pass one of them as name="):
        ct.export.load(tmp_path)


def test_arrays_closed_over_are_built_in(tmp_path: Path) -> None:
    table, flags = cnp.array(X), cnp.array(np.array([True, False, True, False]))
    large = cnp.array(np.arange(5000, dtype=np.float32))

    def f(x: Any) -> Any:
        return cnp.where(flags, x @ table, 0.5), large[:4] * x[0, 0], cnp.sum(large)

    for actual, wanted in zip(call_exported(f, X.T, directory=tmp_path), f(X.T), strict=True):
        np.testing.assert_allclose(actual, wanted, rtol=1e-5)
    ct.export.compile(f, X.T, name="step").save(tmp_path)
    # Once, not once for each level.
    assert (tmp_path / "libstep.so").read_bytes().count(np.arange(1000, 1010, dtype=np.float32).tobytes()) == 1
    for native in (True, False):
        for actual, wanted in zip(ct.export.load(tmp_path, native=native)(X.T), f(X.T), strict=True):
            np.testing.assert_allclose(actual, wanted, rtol=1e-5)


def test_several_functions_share_structures(tmp_path: Path) -> None:
    def init(key: Any) -> Any:
        return {"params": ct.tree.map(lambda p: 0.1 * ct.random.normal(key, p.shape, p.dtype), PARAMS)}

    def step(params: Any, x: Any, lr: Any) -> Any:
        value, gradient = ct.value_and_grad(loss)(params, x)
        return {"params": ct.tree.map(lambda p, g: p - lr * g, params, gradient), "loss": value}

    key = ct.random.PRNGKey(3)
    library = ct.export.library(
        "mlp",
        {
            "init": ct.export.function(init, key),
            "step": ct.export.function(step, PARAMS, X, 0.5, donate="params"),
            "predict": ct.export.function(lambda params, x: x @ params["w"], PARAMS, X, results="y"),
        },
    )
    library.save(tmp_path)
    header = library.header()
    assert header == (tmp_path / "mlp.h").read_text()
    assert header.count("typedef struct mlp_params {") == 1
    assert "int mlp_init(const uint32_t* key /* [2] */, mlp_params* params, const ct_run* run);" in header
    assert (
        "int mlp_step(mlp_params* params, const float* x /* [5][4] */, float lr, float* loss, const ct_run* run);"
        in header
    )
    loaded = ct.export.load(tmp_path)
    assert loaded.native
    assert repr(loaded) == "<mlp: init, step, predict>"
    with pytest.raises(TypeError, match="mlp has several functions: init, step, predict"):
        loaded(key)
    with pytest.raises(AttributeError, match="mlp has no function 'train'\n  its functions: init, step, predict"):
        loaded.train
    first, wanted = loaded.init(key)["params"], init(key)["params"]
    np.testing.assert_allclose(first["w"], wanted["w"], rtol=1e-6)
    results = loaded.step(first, X, 0.5)
    expected = step(wanted, X, 0.5)
    np.testing.assert_allclose(results["loss"], expected["loss"], rtol=1e-6)
    np.testing.assert_allclose(results["params"]["w"], expected["params"]["w"], rtol=1e-6)
    with pytest.raises(ct.errors.DeletedArrayError, match="donated"):
        np.asarray(first["w"])
    np.testing.assert_allclose(loaded.predict(PARAMS, X), X @ PARAMS["w"], rtol=1e-6)
    gradient = ct.grad(lambda p: cnp.sum(loaded.predict(p, X)))(PARAMS)["w"]
    np.testing.assert_allclose(gradient, np.tile(X.sum(0)[:, None], 3), rtol=1e-5)


@pytest.mark.parametrize("target", ["x86-64", "x86-64-v2", "x86-64-v3", "native"])
def test_targets_compute_the_same(target: str, tmp_path: Path) -> None:
    made = ct.export.compile(ct.grad(loss), PARAMS, X, name="step", target=target)
    made.save(tmp_path)
    library = Library(tmp_path, "step")
    if library.c.step_check() == 6:
        pytest.skip(f"this processor is no {target}")
    outputs = empty_results(made.functions["step"])
    assert library.call(leaves_of((PARAMS, X)), outputs) == 0
    expected = ct.grad(loss)(PARAMS, X)
    np.testing.assert_allclose(outputs[0], expected["b"], rtol=1e-5)
    np.testing.assert_allclose(outputs[1], expected["w"], rtol=1e-5)


def test_two_exports_are_equal(tmp_path: Path) -> None:
    """Whoever makes them, where, and when."""
    program = (
        "import sys, numpy as np, cotangent as ct, cotangent.numpy as cnp\n"
        "table = cnp.arange(3000.0)\n"
        "f = ct.export.compile(lambda p, x: (p['w'] * x + table[:3]).sum(), {'w': np.ones(3)}, np.ones(3), name='step')\n"
        "f.save(sys.argv[1])\n"
    )
    for name in ("here", "there"):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "program.py").write_text(program)
        subprocess.run([sys.executable, "program.py", "out"], cwd=folder, check=True)
    for file in ("libstep.a", "libstep.so", "step.ctir", "step.h"):
        here, there = ((tmp_path / name / "out" / file).read_bytes() for name in ("here", "there"))
        assert here == there, file
        assert str(tmp_path).encode() not in here
