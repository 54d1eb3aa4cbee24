"""Covariances and correlations."""

from __future__ import annotations

from typing import Any

import numpy as np

from cotangent import _core
from cotangent._base import primitives
from cotangent._base.arguments import check_arguments
from cotangent._core import Array
from cotangent._ops.binding import (
    choose,
    convert,
    inexact,
    is_integer,
    working_dtype,
)
from cotangent._ops.complex_parts import conjugate, real
from cotangent._ops.diagonals import diagonal
from cotangent._ops.extents import capacities, capacity
from cotangent._ops.joining import concatenate
from cotangent._ops.means import average
from cotangent._ops.products import dot
from cotangent._ops.reductions import sum as _sum
from cotangent._ops.rounding import clip
from cotangent._ops.sizes import (
    insert_axes,
)
from cotangent.errors import ConcretizationError

__all__ = [
    "corrcoef",
    "cov",
]


def cov(
    m: Any,
    y: Any = None,
    rowvar: bool = True,
    bias: bool = False,
    ddof: int | None = None,
    fweights: Any = None,
    aweights: Any = None,
    dtype: Any = None,
) -> Array:
    """The covariances of variables, of each of which there are several observations.

    Parameters
    ----------
    m : array, shape (variables, observations)
        Numbers; one axis is one variable.
    y : array, optional
        Further variables, with as many observations.
    rowvar : bool, default True
        Whether variables are rows; else they are columns.
    bias : bool, default False
        Whether sums are divided by the number of observations, and not by one less.
    ddof : int, optional
        What is subtracted from the number of observations before dividing by it, instead of what ``bias`` says.
    fweights : array of int, shape (observations,), optional
        How often each observation was made.
    aweights : array, shape (observations,), optional
        The importance of each observation.
    dtype : dtype, optional
        Floating or complex; of the result.

    Returns
    -------
    array, shape (variables, variables)
        The covariances; of one variable a scalar.

    Raises
    ------
    ValueError
        Shapes do not fit, or the dtype is not floating.
    ConcretizationError
        The number of variables is ragged inside of ``ct.mask``, so that whether there is one depends on the length.

    Examples
    --------
    >>> ct.numpy.cov([[1.0, 2.0, 3.0], [3.0, 1.0, 2.0]])
    Array([[ 1. , -0.5],
           [-0.5,  1. ]], dtype=float32)
    """
    x = inexact(m)
    parts = [x] if y is None else [x, inexact(y)]
    if dtype is not None:
        if _core.dtype_kind(_core.canonical_dtype(dtype)) not in ("float", "complex"):
            raise ValueError(
                f"cov: the dtype must be floating or complex; got {_core.canonical_dtype(dtype)}\n"
                "  leave dtype out, or name a floating one: dtype='float32'"
            )
        parts = [convert(part, dtype) for part in parts]
    for part in parts:
        if part.ndim > 2:
            raise ValueError(
                f"cov takes one or two axes; got shape {part.shape}\n"
                "  make one row of each variable: x.reshape(x.shape[0], -1)"
            )
    rows = [insert_axes(part, list(np.arange(2 - part.ndim).tolist())) if part.ndim < 2 else part for part in parts]
    rows = [
        primitives.transpose(row, permutation=[1, 0]) if not rowvar and part.ndim == 2 else row
        for row, part in zip(rows, parts, strict=True)
    ]
    x = concatenate(rows) if len(rows) > 1 else rows[0]
    if working_dtype(x.dtype) != x.dtype:
        wide = convert(x, working_dtype(x.dtype))
        return convert(cov(wide, None, True, bias, ddof, fweights, aweights), x.dtype)
    if ddof is None:
        ddof = 0 if bias else 1
    w: Array | None = None
    for name, given in (("fweights", fweights), ("aweights", aweights)):
        if given is None:
            continue
        one = _core.array(given)
        if capacities(one) != (capacity(x, 1),):
            raise ValueError(
                f"cov: {capacity(x, 1)} observations need as many {name}; got shape {one.shape}\n"
                f"  give one weight for each observation: shape ({capacity(x, 1)},)"
            )
        if name == "fweights" and not is_integer(one):
            raise TypeError(
                f"cov: fweights must be integers; got {one.dtype}\n  use aweights for weights that are not counts"
            )
        w = one if w is None else w * one
    if capacity(x, 0) == 0:
        return _core.full((0, 0), 0.0, x.dtype)
    if 0 in _core.ragged_axes(x):
        raise ConcretizationError(
            "cov: the number of variables is ragged, and for one variable the result has no axes\n"
            "  write the product out: d = x - x.mean(1, keepdims=True); d @ d.T / (x.shape[1] - 1)"
        )
    mean, total = average(x, axis=1, weights=w, returned=True)
    total = total[0]
    if w is None:
        factor = total - ddof
    elif ddof == 0:
        factor = total
    elif aweights is None:
        factor = total - ddof
    else:
        factor = total - ddof * _sum(w * _core.array(aweights)) / total
    factor = choose(real(factor) > 0, factor, 0.0)
    centered = x - insert_axes(mean, [1])
    weighted = centered if w is None else centered * w
    result = dot(weighted, conjugate(primitives.transpose(centered, permutation=[1, 0]))) / factor
    return primitives.reshape(result, shape=[]) if capacities(result) == (1, 1) else result


def corrcoef(x: Any, y: Any = None, rowvar: bool = True, dtype: Any = None) -> Array:
    """The correlation coefficients of variables: covariances divided by the standard deviations of both.

    Parameters
    ----------
    x : array, shape (variables, observations)
        Numbers; one axis is one variable.
    y : array, optional
        Further variables, with as many observations.
    rowvar : bool, default True
        Whether variables are rows; else they are columns.
    dtype : dtype, optional
        Floating or complex; of the result.

    Returns
    -------
    array, shape (variables, variables)
        The coefficients, from -1 to 1; of one variable a scalar. NaN with a variable that is constant.

    Examples
    --------
    >>> ct.numpy.corrcoef([[1.0, 2.0, 3.0], [3.0, 1.0, 2.0]]).round(3)
    Array([[ 1. , -0.5],
           [-0.5,  1. ]], dtype=float32)
    """
    result_dtype = (
        _core.canonical_dtype(dtype)
        if dtype is not None
        else inexact(_core.promote([x] if y is None else [x, y])[0]).dtype
    )
    if working_dtype(result_dtype) != result_dtype:
        return convert(corrcoef(x, y, rowvar, working_dtype(result_dtype)), result_dtype)
    c = cov(x, y, rowvar, dtype=dtype)
    if c.ndim == 0:
        return c / c
    deviation = primitives.sqrt(real(diagonal(c)))
    c = c / insert_axes(deviation, [1]) / insert_axes(deviation, [0])
    if c.dtype.kind == "c":
        return primitives.complex(clip(real(c), -1, 1), clip(primitives.imag(c), -1, 1))
    return clip(c, -1, 1)


check_arguments(globals())
