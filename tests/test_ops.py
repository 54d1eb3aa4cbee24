"""Every check of every primitive, from its records in tests/records/."""

from __future__ import annotations

import zlib
from typing import Any

import cotangent as ct
import numpy as np
import op_records
import pytest
from cotangent import _core
from op_records import RECORDS, Record
from records import Ragged

TOLERANCE = {"float16": 200.0, "float32": 1.0, "complex64": 2.0, "float64": 1e-4, "complex128": 1e-4}


def operands(record: Record, dtype: str, example: int = 0) -> list[Any]:
    """Random operands of a dtype, the same for the same record and example; constants with the example's value."""
    rng = np.random.default_rng(zlib.crc32(f"{record.id} {dtype} {example}".encode()))
    kind = np.dtype(dtype).kind
    low, high = record.domain
    result: list[Any] = []
    for i, operand in enumerate(record.operands):
        if i not in record.drawn:
            result.append(operand.alternatives[example % len(operand.alternatives)])
            continue
        if kind == "f":
            values = rng.uniform(low, high, operand)
        elif kind == "c":
            values = rng.uniform(low, high, operand) + 1j * rng.uniform(low, high, operand)
        else:
            first = 0 if kind in "ub" else record.integers[0]
            values = rng.integers(first, 2 if kind == "b" else record.integers[1], operand)
        result.append(np.asarray(values).astype(dtype))
    return result


def outputs(result: Any) -> list[Any]:
    return list(result) if isinstance(result, (tuple, list)) else [result]


def close(actual: Any, expected: Any, record: Record, dtype: str, scale: float = 1.0) -> None:
    rtol = record.rtol * TOLERANCE.get(dtype, 0.0) * scale
    for a, b in zip(outputs(actual), outputs(expected), strict=True):
        assert np.shape(a) == np.shape(b)
        np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=rtol, atol=rtol)


def exact_result(record: Record, args: list[Any], dtype: str) -> list[Any]:
    """The oracle's results; for float16 those of the same numbers in float64."""
    wide = [a.astype(np.float64) if i in record.drawn and dtype == "float16" else a for i, a in enumerate(args)]
    with np.errstate(all="ignore"):
        return outputs(record.oracle(*wide))


def of_drawn(record: Record, args: list[Any], f: Any = None) -> Any:
    """`f`, by default the record, as a function of its drawn operands; the constants are those of `args`."""

    def function(*drawn: Any) -> Any:
        every = list(args)
        for i, x in zip(record.drawn, drawn, strict=True):
            every[i] = x
        return (f or record)(*every)

    return function


def only_drawn(record: Record, args: list[Any]) -> list[Any]:
    return [args[i] for i in record.drawn]


def numerical_dtype(record: Record) -> str | None:
    """The dtype for comparisons with differences: float64, or complex128 for what takes only complex numbers."""
    real, complexes = {"float32", "float64"} & set(record.dtypes), {"complex64", "complex128"} & set(record.dtypes)
    return "float64" if real else "complex128" if complexes else None


def params(records: list[Record], check: str) -> list[Any]:
    """One parameter a record, with its known failure of the check as a strict expected failure."""
    result = []
    for i, r in enumerate(records):
        reason = r.known_failures.get(check)
        marks = [pytest.mark.xfail(reason=reason, strict=True)] if reason else []
        result.append(pytest.param(r, id=f"{r.id}-{i}", marks=marks))
    return result


DTYPED = [
    pytest.param(
        r, d, id=f"{r.id}-{i}-{d}", marks=[pytest.mark.xfail(strict=True)] if f"value-{d}" in r.known_failures else []
    )
    for i, r in enumerate(RECORDS)
    for d in r.dtypes
]
SMOOTH = [
    r for r in RECORDS if r.differentiable and numerical_dtype(r) and all(0 not in r.operands[i] for i in r.drawn)
]


# ---- values --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("record", "dtype"), DTYPED)
def test_value(record: Record, dtype: str) -> None:
    args = operands(record, dtype)
    expected = exact_result(record, args, dtype)
    graph = ct.make_ir(record)(*args)
    for results in [record(*args), ct.jit(record)(*args), graph.evaluate(args), graph.evaluate_reference(args)]:
        close(results, expected, record, dtype)
    if dtype != "float16":
        assert [np.dtype(o[1]) for o in graph.out_avals] == [np.asarray(e).dtype for e in expected]


@pytest.mark.parametrize("record", params(RECORDS, "text"))
def test_graph_holds_the_primitive_and_round_trips(record: Record) -> None:
    graph = ct.make_ir(record)(*operands(record, record.dtypes[0]))
    text = graph.text()
    assert f"{record.name}" in text
    assert ct.ir.parse(text).text() == text
    assert ct.ir.deserialize(graph.serialize()).text() == text


# ---- derivatives ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("record", params(SMOOTH, "derivatives"))
def test_derivatives_to_second_order_in_both_modes(record: Record) -> None:
    args = operands(record, numerical_dtype(record) or "")
    ct.test_util.check_grads(of_drawn(record, args), only_drawn(record, args), order=2, modes=record.modes)


@pytest.mark.parametrize("record", params([r for r in SMOOTH if "fwd" in r.modes], "linearize"))
def test_linearize_is_jvp(record: Record) -> None:
    dtype = numerical_dtype(record) or ""
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


@pytest.mark.parametrize("record", params(SMOOTH, "transpose"))
def test_transpose_is_the_adjoint_in_every_linear_operand(record: Record) -> None:
    """Which operands a primitive is linear in is found out by trying."""
    dtype = numerical_dtype(record) or ""
    if ct.ir.slot_matrix()[record.name]["transpose"] != "yes":
        pytest.skip("declared: not linear")
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
    assert linear_groups or record.name in {"call", "cond", "scan", "while", "mask", "vmap_region"}, "linear in nothing"


# ---- vmap ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("record", params(RECORDS, "vmap"))
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


def choices_of_lengths(case: Ragged, record: Record) -> list[dict[str, int]]:
    """All lengths of one name; a few combinations of several."""
    bounds: dict[str, int] = {}
    for operand, axes in zip(record.operands, case.axes, strict=True):
        for axis, name in axes.items() if isinstance(axes, dict) else ():
            bounds[name] = (operand if isinstance(operand, tuple) else operand.shape)[axis]
    tried = {name: list(case.lengths.get(name, range(bound + 1))) for name, bound in bounds.items()}
    tried |= {name: list(values) for name, values in case.lengths.items()}
    if len(tried) == 1:
        return [{name: n} for name, values in tried.items() for n in values]
    most = max(len(values) for values in tried.values())
    rows = {tuple(values[(k + 2 * j) % len(values)] for j, values in enumerate(tried.values())) for k in range(most)}
    rows |= {tuple(values[-1] for values in tried.values()), tuple(values[0] for values in tried.values())}
    return [dict(zip(tried, row, strict=True)) for row in sorted(rows)]


def cut(axes: Any, chosen: dict[str, int], rank: int) -> tuple[slice, ...]:
    """The valid part of an operand, or of a result with those ragged axes."""
    return tuple(slice(0, chosen[axes[a]]) if a in axes else slice(None) for a in range(rank))


def spoilt(x: np.ndarray[Any, Any], axes: Any, chosen: dict[str, int], padding: float) -> np.ndarray[Any, Any]:
    """The operand with its padding overwritten."""
    result = np.full_like(x, padding if x.dtype.kind in "fc" else 3)
    at = cut(axes, chosen, x.ndim)
    result[at] = x[at]
    return result


MASKED = [(r, case, f"{r.id}-{i}-{k}") for i, r in enumerate(RECORDS) for k, case in enumerate(r.ragged_cases())]


@pytest.mark.parametrize(
    ("record", "case"),
    [
        pytest.param(r, c, id=name, marks=[pytest.mark.xfail(strict=True)] if "mask" in r.known_failures else [])
        for r, c, name in MASKED
    ],
)
def test_mask_is_a_slice(record: Record, case: Ragged) -> None:
    dtype = record.dtypes[0]
    args = operands(record, dtype)
    masked, compiled = ct.mask(record), ct.jit(ct.mask(record))
    for k, chosen in enumerate(choices_of_lengths(case, record)):
        padding = (np.nan, np.inf)[k % 2]
        inputs: list[Any] = []
        exact: list[Any] = []
        for x, axes in zip(args, case.axes, strict=True):
            if isinstance(axes, str):
                inputs.append(np.int32(chosen[axes]))
                exact.append(chosen[axes])
            elif axes is None:
                inputs.append(x)
                exact.append(x)
            else:
                lengths = {axis: chosen[name] for axis, name in axes.items()}
                inputs.append(ct.Ragged(spoilt(np.asarray(x), axes, chosen, padding), lengths, axes))
                exact.append(np.ascontiguousarray(x[cut(axes, chosen, x.ndim)]))
        if case.error is not None:
            with pytest.raises(NotImplementedError, match=case.error):
                masked(*inputs)
            return
        if case.like is None:
            expected = exact_result(record, exact, dtype)
        else:
            expected = [
                np.asarray(r)
                for r in outputs(case.like(*[ct.numpy.asarray(x) if isinstance(x, np.ndarray) else x for x in exact]))
            ]
        for g in (masked, compiled):
            results = outputs(g(*inputs))
            for result in results:
                if isinstance(result, ct.Ragged):
                    data = np.asarray(result.data).copy()
                    data[
                        tuple(
                            slice(0, int(result.lengths[a])) if a in result.lengths else slice(None)
                            for a in range(data.ndim)
                        )
                    ] = 0
                    assert not data.any(), "the padding of results is zero"
            close([r.unpad() if isinstance(r, ct.Ragged) else r for r in results], expected, record, dtype, 2.0)
        if record.differentiable and "rev" in record.modes and np.dtype(dtype).kind == "f":
            check_masked_gradient(record, case, chosen, inputs, exact, dtype)


def check_masked_gradient(record: Record, case: Ragged, chosen: Any, inputs: Any, exact: Any, dtype: str) -> None:
    """The gradient of a weighted sum: that of the exact-size program on valid elements, 0 on padding."""

    def total(f: Any) -> Any:
        def weighted(*xs: Any) -> Any:
            inexact = [r for r in outputs(f(*xs)) if _core.dtype_kind(r.dtype) in ("float", "complex")]
            return sum(ct.numpy.sum(ct.numpy.real(r * (0.5 + k) + 0.25 * r * r)) for k, r in enumerate(inexact))

        return weighted

    gradients = ct.grad(ct.mask(total(record)), argnums=record.drawn)(*inputs)
    expected = ct.grad(total(case.like or record), argnums=record.drawn)(*exact)
    for i, gradient, wanted in zip(record.drawn, gradients, expected, strict=True):
        if not isinstance(gradient, ct.Ragged):
            close(gradient, wanted, record, dtype, 8.0)
            continue
        data = np.asarray(gradient.data).copy()
        at = cut(case.axes[i], chosen, data.ndim)
        close(data[at], wanted, record, dtype, 8.0)
        data[at] = 0
        assert not data.any(), "the gradient of padding is exactly 0"


# ---- particular values and dtypes ----------------------------------------------------------------------------------


@pytest.mark.parametrize("record", params([r for r in RECORDS if "float16" in r.dtypes], "bfloat16"))
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


@pytest.mark.parametrize("record", params([r for r in RECORDS if r.specials and "float32" in r.dtypes], "specials"))
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
