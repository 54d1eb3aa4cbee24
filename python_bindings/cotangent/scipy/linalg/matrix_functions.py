"""Functions of matrices: expm, sqrtm, funm, and Sylvester's equation."""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable
from typing import Any

import cotangent.numpy as cnp
from cotangent import _core
from cotangent._base import primitives
from cotangent._base.arguments import check_arguments
from cotangent._base.capture import check_callable
from cotangent._base.words import check_word
from cotangent._core import Array
from cotangent._ops.binding import convert, kind
from cotangent._ops.extents import capacities, capacity
from cotangent._ops.matrices import adjoint, check_square, diagonal, identity, matrices, one_batch, to_complex
from cotangent._ops.sizes import axis_size
from cotangent._transforms.branches import cond
from cotangent._transforms.control_flow import scan
from cotangent._transforms.forward import jvp
from cotangent._transforms.rules_by_type import custom_jvp_by_type
from cotangent.lax import linalg as lax_linalg
from cotangent.numpy import linalg as cnp_linalg
from cotangent.numpy.linalg.systems import solve_matrices
from cotangent.scipy.linalg.spectral import rsf2csf
from cotangent.scipy.linalg.systems import solve_triangular

__all__ = ["expm", "expm_frechet", "funm", "solve_sylvester", "sqrtm"]

# The [7/7] and [13/13] Padé approximants of exp, and the norms up to which they are exact to single and double precision:
# Higham, "The scaling and squaring method for the matrix exponential revisited", 2005, table 2.3.
_PADE_SINGLE = (17297280.0, 8648640.0, 1995840.0, 277200.0, 25200.0, 1512.0, 56.0, 1.0)
_PADE_DOUBLE = (
    64764752532480000.0,
    32382376266240000.0,
    7771770303897600.0,
    1187353796428800.0,
    129060195264000.0,
    10559470521600.0,
    670442572800.0,
    33522128640.0,
    1323241920.0,
    40840800.0,
    960960.0,
    16380.0,
    182.0,
    1.0,
)
_SCALE_SINGLE, _SCALE_DOUBLE = 3.925724783138660, 5.371920351148152


def _pade(a: Array, double: bool) -> tuple[Array, Array]:
    """The odd and the even part of the approximant's numerator."""
    b = _PADE_DOUBLE if double else _PADE_SINGLE
    one = identity(a)
    powers = [one, cnp.matmul(a, a)]
    for _ in range(2):
        powers.append(cnp.matmul(powers[-1], powers[1]))

    def polynomial(first: int, least: int) -> Array:
        return functools.reduce(operator.add, [b[first + 2 * i] * powers[i] for i in range(least, 4)])

    odd, even = polynomial(1, 0), polynomial(0, 0)
    if double:
        odd = odd + cnp.matmul(powers[3], polynomial(7, 1))
        even = even + cnp.matmul(powers[3], polynomial(6, 1))
    return cnp.matmul(a, odd), even


@matrices()
def expm(A: Any, *, upper_triangular: bool = False, max_squarings: int = 16) -> Array:
    """The exponential of square matrices, by Padé approximants with scaling and squaring.

    Parameters
    ----------
    A : array, shape (..., n, n)
        Numbers.
    upper_triangular : bool
        Whether they are upper triangular.
    max_squarings : int
        How many squarings are made at most; matrices that would need more give NaN.

    Returns
    -------
    array, shape (..., n, n)
        The exponentials.

    Raises
    ------
    LinAlgError
        The matrices are not square.

    References
    ----------
    Nicholas J. Higham, "The scaling and squaring method for the matrix exponential revisited", 2005.

    Examples
    --------
    >>> ct.scipy.linalg.expm(ct.numpy.array([[0.0, 1.0], [0.0, 0.0]])).round(4)
    Array([[1., 1.],
           [0., 1.]], dtype=float32)
    """
    check_square(A, "expm")
    double = A.dtype.itemsize == (16 if kind(A) == "complex" else 8)
    size = cnp.max(cnp.sum(cnp.abs(A), -2), -1, initial=0)
    scale = _SCALE_DOUBLE if double else _SCALE_SINGLE
    wanted = cnp.ceil(cnp.log2(cnp.maximum(size / scale, 1)))
    squarings = wanted[..., None, None]
    odd, even = _pade(A * cnp.exp2(-cnp.minimum(squarings, max_squarings)).astype(A.dtype), double)
    if upper_triangular:
        result = solve_triangular(even - odd, even + odd)
    else:
        result = solve_matrices(even - odd, even + odd)

    def square(x: Array, i: Array) -> tuple[Array, None]:
        def squared(y: Array) -> Array:
            wanted: Array = cnp.where(i < squarings, cnp.matmul(y, y), y)
            return wanted

        return cond(cnp.any(i < squarings), squared, lambda y: y, x), None

    result, _ = scan(square, result, cnp.arange(max_squarings, dtype=squarings.dtype))
    return convert(cnp.where(squarings > max_squarings, math.nan, result), A.dtype)


def expm_frechet(
    A: Any, E: Any, *, method: str | None = None, compute_expm: bool = True
) -> Array | tuple[Array, Array]:
    """The derivative of `expm` at ``A`` in the direction ``E``.

    Parameters
    ----------
    A : array, shape (..., n, n)
        Numbers.
    E : array, shape (..., n, n)
        The direction.
    method : str, optional
        None, "SPS" or "blockEnlarge": ways to the same result, of which there is one here.
    compute_expm : bool
        Whether the exponential is wanted, too (the default).

    Returns
    -------
    (exponential, derivative), or derivative
        Matrices of the shape of ``A``.

    Raises
    ------
    LinAlgError
        The matrices are not square.
    ShapeError
        The shapes do not broadcast.
    ValueError
        There is no such method.

    References
    ----------
    Nicholas J. Higham, "Functions of Matrices", 2008, chapters 3 and 10.

    Examples
    --------
    >>> a, e = ct.numpy.zeros((2, 2)), ct.numpy.array([[1.0, 2.0], [3.0, 4.0]])
    >>> ct.scipy.linalg.expm_frechet(a, e, compute_expm=False).round(4)
    Array([[1., 2.],
           [3., 4.]], dtype=float32)
    """
    check_word("expm_frechet", "method", method, (None, "SPS", "blockEnlarge"))
    a, e = _core.promote([A, E], inexact=True)
    check_square(a, "expm_frechet")
    value, derivative = jvp(expm, (a,), (e,))
    return (value, derivative) if compute_expm else derivative


def by_columns(start: Array, columns: tuple[Array, ...], step: Callable[..., tuple[Array, Array]]) -> Array:
    """A matrix Y [..., m, n] column after column, each by an upper triangular system.

    Args:
        start: Y before the first step.
        columns: arrays [..., n] and [..., m, n], of which each step gets its column.
        step: ``(y, j, *columns) -> (matrix, right)``: column j solves ``matrix x = right``.
    """
    positions = cnp.arange(capacity(start, -1))

    def body(y: Array, item: tuple[Array, ...]) -> tuple[Array, None]:
        matrix, right = step(y, *item)
        column = lax_linalg.triangular_solve(matrix, right, left_side=True, lower=False)
        return cnp.where(positions == item[0], column[..., None], y), None

    y: Array = scan(body, start, (positions, *[cnp.moveaxis(c, -1, 0) for c in columns]))[0]
    return y


def schur_form(a: Array) -> tuple[Array, Array]:
    """The complex Schur form (T, Z); real eigenvalues of real matrices have no imaginary part that rounding made."""
    t, z = lax_linalg.schur(_core.promote([a], inexact=True)[0])
    return (t, z) if _core.kind(t) == "complex" else rsf2csf(t, z)


# Triangular roots are made of blocks: so many rows at least, and so many blocks along a side at most.
_ROWS_OF_BLOCK, _BLOCKS = 48, 6


def _solvable(matrix: Array, at: Array | bool = True) -> Array:
    """A triangular matrix with 1 for each 0 on its diagonal: a root that is 0 twice leaves 0 / 0, 0 where a square root exists."""
    rows = cnp.arange(capacity(matrix, -1))
    stuck = at & (diagonal(matrix) == 0)
    solvable: Array = cnp.where(stuck[..., None] & (rows[:, None] == rows), identity(matrix), matrix)
    return solvable


def _triangular_root(t: Array) -> Array:
    """R with R R = T, column by column: (R' + r_jj) r_j = t_j above the diagonal, with the columns R' before it."""
    rows, one = cnp.arange(capacity(t, -1)), identity(t)

    def step(r: Array, j: Array, t_column: Array, root: Array) -> tuple[Array, Array]:
        above = rows < j
        inside = cnp.where(above[:, None] & above, r + root[..., None, None] * one, one)
        right = cnp.where(above, t_column, cnp.where(rows == j, root[..., None], 0))
        return _solvable(inside, above), right

    r: Array = by_columns(cnp.zeros_like(t), (t, cnp.sqrt(diagonal(t))), step)
    return r


def _triangular_sylvester(a: Array, b: Array, c: Array) -> Array:
    """X with A X + X B = C of upper triangular A and B, column by column."""
    one = identity(a)

    def step(x: Array, _: Array, c_column: Array, b_column: Array, shift: Array) -> tuple[Array, Array]:
        right = c_column - cnp.matmul(x, b_column[..., None])[..., 0]
        return _solvable(a + shift[..., None, None] * one), right

    return by_columns(cnp.zeros_like(c), (c, cnp.triu(b, 1), diagonal(b)), step)


def _root_of_blocks(t: Array) -> Array:
    """The root of a triangular matrix: of the blocks on the diagonal, then from those of the diagonals next to it on."""
    n = capacity(t, -1)
    width = max(_ROWS_OF_BLOCK, -(-n // _BLOCKS))
    count = -(-n // width)
    if count < 2 or isinstance(axis_size(t, t.ndim - 1), Array):
        return _triangular_root(t)
    unused = [(0, 0)] * (t.ndim - 2) + [(0, count * width - n)] * 2
    padded = cnp.pad(t, unused) + cnp.diag(cnp.arange(count * width) >= n).astype(t.dtype)

    def block(i: int, j: int) -> Array:
        return padded[..., i * width : (i + 1) * width, j * width : (j + 1) * width]

    def apart(x: Array, number: int) -> list[Array]:
        return [x[i] for i in range(number)]

    roots = dict(enumerate(apart(_triangular_root(cnp.stack([block(i, i) for i in range(count)])), count)))
    r = {(i, i): root for i, root in roots.items()}
    for distance in range(1, count):
        pairs = [(i, i + distance) for i in range(count - distance)]
        rest = [block(i, j) - sum(cnp.matmul(r[i, k], r[k, j]) for k in range(i + 1, j)) for i, j in pairs]
        left, right = (cnp.stack([roots[pair[side]] for pair in pairs]) for side in (0, 1))
        r.update(zip(pairs, apart(_triangular_sylvester(left, right, cnp.stack(rest)), len(pairs)), strict=True))
    empty = cnp.zeros_like(roots[0])
    lines = [cnp.concatenate([r.get((i, j), empty) for j in range(count)], -1) for i in range(count)]
    return cnp.concatenate(lines, -2)[..., :n, :n]


@custom_jvp_by_type
def _sqrtm(a: Array) -> Array:
    t, z = schur_form(a)
    return cnp.matmul(cnp.matmul(z, _root_of_blocks(t)), adjoint(z))


@_sqrtm.defjvp
def _sqrtm_jvp(primals: tuple[Array], tangents: tuple[Array]) -> tuple[Array, Array]:
    """S dS + dS S = dA."""
    s = _sqrtm(primals[0])
    return s, primitives.sylvester(s, s, to_complex(tangents[0]))


@matrices()
def sqrtm(A: Any, blocksize: int = 1) -> Array:
    """The principal square root of square matrices, complex.

    The derivative needs eigenvalues that are not 0, and may coincide.

    Parameters
    ----------
    A : array, shape (..., n, n)
        Numbers.
    blocksize : int
        Only 1.

    Returns
    -------
    array, shape (..., n, n)
        The roots.

    Raises
    ------
    NotImplementedError
        Another block size is asked for.
    LinAlgError
        The matrices are not square.

    References
    ----------
    Åke Björck and Sven Hammarling, "A Schur method for the square root of a matrix", 1983.

    Examples
    --------
    >>> ct.scipy.linalg.sqrtm(ct.numpy.array([[4.0, 0.0], [0.0, 9.0]])).real.round(4)
    Array([[2., 0.],
           [0., 3.]], dtype=float32)
    """
    if blocksize > 1:
        raise NotImplementedError("sqrtm: blocks are not supported\n  leave blocksize at 1")
    check_square(A, "sqrtm")
    root: Array = _sqrtm(A)
    return root


@matrices()
def funm(A: Any, func: Callable[[Array], Any], disp: bool = True) -> Array | tuple[Array, Array]:
    """A function of square matrices, by Parlett's recurrence on a Schur form.

    Eigenvalues that coincide or nearly do make it inaccurate. There are no derivatives.

    Parameters
    ----------
    A : array, shape (..., n, n)
        Numbers.
    func : callable
        The function of numbers, applied to an array of complex eigenvalues.
    disp : bool
        Whether only the result is wanted (the default), without an estimate of its relative error in the 1-norm.

    Returns
    -------
    array, shape (..., n, n), or (array, array)
        The function, complex; without ``disp`` and the estimate.

    Raises
    ------
    LinAlgError
        The matrices are not square.

    References
    ----------
    Beresford N. Parlett, "A recurrence among the elements of functions of triangular matrices", 1976.

    Examples
    --------
    >>> ct.scipy.linalg.funm(ct.numpy.array([[1.0, 1.0], [0.0, 2.0]]), lambda x: x * x).real.round(4)
    Array([[1., 3.],
           [0., 4.]], dtype=float32)
    """
    check_callable(func, "funm")
    check_square(A, "funm")
    t, z = schur_form(A)
    eigenvalues = diagonal(t)
    values = to_complex(cnp.asarray(func(eigenvalues)))
    rows = cnp.arange(capacity(t, -1))
    one = identity(t)

    # From T F = F T, above the diagonal in column j: (T' - t_jj) f_j = F' t_j - t_j f_jj.
    def step(f: Array, j: Array, t_column: Array, shift: Array, value: Array) -> tuple[Array, Array]:
        above = rows < j
        inside = cnp.where(above[:, None] & above, t - shift[..., None, None] * one, one)
        outer = cnp.where(above, t_column, 0)
        right = cnp.matmul(f, outer[..., None])[..., 0] - outer * value[..., None]
        return inside, cnp.where(above, right, cnp.where(rows == j, value[..., None], 0))

    f = by_columns(cnp.zeros_like(t), (t, eigenvalues, values), step)
    result = cnp.matmul(cnp.matmul(z, f), adjoint(z))
    if disp:
        return result
    epsilon = float(cnp.finfo(t.dtype).eps)
    gaps = cnp.abs(eigenvalues[..., :, None] - eigenvalues[..., None, :])
    least = cnp.min(cnp.where(rows[:, None] == rows, math.inf, gaps), (-2, -1), initial=math.inf)
    least = cnp.where(least == 0, epsilon, least)
    error = cnp.maximum(epsilon, epsilon / least * cnp_linalg.matrix_norm(cnp.triu(t, 1), ord=1))
    return result, cnp.where(cnp.any(cnp.isinf(result), (-2, -1)), math.inf, cnp.minimum(1.0, error))


@matrices(3)
def solve_sylvester(A: Any, B: Any, C: Any, *, method: str = "schur", tol: float = 1e-8) -> Array:
    """The matrix X with ``A X + X B = C``.

    Parameters
    ----------
    A : array, shape (..., m, m)
        Numbers.
    B : array, shape (..., n, n)
        Numbers.
    C : array, shape (..., m, n)
        Numbers.
    method : str
        "schur" or "eigen"; Schur forms are used for both.
    tol : float
        Where an eigenvalue of ``A`` and one of ``-B`` are closer than this, the result is NaN.

    Returns
    -------
    array, shape (..., m, n)
        X.

    Raises
    ------
    ValueError
        The shapes do not fit, or there is no such method.

    References
    ----------
    Richard H. Bartels and George W. Stewart, "Solution of the matrix equation AX + XB = C", 1972.

    Examples
    --------
    >>> ct.scipy.linalg.solve_sylvester(ct.numpy.array([[2.0]]), ct.numpy.array([[3.0]]), ct.numpy.array([[10.0]]))
    Array([[2.]], dtype=float32)
    """
    check_word("solve_sylvester", "method", method, ("schur", "eigen"))
    check_square(A, "solve_sylvester")
    check_square(B, "solve_sylvester")
    if C.ndim < 2 or capacities(C)[-2:] != (capacity(A, -1), capacity(B, -1)):
        raise ValueError(
            f"solve_sylvester: the shapes {A.shape}, {B.shape} and {C.shape} do not fit\n"
            "  A must be (m, m), B (n, n) and C (m, n): transpose or cut C"
        )
    a, b, c = one_batch((A, 2), (B, 2), (C, 2))
    x = primitives.sylvester(a, b, c)
    sums = cnp_linalg.eigvals(a)[..., :, None] + cnp_linalg.eigvals(b)[..., None, :]
    close = cnp.any(cnp.abs(sums) < tol, (-2, -1), keepdims=True)
    return convert(cnp.where(close, math.nan, x), C.dtype)


check_arguments(globals())
