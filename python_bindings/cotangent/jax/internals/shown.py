"""Functions of `jax.lax` that are one operation in JAX and several here: programs that are shown have them as one equation.

Elsewhere they are what they consist of. While a program is captured to be shown, or for a trace of a library's own, `shown` binds an operation with
JAX's name and parameters whose only rule is what it consists of, from which the rules of all transforms follow.
"""

from __future__ import annotations

import functools
import inspect
import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

import cotangent as ct
import cotangent.numpy as cnp
from cotangent import _core, extend
from cotangent._base.precision import check_precision
from cotangent._ops.arithmetic import integer_power
from cotangent._ops.binding import inexact
from cotangent.jax.internals.avals import shaped
from cotangent.jax.internals.dialect import BINDERS
from cotangent.jax.internals.jaxprs import built_in
from cotangent.jax.internals.primitives import OWNERS, Params, is_shown
from cotangent.jax.narrowing import canonical
from cotangent.lax.convolution_shapes import conv_dimension_numbers
from cotangent.lax.window_geometry import dilated_size, per_axis, resolve_pads

__all__ = ["SHOWN", "SHOWN_OF_NUMPY", "whole_power"]

Function = Callable[..., Any]
Form = Callable[..., tuple[list[Any], dict[str, Any]]]  # operands and parameters, of the arguments
_numbers = itertools.count()


def _shown(
    function: Function, form: Form, compute: Function | None = None, name: str = "", has_many_results: bool = False
) -> Function:
    """The function, which is one equation where programs are shown: ``compute`` of operands and parameters."""
    name = name or function.__name__
    computed = function if compute is None else compute
    own = f"jax_shown_{name}_{next(_numbers)}"
    signature = inspect.signature(function)

    def of_type(*avals: Any, _params: Params) -> Any:
        return ct.eval_shape(lambda *xs: computed(*xs, **_params.values), *[shaped(aval) for aval in avals])

    def expand(*operands: Any, _params: Params) -> Any:
        return computed(*operands, **_params.values)

    primitive = extend.primitive(own, type=of_type, expand=expand, multiple_results=has_many_results)
    OWNERS[own] = built_in(name)
    BINDERS[name] = computed

    @functools.wraps(function)
    def run(*args: Any, **kwargs: Any) -> Any:
        if not is_shown():
            return function(*args, **kwargs)
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        operands, params = form(**bound.arguments)
        if not any(_core.is_traced(x) for x in operands):
            return function(*args, **kwargs)
        results = primitive(*operands, _params=Params(params))
        return tuple(results) if has_many_results else results

    return run


# ---- Convolutions


def _form_of_convolution(
    lhs: Any, rhs: Any, window_strides: Any, padding: Any, lhs_dilation: Any, rhs_dilation: Any, dimension_numbers: Any,
    feature_group_count: int, batch_group_count: int, precision: Any, preferred_element_type: Any, window_reversal: Any,
    out_sharding: Any,
) -> tuple[list[Any], dict[str, Any]]:  # fmt: skip
    check_precision(precision)
    x, filters = _core.array(lhs), _core.array(rhs)
    numbers = conv_dimension_numbers(x.shape, filters.shape, dimension_numbers)
    if window_reversal is not None and any(window_reversal):
        filters = ct.lax.rev(filters, [numbers.rhs_spec[2 + axis] for axis, turn in enumerate(window_reversal) if turn])
    rank = x.ndim - 2
    strides, spread, spacing = (
        tuple(per_axis("conv_general_dilated", what, values, rank))
        for what, values in (
            ("window_strides", window_strides),
            ("lhs_dilation", lhs_dilation),
            ("rhs_dilation", rhs_dilation),
        )
    )
    sizes = [dilated_size(x.shape[axis], gap) for axis, gap in zip(numbers.lhs_spec[2:], spread, strict=True)]
    windows = [dilated_size(filters.shape[axis], gap) for axis, gap in zip(numbers.rhs_spec[2:], spacing, strict=True)]
    params = {
        "window_strides": strides,
        "padding": tuple(resolve_pads("conv_general_dilated", sizes, windows, strides, padding)),
        "lhs_dilation": spread,
        "rhs_dilation": spacing,
        "dimension_numbers": numbers,
        "feature_group_count": feature_group_count,
        "batch_group_count": batch_group_count,
        "precision": precision,
        "preferred_element_type": preferred_element_type,
        "out_sharding": None,
    }
    return [x, filters], params


# ---- Functions of elements, and along axes


def _form(*operands: str, **fixed: Any) -> Form:
    """The form of a function of which some arguments are operands, and the others parameters."""

    def form(**arguments: Any) -> tuple[list[Any], dict[str, Any]]:
        params = {key: value for key, value in arguments.items() if key not in operands}
        return [_core.array(arguments[key]) for key in operands], {**params, **fixed}

    return form


def _extreme(function: Function) -> Function:
    def form(operand: Any, axis: int, index_dtype: Any) -> tuple[list[Any], dict[str, Any]]:
        x = _core.array(operand)
        return [x], {"axes": (axis % max(x.ndim, 1),), "index_dtype": canonical(np.dtype(index_dtype))}

    return _shown(function, form, lambda x, *, axes, index_dtype: function(x, axes[0], index_dtype))


def _form_of_squeeze(array: Any, dimensions: Any) -> tuple[list[Any], dict[str, Any]]:
    x = _core.array(array)
    axes = (dimensions,) if isinstance(dimensions, int) else dimensions
    return [x], {"dimensions": tuple(sorted(axis % x.ndim for axis in axes))}


def _along(function: Function) -> Function:
    def form(operand: Any, axes: Any) -> tuple[list[Any], dict[str, Any]]:
        x = _core.array(operand)
        return [x], {"axes": tuple(axis % x.ndim for axis in axes)}

    return _shown(function, form, BINDERS[function.__name__])


def _form_of_round(x: Any, rounding_method: Any) -> tuple[list[Any], dict[str, Any]]:
    return [_core.array(x)], {"rounding_method": ct.lax.RoundingMethod(rounding_method)}


def _form_of_top_k(operand: Any, k: int, axis: int) -> tuple[list[Any], dict[str, Any]]:
    x = _core.array(operand)
    return [x], {"k": k, "axis": axis % max(x.ndim, 1)}


def _form_of_reciprocal(x: Any) -> tuple[list[Any], dict[str, Any]]:
    return [inexact(x)], {"y": -1}


def whole_power(x: Any, exponent: int) -> Any:
    """A whole power, which is one operation from the square on."""
    return integer_power(x, exponent) if exponent in (0, 1) else _shown_power(x, exponent)


_shown_power = _shown(
    integer_power,
    lambda x, exponent: ([_core.array(x)], {"y": exponent}),
    lambda x, *, y: integer_power(x, y),
    "integer_pow",
)


def _inverse(x: Any, *, y: int) -> Any:
    return ct.lax.integer_pow(x, y)


# By their names in `jax.numpy`.
SHOWN_OF_NUMPY: dict[str, Function] = {
    "reciprocal": _shown(cnp.reciprocal, _form_of_reciprocal, _inverse, "integer_pow"),
    "square": _shown(cnp.square, _form("x"), ct.lax.square, "square"),
}

# By their names in `jax.lax`.
SHOWN: dict[str, Function] = {
    "argmax": _extreme(ct.lax.argmax),
    "argmin": _extreme(ct.lax.argmin),
    "clamp": _shown(ct.lax.clamp, _form("min", "x", "max")),
    "clz": _shown(ct.lax.clz, _form("x")),
    "conv_general_dilated": _shown(ct.lax.conv_general_dilated, _form_of_convolution),
    "cumlogsumexp": _shown(ct.lax.cumlogsumexp, _form("operand")),
    "integer_pow": _shown(ct.lax.integer_pow, _form("x")),
    "logistic": _shown(ct.lax.logistic, _form("x")),
    "nextafter": _shown(ct.lax.nextafter, _form("x1", "x2")),
    "population_count": _shown(ct.lax.population_count, _form("x")),
    "reciprocal": _shown(ct.lax.reciprocal, _form_of_reciprocal, _inverse, "integer_pow"),
    "reduce_and": _along(ct.lax.reduce_and),
    "reduce_or": _along(ct.lax.reduce_or),
    "reduce_precision": _shown(ct.lax.reduce_precision, _form("operand")),
    "round": _shown(ct.lax.round, _form_of_round),
    "square": _shown(ct.lax.square, _form("x")),
    "squeeze": _shown(ct.lax.squeeze, _form_of_squeeze),
    "top_k": _shown(ct.lax.top_k, _form_of_top_k, has_many_results=True),
}
