"""Compiling does not hold Python's lock: other threads go on, compile, change what the call was given, and wait for each other."""

from __future__ import annotations

import threading
import time
from typing import Any

import cotangent as ct
import cotangent.numpy as cnp
import numpy as np
import pytest
from cotangent import _core


def unrolled(steps: int, salt: float) -> Any:
    """A jitted function that takes a while to compile, captured already."""

    @ct.jit
    def f(x: Any) -> Any:
        for i in range(steps):
            x = cnp.tanh(x * (salt + i % 7)) + cnp.mean(x) / (2 + i)
        return x

    f._lower(np.ones(100, np.float32))
    return f


def in_thread(body: Any) -> tuple[threading.Thread, list[Any]]:
    results: list[Any] = []

    def run() -> None:
        try:
            results.append(body())
        except Exception as error:
            results.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    return thread, results


def test_other_threads_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CT_CACHE_DIR", "")
    f = unrolled(3000, 0.25)
    x = np.ones(100, np.float32)
    start = time.perf_counter()
    thread, results = in_thread(lambda: np.asarray(f(x)))
    ticks = 0
    while thread.is_alive():
        time.sleep(0.001)
        ticks += 1
    seconds = time.perf_counter() - start
    thread.join()
    assert np.isfinite(results[0]).all()
    # A tick for every 20 ms, however busy the machine is; one or two if the lock were held.
    assert ticks > 5 and ticks > seconds / 0.02


def test_one_program_from_many_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CT_CACHE_DIR", "")
    f, g = unrolled(500, 0.5), unrolled(500, 0.5)  # equal programs of two functions
    x = np.linspace(0, 1, 100, dtype=np.float32)
    running = [in_thread(lambda h=h: np.asarray(h(x))) for h in (f, g) * 4]
    for thread, _ in running:
        thread.join(60)
        assert not thread.is_alive()
    for _, results in running:
        np.testing.assert_array_equal(results[0], running[0][1][0])
    assert f._cache_size() == 1


def test_rules_in_python_while_others_compile(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rules take Python's lock in the middle of a compilation."""
    monkeypatch.setenv("CT_CACHE_DIR", "")
    twice = ct.primitive("compiling_threads_twice", type=lambda x: x, expand=lambda x: cnp.tanh(x) + x)

    def body(k: int) -> Any:
        f = ct.jit(lambda x: ct.lax.scan(lambda c, r: (twice(c * k + r), c), cnp.sum(x), x)[0] + twice(x))
        return np.asarray(f(np.arange(5.0) + k))

    def expected(k: int) -> Any:
        x = np.arange(5.0) + k
        c = np.sum(x)
        for r in x:
            c = np.tanh(c * k + r) + (c * k + r)
        return c + np.tanh(x) + x

    running = [in_thread(lambda k=k: body(k % 4)) for k in range(8)]
    for k, (thread, results) in enumerate(running):
        thread.join(60)
        assert not thread.is_alive()
        np.testing.assert_allclose(results[0], expected(k % 4), rtol=1e-6)


def test_an_argument_that_goes_while_it_is_compiled_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CT_CACHE_DIR", "")
    f = unrolled(1000, 0.75)
    x = cnp.asarray(np.ones(100, np.float32))
    arguments = [x]
    g = ct.jit(lambda xs: f(xs[0]) * 2)
    g._lower(arguments)
    thread, results = in_thread(lambda: g(arguments))
    time.sleep(0.05)
    _core.delete_array(x)
    thread.join(60)
    assert not thread.is_alive()
    # Either it was quicker, or the call finds what it would have found a moment later.
    if isinstance(results[0], Exception):
        assert "donated" in str(results[0]) or "deleted" in str(results[0])
    else:
        assert np.isfinite(np.asarray(results[0])).all()


def test_a_container_that_changes_while_it_is_compiled_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CT_CACHE_DIR", "")
    f = unrolled(1000, 1.25)
    arguments = [np.ones(100, np.float32)]
    g = ct.jit(lambda xs: sum(f(x) for x in xs))
    g._lower(arguments)
    thread, results = in_thread(lambda: g(arguments))
    time.sleep(0.05)
    arguments.append(np.zeros(100, np.float32))
    thread.join(60)
    assert not thread.is_alive()
    one, two = np.asarray(g(arguments[:1])), np.asarray(g(arguments))
    assert any(np.array_equal(results[0], right) for right in (one, two))
