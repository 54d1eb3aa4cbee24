"""``jax.lax``: the primitives by their names, beside the functions that `cotangent.lax` has."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import cotangent.numpy as cnp
from cotangent.jax.internals.jaxprs import built_in
from cotangent.jax.internals.meshes import with_sharding_constraint
from cotangent.jax.names import NAMES
from cotangent.lax import ConvDimensionNumbers

__all__ = [
    "ConvGeneralDilatedDimensionNumbers",
    "DotDimensionNumbers",
    "PrecisionLike",
    "shape_as_value",
    "with_sharding_constraint",
]

# What annotations name.
DotDimensionNumbers = tuple[tuple[Sequence[int], Sequence[int]], tuple[Sequence[int], Sequence[int]]]
ConvGeneralDilatedDimensionNumbers = tuple[str, str, str] | ConvDimensionNumbers | None
PrecisionLike = Any


def shape_as_value(shape: Sequence[int]) -> Any:
    """A shape as an array."""
    return cnp.array(shape, "int32")


# What programs of `make_jaxpr` are searched for: ``eqn.primitive is jax.lax.sin_p``.
_PRIMITIVES = {name: built_in(name.removesuffix("_p")) for name in NAMES["jax.lax"] if name.endswith("_p")}
globals().update(_PRIMITIVES)
__all__ += list(_PRIMITIVES)
