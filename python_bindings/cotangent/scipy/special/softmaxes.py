"""Softmax under the names of `scipy.special`, over all axes by default."""

from __future__ import annotations

from typing import Any

from cotangent._base.arguments import check_arguments
from cotangent._core import Array
from cotangent._special.support import floats
from cotangent.nn.normalization import log_softmax as _log_softmax
from cotangent.nn.normalization import softmax as _softmax


def softmax(x: Any, /, *, axis: int | tuple[int, ...] | None = None) -> Array:
    """Exponentials that sum to 1 over axes, all of them by default.

    `cotangent.nn.softmax` takes the last axis by default.

    Parameters
    ----------
    x : array
        Real numbers; integers are computed in the default floating dtype.
    axis : int, tuple of int or None
        The axes that sum to 1; None for all.

    Returns
    -------
    array
        Of the shape of ``x``.

    Examples
    --------
    >>> ct.scipy.special.softmax(ct.numpy.zeros((2, 2)))
    Array([[0.25, 0.25],
           [0.25, 0.25]], dtype=float32)
    """
    (array,) = floats("softmax", x)
    return _softmax(array, tuple(range(array.ndim)) if axis is None else axis)


def log_softmax(x: Any, /, *, axis: int | tuple[int, ...] | None = None) -> Array:
    """The logarithm of `softmax`, over all axes by default.

    Parameters
    ----------
    x : array
        Real numbers; integers are computed in the default floating dtype.
    axis : int, tuple of int or None
        The axes that sum to 1; None for all.

    Returns
    -------
    array
        Of the shape of ``x``.

    Examples
    --------
    >>> ct.scipy.special.log_softmax(ct.numpy.array([0.0, 0.0])).round(4)
    Array([-0.6931, -0.6931], dtype=float32)
    """
    (array,) = floats("log_softmax", x)
    return _log_softmax(array, tuple(range(array.ndim)) if axis is None else axis)


check_arguments(globals())
