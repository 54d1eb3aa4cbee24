"""Functions with batch rules of the user's own: `custom_vmap`, and `sequential_vmap`, which maps one example after the other."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from cotangent import _core
from cotangent._base import primitives
from cotangent._base.arguments import leaving_methods
from cotangent._base.capture import check_callable, flatten_like, function_name
from cotangent._base.carriers import map_every_leaf
from cotangent._base.names import suggest_names as _suggest_names
from cotangent._core import Array, Graph, PyTreeDef
from cotangent._transforms.custom_function import (
    CustomFunction,
    Opened,
    constant,
    reachable_values,
    rewire,
    shown,
)
from cotangent._transforms.mapping import map as lax_map
from cotangent.errors import TracerLeakError

Function = Callable[..., Any]
# Arrays that a rule makes from Python values become part of its program up to this size.
_LARGEST_CONSTANT = 256


@leaving_methods
class custom_vmap(CustomFunction):  # noqa: N801
    """Gives a function a rule of its own for `vmap`.

    The rule is called when a program with the function in it is batched. Forward-mode derivatives keep it; reverse mode
    and `mask` go into the function, so that ``vmap(grad(f))`` and ``vmap(mask(f))`` do not use it, and
    ``grad(vmap(f))`` and ``mask(vmap(f))`` do.

    Parameters
    ----------
    fun : callable
        A function of pytrees of arrays.

    Examples
    --------
    >>> @ct.custom_batching.custom_vmap
    ... def f(x):
    ...     return x + 1
    >>> @f.def_vmap
    ... def rule(axis_size, in_batched, x):
    ...     return x + 100, in_batched[0]
    >>> ct.vmap(f)(ct.numpy.arange(3)).tolist()
    [100, 101, 102]
    """

    rules_are_of_derivatives = False

    def __init__(self, fun: Function) -> None:
        super().__init__(fun)
        self.vmap_rule: Function | None = None

    def def_vmap(self, vmap_rule: Function) -> Function:
        """Sets the rule, ``rule(axis_size, in_batched, *args) -> (output, out_batched)``.

        ``in_batched`` has the structure of ``args`` with a bool for each array; batched ones have the batch dimension
        in front, and so must the outputs that ``out_batched`` says are. ``args`` holds the defaults of arguments that a
        call leaves out; flags, integers and other objects among these arrive as they are.

        Parameters
        ----------
        vmap_rule : callable
            The rule.

        Returns
        -------
        callable
            ``vmap_rule`` itself, so that this is a decorator.

        Examples
        --------
        >>> f = ct.custom_batching.custom_vmap(lambda x: x.sum())
        >>> _ = f.def_vmap(lambda axis_size, in_batched, x: (x.sum(axis=1) + 100, in_batched[0]))
        >>> ct.vmap(f)(np.float32([[1, 2], [3, 4]])).tolist()
        [103.0, 107.0]
        """
        check_callable(vmap_rule, "def_vmap")
        self.vmap_rule = vmap_rule
        return vmap_rule

    def _check_rules(self) -> None:
        if self.vmap_rule is None:
            name = function_name(self.fun)
            raise AttributeError(
                f"{name} is a custom_vmap function without a rule\n  give one with @{name}.def_vmap"
                "\n  see docs/errors.md#rule-missing"
            )

    def _record(self, call: Opened) -> list[Array]:
        primal, graph = call.primal, call.primal.graph
        assert self.vmap_rule is not None
        objects = tuple(_Default(x) for x in call.objects)
        reached = reachable_values([self.vmap_rule, *call.objects])
        operands = [*call.leaves, *primal.closure, *reached]
        if reached:
            count = len(operands) - len(reached)
            graph = rewire(graph, operands, lambda xs: xs[:count])
        made = _Rule if reached else _known_rule  # one with values of its own is of this call alone
        rule = made(
            self.vmap_rule, call.structure, primal.structure, len(primal.closure), call.name, objects, tuple(reached)
        )
        return primitives.call(*operands, graph=graph, name=call.name, rule=rule)


class _Default:
    """A default that is no array; equal to itself alone, since 1 and True are equal, and lists have no hash."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Default) and self.value is other.value

    def __hash__(self) -> int:
        return id(self.value)


class _Rule:
    """A user's rule, as the batch rule of the equation calls it."""

    def __init__(
        self,
        rule: Function,
        structure: PyTreeDef,
        out_structure: PyTreeDef,
        closed_over: int,
        name: str,
        objects: tuple[_Default, ...],
        reached: tuple[Array, ...],
    ) -> None:
        self.rule = rule
        self.structure = structure  # of (args, {})
        self.out_structure = out_structure
        self.closed_over = closed_over  # how many values the function closes over
        self.reached = reached  # the traced values that the rule may close over; operands behind those
        self.name = name
        self.objects = objects

    def __repr__(self) -> str:
        return f"the batch rule of {self.name}"

    def __call__(self, size: int, batched: list[bool], avals: list[Any]) -> tuple[Graph, list[bool]]:
        behind = len(avals) - len(self.reached)
        count = behind - self.closed_over
        if any(batched[count:behind]):
            raise TypeError(
                f"{self.name} is a custom_vmap function that closes over a batched value\n  pass the value as an argument"
            )
        out_batched: list[bool] = []
        objects = [default.value for default in self.objects]
        never = [map_every_leaf(lambda _: False, x) for x in objects]

        def run(inputs: list[Array]) -> tuple[list[Any], None]:
            for given, is_batched, outside in zip(inputs[behind:], batched[behind:], self.reached, strict=True):
                if not is_batched:
                    _core.stand_in(given, outside)
            args = shown(self.structure.unflatten(inputs[:count])[0], objects)
            flags = shown(self.structure.unflatten(batched[:count])[0], never)
            result = self.rule(size, flags, *args)
            if not isinstance(result, (tuple, list)) or len(result) != 2:
                raise TypeError(
                    f"{self!r} must return (output, out_batched)\n  return the output, and whether it has the batch in front: y, True"
                )
            what = f"{self!r} must return outputs, and a bool for each, in the structure of {self.name}'s output"
            outputs = flatten_like(self.out_structure, result[0], what)
            out_batched[:] = [bool(flag) for flag in flatten_like(self.out_structure, result[1], what)]
            return [_core.array(x) for x in outputs], None

        try:
            graph, closure, _ = _core.capture(run, avals, [], "jit", repr(self))
        except TracerLeakError as error:
            if not any(batched[behind:]):
                raise
            raise TypeError(
                f"{self!r} closes over a value that is batched, too\n  pass it to {self.name} as an argument"
            ) from error
        if closure:
            places = {i: behind + i for i in range(len(self.reached)) if not batched[behind + i]}
            closed = [self._source(x, places) for x in closure]
            graph = _core.capture(
                lambda xs: (_core.apply_graph(graph, xs + [source(xs) for source in closed]), None),
                avals,
                [],
                "jit",
                repr(self),
            )[0]
        return graph, out_batched

    def _source(self, x: Array, places: dict[int, int]) -> Callable[[list[Array]], Array]:
        """What a value that the rule closes over is in its program: an input, or a constant. ``places`` are those of ``reached``."""
        for number, place in places.items():
            if _core.is_traced(x) and _core.same_value(x, self.reached[number]):
                return lambda inputs: inputs[place]
        make = _constant(x, self)
        return lambda _: make()


_known_rule = functools.lru_cache(maxsize=4096)(_Rule)


def _constant(x: Array, rule: _Rule) -> Callable[[], Array]:
    """What makes ``x`` anew inside a program: programs hold no arrays."""
    if _core.is_traced(x):
        raise TypeError(
            f"{rule!r} closes over an array of type {x.dtype}{list(x.shape)} that was not known where {rule.name} was called\n"
            f"  pass it to {rule.name} as an argument"
        )
    if x.size > _LARGEST_CONSTANT:
        return lambda: constant(x)
    shape, dtype, flat = x._bound_shape, x.dtype, np.asarray(x).reshape(-1)

    def make() -> Array:
        if len(flat) == 0 or (flat == flat[0]).all():
            return _core.full(shape, flat[0].item() if len(flat) else 0, dtype)
        elements = [_core.full((1,), value.item(), dtype) for value in flat]
        return primitives.reshape(primitives.concatenate(*elements, axis=0), shape=list(shape))

    return make


def sequential_vmap(f: Function) -> custom_vmap:
    """Makes `vmap` map a function one example after the other, as a loop.

    Parameters
    ----------
    f : callable
        A function of pytrees of arrays.

    Returns
    -------
    custom_vmap
        A function of the same arguments that returns what ``f`` does.

    Examples
    --------
    >>> ct.vmap(ct.custom_batching.sequential_vmap(lambda x: x * 2))(ct.numpy.arange(3)).tolist()
    [0, 2, 4]
    """
    mapped = custom_vmap(f)

    def rule(axis_size: int, in_batched: list[Any], *args: Any) -> tuple[Any, Any]:
        leaves, structure = _core.tree_flatten(args, None)
        flags = _core.tree_flatten(tuple(in_batched), None)[0]
        batched = [leaf for leaf, flag in zip(leaves, flags, strict=True) if flag]

        def one(xs: list[Any]) -> Any:
            given = iter(xs)
            return f(
                *structure.unflatten([next(given) if flag else leaf for leaf, flag in zip(leaves, flags, strict=True)])
            )

        if batched:
            output = lax_map(one, batched)
        else:
            output = lax_map(lambda _: one([]), np.zeros(axis_size))
        return output, map_every_leaf(lambda _: True, output)

    mapped.def_vmap(rule)
    return mapped


_suggest_names(globals())
