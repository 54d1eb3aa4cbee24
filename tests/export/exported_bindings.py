"""A library of nested pytrees, several dtypes, a state in place, numbers, a ragged argument and a workspace, and what its functions compute."""

from __future__ import annotations

import importlib.util
import subprocess
from pathlib import Path
from types import ModuleType
from typing import Any

import cotangent as ct
import cotangent.numpy as cnp
import numpy as np

ALL = ("h", "hpp", "rs", "py", "jl", "a", "so", "ctir")
F32 = np.float32
PARAMS = {
    "layers": [{"w": np.ones((4, 4), F32), "b": np.zeros(4, F32)} for _ in range(2)],
    "half": np.ones(3, np.float16),
    "flags": np.array([True, False, True]),
    "z": np.ones((2, 2), np.complex64),
    "small": np.arange(5, dtype=np.int8),
}
WORDS = ct.Ragged(np.full((3, 5, 4), 0.25, F32), {1: np.array([5, 2, 0], np.int32)})


def init(key: Any) -> Any:
    return {"params": ct.tree.map(cnp.asarray, PARAMS), "count": cnp.int32(0), "key": key}


def step(state: Any, x: Any, rate: Any) -> Any:
    params = state["params"]
    layers = [{"w": layer["w"] + rate * (x[:4] @ layer["w"]), "b": layer["b"] + rate} for layer in params["layers"]]
    new = {
        "layers": layers,
        "half": params["half"] + 1,
        "flags": ~params["flags"],
        "z": params["z"] * 1j,
        "small": params["small"] * 2,
    }
    key, draw = ct.random.split(state["key"])
    loss = sum(layer["w"].sum() for layer in layers) + ct.random.uniform(draw)
    return {"state": {"params": new, "count": state["count"] + 1, "key": key}, "loss": loss}


def predict(params: Any, words: Any, flag: Any, scale: Any) -> Any:
    """The state's parameters alone."""

    def one(sentence: Any) -> Any:
        return cnp.tanh(sentence @ params["layers"][0]["w"]).sum(axis=0)

    scores = ct.vmap(ct.mask(one))(words) * scale
    return {"scores": scores, "any": flag & params["flags"][0], "z": params["z"].sum()}


def total(z: Any, n: Any) -> Any:
    return z.sum() * n


def library() -> ct.export.Exported:
    state = ct.jit(init)(ct.random.key(0))
    functions = {
        "init": ct.export.function(init, ct.random.key(0), results="state"),
        "step": ct.export.function(step, state, np.ones((6, 4), F32), 0.1, donate="state"),
        "predict": ct.export.function(predict, PARAMS, WORDS, True, np.float64(2)),
        "total": ct.export.function(total, np.ones((2, 3), np.complex64), np.float16(3)),
    }
    return ct.export.library("demo", functions)


def results(folder: Path) -> list[float]:
    """What the programs of all languages print: two steps, a prediction, a total, and parts of the state."""
    demo = ct.export.load(folder, native=True)
    state = demo.init(ct.random.key(5))
    found: list[Any] = []
    for x in (np.full((6, 4), 0.5, F32), np.zeros((6, 4), F32)):
        out = demo.step(state, x, F32(0.1))
        state = out["state"]
        found.append(out["loss"])
    params = state["params"]
    out = demo.predict(params, WORDS, flag=True, scale=2.0)
    found += [out["any"], *np.ravel(out["scores"]), out["z"].real, out["z"].imag]
    of_total = demo.total(np.full((2, 3), 1 + 2j, np.complex64), np.float16(3))
    found += [of_total.real, of_total.imag]
    low = int(np.asarray(ct.random.key_data(state["key"]))[1])
    half = np.asarray(params["half"])[1].view(np.uint16)
    found += [state["count"], low, params["layers"][1]["w"][3, 2], params["small"][3], half, params["flags"][1]]
    return [float(x) for x in found]


def run(*command: object, folder: Path | None = None) -> str:
    """What a program prints."""
    words = [str(word) for word in command]
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=300, cwd=folder)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-6000:]
    return done.stdout


def same(printed: str, expected: list[float]) -> None:
    """That these are the numbers, as float32."""
    np.testing.assert_array_equal(np.array(printed.split(), F32), np.array(expected, F32))


def module(path: Path, name: str) -> ModuleType:
    """A module of Python that was written."""
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made
