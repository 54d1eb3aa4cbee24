"""Linear algebra and Fourier transforms: what libraries compute outside of generated code.

Vectors that are determined up to a sign or phase are multiplied into something that does not depend on it.
"""

from __future__ import annotations

from typing import Any

import cotangent.numpy as cnp
import numpy as np
from cotangent import _core

from records import ragged, record

DTYPES = ("float32", "float64", "complex64", "complex128")
SQUARE = (ragged({0: "n", 1: "n"}),)
BATCHED = (ragged({0: "b"}), ragged({1: "n", 2: "n"}))


def adjoint(x: Any) -> Any:
    return x.swapaxes(-1, -2).conj()


def definite(x: Any, xp: Any) -> Any:
    """A Hermitian positive definite matrix."""
    return xp.matmul(x, adjoint(x)) + xp.eye(x.shape[-1], dtype=x.dtype)


for shape, masks in [((4, 4), SQUARE), ((2, 3, 3), BATCHED), ((17, 17), ()), ((0, 0), ()), ((0, 3, 3), ())]:
    record(
        "cholesky",
        lambda x: np.linalg.cholesky(definite(x, np)),
        shape,
        call=lambda x: _core.bind("cholesky", [definite(x, cnp)])[0],
        dtypes=DTYPES if shape == (4, 4) else DTYPES[:1],
        masks=masks,
        specials=False,
        rtol=1e-4,
    )
    record(
        "cholesky",
        # Of the upper triangle alone.
        lambda x: adjoint(np.linalg.cholesky(definite(x, np))),
        shape,
        call=lambda x: _core.bind("cholesky", [cnp.triu(definite(x, cnp))], upper=True)[0],
        dtypes=DTYPES if shape == (4, 4) else DTYPES[:1],
        masks=masks,
        specials=False,
        rtol=1e-4,
    )


# ---- lu ------------------------------------------------------------------------------------------------------------


def lu_oracle(x: Any) -> Any:
    """L and U in one matrix, the pivots, and the order of the rows."""
    import scipy.linalg

    def one(a: Any) -> Any:
        m, n = a.shape
        if a.size == 0:
            return a, np.zeros(min(m, n), np.int32), np.arange(m, dtype=np.int32)
        factors, pivots = scipy.linalg.lu_factor(a)
        order = np.arange(m, dtype=np.int32)
        for i, pivot in enumerate(pivots[: min(m, n)]):
            order[[i, pivot]] = order[[pivot, i]]
        return factors, pivots[: min(m, n)].astype(np.int32), order

    if x.ndim == 2:
        return one(x)
    return tuple(np.stack(parts) for parts in zip(*map(one, x), strict=True))


for shape, masks in [
    ((4, 4), SQUARE),
    ((2, 3, 3), (ragged({1: "n", 2: "n"}),)),
    ((5, 3), (ragged({0: "n"}, error="square"), ragged({1: "n"}, error="square"))),
    ((3, 5), ()),
    ((18, 17), ()),
    ((0, 3), ()),
]:
    for differentiable in (False, True):
        record(
            "lu",
            (lambda x: lu_oracle(x)[0]) if differentiable else lu_oracle,
            shape,
            call=lambda x, only=differentiable: _core.bind("lu", [x])[0] if only else tuple(_core.bind("lu", [x])),
            dtypes=DTYPES if shape == (4, 4) else DTYPES[:1],
            differentiable=differentiable,
            masks=masks,
            specials=False,
            rtol=1e-4,
        )


def solve_by_lu(transpose: bool, conjugate: bool) -> Any:
    def solve(a: Any, b: Any) -> Any:
        factors, _, permutation = _core.bind("lu", [a])
        attributes = {"transpose_a": transpose, "conjugate_a": conjugate}
        return _core.bind("lu_solve", [a, factors, permutation, b], **attributes)[0]

    return solve


def solve_oracle(transpose: bool, conjugate: bool) -> Any:
    def solve(a: Any, b: Any) -> Any:
        a = a.conj() if conjugate else a
        return np.linalg.solve(a.swapaxes(-1, -2) if transpose else a, b)

    return solve


for transpose, conjugate in [(False, False), (True, False), (False, True), (True, True)]:
    for sizes, masks in [
        (((4, 4), (4, 3)), (ragged({0: "n", 1: "n"}, {0: "n"}), ragged({0: "n", 1: "n"}, {0: "n", 1: "k"}))),
        (((2, 3, 3), (2, 3, 1)), (ragged({1: "n", 2: "n"}, {1: "n"}), ragged({0: "b"}, {0: "b"}))),
        (((18, 18), (18, 2)), ()),
    ]:
        record(
            "lu_solve",
            solve_oracle(transpose, conjugate),
            *sizes,
            call=solve_by_lu(transpose, conjugate),
            dtypes=DTYPES if sizes[0] == (4, 4) else DTYPES[1:2],
            masks=masks if not transpose else (),
            specials=False,
            rtol=3e-4,
        )


# ---- triangular_solve ----------------------------------------------------------------------------------------------


def triangular_oracle(options: dict[str, bool]) -> Any:
    def solve(a: Any, b: Any) -> Any:
        a = np.tril(a) if options["lower"] else np.triu(a)
        if options["unit_diagonal"]:
            a = a * (1 - np.eye(a.shape[-1], dtype=a.dtype)) + np.eye(a.shape[-1], dtype=a.dtype)
        a = a.conj() if options["conjugate_a"] else a
        a = a.swapaxes(-1, -2) if options["transpose_a"] else a
        if options["left_side"]:
            return np.linalg.solve(a, b)
        return np.linalg.solve(a.swapaxes(-1, -2), b.swapaxes(-1, -2)).swapaxes(-1, -2)

    return solve


for number in range(32):
    names = ("left_side", "lower", "transpose_a", "conjugate_a", "unit_diagonal")
    options = {name: bool(number >> k & 1) for k, name in enumerate(names)}
    left = options["left_side"]
    axis = 0 if left else 1
    masks = (ragged({0: "n", 1: "n"}, {axis: "n"}), ragged({0: "n", 1: "n"}, {axis: "n", 1 - axis: "k"}))
    record(
        "triangular_solve",
        triangular_oracle(options),
        (3, 3),
        (3, 4) if left else (4, 3),
        attrs=options,
        dtypes=("float32", "complex128") if number % 5 == 0 else DTYPES[number % 4 : number % 4 + 1],
        domain=(0.5, 2.0),
        masks=masks if number % 5 == 0 else (),
        specials=False,
        rtol=1e-3,
    )
for left in (True, False):
    options = {
        "left_side": left,
        "lower": True,
        "transpose_a": False,
        "conjugate_a": False,
        "unit_diagonal": False,
    }
    for sizes in [((2, 3, 3), (2, 3, 3)), ((0, 0), (0, 0)), ((1, 1), (1, 1))]:
        record(
            "triangular_solve",
            triangular_oracle(options),
            *sizes,
            attrs=options,
            domain=(0.5, 2.0),
            dtypes=DTYPES[:1],
            masks=(ragged({1: "n", 2: "n"}, {1 if left else 2: "n"}),) if sizes[0] == (2, 3, 3) else (),
            specials=False,
            rtol=1e-3,
        )


# ---- qr, svd, eigh, eig, schur -------------------------------------------------------------------------------------


RECTANGLES = (ragged({0: "m"}), ragged({1: "n"}), ragged({0: "m", 1: "n"}))
for shape in [(4, 4), (5, 3), (3, 5), (2, 4, 3), (0, 3), (3, 0)]:
    record(
        "qr",
        lambda x: tuple(np.linalg.qr(x)),
        shape,
        attrs={"full_matrices": False, "pivoting": False},
        dtypes=DTYPES if shape in [(4, 4), (5, 3)] else DTYPES[:1],
        masks=(*RECTANGLES, ragged({0: "n", 1: "n"})) if shape == (4, 4) else RECTANGLES if len(shape) == 2 else (),
        specials=False,
        rtol=1e-3,
    )
for shape, masks in [((4, 4), (ragged({0: "n", 1: "n"}), ragged({0: "m"}, error="reduced"))), ((3, 5), ())]:
    record(
        "qr",
        lambda x: tuple(np.linalg.qr(x, "complete")),
        shape,
        attrs={"full_matrices": True, "pivoting": False},
        dtypes=DTYPES[:1],
        masks=masks,
        specials=False,
        rtol=1e-3,
    )
record(
    "qr",
    lambda x: tuple(np.linalg.qr(x, "complete")),
    (5, 3),
    attrs={"full_matrices": True, "pivoting": False},
    dtypes=DTYPES[:1],
    differentiable=False,
    masks=(),
    specials=False,
    rtol=1e-3,
)


def pivoted(a: Any) -> Any:
    import scipy.linalg

    return scipy.linalg.qr(a, mode="economic", pivoting=True)


for shape in [(4, 4), (5, 3), (3, 5)]:
    attributes = {"full_matrices": False, "pivoting": True}
    record(
        "qr",
        lambda x: pivoted(x)[:2],
        shape,
        call=lambda x, attrs=attributes: tuple(_core.bind("qr", [x], **attrs)[:2]),
        dtypes=DTYPES,
        masks=RECTANGLES,
        specials=False,
        rtol=1e-3,
    )
    record(
        "qr",
        lambda x: pivoted(x)[2].astype(np.int32),
        shape,
        call=lambda x, attrs=attributes: _core.bind("qr", [x], **attrs)[2],
        dtypes=DTYPES[:1],
        differentiable=False,
        masks=(ragged({1: "n"}),),
        specials=False,
    )


def signless_svd(x: Any, decompose: Any, xp: Any) -> Any:
    """Singular values, and f(s) of the vectors: U s^2 V^H, U sin(s) U^H, V cos(s) V^H."""
    u, s, vh = decompose(x)
    return (
        s,
        xp.matmul(u * (s * s)[..., None, :], vh),
        xp.matmul(u * xp.sin(s)[..., None, :], adjoint(u)),
        xp.matmul(adjoint(vh) * xp.cos(s)[..., None, :], vh),
    )


def bound_svd(x: Any) -> Any:
    s, u, vh = _core.bind("svd", [x], full_matrices=False, compute_uv=True)
    return u, s, vh


for shape in [(4, 4), (5, 3), (3, 5), (2, 4, 3), (0, 3), (3, 0)]:
    record(
        "svd",
        lambda x: signless_svd(x, lambda y: np.linalg.svd(y, False), np),
        shape,
        call=lambda x: signless_svd(x, bound_svd, cnp),
        dtypes=DTYPES if shape in [(4, 4), (5, 3)] else DTYPES[:1],
        masks=(*RECTANGLES, ragged({0: "n", 1: "n"})) if shape == (4, 4) else RECTANGLES if len(shape) == 2 else (),
        specials=False,
        rtol=1e-3,
    )
    record(
        "svd",
        lambda x: np.linalg.svd(x, compute_uv=False),
        shape,
        attrs={"full_matrices": True, "compute_uv": False},
        dtypes=DTYPES[:1],
        masks=RECTANGLES if len(shape) == 2 else (),
        specials=False,
        rtol=1e-3,
    )


def signless_eigh(w: Any, v: Any, xp: Any) -> Any:
    return w, xp.matmul(v * xp.sin(w)[..., None, :], adjoint(v))


def other_triangle_spoilt(x: Any, lower: bool, xp: Any) -> Any:
    """What only reads one triangle sees nothing of the other."""
    return xp.tril(x) + 7 * xp.triu(x, 1) if lower else xp.triu(x) - xp.tril(x, -1)


for shape, masks in [((4, 4), SQUARE), ((2, 3, 3), BATCHED), ((0, 0), ())]:
    for lower in (True, False):
        record(
            "eigh",
            lambda x, low=lower: signless_eigh(*np.linalg.eigh(x + adjoint(x), "L" if low else "U"), np),
            shape,
            call=lambda x, low=lower: signless_eigh(
                *_core.bind(
                    "eigh",
                    [other_triangle_spoilt(x + adjoint(x), low, cnp)],
                    lower=low,
                    compute_vectors=True,
                ),
                cnp,
            ),
            dtypes=DTYPES if shape == (4, 4) else DTYPES[:1],
            masks=masks,
            specials=False,
            rtol=1e-3,
        )
    record(
        "eigh",
        lambda x: np.linalg.eigvalsh(x + adjoint(x)),
        shape,
        call=lambda x: _core.bind("eigh", [x + adjoint(x)], lower=True, compute_vectors=False)[0],
        dtypes=DTYPES[:1],
        masks=masks,
        specials=False,
        rtol=1e-3,
    )


def powers_by_eig(w: Any, v: Any, xp: Any) -> Any:
    """Sums of powers of eigenvalues, which do not depend on their order; and |V|^2 times them, not on signs."""
    squares = xp.real(v * v.conj())
    return xp.sum(w, -1), xp.sum(w * w, -1), xp.matmul(squares + 0j, (w * w)[..., None])


def left_and_right(a: Any) -> Any:
    w, left, right = _core.bind("eig", [a], left=True, right=True)
    image = cnp.matmul(a + 0j, right) - right * w[..., None, :]
    dual = cnp.matmul(adjoint(left), a + 0j) - w[..., None] * adjoint(left)
    return image, dual, cnp.sum(cnp.abs(left) ** 2, -2)


for shape, masks in [((4, 4), SQUARE), ((2, 3, 3), BATCHED)]:
    record(
        "eig",
        lambda x: powers_by_eig(*np.linalg.eig(x), np),
        shape,
        call=lambda x: powers_by_eig(*_core.bind("eig", [x], left=False, right=True), cnp),
        dtypes=DTYPES if shape == (4, 4) else DTYPES[:1],
        masks=masks,
        specials=False,
        rtol=1e-3,
    )
    record(
        "eig",
        lambda x: (x * (0 + 0j), x * (0 + 0j), np.ones(x.shape[:-1])),
        shape,
        call=left_and_right,
        dtypes=("float64", "complex128"),
        masks=(),
        specials=False,
        rtol=1e-2,
    )


def undo_schur(x: Any) -> Any:
    t, z = _core.bind("schur", [x], compute_vectors=True)
    return cnp.matmul(cnp.matmul(z, t), adjoint(z)), cnp.tril(t, -2), cnp.matmul(z, adjoint(z))


for shape, masks in [((4, 4), ()), ((2, 3, 3), ())]:
    record(
        "schur",
        lambda x: (x, np.zeros_like(x), np.zeros_like(x) + np.eye(x.shape[-1], dtype=x.dtype)),
        shape,
        call=undo_schur,
        dtypes=DTYPES,
        masks=masks,
        differentiable=False,
        specials=False,
        rtol=1e-3,
    )
record(
    "schur",
    lambda x: x,
    (4, 4),
    call=lambda x: undo_schur(x)[0],
    dtypes=DTYPES[:1],
    masks=SQUARE,
    differentiable=False,
    specials=False,
    rtol=1e-3,
)

# ---- sylvester -----------------------------------------------------------------------------------------------------


def sylvester_oracle(a: Any, b: Any, c: Any) -> Any:
    import scipy.linalg

    a, b = (x + 3 * np.eye(x.shape[-1], dtype=x.dtype) for x in (a, b))
    if a.ndim == 2:
        return scipy.linalg.solve_sylvester(a, b, c)
    return np.stack([scipy.linalg.solve_sylvester(*one) for one in zip(a, b, c, strict=True)])


def sylvester(a: Any, b: Any, c: Any) -> Any:
    """Of matrices that have no eigenvalues with a sum of 0."""
    shifted = [x + 3 * cnp.eye(x.shape[-1], dtype=x.dtype) for x in (a, b)]
    return _core.bind("sylvester", [*shifted, c])[0]


for sizes, masks in [
    (
        ((3, 3), (4, 4), (3, 4)),
        (
            ragged({0: "m", 1: "m"}, None, {0: "m"}),
            ragged(None, {0: "n", 1: "n"}, {1: "n"}),
            ragged({0: "m", 1: "m"}, {0: "n", 1: "n"}, {0: "m", 1: "n"}),
        ),
    ),
    (((2, 3, 3), (2, 2, 2), (2, 3, 2)), ()),
]:
    record(
        "sylvester",
        sylvester_oracle,
        *sizes,
        call=sylvester,
        dtypes=DTYPES if len(sizes[0]) == 2 else DTYPES[:1],
        domain=(-1.0, 1.0),
        masks=masks,
        specials=False,
        rtol=1e-3,
    )

# ---- fft -----------------------------------------------------------------------------------------------------------

for kind, dtypes in [
    ("fft", DTYPES[2:]),
    ("ifft", DTYPES[2:]),
    ("rfft", DTYPES[:2]),
    ("irfft", DTYPES[2:]),
]:
    for lengths in [[1], [2], [5], [8], [3, 4], [2, 3, 3]]:
        last = lengths[-1] // 2 + 1 if kind == "irfft" else lengths[-1]
        size = (3, *lengths[:-1], last)
        record(
            "fft",
            lambda x, k=kind, n=tuple(lengths): getattr(np.fft, k + "n")(x, n, range(-len(n), 0)).astype(
                np.result_type(x.real.dtype, np.complex64 if k != "irfft" else np.float32)
            ),
            size,
            attrs={"kind": kind, "lengths": lengths},
            dtypes=dtypes,
            masks=(ragged({0: "b"}), ragged({1: "n"}, error="one length")),
            specials=False,
        )

for kind in ("fft", "ifft"):  # axes that are left alone
    record(
        "fft",
        lambda x, k=kind: getattr(np.fft, k + "n")(x, None, (1, 3)).astype(np.result_type(x.real.dtype, np.complex64)),
        (2, 3, 2, 4, 3),
        attrs={"kind": kind, "lengths": [3, 0, 4, 0]},
        dtypes=DTYPES[2:],
        masks=(ragged({0: "b"}), ragged({2: "n"}), ragged({4: "n"}), ragged({3: "n"}, error="one length")),
        specials=False,
    )
