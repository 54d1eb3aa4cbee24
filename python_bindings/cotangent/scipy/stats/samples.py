"""Statistics of samples: mode, ranks, the error of the mean."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from cotangent import _core
from cotangent import numpy as cnp
from cotangent._base.arguments import check_arguments, suggestion
from cotangent._base.words import check_word
from cotangent._core import Array
from cotangent._ops.sizes import as_dtype, bound_size, element_count, normalize_axis
from cotangent._transforms.batching import vmap

__all__ = [
    "ModeResult",
    "mode",
    "rankdata",
    "sem",
]


class ModeResult(NamedTuple):
    """The commonest values, and how often they occur."""

    mode: Any
    count: Any


def _nan_policy(name: str, nan_policy: str) -> None:
    check_word(name, "nan_policy", nan_policy, ("propagate", "omit", "raise"))
    if nan_policy == "raise":
        raise NotImplementedError(
            f"{name}: nan_policy='raise' depends on values\n  check them before the call: ct.numpy.isnan(a).any(), or ct.checkify"
        )


def mode(a: Any, axis: int | None = 0, nan_policy: str = "propagate", keepdims: bool = False) -> ModeResult:
    """The commonest value along an axis; the smallest of several.

    Parameters
    ----------
    a : array
        Bools or numbers; NaN equals NaN here.
    axis : int or None
        The axis, by default the first; None for all elements.
    nan_policy : str
        Only "propagate".
    keepdims : bool
        Whether the axis stays, with size 1.

    Returns
    -------
    ModeResult
        The values and their counts.

    Raises
    ------
    NotImplementedError
        Another ``nan_policy`` is asked for.

    Examples
    --------
    >>> tuple(x.tolist() for x in ct.scipy.stats.mode(ct.numpy.array([3, 1, 3, 2])))
    (3, 2)
    """
    _nan_policy("mode", nan_policy)
    if nan_policy == "omit":
        raise NotImplementedError(
            "mode: nan_policy='omit' is not supported\n  leave the NaNs out first: a[~ct.numpy.isnan(a)]"
        )
    a = cnp.asarray(a)
    rank = a.ndim
    if axis is None:
        a, axis = a.reshape(-1), 0
    axis = axis % max(a.ndim, 1)
    if a.ndim == 0:
        a = a.reshape(1)
    rows = cnp.moveaxis(cnp.sort(a, axis=axis), axis, -1)
    equal = rows[..., :, None] == rows[..., None, :]
    if cnp.issubdtype(a.dtype, cnp.inexact):
        equal = equal | (cnp.isnan(rows)[..., :, None] & cnp.isnan(rows)[..., None, :])
    counts = cnp.sum(equal, axis=-1)
    best = cnp.argmax(counts, axis=-1)[..., None]
    value = cnp.take_along_axis(rows, best, axis=-1)[..., 0]
    count = cnp.take_along_axis(counts, best, axis=-1)[..., 0]
    if keepdims:
        if axis == 0 and rank != a.ndim:
            value, count = value.reshape((1,) * rank), count.reshape((1,) * rank)
        else:
            value, count = cnp.expand_dims(value, axis), cnp.expand_dims(count, axis)
    return ModeResult(value, count)


def rankdata(a: Any, method: str = "average", *, axis: int | None = None, nan_policy: str = "propagate") -> Array:
    """The rank of each element among all or along an axis, from 1 on.

    Parameters
    ----------
    a : array
        Real numbers.
    method : str
        What equal elements get: the "average" of their ranks (the default), the "min", the "max", "dense" ranks
        without gaps, or "ordinal" ones in order.
    axis : int or None
        The axis; None, the default, for all elements in one row.
    nan_policy : str
        Only "propagate": a row with a NaN is NaN.

    Returns
    -------
    array
        Of the shape of ``a``, or one row.

    Raises
    ------
    ValueError
        The method is unknown.
    NotImplementedError
        Another ``nan_policy`` is asked for.

    Examples
    --------
    >>> ct.scipy.stats.rankdata(ct.numpy.array([10, 20, 10, 30]))
    Array([1.5, 3. , 1.5, 4. ], dtype=float32)
    """
    _nan_policy("rankdata", nan_policy)
    if nan_policy == "omit":
        raise NotImplementedError(
            "rankdata: nan_policy='omit' is not supported\n  leave the NaNs out first: a[~ct.numpy.isnan(a)]"
        )
    if method not in ("average", "min", "max", "dense", "ordinal"):
        methods = ("average", "min", "max", "dense", "ordinal")
        raise ValueError(
            f"rankdata: unknown method {method!r}; choose average, min, max, dense or ordinal{suggestion(method, methods)}\n"
            "  pass method='average', which is the default"
        )
    a = cnp.asarray(a)
    if axis is None:
        return _ranks(a.reshape(-1), method)
    if bound_size(a) == 0:
        return cnp.zeros_like(a, cnp.result_type(float))
    moved = cnp.moveaxis(a, axis, -1)
    rows = moved.reshape(-1, moved.shape[-1])
    ranks = vmap(lambda row: _ranks(row, method))(rows).reshape(moved.shape)
    return cnp.moveaxis(ranks, -1, axis)


def _ranks(row: Array, method: str) -> Array:
    if not cnp.issubdtype(row.dtype, cnp.inexact):
        return _ranks_of_numbers(row, method)
    ranks = _ranks_of_numbers(row, method).astype(cnp.result_type(float))
    result: Array = cnp.where(cnp.any(cnp.isnan(row)), math.nan, ranks)
    return result


def _ranks_of_numbers(row: Array, method: str) -> Array:
    order = cnp.argsort(row, stable=True)
    places = cnp.argsort(order, stable=True)  # of every element in the sorted row
    if method == "ordinal":
        return places + 1
    ordered = row[order]
    place = cnp.arange(row.shape[0])
    starts = (place == 0) | (ordered != cnp.roll(ordered, 1))
    dense = cnp.cumsum(starts)[places]
    if method == "dense":
        return dense
    first = cnp.searchsorted(ordered, row, side="left")
    last = cnp.searchsorted(ordered, row, side="right")
    if method == "min":
        return first + 1
    if method == "max":
        return last
    average: Array = 0.5 * (first + last + 1).astype(cnp.result_type(float))
    return average


def sem(a: Any, axis: int | None = 0, ddof: int = 1, nan_policy: str = "propagate", *, keepdims: bool = False) -> Array:
    """The standard error of the mean: the standard deviation over the square root of the number of elements.

    Parameters
    ----------
    a : array
        Numbers; integers are computed in the default floating dtype.
    axis : int or None
        The axis, by default the first; None for all elements.
    ddof : int
        What is subtracted from the number of elements in the divisor of the variance, by default 1.
    nan_policy : str
        "propagate", or "omit" to leave NaN out.
    keepdims : bool
        Whether the axis stays, with size 1.

    Returns
    -------
    array
        Without the axis.

    Raises
    ------
    NotImplementedError
        The ``nan_policy`` is "raise".

    Examples
    --------
    >>> ct.scipy.stats.sem(ct.numpy.array([1.0, 2.0, 3.0, 4.0])).round(4)
    Array(0.6455, dtype=float32)
    """
    _nan_policy("sem", nan_policy)
    (a,) = _core.promote([a], inexact=True)
    if axis is None:
        error = sem(a.reshape(-1), 0, ddof, nan_policy)
        return error.reshape((1,) * a.ndim) if keepdims else error
    if nan_policy == "omit":
        count = cnp.sum(~cnp.isnan(a), axis=axis, keepdims=keepdims)
        spread: Array = cnp.nanstd(a, axis=axis, ddof=ddof, keepdims=keepdims)
        result: Array = spread / cnp.sqrt(count.astype(spread.dtype))
        return result
    size = as_dtype(element_count(a, [normalize_axis(axis, a.ndim, "sem")]), cnp.real(a).dtype)
    return cnp.std(a, axis=axis, ddof=ddof, keepdims=keepdims) / cnp.sqrt(size)


check_arguments(globals())
