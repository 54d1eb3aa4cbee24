"""The benchmarks' judgement: what is called wrong, met and missed; and that a few workloads agree between libraries."""

from __future__ import annotations

import ctypes
import json
import math
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

BENCHMARKS = Path(__file__).resolve().parent.parent / "benchmarks"


@pytest.fixture(scope="module")
def judge() -> Iterator[Any]:
    sys.path.insert(0, str(BENCHMARKS))
    import judge

    yield judge
    sys.path.remove(str(BENCHMARKS))


def fake(name: str, value: float, slow: bool = False) -> Any:
    return SimpleNamespace(name=name, value=np.full(3, value), compiles_slowly=slow)


def test_one_that_differs_from_most_is_wrong_and_has_no_time(judge: Any) -> None:
    workload = judge.Workload("w", lambda library: lambda: library.value, (judge.TimesBest(1e9),))
    row = judge.run(workload, [fake("cotangent", 1.1), fake("jax", 1), fake("numpy", 1)], None, 0.01, False)
    assert row.wrong == ["cotangent"]
    assert set(row.times) == {"jax", "numpy"}
    assert row.verdict() == "WRONG"


def test_one_that_fails_is_named_with_its_reason(judge: Any) -> None:
    def make(library: Any) -> Any:
        if library.name == "jax":
            raise ValueError("no such thing")
        return lambda: library.value

    row = judge.run(judge.Workload("w", make), [fake("cotangent", 1), fake("jax", 1)], None, 0.01, False)
    assert row.absent == {"jax": "ValueError: no such thing"}
    assert list(row.times) == ["cotangent"]


def test_targets(judge: Any) -> None:
    workload = judge.Workload("w", lambda library: None)
    row = judge.Row(workload, {"cotangent": 2.0, "jax": 8.0, "torch": 40.0, "torch.func": 10.0, "C": 1.0}, limit=1.0)
    assert row.best_peer() == ("jax", 8.0)
    assert judge.TimesBest(0.25).met(row)
    assert not judge.TimesBest(0.24).met(row)
    assert judge.TimesC(2).met(row)
    assert not judge.TimesC(1.9).met(row)
    assert judge.OfLimit(0.5).met(row)
    assert not judge.OfLimit(0.51).met(row)
    # This machine takes twice jax's time and half of torch's (the better of its two): as fast as the table's, on average.
    assert math.isclose(judge.AtMost(3, jax=4, torch=20).allowed(row), 3)
    assert math.isclose(judge.AtMost(3, jax=4).allowed(row), 6)
    assert judge.AtMost(3).allowed(row) == 3


def test_results_are_compared_by_shape_and_size(judge: Any) -> None:
    x = np.array([1000.0, 0.001])
    assert judge.agree([x], [x + 1], 2e-3)
    assert not judge.agree([x], [x + 5], 2e-3)
    assert not judge.agree([x], [x[:1]], 2e-3)
    assert not judge.agree([x], [x, x], 2e-3)
    assert not judge.agree([x], [x * np.nan], 2e-3)
    assert [leaf.tolist() for leaf in judge.arrays_of({"b": [np.array(1)], "a": (np.array(2), 3)})] == [2, 3, 1]


def test_names_are_unique_and_every_area_has_workloads() -> None:
    command = [sys.executable, str(BENCHMARKS / "run.py"), "--list"]
    names = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    assert len(names) == len(set(names)) > 50


def test_missing_libraries_of_cuda_answer_that_there_is_no_device(judge: Any, tmp_path: Path) -> None:
    import without_cuda

    without_cuda.make("libcuda_test.so.1", {"": {"plain"}, "VERSION_1": {"versioned"}}, tmp_path)
    library = ctypes.CDLL(str(tmp_path / "libcuda_test.so.1"))
    assert library.plain() == library.versioned() == without_cuda.NO_DEVICE


def test_a_few_workloads_agree(tmp_path: Path) -> None:
    only = "jitted x+1,eager add,product 8,hessian,cholesky,scalar Newton"
    out = tmp_path / "results.json"
    command = [sys.executable, str(BENCHMARKS / "run.py"), "--quick", "--seconds", "0.01", "--json", str(out)]
    done = subprocess.run(
        [*command, "--only", only, "--libraries", "jax,numpy"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr + done.stdout
    areas = json.loads(out.read_text())["areas"]
    rows = {row["name"]: row for area in areas.values() for row in area}
    assert len(rows) == 6
    for name, row in rows.items():
        assert row["wrong"] == [] and row["absent"] == {}, name
        assert row["times"]["cotangent"] > 0 and row["times"]["jax"] > 0, name
    assert "C" in rows["scalar Newton, 1000 iterations"]["times"]
    assert "numpy" in rows["product 8³"]["times"]


def test_threads_that_still_run_are_waited_for(judge: Any) -> None:
    stop = threading.Event()
    # Sums release the interpreter's lock.
    x = np.ones(4_000_000)
    worker = threading.Thread(target=lambda: [x.sum() for _ in iter(stop.is_set, True)])
    worker.start()
    try:
        assert any(judge.others_run() for _ in range(1000))
        start = time.perf_counter()
        judge.settle(0.05)
        assert time.perf_counter() - start >= 0.05
    finally:
        stop.set()
        worker.join()
    start = time.perf_counter()
    judge.settle(5)
    assert time.perf_counter() - start < 5


def test_the_sweep_compares_what_is_defined(judge: Any) -> None:
    import sweep

    x = np.array([[4.0, 1, 3, 2, 5], [1, 2, 3, 4, 5]])
    library = SimpleNamespace(numpy=np)
    results = [sweep.parted(library, part) for part in (np.sort(x), np.sort(x)[:, [1, 0, 2, 3, 4]])]
    assert sweep.differ("numpy.partition", *results) == ""
    assert sweep.differ("numpy.partition", results[0], sweep.parted(library, x)) == "values differ"
    # Names are whole: the square root is no QR decomposition, and gelu no LU.
    for name in ("numpy.sqrt", "nn.gelu", "lax.rsqrt"):
        assert sweep.differ(name, x, -x) == "values differ"
    assert sweep.differ("numpy.linalg.qr", x, -x) == ""
    assert sweep.distance([x], [x]) == 0 and sweep.distance([x + 1], [x]) == 0.2


def test_the_sweep_keeps_the_figures_of_its_parts(judge: Any, tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    import spellings
    import sweep

    monkeypatch.setattr(sweep, "FIGURES", tmp_path / "sweep.json")
    first, second = sweep.Row("f", "small", "value", 9.0, 3.0), sweep.Row("f", "large", "value", 4.0, 8.0)
    again, group = sweep.Row("f", "small", "value", 6.0, 3.0), spellings.Group("sum", {"a": 1.0, "b": 2.0})
    assert sweep.kept([first], [group]) == ([first], [group])
    assert sweep.kept([second], []) == ([first, second], [group])
    assert sweep.kept([again], []) == ([again, second], [group])
    text = sweep.page(*sweep.kept([], []))
    assert (
        "| `f` | small | value | 6.0 | 3.0 | 0.50 |  |" in text and "`f` | large" not in text and "| sum | 2 |" in text
    )


def test_spellings_that_differ_or_are_slow_are_named(judge: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    import cotangent as ct
    import spellings

    x = np.ones(3, np.float32)
    one = {"plain": lambda x: x + 1, "swapped": lambda x: 1 + x, "other": lambda x: x + 2}
    monkeypatch.setattr(spellings, "groups", lambda _: {"a sum": (one, [x])})
    (group,) = spellings.measure(ct, 0.0, lambda thunks, _: [10.0, 11.0, 15.0], lambda _: None)
    assert group.wrong == "other differ"
    assert group.slower() == {"other": 1.5}
    assert spellings.section([group])[-1] == "| a sum | 3 | 10.0 | 1.50 | WRONG: other differ |"
