"""What a GPU takes for programs of the kinds that the compiler is made for: `measure.py RESULTS [DEVICE [BYTES]]`.

Each figure stands beside its aim. Times are the least of several repetitions, of which each waits once for many calls. Large arrays have
so many bytes: 1 GiB where none are said.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cotangent as ct
import cotangent.numpy as cnp
import numpy as np


def seconds_each(call: Callable[[], Any], count: int, repetitions: int = 5) -> float:
    """Of ``count`` calls of which only the last one is waited for."""
    ct.block_until_ready(call())
    least = float("inf")
    for _ in range(repetitions):
        started = time.perf_counter()
        result = None
        for _ in range(count):
            result = call()
        ct.block_until_ready(result)
        least = min(least, (time.perf_counter() - started) / count)
    return least


def network(sizes: list[int], examples: int) -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(0)
    params = [
        (rng.normal(size=shape).astype(np.float32) * 0.1, np.zeros(shape[1], np.float32))
        for shape in zip(sizes[:-1], sizes[1:], strict=True)
    ]
    x = rng.normal(size=(examples, sizes[0])).astype(np.float32)
    return params, x, np.eye(sizes[-1], dtype=np.float32)[rng.integers(0, sizes[-1], examples)]


def loss(params: Any, x: Any, y: Any) -> Any:
    for weight, bias in params[:-1]:
        x = cnp.tanh(x @ weight + bias)
    weight, bias = params[-1]
    return -cnp.mean(cnp.sum(ct.nn.log_softmax(x @ weight + bias) * y, -1))


def step(params: Any, x: Any, y: Any) -> Any:
    return ct.tree.map(lambda p, g: p - 0.1 * g, params, ct.grad(loss)(params, x, y))


class Figures:
    """What was measured, written as it comes."""

    def __init__(self, file: Path, device: str, large: int) -> None:
        self.file = file
        self.device = device
        self.large = large  # bytes of the large arrays
        self.lines: list[dict[str, Any]] = []

    def add(self, name: str, value: float, unit: str, aim: str) -> None:
        self.lines.append({"name": name, "value": value, "unit": unit, "aim": aim})
        self.file.write_text(json.dumps(self.lines, indent=1))
        print(f"  {name:44} {value:12.4g} {unit:8} aim: {aim}", flush=True)

    def put(self, x: Any) -> Any:
        return ct.device_put(x, self.device)

    def overhead(self) -> None:
        x, f = self.put(np.ones(16, np.float32)), ct.jit(lambda x: x + 1)
        self.add("jitted x+1, enqueued", 1e6 * seconds_each(lambda: f(x), 1000), "us", "3.5")
        iterate = ct.jit(
            lambda x: ct.lax.while_loop(lambda s: s[0] < 10_000, lambda s: (s[0] + 1, s[1] * 0.999 + 0.1), (0, x))
        )
        scalar = self.put(np.float32(1))
        self.add(
            "scalar while_loop, an iteration",
            1e6 * seconds_each(lambda: iterate(scalar), 3) / 10_000,
            "us",
            "0.2 (JAX 8)",
        )
        started = time.perf_counter()
        ct.block_until_ready(ct.jit(lambda x: x * 1.2345 + 7)(x))
        self.add("first call of a new program", 1e3 * (time.perf_counter() - started), "ms", "40")

    def bandwidth(self) -> None:
        rows = self.large // 4096
        x = cnp.ones((rows, 1024), "float32", device=self.device)
        copy = seconds_each(lambda: ct.jit(lambda x: x + 0)(x), 5)
        self.add("copy", 2 * self.large / copy / 1e9, "GB/s", "the memory's")
        for name, f, moved in [
            ("pointwise", lambda x: cnp.tanh(x) * 2 + 1, 2),
            ("softmax of rows", lambda x: ct.nn.softmax(x, -1), 2),
            (
                "layer norm of rows",
                lambda x: (x - x.mean(-1, keepdims=True)) / cnp.sqrt(x.var(-1, keepdims=True) + 1e-5),
                2,
            ),
            ("sum", cnp.sum, 1),
            ("sums of columns", lambda x: x.sum(0), 1),
        ]:
            jitted = ct.jit(f)
            seconds = seconds_each(lambda jitted=jitted: jitted(x), 5)
            self.add(
                f"{name}, of the copy's bandwidth",
                moved * self.large / seconds / (2 * self.large / copy),
                "",
                "0.9",
            )

    def products(self) -> None:
        for dtype in ("float32", "bfloat16"):
            a = cnp.ones((4096, 4096), dtype, device=self.device)
            f = ct.jit(lambda a: a @ a)
            self.add(
                f"product of 4096 x 4096, {dtype}",
                2 * 4096**3 / seconds_each(lambda a=a, f=f: f(a), 3) / 1e12,
                "TFLOP/s",
                "0.97 of cuBLASLt",
            )
        many = cnp.ones((4096, 64, 64), "float32", device=self.device)
        f = ct.jit(lambda a: a @ a)
        self.add(
            "4,096 products of 64 x 64",
            4096 * 2 * 64**3 / seconds_each(lambda: f(many), 5) / 1e12,
            "TFLOP/s",
            "cuBLASLt's",
        )

    def training(self) -> None:
        params, x, y = self.put(network([64, 32, 10], 32))
        many = ct.jit(lambda p, x, y: ct.lax.fori_loop(0, 100, lambda i, p: step(p, x, y), p))
        self.add(
            "SGD step of a 64-32-10 network, in a loop",
            1e6 * seconds_each(lambda: many(params, x, y), 5) / 100,
            "us",
            "6 (JAX 40 to 60)",
        )
        one = ct.jit(step)
        self.add("the same, a call each", 1e6 * seconds_each(lambda: one(params, x, y), 100), "us", "")
        params, x, y = self.put(network([784, 256, 10], 256))
        private = ct.per_example.dp_sgd_step(
            loss, learning_rate=0.1, clip_norm=1.0, noise_multiplier=1.0, expected_batch_size=256
        )
        key = ct.random.key(0)
        self.add(
            "DP-SGD step of 784-256-10, 256 examples",
            1e6 * seconds_each(lambda: private(key, params, x, y), 20),
            "us",
            "a 20th of JAX",
        )
        plain = ct.jit(step)
        self.add("its step without privacy", 1e6 * seconds_each(lambda: plain(params, x, y), 20), "us", "")

    def recurrent(self) -> None:
        hidden, examples, times = 128, 16, 128
        rng = np.random.default_rng(0)
        w = self.put(rng.normal(size=(2 * hidden, 4 * hidden)).astype(np.float32) * 0.05)
        x = self.put(rng.normal(size=(times, examples, hidden)).astype(np.float32))

        def last(w: Any, x: Any) -> Any:
            def cell(state: Any, x: Any) -> Any:
                h, c = state
                i, f, g, o = cnp.split(cnp.concatenate([x, h], -1) @ w, 4, -1)
                c = ct.nn.sigmoid(f) * c + ct.nn.sigmoid(i) * cnp.tanh(g)
                return (ct.nn.sigmoid(o) * cnp.tanh(c), c), None

            zero = cnp.zeros((examples, hidden), "float32")
            return ct.lax.scan(cell, (zero, zero), x)[0][0].sum()

        both = ct.jit(ct.value_and_grad(last))
        self.add("LSTM, T=128, h=128, b=16, with its gradient", 1e3 * seconds_each(lambda: both(w, x), 3), "ms", "1")


def main(results: Path, device: str = "cuda", large: int = 1 << 30) -> int:
    figures = Figures(results / "bench.json", device, large)
    failed = 0
    for part in (figures.overhead, figures.training, figures.recurrent, figures.bandwidth, figures.products):
        try:
            part()
        except Exception as error:
            failed += 1
            print(f"  {part.__name__}: {type(error).__name__}: {error}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), *sys.argv[2:3], *map(int, sys.argv[3:4])))
