"""The C source of exported programs, as gcc and clang compile it, beside their machine code for the same processor.

    python benchmarks/c_source.py [--level x86-64-v3] [--options="-fno-math-errno"] [--keep FOLDER] [words of the names to run]

Of each program it prints the time of the machine code and by how much the C source takes longer (`-O2`, with the level's `-march`). All run in
one process in turns; the least time of a call counts. Results are compared bit by bit before anything is timed.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import cotangent as ct
import cotangent.numpy as cnp
import numpy as np

COMPILERS = [name for name in ("gcc", "clang-22", "clang-19", "clang") if shutil.which(name)][:2]
ROUNDS = 40
ROUND_NANOSECONDS = 300_000
# Times calls of an exported function: a call by ctypes takes longer than small programs do.
TIMER = """
#include <time.h>
typedef int (*leaves)(const void* const*, void* const*, const void*);
double nanoseconds(leaves function, const void* const* in, void* const* out, const void* run, int calls) {
  struct timespec begin, end;
  clock_gettime(CLOCK_MONOTONIC, &begin);
  for (int i = 0; i < calls; ++i)
    if (function(in, out, run) != 0) return -1;
  clock_gettime(CLOCK_MONOTONIC, &end);
  return ((double)(end.tv_sec - begin.tv_sec) * 1e9 + (double)(end.tv_nsec - begin.tv_nsec)) / calls;
}
"""

rng = np.random.default_rng(0)


def normal(*shape: int, dtype: Any = np.float32, scale: float = 1.0) -> Any:
    return (scale * rng.standard_normal(shape)).astype(dtype)


def definite(n: int) -> Any:
    a = rng.standard_normal((n, n))
    return (a @ a.T + n * np.eye(n)).astype(np.float32)


def training(w1: Any, w2: Any, x: Any, y: Any) -> Any:
    def loss(w1: Any, w2: Any) -> Any:
        return cnp.mean((cnp.tanh(x @ w1) @ w2 - y) ** 2)

    g1, g2 = ct.grad(loss, argnums=(0, 1))(w1, w2)
    return w1 - 0.1 * g1, w2 - 0.1 * g2


def attention(x: Any) -> Any:
    n = x.shape[0]
    scores = cnp.where(cnp.tril(cnp.ones((n, n), bool)), x @ x.T / 8, -cnp.inf)
    return ct.nn.softmax(scores, axis=-1) @ x


def recurrent(w: Any, x: Any) -> Any:
    def step(h: Any, row: Any) -> Any:
        h = cnp.tanh(w @ h + row)
        return h, cnp.sum(h)

    return ct.lax.scan(step, cnp.zeros(64, np.float32), x)


def of_complex(*shape: int, dtype: Any = np.complex64) -> Any:
    return (rng.standard_normal(shape) + 1j * rng.standard_normal(shape)).astype(dtype)


X = normal(64, 64)
FLAT = normal(4096)
PROGRAMS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "training step": (training, (normal(64, 64), normal(64, 10), X, normal(64, 10))),
    "attention": (attention, (X,)),
    "recurrent": (recurrent, (normal(64, 64, scale=0.1), X)),
    "product 128": (lambda a: a @ a, (normal(128, 128),)),
    "product of float64": (lambda a: a @ a, (normal(64, 64, dtype=np.float64),)),
    "complex product": (lambda z: z @ z, (of_complex(64, 64),)),
    "complex product, transposed": (lambda z: z @ z.T, (of_complex(40, 33),)),
    "complex128 product": (lambda z: z @ z[:, :35], (of_complex(36, 36, dtype=np.complex128),)),
    "convolution": (lambda x: ct.lax.conv(x[None, None], x[None, None, :5, :5], (1, 1), "SAME"), (X,)),
    "softmax": (lambda x: ct.nn.softmax(x, axis=-1), (X,)),
    "tanh * exp": (lambda x: cnp.tanh(x) * cnp.exp(-x), (FLAT,)),
    "sin": (cnp.sin, (FLAT,)),
    "sin of float64": (cnp.sin, (FLAT.astype(np.float64),)),
    "functions with sin": (
        lambda x: [f(x) for f in (cnp.exp, cnp.tanh, cnp.sin, cnp.expm1, cnp.arctan, ct.nn.gelu, ct.nn.sigmoid)],
        (FLAT,),
    ),
    "gradient of sin": (ct.vmap(ct.grad(lambda row: cnp.sum(cnp.sin(row) ** 2))), (X,)),
    "sum of sin": (lambda x: cnp.sum(cnp.sin(x)), (FLAT,)),
    "log and gamma": (lambda x: (cnp.log(x), ct.scipy.special.gammaln(x)), (np.abs(FLAT) + np.float32(0.1),)),
    "branches": (lambda x: ct.lax.map(lambda v: ct.lax.cond(v[0] > 0, cnp.sin, cnp.cos, v), x), (X,)),
    "sum of float16": (lambda x: cnp.sum(x * x + 1, axis=0), (X.astype(np.float16),)),
    "tanh of float16": (cnp.tanh, (FLAT.astype(np.float16),)),
    "tanh of bfloat16": (cnp.tanh, (cnp.asarray(FLAT).astype(cnp.bfloat16),)),
    "to narrow floats": (
        lambda x: [x.astype(d) for d in (cnp.float16, cnp.bfloat16)] + [x.astype(cnp.bfloat16) * 3],
        (FLAT,),
    ),
    "to float8": (lambda x: [x.astype(d) for d in (cnp.float8_e4m3fn, cnp.float8_e5m2)], (FLAT,)),
    "subnormals": (
        lambda x: (x * 0.5, x + x, x[::-1] - x, cnp.max(x)),
        ((np.geomspace(1e-46, 1e-36, 4096) * 1.7).astype(np.float32),),
    ),
    "maximum": (lambda x: cnp.max(x), (FLAT,)),
    "sums": (lambda x: (cnp.sum(x), cnp.mean(x, 0), cnp.var(x, 1), cnp.max(x, 1)), (X,)),
    "sum of sin, by columns": (lambda x: cnp.sum(cnp.sin(x), axis=0), (X,)),
    "cumulative sums": (lambda x: (cnp.cumsum(x, axis=0), cnp.cumsum(x, axis=1)), (X,)),
    "cumulative, of all kinds": (
        lambda a, x: (cnp.cumsum(a, axis=0), cnp.cumprod(x[:5], axis=0), ct.lax.cummax(x)),
        (normal(36, 36, dtype=np.float64), normal(40, 33)),
    ),
    "integers": (lambda n: (n // 7, n % 7, n * n, n >> 3), (rng.integers(-(2**40), 2**40, 1000),)),
    "sort": (lambda x: cnp.sort(x, axis=1), (X,)),
    "cholesky": (cnp.linalg.cholesky, (definite(64),)),
    "fourier": (cnp.fft.fft, (normal(64, 64),)),
    "random": (lambda x: ct.random.normal(ct.random.key(2), (1000,)) + x, (np.float32(1),)),
}


class Compiled:
    """A library's one function, ready to be called with arguments and results of its own."""

    def __init__(self, path: Path, made: ct.export.Exported, inputs: list[np.ndarray]) -> None:
        self.library = ctypes.CDLL(str(path))
        function = made.functions["program"]
        self.outputs = [np.zeros(shape, np.dtype(dtype)) for shape, dtype in function.out_avals]
        self.inputs = inputs
        self.function = ctypes.cast(self.library.program_leaves, ctypes.c_void_p)
        size = json.loads(made.describe())["functions"][0]["workspace_bytes"]
        self.memory = np.zeros(size + 64, np.uint8)
        first = self.memory.ctypes.data + -self.memory.ctypes.data % 64
        self.run = (ctypes.c_size_t * 6)(48, first, size, 0, 0, 0)  # ct_run

        def pointers(arrays: list[np.ndarray]) -> Any:
            return (ctypes.c_void_p * max(len(arrays), 1))(*[a.ctypes.data for a in arrays])

        self.arguments = (self.function, pointers(inputs), pointers(self.outputs), self.run)

    def bits(self) -> list[bytes]:
        return [output.tobytes() for output in self.outputs]


def compile_timer(folder: Path) -> Any:
    (folder / "timer.c").write_text(TIMER)
    command = [COMPILERS[0], "-O2", "-shared", "-fPIC", "timer.c", "-o", "timer.so"]
    subprocess.run(command, cwd=folder, check=True)
    function = ctypes.CDLL(str(folder / "timer.so")).nanoseconds
    function.restype = ctypes.c_double
    return function


def measure(
    name: str, level: str, folder: Path, timer: Any, options: Sequence[str] = ()
) -> tuple[list[float], list[bool]]:
    """The least nanoseconds of the machine code and of each compiler's code, and whether the latter's bits are equal."""
    function, arguments = PROGRAMS[name]
    made = ct.export.compile(lambda *a: function(*a), *arguments, name="program", target=level, checks=False)
    made.save(folder, files=("h", "c", "so"))
    paths = [folder / "machine.so", *[folder / f"{compiler}.so" for compiler in COMPILERS]]
    shutil.move(folder / "libprogram.so", paths[0])
    flags = ["-std=c11", "-O2", f"-march={level}", *options, "-shared", "-fPIC"]
    for compiler, path in zip(COMPILERS, paths[1:], strict=True):
        command = [compiler, *flags, "program.c", "-o", path.name]
        subprocess.run(command, cwd=folder, check=True)
    inputs = [np.ascontiguousarray(np.asarray(x)) for x in ct.tree_util.tree_flatten(arguments)[0]]
    programs = [Compiled(path, made, inputs) for path in paths]
    least = [timer(*program.arguments, 2) for program in programs]
    equal = [program.bits() == programs[0].bits() for program in programs[1:]]
    calls = [max(int(ROUND_NANOSECONDS / max(time, 1)), 1) for time in least]
    for _ in range(ROUNDS):
        for i, program in enumerate(programs):
            least[i] = min(least[i], timer(*program.arguments, calls[i]))
    return least, equal


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--level", default="x86-64-v3")
    parser.add_argument("--options", default="", help="more of the compilers' options")
    parser.add_argument("--keep", type=Path, help="a folder for the sources and libraries")
    parser.add_argument("words", nargs="*")
    chosen = parser.parse_args()
    if not COMPILERS:
        sys.exit("needs gcc or clang")
    print(f"{chosen.level:30s} {'µs':>9s} " + " ".join(f"{compiler:>9s}" for compiler in COMPILERS))
    with tempfile.TemporaryDirectory() as temporary:
        root = (chosen.keep or Path(temporary)).resolve()
        root.mkdir(parents=True, exist_ok=True)
        timer = compile_timer(root)
        for name in PROGRAMS:
            if chosen.words and not any(word in name for word in chosen.words):
                continue
            folder = root / name.replace(" ", "_")
            folder.mkdir(exist_ok=True)
            (machine, *compiled), equal = measure(name, chosen.level, folder, timer, chosen.options.split())
            ratios = " ".join(f"{time / machine:9.2f}" for time in compiled)
            note = "" if all(equal) else f"  other bits: {[c for c, e in zip(COMPILERS, equal, strict=True) if not e]}"
            print(f"{name:30s} {machine / 1e3:9.2f} {ratios}{note}", flush=True)


if __name__ == "__main__":
    main()
