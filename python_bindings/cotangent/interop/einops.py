"""einops takes our arrays once this module is imported: in programs that are being captured, too.

einops looks for a description of the tensors of each package that it has heard of. This is that of ours.

>>> import cotangent as ct
>>> import cotangent.interop.einops
>>> from einops import rearrange, reduce
>>> rearrange(ct.numpy.arange(6), "(a b) -> b a", a=2).tolist()
[[0, 3], [1, 4], [2, 5]]
>>> ct.grad(lambda x: reduce(x * x, "a b -> ", "sum"))(ct.numpy.ones((2, 2))).tolist()
[[2.0, 2.0], [2.0, 2.0]]
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from cotangent import _core, numpy
from cotangent._core import Array
from cotangent.interop._missing import needed

__all__ = ["Backend"]

_backends: Any = needed("einops._backends", "cotangent.interop.einops")


class Backend(_backends.AbstractBackend):  # type: ignore[misc]
    """How einops computes with our arrays; importing the module makes it known to einops.

    Examples
    --------
    >>> import einops
    >>> import cotangent.interop.einops
    >>> einops.rearrange(ct.numpy.arange(6), "(a b) -> b a", a=2).tolist()
    [[0, 3], [1, 4], [2, 5]]
    """

    framework_name = "cotangent"

    def is_appropriate_type(self, tensor: Any) -> bool:
        """Whether it is one of ours."""
        return isinstance(tensor, Array)

    def from_numpy(self, x: Any) -> Array:
        """An array of ours."""
        return numpy.asarray(x)

    def to_numpy(self, x: Array) -> Any:
        """One of NumPy's."""
        return np.asarray(x)

    def arange(self, start: int, stop: int) -> Array:
        """The integers of a range."""
        return numpy.arange(start, stop)

    def stack_on_zeroth_dimension(self, tensors: Sequence[Any]) -> Array:
        """Of a list of tensors, one with an axis more."""
        return numpy.stack(tensors)

    def tile(self, x: Array, repeats: Sequence[int]) -> Array:
        """The array repeated along its axes."""
        return numpy.tile(x, repeats)

    def concat(self, tensors: Sequence[Any], axis: int) -> Array:
        """Arrays one behind the other."""
        return numpy.concatenate(tensors, axis=axis)

    def add_axis(self, x: Array, new_position: int) -> Array:
        """A new axis of size 1."""
        return numpy.expand_dims(x, new_position)

    def is_float_type(self, x: Array) -> bool:
        """Whether means of it are of its dtype."""
        return _core.dtype_kind(x.dtype) in ("float", "complex")

    def einsum(self, pattern: str, *x: Any) -> Array:
        """A product by the names of axes."""
        return numpy.einsum(pattern, *x)
