"""Real threads in one process: jitted functions, transforms, settings and callbacks from several threads at once.

`tests/cpp/threads_test.cc` is the companion below Python, under the thread sanitizer.
"""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import cotangent as ct
import cotangent.numpy as cnp
import numpy as np
import pytest

THREADS = 8


@pytest.fixture(autouse=True)
def quick_switches() -> Iterator[None]:
    """Python changes threads every 5 ms; here after every few byte codes."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def together(body: Callable[[int], Any], threads: int = THREADS) -> list[Any]:
    """What ``body`` returns to each of the threads, which start as one; the first error is raised here."""
    start = threading.Barrier(threads)
    results: list[Any] = [None] * threads
    errors: list[BaseException] = []

    def run(i: int) -> None:
        start.wait()
        try:
            results[i] = body(i)
        except BaseException as error:
            errors.append(error)

    running = [threading.Thread(target=run, args=(i,)) for i in range(threads)]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join(60)
        assert not thread.is_alive(), "a thread hangs"
    if errors:
        raise errors[0]
    return results


def loss(w: Any, x: Any) -> Any:
    return cnp.sum(cnp.tanh(x @ w) ** 2)


W = np.linspace(-1, 1, 12).reshape(4, 3)
X = np.sin(np.arange(20.0)).reshape(5, 4)


def test_one_jitted_function() -> None:
    f = ct.jit(loss)
    expected = np.sum(np.tanh(X @ W) ** 2)

    def body(i: int) -> None:
        for k in range(30):
            rows = 1 + (i + k) % 5
            np.testing.assert_allclose(f(W, X[:rows]), np.sum(np.tanh(X[:rows] @ W) ** 2))
            np.testing.assert_allclose(f(W, X), expected)

    together(body)
    assert f._cache_size() >= 5


def test_jitting_the_same_function() -> None:
    def body(i: int) -> Any:
        def scaled(x: Any) -> Any:  # equal programs of functions that are not the same
            return cnp.cumsum(x * 3) - 1

        f = ct.jit(scaled)
        return [np.asarray(f(X[0] + k)) for k in range(3)]

    for found in together(body):
        for k, value in enumerate(found):
            np.testing.assert_allclose(value, np.cumsum((X[0] + k) * 3) - 1)


@pytest.mark.parametrize("compiled", [False, True])
def test_transforms(compiled: bool) -> None:
    wrap = ct.jit if compiled else lambda f: f
    functions = [
        wrap(ct.grad(loss)),
        wrap(ct.vmap(ct.grad(loss), in_axes=(None, 0))),
        wrap(ct.hessian(loss)),
        wrap(ct.jacfwd(lambda w, x: cnp.tanh(x @ w))),
        wrap(lambda w, x: ct.jvp(lambda w: ct.lax.scan(lambda c, r: (c + cnp.sum(r @ w), c), 0.0, x)[0], (w,), (w,))),
        wrap(lambda w, x: ct.mask(lambda v: cnp.sum(v @ w))(ct.Ragged(x, {0: 3}))),
    ]
    expected = [ct.tree_util.tree_map(np.asarray, f(W, X)) for f in functions]

    def body(i: int) -> None:
        for k in range(2 * len(functions)):
            which = (i + k) % len(functions)
            found = ct.tree_util.tree_map(np.asarray, functions[which](W, X))
            ct.tree_util.tree_map(lambda x, y: np.testing.assert_allclose(x, y, rtol=1e-12), found, expected[which])

    together(body)


def test_eager_operations_and_random_numbers() -> None:
    expected = np.asarray(ct.random.normal(ct.random.key(3), (7,)))

    def body(i: int) -> None:
        for k in range(20):
            x = cnp.arange(float(i + k + 2))
            np.testing.assert_allclose(cnp.sort(-x)[0] + cnp.max(x[1:]), 0)
            np.testing.assert_array_equal(ct.random.normal(ct.random.key(3), (7,)), expected)

    together(body)


def test_captures_do_not_mix() -> None:
    """A thread's capture is its own, also while another one's is open."""
    inside = threading.Barrier(2)

    def body(i: int) -> Any:
        @ct.jit
        def f(x: Any) -> Any:
            y = x * (i + 1)
            inside.wait(30)  # both are being captured now
            z = ct.grad(lambda v: cnp.sum(v * y))(x)
            inside.wait(30)
            return y + z

        return np.asarray(f(np.ones(3)))

    for i, found in enumerate(together(body, 2)):
        np.testing.assert_allclose(found, 2.0 * (i + 1))


# ---- what another thread does while a program runs ------------------------------------------------------------------

LARGE = 1 << 20  # bytes enough that the program runs without the GIL


def slow(x: Any) -> Any:
    for _ in range(4):
        x = cnp.sort(x[::-1])
    return cnp.sum(x)


def test_large_arrays_run_side_by_side() -> None:
    f = ct.jit(lambda x: cnp.sum(cnp.sin(x)))
    x = np.arange(LARGE, dtype=np.float32)
    expected = np.asarray(f(x))
    assert all(np.asarray(value) == expected for value in together(lambda i: f(x), 4))


def test_arguments_that_are_taken_away_meanwhile() -> None:
    """Arrays leave the list that was passed, and their memory is wanted by others, while the program reads them."""
    f = ct.jit(lambda xs: slow(xs[0]) + cnp.sum(xs[1]))
    rows = [np.random.default_rng(i).standard_normal(LARGE // 8).astype(np.float32) for i in range(2)]
    expected = float(f([cnp.array(row) for row in rows]))
    for _ in range(6):
        given = [cnp.array(row) for row in rows]

        def body(i: int, given: list[Any] = given) -> Any:
            if i == 0:
                with contextlib.suppress(IndexError):  # the other was there first
                    return f(given)
                return expected
            time.sleep(0.002)
            given.clear()
            return [cnp.full(LARGE // 8, 1e3) for _ in range(4)]

        assert float(together(body, 2)[0]) == pytest.approx(expected, rel=1e-6)


def test_donated_arrays_that_another_program_reads() -> None:
    read = ct.jit(slow)
    overwrite = ct.jit(lambda x: x * 0 + 1e3, donate_argnums=0)
    x0 = np.random.default_rng(0).standard_normal(LARGE // 8).astype(np.float32)
    expected = float(read(cnp.array(x0)))
    overwrite(cnp.array(x0))
    for _ in range(6):
        x = cnp.array(x0)

        def body(i: int, x: Any = x) -> Any:
            if i == 0:
                with contextlib.suppress(ValueError):  # the other was there first
                    return read(x)
                return expected
            time.sleep(0.002)
            return overwrite(x)

        assert float(together(body, 2)[0]) == pytest.approx(expected, rel=1e-6)


class Slow:
    """A static argument whose comparison lets other threads run."""

    def __init__(self, value: int) -> None:
        self.value = value

    def __hash__(self) -> int:
        return self.value

    def __eq__(self, other: object) -> bool:
        time.sleep(0)
        return isinstance(other, Slow) and self.value == other.value


def test_signatures_that_change_while_they_are_compared() -> None:
    f = ct.jit(lambda x, s: x * s.value, static_argnums=1)

    def body(i: int) -> None:
        for k in range(20):
            value = 1 + (i * k) % 6
            np.testing.assert_allclose(f(X[0], Slow(value)), X[0] * value)
            if i == 0:
                f.clear_cache()

    together(body)


# ---- settings and callbacks ------------------------------------------------------------------------------------------


def test_settings_of_a_with_block_are_those_of_its_thread() -> None:
    f = ct.jit(lambda x: x + 1.0)

    def body(i: int) -> None:
        wide = i % 2 == 0
        expected = np.dtype(np.float64 if wide else np.float32)
        for _ in range(30):
            with ct.config.enable_x64(wide):
                assert cnp.ones(3).dtype == expected
                assert f(1.0).dtype == expected
                with ct.disable_jit(i % 3 == 0):
                    assert ct.config.read("disable_jit") == (i % 3 == 0)
                    assert cnp.result_type(f(1.0)) == expected
            assert ct.config.read("enable_x64") is False

    together(body)
    assert ct.config.read("enable_x64") is False and ct.config.read("disable_jit") is False


def test_settings_of_the_process_are_those_of_all_threads() -> None:
    ct.config.update("enable_x64", True)
    try:
        assert all(dtype == np.float64 for dtype in together(lambda i: cnp.ones(3).dtype))
        with ct.config.enable_x64(False):
            assert cnp.ones(3).dtype == np.float32
            assert all(dtype == np.float64 for dtype in together(lambda i: cnp.ones(3).dtype))
    finally:
        ct.config.update("enable_x64", False)
    assert all(dtype == np.float32 for dtype in together(lambda i: cnp.ones(3).dtype))


def test_callbacks() -> None:
    @ct.jit
    def f(x: Any) -> Any:
        return ct.pure_callback(lambda v: np.asarray(v) * 2, ct.ShapeDtypeStruct(x.shape, x.dtype), x) + 1

    def body(i: int) -> None:
        for k in range(20):
            np.testing.assert_allclose(f(X[0] * (i + k)), X[0] * (i + k) * 2 + 1)

    together(body)


def test_a_failing_callback_fails_its_own_call() -> None:
    def check(v: Any) -> Any:
        if v[0] < 0:
            raise ValueError("negative")
        return np.asarray(v)

    f = ct.jit(lambda x: ct.pure_callback(check, ct.ShapeDtypeStruct(x.shape, x.dtype), x) * 2)

    def body(i: int) -> None:
        for _ in range(10):
            if i % 2:
                with pytest.raises(Exception, match="negative"):
                    f(-np.ones(3))
            else:
                np.testing.assert_allclose(f(np.ones(3)), 2.0)

    together(body)


def test_traced_values_belong_to_the_thread_that_runs_the_function() -> None:
    found: list[Exception] = []

    def other(x: Any) -> None:
        try:
            x + 1
        except ct.errors.ConcretizationError as error:
            found.append(error)

    def f(x: Any) -> Any:
        thread = threading.Thread(target=other, args=(x,))
        thread.start()
        thread.join()
        return x

    ct.jit(f)(np.ones(3, np.float32))
    assert "belongs to a function that another thread is running" in str(found[0])
