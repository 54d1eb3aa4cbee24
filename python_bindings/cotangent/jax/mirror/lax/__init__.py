"""``jax.lax``: the primitives by their names, beside the functions that `cotangent.lax` has."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import cotangent.numpy as cnp
from cotangent._base.precision import DotAlgorithm
from cotangent.jax.internals import stateful
from cotangent.jax.internals.bit_generators import RandomAlgorithm, rng_bit_generator
from cotangent.jax.internals.indexing_checks import INDEXING_CHECKED
from cotangent.jax.internals.jaxprs import built_ins_named_in
from cotangent.jax.internals.meshes import with_sharding_constraint
from cotangent.jax.internals.shown import SHOWN
from cotangent.jax.narrowing import narrowed_function
from cotangent.lax import ConvDimensionNumbers

__all__ = [
    "ConvGeneralDilatedDimensionNumbers",
    "DotAlgorithm",
    "DotDimensionNumbers",
    "PrecisionLike",
    "RandomAlgorithm",
    "composite",
    "cond",
    "dce_sink",
    "fori_loop",
    "map",
    "rng_bit_generator",
    "scan",
    "shape_as_value",
    "stage",
    "switch",
    "while_loop",
    "with_sharding_constraint",
]

# What annotations name.
DotDimensionNumbers = tuple[tuple[Sequence[int], Sequence[int]], tuple[Sequence[int], Sequence[int]]]
ConvGeneralDilatedDimensionNumbers = tuple[str, str, str] | ConvDimensionNumbers | None
PrecisionLike = Any

cond, switch = narrowed_function(stateful.cond), narrowed_function(stateful.switch)
scan, map = narrowed_function(stateful.scan), narrowed_function(stateful.map_)  # noqa: A001 (JAX's name)
fori_loop, while_loop = narrowed_function(stateful.fori_loop), narrowed_function(stateful.while_loop)


def composite(decomposition: Callable[..., Any], name: str, version: int = 0) -> Callable[..., Any]:
    """A function that stands for an operation of some compilers; here it is what it consists of."""

    @functools.wraps(decomposition)
    def run(*args: Any, **attributes: Any) -> Any:
        return decomposition(*args, **attributes)

    return run


def dce_sink(val: Any, *, prevent_mlir_dce: bool = False) -> None:
    """Takes values that nothing depends on; compiled programs leave these out all the same."""


@narrowed_function
def stage(x: Any, /) -> Any:
    """An array of a number or an array."""
    return cnp.asarray(x)


def shape_as_value(shape: Sequence[int]) -> Any:
    """A shape as an array."""
    return cnp.array(shape, "int32")


# One operation each in programs that are shown, and those that ask of dimension numbers what JAX does.
_OWN = {name: narrowed_function(function) for name, function in {**SHOWN, **INDEXING_CHECKED}.items()}
globals().update(_OWN)
__all__ += list(_OWN)

# What programs of `make_jaxpr` are searched for: ``eqn.primitive is jax.lax.sin_p``.
_PRIMITIVES = built_ins_named_in("jax.lax")
globals().update(_PRIMITIVES)
__all__ += list(_PRIMITIVES)
