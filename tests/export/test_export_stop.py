"""Calls of exported functions that may take long can be stopped by a flag of the caller's."""

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
from exported_calls import Library, forms, save

STOPPED = 7


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


@forms
@pytest.mark.parametrize(
    ("function", "shape", "never"),
    [(count, (50,), 2**31 - 1), (rounds, (40, 40), 2**31 - 1), (sequence, (900, 900), 1)],
    ids=["count", "rounds", "sequence"],
)
def test_stop(form: str, tmp_path: Path, function: Any, shape: tuple[int, ...], never: int) -> None:
    x = np.linspace(-1, 1, int(np.prod(shape)), dtype=np.float32).reshape(shape)
    before = x.copy()
    save(ct.export.compile(function, x, np.int32(3), name="long_one"), tmp_path, form)
    library = Library(tmp_path, "long_one")
    assert library.function()["may_stop"]
    out, stop = np.empty_like(x), ctypes.c_int(0)

    def call(steps: int) -> int:
        return library.call([x, np.array(steps, np.int32)], [out], stop=stop)

    expected = np.asarray(function(cnp.asarray(x), cnp.asarray(np.int32(3))))
    assert call(3) == 0
    np.testing.assert_allclose(out, expected, rtol=1e-4, atol=1e-5)
    results: list[int] = []
    thread = threading.Thread(target=lambda: results.append(call(never)))
    thread.start()
    time.sleep(0.03)
    start = time.monotonic()
    stop.value = 1
    thread.join(30)
    assert not thread.is_alive()
    assert time.monotonic() - start < 10
    assert results == [STOPPED]
    np.testing.assert_array_equal(x, before)
    assert call(never) == STOPPED
    stop.value = 0
    assert call(3) == 0
    np.testing.assert_allclose(out, expected, rtol=1e-4, atol=1e-5)


def test_another_call_is_not_stopped(tmp_path: Path) -> None:
    x = np.linspace(-1, 1, 50, dtype=np.float32)
    ct.export.compile(count, x, np.int32(3), name="long_one").save(tmp_path)
    library = Library(tmp_path, "long_one")
    out, stop = np.empty_like(x), ctypes.c_int(1)
    many = np.array(10_000_000, np.int32)
    assert library.call([x, many], [out], stop=stop) == STOPPED
    assert library.call([x, np.array(100_000, np.int32)], [out]) == 0


def test_short_functions_do_not_ask(tmp_path: Path) -> None:
    ct.export.compile(lambda x: cnp.sin(x) * 2, np.ones(8, np.float32), name="short_one").save(tmp_path)
    function = Library(tmp_path, "short_one").function()
    assert not function["may_stop"]
    assert function["workspace_bytes"] == 0
