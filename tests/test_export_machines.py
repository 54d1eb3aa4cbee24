"""Exported programs on each of the machines that can be exported for compute what this process does. AArch64 is emulated by qemu-user."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

import cotangent as ct
import cotangent.numpy as cnp
import numpy as np
import pytest

rng = np.random.default_rng(4)
CLANG, LLD = (
    next((n for n in (name, f"{name}-22", f"{name}-19") if shutil.which(n)), None) for name in ("clang", "ld.lld")
)

# A program without a C library: the inputs are in it, the results go to standard output.
START = {
    "x86_64": """
static long call(long number, long a, long b, long c) {
  long result;
  __asm__ volatile("syscall" : "=a"(result) : "a"(number), "D"(a), "S"(b), "d"(c) : "rcx", "r11", "memory");
  return result;
}
enum { WRITE = 1, EXIT = 60 };
__asm__(".globl _start\\n_start: and $-16, %rsp\\n call start");
""",
    "aarch64": """
static long call(long number, long a, long b, long c) {
  register long x8 __asm__("x8") = number, x0 __asm__("x0") = a, x1 __asm__("x1") = b, x2 __asm__("x2") = c;
  __asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2) : "memory");
  return x0;
}
enum { WRITE = 64, EXIT = 93 };
__asm__(".globl _start\\n_start: bl start");
""",
}
DRIVER = """
#include <stddef.h>
#include <stdint.h>
#include "step.h"
void* memcpy(void* to, const void* from, size_t n) { for (size_t i = 0; i < n; ++i) ((char*)to)[i] = ((const char*)from)[i]; return to; }
void* memmove(void* to, const void* from, size_t n) {
  if ((char*)to < (const char*)from) return memcpy(to, from, n);
  while (n-- > 0) ((char*)to)[n] = ((const char*)from)[n];
  return to;
}
void* memset(void* to, int x, size_t n) { for (size_t i = 0; i < n; ++i) ((char*)to)[i] = (char)x; return to; }
static unsigned char heap[1 << 24] __attribute__((aligned(64)));
"""


def run_on(machine: str, f: Any, *arguments: Any, directory: Path, target: str) -> list[np.ndarray]:
    made = ct.export.compile(f, *arguments, name="step", target=target)
    made.save(directory)
    inputs = [np.ascontiguousarray(np.asarray(x)) for x in ct.tree_util.tree_flatten(arguments)[0]]
    avals = made.functions["step"].out_avals
    sizes = [int(np.prod(shape, dtype=int)) * np.dtype(dtype).itemsize for shape, dtype in avals]
    source, names = DRIVER + START[machine], []
    for i, x in enumerate(inputs):
        source += (
            f"static unsigned char in{i}[] __attribute__((aligned(64))) = {{{','.join(map(str, x.tobytes()))}}};\n"
        )
        names.append(f"(void*)in{i}")
    for i, size in enumerate(sizes):
        source += f"static unsigned char out{i}[{size}] __attribute__((aligned(64)));\n"
        names.append(f"(void*)out{i}")
    split = len(inputs)
    source += f"static const void* inputs[] = {{{', '.join(names[:split])}}};\n"
    source += f"static void* outputs[] = {{{', '.join(names[split:])}}};\n"
    source += "void start(void) {\n  const ct_run run = {sizeof run, heap, sizeof heap, NULL, NULL, NULL};\n"
    source += "  int status = step_leaves(inputs, outputs, &run);\n"
    for i, size in enumerate(sizes):
        source += f"  for (long done = 0; done < {size};) done += call(WRITE, 1, (long)out{i} + done, {size} - done);\n"
    (directory / "main.c").write_text(source + "  call(EXIT, status, 0, 0);\n}\n")
    command = [
        CLANG,
        f"--target={machine}-linux-gnu",
        "-O1",
        "-ffreestanding",
        "-fno-builtin",
        "-fno-stack-protector",
        "-nostdlib",
    ]
    command += ["-static", f"--ld-path={shutil.which(str(LLD))}", "main.c", "libstep.a", "-o", "main"]
    subprocess.run([str(c) for c in command], cwd=directory, check=True)
    emulator = [] if machine == "x86_64" else [f"qemu-{machine}"]
    output = subprocess.run([*emulator, directory / "main"], capture_output=True, check=True, timeout=100).stdout
    assert len(output) == sum(sizes)
    results, at = [], 0
    for (shape, dtype), size in zip(avals, sizes, strict=True):
        results.append(np.frombuffer(output[at : at + size], np.dtype(dtype)).reshape(shape))
        at += size
    return results


@pytest.mark.parametrize(
    ("machine", "target"),
    [("x86_64", "x86-64-v2"), ("x86_64", "x86-64-v3"), ("x86_64", "x86-64"), ("aarch64", "aarch64")],
)
def test_results(machine: str, target: str, tmp_path: Path) -> None:
    if CLANG is None or LLD is None:
        pytest.skip("needs clang and lld")
    if machine != "x86_64" and not shutil.which(f"qemu-{machine}"):
        pytest.skip(f"needs qemu-{machine}, of the package qemu-user")
    x, a = rng.standard_normal((40, 33)).astype(np.float32), rng.standard_normal((36, 36))
    ragged = ct.Ragged(rng.standard_normal(20).astype(np.float32), {0: 13})
    table = cnp.array(rng.integers(0, 1000, 100))

    def f(x: Any, a: Any, ragged: Any) -> Any:
        positive = a @ a.T + 36 * cnp.eye(36)
        z, w = cnp.exp(1j * a), ct.lax.complex(x, 1 - x)
        return (
            ct.value_and_grad(lambda x: cnp.mean(cnp.tanh(x @ x.T) ** 2))(x),
            (
                cnp.floor(x),
                cnp.ceil(x),
                cnp.round(x),
                cnp.trunc(x),
                cnp.exp(x),
                cnp.sin(100 * x),
                x.astype(cnp.float16),
                x.astype(cnp.bfloat16) * 3,
            ),
            (
                cnp.sort(x, axis=1),
                cnp.argsort(a, axis=0),
                ct.lax.top_k(x, 3),
                ct.random.permutation(ct.random.key(1), 100),
            ),
            (
                cnp.linalg.cholesky(positive),
                cnp.linalg.solve(a, positive),
                cnp.linalg.eigvalsh(positive),
                cnp.linalg.qr(a)[1],
            ),
            (
                cnp.fft.fft(a),
                cnp.cumsum(a, axis=0),
                table[cnp.abs(x).astype(int) % 100],
                (x * 1e10).astype(cnp.int32) // 7,
                x.astype(int) % 3,
            ),
            ct.mask(lambda y: cnp.sort(cnp.cumsum(y)))(ragged),
            ct.lax.while_loop(lambda c: c[0] < 20, lambda c: (c[0] + 1, c[1] @ a / 10), (0, a))[1],
            (z @ z[:, :35], z.T @ cnp.conj(z)[:, 1:], w @ w.T, w.T @ w),
        )

    results = run_on(machine, f, x, a, ragged, directory=tmp_path, target=target)
    for actual, wanted in zip(results, ct.tree_util.tree_flatten(ct.jit(f)(x, a, ragged))[0], strict=True):
        wanted = np.asarray(wanted)
        assert actual.dtype == wanted.dtype
        if wanted.dtype.kind not in "fcV":
            np.testing.assert_array_equal(actual, wanted)
            continue
        rtol = 1e-9 if np.zeros(1, wanted.dtype).real.dtype == np.float64 else 1e-5
        wide = (actual.astype(complex), wanted.astype(complex))
        np.testing.assert_allclose(*wide, rtol=rtol, atol=rtol * np.abs(wide[1]).max())
