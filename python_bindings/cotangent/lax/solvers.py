"""Solutions of equations with derivatives by the implicit function theorem: `custom_linear_solve`, `custom_root`.

The solver may be anything, a loop until convergence included: derivatives are those of the equation, not of the way it was solved.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cotangent import _core
from cotangent._base import primitives
from cotangent._base.arguments import check_arguments
from cotangent._base.capture import Captured, check_callable, flatten_arguments, function_name, is_inexact_dtype
from cotangent._core import Array, PyTreeDef
from cotangent._ops.extents import capacities
from cotangent._transforms.bodies import _capture_body, _constants_first
from cotangent._transforms.custom_rules import custom_jvp
from cotangent._transforms.forward import jvp, linearize

__all__ = ["custom_linear_solve", "custom_root"]

Function = Callable[..., Any]


def _check_output(captured: Captured, leaves: list[Array], structure: PyTreeDef, what: str) -> None:
    """Raises when a function of values like ``leaves`` does not return such values."""
    if captured.structure != structure:
        raise TypeError(
            f"{what} must return the structure that it is given\n  given: {structure}\n  returned: {captured.structure}"
            "\n  return values in the nest that the argument has"
        )
    for leaf, (shape, dtype, _), path in zip(leaves, captured.graph.out_avals, structure.paths(), strict=True):
        if tuple(shape) != capacities(leaf) or dtype != leaf.dtype:
            raise TypeError(
                f"{what} must return the types that it is given: output{path} is {dtype}{list(shape)}, given {leaf.dtype}{list(leaf.shape)}"
                f"\n  convert what it returns with .astype('{leaf.dtype}'), and reshape it to {leaf.shape}"
            )


def _solution(tree: Any, structure: PyTreeDef, has_aux: bool, what: str) -> tuple[Any, Any]:
    """What a solver returned, as solution and the rest."""
    if has_aux and (not isinstance(tree, (tuple, list)) or len(tree) != 2):
        raise TypeError(
            f"{what} must return a pair (solution, aux) because has_aux=True\n"
            "  return solution, aux, or leave out has_aux"
        )
    solution, aux = tree if has_aux else (tree, None)
    found = _core.tree_flatten(solution, None)[1]
    if found != structure:
        raise TypeError(
            f"{what} must return a solution of the structure {structure}; it returned {found}\n"
            "  return a value in the nest of the right-hand side or first guess; with has_aux=True, (solution, aux)"
        )
    return solution, aux


def custom_linear_solve(
    matvec: Function,
    b: Any,
    solve: Callable[[Function, Any], Any],
    transpose_solve: Callable[[Function, Any], Any] | None = None,
    symmetric: bool = False,
    has_aux: bool = False,
) -> Any:
    """The solution x of ``matvec(x) = b`` by a given solver, with derivatives that solve the same equation.

    The solver may be anything, a loop until convergence included: derivatives are those of the solution, not of the
    way it was found.

    Parameters
    ----------
    matvec : callable
        A linear function of values like ``b``, to values like ``b``. What it closes over is differentiated.
    b : pytree of arrays
        The right-hand side.
    solve : callable
        ``(matvec, b) -> x``. It need not be differentiable.
    transpose_solve : callable, optional
        ``(vecmat, c) -> y``, the same for the transposed function, which reverse mode needs.
    symmetric : bool
        Whether the function is its own transpose, so that ``solve`` serves for both.
    has_aux : bool
        Whether the solvers return ``(x, aux)``, as this function does then. ``aux`` has no derivative.

    Returns
    -------
    pytree of arrays
        The solution, like ``b``.

    Raises
    ------
    TypeError
        ``matvec`` or a solver does not return values like ``b``.

    References
    ----------
    Mathieu Blondel and others, "Efficient and modular implicit differentiation", 2022.

    Examples
    --------
    >>> half = lambda b: ct.lax.custom_linear_solve(lambda x: 2.0 * x, b, lambda matvec, b: b / 2.0, symmetric=True)
    >>> float(half(3.0)), float(ct.grad(half)(3.0))
    (1.5, 0.5)
    """
    for function in (matvec, solve) + ((transpose_solve,) if transpose_solve is not None else ()):
        check_callable(function, "custom_linear_solve")
    leaves, structure = flatten_arguments(b, "custom_linear_solve's b")
    if not _core.is_capturing():
        result = solve(matvec, structure.unflatten(leaves))
        solution, aux = _solution(result, structure, has_aux, "custom_linear_solve: solve")
        return (solution, aux) if has_aux else solution

    def captured(function: Function, what: str) -> Captured:
        return _capture_body(function, leaves, [structure], what)

    forward = captured(matvec, function_name(matvec))
    _check_output(forward, leaves, structure, "custom_linear_solve: matvec")
    linear = [True] * len(leaves) + [False] * len(forward.closure)

    def vecmat(y: Any) -> Any:
        values, given = flatten_arguments(y, "vecmat's argument")
        if given != structure:
            raise TypeError(
                f"custom_linear_solve: vecmat takes the structure of b, {structure}; got {given}\n"
                "  call it with a value in the nest of b"
            )
        transposed = _core.graph_transpose(forward.graph, linear)
        return structure.unflatten(_core.apply_graph(transposed, forward.closure + values))

    def solver(function: Callable[[Function, Any], Any], of: Function, what: str) -> Captured:
        def run(values: Any) -> Any:
            solution, aux = _solution(function(of, values), structure, has_aux, f"custom_linear_solve: {what}")
            return [*_core.tree_flatten(solution, None)[0], (aux,)]

        return captured(run, what)

    parts = {"matvec": forward, "solve": solver(solve, matvec, "solve")}
    if symmetric:
        parts["vecmat"] = forward
        parts["transpose_solve"] = solver(transpose_solve or solve, matvec, "transpose_solve")
    elif transpose_solve is not None:
        parts["vecmat"] = captured(vecmat, "vecmat")
        parts["transpose_solve"] = solver(transpose_solve, vecmat, "transpose_solve")
    outputs = primitives.linear_solve(
        *[x for part in parts.values() for x in part.closure] + leaves,
        num_constants=[len(part.closure) for part in parts.values()],
        **{key: _constants_first(part, leaves) for key, part in parts.items()},
    )
    solution = structure.unflatten(outputs[: len(leaves)])
    if not has_aux:
        return solution
    return solution, parts["solve"].structure.unflatten(outputs)[-1][0]


def custom_root(
    f: Function,
    initial_guess: Any,
    solve: Callable[[Function, Any], Any],
    tangent_solve: Callable[[Function, Any], Any],
    has_aux: bool = False,
) -> Any:
    """A root of a function by a given solver, with derivatives by the implicit function theorem.

    Parameters
    ----------
    f : callable
        Of values like ``initial_guess``, to values like it; its root is wanted. What it closes over is
        differentiated.
    initial_guess : pytree of arrays
        Where to start; the solution has no derivative with respect to it.
    solve : callable
        ``(f, initial_guess) -> x`` with ``f(x)`` close to zero. It need not be differentiable.
    tangent_solve : callable
        ``(g, y) -> x`` with ``g(x) = y`` for a linear function g. For reverse mode it must be linear in y in a way
        that can be transposed: ``lambda g, y: y / g(1.0)`` for scalars, `custom_linear_solve` or a dense solve for
        arrays.
    has_aux : bool
        Whether ``solve`` returns ``(x, aux)``, as this function does then. ``aux`` has no derivative.

    Returns
    -------
    pytree of arrays
        The root, like ``initial_guess``.

    Raises
    ------
    TypeError
        ``f`` or a solver does not return values like ``initial_guess``.

    References
    ----------
    Mathieu Blondel and others, "Efficient and modular implicit differentiation", 2022.

    Examples
    --------
    >>> def square_root(y):
    ...     newton = lambda f, x: ct.lax.fori_loop(0, 20, lambda _, x: 0.5 * (x + y / x), x)
    ...     return ct.lax.custom_root(lambda x: x * x - y, 1.0, newton, lambda g, y: y / g(1.0))
    >>> round(float(square_root(4.0)), 4), round(float(ct.grad(square_root)(4.0)), 4)
    (2.0, 0.25)
    """
    for function in (f, solve, tangent_solve):
        check_callable(function, "custom_root")
    guess, structure = flatten_arguments(initial_guess, "custom_root's initial_guess")
    if not _core.is_capturing():
        solution, aux = _solution(
            solve(f, structure.unflatten(guess)), structure, has_aux, f"custom_root: {function_name(solve)}"
        )
        return (solution, aux) if has_aux else solution
    equation = _capture_body(f, guess, [structure], function_name(f))
    _check_output(equation, guess, structure, f"custom_root: {function_name(f)}")

    def run(x: Any) -> Any:
        solution, aux = _solution(solve(f, x), structure, has_aux, f"custom_root: {function_name(solve)}")
        return [*_core.tree_flatten(solution, None)[0], (aux,)]

    solver = _capture_body(run, guess, [structure], function_name(solve))
    count = len(guess)

    def solve_linear(solution: Any, parameters: list[Array], right: Any) -> Any:
        _, linear = linearize(
            lambda x: structure.unflatten(
                _core.apply_graph(equation.graph, _core.tree_flatten(x, None)[0] + parameters)
            ),
            solution,
        )
        return _solution(tangent_solve(linear, right), structure, False, "custom_root: tangent_solve")[0]

    # Captured here, as what it closes over may be differentiated too.
    parameter_structure = _core.tree_flatten(equation.closure, None)[1]
    tangent_solver = _capture_body(
        solve_linear,
        [*guess, *equation.closure, *guess],
        [structure, parameter_structure, structure],
        function_name(tangent_solve),
    )

    @custom_jvp
    def root(
        parameters: list[Array], solver_closure: list[Array], tangent_closure: list[Array], x: list[Array]
    ) -> list[Array]:
        return _core.apply_graph(solver.graph, x + solver_closure)

    @root.defjvp
    def _(primals: Any, tangents: Any) -> Any:
        parameters = primals[0]
        outputs = root(*primals)
        solution = outputs[:count]
        values = lambda p: _core.apply_graph(equation.graph, solution + p)  # noqa: E731
        _, right = jvp(values, (parameters,), (tangents[0],))
        negative = [-y if is_inexact_dtype(y.dtype) else y for y in right]
        found = _core.apply_graph(tangent_solver.graph, [*solution, *parameters, *negative, *primals[2]])
        return outputs, [*found, *[None] * (len(outputs) - count)]

    outputs = root(equation.closure, solver.closure, tangent_solver.closure, guess)
    solution = structure.unflatten(outputs[:count])
    return (solution, solver.structure.unflatten(outputs)[-1][0]) if has_aux else solution


check_arguments(globals())
