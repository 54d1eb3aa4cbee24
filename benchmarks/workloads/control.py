"""Loops of little work: what an iteration costs, against C that rounds as often."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
from judge import TimesC, Workload
from machine import compile_c

from workloads.data import normal

SOURCE = r"""
#include <stdint.h>
void newton(float *out, float a, int64_t n) {
  float x = a;
  for (int64_t i = 0; i < n; i++) x = 0.5f * (x + a / x);
  *out = x;
}
void loop16(float *restrict out, const float *restrict x, int64_t n) {
  float y[16];
  for (int j = 0; j < 16; j++) y[j] = x[j];
  for (int64_t i = 0; i < n; i++)
    for (int j = 0; j < 16; j++) y[j] = y[j] * 0.999f + 0.001f;
  for (int j = 0; j < 16; j++) out[j] = y[j];
}
"""


def newton(library: Any) -> Any:
    if not hasattr(library, "lax"):
        return None
    return library.thunk(
        lambda a: library.lax.fori_loop(0, 1000, lambda i, x: 0.5 * (x + a / x), a), np.array(2, np.float32)
    )


def newton_c() -> Any:
    code, out = compile_c(SOURCE, contract=False), np.zeros((), np.float32)
    arguments = ctypes.c_void_p(out.ctypes.data), ctypes.c_float(2), ctypes.c_int64(1000)
    return lambda: (code.newton(*arguments), out)[1]


def fori(library: Any) -> Any:
    if not hasattr(library, "lax"):
        return None
    return library.thunk(lambda x: library.lax.fori_loop(0, 10_000, lambda i, y: y * 0.999 + 0.001, x), normal(16))


def fori_c() -> Any:
    code, x, out = compile_c(SOURCE, contract=False), normal(16), np.zeros(16, np.float32)
    arguments = ctypes.c_void_p(out.ctypes.data), ctypes.c_void_p(x.ctypes.data), ctypes.c_int64(10_000)
    return lambda: (code.loop16(*arguments), out)[1]


WORKLOADS = [
    Workload("scalar Newton, 1000 iterations", newton, (TimesC(1.2),), c=newton_c),
    Workload("fori_loop of (16,), 10,000 iterations", fori, (TimesC(1.2),), c=fori_c),
]
