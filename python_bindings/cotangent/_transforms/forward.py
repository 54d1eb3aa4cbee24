"""Forward mode: jvp and linearize.

Each captures the user's function once into a graph, applies a graph-to-graph transform, and binds the result: recorded when an
enclosing transform is capturing, run when not. So do the transforms of `reverse` and `batching`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from cotangent import _core
from cotangent._base.arguments import check_arguments, leaving_methods
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
    unlike,
)
from cotangent.errors import MismatchError
from cotangent.tree_util import Partial


def _tangent_leaves(
    primals: Sequence[Any], tangents: Sequence[Any], leaves: list[Array], transform: str
) -> list[Array | None]:
    """Tangents as arrays of the primals' types; None for leaves without derivatives."""
    if len(primals) != len(tangents):
        raise MismatchError(
            f"{transform}: {len(primals)} primals but {len(tangents)} tangents\n"
            "  give a tangent for each argument: ct.numpy.zeros_like(x) for one that does not move"
            "\n  see docs/errors.md#tangent-mismatch"
        )
    if isinstance(primals, tuple) != isinstance(tangents, tuple):
        raise MismatchError(
            f"{transform}: primals and tangents must both be tuples, or both be lists\n  write (x,) and (t,), not (x,) and [t]"
            "\n  see docs/errors.md#tangent-mismatch"
        )
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
                    f"{where} belongs to a primal of dtype {leaf.dtype}, so it must have dtype float0\n"
                    f"  give np.zeros({leaf.shape}, ct.dtypes.float0)\n"
                    "  see docs/errors.md#tangent-mismatch"
                )
            result.append(None)
            continue
        array = _leaf(tangent, where)
        if array._bound_shape != leaf._bound_shape:
            raise unlike(where, array.shape, "its primal", leaf.shape)
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
    """Returns the value of a function and its derivative in a direction.

    Forward mode: one pass, about two to three times the cost of the value, whatever the number of outputs. `jvp` nests
    in itself for higher derivatives, and in `vmap`, which then computes many directions (`jacfwd`). At kinks the
    derivative is that of the branch that was taken; where `maximum`, ``max`` or ``sort`` have a tie, it is shared
    between the equal elements.

    Parameters
    ----------
    fun : callable
        A function of pytrees of arrays.
    primals : tuple or list
        The positional arguments: the point.
    tangents : tuple or list
        The direction: of the same structure, shapes and dtypes as ``primals``. Leaves of integers and bools have
        tangents of dtype float0, ``np.zeros(shape, ct.float0)``.
    has_aux : bool, default False
        Whether ``fun`` returns ``(output, aux)``, where ``aux`` is not differentiated.

    Returns
    -------
    tuple
        ``(output, tangent)``, with ``has_aux`` ``(output, tangent, aux)``. ``tangent`` has the structure, shapes and
        dtypes of ``output``, and float0 where that is of integers or bools.

    Raises
    ------
    MismatchError
        ``tangents`` has not the structure, shapes or dtypes of ``primals``.
    TypeError
        ``primals`` or ``tangents`` is no tuple or list, or a leaf is no array.
    NotDifferentiableError
        An operation on the way has no derivative, a `pure_callback` say.

    References
    ----------
    R. E. Wengert, "A simple automatic derivative evaluation program", Communications of the ACM 7 (8), 1964.

    Examples
    --------
    >>> y, dy = ct.jvp(lambda x: x * x, (3.0,), (1.0,))
    >>> float(y), float(dy)
    (9.0, 6.0)
    >>> _, dy = ct.jvp(lambda p: p["a"] * p["b"], ({"a": 2.0, "b": 5.0},), ({"a": 1.0, "b": 0.0},))
    >>> float(dy)
    5.0
    """
    if not isinstance(primals, (tuple, list)) or not isinstance(tangents, (tuple, list)):
        raise TypeError(
            "jvp: primals and tangents must be tuples or lists of arguments\n  of a function of one argument: ct.jvp(f, (x,), (t,))"
        )
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
    """Returns the value of a function and the linear function of tangents at that point.

    The work that does not depend on the direction is done once; each call of the linear function then costs what is
    left. It is linear, so `linear_transpose` and `vmap` take it; it is a pytree, so `jit` takes and returns it.

    Parameters
    ----------
    fun : callable
        A function of pytrees of arrays.
    *primals : pytrees of arrays
        The positional arguments: the point.
    has_aux : bool, default False
        Whether ``fun`` returns ``(output, aux)``, where ``aux`` is not differentiated.

    Returns
    -------
    tuple
        ``(output, f_jvp)``, with ``has_aux`` ``(output, f_jvp, aux)``. ``f_jvp(*tangents)`` takes a tangent for each of
        ``primals``, of its structure, shapes and dtypes, and returns one like ``output``: what `jvp` would.

    Raises
    ------
    MismatchError
        ``f_jvp`` is given tangents of another structure, shape or dtype.
    NotDifferentiableError
        An operation on the way has no derivative.

    References
    ----------
    A. Radul, A. Paszke, R. Frostig, M. J. Johnson, D. Maclaurin, "You only linearize once: tangents transpose to
    gradients", Proceedings of the ACM on Programming Languages 7 (POPL), 2023.

    Examples
    --------
    >>> y, f_jvp = ct.linearize(ct.numpy.sin, 0.0)
    >>> float(y), float(f_jvp(2.0))
    (0.0, 2.0)
    >>> ct.vmap(f_jvp)(np.array([1.0, 3.0], np.float32)).tolist()
    [1.0, 3.0]
    """
    leaves, _, captured, outputs, residuals, tangent = _linearized(fun, primals, "linearize", has_aux)
    out_count = captured.structure.num_leaves

    pushforward = _Pushforward(tangent, captured, _core.tree_flatten(tuple(primals), None)[1])
    f_jvp = Partial(pushforward, residuals, leaves, outputs)
    output = captured.structure.unflatten(outputs[:out_count])
    return (output, f_jvp, captured.aux.unflatten(outputs[out_count:])) if has_aux else (output, f_jvp)


@leaving_methods
class _Pushforward:
    """The function that `linearize` returns, but for its arrays."""

    def __init__(self, tangent: Graph, captured: Captured, structure: PyTreeDef) -> None:
        self.tangent = tangent  # residuals, tangents of the inexact leaves -> tangents of the inexact outputs
        self.captured = captured
        self.structure = structure

    def __call__(self, residuals: list[Array], leaves: list[Array], outputs: list[Array], /, *tangents: Any) -> Any:
        """The tangent of the output."""
        directions = _tangent_leaves(self.structure.unflatten(leaves), tangents, leaves, "linearize")
        values = _core.apply_graph(self.tangent, residuals + [d for d in directions if d is not None])
        structure = self.captured.structure
        return structure.unflatten(_fill_tangents(values, outputs[: structure.num_leaves], structure))


check_arguments(globals())
