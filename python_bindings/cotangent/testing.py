"""Assertions for tests of programs: `assert_allclose` says where arrays differ, by how much, and by how many units in the last place.

The pytest plugin that comes with the package, ``cotangent``, has it as a fixture of this name.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from cotangent import _core
from cotangent._base.arguments import check_arguments
from cotangent._base.keys import KEY_DTYPE
from cotangent._base.names import suggest_names
from cotangent._ops.dtypes import finfo
from cotangent._ops.keys import key_data
from cotangent._transforms.ragged import Ragged
from cotangent.tree_util import keystr, tree_flatten_with_path

__all__ = ["assert_allclose"]


def assert_allclose(
    actual: Any,
    desired: Any,
    rtol: float | None = None,
    atol: float = 0.0,
    *,
    equal_nan: bool = True,
    same_dtype: bool = False,
    shown: int = 5,
) -> None:
    """Raises an AssertionError unless two trees of arrays are of one structure and have elements that are close.

    Elements are close where ``abs(actual - desired) <= atol + rtol * abs(desired)``; infinities, integers, bools and
    random keys where they are equal.

    The error has the paths of leaves, and for each how many elements differ. Of those that differ most it has the
    indices, both values, the difference, how many times the tolerance it is, and how many numbers of the dtype lie
    between (ulps).

    Parameters
    ----------
    actual : pytree of arrays
        What was computed: an array, a number, a `Ragged`, or a pytree of these.
    desired : pytree of arrays
        What it should be; a number is compared with every element.
    rtol : float, optional
        By default 0.75 powers of the distance from 1 to the next number of the dtypes' coarser one: 6e-6 for float32,
        2e-12 for float64, 3e-2 for bfloat16. Integers are then compared exactly.
    atol : float, default 0.0
        Of all elements, whatever their size.
    equal_nan : bool, default True
        Whether NaN is close to NaN.
    same_dtype : bool, default False
        Whether dtypes must be equal.
    shown : int, default 5
        How many of the elements that differ are shown, the largest differences first.

    Raises
    ------
    AssertionError
        They are not.

    Examples
    --------
    >>> from cotangent.testing import assert_allclose
    >>> assert_allclose({"w": ct.numpy.ones(3)}, {"w": 1.0})
    >>> assert_allclose(ct.numpy.asarray([1.0, 2.0, 4.0]), [1.0, 2.0, 3.0])
    Traceback (most recent call last):
        ...
    AssertionError: actual and desired differ
      1 of 3 elements (33.3%) of float32[3]; rtol=6.4e-06, atol=0
      at   actual  desired  difference  of tolerance  ulps
      [2]     4.0      3.0           1     5.196e+04  4194304
    """
    __tracebackhide__ = True
    left, structure = tree_flatten_with_path(actual, is_leaf=_is_ragged)
    try:
        right = structure.flatten_up_to(desired)
    except (ValueError, TypeError) as error:
        raise AssertionError(f"actual and desired are of other structures\n  actual   {structure}\n  {error}") from None
    found: list[str] = []
    for (path, a), b in zip(left, right, strict=True):
        lines = _compared(a, b, _Limits(rtol, atol, equal_nan, same_dtype, shown))
        where = [f"at {keystr(path)}:"] if path and lines else []
        found += [*where, *lines]
    if found:
        raise AssertionError("\n  ".join(["actual and desired differ", *found]))


class _Limits(NamedTuple):
    rtol: float | None
    atol: float
    equal_nan: bool
    same_dtype: bool
    shown: int


def _is_ragged(x: Any) -> bool:
    return isinstance(x, Ragged)


def _compared(a: Any, b: Any, limits: _Limits) -> list[str]:
    """What is to be said of two leaves; nothing if they are close."""
    if _is_ragged(a) or _is_ragged(b):
        if not (_is_ragged(a) and _is_ragged(b)):
            return [f"a {type(a).__name__} is compared with a {type(b).__name__}"]
        lengths = [{axis: np.asarray(n).tolist() for axis, n in x.lengths.items()} for x in (a, b)]
        if lengths[0] != lengths[1]:
            return [f"the lengths are {lengths[0]} instead of {lengths[1]}"]
        return _compared(_without_padding(a), _without_padding(b), limits)
    given = a, b
    a, b = _core.array(a), _core.array(b)
    if limits.same_dtype and a.dtype != b.dtype:
        return [f"the dtype is {a.dtype} instead of {b.dtype}"]
    if (a.dtype == KEY_DTYPE) != (b.dtype == KEY_DTYPE):
        return [f"the dtype is {a.dtype} instead of {b.dtype}"]
    if a.dtype == KEY_DTYPE:
        a, b = key_data(a), key_data(b)
    # Numbers of Python have the width that they have there.
    x, y = (
        np.asarray(n) if _core.is_python_scalar(n) else _core.to_numpy(z) for n, z in ((given[0], a), (given[1], b))
    )
    if y.ndim == 0 and x.ndim > 0:
        y = np.broadcast_to(y, x.shape)
    if x.shape != y.shape:
        return [f"the shape is {x.shape} instead of {y.shape}"]
    return _elements(x, y, a.weak_type, b.weak_type, limits)


def _without_padding(x: Ragged) -> Any:
    """The data with zeros for padding, as the lengths are equal."""
    data = np.array(_core.to_numpy(_core.array(x.data)))
    for axis, length in x.lengths.items():
        sizes = np.asarray(length)
        places = np.arange(data.shape[axis]).reshape([-1 if i == axis else 1 for i in range(data.ndim)])
        data[np.broadcast_to(places >= sizes.reshape(sizes.shape + (1,) * (data.ndim - sizes.ndim)), data.shape)] = 0
    return data


def _coarser(x: Any, y: Any, weak: tuple[bool, bool]) -> Any:
    """The inexact dtype by whose numbers differences are counted; None if there is none."""
    kinds = [(d, w) for d, w in ((x.dtype, weak[0]), (y.dtype, weak[1])) if _core.dtype_kind(d) in ("float", "complex")]
    strong = [d for d, w in kinds if not w] or [d for d, _ in kinds]
    return max(strong, key=lambda d: float(finfo(d).eps), default=None)


def _elements(x: Any, y: Any, weak_x: bool, weak_y: bool, limits: _Limits) -> list[str]:
    dtype = _coarser(x, y, (weak_x, weak_y))
    rtol = limits.rtol if limits.rtol is not None else 0.0 if dtype is None else float(finfo(dtype).eps) ** 0.75
    wide = _widened(x), _widened(y)
    with np.errstate(all="ignore"):
        off = np.asarray(abs(wide[0] - wide[1]), float)
        allowed = limits.atol + rtol * np.asarray(abs(wide[1]), float)
        close = (wide[0] == wide[1]) | (np.isfinite(allowed) & (off <= allowed))
        if limits.equal_nan:
            close |= _is_nan(wide[0]) & _is_nan(wide[1])
        if close.all():
            return []
        places = np.argwhere(~close)
        off = np.where(np.isnan(off), np.inf, off)
        worst = np.argsort([-off[tuple(place)] for place in places], kind="stable")[: limits.shown]
        rows = [("at", "actual", "desired", "difference", "of tolerance", "ulps")]
        between = None if dtype is None else _ulps(x, y, dtype)
        for place in (tuple(places[i].tolist()) for i in worst):
            times = off[place] / allowed[place] if allowed[place] > 0 else np.inf
            count = "" if between is None or np.isinf(off[place]) else str(int(between[place]))
            rows.append((str(list(place)), str(x[place]), str(y[place]), f"{off[place]:.4g}", f"{times:.4g}", count))
    percent = 100 * len(places) / close.size
    kind = f"{_core.dtype_name(x.dtype)}{list(x.shape)}" + ("" if x.dtype == y.dtype or weak_y else f" and {y.dtype}")
    head = f"{len(places)} of {close.size} elements ({percent:.3g}%) of {kind}; rtol={rtol:.2g}, atol={limits.atol:.2g}"
    widths = [max(len(row[column]) for row in rows) for column in range(6)]
    shown = [
        "  ".join(
            [
                row[0].ljust(widths[0]),
                *(cell.rjust(width) for cell, width in zip(row[1:5], widths[1:5], strict=True)),
                row[5],
            ]
        )
        for row in rows
    ]
    more = [f"and {len(places) - len(worst)} more"] if len(worst) < len(places) else []
    return [head, *(line.rstrip() for line in shown), *more]


def _widened(x: Any) -> Any:
    """Numbers that differences of can be taken without overflow."""
    kind = _core.dtype_kind(x.dtype)
    if kind == "complex":
        return x.astype(np.complex128)
    if kind == "float":
        return x.astype(np.float64)
    return x.astype(np.float64) if x.dtype.itemsize < 8 else x.astype(object)


def _is_nan(x: Any) -> Any:
    return np.isnan(x) if x.dtype != object else np.zeros(x.shape, bool)


def _ulps(x: Any, y: Any, dtype: Any) -> Any:
    """How many numbers of the dtype lie between; of complex numbers, for the part where it is more."""
    if _core.dtype_kind(dtype) == "complex":
        real = np.dtype(f"float{4 * dtype.itemsize}")
        parts = [_ulps(np.real(x), np.real(y), real), _ulps(np.imag(x), np.imag(y), real)]
        return np.maximum(*parts)
    integer = np.dtype(f"int{8 * dtype.itemsize}")

    def ordered(z: Any) -> Any:
        # Floating numbers of one sign are ordered as their bits are.
        bits = np.ascontiguousarray(np.real(z).astype(dtype)).view(integer).reshape(z.shape).astype(object)
        return np.where(bits < 0, -(bits + 2 ** (8 * dtype.itemsize - 1)), bits)

    return np.asarray(abs(ordered(x) - ordered(y)), object)


check_arguments(globals())
suggest_names(globals())
