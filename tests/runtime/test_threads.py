"""Threads: the same bits for any number of them, from any thread, after a fork, around host calls that fail."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import cotangent as ct
import cotangent.numpy as cnp
import ml_dtypes  # noqa: F401  (names bfloat16 to NumPy)
import numpy as np
import pytest

CORES = ct.config.read("threads")


@pytest.fixture(autouse=True)
def all_threads() -> Iterator[None]:
    """Every test starts with all threads, and leaves them so."""
    ct.config.update("threads", 0)
    yield
    ct.config.update("threads", 0)


def values(*shape: int, dtype: str = "float32", seed: int = 0) -> np.ndarray:
    """Numbers around 0, of very different sizes, so that the order of a sum shows."""
    generator = np.random.default_rng(seed)
    x = generator.normal(size=shape) * np.exp(generator.normal(size=shape))
    if dtype.startswith("complex"):
        return (x + 1j * generator.normal(size=shape)).astype(dtype)
    return (x * 50).astype(dtype) if dtype.startswith(("int", "uint", "bool")) else x.astype(dtype)


def same_bits(a: Any, b: Any) -> bool:
    """Whether two pytrees of arrays are equal, to the bit."""
    pairs = list(zip(ct.tree_util.tree_leaves(a), ct.tree_util.tree_leaves(b), strict=True))
    return all(np.asarray(x).tobytes() == np.asarray(y).tobytes() for x, y in pairs)


def softmax_loss(x: Any) -> Any:
    """A fold along rows, element-wise work around it, and a fold of everything."""
    return cnp.sum(ct.nn.softmax(x) * cnp.cos(x))


def layer_norm(x: Any, scale: Any, shift: Any) -> Any:
    """Mean and variance along rows."""
    mean = x.mean(axis=-1, keepdims=True)
    variance = ((x - mean) ** 2).mean(axis=-1, keepdims=True)
    return cnp.sum(cnp.tanh((x - mean) / cnp.sqrt(variance + 1e-5) * scale + shift))


def network(weights: Any, x: Any) -> Any:
    """Two layers."""
    return cnp.mean((cnp.tanh(x @ weights[0] + weights[1]) @ weights[2]) ** 2)


def scan_of_products(matrix: Any, start: Any) -> Any:
    """Matrix products and folds inside of a loop."""
    return ct.lax.scan(lambda c, _: (cnp.tanh(c @ matrix), cnp.sum(c)), start, None, length=3)


PROGRAMS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "elementwise": (lambda x, y: cnp.tanh(x) * y + cnp.exp(-x * x), (values(300_001), values(300_001, seed=1))),
    "elementwise_float16": (lambda x: cnp.sin(x) + x, (values(300_003, dtype="float16"),)),
    "elementwise_bfloat16": (lambda x: cnp.sin(x) + x, (values(300_003, dtype="bfloat16"),)),
    "elementwise_complex": (lambda x: cnp.exp(x / 9) * x, (values(90_001, dtype="complex64"),)),
    "elementwise_int8": (lambda x: x * x // 3 + 1, (values(3_000_001, dtype="int8"),)),
    "broadcast": (lambda x, y: cnp.sin(x[:, None] + y[None, :]), (values(777), values(513, seed=1))),
    "transpose": (lambda x: x.T + x, (values(700, 700),)),
    "sum_all": (lambda x: x.sum(), (values(1_000_003),)),
    "sum_all_float64": (lambda x: cnp.exp(x / 9).sum(), (values(300_007, dtype="float64"),)),
    "sum_all_complex": (lambda x: x.sum(), (values(300_007, dtype="complex64"),)),
    "sum_all_int64": (lambda x: (x * 7).sum(), (values(300_007, dtype="int64"),)),
    "prod_and_max": (lambda x: (cnp.prod(1 + x * 1e-6), x.max(), x.min()), (values(400_009),)),
    "any": (lambda x: (x > 100).any(), (values(2_000_003),)),
    "sum_rows": (lambda x: cnp.exp(x / 9).sum(axis=1), (values(701, 1003),)),
    "sum_columns": (lambda x: cnp.exp(x / 9).sum(axis=0), (values(1003, 701),)),
    "sum_few_columns": (lambda x: cnp.exp(x / 9).sum(axis=0), (values(100_003, 5),)),
    "sum_few_rows": (lambda x: cnp.exp(x / 9).sum(axis=1), (values(5, 100_003),)),
    "sum_middle": (lambda x: cnp.exp(x / 9).sum(axis=1), (values(3, 40_009, 7),)),
    "sum_outer_axes": (lambda x: cnp.exp(x / 9).sum(axis=(0, 2)), (values(301, 11, 101),)),
    "mean_and_values": (lambda x: (x.mean(), x - 1), (values(1001, 999),)),
    "inner_product": (lambda x, y: cnp.vdot(x, y), (values(3_000_001), values(3_000_001, seed=1))),
    "logsumexp": (lambda x: ct.nn.logsumexp(x, axis=-1), (values(513, 1025),)),
    "softmax_gradient": (ct.value_and_grad(softmax_loss), (values(513, 1025),)),
    "layer_norm_gradient": (
        ct.value_and_grad(layer_norm, argnums=(0, 1, 2)),
        (values(511, 513), values(513, seed=1), values(513, seed=2)),
    ),
    "gemm": (lambda x, y: x @ y, (values(201, 311), values(311, 253, seed=1))),
    "gemm_large": (lambda x, y: x @ y, (values(517, 1030), values(1030, 411, seed=1))),
    "gemm_transposed": (lambda x, y: x.T @ y.T, (values(513, 515), values(603, 513, seed=1))),
    "gemm_wide": (lambda x, y: x @ y, (values(5, 700), values(700, 4099, seed=1))),
    "gemm_tall": (lambda x, y: x @ y, (values(4099, 700), values(700, 5, seed=1))),
    "gemm_float64": (lambda x, y: x @ y, (values(300, 301, dtype="float64"), values(301, 302, dtype="float64"))),
    "gemm_float16": (lambda x, y: x @ y, (values(130, 301, dtype="float16"), values(301, 202, dtype="float16"))),
    "gemm_complex": (lambda x, y: x @ y, (values(100, 101, dtype="complex64"), values(101, 102, dtype="complex64"))),
    "gemm_complex_transposed": (
        lambda x, y: x.T @ y.T,
        (values(303, 401, dtype="complex64"), values(305, 303, dtype="complex64", seed=1)),
    ),
    "gemm_complex_wide": (
        lambda x, y: x @ y,
        (values(5, 300, dtype="complex128"), values(300, 1099, dtype="complex128", seed=1)),
    ),
    "gemm_int": (lambda x, y: x @ y, (values(200, 101, dtype="int32"), values(101, 102, dtype="int32"))),
    "matrix_vector": (lambda x, y: x @ y, (values(2003, 1501), values(1501, seed=1))),
    "vector_matrix": (lambda x, y: y @ x, (values(1501, 2003), values(1501, seed=1))),
    "batched_gemm": (lambda x, y: x @ y, (values(64, 33, 65), values(64, 65, 47, seed=1))),
    "few_large_gemms": (lambda x, y: x @ y, (values(3, 200, 210), values(3, 210, 220, seed=1))),
    "network_gradient": (
        ct.value_and_grad(network),
        ((values(300, 200), values(200), values(200, 10)), values(256, 300, seed=3)),
    ),
    "per_example_gradients": (
        ct.vmap(ct.grad(network), in_axes=(None, 0)),
        ((values(60, 50), values(50), values(50, 10)), values(64, 1, 60, seed=3)),
    ),
    "scan": (scan_of_products, (values(257, 257) / 16, values(200, 257, seed=1))),
    "cumulative_sum": (lambda x: x.cumsum(axis=1), (values(513, 1025),)),
    "cumulative_sum_columns": (lambda x: x.cumsum(axis=0), (values(513, 1025),)),
    "sort": (lambda x: cnp.sort(x, axis=-1), (values(300, 301),)),
    "gather": (lambda x, i: x[i], (values(50_000, 8), np.random.default_rng(0).integers(0, 50_000, 70_001))),
    "scatter_add": (
        lambda x, i: cnp.zeros((50, 8)).at[i].add(x),
        (values(70_001, 8), np.random.default_rng(0).integers(0, 50, 70_001)),
    ),
    "convolution_gradient": (
        ct.grad(lambda w, x: cnp.sum(cnp.tanh(ct.lax.conv(x, w, (1, 1), "SAME")))),
        (values(16, 3, 3, 3), values(16, 3, 33, 33, seed=1)),
    ),
    "random_numbers": (lambda: ct.random.normal(ct.random.key(0), (300_001,)), ()),
    "nothing": (lambda x: (x + 1, x.sum(axis=0), x @ x.T), (values(0, 500),)),
    "no_rows_to_fold": (lambda x: x.sum(axis=1), (values(300_000, 0),)),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_results_have_the_same_bits(name: str) -> None:
    function, arguments = PROGRAMS[name]
    alone = ct.jit(function, threads=1)(*arguments)
    for threads in (2, 4, 0):
        for _ in range(2):
            assert same_bits(ct.jit(function, threads=threads)(*arguments), alone)


@pytest.mark.parametrize("name", ["sum_columns", "sum_few_columns", "sum_few_rows", "sum_middle", "sum_outer_axes"])
def test_chunked_sums_have_the_right_values(name: str) -> None:
    function, (x,) = PROGRAMS[name]
    axis = {"sum_few_rows": 1, "sum_middle": 1, "sum_outer_axes": (0, 2)}.get(name, 0)
    np.testing.assert_allclose(ct.jit(function)(x), np.exp(x.astype("float64") / 9).sum(axis=axis), rtol=2e-5)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "complex64", "int32", "uint8"])
@pytest.mark.parametrize("rows", [2048, 2051])
def test_folds_of_long_rows(dtype: str, rows: int) -> None:
    x = values(rows, 130, dtype=dtype)

    def folds(x: Any) -> Any:
        shifted = x + 1
        real = cnp.real(shifted)
        return shifted.sum(axis=0), real.max(axis=0), (real > 3).any(axis=0), shifted

    for result, expected in zip(ct.jit(folds)(x), folds(x), strict=True):
        tolerance = {"float16": 2e-2, "float64": 1e-12}.get(dtype, 2e-5)
        expected = np.asarray(expected)
        np.testing.assert_allclose(np.asarray(result), expected, rtol=tolerance, atol=tolerance * 50)


def test_sums_of_halves_and_of_every_length() -> None:
    for length in (65_535, 65_536, 65_537, 262_147):
        x = values(length, dtype="float64")
        np.testing.assert_allclose(ct.jit(lambda x: x.sum())(x), x.sum(), rtol=1e-10)
        np.testing.assert_allclose(ct.jit(cnp.vdot)(x, x), np.vdot(x, x), rtol=1e-10)
        ones = np.ones(length, dtype="float16")
        assert float(ct.jit(lambda x: x.sum(dtype="float32"))(ones)) == length


@pytest.mark.parametrize("shape", [(129, 1030, 515), (512, 512, 512), (7, 2000, 300), (300, 2000, 7), (1, 900, 3000)])
def test_products_have_the_right_values(shape: tuple[int, int, int]) -> None:
    m, k, n = shape
    for dtype, tolerance in (("float32", 1e-4), ("float64", 1e-11)):
        x, y = values(m, k, dtype=dtype), values(k, n, dtype=dtype, seed=1)
        expected = x.astype("float64") @ y.astype("float64")
        scale = np.abs(x.astype("float64")) @ np.abs(y.astype("float64"))
        for function, a, b in (
            (lambda a, b: a @ b, x, y),
            (lambda a, b: a.T @ b, x.T.copy(), y),
            (lambda a, b: a @ b.T, x, y.T.copy()),
            (lambda a, b: (b.T @ a.T).T, x, y),
        ):
            assert np.max(np.abs(np.asarray(ct.jit(function)(a, b)) - expected) / scale) < tolerance


def test_other_python_threads_go_on_meanwhile() -> None:
    matrix, start = values(40, 40) / 40, values(40, 40)
    long = ct.jit(lambda m, x: ct.lax.fori_loop(0, 20_000, lambda _, x: cnp.tanh(x @ m), x))
    long(matrix, start)
    worker = threading.Thread(target=long, args=(matrix, start))
    steps = 0
    worker.start()
    while worker.is_alive():
        steps += 1
    assert steps > 1000


def test_option_and_environment() -> None:
    ct.config.update("threads", 1)
    assert ct.config.read("threads") == 1
    ct.config.update("threads", 10_000)
    assert ct.config.read("threads") == CORES
    ct.config.update("jax_threads", 0)
    assert ct.config.read("threads") == CORES
    with pytest.raises(ValueError, match="threads=-1"):
        ct.config.update("threads", -1)
    with pytest.raises(TypeError):
        ct.config.update("threads", 1.5)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="threads=-2"):
        ct.jit(lambda x: x, threads=-2)
    with pytest.raises(TypeError):
        ct.jit(lambda x: x, threads="2")  # type: ignore[arg-type]
    assert float(ct.jit(threads=1)(lambda x: x + 1)(1.0)) == 2.0


def run(code: str, **environment: str) -> str:
    """What a fresh interpreter prints."""
    result = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    return result.stdout.strip()


def test_environment_variable() -> None:
    code = "import cotangent as ct; print(ct.config.read('threads'))"
    assert run(code, CT_THREADS="1") == "1"
    assert run(code, CT_THREADS="nonsense") == str(CORES)


COUNT_THREADS = """
import os, numpy as np, cotangent as ct
x = np.ones((400, 400), "float32")
f = ct.jit(lambda x: ct.numpy.tanh(x @ x) @ x)
before = len(os.listdir("/proc/self/task"))
for _ in range(5):
    f(x)
print(len(os.listdir("/proc/self/task")) - before)
"""


@pytest.mark.usefixtures("names_devices")  # the processor's threads
@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="counts threads in /proc")
def test_no_more_threads_than_cores_and_one_keeps_to_one() -> None:
    assert run(COUNT_THREADS, CT_THREADS="1") == "0"
    assert run(COUNT_THREADS, CT_THREADS="0") == str(CORES - 1)


def test_calls_from_several_python_threads() -> None:
    names = ["softmax_gradient", "gemm", "sum_all", "batched_gemm"]
    functions = {name: ct.jit(PROGRAMS[name][0]) for name in names}
    expected = {name: functions[name](*PROGRAMS[name][1]) for name in names}
    failures: list[str] = []

    def work(offset: int) -> None:
        for i in range(6):
            name = names[(i + offset) % len(names)]
            if not same_bits(functions[name](*PROGRAMS[name][1]), expected[name]):
                failures.append(name)

    workers = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert not failures


def test_host_calls_that_call_compiled_functions_and_fail() -> None:
    x = values(300, 300)
    inner = ct.jit(lambda x: cnp.tanh(x @ x).sum())
    expected = np.asarray(inner(x))

    def host(x: Any) -> np.ndarray:
        if np.asarray(x)[0, 0] > 1e6:
            raise ValueError("too large")
        return np.asarray(inner(x))

    shape = ct.ShapeDtypeStruct((), "float32")
    outer = ct.jit(lambda x, y: cnp.tanh(x @ x).sum() + ct.pure_callback(host, shape, y))
    once = np.asarray(outer(x, x))
    np.testing.assert_allclose(once, 2 * expected, rtol=1e-5)
    for _ in range(3):
        with pytest.raises(ValueError, match="too large"):
            outer(x, np.full_like(x, 1e7))
        assert same_bits(outer(x, x), once)


FORK = """
import os, threading, numpy as np, cotangent as ct
x = np.random.default_rng(0).normal(size=(500, 500)).astype("float32")
f = ct.jit(lambda x: ct.numpy.tanh(x @ x).sum())
expected = float(f(x))
children = []
stop = False
def busy():
    while not stop:
        f(x)
thread = threading.Thread(target=busy)
thread.start()
for _ in range(4):
    child = os.fork()
    if child == 0:
        good = all(float(f(x)) == expected for _ in range(3))
        os._exit(0 if good else 1)
    children.append(child)
print([os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children])
stop = True
thread.join()
"""


FORK_AT_ONCE = """
import os, cotangent as ct
child = os.fork()
good = float(ct.jit(lambda x: x + 1)(1.0)) == 2
if child == 0:
    os._exit(0 if good else 1)
print(good, os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_children_of_a_fork() -> None:
    assert run(FORK) == "[0, 0, 0, 0]"
    assert run(FORK_AT_ONCE) == "True 0"


def test_the_interpreter_ends_while_workers_spin() -> None:
    code = "import numpy as np, cotangent as ct; x = np.ones((600, 600), 'float32'); print(ct.jit(lambda x: x @ x)(x)[0, 0])"
    assert run(code) == "600.0"


def test_exported_libraries_have_the_same_bits(tmp_path: Any) -> None:
    x = values(400, 300)

    def step(x: Any) -> Any:
        return cnp.tanh(x @ x.T).sum(axis=0), x.sum()

    ct.export.compile(step, ct.ShapeDtypeStruct(x.shape, "float32"), name="step").save(tmp_path)
    assert same_bits(ct.export.load(tmp_path)(x), ct.jit(step)(x))
    needed = subprocess.run(["nm", "-D", "-u", tmp_path / "libstep.so"], capture_output=True, text=True, check=True)
    assert "ct_" not in needed.stdout


FACTORISATIONS = """
import hashlib, sys
import cotangent as ct, cotangent.numpy as cnp, numpy as np
a = np.random.default_rng(0).normal(size=(300, 300)).astype(np.float32)
s = a + a.T + 60 * np.eye(300, dtype=np.float32)  # no product of NumPy's, whose bits depend on its threads
linalg = cnp.linalg
digest = hashlib.sha256()
for f, x in [(linalg.cholesky, s), (linalg.inv, s), (linalg.qr, a), (linalg.eigh, s), (linalg.svd, a), (linalg.eigvals, a)]:
    for result in ct.tree.leaves(ct.jit(f)(x)):
        digest.update(np.asarray(result).tobytes())
print(digest.hexdigest())
"""


@pytest.mark.usefixtures("names_devices")  # LAPACK has threads, kernels do not call it
def test_factorisations_have_the_same_bits_however_many_threads_lapack_has():
    digests = set()
    for count in ("1", "2", "4"):
        done = subprocess.run(
            [sys.executable, "-c", FACTORISATIONS],
            env={**os.environ, "OPENBLAS_NUM_THREADS": count},
            capture_output=True,
            text=True,
            check=True,
        )
        digests.add(done.stdout)
    assert len(digests) == 1


@pytest.mark.usefixtures("names_devices")  # LAPACK has threads, kernels do not call it
def test_lapack_keeps_its_own_number_of_threads():
    script = """
import ctypes, glob, os, threading
import cotangent.numpy as cnp, numpy as np
library = glob.glob(os.path.join(os.path.dirname(np.__file__), "..", "numpy.libs", "*openblas*"))
if library:
    blas = ctypes.CDLL(library[0])
    blas.scipy_openblas_set_num_threads64_(2)
    def work():
        for _ in range(50):
            cnp.linalg.cholesky(np.eye(64))
    threads = [threading.Thread(target=work) for _ in range(4)]
    [t.start() for t in threads]; [t.join() for t in threads]
    print(blas.scipy_openblas_get_num_threads64_())
else:
    print(2)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "2"
