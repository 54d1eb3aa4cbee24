"""Large products by a library of the device: on the emulated one, and on one with a driver and a cuBLASLt that have no GPU."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from fake_cuda import FAKE_CUBLASLT, run
from needs import require_built

pytestmark = pytest.mark.usefixtures("names_devices")

PRELUDE = """
import json
import numpy as np
import cotangent as ct
import cotangent.numpy as cnp
rng = np.random.default_rng(0)
def normal(*shape): return (rng.normal(size=shape) / np.sqrt(shape[-2])).astype(np.float32)
def steps(f, *args):
    with ct.default_device("cuda-emulated"):
        return [str(step) for step in ct.explain(f)(*args).steps]
def difference(f, *args):
    found, expected = (ct.tree.leaves(ct.jit(f, backend=backend)(*args)) for backend in ("cuda-emulated", "cpu"))
    assert [x.dtype for x in found] == [x.dtype for x in expected]
    return max(float(np.max(np.abs(np.asarray(a, np.float64) - np.asarray(b, np.float64)))) for a, b in zip(found, expected))
"""


def emulate(program: str, **environment: str) -> Any:
    """What a program prints last, as JSON, in a process whose emulated device has a library of products."""
    ended = subprocess.run(
        [sys.executable, "-c", PRELUDE + program],
        env={**os.environ, "CT_EMULATED_PRODUCTS": "1", **environment},
        capture_output=True, text=True, timeout=600, check=False,
    )  # fmt: skip
    assert ended.returncode == 0, ended.stderr[-4000:]
    return json.loads(ended.stdout.splitlines()[-1])


def test_a_large_product_is_one_step() -> None:
    """What it is, sizes, type and line; what comes behind it is a kernel."""
    program = """
x, w = np.ones((2048, 2048), np.float32), np.ones((2048, 2048), np.float32)
print(json.dumps([steps(lambda x, w: x @ w, x, w), steps(lambda x, w: cnp.tanh(x @ w.T), x, w), steps(lambda x, w: x[:100] @ w[:, :100], x, w)]))
"""
    plain, with_more, small = emulate(program)
    assert len(plain) == 1 and plain[0].startswith("product by a library: 2048 x 2048 x 2048, float32: "), plain
    assert [step.split(" ")[0] for step in with_more] == ["product", "kernel"], with_more
    assert len(small) == 1 or not any(step.startswith("product") for step in small), small


def test_values_are_those_of_the_processor() -> None:
    program = """
x, y, z = normal(170, 160), normal(160, 180), normal(170, 180)
batch, other = normal(5, 100, 90), normal(5, 90, 110)
print(json.dumps({
    "plain": difference(lambda x, y: x @ y, x, y),
    "transposed": difference(lambda x, z: x.T @ z, x, z),
    "float64": difference(lambda x, y: x.astype(np.float64) @ y.astype(np.float64), x, y),
    "float16": difference(lambda x, y: x.astype(np.float16) @ y.astype(np.float16), x, y),
    "bfloat16": difference(lambda x, y: x.astype(cnp.bfloat16) @ y.astype(cnp.bfloat16), x, y),
    "batch": difference(lambda x, y: x @ y, batch, other),
    "one for all": difference(lambda x, y: x @ y, batch, other[0]),
    "vmap": difference(ct.vmap(lambda x, y: cnp.exp(x) @ y), batch, other),
    "gradient": difference(ct.grad(lambda x, y: cnp.sum(cnp.tanh(x @ y) ** 2), argnums=(0, 1)), x, y),
    "einsum": difference(lambda x, y: cnp.einsum("bij,bjk->ikb", x, y), batch, other),
}))
"""
    found = emulate(program)
    assert found.pop("float16") < 4e-3 and found.pop("bfloat16") < 4e-2
    assert found.pop("float64") < 1e-12
    assert max(found.values()) < 1e-4, found


TRAINING = """
params = [normal(256, 256), normal(1, 256)[0], normal(256, 64), normal(1, 64)[0]]
x, y = normal(128, 256), np.eye(64, dtype=np.float32)[rng.integers(0, 64, 128)]
def loss(p, x, y):
    return -cnp.mean(cnp.sum(ct.nn.log_softmax(cnp.tanh(x @ p[0] + p[1]) @ p[2] + p[3]) * y, -1))
def clipped(p, x, y):
    grads = ct.grad(loss)(p, x[None], y[None])
    scale = 1 / cnp.maximum(1.0, cnp.sqrt(sum(cnp.sum(g**2) for g in grads)))
    return ct.tree.map(lambda g: g * scale, grads)
def step(p, x, y):
    return ct.tree.map(lambda a, g: a - 0.1 * g, p, ct.grad(loss)(p, x, y))
def private(p, x, y):
    return ct.tree.map(lambda a, g: a - 0.1 * cnp.mean(g, 0), p, ct.vmap(clipped, in_axes=(None, 0, 0))(p, x, y))
def train(p, x, y):
    return ct.lax.fori_loop(0, 5, lambda i, p: step(p, x, y), p)
"""


def test_training() -> None:
    """Steps of descent, of private descent, and a loop of steps; with their large products left to the library."""
    program = """
count = lambda f: sum(step.startswith("product") for step in steps(f, params, x, y))
print(json.dumps([[count(f), difference(f, params, x, y)] for f in (step, private, train)]))
"""
    for products, difference in emulate(TRAINING + program):
        assert products >= 1 and difference < 1e-5


def test_by_default_the_emulated_device_has_none() -> None:
    program = """
f = lambda x, w: x @ w
print(json.dumps(steps(f, np.ones((200, 200), np.float32), np.ones((200, 200), np.float32))))
"""
    environment = {k: v for k, v in os.environ.items() if k != "CT_EMULATED_PRODUCTS"}
    ended = subprocess.run(
        [sys.executable, "-c", PRELUDE + program],
        env=environment, capture_output=True, text=True, timeout=600, check=False,
    )  # fmt: skip
    assert ended.returncode == 0, ended.stderr[-4000:]
    assert all(step.startswith("kernel") for step in json.loads(ended.stdout.splitlines()[-1]))


# ---- the back end "cuda", with a driver and a library that have no GPU -----------------------------------------------

CUDA = PRELUDE.replace("cuda-emulated", "cuda")


def test_products_of_the_gpu_are_the_librarys() -> None:
    """A product is no launch of ours; a call that was made before makes no descriptor, no search and no allocation."""
    program = """
library = ctypes.CDLL(os.environ["CT_CUBLASLT"])
library.fake_cublaslt_calls.restype = ctypes.c_int64
names = ["cublasLtMatmul", "cublasLtMatmulAlgoGetHeuristic", "cublasLtMatmulDescCreate", "cublasLtMatrixLayoutCreate"]
x, y = normal(170, 160), normal(160, 180)
batch, other = normal(5, 100, 90), normal(5, 90, 110)
found = {
    "plain": difference(lambda x, y: x @ y, x, y),
    "transposed": difference(lambda x, z: x.T @ z, x, normal(170, 180)),
    "float64": difference(lambda x, y: x @ y, x.astype(np.float64), y.astype(np.float64)),
    "batch": difference(lambda x, y: x @ y, batch, other),
}
f = ct.jit(lambda x, y: x @ y, backend="cuda")
f(x, y)
restart(), library.fake_cublaslt_restart(b"")
f(x, y)
print(json.dumps([found, [library.fake_cublaslt_calls(name.encode()) for name in names], calls("cuMemAllocAsync"), launches()]))
"""
    found, library, allocations, launches = run(CUDA + program, CT_CUBLASLT=str(FAKE_CUBLASLT))
    assert max(found.values()) < 1e-4, found
    assert library == [1, 0, 0, 0] and allocations == 0 and launches == []


def test_nothing_is_opened_for_programs_without_large_products() -> None:
    program = """
f = ct.jit(lambda x: cnp.tanh(x @ x.T) + x.sum(), backend="cuda")
f(np.ones((100, 100), np.float32)), ct.jit(lambda x: x * x, backend="cuda")(np.ones((3000, 3000), np.float32))
before = "libfake_cublaslt" in open("/proc/self/maps").read()
f(np.ones((200, 200), np.float32))
print(json.dumps([before, "libfake_cublaslt" in open("/proc/self/maps").read()]))
"""
    assert run(CUDA + program, CT_CUBLASLT=str(FAKE_CUBLASLT)) == [False, True]


def test_plans_on_disk_are_those_of_the_library_that_is_there(tmp_path: Path) -> None:
    program = """
print(json.dumps([step.split(" ")[0] for step in steps(lambda x: x @ x, np.ones((200, 200), np.float32))]))
"""
    for library, step in ((str(FAKE_CUBLASLT), "product"), ("", "kernel")) * 2:
        found = run(CUDA + program, CT_CUBLASLT=library, CT_CACHE_DIR=str(tmp_path))
        assert found == [step]


def test_a_library_that_fails_is_an_error() -> None:
    program = """
library = ctypes.CDLL(os.environ["CT_CUBLASLT"])
library.fake_cublaslt_restart(b"cublasLtMatmul:1:14")
x = normal(200, 200)
f = ct.jit(lambda x: x @ x, backend="cuda")
try:
    f(x)
except ct.errors.DeviceError as error:
    message = str(error)
print(json.dumps([message, difference(lambda x: x @ x, x), float(ct.jit(lambda x: x + 1, backend="cpu")(1.0))]))
"""
    message, difference, two = run(CUDA + program, CT_CUBLASLT=str(FAKE_CUBLASLT))
    assert "cuBLASLt's cublasLtMatmul failed with 14, CUBLAS_STATUS_INTERNAL_ERROR" in message
    assert difference < 1e-4 and two == 2.0


def test_the_package_of_nvidia_beside_ours_is_found(tmp_path: Path) -> None:
    """In a folder of `sys.path`, of the driver's CUDA or an older one."""
    require_built(FAKE_CUBLASLT)
    program = """
print(json.dumps([step.split(" ")[0] for step in steps(lambda x: x @ x, np.ones((200, 200), np.float32))]))
"""
    prefix = "import os\ndel os.environ['CT_CUBLASLT']\n"
    places = {"12080": "nvidia/cublas/lib/libcublasLt.so.12", "13000": "nvidia/cu13/lib/libcublasLt.so.13"}
    for version, place in places.items():
        folder = tmp_path / version
        (folder / place).parent.mkdir(parents=True)
        (folder / place).symlink_to(FAKE_CUBLASLT)
        found = run(prefix + CUDA + program, CT_FAKE_CUDA_VERSION=version, PYTHONPATH=str(folder))
        assert found == ["product"], version
