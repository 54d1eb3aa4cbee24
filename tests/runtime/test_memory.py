"""Long loops need no more memory than short ones: the resident size stays where it is."""

from __future__ import annotations

import gc
import mmap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cotangent as ct
import cotangent.numpy as cnp
import numpy as np
import pytest

BLOCKS = 8
# What an allocator may keep to itself. Sixteen bytes a call for one block would be more.
SLACK = 1 << 20


def resident() -> int:
    """Bytes of this process in memory."""
    gc.collect()
    status = Path("/proc/self/status")
    if not status.exists():
        pytest.skip("no /proc")
    line = next(line for line in status.read_text().splitlines() if line.startswith("VmRSS"))
    return int(line.split()[1]) * 1024


def growth(call: Callable[[], Any], calls: int) -> int:
    """By how many bytes the process grew in the later blocks of calls, the least of several looks."""
    for _ in range(calls // BLOCKS):
        call()
    before = resident()
    sizes = []
    for _ in range(BLOCKS):
        for _ in range(calls // BLOCKS):
            call()
        sizes.append(resident())
    return min(sizes[BLOCKS // 2 :]) - before


X = cnp.arange(8.0)
KEPT: list[Any] = []


def jitted() -> Callable[[], Any]:
    f = ct.jit(lambda tree, y: {"sum": tree["x"] + y, "pair": (cnp.sum(y), tree["x"][0])})
    return lambda: f({"x": X}, X)


def with_numpy() -> Callable[[], Any]:
    f = ct.jit(lambda x, y: x * y)
    x = np.arange(8.0)
    return lambda: f(x, 2.5)


def with_error() -> Callable[[], Any]:
    f = ct.jit(lambda x: cnp.reshape(x, (3,)))

    def call() -> None:
        with pytest.raises(TypeError):
            f(X)

    return call


def retraced() -> Callable[[], Any]:
    """A new function each time, of the same program."""
    return lambda: ct.jit(lambda x: x + 1)(X)


def chain() -> Callable[[], Any]:
    def call() -> Any:
        y = X + 1
        return cnp.sum(y[2:] * 2)

    return call


def callback() -> Callable[[], Any]:
    f = ct.jit(lambda x: ct.pure_callback(lambda v: np.asarray(v), ct.ShapeDtypeStruct(x.shape, x.dtype), x))
    return lambda: f(X)


CASES = {
    "a jitted function": (jitted, 200_000),
    "NumPy arrays and numbers": (with_numpy, 50_000),
    "eager operations": (chain, 15_000),
    "eager gradients": (lambda: lambda: ct.grad(lambda x: cnp.sum(x * x))(X), 4_000),
    "compiled anew": (retraced, 4_000),
    "errors": (with_error, 2_000),
    "callbacks": (callback, 8_000),
    "arrays to NumPy and back": (lambda: lambda: cnp.asarray(np.asarray(X)), 40_000),
}


@pytest.mark.parametrize("name", CASES)
def test_memory_stays_flat(name: str) -> None:
    make, calls = CASES[name]
    assert growth(make(), calls) < SLACK


def test_the_check_finds_a_leak() -> None:
    try:
        # Pages of its own, not what earlier tests have left free.
        def keep() -> None:
            KEPT.append(mmap.mmap(-1, 1 << 14))
            KEPT[-1].write(b"x" * (1 << 14))

        assert growth(keep, 6_000) > SLACK
    finally:
        KEPT.clear()
