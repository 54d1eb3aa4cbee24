"""Factorisations: cholesky, qr, svd, eig and eigh."""

from __future__ import annotations

from typing import Any, NamedTuple

from cotangent._base import primitives
from cotangent._base.arguments import check_arguments
from cotangent._base.words import not_among
from cotangent._core import Array
from cotangent._ops.extents import capacities
from cotangent._ops.matrices import adjoint, check_matrix, check_square, matrices, symmetrized
from cotangent.lax import linalg as lax_linalg
from cotangent.lax._reflectors import packed_reflectors
from cotangent.numpy.padding import pad

__all__ = ["cholesky", "eig", "eigh", "eigvals", "eigvalsh", "qr", "svd", "svdvals"]


class EigResult(NamedTuple):
    """What `eig` returns."""

    eigenvalues: Array
    eigenvectors: Array


class EighResult(NamedTuple):
    """What `eigh` returns."""

    eigenvalues: Array
    eigenvectors: Array


class QRResult(NamedTuple):
    """What `qr` returns."""

    Q: Array
    R: Array


class SVDResult(NamedTuple):
    """What `svd` returns."""

    U: Array
    S: Array
    Vh: Array


@matrices()
def cholesky(a: Any, *, upper: bool = False, symmetrize_input: bool = True) -> Array:
    """The Cholesky factor of Hermitian positive definite matrices: the lower triangular L with ``a = L L^H``.

    Where a matrix is not positive definite, the triangle is NaN: NumPy raises.

    Parameters
    ----------
    a : array, shape (..., n, n)
        The matrices.
    upper : bool, default False
        Whether L^H is returned instead.
    symmetrize_input : bool, default True
        Whether the Hermitian part of ``a`` is taken first; else only its lower triangle is read.

    Returns
    -------
    array, shape (..., n, n)
        The factors.

    Raises
    ------
    LinAlgError
        The matrices are not square.

    Examples
    --------
    >>> ct.numpy.linalg.cholesky([[4.0, 2.0], [2.0, 5.0]])
    Array([[2., 0.],
           [1., 2.]], dtype=float32)
    """
    check_square(a, "cholesky")
    if upper and symmetrize_input:
        return primitives.cholesky(symmetrized(a), upper=True)
    factor = lax_linalg.cholesky(a, symmetrize_input=symmetrize_input)
    return adjoint(factor) if upper else factor


@matrices()
def qr(a: Any, mode: str = "reduced") -> Array | QRResult:
    """The factors of ``a = Q R``: Q with orthonormal columns, R upper triangular.

    Derivatives need the first min(m, n) columns of ``a`` to be independent.

    Parameters
    ----------
    a : array, shape (..., m, n)
        The matrices.
    mode : str, default "reduced"
        ``"reduced"``: Q has min(m, n) columns; ``"complete"``: m of them; ``"r"``: R alone; ``"raw"``: the packed
        reflections, transposed, and their scales, as LAPACK's geqrf leaves them.

    Returns
    -------
    named tuple of two arrays, or array
        ``Q`` and ``R``; or R alone.

    Raises
    ------
    LinAlgError
        There are fewer than two axes.
    ValueError
        There is no such mode.

    Examples
    --------
    >>> q, r = ct.numpy.linalg.qr(np.array([[3.0, 1.0], [4.0, 2.0]], np.float32))
    >>> (q @ r).round(3)
    Array([[3., 1.],
           [4., 2.]], dtype=float32)
    """
    check_matrix(a, "qr")
    if mode not in ("reduced", "full", "complete", "r", "raw"):
        raise not_among("qr", "mode", mode, ("reduced", "complete", "r", "raw"))
    q, r, *_ = lax_linalg.qr(a, full_matrices=mode == "complete")
    if mode == "r":
        return r
    if mode == "raw":
        vectors, taus = packed_reflectors(q)
        m, n = capacities(a)[-2:]
        widths = [(0, 0)] * (a.ndim - 2)
        vectors = pad(vectors, [*widths, (0, 0), (0, n - min(m, n))])
        r = pad(r, [*widths, (0, m - min(m, n)), (0, 0)])
        return QRResult((vectors + r).mT, taus)
    return QRResult(q, r)


@matrices()
def svd(
    a: Any,
    full_matrices: bool = True,
    compute_uv: bool = True,
    hermitian: bool = False,
    subset_by_index: tuple[int, int] | None = None,
) -> Array | SVDResult:
    """The singular value decomposition ``a = U diag(S) Vh``, with S descending; or S alone.

    Derivatives of S always exist; those of U and Vh are infinite or NaN where singular values coincide, and need
    ``full_matrices=False`` unless ``a`` is square.

    Parameters
    ----------
    a : array, shape (..., m, n)
        The matrices.
    full_matrices : bool, default True
        Whether U and Vh are square; else they have min(m, n) columns and rows.
    compute_uv : bool, default True
        Whether U and Vh are wanted.
    hermitian : bool, default False
        Whether ``a`` is Hermitian; then its Hermitian part is taken.
    subset_by_index : tuple of two ints, optional
        The first index of the singular values that are wanted, and the one behind the last.

    Returns
    -------
    named tuple of three arrays, or array
        ``U``, ``S`` and ``Vh``; or S alone.

    Raises
    ------
    LinAlgError
        There are fewer than two axes; or ``hermitian``, and the matrices are not square.

    Examples
    --------
    >>> ct.numpy.linalg.svd([[3.0, 0.0], [0.0, -4.0]], compute_uv=False)
    Array([4., 3.], dtype=float32)
    """
    check_matrix(a, "svd")
    if hermitian:
        check_square(a, "svd(hermitian=True)")
        a = symmetrized(a)
    result = lax_linalg.svd(a, full_matrices=full_matrices, compute_uv=compute_uv, subset_by_index=subset_by_index)
    return result if isinstance(result, Array) else SVDResult(*result)


@matrices()
def svdvals(x: Any, /) -> Array:
    """The singular values of matrices, descending.

    Parameters
    ----------
    x : array, shape (..., m, n)
        The matrices.

    Returns
    -------
    array, shape (..., min(m, n))
        Real.

    Raises
    ------
    LinAlgError
        There are fewer than two axes.

    Examples
    --------
    >>> ct.numpy.linalg.svdvals(ct.numpy.array([[3.0, 0.0], [0.0, -4.0]]))
    Array([4., 3.], dtype=float32)
    """
    check_matrix(x, "svdvals")
    return primitives.svd(x, full_matrices=False, compute_uv=False)[0]


def _reads_lower(uplo: str | None, name: str) -> bool:
    if uplo not in (None, "L", "U"):
        raise not_among(name, "UPLO", uplo, (None, "L", "U"))
    return uplo != "U"


@matrices()
def eigh(a: Any, UPLO: str | None = None, symmetrize_input: bool = True) -> EighResult:
    """The eigenvalues and eigenvectors of Hermitian matrices.

    Derivatives of eigenvalues always exist; those of eigenvectors are infinite or NaN where eigenvalues coincide.

    Parameters
    ----------
    a : array, shape (..., n, n)
        The matrices.
    UPLO : str, optional
        Which triangle is read, ``"L"`` (None) or ``"U"``, when the input is not symmetrized.
    symmetrize_input : bool, default True
        Whether the Hermitian part of ``a`` is taken first.

    Returns
    -------
    named tuple of two arrays
        ``eigenvalues``, real, ascending, shape (..., n); ``eigenvectors``, as columns, shape (..., n, n).

    Raises
    ------
    LinAlgError
        The matrices are not square.
    ValueError
        ``UPLO`` is something else.

    Examples
    --------
    >>> ct.numpy.linalg.eigh([[2.0, 0.0], [0.0, 1.0]]).eigenvalues
    Array([1., 2.], dtype=float32)
    """
    check_square(a, "eigh")
    v, w = lax_linalg.eigh(a, lower=_reads_lower(UPLO, "eigh"), symmetrize_input=symmetrize_input)
    return EighResult(w, v)


@matrices()
def eigvalsh(a: Any, UPLO: str | None = "L", *, symmetrize_input: bool = True) -> Array:
    """The eigenvalues of Hermitian matrices, ascending.

    Parameters
    ----------
    a : array, shape (..., n, n)
        The matrices.
    UPLO : str, optional
        Which triangle is read, ``"L"`` (the default) or ``"U"``, when the input is not symmetrized.
    symmetrize_input : bool, default True
        Whether the Hermitian part of ``a`` is taken first.

    Returns
    -------
    array, shape (..., n)
        Real.

    Raises
    ------
    LinAlgError
        The matrices are not square.
    ValueError
        ``UPLO`` is something else.

    Examples
    --------
    >>> ct.numpy.linalg.eigvalsh([[2.0, 1.0], [1.0, 2.0]]).round(4)
    Array([1., 3.], dtype=float32)
    """
    check_square(a, "eigvalsh")
    lower = _reads_lower(UPLO, "eigvalsh")
    matrix = symmetrized(a) if symmetrize_input else a
    return primitives.eigh(matrix, lower=lower, compute_vectors=False)[0]


@matrices()
def eig(a: Any) -> EigResult:
    """The eigenvalues and right eigenvectors of square matrices.

    Eigenvectors have length 1 and a real largest component. Derivatives exist where eigenvalues differ.

    Parameters
    ----------
    a : array, shape (..., n, n)
        The matrices.

    Returns
    -------
    named tuple of two arrays
        ``eigenvalues``, shape (..., n), and ``eigenvectors``, as columns, shape (..., n, n); complex, those of real
        matrices, too.

    Raises
    ------
    LinAlgError
        The matrices are not square.

    Examples
    --------
    >>> values, vectors = ct.numpy.linalg.eig([[0.0, 1.0], [-1.0, 0.0]])
    >>> np.sort(values.imag).round(4)
    array([-1.,  1.], dtype=float32)
    """
    check_square(a, "eig")
    return EigResult(*lax_linalg.eig(a, compute_left_eigenvectors=False))


@matrices()
def eigvals(a: Any) -> Array:
    """The eigenvalues of square matrices.

    Parameters
    ----------
    a : array, shape (..., n, n)
        The matrices.

    Returns
    -------
    array, shape (..., n)
        Complex, those of real matrices, too, where NumPy returns real ones if all are.

    Raises
    ------
    LinAlgError
        The matrices are not square.

    Examples
    --------
    >>> np.sort(ct.numpy.linalg.eigvals([[2.0, 1.0], [1.0, 2.0]]).real).round(4)
    array([1., 3.], dtype=float32)
    """
    check_square(a, "eigvals")
    return lax_linalg.eig(a, compute_left_eigenvectors=False, compute_right_eigenvectors=False)[0]


check_arguments(globals())
