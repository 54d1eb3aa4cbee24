"""Runs exported programs on each machine that they can be exported for: by qemu, and WebAssembly by node.

`run` makes one library of all programs and one small program of C (JavaScript for WebAssembly) that calls each with inputs that are built
in and writes what it computes to standard output. There is no C library; on machines without an operating system there is semihosting.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cotangent as ct
import numpy as np
from exported_calls import STRICT
from needs import has

Program = tuple[Any, tuple[Any, ...]]  # a function and its arguments

CLANG, LLD, NM, AR = (
    next((n for n in (f"{name}-22", f"{name}-19", name) if has(n)), None)
    for name in ("clang", "ld.lld", "llvm-nm", "llvm-ar")
)
# Of C source where there is no C library. Nothing sets errno.
SOURCE_OPTIONS = ("-std=c11", "-O2", *STRICT, "-fno-math-errno", "-ffreestanding", "-fno-stack-protector", "-fno-pic")
# Of Debian's package libgcc-12-dev-armhf-cross: arithmetic that the processor lacks.
LIBGCC = next(iter(sorted(Path("/usr/lib/gcc-cross/arm-linux-gnueabihf").glob("*/libgcc.a"))), None)


@dataclass(frozen=True)
class Machine:
    """What an exported program needs to run."""

    flags: tuple[str, ...]  # of clang
    start: str  # C: `write` and `leave`
    emulator: tuple[str, ...] = ()  # without one, this machine
    libgcc: bool = False
    script: str = ""  # of the linker

    def lacks(self) -> str | None:
        """Why it cannot be had here."""
        if CLANG is None or LLD is None:
            return "needs clang and lld"
        if self.emulator and not has(self.emulator[0]):
            return f"needs {self.emulator[0]}, of the package {'qemu-system-arm' if self.script else 'qemu-user'}"
        if self.libgcc and LIBGCC is None:
            return "needs the package libgcc-12-dev-armhf-cross"
        return None


def _linux(registers: str, instruction: str, numbers: tuple[int, int], entry: str) -> str:
    return f"""
static long call(long number, long a, long b, long c) {{
  {registers}
  __asm__ volatile("{instruction}" : "+r"(result) : "r"(function), "r"(second), "r"(third) : "memory");
  return result;
}}
static void write(const void* data, long n) {{
  for (long done = 0; done < n;) done += call({numbers[0]}, 1, (long)data + done, n - done);
}}
static void leave(int status) {{ call({numbers[1]}, status, 0, 0); }}
__asm__(".globl _start\\n_start: {entry}");
"""


def _registers(function: str, first: str, second: str, third: str) -> str:
    return (
        f'register long function __asm__("{function}") = number, result __asm__("{first}") = a, second __asm__("{second}") = b, '
        f'third __asm__("{third}") = c;'
    )


X86_64 = """
static long call(long number, long a, long b, long c) {
  long result;
  __asm__ volatile("syscall" : "=a"(result) : "a"(number), "D"(a), "S"(b), "d"(c) : "rcx", "r11", "memory");
  return result;
}
static void write(const void* data, long n) { for (long done = 0; done < n;) done += call(1, 1, (long)data + done, n - done); }
static void leave(int status) { call(60, status, 0, 0); }
__asm__(".globl _start\\n_start: and $-16, %rsp\\n call start");
"""
BARE = """
static int semihost(int operation, const void* argument) {
  register int r0 __asm__("r0") = operation;
  register const void* r1 __asm__("r1") = argument;
  __asm__ volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
  return r0;
}
static void write(const void* data, long n) {
  static int terminal = -1;
  const void* name[] = {":tt", (void*)4, (void*)3};
  if (terminal < 0) terminal = semihost(1, name);
  const void* block[] = {(void*)terminal, data, (void*)n};
  semihost(5, block);
}
static void leave(int status) {
  const void* block[] = {(void*)0x20026, (void*)status};
  semihost(0x20, block);
}
void start(void);
void reset(void) {
  *(volatile uint32_t*)0xE000ED88 |= 0xf << 20; /* the floating-point unit */
  __asm__ volatile("dsb\\n isb");
  start();
}
extern char top[];
__attribute__((section(".vectors"), used)) static const void* const vectors[] = {top, (void*)reset};
/* Those of libgcc for Linux use arithmetic in float64. Numbers are in integer registers. */
#define SOFT __attribute__((pcs("aapcs")))
static uint64_t whole(double x) {
  union { double x; uint64_t bits; } u = {x};
  const int e = (int)(u.bits >> 52 & 2047) - 1075;
  const uint64_t m = (u.bits & 0xfffffffffffff) | 0x10000000000000;
  return e < -52 ? 0 : e < 0 ? m >> -e : e > 11 ? 0 : m << e;
}
SOFT uint64_t __aeabi_d2ulz(double x) { return x < 0 ? 0 : whole(x); }
SOFT int64_t __aeabi_d2lz(double x) { return x < 0 ? -(int64_t)whole(-x) : (int64_t)whole(x); }
SOFT uint64_t __aeabi_f2ulz(float x) { return x < 0 ? 0 : whole(x); }
SOFT int64_t __aeabi_f2lz(float x) { return x < 0 ? -(int64_t)whole(-x) : (int64_t)whole(x); }
"""


SEMIHOSTING = ("-semihosting-config", "enable=on,target=native", "-kernel")


def _bare(triple: str, cpu: str, board: str, code: str, memory: str) -> Machine:
    return Machine(
        (f"--target={triple}", f"-mcpu={cpu}"),
        BARE,
        ("qemu-system-arm", "-M", board, "-nographic", "-serial", "none", "-monitor", "none", *SEMIHOSTING),
        libgcc=True,
        script=f"""ENTRY(reset)
MEMORY {{ code (rx) : ORIGIN = {code}, LENGTH = 4M  memory (rwx) : ORIGIN = {memory}, LENGTH = 4M }}
SECTIONS {{
  .text : {{ KEEP(*(.vectors)) *(.text*) *(.rodata*) }} > code
  .data : {{ *(.data*) *(.got*) }} > memory
  .bss (NOLOAD) : {{ *(.bss*) *(COMMON) }} > memory
  top = ORIGIN(memory) + LENGTH(memory);
  /DISCARD/ : {{ *(.ARM.*) }}
}}
""",
    )


_RISCV = Machine(
    ("--target=riscv64-linux-gnu", "-march=rv64gc", "-mabi=lp64d", "-mcmodel=medany"),
    _linux(_registers("a7", "a0", "a1", "a2"), "ecall", (64, 93), "andi sp, sp, -16\\n call start"),
    ("qemu-riscv64", "-cpu", "rv64"),
)
MACHINES = {
    "x86-64": Machine(("--target=x86_64-linux-gnu",), X86_64),
    "aarch64": Machine(
        ("--target=aarch64-linux-gnu",),
        _linux(_registers("x8", "x0", "x1", "x2"), "svc 0", (64, 93), "bl start"),
        ("qemu-aarch64",),
    ),
    "riscv64": _RISCV,
    "riscv64-v": Machine(_RISCV.flags, _RISCV.start, ("qemu-riscv64", "-cpu", "rv64,v=true,vlen=128")),
    "armv7": Machine(
        ("--target=armv7-linux-gnueabihf", "-marm", "-mfpu=vfpv4", "-mfloat-abi=hard"),
        _linux(_registers("r7", "r0", "r1", "r2"), "svc 0", (4, 1), "bl start"),
        ("qemu-arm", "-cpu", "cortex-a7"),
        libgcc=True,
    ),
    "cortex-m4f": _bare("thumbv7em-none-eabihf", "cortex-m4", "mps2-an386", "0x0", "0x20000000"),
    "cortex-m7": _bare("thumbv7em-none-eabihf", "cortex-m7", "mps2-an500", "0x0", "0x20000000"),
    "cortex-m33": _bare("thumbv8m.main-none-eabihf", "cortex-m33", "mps2-an505", "0x10000000", "0x38000000"),
}

DRIVER = """
#include <stddef.h>
#include <stdint.h>
#include "programs.h"
void* memcpy(void* to, const void* from, size_t n) { for (size_t i = 0; i < n; ++i) ((char*)to)[i] = ((const char*)from)[i]; return to; }
void* memmove(void* to, const void* from, size_t n) {
  if ((char*)to < (const char*)from) return memcpy(to, from, n);
  while (n-- > 0) ((char*)to)[n] = ((const char*)from)[n];
  return to;
}
void* memset(void* to, int x, size_t n) { for (size_t i = 0; i < n; ++i) ((char*)to)[i] = (char)x; return to; }
void __aeabi_memcpy(void* to, const void* from, size_t n) { memcpy(to, from, n); }
void __aeabi_memcpy4(void* to, const void* from, size_t n) { memcpy(to, from, n); }
void __aeabi_memcpy8(void* to, const void* from, size_t n) { memcpy(to, from, n); }
void __aeabi_memmove(void* to, const void* from, size_t n) { memmove(to, from, n); }
void __aeabi_memmove4(void* to, const void* from, size_t n) { memmove(to, from, n); }
void __aeabi_memmove8(void* to, const void* from, size_t n) { memmove(to, from, n); }
void __aeabi_memset(void* to, size_t n, int x) { memset(to, x, n); }
void __aeabi_memset4(void* to, size_t n, int x) { memset(to, x, n); }
void __aeabi_memset8(void* to, size_t n, int x) { memset(to, x, n); }
void __aeabi_memclr(void* to, size_t n) { memset(to, 0, n); }
void __aeabi_memclr4(void* to, size_t n) { memset(to, 0, n); }
void __aeabi_memclr8(void* to, size_t n) { memset(to, 0, n); }
int __aeabi_idiv0(int x) { return x; }
long long __aeabi_ldiv0(long long x) { return x; }
int raise(int signal) { return signal; }
"""

RUNNER = """
import { readFileSync, writeSync } from "node:fs";
import { load } from "./programs.mjs";
const { exports, memory, allocate, describe } = await load();
const inputs = readFileSync("inputs.bin");
let read = 0;
for (const { symbol, inputs: ins, outputs: outs, workspace_bytes } of describe.functions) {
  const [of_ins, of_outs] = SIZES[symbol];
  const places = (sizes) => sizes.map((size) => allocate(Math.max(size, 1)));
  const from = places(of_ins), to = places(of_outs);
  const list = (pointers) => {
    const at = allocate(4 * Math.max(pointers.length, 1));
    new Uint32Array(memory.buffer, at, pointers.length).set(pointers);
    return at;
  };
  of_ins.forEach((size, i) => new Uint8Array(memory.buffer, from[i], size).set(inputs.subarray(read, (read += size))));
  const run = list([24, allocate(workspace_bytes), workspace_bytes, 0, 0, 0]);
  const status = exports[`${symbol}_leaves`](list(from), list(to), run);
  if (status !== 0) throw new Error(`${symbol}: ${status}`);
  of_outs.forEach((size, i) => {
    for (let done = 0; done < size; ) done += writeSync(1, new Uint8Array(memory.buffer, to[i] + done, size - done));
  });
}
"""


def lacks(target: str) -> str | None:
    """Why programs for a target cannot run here."""
    if target == "wasm32":
        return None if has("node") else "needs node"
    return machine_of(target).lacks()


def machine_of(target: str) -> Machine:
    """All levels of x86-64 are this machine."""
    return MACHINES["x86-64" if target.startswith("x86-64") else target]


def export(programs: Sequence[Program], target: str, numerics: str = "fast") -> ct.export.Exported:
    """One library of all programs."""
    functions = {f"f{i}": ct.export.function(f, *arguments) for i, (f, arguments) in enumerate(programs)}
    return ct.export.library("programs", functions, target=target, numerics=numerics)


def _bytes(array: np.ndarray) -> str:
    return ",".join(map(str, array.tobytes())) or "0"


def _size(aval: tuple[tuple[int, ...], Any]) -> int:
    return int(np.prod(aval[0], dtype=int)) * np.dtype(aval[1]).itemsize


def run(
    programs: Sequence[Program], directory: Path, target: str, numerics: str = "fast", source: bool = False
) -> list[list[np.ndarray]]:
    """What each program computes on the machine of this name, by the library or by its C source: its result leaves."""
    made = export(programs, target, numerics)
    made.save(directory, files=("h", "c") if source else None)
    if source:
        machine = machine_of(target)
        level = [f"-march={target}"] if target.startswith("x86-64-") else []
        command = [CLANG, *machine.flags, *level, *SOURCE_OPTIONS, "-c", "programs.c", "-o", "programs.o"]
        _do(command, directory)
        _do([AR, "rcs", "libprograms.a", "programs.o"], directory)
    inputs = [
        [np.ascontiguousarray(np.asarray(x)) for x in ct.tree_util.tree_flatten(arguments)[0]]
        for _, arguments in programs
    ]
    avals = [function.out_avals for function in made.functions.values()]
    if target == "wasm32":
        output = _run_module(directory, inputs, avals)
    else:
        described = json.loads(made.describe())
        output = _run_program(directory, machine_of(target), inputs, avals, described["functions"])
    results, at = [], 0
    for of_program in avals:
        leaves = []
        for aval in of_program:
            size = _size(aval)
            leaves.append(np.frombuffer(output[at : at + size], np.dtype(aval[1])).reshape(aval[0]))
            at += size
        results.append(leaves)
    assert len(output) == at
    return results


def _run_module(directory: Path, inputs: list[list[np.ndarray]], avals: list[Any]) -> bytes:
    sizes = {
        f"programs_f{i}": [[x.nbytes for x in ins], [_size(aval) for aval in outs]]
        for i, (ins, outs) in enumerate(zip(inputs, avals, strict=True))
    }
    (directory / "inputs.bin").write_bytes(b"".join(x.tobytes() for ins in inputs for x in ins))
    (directory / "run.mjs").write_text(f"const SIZES = {json.dumps(sizes)};{RUNNER}")
    return subprocess.run(["node", "run.mjs"], cwd=directory, capture_output=True, check=True, timeout=300).stdout


def _run_program(
    directory: Path, machine: Machine, inputs: list[list[np.ndarray]], avals: list[Any], functions: list[Any]
) -> bytes:
    places = []
    for outs in avals:
        ends = np.cumsum([0, *(-(-max(_size(aval), 1) // 64) * 64 for aval in outs)])
        places.append([int(end) for end in ends])
    workspace = max(function["workspace_bytes"] for function in functions) + 64
    source = DRIVER + machine.start
    source += f"static unsigned char workspace[{workspace}] __attribute__((aligned(64)));\n"
    source += f"static unsigned char results[{max(p[-1] for p in places) + 64}] __attribute__((aligned(64)));\n"
    calls = ""
    for i, (ins, outs) in enumerate(zip(inputs, avals, strict=True)):
        for j, x in enumerate(ins):
            source += f"static const unsigned char in{i}_{j}[] __attribute__((aligned(64))) = {{{_bytes(x)}}};\n"
        read = ", ".join([*(f"in{i}_{j}" for j in range(len(ins))), "0"])
        written = ", ".join([*(f"results + {place}" for place in places[i][:-1]), "0"])
        calls += f"  {{\n    const void* ins[] = {{{read}}};\n    void* outs[] = {{{written}}};\n"
        calls += f"    const int status = programs_f{i}_leaves(ins, outs, &run);\n    if (status != 0) leave(1);\n"
        for place, aval in zip(places[i], outs, strict=False):
            calls += f"    write(results + {place}, {_size(aval)});\n"
        calls += "  }\n"
    source += "void start(void) {\n  const ct_run run = {sizeof run, workspace, sizeof workspace, NULL, NULL, NULL};\n"
    (directory / "main.c").write_text(f"{source}{calls}  leave(0);\n  for (;;) {{}}\n}}\n")
    options = ["-O1", "-ffreestanding", "-fno-builtin", "-fno-stack-protector", "-fno-pic", "-w"]
    _do([CLANG, *machine.flags, *options, "-c", "main.c", "-o", "main.o"], directory)
    linked = ["main.o", "libprograms.a"]
    if machine.libgcc:
        linked.append(str(LIBGCC))
    if machine.script:
        (directory / "script.ld").write_text(machine.script)
        linked += ["-T", "script.ld"]
    _do([LLD, "-static", "--no-relax", *linked, "-o", "main"], directory)
    done = subprocess.run([*machine.emulator, directory / "main"], capture_output=True, timeout=300, check=False)
    assert done.returncode == 0, (done.returncode, done.stderr[-2000:])
    return done.stdout


def _do(command: Sequence[str | None], directory: Path) -> None:
    done = subprocess.run([str(c) for c in command], cwd=directory, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-4000:]


def undefined(archive: Path) -> set[str]:
    """What no member of a static library defines."""
    text = subprocess.run([str(NM), archive], capture_output=True, text=True, check=True).stdout
    wanted, defined = set(), set()
    for line in text.splitlines():
        words = line.split()
        if len(words) < 2 or line.endswith(":"):
            continue
        (wanted if words[-2] == "U" else defined).add(words[-1])
    return wanted - defined
