"""Programs as kernels of a GPU, without one: their results on the device that emulates it, and what ptxas says of them."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import cotangent as ct
import cotangent.numpy as cnp
import numpy as np
import pytest
from cotangent._base.assembler import find_assembler
from needs import require
from op_records import RECORDS
from places import TESTS
from record_checks import operands

pytestmark = pytest.mark.usefixtures("names_devices")

ARCHITECTURES = ("sm_80", "sm_90", "sm_100")
# Programs that are kernels of more registers than a thread has, by what they are made of.
SPILLS: dict[str, str] = {}


@pytest.mark.parametrize(
    ("file", "chosen"),
    [
        # Of thousands of tests, in parts: each has its time beside other work.
        ("primitives/test_ops.py", "test_value"),
        ("primitives/test_ops.py", "test_vmap"),
        ("primitives/test_ops.py", "test_mask"),
        ("primitives/test_ops.py", "test_special"),
        ("laws/test_laws.py", "test_laws"),
        ("transforms/test_control_flow.py", ""),
        ("ragged/test_mask.py", ""),
        ("random/test_random_bits.py", ""),
        ("package/test_nn.py", ""),
    ],
)
def test_the_suite_passes_on_an_emulated_gpu(file: str, chosen: str) -> None:
    """Threads in random order, and no two of them at one place without a barrier between them."""
    environment = {**os.environ, "CT_DEVICE": "cuda-emulated", "CT_CHECK_RACES": "1", "CT_THREAD_ORDER": "random"}
    environment |= {"CT_LAWS_PROGRAMS": "400"}
    if kept := os.environ.get(
        "CT_KEPT_PROGRAMS"
    ):  # what earlier runs compiled with this build of the library: `./dev test`
        environment |= {"CT_TEST_CACHE_DIR": kept}
    ended = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", TESTS / file, *(["-k", chosen] if chosen else [])],
        env=environment, capture_output=True, text=True, timeout=600, check=False,
    )  # fmt: skip
    assert ended.returncode == 0, ended.stdout[-6000:]
    assert int(re.findall(r"(\d+) passed", ended.stdout)[-1]) > 10


def test_kernels_of_the_records_are_assembled(tmp_path: Path) -> None:
    require("ptxas")
    assembler = find_assembler()
    kernels, spills = 0, {}
    by_architecture: dict[str, list[Path]] = {architecture: [] for architecture in ARCHITECTURES}
    for number, record in enumerate(RECORDS):
        architecture = ARCHITECTURES[number % len(ARCHITECTURES)]
        text = ct.jit(record).lower(*operands(record, record.dtypes[0])).as_text(f"ptx:{architecture}")
        file = tmp_path / f"{number}-{record.name}.ptx"
        file.write_text(text)
        by_architecture[architecture].append(file)
    for architecture, files in by_architecture.items():
        for file in files:
            ended = subprocess.run(
                [assembler, "-v", f"-arch={architecture}", file, "-o", os.devnull],
                capture_output=True,
                text=True,
                check=False,
            )
            assert ended.returncode == 0, (file.name, ended.stderr[-2000:])
            kernels += ended.stderr.count("Compiling entry function")
            if spilled := [n for n in re.findall(r"(\d+) bytes spill stores", ended.stderr) if int(n)]:
                spills[file.name] = spilled
    print(f"{kernels} kernels assembled, spills: {spills}")
    assert kernels > 300
    assert not {name.partition("-")[2].removesuffix(".ptx") for name in spills} - set(SPILLS), spills


def plan(f: Any, *args: Any) -> str:
    text = ct.jit(f, backend="cuda-emulated").lower(*args).compile().as_text()
    return text[: text.index("graph (")]


def test_a_thousand_steps_of_training_are_one_launch() -> None:
    rng = np.random.default_rng(0)
    params = [rng.normal(size=shape).astype(np.float32) * 0.1 for shape in [(64, 32), (32,), (32, 10), (10,)]]
    x = rng.normal(size=(32, 64)).astype(np.float32)
    y = np.eye(10, dtype=np.float32)[rng.integers(0, 10, 32)]

    def loss(p: Any) -> Any:
        hidden = cnp.tanh(x @ p[0] + p[1])
        return -cnp.mean(cnp.sum(ct.nn.log_softmax(hidden @ p[2] + p[3]) * y, 1))

    def step(p: Any) -> Any:
        return ct.tree.map(lambda a, g: a - 0.1 * g, p, ct.grad(loss)(p))

    def train(p: Any, steps: int) -> Any:
        return ct.lax.fori_loop(0, steps, lambda i, p: step(p), p)

    assert plan(step, params).count("kernel kernel") == 1
    assert plan(lambda p: train(p, 1000), params).count("kernel kernel") == 1
    on_gpu = ct.jit(lambda p: train(p, 20), backend="cuda-emulated")(params)
    for found, expected in zip(on_gpu, ct.jit(lambda p: train(p, 20))(params), strict=True):
        np.testing.assert_allclose(found, expected, rtol=2e-5, atol=1e-6)


@pytest.mark.parametrize("writes", [False, True])
def test_a_program_of_very_many_statements_is_several_kernels(writes: bool) -> None:
    """None takes long to compile. Numbers that one leaves to others are in memory."""

    def written_out(x: Any) -> Any:
        number, table = x[0], x * 1
        for i in range(400):
            number = cnp.sin(number) + table[i * 3 % 8]
            if writes:
                table = table.at[i % 8].set(number * 0.5)
        return number, table

    x = np.linspace(0.1, 0.9, 8)
    compiled = ct.jit(written_out, backend="cuda-emulated")
    assert 1 < compiled.lower(x).compile().as_text().count("  kernel kernel") < 30
    for ours, theirs in zip(compiled(x), ct.jit(written_out, backend="cpu")(x), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-9)


def test_a_loop_of_very_many_statements_is_several_kernels() -> None:
    """Where nobody has to wait for what it goes on by."""

    def written_out(count: int, carried: Any) -> Any:
        number, table = carried
        for i in range(count):
            number = cnp.sin(number) + table[i * 3 % 8]
            table = table.at[i % 8].set(number * 0.5)
        return number, table

    def rounds(x: Any, count: int) -> Any:
        return ct.lax.fori_loop(0, 3, lambda i, carried: written_out(count, carried), (x[0], x * 1))

    x = np.linspace(0.1, 0.9, 8)
    assert plan(lambda x: rounds(x, 10), x).count("kernel kernel") == 1
    text = plan(lambda x: rounds(x, 400), x)
    assert "for 3 times" in text and 2 < text.count("kernel kernel") < 30
    found = ct.jit(lambda x: rounds(x, 400), backend="cuda-emulated")(x)
    expected = (x[0], x.copy())
    for _ in range(3):
        number, table = expected
        for i in range(400):
            number = np.sin(number) + table[i * 3 % 8]
            table[i % 8] = number * 0.5
        expected = number, table
    for ours, theirs in zip(found, expected, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-9)

    def while_small(x: Any) -> Any:
        body = lambda carried: (carried[0] + 1, written_out(400, carried[1]))  # noqa: E731
        return ct.lax.while_loop(lambda carried: carried[0] < 3, body, (0, (x[0], x * 1)))[1]

    # Such a loop is one of three, beside what comes before it and after.
    assert plan(while_small, x).count("\n  kernel kernel") == plan(while_small, x).count("kernel kernel") == 3


def test_what_has_no_kernel_is_a_step_of_the_host() -> None:
    def f(x: Any) -> Any:
        return ct.pure_callback(lambda v: np.asarray(v) * 2, x, x) + 1

    x = np.arange(3.0, dtype=np.float32)
    assert "host interpreted" in plan(f, x) or "host " in plan(f, x)
    assert ct.jit(f, backend="cuda-emulated")(x).tolist() == [1.0, 3.0, 5.0]
    with pytest.raises(NotImplementedError, match=r"runs (in this process|on the host)"):
        ct.jit(f).lower(x).as_text("ptx")


@pytest.mark.parametrize("size", [4, 5])
def test_arrays_that_swap_in_a_kernel_leave_their_memory_to_others(size: int) -> None:
    """Exchanging them when the kernel ends would exchange what has their memory by then."""
    random = np.random.default_rng(0)
    a = (random.normal(size=(size, size)) / 3 + np.eye(size)).astype(np.float32)
    b = random.normal(size=(size, size)).astype(np.float32)

    def f(a: Any, b: Any) -> Any:
        solution = cnp.linalg.solve(a, b)  # two loops over columns, whose arrays swap
        product = solution @ solution.T
        shape = ct.ShapeDtypeStruct((size, size), np.float32)
        cosines = ct.pure_callback(np.cos, shape, product + ct.pure_callback(np.cos, shape, a))
        return cosines @ product

    solution = np.linalg.solve(a, b)
    product = solution @ solution.T
    want = np.cos(product + np.cos(a)) @ product
    np.testing.assert_allclose(ct.jit(f, backend="cuda-emulated")(a, b), want, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_eigenvectors_change_as_little_as_matrices_do(dtype: str) -> None:
    """No sign is that of a rounding error."""
    random = np.random.default_rng(4)
    a = random.normal(size=(6, 6)).astype(dtype)
    if dtype == "complex128":
        a = a + 1j * random.normal(size=(6, 6))
    a = a @ a.conj().T
    change = random.normal(size=(20, 6, 6))
    eigh = ct.jit(lambda a: tuple(cnp.linalg.eigh(a)), backend="cuda-emulated")
    _, vectors = (np.asarray(x) for x in eigh(a))
    _, changed = (np.asarray(x) for x in eigh(a + 1e-8 * (change + change.swapaxes(1, 2))))
    np.testing.assert_allclose(changed, np.broadcast_to(vectors, changed.shape), atol=1e-6)


@pytest.mark.parametrize("dtype", ["float32", "complex64"])
@pytest.mark.parametrize("n", [2, 5, 24])
def test_eigenvalues_are_as_near_as_those_of_lapack_in_the_same_dtype(n: int, dtype: str) -> None:
    """Errors in units of precision times the norm; those of ssyevd are up to 3 for values, up to 11 for vectors of float32."""
    random = np.random.default_rng(n)
    a = random.normal(size=(8, n, n)) + (1j * random.normal(size=(8, n, n)) if dtype == "complex64" else 0)
    a = (a + a.conj().swapaxes(1, 2)).astype(dtype)
    values, vectors = (np.asarray(x) for x in ct.jit(lambda a: tuple(cnp.linalg.eigh(a)), backend="cuda-emulated")(a))
    wanted = np.linalg.eigvalsh(a.astype("complex128"))
    unit = np.finfo(np.float32).eps * np.abs(wanted).max(1)
    assert np.mean(np.abs(values - wanted).max(1) / unit) < 3
    wide = vectors.astype("complex128")
    rest = a @ wide - wide * wanted[:, None]
    assert np.mean(np.linalg.norm(rest, 2, (1, 2)) / unit) < 7
    products = wide.conj().swapaxes(1, 2) @ wide - np.eye(n)
    assert np.mean(np.linalg.norm(products, 2, (1, 2))) / np.finfo(np.float32).eps < 11


def test_eigenvalues_of_the_largest_numbers() -> None:
    a = np.array([[1, 0.5], [0.5, -1]]) * 0.8 * float(np.finfo(np.float32).max)
    eigh = ct.jit(lambda a: ct.lax.linalg.eigh(a, symmetrize_input=False), backend="cuda-emulated")
    vectors, values = (np.asarray(x) for x in eigh(a.astype(np.float32)))
    np.testing.assert_allclose(values, np.linalg.eigvalsh(a), rtol=1e-6)
    np.testing.assert_allclose(np.abs(vectors), np.abs(np.linalg.eigh(a)[1]), rtol=1e-5)


@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize("dtype", ["float32", "complex64"])
def test_what_is_no_number_is_in_all_eigenvalues_of_its_matrix(dtype: str, value: float) -> None:
    a = np.stack([np.eye(3, dtype=dtype)] * 2)
    a[1, 1, 1] = value
    values, vectors = ct.jit(lambda a: tuple(cnp.linalg.eigh(a)), backend="cuda-emulated")(a)
    assert np.isnan(np.asarray(values[1])).all() and np.isnan(np.asarray(vectors[1])).all()
    np.testing.assert_array_equal(values[0], np.ones(3))
    np.testing.assert_array_equal(vectors[0], np.eye(3))


def test_text_of_kernels() -> None:
    text = ct.jit(lambda x: cnp.tanh(x)).lower(np.ones(8, np.float32)).as_text("ptx:sm_90")
    assert ".target sm_90" in text and ".entry kernel0" in text
    with pytest.raises(ValueError, match="unknown cpu"):
        ct.jit(lambda x: x).lower(1.0).as_text("ptx:sm_12345")


WHERE = """
import numpy as np, cotangent as ct, cotangent.numpy as cnp
x = np.ones(3, np.float32)
made = [cnp.array(x), cnp.zeros(2), cnp.arange(3), ct.random.normal(ct.random.key(0), (2,)), ct.jit(lambda: cnp.ones(2))(), ct.grad(cnp.sum)(x)]
print(ct.default_backend(), {str(y.device) for y in made}, "kernel kernel0" in ct.jit(lambda x: x * 2).lower(x).compile().as_text())
"""


@pytest.mark.parametrize("name", ["llvm", "cpu", "cuda-emulated"])
def test_a_device_is_named_in_the_environment(name: str) -> None:
    environment = {**os.environ, "CT_DEVICE": name}
    printed = subprocess.check_output([sys.executable, "-c", WHERE], env=environment, text=True)
    device = "cuda-emulated" if name == "cuda-emulated" else "cpu"
    assert printed.split("\n")[0] == f"{device} {{'{device}:0'}} {device == 'cuda-emulated'}"


def test_an_unknown_device_in_the_environment_is_an_error_that_names_it() -> None:
    ended = subprocess.run(
        [sys.executable, "-c", "import cotangent as ct; ct.numpy.ones(2) * 2"],
        env={**os.environ, "CT_DEVICE": "tpu"}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert ended.returncode == 1 and "CT_DEVICE is 'tpu', which is no device" in ended.stderr, ended.stderr


def test_an_explanation_lists_the_kernels_and_what_they_compute() -> None:
    def f(x: Any, w: Any) -> Any:
        product = cnp.tanh(x @ w)
        return ct.lax.fori_loop(0, 3, lambda i, c: cnp.sin(c) + 1, x[0, :5]), product

    x, w = np.ones((512, 64), np.float32), np.ones((64, 128), np.float32)
    explained = ct.explain(ct.jit(f, backend="cuda-emulated"))(x, w)
    kernels = [step for step in explained.steps if step.blocks]
    assert {step.threads for step in kernels} == {256} and all(step.depth == 0 for step in explained.steps)
    spread = next(step for step in kernels if step.blocks > 1)
    assert "dot_general -> float32[512,128]" in spread.name and "tanh" in spread.name and "test_gpu.py" in spread.name
    assert spread.bytes == 4 * (512 * 64 + 64 * 128 + 512 * 128)
    assert any("while" in step.name or "scan" in step.name for step in kernels if step.blocks == 1)
    assert f"kernel of {spread.blocks} blocks of 256 threads" in str(explained)
    with ct.default_device("cuda-emulated"):
        assert ct.explain(f)(x, w).steps == explained.steps
    assert ct.explain(f)(x, w).steps == () and "steps of the GPU" not in str(ct.explain(f)(x, w))


def test_an_explanation_shows_what_the_host_does_between_kernels() -> None:
    def f(x: Any) -> Any:
        return ct.lax.fori_loop(0, 4, lambda i, c: ct.pure_callback(lambda v: np.asarray(v) + 1, c, c * 2), x)

    steps = ct.explain(ct.jit(f, backend="cuda-emulated"))(np.ones(3, np.float32)).steps
    assert "4 times" in [step.name for step in steps]
    call = next(step for step in steps if step.name.startswith("on the host"))
    assert call.depth == 1 and call.blocks == 0 and "24 bytes copied" in call.name


SUMS: dict[str, Any] = {
    "product with a vector": lambda x: x @ cnp.linspace(0, 1, x.shape[1], dtype=x.dtype),
    "product": lambda x: x @ x.T,
    "columns": lambda x: cnp.sum(x.reshape(x.shape[1], -1), 0),
    "squares": lambda x: cnp.sum(x * x, 1),
    "of a length": lambda x: ct.mask(lambda x: cnp.sum(x * x, 0))(ct.Ragged(x.T, {0: x.shape[1] - 3})),
}


@pytest.mark.parametrize("name", SUMS)
def test_long_sums_have_few_rounding_errors(name: str) -> None:
    x = np.random.default_rng(0).random((4, 200_000)).astype(np.float32)
    found = ct.jit(SUMS[name], backend="cuda-emulated")(x)
    with ct.enable_x64():
        expected = ct.jit(SUMS[name])(x.astype(np.float64))
    np.testing.assert_allclose(found, expected, rtol=1e-6)


BUSY = """
import threading, time
import numpy as np, cotangent as ct, cotangent.numpy as cnp
def eager():
    x = cnp.ones(8)
    while True: x = cnp.sin(x) + 1
def long():
    f = ct.jit(lambda x: cnp.sum(cnp.sin(x) * x))
    while True: f(np.ones(300_000, np.float32))
for work in (eager, long): threading.Thread(target=work, daemon=True).start()
time.sleep(0.3)
"""


def test_the_process_ends_while_threads_run_kernels() -> None:
    for _ in range(3):
        ended = subprocess.run(
            [sys.executable, "-c", BUSY],
            env={**os.environ, "CT_DEVICE": "cuda-emulated"}, capture_output=True, text=True, check=False, timeout=100,
        )  # fmt: skip
        assert ended.returncode == 0, ended.stderr
