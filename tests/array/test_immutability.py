"""Nothing that another library is given can change an array, and nothing that it keeps can either."""

from __future__ import annotations

import contextlib
import ctypes
import gc
import pickle
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import cotangent as ct
import cotangent.numpy as cnp
import numpy as np
import pytest

VALUES = np.arange(6.0, dtype=np.float32).reshape(2, 3)

# On a GPU each of them has memory of its own, and its copy on the host.
SHARED = pytest.mark.usefixtures("names_devices")  # arrays of the processor share memory of the host


class Consumer:
    """Takes DLPack capsules apart, as a library does that may write to what it gets."""

    class Tensor(ctypes.Structure):
        _fields_ = [
            ("data", ctypes.c_void_p),
            ("device", ctypes.c_int32 * 2),
            ("ndim", ctypes.c_int32),
            ("dtype", ctypes.c_uint8 * 4),
            ("shape", ctypes.POINTER(ctypes.c_int64)),
            ("strides", ctypes.POINTER(ctypes.c_int64)),
            ("byte_offset", ctypes.c_uint64),
        ]

    class Versioned(ctypes.Structure):
        _fields_ = [
            ("version", ctypes.c_uint32 * 2),
            ("context", ctypes.c_void_p),
            ("deleter", ctypes.c_void_p),
            ("flags", ctypes.c_uint64),
        ]

    @staticmethod
    def pointer(capsule: Any, name: bytes) -> int:
        get = ctypes.pythonapi.PyCapsule_GetPointer
        get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
        return int(get(capsule, name))

    @classmethod
    def legacy(cls, capsule: Any) -> Any:
        return cls.Tensor.from_address(cls.pointer(capsule, b"dltensor"))

    @classmethod
    def versioned(cls, capsule: Any) -> tuple[Any, Any]:
        address = cls.pointer(capsule, b"dltensor_versioned")
        return cls.Versioned.from_address(address), cls.Tensor.from_address(address + ctypes.sizeof(cls.Versioned))


def writable_views(x: Any) -> list[Any]:
    """Memory of every way out that can be written to."""
    candidates: list[Callable[[], Any]] = [
        lambda: np.asarray(x),
        lambda: np.array(x),
        lambda: np.array(x, copy=None) if np.lib.NumpyVersion(np.__version__) >= "2.0.0" else np.asarray(x),
        lambda: np.from_dlpack(x),
        lambda: np.asarray(memoryview(x)),
        lambda: np.frombuffer(x, np.float32),
        lambda: np.ctypeslib.as_array(np.ctypeslib.as_ctypes(np.asarray(x))),
        lambda: np.asarray(ct.device_get(x)),
        lambda: np.asarray(x)[...],
        lambda: np.asarray(x).view(np.int32),
        lambda: np.asarray(np.asarray(x).base) if isinstance(np.asarray(x).base, np.ndarray) else None,
        lambda: np.from_dlpack(np.asarray(x)),
        lambda: pickle.loads(pickle.dumps(np.asarray(x))),
    ]
    seen: list[Any] = []
    for make in candidates:
        with contextlib.suppress(TypeError, ValueError, BufferError):
            view = make()
            if view is not None:
                with contextlib.suppress(ValueError):
                    view.flags.writeable = True
                if view.flags.writeable:
                    seen.append(view)
    ct.pure_callback(lambda y: seen.append(y) or np.float32(0), ct.ShapeDtypeStruct((), np.float32), x)
    ct.jit(
        lambda y: ct.pure_callback(lambda z: seen.append(z) or np.float32(0), ct.ShapeDtypeStruct((), np.float32), y)
    )(x)
    return [view for view in seen if isinstance(view, np.ndarray) and view.flags.writeable]


@pytest.mark.parametrize("copies", [False, True])
def test_writing_to_what_numpy_gets_changes_nothing(copies: bool) -> None:
    x = cnp.asarray(VALUES) * 1 if copies else cnp.asarray(VALUES)
    same = x.reshape(6)
    f = ct.jit(lambda: same * 1)
    f()
    for view in writable_views(x):
        view[...] = 77
    for array in (x, same.reshape(2, 3), f().reshape(2, 3)):
        np.testing.assert_array_equal(array, VALUES)


def test_views_are_read_only() -> None:
    x = cnp.asarray(VALUES)
    for view in (np.asarray(x), np.from_dlpack(x), np.asarray(memoryview(x))):
        with pytest.raises(ValueError, match="read-only"):
            view[0, 0] = 9
        with pytest.raises(ValueError, match="WRITEABLE"):
            view.flags.writeable = True
    assert np.asarray(x).__array_interface__["data"][1]  # read-only
    assert memoryview(x).readonly
    with pytest.raises(TypeError, match="read-only"):
        memoryview(x)[0, 0] = 9.0
    with pytest.raises(TypeError, match="not writable"):
        (ctypes.c_float * 6).from_buffer(x)


def test_dlpack_says_read_only_to_those_who_ask() -> None:
    x = cnp.asarray(VALUES)
    capsule = x.__dlpack__(max_version=(1, 0))
    header, tensor = Consumer.versioned(capsule)
    assert list(header.version) == [1, 0]
    assert header.flags & 1
    assert tensor.data == np.asarray(x).__array_interface__["data"][0]  # shared
    assert [tensor.shape[0], tensor.shape[1], tensor.strides[0], tensor.strides[1]] == [2, 3, 3, 1]


@pytest.mark.parametrize(
    "options", [{}, {"max_version": (0, 8)}, {"max_version": None}, {"copy": True}, {"copy": None}]
)
def test_dlpack_is_a_copy_for_the_others(options: dict[str, Any]) -> None:
    x = cnp.asarray(VALUES)
    capsule = x.__dlpack__(**options)
    tensor = Consumer.legacy(capsule)
    assert tensor.data != np.asarray(x).__array_interface__["data"][0]
    memory = (ctypes.c_float * 6).from_address(tensor.data)
    assert list(memory) == VALUES.ravel().tolist()
    memory[:] = [7.0] * 6
    np.testing.assert_array_equal(x, VALUES)


def test_a_copy_that_is_asked_for_is_writable() -> None:
    x = cnp.asarray(VALUES)
    capsule = x.__dlpack__(max_version=(1, 0), copy=True)
    header, tensor = Consumer.versioned(capsule)
    assert header.flags == 2
    assert tensor.data != np.asarray(x).__array_interface__["data"][0]
    with pytest.raises(BufferError, match=r"version 1\.0 of the protocol"):
        x.__dlpack__(copy=False)
    assert x.__dlpack__(max_version=(1, 0), copy=False)


def test_torch_cannot_write_to_an_array() -> None:
    script = """
import sys, warnings
warnings.simplefilter("ignore")
try:
    import torch
except ImportError:
    sys.path.append("/usr/lib/python3/dist-packages")
    try:
        import torch
    except ImportError:
        print("none")
        sys.exit()
import cotangent as ct, numpy as np
x = ct.numpy.arange(4.0)
shared = x.reshape(2, 2)
f = ct.jit(lambda: shared + 0)
f()
t = torch.from_dlpack(x)
assert t.tolist() == [0, 1, 2, 3]
try:
    t[0] = 77
except RuntimeError:
    pass
assert x.tolist() == [0, 1, 2, 3], x
assert shared.tolist() == f().tolist() == [[0, 1], [2, 3]]
t = torch.arange(4)
y, z = ct.numpy.from_dlpack(t), ct.numpy.from_dlpack(torch.utils.dlpack.to_dlpack(t))
t[0] = 77
assert y.tolist() == z.tolist() == [0, 1, 2, 3], y
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    if done.stdout.strip() == "none":
        pytest.skip("no torch")


SOURCES: dict[str, Callable[[Any], Any]] = {
    "array": cnp.array,
    "asarray": cnp.asarray,
    "asarray without copy": lambda a: cnp.asarray(a, copy=None),
    "array without copy": lambda a: cnp.array(a, copy=False),
    "from_dlpack": cnp.from_dlpack,
    "capsule": lambda a: cnp.from_dlpack(a.__dlpack__()),
    "dlpack of a read-only view": lambda a: cnp.from_dlpack(read_only(a)),
    "buffer": lambda a: cnp.frombuffer(a, np.float32).reshape(2, 3),
    "memoryview": lambda a: cnp.asarray(memoryview(a)),
    "device_put": ct.device_put,
    "argument of jit": ct.jit(lambda x: x),
    "constant": lambda a: ct.jit(lambda: cnp.asarray(a))(),
    "leaf": lambda a: ct.vmap(lambda x: x)(a),
    "result of a callback": lambda a: ct.pure_callback(lambda: a, ct.ShapeDtypeStruct(a.shape, a.dtype)),
    "result of a compiled callback": lambda a: ct.jit(
        lambda: ct.pure_callback(lambda: a, ct.ShapeDtypeStruct(a.shape, a.dtype))
    )(),
    "ragged": lambda a: ct.Ragged(a, {0: 2}).data,
    "copy": lambda a: cnp.copy(a),
    "astype": lambda a: cnp.astype(a, np.float32),
}


def read_only(a: Any) -> Any:
    view = a.view()
    view.flags.writeable = False
    return view


@pytest.mark.parametrize("way", SOURCES)
def test_writing_to_the_source_changes_nothing(way: str) -> None:
    if way == "dlpack of a read-only view" and np.lib.NumpyVersion(np.__version__) < "2.1.0":
        pytest.skip("this NumPy cannot hand out read-only arrays by DLPack")
    source = VALUES.copy()
    x = SOURCES[way](source)
    y = x.reshape(6)
    source[...] = 77
    np.testing.assert_array_equal(x, VALUES)
    np.testing.assert_array_equal(y, VALUES.ravel())


@SHARED
def test_memory_is_shared_where_the_caller_vouches_for_it() -> None:
    source = VALUES.copy()
    x = cnp.from_dlpack(source, copy=False)
    assert np.asarray(x).__array_interface__["data"][0] == source.__array_interface__["data"][0]
    with pytest.raises(ValueError, match="row-major order"):
        cnp.from_dlpack(source.T, copy=False)
    address = source.__array_interface__["data"][0]
    del source
    gc.collect()
    np.testing.assert_array_equal(x, VALUES)  # it keeps the memory alive
    assert np.asarray(x).__array_interface__["data"][0] == address
    # And it is not ours to write to.
    ct.jit(lambda x: x + 1, donate_argnums=0)(x)
    np.testing.assert_array_equal(np.asarray(x), VALUES)


HOLDERS: dict[str, Callable[[Any], Any]] = {
    "asarray": np.asarray,
    "memoryview": memoryview,
    "dlpack": np.from_dlpack,
    "capsule": lambda x: x.__dlpack__(max_version=(1, 0)),
    "view of a view": lambda x: np.asarray(x)[1:],
    "buffer": lambda x: np.frombuffer(x, np.float32),
    "reshaped": lambda x: x.reshape(3, 2),
    "pointer": lambda x: np.asarray(x).ctypes,
}


@pytest.fixture(params=HOLDERS)
def way(request: pytest.FixtureRequest) -> str:
    if request.param == "reshaped":  # memory of the host
        request.getfixturevalue("names_devices")
    return str(request.param)


def test_a_donated_array_that_somebody_views_is_not_reused(way: str) -> None:
    f = ct.jit(lambda x: x * 2 + 1, donate_argnums=0)
    x = cnp.asarray(VALUES) * 1
    address = np.asarray(x).__array_interface__["data"][0]
    held = HOLDERS[way](x)
    if way == "dlpack" and held.__array_interface__["data"][0] != address:
        pytest.skip("this NumPy does not know version 1.0 of DLPack: it got a copy")
    result = f(x)
    memory = (ctypes.c_float * 6).from_address(address)
    assert list(memory) == VALUES.ravel().tolist()
    np.testing.assert_array_equal(x, VALUES)  # nor lost
    np.testing.assert_array_equal(result, VALUES * 2 + 1)
    del held, memory
    gc.collect()
    f(x)
    with pytest.raises(ValueError, match="donated"):
        np.asarray(x)


def test_memory_that_somebody_views_is_not_that_of_another_array(way: str) -> None:
    x = cnp.asarray(VALUES) * 1
    address = np.asarray(x).__array_interface__["data"][0]
    held = HOLDERS[way](x)
    if way == "dlpack" and held.__array_interface__["data"][0] != address:
        pytest.skip("this NumPy does not know version 1.0 of DLPack: it got a copy")
    del x
    others = [cnp.asarray(VALUES) * 0 + 77 for _ in range(300)]
    assert list((ctypes.c_float * 6).from_address(address)) == VALUES.ravel().tolist()
    del held, others
