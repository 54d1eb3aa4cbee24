"""Norms of vectors and matrices, condition numbers and ranks.

Norms that are roots of sums have gradient 0 at 0, where they are not differentiable.
"""

from __future__ import annotations

import math
from typing import Any

from cotangent import _ops as ops
from cotangent._base import primitives
from cotangent._base.arguments import check_arguments
from cotangent._core import Array
from cotangent._ops.binding import convert, kind, literal, real_dtype
from cotangent._ops.extents import capacities, stretched
from cotangent._ops.matrices import check_matrix, check_square, matrices
from cotangent._ops.sizes import insert_axes, keep_axes, normalize_axes, normalize_axis, several
from cotangent._transforms.custom_rules import custom_jvp
from cotangent.numpy.linalg.decompositions import svd, svdvals
from cotangent.numpy.linalg.systems import default_cutoff, inv

__all__ = ["cond", "matrix_norm", "matrix_rank", "norm", "vector_norm"]


def _sum_of_squares(x: Array, axes: list[int], factor: float = 1.0) -> Array:
    parts = [part(x) for part in (primitives.real, primitives.imag)] if kind(x) == "complex" else [x]
    scaled = [part if factor == 1 else part * literal(part, factor) for part in parts]
    squares = [part * part for part in scaled]
    return primitives.reduce_sum(squares[0] if len(squares) == 1 else squares[0] + squares[1], axes=axes)


# Below which a sum of float64's squares has lost digits of what it sums; and powers of 2 that bring small and large numbers'
# squares into the range of the dtype.
_LEAST, _GROWTH, _SHRINKAGE = 2.0**-900, 2.0**563, 2.0**-600


def _root(x: Array, axes: list[int]) -> Array:
    """The root of the sum of squares, where these overflow and underflow as well.

    Squares of float32 have room in float64; of float64 there are three sums, of numbers as they are, made larger, and made smaller. There
    is no branch: the sums fuse with what computes the numbers, which then need no memory.
    """
    if x.dtype.itemsize == (8 if kind(x) == "complex" else 4):
        wide = convert(x, "complex128" if kind(x) == "complex" else "float64")
        return convert(ops.sqrt(_sum_of_squares(wide, axes)), "float32")
    squares = _sum_of_squares(x, axes)
    small = ops.sqrt(_sum_of_squares(x, axes, _GROWTH)) / _GROWTH
    large = ops.sqrt(_sum_of_squares(x, axes, _SHRINKAGE)) / _SHRINKAGE
    root: Array = ops.where(squares < _LEAST, small, ops.where(squares == math.inf, large, ops.sqrt(squares)))
    return root


def _over(x: Array, size: Array) -> Array:
    """``x / size`` for real sizes, and 0 where ``x`` is 0."""
    if kind(x) == "complex":
        return primitives.complex(*(_over(part(x), size) for part in (primitives.real, primitives.imag)))
    return primitives.div_no_nan(x, size)


def _root_of_squares(x: Array, axis: Any, keepdims: bool) -> Array:
    if kind(x) == "float" and x.dtype.itemsize < 4:
        return convert(_root_of_squares(convert(x, "float32"), axis, keepdims), x.dtype)
    axes = normalize_axes(axis, x.ndim, "norm")
    root = custom_jvp(lambda x: _root(x, axes))

    # Not through the squares, which may overflow and underflow. Zero is divided by a norm of 0 to zero; that quotient's own
    # derivative is infinite there.
    def rule(primals: tuple[Array], tangents: tuple[Array]) -> tuple[Array, Array]:
        (x,), (tangent,) = primals, tangents
        result = root(x)
        unit = _over(x, stretched(insert_axes(result, axes), x))
        if kind(x) == "complex":
            product = primitives.real(primitives.conj(unit) * tangent)
        else:
            product = unit * tangent
        return result, primitives.reduce_sum(product, axes=axes)

    root.defjvp(rule)
    result: Array = root(x)
    return keep_axes(result, x, axes) if keepdims else result


def _of_vectors(x: Array, ord: Any, axis: Any, keepdims: bool) -> Array:
    if ord is None or ord == 2:
        return _root_of_squares(x, axis, keepdims)
    if isinstance(ord, str):
        largest = "use ord=math.inf for the largest absolute value"
        hint = largest if "inf" in ord else "give a number, such as ord=1; 'fro' and 'nuc' are of matrices"
        raise ValueError(f"norm: {ord!r} is no order of a vector norm\n  {hint}")
    size = ops.abs(x)
    if ord == math.inf:
        return ops.max(size, axis, keepdims=keepdims, initial=0)
    if ord == -math.inf:
        return ops.min(size, axis, keepdims=keepdims)
    if ord == 0:
        return ops.sum((x != 0).astype(size.dtype), axis, keepdims=keepdims)
    if ord == 1:
        return ops.sum(size, axis, keepdims=keepdims)
    # Of the powers of the scaled numbers the largest is 1 and the others are less; the result does not depend on the scale.
    extreme = (
        ops.max(size, axis, keepdims=True, initial=0)
        if ord > 0
        else ops.min(size, axis, keepdims=True, initial=math.inf)
    )
    scale = primitives.stop_gradient(extreme)
    scale = ops.where((scale > 0) & (scale < math.inf), scale, 1)
    total = ops.sum((size / scale) ** ord, axis, keepdims=True)
    if abs(ord) >= 1:
        root: Array = total ** (1.0 / ord) * scale
    else:
        # The power may be out of the dtype's range where its product with the scale is in it; its root is not.
        half = total ** (0.5 / ord)
        root = half * scale * half
    return root if keepdims else ops.squeeze(root, axis)


def _of_matrices(x: Array, ord: Any, rows: int, columns: int, keepdims: bool) -> Array:
    if ord is None or ord in ("f", "fro"):
        return _root_of_squares(x, (rows, columns), keepdims)
    if ord in (1, -1, math.inf, -math.inf):
        summed, folded = (rows, columns) if ord in (1, -1) else (columns, rows)
        sums = ops.sum(ops.abs(x), summed, keepdims=True)
        result = ops.max(sums, folded, keepdims=True, initial=0) if ord > 0 else ops.min(sums, folded, keepdims=True)
        return result if keepdims else ops.squeeze(result, (rows, columns))
    if ord in ("nuc", 2, -2):
        s = svdvals(ops.moveaxis(x, (rows, columns), (-2, -1)))
        result = ops.sum(s, -1) if ord == "nuc" else ops.max(s, -1, initial=0) if ord == 2 else ops.min(s, -1)
        return keep_axes(result, x, sorted((rows, columns))) if keepdims else result
    raise ValueError(
        f"norm: {ord!r} is no order of a matrix norm\n  the orders are 'fro', 'nuc', 1, -1, 2, -2, math.inf and -math.inf"
    )


@matrices()
def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Array:
    """The norm of vectors or matrices.

    Norms that are roots of sums do not overflow, and have gradient 0 at 0.

    Parameters
    ----------
    x : array
        Real or complex.
    ord : number or str, optional
        Of vectors any number: 2 (None), inf, -inf, 0 (how many are not 0), or p for the p-th root of the sum of p-th
        powers; of matrices ``"fro"`` (None), ``"nuc"``, 1, -1, 2, -2, inf, -inf.
    axis : int, two ints or None, default None
        One axis of vectors, two of matrices. None: all; with ``ord`` None of any number of axes.
    keepdims : bool, default False
        Whether reduced axes stay, with size 1.

    Returns
    -------
    array
        Real, without the reduced axes.

    Raises
    ------
    ValueError
        There is no such order, or the number of axes does not fit.

    Examples
    --------
    >>> ct.numpy.linalg.norm([3.0, 4.0])
    Array(5., dtype=float32)

    >>> ct.grad(ct.numpy.linalg.norm)(np.zeros(2, np.float32))
    Array([0., 0.], dtype=float32)
    """
    if axis is None and ord is None:
        return _root_of_squares(x, None, keepdims)
    items = range(x.ndim) if axis is None else axis if several(axis) else (axis,)
    axes = [normalize_axis(item, x.ndim, "norm") for item in items]
    if len(axes) == 1:
        return _of_vectors(x, ord, axes[0], keepdims)
    if len(axes) != 2:
        raise ValueError(
            f"norm takes one axis of vectors or two of matrices; got {axis!r} for shape {x.shape}\n"
            "  name the axes, norm(x, axis=-1), or take all elements as a vector: norm(x.ravel())"
        )
    if axes[0] == axes[1]:
        raise ValueError(f"norm: the axes of matrices must differ; got {axis!r}\n  name two axes: axis=(0, 1)")
    return _of_matrices(x, ord, axes[0], axes[1], keepdims)


@matrices()
def vector_norm(x: Any, /, *, axis: Any = None, keepdims: bool = False, ord: Any = 2) -> Array:
    """The norm of vectors along one or several axes, or of all elements.

    Parameters
    ----------
    x : array
        Real or complex.
    axis : int, sequence of int or None, default None
        The axes of the vectors. None: all.
    keepdims : bool, default False
        Whether reduced axes stay, with size 1.
    ord : number, default 2
        As of `norm`.

    Returns
    -------
    array
        Real, without the reduced axes.

    Raises
    ------
    ValueError
        There is no such order.

    Examples
    --------
    >>> ct.numpy.linalg.vector_norm(ct.numpy.array([[3.0, 4.0], [0.0, 2.0]]), axis=1)
    Array([5., 2.], dtype=float32)
    """
    axes = tuple(axis) if several(axis) else axis
    return _of_vectors(x, ord, axes, keepdims)


@matrices()
def matrix_norm(x: Any, /, *, keepdims: bool = False, ord: Any = "fro") -> Array:
    """The norm of matrices.

    Parameters
    ----------
    x : array, shape (..., m, n)
        The matrices.
    keepdims : bool, default False
        Whether the last two axes stay, with size 1.
    ord : number or str, default "fro"
        As of `norm`.

    Returns
    -------
    array, shape (...)
        Real.

    Raises
    ------
    LinAlgError
        There are fewer than two axes.
    ValueError
        There is no such order.

    Examples
    --------
    >>> ct.numpy.linalg.matrix_norm(ct.numpy.array([[1.0, -2.0], [3.0, 4.0]]), ord=1)
    Array(6., dtype=float32)
    """
    check_matrix(x, "matrix_norm")
    return _of_matrices(x, ord, x.ndim - 2, x.ndim - 1, keepdims)


@matrices()
def cond(x: Any, p: Any = None) -> Array:
    """The condition number: the norm of matrices times that of their inverses.

    Parameters
    ----------
    x : array, shape (..., m, n)
        The matrices; square unless ``p`` is None, 2 or -2.
    p : number or str, optional
        The order of the norm, as of `norm`. None: 2.

    Returns
    -------
    array, shape (...)
        Real; infinite where a matrix is singular.

    Raises
    ------
    LinAlgError
        The matrices have no elements, or are not square.

    Examples
    --------
    >>> ct.numpy.linalg.cond([[4.0, 0.0], [0.0, 2.0]])
    Array(2., dtype=float32)
    """
    check_matrix(x, "cond")
    if 0 in capacities(x)[-2:]:
        check_square(x[..., :0, :1], "cond (of matrices without elements)")
    if p is None or p in (2, -2):
        s = svdvals(x)
        largest, least = ops.max(s, -1), ops.min(s, -1)
        result = least / largest if p == -2 else largest / least
    else:
        check_square(x, "cond")
        result = matrix_norm(x, ord=p) * matrix_norm(inv(x), ord=p)
    undefined = ops.isnan(result) & ~ops.any(ops.isnan(x), (-2, -1))
    return convert(ops.where(undefined, math.inf, result), result.dtype)


def matrix_rank(M: Any, rtol: Any = None, *, hermitian: bool = False, tol: Any = None) -> Array:
    """How many singular values of matrices count as different from 0.

    Parameters
    ----------
    M : array, shape (..., m, n) or (n,)
        The matrices, or a vector.
    rtol : array, optional
        Those above ``rtol`` count. None: those above max(m, n) times the precision times the largest.
    hermitian : bool, default False
        Whether the matrices are Hermitian.
    tol : array, optional
        Another name of ``rtol``.

    Returns
    -------
    array of int, shape (...)
        The ranks.

    Raises
    ------
    ValueError
        Both ``rtol`` and ``tol`` are given.

    Examples
    --------
    >>> ct.numpy.linalg.matrix_rank([[1.0, 2.0], [2.0, 4.0]])
    Array(1, dtype=int32)
    """
    if tol is not None and rtol is not None:
        raise ValueError("matrix_rank: rtol and tol are two bounds of one thing\n  give one of them")
    return _rank(M, rtol if tol is None else tol, hermitian)


@matrices()
def _rank(x: Any, limit: Any, hermitian: bool) -> Array:
    if x.ndim < 2:
        return ops.any(x != 0).astype("int32")
    s = svd(x, full_matrices=False, compute_uv=False, hermitian=hermitian)
    if limit is None:
        limit = default_cutoff(x, 1.0) * ops.max(s, -1, initial=0)
    return ops.sum(s > ops.asarray(limit).astype(real_dtype(x.dtype))[..., None], -1)


check_arguments(globals())
