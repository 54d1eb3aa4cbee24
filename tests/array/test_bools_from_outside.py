"""Bools whose bytes are other than 0 and 1 are true, as in NumPy, whichever way they come in."""

from __future__ import annotations

import ctypes
import io
import pickle
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cotangent as ct
import cotangent.numpy as cnp
import numpy as np
import pytest
from exported_calls import Library

BYTES = bytes([2, 0, 1, 255, 128, 0, 4, 0, 2, 3, 0])
ODD = np.frombuffer(BYTES, bool)
TRUTH = [byte != 0 for byte in BYTES]


class Interface:
    """An array by NumPy's array interface."""

    def __init__(self, array: Any) -> None:
        self.__array_interface__ = array.__array_interface__
        self._array = array


class ArrayMethod:
    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return ODD


class Legacy:
    """A producer of the version of DLPack before 1.0."""

    def __dlpack__(self, stream: Any = None) -> Any:
        return np.array(ODD).__dlpack__()

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)


def file_of(save: Any) -> io.BytesIO:
    file = io.BytesIO()
    save(file, ODD)
    file.seek(0)
    return file


def fortran() -> Any:
    return np.asfortranarray(np.frombuffer(BYTES[:10], bool).reshape(2, 5))


WAYS: dict[str, Callable[[], Any]] = {
    "array": lambda: cnp.array(ODD),
    "asarray": lambda: cnp.asarray(ODD),
    "asarray with a dtype": lambda: cnp.asarray(ODD, bool),
    "view": lambda: cnp.asarray(np.frombuffer(BYTES, np.uint8).view(bool)),
    "strided": lambda: cnp.asarray(np.repeat(np.frombuffer(BYTES, np.uint8), 3).view(bool)[::3]),
    "reversed": lambda: cnp.asarray(ODD[::-1])[::-1],
    "column-major": lambda: cnp.append(cnp.asarray(fortran()).ravel(), False),
    "list of arrays": lambda: cnp.asarray([ODD])[0],
    "array interface": lambda: cnp.asarray(Interface(ODD)),
    "__array__": lambda: cnp.asarray(ArrayMethod()),
    "memoryview": lambda: cnp.asarray(memoryview(ODD)),
    "cast memoryview": lambda: cnp.asarray(memoryview(BYTES).cast("?")),
    "ctypes": lambda: cnp.asarray((ctypes.c_bool * len(BYTES)).from_buffer_copy(BYTES)),
    "frombuffer": lambda: cnp.frombuffer(BYTES, bool),
    "fromfile": lambda: cnp.load(file_of(np.save)),
    "npz": lambda: cnp.asarray(np.load(file_of(np.savez))["arr_0"]),
    "pickle": lambda: pickle.loads(pickle.dumps(cnp.asarray(ODD))),
    "dlpack": lambda: cnp.from_dlpack(np.array(ODD)),
    "dlpack, strided": lambda: cnp.from_dlpack(np.array(np.repeat(ODD.view(np.uint8), 2)).view(bool)[::2]),
    "dlpack, legacy": lambda: cnp.from_dlpack(Legacy()),
    "dlpack, capsule": lambda: cnp.from_dlpack(np.array(ODD).__dlpack__()),
    "device_put": lambda: ct.device_put({"x": ODD})["x"],
    "argument of jit": lambda: ct.jit(lambda x: x)(ODD),
    "argument of vmap": lambda: ct.vmap(lambda x: x)(ODD),
    "argument of grad": lambda: ct.grad(lambda x, y: (x * 0, y)[0], has_aux=False)(1.0, ODD) * 0 + cnp.asarray(ODD) > 0,
    "constant of jit": lambda: ct.jit(lambda x: x | ODD)(np.zeros(len(BYTES), bool)),
    "operand": lambda: cnp.zeros(len(BYTES), bool) | ODD,
    "condition": lambda: cnp.where(ODD, True, False),
    "index": lambda: cnp.zeros(len(BYTES), bool).at[ODD].set(True),
    "update": lambda: cnp.zeros(len(BYTES), bool).at[:].set(ODD),
    "ragged": lambda: ct.Ragged(ODD, {0: len(BYTES)}).unpad(),
    "eager callback": lambda: ct.pure_callback(lambda: ODD, ct.ShapeDtypeStruct(ODD.shape, bool)),
    "callback": lambda: ct.jit(lambda: ct.pure_callback(lambda: ODD, ct.ShapeDtypeStruct(ODD.shape, bool)))(),
    "bits of bytes": lambda: cnp.frombuffer(BYTES, np.uint8).view(bool),
    "bits of bytes, jit": lambda: ct.jit(lambda x: x.view(bool))(np.frombuffer(BYTES, np.uint8)),
    "bits of words": lambda: cnp.asarray(np.frombuffer(BYTES[:8], np.int32)).view(bool),
    "scan": lambda: ct.lax.scan(lambda c, x: (c, x), 0, ODD)[1],
}


@pytest.mark.parametrize("way", WAYS)
def test_every_way_in(way: str) -> None:
    x = WAYS[way]()
    x = x[0] if isinstance(x, (list, tuple)) else x
    expected = np.array(TRUTH[: x.size] if way != "column-major" else [*fortran().ravel(), False])
    assert x.dtype == bool
    assert np.asarray(x).tobytes() == expected.astype(np.uint8).tobytes()
    for f in (lambda f: f, ct.jit):
        assert int(f(cnp.sum)(x)) == expected.sum()
        assert f(lambda x: x == True)(x).tolist() == expected.tolist()  # noqa: E712
        assert f(lambda x: x.astype(np.uint8))(x).tolist() == expected.tolist()
        assert f(lambda x: cnp.where(x, 7, 5))(x).tolist() == np.where(expected, 7, 5).tolist()
        assert f(lambda x: cnp.sort(x))(x).tolist() == np.sort(expected).tolist()
        assert f(lambda x: x ^ cnp.ones_like(x))(x).tolist() == (~expected).tolist()


@pytest.mark.parametrize("size", [0, 1, 7, 8, 9, 1000])
def test_all_bytes_of_all_sizes(size: int) -> None:
    raw = (np.arange(size) * 37 % 256).astype(np.uint8)
    assert np.asarray(cnp.asarray(raw.view(bool))).tobytes() == (raw != 0).astype(np.uint8).tobytes()
    every = np.arange(256, dtype=np.uint8)
    assert np.asarray(cnp.asarray(every.view(bool))).tobytes() == b"\0" + b"\1" * 255


def test_what_cannot_be_canonical_is_not_shared() -> None:
    with pytest.raises(ValueError, match="bools are other bytes than 0 and 1"):
        cnp.from_dlpack(np.array(ODD), copy=False)
    assert cnp.from_dlpack(np.array(TRUTH), copy=False).tolist() == TRUTH
    with pytest.raises(TypeError, match="bool"):
        ct.lax.bitcast_convert_type(cnp.frombuffer(BYTES, np.uint8), bool)


def test_exported_functions_read_any_byte_as_true(tmp_path: Path) -> None:
    exported = ct.export.compile(
        lambda x: (cnp.sum(x), cnp.where(x, 7, 5), x ^ True, x), ct.ShapeDtypeStruct((len(BYTES),), bool), name="bools"
    )
    exported.save(tmp_path)
    total, chosen = np.zeros((), np.int32), np.zeros(len(BYTES), np.int32)
    inverted, same = np.zeros((2, len(BYTES)), np.uint8)
    assert Library(tmp_path, "bools").call([np.array(ODD)], [total, chosen, inverted, same]) == 0
    assert total == sum(TRUTH)
    assert chosen.tolist() == [7 if true else 5 for true in TRUTH]
    assert inverted.tolist() == [not true for true in TRUTH]
    assert (same != 0).tolist() == TRUTH


def test_canonical_arrays_cost_no_more_than_bytes() -> None:
    bools, other = np.ones(2**22, bool), np.ones(2**22, np.uint8)

    def best(x: Any) -> float:
        seconds = []
        for _ in range(15):
            start = time.perf_counter()
            cnp.asarray(x)
            seconds.append(time.perf_counter() - start)
        return min(seconds)

    assert best(bools) < 5 * best(other)
