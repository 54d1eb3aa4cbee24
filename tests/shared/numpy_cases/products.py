"""Products summed over shared axes."""

from __future__ import annotations

import numpy as np

from numpy_cases import ALL, FLOATS, WIDE, case, draw

A, B, V, T, U = draw(3, 4), draw(4, 5), draw(4), draw(2, 3, 4), draw(2, 4, 5)
LOOSE = 8.0

case("dot", V, V, dtypes=ALL, tolerance=LOOSE)
for x, y in [(A, V), (A, B), (T, B), (T, U), (A, 2.0), (draw(), A)]:
    case("dot", x, y, dtypes=WIDE, tolerance=LOOSE)
case("dot", draw(3, 4), draw(3, 4), call=lambda np_, x, y: np_.dot(x.T, y), dtypes=WIDE, tolerance=LOOSE, ragged=0)
case("matmul", A, B, dtypes=ALL, tolerance=LOOSE, ragged=0)
for x, y in [
    (V, B),
    (A, V),
    (V, V),
    (T, U),
    (T, B),
    (A, U),
    (T, V),
    (V, U),
    (draw(3, 1, 2, 4), U),
    (draw(0, 4), B),
    (draw(3, 0), draw(0, 2)),
]:
    case("matmul", x, y, dtypes=WIDE, tolerance=LOOSE)
case(
    "matmul", draw(3, 4), np.ones((4, 2), np.float32), dtypes=("float16", "int32", "bfloat16", "bool"), tolerance=LOOSE
)
case("matvec", T, V, dtypes=("float32", "int32", "complex64"), tolerance=LOOSE, ragged=1)
case("matvec", A, draw(2, 1, 4), tolerance=LOOSE)
case("vecmat", draw(3), A, dtypes=("float32", "int32", "complex64"), tolerance=LOOSE)
case("vecmat", draw(2, 3), T, tolerance=LOOSE)
case("vecdot", A, V, dtypes=("float32", "int32", "complex64", "uint8", "bool"), tolerance=LOOSE, ragged=0)
case(
    "vecdot",
    A,
    draw(3, 1),
    axis=0,
    dtypes=("float32", "complex64"),
    tolerance=LOOSE,
    oracle=lambda x, y: np.sum(np.conj(x) * y, 0),
)
case("vecdot", draw(5, 2, 3), draw(5, 3), axis=0, dtypes=("float32", "int16", "uint8"), tolerance=LOOSE)
case("vdot", A, A, dtypes=("float32", "int32", "complex64"), tolerance=LOOSE)
case("vdot", A, draw(4, 3), tolerance=LOOSE)
case("inner", A, V, dtypes=("float32", "int32", "complex64"), tolerance=LOOSE)
case("inner", T, A, tolerance=LOOSE)
case("inner", A, 2.0, dtypes=WIDE, tolerance=LOOSE)
case("outer", V, draw(2, 3), dtypes=("float32", "int32", "complex64"))
case("tensordot", A, B, 1, tolerance=LOOSE)
case("tensordot", T, draw(3, 4, 2), 2, tolerance=LOOSE)
case("tensordot", T, U, ((0, 2), (0, 1)), tolerance=LOOSE)
case("tensordot", A, A, 0, tolerance=LOOSE)
case("tensordot", A, A, (-1, -1), tolerance=LOOSE)
case("kron", draw(2, 3), draw(3, 2), dtypes=("float32", "int32", "complex64"))
case("kron", draw(2), draw(2, 2))
case("cross", draw(3, 3), draw(3), dtypes=("float32", "int32"))
case("cross", draw(3, 2), draw(3, 2), axis=0, dtypes=("float32",))
case("cross", draw(4, 2), draw(4, 2), oracle=lambda x, y: x[:, 0] * y[:, 1] - x[:, 1] * y[:, 0])
case("cross", draw(3, 2), draw(2, 3), axisa=0, axisb=1, axisc=0)
for mode in ["full", "same", "valid"]:
    case("convolve", draw(6), draw(3), mode, dtypes=("float32", "int32", "complex64"), tolerance=LOOSE)
    case("convolve", draw(2), draw(5), mode, tolerance=LOOSE)
    for name in ["convolve", "correlate"]:
        case(
            name,
            draw(6),
            draw(3),
            mode,
            preferred_element_type=np.int32,
            dtypes=("int16", "int32"),
            oracle=lambda x, y, m, name=name: getattr(np, name)(x.astype(np.int32), y.astype(np.int32), m),
        )
    case("correlate", draw(6), draw(3), mode, dtypes=("float32", "int32", "complex64"), tolerance=LOOSE)
    case("correlate", draw(2), draw(5), mode, dtypes=("float32", "complex64"), tolerance=LOOSE)

EINSUMS = [
    ("ij,jk->ik", A, B), ("ij,jk", A, B), ("ij->ji", A), ("ij->", A), ("ij", A), ("ba", A), ("i,j->ij", V, V), ("i,i", V, V),
    ("i,i->i", V, V), ("bij,bjk->bik", T, U), ("bij,bjk->ik", T, U), ("ii->i", draw(4, 4)), ("ii", draw(4, 4)),
    ("iij->j", draw(3, 3, 2)), ("...ij,...jk->...ik", T, B), ("...j,j->...", T, V), ("ij,jk,kl->il", A, B, draw(5, 2)),
    ("ij,kj,lj->ikl", A, A, A), ("bij,bij->b", T, T), ("a,b,c->abc", V, V, V), ("ij,j,j->i", A, V, V), ("b...->...b", T),
    ("...,...->...", T, A), ("i,->i", V, draw()), ("ij,ij->j", A, draw(1, 4)), ("ab,bc,cd,de->ae", A, B, draw(5, 2), draw(2, 3)),
]  # fmt: skip
for subscripts, *operands in EINSUMS:
    case("einsum", subscripts, *operands, dtypes=WIDE, tolerance=LOOSE)
case("einsum", "ij,ik->jk", draw(4, 2), draw(4, 3), dtypes=(*FLOATS, "int32", "complex64"), tolerance=LOOSE, ragged=0)
case("einsum", "ij,jk,kl->il", A, B, draw(5, 2), optimize=False, tolerance=LOOSE)
case(
    "einsum",
    "ij,jk,kl->il",
    A,
    B,
    draw(5, 2),
    optimize=[(1, 2), (0, 1)],
    oracle=lambda *a: np.einsum(*a),
    tolerance=LOOSE,
)
case("einsum", A, [0, 1], B, [1, 2], [0, 2], dtypes=WIDE, tolerance=LOOSE)
