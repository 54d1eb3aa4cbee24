"""Loops that an exported function shares with its caller's threads (``ct_run.parallel``)."""

from __future__ import annotations

import ctypes
import json
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cotangent as ct
import cotangent.numpy as cnp
import numpy as np
import pytest
from exported_calls import STRICT, Library, Run, leaves_of
from needs import needs

Task = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_uint32)
Parallel = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_uint32, Task, ctypes.c_void_p)
Runs = Callable[[int, Callable[[int], None]], None]

rng = np.random.default_rng(0)


def normal(*shape: int) -> np.ndarray:
    return rng.standard_normal(shape).astype(np.float32)


def by_threads(tasks: int, task: Callable[[int], None]) -> None:
    threads = [threading.Thread(target=lambda k=k: [task(i) for i in range(k, tasks, 3)]) for k in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def backwards(tasks: int, task: Callable[[int], None]) -> None:
    for i in reversed(range(tasks)):
        task(i)


def layers(x: Any, weights: Any) -> Any:
    for w in weights:
        x = cnp.tanh(x @ w)
    return x.sum(1), x


def scanned(x: Any) -> Any:
    return ct.lax.scan(lambda c, _: (cnp.sin(c @ c.T / 90), c.sum()), x, None, length=5)


def ragged(x: Any) -> Any:
    return ct.vmap(ct.mask(lambda v: cnp.sin(cnp.exp(cnp.cos(v))) / cnp.exp(v).sum()))(x).data


CASES: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "elementwise": (lambda x: cnp.sin(x) * cnp.exp(x), (normal(300_000),)),
    "product": (lambda a, b: a @ b, (normal(301, 257), normal(257, 263))),
    "double product": (lambda a: a @ a.T, (normal(300, 200).astype(np.float64),)),
    "complex product": (lambda a: a @ a, ((normal(150, 150) + 1j * normal(150, 150)).astype(np.complex64),)),
    "layers": (layers, (normal(200, 128), [normal(128, 128), normal(128, 128)])),
    "gradient": (
        ct.grad(lambda w, x: layers(x, w)[0].sum()),
        ([normal(128, 128), normal(128, 96)], normal(200, 128)),
    ),
    "rows": (lambda x: ct.nn.softmax(cnp.cumsum(x, 1), axis=1), (normal(2000, 70),)),
    "scan": (scanned, (normal(120, 120),)),
    "convolution": (
        lambda x, k: ct.lax.conv_general_dilated(x, k, (1, 1), "SAME"),
        (normal(4, 8, 32, 32), normal(8, 8, 3, 3)),
    ),
}


def results_of(made: Any) -> list[np.ndarray]:
    return [np.zeros(shape, np.dtype(dtype)) for shape, dtype in made.functions["shared"].out_avals]


def call(library: Library, inputs: list[np.ndarray], outputs: list[np.ndarray], run_all: Runs | None) -> list[int]:
    """How many tasks each shared loop had."""
    counts: list[int] = []

    def parallel(pool: int, tasks: int, task: Any, data: int) -> None:
        assert pool == 17
        counts.append(tasks)
        assert run_all is not None
        run_all(tasks, lambda i: task(data, i))

    given = Parallel(parallel)
    run = library.run("shared")
    run.pool = 17
    run.parallel = ctypes.cast(given, ctypes.c_void_p).value if run_all else None
    assert library.call(inputs, outputs, "shared", run=run) == 0
    return counts


@pytest.mark.parametrize("name", CASES)
def test_threads_of_the_caller_share_loops(name: str, tmp_path: Path) -> None:
    function, arguments = CASES[name]
    made = ct.export.compile(function, *arguments, name="shared")
    made.save(tmp_path)
    library = Library(tmp_path, "shared")
    assert library.function()["shares_loops"]
    inputs = leaves_of(arguments)
    alone = results_of(made)
    assert call(library, inputs, alone, None) == []
    for result, expected in zip(alone, leaves_of(ct.jit(function)(*arguments)), strict=True):
        np.testing.assert_allclose(result, expected, rtol=2e-4, atol=2e-3)
    for run_all in (by_threads, backwards):
        shared = results_of(made)
        counts = call(library, inputs, shared, run_all)
        assert counts and all(2 <= count <= 64 for count in counts)
        for result, expected in zip(shared, alone, strict=True):
            assert result.tobytes() == expected.tobytes()


@pytest.mark.usefixtures("names_devices")  # bits of exported libraries are those of the processor's programs
@pytest.mark.parametrize("name", ["layers", "rows", "scan"])
def test_a_loaded_function_uses_the_threads_of_this_process(name: str, tmp_path: Path) -> None:
    function, arguments = CASES[name]
    made = ct.export.compile(function, *arguments, name="shared")
    made.save(tmp_path)
    loaded = ct.export.load(tmp_path, native=True)
    on_all = leaves_of(loaded(*arguments))
    alone = results_of(made)
    call(Library(tmp_path, "shared"), leaves_of(arguments), alone, None)
    for result, expected in zip(on_all, alone, strict=True):
        assert result.tobytes() == expected.tobytes()


def test_ragged_rows_are_shared(tmp_path: Path) -> None:
    lengths = rng.integers(0, 300, 400).astype(np.int32)
    x = ct.Ragged(normal(400, 300), {1: lengths})
    made = ct.export.compile(ragged, x, name="shared")
    made.save(tmp_path)
    library, inputs = Library(tmp_path, "shared"), leaves_of(x)
    alone, shared = results_of(made), results_of(made)
    call(library, inputs, alone, None)
    assert call(library, inputs, shared, by_threads)
    assert shared[0].tobytes() == alone[0].tobytes()
    for row, n in zip(shared[0], lengths, strict=True):
        assert not row[n:].any()


def test_small_loops_are_not_shared(tmp_path: Path) -> None:
    made = ct.export.compile(lambda x: cnp.tanh(x) @ x.T, normal(16, 16), name="shared")
    made.save(tmp_path)
    library = Library(tmp_path, "shared")
    assert not library.function()["shares_loops"]
    assert call(library, leaves_of(normal(16, 16)), results_of(made), by_threads) == []


@pytest.mark.parametrize(("target", "shares"), [("cortex-m7", False), ("wasm32", False), ("aarch64", True)])
def test_machines_without_threads_share_nothing(target: str, shares: bool) -> None:
    function, arguments = CASES["elementwise"]
    made = ct.export.compile(function, *arguments, name="shared", target=target)
    (function_facts,) = json.loads(made.describe())["functions"]
    assert function_facts["shares_loops"] is shares


def test_what_needs_no_workspace_needs_no_run(tmp_path: Path) -> None:
    function, (x,) = CASES["elementwise"]
    made = ct.export.compile(function, x, name="shared")
    made.save(tmp_path)
    library = Library(tmp_path, "shared")
    assert library.function()["workspace_bytes"] == 0
    out = np.zeros_like(x)
    entry = library.c.shared
    assert entry(ctypes.c_void_p(x.ctypes.data), ctypes.c_void_p(out.ctypes.data), None) == 0
    np.testing.assert_allclose(out, np.sin(x) * np.exp(x), rtol=2e-5, atol=1e-5)
    run = Run(ctypes.sizeof(Run))
    out[:] = 0
    assert entry(ctypes.c_void_p(x.ctypes.data), ctypes.c_void_p(out.ctypes.data), ctypes.byref(run)) == 0
    np.testing.assert_allclose(out, np.sin(x) * np.exp(x), rtol=2e-5, atol=1e-5)


def test_a_shared_loop_can_be_stopped(tmp_path: Path) -> None:
    x = normal(1_000, 4_000)
    function = lambda x: ct.lax.fori_loop(0, 40, lambda i, c: cnp.sin(c) + x, x)  # noqa: E731
    made = ct.export.compile(function, x, name="shared")
    made.save(tmp_path)
    library = Library(tmp_path, "shared")
    assert library.function()["may_stop"] and library.function()["shares_loops"]
    stop = ctypes.c_int(0)
    run = library.run("shared", stop)

    def stops(tasks: int, task: Callable[[int], None]) -> None:
        stop.value = 1
        by_threads(tasks, task)

    def parallel(pool: int, tasks: int, task: Any, data: int) -> None:
        del pool
        stops(tasks, lambda i: task(data, i))

    given = Parallel(parallel)
    run.parallel = ctypes.cast(given, ctypes.c_void_p).value
    assert library.call([x], results_of(made), "shared", run=run) == 7


CPP = r"""
#include <atomic>
#include <cmath>
#include <cstdio>
#include <memory>
#include <thread>
#include <vector>

#include "shared.hpp"

static std::atomic<int> calls{0};

static void on_threads(void* pool, std::uint32_t tasks, void (*task)(void*, std::uint32_t), void* data) {
  std::vector<std::thread> threads;
  for (unsigned k = 0; k < *static_cast<unsigned*>(pool); ++k) {
    threads.emplace_back([=] { for (std::uint32_t i = k; i < tasks; i += *static_cast<unsigned*>(pool)) task(data, i); });
  }
  for (std::thread& thread : threads) thread.join();
  ++calls;
}

int main() {
  static float x[300000], alone[300000], together[300000];
  for (int i = 0; i < 300000; ++i) x[i] = 1e-4f * static_cast<float>(i % 7919);
  unsigned count = 4;
  shared_library::shared(x, alone);
  shared_library::shared(x, together, nullptr, {on_threads, &count});
  for (int i = 0; i < 300000; ++i) if (alone[i] != together[i]) return 1;
  std::printf("%d %.4f", calls.load(), static_cast<double>(together[12345]));
}
"""


@needs("g++")
def test_threads_in_cpp(tmp_path: Path) -> None:
    x = (1e-4 * (np.arange(300_000) % 7919)).astype(np.float32)
    made = ct.export.compile(CASES["elementwise"][0], x, name="shared", results=["y"])
    made.save(tmp_path, files=("h", "hpp", "a"))
    (tmp_path / "main.cpp").write_text(CPP)
    strict = [*STRICT, "-std=c++17", "-O1", "-pthread"]
    subprocess.run(["g++", *strict, "main.cpp", "libshared.a", "-o", "main"], cwd=tmp_path, check=True)
    printed = subprocess.run(["./main"], cwd=tmp_path, check=True, capture_output=True, text=True).stdout.split()
    assert printed[0] == "1"
    assert float(printed[1]) == pytest.approx(np.sin(x[12345]) * np.exp(x[12345]), abs=1e-4)
