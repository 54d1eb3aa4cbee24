"""Side by side with JAX and NumPy, interleaved in one process: ratios, checked results, losses shown as plainly as wins.

A workload is a function of nothing for each library, returning an array. Calls of the libraries alternate; the least time of a call counts.
A result that differs is printed as WRONG, not as a time. JSON goes to benchmarks/results.json.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cotangent as ct
import cotangent.numpy as cnp
import numpy as np

Thunk = Callable[[], Any]
ROUNDS = 30


def modules() -> dict[str, Any]:
    """The libraries with one API, cotangent first."""
    libraries: dict[str, Any] = {"cotangent": (ct, cnp, ct.nn)}
    try:
        import jax
        import jax.numpy as jnp

        libraries["jax"] = (jax, jnp, jax.nn)
    except ImportError:
        pass
    return libraries


def mlp(sizes: list[int], batch: int) -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(0)
    params = [
        ((rng.standard_normal((a, b)) / np.sqrt(a)).astype(np.float32), np.zeros(b, np.float32))
        for a, b in zip(sizes, sizes[1:], strict=False)
    ]
    x = rng.standard_normal((batch, sizes[0])).astype(np.float32)
    y = np.eye(sizes[-1], dtype=np.float32)[rng.integers(0, sizes[-1], batch)]
    return params, x, y


def mlp_loss(xp: Any, nn: Any) -> Callable[..., Any]:
    def loss(params: Any, x: Any, y: Any) -> Any:
        for w, b in params[:-1]:
            x = xp.tanh(x @ w + b)
        w, b = params[-1]
        scores = x @ w + b
        return xp.mean(nn.logsumexp(scores, axis=-1) - xp.sum(scores * y, axis=-1))

    return loss


def workloads(library: tuple[Any, Any, Any]) -> dict[str, Callable[[], Thunk]]:
    """Name -> a function that prepares the workload and returns its thunk."""
    module, xp, nn = library

    def arrays(*shapes: tuple[int, ...]) -> list[Any]:
        rng = np.random.default_rng(1)
        return [xp.asarray(rng.standard_normal(shape).astype(np.float32)) for shape in shapes]

    def jitted(function: Callable[..., Any], *shapes: tuple[int, ...]) -> Callable[[], Thunk]:
        def prepare() -> Thunk:
            compiled, inputs = module.jit(function), arrays(*shapes)
            return lambda: module.block_until_ready(compiled(*inputs))

        return prepare

    def eager(function: Callable[..., Any], *shapes: tuple[int, ...]) -> Callable[[], Thunk]:
        def prepare() -> Thunk:
            inputs = arrays(*shapes)
            return lambda: module.block_until_ready(function(*inputs))

        return prepare

    def training(sizes: list[int], batch: int, per_example: bool = False) -> Callable[[], Thunk]:
        def prepare() -> Thunk:
            params, x, y = mlp(sizes, batch)
            tree = module.tree.map(xp.asarray, params)
            x, y = xp.asarray(x), xp.asarray(y)
            loss = mlp_loss(xp, nn)

            def step(params: Any, x: Any, y: Any) -> Any:
                if per_example:
                    one = lambda p, a, b: loss(p, a[None], b[None])  # noqa: E731
                    gradients = module.vmap(module.grad(one), in_axes=(None, 0, 0))(params, x, y)
                    return module.tree.map(lambda g: xp.sum(g * g), gradients)
                return module.tree.map(lambda p, g: p - 0.1 * g, params, module.grad(loss)(params, x, y))

            compiled = module.jit(step)
            return lambda: module.block_until_ready(compiled(tree, x, y))[0][0]

        return prepare

    return {
        "jitted x+1 on (8,)": jitted(lambda x: x + 1, (8,)),
        "eager add (8,)": eager(lambda x, y: x + y, (8,), (8,)),
        "eager grad of sum(sin(x)*x), (8,)": eager(module.grad(lambda x: xp.sum(xp.sin(x) * x)), (8,)),
        "SGD step MLP 64-32-10, batch 8": training([64, 32, 10], 8),
        "SGD step MLP 784-256-10, batch 128": training([784, 256, 10], 128),
        "per-example gradient norms, MLP 64-64-10, batch 128": training([64, 64, 10], 128, per_example=True),
        "matmul 64": jitted(lambda a, b: a @ b, (64, 64), (64, 64)),
        "matmul 512": jitted(lambda a, b: a @ b, (512, 512), (512, 512)),
        "pointwise chain with tanh, 1e6": jitted(lambda x: xp.tanh(x * 2.0 + 1.0) * x - 0.5, (1_000_000,)),
        "softmax (1024, 1024)": jitted(lambda x: nn.softmax(x, axis=-1), (1024, 1024)),
        "sum over axis 0 (2000, 1000)": jitted(lambda x: xp.sum(x, axis=0), (2000, 1000)),
        "hessian of 20 parameters": jitted(module.hessian(lambda x: xp.sum(xp.sin(x) * xp.sum(x * x))), (20,)),
    }


def first_result(library: tuple[Any, Any, Any]) -> float:
    """Milliseconds from nothing to the value and gradient of a 3-layer MLP."""
    module, xp, nn = library
    params, x, y = mlp([784, 256, 128, 10], 32)
    start = time.perf_counter()
    module.block_until_ready(module.jit(module.value_and_grad(mlp_loss(xp, nn)))(params, x, y))
    return (time.perf_counter() - start) * 1e3


def measure(thunks: dict[str, Thunk]) -> dict[str, float]:
    """Least seconds of a call of each, in turn."""
    counts, best = {}, dict.fromkeys(thunks, float("inf"))
    for name, thunk in thunks.items():
        thunk()
        start = time.perf_counter()
        thunk()
        counts[name] = max(1, min(2000, int(2e-3 / max(time.perf_counter() - start, 1e-7))))
    for _ in range(ROUNDS):
        for name, thunk in thunks.items():
            start = time.perf_counter()
            for _ in range(counts[name]):
                thunk()
            best[name] = min(best[name], (time.perf_counter() - start) / counts[name])
    return best


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="run workloads whose name contains this")
    options = parser.parse_args()
    libraries = modules()
    names = list(libraries)
    print(f"{'workload':54s}" + "".join(f"{name + ' µs':>16s}" for name in names) + f"{'peer / ours':>14s}")
    tables = {name: workloads(library) for name, library in libraries.items()}
    results: dict[str, dict[str, float | str]] = {}
    for workload in tables["cotangent"]:
        if options.only not in workload:
            continue
        thunks = {name: tables[name][workload]() for name in names}
        outputs = {name: np.asarray(thunk()) for name, thunk in thunks.items()}
        wrong = [n for n in names if not np.allclose(outputs[n], outputs["cotangent"], rtol=2e-3, atol=1e-3)]
        times = measure(thunks)
        row: dict[str, float | str] = {n: "WRONG" if n in wrong else times[n] * 1e6 for n in names}
        cells = "".join(f"{'WRONG':>16s}" if n in wrong else f"{times[n] * 1e6:16.2f}" for n in names)
        ratio = times["jax"] / times["cotangent"] if "jax" in times else float("nan")
        print(f"{workload:54s}{cells}{ratio:13.2f}x")
        results[workload] = row
    if not options.only:
        latency = {name: first_result(library) for name, library in libraries.items()}
        print(
            f"{'first result, value_and_grad of a 3-layer MLP (ms)':54s}"
            + "".join(f"{latency[n]:16.1f}" for n in names)
        )
        results["first result (ms)"] = dict(latency)
    Path(__file__).with_name("results.json").write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
