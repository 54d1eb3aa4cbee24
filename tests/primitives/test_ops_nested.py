"""Transforms of transforms of every primitive: derivative rules batched and masked, masks batched, narrow dtypes."""

from __future__ import annotations

from typing import Any

import cotangent as ct
import numpy as np
import pytest
from cotangent import _core
from op_records import RECORDS, Record
from record_checks import (
    MASKED,
    SMOOTH,
    choices_of_lengths,
    close,
    operands,
    params,
    pull_back,
    ragged_operands,
    weighted_sum,
)

REVERSE = [c for c in SMOOTH if "rev" in c[0].modes]
RAGGED_REVERSE = [
    (r, k)
    for r, k in MASKED
    if any(c[0] is r for c in REVERSE) and r.ragged_cases()[k].error is None and not isinstance(r.dtypes[0], int)
]


def second_order(record: Record) -> Any:
    """A number that depends on the gradients of another one."""

    def f(*args: Any) -> Any:
        gradients = pull_back(record, list(args), weighted_sum(record))
        return sum(ct.numpy.sum(ct.numpy.real(g * g)) for g in gradients)

    return f


@pytest.mark.parametrize(("record", "dtype"), params(REVERSE, "vmap of grad"))
def test_vmap_of_grad_is_a_loop(record: Record, dtype: str) -> None:
    """Each operand mapped over alone, and all."""
    examples = [operands(record, dtype, k) for k in range(2)]
    count = len(examples[0])
    possible = [i for i in range(count) if i not in record.unbatched]
    gradient = lambda *args: tuple(pull_back(record, list(args), weighted_sum(record)))  # noqa: E731
    for group in {tuple(possible), *[(i,) for i in possible]}:
        calls = [[e[i] if i in group else examples[0][i] for i in range(count)] for e in examples]
        expected = [np.stack(parts) for parts in zip(*[gradient(*call) for call in calls], strict=True)]
        axes = tuple(-1 if i in group else None for i in range(count))
        inputs = [np.stack([e[i] for e in examples], -1) if i in group else examples[0][i] for i in range(count)]
        close(ct.vmap(gradient, in_axes=axes)(*inputs), expected, record, dtype, 100.0)


@pytest.mark.parametrize(("record", "number"), params(RAGGED_REVERSE, "second order in masks"))
def test_second_order_in_masks(record: Record, number: int) -> None:
    """The gradient of a function of gradients: outside of the mask, inside, and one on either side."""
    case, dtype = record.ragged_cases()[number], record.dtypes[0]
    chosen = choices_of_lengths(case, record)
    chosen = chosen[len(chosen) // 2]
    inputs, exact = ragged_operands(case, operands(record, dtype), chosen, np.nan)
    inner = second_order(record)
    if case.like is not None:
        like = case.like

        def inner_exact(*args: Any) -> Any:
            gradients = pull_back(record, list(args), weighted_sum(like))
            return sum(ct.numpy.sum(ct.numpy.real(g * g)) for g in gradients)
    else:
        inner_exact = inner
    expected = pull_back(record, exact, inner_exact)
    outside = lambda *args: pull_back(record, list(args), ct.mask(inner))  # noqa: E731
    inside = lambda *args: ct.mask(lambda *xs: tuple(pull_back(record, list(xs), inner)))(*args)  # noqa: E731
    for gradients in (outside(*inputs), inside(*inputs)):
        values = [g.unpad() if isinstance(g, ct.Ragged) else g for g in gradients]
        close(values, expected, record, dtype, 200.0)


@pytest.mark.parametrize(("record", "number"), params([c for c in MASKED if c[1] == 0], "vmap of mask"))
def test_vmap_of_mask_gives_every_example_its_lengths(record: Record, number: int) -> None:
    case, dtype = record.ragged_cases()[number], record.dtypes[0]
    if case.error is not None:
        pytest.skip("refused by mask already")
    every = choices_of_lengths(case, record)
    chosen = [every[0], every[-1], every[len(every) // 2]]
    masked = ct.mask(record)
    calls = [ragged_operands(case, operands(record, dtype, k), c, np.nan)[0] for k, c in enumerate(chosen)]
    expected = [ct.tree.leaves(masked(*call)) for call in calls]
    batch = [
        ct.tree.map(lambda *leaves: np.stack([np.asarray(x) for x in leaves]), *parts)
        for parts in zip(*calls, strict=True)
    ]
    for g in (ct.vmap(masked), ct.jit(ct.vmap(masked))):
        for k, leaf in enumerate(ct.tree.leaves(g(*batch))):
            close(leaf, np.stack([np.asarray(e[k]) for e in expected]), record, dtype, 4.0)


NARROW = [(r,) for r, d in REVERSE if d == "float64" and "float16" in r.dtypes]


@pytest.mark.parametrize("record", params(NARROW, "narrow gradients"))
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_gradients_of_narrow_floats(record: Record, dtype: str) -> None:
    args = operands(record, "float32")
    narrow = [_core.convert(a, dtype) if i in record.drawn else a for i, a in enumerate(args)]
    gradient = lambda *xs: tuple(pull_back(record, list(xs), weighted_sum(record)))  # noqa: E731
    wide = gradient(*[_core.convert(a, "float32") if i in record.drawn else a for i, a in enumerate(narrow)])
    for result, expected in zip(gradient(*narrow), wide, strict=True):
        assert result.dtype == dtype
        exact = np.asarray(expected)
        scale = max(1.0, float(np.abs(exact).max(initial=0.0)))
        np.testing.assert_allclose(np.asarray(_core.convert(result, "float32")), exact, atol=0.05 * scale)


ALL_DTYPES = (
    *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float16", "float32", "float64", "complex64", "complex128"),
)


@pytest.mark.parametrize("name", sorted({r.name for r in RECORDS}))
def test_other_dtypes_are_refused(name: str) -> None:
    """What no record of a primitive has is an error of the user's, never a wrong result."""
    known = {d for r in RECORDS if r.name == name for d in r.dtypes}
    record = next(r for r in RECORDS if r.name == name)
    if not record.drawn or record.call is not None:
        return
    for dtype in ALL_DTYPES:
        if dtype not in known:
            with pytest.raises(TypeError):
                record(*operands(record, dtype))
