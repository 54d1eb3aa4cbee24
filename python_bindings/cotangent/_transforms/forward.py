"""Forward mode: jvp and linearize.

Each captures the user's function once into a graph, applies a graph-to-graph transform, and binds the result: recorded when an
enclosing transform is capturing, run when not. So do the transforms of `reverse` and `batching`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from cotangent import _core
from cotangent._base.arguments import check_arguments
from cotangent._base.capture import (
    FLOAT0,
    Captured,
    as_ragged_as,
    is_inexact_dtype,
)
from cotangent._core import Array, Graph, PyTreeDef
from cotangent._transforms.differentiation import (
    Function,
    _capture_primals,
    _is_length,
    _leaf,
    _leaves_like,
    _of_dtype,
    _zero_gradient,
    check_own_lengths,
    lengths_in,
)
from cotangent.errors import MismatchError
from cotangent.tree_util import Partial


def _tangent_leaves(
    primals: Sequence[Any], tangents: Sequence[Any], leaves: list[Array], transform: str
) -> list[Array | None]:
    """Tangents as arrays of the primals' types; None for leaves without derivatives."""
    if len(primals) != len(tangents):
        raise MismatchError(f"{transform}: {len(primals)} primals but {len(tangents)} tangents")
    if isinstance(primals, tuple) != isinstance(tangents, tuple):
        raise MismatchError(f"{transform}: primals and tangents must both be tuples, or both be lists")
    structure = _core.tree_flatten(tuple(primals), None)[1]
    given = _leaves_like(structure, tuple(tangents), f"{transform}: the tangents", "primals")
    lengths = _is_length(tuple(primals))
    result: list[Array | None] = []
    for index, (leaf, tangent) in enumerate(zip(leaves, given, strict=True)):
        if lengths[index]:  # a tangent has those of its primal, or float0
            check_own_lengths(leaf, tangent, f"{transform}: the tangent", "the primal")
            result.append(None)
            continue
        where = f"{transform}: the tangent at {structure.paths()[index]}"
        if not is_inexact_dtype(leaf.dtype):
            if getattr(tangent, "dtype", None) not in (FLOAT0, np.bool_):
                raise MismatchError(
                    f"{where} belongs to a primal of dtype {leaf.dtype}, so it must have dtype float0: np.zeros(shape, ct.dtypes.float0)"
                )
            result.append(None)
            continue
        array = _leaf(tangent, where)
        if array._bound_shape != leaf._bound_shape:
            raise MismatchError(f"{where} has shape {array.shape}, its primal {leaf.shape}")
        _core.check_sizes([leaf, array])
        result.append(_of_dtype(array, leaf.dtype, where, "its primal"))
    return result


def _fill_tangents(values: list[Array], outputs: Sequence[Array], structure: PyTreeDef) -> list[Any]:
    """A tangent for each output: what the graph gives for inexact ones, lengths themselves, zeros without values for the rest."""
    given = iter(values)
    return [
        as_ragged_as(next(given), output)
        if is_inexact_dtype(output.dtype)
        else output
        if is_length
        else _zero_gradient(output)
        for output, is_length in zip(outputs, lengths_in(structure), strict=True)
    ]


def jvp(fun: Function, primals: Sequence[Any], tangents: Sequence[Any], has_aux: bool = False) -> Any:
    """The value of ``fun`` and its directional derivative.

    Args:
        fun: any function of pytrees of arrays.
        primals: its positional arguments.
        tangents: the direction, of the same structure, shapes and dtypes.
        has_aux: ``fun`` returns ``(output, aux)``; the result is ``(output, output tangent, aux)``.

    >>> import cotangent as ct
    >>> y, dy = ct.jvp(lambda x: x * x, (3.0,), (1.0,))
    >>> float(dy)
    6.0
    """
    if not isinstance(primals, (tuple, list)) or not isinstance(tangents, (tuple, list)):
        raise TypeError("jvp: primals and tangents must be tuples or lists of arguments")
    leaves, _, captured = _capture_primals(fun, primals, "jvp", has_aux)
    directions = _tangent_leaves(primals, tangents, leaves, "jvp")
    out_count = captured.structure.num_leaves
    nonzero = [direction is not None for direction in directions] + [False] * len(captured.closure)
    avals = captured.graph.out_avals
    force = [index < out_count and is_inexact_dtype(aval[1]) for index, aval in enumerate(avals)]
    graph, nonzero_out = _core.graph_jvp(captured.graph, nonzero, force)
    results = _core.apply_graph(graph, leaves + captured.closure + [d for d in directions if d is not None])
    flags = [flag for flag in range(len(avals)) if nonzero_out[flag]]
    by_output = dict(zip(flags, results[len(avals) :], strict=True))
    given = [by_output[i] for i in range(out_count) if i in by_output]
    out_tangents = _fill_tangents(given, results[:out_count], captured.structure)
    output = captured.structure.unflatten(results[:out_count])
    tangent = captured.structure.unflatten(out_tangents)
    if has_aux:
        return output, tangent, captured.aux.unflatten(results[out_count : len(avals)])
    return output, tangent


def _linearized(fun: Function, primals: Sequence[Any], transform: str, has_aux: bool) -> tuple[Any, ...]:
    """Primal outputs, residual values, the tangent graph, and what is needed to call it."""
    leaves, _, captured = _capture_primals(fun, primals, transform, has_aux)
    wrt = [is_inexact_dtype(leaf.dtype) for leaf in leaves]
    primal, tangent, count = _core.graph_linearize(captured.graph, wrt + [False] * len(captured.closure))
    results = _core.apply_graph(primal, leaves + captured.closure)
    split = len(results) - count
    return leaves, wrt, captured, results[:split], results[split:], tangent


def linearize(fun: Function, *primals: Any, has_aux: bool = False) -> Any:
    """The value of ``fun`` and the linear function of tangents at that point, which can be applied many times.

    >>> import cotangent as ct
    >>> y, f_jvp = ct.linearize(ct.numpy.sin, 0.0)
    >>> float(f_jvp(2.0))
    2.0
    """
    leaves, _, captured, outputs, residuals, tangent = _linearized(fun, primals, "linearize", has_aux)
    out_count = captured.structure.num_leaves

    pushforward = _Pushforward(tangent, captured, _core.tree_flatten(tuple(primals), None)[1])
    f_jvp = Partial(pushforward, residuals, leaves, outputs)
    output = captured.structure.unflatten(outputs[:out_count])
    return (output, f_jvp, captured.aux.unflatten(outputs[out_count:])) if has_aux else (output, f_jvp)


class _Pushforward:
    """The function that `linearize` returns, but for its arrays."""

    def __init__(self, tangent: Graph, captured: Captured, structure: PyTreeDef) -> None:
        self.tangent = tangent  # residuals, tangents of the inexact leaves -> tangents of the inexact outputs
        self.captured = captured
        self.structure = structure

    def __call__(self, residuals: list[Array], leaves: list[Array], outputs: list[Array], *tangents: Any) -> Any:
        """The tangent of the output."""
        directions = _tangent_leaves(self.structure.unflatten(leaves), tangents, leaves, "linearize")
        values = _core.apply_graph(self.tangent, residuals + [d for d in directions if d is not None])
        structure = self.captured.structure
        return structure.unflatten(_fill_tangents(values, outputs[: structure.num_leaves], structure))


check_arguments(globals())
