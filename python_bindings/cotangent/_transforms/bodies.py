"""The bodies of loops and branches: user functions, captured once as graphs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from cotangent import _core, config
from cotangent._base.capture import Captured, flatten_arguments
from cotangent._core import Array, Graph, PyTreeDef
from cotangent._transforms.returned_sizes import AxesOf, axes_returned
from cotangent._transforms.sized import capture_sized


def _capture_body(
    function: Callable[..., Any],
    sources: list[Any],
    structures: list[PyTreeDef],
    name: str,
    author: Callable[..., Any] | None = None,
) -> Captured:
    """``author``: what the function calls, if it is not the user's itself."""
    author = function if author is None else author
    return capture_sized(lambda body: _capture_known(body, sources, structures, name, author), function)


def _capture_known(
    function: Callable[..., Any],
    sources: list[Any],
    structures: list[PyTreeDef],
    name: str,
    author: Callable[..., Any],
) -> Captured:
    """Captures ``function(*trees)`` on inputs like the given arrays, cut into trees by their structures."""
    out_structure: PyTreeDef | None = None
    axes: list[AxesOf] | None = None

    def run(inputs: list[Array]) -> tuple[list[Any], None]:
        nonlocal out_structure, axes
        trees, offset = [], 0
        for structure in structures:
            trees.append(structure.unflatten(inputs[offset : offset + structure.num_leaves]))
            offset += structure.num_leaves
        leaves, out_structure = flatten_arguments(function(*trees), f"the output of {name}")
        axes = axes_returned(leaves, author)
        return leaves, None

    graph, closure, _ = _core.capture(run, sources, [], _core.capture_mode() or "jit", name)
    assert out_structure is not None
    return Captured(graph, closure, out_structure, axes)


def _width_hint(x: Any, y: Any, graphs: Sequence[Graph]) -> str:
    """What to do about two dtypes: where a 64-bit value entered if they differ in width only, which is where."""
    if _core.dtype_kind(x) != _core.dtype_kind(y) or x.itemsize == y.itemsize:
        return f"\n  convert one of them with .astype({str(x)!r}), or the other with .astype({str(y)!r})"
    wide, narrow = (x, y) if x.itemsize > y.itemsize else (y, x)
    entered = [
        eqn["location"]
        for graph in graphs
        for eqn in graph.equations()
        if any(graph.aval(var)[1] == wide for var in eqn["outputs"]) and eqn["location"]
    ]
    where = f", first at {entered[0]}" if entered else ""
    # JAX has no 64 bits unless asked for.
    jax = f", where JAX makes it {narrow}" if wide.itemsize in (8, 16) and not config.read("enable_x64") else ""
    return (
        f"\n  a {wide} value entered{where}: arrays keep their width here{jax}\n"
        f'  fix: convert that value with .astype("{narrow}"), or the result'
    )


def _constants_first(captured: Captured, sources: list[Any]) -> Any:
    """The graph with its closed-over inputs before the others, which are like ``sources``."""
    constants = len(captured.closure)
    if constants == 0:
        return captured.graph
    run = lambda xs: (_core.apply_graph(captured.graph, xs[constants:] + xs[:constants]), None)  # noqa: E731
    return _core.capture(run, [*captured.closure, *sources], [], "rearrange", "reorder")[0]
