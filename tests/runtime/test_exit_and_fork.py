"""The end of a process, and forks, while other threads compile, run compiled code, interpret, or are called back.

Each case runs a script of its own, which forks children from a process that has cotangent loaded; what they do, and when,
varies with their number. ``--long`` takes a thousand of each.
"""

from __future__ import annotations

import subprocess
import sys

SCRIPT = """
import os, random, signal, sys, threading, time
import numpy as np
import cotangent as ct
import cotangent.numpy as cnp

ct.config.update("threads", 2)

def compile_forever(seed):
    k = 0
    while True:
        k += 1
        f = ct.jit(lambda x, k=k: cnp.sum(cnp.sin(x @ x.T + (seed * 1000.0 + k)) * cnp.cumsum(x, 0) / (1.0 + k)))
        ct.jit(ct.grad(f))(np.ones((5 + k % 3, 5 + k % 3), np.float32))

def compile_large(seed):
    def f(x):
        for i in range(400):
            x = cnp.tanh(x * (seed + i)) + cnp.sum(x)
        return x
    ct.jit(f)(np.ones(1000 + seed % 97, np.float32))
    compile_forever(seed)

def run_forever(seed):
    ct.jit(lambda x: ct.lax.while_loop(lambda c: c[0] >= 0, lambda c: ((c[0] + 1) % 7, cnp.tanh(c[1] @ x)), (0, x)))(
        np.eye(64, dtype=np.float32))

def share_forever(seed):
    f = ct.jit(lambda x: cnp.sum(cnp.sin(x) * x))
    x = np.ones(300_000, np.float32)
    while True:
        f(x)

def interpret_forever(seed):
    ct.jit(lambda x: ct.lax.while_loop(lambda c: c[0] >= 0, lambda c: ((c[0] + 1) % 7, c[1] * 1.0), (0, x)),
           backend="interpreter")(np.eye(64, dtype=np.float32))

def callback_forever(seed):
    def slow(x):
        sum(range(2000))
        return x
    def body(c):
        return (c[0] + 1) % 7, ct.pure_callback(slow, ct.ShapeDtypeStruct((3,), np.float32), c[1])
    ct.jit(lambda x: ct.lax.while_loop(lambda c: c[0] >= 0, body, (0, x)))(np.ones(3, np.float32))

def library_forever(seed):
    f = ct.jit(lambda x: cnp.linalg.eigh(x @ x.T)[0])
    x = np.random.default_rng(seed).normal(size=(60, 60)).astype(np.float32)
    while True:
        f(x)

def trace_forever(seed):
    def f(x):
        for i in range(300):
            x = x + i
        return x
    while True:
        ct.make_ir(f)(1.0)
        ct.jit(lambda x: f(x))._lower(1.0)

KINDS = [compile_forever, compile_large, run_forever, share_forever, interpret_forever, callback_forever,
         library_forever, trace_forever]

def wait_for(pid, seconds=60):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.002)
    os.kill(pid, signal.SIGABRT)
    os.waitpid(pid, 0)
    return "hangs"

first, count = int(sys.argv[1]), int(sys.argv[2])
"""

EXIT = (
    SCRIPT
    + """
for i in range(first, first + count):
    sys.stdout.flush()
    pid = os.fork()
    if pid == 0:
        os.environ["CT_CACHE_DIR"] = ""
        timing = random.Random(i)
        kinds = [KINDS[i % len(KINDS)], timing.choice(KINDS)]
        for n, kind in enumerate(kinds):
            threading.Thread(target=kind, args=(i * 2 + n,), daemon=True).start()
        time.sleep(timing.choice([0, 0.001, 0.003, 0.01, 0.03, 0.1]) * timing.random())
        if timing.random() < 0.5:
            ct.jit(lambda x: x * i)(1.0)
        sys.exit(i % 100 + 1)
    code = wait_for(pid)
    if code != i % 100 + 1:
        print("exit", i, KINDS[i % len(KINDS)].__name__, "ended with", code)
"""
)

CONVERT = (
    SCRIPT
    + """
def convert(start):
    x = np.ones(3, np.float32)
    start.wait()
    while True:
        np.asarray(cnp.asarray(x))

for i in range(first, first + count):
    sys.stdout.flush()
    pid = os.fork()
    if pid == 0:
        sys.setswitchinterval(1e-6)
        start = threading.Event()
        for _ in range(8):
            threading.Thread(target=convert, args=(start,), daemon=True).start()
        start.set()
        time.sleep(random.Random(i).random() * 1e-3 * (i % 2))
        sys.exit(i % 100 + 1)
    code = wait_for(pid)
    if code != i % 100 + 1:
        print("exit", i, "ended with", code)
"""
)

FORK = (
    SCRIPT
    + """
os.environ["CT_CACHE_DIR"] = ""
timing = random.Random(first)
for n, kind in enumerate([compile_forever, compile_large, run_forever, callback_forever, interpret_forever]):
    threading.Thread(target=kind, args=(first * 10 + n,), daemon=True).start()
expected = np.sin(np.arange(9.0, dtype=np.float32))
for i in range(first, first + count):
    time.sleep(timing.choice([0, 0.0003, 0.001, 0.003, 0.01]) * timing.random())
    pid = os.fork()
    if pid == 0:
        try:
            f = ct.jit(lambda x: cnp.sin(x) * (1.0 + i) / (1.0 + i))
            good = np.allclose(f(np.arange(9.0, dtype=np.float32)), expected, rtol=1e-5)
            big = ct.jit(lambda x: cnp.sum(x * 2.0))(np.ones(300_000, np.float32))  # a pool of its own
            good = good and float(big) == 600_000.0 and np.allclose(ct.grad(cnp.sin)(0.0), 1)
            good = good and np.allclose(cnp.linalg.inv(2 * np.eye(3)), np.eye(3) / 2)
            os._exit(0 if good else 3)
        except BaseException as error:
            print(repr(error))
            sys.stdout.flush()
            os._exit(4)
    code = wait_for(pid)
    if code != 0:
        print("fork", i, "ended with", code)
    if i % 10 == 0:
        value = ct.jit(lambda x: cnp.sin(x) * (1.0 + i) / (1.0 + i))(np.arange(9.0, dtype=np.float32))
        assert np.allclose(value, expected, rtol=1e-5)
sys.stdout.flush()
os._exit(0)
"""
)


def run(script: str, first: int, count: int) -> None:
    done = subprocess.run(
        [sys.executable, "-c", script, str(first), str(count)], capture_output=True, text=True, timeout=120 + 5 * count
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout == ""
    assert done.stderr == ""


def test_exits_while_threads_are_busy(long_run: bool) -> None:
    """The status is the program's, whatever daemon threads are at."""
    run(EXIT, 0, 1000 if long_run else 24)


def test_exits_while_threads_convert_for_the_first_time(long_run: bool) -> None:
    """What is looked up once is not looked up by a thread that the end of the interpreter can meet there."""
    run(CONVERT, 0, 1000 if long_run else 40)


def test_forks_while_threads_compile(long_run: bool) -> None:
    """The child compiles and runs, with threads of its own; the parent goes on."""
    for first in range(0, 1000 if long_run else 20, 20):
        run(FORK, first, 20)
