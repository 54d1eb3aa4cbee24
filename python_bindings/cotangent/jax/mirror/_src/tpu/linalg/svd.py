"""``jax._src.tpu.linalg.svd``."""

from __future__ import annotations

from typing import Any

from cotangent import numpy as cnp
from cotangent.jax.narrowing import narrowed_function

__all__ = ["svd"]


def _svd(
    a: Any,
    full_matrices: bool,
    compute_uv: bool = True,
    hermitian: bool = False,
    max_iterations: int = 10,
    subset_by_index: tuple[int, int] | None = None,
) -> Any:
    """The decomposition that `jax.numpy.linalg.svd` has; iterations are not counted."""
    return cnp.linalg.svd(
        a, full_matrices=full_matrices, compute_uv=compute_uv, hermitian=hermitian, subset_by_index=subset_by_index
    )


svd = narrowed_function(_svd)
