"""The laws that public functions keep, each in one place: what `test_numpy.py` checks of its cases and `test_functions.py` of its records.

A law is about a function of drawn arrays that returns the leaves of its results. Primitives have laws of their own, with more to each
(`record_checks.py`); the table of masks tries every length and gradients, too (`mask_table.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import cotangent as ct
import numpy as np
from cotangent import test_util

TOLERANCE = {
    "float16": 4e-3,
    "bfloat16": 3e-2,
    "float32": 2e-5,
    "complex64": 3e-5,
    "float64": 1e-10,
    "complex128": 1e-10,
}
WIDE = ("float64", "complex128", "int64", "uint64")

Function = Callable[..., list[Any]]


def compare(actual: Any, target: Any, tolerance: float) -> None:
    """Equal shapes and values: inexact ones to the precision of their dtype, others exactly."""
    actual, target = np.asarray(actual), np.asarray(target)
    assert actual.shape == target.shape
    if actual.dtype.name not in TOLERANCE:
        np.testing.assert_array_equal(actual, target.astype(actual.dtype))
        return
    # NumPy computes small integers in float16.
    rtol = max(TOLERANCE.get(x.dtype.name, 0) for x in (actual, target)) * tolerance
    kind = np.complex128 if actual.dtype.kind == "c" else np.float64
    with np.errstate(all="ignore"):
        target = target.astype(kind)
        if actual.dtype.name in ("float16", "bfloat16"):  # what overflows there does in the result
            target = target.astype(actual.dtype).astype(kind)
        np.testing.assert_allclose(actual.astype(kind), target, rtol=rtol, atol=rtol)


def batch_is_a_loop(function: Function, rows: Sequence[Sequence[Any]], tolerance: float) -> None:
    """`jit` of `vmap` gives what the function gives for each row of arguments."""
    batched = ct.jit(ct.vmap(function))(*[np.stack(column) for column in zip(*rows, strict=True)])
    for i, row in enumerate(rows):
        for found, single in zip(batched, function(*row), strict=True):
            compare(np.asarray(found)[i], single, tolerance)


def derivatives_are_right(
    function: Function, values: Sequence[Any], moving: Sequence[int], step: float | None, tolerance: float
) -> None:
    """Derivatives to order 2, in both modes, by the arguments of these positions, against difference quotients."""

    def inexact(*changed: Any) -> Any:
        pending = list(values)
        for i, value in zip(moving, changed, strict=True):
            pending[i] = value
        return [x for x in function(*pending) if ct.numpy.issubdtype(x.dtype, ct.numpy.inexact)]

    points = [values[i] for i in moving]
    assert inexact(*points), "nothing of the result can be differentiated: say so in grads"
    test_util.check_grads(inexact, points, order=2, eps=step, rtol=1e-5 * tolerance, atol=1e-5 * tolerance)


Ragged = int | Mapping[int, int | tuple[int, ...]]


def ragged_values(values: Sequence[Any], ragged: Ragged, length: int | None = None) -> tuple[list[Any], list[Any]]:
    """The values with axes made ragged, one element shorter or of a length, and garbage behind it; and the exact ones.

    An axis is that of the first value and of those with as many axes that are as long there; or a mapping says the axes of each.
    """
    if isinstance(ragged, int):
        first = values[0]
        alike = [v.ndim == first.ndim and v.shape[ragged] == first.shape[ragged] for v in values]
        ragged = {i: ragged for i, same in enumerate(alike) if same}
    padded, exact = list(values), list(values)
    for i, given in ragged.items():
        data, lengths = np.array(values[i]), {}
        for axis in given if isinstance(given, tuple) else (given,):
            axis %= data.ndim
            lengths[axis] = n = data.shape[axis] - 1 if length is None else length
            exact[i] = np.take(exact[i], range(n), axis)
            np.moveaxis(data, axis, 0)[n:] = np.nan if data.dtype.kind in "fcV" else 77
        padded[i] = ct.Ragged(data, lengths, names=dict.fromkeys(lengths, "n"))
    return padded, exact


def leaves(result: Any) -> list[Any]:
    """The arrays of a result, also of NumPy's named tuples, whatever they are called."""
    if isinstance(result, tuple):
        return [leaf for item in result for leaf in leaves(item)]
    return ct.tree_util.tree_leaves(result, is_leaf=lambda x: isinstance(x, ct.Ragged))


def are_slices(found: Sequence[Any], target: Sequence[Any], tolerance: float, what: str = "") -> None:
    """The results of a mask are those of the exact arrays."""
    assert len(found) == len(target)
    for x, y in zip(found, target, strict=True):
        try:
            compare(x.unpad() if isinstance(x, ct.Ragged) else x, y, tolerance)
        except AssertionError as error:
            raise AssertionError(f"{what}: {error}") from None


REFUSALS = (NotImplementedError, TypeError, ValueError, IndexError)


def mask_is_never_wrong(function: Function, padded: Sequence[Any], exact: Sequence[Any], tolerance: float) -> None:
    """On any ragged axis: the result of the exact array, or an error."""
    try:
        target = function(*exact)
    except REFUSALS:
        return  # the function takes no array of that size
    try:
        found = ct.mask(function)(*padded)
    except REFUSALS:
        return
    are_slices(leaves(found), target, tolerance)
