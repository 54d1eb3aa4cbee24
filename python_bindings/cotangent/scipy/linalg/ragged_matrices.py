"""Matrices with a name, of vectors or sizes that are ragged: each element by its place, which lengths are part of."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import cotangent.numpy as cnp
from cotangent import _core
from cotangent._base.arguments import check_arguments
from cotangent._base.capture import give_lengths
from cotangent._core import Array
from cotangent._ops.extents import capacity, without_padding
from cotangent._ops.sizes import Size, as_dtype, axis_size
from cotangent.numpy.ragged_fft import turns

__all__ = [
    "by_size",
    "factor",
    "last_ragged",
    "ragged_block_diag",
    "ragged_circulant",
    "ragged_companion",
    "ragged_convolution_matrix",
    "ragged_dft",
    "ragged_hankel",
    "ragged_leslie",
    "ragged_placed",
    "ragged_toeplitz",
    "sized",
]

_INT32 = np.dtype("int32")
_MOST_TABLED = 64


def last_ragged(*arrays: Array) -> bool:
    """Whether the last axis of one of them is ragged."""
    return any(x.ndim - 1 in _core.ragged_axes(x) for x in arrays)


def _length(x: Array, axis: int = -1) -> Array:
    return as_dtype(axis_size(x, axis % x.ndim), _INT32)


def _places(rows: int, columns: int) -> tuple[Array, Array]:
    return cnp.arange(rows, dtype=_INT32)[:, None], cnp.arange(columns, dtype=_INT32)[None, :]


def _at(x: Array, index: Array) -> Array:
    """Elements [..., i, j] of vectors without padding; whatever is near where the index is outside."""
    return cnp.take(x, cnp.clip(index, 0, max(capacity(x, -1) - 1, 0)), axis=-1)


def sized(matrix: Array, rows: Size, columns: Size) -> Array:
    """The first rows and columns of matrices [..., m, n]."""
    lengths = {matrix.ndim - 2 + axis: size for axis, size in enumerate((rows, columns)) if isinstance(size, Array)}
    return give_lengths(matrix, lengths)


def ragged_toeplitz(column: Array, row: Array) -> Array:
    """`toeplitz` of vectors of one dtype."""
    sizes = _length(column), _length(row)
    column, row = without_padding(column, [column.ndim - 1]), without_padding(row, [row.ndim - 1])
    i, j = _places(capacity(column, -1), capacity(row, -1))
    return sized(cnp.where(i >= j, _at(column, i - j), _at(row, j - i)), *sizes)


def ragged_hankel(column: Array, row: Array) -> Array:
    """`hankel` of vectors of one dtype."""
    sizes = m, _ = _length(column), _length(row)
    column, row = without_padding(column, [column.ndim - 1]), without_padding(row, [row.ndim - 1])
    i, j = _places(capacity(column, -1), capacity(row, -1))
    return sized(cnp.where(i + j < m, _at(column, i + j), _at(row, i + j - m + 1)), *sizes)


def ragged_circulant(x: Array) -> Array:
    """`circulant`."""
    n = _length(x)
    i, j = _places(capacity(x, -1), capacity(x, -1))
    return sized(_at(without_padding(x, [x.ndim - 1]), (i - j) % cnp.maximum(n, 1)), n, n)


def ragged_leslie(first: Array, below: Array) -> Array:
    """`leslie` of vectors of one dtype."""
    n = _length(first)
    first, below = without_padding(first, [first.ndim - 1]), without_padding(below, [below.ndim - 1])
    i, j = _places(capacity(first, -1), capacity(first, -1))
    under = cnp.where(i == j + 1, _at(below, j), 0)
    return sized(cnp.where(i == 0, _at(first, j), under).astype(first.dtype), n, n)


def ragged_companion(x: Array) -> Array:
    """`companion` of floating coefficients."""
    n = cnp.maximum(_length(x) - 1, 0)
    values = without_padding(x, [x.ndim - 1], 1.0)
    bound = capacity(x, -1) - 1
    i, j = _places(bound, bound)
    first = -_at(values, j + 1) / values[..., :1][..., None]
    return sized(cnp.where(i == 0, first, (i == j + 1).astype(x.dtype)), n, n)


def ragged_placed(x: Array, index: np.ndarray[Any, Any], less: int) -> Array:
    """The elements that ``index`` names, 0 where it is negative: as many rows and columns as elements, less some."""
    n = cnp.maximum(_length(x) - less, 0)
    taken = _at(without_padding(x, [x.ndim - 1]), cnp.asarray(index.astype(np.int32)))
    return sized(cnp.where(cnp.asarray(index >= 0), taken, 0).astype(x.dtype), n, n)


def ragged_convolution_matrix(x: Array, columns: Array, bound: int, mode: str) -> Array:
    """`convolution_matrix` with ``columns`` columns, ``bound`` at most."""
    m = _length(x)
    trim = cnp.zeros((), _INT32) if mode == "full" else cnp.minimum(columns, m) - 1
    top = trim // 2 if mode == "same" else trim
    bottom = trim - top if mode == "same" else trim
    rows = cnp.maximum(m + columns - 1 - bottom - top, 0)
    i, j = _places(capacity(x, -1) + bound - 1, bound)
    place = i - j + top
    taken = _at(without_padding(x, [x.ndim - 1]), place)
    return sized(cnp.where((place >= 0) & (place < m), taken, 0).astype(x.dtype), rows, columns)


def ragged_block_diag(blocks: Sequence[Array]) -> Array:
    """`block_diag` of matrices of one dtype."""
    width = sum(capacity(block, 1) for block in blocks)
    start = cnp.zeros((), _INT32)
    rows = []
    for block in blocks:
        columns = _length(block)
        place = cnp.arange(width, dtype=_INT32) - start
        taken = cnp.take(without_padding(block, [1]), cnp.clip(place, 0, max(capacity(block, 1) - 1, 0)), axis=1)
        rows.append(cnp.where((place >= 0) & (place < columns), taken, 0).astype(block.dtype))
        start = start + columns
    return give_lengths(cnp.concatenate(rows), {1: start})


def ragged_dft(n: Array, bound: int, dtype: Any) -> Array:
    """`dft` without a factor."""
    i, j = _places(bound, bound)
    place = (i * j).reshape(-1).astype("int64")
    like = cnp.zeros((), dtype)
    return sized(turns(-2 * place, n, like).reshape((bound, bound)), n, n)


def by_size(n: Array, bound: int, make: Callable[[int], Any], less: int, name: str) -> Array:
    """The matrix that ``make`` gives for size n, out of a table of those of all sizes.

    Raises:
        NotImplementedError: the bound is so large that the table would be.
    """
    if bound > _MOST_TABLED:
        raise NotImplementedError(
            f"{name}: the size is ragged with bound {bound}, and the matrix is made for bounds up to {_MOST_TABLED}\n"
            "  leave the mask for it, or give an exact size"
        )
    table = np.zeros((bound + 1, bound, bound))
    with _core.EagerScope():
        for size in range(1, bound + 1):
            matrix = np.asarray(make(size))
            table[size, : matrix.shape[0], : matrix.shape[1]] = matrix
    made = cnp.asarray(table.astype(_core.default_float_dtype()))[n]
    return sized(made, cnp.maximum(n - less, 0), n)


def factor(scale: str | None, n: Array, dtype: Any) -> Array:
    """What the elements of `dft` are multiplied with."""
    power = {None: 0.0, "sqrtn": -0.5, "n": -1.0}[scale]
    return cnp.power(cnp.maximum(n, 1).astype(dtype), power) if power else cnp.ones((), dtype)


check_arguments(globals())
