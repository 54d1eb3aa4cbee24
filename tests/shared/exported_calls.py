"""Calls of exported libraries by ctypes, with the workspace that they ask for."""

from __future__ import annotations

import ctypes
import itertools
import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import cotangent as ct
import numpy as np
import pytest
from needs import needs

_numbers = itertools.count()
STRICT = ("-Wall", "-Wextra", "-Werror", "-pedantic", "-Wconversion")
# What a library is saved as, and called from: machine code, and C source that a compiler makes into some.
forms = pytest.mark.parametrize(
    "form",
    ["library", pytest.param("source", marks=needs("gcc"))],
)


def compile_source(directory: Path, name: str, compiler: str = "gcc", *options: str) -> None:
    """The shared library of a library's C source."""
    command = [compiler, "-std=c11", "-O2", *STRICT, *options, "-shared", "-fPIC", f"{name}.c", "-o", f"lib{name}.so"]
    done = subprocess.run(command, cwd=directory, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[:3000]


def save(made: ct.export.Exported, directory: Path, form: str) -> None:
    """Writes a library out, so that `Library` opens it."""
    if form == "library":
        made.save(directory)
    else:
        made.save(directory, files=("h", "c"))
        compile_source(directory, made.name)


class Run(ctypes.Structure):
    """``ct_run``."""

    _fields_ = (
        ("size", ctypes.c_size_t),
        ("workspace", ctypes.c_void_p),
        ("workspace_bytes", ctypes.c_size_t),
        ("stop", ctypes.c_void_p),
        ("parallel", ctypes.c_void_p),
        ("pool", ctypes.c_void_p),
    )


def aligned(count: int, alignment: int = 64) -> np.ndarray:
    """Bytes at a multiple of the alignment."""
    block = np.zeros(count + alignment, np.uint8)
    first = -block.ctypes.data % alignment
    return block[first : first + count]


class Library:
    """An exported library."""

    def __init__(self, directory: Path, name: str) -> None:
        # A name of its own: a library of the same path would be the one that is loaded already.
        path = directory / f"lib{name}_{next(_numbers)}.so"
        shutil.copy(directory / f"lib{name}.so", path)
        self.c = ctypes.CDLL(str(path))
        describe = getattr(self.c, f"{name}_describe")
        describe.restype = ctypes.c_char_p
        self.description = json.loads(describe())

    def function(self, name: str | None = None) -> dict[str, Any]:
        functions = self.description["functions"]
        return next(f for f in functions if name is None or f["name"] == name)

    def run(self, name: str | None = None, stop: ctypes.c_int | None = None) -> Run:
        """A ``ct_run`` with the workspace of a function."""
        size = self.function(name)["workspace_bytes"]
        memory = aligned(size)
        run = Run(ctypes.sizeof(Run), memory.ctypes.data, size, None if stop is None else ctypes.addressof(stop))
        run.kept = memory  # type: ignore[attr-defined]
        return run

    def call(
        self,
        inputs: list[np.ndarray],
        outputs: list[np.ndarray],
        name: str | None = None,
        stop: ctypes.c_int | None = None,
        run: Run | None = None,
    ) -> int:
        """By pointers to leaves; the status."""
        symbol = self.function(name)["symbol"]
        run = run or self.run(name, stop)

        def pointers(arrays: list[np.ndarray]) -> Any:
            return (ctypes.c_void_p * max(len(arrays), 1))(*[a.ctypes.data for a in arrays])

        return int(getattr(self.c, f"{symbol}_leaves")(pointers(inputs), pointers(outputs), ctypes.byref(run)))


def leaves_of(arguments: Any) -> list[np.ndarray]:
    return [np.ascontiguousarray(np.asarray(x)).reshape(np.shape(x)) for x in ct.tree_util.tree_flatten(arguments)[0]]


def empty_results(function: ct.export.Function) -> list[np.ndarray]:
    return [np.empty(shape, np.dtype(dtype)) for shape, dtype in function.out_avals]


def call_exported(f: Any, *arguments: Any, directory: Path, **options: Any) -> list[np.ndarray]:
    """What the library of the function computes: its result leaves."""
    made = ct.export.compile(f, *arguments, name="step", **options)
    made.save(directory, files=("so",))
    outputs = empty_results(made.functions["step"])
    status = Library(directory, "step").call(leaves_of(arguments), outputs)
    assert status == 0, status
    return outputs
