"""Branches on traced values: cond, switch."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

from cotangent import _core
from cotangent._base import primitives
from cotangent._base.arguments import check_arguments
from cotangent._base.capture import Captured, check_callable, flatten_arguments, function_name
from cotangent._base.messages import marked_difference, missing_return, structure_text
from cotangent._core import Graph
from cotangent._transforms import python_control as _python_control
from cotangent._transforms.bodies import _capture_body, _width_hint
from cotangent._transforms.lengths import may_not_run
from cotangent._transforms.returned_sizes import check_one_size

__all__ = ["cond", "platform_dependent", "switch"]


class _NoOperand:
    """Shown in signatures."""

    def __repr__(self) -> str:
        return "..."


_NO_OPERAND = _NoOperand()


def _operands(name: str, operands: tuple[Any, ...], operand: Any) -> tuple[Any, ...]:
    if operand is _NO_OPERAND:
        return operands
    if operands:
        raise TypeError(
            f"{name}: give operands by position, or one by the keyword operand, not both\n"
            f"  give all of them by position: {name}(..., {', '.join('xyz'[: len(operands)])}, operand)"
        )
    return (operand,)


def switch(index: Any, branches: Sequence[Callable[..., Any]], *operands: Any, operand: Any = _NO_OPERAND) -> Any:
    """Calls one of several functions, by number.

    All branches are captured; one of them runs. Under `vmap` with a mapped index those run that some example
    chooses.

    Parameters
    ----------
    index : int
        A scalar, may be traced; it is moved into range.
    branches : sequence of callable
        Of ``operands``; all return the same structure, shapes and dtypes.
    *operands : pytree of arrays
        What the branch is called with.
    operand : pytree of arrays, optional
        A single operand, given by keyword.

    Returns
    -------
    pytree of arrays
        What the branch returns.

    Raises
    ------
    TypeError
        The index is no integer scalar, or the branches return different structures or types.
    ValueError
        There are no branches.

    Examples
    --------
    >>> float(ct.lax.switch(1, [lambda x: x, lambda x: x * x, lambda x: -x], 3.0))
    9.0
    """
    return _chosen("switch", index, branches, _operands("switch", operands, operand))


def _chosen(name: str, index: Any, branches: Sequence[Callable[..., Any]], operands: tuple[Any, ...]) -> Any:
    if callable(index) or not hasattr(branches, "__iter__"):
        raise TypeError(
            f"switch expects an index, and then functions; got {type(index).__name__} and {type(branches).__name__}\n"
            "  write ct.lax.switch(index, [f, g], *operands)"
        )
    if not branches:
        raise ValueError("switch needs at least one branch\n  give it functions: switch(index, [f, g], x)")
    for branch in branches:
        check_callable(branch, "switch", (), "", "branches are functions: ct.lax.switch(index, [lambda: x, lambda: y])")
    index = _core.array(index)
    if index.ndim != 0 or _core.dtype_kind(index.dtype) not in ("signed", "unsigned"):
        raise TypeError(
            f"switch: the index must be an integer scalar; got {index.dtype} of shape {index.shape}\n"
            + (
                "  convert it with .astype('int32'), or use ct.lax.cond for a bool"
                if index.ndim == 0
                else "  for an index of each example call it under ct.vmap: ct.vmap(lambda i: ct.lax.switch(i, branches))(index)"
            )
        )
    if _python_control.wanted(index):
        return _python_control.switch(index, branches, operands)
    leaves, structure = flatten_arguments(tuple(operands), "the operands")
    call = [(lambda tree, branch=branch: branch(*tree)) for branch in branches]
    with may_not_run():
        captured = [
            _capture_body(run, leaves, [structure], function_name(branch), branch)
            for run, branch in zip(call, branches, strict=True)
        ]
    first = captured[0]
    for branch, other in zip(branches[1:], captured[1:], strict=True):
        if other.structure != first.structure:
            raise TypeError(
                f"{name}: branches return different structures\n    {function_name(branches[0])}: {structure_text(first.structure)}\n"
                f"    {function_name(branch)}: {structure_text(other.structure)}"
                + (
                    missing_return(first.structure, function_name(branches[0]))
                    or missing_return(other.structure, function_name(branch))
                    or "\n  return the same containers from all branches, ct.numpy.zeros_like(...) for what one does not compute"
                )
                + "\n  see docs/errors.md#branches-that-differ"
            )
        for a, b, path in zip(first.graph.out_avals, other.graph.out_avals, first.structure.paths(), strict=True):
            if tuple(a[0]) != tuple(b[0]) or a[1] != b[1]:
                raise TypeError(
                    f"{name}: branches return different types for output{path}: {function_name(branches[0])} {a[1]}{list(a[0])}, "
                    f"{function_name(branch)} {b[1]}{list(b[0])}"
                    + (
                        _width_hint(a[1], b[1], [first.graph, other.graph])
                        if a[1] != b[1]
                        else marked_difference(a[0], b[0])
                        + "\n  return arrays of one shape from all: pad, reshape or broadcast"
                    )
                    + "\n  see docs/errors.md#branches-that-differ"
                )
    for one, other in itertools.combinations(captured, 2):
        for x, y, path in zip(one.aux or (), other.aux or (), first.structure.paths(), strict=False):
            check_one_size(name, path, x, y)
    given, places = _operands_of(leaves, captured)
    # What all branches hand on as it is, is no result of theirs.
    handed_on = [_one_operand(given, captured, places, k) for k in range(len(first.graph.outputs))]
    made = [k for k, operand in enumerate(handed_on) if operand is None]
    graphs = []
    for known, of_branch in zip(captured, places, strict=True):

        def run(xs: list[Any], graph: Graph = known.graph, taken: list[int] = of_branch) -> tuple[list[Any], None]:
            results = _core.apply_graph(graph, [xs[place] for place in taken])
            return [results[k] for k in made], None

        graphs.append(_core.capture(run, given, [], "rearrange", "branch")[0])
    results = iter(primitives.cond(_core.convert(index, "int32"), *given, branches=graphs))
    return first.structure.unflatten([next(results) if place is None else given[place] for place in handed_on])


def _operands_of(leaves: list[Any], captured: Sequence[Captured]) -> tuple[list[Any], list[list[int]]]:
    """The operands of all branches: their arguments, then what each closes over; and which are each branch's inputs.

    What several close over is an operand of each, so that each has a gradient by it of its own, which no other branch adds zeros to.
    """
    operands = list(leaves)
    places = []
    for branch in captured:
        places.append([*range(len(leaves)), *range(len(operands), len(operands) + len(branch.closure))])
        operands.extend(branch.closure)
    return operands, places


def _one_operand(operands: list[Any], captured: Sequence[Captured], places: list[list[int]], output: int) -> int | None:
    """An operand that all branches return as this output, as it is."""
    found: int | None = None
    for branch, of_branch in zip(captured, places, strict=True):
        variable = branch.graph.outputs[output]
        if variable >= len(of_branch):
            return None
        place = of_branch[variable]
        if found is not None and place != found and not _core.same_value(operands[found], operands[place]):
            return None
        found = place
    return found


def cond(
    pred: Any,
    true_fun: Any,
    false_fun: Any,
    *operands: Any,
    operand: Any = _NO_OPERAND,
) -> Any:
    """Calls one of two functions: ``true_fun(*operands)`` if ``pred`` holds, else ``false_fun(*operands)``.

    The form ``cond(pred, true_operand, true_fun, false_operand, false_fun)`` is accepted, too. Under `vmap` with a
    mapped predicate a function runs if some example chooses it.

    Parameters
    ----------
    pred : bool
        A scalar, may be traced; numbers count as whether they are not 0.
    true_fun, false_fun : callable
        Of ``operands``; both return the same structure, shapes and dtypes.
    *operands : pytree of arrays
        What the function is called with.
    operand : pytree of arrays, optional
        A single operand, given by keyword.

    Returns
    -------
    pytree of arrays
        What the function returns.

    Raises
    ------
    TypeError
        The predicate is no scalar, or the functions return different structures or types.

    Examples
    --------
    >>> float(ct.lax.cond(True, lambda x: x + 1, lambda x: x - 1, 1.0))
    2.0
    """
    if len(operands) == 2 and not callable(true_fun) and callable(false_fun) and callable(operands[1]):
        # The form with an operand for each function: cond(pred, true_operand, true_fun, false_operand, false_fun).
        first, second = false_fun, operands[1]
        return cond(pred, lambda x, _: first(x), lambda _, y: second(y), true_fun, operands[0])
    operands = _operands("cond", operands, operand)
    for function in (true_fun, false_fun):
        check_callable(
            function,
            "cond",
            (pred, true_fun, false_fun, *operands),
            "lax.cond(pred, true_fun, false_fun, *operands)",
            "give functions of what they choose: ct.lax.cond(pred, lambda: x, lambda: y); of two arrays: ct.numpy.where(pred, x, y)",
        )
    pred = _core.array(pred)
    if pred.ndim != 0:
        raise TypeError(
            f"cond: the predicate must be a scalar; it has shape {pred.shape}\n  use ct.numpy.where for element-wise choices"
        )
    if pred.dtype != bool:
        pred = pred != 0
    return _chosen("cond", _core.convert(pred, "int32"), (false_fun, true_fun), operands)


def platform_dependent(
    *args: Any, default: Callable[..., Any] | None = None, **per_platform: Callable[..., Any]
) -> Any:
    """Calls the function for the platform that programs run on, ``cpu``, or else the default.

    Parameters
    ----------
    *args : any
        What the function is called with.
    default : callable, optional
        For platforms that no function is given for.
    **per_platform : callable
        Functions by the name of their platform.

    Returns
    -------
    any
        What the function returns.

    Raises
    ------
    NotImplementedError
        There is neither a function for the platform nor a default.

    Examples
    --------
    >>> ct.lax.platform_dependent(2, cpu=lambda x: x + 1, default=lambda x: x - 1)
    3
    """
    chosen = per_platform.get("cpu", default)
    if chosen is None:
        given = ", ".join(sorted(per_platform)) or "none"
        raise NotImplementedError(
            f"platform_dependent: no function for the platform 'cpu' and no default; there are: {given}\n"
            "  pass cpu=... or default=..."
        )
    return chosen(*args)


check_arguments(globals())
