"""Programs to and from ONNX: `export` writes a function as a model, `load` gives a model as a function of ours.

Both read one table of primitives and operators (``_table.py``); what it has not is an error that names the operation and the user's line.
"""

from __future__ import annotations

import os
import string
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from cotangent import _core, ir
from cotangent._base.arguments import check_arguments
from cotangent._base.capture import capture, check_callable, flatten_arguments, function_name
from cotangent._core import Array, Graph
from cotangent.interop._missing import needed
from cotangent.interop.onnx._table import BY_OPERATOR, COMPOSITES, REWRITES, TRANSPARENT, bound, row_of

__all__ = ["export", "load"]

OPSET = 18


def _onnx() -> Any:
    return needed("onnx", "cotangent.interop.onnx")


class _Writer:
    """A graph of ONNX that grows; values are known by their names."""

    def __init__(self) -> None:
        self.onnx = _onnx()
        self.nodes: list[Any] = []
        self.initializers: list[Any] = []
        self._constants: dict[Any, str] = {}
        self._count = 0

    def name(self) -> str:
        self._count += 1
        return f"v{self._count}"

    def dtype(self, dtype: Any) -> int:
        if _core.dtype_kind(dtype) == "key":
            raise NotImplementedError("onnx.export: ONNX has no random keys")
        return int(self.onnx.helper.np_dtype_to_tensor_dtype(np.dtype(dtype)))

    def constant(self, value: Any) -> str:
        value = np.asarray(value)
        key = (value.dtype.name, value.shape, value.tobytes())
        if key not in self._constants:
            self._constants[key] = self.name()
            self.initializers.append(self.onnx.numpy_helper.from_array(value, self._constants[key]))
        return self._constants[key]

    def node(self, operator: str, inputs: Sequence[str], **attributes: Any) -> str:
        result = self.name()
        self.nodes.append(self.onnx.helper.make_node(operator, list(inputs), [result], **attributes))
        return result

    def integers(self, values: Sequence[int]) -> str:
        return self.constant(np.asarray(list(values), np.int64))

    # ---- Equations ---------------------------------------------------------------------------------------------------

    def graph(self, graph: Graph, inputs: Sequence[str]) -> list[str]:
        """The names of a graph's outputs for inputs of these names."""
        values = dict(enumerate(inputs))
        for equation in ir.equations(graph):
            names = [values[var] for var in equation.operands]
            values.update(zip(equation.outputs, self.equation(equation, names), strict=True))
        return [values[var] for var in graph.outputs]

    def equation(self, equation: ir.Equation, inputs: list[str]) -> list[str]:
        attributes = equation.attributes
        special = getattr(self, f"_{equation.primitive}", None)
        if special is not None:
            return [special(equation, inputs)]
        if equation.primitive in TRANSPARENT:
            return inputs
        kind = _core.dtype_kind(equation.in_types[-1].dtype) if equation.in_types else ""
        row = row_of(equation.primitive, attributes, kind)
        if row is not None:
            placed = {place: self._encoded(name, attributes[name]) for name, place in row.places.items()}
            given: list[str] = list(inputs)
            for number in sorted(p for p in placed if isinstance(p, int)):
                given += [""] * (number - len(given))
                given.append(self._constant_input(placed[number]))
            named = {place: value for place, value in placed.items() if isinstance(place, str)}
            if equation.primitive == "slice":  # steps are said of axes
                given[3] = self.integers(range(len(attributes["start"])))
            return [self.node(row.operator, given, **named, **row.fixed)]
        if equation.primitive in REWRITES:
            rewrite = REWRITES[equation.primitive]
            captured = ir_of(lambda *xs: rewrite(*xs, **attributes), equation.in_types)
            return self.graph(captured.graph, [*inputs, *(self.constant(_core.to_numpy(x)) for x in captured.closure)])
        expanded = equation.expand()
        if expanded is None:
            line = f"\n  at {equation.location}" if equation.location else ""
            raise NotImplementedError(
                f"onnx.export: {equation.primitive} of {', '.join(map(str, equation.in_types))} is no operator of ONNX here{line}\n"
                "  compose the function of others, or export it as a C library (ct.export)"
            )
        return self.graph(expanded, inputs)

    def _encoded(self, name: str, value: Any) -> Any:
        return self.dtype(value) if name == "dtype" else int(value) if isinstance(value, bool) else value

    def _constant_input(self, value: Any) -> str:
        return self.constant(np.asarray(value, np.int64))

    def _expanded(self, name: str, shape: Sequence[int]) -> str:
        return self.node("Expand", [name, self.integers(shape)]) if len(shape) else name

    def _full(self, equation: ir.Equation, inputs: list[str]) -> str:
        dtype = equation.out_types[0].dtype
        return self._expanded(
            self.constant(np.asarray(equation.attributes["value"], dtype)), equation.out_types[0].shape
        )

    def _iota(self, equation: ir.Equation, inputs: list[str]) -> str:
        shape, axis = equation.out_types[0].shape, equation.attributes["axis"]
        line = np.arange(shape[axis]).astype(equation.out_types[0].dtype)
        return self._expanded(self.constant(line.reshape([-1 if i == axis else 1 for i in range(len(shape))])), shape)

    def _broadcast(self, equation: ir.Equation, inputs: list[str]) -> str:
        axes, shape = equation.attributes["axes"], equation.attributes["shape"]
        sizes = [1] * len(shape)
        for axis, size in zip(axes, equation.in_types[0].shape, strict=True):
            sizes[axis] = size
        name = self.node("Reshape", [inputs[0], self.integers(sizes)], allowzero=1)
        return name if sizes == list(shape) else self._expanded(name, shape)

    def _pad(self, equation: ir.Equation, inputs: list[str]) -> str:
        low, high, interior = (equation.attributes[name] for name in ("low", "high", "interior"))
        if any(interior):
            raise NotImplementedError(
                f"onnx.export: padding between elements is no operator of ONNX\n  at {equation.location}"
            )
        return self.node("Pad", [inputs[0], self.integers([*low, *high]), inputs[1]])

    def _reverse(self, equation: ir.Equation, inputs: list[str]) -> str:
        axes = equation.attributes["axes"]
        last, end = self.integers([-1] * len(axes)), self.integers([np.iinfo(np.int64).min] * len(axes))
        return self.node("Slice", [inputs[0], last, end, self.integers(axes), last])

    def _dot_general(self, equation: ir.Equation, inputs: list[str]) -> str:
        ranks = [len(t.shape) for t in equation.in_types]
        lhs_batch, rhs_batch, lhs_contract, rhs_contract = (
            list(equation.attributes[f"{side}_{what}"]) for what in ("batch", "contract") for side in ("lhs", "rhs")
        )
        batches = len(lhs_batch)
        leading = list(range(batches))
        plain = lhs_batch == rhs_batch == leading and ranks == [batches + 2] * 2
        if plain and lhs_contract == [batches + 1] and rhs_contract == [batches]:
            return self.node("MatMul", inputs)
        letters = iter(string.ascii_lowercase + string.ascii_uppercase)
        lhs = [next(letters) for _ in range(ranks[0])]
        rhs = [""] * ranks[1]
        for left, right in zip(lhs_batch + lhs_contract, rhs_batch + rhs_contract, strict=True):
            rhs[right] = lhs[left]
        rhs = [letter or next(letters) for letter in rhs]
        free = [x for i, x in enumerate(lhs) if i not in lhs_batch + lhs_contract]
        free += [x for i, x in enumerate(rhs) if i not in rhs_batch + rhs_contract]
        result = [lhs[i] for i in lhs_batch] + free
        return self.node("Einsum", inputs, equation=f"{''.join(lhs)},{''.join(rhs)}->{''.join(result)}")


def ir_of(fun: Callable[..., Any], types: Sequence[Any]) -> Any:
    """The captured program of a function of leaves."""
    leaves, structure = flatten_arguments((tuple(types), {}), function_name(fun))
    return capture(fun, leaves, structure, "jit", name=function_name(fun))


def export(fun: Callable[..., Any], *specs: Any, name: str | None = None) -> Any:
    """A function as a model of ONNX (opset 18), with what it closes over inside.

    ONNX has no derivatives: rules of `custom_jvp`, `stop_gradient` and the like are not part of a model.

    Args:
        fun: a function of pytrees of arrays, transformed or not.
        specs: its arguments: arrays or `ShapeDtypeStruct`, or pytrees of these; only shapes and dtypes matter. The model's inputs are their leaves, its
            outputs those of the result.
        name: of the model's graph; by default the function's.

    Returns:
        An ``onnx.ModelProto``: ``onnx.save(model, "model.onnx")``.

    Raises:
        NotImplementedError: an operation that is no operator of ONNX here; it names the user's line. ImportError: onnx is not installed.

    >>> import cotangent as ct
    >>> model = ct.interop.onnx.export(lambda x: ct.numpy.tanh(x) * 2, ct.numpy.ones(3))
    >>> [node.op_type for node in model.graph.node]
    ['Tanh', 'Expand', 'Mul', 'Identity']
    """
    check_callable(fun, "interop.onnx.export")
    writer = _Writer()
    onnx = writer.onnx
    leaves, structure = flatten_arguments((specs, {}), function_name(fun))
    captured = capture(fun, leaves, structure, "jit", name=function_name(fun))
    count = len(leaves)
    helper = onnx.helper
    named = [f"input{index}" for index in range(count)]
    constants = [writer.constant(_core.to_numpy(x, "onnx.export")) for x in captured.closure]
    found = writer.graph(captured.graph, [*named, *constants])
    results = [f"output{index}" for index in range(len(found))]
    for source, result in zip(found, results, strict=True):
        writer.nodes.append(helper.make_node("Identity", [source], [result]))

    def described(names: Sequence[str], avals: Sequence[Any]) -> list[Any]:
        return [
            helper.make_tensor_value_info(name, writer.dtype(dtype), list(shape))
            for name, (shape, dtype, _) in zip(names, avals, strict=True)
        ]

    graph = helper.make_graph(
        writer.nodes,
        name or function_name(fun),
        described(named, captured.graph.in_avals[:count]),
        described(results, captured.graph.out_avals),
        writer.initializers,
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], producer_name="cotangent")
    model.ir_version = 9
    onnx.checker.check_model(model)
    return model


def load(model: Any) -> Callable[..., Any]:
    """A model of ONNX as a function of arrays, for `jit`, `grad`, `vmap` and the others.

    Args:
        model: an ``onnx.ModelProto``, its bytes, or the path of a file.

    Returns:
        A function of the model's inputs, in their order, that returns its output, or a tuple of several. It runs the model's operators one by one: jit it.

    Raises:
        NotImplementedError: an operator that is not read, or a reading of it that is not. ImportError: onnx is not installed.

    >>> import cotangent as ct
    >>> model = ct.interop.onnx.export(lambda x: ct.numpy.tanh(x) * 2, ct.numpy.ones(3))
    >>> ct.grad(lambda x: ct.interop.onnx.load(model)(x).sum())(ct.numpy.zeros(3)).tolist()
    [2.0, 2.0, 2.0]
    """
    onnx = _onnx()
    if isinstance(model, bytes):
        model = onnx.load_from_string(model)
    elif isinstance(model, (str, os.PathLike)):
        model = onnx.load(model)
    graph = model.graph
    constants = {tensor.name: onnx.numpy_helper.to_array(tensor) for tensor in graph.initializer}
    inputs = [value.name for value in graph.input if value.name not in constants]
    unknown = sorted({n.op_type for n in graph.node} - BY_OPERATOR.keys() - COMPOSITES.keys() - {"Constant"})
    if unknown:
        raise NotImplementedError(f"onnx.load: operators that are not read: {', '.join(unknown)}")

    def decode(dtype: int) -> Any:
        return np.dtype(onnx.helper.tensor_dtype_to_np_dtype(dtype))

    def run(*arrays: Any) -> Any:
        if len(arrays) != len(inputs):
            raise TypeError(f"{graph.name} takes {len(inputs)} arrays ({', '.join(inputs)}), called with {len(arrays)}")
        values: dict[str, Any] = {**constants, **dict(zip(inputs, arrays, strict=True))}
        for node in graph.node:
            attributes = {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}
            values[node.output[0]] = _computed(
                onnx, node, [values[n] if n else None for n in node.input], attributes, decode
            )
        results = tuple(_core.array(values[value.name]) for value in graph.output)
        return results[0] if len(results) == 1 else results

    run.__name__ = graph.name or "model"
    return run


def _computed(
    onnx: Any, node: Any, inputs: list[Any], attributes: dict[str, Any], decode: Callable[[Any], Any]
) -> Array | Any:
    operator = node.op_type
    if operator == "Constant":
        return onnx.numpy_helper.to_array(attributes["value"])
    if operator in COMPOSITES:
        return COMPOSITES[operator](*inputs, **attributes)
    schema = onnx.defs.get_schema(operator, OPSET)
    defaults = {
        name: onnx.helper.get_attribute_value(attribute.default_value)
        for name, attribute in schema.attributes.items()
        if attribute.default_value.name
    }
    return bound(BY_OPERATOR[operator], inputs, {**defaults, **attributes}, decode)


check_arguments(globals())
