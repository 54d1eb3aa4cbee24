"""``jax.experimental.sparse.random``: sparse arrays of random elements."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import cotangent as ct
import cotangent.numpy as cnp
from cotangent import _core
from cotangent.jax.mirror.experimental.sparse.bcoo import BCOO

__all__ = ["random_bcoo"]


def random_bcoo(
    key: Any,
    shape: Sequence[int],
    *,
    dtype: Any = None,
    indices_dtype: Any = None,
    nse: float = 0.2,
    n_batch: int = 0,
    n_dense: int = 0,
    unique_indices: bool = True,
    sorted_indices: bool = False,
    generator: Callable[..., Any] = ct.random.uniform,
    **kwds: Any,
) -> BCOO:
    """A BCOO array with random elements at random positions.

    Args:
        key: a random key.
        shape: that of the array.
        nse: how many elements there are in each batch, or which part of all of them.
        unique_indices: whether positions are different.
        sorted_indices: whether they are in order.
        generator: the function of a key, a shape and a dtype that makes the elements.
    """
    sizes = tuple(operator.index(size) for size in shape)
    if n_batch < 0 or n_dense < 0 or n_batch + n_dense > len(sizes):
        raise ValueError(
            f"Invalid n_batch={n_batch}, n_dense={n_dense} for shape={sizes}\n"
            f"  n_batch + n_dense must be at most {len(sizes)}, and none of them negative"
        )
    last = len(sizes) - n_dense
    batches, sparse, dense = sizes[:n_batch], sizes[n_batch:last], sizes[last:]
    whole = math.prod(sparse)
    if not 0 <= nse < whole:
        raise ValueError(
            f"got nse={nse}, expected to be between 0 and {whole}\n  pass nse=0.2 for a fifth of all elements, say"
        )
    count = math.ceil(nse * whole) if 0 < nse < 1 else int(nse)
    index_dtype = np.dtype(indices_dtype or _core.default_int_dtype())
    if whole > np.iinfo(index_dtype).max:
        raise ValueError(
            f"indices_dtype={index_dtype} does not have enough range for sparse indices of size {whole}.\n"
            "  pass indices_dtype=jnp.int32"
        )

    def positions(key: Any) -> Any:
        flat = ct.random.choice(key, whole, shape=(count,), replace=not unique_indices).astype(index_dtype)
        return cnp.stack(cnp.unravel_index(flat, sparse), axis=1).astype(index_dtype)

    keys = ct.random.split(key, math.prod(batches) + 1)
    dtype = _core.default_float_dtype() if dtype is None else dtype
    data = generator(keys[0], shape=(*batches, count, *dense), dtype=dtype, **kwds)
    if sparse:
        indices = ct.vmap(positions)(keys[1:]).reshape(*batches, count, len(sparse))
    else:
        indices = cnp.zeros((*batches, count, 0), index_dtype)
    made = BCOO((data, indices), shape=sizes)
    return made.sort_indices() if sorted_indices else made
