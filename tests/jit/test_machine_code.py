"""Linked programs where memory that is mapped twice is forbidden, and what ``perf`` and ``gdb`` are told of programs."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

# One line of it is that of a loop, another that of a product.
PROGRAM = """
import ctypes, os, sys
import numpy as np
import cotangent as ct
import cotangent.numpy as cnp

def my_loss(x):
    y = cnp.tanh(x) + 1
    return y @ x

f = ct.jit(my_loss, backend="llvm")
x = np.eye(40, dtype=np.float32)
expected = (np.tanh(x) + 1) @ x
"""


def run(program: str, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=os.environ | environment,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stderr == ""
    return done.stdout


@pytest.mark.parametrize("forbid", ["RLIMIT_FSIZE", "RLIMIT_NOFILE"])
def test_without_memory_that_is_mapped_twice(forbid):
    """Limits of files are limits of such memory, too."""
    assert (
        run(f"""
import os, resource
os.environ["CT_CACHE_DIR"] = ""
os.environ["CT_THREADS"] = "1"  # nothing is linked before
import numpy as np
import cotangent as ct
import cotangent.numpy as cnp
resource.setrlimit(resource.{forbid}, (3, 3))
fs = [ct.jit(lambda x, k=k: cnp.sin(x) * k) for k in range(20)]
for k, f in enumerate(fs):
    assert np.allclose(f(np.ones(7)), np.sin(1) * k)
print("good")
""")
        == "good\n"
    )


def test_perf_finds_names_and_lines(tmp_path):
    run(
        PROGRAM + "assert np.allclose(f(x), expected, atol=1e-5)",
        CT_PERF="1",
        JITDUMPDIR=str(tmp_path),
        CT_CACHE_DIR="",
    )
    (dump,) = tmp_path.glob(".debug/jit/*/jit-*.dump")
    found = dump.read_bytes()
    assert found.startswith(b"DTiJ")
    assert re.search(rb"program <string>:\d+ \(my_loss\)", found)
    assert found.count(b"<string>\0") >= 2  # the file of an instruction


GDB = (
    PROGRAM
    + """
class Entry(ctypes.Structure):
    pass
Entry._fields_ = [("next", ctypes.POINTER(Entry)), ("previous", ctypes.POINTER(Entry)),
                  ("symbols", ctypes.c_void_p), ("size", ctypes.c_uint64)]
class Descriptor(ctypes.Structure):
    _fields_ = [("version", ctypes.c_uint32), ("action", ctypes.c_uint32),
                ("relevant", ctypes.POINTER(Entry)), ("first", ctypes.POINTER(Entry))]

def objects():
    found, entry = [], Descriptor.in_dll(ctypes.CDLL(ct._core.__file__), "__jit_debug_descriptor").first
    while entry:
        found.append(ctypes.string_at(entry.contents.symbols, entry.contents.size))
        entry = entry.contents.next
    return found

def known(objects):
    return any(one.startswith(b"\\x7fELF") and b"(my_loss)" in one for one in objects)

assert not known(objects())
assert np.allclose(f(x), expected, atol=1e-5)
print(known(objects()))
"""
)


def test_gdb_finds_programs(tmp_path):
    assert run(GDB, CT_GDB="1", CT_CACHE_DIR="") == "True\n"


def test_kernels_have_the_users_lines():
    """Those of PTX for profilers; on the emulated device they are debug information as that of the processor's programs."""
    kernels = (
        PROGRAM
        + """
assert np.allclose(ct.jit(my_loss, backend="cuda-emulated")(x), expected, atol=1e-5)
print(ct.jit(my_loss).lower(x).as_text("ptx"))
"""
    )
    text = run(kernels, CT_GDB="1")
    assert re.search(r"\.loc\s+1 \d+ ", text) and "<string>" in text
    assert ", debug" not in text  # the assembler would not optimise
    assert ".loc" not in run(kernels)


def test_nobody_is_told_unasked(tmp_path):
    assert run(GDB, JITDUMPDIR=str(tmp_path)) == "False\n"
    assert not list(tmp_path.iterdir())


def test_such_code_is_not_kept_on_disk(tmp_path):
    cache = tmp_path / "cache"
    run(PROGRAM + "f(x)", CT_PERF="1", JITDUMPDIR=str(tmp_path), CT_CACHE_DIR=str(cache))
    assert not cache.exists()
    run(PROGRAM + "f(x)", CT_PERF="0", JITDUMPDIR=str(tmp_path / "none"), CT_CACHE_DIR=str(cache))
    assert list(cache.iterdir())
    assert not (tmp_path / "none").exists()


def test_a_file_that_cannot_be_made_is_no_error(tmp_path):
    blocked = Path(tmp_path / "file")
    blocked.write_text("")
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM + "assert np.allclose(f(x), expected, atol=1e-5)"],
        env=os.environ | {"CT_PERF": "1", "JITDUMPDIR": str(blocked), "CT_CACHE_DIR": ""},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    assert "perf will not know compiled programs" in done.stderr
