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
from places import ROOT

BENCHMARKS = ROOT / "benchmarks"


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


def test_targets_of_named_peers_and_of_other_programs_of_ours(judge: Any) -> None:
    workload = judge.Workload("w", lambda library: None)
    row = judge.Row(
        workload, {"cotangent": 3.0, "cotangent.exact": 2.0, "cotangent.one": 1.0, "jax": 8.0, "jax.ghost": 4.0}
    )
    assert row.best_peer() == ("jax.ghost", 4.0)
    assert row.best_peer(("jax", "torch.func")) == ("jax", 8.0)
    assert judge.TimesBest(0.4, ("jax", "torch.func")).met(row) and not judge.TimesBest(0.4).met(row)
    assert judge.TimesBest(1.0, ("torch.nested",)).met(row) is None
    assert judge.TimesOwn(1.5, ("cotangent.exact",)).met(row)
    assert not judge.TimesOwn(1.5, ("cotangent.exact", "cotangent.one")).met(row)
    assert judge.TimesOwn(1.5, ("cotangent.other",)).met(row) is None
    assert judge.TimesOwn(1.5, ("cotangent.exact", "cotangent.one")).text(row) == "≤ 1.5x exact or one"


def test_programs_of_one_library_are_one_voice(judge: Any) -> None:
    ours = {"cotangent.exact": lambda: lambda: np.full(3, 2.0), "cotangent.more": lambda: lambda: np.full(3, 2.0)}
    workload = judge.Workload("w", lambda library: lambda: library.value, others=ours)
    row = judge.run(workload, [fake("cotangent", 2), fake("jax", 1), fake("numpy", 1)], None, 0.01, False)
    assert row.wrong == ["cotangent", "cotangent.exact", "cotangent.more"]
    # What has other inputs is not compared, and has a time.
    other = judge.Workload(
        "w",
        lambda library: lambda: library.value,
        others={"jax.dense": lambda: lambda: np.ones(9)},
        unlike=("jax.dense",),
    )
    row = judge.run(other, [fake("cotangent", 1), fake("jax", 1)], None, 0.01, False)
    assert row.wrong == [] and set(row.times) == {"cotangent", "jax", "jax.dense"}


def test_one_that_measures_by_itself_may_fail_or_be_wrong(judge: Any) -> None:
    def differs(libraries: list[Any]) -> dict[str, float]:
        raise judge.WrongResultError("length 3: they differ")

    def fails(libraries: list[Any]) -> dict[str, float]:
        raise ValueError("no such thing")

    row = judge.run(judge.Workload("w", lambda library: None, measure=differs), [], None, 0.01, False)
    assert row.verdict() == "WRONG" and row.absent == {"cotangent": "length 3: they differ"}
    row = judge.run(judge.Workload("w", lambda library: None, measure=fails), [], None, 0.01, False)
    assert row.verdict() == "FAILED" and row.absent == {"cotangent": "ValueError: no such thing"}


def test_processor_time_leaves_out_what_waits(judge: Any) -> None:
    def work() -> float:
        return float(np.sin(np.ones(20_000)).sum())

    def wait() -> None:
        time.sleep(0.01)
        work()

    threads: list[int] = []
    library = SimpleNamespace(use_threads=threads.append)
    with judge.on_one_thread([library]):
        times = judge.measure({"work": work, "wait": wait}, 0.05, processor_time=True)
    assert threads == [1, 0]
    assert times["wait"] < 0.005 < judge.measure({"wait": wait}, 0.05)["wait"]


def test_slow_programs_are_called_twice(judge: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(judge, "SLOW", 0.02)
    calls: list[str] = []

    def slow() -> Any:
        calls.append("slow")
        time.sleep(0.03)
        return np.full(3, 1.0)

    workload = judge.Workload("w", lambda library: lambda: library.value, unit="s", others={"jax.slow": lambda: slow})
    row = judge.run(workload, [fake("cotangent", 1), fake("jax", 1)], None, 0.01, False)
    assert len(calls) == 2 and row.times["jax.slow"] >= 0.03 > row.times["jax"]


def test_pages_have_the_columns_of_their_areas_and_bold_what_is_missed(judge: Any, tmp_path: Path) -> None:
    import report

    names = [area for page in report.ELSEWHERE for area in page.areas]
    make = judge.Workload("w", lambda library: None, (judge.TimesOwn(1.1, ("cotangent.exact",)), judge.TimesBest(1.0)))
    row = judge.Row(make, {"cotangent": 2.0, "cotangent.exact": 1.0, "jax": 3.0})
    about = {"machine": "m", "versions": {"jax": "1"}, "missing": {}, "notes": ["n"]}
    tables = {area: [row] for area in names}
    assert report.write_pages(tables, dict.fromkeys(names, 2), {}, about, tmp_path) == ["benchmarks.md"]
    tables[names[0]] = []
    everything = dict.fromkeys(names, 1)
    written = report.write_pages(tables, everything, {}, about, tmp_path)
    assert written == ["benchmarks.md", *(page.file for page in report.ELSEWHERE[1:])]
    text = (tmp_path / report.ELSEWHERE[1].file).read_text()
    assert "| workload | cotangent | jax | exact | best peer / ours | target |  |" in text
    assert "| w, µs | 2 | 3 | 1 | 1.50x jax | **≤ 1.1x exact**; ≤ 1x best peer | missed |" in text


def test_every_area_of_a_page_exists(judge: Any) -> None:
    import report
    from workloads import WORKLOADS

    elsewhere = [area for page in report.ELSEWHERE for area in page.areas]
    assert len(elsewhere) == len(set(elsewhere))
    main = report.main_page(WORKLOADS).areas
    assert sorted([*elsewhere, *main]) == sorted(WORKLOADS)


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


def test_a_few_models_agree_to_what_float32_allows(judge: Any) -> None:
    import libraries
    from workloads.models import AREAS, layers

    found, _ = libraries.load("jax")
    models = {workload.name: workload for workloads in AREAS.values() for workload in workloads}
    for word in ("word vectors", "graph convolutions", "adversaries", "mixture of experts by indices"):
        (name,) = (name for name in models if word in name)
        row = judge.run(models[name], found, None, 0.0, False)
        assert row.wrong == [] and row.absent == {} and set(row.times) == {"cotangent", "jax"}, name
        assert models[name].tolerance <= 1e-4, name
    # What torch draws for itself has a time, and no say.
    drawn = layers.model("w", lambda library: library, own_draws=True)
    assert drawn.unlike == tuple(drawn.others) == ("torch.own draws",)
    assert drawn.make(SimpleNamespace(name="torch")) is None and drawn.make(library := ours()) is library


def ours() -> Any:
    import cotangent
    import libraries

    return libraries.Library("cotangent", cotangent, cotangent.numpy)


def test_programs_over_lengths_agree_and_are_compared(judge: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from workloads import ragged_curves as curves

    monkeypatch.setattr(curves, "SECONDS", 0.0)
    monkeypatch.setattr(curves, "BOUND", 24)
    monkeypatch.setattr(curves, "LENGTHS", (1, 7, 24))
    monkeypatch.setattr(curves, "BATCH", (24, 1, 6))
    monkeypatch.setattr(judge, "TURN", 0.0)
    for name in curves.PROGRAMS:
        found = curves.over_lengths(name)([ours()])
        assert found["cotangent"] > 0 and found["cotangent.n=7"] > 0 and found["cotangent.exact 24, µs"] > 0
        assert curves.over_rows(name)([ours()])["cotangent"] > 0
    with pytest.raises(judge.WrongResultError, match="length 7: the masked program differs"):
        curves.check("sort", "length 7", [np.ones(3)], [np.zeros(3)])


def test_ragged_programs_agree_with_those_that_pad_nothing(judge: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from workloads import ragged

    monkeypatch.setattr(ragged, "LENGTHS", (1, 9, 100))
    masked, exact = ragged.recurrent_masked(ours())(), ragged.recurrent_exact(ours())()
    assert len(masked) == 3 and judge.agree(judge.arrays_of(masked), judge.arrays_of(exact), 1e-4)
    few = sorted(ragged.SENTENCES, key=len)[:5]
    assert len(ragged.SENTENCES) == 55 and [len(s) for s in few] == [3, 3, 3, 4, 4]
    for name, value in {"SENTENCES": few, "COUNT": 17, "LONGEST": 4, "LAYERS": 1}.items():
        monkeypatch.setattr(ragged, name, value)
    wanted = judge.arrays_of(ragged.transformer_exact(ours(), True)())
    assert all(np.isfinite(leaf).all() for leaf in wanted) and len(wanted) == 7
    others = {
        "ragged": ragged.transformer_ragged(ours()), "pack": ragged.transformer_ragged(ours(), True),
        "by length": ragged.transformer_exact(ours(), False), "one program": ragged.transformer_groups(ours()),
        "padded": ragged.transformer_padded(ours()),
    }  # fmt: skip
    for name, thunk in others.items():
        assert judge.agree(judge.arrays_of(thunk()), wanted, 1e-4), name


def test_ghost_norms_by_hand_are_those_of_the_gradients(judge: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from workloads import per_example

    for name, value in {
        "TIME": 3,
        "INPUT": 4,
        "HIDDEN": 5,
        "ROWS": 3,
        "WIDTH": 8,
        "LENGTH": 5,
        "VOCABULARY": 7,
        "SENTENCES": 3,
    }.items():
        monkeypatch.setattr(per_example, name, value)
    models = {
        "recurrent": per_example.recurrent,
        "transformer": per_example.transformer,
        "perceptron": per_example.dense([6, 5, 3], 4),
    }
    for name, model in models.items():
        for quantity, of in (("norms", per_example.norms), ("clipped sum", per_example.clipped)):
            library = ours()
            found = library.thunk(*per_example.quantity(library, model, of))()
            wanted = per_example.jax_by_hand(name, quantity, *model(library)[1:])()
            assert judge.agree(judge.arrays_of(found), judge.arrays_of(wanted), 1e-3), (name, quantity)


def test_figures_over_the_plain_gradient(judge: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from workloads import per_example

    monkeypatch.setattr(per_example, "SECONDS", 0.0)
    model = per_example.dense([6, 5, 3], 4)
    found = per_example.over_plain(model, per_example.norms)([ours()])
    assert found["cotangent"] > 0 and found["cotangent.plain, ms"] > 0
    found = per_example.temporaries(model, per_example.norms)([ours()])
    assert found["cotangent"] == found["cotangent.its own, MB"] / found["cotangent.plain, MB"] > 0


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


def test_exported_libraries_do_what_is_written_by_hand(
    judge: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import cotangent as ct
    import exported_libraries as programs

    monkeypatch.setattr(judge, "TURN", 0.0)
    code = programs.prepared(ct, tmp_path)
    tables = [programs.calls(ct, code, [ours()], 0.0)]
    tables += [programs.steps(code, [ours()], count, 0.0, quick=True) for count in (1, 32)]
    tables += [programs.ragged(ct, code, count, 0.0) for count in (1, 16)]
    tables += [programs.sizes(ct), programs.loading(ct, 1)]
    for table in tables:
        assert len(table.rows) >= 4
        for name, values, note in table.rows:
            assert all(value is None or value > 0 for value in values), name
            assert values[0] is not None or name in ("torch AOTInductor, from Python", "checked, wasm32"), (name, note)
    text = programs.page(tables, ["On this machine."])
    assert text.count("\n## ") == len(tables) and "| C by hand, -O3 -march=native | " in text
    assert programs.aim(3.0, 4, "ns") == "aim ≤ 4 ns: met" and programs.aim(5.0, 4, "ns") == "aim ≤ 4 ns: **missed**"

    steepest = programs.step_of(ours())
    monkeypatch.setattr(programs, "step_of", lambda library: lambda p, x, y, rate: steepest(p, x, y, 2 * rate))
    with pytest.raises(judge.WrongResultError, match="differs after 20 steps"):
        programs.steps(code, [ours()], 1, 0.0, quick=True)
