"""Jitted functions, graphs and functions with rules of their own, pickled and copied.

A function that a module has is pickled by its name, as Python's functions are. What is jitted of such a function is pickled as that, to be
jitted again. Any other jitted function is pickled as the programs of the signatures that it was called with: `SavedPrograms`. cloudpickle
needs none of these, as it pickles the function itself.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from cotangent import _core
from cotangent._base import primitives
from cotangent._base.capture import aval_of, flatten_arguments, function_name
from cotangent._base.pickling import can_be_pickled, own_name
from cotangent._core import Array, Graph, JitFunction, PyTreeDef
from cotangent._transforms.custom_function import CustomFunction
from cotangent._transforms.staging import Options, jitted_with, trace_call


class _Program(NamedTuple):
    """What one signature was captured as."""

    static_args: dict[int, Any]
    static_kwargs: dict[str, Any]
    in_tree: PyTreeDef  # of (arguments that are not static, keyword arguments)
    graph: Graph
    constants: list[Array]
    out_tree: PyTreeDef


class SavedPrograms:
    """A function that is there as its programs only: it takes what one of these takes."""

    def __init__(self, name: str, options: Options, programs: Sequence[_Program]) -> None:
        self.__name__ = name
        self._options = options
        self._programs = list(programs)

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        positions = {p % len(args) for p in self._options.static_positions if -len(args) <= p < len(args)}
        static_args = {position: args[position] for position in positions}
        static_kwargs = {name: value for name, value in kwargs.items() if name in self._options.static_names}
        dynamic = tuple(value for position, value in enumerate(args) if position not in positions)
        keywords = {name: value for name, value in kwargs.items() if name not in static_kwargs}
        leaves, tree = flatten_arguments((dynamic, keywords), self.__name__)
        given = [aval_of(leaf)[:2] for leaf in leaves]
        for program in self._programs:
            taken = [(tuple(shape), dtype) for shape, dtype, _ in program.graph.in_avals[: len(given)]]
            static = (program.static_args, program.static_kwargs) == (static_args, static_kwargs)
            if static and program.in_tree == tree and taken == given:
                operands = [
                    leaf if aval_of(leaf)[2] == weak else _core.convert(leaf, dtype)
                    for leaf, (_, dtype, weak) in zip(leaves, program.graph.in_avals, strict=False)
                ]
                results = primitives.call(*operands, *program.constants, graph=program.graph, name=self.__name__)
                return program.out_tree.unflatten(results)
        known = [
            _signature_text(p.in_tree, [a[:2] for a in p.graph.in_avals], {**p.static_args, **p.static_kwargs})
            for p in self._programs
        ]
        called = _signature_text(tree, given, {**static_args, **static_kwargs})
        raise TypeError(
            f"{self.__name__} was pickled as the programs of the signatures that it had been called with, and has none for {called}; it has"
            f" those for {'; '.join(known)}\n"
            "  call it so before it is pickled, define it in a module, or use cloudpickle"
        )


def _signature_text(tree: PyTreeDef, types: Sequence[tuple[Any, Any]], static: dict[Any, Any]) -> str:
    leaves = ", ".join(
        f"{path.removeprefix('[0]').removeprefix('[1]')}: {_core.dtype_name(dtype)}{list(shape)}"
        for path, (shape, dtype) in zip(tree.paths(), types, strict=False)
    )
    return f"({leaves})" + (f" and static {static}" if static else "")


def _programs(jitted: JitFunction[..., Any]) -> SavedPrograms:
    name = function_name(jitted.__wrapped__)
    if not jitted._signatures:
        raise pickle.PicklingError(
            f"{jitted!r} cannot be pickled: no module has {name}, and as it was not called yet there is no program of it\n"
            "  call it first, define it in a module, or use cloudpickle"
        )
    programs = []
    for signature in jitted._signatures:
        args, kwargs = signature.arguments()
        with _core.KeepLengths():  # what is read may be masked
            call = trace_call(jitted, args, kwargs)[0]._call
        captured = call.captured
        programs.append(
            _Program(
                dict(signature.static_args),
                signature.static_kwargs,
                call.in_tree,
                captured.graph,
                captured.closure,
                captured.structure,
            )
        )
    return SavedPrograms(name, jitted._options, programs)


def _reduce_jitted(self: JitFunction[..., Any], protocol: int) -> Any:
    name = own_name(self)
    if name is not None:
        return name
    fun: Callable[..., Any] = self.__wrapped__
    return jitted_with, (fun if can_be_pickled(fun) else _programs(self), self._options)


def _reduce_custom(self: CustomFunction, protocol: int) -> Any:
    return own_name(self) or object.__reduce_ex__(self, protocol)


def _read_graph(data: bytes) -> Graph:
    return _core.deserialize_graph(data)


def _reduce_graph(self: Graph) -> Any:
    return _read_graph, (self.serialize(),)


def _itself(self: Any, *_: Any) -> Any:
    return self


def attach() -> None:
    """Gives the types what `pickle` and `copy` ask for. Copies are the objects themselves, as those of functions are."""
    JitFunction.__reduce_ex__ = _core.leaving(_reduce_jitted)  # type: ignore[method-assign]
    CustomFunction.__reduce_ex__ = _reduce_custom  # type: ignore[method-assign,assignment]
    Graph.__reduce__ = _reduce_graph  # type: ignore[method-assign,assignment]
    kinds: tuple[Any, ...] = (JitFunction, CustomFunction, Graph)
    for kind in kinds:
        kind.__copy__ = _itself
        kind.__deepcopy__ = _itself
