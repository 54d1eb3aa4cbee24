"""Eigenvalues, Schur and Hessenberg forms, polar factors, with SciPy's arguments and results."""

from __future__ import annotations

from typing import Any

import cotangent.numpy as cnp
from cotangent import _core
from cotangent._base import primitives
from cotangent._base.arguments import check_arguments
from cotangent._base.capture import give_lengths
from cotangent._base.words import check_word
from cotangent._core import Array
from cotangent._ops.extents import capacity, without_padding
from cotangent._ops.matrices import adjoint, check_matrix, check_square, matrices, one_batch, symmetrized, to_complex
from cotangent._ops.sizes import axis_size
from cotangent._transforms.control_flow import scan
from cotangent._transforms.rules_by_type import custom_jvp_by_type
from cotangent.lax import linalg as lax_linalg
from cotangent.lax.indexing import dynamic_slice_in_dim, dynamic_update_slice, dynamic_update_slice_in_dim
from cotangent.numpy import linalg as cnp_linalg

__all__ = ["eigh", "eigh_tridiagonal", "hessenberg", "polar", "rsf2csf", "schur"]


@matrices()
def eigh(
    a: Any,
    b: Any = None,
    lower: bool = True,
    eigvals_only: bool = False,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    turbo: bool = True,
    eigvals: None = None,
    type: int = 1,
    check_finite: bool = True,
) -> Array | tuple[Array, Array]:
    """The eigenvalues, ascending, and eigenvectors of Hermitian matrices, or of pairs of them.

    Parameters
    ----------
    a : array, shape (..., n, n)
        Hermitian.
    b : array, shape (..., n, n), optional
        Hermitian, positive definite; by default the identity.
    lower : bool
        Accepted for SciPy's signature: the Hermitian part of ``a`` is taken.
    eigvals_only : bool
        Whether eigenvectors are not wanted.
    overwrite_a, overwrite_b, turbo : bool
        Accepted for SciPy's signature: nothing is overwritten.
    eigvals : None
        Must not be given.
    type : int
        With ``b``: 1 (the default) for a v = w b v, 2 for a b v = w v, 3 for b a v = w v.
    check_finite : bool
        Accepted for SciPy's signature: NaN is computed with.

    Returns
    -------
    (w, v), or w
        The eigenvalues (..., n), real; the eigenvectors (..., n, n) as columns.

    Raises
    ------
    NotImplementedError
        ``eigvals`` is given.
    ValueError
        There is no such type.

    References
    ----------
    Gene H. Golub and Charles F. Van Loan, "Matrix Computations", 4th edition, 2013, sections 8.3 and 8.7.

    Examples
    --------
    >>> w, v = ct.scipy.linalg.eigh(ct.numpy.array([[2.0, 1.0], [1.0, 2.0]]))
    >>> w.round(4)
    Array([1., 3.], dtype=float32)
    """
    del lower, overwrite_a, overwrite_b, turbo, check_finite
    if eigvals is not None:
        raise NotImplementedError("eigh: a choice of eigenvalues is not supported\n  slice the results")
    if type not in (1, 2, 3):
        raise ValueError(
            f"eigh: type must be 1, 2 or 3; got {type}\n  pass 1 for a v = w b v, 2 for a b v = w v, 3 for b a v = w v"
        )
    check_square(a, "eigh")
    matrix = symmetrized(a)
    if b is not None:
        factor = cnp_linalg.cholesky(cnp.asarray(b).astype(a.dtype))
        if type == 1:
            half = cnp_linalg.solve(factor, matrix)
            matrix = symmetrized(adjoint(cnp_linalg.solve(factor, adjoint(half))))
        else:
            matrix = symmetrized(cnp.matmul(cnp.matmul(adjoint(factor), matrix), factor))
    if eigvals_only:
        return cnp_linalg.eigvalsh(matrix)
    w, v = cnp_linalg.eigh(matrix)
    if b is None:
        return w, v
    return w, cnp.matmul(factor, v) if type == 3 else cnp_linalg.solve(adjoint(factor), v)


def eigh_tridiagonal(
    d: Any,
    e: Any,
    *,
    eigvals_only: bool = False,
    select: str = "a",
    select_range: tuple[float, float] | None = None,
    tol: float | None = None,
    key: Any = None,
) -> Array | tuple[Array, Array]:
    """The eigenvalues, ascending, and eigenvectors of a Hermitian matrix with one diagonal beside the main one.

    Parameters
    ----------
    d : array, shape (n,)
        The main diagonal; real.
    e : array, shape (n - 1,)
        The diagonal above it; that below holds the conjugates.
    eigvals_only : bool
        Whether eigenvectors are not wanted.
    select : str
        "a" for all (the default), "i" for those with index in ``select_range``.
    select_range : (int, int), optional
        The first and the last index.
    tol, key : optional
        Accepted for compatibility; not looked at.

    Returns
    -------
    (w, v), or w
        The eigenvalues (n,), the eigenvectors (n, n) as columns.

    Raises
    ------
    NotImplementedError
        Eigenvalues are selected by value.
    ValueError
        The selection makes no sense.
    TypeError
        The diagonals have two dtypes.

    References
    ----------
    Gene H. Golub and Charles F. Van Loan, "Matrix Computations", 4th edition, 2013, section 8.4.

    Examples
    --------
    >>> d, e = ct.numpy.array([2.0, 2.0]), ct.numpy.array([1.0])
    >>> ct.scipy.linalg.eigh_tridiagonal(d, e, eigvals_only=True).round(4)
    Array([1., 3.], dtype=float32)
    """
    del tol, key
    main, beside = _core.array(d), _core.array(e)
    if main.dtype != beside.dtype:
        raise TypeError(
            f"eigh_tridiagonal: the diagonals must have equal dtypes; got {main.dtype} and {beside.dtype}\n"
            f"  convert one of them: e.astype('{main.dtype}')"
        )
    if select == "v":
        raise NotImplementedError("eigh_tridiagonal: select='v' is not supported\n  select the results by their values")
    check_word("eigh_tridiagonal", "select", select, ("a", "i"))
    subset = slice(None)
    if select == "i":
        if select_range is None or select_range[0] > select_range[1]:
            raise ValueError(
                f"eigh_tridiagonal: select='i' needs a range of indices; got {select_range}\n"
                "  pass the first and the last: select_range=(0, 1)"
            )
        subset = slice(int(select_range[0]), int(select_range[1]) + 1)
    _core.check_sizes([main, beside], [0, 0])
    n = capacity(main, -1)
    size = axis_size(main, 0)
    main, beside = without_padding(main), without_padding(beside)
    matrix = cnp.diag(main) + (cnp.diag(beside, 1) + cnp.diag(cnp.conj(beside), -1) if n > 1 else 0)
    if isinstance(size, Array):
        matrix = give_lengths(matrix, {0: size, 1: size})
    if eigvals_only:
        return cnp_linalg.eigvalsh(matrix)[subset]
    w, v = cnp_linalg.eigh(matrix)
    return w[subset], v[:, subset]


@matrices()
def hessenberg(
    a: Any, *, calc_q: bool = False, overwrite_a: bool = False, check_finite: bool = True
) -> Array | tuple[Array, Array]:
    """The H of ``a = Q H Q^H``, without elements below its first lower diagonal.

    Parameters
    ----------
    a : array, shape (..., n, n)
        Numbers.
    calc_q : bool
        Whether the unitary Q is wanted, too.
    overwrite_a, check_finite : optional
        Accepted for SciPy's signature: nothing is overwritten, and NaN is computed with.

    Returns
    -------
    H, or (H, Q)
        Matrices of the shape of ``a``.

    Raises
    ------
    LinAlgError
        The matrices are not square.

    References
    ----------
    Gene H. Golub and Charles F. Van Loan, "Matrix Computations", 4th edition, 2013, section 7.4.

    Examples
    --------
    >>> ct.scipy.linalg.hessenberg(ct.numpy.array([[1.0, 2.0, 0.0], [3.0, 4.0, 1.0], [4.0, 0.0, 5.0]])).round(4)
    Array([[ 1.  , -1.2 , -1.6 ],
           [-5.  ,  5.12, -0.84],
           [ 0.  ,  0.16,  3.88]], dtype=float32)
    """
    del overwrite_a, check_finite
    check_square(a, "hessenberg")
    packed, taus = lax_linalg.hessenberg(a)
    h = cnp.triu(packed, -1)
    n = capacity(a, -1)
    if not calc_q:
        return h
    if n == 0:
        return h, h
    inner = lax_linalg.householder_product(packed[..., 1:, :-1], taus)
    widths = [(0, 0)] * (a.ndim - 2)
    corner = cnp.pad(cnp.ones((1, 1), a.dtype), ((0, n - 1), (0, n - 1)))
    q = corner + cnp.pad(inner, [*widths, (1, 0), (1, 0)])
    size = axis_size(h, h.ndim - 1)
    return h, give_lengths(q, {q.ndim - 2: size, q.ndim - 1: size}) if isinstance(size, Array) else q


def schur(a: Any, output: str = "real") -> tuple[Array, Array]:
    """The factors of ``a = Z T Z^H``, Z unitary and T upper triangular but for 2 x 2 blocks of real matrices.

    There are no derivatives.

    Parameters
    ----------
    a : array, shape (..., n, n)
        Numbers.
    output : str
        "real" (the default), or "complex" for a T without blocks.

    Returns
    -------
    (T, Z)
        Matrices of the shape of ``a``.

    Raises
    ------
    ValueError
        ``output`` is neither.
    LinAlgError
        The matrices are not square.

    References
    ----------
    Gene H. Golub and Charles F. Van Loan, "Matrix Computations", 4th edition, 2013, section 7.4.

    Examples
    --------
    >>> t, z = ct.scipy.linalg.schur(ct.numpy.array([[1.0, 2.0], [3.0, 2.0]]))
    >>> (z @ t @ z.T).round(4)
    Array([[1., 2.],
           [3., 2.]], dtype=float32)
    """
    check_word("schur", "output", output, ("real", "complex"))
    matrix = _core.promote([a], inexact=True)[0]
    check_square(matrix, "schur")
    t, z = lax_linalg.schur(to_complex(matrix) if output == "complex" else matrix)
    return t, z


def rsf2csf(T: Any, Z: Any, check_finite: bool = True) -> tuple[Array, Array]:
    """The complex Schur form from a real one: T without 2 x 2 blocks, and its Z.

    Parameters
    ----------
    T, Z : array, shape (..., n, n)
        The results of `schur`.
    check_finite : bool
        Accepted for SciPy's signature: NaN is computed with.

    Returns
    -------
    (T, Z)
        Complex, of the same shapes.

    Raises
    ------
    ValueError
        The matrices are not of one size.

    References
    ----------
    Gene H. Golub and Charles F. Van Loan, "Matrix Computations", 4th edition, 2013, section 7.4.

    Examples
    --------
    >>> t, z = ct.scipy.linalg.schur(ct.numpy.array([[0.0, 2.0], [-2.0, 0.0]]))
    >>> ct.numpy.sort(ct.numpy.diagonal(ct.scipy.linalg.rsf2csf(t, z)[0]).imag).round(4)
    Array([-2.,  2.], dtype=float32)
    """
    del check_finite
    t, z = to_complex(_core.promote([T], inexact=True)[0]), to_complex(_core.promote([Z], inexact=True)[0])
    check_square(t, "rsf2csf")
    check_square(z, "rsf2csf")
    if capacity(t, -1) != capacity(z, -1):
        raise ValueError(
            f"rsf2csf: T and Z must be matrices of one size; got {t.shape} and {z.shape}\n"
            "  pass the two results of schur(a, output='real')"
        )
    t, z = one_batch((t, 2), (z, 2))
    n = capacity(t, -1)
    size, last = axis_size(t, t.ndim - 1), t.ndim - 1
    if isinstance(size, Array):
        # Behind a matrix stand zeros, which no rotation is needed for.
        t, z = rsf2csf(without_padding(t, [last - 1, last]), without_padding(z, [last - 1, last]))
        lengths = {last - 1: size, last: size}
        return give_lengths(t, lengths), give_lengths(z, lengths)
    epsilon = float(cnp.finfo(t.dtype).eps)

    def pick(x: Array, m: Array, axis: int) -> Array:
        return dynamic_slice_in_dim(x, m, 1, x.ndim + axis)

    def put(x: Array, m: Array, axis: int, value: Array) -> Array:
        return dynamic_update_slice_in_dim(x, value, m, x.ndim + axis)

    def remove(carry: tuple[Array, Array], m: Array) -> tuple[tuple[Array, Array], None]:
        """A rotation of rows and columns m - 1 and m that clears the element below the diagonal."""
        t, z = carry
        above, below = pick(t, m - 1, -2), pick(t, m, -2)
        a, b, c, d = (pick(row, j, -1) for row in (above, below) for j in (m - 1, m))
        needed = cnp.abs(c) > epsilon * (cnp.abs(a) + cnp.abs(d))
        block = cnp.concatenate([cnp.concatenate([a, b], -1), cnp.concatenate([c, d], -1)], -2)
        mu = cnp_linalg.eigvals(block)[..., :1, None] - d
        size = cnp.sqrt(cnp.abs(mu) ** 2 + cnp.abs(c) ** 2).astype(t.dtype)
        cosine = cnp.where(needed, mu / cnp.where(needed, size, 1), 1)
        sine = cnp.where(needed, c / cnp.where(needed, size, 1), 0)
        # What is not of the form, left of the block and below it, stays.
        right_of = places >= m - 1
        t = put(t, m - 1, -2, cnp.where(right_of, cnp.conj(cosine) * above + sine * below, above))
        t = put(t, m, -2, cnp.where(right_of, cosine * below - sine * above, below))

        def columns(x: Array, turned: Any = True) -> Array:
            left, right = pick(x, m - 1, -1), pick(x, m, -1)
            x = put(x, m - 1, -1, cnp.where(turned, cosine * left + cnp.conj(sine) * right, left))
            return put(x, m, -1, cnp.where(turned, cnp.conj(cosine) * right - cnp.conj(sine) * left, right))

        t = columns(t, places[:, None] <= m)
        t = dynamic_update_slice(t, cnp.zeros((*t.shape[:-2], 1, 1), t.dtype), [*[0] * (t.ndim - 2), m, m - 1])
        return (t, columns(z)), None

    if n < 2:
        return t, z
    places = cnp.arange(n)
    t, z = scan(remove, (t, z), cnp.arange(n - 1, 0, -1))[0]
    return t, z


# ---- polar -----------------------------------------------------------------------------------------------------------


@custom_jvp_by_type
def _unitary_factor(a: Array) -> Array:
    """U V^H of the singular vectors: the nearest matrix with orthonormal columns (or rows)."""
    u, _, vh = lax_linalg.svd(a, full_matrices=False)
    return cnp.matmul(u, vh)


@_unitary_factor.defjvp
def _unitary_factor_jvp(primals: tuple[Array], tangents: tuple[Array]) -> tuple[Array, Array]:
    """With a = W P and W^H dW anti-Hermitian: P (W^H dW) + (W^H dW) P = W^H da - da^H W. Higham, 2008, chapter 8."""
    a, change = primals[0], tangents[0]
    w = _unitary_factor(a)
    tall = capacity(a, -2) >= capacity(a, -1)
    wt, at, dt = (w, a, change) if tall else (adjoint(w), adjoint(a), adjoint(change))
    p = symmetrized(cnp.matmul(adjoint(wt), at))
    inner = cnp.matmul(adjoint(wt), dt)
    turn = primitives.sylvester(p, p, inner - adjoint(inner))
    tangent = cnp.matmul(wt, turn)
    if capacity(a, -2) != capacity(a, -1):
        outside = dt - cnp.matmul(wt, inner)
        tangent = tangent + adjoint(cnp_linalg.solve(p, adjoint(outside)))
    return w, tangent if tall else adjoint(tangent)


@matrices()
def polar(
    a: Any, side: str = "right", *, method: str = "qdwh", eps: float | None = None, max_iterations: int | None = None
) -> tuple[Array, Array]:
    """The factors of ``a = U P`` or ``a = P U``: U with orthonormal columns or rows, P Hermitian.

    Parameters
    ----------
    a : array, shape (..., m, n)
        Numbers.
    side : str
        On which side of U P stands: "right" (the default) or "left".
    method : str
        "qdwh" or "svd"; singular vectors are used for both.
    eps, max_iterations : optional
        Accepted for JAX's signature: nothing is iterated.

    Returns
    -------
    U : array, shape (..., m, n)
        The nearest matrix with orthonormal columns or rows.
    P : array
        Positive semidefinite.

    Raises
    ------
    ValueError
        ``side`` or ``method`` is none of these.

    References
    ----------
    Nicholas J. Higham, "Functions of Matrices", 2008, chapter 8.

    Examples
    --------
    >>> u, p = ct.scipy.linalg.polar(ct.numpy.array([[0.0, -2.0], [3.0, 0.0]]))
    >>> (u + 0.0).round(4).tolist(), (p + 0.0).round(4).tolist()
    ([[0.0, -1.0], [1.0, 0.0]], [[3.0, 0.0], [0.0, 2.0]])
    """
    del eps, max_iterations
    check_matrix(a, "polar")
    check_word("polar", "side", side, ("right", "left"))
    check_word("polar", "method", method, ("qdwh", "svd"))
    u = _unitary_factor(a)
    p = cnp.matmul(adjoint(u), a) if side == "right" else cnp.matmul(a, adjoint(u))
    return u, symmetrized(p)


check_arguments(globals())
