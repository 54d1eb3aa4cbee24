"""Calls of exported functions that may take long can be stopped by a flag of their library."""

from __future__ import annotations

import ctypes
import threading
import time
from pathlib import Path
from typing import Any

import cotangent as ct
import cotangent.numpy as cnp
import numpy as np
import pytest

STOPPED = 6


def count(x: Any, steps: Any) -> Any:
    return ct.lax.fori_loop(0, steps, lambda i, c: cnp.tanh(c) + x, x)


def rounds(x: Any, steps: Any) -> Any:
    """Arrays that change places, and a product in each round."""
    return ct.lax.while_loop(lambda c: c[0] < steps, lambda c: (c[0] + 1, cnp.tanh(c[1] @ c[1].T)), (0, x))[1]


def sequence(x: Any, steps: Any) -> Any:
    """No loop, but long."""
    for _ in range(20):
        x = cnp.sin(x @ x.T / 900) / (1.0 + steps)
    return x


@pytest.mark.parametrize(
    ("function", "shape", "never"),
    [(count, (50,), 2**31 - 1), (rounds, (40, 40), 2**31 - 1), (sequence, (900, 900), 1)],
    ids=["count", "rounds", "sequence"],
)
def test_stop(tmp_path: Path, function: Any, shape: tuple[int, ...], never: int) -> None:
    x = np.linspace(-1, 1, int(np.prod(shape)), dtype=np.float32).reshape(shape)
    before = x.copy()
    ct.export.compile(function, x, np.int32(3), name="long_one").save(tmp_path)
    header = (tmp_path / "long_one.h").read_text()
    assert "void long_one_stop(int stop);" in header
    assert f"#define long_one_STOPPED {STOPPED}" in header
    library = ctypes.CDLL(str(tmp_path / "liblong_one.so"))
    out = np.empty_like(x)

    def call(steps: int) -> int:
        number = np.int32(steps)
        arrays = (x, np.asarray(number), out)
        return int(library.long_one(*[a.ctypes.data_as(ctypes.c_void_p) for a in arrays]))

    expected = np.asarray(function(cnp.asarray(x), cnp.asarray(np.int32(3))))
    assert call(3) == 0
    np.testing.assert_allclose(out, expected, rtol=1e-4, atol=1e-5)
    results: list[int] = []
    thread = threading.Thread(target=lambda: results.append(call(never)))
    thread.start()
    time.sleep(0.03)
    start = time.monotonic()
    library.long_one_stop(1)
    thread.join(30)
    assert not thread.is_alive()
    assert time.monotonic() - start < 10
    assert results == [STOPPED]
    np.testing.assert_array_equal(x, before)
    assert call(never) == STOPPED
    library.long_one_stop(0)
    assert call(3) == 0
    np.testing.assert_allclose(out, expected, rtol=1e-4, atol=1e-5)


def test_short_functions_have_none(tmp_path: Path) -> None:
    ct.export.compile(lambda x: cnp.sin(x) * 2, np.ones(8, np.float32), name="short_one").save(tmp_path)
    assert "stop" not in (tmp_path / "short_one.h").read_text()
    assert not hasattr(ctypes.CDLL(str(tmp_path / "libshort_one.so")), "short_one_stop")
