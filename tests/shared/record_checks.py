"""What the checks of `test_ops.py` and `test_ops_nested.py` share: operands of a record, comparisons, ragged operands."""

from __future__ import annotations

import zlib
from collections.abc import Iterable
from typing import Any

import cotangent as ct
import numpy as np
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
            first = 0 if kind == "b" else max(0, record.integers[0]) if kind == "u" else record.integers[0]
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


def numerical_dtypes(record: Record) -> list[str]:
    """The dtypes for comparisons with differences: float64 and complex128, where the record takes such numbers."""
    real = {"float32", "float64"} & set(record.dtypes)
    return ["float64"] * bool(real) + ["complex128"] * ("complex128" in record.dtypes)


def params(cases: Iterable[tuple[Any, ...]], check: str) -> list[Any]:
    """One parameter a case (a record and what else names it); known failures of the check are strict expected ones."""
    result = []
    numbers = {id(r): i for i, r in enumerate(RECORDS)}
    for case in cases:
        r = case[0]
        reason = next(
            (
                r.known_failures[key]
                for key in (check, "-".join([check, *map(str, case[1:])]))
                if key in r.known_failures
            ),
            None,
        )
        marks = [pytest.mark.xfail(reason=reason, strict=True)] if reason else []
        what = [f"{x:d}" if isinstance(x, int) else str(x) for x in case[1:]]
        result.append(pytest.param(*case, id="-".join([r.id, str(numbers[id(r)]), *what]), marks=marks))
    return result


SMOOTH = [
    (r, dtype)
    for r in RECORDS
    for dtype in numerical_dtypes(r)
    if r.differentiable and all(0 not in r.operands[i] for i in r.drawn)
]
MASKED = [(r, k) for r in RECORDS for k in range(len(r.ragged_cases()))]


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


def ragged_operands(
    case: Ragged, args: list[Any], chosen: dict[str, int], padding: float
) -> tuple[list[Any], list[Any]]:
    """The operands of the masked call, and those of the exact-size program."""
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
    return inputs, exact


def pull_back(record: Record, args: list[Any], f: Any) -> Any:
    """The gradients of a real number by the drawn operands."""
    value, pull = ct.vjp(of_drawn(record, args, f), *only_drawn(record, args))
    return pull(ct.numpy.ones_like(value))


def weighted_sum(f: Any) -> Any:
    """The inexact results of `f`, made one real number that is not linear in them."""

    def total(*xs: Any) -> Any:
        inexact = [r for r in outputs(f(*xs)) if _core.dtype_kind(r.dtype) in ("float", "complex")]
        return sum(ct.numpy.sum(ct.numpy.real(r * (0.5 + k) + 0.25 * r * r)) for k, r in enumerate(inexact))

    return total
