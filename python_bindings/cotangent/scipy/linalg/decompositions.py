"""Factorisations with SciPy's arguments and results."""

from __future__ import annotations

from typing import Any

import cotangent.numpy as cnp
from cotangent._base.arguments import check_arguments
from cotangent._base.words import check_word
from cotangent._core import Array
from cotangent._ops.extents import capacities, capacity
from cotangent._ops.matrices import check_matrix, check_square, matrices
from cotangent.lax import linalg as lax_linalg
from cotangent.scipy.linalg.systems import _cholesky

__all__ = ["cholesky", "lu", "qr", "qr_multiply", "svd"]


@matrices()
def cholesky(a: Any, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True) -> Array:
    """The triangular factor of Hermitian positive definite matrices: upper, ``R^H R``, or lower, ``L L^H``.

    Parameters
    ----------
    a : array, shape (..., n, n)
        Hermitian, positive definite; else the result is NaN.
    lower : bool
        Which triangle is read, and which the factor is; by default the upper one.
    overwrite_a, check_finite : optional
        Accepted for SciPy's signature: nothing is overwritten, and NaN is computed with.

    Returns
    -------
    array, shape (..., n, n)
        The factor.

    Raises
    ------
    LinAlgError
        The matrices are not square.

    References
    ----------
    Gene H. Golub and Charles F. Van Loan, "Matrix Computations", 4th edition, 2013, section 4.2.

    Examples
    --------
    >>> ct.scipy.linalg.cholesky(ct.numpy.array([[4.0, 2.0], [2.0, 5.0]]))
    Array([[2., 1.],
           [0., 2.]], dtype=float32)
    """
    del overwrite_a, check_finite
    check_square(a, "cholesky")
    return _cholesky(a, lower)


@matrices()
def svd(
    a: Any,
    full_matrices: bool = True,
    compute_uv: bool = True,
    overwrite_a: bool = False,
    check_finite: bool = True,
    lapack_driver: str = "gesdd",
) -> Array | tuple[Array, Array, Array]:
    """The singular values of matrices, and their singular vectors; see `cotangent.numpy.linalg.svd`.

    Parameters
    ----------
    a : array, shape (..., m, n)
        Numbers.
    full_matrices : bool
        Whether U and V are square (the default).
    compute_uv : bool
        Whether U and V are wanted (the default).
    overwrite_a, check_finite : optional
        Accepted for SciPy's signature: nothing is overwritten, and NaN is computed with.
    lapack_driver : str
        "gesdd" or "gesvd": ways to the same result, of which there is one here.

    Returns
    -------
    (U, s, V^H), or s
        ``a = U diag(s) V^H``; the singular values descend.

    Raises
    ------
    ValueError
        There is no such driver.

    References
    ----------
    Gene H. Golub and Charles F. Van Loan, "Matrix Computations", 4th edition, 2013, section 8.6.

    Examples
    --------
    >>> ct.scipy.linalg.svd(ct.numpy.array([[3.0, 0.0], [4.0, 5.0]]), compute_uv=False).round(4)
    Array([6.7082, 2.2361], dtype=float32)
    """
    del overwrite_a, check_finite
    check_word("svd", "lapack_driver", lapack_driver, ("gesdd", "gesvd"))
    check_matrix(a, "svd")
    return lax_linalg.svd(a, full_matrices=full_matrices, compute_uv=compute_uv)


@matrices()
def lu(
    a: Any, permute_l: bool = False, overwrite_a: bool = False, check_finite: bool = True
) -> tuple[Array, Array] | tuple[Array, Array, Array]:
    """The factors of ``a = P L U``, by elimination with partial pivoting.

    Parameters
    ----------
    a : array, shape (..., m, n)
        Numbers.
    permute_l : bool
        Whether P and L are wanted as their product.
    overwrite_a, check_finite : optional
        Accepted for SciPy's signature: nothing is overwritten, and NaN is computed with.

    Returns
    -------
    (P, L, U), or (P L, U)
        P is a permutation, the diagonal of L is 1.

    References
    ----------
    Gene H. Golub and Charles F. Van Loan, "Matrix Computations", 4th edition, 2013, section 3.4.

    Examples
    --------
    >>> p, l, u = ct.scipy.linalg.lu(ct.numpy.array([[1.0, 2.0], [4.0, 4.0]]))
    >>> l.tolist(), u.tolist()
    ([[1.0, 0.0], [0.25, 1.0]], [[4.0, 4.0], [0.0, 1.0]])
    """
    del overwrite_a, check_finite
    check_matrix(a, "lu")
    m, n = capacities(a)[-2:]
    k = min(m, n)
    factors, _, order = lax_linalg.lu(a)
    lower = cnp.tril(factors[..., :k], -1) + cnp.eye(m, k, dtype=a.dtype)
    upper = cnp.triu(factors[..., :k, :])
    rows = cnp.arange(a.shape[-2], dtype="int32")
    permutation = cnp.real((order[..., None, :] == rows[:, None]).astype(a.dtype))
    if permute_l:
        return cnp.matmul(permutation.astype(a.dtype), lower), upper
    return permutation, lower, upper


@matrices()
def qr(
    a: Any,
    overwrite_a: bool = False,
    lwork: Any = None,
    mode: str = "full",
    pivoting: bool = False,
    check_finite: bool = True,
) -> tuple[Array, ...]:
    """The factors of ``a = Q R``, Q with orthonormal columns and R upper triangular.

    Parameters
    ----------
    a : array, shape (..., m, n)
        Numbers.
    overwrite_a, lwork : optional
        Accepted for SciPy's signature: nothing is overwritten.
    mode : str
        "full" (the default), "economic" for a Q of min(m, n) columns, or "r" for R without Q.
    pivoting : bool
        Whether columns are reordered so that the magnitudes on the diagonal of R descend.
    check_finite : bool
        Accepted for SciPy's signature: NaN is computed with.

    Returns
    -------
    (Q, R), (R,), or with the order
        With ``pivoting`` the order of the columns is last.

    Raises
    ------
    ValueError
        The mode is none of these.

    References
    ----------
    Gene H. Golub and Charles F. Van Loan, "Matrix Computations", 4th edition, 2013, section 5.2.

    Examples
    --------
    >>> (r,) = ct.scipy.linalg.qr(ct.numpy.array([[3.0, 1.0], [4.0, 2.0]]), mode="r")
    >>> ct.numpy.abs(r).round(4)
    Array([[5. , 2.2],
           [0. , 0.4]], dtype=float32)
    """
    del overwrite_a, lwork, check_finite
    check_matrix(a, "qr")
    check_word("qr", "mode", mode, ("full", "economic", "r"))
    results: tuple[Array, ...] = lax_linalg.qr(a, pivoting=pivoting, full_matrices=mode != "economic")
    return results[1:] if mode == "r" else results


@matrices(2)
def qr_multiply(
    a: Any,
    c: Any,
    mode: str = "right",
    pivoting: bool = False,
    conjugate: bool = False,
    overwrite_a: bool = False,
    overwrite_c: bool = False,
) -> tuple[Array, ...]:
    """The product with the Q of ``a = Q R``: ``c Q`` or ``Q c``.

    Parameters
    ----------
    a : array, shape (..., m, n)
        Numbers.
    c : array, shape (..., p, m) or (m,)
        For "left" (..., min(m, n), p) or (min(m, n),).
    mode : str
        "right" (the default) for ``c Q``, "left" for ``Q c``.
    pivoting : bool
        Whether columns of ``a`` are reordered.
    conjugate : bool
        Whether Q is conjugated.
    overwrite_a, overwrite_c : bool
        Accepted for SciPy's signature: nothing is overwritten.

    Returns
    -------
    (product, R), or (product, R, order)
        With ``pivoting`` the order of the columns.

    Raises
    ------
    ValueError
        The mode is unknown, or the shapes do not fit.

    References
    ----------
    Gene H. Golub and Charles F. Van Loan, "Matrix Computations", 4th edition, 2013, section 5.2.

    Examples
    --------
    >>> product, r = ct.scipy.linalg.qr_multiply(ct.numpy.array([[3.0, 1.0], [4.0, 2.0]]), ct.numpy.array([5.0, 0.0]))
    >>> ct.numpy.abs(product).round(4)
    Array([3., 4.], dtype=float32)
    """
    del overwrite_a, overwrite_c
    check_word("qr_multiply", "mode", mode, ("right", "left"))
    vector = c.ndim == 1
    other = (c[:, None] if mode == "left" else c[None, :]) if vector else c
    q, *rest = lax_linalg.qr(a, pivoting=pivoting, full_matrices=False)
    q = cnp.conj(q) if conjugate else q
    have, want = (
        (capacity(other, -2), capacity(q, -1))
        if mode == "left"
        else (
            capacity(other, -1),
            capacity(q, -2),
        )
    )
    if have != want:
        raise ValueError(
            f"qr_multiply: c of shape {c.shape} does not fit Q of shape {q.shape}\n"
            f"  the product is {'Q @ c' if mode == 'left' else 'c @ Q'}: transpose c, or pass mode={'right' if mode == 'left' else 'left'!r}"
        )
    product = cnp.matmul(q, other) if mode == "left" else cnp.matmul(other, q)
    return (cnp.ravel(product) if vector else product), *rest


check_arguments(globals())
