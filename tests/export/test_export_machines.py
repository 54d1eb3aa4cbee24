"""Exported programs on each of the machines that can be exported for compute what this process does. The machines are emulated by qemu;
WebAssembly runs in node."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import cotangent as ct
import numpy as np
import pytest
from exported_calls import call_exported
from exported_machines import NM, export, lacks, run, undefined
from exported_programs import models, recorded

NEW = ("riscv64", "riscv64-v", "armv7", "cortex-m4f", "cortex-m7", "cortex-m33", "wasm32")
TARGETS = ("x86-64-v2", "x86-64-v3", "x86-64", "aarch64", *NEW)


def narrows_floats(function: Any, arguments: Sequence[Any]) -> bool:
    """Whether integers of less than 32 bits are made of floats."""
    graph = ct.make_ir(function)(*arguments)
    return any(
        equation.primitive == "convert"
        and equation.in_types[0].dtype.kind == "f"
        and equation.out_types[0].dtype.kind in "iu"
        and equation.out_types[0].dtype.itemsize < 4
        for equation in ct.ir.equations(graph)
    )


# What an emulator has none of: qemu-riscv64 7.2 ends with a failed assertion of its own at vfncvt.rtz.x.f.w.
CRASHES = {"riscv64-v": narrows_floats}


def needs(target: str) -> None:
    reason = lacks(target)
    if reason is not None:
        pytest.skip(reason)


@cache
def expected(kind: str) -> dict[str, list[np.ndarray]]:
    programs = {"recorded": recorded, "models": models}[kind]()
    return {
        name: [np.asarray(x) for x in ct.tree_util.tree_flatten(ct.jit(f)(*arguments))[0]]
        for name, (f, arguments) in programs.items()
    }


def possible(kind: str, target: str) -> dict[str, Any]:
    """The programs of a kind, without those that an emulator ends at."""
    programs = {"recorded": recorded, "models": models}[kind]()
    crashes = CRASHES.get(target)
    return {name: program for name, program in programs.items() if crashes is None or not crashes(*program)}


def on(target: str, programs: dict[str, Any], directory: Path, numerics: str = "fast") -> list[list[np.ndarray]]:
    return run(list(programs.values()), directory, target, numerics)


def compare(names: list[str], results: list[list[np.ndarray]], wanted: list[list[np.ndarray]]) -> None:
    for name, actual, expected in zip(names, results, wanted, strict=True):
        for a, w in zip(actual, expected, strict=True):
            assert a.dtype == w.dtype and a.shape == w.shape, name
            if w.dtype.kind not in "fcV":
                np.testing.assert_array_equal(a, w, name)
                continue
            itemsize = np.zeros(1, w.dtype).real.dtype.itemsize
            rtol = {8: 1e-9, 4: 2e-5, 2: 5e-3, 1: 0.2}[itemsize]
            wide = (a.astype(complex), w.astype(complex))
            largest = np.abs(wide[1])[np.isfinite(wide[1])].max(initial=0)
            # What is nothing but rounding, the rest of a factorisation say, is so everywhere.
            noise = 1e3 * {8: 2e-16, 4: 1e-7}.get(itemsize, 0)
            atol = noise if largest < noise else rtol * largest
            np.testing.assert_allclose(*wide, rtol=rtol, atol=atol, err_msg=name)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("kind", ["models", "recorded"])
def test_results(kind: str, target: str, tmp_path: Path, long_run: bool) -> None:
    if kind == "recorded" and target not in NEW:
        pytest.skip("test_ops.py runs them on this machine's code")
    if kind == "recorded" and not long_run:
        pytest.skip("all records on all machines: with --long")
    needs(target)
    programs = possible(kind, target)
    assert len(programs) > 40
    wanted = expected(kind)
    compare(list(programs), on(target, programs, tmp_path), [wanted[name] for name in programs])


PORTABLE = (
    "x86-64",
    "x86-64-v2",
    "aarch64",
    "riscv64",
    "riscv64-v",
    "armv7",
    "cortex-m4f",
    "cortex-m7",
    "cortex-m33",
    "wasm32",
)


def bits(array: np.ndarray) -> bytes:
    """But for the sign and payload of NaN, which processors choose."""
    array = np.array(array)
    if array.dtype.kind in "fV":
        array[np.isnan(array.astype(np.float64))] = np.nan
    elif array.dtype.kind == "c":
        array.real[np.isnan(array.real)] = array.imag[np.isnan(array.imag)] = np.nan
    return array.tobytes()


@cache
def portable() -> dict[str, list[np.ndarray]]:
    """Called in this process."""
    with TemporaryDirectory() as folder:
        return {
            name: call_exported(f, *arguments, directory=Path(folder), numerics="portable")
            for name, (f, arguments) in models().items()
        }


@pytest.mark.parametrize("target", PORTABLE)
def test_portable_numerics_are_the_same_bits(target: str, tmp_path: Path) -> None:
    needs(target)
    programs = possible("models", target)
    wanted, close = portable(), expected("models")
    results = on(target, programs, tmp_path, "portable")
    compare(list(programs), results, [close[name] for name in programs])
    different = [
        name
        for name, actual in zip(programs, results, strict=True)
        if [bits(a) for a in actual] != [bits(w) for w in wanted[name]]
    ]
    assert different == []


def test_numerics_of_other_names() -> None:
    with pytest.raises(ValueError, match="numerics='exact' is neither 'fast' nor 'portable'"):
        ct.export.compile(lambda x: x, np.float32(1), numerics="exact")


def test_portable_numerics_have_no_fused_products(tmp_path: Path) -> None:
    """A product and a sum of two roundings, where the target's own arithmetic has one."""
    if lacks("aarch64"):
        pytest.skip(str(lacks("aarch64")))
    x = np.float32(1 + 2**-12)
    rows, columns = np.zeros((2, 16, 16), np.float32)
    rows[:, 0], rows[:, 1], columns[0], columns[1] = 1, x, -1 - 2**-11, x
    program = (lambda a, b: a @ b, (rows, columns))
    (fast,), (portable,) = run([program], tmp_path, "aarch64"), run([program], tmp_path, "aarch64", "portable")
    assert (fast[0] == 2.0**-24).all() and (portable[0] == 0).all()


@pytest.mark.parametrize("target", NEW)
def test_libraries_need_nothing(target: str, tmp_path: Path) -> None:
    if NM is None:
        pytest.skip("needs llvm-nm")
    export(list(models().values()), target).save(tmp_path, files=("a",))
    left = undefined(tmp_path / "libprograms.a") - {"memcpy", "memmove", "memset"}
    if target in ("armv7", "cortex-m4f", "cortex-m7", "cortex-m33"):
        left = {name for name in left if not name.startswith("__aeabi_")}
    elif target == "wasm32":
        left -= {"__stack_pointer", "__indirect_function_table", "__linear_memory"}  # of every object
    assert left == set()


def test_a_module_imports_nothing(tmp_path: Path) -> None:
    made = ct.export.compile(lambda x: x + 1, np.ones(3, np.float32), name="step", target="wasm32")
    module = (made.save(tmp_path) / "step.wasm").read_bytes()
    assert module[:8] == b"\0asm\1\0\0\0"
    sections, at = set(), 8
    while at < len(module):
        sections.add(module[at])
        at += 1
        size = shift = 0
        while True:
            byte = module[at]
            at += 1
            size |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                break
        at += size
    assert 2 not in sections and {1, 3, 5, 7, 10} <= sections  # imports; types, functions, memory, exports, code


@pytest.mark.parametrize(
    ("target", "files"),
    [
        ("riscv64", {"step.h", "libstep.a", "libstep.so", "step.ctir"}),
        ("armv7", {"step.h", "libstep.a", "libstep.so", "step.ctir"}),
        ("cortex-m7", {"step.h", "libstep.a", "step.ctir"}),
        ("wasm32", {"step.h", "step.wasm", "step.mjs", "step.ctir"}),
    ],
)
def test_files(target: str, files: set[str], tmp_path: Path) -> None:
    made = ct.export.compile(lambda x: x + 1, np.ones(3, np.float32), name="step", target=target)
    assert {path.name for path in made.save(tmp_path).iterdir()} == files
    first = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    again = made.save(tmp_path / "again")
    assert {path.name: path.read_bytes() for path in again.iterdir()} == first
    if "libstep.so" in files:
        machine = {"riscv64": 243, "armv7": 40}[target]
        assert int.from_bytes(first["libstep.so"][18:20], "little") == machine


def test_files_that_a_target_lacks(tmp_path: Path) -> None:
    made = ct.export.compile(lambda x: x + 1, np.ones(3, np.float32), name="step", target="cortex-m4f")
    with pytest.raises(ValueError, match="there is no file 'so' for cortex-m4f\n  those that there are: h, c, a, ctir"):
        made.save(tmp_path, files=("so",))
    with pytest.raises(ValueError, match="there is no file 'wasm' for x86-64"):
        made.save(tmp_path, target="x86-64", files=("wasm",))


@pytest.mark.parametrize("name", ["riscv32", "armv6", "cortex-m0", "wasm64", "thumbv7em-none-eabihf", "i686"])
def test_other_targets_are_an_error_that_lists_these(name: str) -> None:
    with pytest.raises(ValueError, match=r"choose one of: x86-64, .*aarch64, riscv64, riscv64-v, armv7, cortex-m4f"):
        ct.export.compile(lambda x: x, np.float32(1), target=name)


LOADER = """
import { load } from "./model.mjs";
const { functions } = await load();
const call = functions.step.allocate();
call.params.layers[0].w = [1, 2, 3, 4, 5, 6];
call.params.layers[1].w.set([6, 5, 4, 3, 2, 1]);
call.params.k = 7n;
call.x = [1, 2];
call.lr = 0.5;
functions.step(call);
const loss = functions.loss.allocate({ params: call.params });
loss.x = [1, -1];
functions.loss(loss);
let errors = [];
try { functions.step({}); } catch (error) { errors.push(error.constructor.name); }
const take = functions.take.allocate();
take.ragged.n.set([9]);
try { functions.take(take); } catch (error) { errors.push(error.message); }
console.log(JSON.stringify({
  w: call.params.layers.map((layer) => [...layer.w]), k: String(call.params.k[0]), out: [...call.out], loss: loss.out[0], errors,
}));
"""


def test_the_module_is_called_from_javascript(tmp_path: Path) -> None:
    needs("wasm32")
    params = {"layers": [{"w": np.zeros((2, 3), np.float32)} for _ in range(2)], "k": np.zeros(1, np.int64)}

    def step(params: Any, x: Any, lr: Any) -> Any:
        layers = [{"w": layer["w"] * lr} for layer in params["layers"]]
        return {"params": {"layers": layers, "k": params["k"] + 2**40}, "out": x @ layers[0]["w"]}

    made = ct.export.library(
        "model",
        {
            "step": ct.export.function(step, params, np.zeros(2, np.float32), np.float32(0), donate="params"),
            "loss": ct.export.function(
                lambda params, x: (x @ params["layers"][1]["w"]).sum(), params, np.zeros(2, np.float32)
            ),
            "take": ct.export.function(
                ct.mask(lambda ragged: ragged.sum()), ct.Ragged(np.zeros(5, np.float32), {0: 3})
            ),
        },
        target="wasm32",
    )
    made.save(tmp_path)
    (tmp_path / "main.mjs").write_text(LOADER)
    done = subprocess.run(["node", "main.mjs"], cwd=tmp_path, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["w"] == [[0.5, 1.0, 1.5, 2.0, 2.5, 3.0], [3.0, 2.5, 2.0, 1.5, 1.0, 0.5]]
    assert found["k"] == str(2**40 + 7)
    assert found["out"] == [0.5 + 4, 1 + 5, 1.5 + 6]
    assert found["loss"] == 4.5
    assert found["errors"] == ["TypeError", "take: a length is negative or above its bound"]
