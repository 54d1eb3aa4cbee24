"""``jax.lax.linalg``: the primitives by their names, beside the functions that `cotangent.lax.linalg` has."""

from __future__ import annotations

import enum

from cotangent.jax.internals.jaxprs import built_ins_named_in
from cotangent.jax.internals.polar import qdwh

__all__ = ["EigImplementation", "EighImplementation", "SvdAlgorithm", "qdwh"]


class EigImplementation(enum.Enum):
    """By which library eigenvectors are computed in JAX."""

    CUSOLVER, MAGMA, LAPACK = "cusolver", "magma", "lapack"


class EighImplementation(enum.Enum):
    """By which algorithm eigenvectors of Hermitian matrices are computed in JAX."""

    QR, JACOBI, QDWH = "qr", "jacobi", "qdwh"


class SvdAlgorithm(enum.Enum):
    """By which algorithm singular vectors are computed in JAX."""

    DEFAULT, QR, JACOBI, POLAR, DIVIDE_AND_CONQUER = "default", "QR", "Jacobi", "polar", "divide_and_conquer"


_PRIMITIVES = built_ins_named_in("jax.lax.linalg")
globals().update(_PRIMITIVES)
__all__ += list(_PRIMITIVES)
