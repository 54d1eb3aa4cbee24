"""Ctrl-C and other signals reach programs that compute for long, whatever they are at; arguments stay what they were."""

from __future__ import annotations

import _thread
import contextlib
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import cotangent as ct
import cotangent.numpy as cnp
import numpy as np
import pytest

X = np.linspace(0, 1, 64, dtype=np.float32)
LARGE = np.ones((400, 400), np.float32)


@contextlib.contextmanager
def signal_after(seconds: float, number: int = signal.SIGINT) -> Iterator[None]:
    """A signal to this process, from another thread, unless the block ends before; a test must not wait for ever."""
    ended = threading.Event()

    def send() -> None:
        if not ended.wait(seconds):
            os.kill(os.getpid(), number)
        if not ended.wait(60):
            os._exit(99)

    thread = threading.Thread(target=send)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def endless_while(x: Any) -> Any:
    return ct.lax.while_loop(lambda c: c[0] >= 0, lambda c: ((c[0] + 1) % 1000, cnp.tanh(c[1] + 1)), (0, x))


def endless_scalar_while(x: Any) -> Any:
    return ct.lax.while_loop(lambda c: c >= 0, lambda c: (c + 1) % 7, 0) + x


def long_scan(x: Any) -> Any:
    return ct.lax.scan(lambda c, _: (cnp.sin(c) + 1, None), x, None, length=2_000_000_000)[0]


def long_fori(x: Any) -> Any:
    return ct.lax.fori_loop(0, 2_000_000_000, lambda i, c: c * 0.5 + i, x)


def nested_loops(x: Any) -> Any:
    def outer(c: Any, _: Any) -> Any:
        return ct.lax.fori_loop(0, 1000, lambda i, y: cnp.sin(y) + i, c), None

    return ct.lax.scan(outer, x, None, length=10_000_000)[0]


def call_inside(x: Any) -> Any:
    return ct.jit(endless_while)(x)[1] + 1


def callback_inside(x: Any) -> Any:
    def body(c: Any) -> Any:
        return (c[0] + 1) % 7, ct.pure_callback(lambda v: v, ct.ShapeDtypeStruct(x.shape, np.float32), c[1])

    return ct.lax.while_loop(lambda c: c[0] >= 0, body, (0, x))


def jitted_callback_inside(x: Any) -> Any:
    inner = ct.jit(endless_while)
    return ct.pure_callback(lambda v: np.asarray(inner(v)[1]), ct.ShapeDtypeStruct(x.shape, np.float32), x)


def large_products(x: Any) -> Any:
    a = cnp.broadcast_to(cnp.sum(x), (6000, 6000)) + cnp.arange(6000.0)
    for _ in range(20):
        a = a @ (a * 1e-9)
    return a


def large_loops(x: Any) -> Any:
    a = cnp.broadcast_to(cnp.sum(x), (20_000_000,)) + cnp.arange(20_000_000.0)
    for i in range(40):
        a = cnp.cumsum(cnp.sin(cnp.cos(cnp.tan(a + i)))) / (1 + cnp.sum(a))
    return a


def loops_in_threads(x: Any) -> Any:
    def body(c: Any) -> Any:
        return (c[0] + 1) % 7, cnp.tanh(c[1] @ c[1].T / 400)

    return ct.lax.while_loop(lambda c: c[0] >= 0, body, (0, LARGE + x[0]))


def gradient_of_loop(x: Any) -> Any:
    def loss(v: Any) -> Any:
        return cnp.sum(ct.lax.scan(lambda c, _: (cnp.sin(c) + 1, None), v, None, length=50_000)[0])

    return ct.lax.while_loop(lambda c: c[0] >= 0, lambda c: ((c[0] + 1) % 7, ct.grad(loss)(c[1]) + x), (0, x))


PROGRAMS: list[Callable[[Any], Any]] = [
    endless_while,
    endless_scalar_while,
    long_scan,
    long_fori,
    nested_loops,
    call_inside,
    callback_inside,
    jitted_callback_inside,
    large_products,
    large_loops,
    loops_in_threads,
    gradient_of_loop,
]


@pytest.mark.parametrize("threads", [1, 0])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_compiled(program: Callable[[Any], Any], threads: int) -> None:
    f = ct.jit(program, threads=threads)
    f._lower(X)
    x = cnp.asarray(X)
    start = time.monotonic()
    with pytest.raises(KeyboardInterrupt), signal_after(0.3):
        f(x)
    assert time.monotonic() - start < 30
    np.testing.assert_array_equal(x, X)
    # All is as before: the same program, and others.
    with pytest.raises(KeyboardInterrupt), signal_after(0.02):
        f(x)
    np.testing.assert_allclose(ct.jit(lambda v: cnp.sin(v) @ v)(x), np.sin(X) @ X, rtol=1e-5)


@pytest.mark.parametrize(
    "program", [endless_while, endless_scalar_while, nested_loops, callback_inside], ids=lambda f: f.__name__
)
def test_interpreted(program: Callable[[Any], Any]) -> None:
    f = ct.jit(program, backend="interpreter")
    for seconds in (0.2, 0.02):
        with pytest.raises(KeyboardInterrupt), signal_after(seconds):
            f(X)


def test_eager_transforms() -> None:
    """Interpreted the first time, compiled from then on."""

    def loss(x: Any) -> Any:
        return cnp.sum(ct.lax.fori_loop(0, 200_000_000, lambda i, c: cnp.sin(c) + 1, x))

    for _ in range(3):
        with pytest.raises(KeyboardInterrupt), signal_after(0.2):
            ct.jvp(loss, (X,), (X,))


def test_what_a_handler_of_the_program_raises() -> None:
    class TooLong(Exception):
        pass

    def handler(number: int, frame: Any) -> None:
        raise TooLong(number)

    before = signal.signal(signal.SIGALRM, handler)
    try:
        for seconds in (0.001, 0.2):
            signal.setitimer(signal.ITIMER_REAL, seconds)
            with pytest.raises(TooLong):
                ct.jit(endless_while)(X)
        assert signal.getsignal(signal.SIGALRM) is handler
    finally:
        signal.signal(signal.SIGALRM, before)


def test_a_handler_that_does_not_raise() -> None:
    came: list[int] = []
    before = signal.signal(signal.SIGUSR1, lambda number, frame: came.append(number))
    steps = 300_000_000
    f = ct.jit(lambda x: ct.lax.fori_loop(0, steps, lambda i, c: c * 0.5 + 1, x))
    f._lower(1.0)
    try:
        with signal_after(0.05, signal.SIGUSR1):
            assert float(f(1.0)) == 2.0
        assert came == [signal.SIGUSR1]
    finally:
        signal.signal(signal.SIGUSR1, before)


def test_an_interrupt_without_a_signal() -> None:
    timer = threading.Timer(0.2, _thread.interrupt_main)
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        ct.jit(endless_while)(X)
    timer.join()


def test_a_callback_that_sets_a_handler() -> None:
    """The program's own setting outlives the computation that it was made in."""
    chosen = lambda number, frame: None  # noqa: E731
    before = signal.getsignal(signal.SIGUSR2)

    def choose(x: Any) -> Any:
        time.sleep(0.02)
        signal.signal(signal.SIGUSR2, chosen)
        return x

    def body(i: Any, x: Any) -> Any:
        return ct.pure_callback(choose, ct.ShapeDtypeStruct((), np.float32), x)

    signal.signal(signal.SIGUSR2, lambda number, frame: None)
    try:
        ct.jit(lambda x: ct.lax.fori_loop(0, 3, body, x))(np.float32(1))
        assert signal.getsignal(signal.SIGUSR2) is chosen
        os.kill(os.getpid(), signal.SIGUSR2)
    finally:
        signal.signal(signal.SIGUSR2, before)


def test_other_threads_are_left_alone() -> None:
    """Python interrupts the main thread; what others compute goes on."""
    steps = 300_000_000
    f = ct.jit(lambda x: ct.lax.fori_loop(0, steps, lambda i, c: c * 0.5 + 1, x))
    results: list[float] = []
    f._lower(1.0)
    thread = threading.Thread(target=lambda: results.append(float(f(1.0))))
    thread.start()
    with pytest.raises(KeyboardInterrupt), signal_after(0.05):
        ct.jit(endless_while)(X)
    thread.join()
    assert results == [2.0]


def test_donated_arguments_are_gone() -> None:
    """As after any error of a call that was given their memory."""
    f = ct.jit(
        lambda x, y: ct.lax.while_loop(lambda c: c[0] >= 0, lambda c: ((c[0] + 1) % 7, cnp.tanh(c[1]) + y), (0, x))[1],
        donate_argnums=0,
    )
    x, y = cnp.asarray(X), cnp.asarray(X)
    with pytest.raises(KeyboardInterrupt), signal_after(0.2):
        f(x, y)
    np.testing.assert_array_equal(y, X)
    assert x.is_deleted()
