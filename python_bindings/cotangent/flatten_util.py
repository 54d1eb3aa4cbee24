"""A pytree of arrays as one vector."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from cotangent import _core, tree_util
from cotangent import numpy as cnp
from cotangent._base.arguments import check_arguments, leaving_methods
from cotangent._base.names import suggest_names
from cotangent._core import Array, PyTreeDef

__all__ = ["ravel_pytree"]


def ravel_pytree(pytree: Any) -> tuple[Array, Callable[[Any], Any]]:
    """Returns all elements of a pytree as one vector, and the function that makes the pytree of such a vector.

    Of a `Ragged` it has the data, padding included; the lengths come back as they were.

    The vector's dtype is the promotion of the leaves' dtypes; the way back gives each leaf its own dtype again. Where
    all leaves have one dtype, they get that of the vector.

    Parameters
    ----------
    pytree : pytree of arrays
        Any structure, with arrays and numbers as leaves.

    Returns
    -------
    tuple
        The vector, of shape ``(n,)``, and ``unravel(vector)``, which returns a pytree of the structure and shapes of
        ``pytree``.

    Raises
    ------
    TypeError
        By ``unravel``: it is given a vector of another shape or dtype.

    Examples
    --------
    >>> vector, unravel = ct.flatten_util.ravel_pytree({"b": 1.0, "w": [2.0, 3.0]})
    >>> [float(x) for x in vector]
    [1.0, 2.0, 3.0]
    >>> unravel(vector * 2)["w"]
    [Array(4., dtype=float32), Array(6., dtype=float32)]
    """
    leaves = tree_util.tree_leaves(pytree)
    every, structure = tree_util.tree_flatten(pytree)
    arrays = [cnp.asarray(leaf) for leaf in leaves]
    if not arrays:
        vector = cnp.zeros(0)
    else:
        dtype = cnp.result_type(*arrays)
        vector = cnp.concatenate([cnp.ravel(array).astype(dtype) for array in arrays])
    kinds = tuple((array.shape, array.dtype) for array in arrays)
    around = _Around(pytree) if len(every) != len(leaves) else None
    return vector, _Unravel(structure, kinds, vector.shape, vector.dtype, around)


class _Around:
    """A pytree with what it carries beside its leaves, the lengths of ragged arrays; another one is not equal."""

    def __init__(self, tree: Any) -> None:
        self._tree = tree

    def filled(self, leaves: list[Array]) -> Any:
        rest = iter(leaves)
        return tree_util.tree_map(lambda _: next(rest), self._tree)


def _conversion(vector: Any, shape: tuple[int, ...], dtype: Any) -> str:
    """What makes a vector of the right shape and dtype of another array."""
    parts = [f".astype({str(dtype)!r})"] if vector.dtype != dtype else []
    if vector.shape == shape:
        return parts[0]
    if vector.size == math.prod(shape):
        return "".join([".ravel()", *parts])
    return f"ct.flatten_util.ravel_pytree(tree)[0], which has {math.prod(shape)} elements"


@leaving_methods
@dataclass(frozen=True)
class _Unravel:
    """The way back; equal for equal structures, so that it can be a static argument of `jit`."""

    structure: PyTreeDef
    kinds: tuple[tuple[Any, Any], ...]  # shape and dtype of each leaf
    shape: tuple[int, ...]
    dtype: Any
    around: _Around | None

    def __call__(self, vector: Any) -> Any:
        """The pytree. Where all leaves have one dtype they get that of the vector, whatever it is."""
        vector = cnp.asarray(vector)
        uniform = all(dtype == self.dtype for _, dtype in self.kinds)
        if vector.shape != self.shape or not (uniform or vector.dtype == self.dtype):
            raise TypeError(
                f"the vector must have shape {self.shape} and dtype {self.dtype}, as ravel_pytree gave; got {vector.shape} and "
                f"{vector.dtype}\n  convert it with {_conversion(vector, self.shape, self.dtype)}"
            )
        parts, start = [], 0
        for shape, dtype in self.kinds:
            size = math.prod(shape)
            part = vector[start : start + size].reshape(shape)
            if not uniform:
                if _core.dtype_kind(self.dtype) == "complex" and _core.dtype_kind(dtype) != "complex":
                    part = cnp.real(part)
                part = part.astype(dtype)
            parts.append(part)
            start += size
        return self.around.filled(parts) if self.around else self.structure.unflatten(parts)


check_arguments(globals())
suggest_names(globals())
