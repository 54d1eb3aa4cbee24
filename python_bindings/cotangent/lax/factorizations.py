"""Factorisations of matrices, of which lax.linalg is made."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cotangent._base import primitives
from cotangent._base.arguments import check_arguments
from cotangent._core import Array
from cotangent._ops.matrices import matrices, symmetrized
from cotangent.lax._operands import check_square

__all__ = ["cholesky", "eig", "eigh", "lu", "qr", "schur", "svd"]

# ---- Factorisations --------------------------------------------------------------------------------------------------


@matrices(1, promote=False)
def cholesky(x: Any, *, symmetrize_input: bool = True) -> Array:
    """The lower triangular L with ``x = L L^H``, of Hermitian positive definite matrices.

    Parameters
    ----------
    x : array, shape (..., n, n)
        float32, float64, complex64 or complex128.
    symmetrize_input : bool
        Whether to take the Hermitian part of ``x`` first; else only its lower triangle counts, for the value and
        for derivatives.

    Returns
    -------
    array, shape (..., n, n)
        L; NaN in the triangle where ``x`` is not positive definite.

    References
    ----------
    Gene H. Golub and Charles F. Van Loan, "Matrix Computations", 4th edition, 2013, section 4.2.

    Examples
    --------
    >>> ct.lax.linalg.cholesky(ct.numpy.array([[4.0, 2.0], [2.0, 5.0]]))
    Array([[2., 0.],
           [1., 2.]], dtype=float32)
    """
    check_square("cholesky", x)
    return primitives.cholesky(symmetrized(x) if symmetrize_input else x)


@matrices(1, promote=False)
def lu(x: Any) -> tuple[Array, Array, Array]:
    """The factors of ``x[permutation] = L U``, by elimination with partial pivoting.

    Parameters
    ----------
    x : array, shape (..., m, n)
        float32, float64, complex64 or complex128.

    Returns
    -------
    lu : array, shape (..., m, n)
        U, and below its diagonal L, whose diagonal is 1.
    pivots : array of int32, shape (..., min(m, n))
        Row i was exchanged with row ``pivots[i]``, one after the other.
    permutation : array of int32, shape (..., m)
        The order of the rows that comes of it.

    References
    ----------
    Gene H. Golub and Charles F. Van Loan, "Matrix Computations", 4th edition, 2013, section 3.4.

    Examples
    --------
    >>> factors, pivots, permutation = ct.lax.linalg.lu(ct.numpy.array([[1.0, 2.0], [4.0, 4.0]]))
    >>> factors.tolist(), permutation.tolist()
    ([[4.0, 4.0], [0.25, 1.0]], [1, 0])
    """
    factors, pivots, permutation = primitives.lu(x)
    return factors, pivots, permutation


@matrices(1, promote=False)
def qr(
    x: Any, *, pivoting: bool = False, full_matrices: bool = True, use_magma: bool | None = None
) -> tuple[Array, Array] | tuple[Array, Array, Array]:
    """The factors of ``x = Q R``, Q with orthonormal columns and R upper triangular.

    Parameters
    ----------
    x : array, shape (..., m, n)
        float32, float64, complex64 or complex128.
    pivoting : bool
        Whether to reorder the columns of ``x`` so that the magnitudes on the diagonal of R descend.
    full_matrices : bool
        Whether Q is (..., m, m) rather than (..., m, min(m, n)).
    use_magma : bool, optional
        Whether another library may compute it; the result is the same.

    Returns
    -------
    (Q, R), or (Q, R, order)
        With ``pivoting`` the order of the columns, int32.

    References
    ----------
    Gene H. Golub and Charles F. Van Loan, "Matrix Computations", 4th edition, 2013, section 5.2.

    Examples
    --------
    >>> q, r = ct.lax.linalg.qr(ct.numpy.array([[3.0, 1.0], [4.0, 2.0]]))
    >>> ct.numpy.abs(r).round(4)
    Array([[5. , 2.2],
           [0. , 0.4]], dtype=float32)
    """
    del use_magma
    return tuple(primitives.qr(x, full_matrices=full_matrices, pivoting=pivoting))  # type: ignore[return-value]


@matrices(1, promote=False)
def svd(
    x: Any,
    *,
    full_matrices: bool = True,
    compute_uv: bool = True,
    subset_by_index: tuple[int, int] | None = None,
    algorithm: Any = None,
) -> Array | tuple[Array, Array, Array]:
    """The singular values of matrices, and their singular vectors: the factors of ``x = U diag(s) V^H``.

    Derivatives of U and V are infinite or NaN where singular values coincide; those of s are not.

    Parameters
    ----------
    x : array, shape (..., m, n)
        float32, float64, complex64 or complex128.
    full_matrices : bool
        Whether U and V are square.
    compute_uv : bool
        Whether U and V are wanted.
    subset_by_index : (int, int), optional
        The first index and the one behind the last of the singular values that are wanted.
    algorithm : optional
        One of several ways to the same result; there is one here.

    Returns
    -------
    (U, s, V^H), or s
        The singular values descend.

    Raises
    ------
    ValueError
        ``subset_by_index`` is given with square U and V.

    References
    ----------
    Gene H. Golub and Charles F. Van Loan, "Matrix Computations", 4th edition, 2013, section 8.6.

    Examples
    --------
    >>> ct.lax.linalg.svd(ct.numpy.array([[3.0, 0.0], [4.0, 5.0]]), compute_uv=False).round(4)
    Array([6.7082, 2.2361], dtype=float32)
    """
    del algorithm
    if subset_by_index is not None and full_matrices and compute_uv:
        raise ValueError(
            "svd: subset_by_index needs full_matrices=False, or compute_uv=False\n  pass full_matrices=False"
        )
    results = primitives.svd(x, full_matrices=full_matrices, compute_uv=compute_uv)
    subset = slice(None) if subset_by_index is None else slice(*subset_by_index)
    if not compute_uv:
        return results[0][..., subset]
    s, u, vh = results
    if subset_by_index is None:
        return u, s, vh
    return u[..., :, subset], s[..., subset], vh[..., subset, :]


@matrices(1, promote=False)
def eigh(
    x: Any,
    *,
    lower: bool = True,
    symmetrize_input: bool = True,
    sort_eigenvalues: bool = True,
    subset_by_index: tuple[int, int] | None = None,
    implementation: Any = None,
) -> tuple[Array, Array]:
    """The eigenvalues, ascending, and eigenvectors of Hermitian matrices.

    Derivatives of the vectors are infinite or NaN where eigenvalues coincide; those of the values are not.

    Parameters
    ----------
    x : array, shape (..., n, n)
        float32, float64, complex64 or complex128.
    lower : bool
        Which triangle is read, when the input is not symmetrized.
    symmetrize_input : bool
        Whether to take the Hermitian part of ``x`` first.
    sort_eigenvalues : bool
        Accepted for JAX's signature: they always are sorted.
    subset_by_index : (int, int), optional
        The first index and the one behind the last of the eigenvalues that are wanted.
    implementation : optional
        One of several ways to the same result; there is one here.

    Returns
    -------
    v : array, shape (..., n, n)
        The eigenvectors, as columns of length 1.
    w : array, shape (..., n)
        The eigenvalues, real.

    References
    ----------
    Gene H. Golub and Charles F. Van Loan, "Matrix Computations", 4th edition, 2013, chapter 8.

    Examples
    --------
    >>> v, w = ct.lax.linalg.eigh(ct.numpy.array([[2.0, 1.0], [1.0, 2.0]]))
    >>> w.round(4)
    Array([1., 3.], dtype=float32)
    """
    del sort_eigenvalues, implementation
    check_square("eigh", x)
    matrix = symmetrized(x) if symmetrize_input else x
    w, v = primitives.eigh(matrix, lower=lower, compute_vectors=True)
    if subset_by_index is None:
        return v, w
    subset = slice(*subset_by_index)
    return v[..., :, subset], w[..., subset]


@matrices(1, promote=False)
def eig(
    x: Any,
    *,
    compute_left_eigenvectors: bool = True,
    compute_right_eigenvectors: bool = True,
    enable_eigvec_derivs: bool = False,
    implementation: Any = None,
    use_magma: bool | None = None,
) -> list[Array]:
    """The eigenvalues of square matrices, then left and right eigenvectors where wanted, all complex.

    Eigenvectors have length 1 and a real largest component; their sign is LAPACK's and may jump from one matrix to
    the next. Derivatives exist where eigenvalues differ; elsewhere they are infinite or NaN.

    Parameters
    ----------
    x : array, shape (..., n, n)
        float32, float64, complex64 or complex128.
    compute_left_eigenvectors : bool
        Whether the vectors u with ``u^H x = w u^H`` are wanted.
    compute_right_eigenvectors : bool
        Whether the vectors v with ``x v = w v`` are wanted.
    enable_eigvec_derivs : bool
        Accepted for JAX's signature: eigenvectors always have derivatives.
    implementation : optional
        One of several ways to the same result; there is one here.
    use_magma : bool, optional
        Whether another library may compute it; the result is the same.

    Returns
    -------
    list of array
        The eigenvalues (..., n), then matrices (..., n, n) with the vectors as columns.

    References
    ----------
    Gene H. Golub and Charles F. Van Loan, "Matrix Computations", 4th edition, 2013, chapter 7.

    Examples
    --------
    >>> w, v = ct.lax.linalg.eig(ct.numpy.array([[2.0, 1.0], [0.0, 3.0]]), compute_left_eigenvectors=False)
    >>> w.round(4)
    Array([2.+0.j, 3.+0.j], dtype=complex64)
    """
    del enable_eigvec_derivs, implementation, use_magma
    return primitives.eig(x, left=compute_left_eigenvectors, right=compute_right_eigenvectors)


@matrices(1, promote=False)
def schur(
    x: Any,
    *,
    compute_schur_vectors: bool = True,
    sort_eig_vals: bool = False,
    select_callable: Callable[..., Any] | None = None,
) -> tuple[Array, ...]:
    """The factors of ``x = Z T Z^H``, Z unitary and T upper triangular.

    T of real matrices has a 2 x 2 block on its diagonal for each pair of complex eigenvalues. There are no
    derivatives.

    Parameters
    ----------
    x : array, shape (..., n, n)
        float32, float64, complex64 or complex128.
    compute_schur_vectors : bool
        Whether Z is wanted.
    sort_eig_vals : bool
        Must be false.
    select_callable : None
        Must not be given.

    Returns
    -------
    (T, Z), or (T,)
        Of the dtype of ``x``.

    Raises
    ------
    NotImplementedError
        A sorted decomposition is asked for.

    References
    ----------
    Gene H. Golub and Charles F. Van Loan, "Matrix Computations", 4th edition, 2013, section 7.4.

    Examples
    --------
    >>> x = ct.numpy.array([[1.0, 2.0], [3.0, 2.0]])
    >>> t, z = ct.lax.linalg.schur(x)
    >>> (z @ t @ z.T).round(4)
    Array([[1., 2.],
           [3., 2.]], dtype=float32)
    """
    if sort_eig_vals or select_callable is not None:
        raise NotImplementedError("schur: sorting eigenvalues is not supported\n  sort the results of eig instead")
    return tuple(primitives.schur(x, compute_vectors=compute_schur_vectors))


check_arguments(globals())
