"""Functions with derivative rules of the user's own: `custom_jvp` and `custom_vjp`.

The rules are captured with the function, as sub-graphs of one equation, so they survive every transform: the gradient of a sum over
``vmap`` of a custom function uses the custom rule.
"""

from __future__ import annotations

import functools
import inspect
import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from cotangent import _core
from cotangent._capture import (
    Captured,
    as_ragged_as,
    aval_of,
    capture,
    check_callable,
    flatten_arguments,
    function_name,
)
from cotangent._core import Array, Graph
from cotangent.errors import ShapeError

Function = Callable[..., Any]
# A rule that calls its own function is captured inside itself, once for each order of derivative.
_DEEPEST_RULE = 4


def _is_inexact(dtype: Any) -> bool:
    return _core.dtype_kind(dtype) in ("float", "complex")


def _positional(fun: Function, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
    """All arguments by position, keyword arguments and defaults filled in."""
    if not kwargs:
        return args
    bound = inspect.signature(fun).bind(*args, **kwargs)
    bound.apply_defaults()
    if bound.kwargs:
        raise TypeError(
            f"{function_name(fun)}: keyword-only arguments cannot be passed to a function with custom derivatives: {sorted(bound.kwargs)}"
        )
    return bound.args


def _split_static(args: tuple[Any, ...], positions: Sequence[int]) -> tuple[tuple[Any, ...], list[Any]]:
    """The differentiable arguments, and those at ``positions``."""
    return tuple(a for i, a in enumerate(args) if i not in positions), [args[i] for i in positions]


def _merge_static(dynamic: Sequence[Any], static: Sequence[Any], positions: Sequence[int]) -> list[Any]:
    merged = list(dynamic)
    for position, value in sorted(zip(positions, static, strict=True)):
        merged.insert(position, value)
    return merged


def _rewire(graph: Graph, sources: Sequence[Any], select: Callable[[list[Array]], list[Array]]) -> Graph:
    """The graph with inputs like ``sources``, of which ``select`` picks the graph's own."""
    return _core.capture(
        lambda inputs: (_core.apply_graph(graph, select(inputs)), None), list(sources), [], "rearrange", "rewire"
    )[0]


def _float0(leaf: Any) -> Any:
    return np.zeros(aval_of(leaf)[0], dtype=[("float0", "V")])


class custom_jvp:  # noqa: N801
    """A function with a forward-mode rule of its own.

    Args:
        fun: the function.
        nondiff_argnums: positions of arguments that are plain Python values; they come first in the rule.

    >>> import cotangent as ct
    >>> @ct.custom_jvp
    ... def f(x):
    ...     return x * x
    >>> @f.defjvp
    ... def f_jvp(primals, tangents):
    ...     return f(*primals), 10.0 * tangents[0]
    >>> float(ct.grad(f)(1.0))
    10.0
    """

    def __init__(self, fun: Function, nondiff_argnums: Sequence[int] = ()) -> None:
        check_callable(fun, "custom_jvp")
        functools.update_wrapper(self, fun)
        self.fun = fun
        self.nondiff_argnums = tuple(nondiff_argnums)
        self.jvp: Function | None = None
        self._depth = 0  # of captures of the rule inside each other

    def defjvp(self, jvp: Function, symbolic_zeros: bool = False) -> Function:
        """Sets the rule: ``jvp(*nondiff, primals, tangents) -> (output, output tangent)``."""
        del symbolic_zeros
        self.jvp = jvp
        return jvp

    def defjvps(self, *jvps: Function | None) -> None:
        """Sets one rule an argument: ``jvps[i](tangent, output, *primals) -> output tangent``; None is zero."""

        def jvp(primals: tuple[Any, ...], tangents: tuple[Any, ...]) -> Any:
            from cotangent.tree_util import tree_map

            output = self(*primals)
            parts = [rule(t, output, *primals) for rule, t in zip(jvps, tangents, strict=True) if rule is not None]
            zero = tree_map(lambda x: x * 0, output)
            return output, functools.reduce(lambda a, b: tree_map(lambda x, y: x + y, a, b), parts, zero)

        self.jvp = jvp

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else functools.partial(self, instance)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The function, with its rule recorded."""
        args = _positional(self.fun, args, kwargs)
        if not _core.is_capturing():
            return self.fun(*args)
        if self.jvp is None:
            raise AttributeError(
                f"{function_name(self.fun)} is a custom_jvp function without a rule\n  give one with @{function_name(self.fun)}.defjvp"
            )
        name = function_name(self.fun)
        dynamic, static = _split_static(args, self.nondiff_argnums)
        leaves, structure = flatten_arguments((dynamic, {}), name)
        run = lambda *xs: self.fun(*_merge_static(xs, static, self.nondiff_argnums))  # noqa: E731
        primal = capture(run, leaves, structure, "jit", name=name)
        inexact = [leaf for leaf in leaves if _is_inexact(leaf.dtype)]
        if self._depth >= _DEEPEST_RULE:
            return primal.structure.unflatten(_core.bind("custom_jvp", leaves + primal.closure, graph=primal.graph))
        self._depth += 1
        try:
            rule = self._capture_rule(leaves, inexact, structure, static, primal, name)
        finally:
            self._depth -= 1
        # Both graphs take the arguments, then what either closes over.
        closure = primal.closure + rule.closure
        operands = leaves + closure
        n, p, q = len(leaves), len(primal.closure), len(rule.closure)
        # Tangents belong to inexact operands; those of closed-over values are not differentiated here.
        tangents = [x for x in operands if _is_inexact(x.dtype)]
        graph = _rewire(primal.graph, operands, lambda xs: xs[: n + p])
        start = n + p + q
        jvp = _rewire(
            rule.graph, operands + tangents, lambda xs: xs[:n] + xs[start : start + len(inexact)] + xs[n + p : start]
        )
        return primal.structure.unflatten(_core.bind("custom_jvp", operands, graph=graph, jvp=jvp))

    def _capture_rule(
        self, leaves: list[Array], inexact: list[Array], structure: Any, static: list[Any], primal: Captured, name: str
    ) -> Captured:
        rule = self.jvp
        assert rule is not None

        def run(inputs: list[Array]) -> tuple[list[Any], None]:
            primals = structure.unflatten(inputs[: len(leaves)])[0]
            given = iter(inputs[len(leaves) :])
            tangents = structure.unflatten(
                [next(given) if _is_inexact(leaf.dtype) else _float0(leaf) for leaf in leaves]
            )[0]
            result = rule(*static, primals, tangents)
            if not isinstance(result, (tuple, list)) or len(result) != 2:
                raise TypeError(f"the jvp rule of {name} must return (output, output tangent)")
            outputs = [_core.array(x) for x in primal.structure.flatten_up_to(result[0])]
            directions = primal.structure.flatten_up_to(result[1])
            results: list[Any] = []
            for output, (shape, dtype, _) in zip(outputs, primal.graph.out_avals, strict=True):
                results.append(_conform(output, shape, dtype, f"the primal output of the jvp rule of {name}"))
            for direction, (shape, dtype, _) in zip(directions, primal.graph.out_avals, strict=True):
                if _is_inexact(dtype):
                    results.append(
                        _conform(_core.array(direction), shape, dtype, f"the tangent output of the jvp rule of {name}")
                    )
            return results, None

        graph, closure, _ = _core.capture(run, [*leaves, *inexact], [], "jit", f"jvp rule of {name}")
        return Captured(graph, closure, primal.structure)


def _conform(x: Array, shape: tuple[int, ...], dtype: Any, what: str) -> Array:
    """``x`` with the dtype it must have; ShapeError when the shape differs."""
    if x._bound_shape != tuple(shape):
        raise ShapeError(f"{what} has shape {x._bound_shape}; it must have {tuple(shape)}")
    return x if x.dtype == dtype else _core.convert(x, dtype)


# A forward rule may call its own function, whose rule then serves the next order of derivatives. A graph is finite, so the calls
# are cut off: inside of so many forward rules the function is a plain one, differentiated as its body is.
_RULE_ORDERS = 2
_thread = threading.local()


def _forward_rules() -> list[Any]:
    """The custom_vjp functions whose forward rules are being captured in this thread, the outermost first."""
    rules: list[Any] = _thread.__dict__.setdefault("forward_rules", [])
    return rules


class custom_vjp:  # noqa: N801
    """A function with a reverse-mode rule of its own.

    Args:
        fun: the function.
        nondiff_argnums: positions of arguments that are plain Python values; the backward rule gets them first.

    >>> import cotangent as ct
    >>> @ct.custom_vjp
    ... def clip_gradient(x):
    ...     return x
    >>> clip_gradient.defvjp(lambda x: (x, None), lambda residuals, g: (ct.numpy.clip(g, -1.0, 1.0),))
    >>> float(ct.grad(lambda x: 5.0 * clip_gradient(x))(1.0))
    1.0
    """

    def __init__(self, fun: Function, nondiff_argnums: Sequence[int] = ()) -> None:
        check_callable(fun, "custom_vjp")
        functools.update_wrapper(self, fun)
        self.fun = fun
        self.nondiff_argnums = tuple(nondiff_argnums)
        self.fwd: Function | None = None
        self.bwd: Function | None = None

    def defvjp(self, fwd: Function, bwd: Function, symbolic_zeros: bool = False, optimize_remat: bool = False) -> None:
        """Sets the rules: ``fwd(*args) -> (output, residuals)`` and ``bwd(*nondiff, residuals, cotangent) -> argument cotangents``."""
        del symbolic_zeros, optimize_remat
        self.fwd = fwd
        self.bwd = bwd

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else functools.partial(self, instance)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The function, with its rule recorded."""
        args = _positional(self.fun, args, kwargs)
        if not _core.is_capturing():
            return self.fun(*args)
        name = function_name(self.fun)
        if self.fwd is None or self.bwd is None:
            raise AttributeError(
                f"{name} is a custom_vjp function without rules\n  give them with {name}.defvjp(fwd, bwd)"
            )
        if _forward_rules().count(self) >= _RULE_ORDERS:
            return self.fun(*args)
        dynamic, static = _split_static(args, self.nondiff_argnums)
        leaves, structure = flatten_arguments((dynamic, {}), name)
        run = lambda *xs: self.fun(*_merge_static(xs, static, self.nondiff_argnums))  # noqa: E731
        primal = capture(run, leaves, structure, "jit", name=name)
        forward = self._capture_forward(leaves, structure, static, primal, name)
        outputs = primal.structure.num_leaves
        results: list[Any] = forward.graph.out_avals
        if any(_core.ragged_axes(x) for x in leaves + forward.closure):
            # Only an application knows how ragged the results are. Nothing uses it: it goes with the dead code.
            results = _core.apply_graph(forward.graph, leaves + forward.closure)
            # The backward rule closes over them for their lengths, which is no way for a derivative.
            results = [_core.bind("stop_gradient", [x])[0] for x in results]
        residuals = results[outputs:]
        cotangents = [
            x for x, aval in zip(results[:outputs], primal.graph.out_avals, strict=True) if _is_inexact(aval[1])
        ]
        backward = self._capture_backward(leaves, structure, static, primal, forward, residuals, cotangents, name)
        closure = primal.closure + forward.closure + backward.closure
        operands = leaves + closure
        avals = [aval_of(x) for x in operands]
        n, p, f, b = len(leaves), len(primal.closure), len(forward.closure), len(backward.closure)
        graph = _rewire(primal.graph, operands, lambda xs: xs[: n + p])

        # The backward rule's own closed-over values travel as residuals.
        def run_forward(xs: list[Array]) -> tuple[list[Array], None]:
            return _core.apply_graph(forward.graph, xs[:n] + xs[n + p : n + p + f]) + xs[n + p + f :], None

        forward_graph = _core.capture(run_forward, operands, [], "rearrange", name)[0]
        r = len(residuals)

        def run_backward(xs: list[Array]) -> tuple[list[Array], None]:
            pulled = _core.apply_graph(backward.graph, xs[:r] + xs[r + b :] + xs[r : r + b])
            zeros = [_core.full(shape, 0.0, dtype) for shape, dtype, _ in avals[n:] if _is_inexact(dtype)]
            return pulled + zeros, None

        sources = [*residuals, *backward.closure, *cotangents]
        backward_graph = _core.capture(run_backward, sources, [], "rearrange", name)[0]
        return primal.structure.unflatten(
            _core.bind(
                "custom_vjp",
                operands,
                graph=graph,
                forward=forward_graph,
                backward=backward_graph,
                closed=len(closure),
            )
        )

    def _capture_forward(
        self, leaves: list[Array], structure: Any, static: list[Any], primal: Captured, name: str
    ) -> Captured:
        fwd = self.fwd
        assert fwd is not None
        residual_structure: Any = None

        def run(inputs: list[Array]) -> tuple[list[Any], None]:
            nonlocal residual_structure
            xs = structure.unflatten(inputs)[0]
            result = fwd(*_merge_static(xs, static, self.nondiff_argnums))
            if not isinstance(result, (tuple, list)) or len(result) != 2:
                raise TypeError(f"the forward rule of {name} must return (output, residuals)")
            outputs = [
                _conform(_core.array(x), shape, dtype, f"the output of the forward rule of {name}")
                for x, (shape, dtype, _) in zip(
                    primal.structure.flatten_up_to(result[0]), primal.graph.out_avals, strict=True
                )
            ]
            residuals, residual_structure = flatten_arguments(result[1], f"the residuals of {name}")
            return [*outputs, *residuals], None

        _forward_rules().append(self)
        try:
            graph, closure, _ = _core.capture(run, leaves, [], "jit", f"forward rule of {name}")
        finally:
            _forward_rules().pop()
        return Captured(graph, closure, residual_structure)

    def _capture_backward(
        self,
        leaves: list[Array],
        structure: Any,
        static: list[Any],
        primal: Captured,
        forward: Captured,
        residual_sources: list[Any],
        results: list[Any],
        name: str,
    ) -> Captured:
        bwd = self.bwd
        assert bwd is not None

        def run(inputs: list[Array]) -> tuple[list[Any], None]:
            residuals = forward.structure.unflatten(inputs[: len(residual_sources)])
            # A cotangent that turns out zero has no lengths of its own, so those of the result are declared.
            given = map(as_ragged_as, inputs[len(residual_sources) :], results)
            cotangent = primal.structure.unflatten(
                [
                    next(given) if _is_inexact(dtype) else np.zeros(shape, dtype=[("float0", "V")])
                    for shape, dtype, _ in primal.graph.out_avals
                ]
            )
            result = bwd(*static, residuals, cotangent)
            count = len(structure.unflatten(leaves)[0])
            if not isinstance(result, (tuple, list)) or len(result) != count:
                raise TypeError(
                    f"the backward rule of {name} must return a tuple of {count} cotangents, one an argument"
                )
            outputs: list[Any] = []
            for number, (argument, pulled) in enumerate(zip(structure.unflatten(leaves)[0], result, strict=True)):
                arg_leaves, arg_structure = flatten_arguments(argument, name)
                parts = [None] * len(arg_leaves) if pulled is None else arg_structure.flatten_up_to(pulled)
                for leaf, part in zip(arg_leaves, parts, strict=True):
                    shape, dtype, _ = aval_of(leaf)
                    if not _is_inexact(dtype):
                        continue
                    what = f"the cotangent of argument {number} from the backward rule of {name}"
                    outputs.append(
                        _core.full(shape, 0.0, dtype)
                        if part is None
                        else _conform(_core.array(part), shape, dtype, what)
                    )
            return outputs, None

        cotangents = [(shape, dtype, False) for shape, dtype, _ in primal.graph.out_avals if _is_inexact(dtype)]
        sources = [*residual_sources, *cotangents]
        graph, closure, _ = _core.capture(run, sources, [], "jit", f"backward rule of {name}")
        return Captured(graph, closure, primal.structure)
