"""Every check of every primitive, from its record in op_records.py."""

from __future__ import annotations

import zlib
from pathlib import Path
from typing import Any

import cotangent as ct
import numpy as np
import op_records
import pytest
from cotangent import _core
from op_records import RECORDS, Record

ROOT = Path(__file__).resolve().parent.parent
TOLERANCE = {"float16": 200.0, "float32": 1.0, "complex64": 2.0, "float64": 1e-4}


def operands(record: Record, dtype: str) -> list[np.ndarray[Any, Any]]:
    """Random operands of a dtype; the same for the same record."""
    rng = np.random.default_rng(zlib.crc32(f"{record.id} {dtype}".encode()))
    low, high = record.domain
    result = []
    for shape in record.shapes:
        kind = np.dtype(dtype).kind
        if kind == "f":
            values = rng.uniform(low, high, shape)
        elif kind == "c":
            values = rng.uniform(low, high, shape) + 1j * rng.uniform(low, high, shape)
        else:
            values = rng.integers(0 if kind in "ub" else -3, 2 if kind == "b" else 6, shape)
        result.append(np.asarray(values).astype(dtype))
    return result


def function(record: Record) -> Any:
    """The primitive as a function of its array operands."""
    at = len(record.shapes) if record.fixed_at is None else record.fixed_at
    return lambda *xs: _core.bind(record.name, [*xs[:at], *record.fixed, *xs[at:]], **record.attrs)[0]


def close(actual: Any, expected: Any, record: Record, dtype: str, scale: float = 1.0) -> None:
    rtol = record.rtol * TOLERANCE.get(dtype, 0.0) * scale
    np.testing.assert_allclose(np.asarray(actual), np.asarray(expected), rtol=rtol, atol=rtol)


def expected_failure(record: Record, check: str) -> list[Any]:
    reason = record.known_failures.get(check)
    return [pytest.mark.xfail(reason=reason, strict=True)] if reason else []


def ids(records: list[Record], check: str) -> list[Any]:
    return [pytest.param(r, id=f"{r.id}-{i}", marks=expected_failure(r, check)) for i, r in enumerate(records)]


DTYPED = [
    pytest.param(r, d, id=f"{r.id}-{i}-{d}", marks=expected_failure(r, f"value-{d}"))
    for i, r in enumerate(RECORDS)
    for d in r.dtypes
]
SMOOTH = [r for r in RECORDS if r.differentiable and all(0 not in s for s in r.shapes)]
WITH_AXES = [r for r in RECORDS if all(len(s) > 0 for s in r.shapes)]


@pytest.mark.parametrize(("record", "dtype"), DTYPED)
def test_value(record: Record, dtype: str) -> None:
    args = operands(record, dtype)
    with np.errstate(all="ignore"):
        wide = [a.astype(np.float64) if dtype == "float16" else a for a in args]
        expected = record.oracle(*wide, *record.fixed)
    f = function(record)
    graph, full = ct.make_ir(f)(*args), [*args, *record.fixed]
    for actual in [f(*args), ct.jit(f)(*args), graph.evaluate(full)[0], graph.evaluate_reference(full)[0]]:
        assert np.shape(actual) == np.shape(expected)
        close(actual, expected, record, dtype)


@pytest.mark.parametrize("record", ids(SMOOTH, "derivatives"))
def test_derivatives_to_second_order_in_both_modes(record: Record) -> None:
    ct.test_util.check_grads(function(record), operands(record, "float64"), order=2)


@pytest.mark.parametrize("record", ids(SMOOTH, "linearize"))
def test_linearize_is_jvp_and_transpose_is_its_adjoint(record: Record) -> None:
    f, args = function(record), operands(record, "float64")
    rng = np.random.default_rng(1)
    tangents = tuple(rng.standard_normal(a.shape) for a in args)
    value, tangent = ct.jvp(f, tuple(args), tangents)
    linear_value, apply = ct.linearize(f, *args)
    np.testing.assert_allclose(linear_value, value, rtol=1e-12)
    np.testing.assert_allclose(apply(*tangents), tangent, rtol=1e-9, atol=1e-12)
    cotangent = rng.standard_normal(np.shape(value))
    _, pull_back = ct.vjp(f, *args)
    left = np.vdot(cotangent, tangent)
    right = sum(np.vdot(c, t) for c, t in zip(pull_back(cotangent), tangents, strict=True))
    np.testing.assert_allclose(left, right, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("record", ids(RECORDS, "vmap"))
def test_vmap_is_a_loop(record: Record) -> None:
    dtype = record.dtypes[0]
    f, args, size = function(record), operands(record, dtype), 3
    batches = [np.stack([a] * size) for a in args]
    for i, batch in enumerate(batches):
        batches[i] = np.asarray(batch * np.arange(1, size + 1).reshape(-1, *[1] * args[i].ndim) / size).astype(dtype)
    if record.domain[0] > 0:
        batches = [
            np.stack([a, *b[1:]]).clip(record.domain[0], record.domain[1]) for a, b in zip(args, batches, strict=True)
        ]
    alone = {tuple(i == j for i in range(len(args))) for j in range(len(args))}
    for batched in sorted({(True,) * len(args), *alone}):
        for where in (0, -1):
            calls = [[b[k] if on else a for a, b, on in zip(args, batches, batched, strict=True)] for k in range(size)]
            expected = np.stack([np.asarray(f(*call)) for call in calls])
            inputs = [np.moveaxis(b, 0, where) if on else a for a, b, on in zip(args, batches, batched, strict=True)]
            axes = tuple(where if on else None for on in batched)
            for g in (ct.vmap(f, in_axes=axes), ct.jit(ct.vmap(f, in_axes=axes))):
                close(g(*inputs), expected, record, dtype, 4.0)


@pytest.mark.parametrize("record", ids([r for r in WITH_AXES if r.ragged and r.dtypes[0] == "float32"], "mask"))
def test_mask_is_a_slice(record: Record) -> None:
    f, args = function(record), operands(record, "float32")
    bound = args[0].shape[0]
    which = set(record.ragged_operands or range(len(args)))
    if any(args[i].shape[0] != bound for i in which):
        pytest.skip("the operands have no axis of one size")
    for n in range(bound + 1):
        padded = [a.copy() for a in args]
        for i in which:
            padded[i][n:] = np.nan
        valid = [a[:n] if i in which else a for i, a in enumerate(args)]
        expected = np.asarray(f(*valid))
        ragged = [ct.Ragged(a, {0: n}, names={0: "n"}) if i in which else a for i, a in enumerate(padded)]
        for g in (ct.mask(f), ct.jit(ct.mask(f))):
            result = g(*ragged)
            close(result.unpad() if isinstance(result, ct.Ragged) else result, expected, record, "float32", 2.0)
        if record.differentiable:

            def total(*xs: Any) -> Any:
                return ct.numpy.sum(f(*xs))

            every = tuple(range(len(args)))
            gradients = ct.grad(lambda *xs: ct.mask(total)(*xs), argnums=every, allow_int=True)(*ragged)
            exact = ct.grad(total, argnums=every)(*valid)
            for i, (gradient, wanted) in enumerate(zip(gradients, exact, strict=True)):
                close(gradient.unpad() if i in which else gradient, wanted, record, "float32", 4.0)
                if i in which:
                    assert not np.asarray(gradient.data)[n:].any(), "the gradient of padding is exactly 0"


def test_splitting_a_ragged_axis_is_a_clear_error() -> None:
    x = ct.Ragged(np.zeros((4, 3), np.float32), {0: 2})
    with pytest.raises(NotImplementedError, match="ragged axis 0 would be split"):
        ct.mask(lambda x: _core.bind("reshape", [x], shape=[3, 4])[0])(x)


@pytest.mark.parametrize("length", [3, 4])
@pytest.mark.parametrize("name", ["gather", "scatter_add"])
def test_indices_into_a_ragged_axis(name: str, length: int) -> None:
    """Only the lengths for which every index of the record is valid."""
    record = next(r for r in RECORDS if r.name == name)
    f, args = function(record), operands(record, "float32")
    padded = args[0].copy()
    padded[length:] = np.nan
    expected = record.oracle(args[0][:length], *args[1:], *record.fixed)
    result = ct.mask(f)(ct.Ragged(padded, {0: length}), *args[1:])
    close(result.unpad() if isinstance(result, ct.Ragged) else result, expected, record, "float32")


@pytest.mark.parametrize("record", ids([r for r in RECORDS if "float16" in r.dtypes], "bfloat16"))
def test_bfloat16_is_float32_rounded(record: Record) -> None:
    """NumPy lacks the type, so operands and results cross in float32; the operands are rounded first."""
    f = function(record)
    narrow = [_core.convert(a, "bfloat16") for a in operands(record, "float32")]
    with np.errstate(all="ignore"):
        rounded = [np.asarray(_core.convert(a, "float32")) for a in narrow]
        expected = np.asarray(record.oracle(*rounded, *record.fixed))
    for result in (f(*narrow), ct.jit(f)(*narrow)):
        np.testing.assert_allclose(np.asarray(_core.convert(result, "float32")), expected, rtol=0.02, atol=0.03)


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


def in_all_evaluations(f: Any, *args: Any) -> list[Any]:
    """The outputs of `f` evaluated eagerly, compiled, by the interpreter and by the reference."""
    graph = ct.make_ir(f)(*args)
    return [f(*args), ct.jit(f)(*args), graph.evaluate([*args]), graph.evaluate_reference([*args])]


@pytest.mark.parametrize("shape", [(), (0, 3), (2, 3, 4)])
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int32", "int64", "uint8", "bool", "complex64"])
def test_full(dtype: str, shape: tuple[int, ...]) -> None:
    value = {"b": True, "c": 1.5 - 2.0j, "f": 1.5}.get(np.dtype(dtype).kind, 3)
    for results in in_all_evaluations(lambda: [_core.full(shape, value, dtype)]):
        result = np.asarray(results[0])
        assert result.dtype == dtype
        np.testing.assert_array_equal(result, np.full(shape, value, dtype))


@pytest.mark.parametrize(("shape", "axis"), [((5,), 0), ((0, 3), 1), ((2, 3, 4), 0), ((2, 3, 4), 1), ((2, 3, 4), 2)])
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int32", "int64", "uint8"])
def test_iota(dtype: str, shape: tuple[int, ...], axis: int) -> None:
    def f() -> Any:
        return _core.bind("iota", [], shape=list(shape), dtype=np.dtype(dtype), axis=axis)

    for results in in_all_evaluations(f):
        result = np.asarray(results[0])
        assert result.dtype == dtype
        np.testing.assert_array_equal(result, np.indices(shape)[axis].astype(dtype))


def test_threefry2x32_gives_the_published_answers() -> None:
    """The known-answer vectors of Random123 for 20 rounds."""
    ones = 0xFFFFFFFF
    key = np.array([[0, 0], [ones, ones], [0x13198A2E, 0x03707344]], np.uint32)
    counter = np.array([[0, 0], [ones, ones], [0x243F6A88, 0x85A308D3]], np.uint32)
    answer = np.array([[0x6B200159, 0x99BA4EFE], [0x1CB996FC, 0xBB002BE7], [0xC4923A9C, 0x483DF7A0]], np.uint32)

    def f(*xs: Any) -> Any:
        return _core.bind("threefry2x32", list(xs))

    columns = [key[:, 0], key[:, 1], counter[:, 0], counter[:, 1]]
    columns = [np.ascontiguousarray(column) for column in columns]
    for results in [*in_all_evaluations(f, *columns), ct.vmap(f)(*columns)]:
        np.testing.assert_array_equal(np.stack([np.asarray(r) for r in results], axis=1), answer)


def test_every_primitive_has_a_record() -> None:
    recorded = {r.name for r in RECORDS}
    assert set(ct.ir.slot_matrix()) - recorded - set(op_records.ELSEWHERE) == set()
    for where in op_records.ELSEWHERE.values():
        for file in where.split(" (")[0].split(", "):
            assert (ROOT / file).exists(), file


def test_no_slot_is_empty_without_a_reason(capsys: pytest.CaptureFixture[str]) -> None:
    matrix = ct.ir.slot_matrix()
    with capsys.disabled():
        slots = list(next(iter(matrix.values())))
        print("\n" + " " * 24 + " ".join(slots))
        for name, row in matrix.items():
            print(f"{name:24}" + " ".join(("+" if row[s] == "yes" else "-").center(len(s)) for s in slots))
    assert {(name, slot) for name, row in matrix.items() for slot, state in row.items() if not state} == set()
