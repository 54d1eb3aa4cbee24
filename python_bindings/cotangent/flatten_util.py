"""A pytree of arrays as one vector."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from cotangent import _core, tree_util
from cotangent import numpy as cnp
from cotangent._core import Array

__all__ = ["ravel_pytree"]


def ravel_pytree(pytree: Any) -> tuple[Array, Callable[[Any], Any]]:
    """All elements of a pytree's leaves as one vector, and the function that makes the pytree of such a vector.

    The vector's dtype is the promotion of the leaves' dtypes; the way back gives each leaf its own dtype again.

    Raises:
        TypeError: the way back is given a vector of another shape or dtype.

    >>> import cotangent as ct
    >>> vector, unravel = ct.flatten_util.ravel_pytree({"b": 1.0, "w": [2.0, 3.0]})
    >>> [float(x) for x in vector]
    [1.0, 2.0, 3.0]
    >>> unravel(vector * 2)["w"]
    [Array(4., dtype=float32), Array(6., dtype=float32)]
    """
    leaves, structure = tree_util.tree_flatten(pytree)
    arrays = [cnp.asarray(leaf) for leaf in leaves]
    if not arrays:
        vector = cnp.zeros(0)
    else:
        dtype = cnp.result_type(*arrays)
        vector = cnp.concatenate([cnp.ravel(array).astype(dtype) for array in arrays])
    kinds = [(array.shape, array.dtype, math.prod(array.shape)) for array in arrays]
    shape, dtype = vector.shape, vector.dtype

    def unravel(vector: Any) -> Any:
        vector = cnp.asarray(vector)
        if vector.shape != shape or vector.dtype != dtype:
            raise TypeError(
                f"the vector must have shape {shape} and dtype {dtype}, as ravel_pytree gave; got {vector.shape} and {vector.dtype}"
            )
        parts, start = [], 0
        for leaf_shape, leaf_dtype, size in kinds:
            part = vector[start : start + size].reshape(leaf_shape)
            if _core.dtype_kind(dtype) == "complex" and _core.dtype_kind(leaf_dtype) != "complex":
                part = cnp.real(part)
            parts.append(part.astype(leaf_dtype))
            start += size
        return structure.unflatten(parts)

    return vector, unravel
