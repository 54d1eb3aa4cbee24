"""The model of ONNX that a graph of ours becomes: nodes, constants, and programs inside of nodes.

`Writer.graph` goes through the equations. Each is, in this order, what `_writing.SPECIAL` makes of it; a row of the table; a rewrite of it in terms of
other primitives; what it expands to.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from cotangent import _core, ir
from cotangent._base.capture import capture, flatten_arguments, function_name
from cotangent._base.missing import needed
from cotangent._core import Graph
from cotangent.interop.onnx._table import REWRITES, TRANSPARENT, WIDENED, row_of

# What a value is: its name, or something that is written when it is asked for by its name (windows that convolutions see).
Written = Any


def onnx_package() -> Any:
    """The package."""
    return needed("onnx", "cotangent.interop.onnx")


class Later:
    """A value that is not written yet, as who needs it may be able to do without."""

    def __init__(self, write: Callable[[], str]) -> None:
        self._write = write
        self._name: str | None = None

    def name(self) -> str:
        """The name of what is written now."""
        if self._name is None:
            self._name = self._write()
        return self._name


def named(value: Written) -> str:
    """The name of a value."""
    return value.name() if isinstance(value, Later) else value


class Writer:
    """A graph of ONNX that grows; values are known by their names.

    Args:
        special: how primitives are written that are no row of the table, by their names (`_writing.SPECIAL`).
    """

    def __init__(self, special: Mapping[str, Special]) -> None:
        self.onnx = onnx_package()
        self._special = special
        self.nodes: list[Any] = []
        self.initializers: list[Any] = []
        self.known: dict[str, Any] = {}  # the constants, by their names
        self._constants: dict[Any, str] = {}
        self._count = 0
        self._location = ""  # of the equation that is written, or of the one that it is part of

    def name(self) -> str:
        """One that is new."""
        self._count += 1
        return f"v{self._count}"

    def dtype(self, dtype: Any) -> int:
        """ONNX's number of a dtype."""
        if _core.dtype_kind(dtype) == "key":
            raise NotImplementedError(
                "onnx.export: ONNX has no random keys\n  draw random numbers outside of the function, and pass them to it"
            )
        return int(self.onnx.helper.np_dtype_to_tensor_dtype(np.dtype(dtype)))

    def constant(self, value: Any) -> str:
        """An array as one of the model's constants."""
        value = np.asarray(value)
        key = (value.dtype.name, value.shape, value.tobytes())
        if key not in self._constants:
            name = self._constants[key] = self.name()
            self.known[name] = value
            self.initializers.append(self.onnx.numpy_helper.from_array(value, name))
        return self._constants[key]

    def integers(self, values: Sequence[int]) -> str:
        """A constant of int64 numbers."""
        return self.constant(np.asarray(list(values), np.int64))

    def node(self, operator: str, inputs: Sequence[str], **attributes: Any) -> str:
        """The result of an operator that has one."""
        return self.nodes_of(operator, inputs, 1, **attributes)[0]

    def widened(self, operator: str, inputs: Sequence[str], dtype: Any, operands: int = -1, **attributes: Any) -> str:
        """The result of an operator of inputs of a dtype, which is its result's, too; computed in a wider one where it must be.

        Args:
            operands: how many inputs are of the dtype; -1: all. They are the first, but for the condition of a ``Where``.
        """
        wide = WIDENED.get(operator, {}).get(np.dtype(dtype).name)
        if wide is None:
            return self.node(operator, inputs, **attributes)
        first = operator == "Where"
        last = len(inputs) if operands < 0 else operands
        given = [
            self.cast(name, wide) if name and first <= number < last else name for number, name in enumerate(inputs)
        ]
        return self.cast(self.node(operator, given, **attributes), dtype)

    def cast(self, name: str, dtype: Any) -> str:
        """A value in another dtype."""
        return self.node("Cast", [name], to=self.dtype(dtype))

    def nodes_of(self, operator: str, inputs: Sequence[str], count: int, **attributes: Any) -> list[str]:
        """The results of an operator that has several."""
        results = [self.name() for _ in range(count)]
        self.nodes.append(self.onnx.helper.make_node(operator, list(inputs), results, **attributes))
        return results

    def described(self, name: str, aval: Any) -> Any:
        """A value of a graph's inputs or outputs: its name, dtype and shape."""
        shape, dtype = (aval[0], aval[1]) if isinstance(aval, tuple) else (aval.shape, aval.dtype)
        return self.onnx.helper.make_tensor_value_info(name, self.dtype(dtype), list(shape))

    def program(self, inputs: Sequence[Any], write: Callable[[], tuple[list[str], list[Any]]]) -> Any:
        """A graph inside of a node. It sees the values of the graphs around it.

        Args:
            inputs: what it takes, as `described`.
            write: what writes its nodes; it gives the names of its results, and their types.
        """
        outer, self.nodes = self.nodes, []
        try:
            names, types = write()
            results = [self.node("Identity", [name]) for name in names]  # a result is what a node of this graph gives
            outputs = [self.described(name, aval) for name, aval in zip(results, types, strict=True)]
            return self.onnx.helper.make_graph(self.nodes, self.name(), list(inputs), outputs)
        finally:
            self.nodes = outer

    # ---- Equations ---------------------------------------------------------------------------------------------------

    def graph(self, graph: Graph, inputs: Sequence[str]) -> list[str]:
        """The names of a graph's outputs for inputs of these names."""
        values: dict[int, Written] = dict(enumerate(inputs))
        for equation in ir.equations(graph):
            given = [values[var] for var in equation.operands]
            values.update(zip(equation.outputs, self.equation(equation, given), strict=True))
        return [named(values[var]) for var in graph.outputs]

    def equation(self, equation: ir.Equation, given: list[Written]) -> list[Written]:
        """The values of an equation's results."""
        outer = self._location
        self._location = equation.location or outer
        try:
            return self._equation(equation, given)
        finally:
            self._location = outer

    def unwritten(self, equation: ir.Equation, why: str = "is no operator of ONNX here") -> NotImplementedError:
        """The error about what cannot be written."""
        types = ", ".join(f"{_core.dtype_name(each.dtype)}{list(each.shape)}" for each in equation.in_types)
        line = f"\n  at {self._location}" if self._location else ""
        return NotImplementedError(
            f"onnx.export: {equation.primitive} of {types} {why}{line}\n"
            "  compose the function of others, or export it as a C library (ct.export)"
        )

    def _equation(self, equation: ir.Equation, given: list[Written]) -> list[Written]:
        special = self._special.get(equation.primitive)
        if special is not None:
            results = special(self, equation, given)
            if results is not None:
                return results
        inputs = [named(value) for value in given]
        if equation.primitive in TRANSPARENT:
            return list(inputs)
        attributes = equation.attributes
        kind = _core.dtype_kind(equation.in_types[-1].dtype) if equation.in_types else ""
        row = row_of(equation.primitive, attributes, kind)
        if row is not None:
            placed = {place: self._encoded(name, attributes[name]) for name, place in row.places.items()}
            operands = list(inputs)
            for number in sorted(p for p in placed if isinstance(p, int)):
                operands += [""] * (number - len(operands))
                operands.append(self.constant(np.asarray(placed[number], np.int64)))
            by_name = {place: value for place, value in placed.items() if isinstance(place, str)}
            if equation.primitive == "slice":  # steps are said of axes
                operands[3] = self.integers(range(len(attributes["start"])))
            if row.operator not in WIDENED:
                return [self.node(row.operator, operands, **by_name, **row.fixed)]
            dtype = equation.in_types[-1].dtype
            return [self.widened(row.operator, operands, dtype, len(inputs), **by_name, **row.fixed)]
        if equation.primitive in REWRITES:
            rewrite = REWRITES[equation.primitive]
            return self.rewritten(lambda *xs: rewrite(*xs, **attributes), equation.in_types, inputs)
        expanded = equation.expand()
        if expanded is None:
            raise self.unwritten(equation)
        return list(self.graph(expanded, inputs))

    def _encoded(self, name: str, value: Any) -> Any:
        return self.dtype(value) if name == "dtype" else int(value) if isinstance(value, bool) else value

    def rewritten(self, function: Callable[..., Any], types: Sequence[Any], inputs: Sequence[str]) -> list[Written]:
        """What a function of ours computes of values of these types."""
        leaves, structure = flatten_arguments((tuple(types), {}), function_name(function))
        captured = capture(function, leaves, structure, "jit", name=function_name(function))
        return list(
            self.graph(captured.graph, [*inputs, *(self.constant(_core.to_numpy(x)) for x in captured.closure)])
        )


# The values of an equation's results, of its operands; None: it is written as others are.
Special = Callable[[Writer, ir.Equation, list[Written]], list[Written] | None]
