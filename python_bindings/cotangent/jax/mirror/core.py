"""``jax.core``, and with more names ``jax.extend.core`` and ``jax._src.core``."""

from __future__ import annotations

import contextlib
import operator
from collections.abc import Iterator
from typing import Any

import numpy as np

import cotangent as ct
from cotangent import _core
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
    set_current_trace,
    take_current_trace,
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
from cotangent.jax.internals.references import new_ref
from cotangent.jax.internals.user_traces import (
    Tracer,
    TraceTag,
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
    "ParamDict",
    "Primitive",
    "ShapedArray",
    "Token",
    "Trace",
    "TraceTag",
    "Tracer",
    "Value",
    "Var",
    "array_types",
    "call_impl",
    "canonicalize_shape",
    "check_jaxpr",
    "concrete_or_error",
    "current_trace",
    "ensure_compile_time_eval",
    "eval_context",
    "eval_jaxpr",
    "find_top_trace",
    "full_lower",
    "gensym",
    "get_aval",
    "get_opaque_trace_state",
    "is_constant_dim",
    "jaxpr_as_fun",
    "jaxprs_in_params",
    "mapped_aval",
    "max_dim",
    "min_dim",
    "new_jaxpr_eqn",
    "new_ref",
    "no_effects",
    "pytype_aval_mappings",
    "set_current_trace",
    "subjaxprs",
    "take_current_trace",
    "trace_state_clean",
    "typeof",
    "unmapped_aval",
    "unsafe_am_i_under_a_jit_DO_NOT_USE",
    "unsafe_am_i_under_a_vmap_DO_NOT_USE",
    "unsafe_get_axis_names_DO_NOT_USE",
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


Value = Any
ParamDict = dict[str, Any]
array_types = (np.ndarray, np.generic, ct.Array)
ensure_compile_time_eval = ct.ensure_compile_time_eval


def max_dim(x: Any, y: Any) -> Any:
    """The larger of two sizes."""
    return max(x, y)


def min_dim(x: Any, y: Any) -> Any:
    """The smaller of two sizes."""
    return min(x, y)


def full_lower(x: Any) -> Any:
    """The value of a tracer, where it is known without its trace."""
    return x.full_lower() if issubclass(type(x), Tracer) else x


def check_jaxpr(jaxpr: Jaxpr) -> None:
    """Raises ValueError where a variable is used before it is defined."""
    defined = {*jaxpr.constvars, *jaxpr.invars}
    for eqn in jaxpr.eqns:
        for var in eqn.invars:
            if not isinstance(var, Literal) and var not in defined:
                raise ValueError(
                    f"{var!r} is used in {eqn!r} and not defined before it\n"
                    "  put the equation that defines it in front of this one"
                )
        defined.update(eqn.outvars)


def gensym(suffix: str = "") -> Any:
    """A function that makes new variables of a type."""
    return Var


def call_impl(fun: Any, *args: Any, **params: Any) -> Any:
    """Calls a function on its way through transformations."""
    return fun.call_wrapped(*args)


def unsafe_get_axis_names_DO_NOT_USE() -> list[Any]:  # noqa: N802 (JAX's name)
    """The names of the mapped axes around."""
    return [name for name, _ in _core.named_axes()]


def unsafe_am_i_under_a_jit_DO_NOT_USE() -> bool:  # noqa: N802 (JAX's name)
    """Whether values are not known."""
    return _core.capture_mode() == "jit"


def unsafe_am_i_under_a_vmap_DO_NOT_USE() -> bool:  # noqa: N802 (JAX's name)
    """Whether an axis with a name is mapped."""
    return bool(_core.named_axes())
