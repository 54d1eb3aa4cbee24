"""``gather`` and the scatters in JAX's words: dimension numbers, of indices with an axis of their own, in the place of an axis.

Ours read 0 at indices outside and drop updates there, and none counts from the end: mode FILL_OR_DROP with 0 says the same.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import cotangent as ct

__all__ = ["INDEXING_BINDERS", "INDEXING_NAMES", "indexing_params"]

_COMBINING: dict[str, Callable[..., Any] | None] = {
    "scatter": None,
    "scatter_add": ct.lax.add,
    "scatter_max": ct.lax.max,
    "scatter_min": ct.lax.min,
    "scatter_mul": ct.lax.mul,
}

# By our names, those of JAX's operations.
INDEXING_NAMES = {name: name.replace("_", "-") for name in ("gather", *_COMBINING)}


def indexing_params(name: str, params: dict[str, Any], operand: Any, indices: Any) -> dict[str, Any]:
    """The parameters, given ours and the types of the operand and of the indices, which get an axis of size 1 behind theirs."""
    axis, batch_dims = int(params["axis"]), int(params["batch_dims"])
    batch = tuple(range(batch_dims))
    index_axes = len(indices.shape) - batch_dims
    windows = (*range(batch_dims, axis), *range(axis + index_axes, len(operand.shape) + index_axes - 1))
    promised = {"indices_are_sorted": False, "unique_indices": bool(params.get("unique"))}
    mode = ct.lax.GatherScatterMode.FILL_OR_DROP
    if name == "gather":
        sizes = tuple(1 if i == axis or i in batch else size for i, size in enumerate(operand.shape))
        numbers: Any = ct.lax.GatherDimensionNumbers(windows, (axis,), (axis,), batch, batch)
        return {"dimension_numbers": numbers, "slice_sizes": sizes, "mode": mode, "fill_value": 0, **promised}
    numbers = ct.lax.ScatterDimensionNumbers(windows, (axis,), (axis,), batch, batch)
    return {"dimension_numbers": numbers, "mode": mode, "update_jaxpr": None, "update_consts": (), **promised}


def _gather(x: Any, indices: Any, **params: Any) -> Any:
    return ct.lax.gather(x, indices, **params)


def _scatter(name: str) -> Callable[..., Any]:
    function = getattr(ct.lax, name)

    def scatter(
        x: Any, indices: Any, updates: Any, *, update_jaxpr: Any, update_consts: Sequence[Any], **params: Any
    ) -> Any:
        return function(x, indices, updates, **params)

    return scatter


# What computes an operation of JAX's, by its name.
INDEXING_BINDERS: dict[str, Callable[..., Any]] = {
    "gather": _gather,
    **{name.replace("_", "-"): _scatter(name) for name in (*_COMBINING, "scatter_sub")},
}
