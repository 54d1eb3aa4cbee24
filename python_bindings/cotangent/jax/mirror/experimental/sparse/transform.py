"""``jax.experimental.sparse.transform``: functions of dense arrays on sparse ones, equation by equation of their programs."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import cotangent.numpy as cnp
from cotangent import tree_util
from cotangent.jax.internals.jaxprs import ClosedJaxpr, Literal, make_jaxpr
from cotangent.jax.internals.sparse import operators, shapes
from cotangent.jax.mirror.experimental.sparse._base import JAXSparse
from cotangent.jax.mirror.experimental.sparse.bcoo import BCOO, bcoo_conv_general_dilated, bcoo_dot_general
from cotangent.jax.mirror.experimental.sparse.bcsr import BCSR
from cotangent.jax.mirror.experimental.sparse.coo import COO
from cotangent.jax.mirror.experimental.sparse.csr import CSC, CSR
from cotangent.jax.tracebacks import api_boundary

__all__ = ["sparsify"]

# Functions of each element that keep 0.
_KEEP_ZERO = (
    *("abs", "asin", "asinh", "atan", "atanh", "bessel_i1e", "convert_element_type", "expm1", "log1p", "sign", "sin"),
    *("sinh", "sqrt", "square", "tan", "tanh", "conj", "copy", "imag", "real"),
)
_DENSIFYING = (
    *("acos", "acosh", "bessel_i0e", "cos", "cosh", "eq", "exp", "ge", "gt", "le", "lt", "log", "ne", "xor"),
)
# What stays a BCSR array.
_IN_ROWS = (*_KEEP_ZERO, "neg", "integer_pow", "broadcast_in_dim", "concatenate")


def _is_sparse(x: Any) -> bool:
    return isinstance(x, JAXSparse)


def _as_bcoo(x: Any) -> Any:
    return x.to_bcoo() if isinstance(x, BCSR) else x._bcoo() if isinstance(x, (COO, CSC, CSR)) else x


def _reduce_sum(x: Any, axes: Sequence[int], **_: Any) -> Any:
    out = shapes.reduce_sum(x, axes)
    return out.todense() if not out.ndim else out


def _multiply(x: Any, y: Any, **_: Any) -> Any:
    # An array times itself: each position once.
    if x is y and not x.unique_indices:
        x = y = x.sum_duplicates(nse=x.nse, remove_zeros=False)
    return operators.multiply(x, y)


def _dense_product(x: Any, y: Any, **params: Any) -> Any:
    return bcoo_dot_general(
        x, y, dimension_numbers=params["dimension_numbers"], preferred_element_type=params.get("preferred_element_type")
    )


def _slice(x: Any, start_indices: Any, limit_indices: Any, strides: Any = None, **_: Any) -> Any:
    return shapes.slice_(x, start_indices, limit_indices, strides)


def _dynamic_slice(x: Any, *starts: Any, slice_sizes: Any, **_: Any) -> Any:
    return shapes.dynamic_slice(x, starts, slice_sizes)


def _reshape(x: Any, new_sizes: Any, dimensions: Any = None, **_: Any) -> Any:
    return shapes.reshape(x, new_sizes, dimensions)


def _broadcast(x: Any, shape: Any, broadcast_dimensions: Any, **_: Any) -> Any:
    return shapes.broadcast_in_dim(x, shape, broadcast_dimensions)


# What is done for an equation of which an operand is sparse, by the name of its primitive.
_RULES: dict[str, Callable[..., Any]] = {
    "add": lambda x, y, **_: operators.add(x, y),
    "sub": lambda x, y, **_: operators.subtract(x, y),
    "mul": _multiply,
    "mul_no_nan": _multiply,  # what a derivative is multiplied by
    "div": lambda x, y, **_: operators.divide(x, y),
    "neg": lambda x, **_: operators.negative(x),
    "integer_pow": lambda x, y, **_: operators.power(x, y),
    "transpose": lambda x, permutation, **_: x.transpose(permutation),
    "reduce_sum": _reduce_sum,
    "rev": lambda x, dimensions, **_: shapes.reverse(x, dimensions),
    "squeeze": lambda x, dimensions, **_: shapes.squeeze(x, dimensions),
    "slice": _slice,
    "dynamic_slice": _dynamic_slice,
    "reshape": _reshape,
    "broadcast_in_dim": _broadcast,
    "concatenate": lambda *xs, dimension, **_: shapes.concatenate(xs, dimension),
    "dot_general": _dense_product,
    "conv_general_dilated": lambda x, y, **params: bcoo_conv_general_dilated(x, y, **params),
}


def _apply(eqn: Any, operands: Sequence[Any]) -> list[Any]:
    name = eqn.primitive.name
    if not any(_is_sparse(x) for x in operands):
        out = eqn.primitive.bind(*operands, **eqn.params)
        return list(out) if eqn.primitive.multiple_results else [out]
    inner = eqn.params.get("jaxpr" if name == "jit" else "call_jaxpr")
    if isinstance(inner, ClosedJaxpr) and len(inner.jaxpr.invars) == len(operands):
        return _evaluate(inner, list(operands))
    in_rows = all(isinstance(x, BCSR) for x in operands if _is_sparse(x))
    given, operands = operands, [_as_bcoo(x) for x in operands]
    out = _of_rule(eqn, name, operands)
    if not in_rows or name not in _IN_ROWS or not isinstance(out, BCOO):
        return [out]
    if out.indices is operands[0].indices:  # where elements are is what it was, and so is their order
        return [BCSR((out.data, given[0].indices, given[0].indptr), shape=out.shape)]
    return [BCSR.from_bcoo(out)]


def _of_rule(eqn: Any, name: str, operands: list[Any]) -> Any:
    if name in _KEEP_ZERO:
        return operators.unary(lambda data: eqn.primitive.bind(data, **eqn.params), name, operands[0])
    rule = _RULES.get(name)
    if rule is None:
        dense = " because it would result in dense output" * (name in _DENSIFYING)
        raise NotImplementedError(
            f"sparse rule for {name} is not implemented{dense}.\n"
            "  make the operand dense where that is wanted: sparse.todense(x)"
        )
    return rule(*operands, **eqn.params)


def _evaluate(closed: ClosedJaxpr, args: Sequence[Any]) -> list[Any]:
    """The results of a program on arrays of which some are sparse."""
    jaxpr = closed.jaxpr
    values: dict[Any, Any] = dict(zip([*jaxpr.constvars, *jaxpr.invars], [*closed.consts, *args], strict=True))

    def read(atom: Any) -> Any:
        return cnp.asarray(atom.val, atom.aval.dtype) if isinstance(atom, Literal) else values[atom]

    for eqn in jaxpr.eqns:
        values.update(zip(eqn.outvars, _apply(eqn, [read(atom) for atom in eqn.invars]), strict=True))
    return [read(atom) for atom in jaxpr.outvars]


def sparsify(f: Callable[..., Any], use_tracer: bool = False) -> Callable[..., Any]:
    """The function on sparse arrays.

    Args:
        f: a function of arrays, of which the program consists of operations that keep arrays sparse where they are.
        use_tracer: taken as in JAX; there is one way here.

    Raises:
        NotImplementedError: by the function that is returned, for an operation whose result would be dense, or that has no rule.
    """

    @functools.wraps(f)
    @api_boundary
    def on_sparse(*args: Any, **params: Any) -> Any:
        leaves, structure = tree_util.tree_flatten(args, is_leaf=_is_sparse)

        def on_leaves(*dense: Any) -> Any:
            return f(*structure.unflatten(dense), **params)

        examples = [cnp.zeros(x.shape, x.dtype) if _is_sparse(x) else x for x in leaves]
        program, outs = make_jaxpr(on_leaves, return_shape=True)(*examples)
        values = _evaluate(program, [x if _is_sparse(x) else cnp.asarray(x) for x in leaves])
        return tree_util.tree_structure(outs).unflatten(values)

    return on_sparse
