"""A network that learns on a microcontroller: exported for a Cortex-M7, linked with main.c, run by qemu-system-arm.

    python examples/microcontroller/train.py

needs clang, lld and qemu-system-arm. The library has no heap, no operating system and no C library beneath it; its state is one structure
of 1 kB, which a step updates in place.
"""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path

import cotangent as ct
import cotangent.numpy as cnp

HERE = Path(__file__).resolve().parent


def init(key):
    w1, w2 = ct.random.split(key)
    return {
        "w1": ct.random.normal(w1, (1, 32)),
        "b1": cnp.linspace(-2.0, 2.0, 32),
        "w2": ct.random.normal(w2, (32, 1)) / 6,
        "b2": cnp.zeros(1),
    }


def predict(params, x):
    return cnp.tanh(x @ params["w1"] + params["b1"]) @ params["w2"] + params["b2"]


def step(params, number):
    """One step of gradient descent on 32 random points of a curve."""
    x = ct.random.uniform(ct.random.key(number), (32, 1), minval=-2.0, maxval=2.0)

    def loss(params):
        return cnp.mean((predict(params, x) - 2 * x * cnp.exp(-(x**2))) ** 2)

    value, gradient = ct.value_and_grad(loss)(params)
    return {"params": ct.tree_util.tree_map(lambda p, g: p - 0.1 * g, params, gradient), "loss": value}


def export(folder: Path) -> None:
    params = ct.jit(init)(ct.random.key(1))
    functions = {
        "init": ct.export.function(init, ct.random.key(1), results="params"),
        "step": ct.export.function(step, params, cnp.uint32(0), donate="params"),
    }
    ct.export.library("wave", functions, target="cortex-m7").save(folder, files=("h", "a"))


def losses() -> list[float]:
    """What this machine finds."""
    params, jitted, found = ct.jit(init)(ct.random.key(1)), ct.jit(step), []
    for number in range(1001):
        result = jitted(params, cnp.uint32(number))
        params = result["params"]
        if number % 200 == 0:
            found.append(float(result["loss"]))
    return found


def run(folder: Path) -> str:
    """What the board prints."""
    export(folder)
    flags = ["--target=thumbv7em-none-eabihf", "-mcpu=cortex-m7", "-O2", "-ffreestanding", "-fno-builtin"]
    flags += ["-std=c11", "-Wall", "-Wextra", "-Werror", "-I", str(folder)]
    subprocess.run(["clang", *flags, "-c", str(HERE / "main.c"), "-o", "main.o"], cwd=folder, check=True)
    linked = ["main.o", "libwave.a", "-T", str(HERE / "link.ld"), "-o", "wave.elf"]
    subprocess.run(["ld.lld", *linked], cwd=folder, check=True)
    board = [
        "qemu-system-arm",
        "-M",
        "mps2-an500",
        "-nographic",
        "-monitor",
        "none",
        "-serial",
        "stdio",
        "-semihosting",
    ]
    return subprocess.run(
        [*board, "-kernel", "wave.elf"], cwd=folder, capture_output=True, text=True, check=True, timeout=120
    ).stdout


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        print(run(Path(folder)), end="")
