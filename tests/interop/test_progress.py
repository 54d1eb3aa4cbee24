"""How far a compiled loop is: bars of tqdm, and functions that are told."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import cotangent as ct
import cotangent.numpy as cnp
import numpy as np
import pytest
from missing_packages import run_without
from needs import require


def running(x: Any, seen: list[Any], **options: Any) -> Any:
    return ct.lax.scan(lambda c, v: (c + v, c), 0.0, x, progress=lambda *args: seen.append(args), **options)


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("jitted", [False, True])
def test_a_function_is_told(reverse: bool, jitted: bool) -> None:
    seen: list[Any] = []

    def f(x: Any) -> Any:
        return running(x, seen, reverse=reverse)

    x = np.arange(5, dtype=np.float32)
    total, partial = (ct.jit(f) if jitted else f)(x)
    expected = ct.lax.scan(lambda c, v: (c + v, c), 0.0, x, reverse=reverse)
    assert float(total) == float(expected[0])
    assert partial.tolist() == expected[1].tolist()
    assert seen == [(i, 5) for i in range(1, 6)]


def test_long_loops_tell_a_hundred_times_and_at_the_end() -> None:
    seen: list[Any] = []
    ct.jit(lambda x: running(x, seen))(np.ones(1050, np.float32))
    assert [done for done, _ in seen] == [*range(10, 1051, 10)]
    seen.clear()
    ct.jit(lambda x: running(x, seen))(np.ones(205, np.float32))
    assert seen[-1] == (205, 205)
    assert len(seen) <= 103


def test_under_transforms() -> None:
    seen: list[Any] = []

    def f(x: Any) -> Any:
        return (running(x, seen)[1] ** 2).sum()

    x = np.arange(4, dtype=np.float32)
    plain = ct.grad(lambda x: (ct.lax.scan(lambda c, v: (c + v, c), 0.0, x)[1] ** 2).sum())(x)
    assert ct.jit(ct.grad(f))(x).tolist() == plain.tolist()
    assert seen == [(i, 4) for i in range(1, 5)]
    seen.clear()
    ct.jit(ct.vmap(f))(np.stack([x, x]))
    assert seen == [(i, 4) for i in range(1, 5)], "once for all examples"


def test_loops_without_arrays_and_without_steps() -> None:
    seen: list[Any] = []
    ct.lax.scan(lambda c, _: (c + 1, None), 0, None, length=3, progress=lambda *args: seen.append(args))
    assert seen == [(1, 3), (2, 3), (3, 3)]
    seen.clear()
    ct.jit(lambda x: running(x, seen))(np.zeros(0, np.float32))
    assert seen == []
    for nothing in (None, False):
        ct.lax.scan(lambda c, v: (c + v, c), 0.0, np.ones(2, np.float32), progress=nothing)


def test_errors() -> None:
    with pytest.raises(TypeError, match="known when the program is captured"):
        ct.mask(lambda x: ct.lax.scan(lambda c, v: (c + v, c), 0.0, x, progress=print)[0])(
            ct.Ragged(cnp.ones(4), {0: 2})
        )
    with pytest.raises(ValueError, match="pass xs with at least one array"):
        ct.lax.scan(lambda c, v: (c, c), 0.0, None, progress=print)

    def stop(done: int, total: int) -> None:
        if done == 2:
            raise KeyError("stop here")

    with pytest.raises(KeyError, match="stop here"):
        ct.jit(lambda x: ct.lax.scan(lambda c, v: (c + v, c), 0.0, x, progress=stop))(np.ones(4, np.float32))


def test_bars_of_tqdm(capsys: Any) -> None:
    require("tqdm")
    step = ct.jit(lambda x: ct.lax.scan(lambda c, v: (c + v, c), 0.0, x, progress="training")[0])
    for _ in range(2):
        step(np.ones(20, np.float32))
    shown = capsys.readouterr().err
    assert shown.count("training: 100%") == 2
    assert "20/20" in shown


def test_without_tqdm_it_is_said(tmp_path: Path) -> None:
    script = "import cotangent as ct; ct.lax.scan(lambda c, v: (c, v), 0.0, ct.numpy.ones(2), progress=True)"
    done = run_without("tqdm", script, tmp_path)
    assert "ImportError: scan: progress needs the package tqdm\n  pip install tqdm" in done.stderr
