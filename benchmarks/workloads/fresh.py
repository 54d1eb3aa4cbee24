"""Measurements in a fresh process: `python fresh.py WHAT LIBRARY` prints one number. `measure` starts it.

What: an import's seconds over NumPy's; milliseconds to a first result; megabytes of memory at its peak.
"""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve()


def measure(what: str, library: str, repeat: int = 3) -> float:
    """The least of `repeat` runs."""
    env = {**os.environ, "CT_CACHE_DIR": "", "JAX_ENABLE_COMPILATION_CACHE": "false"}
    env.pop("PYTHONDONTWRITEBYTECODE", None)  # installed packages have their bytecode
    command = [sys.executable, str(HERE), what, library]
    return min(
        float(subprocess.run(command, env=env, capture_output=True, text=True, check=True).stdout.split()[-1])
        for _ in range(repeat)
    )


def peak_megabytes() -> float:
    """Of memory in use by this process so far."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1024


def now_megabytes() -> float:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS")) / 1024


def import_seconds(library: str) -> float:
    import numpy  # noqa: F401

    start = time.perf_counter()
    __import__(library)
    if library == "cotangent":
        __import__("cotangent.numpy")
    return time.perf_counter() - start


def first(prepare: Callable[[Any], tuple[Callable[..., Any], tuple[Any, ...]]]) -> Callable[[str], float]:
    """Milliseconds from a Python function to its first result, arrays being there."""

    def run(name: str) -> float:
        import libraries
        from judge import settle

        library = libraries.load(name)[0][0 if name == "cotangent" else 1]
        function, arguments = prepare(library)
        arguments = library.arrays(arguments)
        library.wait(library.array(arguments_leaf()))
        settle()  # an import leaves threads that wait actively, NumPy's for one
        start = time.perf_counter()
        library.wait(library.jit(function)(*arguments))
        return (time.perf_counter() - start) * 1e3

    return run


def arguments_leaf() -> Any:
    import numpy as np

    return np.zeros(3, np.float32)


def add_one(library: Any) -> Any:
    from workloads.data import normal

    return (lambda x: x + 1), (normal(8),)


def mlp_gradient(library: Any) -> Any:
    from workloads.data import mlp, mlp_loss, normal, one_hot

    return library.grad(mlp_loss(library)), (mlp([64, 32, 10]), normal(8, 64), one_hot(8, 10))


def per_example_gradient(library: Any) -> Any:
    from workloads.data import mlp, mlp_loss, normal, one_hot

    gradients = library.vmap(library.grad(mlp_loss(library)), (None, 0, 0))
    return gradients, (mlp([64, 32, 10]), normal(8, 64), one_hot(8, 10))


def unrolled_blocks(library: Any) -> Any:
    from workloads.data import normal
    from workloads.sequence import LENGTH, ROWS, WIDTH, block, block_parameters

    apply = block(library)

    def loss(parameters: Any, x: Any) -> Any:
        for p in parameters:
            x = apply(p, x)
        return library.xp.mean(x**2)

    return library.grad(loss), ([block_parameters(10 * i) for i in range(12)], normal(ROWS, LENGTH, WIDTH))


def memory_of(prepare: Callable[[Any], tuple[Callable[..., Any], tuple[Any, ...]]]) -> Callable[[str], float]:
    """Megabytes that a call takes at its peak, over what the process held when its arguments were there."""

    def run(name: str) -> float:
        import libraries

        library = libraries.load(name)[0][0 if name == "cotangent" else 1]
        function, arguments = prepare(library)
        arguments = library.arrays(arguments)
        library.wait(
            library.jit(lambda x: x + 1)(arguments_leaf() if name == "cotangent" else library.array(arguments_leaf()))
        )
        library.wait(arguments)
        gc.collect()
        before = now_megabytes()
        Path("/proc/self/clear_refs").write_text("5")  # the peak starts anew
        compiled = library.jit(function)
        for _ in range(2):
            library.wait(compiled(*arguments))
        return peak_megabytes() - before

    return run


def first_call_memory(name: str) -> float:
    """Megabytes at the peak of a process that imports the library and makes one jitted call, over one that imports NumPy."""
    import numpy  # noqa: F401

    before = peak_megabytes()
    first(add_one)(name)
    return peak_megabytes() - before


def long_chain(library: Any) -> Any:
    import numpy as np

    def chain(x: Any) -> Any:
        for _ in range(25):
            x = library.xp.tanh(x) * 1.01
        return library.xp.sum(x)

    return library.grad(chain), (np.ones(10_000_000, np.float32),)


def gpt(library: Any) -> Any:
    from workloads.data import sgd
    from workloads.sequence import gpt_arguments, gpt_loss

    return sgd(library, gpt_loss(library)), gpt_arguments(4)


KINDS: dict[str, Callable[[str], float]] = {
    "import": import_seconds,
    "x+1": first(add_one),
    "mlp": first(mlp_gradient),
    "per-example": first(per_example_gradient),
    "blocks": first(unrolled_blocks),
    "memory of a first call": first_call_memory,
    "memory of a chain": memory_of(long_chain),
    "memory of gpt": memory_of(gpt),
}

if __name__ == "__main__":
    sys.path.insert(0, str(HERE.parent.parent))
    print(KINDS[sys.argv[1]](sys.argv[2]))
