"""The machine's limits, measured by C code that is compiled for it: memory bandwidth by a triad, one core's peak of fused multiply-adds."""

from __future__ import annotations

import ctypes
import os
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

SOURCE = r"""
#include <stdint.h>
#define LANES_F (64 / sizeof(float))
typedef float vf __attribute__((vector_size(64)));
typedef double vd __attribute__((vector_size(64)));
void triad(float *restrict a, const float *restrict b, const float *restrict c, float s, int64_t n) {
  for (int64_t i = 0; i < n; i++) a[i] = b[i] + s * c[i];
}
#define PEAK(NAME, V, T)                                                                    \
  T NAME(T x, int64_t n) {                                                                  \
    V m = (V){} + x, a[12];                                                                 \
    for (int j = 0; j < 12; j++) a[j] = (V){} + (T)j;                                       \
    for (int64_t i = 0; i < n; i++)                                                         \
      _Pragma("GCC unroll 12") for (int j = 0; j < 12; j++) a[j] = a[j] * m + m;            \
    V sum = a[0];                                                                           \
    for (int j = 1; j < 12; j++) sum += a[j];                                               \
    T r = 0;                                                                                \
    for (unsigned j = 0; j < sizeof(V) / sizeof(T); j++) r += sum[j];                       \
    return r;                                                                               \
  }
PEAK(peak_f, vf, float)
PEAK(peak_d, vd, double)
"""


def compile_c(source: str, contract: bool = True) -> ctypes.CDLL:
    """A C source as a loaded library, optimised for this machine; OSError without a compiler.

    ``contract``: a product and a sum may be one instruction, which rounds once.
    """
    folder = Path(tempfile.mkdtemp(prefix="cotangent-bench-"))
    file = folder / "code.c"
    file.write_text(source)
    library = folder / "code.so"
    flags = [
        "-O3",
        "-march=native",
        f"-ffp-contract={'fast' if contract else 'off'}",
        "-fno-math-errno",
        "-shared",
        "-fPIC",
    ]
    done = subprocess.run(
        ["cc", *flags, str(file), "-o", str(library), "-lm"], capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise OSError(done.stderr[:500])
    return ctypes.CDLL(str(library))


def cores() -> int:
    return len(os.sched_getaffinity(0))


def least(run: Callable[[], Any], times: int) -> float:
    best = float("inf")
    for _ in range(times):
        start = time.perf_counter()
        run()
        best = min(best, time.perf_counter() - start)
    return best


class Limits:
    """Bytes a second of memory, floating-point operations a second of one core."""

    def __init__(self, quick: bool = False) -> None:
        code = compile_c(SOURCE)
        self.cores = cores()
        rounds = 3 if quick else 25
        n = 1_000_000 if quick else 10_000_000
        arrays = [np.ones(n, np.float32) for _ in range(3)]

        def part(index: int, count: int) -> None:
            low, high = n * index // count, n * (index + 1) // count
            pointers = [ctypes.c_void_p(array.ctypes.data + 4 * low) for array in arrays]
            code.triad(*pointers, ctypes.c_float(1.5), ctypes.c_int64(high - low))

        def triad(count: int) -> None:
            threads = [threading.Thread(target=part, args=(i, count)) for i in range(1, count)]
            for thread in threads:
                thread.start()
            part(0, count)
            for thread in threads:
                thread.join()

        self.one_core_bandwidth = 12 * n / least(lambda: triad(1), rounds)
        self.bandwidth = max(self.one_core_bandwidth, 12 * n / least(lambda: triad(self.cores), rounds))
        steps = 20_000
        code.peak_f.restype, code.peak_d.restype = ctypes.c_float, ctypes.c_double
        self.peak = (
            12 * 2 * 16 * steps / least(lambda: code.peak_f(ctypes.c_float(1e-3), ctypes.c_int64(steps)), rounds)
        )
        self.peak_double = (
            12 * 2 * 8 * steps / least(lambda: code.peak_d(ctypes.c_double(1e-3), ctypes.c_int64(steps)), rounds)
        )

    def seconds(self, workload: Any) -> float:
        """The least time that a workload's traffic and arithmetic take: all of the memory's bandwidth, one core's arithmetic."""
        return max(
            workload.bytes / self.bandwidth, workload.flops / (self.peak_double if workload.double else self.peak)
        )

    def text(self) -> str:
        return (
            f"{self.cores} cores; triad {self.bandwidth / 1e9:.1f} GB/s ({self.one_core_bandwidth / 1e9:.1f} on one core); "
            f"one core's peak {self.peak / 1e9:.0f} GFLOP/s in float32, {self.peak_double / 1e9:.0f} in float64"
        )
