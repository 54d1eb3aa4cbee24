"""Arrays of a GPU that libraries hand to each other: DLPack with its streams, and `__cuda_array_interface__`."""

from __future__ import annotations

import cotangent.numpy as cnp
import numpy as np
import pytest
from cotangent.numpy.exchange import _gathered
from fake_cuda import run

pytestmark = pytest.mark.usefixtures("names_devices")

# A library that offers what it has, and notes what it is asked for; a capsule's tensor, and the end of one.
OTHER = """
class Tensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32), ("ndim", ctypes.c_int32),
                ("dtype", ctypes.c_uint32), ("shape", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.POINTER(ctypes.c_int64)),
                ("byte_offset", ctypes.c_uint64)]
class Managed(ctypes.Structure): pass
Managed._fields_ = [("version", ctypes.c_uint32 * 2), ("context", ctypes.c_void_p), ("deleter", ctypes.CFUNCTYPE(None, ctypes.POINTER(Managed))),
                    ("flags", ctypes.c_uint64), ("tensor", Tensor)]
def managed(capsule):
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return Managed.from_address(get(capsule, b"dltensor_versioned"))
class Other:
    def __init__(self, array, change=lambda tensor: None):
        self.array, self.change, self.asked = array, change, []
    def __dlpack_device__(self): return self.array.__dlpack_device__()
    def __dlpack__(self, *, stream=None, max_version=None):
        self.asked.append([stream, max_version])
        capsule = self.array.__dlpack__(stream=stream, max_version=max_version)
        self.change(managed(capsule).tensor)
        return capsule
DATA = np.arange(12, dtype=np.float32).reshape(3, 4)
gpu = ct.devices("cuda")[0]
x = ct.device_put(DATA, gpu)
"""
HANDLE = "x.__cuda_array_interface__['stream']"


def test_a_capsule_shows_the_memory_of_the_gpu() -> None:
    program = """
capsule = x.__dlpack__(max_version=(1, 0))
tensor = managed(capsule).tensor
same = tensor.data == x.__cuda_array_interface__["data"][0]
capsules = [same, tensor.device_type, tensor.device_id, tensor.shape[:2], tensor.strides[:2], managed(capsule).flags]
copied = managed(x.__dlpack__(max_version=(1, 0), copy=True))
capsules += [copied.tensor.data == tensor.data, copied.tensor.device_type, copied.flags, x.__dlpack_device__()]
print(json.dumps(capsules))
"""
    assert run(OTHER + program) == [True, 2, 0, [3, 4], [4, 1], 1, False, 2, 2, [2, 0]]


def test_the_stream_of_the_consumer_comes_after_ours_and_ours_after_it_when_it_gives_the_memory_back() -> None:
    program = """
def costs(**options):
    restart()
    capsule = x.__dlpack__(max_version=(1, 0), **options)
    given = [calls(name) for name in ("cuEventRecord", "cuStreamWaitEvent", "cuEventDestroy", "cuCtxSynchronize", "cuStreamSynchronize")]
    restart()
    del capsule
    return given, [calls("cuStreamWaitEvent"), calls("cuCtxSynchronize")]
print(json.dumps([costs(), costs(stream=1), costs(stream=2), costs(stream=-1), costs(stream=HANDLE)]))
"""
    ordered, by_number, of_thread, unordered, of_handle = run(OTHER + program.replace("HANDLE", HANDLE))
    assert ordered == by_number == of_thread == [[1, 1, 1, 0, 0], [1, 0]]
    assert unordered == [[0, 0, 0, 0, 0], [0, 1]]
    assert of_handle == [[1, 1, 1, 0, 0], [0, 1]]


def test_arrays_come_from_a_gpu_by_copy_or_shared() -> None:
    program = """
def taken(**options):
    other = Other(x)
    restart()
    found = cnp.from_dlpack(other, **options)
    cost = [calls("cuMemcpyDtoDAsync"), calls("cuMemcpyDtoHAsync")]
    same = found.__cuda_array_interface__["data"] == x.__cuda_array_interface__["data"]
    return [np.asarray(found).tolist() == DATA.tolist(), str(found.device), cost, same, other.asked == [[HANDLE, (1, 0)]]]
print(json.dumps([taken(), taken(copy=False), str(cnp.from_dlpack(Other(x), device="cpu").device)]))
"""
    copied, shared, on_host = run(OTHER + program.replace("HANDLE", HANDLE))
    assert copied == [True, "cuda:0", [1, 0], False, True]
    assert shared == [True, "cuda:0", [0, 0], True, True] and on_host == "cpu:0"


def test_shared_memory_goes_back_when_nothing_reads_it_any_more() -> None:
    program = """
y = ct.device_put(np.ones(1000, np.float32), gpu)
other = Other(y)
shared = cnp.from_dlpack(other, copy=False)
doubled = shared * 2
del other, y
restart()
del shared
print(json.dumps([calls("cuStreamSynchronize") > 0, str(doubled.device)]))
"""
    assert run(OTHER + program) == [True, "cuda:0"]


def test_views_that_are_not_contiguous_are_gathered_on_the_gpu() -> None:
    program = """
def transpose(tensor):
    tensor.shape[0], tensor.shape[1], tensor.strides[0], tensor.strides[1] = 4, 3, 1, 4
restart()
found = cnp.from_dlpack(Other(x, transpose))
line = [list(found.shape), str(found.device), len(launches()) > 0, calls("cuMemcpyDtoHAsync")]
try:
    cnp.from_dlpack(Other(x, transpose), copy=False)
except ValueError as error:
    line.append(str(error))
def none(tensor): tensor.shape[0] = 0
line.append(list(cnp.from_dlpack(Other(x, none)).shape))
print(json.dumps(line))
"""
    shape, device, launched, to_host, shared, none = run(OTHER + program)
    assert (shape, device, launched, to_host, none) == ([4, 3], "cuda:0", True, 0, [0, 4])
    assert "cannot be shared" in shared


@pytest.mark.parametrize("view", [np.s_[:, ::2], np.s_[::-1, 1:], np.s_[1], np.s_[::2, ::-3]])
def test_the_elements_of_a_view_are_found_by_its_strides(view: object) -> None:
    whole = np.arange(24).reshape(4, 6)
    seen = whole[view]  # type: ignore[index]
    offset = (seen.__array_interface__["data"][0] - whole.__array_interface__["data"][0]) // whole.itemsize
    strides = [stride // whole.itemsize for stride in seen.strides]
    np.testing.assert_array_equal(_gathered(cnp.array(whole.ravel()), offset, list(seen.shape), strides), seen)


def test_the_interface_by_address() -> None:
    program = """
interface = x.__cuda_array_interface__
interface["data"] = [interface["data"][0] > 0, interface["data"][1]]
interface["stream"] = interface["stream"] > 2
host, narrow = cnp.zeros(3), ct.device_put(cnp.zeros(3, "bfloat16"), gpu)
print(json.dumps([interface, hasattr(host, "__cuda_array_interface__"), hasattr(narrow, "__cuda_array_interface__")]))
"""
    interface, of_host, of_narrow = run(OTHER + program)
    assert interface == {
        "shape": [3, 4], "typestr": "<f4", "data": [True, True], "version": 3, "strides": None, "stream": True,
    }  # fmt: skip
    assert not of_host and not of_narrow


def test_what_cannot_be_is_an_error() -> None:
    program = """
messages = []
def note(call):
    try:
        call()
    except (BufferError, ValueError) as error:
        messages.append(type(error).__name__ + ": " + str(error))
host = cnp.zeros(3)
note(lambda: x.__dlpack__(stream=0, max_version=(1, 0)))
note(lambda: x.__dlpack__(dl_device=(2, 1)))
note(lambda: x.__dlpack__(dl_device=(1, 0), copy=False, max_version=(1, 0)))
note(lambda: x.__dlpack__(dl_device=(1, 0), stream=1))
note(lambda: x.__dlpack__(copy=False))
there = managed(host.__dlpack__(dl_device=(2, 0), max_version=(1, 0))).tensor.device_type
here = managed(x.__dlpack__(dl_device=(1, 0), max_version=(1, 0))).tensor.device_type
print(json.dumps([messages, there, here]))
"""
    messages, there, here = run(OTHER + program)
    for message, text in zip(
        messages,
        ["ValueError: __dlpack__: stream=0 is none", "BufferError: __dlpack__: arrays are in", "BufferError: __dlpack__: the array is on (2, 0)",
         "ValueError: __dlpack__: the memory of the host has no streams", "BufferError: __dlpack__: arrays are immutable"],
        strict=True,
    ):  # fmt: skip
        assert message.startswith(text)
    assert (there, here) == (2, 1)
