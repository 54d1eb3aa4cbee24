"""More threads of Python than cores: the right bits, all calls, nobody left behind.

How fast they are is a benchmark (`benchmarks/workloads/threads.py`); here no clock decides.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable
from typing import Any

import cotangent as ct
import cotangent.numpy as cnp
import numpy as np
import pytest

THREADS = 16
CORES = ct.config.read("threads")


def values(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


def network(weights: Any, x: Any) -> Any:
    return cnp.mean((cnp.tanh(x @ weights[0]) @ weights[1]) ** 2)


# Programs of several loops that threads share, of one long one, of none; and one that works in steps.
PROGRAMS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "gradient": (ct.value_and_grad(network), ((values(300, 200), values(200, 10)), values(256, 300, seed=2))),
    "product": (lambda x: x @ x.T, (values(300, 310),)),
    "sum": (lambda x: cnp.sum(cnp.exp(x)), (values(300_001),)),
    "small": (lambda x: x * 2 + 1, (values(8),)),
    "scan": (
        lambda m, x: ct.lax.scan(lambda c, _: (cnp.tanh(c @ m), cnp.sum(c)), x, None, length=20),
        (values(64, 64) / 8, values(32, 64, seed=1)),
    ),
}


def bits(tree: Any) -> list[bytes]:
    return [np.asarray(leaf).tobytes() for leaf in ct.tree_util.tree_leaves(tree)]


def together(body: Callable[[int], None]) -> None:
    """`body` on THREADS threads that begin as one; the first error is raised here, and so is one that never ends."""
    start, errors = threading.Barrier(THREADS), []

    def run(i: int) -> None:
        start.wait()
        try:
            body(i)
        except BaseException as error:
            errors.append(error)

    workers = [threading.Thread(target=run, args=(i,), daemon=True) for i in range(THREADS)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(300)
    assert not any(worker.is_alive() for worker in workers), "some threads wait for ever"
    if errors:
        raise errors[0]


def test_all_calls_have_the_bits_of_one_thread() -> None:
    compiled = {name: ct.jit(function) for name, (function, _) in PROGRAMS.items()}
    expected = {name: bits(ct.jit(function, threads=1)(*args)) for name, (function, args) in PROGRAMS.items()}
    names = list(PROGRAMS)
    calls, wrong = [0] * THREADS, []

    def work(i: int) -> None:
        for k in range(10):
            name = names[(i + k) % len(names)]
            if bits(compiled[name](*PROGRAMS[name][1])) != expected[name]:
                wrong.append(name)
            calls[i] += 1

    together(work)
    assert not wrong
    assert calls == [10] * THREADS


def test_threads_of_a_program_are_no_more_than_cores() -> None:
    code = "import cotangent as ct; print(ct.config.read('threads'))"
    found = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, "CT_THREADS": "16"}, capture_output=True, text=True, check=True
    )
    assert int(found.stdout) == min(16, CORES)


@pytest.mark.parametrize("name", ["gradient", "small"])
def test_nobody_is_left_behind(name: str) -> None:
    """All call until each has made its calls: a thread that the others kept from the processor would keep them all."""
    least = 20
    function, arguments = PROGRAMS[name]
    compiled = ct.jit(function)
    expected = bits(compiled(*arguments))
    counts = [0] * THREADS
    last = threading.Event()

    def work(i: int) -> None:
        while not last.is_set():
            assert bits(compiled(*arguments)) == expected
            counts[i] += 1
            if min(counts) >= least:
                last.set()

    together(work)
    assert min(counts) >= least


def test_calls_with_limits_of_their_own_and_errors_among_them() -> None:
    shape = ct.ShapeDtypeStruct((), "float32")
    x = values(300, 310)
    inner = [ct.jit(lambda x: cnp.tanh(x @ x.T).sum(), threads=threads) for threads in (0, 1, 2)]
    expected = bits(inner[1](x))

    def fails(total: Any) -> np.ndarray:
        raise ValueError("as it is meant to")

    failing = ct.jit(lambda x: ct.pure_callback(fails, shape, cnp.tanh(x @ x.T).sum()))
    raised = [0] * THREADS

    def work(i: int) -> None:
        for k in range(6):
            assert bits(inner[(i + k) % 3](x)) == expected
            if k % 2 == 0:
                with pytest.raises(ValueError, match="as it is meant to"):
                    failing(x)
                raised[i] += 1

    together(work)
    assert raised == [3] * THREADS
    assert bits(inner[0](x)) == expected
