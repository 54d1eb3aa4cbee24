"""Programs exported for GPUs: what their libraries need, and tell a driver without a GPU; their results, where the emulated device runs kernels."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path
from typing import Any

import cotangent as ct
import cotangent.numpy as cnp
import numpy as np
import pytest
from fake_cuda import FAKE, FAKE_CUBLASLT, run
from needs import needs, require, require_built, unbuilt

pytestmark = pytest.mark.usefixtures("names_devices")

rng = np.random.default_rng(7)
RUNNER = FAKE.with_name("run_exported")
STRICT = ["-Wall", "-Wextra", "-Werror", "-pedantic", "-Wconversion"]
needs_fake = pytest.mark.skipif(not FAKE.exists(), reason=str(unbuilt(FAKE)))


def normal(*shape: int) -> np.ndarray:
    return rng.normal(size=shape).astype(np.float32) * 0.3


PARAMS = [normal(64, 32), normal(32), normal(32, 10), normal(10)]
X, Y = normal(32, 64), np.eye(10, dtype=np.float32)[rng.integers(0, 10, 32)]


def loss(p: Any, x: Any, y: Any) -> Any:
    hidden = cnp.tanh(x @ p[0] + p[1])
    return -cnp.mean(cnp.sum(ct.nn.log_softmax(hidden @ p[2] + p[3]) * y, -1))


def step(p: Any, x: Any, y: Any) -> Any:
    return ct.tree.map(lambda a, g: a - 0.1 * g, p, ct.grad(loss)(p, x, y))


def train(p: Any, x: Any, y: Any) -> Any:
    return ct.lax.fori_loop(0, 20, lambda i, p: step(p, x, y), p)


def masked(rows: Any) -> Any:
    def mean_of_rows(x: Any) -> Any:
        return cnp.mean(cnp.exp(x), 0), cnp.sum(cnp.max(x, 1))

    return ct.vmap(ct.mask(mean_of_rows))(rows)


PRIVATE = ct.per_example.dp_sgd_step(
    loss, learning_rate=0.1, clip_norm=1.0, noise_multiplier=1.0, expected_batch_size=32
)
RAGGED = ct.Ragged.from_list([normal(n, 6) for n in (3, 0, 5)])
LARGE = normal(300, 200), normal(200, 128)


def product(x: Any, y: Any) -> Any:
    return cnp.tanh(x @ y).sum(0), y.T @ x.T


def power(x: Any) -> Any:
    """Products of cuBLASLt in a loop of the library."""
    return ct.lax.fori_loop(0, 3, lambda i, s: cnp.tanh(s @ x), x)


def libraries(directory: Path) -> Path:
    """Where programs that are linked or loaded find the fakes by the names of the real ones."""
    folder = directory / "driver"
    folder.mkdir(exist_ok=True)
    for name, fake in (("libcuda.so.1", FAKE), ("libcublasLt.so.13", FAKE_CUBLASLT)):
        if not (folder / name).exists():
            (folder / name).symlink_to(fake)
    return folder


def export(directory: Path, f: Any, *arguments: Any, **options: Any) -> str:
    ct.export.compile(f, *arguments, **{"name": "step", "target": "cuda", **options}).save(directory)
    return (directory / "step.h").read_text()


# ---- the files -------------------------------------------------------------------------------------------------------


def test_files_and_header(tmp_path: Path) -> None:
    header = export(tmp_path, step, PARAMS, X, Y)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["libstep.a", "libstep.so", "step.ctir", "step.h"]
    declared = re.search(r"int step\(([^)]*)\)", header)
    assert declared is not None
    names = [*(f"const float* p_{i}" for i in range(4)), "const float* x", "const float* y"]
    assert declared[1].split(", ") == [*names, *(f"float* out_{i}" for i in range(4)), "CUstream stream"]
    assert "from sm_80 on" in header and "CUBLAS" not in header
    loaded = ct.export.load(tmp_path)
    for found, expected in zip(loaded(*PARAMS, X, Y), step(PARAMS, X, Y), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


@needs("nm")
def test_what_libraries_need_and_show(tmp_path: Path) -> None:
    export(tmp_path, product, *LARGE)

    def symbols(*command: str) -> set[str]:
        lines = subprocess.run(["nm", *command], cwd=tmp_path, capture_output=True, text=True, check=True).stdout
        return {line.split()[-1].split("@")[0] for line in lines.splitlines() if len(line.split()) > 1}

    libc = {"calloc", "free", "dlopen", "dlsym", "pthread_mutex_lock", "pthread_mutex_unlock", "strlen", "memcpy"}
    assert symbols("-D", "-u", "libstep.so") <= libc
    shown = {"step", "step_with_workspace", "step_load", "step_unload"}
    assert symbols("-D", "--defined-only", "libstep.so") == shown
    own = {"ct_cuda_call", "ct_cuda_call_with_workspace", "ct_cuda_load", "ct_cuda_unload"}
    assert symbols("-g", "--defined-only", "libstep.a") == shown | own
    assert symbols("-u", "libstep.a") <= libc | own


# ---- C programs -------------------------------------------------------------------------------------------------------

MAIN = """
#include "step.h"
#ifdef WITH_CUDA_H
#include <cuda.h>
#endif
#include "other.h"
#include <dlfcn.h>
#include <stdio.h>

typedef uint64_t Address;
static void* driver;
static void (*function(const char* name))(void) {
  void (*found)(void);
  *(void**)&found = dlsym(driver, name);
  return found;
}
#define CALL(name, ...) ((int (*) __VA_ARGS__)function(name))
static CUstream stream;
static void* memory(size_t bytes) {
  Address address = 0;
  return CALL("cuMemAllocAsync", (Address*, size_t, CUstream))(&address, bytes, stream) == 0 ? (void*)address : NULL;
}
int main(void) {
  void* context = NULL;
  float *x, *out;
  driver = dlopen("libcuda.so.1", RTLD_NOW);
  if (driver == NULL) return 1;
  if (step(NULL, NULL, NULL) != step_CUDA_ERROR + 201) return 2; /* no context */
  if (CALL("cuInit", (unsigned))(0)) return 3;
  if (CALL("cuDevicePrimaryCtxRetain", (void**, int))(&context, 0) || CALL("cuCtxSetCurrent", (void*))(context)) return 4;
  if (CALL("cuStreamCreate", (CUstream*, unsigned))(&stream, 1)) return 5;
  x = (float*)memory(40);
  out = (float*)memory(40);
  if (step_load(stream) || step(x, out, stream) || step_with_workspace(x, out, memory(step_ARENA_BYTES + 1), stream)) return 6;
  if (other(x, out, stream)) return 7;
  if (CALL("cuStreamSynchronize", (CUstream))(stream)) return 8;
  if (step_unload(stream) || other_unload(stream)) return 9;
  printf("%s", ((const char* (*)(void))function("fake_cuda_launches"))());
  return 0;
}
"""


@needs_fake
@pytest.mark.parametrize("linked", ["static", "shared"])
@pytest.mark.parametrize("compiler", ["gcc", "clang", "g++"])
def test_c_programs(tmp_path: Path, compiler: str, linked: str) -> None:
    require(compiler)
    x = normal(10)
    export(tmp_path, lambda x: cnp.tanh(x) * 2, x)
    export(tmp_path, lambda x: cnp.cumsum(x), x, name="other")
    (tmp_path / "main.c").write_text(MAIN)
    language = ["-x", "c++", "-std=c++11"] if compiler == "g++" else ["-std=c11"]
    includes = sorted(Path(ct.__file__).parents[1].glob("nvidia/cu13/include"))
    with_cuda_h = [["-DWITH_CUDA_H", "-isystem", str(includes[0])]] if includes else []
    found = ["-l:libstep.a", "-l:libother.a"] if linked == "static" else ["-lstep", "-lother", "-Wl,-rpath,."]
    for options in [[], *with_cuda_h]:
        command = [compiler, *language, *STRICT, *options, "main.c", "-x", "none", "-L.", *found, "-ldl", "-lpthread"]
        subprocess.run([*command, "-o", "main"], cwd=tmp_path, check=True)
        ended = subprocess.run(
            [tmp_path / "main"],
            cwd=tmp_path, env={**os.environ, "LD_LIBRARY_PATH": str(libraries(tmp_path))},
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert ended.returncode == 0, (ended.returncode, ended.stderr)
        assert ended.stdout.splitlines() == ["kernel0 1x256 3"] * 3
    without = subprocess.run([tmp_path / "main"], cwd=tmp_path, env={"PATH": ""}, check=False)
    assert without.returncode == 1


# ---- what the driver is told ------------------------------------------------------------------------------------------

# `pointers` are arrays on the GPU, as many as the function takes; `step` calls it with these.
USE = """
library = ctypes.CDLL(os.environ["STEP"])
Address = ctypes.c_uint64
context, stream = ctypes.c_void_p(), ctypes.c_void_p()
def driver(name, *arguments): return getattr(fake, name)(*arguments)
def begin():
    driver("cuInit", 0), driver("cuDevicePrimaryCtxRetain", ctypes.byref(context), 0), driver("cuCtxSetCurrent", context)
    assert driver("cuStreamCreate", ctypes.byref(stream), 1) == 0
def array(bytes):
    address = Address()
    assert driver("cuMemAllocAsync", ctypes.byref(address), ctypes.c_size_t(max(bytes, 1)), stream) == 0
    return ctypes.c_void_p(address.value)
def arrays():
    graph, constants = saved()
    avals = [*graph.in_avals[: graph.num_inputs - len(constants)], *graph.out_avals]
    return [array(8 * int(np.prod(shape, dtype=int))) for shape, dtype, _ in avals]
def saved():
    with open(os.environ["STEP"].replace("libstep.so", "step.ctir"), "rb") as file:
        return ct._core.load_program(file.read())
def step(): return library.step(*pointers, stream)
def wait(): return driver("cuStreamSynchronize", stream)
def live(): return fake.fake_cuda_live()
fake.fake_cuda_live.restype = ctypes.c_int64
"""


def tell(tmp_path: Path, program: str, **environment: str) -> Any:
    folder = str(libraries(tmp_path))
    return run(USE + program, STEP=str(tmp_path / "libstep.so"), LD_LIBRARY_PATH=folder, **environment)


@needs_fake
@pytest.mark.parametrize("name", ["step", "train", "private", "masked", "product", "power"])
def test_the_driver_is_told_what_jit_tells_it(tmp_path: Path, name: str) -> None:
    f, arguments = PROGRAMS[name]
    export(tmp_path, f, *arguments)
    program = """
graph, constants = saved()
executable = ct._core.compile_graph(graph, "cuda")
own = graph.in_avals[: graph.num_inputs - len(constants)]
zeros = [ct.random.key(0) if "key" in str(dtype) else cnp.zeros(shape, dtype) for shape, dtype, _ in own]
executable(zeros + constants)
by_jit = launches()
begin()
pointers = arrays()
library.step_load(stream)
restart()
assert step() == 0 and wait() == 0
names = ["cuMemcpyHtoDAsync", "cuMemcpyDtoHAsync", "cuStreamSynchronize", "cuModuleLoadDataEx", "cuCtxSynchronize"]
print(json.dumps([by_jit, launches(), [calls(name) for name in names], live()]))
"""
    by_jit, exported, called, live = tell(
        tmp_path, program, CT_FAKE_CUDA_CAPABILITY="80", CT_CUBLASLT=str(FAKE_CUBLASLT)
    )
    assert exported == by_jit and len(exported) > 0
    assert called == [0, 0, 1, 0, 0] and live == 0


PROGRAMS: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "step": (step, (PARAMS, X, Y)),
    "train": (train, (PARAMS, X, Y)),
    "private": (PRIVATE, (ct.random.key(3), PARAMS, X, Y)),
    "masked": (masked, (RAGGED,)),
    "product": (product, LARGE),
    "power": (power, (normal(200, 200),)),
    "constants": (lambda x: cnp.sum(x * cnp.array(PARAMS[0]), 0) @ cnp.array(PARAMS[2]), (normal(64, 32),)),
}


@needs_fake
@pytest.mark.parametrize("name", sorted(PROGRAMS))
def test_values_where_the_emulated_device_runs_the_kernels(tmp_path: Path, name: str) -> None:
    require_built(RUNNER)
    f, arguments = PROGRAMS[name]
    export(tmp_path, f, *arguments)
    expected = ct.tree.leaves(ct.jit(f)(*arguments))
    data = b""
    for leaf in ct.tree.leaves(arguments, is_leaf=lambda leaf: isinstance(leaf, ct.Ragged)):
        if isinstance(leaf, ct.Ragged):
            data += np.asarray(leaf.data).tobytes() + np.asarray(leaf.lengths[1], np.int32).tobytes()
        elif "key" in str(getattr(leaf, "dtype", "")):
            # A number of 64 bits, whose upper half is its first word.
            data += np.asarray(ct.random.key_data(leaf))[::-1].tobytes()
        else:
            data += np.asarray(leaf).tobytes()
    ended = subprocess.run(
        [RUNNER, tmp_path, "step", "products"], input=data, capture_output=True, check=False, timeout=300,
        env={**os.environ, "LD_LIBRARY_PATH": str(libraries(tmp_path)), "CT_CUDA_DRIVER": str(FAKE)},
    )  # fmt: skip
    assert ended.returncode == 0, (ended.returncode, ended.stderr.decode())
    at = 0
    for value in map(np.asarray, expected):
        found = np.frombuffer(ended.stdout, value.dtype, value.size, at).reshape(value.shape)
        np.testing.assert_allclose(found, value, rtol=2e-5, atol=2e-5)
        at += value.nbytes
    assert at == len(ended.stdout) > 0


FAILURES = [
    ("cuCtxGetCurrent", 1), ("cuModuleLoadDataEx", 1), ("cuModuleGetFunction", 1), ("cuMemAllocAsync", 1), ("cuMemAllocAsync", 2),
    ("cuMemcpyHtoDAsync", 1), ("cuStreamSynchronize", 1), ("cuLaunchKernelEx", 1), ("cuMemFreeAsync", 1),
]  # fmt: skip


@needs_fake
def test_each_call_that_fails_is_a_number_and_leaks_nothing(tmp_path: Path) -> None:
    table = cnp.array(normal(200, 128))
    header = export(tmp_path, lambda x: cnp.tanh(x @ table), LARGE[0])
    assert "#define step_CUDA_ERROR 1000 " in header and "#define step_CUBLAS_ERROR 2000 " in header
    program = f"""
cublas = ctypes.CDLL({str(FAKE_CUBLASLT)!r})
cublas.fake_cublaslt_live.restype = ctypes.c_int64
begin()
pointers = [array(300 * 200 * 4), array(300 * 128 * 4)]
found = []
def attempt(name, number):
    results = [step(), wait()]
    restart()
    cublas.fake_cublaslt_restart(b"")
    results += [step(), wait(), library.step_unload(stream), wait(), live(), cublas.fake_cublaslt_live()]
    found.append([name, number, *results])
for name, number in {FAILURES!r}:
    restart(f"{{name}}:{{number}}:999")
    attempt(name, number)
cublas.fake_cublaslt_restart(b"")
restart()
step()
cublas.fake_cublaslt_calls.restype = ctypes.c_int64
made = {{name: cublas.fake_cublaslt_calls(name.encode()) for name in [
    "cublasLtCreate", "cublasLtMatmulDescCreate", "cublasLtMatmulDescSetAttribute", "cublasLtMatrixLayoutCreate", "cublasLtMatrixLayoutSetAttribute",
    "cublasLtMatmulPreferenceCreate", "cublasLtMatmulPreferenceSetAttribute", "cublasLtMatmulAlgoGetHeuristic", "cublasLtMatmul"]}}
library.step_unload(stream)
for name, count in made.items():
    assert count > 0, name
    for number in range(1, count + 1):
        restart()
        cublas.fake_cublaslt_restart(f"{{name}}:{{number}}:15".encode())
        attempt(name, number)
print(json.dumps(found))
"""
    found = tell(tmp_path, program)
    assert len(found) > len(FAILURES) + 20
    for name, number, first, waited, *rest in found:
        assert first == (2015 if name.startswith("cublas") else 1999), (name, number, first)
        assert waited == (999 if (name, number) == ("cuStreamSynchronize", 2) else 0), (name, number)
        assert rest == [0] * 6, (name, number, rest)


@needs_fake
def test_modules_are_loaded_once(tmp_path: Path) -> None:
    export(tmp_path, step, PARAMS, X, Y)
    program = """
from concurrent.futures import ThreadPoolExecutor
begin()
pointers = arrays()
restart()
def one(_):
    driver("cuCtxSetCurrent", context)
    return step()
with ThreadPoolExecutor(8) as pool:
    results = list(pool.map(one, range(100)))
loaded = calls("cuModuleLoadDataEx")
assert wait() == 0 and live() == loaded
library.step_unload(stream)
print(json.dumps([sum(results), loaded, live(), len(launches()), calls("cuMemAllocAsync")]))
"""
    assert tell(tmp_path, program) == [0, 1, 0, 100, 100]


# ---- what cannot be -----------------------------------------------------------------------------------------------------


def test_without_the_product_library(tmp_path: Path) -> None:
    assert "CUBLAS" in export(tmp_path, product, *LARGE)
    assert "CUBLAS" not in export(tmp_path, product, *LARGE, cublaslt=False)


@needs_fake
def test_no_driver_and_no_product_library_are_numbers(tmp_path: Path) -> None:
    export(tmp_path, product, *LARGE)
    program = """
print(json.dumps(library.step(None, None, None, None, None)))
"""
    environment = {"STEP": str(tmp_path / "libstep.so")}
    assert run(USE + program, **environment) == 7
    only_driver = tmp_path / "only"
    only_driver.mkdir()
    (only_driver / "libcuda.so.1").symlink_to(FAKE)
    for number in (12, 13):  # the system may have some
        (only_driver / f"libcublasLt.so.{number}").write_text("this is no library")
    assert run(USE + program, LD_LIBRARY_PATH=str(only_driver), **environment) == 8


def test_targets_that_are_none(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no tested code generation for the target 'rocm'\n  choose one of"):
        export(tmp_path, cnp.tanh, X, target="rocm")
    for target in ("cuda:sm_75", "cuda:sm_", "cuda:90", "cuda:sm_91"):
        with pytest.raises(ValueError, match=f"'{target}' is no target\n  choose 'cuda'"):
            export(tmp_path, cnp.tanh, X, target=target)
    assert "from sm_90 on" in export(tmp_path, cnp.tanh, X, target="cuda:sm_90")


def test_callbacks_are_refused(tmp_path: Path) -> None:
    with pytest.raises(
        NotImplementedError, match=r"export: ct.pure_callback: runs in this process[\s\S]*test_export_cuda\.py"
    ):
        export(tmp_path, lambda x: ct.pure_callback(lambda v: v, x, x), X)


def test_no_lapack_is_needed(tmp_path: Path) -> None:
    assert "int step(" in export(tmp_path, cnp.linalg.svd, X)


def test_loops_that_the_host_would_wait_for_are_refused(tmp_path: Path) -> None:
    weights = normal(512, 512)

    def f(x: Any) -> Any:
        return ct.lax.while_loop(lambda s: cnp.sum(s) < 100, lambda s: cnp.tanh(s @ weights), x)

    with pytest.raises(
        NotImplementedError, match=r"a loop around [\s\S]* goes on by a condition that the GPU computes[\s\S]*fori_loop"
    ):
        export(tmp_path, f, normal(512, 512))


def test_branches_that_the_host_would_wait_for_are_refused(tmp_path: Path) -> None:
    weights = normal(512, 512)

    def f(x: Any) -> Any:
        return ct.lax.cond(cnp.sum(x) < 1, lambda s: cnp.tanh(s @ weights), lambda s: s @ s, x)

    with pytest.raises(
        NotImplementedError, match=r"a branch around [\s\S]* is chosen by an index that the GPU computes"
    ):
        export(tmp_path, f, normal(512, 512))
