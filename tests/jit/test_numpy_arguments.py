"""NumPy's arrays as arguments of jitted functions: read where they lie where that can be, and never kept."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable

import cotangent as ct
import cotangent.numpy as cnp
import ml_dtypes
import numpy as np
import numpy.typing as npt
import pytest

DTYPES = [
    "bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64",
    "float16", "bfloat16", "float32", "float64", "complex64", "complex128", "float8_e4m3fn",
]  # fmt: skip
ROWS, COLUMNS = 7, 5


def plain(x: npt.NDArray[np.generic]) -> npt.NDArray[np.generic]:
    return x


def off_by_bytes(x: npt.NDArray[np.generic]) -> npt.NDArray[np.generic]:
    """The same elements at an address that is no multiple of their size."""
    memory = np.zeros(x.nbytes + 64, np.uint8)
    start = -memory.ctypes.data % 64 + 1
    result = memory[start : start + x.nbytes].view(x.dtype).reshape(x.shape)
    result[...] = x
    return result


def off_by_elements(x: npt.NDArray[np.generic]) -> npt.NDArray[np.generic]:
    """At one that is, and no multiple of a vector's."""
    memory = np.zeros(x.size + 64, x.dtype)
    result = memory[3 : 3 + x.size].reshape(x.shape)
    result[...] = x
    return result


LAYOUTS: dict[str, Callable[[npt.NDArray[np.generic]], npt.NDArray[np.generic]]] = {
    "plain": plain,
    "off by bytes": off_by_bytes,
    "off by elements": off_by_elements,
    "columns": np.asfortranarray,
    "strided": lambda x: np.repeat(x, 2, axis=1)[:, ::2],
    "backwards": lambda x: x[::-1].copy()[::-1],
    "swapped": lambda x: x.astype(x.dtype.newbyteorder()),
    "subclass": lambda x: x.view(type("Other", (np.ndarray,), {})),
    "read-only": lambda x: np.frombuffer(x.tobytes(), x.dtype).reshape(x.shape),
    "one axis repeated": lambda x: np.broadcast_to(x[:1], x.shape),
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_elements(dtype: str, layout: str) -> None:
    kind = np.dtype(getattr(ml_dtypes, dtype, dtype))
    x = np.random.default_rng(0).integers(0, 2 if dtype == "bool" else 9, (ROWS, COLUMNS)).astype(kind)
    if layout == "swapped" and kind.isbuiltin != 1:
        pytest.skip("types that NumPy has not itself have one order of bytes")
    given = LAYOUTS[layout](x)
    with ct.enable_x64():
        turned = ct.jit(lambda x: (x.T, x[2:], x))(given)
    for result, expected in zip(turned, (given.T, given[2:], given), strict=True):
        assert result.dtype == kind
        np.testing.assert_array_equal(np.asarray(result), expected)


@pytest.mark.parametrize("shape", [(), (1,), (0,), (3, 0, 2), (1, 1, 1), (4097,), (129, 257)])
def test_shapes(shape: tuple[int, ...]) -> None:
    x = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
    np.testing.assert_allclose(ct.jit(lambda x: x * 2 + 1)(x), x * 2 + 1, rtol=1e-6)


@pytest.mark.parametrize("size", [5, 100_000])
def test_results_are_not_the_arguments(size: int) -> None:
    x = np.ones(size, np.float32)
    same, twice, both = ct.jit(lambda x: (x, x + x, cnp.stack([x, x])))(x)
    primal, pull = ct.vjp(ct.jit(lambda x: x * x), x)
    x[:] = 7
    assert np.asarray(same).max() == 1
    assert np.asarray(twice).max() == 2
    assert np.asarray(both).max() == 1
    assert np.asarray(primal).max() == 1
    assert np.asarray(pull(np.ones(size, np.float32))[0]).max() == 2


def test_in_containers_that_change_meanwhile() -> None:
    """A list and a dictionary that another argument's conversion empties."""

    class Empties:
        def __ct_array__(self) -> npt.NDArray[np.float32]:
            for container in (arguments, named):
                container.clear()
            return np.float32([1, 2, 3])  # type: ignore[return-value]

    add = ct.jit(lambda xs, names, last: xs[0] + names["a"] + last)
    arguments, named = [np.full(3, 5, np.float32)], {"a": np.full(3, 7, np.float32)}
    add([np.full(3, 5, np.float32)], {"a": np.full(3, 7, np.float32)}, np.zeros(3, np.float32))
    np.testing.assert_array_equal(add(arguments, named, Empties()), [13, 14, 15])
    assert not arguments


def test_bools_of_other_bits() -> None:
    x = np.frombuffer(bytes([0, 1, 2, 255]), np.uint8).view(bool)
    np.testing.assert_array_equal(ct.jit(lambda x: x.astype(np.int32))(x), [0, 1, 1, 1])


def test_kept_by_a_callback() -> None:
    kept = []

    def keep(x: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
        kept.append(x)
        return np.asarray(x)

    call = ct.jit(lambda x: ct.pure_callback(keep, x, x))
    x = np.ones(3, np.float32)
    call(x)
    x[:] = 9
    np.testing.assert_array_equal(np.asarray(kept[-1]), [1, 1, 1])


PROGRAM = """
import resource
import numpy as np, cotangent as ct
f = ct.jit(lambda x: x.sum())
x = np.ones(50_000_000, np.float32)
f(x[:1_000_000])
f(x[:2_000_000].copy())  # the compiler is there
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
assert float(f(x)) == 5e7
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)
"""


def test_memory() -> None:
    """200 MB are summed without a copy of them; a device with memory of its own has one."""
    result = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)
    copies = int(os.environ.get("CT_DEVICE", "") == "cuda-emulated")
    assert int(result.stdout) < 100 + copies * 200
