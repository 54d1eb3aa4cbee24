"""Trends taken from signals, for scipy.signal."""

from __future__ import annotations

from typing import Any

import numpy as np

from cotangent import _core
from cotangent import numpy as cnp
from cotangent._base.arguments import check_arguments
from cotangent._base.words import check_word
from cotangent._core import Array
from cotangent.scipy.ragged_signal import ragged_detrended

__all__ = ["detrend"]


# ---- trends ----------------------------------------------------------------------------------------------------------


def detrend(data: Any, axis: int = -1, type: str = "linear", bp: Any = 0, overwrite_data: None = None) -> Array:  # noqa: A002
    """Subtracts the mean or the line of least squares along an axis, for each segment between breakpoints.

    Parameters
    ----------
    data : array
        Numbers; integers are computed in the default floating dtype.
    axis : int
        The axis, by default the last.
    type : str
        "linear" (the default), or "l"; or "constant", or "c", which does not look at the breakpoints.
    bp : int or sequence of int
        The positions at which segments begin.
    overwrite_data : None
        Must not be given.

    Returns
    -------
    array
        Of the shape of ``data``.

    Raises
    ------
    ValueError
        The type is unknown, or a breakpoint lies outside of the data.

    Examples
    --------
    >>> ct.scipy.signal.detrend(ct.numpy.array([1.0, 2.0, 4.0, 5.0])).round(3)
    Array([ 0.1, -0.3,  0.3, -0.1], dtype=float32)
    """
    if overwrite_data is not None:
        raise NotImplementedError(
            "detrend: overwrite_data has no meaning for immutable arrays\n  leave it out: the result is a new array"
        )
    type = {"c": "constant", "l": "linear"}.get(type, type)
    check_word("detrend", "type", type, ("constant", "linear"))
    (data,) = _core.promote([data], inexact=True)
    if type == "constant":
        centred: Array = data - cnp.mean(data, axis=axis, keepdims=True)
        return centred
    rows = cnp.moveaxis(data, axis, -1)
    if rows.ndim - 1 in _core.ragged_axes(rows):
        return cnp.moveaxis(ragged_detrended(rows, sorted({0, *(int(b) for b in np.atleast_1d(bp))})), -1, axis)
    size = rows.shape[-1]
    breaks = sorted({0, size, *(int(b) for b in np.atleast_1d(bp))})
    if breaks[0] < 0 or breaks[-1] > size:
        raise ValueError(
            f"detrend: breakpoints must be between 0 and {size}\n  pass positions of samples, as in bp=[{size // 2}]"
        )
    parts = []
    for start, stop in zip(breaks[:-1], breaks[1:], strict=True):
        part = rows[..., start:stop]
        count = stop - start
        places = np.arange(count) - (count - 1) / 2
        square = float((places**2).sum())
        slope = (part @ cnp.asarray(places, part.dtype))[..., None] / (square or 1.0)
        parts.append(part - cnp.mean(part, axis=-1, keepdims=True) - slope * cnp.asarray(places, part.dtype))
    return cnp.moveaxis(cnp.concatenate(parts, axis=-1), -1, axis)


check_arguments(globals())
