"""`ct.profile` and `ct.explain` of programs that run on a device, and ranges for profilers: on an emulated GPU, and by a driver that has none."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import cotangent as ct
import cotangent.numpy as cnp
import numpy as np
import pytest
from fake_cuda import FAKE_NVTX, run
from needs import require

pytestmark = pytest.mark.usefixtures("names_devices")

X = np.ones((256, 256), np.float32)


def two_kernels(x: Any) -> Any:
    return cnp.tanh(x @ x)


def there(x: Any = X) -> Any:
    return ct.device_put(x, "cuda-emulated")


@pytest.mark.parametrize("how", ["arrays", "backend"])
def test_a_profile_is_of_the_device_where_the_program_runs(how: str) -> None:
    f, x = (two_kernels, there()) if how == "arrays" else (ct.jit(two_kernels, backend="cuda-emulated"), X)
    report = ct.profile(f, runs=2)(x)
    assert str(report.result.device) == "cuda-emulated:0"
    np.testing.assert_allclose(report.result, two_kernels(X), rtol=1e-6)
    steps = [step for step in ct.explain(f)(x).steps if step.blocks]
    assert [group.name for group in report.groups] == [step.name for step in steps] and steps
    for group in report.groups:
        assert "test_profiling_gpu.py" in group.name
        assert len(group.seconds) == len(group.starts) == 2 and min(group.seconds) > 0
    # The emulated GPU computes while it is told to: most of a run is its kernels.
    assert report.seconds == min(report.runs) and len(report.runs) == 2
    assert sum(group.flops for group in report.groups) >= 2 * 256**3
    assert sum(group.bytes_written for group in report.groups) >= 256 * 256 * 4
    assert report.stages[-1][0] == "generate and load code" and "lower" in dict(report.stages)
    assert "dot_general" in str(report)


def test_steps_in_loops_that_the_host_drives_are_added_up() -> None:
    calls: list[float] = []

    def step(_: Any, x: Any) -> Any:
        return ct.pure_callback(lambda v: calls.append(float(v[0])) or v + 1, x, cnp.tanh(x) * 2)

    def f(x: Any) -> Any:
        return ct.lax.fori_loop(0, 600, step, x)

    report = ct.profile(f, runs=1)(there(np.zeros(3, np.float32)))
    host = [group for group in report.groups if group.name.startswith("on the host, 24 bytes copied")]
    kernels = [group for group in report.groups if group.name.startswith("scan")]
    assert len(host) == 1 and kernels and len(calls) == 2 * 600  # with clocks and without
    starts = [group.starts[0] for group in report.groups]
    assert host[0].seconds[0] > 0 and starts == sorted(starts)


def test_a_branch_that_is_not_taken_takes_no_time() -> None:
    def f(x: Any) -> Any:
        called = [lambda v, k=k: ct.pure_callback(lambda w: w + k, v, v) for k in (1, 2)]
        return ct.lax.cond(x[0] > 0, *called, x)

    report = ct.profile(f, runs=1)(there(np.ones(3, np.float32)))
    assert np.asarray(report.result).tolist() == [2.0] * 3
    host = [group.seconds[0] > 0 for group in report.groups if group.name.startswith("on the host")]
    assert sorted(host) == [False, True]


def test_nothing_is_measured_after_a_profile() -> None:
    f = ct.jit(lambda x: x + 1, backend="cuda-emulated")
    ct.profile(f, runs=1)(X)
    assert float(f(X)[0, 0]) == 2.0
    with pytest.raises(ZeroDivisionError):
        ct.profile(lambda x: ct.pure_callback(lambda v: 1 // 0, x, x), runs=1)(there())
    assert float(f(X)[0, 0]) == 2.0


def test_a_gpu_is_timed_by_its_own_events() -> None:
    """The fake driver says that each piece of work took a microsecond, and fails if it is asked before it came there."""
    program = """
x = ct.device_put(np.ones((256, 256), np.float32), "cuda")
def f(x): return cnp.tanh(x @ x) @ x
report = ct.profile(f, runs=3)(x)
live = fake.fake_cuda_live
live.restype = ctypes.c_int64
restart()
before = live()
again = ct.profile(f, runs=1)(x)
print(json.dumps([[[round(s * 1e9) for s in g.seconds] for g in report.groups], len([s for s in ct.explain(f)(x).steps]),
    str(report.result.device), calls("cuEventCreate") == calls("cuEventDestroy") > 0, calls("cuLaunchKernelEx"), calls("cuMemcpyDtoHAsync")]))
"""
    seconds, steps, device, destroyed, launched, read = run(program)
    assert seconds == [[1000] * 3] * steps and steps >= 2
    assert device == "cuda:0" and destroyed
    assert launched == 2 * steps and read == 0  # once without events, once with


NVTX = """
nvtx = ctypes.CDLL(os.environ["NVTX_INJECTION64_PATH"])
nvtx.fake_nvtx_written.restype = ctypes.c_char_p
def f(x):
    return cnp.tanh(x) * 2
x = np.ones(8, np.float32)
ct.jit(f, backend=BACKEND)(x)
print(json.dumps(nvtx.fake_nvtx_written().decode().splitlines()))
"""


@pytest.mark.parametrize("backend", ["cuda", "cuda-emulated"])
def test_launches_are_ranges_of_nvtx_with_the_users_lines(backend: str) -> None:
    begin, end = run(NVTX.replace("BACKEND", repr(backend)), NVTX_INJECTION64_PATH=str(FAKE_NVTX))
    assert re.fullmatch(r"begin .*tanh.*float32\[8\].*<string>:\d+.*", begin), begin
    assert end == "end"


def test_a_library_that_takes_no_part_in_nvtx_is_left_alone() -> None:
    program = """
from math import tanh
print(json.dumps(float(ct.jit(lambda x: cnp.tanh(x), backend="cuda-emulated")(1.0)) - tanh(1.0)))
"""
    for path in ("libnone.so", "libc.so.6"):
        assert abs(run(program, NVTX_INJECTION64_PATH=path)) < 1e-6


def test_explain_lists_registers_where_the_assembler_is() -> None:
    require("ptxas")
    report = ct.explain(two_kernels)(there())
    kernels = [step for step in report.steps if step.blocks]
    assert kernels and all(step.registers is not None and 8 <= step.registers <= 255 for step in kernels)
    assert not report.unknown_registers and all(step.spilled_bytes == 0 for step in kernels)
    assert f"threads, {kernels[0].registers} registers" in str(kernels[0]) and "steps of the GPU\n" in str(report)


def test_registers_are_those_of_the_gpus_own_kernels() -> None:
    require("ptxas")
    program = """
report = ct.explain(lambda x: cnp.tanh(x @ x) + cnp.sort(x, 0))(ct.device_put(np.ones((256, 256), np.float32), "cuda"))
print(json.dumps([[step.registers for step in report.steps if step.blocks], report.unknown_registers]))
"""
    registers, unknown = run(program)
    assert len(registers) >= 2 and min(registers) >= 8 and unknown == ""


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        (None, "ptxas is not installed; pip install nvidia-cuda-nvcc brings it, or CT_PTXAS names it"),
        ("#!/bin/sh\necho no such architecture >&2\nexit 1\n", r"/ptxas fails: no such architecture"),
        ("#!/no/such/shell\n", r"/ptxas does not run: No such file or directory"),
    ],
)
def test_explain_says_why_registers_are_not_known(
    script: str | None, reason: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("CT_PTXAS", "" if script is None else str(tmp_path / "ptxas"))
    if script is not None:
        (tmp_path / "ptxas").write_text(script)
        (tmp_path / "ptxas").chmod(0o755)
    report = ct.explain(two_kernels)(there())
    assert re.search(reason, report.unknown_registers)
    assert f"steps of the GPU; registers of kernels are not known: {report.unknown_registers}" in str(report)
    assert all(step.registers is None and "registers" not in str(step) for step in report.steps)
    assert ct.explain(two_kernels)(X).unknown_registers == ""  # on the processor
    called = ct.explain(lambda x: ct.pure_callback(lambda v: v, x, x))(there())
    assert [step.registers for step in called.steps] == [None] * len(called.steps)


def test_the_assembler_is_run_once_and_for_those_who_ask(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """It takes seconds for large programs, and what else a report says does not come from it."""
    script, ran = tmp_path / "ptxas", tmp_path / "ran"
    script.write_text(f"#!/bin/sh\necho once >> {ran}\nexit 1\n")
    script.chmod(0o755)
    monkeypatch.setenv("CT_PTXAS", str(script))
    report = ct.explain(two_kernels)(there())
    assert len(report.groups) == 2 and "dot_general" in report.loops
    assert not ran.exists()
    assert "fails" in report.unknown_registers and len(report.steps) >= 1 and "steps of the GPU" in str(report)
    assert ran.read_text() == "once\n"
