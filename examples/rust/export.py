"""A network that a Rust program fits to a curve.

    python examples/rust/export.py build/curve
    rustc -O --crate-type=rlib -L build/curve build/curve/curve.rs --out-dir build/curve
    rustc -O --edition=2021 -L build/curve --extern curve=build/curve/libcurve.rlib examples/rust/main.rs -o build/curve/fit
    build/curve/fit

writes the library and its Rust module, makes a crate of that, and compiles and runs main.rs. In a project of cargo the module is a file among
the others, and a build script prints `cargo:rustc-link-search` with the folder of libcurve.a.
"""

from __future__ import annotations

import sys
from pathlib import Path

import cotangent as ct
import cotangent.numpy as cnp

POINTS, HIDDEN = 64, 16


def init(key):
    """Weights, and the velocities that descent gives them."""
    first, second = ct.random.split(key)
    params = {
        "w1": 3 * ct.random.normal(first, (HIDDEN,)),
        "b1": cnp.zeros(HIDDEN),
        "w2": ct.random.normal(second, (HIDDEN,)) / 4,
        "b2": cnp.zeros(()),
    }
    return {"params": params, "velocity": ct.tree.map(cnp.zeros_like, params)}


def predict(params, x):
    return cnp.tanh(x[:, None] * params["w1"] + params["b1"]) @ params["w2"] + params["b2"]


def step(state, x, y, rate):
    """Gradient descent with momentum."""

    def loss(params):
        return cnp.mean((predict(params, x) - y) ** 2)

    value, gradient = ct.value_and_grad(loss)(state["params"])
    velocity = ct.tree.map(lambda v, g: 0.9 * v - rate * g, state["velocity"], gradient)
    params = ct.tree.map(cnp.add, state["params"], velocity)
    return {"state": {"params": params, "velocity": velocity}, "loss": value}


def library() -> ct.export.Exported:
    state, x = ct.jit(init)(ct.random.key(0)), cnp.zeros(POINTS)
    functions = {
        "init": ct.export.function(init, ct.random.key(0), results="state"),
        "step": ct.export.function(step, state, x, x, 0.1, donate="state"),
        "predict": ct.export.function(predict, state["params"], x, results="y"),
    }
    return ct.export.library("curve", functions)


def main(folder: Path) -> None:
    library().save(folder, files=("h", "rs", "a", "so", "ctir"))


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "curve"))
