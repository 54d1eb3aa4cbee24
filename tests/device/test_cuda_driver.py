"""The back end "cuda" without a GPU: what it says where there is no driver, and what it tells one that only counts."""

from __future__ import annotations

import cotangent as ct
import cotangent.numpy as cnp
import numpy as np
import pytest
from fake_cuda import run

pytestmark = pytest.mark.usefixtures("names_devices")

# ---- without a driver ------------------------------------------------------------------------------------------------


def test_without_a_driver_programs_say_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CT_CUDA_DRIVER", "libcuda-that-is-not-there.so")
    f = ct.jit(lambda x: x + 1, backend="cuda")
    for _ in range(2):
        with pytest.raises(
            ct.errors.DeviceError, match=r"compiling <lambda> failed: there is no NVIDIA driver: libcuda-that"
        ) as caught:
            f(1.0)
        assert 'name "cpu" where a GPU is named: backend=,' in str(caught.value) and isinstance(
            caught.value, RuntimeError
        )
    assert ct.devices() == ct.devices("cpu")
    for platform in ("cuda", "gpu"):
        with pytest.raises(ct.errors.DeviceError, match="there is no NVIDIA driver"):
            ct.devices(platform)
        with pytest.raises(ct.errors.DeviceError):
            ct.jit(lambda x: x + 1, backend=platform)(1.0)
    with pytest.raises(RuntimeError, match="unknown platform 'tpu'\n  ask for 'cpu' or 'cuda'"):
        ct.devices("tpu")
    with ct.default_device("cuda"):
        assert ct.default_backend() == "cuda"
        for call in (ct.jit(lambda x: x * 2), lambda x: cnp.asarray(x) * 2, cnp.array, lambda x: cnp.zeros(3)):
            with pytest.raises(ct.errors.DeviceError, match="there is no NVIDIA driver"):
                call(np.ones(3, np.float32))
        assert float(ct.jit(lambda x: x * 2, backend="cpu")(1.5)) == 3.0


def test_nothing_is_opened_before_somebody_asks() -> None:
    program = """
    assert calls("cuDriverGetVersion") == calls("cuInit") == 0
    ct.jit(cnp.tanh)(np.ones(3)), ct.devices("cpu"), ct.process_index(), ct.default_backend(), ct.grad(cnp.sin)(1.0)
    before = calls("cuDriverGetVersion")
    ct.devices()
    print(json.dumps([before, calls("cuInit"), calls("cuDevicePrimaryCtxRetain")]))
    """
    assert run("\n".join(line.strip() for line in program.splitlines())) == [0, 1, 0]


# ---- with the fake one -----------------------------------------------------------------------------------------------


def test_devices_list_the_gpu() -> None:
    program = """
gpu = ct.devices("cuda")[0]
zeros = cnp.zeros(3, device=gpu)
result = ct.jit(lambda x: x + 1, device=gpu)(np.ones(3, np.float32))
print(json.dumps([str(ct.devices()), repr(gpu), gpu.device_kind, gpu == ct.devices("gpu")[0], zeros.device == gpu, len(launches()), list(result.shape)]))
"""
    devices, name, kind, same, placed, launched, shape = run(program)
    assert (
        devices == "[CpuDevice(id=0), CudaDevice(id=0)]" and name == "CudaDevice(id=0)" and kind == "Fake GPU" and same
    )
    assert placed and (launched, shape) == (2, [3])


TRAINING = """
rng = np.random.default_rng(0)
params = [rng.normal(size=shape).astype(np.float32) * 0.1 for shape in [(64, 32), (32,), (32, 10), (10,)]]
x = rng.normal(size=(32, 64)).astype(np.float32)
y = np.eye(10, dtype=np.float32)[rng.integers(0, 10, 32)]
def loss(p, x, y):
    hidden = cnp.tanh(x @ p[0] + p[1])
    return -cnp.mean(cnp.sum(ct.nn.log_softmax(hidden @ p[2] + p[3]) * y, -1))
def step(p, x, y):
    return ct.tree.map(lambda a, g: a - 0.1 * g, p, ct.grad(loss)(p, x, y))
def train(p, x, y):
    return ct.lax.fori_loop(0, 1000, lambda i, p: step(p, x, y), p)
def count(f, *args):
    jitted = ct.jit(f, backend="cuda")
    jitted(*args)
    restart()
    jitted(*args)
    return counted()
def counted():
    names = ["cuLaunchKernelEx", "cuMemcpyHtoDAsync", "cuMemcpyDtoHAsync", "cuMemcpyDtoDAsync", "cuStreamSynchronize", "cuMemAllocAsync"]
    return [calls(name) for name in names]
"""


def test_what_training_costs() -> None:
    """Launches, copies in, out and on the GPU, waits, allocations, of a call that is not the first."""
    one, many = run(TRAINING + "print(json.dumps([count(step, params, x, y), count(train, params, x, y)]))")
    assert one == [1, 6, 0, 0, 1, 0]
    assert many == [1, 6, 0, 0, 1, 0]


def test_arrays_stay_on_the_gpu() -> None:
    """Steps whose arguments are there, as arrays that it was brought before or results of other steps, are a launch and nothing else."""
    program = """
jitted = ct.jit(step, backend="cuda")
x, y = cnp.array(x), cnp.array(y)
params = jitted(params, x, y)
restart()
for _ in range(10):
    params = jitted(params, x, y)
enqueued = counted()
restart()
ct.block_until_ready(params)
waited = counted()
restart()
values = [np.asarray(p) for p in params]
again = [np.asarray(p) for p in params]
print(json.dumps([enqueued, waited, counted(), [str(p.device) for p in params]]))
"""
    enqueued, waited, read, devices = run(TRAINING + program)
    assert enqueued[:5] == [10, 0, 0, 0, 0]
    assert waited == [0, 0, 0, 0, 4, 0]
    assert read == [0, 0, 4, 0, 4, 0]
    assert devices == ["cuda:0"] * 4


def test_results_are_written_over_donated_arrays() -> None:
    """Memory is allocated once, and no array is copied; what another array, or a consumer of DLPack, has is left alone."""
    program = """
def update(p, x, y):
    return ct.tree.map(lambda a, g: a - 0.1 * g, p, ct.grad(loss)(p, x, y)), loss(p, x, y)
jitted = ct.jit(update, backend="cuda", donate_argnums=0)
x, y = cnp.array(x), cnp.array(y)
address = lambda x: x.__cuda_array_interface__["data"][0]
params = [ct.device_put(p, ct.devices("cuda")[0]) for p in params]
before = [address(p) for p in params]
old, held = params, params[1].__dlpack__(stream=1, max_version=(1, 0))
params, _ = jitted(params, x, y)
kept = [p.is_deleted() for p in old], [address(p) == at for p, at in zip(params, before)]
del held
before = [address(p) for p in params]
restart()
for _ in range(5):
    old = params
    params, value = jitted(params, x, y)
moved = [address(p) == at for p, at in zip(params, before)]
print(json.dumps([*kept, moved, counted()[:4], all(p.is_deleted() for p in old)]))
"""
    deleted, same, moved, counts, ended = run(TRAINING + program)
    assert deleted == same == [True, False, True, True]
    assert moved == [True] * 4 and ended
    assert counts == [5, 0, 0, 0]


def test_programs_run_where_their_arguments_are() -> None:
    program = """
gpu = ct.devices("cuda")[0]
f = ct.jit(lambda x, y: x + y)
x = ct.device_put(np.arange(100, dtype=np.float32), gpu)
restart()
there = f(x, 1.0)
launched = len(launches())
on_host = f(np.arange(100, dtype=np.float32), 1.0)
named = ct.jit(lambda x: x + 1, backend="cpu")(x)
eager = x * 2
back = ct.device_put(x, "cpu")
print(json.dumps([launched, [str(a.device) for a in (there, on_host, named, eager, back, x[3], x[1:])], named.tolist()[:3], x.committed, back.committed]))
"""
    launched, devices, values, committed, back = run(program)
    assert launched == 1
    assert devices == ["cuda:0", "cpu:0", "cpu:0", "cuda:0", "cpu:0", "cuda:0", "cuda:0"]
    assert values == [1.0, 2.0, 3.0] and committed and not back


def test_what_private_training_costs() -> None:
    """The network of the demo with digits: two products forward, one back, two for the sums of clipped gradients.

    What makes the noise has thousands of statements, so that what is left beside the grid's kernel is two kernels.
    """
    program = """
rng = np.random.default_rng(0)
p = [rng.normal(size=shape).astype(np.float32) * 0.1 for shape in [(64, 64), (64,), (64, 10), (10,)]]
x = rng.normal(size=(128, 64)).astype(np.float32)
y = np.eye(10, dtype=np.float32)[rng.integers(0, 10, 128)]
options = dict(learning_rate=0.1, clip_norm=1.0, noise_multiplier=1.0, expected_batch_size=128)
print(json.dumps(count(ct.per_example.dp_sgd_step(loss, **options), ct.random.key(0), p, x, y)))
"""
    launched, copied_in, copied_out, copied, waits, allocations = run(TRAINING + program)
    assert launched <= 3
    assert (copied_in, copied_out, copied, waits, allocations) == (6, 0, 0, 1, 0)


@pytest.mark.parametrize(
    ("call", "status", "error", "text"),
    [
        ("cuInit", 100, "DeviceError", "CUDA's cuInit failed with 100, CUDA_ERROR_NO_DEVICE (a fake text)"),
        ("cuDevicePrimaryCtxRetain", 2, "MemoryError", "cuDevicePrimaryCtxRetain failed with 2, CUDA_ERROR_OUT_OF_MEMORY"),
        ("cuModuleLoadDataEx", 222, "DeviceError", "CUDA_ERROR_UNSUPPORTED_PTX_VERSION"),
        ("cuMemcpyHtoDAsync", 999, "DeviceError", "CUDA's cuMemcpyHtoDAsync failed with 999, CUDA_ERROR_UNKNOWN"),
        ("cuLaunchKernelEx", 701, "DeviceError", "CUDA's cuLaunchKernelEx failed with 701"),
        ("cuStreamSynchronize", 700, "DeviceError", "which ran last, failed: program(float32[30]) -> (float32[30])"),
    ],
)  # fmt: skip
def test_failures_are_exceptions(call: str, status: int, error: str, text: str) -> None:
    program = """
f = ct.jit(lambda x: x + 1, backend="cuda")
try:
    np.asarray(f(np.ones(30, np.float32)))
    caught = ["", ""]
except Exception as error:
    caught = [type(error).__name__, str(error)]
restart()
try:
    again = list(np.asarray(f(np.ones(30, np.float32))).shape)
except Exception as error:
    again = str(error)
print(json.dumps([*caught, again, ct.jit(lambda x: x + 1)(1.0).tolist()]))
"""
    kind, message, again, on_cpu = run(program, CT_FAKE_CUDA_FAIL=f"{call}:1:{status}")
    assert kind == error and text in message
    assert again == [30] and on_cpu == 2.0


def test_without_memory_the_largest_arrays_are_named() -> None:
    program = """
try:
    ct.jit(lambda x, y: cnp.tanh(x) + y, backend="cuda")(np.ones((1000, 300), np.float32), 1.0)
except MemoryError as error:
    print(json.dumps(str(error)))
"""
    message = run(program, CT_FAKE_CUDA_MEMORY="1000000")
    assert "for 1310720 bytes; 1000000 of 1000000 bytes of the GPU are free" in message
    assert "1200000 bytes: input 0, float32[1000,300]\n    1200000 bytes: result 0, float32[1000,300]" in message


def test_an_old_driver_and_an_old_gpu_are_refused() -> None:
    program = """
try:
    ct.devices("cuda")
except ct.errors.DeviceError as error:
    print(json.dumps(str(error)))
"""
    assert "is for CUDA 11.4; the least that works is 11.8" in run(program, CT_FAKE_CUDA_VERSION="11040")
    assert "compute capability 7.5" in run(program, CT_FAKE_CUDA_CAPABILITY="75")


@pytest.mark.parametrize(
    ("version", "capability", "target", "ptx"),
    [("11080", "80", "sm_80", "7.8"), ("12020", "89", "sm_89", "7.8"), ("12040", "120", "sm_90", "7.8")],
)
def test_kernels_are_for_the_gpu_and_driver_that_are_there(
    version: str, capability: str, target: str, ptx: str
) -> None:
    program = f"""
lowered = ct.jit(lambda x: x + 1, backend="cuda").lower(np.ones(3, np.float32))
text = lowered.as_text("ptx:{target}")
print(json.dumps([lowered.compile().as_text().splitlines()[0], ".version {ptx}" in text]))
"""
    first, is_version = run(program, CT_FAKE_CUDA_VERSION=version, CT_FAKE_CUDA_CAPABILITY=capability)
    assert first.startswith(f"plan program for cuda:{target},") and is_version


def test_callbacks_are_steps_of_the_host() -> None:
    program = """
seen = []
def double(v):
    seen.append(np.asarray(v).tolist())
    return np.asarray(v) * 2
def f(x):
    doubled = ct.pure_callback(double, x, x)
    return doubled, doubled + 1
doubled, _ = ct.jit(f, backend="cuda")(np.arange(3, dtype=np.float32))
print(json.dumps([seen, doubled.tolist(), len(launches())]))
"""
    assert run(program) == [[[0.0, 1.0, 2.0]], [0.0, 2.0, 4.0], 1]


def test_a_forked_process_is_told_that_it_cannot_use_the_gpu() -> None:
    """The fake driver goes on there; the real one says that it is not initialized."""
    program = """
f = ct.jit(lambda x: x + 1, backend="cuda")
f(np.ones(3, np.float32))
restart("cuCtxSetCurrent:1:3")
try:
    f(np.ones(3, np.float32))
except ct.errors.DeviceError as error:
    print(json.dumps(str(error)))
"""
    assert "start processes by 'spawn'" in run(program)


def test_threads_share_the_gpu() -> None:
    program = """
from concurrent.futures import ThreadPoolExecutor
f = ct.jit(lambda x: ct.pure_callback(lambda v: np.asarray(v) * 2, x, x), backend="cuda")
with ThreadPoolExecutor(8) as pool:
    found = list(pool.map(lambda i: float(f(np.float32(i))), range(200)))
print(json.dumps(found == [2.0 * i for i in range(200)]))
"""
    assert run(program) is True


def test_an_array_is_ready_when_the_work_is_done() -> None:
    program = """
f = ct.jit(lambda x: cnp.sin(x) * 2, backend="cuda")
g = ct.jit(lambda y: y + 1)
y = f(np.ones(100, np.float32))
ct.block_until_ready(g(y))
restart()
z = g(y)
found = [z.is_ready(), y.is_ready()]
while not z.is_ready(): pass
print(json.dumps([*found, z.is_ready(), y.is_ready(), calls("cuStreamQuery") >= 4, calls("cuStreamSynchronize"), cnp.ones(3).is_ready()]))
"""
    assert run(program) == [False, True, True, True, True, 0, True]


def test_what_is_broadcast_beside_an_array_of_a_gpu_is_broadcast_there() -> None:
    program = """
y = ct.device_put(np.ones((100, 50), np.float32), "cuda")
row = np.ones(50, np.float32)
def costs(call):
    call()
    restart()
    call()
    return [calls(name) for name in ("cuMemcpyHtoDAsync", "cuStreamSynchronize")]
print(json.dumps([costs(lambda: y + 1), costs(lambda: 2.5 * y), costs(lambda: cnp.maximum(y, 0)), costs(lambda: y + cnp.float32(3)), costs(lambda: y * row)]))
"""
    assert run(program) == [*[[0, 0]] * 4, [1, 1]]  # numbers travel with the call; NumPy's arrays may change


def test_who_named_a_gpu_in_the_environment_is_told_where() -> None:
    program = """
try:
    cnp.ones(3) + 1
except ct.errors.DeviceError as error:
    print(json.dumps(str(error)))
"""
    text = run(program, CT_DEVICE="cuda", CT_FAKE_CUDA_CAPABILITY="75")
    assert "compute capability 7.5" in text and "CT_DEVICE in the environment" in text
