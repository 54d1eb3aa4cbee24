"""What functions with rules of the user's own share: how they are called, and what is captured of them."""

from __future__ import annotations

import copy
import functools
import gc
import inspect
import math
import threading
import types
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from cotangent import _core
from cotangent._base import primitives
from cotangent._base.arguments import leaving_methods, suggestion
from cotangent._base.callbacks import pure_callback
from cotangent._base.capture import (
    Captured,
    ShapeDtypeStruct,
    aval_of,
    capture,
    check_callable,
    flatten_arguments,
    float0_zeros,
    function_name,
    is_inexact_dtype,
    wraps,
)
from cotangent._base.misplaced import Positions, check_positions
from cotangent._base.objects import Object
from cotangent._core import Array, Graph, PyTreeDef
from cotangent.errors import TracerLeakError

Function = Callable[..., Any]


class Opened:
    """One call of a custom function: its arrays, its plain Python values, and the captured function."""

    def __init__(
        self,
        function: CustomFunction,
        name: str,
        leaves: list[Array],
        structure: PyTreeDef,
        static: list[Any],
        positions: tuple[int, ...],
        primal: Captured,
        objects: list[Any],
    ) -> None:
        self.function = function
        self.name = name
        self.leaves = leaves
        self.structure = structure  # of (arguments but the static ones, {})
        self.static = static
        self.positions = positions  # of the static arguments
        self.primal = primal
        self.objects = objects  # defaults that are no arrays

    def of(self, leaves: list[Array]) -> Opened:
        """The same call of these arrays."""
        call = copy.copy(self)
        call.leaves = leaves
        return call

    def arguments(self, leaves: Sequence[Any]) -> tuple[Any, ...]:
        """The arguments that are not static, made of these leaves."""
        return tuple(shown(self.structure.unflatten(leaves)[0], self.objects))

    def tangents(self, leaves: Sequence[Any]) -> tuple[Any, ...]:
        """The tangents of the arguments, made of these leaves; those of other objects are without values."""
        return tuple(shown(self.structure.unflatten(leaves)[0], [float0_zeros(())] * len(self.objects)))

    def is_object(self) -> list[bool]:
        """For each argument that is not static, whether it is a default that is no array."""
        return [isinstance(arg, Object) for arg in self.structure.unflatten(self.leaves)[0]]

    def all_arguments(self, leaves: Sequence[Any]) -> list[Any]:
        """All arguments in their order."""
        return _merged(self.arguments(leaves), self.static, self.positions)


class Rule:
    """The derivative rule of one recorded call: captured when a derivative asks for it, without values.

    What the rule closes over must be known by then: arrays, and those traced values that the equation has as operands. These are
    the arguments, what the function itself closes over, and what `reachable_values` has found. Inside of a mask they are as ragged as
    they were at the call.
    """

    def __init__(
        self, function: CustomFunction, call: Opened, operands: list[Array], error: Exception | None = None
    ) -> None:
        self.function = function
        self.call = call
        self.operands = operands
        self.axes = _core.named_axes()
        self.sizes = Sizes(operands)
        self.graphs: dict[tuple[bool, ...], Graph] = {}
        self.error = error

    def __repr__(self) -> str:
        return f"the rule of {self.call.name}"

    def __call__(self, moving: Sequence[bool]) -> Graph:
        """Operands, then tangents of the inexact ones -> outputs, then tangents; ``moving``: the operands that have tangents."""
        if self.error is not None:
            raise self.error
        key = tuple(moving[: len(self.call.leaves)]) if self.function.symbolic_zeros else ()
        if key not in self.graphs:
            self.graphs[key] = self._in_axes(list(self.axes), list(moving))
        return self.graphs[key]

    def _in_axes(self, axes: list[tuple[str, int]], moving: list[bool]) -> Graph:
        """With the axes that collectives could name where the function was called."""
        if not axes:
            return self._capture(moving)
        return _made_within(lambda: self._in_axes(axes[:-1], moving), "batch", self.call.name, axes[-1])

    def _capture(self, moving: list[bool]) -> Graph:
        count, sizes = len(self.operands), self.sizes.count
        avals = [aval_of(x) for x in self.operands]
        inexact = [i for i, aval in enumerate(avals) if is_inexact_dtype(aval[1])]
        name = f"the rule of {self.call.name}"

        def run(inputs: list[Array]) -> tuple[list[Any], None]:
            inputs = self.sizes.among(inputs[sizes:], inputs[:sizes])
            for given, outside in zip(inputs, self.operands, strict=False):
                if _core.is_traced(outside):
                    _core.stand_in(given, outside)
            leaves = inputs[: len(self.call.leaves)]
            tangents = dict(zip(inexact, inputs[count:], strict=True))
            call = self.call.of(leaves)
            graph, closure = rules_of(call, moving)
            values, places = list(leaves), list(range(len(leaves)))
            for x in closure:
                place = self._place(x, inputs[:count])
                values.append(constant(x) if place is None else inputs[place])
                places.append(-1 if place is None else place)
            for place, value in zip(places, list(values), strict=True):
                if is_inexact_dtype(value.dtype):
                    shape, dtype, _ = aval_of(value)
                    values.append(tangents[place] if place >= 0 else _core.full(shape, 0.0, dtype))
            return _core.apply_graph(graph, values), None

        given = [*avals, *(avals[i] for i in inexact)]
        if not sizes:
            graph, closure, _ = _core.capture(run, given, [], "jit", name)
            assert not closure
            return graph
        ragged: list[dict[int, int]] = [{}] * sizes + self.sizes.axes + [self.sizes.axes[i] for i in inexact]

        def within() -> Graph:
            graph, closure, _ = _core.capture(
                run, [((), "int32", False)] * sizes + given, [], "mask", name, None, ragged
            )
            assert not closure
            return graph

        # A derivative can be taken of what the rule makes.
        graph = _made_within(within, "jit", name)
        return rewire(graph, given, lambda xs: self.sizes.of(xs) + xs)

    def _place(self, x: Array, inputs: list[Array]) -> int | None:
        """Which operand the closed-over value is; None for an array that is none of them."""
        if _core.is_traced(x):
            return next(i for i, value in enumerate(inputs) if _core.same_value(x, value))
        return next((i for i, value in enumerate(self.operands) if _core.same_value(x, value)), None)


def _made_within(make: Callable[[], Graph], mode: str, name: str, axis: tuple[str, int] | None = None) -> Graph:
    """A graph that is captured with another capture around, of which nothing is kept."""
    made: list[Graph] = []

    def run(_: list[Array]) -> tuple[list[Any], None]:
        made.append(make())
        return [], None

    _core.capture(run, [], [], mode, name, None, None, axis)
    return made[0]


class Sizes:
    """The ragged axes of the operands of a call, and which of them have one size: for a capture when the mask's own has ended.

    How sizes that are not equal depend on each other is not kept.
    """

    def __init__(self, operands: Sequence[Array]) -> None:
        self.places: list[tuple[int, int]] = []  # of each size an operand and an axis that has it
        self.axes: list[dict[int, int]] = []  # of each operand: axis -> number of the size
        known: list[Array] = []
        for number, operand in enumerate(operands):
            axes: dict[int, int] = {}
            self.axes.append(axes)
            for axis in _core.ragged_axes(operand):
                length = _core.length_of(operand, axis)
                assert length is not None
                axes[axis] = _which_size(known, length)
                if axes[axis] == len(known):
                    known.append(length)
                    self.places.append((number, axis))
        self.count = len(known)
        # Operands that are sizes themselves.
        self.values = {
            number: _which_size(known, operand)
            for number, operand in enumerate(operands)
            if known and operand.dtype == np.int32 and operand.ndim == 0
        }

    def of(self, operands: Sequence[Array]) -> list[Array]:
        """The sizes."""
        return [primitives.dimension_size(operands[number], axis=axis) for number, axis in self.places]

    def among(self, operands: list[Array], sizes: Sequence[Array]) -> list[Array]:
        """The operands, with sizes for those that are sizes."""
        found = {number: sizes[size] for number, size in self.values.items() if size < len(sizes)}
        return [found.get(number, operand) for number, operand in enumerate(operands)]


def _which_size(known: Sequence[Array], size: Array) -> int:
    """The number of an equal size; past the last if there is none."""
    return next((i for i, other in enumerate(known) if _core.same_length(size, other)), len(known))


class _Rules(threading.local):
    """Whether rules are being captured, in this thread."""

    def __init__(self) -> None:
        self.depth = 0


_rules = _Rules()


def rules_of(call: Opened, moving: Sequence[bool]) -> tuple[Graph, list[Array]]:
    """See `CustomFunction._capture_rules`."""
    _rules.depth += 1
    try:
        return call.function._capture_rules(call, moving)
    finally:
        _rules.depth -= 1


def constant(x: Array) -> Array:
    """A known array as a value of the program that is being captured, which holds it by itself."""
    if _core.dtype_kind(x.dtype) == "key":
        raise TypeError(
            "a rule closes over a random key that its function does not use\n  pass it to the function as an argument"
        )
    if not math.prod(x.shape):
        return _core.full(x.shape, 0, x.dtype)
    value = _core.to_numpy(x)
    result: Array = pure_callback(lambda: value, ShapeDtypeStruct(x.shape, x.dtype), vmap_method="broadcast_all")
    return result


_OPAQUE = (
    types.ModuleType,
    type,
    types.CodeType,
    types.FrameType,
    types.BuiltinFunctionType,
    np.ndarray,
    str,
    bytes,
    int,
    float,
    complex,
)
_MOST_OBJECTS = 50_000


def reachable_values(roots: Sequence[Any]) -> list[Array]:
    """The traced values that functions close over, directly or by way of other objects, without running them."""
    found: list[Array] = []
    seen: set[int] = set()
    pending = list(roots)
    while pending and len(seen) < _MOST_OBJECTS:
        item = pending.pop()
        if item is None or isinstance(item, _OPAQUE) or id(item) in seen:
            continue
        seen.add(id(item))
        if isinstance(item, Array):
            if _core.is_traced(item):
                found.append(item)
        elif isinstance(item, types.FunctionType):
            # Not the globals: traced values do not outlive their capture there.
            pending += [cell for cell in item.__closure__ or () if cell is not None]
            pending += [item.__defaults__, item.__kwdefaults__, item.__dict__]
        else:
            pending += gc.get_referents(item)
    return found if _are_live(found) else [value for value in found if _are_live([value])]


def _are_live(values: list[Array]) -> bool:
    """Whether the programs that values belong to are still being captured: what a cache has kept of others is none of the rules' business."""
    if not values:
        return True
    try:
        _core.capture(lambda _: (values, None), [], [], "rearrange", "values of rules")
    except TracerLeakError:
        return False
    return True


def shown(args: Sequence[Any], objects: Sequence[Any]) -> list[Any]:
    """Arguments with these in the places of the objects among them."""
    return [objects[arg.number] if isinstance(arg, Object) else arg for arg in args]


def _may_be_array(x: Any) -> bool:
    return isinstance(x, (float, complex, np.ndarray, np.generic, Array)) and not isinstance(x, (bool, int))


def _merged(dynamic: Sequence[Any], static: Sequence[Any], positions: Sequence[int]) -> list[Any]:
    merged = list(dynamic)
    for position, value in sorted(zip(positions, static, strict=True), key=lambda pair: pair[0]):
        merged.insert(position, value)
    return merged


def rewire(graph: Graph, sources: Sequence[Any], select: Callable[[list[Array]], list[Array]]) -> Graph:
    """The graph with inputs like ``sources``, of which ``select`` picks the graph's own."""
    return _core.capture(
        lambda inputs: (_core.apply_graph(graph, select(inputs)), None), list(sources), [], "rearrange", "rewire"
    )[0]


def closed(closure: list[Array]) -> dict[str, Any]:
    """The attribute that says how many of the operands are closed over, if any is."""
    return {"closed": len(closure)} if closure else {}


@leaving_methods
class CustomFunction:
    """A function whose calls are recorded, with its rules, as one equation.

    The rules are captured when a derivative asks for them: at the call when one is being taken of what it depends on, else by a `Rule`
    when the program that holds the equation is differentiated.
    """

    symbolic_zeros = False
    rules_are_of_derivatives = (
        True  # and of nothing else, so where no derivative can be taken the function is called as it is
    )

    def __init__(
        self, fun: Function, nondiff_argnums: Positions = (), nondiff_argnames: str | Sequence[str] = ()
    ) -> None:
        self._kind = type(self).__name__
        check_callable(fun, self._kind)
        check_positions(self._kind, fun, "nondiff_argnums", nondiff_argnums, "nondiff_argnames")
        wraps(fun)(self)
        self.fun = fun
        self.nondiff_argnums = (nondiff_argnums,) if isinstance(nondiff_argnums, int) else tuple(nondiff_argnums)
        names = (nondiff_argnames,) if isinstance(nondiff_argnames, str) else tuple(nondiff_argnames)
        if names:
            parameters = list(inspect.signature(fun).parameters)
            for name in names:
                if name not in parameters:
                    raise ValueError(
                        f"{self._kind} of {function_name(fun)}: nondiff_argnames names {name!r}, which is no argument of the function"
                        f"{suggestion(name, parameters)}\n  its arguments: {', '.join(parameters) or 'none'}"
                    )
            self.nondiff_argnums += tuple(
                parameters.index(name) for name in names if parameters.index(name) not in self.nondiff_argnums
            )

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else functools.partial(self, instance)

    def _check_rules(self) -> None:
        """Raises when the function has no rules yet."""

    def _rule_functions(self) -> list[Any]:
        """The functions that a derivative runs."""
        raise NotImplementedError

    def _capture_rules(self, call: Opened, moving: Sequence[bool]) -> tuple[Graph, list[Array]]:
        """Runs the rules on traced values; a graph and the values that it closes over.

        Its inputs are the leaves of the call and those values, then tangents of the inexact ones of all these; its outputs are the
        function's, then tangents of the inexact ones. ``moving``: the leaves that are differentiated.
        """
        raise NotImplementedError

    def _record(self, call: Opened) -> list[Array]:
        """Binds the equation of a call; the leaves of the output."""
        levels = [_core.dependence(leaf) for leaf in call.leaves]
        asking = 1 << (max(levels).bit_length() - 1) if any(levels) else 0
        # Lengths are known now. Inside of a rule nothing says how many derivatives there will be, so those are on demand.
        ragged = not _rules.depth and any(_core.ragged_axes(leaf) for leaf in call.leaves)
        error: Exception | None = None
        if asking or ragged:
            # The derivative that asks is being taken, so the rules may look at values that it knows.
            moving = (
                [bool(level & asking) for level in levels]
                if asking
                else [is_inexact_dtype(x.dtype) for x in call.leaves]
            )
            try:
                rule, closure = rules_of(call, moving)
            except Exception as raised:  # it matters when the derivative is really taken of this
                error = raised
            else:
                return self._bind_captured(call, rule, closure, moving)
        closure = [*call.primal.closure, *reachable_values([*self._rule_functions(), *call.static, *call.objects])]
        operands = call.leaves + closure
        count = len(call.leaves) + len(call.primal.closure)
        graph = call.primal.graph
        if count < len(operands):
            graph = rewire(graph, operands, lambda xs: xs[:count])
        rule_on_demand = Rule(self, call, operands, error)
        return primitives.custom_jvp(*operands, graph=graph, rule=rule_on_demand, **closed(closure))

    def _bind_captured(self, call: Opened, rule: Graph, rule_closure: list[Array], moving: list[bool]) -> list[Array]:
        leaves, primal = call.leaves, call.primal
        # Both graphs take the arguments, then what either closes over.
        closure = primal.closure + rule_closure
        n, p, q = len(leaves), len(primal.closure), len(rule_closure)
        reachable = (
            reachable_values([*self._rule_functions(), *call.static, *call.objects]) if self.symbolic_zeros else []
        )
        operands = leaves + closure + reachable
        inexact = [i for i, x in enumerate(operands) if is_inexact_dtype(x.dtype)]
        tangents = [operands[i] for i in inexact]

        def of_rule(xs: list[Array]) -> list[Array]:
            moved = dict(zip(inexact, xs[len(operands) :], strict=True))
            own = [*range(n), *range(n + p, n + p + q)]
            return [xs[i] for i in own] + [moved[i] for i in own if i in moved]

        graph, jvp = primal.graph, rule
        if n < len(operands):
            graph = rewire(graph, operands, lambda xs: xs[: n + p])
            jvp = rewire(rule, operands + tangents, of_rule)
        if not self.symbolic_zeros:
            return primitives.custom_jvp(*operands, graph=graph, jvp=jvp, **closed(closure))
        # Which tangents are zero may turn out otherwise: the rule is captured again then.
        on_demand = Rule(self, call, operands)
        on_demand.graphs[tuple(moving)] = jvp
        return primitives.custom_jvp(*operands, graph=graph, rule=on_demand, **closed(closure + reachable))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The function, with its rules recorded."""
        name = function_name(self.fun)
        given = len(args)
        if kwargs or given < self._positional_count:
            args = self._positional(args, kwargs, name)
        self._check_rules()
        # Under vmap alone nothing will be differentiated.
        if not _core.is_capturing() or (self.rules_are_of_derivatives and not _core.may_be_differentiated()):
            return self.fun(*args)
        for number in self.nondiff_argnums:
            if not -len(args) <= number < len(args):
                raise ValueError(
                    f"{self._kind} of {name}: nondiff_argnums={self.nondiff_argnums}, but the call has {len(args)} arguments\n"
                    "  number the arguments from 0 that are no arrays, and pass them at each call"
                )
        positions = tuple(number % len(args) for number in self.nondiff_argnums)
        static = [args[i] for i in positions]
        # Defaults that were filled in are what the function's author wrote: flags, sizes, names stay Python values.
        hidden = [
            i
            for i, arg in enumerate(args)
            if i >= given and i not in positions and not _may_be_array(arg) and self._parameter(i) not in kwargs
        ]
        objects = [args[i] for i in hidden]
        args = tuple(Object(hidden.index(i)) if i in hidden else arg for i, arg in enumerate(args))
        dynamic = tuple(arg for i, arg in enumerate(args) if i not in positions)
        leaves, structure = flatten_arguments((dynamic, {}), name)
        run = lambda *xs: self.fun(*_merged(shown(xs, objects), static, positions))  # noqa: E731
        mode = _core.capture_mode() or "jit"
        primal = capture(run, leaves, structure, mode, name=name, concrete=True, dependent_as=leaves)
        return primal.structure.unflatten(
            self._record(Opened(self, name, leaves, structure, static, positions, primal, objects))
        )

    @functools.cached_property
    def _signature(self) -> inspect.Signature | None:
        try:
            return inspect.signature(self.fun)
        except (TypeError, ValueError):  # written in C, say
            return None

    def _parameter(self, position: int) -> str:
        assert self._signature is not None
        return list(self._signature.parameters)[position]

    @functools.cached_property
    def _positional_count(self) -> int:
        """How many arguments may be given by position, if all of them have names."""
        if self._signature is None:
            return 0
        kinds = [p.kind for p in self._signature.parameters.values()]
        return sum(
            kind in (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD) for kind in kinds
        )

    def _positional(self, args: tuple[Any, ...], kwargs: dict[str, Any], name: str) -> tuple[Any, ...]:
        """All arguments by position, keyword arguments and defaults filled in."""
        if self._signature is None:
            raise TypeError(
                f"{name}: a {self._kind} function without a signature takes its arguments by position\n"
                "  pass all by position, or wrap it: lambda x, y: f(x, y=y)"
            )
        try:
            bound = self._signature.bind(*args, **kwargs)
        except TypeError as error:
            raise TypeError(f"{name}: {error}\n  call it as {name}{self._signature}") from None
        kinds = {key: p.kind for key, p in self._signature.parameters.items()}
        alone = [key for key in kwargs if kinds.get(key) is not inspect.Parameter.POSITIONAL_OR_KEYWORD]
        if alone:
            raise TypeError(
                f"{name}: keyword-only arguments cannot be passed to a {self._kind} function: {sorted(alone)}\n"
                "  its rules take arguments by position: define it without the * in front of them"
            )
        bound.apply_defaults()
        return bound.args
