"""JAX's transforms: ours with JAX's arguments, on inputs without 64 bits."""

from __future__ import annotations

import contextlib
import functools
import inspect
import types
from collections.abc import Callable
from typing import Any

import numpy as np

import cotangent as ct
from cotangent import _core, tree_util
from cotangent._base.capture import wraps
from cotangent._core import Array, JitFunction
from cotangent.jax.internals import references
from cotangent.jax.internals.formats import Format, placement_of
from cotangent.jax.internals.pullbacks import pullback_of
from cotangent.jax.internals.references import Frame
from cotangent.jax.internals.stateful import (
    of_jit,
    stateful_checkpoint,
    stateful_derivative,
    stateful_direct,
    stateful_vmap,
)
from cotangent.jax.internals.user_traces import for_traces
from cotangent.jax.narrowing import check_int, narrow_tree, traceable
from cotangent.jax.tracebacks import api_boundary

__all__ = [
    "checkpoint",
    "custom_jvp",
    "custom_vjp",
    "device_get",
    "device_put",
    "eval_shape",
    "grad",
    "hessian",
    "jacfwd",
    "jacrev",
    "jit",
    "jvp",
    "linearize",
    "pmap",
    "value_and_grad",
    "vjp",
    "vmap",
]

Function = Callable[..., Any]


def _narrow_arguments(function: Function) -> Function:
    """A transformed function on inputs without 64 bits."""

    @wraps(function)
    def run(*args: Any, **kwargs: Any) -> Any:
        return function(*narrow_tree(args), **narrow_tree(kwargs))

    return traceable(run)


def _decorator(transform: Function) -> Function:
    """The transform, of which the function may be given later."""

    @functools.wraps(transform)
    def apply(fun: Any = None, *args: Any, **kwargs: Any) -> Any:
        if fun is None:
            return lambda given: bounded(given, *args, **kwargs)
        made = _narrow_arguments(transform(fun, *args, **kwargs))
        if not isinstance(fun, (types.FunctionType, types.MethodType, functools.partial, JitFunction)):
            for name, value in getattr(fun, "__dict__", {}).items():  # of an object that is called, as JAX does
                vars(made).setdefault(name, value)
        return made

    bounded: Function = api_boundary(apply)
    return bounded


grad = _decorator(stateful_derivative(ct.grad, with_value=False))
value_and_grad = _decorator(stateful_derivative(ct.value_and_grad, with_value=True))
jacfwd = _decorator(stateful_derivative(ct.jacfwd, with_value=False))
jacrev = _decorator(stateful_derivative(ct.jacrev, with_value=False))
hessian = _decorator(stateful_derivative(ct.hessian, with_value=False))
vmap = _decorator(functools.wraps(ct.vmap)(stateful_vmap))
checkpoint = api_boundary(stateful_checkpoint(ct.checkpoint))


def _direct(transform: Function) -> Function:
    """A transform that is given the values as well."""

    @functools.wraps(transform)
    def apply(fun: Function, *args: Any, **kwargs: Any) -> Any:
        named = {key: value if callable(value) else narrow_tree(value) for key, value in kwargs.items()}
        return transform(fun, *narrow_tree(args), **named)

    return traceable(apply)


@api_boundary
def _call_narrowed(function: Function, *args: Any) -> Any:
    """The function of derivatives that `linearize` returns, on derivatives without 64 bits."""
    return function(*narrow_tree(args))


def _returning_linear(transform: Function, made_of: Function) -> Function:
    """A transform of which the second result is a function of derivatives; that is a pytree, as ours is, of which ``made_of`` makes it."""

    @functools.wraps(transform)
    def apply(fun: Function, *args: Any, **kwargs: Any) -> Any:
        value, linear, *aux = transform(fun, *args, **kwargs)
        return (value, made_of(linear), *aux)

    return api_boundary(apply)  # type: ignore[no-any-return]


jvp = _direct(stateful_direct(ct.jvp))
vjp = _returning_linear(_direct(stateful_direct(ct.vjp)), pullback_of)
linearize = _returning_linear(
    _direct(stateful_direct(ct.linearize)), functools.partial(tree_util.Partial, _call_narrowed)
)
eval_shape = _direct(ct.eval_shape)

# What says where and how JAX compiles, which is settled here.
_OF_COMPILATION = ("in_shardings", "out_shardings", "compiler_options", "spmd_axis_name", "abstracted_axes")


def jit(fun: Any = None, /, **options: Any) -> Any:
    """`ct.jit` with JAX's options. Inputs of 64 bits are converted inside of the program, so that a call does not pay for it."""
    for name in _OF_COMPILATION:
        options.pop(name, None)
    if fun is None:
        return lambda given: jit(given, **options)

    @api_boundary
    @wraps(fun)
    def narrow(*args: Any, **kwargs: Any) -> Any:
        if not _core.get_enable_x64():
            args = tuple(_narrow_traced(arg) for arg in args)
            kwargs = {name: _narrow_traced(arg) for name, arg in kwargs.items()}
        if not references.used() or _core.get_flag("disable_jit"):
            return fun(*args, **kwargs)
        with Frame(owner, inputs_only=True):
            return fun(*args, **kwargs)

    owner, substitute = of_jit(fun, options)
    jitted: Any = ct.jit(narrow, **options)
    jitted._references = owner, substitute
    with contextlib.suppress(TypeError, ValueError):  # of built-in functions it is not known
        jitted.__signature__ = inspect.signature(fun)
    return for_traces(jitted)


def _narrow_traced(tree: Any) -> Any:
    leaves, structure = tree_util.tree_flatten(tree)
    if not any(isinstance(leaf, Array) and leaf.dtype.itemsize >= 8 for leaf in leaves):
        return tree  # static arguments are among these, and stay the objects that they are
    return structure.unflatten([_narrow_leaf(leaf) for leaf in leaves])


def _narrow_leaf(leaf: Any) -> Any:
    if not isinstance(leaf, Array):
        return leaf
    if leaf.weak_type and leaf.dtype in ("int64", "uint64"):
        raise OverflowError(
            "an argument is a Python int that does not fit int32\n"
            "  pass an array of a dtype that holds it, or set jax_enable_x64"
        )
    return narrow_tree(leaf)


def device_put(x: Any, device: Any = None, **options: Any) -> Any:
    """`ct.device_put` of arrays without 64 bits."""
    for leaf in tree_util.tree_leaves(x):
        check_int(leaf)
    if any(isinstance(leaf, Format) for leaf in tree_util.tree_leaves(device)):
        device = tree_util.tree_map(placement_of, device)
    return ct.device_put(narrow_tree(x), device, **options)


def device_get(x: Any) -> Any:
    """`ct.device_get`; a traced value stays one."""
    return tree_util.tree_map(lambda leaf: leaf if _core.is_traced(leaf) else ct.device_get(leaf), x)


def pmap(
    fun: Any = None,
    axis_name: Any = None,
    *,
    in_axes: Any = 0,
    out_axes: Any = 0,
    static_broadcasted_argnums: Any = (),
    **options: Any,
) -> Any:
    """A map over devices, of which there is one: the mapped axis must have size 1."""
    if fun is None:
        chosen = {"in_axes": in_axes, "out_axes": out_axes, "static_broadcasted_argnums": static_broadcasted_argnums}
        return lambda given: pmap(given, axis_name, **chosen, **options)
    static = (
        (static_broadcasted_argnums,) if isinstance(static_broadcasted_argnums, int) else static_broadcasted_argnums
    )

    @functools.cache
    def mapped(values: tuple[Any, ...], count: int, axes: Any) -> Any:
        positions = sorted(position % count for position in static)

        @wraps(fun)
        def run(*args: Any, **kwargs: Any) -> Any:
            given = list(args)
            for position, value in zip(positions, values, strict=True):
                given.insert(position, value)
            return fun(*given, **kwargs)

        return jit(vmap(run, in_axes=axes, out_axes=out_axes, axis_name=axis_name))

    @wraps(fun)
    @api_boundary
    def run(*args: Any, **kwargs: Any) -> Any:
        fixed = {position % len(args) for position in static}
        dynamic = [arg for position, arg in enumerate(args) if position not in fixed]
        axes = in_axes
        if isinstance(in_axes, (tuple, list)):
            all_axes = tuple(in_axes)
            axes = (
                tuple(axis for i, axis in enumerate(all_axes) if i not in fixed)
                if len(all_axes) == len(args)
                else all_axes
            )
        each = axes if isinstance(axes, tuple) else (axes,) * len(dynamic)
        for arg, axis in zip(dynamic, each, strict=True):
            for leaf in tree_util.tree_leaves(arg) if isinstance(axis, int) else ():
                if np.shape(leaf)[axis] != 1:
                    size = np.shape(leaf)[axis]
                    raise ValueError(
                        f"pmap: an axis of size {size} is mapped over devices, of which there is 1\n"
                        "  map over it with jax.vmap, or give the axis the size 1"
                    )
        values = tuple(args[position] for position in sorted(fixed))
        return mapped(values, len(args), axes)(*dynamic, **kwargs)

    return run


custom_jvp, custom_vjp = ct.custom_jvp, ct.custom_vjp
