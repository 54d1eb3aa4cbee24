"""Without enough memory compiling is a MemoryError that says what to do; the process goes on."""

from __future__ import annotations

import subprocess
import sys

import pytest

SCRIPT = """
import os, resource, sys
os.environ["CT_CACHE_DIR"] = ""
import numpy as np
import cotangent as ct
import cotangent.numpy as cnp

def used():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[0]) * os.sysconf("SC_PAGESIZE")

# One loop of one long body: nothing that could be cut in pieces.
def body(x):
    for i in range(int(sys.argv[2])):
        x = cnp.where(x > i, cnp.sin(x * i), x + 1)
    return x

f = ct.jit(body)
x = np.ones((4, 1 << 20), np.float32)[0, : 1 << 20]
f._lower(x)
small = ct.jit(lambda x: x + 1)
small(1.0)
resource.setrlimit(resource.RLIMIT_AS, (used() + int(sys.argv[1]) * 2**20,) * 2)
try:
    f(x)
    print("compiled")
except MemoryError as error:
    print("MemoryError:", error)
resource.setrlimit(resource.RLIMIT_AS, (resource.getrlimit(resource.RLIMIT_AS)[1],) * 2)
assert float(small(2.0)) == 3.0
print("goes on")
"""


def run(megabytes: int, statements: int) -> str:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(megabytes), str(statements)], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.endswith("goes on\n")
    assert "LLVM ERROR" not in done.stderr
    return done.stdout


def test_a_program_that_does_not_fit() -> None:
    found = run(40, 2000)
    assert "MemoryError: compiling body failed" in found
    assert "lax.scan" in found
    assert 'backend="interpreter"' in found


@pytest.mark.parametrize("megabytes", [5, 12, 20, 30, 60, 100])
def test_limits_of_any_size(megabytes: int, long_run: bool) -> None:
    """Wherever memory runs out: before LLVM, in LLVM, or not at all."""
    if not long_run and megabytes not in (12, 60):
        pytest.skip("runs with --long")
    found = run(megabytes, 400)
    assert found.startswith(("MemoryError", "compiled"))
