"""``jax._src.lax.windowed_reductions``: what the public module lacks of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import cotangent as ct
from cotangent.jax.narrowing import narrowed_function

__all__ = ["_select_and_gather_add", "_select_and_scatter_add"]


def _extremes(select_prim: Any, *window: Any) -> Callable[[Any], Any]:
    """The largest or smallest element of each window."""
    largest = getattr(select_prim, "name", "") == "ge"
    fold, start = (ct.lax.max, -ct.numpy.inf) if largest else (ct.lax.min, ct.numpy.inf)
    return lambda x: ct.lax.reduce_window(x, ct.numpy.asarray(start, x.dtype), fold, *window)


def _gathered(
    tangents: Any,
    operand: Any,
    select_prim: Any,
    window_dimensions: Sequence[int],
    window_strides: Sequence[int],
    padding: Sequence[tuple[int, int]],
    base_dilation: Sequence[int],
    window_dilation: Sequence[int],
) -> Any:
    """Of each window the tangent at its largest or smallest element: the derivative of that element."""
    extremes = _extremes(select_prim, window_dimensions, window_strides, padding, base_dilation, window_dilation)
    return ct.jvp(extremes, (operand,), (tangents,))[1]


def _scattered(
    source: Any,
    operand: Any,
    select_prim: Any,
    window_dimensions: Sequence[int],
    window_strides: Sequence[int],
    padding: Sequence[tuple[int, int]],
) -> Any:
    """What each window is given, at its largest or smallest element: the transpose of `_gathered`."""
    return ct.vjp(_extremes(select_prim, window_dimensions, window_strides, padding), operand)[1](source)[0]


_select_and_gather_add = narrowed_function(_gathered)
_select_and_scatter_add = narrowed_function(_scattered)
