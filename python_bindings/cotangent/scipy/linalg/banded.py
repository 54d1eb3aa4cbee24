"""Systems of matrices with few diagonals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from cotangent import numpy as cnp
from cotangent._base.arguments import check_arguments
from cotangent._base.capture import give_lengths
from cotangent._core import Array
from cotangent._ops.extents import capacity, without_padding
from cotangent._ops.sizes import axis_size, static_count
from cotangent._transforms.control_flow import scan
from cotangent.errors import ShapeError
from cotangent.lax.solvers import custom_linear_solve

__all__ = ["solve_banded"]


def _product(lower: int, upper: int, bands: Array, x: Array) -> Array:
    """The matrix times ``x``, [n, k]."""
    n = x.shape[0]
    total = cnp.zeros_like(x)
    for offset in _offsets(-lower, upper, n):  # column less row
        right, left = max(offset, 0), max(-offset, 0)
        part = bands[upper - offset, right : n - left, None] * x[right : n - left]
        total = total + cnp.pad(part, ((left, right), (0, 0)))
    return total


def _offsets(low: int, high: int, n: int) -> range:
    """Those that are in a matrix of n rows and columns."""
    return range(max(low, 1 - n), min(high, n - 1) + 1)


def _transposed(lower: int, upper: int, bands: Array) -> Array:
    n = bands.shape[1]
    rows = {
        offset: cnp.pad(bands[upper + offset, max(-offset, 0) : n - max(offset, 0)], (max(offset, 0), max(-offset, 0)))
        for offset in _offsets(-upper, lower, n)  # of the transpose
    }
    nothing = cnp.zeros_like(bands[0])
    return cnp.stack([rows.get(offset, nothing) for offset in range(lower, -upper - 1, -1)])


def _eliminated(lower: int, upper: int, bands: Array, b: Array) -> Array:
    """The solution by elimination with partial pivoting: a column a step, on a window of the rows that reach it."""
    n, width = b.shape[0], lower + upper + 1
    # Row i of the matrix from column i - lower on; zeros outside of it.
    index = cnp.arange(n)[:, None] + cnp.arange(width)[None, :] - lower
    rows = bands[::-1].T[cnp.clip(index, 0, n - 1), cnp.arange(width)[None, :]]
    rows = cnp.pad(cnp.where((index >= 0) & (index < n), rows, 0), ((0, lower), (0, 0)))
    rights = cnp.pad(b, ((0, lower), (0, 0)))
    # The window begins at the column that is eliminated; what enters it then is row k + lower.
    first = [cnp.pad(rows[i, lower - i :], (0, lower - i)) for i in range(lower)]
    window = cnp.stack(first) if first else rows[:0]

    def eliminate(state: tuple[Array, Array], new: tuple[Array, Array]) -> tuple[Any, Any]:
        rows = cnp.concatenate([state[0], new[0][None]])
        right = cnp.concatenate([state[1], new[1][None]])
        place = cnp.argmax(cnp.abs(rows[:, 0]))
        order = cnp.arange(lower + 1)
        order = cnp.where(order == 0, place, cnp.where(order == place, 0, order))
        rows, right = rows[order], right[order]
        factor = rows[1:, 0] / rows[0, 0]
        left = rows[1:, 1:] - factor[:, None] * rows[0, 1:]
        return (cnp.pad(left, ((0, 0), (0, 1))), right[1:] - factor[:, None] * right[0]), (rows[0], right[0])

    _, (rows, right) = scan(eliminate, (window, rights[:lower]), (rows[lower:], rights[lower:]))

    def substitute(known: Array, row: tuple[Array, Array]) -> tuple[Array, Array]:
        x = (row[1] - row[0][1:] @ known) / row[0][0]
        return cnp.concatenate([x[None], known])[: width - 1], x

    nothing = cnp.zeros((width - 1, b.shape[1]), b.dtype)
    result: Array = scan(substitute, nothing, (rows, right), reverse=True)[1]
    return result


def solve_banded(
    l_and_u: Sequence[int],
    ab: Any,
    b: Any,
    overwrite_ab: bool = False,
    overwrite_b: bool = False,
    check_finite: bool = True,
) -> Array:
    """The solution of ``a x = b`` for a matrix that is zero outside of a few diagonals, by elimination with partial pivoting.

    Parameters
    ----------
    l_and_u : (int, int)
        How many diagonals there are below the main one, and above it.
    ab : array, shape (l + u + 1, n)
        The diagonals, the uppermost first: ``ab[u + i - j, j] = a[i, j]``. What is outside of the matrix does not count.
    b : array, shape (n,) or (n, k)
        The right-hand sides.
    overwrite_ab, overwrite_b, check_finite : bool
        Accepted for SciPy's signature.

    Returns
    -------
    array
        Of the shape of ``b``.

    Raises
    ------
    ShapeError
        The shapes do not fit.

    References
    ----------
    Gene H. Golub and Charles F. Van Loan, "Matrix Computations", 4th edition, 2013, section 4.3.

    Examples
    --------
    >>> ab = ct.numpy.array([[0.0, 1.0], [2.0, 2.0], [1.0, 0.0]])
    >>> ct.scipy.linalg.solve_banded((1, 1), ab, ct.numpy.array([4.0, 5.0]))
    Array([1., 2.], dtype=float32)
    """
    del overwrite_ab, overwrite_b, check_finite
    lower, upper = (static_count(x, "solve_banded") for x in l_and_u)
    bands, right = cnp.asarray(ab) * 1.0, cnp.asarray(b)
    dtype = cnp.result_type(bands, right)
    bands, right = bands.astype(dtype), right.astype(dtype)
    if (
        bands.ndim != 2
        or bands.shape[0] != lower + upper + 1
        or right.ndim not in (1, 2)
        or capacity(right, 0) != capacity(bands, 1)
    ):
        raise ShapeError(
            f"solve_banded takes diagonals [{lower + upper + 1}, n] for (l, u) = {(lower, upper)} and right-hand sides [n] or [n, k]; "
            f"got {bands.shape} and {right.shape}\n  give each diagonal a row of ab, the uppermost first"
        )
    if capacity(bands, 1) == 0:
        return right
    length = axis_size(bands, 1)
    if isinstance(length, Array):
        # Behind the system stand equations 1 x = 0 that nothing of it is in.
        rows, columns = cnp.arange(lower + upper + 1)[:, None], cnp.arange(capacity(bands, 1))
        bands = cnp.where(columns + rows - upper < length, without_padding(bands, [1]), 0)
        bands = cnp.where((rows == upper) & (columns >= length), 1, bands)
        return give_lengths(solve_banded((lower, upper), bands, without_padding(right, [0])), {0: length})
    columns = right if right.ndim == 2 else right[:, None]
    turned = _transposed(lower, upper, bands)
    solution: Array = custom_linear_solve(
        lambda x: _product(lower, upper, bands, x),
        columns,
        lambda _, y: _eliminated(lower, upper, bands, y),
        lambda _, y: _eliminated(upper, lower, turned, y),
    )
    return solution if right.ndim == 2 else solution[:, 0]


check_arguments(globals())
