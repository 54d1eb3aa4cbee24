"""Ctrl-C and other signals reach programs that compute for long, whatever they are at; arguments stay what they were.

The tests run in a child: what isn't interrupted would run for ever, and only the end of its process stops that.
"""

from __future__ import annotations

import _thread
import contextlib
import faulthandler
import functools
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import Any

import cotangent as ct
import cotangent.numpy as cnp
import numpy as np
import pytest

X = np.linspace(0, 1, 64, dtype=np.float32)
LARGE = np.ones((400, 400), np.float32)
DEVICE = os.environ.get("CT_DEVICE", "cpu")
# Of a loop that takes some tenths of a second. Each thread of a GPU's block takes all steps of one that has a scalar.
STEPS = 300_000_000 // (256 if DEVICE == "cuda-emulated" else 1)


SECONDS = 120  # that a test may take

pool: ProcessPoolExecutor | None = None  # of one process, that the next test uses again


def as_in_a_terminal() -> None:
    """What a shell starts with `&` and without job control inherits a SIGINT that is ignored, and so do its children."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT, signal.SIGALRM, signal.SIGUSR1, signal.SIGUSR2})


def run_here(name: str, arguments: dict[str, Any], seconds: float) -> None:
    faulthandler.dump_traceback_later(seconds, exit=True)
    try:
        globals()[name].__wrapped__(**arguments)
    except pytest.fail.Exception as error:  # which cannot be pickled
        raise AssertionError(str(error)) from error
    finally:
        faulthandler.cancel_dump_traceback_later()


def run_in_child(name: str, arguments: dict[str, Any], seconds: float = SECONDS) -> None:
    global pool
    if pool is None:
        pool = ProcessPoolExecutor(1, multiprocessing.get_context("spawn"), as_in_a_terminal)
    try:
        pool.submit(run_here, name, arguments, seconds).result()
    except BrokenProcessPool:
        pool.shutdown()
        pool = None
        raise


def in_child(test: Callable[..., None]) -> Callable[..., None]:
    @functools.wraps(test)
    def run(**arguments: Any) -> None:
        run_in_child(test.__name__, arguments)

    return run


@pytest.fixture(scope="module", autouse=True)
def no_child_stays() -> Iterator[None]:
    global pool
    yield
    if pool is not None:
        pool.shutdown()
        pool = None


@contextlib.contextmanager
def signal_after(seconds: float, number: int = signal.SIGINT) -> Iterator[None]:
    """A signal to this process, from another thread, unless the block ends before."""
    ended = threading.Event()

    def send() -> None:
        if not ended.wait(seconds):
            os.kill(os.getpid(), number)

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


# What is one kernel of a GPU, or kernels without steps of the host between them.
IN_KERNELS = pytest.mark.skipif(DEVICE.startswith("cuda") and DEVICE != "cuda-emulated", reason="a GPU's kernels go on")


@pytest.mark.parametrize("threads", [1, 0])
@pytest.mark.parametrize(
    "program",
    [f if f is callback_inside else pytest.param(f, marks=IN_KERNELS) for f in PROGRAMS],
    ids=lambda f: f.__name__,
)
@in_child
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
    "program",
    # Steps of the host; threads that meet, those that never do, and kernels of many blocks.
    [callback_inside, loops_in_threads, endless_while, endless_scalar_while, gradient_of_loop, large_products],
    ids=lambda f: f.__name__,
)
@in_child
def test_on_an_emulated_gpu(program: Callable[[Any], Any]) -> None:
    f = ct.jit(program, backend="cuda-emulated")
    f._lower(X)
    for seconds in (0.3, 0.02):
        start = time.monotonic()
        with pytest.raises(KeyboardInterrupt), signal_after(seconds):
            f(X)
        assert time.monotonic() - start < 30
    np.testing.assert_allclose(ct.jit(lambda v: v @ v, backend="cuda-emulated")(X), X @ X, rtol=1e-5)


@pytest.mark.parametrize(
    "program", [endless_while, endless_scalar_while, nested_loops, callback_inside], ids=lambda f: f.__name__
)
@in_child
def test_interpreted(program: Callable[[Any], Any]) -> None:
    f = ct.jit(program, backend="interpreter")
    for seconds in (0.2, 0.02):
        with pytest.raises(KeyboardInterrupt), signal_after(seconds):
            f(X)


@in_child
def test_while_compiling() -> None:
    """Between the passes and the pieces of code that a large program is made in: not at the end of all of them."""
    choices = np.random.default_rng(0).integers(0, 4, 60_000)

    def written_out(x: Any) -> Any:
        y = x
        for choice in choices:
            y = (y * x, y + x, cnp.maximum(y, x), y - 0.5)[choice]
        return y

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of so many equations
        lowered = ct.jit(written_out).lower(np.float32(0.7))
        start = time.monotonic()
        with pytest.raises(KeyboardInterrupt), signal_after(0.1):
            lowered.compile()
        interrupted = time.monotonic() - start
        start = time.monotonic()
        compiled = lowered.compile()
        whole = time.monotonic() - start
    assert interrupted < 0.1 + whole / 2
    np.testing.assert_array_equal(compiled(np.float32(0.7)), written_out(np.float32(0.7)))


@in_child
def test_eager_transforms() -> None:
    """Interpreted the first time, compiled from then on."""

    def loss(x: Any) -> Any:
        return cnp.sum(ct.lax.fori_loop(0, 200_000_000, lambda i, c: cnp.sin(c) + 1, x))

    for _ in range(3):
        with pytest.raises(KeyboardInterrupt), signal_after(0.2):
            ct.jvp(loss, (X,), (X,))


@in_child
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


@in_child
def test_a_handler_that_does_not_raise() -> None:
    came: list[int] = []
    before = signal.signal(signal.SIGUSR1, lambda number, frame: came.append(number))
    f = ct.jit(lambda x: ct.lax.fori_loop(0, STEPS, lambda i, c: c * 0.5 + 1, x))
    f._lower(1.0)
    try:
        with signal_after(0.05, signal.SIGUSR1):
            assert float(f(1.0)) == 2.0
        assert came == [signal.SIGUSR1]
    finally:
        signal.signal(signal.SIGUSR1, before)


@in_child
def test_an_ignored_interrupt() -> None:
    """The program's choice, or its shell's, who put it in the background: it goes on."""
    f = ct.jit(lambda x: ct.lax.fori_loop(0, STEPS, lambda i, c: c * 0.5 + 1, x))
    f._lower(1.0)
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with signal_after(0.05):
            assert float(f(1.0)) == 2.0
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)


@in_child
def test_an_interrupt_without_a_signal() -> None:
    timer = threading.Timer(0.2, _thread.interrupt_main)
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        ct.jit(endless_while)(X)
    timer.join()


@in_child
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


@in_child
def test_other_threads_are_left_alone() -> None:
    """Python interrupts the main thread; what others compute goes on."""
    f = ct.jit(lambda x: ct.lax.fori_loop(0, STEPS, lambda i, c: c * 0.5 + 1, x))
    results: list[float] = []
    f._lower(1.0)
    thread = threading.Thread(target=lambda: results.append(float(f(1.0))))
    thread.start()
    with pytest.raises(KeyboardInterrupt), signal_after(0.05):
        ct.jit(endless_while)(X)
    thread.join()
    assert results == [2.0]


@in_child
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


@in_child
def never_ends() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with signal_after(0.02):
        ct.jit(endless_while)(X)


@in_child
def fails() -> None:
    with pytest.raises(KeyboardInterrupt):
        ct.jit(cnp.sin)(X)


def test_tests_that_fail_do_so_alone() -> None:
    """Even when they would go on for ever; the next one gets another child, whatever this process does with signals."""
    with pytest.raises(BrokenProcessPool):
        run_in_child("never_ends", {}, seconds=0.3)
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        run_in_child("test_an_interrupt_without_a_signal", {})
        run_in_child("test_eager_transforms", {})
        with pytest.raises(AssertionError, match="DID NOT RAISE"):
            run_in_child("fails", {})
    finally:
        signal.signal(signal.SIGINT, before)


EAGER_LOOPS = """
import signal, time
import cotangent as ct, cotangent.numpy as cnp
def endless(x):
    return ct.lax.while_loop(lambda s: s[0] > -1, lambda s: (s[0] * 0.5, s[1] + 1), (x, 0))
loops = [
    lambda: endless(1.0),
    lambda: ct.lax.fori_loop(0, 10**10, lambda i, s: cnp.sin(s) + 1, 1.0),
    lambda: ct.lax.scan(lambda c, _: (cnp.sin(c), None), 1.0, None, length=2 * 10**9),
    lambda: ct.Interpreter()(endless)(1.0),
]
signal.signal(signal.SIGALRM, signal.default_int_handler)
for loop in loops:
    signal.setitimer(signal.ITIMER_REAL, 0.3)
    try:
        loop()
    except KeyboardInterrupt:
        print("interrupted")
"""


def test_eager_loops():
    done = subprocess.run([sys.executable, "-c", EAGER_LOOPS], capture_output=True, text=True, timeout=100, check=True)
    assert done.stdout.split() == ["interrupted"] * 4
