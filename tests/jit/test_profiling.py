"""`ct.profile` and `ct.explain`: what they count, what they measure, what they write."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import cotangent as ct
import cotangent.numpy as cnp
import numpy as np
import pytest


def loss(w, x):
    return cnp.sum(cnp.tanh(x @ w))


ARGUMENTS = np.ones((30, 20), np.float32), np.ones((10, 30), np.float32)


def test_groups_count_traffic_and_arithmetic():
    report = ct.profile(loss, runs=3)(*ARGUMENTS)
    np.testing.assert_allclose(report.result, loss(*ARGUMENTS), rtol=1e-6)
    product, fold = (next(g for g in report.groups if name in g.name) for name in ("dot_general", "reduce_sum"))
    operands, between = 4 * (30 * 20 + 10 * 30), 4 * 10 * 20
    if product is fold:  # one kernel of a GPU
        assert (product.bytes_read, product.bytes_written) == (operands + between, between + 4)
        assert product.flops > 2 * 10 * 30 * 20 + 10 * 20
    else:
        assert (product.bytes_read, product.bytes_written) == (operands, between)
        assert product.flops == 2 * 10 * 30 * 20
        assert fold.bytes_read == between
        assert fold.flops > 10 * 20
    assert "tanh" in fold.name and "test_profiling.py" in fold.name
    for group in report.groups:
        assert len(group.seconds) == 3 and min(group.seconds) >= 0
    assert len(report.runs) == 3 and report.seconds == min(report.runs) > 0


def test_stages_are_those_of_compiling():
    names = [name for name, seconds in ct.profile(loss, runs=1)(*ARGUMENTS).stages]
    assert (
        names.index("simplify")
        < names.index("lower")
        < names.index("assign_buffers")
        < names.index("generate and load code")
    )


def test_nodes_are_the_equations():
    nodes = {node.name.split()[0]: node for node in ct.profile(loss, runs=2)(*ARGUMENTS).nodes}
    assert set(nodes) == {"dot_general", "tanh", "reduce_sum"}
    assert nodes["dot_general"].flops == 2 * 10 * 30 * 20
    assert nodes["tanh"].bytes == 2 * 4 * 10 * 20
    assert "test_profiling.py" in nodes["tanh"].location


def test_what_loops_run_counts_as_often():
    def f(w, x):
        return ct.lax.scan(lambda c, _: (ct.lax.fori_loop(0, 3, lambda i, c: cnp.tanh(c @ w), c), None), x, length=7)[0]

    report = ct.profile(f, runs=1)(np.eye(20, dtype=np.float32), np.ones((10, 20), np.float32))
    product = next(node for node in report.nodes if node.name.startswith("dot_general"))
    assert product.times == 21
    assert product.flops == 21 * 2 * 10 * 20 * 20
    assert product.bytes == 21 * 4 * (2 * 10 * 20 + 20 * 20)
    assert sum(group.flops for group in report.groups) > product.flops
    assert "21 times" in str(report)


def test_only_what_is_compiled_runs():
    seen = []

    def f(x):
        ct.debug.callback(lambda total: seen.append(float(total)), cnp.sum(x))
        return x

    ct.profile(f, runs=3)(np.ones(4, np.float32))
    assert seen == [4.0] * 6  # each run with clocks and without


@pytest.mark.parametrize("function", [lambda f: ct.profile(f, runs=1), ct.explain])
def test_static_arguments(function):
    def power(x, exponent, scale=1.0, *, mode="sum"):
        return getattr(cnp, mode)(scale * x**exponent)

    jitted = ct.jit(power, static_argnums=1, static_argnames="mode")
    x = np.arange(4, dtype=np.float32)
    report = function(jitted)(x, 2, scale=2.0, mode="max")
    assert report.name == "power"
    assert any("reduce_max" in group.name for group in report.groups)
    if hasattr(report, "result"):
        assert float(report.result) == 18.0


def test_gradients_loops_and_jitted_functions():
    def step(w, x):
        return ct.lax.fori_loop(0, 3, lambda i, v: v - 0.1 * ct.grad(ct.jit(loss))(v, x), w)

    report = ct.profile(step, runs=1)(*ARGUMENTS)
    np.testing.assert_allclose(report.result, ct.jit(step)(*ARGUMENTS), rtol=1e-6)
    assert any("scan" in group.name for group in report.groups)


def test_programs_that_call_out():
    report = ct.profile(lambda x: cnp.sort(x) + 1, runs=2)(np.array([3.0, 1.0, 2.0], np.float32))
    assert np.asarray(report.result).tolist() == [2, 3, 4]
    with pytest.raises(ZeroDivisionError):
        ct.profile(lambda x: ct.pure_callback(lambda v: 1 // 0, x, x), runs=1)(1.0)


def test_trace_is_what_perfetto_reads(tmp_path: Path):
    report = ct.profile(loss, runs=2)(*ARGUMENTS)
    report.save_trace(tmp_path / "trace.json")
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    spans = [event for event in events if event["ph"] == "X"]
    assert len(spans) == len(report.stages) + len(report.groups)
    assert all(event["dur"] >= 0 and event["ts"] >= 0 for event in spans)
    run = [event for event in spans if event["tid"] == 1]
    assert [event["ts"] for event in run] == sorted(event["ts"] for event in run)


def test_profile_prints_a_table():
    text = str(ct.profile(loss, runs=1)(*ARGUMENTS))
    assert text.startswith("loss: ")
    assert "dot_general" in text and "FLOP" in text


def test_explain_says_why_a_variable_is_stored():
    def f(x):
        e = cnp.exp(x)
        return cnp.sort(e @ x), e / cnp.sum(e, axis=1, keepdims=True)

    report = ct.explain(f)(ct.ShapeDtypeStruct((8, 8), np.float32))
    reasons = {one.name.split()[0]: one.reason for one in report.stored}
    assert reasons["exp"] == "a matrix product reads it"
    assert reasons["dot_general"] == "a function outside of the program reads it"
    assert reasons["div"] == reasons["sort"] == "it is a result"
    assert all(one.bytes == 8 * 8 * 4 for one in report.stored if one.name.startswith(("exp", "div")))
    assert "dot_general" in str(report)
    assert "for " in report.loops


def test_what_is_fused_is_not_stored():
    report = ct.explain(lambda x: cnp.sum(cnp.exp(x) * 2 + 1))(np.ones(100, np.float32))
    assert [one.name.split()[0] for one in report.stored] == ["reduce_sum"]
    assert report.scratch_bytes == 0


@pytest.mark.parametrize("function", [ct.profile, ct.explain])
def test_errors(function):
    with pytest.raises(TypeError, match="expects a function, got int"):
        function(3)


def test_profile_needs_a_run():
    with pytest.raises(ValueError, match="at least one run, got runs=0"):
        ct.profile(loss, runs=0)


def test_random_keys_have_bytes():
    key = ct.random.key(7)
    report = ct.profile(lambda key: ct.random.split(key, 5), runs=2)(key)
    assert (report.result == ct.random.split(key, 5)).all()
    moved = [node for node in report.nodes if "key<fry>[5]" in node.name]
    assert moved
    assert all(node.bytes >= 40 for node in moved)
    normal = ct.profile(lambda key: ct.random.normal(key, (3,)), runs=2)(key).result
    assert normal.tolist() == ct.random.normal(key, (3,)).tolist()
    assert ct.explain(lambda key: ct.random.split(key, 5))(key).groups


def test_passes_print_what_they_changed_where_asked_to(tmp_path):
    program = "import cotangent as ct, numpy\nct.jit(lambda x: (x + 1).sum() * 2)(numpy.ones(3, numpy.float32))"
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=os.environ | {"CT_DUMP": "1", "CT_CACHE_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0
    before, _, after = done.stderr.partition("---- after lower ----")
    assert "---- after capture ----\ngraph (a: float32[3])" in before
    assert "for" in after
