"""``jax.core``, and with more names ``jax.extend.core`` and ``jax._src.core``."""

from __future__ import annotations

import contextlib
import operator
from collections.abc import Iterator
from typing import Any

import numpy as np

import cotangent as ct
from cotangent.jax.internals.avals import (
    AbstractValue,
    OpaqueTraceState,
    ShapedArray,
    Trace,
    current_trace,
    find_top_trace,
    get_aval,
    get_opaque_trace_state,
    mapped_aval,
    trace_state_clean,
    typeof,
    unmapped_aval,
    valid_jaxtype,
)
from cotangent.jax.internals.jaxprs import (
    ClosedJaxpr,
    DropVar,
    Jaxpr,
    JaxprEqn,
    Literal,
    Var,
    eval_jaxpr,
    jaxpr_as_fun,
    jaxprs_in_params,
    new_jaxpr_eqn,
    subjaxprs,
)
from cotangent.jax.internals.primitives import (
    Primitive,
)

__all__ = [
    "AbstractValue",
    "Atom",
    "ClosedJaxpr",
    "DropVar",
    "Effect",
    "Jaxpr",
    "JaxprEqn",
    "Literal",
    "OpaqueTraceState",
    "Primitive",
    "ShapedArray",
    "Token",
    "Trace",
    "Var",
    "canonicalize_shape",
    "concrete_or_error",
    "current_trace",
    "eval_context",
    "eval_jaxpr",
    "find_top_trace",
    "get_aval",
    "get_opaque_trace_state",
    "is_constant_dim",
    "jaxpr_as_fun",
    "jaxprs_in_params",
    "mapped_aval",
    "new_jaxpr_eqn",
    "no_effects",
    "pytype_aval_mappings",
    "subjaxprs",
    "trace_state_clean",
    "typeof",
    "unmapped_aval",
    "valid_jaxtype",
]


class Effect:
    """A side effect of an equation."""


Atom = Var | Literal


class Token:
    """What orders side effects; they are in the program's order here."""


@contextlib.contextmanager
def eval_context() -> Iterator[None]:
    """A scope in which operations on known values are evaluated at once."""
    with ct.ensure_compile_time_eval():
        yield


def concrete_or_error(force: Any, value: Any, context: str = "") -> Any:
    """The value, converted by ``force``; an error that says so if it is traced."""
    return value if force is None and not isinstance(value, ct.core.Tracer) else (force or np.asarray)(value)


# Classes of NumPy's and of Python's that become arrays, and their types.
pytype_aval_mappings = dict.fromkeys((bool, int, float, complex, np.ndarray, ct.Array), typeof)
no_effects: frozenset[Any] = frozenset()


def is_constant_dim(size: Any) -> bool:
    """Whether a size is a number."""
    return isinstance(size, int)


def canonicalize_shape(shape: Any, context: str = "") -> tuple[int, ...]:
    """A shape as a tuple of ints."""
    return tuple(operator.index(size) for size in ((shape,) if isinstance(shape, int) else shape))
