"""Every check of every primitive, from its records in tests/shared/records/."""

from __future__ import annotations

import re
from typing import Any

import cotangent as ct
import numpy as np
import op_records
import pytest
from cotangent import _core
from op_records import RECORDS, Record
from record_checks import (
    MASKED,
    SMOOTH,
    choices_of_lengths,
    close,
    cut,
    exact_result,
    of_drawn,
    only_drawn,
    operands,
    outputs,
    params,
    pull_back,
    ragged_operands,
    weighted_sum,
)

# ---- values --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("record", "dtype"), params([(r, d) for r in RECORDS for d in r.dtypes], "value"))
def test_value(record: Record, dtype: str) -> None:
    args = operands(record, dtype)
    expected = exact_result(record, args, dtype)
    graph = ct.make_ir(record)(*args)
    for results in [record(*args), ct.jit(record)(*args), graph.evaluate(args), graph.evaluate_reference(args)]:
        close(results, expected, record, dtype)
    if dtype != "float16":
        assert [np.dtype(o[1]) for o in graph.out_avals] == [np.asarray(e).dtype for e in expected]


@pytest.mark.parametrize("record", params(zip(RECORDS), "text"))
def test_graph_holds_the_primitive_and_round_trips(record: Record) -> None:
    graph = ct.make_ir(record)(*operands(record, record.dtypes[0]))
    text = graph.text()
    assert re.search(rf"= {record.name}\b", text)
    assert ct.ir.parse(text).text() == text
    assert ct.ir.deserialize(graph.serialize()).text() == text


# ---- derivatives ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("record", "dtype"), params(SMOOTH, "derivatives"))
def test_derivatives_to_second_order_in_both_modes(record: Record, dtype: str) -> None:
    args = operands(record, dtype)
    ct.test_util.check_grads(of_drawn(record, args), only_drawn(record, args), order=2, modes=record.modes)


@pytest.mark.parametrize(("record", "dtype"), params([c for c in SMOOTH if "fwd" in c[0].modes], "linearize"))
def test_linearize_is_jvp(record: Record, dtype: str) -> None:
    args = operands(record, dtype)
    f, primals = of_drawn(record, args), only_drawn(record, args)
    tangents = only_drawn(record, operands(record, dtype, example=1))
    value, tangent = ct.jvp(f, tuple(primals), tuple(tangents))
    linear_value, apply = ct.linearize(f, *primals)
    for actual, expected in [(linear_value, value), (apply(*tangents), tangent)]:
        for a, b in zip(outputs(actual), outputs(expected), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12)


def pairing(xs: list[Any], ys: list[Any]) -> float:
    """Re(x * y), summed: how cotangents meet tangents."""
    return sum(float(np.sum(np.asarray(x) * np.asarray(y)).real) for x, y in zip(xs, ys, strict=True))


def is_linear(f: Any, x: list[Any], y: list[Any]) -> bool:
    at = lambda *v: np.concatenate([np.asarray(r).ravel() for r in outputs(f(*v))])  # noqa: E731
    combined = at(*[2.0 * a - 3.0 * b for a, b in zip(x, y, strict=True)])
    return bool(np.allclose(combined, 2.0 * at(*x) - 3.0 * at(*y), rtol=1e-9, atol=1e-9))


TRANSPOSED = [c for c in SMOOTH if ct.ir.slot_matrix()[c[0].name]["transpose"] == "yes"]
PROGRAMS = {"call", "cond", "scan", "while", "mask", "vmap_region", "checkpoint"}  # as linear as their bodies


@pytest.mark.parametrize(("record", "dtype"), params(TRANSPOSED, "transpose"))
def test_transpose_is_the_adjoint_in_every_linear_operand(record: Record, dtype: str) -> None:
    """Which operands a primitive is linear in is found out by trying."""
    args, others = operands(record, dtype), operands(record, dtype, example=1)
    args, others = ([np.negative(a) if i in record.drawn else a for i, a in enumerate(v)] for v in (args, others))
    linear_groups = 0
    for group in sorted({record.drawn, *[(i,) for i in record.drawn]}):

        def f(*xs: Any, group: Any = group) -> Any:
            every = list(args)
            for i, x in zip(group, xs, strict=True):
                every[i] = x
            return record(*every)

        x, y = [args[i] for i in group], [others[i] for i in group]
        if not is_linear(f, x, y):
            continue
        linear_groups += 1
        graph = ct.make_ir(record)(*args)
        backward = _core.graph_transpose(graph, [i in group for i in range(len(args))])
        images = outputs(f(*x))
        rng = np.random.default_rng(2)
        cotangents = [
            (rng.standard_normal(np.shape(r)) * (1 - 0.5j if np.iscomplexobj(r) else 1.0)).astype(r.dtype)
            for r in map(np.asarray, images)
        ]
        known = [a for i, a in enumerate(args) if i not in group]
        for back in (backward.evaluate([*known, *cotangents]), backward.evaluate_reference([*known, *cotangents])):
            assert [np.shape(b) for b in back] == [np.shape(a) for a in x]
            np.testing.assert_allclose(pairing(back, x), pairing(cotangents, images), rtol=1e-9, atol=1e-9)
    assert linear_groups or record.name in PROGRAMS, "linear in nothing"


# ---- vmap ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("record", params(zip(RECORDS), "vmap"))
def test_vmap_is_a_loop(record: Record) -> None:
    dtype, size = record.dtypes[0], 3
    examples = [operands(record, dtype, k) for k in range(size)]
    count = len(examples[0])
    for i, message in record.unbatched.items():
        with pytest.raises(NotImplementedError, match=message):
            ct.vmap(record, in_axes=[0 if j == i else None for j in range(count)])(
                *[np.stack([e[i] for e in examples]) if j == i else x for j, x in enumerate(examples[0])]
            )
    alone = {tuple(i == j for i in range(count)) for j in range(count) if j not in record.unbatched}
    for batched in sorted({tuple(j not in record.unbatched for j in range(count)), *alone}):
        calls = [[e[i] if on else examples[0][i] for i, on in enumerate(batched)] for e in examples]
        results = [exact_result(record, call, dtype) for call in calls]
        expected = [np.stack(parts) for parts in zip(*results, strict=True)]
        for places in {(0,) * count, (-1,) * count, tuple(-(i % 2) for i in range(count))}:
            axes = tuple(where if on else None for where, on in zip(places, batched, strict=True))
            inputs = [
                examples[0][i] if axis is None else np.stack([e[i] for e in examples], axis)
                for i, axis in enumerate(axes)
            ]
            for g in (ct.vmap(record, in_axes=axes), ct.jit(ct.vmap(record, in_axes=axes)))[: 1 + (places[0] == -1)]:
                close(g(*inputs), expected, record, dtype, 4.0)


# ---- mask ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("record", "number"), params(MASKED, "mask"))
def test_mask_is_a_slice(record: Record, number: int) -> None:
    case, dtype = record.ragged_cases()[number], record.dtypes[0]
    args = operands(record, dtype)
    masked, compiled = ct.mask(record), ct.jit(ct.mask(record))
    for k, chosen in enumerate(choices_of_lengths(case, record)):
        inputs, exact = ragged_operands(case, args, chosen, (np.nan, np.inf)[k % 2])
        if case.error is not None:
            with pytest.raises(NotImplementedError, match=case.error):
                masked(*inputs)
            return
        if case.like is None:
            expected = exact_result(record, exact, dtype)
        else:
            arrays = [ct.numpy.asarray(x) if isinstance(x, np.ndarray) else x for x in exact]
            expected = [np.asarray(r) for r in outputs(case.like(*arrays))]
        for g in (masked, compiled):
            results = outputs(g(*inputs))
            for result in results:
                if isinstance(result, ct.Ragged):
                    data = np.asarray(result.data).copy()
                    data[
                        cut({a: a for a in result.lengths}, {a: int(n) for a, n in result.lengths.items()}, data.ndim)
                    ] = 0
                    assert not data.any(), "the padding of results is zero"
            close([r.unpad() if isinstance(r, ct.Ragged) else r for r in results], expected, record, dtype, 2.0)
        if not record.differentiable or "rev" not in record.modes or np.dtype(dtype).kind not in "fc":
            continue
        # The gradient of a number: that of the exact-size program on valid elements, 0 on padding.
        gradients = pull_back(record, inputs, ct.mask(weighted_sum(record)))
        wanted = pull_back(record, exact, weighted_sum(case.like or record))
        for i, gradient, exact_gradient in zip(record.drawn, gradients, wanted, strict=True):
            if not isinstance(gradient, ct.Ragged):
                close(gradient, exact_gradient, record, dtype, 8.0)
                continue
            data = np.asarray(gradient.data).copy()
            at = cut(case.axes[i], chosen, data.ndim)
            close(data[at], exact_gradient, record, dtype, 8.0)
            data[at] = 0
            assert not data.any(), "the gradient of padding is exactly 0"


# ---- particular values and dtypes ----------------------------------------------------------------------------------


@pytest.mark.parametrize("record", params([(r,) for r in RECORDS if "float16" in r.dtypes], "bfloat16"))
def test_bfloat16_is_float32_rounded(record: Record) -> None:
    """NumPy lacks the type, so operands and results cross in float32; the operands are rounded first."""
    args = operands(record, "float32")
    narrow = [_core.convert(a, "bfloat16") if i in record.drawn else a for i, a in enumerate(args)]
    rounded = [np.asarray(_core.convert(a, "float32")) if i in record.drawn else a for i, a in enumerate(narrow)]
    expected = exact_result(record, rounded, "float32")
    for results in (record(*narrow), ct.jit(record)(*narrow)):
        for result, wanted in zip(outputs(results), expected, strict=True):
            same = _core.convert(result, "float32") if result.dtype == "bfloat16" else result
            np.testing.assert_allclose(np.asarray(same), wanted, rtol=0.02, atol=0.03)


SPECIAL = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0, 2.5, -0.5, 1e30, 1e-30])


@pytest.mark.parametrize("record", params([(r,) for r in RECORDS if r.specials and "float32" in r.dtypes], "specials"))
def test_special_values_are_those_of_numpy(record: Record) -> None:
    """Every pair of special values meets in some of the rotations."""
    args = operands(record, "float32")
    compiled = ct.jit(record)
    for rotation in range(len(SPECIAL)):
        inputs = list(args)
        for position, i in enumerate(record.drawn):
            size = np.size(args[i])
            chosen = (np.arange(size) + rotation * (position == 0) + 3 * position) % len(SPECIAL)
            inputs[i] = SPECIAL[chosen].astype(np.float32).reshape(np.shape(args[i]))
        expected = exact_result(record, inputs, "float32")
        for results in (record(*inputs), compiled(*inputs)):
            for result, wanted in zip(outputs(results), expected, strict=True):
                np.testing.assert_allclose(np.asarray(result), wanted, rtol=2e-5, atol=0)


def in_all_evaluations(f: Any, *args: Any) -> list[Any]:
    """The outputs of `f` evaluated eagerly, compiled, by the interpreter and by the reference."""
    graph = ct.make_ir(f)(*args)
    return [f(*args), ct.jit(f)(*args), graph.evaluate([*args]), graph.evaluate_reference([*args])]


@pytest.mark.parametrize("name", ["shift_left", "shift_right_arithmetic", "shift_right_logical"])
def test_shifts_of_negative_numbers(name: str) -> None:
    values = np.array([-1, -7, 5, -(2**31), 2**31 - 1], np.int32)
    distance = np.array([0, 1, 2, 31, 3], np.int32)
    expected = {
        "shift_left": np.left_shift(values, distance),
        "shift_right_arithmetic": np.right_shift(values, distance),
        "shift_right_logical": (values.view(np.uint32) >> distance.view(np.uint32)).view(np.int32),
    }[name]
    for results in in_all_evaluations(lambda *xs: _core.bind(name, list(xs)), values, distance):
        np.testing.assert_array_equal(np.asarray(results[0]), expected)


@pytest.mark.parametrize("dtype", ["int8", "int32", "int64", "uint8", "uint64"])
def test_integer_division_at_its_edges(dtype: str) -> None:
    """Nothing traps: x / 0 has all bits set, x rem 0 is x, and the lowest number divided by -1 wraps to itself."""
    low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
    one = -1 if low < 0 else 1
    x, y = np.array([low, high, 7, 0], dtype), np.array([one, 0, 0, 0], dtype)
    ones = np.array(-1).astype(dtype)
    for name, expected in [("div", [low, ones, ones, ones]), ("rem", [0, high, 7, 0])]:
        for results in in_all_evaluations(lambda a, b, name=name: _core.bind(name, [a, b]), x, y):
            np.testing.assert_array_equal(np.asarray(results[0]), np.array(expected, dtype))


def test_threefry2x32_gives_the_published_answers() -> None:
    """The known-answer vectors of Random123 for 20 rounds."""
    ones = 0xFFFFFFFF
    key = np.array([[0, 0], [ones, ones], [0x13198A2E, 0x03707344]], np.uint32)
    counter = np.array([[0, 0], [ones, ones], [0x243F6A88, 0x85A308D3]], np.uint32)
    answer = np.array([[0x6B200159, 0x99BA4EFE], [0x1CB996FC, 0xBB002BE7], [0xC4923A9C, 0x483DF7A0]], np.uint32)
    columns = [np.ascontiguousarray(c) for c in (key[:, 0], key[:, 1], counter[:, 0], counter[:, 1])]
    for results in in_all_evaluations(lambda *xs: _core.bind("threefry2x32", list(xs)), *columns):
        np.testing.assert_array_equal(np.stack([np.asarray(r) for r in results], axis=1), answer)


# ---- the set of primitives -----------------------------------------------------------------------------------------


def test_every_primitive_has_a_record() -> None:
    assert set(ct.ir.slot_matrix()) - {r.name for r in RECORDS} == set(op_records.ELSEWHERE)


def test_no_slot_is_empty_without_a_reason(capsys: pytest.CaptureFixture[str]) -> None:
    matrix = ct.ir.slot_matrix()
    with capsys.disabled():
        slots = list(next(iter(matrix.values())))
        print("\n" + " " * 24 + " ".join(slots))
        for name, row in matrix.items():
            print(f"{name:24}" + " ".join(("+" if row[s] == "yes" else "-").center(len(s)) for s in slots))
    assert {(name, slot) for name, row in matrix.items() for slot, state in row.items() if not state} == set()
