"""``jax._src.tpu.linalg.eigh``."""

from __future__ import annotations

from typing import Any

from cotangent import numpy as cnp
from cotangent.jax.narrowing import narrowed_function
from cotangent.scipy import linalg

__all__ = ["eigh"]


def _eigh(
    H: Any,
    *,
    precision: Any = "float32",
    termination_size: int = 256,
    n: Any = None,
    sort_eigenvalues: bool = True,
    subset_by_index: tuple[int, int] | None = None,
) -> tuple[Any, Any]:
    """The eigenvalues of a Hermitian matrix in ascending order, and the eigenvectors; of `n` rows and columns, the others are padding.

    Raises:
        NotImplementedError: the numbers have 16 bits.
    """
    del precision, termination_size, sort_eigenvalues
    x = cnp.asarray(H)
    if x.dtype.itemsize == 2:
        raise NotImplementedError(
            f"eigh takes float32 and wider numbers; got {x.dtype}\n  convert them: x.astype('float32')"
        )
    if n is None:
        first, last = subset_by_index if subset_by_index is not None else (0, x.shape[-1])
        values, vectors = linalg.eigh(x)
        return values[..., first:last], vectors[..., first:last]
    # Padding gets eigenvalues behind all others.
    counts = cnp.arange(x.shape[-1]) < n
    bound = cnp.abs(cnp.where(counts[:, None] & counts, x, 0)).sum() + 1
    values, vectors = linalg.eigh(cnp.where(counts[:, None] & counts, x, cnp.diag(cnp.full(len(counts), bound))))
    return cnp.where(counts, values, 0), cnp.where(counts, vectors, 0)


eigh = narrowed_function(_eigh)
