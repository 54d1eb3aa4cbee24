"""Grids and joined ranges by slice notation: ``mgrid[0:3, 0:2]``, ``ogrid``, ``r_[0:3, 5]``, ``c_``, ``s_``."""

from __future__ import annotations

from typing import Any

import numpy as np

from cotangent import _core
from cotangent._base.arguments import checked, leaving_methods
from cotangent._core import Array
from cotangent._ops.joining import concatenate, stack
from cotangent._ops.ranges import arange, linspace, meshgrid
from cotangent._ops.shapes import transpose
from cotangent._ops.sizes import insert_axes

__all__ = ["c_", "index_exp", "mgrid", "ogrid", "r_", "s_"]


def _range(item: slice) -> Array:
    """``start:stop:step``; an imaginary step is a number of points, both ends included."""
    start = 0 if item.start is None else item.start
    step = item.step
    if item.stop is None:
        if item.start is not None or step is not None:
            raise ValueError("a range needs an end\n  write start:stop or start:stop:step")
        return arange(0)  # a bare colon, as NumPy reads it
    if isinstance(step, complex):
        return linspace(start, item.stop, int(abs(step)))  # type: ignore[no-any-return]
    return arange(start, item.stop, 1 if step is None else step)


@leaving_methods
class _Grid:
    """The points of a grid by slices: ``mgrid[a:b, c:d]`` is the coordinates along each axis, stacked.

    A slice is ``start:stop:step``; an imaginary step is a number of points, both ends included. ``ogrid`` has a tuple
    of arrays whose other axes have size 1 instead.

    Examples
    --------
    >>> ct.numpy.mgrid[0:2, 0:2].tolist()
    [[[0, 0], [1, 1]], [[0, 1], [0, 1]]]

    >>> ct.numpy.ogrid[0:1:3j]
    Array([0. , 0.5, 1. ], dtype=float32)
    """

    def __init__(self, name: str, sparse: bool) -> None:
        self._name = name
        self._sparse = sparse

    def __repr__(self) -> str:
        return f"<ct.numpy.{self._name}>"

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, slice):
            return _range(key)
        grid = meshgrid(*_promoted(key), indexing="ij", sparse=self._sparse)
        return tuple(grid) if self._sparse else stack(grid) if grid else _core.full((0,), 0, _core.default_int_dtype())


def _promoted(key: Any) -> list[Array]:
    ranges = [_range(item) for item in key]
    if not ranges:
        return []
    dtype = _core.promote_types([(x.dtype, x.weak_type) for x in ranges])[0]
    return [_core.convert(x, dtype) for x in ranges]


@leaving_methods
class _Joined:
    """Ranges, arrays and numbers joined along an axis: ``r_[0:3, x, 5]``.

    A first item ``"axis,ndmin,start"`` says along which axis, how many axes each part has at least, and at which of
    these a part's own axes begin (-1: at the end). ``c_`` is ``r_`` with ``"-1,2,0"``: vectors become columns.

    Examples
    --------
    >>> ct.numpy.r_[0:3, 7]
    Array([0, 1, 2, 7], dtype=int32)

    >>> ct.numpy.c_[[1, 2], [3, 4]]
    Array([[1, 3],
           [2, 4]], dtype=int32)
    """

    def __init__(self, name: str, axis: int, ndmin: int, start: int) -> None:
        self._name = name
        self._defaults = (axis, ndmin, start)

    def __repr__(self) -> str:
        return f"<ct.numpy.{self._name}>"

    @checked
    def __getitem__(self, key: Any) -> Array:
        items = list(key) if isinstance(key, tuple) else [key]
        axis, ndmin, start = self._defaults
        matrix = ""
        if items and isinstance(items[0], str):
            if items[0] in ("r", "c"):
                matrix = items.pop(0)
            else:
                axis, ndmin, start = self._directive(items.pop(0))
        parts = []
        for item in items:
            if isinstance(item, str):
                raise ValueError(
                    f"{self._name}: a directive comes first; got {item!r} later\n"
                    f"  write it first: {self._name}['0,2', x, y]"
                )
            part = _range(item) if isinstance(item, slice) else _core.array(item)
            parts.append(_raised(part, max(ndmin, 1), start))
        if not parts:
            raise ValueError(
                f"{self._name}: there is nothing to join\n  give it arrays or ranges: {self._name}[1:3, 5]"
            )
        joined = concatenate(parts, axis)
        if not matrix or joined.ndim != 1:
            return joined
        # What is NumPy's matrix: one row, or one column.
        return insert_axes(joined, [0 if matrix == "r" else 1])

    def _directive(self, text: str) -> tuple[int, int, int]:
        try:
            given = [int(word) for word in text.split(",")]
        except ValueError:
            given = []
        if not 1 <= len(given) <= 3:
            raise ValueError(f"{self._name}: {text!r} is not a directive\n  write it like '0,2' or '0,2,-1'")
        return (*given, *self._defaults[len(given) :])  # type: ignore[return-value]


def _raised(x: Array, ndmin: int, start: int) -> Array:
    """``x`` with at least ``ndmin`` axes, its own from position ``start`` on."""
    extra = ndmin - x.ndim
    if extra <= 0:
        return x
    x_rank = x.ndim
    wide = insert_axes(x, list(range(extra)))
    if start < 0:
        start += ndmin - x_rank + 1
    own = list(range(extra, ndmin))
    others = list(range(extra))
    return transpose(wide, [*others[:start], *own, *others[start:]])


mgrid = _Grid("mgrid", sparse=False)
ogrid = _Grid("ogrid", sparse=True)
r_ = _Joined("r_", 0, 1, -1)
c_ = _Joined("c_", -1, 2, 0)
s_ = np.s_
index_exp = np.index_exp
