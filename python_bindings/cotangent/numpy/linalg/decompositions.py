"""Factorisations: cholesky, qr, svd, eig and eigh."""

from __future__ import annotations

from typing import Any, NamedTuple

from cotangent._base import primitives
from cotangent._base.arguments import check_arguments
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
    """The lower triangular L with ``a = L L^H``, of Hermitian positive definite matrices.

    Args:
        a: matrices [..., n, n].
        upper: whether L^H is wanted instead.
        symmetrize_input: whether the Hermitian part of ``a`` is taken first; else only its lower triangle is read.

    Returns:
        [..., n, n]; NaN in the triangle where ``a`` is not positive definite.

    Raises:
        LinAlgError: matrices are not square.

    >>> import cotangent as ct
    >>> ct.numpy.linalg.cholesky(ct.numpy.array([[4.0, 2.0], [2.0, 5.0]])).tolist()
    [[2.0, 0.0], [1.0, 2.0]]
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

    Args:
        a: matrices [..., m, n].
        mode: "reduced": Q has min(m, n) columns; "complete": m of them; "r": R alone; "raw": the packed reflections,
            transposed, and their scales, as LAPACK's geqrf leaves them.

    Raises:
        LinAlgError: there are fewer than two axes. ValueError: the mode is none of these.
    """
    check_matrix(a, "qr")
    if mode not in ("reduced", "full", "complete", "r", "raw"):
        raise ValueError(f"qr: mode must be 'reduced', 'complete', 'r' or 'raw'; got {mode!r}")
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
    """The factors of ``a = U diag(S) Vh``, with S descending, or S alone.

    Derivatives of S always exist; those of U and Vh are Inf or NaN where singular values coincide, and need
    ``full_matrices=False`` unless ``a`` is square.

    Args:
        a: matrices [..., m, n].
        full_matrices: whether U and Vh are square.
        compute_uv: whether they are wanted.
        hermitian: whether ``a`` is; then its Hermitian part is taken.
        subset_by_index: the first and the last but one index of the singular values that are wanted.

    Raises:
        LinAlgError: there are fewer than two axes.
    """
    check_matrix(a, "svd")
    if hermitian:
        check_square(a, "svd(hermitian=True)")
        a = symmetrized(a)
    result = lax_linalg.svd(a, full_matrices=full_matrices, compute_uv=compute_uv, subset_by_index=subset_by_index)
    return result if isinstance(result, Array) else SVDResult(*result)


@matrices()
def svdvals(x: Any, /) -> Array:
    """The singular values of matrices [..., m, n], descending."""
    check_matrix(x, "svdvals")
    return primitives.svd(x, full_matrices=False, compute_uv=False)[0]


def _reads_lower(uplo: str | None, name: str) -> bool:
    if uplo not in (None, "L", "U"):
        raise ValueError(f"{name}: UPLO must be None, 'L' or 'U'; got {uplo!r}")
    return uplo != "U"


@matrices()
def eigh(a: Any, UPLO: str | None = None, symmetrize_input: bool = True) -> EighResult:
    """Eigenvalues, ascending, and eigenvectors, as columns, of Hermitian matrices.

    Derivatives of eigenvalues always exist; those of eigenvectors are Inf or NaN where eigenvalues coincide.

    Args:
        a: matrices [..., n, n].
        UPLO: which triangle is read, "L" or "U", when the input is not symmetrized.
        symmetrize_input: whether the Hermitian part of ``a`` is taken first.

    Raises:
        LinAlgError: matrices are not square. ValueError: ``UPLO`` is neither.

    >>> import cotangent as ct
    >>> ct.numpy.linalg.eigh(ct.numpy.array([[2.0, 0.0], [0.0, 1.0]])).eigenvalues.tolist()
    [1.0, 2.0]
    """
    check_square(a, "eigh")
    v, w = lax_linalg.eigh(a, lower=_reads_lower(UPLO, "eigh"), symmetrize_input=symmetrize_input)
    return EighResult(w, v)


@matrices()
def eigvalsh(a: Any, UPLO: str | None = "L", *, symmetrize_input: bool = True) -> Array:
    """The eigenvalues of Hermitian matrices [..., n, n], ascending; see `eigh`."""
    check_square(a, "eigvalsh")
    lower = _reads_lower(UPLO, "eigvalsh")
    matrix = symmetrized(a) if symmetrize_input else a
    return primitives.eigh(matrix, lower=lower, compute_vectors=False)[0]


@matrices()
def eig(a: Any) -> EigResult:
    """Eigenvalues and right eigenvectors, as columns, of square matrices; complex.

    Eigenvectors have length 1 and a real largest component. Derivatives exist where eigenvalues differ.

    Raises:
        LinAlgError: matrices are not square.
    """
    check_square(a, "eig")
    return EigResult(*lax_linalg.eig(a, compute_left_eigenvectors=False))


@matrices()
def eigvals(a: Any) -> Array:
    """The eigenvalues of square matrices, complex.

    Raises:
        LinAlgError: matrices are not square.
    """
    check_square(a, "eigvals")
    return lax_linalg.eig(a, compute_left_eigenvectors=False, compute_right_eigenvectors=False)[0]


check_arguments(globals())
