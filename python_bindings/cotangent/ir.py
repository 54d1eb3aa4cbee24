"""Graphs: ``ct.make_ir(f)(*args)`` makes them, `parse` and `deserialize` read them back, `Interpreter` runs and `rewrite` changes them."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from typing import Any

from cotangent import _core
from cotangent._base.arguments import check_arguments, leaving_methods, suggestion
from cotangent._base.attributes import USER_DEFINED, from_attribute, to_attribute
from cotangent._base.capture import (
    ShapeDtypeStruct,
    capture,
    check_callable,
    flatten_arguments,
    function_name,
    keep_recipe,
    transformed,
    with_lengths,
)
from cotangent._base.names import suggest_names
from cotangent._core import Array, Graph

__all__ = ["Equation", "Graph", "Interpreter", "deserialize", "equations", "parse", "rewrite", "slot_matrix"]


def parse(text: str) -> Graph:
    """Reads the graph of a text that ``Graph.text()`` made.

    Parameters
    ----------
    text : str
        The text of one graph.

    Returns
    -------
    Graph
        Verified.

    Raises
    ------
    ValueError
        The text cannot be read: with line and column.

    Examples
    --------
    >>> graph = ct.make_ir(lambda x: x * 2.0)(1.0)
    >>> [float(y) for y in ct.ir.parse(graph.text()).evaluate([3.0])]
    [6.0]
    """
    return _core.parse_graph(text)


def deserialize(data: bytes) -> Graph:
    """Reads the graph of bytes that ``Graph.serialize()`` made.

    Parameters
    ----------
    data : bytes
        The bytes of one graph.

    Returns
    -------
    Graph
        Verified.

    Raises
    ------
    CorruptFileError
        The bytes are damaged or of another format.

    Examples
    --------
    >>> graph = ct.make_ir(lambda x: x * 2.0)(1.0)
    >>> [float(y) for y in ct.ir.deserialize(graph.serialize()).evaluate([3.0])]
    [6.0]
    """
    return _core.deserialize_graph(data)


def slot_matrix() -> dict[str, dict[str, str]]:
    """Returns which rules every primitive has.

    Returns
    -------
    dict
        Primitive -> rule -> ``"yes"``, or the reason why it has none.

    Examples
    --------
    >>> ct.ir.slot_matrix()["sin"]["jvp"]
    'yes'
    """
    return _core.slot_matrix()


@leaving_methods
class Equation:
    """One equation of a graph: what `equations` lists.

    Parameters
    ----------
    graph, index, parts : object
        Where it is, and what it is made of; `equations` gives them.

    Attributes
    ----------
    primitive : str
        Its name.
    operands : list of int
        Numbers of the variables that it takes.
    outputs : list of int
        Numbers of the variables that it defines.
    attributes : dict
        Its static parameters, by name; sub-graphs of control flow are among them.
    location : str
        The user's line, ``"train.py:12 (loss)"``, or empty.

    Examples
    --------
    >>> [eqn] = ct.ir.equations(ct.make_ir(lambda x: x.sum(axis=1))(np.ones((2, 3), np.float32)))
    >>> eqn.primitive, eqn.attributes["axes"], eqn.out_types
    ('reduce_sum', [1], [ShapeDtypeStruct(shape=(2,), dtype=float32)])
    """

    def __init__(self, graph: Graph, index: int, parts: dict[str, Any]) -> None:
        self._graph = graph
        self._index = index
        self.primitive: str = parts["primitive"]
        self.operands: list[int] = parts["operands"]
        self.outputs: list[int] = parts["outputs"]
        self.attributes: dict[str, Any] = parts["attributes"]
        if self.primitive in USER_DEFINED:
            self.attributes = {name: from_attribute(value) for name, value in self.attributes.items()}
        self.location: str = parts["location"]

    def _types(self, variables: Sequence[int]) -> list[ShapeDtypeStruct]:
        avals = (self._graph.aval(var) for var in variables)
        return [ShapeDtypeStruct(shape, dtype) for shape, dtype, _ in avals]

    @property
    def in_types(self) -> list[ShapeDtypeStruct]:
        """Shapes and dtypes of the operands."""
        return self._types(self.operands)

    @property
    def out_types(self) -> list[ShapeDtypeStruct]:
        """Shapes and dtypes of the results."""
        return self._types(self.outputs)

    @property
    def subgraphs(self) -> list[Graph]:
        """The graphs among the attributes."""
        found: list[Graph] = []
        for value in self.attributes.values():
            found += (
                [value]
                if isinstance(value, Graph)
                else [x for x in value if isinstance(x, Graph)]
                if isinstance(value, list)
                else []
            )
        return found

    def bind(self, *values: Any, **changes: Any) -> list[Array]:
        """Returns the results of the equation for other operands: computed, or recorded where a transform is capturing.

        Parameters
        ----------
        *values : arrays
            One for each operand.
        **changes : object
            Attributes that replace the equation's own.

        Returns
        -------
        list of array
            One for each result.

        Raises
        ------
        TypeError
            The equation has no attribute of that name.

        Examples
        --------
        >>> [eqn] = ct.ir.equations(ct.make_ir(lambda x: x.sum(axis=1))(np.ones((2, 3), np.float32)))
        >>> eqn.bind(np.float32([[1, 2], [3, 4]]), axes=(0,))
        [Array([4., 6.], dtype=float32)]
        """
        for name in changes:
            if name not in self.attributes:
                known = ", ".join(sorted(self.attributes)) or "none"
                raise TypeError(
                    f"{self.primitive} has no attribute {name!r} here{suggestion(name, self.attributes)}\n"
                    f"  those that it has: {known}"
                )
        if self.primitive in USER_DEFINED:
            changes = {name: to_attribute(value) for name, value in changes.items()}
        return self._graph.bind_equation(self._index, list(values), changes)

    def expand(self) -> Graph | None:
        """Returns what the equation is made of, as a graph of its operands.

        Returns
        -------
        Graph or None
            None where it is elementary.

        Examples
        --------
        >>> [eqn] = ct.ir.equations(ct.make_ir(ct.numpy.sin)(1.0))
        >>> eqn.expand() is None
        True
        """
        return self._graph.expand_equation(self._index)

    def __repr__(self) -> str:
        return f"<equation {self.primitive} {self.in_types} -> {self.out_types}>"


def equations(graph: Graph) -> list[Equation]:
    """Lists the equations of a graph, in the order in which they run.

    Parameters
    ----------
    graph : Graph
        What `cotangent.make_ir` returns, say.

    Returns
    -------
    list of Equation
        Those of sub-graphs are not among them: see `Equation.subgraphs`.

    Examples
    --------
    >>> [eqn.primitive for eqn in ct.ir.equations(ct.make_ir(lambda x: ct.numpy.exp(-x))(1.0))]
    ['neg', 'exp']
    """
    graph = with_lengths(graph)
    return [Equation(graph, index, parts) for index, parts in enumerate(graph.equations())]


@leaving_methods
class Interpreter:
    """Runs programs equation by equation; a subclass says what an equation means.

    Override `process`. It is given the equation and what the equations before it gave for its operands (arrays, or
    whatever `process` returns), and returns the results: one, or a list. The inherited method computes the equation
    itself.

    An interpreter is applied to a function, ``MyInterpreter()(f)``, or to a graph, with `run`. While a transform is
    capturing, what `process` computes is recorded, so interpreted functions can be differentiated, batched and
    compiled, and interpreters stacked.

    Loops, branches, regions and custom rules hold programs of their own. The inherited `process` interprets those, too:
    each is interpreted once, on traced arrays, and the loop or branch runs what that recorded. In there `process` must
    return arrays of the types that the equation has. Programs of derivatives that a custom rule gives are left as they
    are.

    Examples
    --------
    >>> class SinIsCos(ct.Interpreter):
    ...     def process(self, eqn, *values):
    ...         return ct.numpy.cos(values[0]) if eqn.primitive == "sin" else super().process(eqn, *values)
    >>> f = SinIsCos()(lambda x: 2.0 * ct.numpy.sin(x))
    >>> float(f(0.0)), float(ct.jit(ct.grad(f))(0.0))
    (2.0, -0.0)
    """

    def process(self, eqn: Equation, *values: Any) -> Any:
        """Returns the results of one equation.

        Calls of jitted functions are entered: their equations are processed one by one.

        Parameters
        ----------
        eqn : Equation
            What is to be computed.
        *values : arrays, or what `process` has returned
            One for each operand.

        Returns
        -------
        array or list of array
            The results.

        Examples
        --------
        >>> class Count(ct.Interpreter):
        ...     number = 0
        ...
        ...     def process(self, eqn, *values):
        ...         self.number += 1
        ...         return super().process(eqn, *values)
        >>> count = Count()
        >>> _ = count(lambda x: ct.numpy.exp(-x))(1.0)
        >>> count.number
        2
        """
        if eqn.primitive == "call":
            return self.run(eqn.attributes["graph"], *values)
        return eqn.bind(*values, **_with_programs(eqn, lambda graph: _recorded(self, graph, type(self).__name__)))

    def run(self, graph: Graph, *values: Any) -> list[Any]:
        """Runs a graph, equation by equation.

        Parameters
        ----------
        graph : Graph
            The program.
        *values : arrays
            Its inputs.

        Returns
        -------
        list of array
            Its outputs.

        Examples
        --------
        >>> graph = ct.make_ir(lambda x: x * 2.0)(1.0)
        >>> [float(y) for y in ct.Interpreter().run(graph, 3.0)]
        [6.0]
        """
        if len(values) != graph.num_inputs:
            raise TypeError(
                f"the graph takes {graph.num_inputs} inputs; got {len(values)}\n"
                f"  give one for each of {', '.join(f'{a[1]}{list(a[0])}' for a in graph.in_avals) or 'none'}"
            )
        graph = with_lengths(graph)
        environment = dict(enumerate(values))
        for eqn in equations(graph):
            results = self.process(eqn, *[environment[var] for var in eqn.operands])
            # A tuple may be one value of the interpreter's own.
            if not isinstance(results, list):
                many = isinstance(results, tuple) and len(eqn.outputs) != 1
                results = list(results) if many else [results]
            if len(results) != len(eqn.outputs):
                raise TypeError(
                    f"{type(self).__name__}.process must return {len(eqn.outputs)} results for {eqn.primitive}; it returned {len(results)}\n"
                    "  return a list with one for each of eqn.outputs, or what eqn.bind(*values) returns"
                )
            environment.update(zip(eqn.outputs, results, strict=True))
        return [environment[var] for var in graph.outputs]

    def __call__(self, fun: Callable[..., Any]) -> Callable[..., Any]:
        """Makes a function that runs the interpreter's meaning of a function's program.

        Parameters
        ----------
        fun : callable
            A function of pytrees of arrays.

        Returns
        -------
        callable
            A function of the same arguments. The structure of its result is that of the function's own, with what
            `process` made as leaves.

        Raises
        ------
        TypeError
            ``fun`` cannot be called.

        Examples
        --------
        >>> float(ct.Interpreter()(lambda x: x * 2)(3.0))
        6.0
        """
        check_callable(fun, type(self).__name__)

        @transformed(fun)
        def interpreted(*args: Any, **kwargs: Any) -> Any:
            name = function_name(fun)
            leaves, structure = flatten_arguments((args, kwargs), name)
            captured = capture(fun, leaves, structure, "transform", name=name, concrete=True)
            return captured.structure.unflatten(self.run(captured.graph, *leaves, *captured.closure))

        return interpreted


class _Rewriter(Interpreter):
    def __init__(self, visit: Callable[..., Any]) -> None:
        self._visit = visit

    def process(self, eqn: Equation, *values: Any) -> Any:
        results = self._visit(eqn, *values)
        if results is not None:
            return results
        return super().process(eqn, *values)


def _with_programs(eqn: Equation, made: Callable[[Graph], Graph]) -> dict[str, Any]:
    """The attributes of an equation that hold programs, with what is made of these."""
    changes: dict[str, Any] = {}
    with _core.KeepLengths() if eqn.primitive == "mask" else contextlib.nullcontext():
        for name, value in eqn.attributes.items():
            if isinstance(value, Graph):
                changes[name] = made(value)
            elif isinstance(value, list) and value and isinstance(value[0], Graph):
                changes[name] = [made(graph) for graph in value]
    return changes


def _recorded(interpreter: Interpreter, graph: Graph, what: str) -> Graph:
    """What an interpreter makes of a program, as a program of the same inputs and outputs."""
    types = [graph.aval(var) for var in graph.outputs]

    def run(inputs: list[Array]) -> tuple[list[Any], None]:
        outputs = [_core.array(output) for output in interpreter.run(graph, *inputs)]
        for output, (shape, dtype, _) in zip(outputs, types, strict=True):
            if output._bound_shape != tuple(shape) or output.dtype != dtype:
                raise TypeError(
                    f"{what}: a rewritten output has type {output.dtype}{list(output._bound_shape)}; it was {dtype}{list(shape)}\n"
                    f"  return a value of the type of the equation's: .astype({str(dtype)!r}), .reshape({tuple(shape)})"
                )
        return outputs, None

    new, closure, _ = _core.capture(run, graph.in_avals, graph.input_names, "transform", what)
    if closure:
        raise ValueError(
            f"{what} uses an array from outside of the program, which programs do not hold\n"
            "  make it in the rule: ct.numpy.full(shape, number, dtype)"
        )
    return new


def rewrite(graph: Graph, visit: Callable[..., Any]) -> Graph:
    """Makes a new graph with the same inputs, equation by equation: what most passes are.

    Parameters
    ----------
    graph : Graph
        The graph, whose sub-graphs are rewritten too.
    visit : callable
        ``visit(eqn, *values)`` returns what replaces the equation's results (one array or a list), or None to keep it.

    Returns
    -------
    Graph
        With as many outputs.

    Raises
    ------
    ValueError
        ``visit`` brings in an array from outside; numbers are fine.

    Examples
    --------
    >>> graph = ct.make_ir(lambda x: ct.numpy.sin(x) * 2.0)(1.0)
    >>> new = ct.ir.rewrite(graph, lambda eqn, *xs: ct.numpy.cos(xs[0]) if eqn.primitive == "sin" else None)
    >>> [eqn.primitive for eqn in ct.ir.equations(new)]
    ['cos', 'full', 'mul']
    """

    def rewritten() -> Graph:
        return _recorded(_Rewriter(visit), graph, "rewrite")

    return keep_recipe(rewritten(), rewritten)


check_arguments(globals())
suggest_names(globals())
