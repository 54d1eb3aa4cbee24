"""Arrays and programs on each of several GPUs, and between them; the driver is one that has none (fake_cuda.py)."""

from __future__ import annotations

import tempfile
from typing import Any

import pytest
from fake_cuda import run
from test_cuda_exchange import OTHER

pytestmark = pytest.mark.usefixtures("names_devices")


def run_on_two(program: str, **environment: str) -> Any:
    return run(program, CT_FAKE_CUDA_DEVICES="2", **environment)


def test_all_are_listed() -> None:
    program = """
first, second = ct.devices("cuda")
line = [str(device) for device in ct.devices()] + [ct.device_count("gpu"), first == second, second.id, second.platform, repr(second)]
print(json.dumps(line))
"""
    assert run_on_two(program) == ["cpu:0", "cuda:0", "cuda:1", 2, False, 1, "cuda", "CudaDevice(id=1)"]


def test_a_program_runs_where_its_arguments_are_or_where_it_is_told_to() -> None:
    program = """
gpus = ct.devices("cuda")
x = np.ones(300, np.float32)
f = ct.jit(lambda x: cnp.sin(x) * 2)
def where(y): return [str(y.device), len(launches())]
found = []
for make in (
    lambda: f(ct.device_put(x, gpus[1])), lambda: f(ct.device_put(x, "cuda:0")), lambda: f(ct.device_put(x, "gpu:1")),
    lambda: ct.jit(cnp.sin, backend="cuda:1")(x), lambda: ct.jit(cnp.sin, device=gpus[1])(x),
    lambda: ct.device_put(x, gpus[1]) + 1, lambda: ct.grad(lambda x: cnp.sum(x * x))(ct.device_put(x, gpus[1])),
    lambda: cnp.zeros(3, device="cuda:1"), lambda: ct.jit(cnp.cos, out_shardings=ct.sharding.SingleDeviceSharding(gpus[1]))(x),
):
    restart()
    found.append(where(make()))
with ct.default_device("cuda:1"):
    found.append(where(cnp.arange(4) + 1))
    found.append(ct.default_backend())
print(json.dumps([[at, count > 0] if isinstance(at, str) else at for at, count in [f if len(f) == 2 else [f, 1] for f in found]]))
"""
    devices = [item[0] for item in run_on_two(program)]
    assert devices == ["cuda:1", "cuda:0", *["cuda:1"] * 8, "cuda"]


def test_the_environment_names_one() -> None:
    assert run_on_two("print(json.dumps(str((cnp.ones(3) * 2).device)))", CT_DEVICE="cuda:1") == "cuda:1"


def test_an_array_goes_from_one_to_the_other_without_the_host() -> None:
    program = """
first, second = ct.devices("cuda")
data = np.arange(1000, dtype=np.float32)
x = ct.device_put(data, first)
ct.block_until_ready(x)
restart()
y = ct.device_put(x, second)
costs = [calls(name) for name in ("cuMemcpyPeerAsync", "cuMemcpyDtoHAsync", "cuStreamSynchronize")]
# The first GPU's next array has the memory of x, which the copy comes before.
address = x.__cuda_array_interface__["data"]
del x
z = ct.device_put(data + 5, first)
reused = z.__cuda_array_interface__["data"] == address
right = bool((np.asarray(z) == data + 5).all() and (np.asarray(y) == data).all())
none = np.asarray(ct.device_put(ct.device_put(np.zeros((0, 3), np.int8), first), second)).shape
print(json.dumps([costs, str(y.device), reused, right, none]))
"""
    assert run_on_two(program) == [[1, 0, 0], "cuda:1", True, True, [0, 3]]


def test_arguments_of_two_are_an_error_and_so_is_one_that_is_not_there() -> None:
    program = """
first, second = ct.devices("cuda")
x, y = (ct.device_put(np.ones(3, np.float32), device) for device in (first, second))
def message(make):
    try:
        make()
    except Exception as error:
        return [type(error).__name__, str(error)]
f = ct.jit(lambda a, b: a * b)
f(np.ones(3, np.float32), np.ones(3, np.float32))  # a program of the host, that fits but for the place
print(json.dumps([
    message(lambda: x + y), message(lambda: f(x, y)), message(lambda: ct.device_put(x, "cuda:2")),
    message(lambda: ct.device_put(x, "cuda:16")), message(lambda: ct.device_put(x, "cuda:one")),
    message(lambda: ct.jit(cnp.sin, device=first, out_shardings=ct.sharding.SingleDeviceSharding(second))),
]))
"""
    eager, jitted, missing, unknown, no_number, shardings = run_on_two(program)
    for kind, text in (eager, jitted):
        assert kind == "DeviceError" and "two devices" in text and " cuda, " in text and "cuda:1" in text
    assert missing[0] == "DeviceError" and "there is no GPU 2: the driver shows 2" in missing[1]
    for kind, text in (unknown, no_number):
        assert kind == "ValueError" and "unknown device" in text
    assert shardings[0] == "ValueError" and "asked for cuda:0 and cuda:1" in shardings[1]


def test_a_program_for_both_is_compiled_once_for_the_disk_and_loaded_for_each() -> None:
    program = """
x = np.ones(100, np.float32)
loads = []
for device in ct.devices("cuda"):
    f = ct.jit(lambda x: cnp.sin(x) * 2)
    restart()
    f(ct.device_put(x, device))
    loads.append(calls("cuModuleLoadDataEx"))
print(json.dumps(loads + [len([name for _, _, names in os.walk(os.environ["CT_CACHE_DIR"]) for name in names])]))
"""

    with tempfile.TemporaryDirectory() as directory:
        assert run_on_two(program, CT_CACHE_DIR=directory) == [1, 1, 1]


def test_libraries_are_told_which_and_tell_it() -> None:
    program = """
first, second = ct.devices("cuda")
y = ct.device_put(DATA, second)
tensor = managed(y.__dlpack__(max_version=(1, 0))).tensor
line = [tensor.device_id, y.__dlpack_device__()]
moved = managed(y.__dlpack__(max_version=(1, 0), dl_device=(2, 0)))
line += [moved.tensor.device_id, str(cnp.from_dlpack(Other(y)).device), str(cnp.from_dlpack(Other(y), copy=False).device)]
line.append(np.asarray(cnp.from_dlpack(Other(y))).tolist() == DATA.tolist())
def far(tensor): tensor.device_id = 99
class Far(Other):
    def __dlpack_device__(self): return (2, 99)
for make in (lambda: cnp.from_dlpack(Far(y)), lambda: y.__dlpack__(dl_device=(2, 99))):
    try:
        make()
    except Exception as error:
        line.append([type(error).__name__, str(error)])
print(json.dumps(line))
"""
    *found, taken, given = run_on_two(OTHER + program)
    assert found == [1, [2, 1], 0, "cuda:1", "cuda:1", True]
    assert taken[0] == "ValueError" and "the tensor is on GPU 99" in taken[1]
    assert given[0] == "BufferError" and "(2, n)" in given[1]


def test_each_says_what_its_memory_is_used_for() -> None:
    program = """
first, second = ct.devices("cuda")
x = ct.device_put(np.zeros(1 << 18, np.float32), second)
y = ct.device_put(np.zeros(1 << 18, np.float32), second)
del y
found = [second.memory_stats(), first.memory_stats()]
x = None
print(json.dumps([*found, second.memory_stats(), ct.devices("cpu")[0].memory_stats()]))
"""
    used, other, after, processor = run_on_two(program)
    size = 1 << 20
    assert used == {
        "bytes_in_use": size, "peak_bytes_in_use": 2 * size, "bytes_reserved": 2 * size, "num_allocs": 2, "bytes_limit": 1 << 30
    }  # fmt: skip
    assert other == {**dict.fromkeys(used, 0), "bytes_limit": 1 << 30}
    assert after == {**used, "bytes_in_use": 0} and processor is None
