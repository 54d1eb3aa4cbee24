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
from cotangent._base.missing import needed
from cotangent._base.names import suggest_names
from cotangent._core import Array

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
        """Returns whether a tensor is one of our arrays.

        Parameters
        ----------
        tensor : object
            What einops was given.

        Returns
        -------
        bool
            True for arrays, traced ones too.

        Examples
        --------
        >>> from cotangent.interop.einops import Backend
        >>> Backend().is_appropriate_type(ct.numpy.ones(2)), Backend().is_appropriate_type(np.ones(2))
        (True, False)
        """
        return isinstance(tensor, Array)

    def from_numpy(self, x: Any) -> Array:
        """Makes one of our arrays of one of NumPy's.

        Parameters
        ----------
        x : numpy.ndarray
            The elements.

        Returns
        -------
        array
            Of the same shape and dtype.

        Examples
        --------
        >>> from cotangent.interop.einops import Backend
        >>> Backend().from_numpy(np.float32([1, 2]))
        Array([1., 2.], dtype=float32)
        """
        return numpy.asarray(x)

    def to_numpy(self, x: Array) -> Any:
        """Makes one of NumPy's arrays of one of ours.

        Parameters
        ----------
        x : array
            Not traced.

        Returns
        -------
        numpy.ndarray
            Of the same shape and dtype.

        Examples
        --------
        >>> from cotangent.interop.einops import Backend
        >>> Backend().to_numpy(ct.numpy.arange(2))
        array([0, 1], dtype=int32)
        """
        return np.asarray(x)

    def arange(self, start: int, stop: int) -> Array:
        """Makes the integers of a range.

        Parameters
        ----------
        start, stop : int
            The first, and the one behind the last.

        Returns
        -------
        array
            Of one axis.

        Examples
        --------
        >>> from cotangent.interop.einops import Backend
        >>> Backend().arange(2, 5).tolist()
        [2, 3, 4]
        """
        return numpy.arange(start, stop)

    def stack_on_zeroth_dimension(self, tensors: Sequence[Any]) -> Array:
        """Stacks a list of arrays along a new axis in front.

        Parameters
        ----------
        tensors : list of array
            Of one shape.

        Returns
        -------
        array
            With an axis more.

        Examples
        --------
        >>> from cotangent.interop.einops import Backend
        >>> Backend().stack_on_zeroth_dimension([np.float32([1, 2]), np.float32([3, 4])]).tolist()
        [[1.0, 2.0], [3.0, 4.0]]
        """
        return numpy.stack(tensors)

    def tile(self, x: Array, repeats: Sequence[int]) -> Array:
        """Repeats an array along its axes.

        Parameters
        ----------
        x : array
            The array.
        repeats : sequence of int
            How often, for each axis.

        Returns
        -------
        array
            Of so much larger sizes.

        Examples
        --------
        >>> from cotangent.interop.einops import Backend
        >>> Backend().tile(ct.numpy.arange(2), (2,)).tolist()
        [0, 1, 0, 1]
        """
        return numpy.tile(x, repeats)

    def concat(self, tensors: Sequence[Any], axis: int) -> Array:
        """Joins arrays along an axis.

        Parameters
        ----------
        tensors : sequence of arrays
            Of one shape but for the axis.
        axis : int
            The axis.

        Returns
        -------
        array
            One behind the other.

        Examples
        --------
        >>> from cotangent.interop.einops import Backend
        >>> Backend().concat([ct.numpy.arange(2), ct.numpy.arange(3)], axis=0).tolist()
        [0, 1, 0, 1, 2]
        """
        return numpy.concatenate(tensors, axis=axis)

    def add_axis(self, x: Array, new_position: int) -> Array:
        """Inserts an axis of size 1.

        Parameters
        ----------
        x : array
            The array.
        new_position : int
            Where it goes.

        Returns
        -------
        array
            With an axis more.

        Examples
        --------
        >>> from cotangent.interop.einops import Backend
        >>> Backend().add_axis(ct.numpy.arange(3), 1).shape
        (3, 1)
        """
        return numpy.expand_dims(x, new_position)

    def is_float_type(self, x: Array) -> bool:
        """Returns whether means of an array are of its dtype.

        Parameters
        ----------
        x : array
            The array.

        Returns
        -------
        bool
            True for floating and complex dtypes.

        Examples
        --------
        >>> from cotangent.interop.einops import Backend
        >>> Backend().is_float_type(ct.numpy.ones(2)), Backend().is_float_type(ct.numpy.arange(2))
        (True, False)
        """
        return _core.dtype_kind(x.dtype) in ("float", "complex")

    def einsum(self, pattern: str, *x: Any) -> Array:
        """Returns a product by the names of axes.

        Parameters
        ----------
        pattern : str
            As of `numpy.einsum`.
        *x : arrays
            The operands.

        Returns
        -------
        array
            Of the axes behind the arrow.

        Examples
        --------
        >>> from cotangent.interop.einops import Backend
        >>> float(Backend().einsum("i,i->", np.float32([1, 2]), np.float32([3, 4])))
        11.0
        """
        return numpy.einsum(pattern, *x)


suggest_names(globals())
