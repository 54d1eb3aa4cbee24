"""Functions with derivative rules of the user's own: `custom_jvp` and `custom_vjp`.

A call is one equation, and its rules survive every transform: the gradient of a sum over ``vmap`` of a custom function uses the custom
rule. They are captured when a derivative asks for them, so they neither cost nor fail where nothing is differentiated.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from cotangent import _core
from cotangent._base import primitives
from cotangent._base.arguments import leaving_methods
from cotangent._base.capture import (
    Aval,
    Captured,
    ShapeDtypeStruct,
    SymbolicZero,
    as_ragged_as,
    aval_of,
    flatten_arguments,
    flatten_like,
    float0_zeros,
    function_name,
    is_inexact_dtype,
    tangent_dtype,
)
from cotangent._base.carriers import map_every_leaf
from cotangent._base.messages import kind_of, marked_difference
from cotangent._base.misplaced import Positions
from cotangent._core import Array, Graph
from cotangent._transforms.custom_function import CustomFunction, Opened, rewire
from cotangent.errors import MismatchError

Function = Callable[..., Any]


def _is_pair(x: Any) -> bool:
    return isinstance(x, (tuple, list)) and len(x) == 2


def _is_zero(x: Any) -> bool:
    return isinstance(x, SymbolicZero)


def _capture_rule(
    run: Callable[[list[Array]], list[Any]],
    sources: list[Any],
    values: int,
    what: str,
    dependent_as: Sequence[Any] | None = None,
) -> Any:
    """A rule's graph and what it closes over.

    The first ``values`` inputs have the values of their sources, where those have any. They depend on what is differentiated as
    the sources do, or those in ``dependent_as``, but for the derivative that applies the rule.
    """
    rest = [None] * (len(sources) - values)
    shadows = [*sources[:values], *rest]
    mode = _core.capture_mode() or "jit"
    dependence = [*(sources if dependent_as is None else dependent_as)[:values], *rest]
    call = lambda inputs: (run(inputs), None)  # noqa: E731
    return _core.capture(call, sources, [], mode, what, shadows, dependent_as=dependence)[:2]


@leaving_methods
class custom_jvp(CustomFunction):  # noqa: N801
    """Gives a function a forward-mode rule of its own.

    A call is one operation, and its rule survives every transform: ``grad(vmap(f))`` uses it, too. Reverse mode
    transposes the rule, so the output tangent must be linear in the tangents. The rule is run where a derivative is
    taken, and nowhere else. Without a rule, calls raise
    AttributeError.

    Parameters
    ----------
    fun : callable
        A function of pytrees of arrays, and of Python values where these are named.
    nondiff_argnums : int or sequence of int, default ()
        Positions of arguments that are plain Python values; they come first in the rule.
    nondiff_argnames : str or sequence of str, default ()
        The same by name.

    Examples
    --------
    >>> @ct.custom_jvp
    ... def log1pexp(x):
    ...     return ct.numpy.log(1 + ct.numpy.exp(x))
    >>> @log1pexp.defjvp
    ... def rule(primals, tangents):
    ...     (x,), (t,) = primals, tangents
    ...     return log1pexp(x), t / (1 + ct.numpy.exp(-x))
    >>> float(ct.grad(log1pexp)(100.0))
    1.0
    """

    def __init__(
        self, fun: Function, nondiff_argnums: Positions = (), nondiff_argnames: str | Sequence[str] = ()
    ) -> None:
        super().__init__(fun, nondiff_argnums, nondiff_argnames)
        self.jvp: Function | None = None
        self.symbolic_zeros = False

    def defjvp(self, jvp: Function, symbolic_zeros: bool = False) -> Function:
        """Sets the rule, ``jvp(*nondiff, primals, tangents) -> (output, output tangent)``.

        It may be used as a decorator. Tangents have the structure of the arguments.

        Parameters
        ----------
        jvp : callable
            The rule. Its second result has the structure, shapes and dtypes of the first.
        symbolic_zeros : bool, default False
            Tangents of arguments that are not differentiated are `SymbolicZero` instead of zeros (float0 ones for
            integers), and the rule may return `SymbolicZero` tangents.

        Returns
        -------
        callable
            ``jvp`` itself.

        Examples
        --------
        >>> f = ct.custom_jvp(lambda x: x * x)
        >>> _ = f.defjvp(lambda primals, tangents: (f(*primals), 10.0 * tangents[0]))
        >>> float(ct.grad(f)(1.0))
        10.0
        """
        self.jvp = jvp
        self.symbolic_zeros = symbolic_zeros
        return jvp

    def defjvps(self, *jvps: Function | None) -> None:
        """Sets one rule for each argument, whose results are added.

        Parameters
        ----------
        *jvps : callable or None
            ``jvps[i](tangent, output, *primals) -> output tangent`` for argument ``i``; None is zero.

        Raises
        ------
        TypeError
            The function has arguments that are not differentiated: use `defjvp`.

        Examples
        --------
        >>> f = ct.custom_jvp(lambda x, y: x * y)
        >>> f.defjvps(lambda t, out, x, y: 100.0 * t, None)
        >>> [float(g) for g in ct.grad(f, argnums=(0, 1))(2.0, 3.0)]
        [100.0, 0.0]
        """
        if self.nondiff_argnums:
            raise TypeError(
                "defjvps does not support nondiff_argnums\n  give one rule of all arguments with defjvp(rule): rule(static, primals, tangents)"
            )

        def jvp(primals: tuple[Any, ...], tangents: tuple[Any, ...]) -> Any:
            output = self(*primals)
            parts = [rule(t, output, *primals) for rule, t in zip(jvps, tangents, strict=True) if rule is not None]
            zero = map_every_leaf(SymbolicZero.from_primal_value, output)
            add = lambda x, y: y if _is_zero(x) else x + y  # noqa: E731
            total = functools.reduce(lambda a, b: map_every_leaf(add, a, b, is_leaf=_is_zero), parts, zero)
            return output, total

        self.jvp = jvp

    def _check_rules(self) -> None:
        if self.jvp is None:
            name = function_name(self)
            raise AttributeError(
                f"{name} is a custom_jvp function without a rule\n  give one with @{name}.defjvp\n  see docs/errors.md#rule-missing"
            )

    def _rule_functions(self) -> list[Any]:
        """See `CustomFunction`."""
        return [self.jvp]

    def _capture_rules(self, call: Opened, moving: Sequence[bool]) -> tuple[Graph, list[Array]]:
        """See `CustomFunction`."""
        inexact = [leaf for leaf in call.leaves if is_inexact_dtype(leaf.dtype)]
        rule, closure = self._capture_jvp(call, inexact, moving)
        if not closure:
            return rule, closure
        operands = call.leaves + closure
        tangents = [x for x in operands if is_inexact_dtype(x.dtype)]
        n, m = len(call.leaves), len(operands)
        # Nothing is differentiated with respect to what the rule closes over.
        graph = rewire(rule, operands + tangents, lambda xs: xs[:n] + xs[m : m + len(inexact)] + xs[n:m])
        return graph, closure

    def _capture_jvp(self, call: Opened, inexact: list[Array], moving: Sequence[bool]) -> Any:
        rule, primal, leaves = self.jvp, call.primal, call.leaves
        assert rule is not None
        none = SymbolicZero.from_primal_value if self.symbolic_zeros else lambda x: float0_zeros(aval_of(x)[0])

        def run(inputs: list[Array]) -> list[Any]:
            given = iter(inputs[len(leaves) :])
            tangents = [next(given) if is_inexact_dtype(leaf.dtype) else none(leaf) for leaf in leaves]
            if self.symbolic_zeros:
                tangents = [
                    t if moves else none(leaf) for t, moves, leaf in zip(tangents, moving, leaves, strict=False)
                ]
            result = rule(*call.static, call.arguments(inputs[: len(leaves)]), call.tangents(tangents))
            if not _is_pair(result):
                raise TypeError(
                    f"the jvp rule of {call.name} must return (output, output tangent); it returned {kind_of(result)}\n"
                    f"  return a tuple of two: what {call.name} returns, and its derivative in the direction of the tangents"
                )
            outputs = _matching(primal, result[0], f"the primal output of the jvp rule of {call.name}")
            directions = _matching(primal, result[1], f"the tangent output of the jvp rule of {call.name}")
            results: list[Any] = []
            for output, (shape, dtype, _) in zip(outputs, primal.graph.out_avals, strict=True):
                results.append(
                    _conform(_core.array(output), shape, dtype, f"the primal output of the jvp rule of {call.name}")
                )
            for direction, (shape, dtype, _) in zip(directions, primal.graph.out_avals, strict=True):
                if not is_inexact_dtype(dtype):
                    continue
                if direction is None or _is_zero(direction):
                    results.append(_core.full(shape, 0.0, dtype))
                    continue
                what = f"the tangent output of the jvp rule of {call.name}"
                results.append(_conform(_core.array(direction), shape, dtype, what))
            return results

        return _capture_rule(run, [*leaves, *inexact], len(leaves), f"jvp rule of {call.name}")


def _matching(primal: Captured, tree: Any, what: str) -> list[Any]:
    """The leaves of ``tree``, which has the structure of the function's output."""
    return flatten_like(primal.structure, tree, f"{what} must have the structure of the function's output")


def _conform(x: Array, shape: tuple[int, ...], dtype: Any, what: str) -> Array:
    """``x`` with the dtype it must have; MismatchError when the shape differs."""
    if x._bound_shape != tuple(shape):
        derivative = what.startswith(("the tangent", "the cotangent"))
        advice = (
            _conforming(x._bound_shape, tuple(shape))
            if derivative
            else "return what the function itself returns for these arguments"
        )
        raise MismatchError(
            f"{what} has shape {x._bound_shape}; it must have {tuple(shape)}{marked_difference(x._bound_shape, shape)}\n  {advice}"
        )
    return x if x.dtype == dtype else _core.convert(x, dtype)


def _conforming(given: tuple[int, ...], wanted: tuple[int, ...]) -> str:
    """What makes an array of one shape of one of the other."""
    try:
        np.broadcast_shapes(given, wanted)
    except ValueError:
        return "a tangent or cotangent has the shape of what it belongs to: reshape it, or sum over what was broadcast"
    if len(given) <= len(wanted) and np.broadcast_shapes(given, wanted) == wanted:
        return f"return ct.numpy.broadcast_to(..., {wanted})"
    axes = tuple(range(len(given) - len(wanted)))
    return (
        f"sum over the axes that were broadcast: .sum(axis={axes})"
        if axes
        else f"sum over what was broadcast, to {wanted}"
    )


class CustomVJPPrimal:
    """What a forward rule with symbolic zeros gets for each array.

    Where it was called in an eager gradient and a derivative in Python control flow is not known, an argument may count
    as perturbed whose tangent turns out to be zero.

    Parameters
    ----------
    value : array
        The argument.
    perturbed : bool
        Whether it is differentiated.

    Examples
    --------
    >>> def forward(x, y):
    ...     seen.append((x.perturbed, y.perturbed))
    ...     return x.value * y.value, (x.value, y.value)
    >>> seen = []
    >>> f = ct.custom_vjp(lambda x, y: x * y)
    >>> f.defvjp(forward, lambda saved, g: (g * saved[1], g * saved[0]), symbolic_zeros=True)
    >>> float(ct.grad(f)(2.0, 3.0)), seen
    (3.0, [(True, False)])
    """

    def __init__(self, value: Any, perturbed: bool) -> None:
        self.value = value
        self.perturbed = perturbed


@leaving_methods
class custom_vjp(CustomFunction):  # noqa: N801
    """Gives a function a reverse-mode rule of its own.

    A call is one operation, and its rule survives every transform. The backward rule need not be linear: it may clip or
    round. Forward mode (`jvp`, `jacfwd`) through it is an error, as there is no rule for it; over reverse mode
    (`hessian`) it differentiates the rules.

    Parameters
    ----------
    fun : callable
        A function of pytrees of arrays, and of Python values where these are named.
    nondiff_argnums : int or sequence of int, default ()
        Positions of arguments that are plain Python values; the backward rule gets them first.
    nondiff_argnames : str or sequence of str, default ()
        The same by name.

    Examples
    --------
    >>> @ct.custom_vjp
    ... def clip_gradient(x):
    ...     return x
    >>> clip_gradient.defvjp(lambda x: (x, None), lambda residuals, g: (ct.numpy.clip(g, -1.0, 1.0),))
    >>> float(ct.grad(lambda x: 5.0 * clip_gradient(x))(1.0))
    1.0
    """

    def __init__(
        self, fun: Function, nondiff_argnums: Positions = (), nondiff_argnames: str | Sequence[str] = ()
    ) -> None:
        super().__init__(fun, nondiff_argnums, nondiff_argnames)
        self.fwd: Function | None = None
        self.bwd: Function | None = None
        self.symbolic_zeros = False

    def defvjp(self, fwd: Function, bwd: Function, symbolic_zeros: bool = False, optimize_remat: bool = False) -> None:
        """Sets the forward and the backward rule.

        ``fwd(*args) -> (output, residuals)`` and ``bwd(*nondiff, residuals, cotangent) -> cotangents``, one an
        argument.

        Parameters
        ----------
        fwd : callable
            Takes the arguments of the function; with ``symbolic_zeros`` its arrays come as `CustomVJPPrimal`.
        bwd : callable
            Returns a tuple with a cotangent for each argument; None, and `SymbolicZero`, stand for zeros.
        symbolic_zeros : bool, default False
            See ``fwd``; cotangents of outputs that have none (integers) are `SymbolicZero` then.
        optimize_remat : bool, default False
            Accepted for compatibility: what a derivative does not need of ``fwd`` is never computed.

        Examples
        --------
        >>> f = ct.custom_vjp(lambda x: ct.numpy.sin(x))
        >>> f.defvjp(lambda x: (ct.numpy.sin(x), ct.numpy.cos(x)), lambda c, g: (c * g,))
        >>> float(ct.grad(f)(0.0))
        1.0
        """
        del optimize_remat
        self.fwd = fwd
        self.bwd = bwd
        self.symbolic_zeros = symbolic_zeros

    def _check_rules(self) -> None:
        if self.fwd is None or self.bwd is None:
            name = self.__name__  # type: ignore[attr-defined]
            raise AttributeError(
                f"{name} is a custom_vjp function without rules\n  give them with {name}.defvjp(fwd, bwd)"
                "\n  see docs/errors.md#rule-missing"
            )

    def _rule_functions(self) -> list[Any]:
        """See `CustomFunction`."""
        return [self.fwd, self.bwd]

    def _capture_rules(self, call: Opened, moving: Sequence[bool]) -> tuple[Graph, list[Array]]:
        """See `CustomFunction`."""
        leaves, primal = call.leaves, call.primal
        forward = self._capture_forward(call, moving)
        outputs = primal.structure.num_leaves
        results: list[Any] = forward.graph.out_avals
        dependent_as: list[Any] = []
        if _core.capture_mode() == "transform" or any(_core.ragged_axes(x) for x in leaves + forward.closure):
            # Only an application knows how ragged the results are, and their values, which the backward rule may look at.
            # Nothing uses it: it goes with the dead code.
            results = _core.apply_graph(forward.graph, leaves + forward.closure)
            dependent_as = results[outputs:]
            # The backward rule closes over them for their lengths, which is no way for a derivative.
            results = [primitives.stop_gradient(x) for x in results]
        residuals = results[outputs:]
        cotangents = [
            x for x, aval in zip(results[:outputs], primal.graph.out_avals, strict=True) if is_inexact_dtype(aval[1])
        ]
        backward_graph, backward_closure = self._capture_backward(call, forward, residuals, cotangents, dependent_as)
        closure = forward.closure + backward_closure
        operands = leaves + closure
        avals = [aval_of(x) for x in operands]
        n, m, b = len(leaves), len(leaves) + len(forward.closure), len(backward_closure)

        # The backward rule's own closed-over values travel as residuals.
        def run_forward(xs: list[Array]) -> tuple[list[Array], None]:
            return _core.apply_graph(forward.graph, xs[:m]) + xs[m:], None

        def run_value(xs: list[Array]) -> tuple[list[Array], None]:
            return _core.apply_graph(forward.graph, xs[:m])[:outputs], None

        graph = _core.capture(run_value, operands, [], "rearrange", call.name)[0]
        if not closure:
            return _core.custom_vjp_rule(graph, forward.graph, backward_graph), closure
        forward_graph = _core.capture(run_forward, operands, [], "rearrange", call.name)[0]
        r = len(residuals)

        def run_backward(xs: list[Array]) -> tuple[list[Array], None]:
            pulled = _core.apply_graph(backward_graph, xs[:r] + xs[r + b :] + xs[r : r + b])
            zeros = [_core.full(shape, 0.0, dtype) for shape, dtype, _ in avals[n:] if is_inexact_dtype(dtype)]
            return pulled + zeros, None

        sources = [*residuals, *backward_closure, *cotangents]
        backward = _core.capture(run_backward, sources, [], "rearrange", call.name)[0]
        return _core.custom_vjp_rule(graph, forward_graph, backward), closure

    def _capture_forward(self, call: Opened, moving: Sequence[bool]) -> Captured:
        fwd, primal = self.fwd, call.primal
        assert fwd is not None
        residual_structure: Any = None

        def run(inputs: list[Array]) -> list[Any]:
            nonlocal residual_structure
            given: list[Any] = list(inputs)
            if self.symbolic_zeros:
                given = [CustomVJPPrimal(x, moves) for x, moves in zip(inputs, moving, strict=False)]
            result = fwd(*call.all_arguments(given))
            if not _is_pair(result):
                raise TypeError(
                    f"the forward rule of {call.name} must return (output, residuals); it returned {kind_of(result)}\n"
                    f"  return what {call.name} returns, and what the backward rule needs, or None: (output, residuals)"
                )
            what = f"the output of the forward rule of {call.name}"
            outputs = [
                _conform(_core.array(x), shape, dtype, what)
                for x, (shape, dtype, _) in zip(_matching(primal, result[0], what), primal.graph.out_avals, strict=True)
            ]
            residual_structure = _Residuals(result[1], f"the residuals of {call.name}")
            return [*outputs, *residual_structure.arrays]

        graph, closure = _capture_rule(run, call.leaves, len(call.leaves), f"forward rule of {call.name}")
        return Captured(graph, closure, residual_structure)

    def _capture_backward(
        self,
        call: Opened,
        forward: Captured,
        residual_sources: list[Any],
        results: list[Any],
        dependent_as: list[Any],
    ) -> Any:
        bwd, primal = self.bwd, call.primal
        assert bwd is not None

        def none(aval: Aval) -> Any:
            zero = ShapeDtypeStruct(aval[0], tangent_dtype(aval[1]))
            return SymbolicZero(zero) if self.symbolic_zeros else float0_zeros(aval[0])

        arguments, is_object = call.arguments(call.leaves), call.is_object()

        def run(inputs: list[Array]) -> list[Any]:
            residuals = forward.structure.unflatten(inputs[: len(residual_sources)])
            # A cotangent that turns out zero has no lengths of its own, so those of the result are declared.
            given = map(as_ragged_as, inputs[len(residual_sources) :], results)
            cotangent = primal.structure.unflatten(
                [next(given) if is_inexact_dtype(aval[1]) else none(aval) for aval in primal.graph.out_avals]
            )
            result = bwd(*call.static, residuals, cotangent)
            if not isinstance(result, (tuple, list)) or len(result) != len(arguments):
                raise TypeError(
                    f"the backward rule of {call.name} must return a tuple of {len(arguments)} cotangents, one an argument;"
                    f" it returned {kind_of(result)}\n  "
                    + (
                        "write (g,) for a tuple of one"
                        if len(arguments) == 1
                        else "return None for arguments without one"
                    )
                )
            outputs: list[Any] = []
            for number, (argument, pulled) in enumerate(zip(arguments, result, strict=True)):
                if is_object[number]:
                    continue
                what = f"the cotangent of argument {number} from the backward rule of {call.name}"
                outputs += _cotangents(argument, pulled, what)
            return outputs

        cotangents = [(shape, dtype, False) for shape, dtype, _ in primal.graph.out_avals if is_inexact_dtype(dtype)]
        sources = [*residual_sources, *cotangents]
        known = 0 if any(isinstance(x, tuple) for x in residual_sources) else len(residual_sources)
        return _capture_rule(run, sources, known, f"backward rule of {call.name}", dependent_as)


class _Residuals:
    """What a forward rule keeps for the backward rule: arrays, and Python values, which it gets as they are."""

    def __init__(self, tree: Any, what: str) -> None:
        leaves, self._structure = _core.tree_flatten(tree, None)
        paths = self._structure.paths()
        self.arrays: list[Array] = []
        self._kept: list[Any] = []
        for i, leaf in enumerate(leaves):
            array = None
            if isinstance(leaf, np.generic) or not _core.is_python_scalar(leaf):
                with contextlib.suppress(TypeError):
                    array = _core.leaf(leaf, f"{what}{paths[i]}")
            self._kept.append(_ARRAY if array is not None else leaf)
            if array is not None:
                self.arrays.append(array)

    def unflatten(self, arrays: Sequence[Array]) -> Any:
        """The residuals with these arrays."""
        given = iter(arrays)
        return self._structure.unflatten([next(given) if leaf is _ARRAY else leaf for leaf in self._kept])


_ARRAY = object()


def _cotangents(argument: Any, pulled: Any, what: str) -> list[Array]:
    """The cotangents of an argument's inexact leaves; None and `SymbolicZero` stand for zeros, of a leaf or of all below."""
    leaves, structure = flatten_arguments(argument, what)
    if pulled is None or _is_zero(pulled):
        parts: list[Any] = [None] * len(leaves)
    else:
        parts = flatten_like(structure, pulled, f"{what} must have the structure of the argument")
    outputs = []
    for leaf, part in zip(leaves, parts, strict=True):
        shape, dtype, _ = aval_of(leaf)
        if not is_inexact_dtype(dtype):
            continue
        if part is None or _is_zero(part):
            outputs.append(_core.full(shape, 0.0, dtype))
        else:
            outputs.append(_conform(_core.array(part), shape, dtype, what))
    return outputs
