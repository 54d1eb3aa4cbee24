"""Scaled dot-product attention: ``ct.nn.dot_product_attention``."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from cotangent import _core, numpy
from cotangent._base import primitives
from cotangent._base.arguments import check_arguments
from cotangent._core import Array
from cotangent._ops.binding import kind
from cotangent._ops.extents import capacities, capacity
from cotangent._ops.sizes import axis_size
from cotangent.errors import DTypeError, ShapeError
from cotangent.nn.normalization import logsumexp, softmax

__all__ = ["dot_product_attention"]


def dot_product_attention(
    query: Any,
    key: Any,
    value: Any,
    bias: Any = None,
    mask: Any = None,
    *,
    scale: float | None = None,
    is_causal: bool = False,
    query_seq_lengths: Any = None,
    key_value_seq_lengths: Any = None,
    local_window_size: int | tuple[int, int] | None = None,
    implementation: str | None = None,
    return_residual: bool = False,
) -> Any:
    """Scaled dot-product attention: means of values, weighted by a softmax of products of queries and keys.

    Products and softmax are computed in float32 or wider.

    Parameters
    ----------
    query : array, shape (..., T, N, H)
        T positions, N heads of H features.
    key : array, shape (..., S, K, H)
        N is a multiple of K, and each head of key and value serves N / K heads of the query.
    value : array, shape (..., S, K, H)
        What is averaged.
    bias : array, optional
        Added to the logits; broadcast to (..., N, T, S).
    mask : array of bool, optional
        Which logits count; broadcast to (..., N, T, S).
    scale : float, optional
        The factor of the logits, by default 1 / sqrt(H).
    is_causal : bool
        Whether position t sees only positions up to t.
    query_seq_lengths : array of int, optional
        Of the leading shape: the results of later positions are 0.
    key_value_seq_lengths : array of int, optional
        Of the leading shape: later positions are not seen.
    local_window_size : int or (int, int), optional
        How many positions before and after are seen.
    implementation : str, optional
        None or "xla"; there is one.
    return_residual : bool
        Whether the logarithms of the softmax' denominators, shape (..., T, N), are returned too; they have no
        derivative.

    Returns
    -------
    array, shape (..., T, N, H)
        Or a pair with the logarithms.

    Raises
    ------
    ShapeError
        The numbers of axes, heads or features do not fit.
    DTypeError
        The mask is not bool.

    References
    ----------
    - Ashish Vaswani and others, "Attention is all you need", 2017.
    - Joshua Ainslie and others, "GQA: training generalized multi-query transformer models from multi-head
      checkpoints", 2023.

    Examples
    --------
    >>> x = ct.numpy.array([[[1.0, 0.0]], [[0.0, 1.0]]])
    >>> ct.nn.dot_product_attention(x, x, x, is_causal=True).round(4).tolist()
    [[[1.0, 0.0]], [[0.3301999866962433, 0.6697999835014343]]]
    """
    if implementation not in (None, "xla"):
        raise ValueError(f"dot_product_attention: unsupported implementation {implementation!r}\n  use None or 'xla'")
    query, key, value = _core.array(query), _core.array(key), _core.array(value)
    for name, given in (("query", query), ("key", key), ("value", value)):
        if given.ndim < 3:
            raise ShapeError(
                f"dot_product_attention: {name} must have axes of positions, heads and features; got shape {given.shape}\n"
                f"  insert an axis for one head: {name}[:, None]"
            )
    positions, heads, features = capacities(query)[-3:]
    seen, groups = capacities(key)[-3:-1]
    if heads % groups or capacity(key, -1) != features or capacities(key)[:-1] != capacities(value)[:-1]:
        raise ShapeError(
            f"dot_product_attention: query {query.shape}, key {key.shape} and value {value.shape} do not fit\n"
            "  the heads of query must be a multiple of those of key and value, which have equal shapes"
        )
    if mask is not None and kind(_core.array(mask)) != "bool":
        raise DTypeError(
            f"dot_product_attention: the mask must be bool; got {_core.array(mask).dtype}\n"
            "  pass mask != 0, or add numbers as bias="
        )
    repeats = heads // groups
    if repeats > 1:
        key, value = numpy.repeat(key, repeats, -2), numpy.repeat(value, repeats, -2)
    wide = _core.promote_types([(query.dtype, False), (np.dtype("float32"), False)])[0]
    size = axis_size(query, query.ndim - 1)
    if scale is not None:
        factor: Any = scale
    elif isinstance(size, Array):
        factor = 1.0 / primitives.sqrt(_core.convert(size, wide))
    else:
        factor = 1.0 / math.sqrt(features)
    logits = numpy.einsum("...tnh,...snh->...nts", _core.convert(query, wide), _core.convert(key, wide)) * factor
    if bias is not None:
        logits = _core.convert(logits + bias, wide)
    allowed = [] if mask is None else [_core.array(mask)]
    rows, columns = numpy.arange(positions)[:, None], numpy.arange(seen)
    if is_causal:
        allowed.append(columns <= rows)
    if local_window_size is not None:
        pair = (local_window_size,) * 2 if isinstance(local_window_size, int) else local_window_size
        allowed += [rows <= columns + pair[0], rows >= columns - pair[1]]
    inside = None
    if query_seq_lengths is not None:
        inside = rows[:, 0] < numpy.asarray(query_seq_lengths)[..., None]
        allowed.append(inside[..., None, :, None])
    if key_value_seq_lengths is not None:
        allowed.append((columns < numpy.asarray(key_value_seq_lengths)[..., None])[..., None, None, :])
    lowest = -0.7 * float(np.finfo(np.float32).max)
    for condition in allowed:
        logits = numpy.where(condition, logits, lowest)
    weights = _core.convert(softmax(logits), value.dtype)
    result = numpy.einsum("...nts,...snh->...tnh", weights, value)
    if inside is not None:
        result = result * _core.convert(inside[..., None, None], result.dtype)
    if not return_residual:
        return result
    residual = numpy.swapaxes(_core.convert(logsumexp(logits, -1), key.dtype), -1, -2)
    return result, primitives.stop_gradient(residual)


check_arguments(globals())
