"""Functions with derivatives of the user's own: `custom_jvp`, `custom_vjp`, `custom_gradient`, and `closure_convert`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from cotangent import _core
from cotangent._base.arguments import check_arguments
from cotangent._base.boundary import leaving
from cotangent._base.capture import (
    SymbolicZero,
    capture,
    check_callable,
    flatten_arguments,
    float0_zeros,
    function_name,
    is_inexact_dtype,
    wraps,
)
from cotangent._base.carriers import map_every_leaf
from cotangent._base.names import suggest_names
from cotangent._core import Array, Graph, PyTreeDef
from cotangent._transforms.custom_rules import CustomVJPPrimal, custom_jvp, custom_vjp
from cotangent.tree_util import register_pytree_node

__all__ = [
    "CustomVJPPrimal",
    "SymbolicZero",
    "closure_convert",
    "custom_gradient",
    "custom_jvp",
    "custom_vjp",
    "custom_vjp_primal_tree_values",
    "zero_from_primal",
]

Function = Callable[..., Any]


def custom_vjp_primal_tree_values(tree: Any) -> Any:
    """Returns what a forward rule with symbolic zeros was given, with values in place of `CustomVJPPrimal`.

    Parameters
    ----------
    tree : pytree of CustomVJPPrimal
        An argument of the forward rule.

    Returns
    -------
    pytree of arrays
        Of the same structure.

    Examples
    --------
    >>> def forward(x):
    ...     x = ct.custom_derivatives.custom_vjp_primal_tree_values(x)
    ...     return x * x, x
    >>> f = ct.custom_vjp(lambda x: x * x)
    >>> f.defvjp(forward, lambda x, g: (2 * x * g,), symbolic_zeros=True)
    >>> float(ct.grad(f)(3.0))
    6.0
    """
    return map_every_leaf(lambda leaf: leaf.value if isinstance(leaf, CustomVJPPrimal) else leaf, tree)


def zero_from_primal(val: Any, symbolic_zeros: bool = False) -> Any:
    """Returns the zero tangents of a tree of values.

    Parameters
    ----------
    val : pytree of arrays
        The values.
    symbolic_zeros : bool, default False
        Whether they are `SymbolicZero` instead of arrays of zeros.

    Returns
    -------
    pytree of arrays
        Of the structure of ``val``: zeros like the values, of dtype float0 for integers and bools.

    Examples
    --------
    >>> float(ct.custom_derivatives.zero_from_primal({"rate": 2.0})["rate"])
    0.0
    """

    def zero(leaf: Any) -> Any:
        array = _core.array(leaf)
        if symbolic_zeros:
            return SymbolicZero.from_primal_value(array)
        if not is_inexact_dtype(array.dtype):
            return float0_zeros(array.shape)
        return _core.full(array._bound_shape, 0.0, array.dtype)

    return map_every_leaf(zero, val)


@dataclass
class _Pullback:
    """A captured function from cotangents of the output to those of the arguments."""

    graph: Graph
    structure: PyTreeDef  # of what it returns
    closure: list[Array]


register_pytree_node(
    _Pullback,
    lambda p: (p.closure, (p.graph, p.structure)),
    lambda fixed, closure: _Pullback(fixed[0], fixed[1], list(closure)),
)


def custom_gradient(fun: Function) -> custom_vjp:
    """Gives a function a reverse-mode rule that it returns itself.

    For rules that need what the function has computed: a closure instead of residuals. `custom_vjp` is the same with
    two functions.

    Parameters
    ----------
    fun : callable
        Returns ``(output, pull)``, where ``pull`` takes a cotangent of the output and returns a tuple with a cotangent
        for each argument.

    Returns
    -------
    custom_vjp
        A function of the same arguments that returns the output.

    Raises
    ------
    TypeError
        By a call: ``fun`` does not return a pair with a function.

    Examples
    --------
    >>> @ct.custom_gradient
    ... def f(x):
    ...     return x * x, lambda g: (g * x,)
    >>> float(ct.grad(f)(3.0))
    3.0
    """
    check_callable(fun, "custom_gradient")
    name = function_name(fun)

    def both(args: tuple[Any, ...]) -> tuple[Any, Any]:
        result = fun(*args)
        if not isinstance(result, (tuple, list)) or len(result) != 2 or not callable(result[1]):
            raise TypeError(
                f"custom_gradient: {name} must return (output, function of the output's cotangent)\n"
                "  return y, lambda g: (g * derivative,)"
            )
        return result[0], result[1]

    @wraps(fun)
    def value(*args: Any) -> Any:
        return both(args)[0]

    wrapped = custom_vjp(value)

    def forward(*args: Any) -> tuple[Any, _Pullback]:
        output, rule = both(args)
        leaves, structure = flatten_arguments(output, f"the output of {name}")
        captured = capture(
            lambda g: rule(g),
            leaves,
            _core.tree_flatten(((output,), {}), None)[1],
            "jit",
            name=f"the gradient of {name}",
        )
        del structure
        return output, _Pullback(captured.graph, captured.structure, captured.closure)

    def backward(pullback: _Pullback, cotangent: Any) -> tuple[Any, ...]:
        given = _core.tree_flatten(cotangent, None)[0]
        results = _core.apply_graph(pullback.graph, [_core.array(g) for g in given] + pullback.closure)
        pulled = pullback.structure.unflatten(results)
        return tuple(pulled) if isinstance(pulled, (tuple, list)) else (pulled,)

    wrapped.defvjp(forward, backward)
    return wrapped


def closure_convert(fun: Function, *example_args: Any) -> tuple[Function, list[Array]]:
    """Makes the values of enclosing transforms that a function closes over its further arguments.

    For rules of higher-order functions: what a function argument closes over must be an argument of the custom function
    for derivatives to reach it.

    Parameters
    ----------
    fun : callable
        A function of pytrees of arrays.
    *example_args : pytrees of arrays
        Arguments of the shapes and dtypes that ``fun`` will be called with.

    Returns
    -------
    tuple
        ``(converted, values)`` with ``converted(*args, *values) == fun(*args)``. The values are the traced ones of
        float or complex dtype, those that a derivative could be taken with respect to.

    Examples
    --------
    >>> def f(y):
    ...     g, values = ct.closure_convert(lambda x: x * y, 2.0)
    ...     return g(3.0, *values)
    >>> float(ct.grad(f)(5.0))
    3.0
    """
    check_callable(fun, "closure_convert")
    name = function_name(fun)
    leaves, structure = flatten_arguments((example_args, {}), name)
    captured = capture(fun, leaves, structure, _core.capture_mode() or "jit", name=name)
    hoisted = [_core.is_traced(x) and is_inexact_dtype(x.dtype) for x in captured.closure]
    argument_structure = _core.tree_flatten(example_args, None)[1]

    def converted(*args: Any) -> Any:
        count = len(args) - sum(hoisted)
        given, given_structure = flatten_arguments(tuple(args[:count]), name)
        if given_structure != argument_structure:
            raise TypeError(
                f"closure_convert: {name} was converted for arguments {argument_structure}; called with {given_structure}\n"
                "  pass arguments like those that it was converted for, then the values that closure_convert returned"
            )
        values = iter(args[count:])
        closure = [_core.array(next(values)) if flag else x for x, flag in zip(captured.closure, hoisted, strict=True)]
        return captured.structure.unflatten(_core.apply_graph(captured.graph, given + closure))

    return leaving(converted), [x for x, flag in zip(captured.closure, hoisted, strict=True) if flag]


check_arguments(globals())
suggest_names(globals())
