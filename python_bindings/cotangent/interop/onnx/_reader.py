"""Models as functions of ours: the nodes of a graph one by one, by the rows of the table and by `_operators.OPERATORS`.

What is known when a program is captured, shapes above all, is computed then and stays NumPy's, so that it can decide about shapes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from cotangent import _core, lax
from cotangent import numpy as cnp
from cotangent._core import Array
from cotangent._transforms.scopes import ensure_compile_time_eval
from cotangent.interop.onnx._operators import OPERATORS
from cotangent.interop.onnx._table import BY_OPERATOR, Row

OPSET = 18
_PROGRAMS = ("If", "Loop", "Scan")


def unread(graph: Any) -> set[str]:
    """The operators of a graph, and of those inside, that are not read."""
    found: set[str] = set()
    for node in graph.node:
        ours = node.domain in ("", "ai.onnx")
        if not ours or node.op_type not in {*BY_OPERATOR, *OPERATORS, *_PROGRAMS, "Constant"}:
            found.add(node.op_type if ours else f"{node.domain}.{node.op_type}")
        for attribute in node.attribute:
            if attribute.HasField("g"):
                found |= unread(attribute.g)
    return found


class Reader:
    """What computes the nodes of a model."""

    def __init__(self, onnx: Any) -> None:
        self.onnx = onnx

    def graph(self, graph: Any, values: Mapping[str, Any]) -> list[Any]:
        """The results of a graph, of its inputs and of what it sees around it, by their names."""
        values = {**values, **{tensor.name: self.onnx.numpy_helper.to_array(tensor) for tensor in graph.initializer}}
        for node in graph.node:
            inputs = [values[name] if name else None for name in node.input]
            results = self._node(node, inputs, values)
            values.update((name, x) for name, x in zip(node.output, results, strict=False) if name)
        return [values[value.name] for value in graph.output]

    def _node(self, node: Any, inputs: list[Any], values: Mapping[str, Any]) -> Sequence[Any]:
        attributes = {a.name: self._attribute(a) for a in node.attribute}
        if node.op_type == "Constant":
            return [_constant(**attributes)]
        if node.op_type in _PROGRAMS:
            return list(getattr(self, f"_{node.op_type.lower()}")(inputs, values, **attributes))
        if any(isinstance(x, Array) for x in inputs):
            return self._computed(node, inputs, attributes)
        with ensure_compile_time_eval():
            return [np.asarray(x) for x in self._computed(node, inputs, attributes)]

    def _attribute(self, attribute: Any) -> Any:
        value = self.onnx.helper.get_attribute_value(attribute)
        if attribute.type == attribute.TENSOR:
            return self.onnx.numpy_helper.to_array(value)
        return value.decode() if isinstance(value, bytes) else value

    def _computed(self, node: Any, inputs: list[Any], attributes: dict[str, Any]) -> Sequence[Any]:
        operator = node.op_type
        if operator in OPERATORS:
            if operator == "Split":
                attributes["outputs"] = len(node.output)
            result = OPERATORS[operator](*inputs, **attributes)
            found = list(result) if isinstance(result, (tuple, list)) else [result]
            if len(node.output) > len(found):
                raise NotImplementedError(
                    f"onnx.load: {operator} with {len(node.output)} outputs is not read\n"
                    f"  name its first {len(found)} alone"
                )
            return found
        schema = self.onnx.defs.get_schema(operator, OPSET)
        defaults = {
            name: self.onnx.helper.get_attribute_value(attribute.default_value)
            for name, attribute in schema.attributes.items()
            if attribute.default_value.name
        }
        return [bound(BY_OPERATOR[operator], inputs, {**defaults, **attributes}, self._decoded)]

    def _decoded(self, dtype: int) -> Any:
        return np.dtype(self.onnx.helper.tensor_dtype_to_np_dtype(dtype))

    # ---- Programs inside ---------------------------------------------------------------------------------------------

    def _if(self, inputs: list[Any], values: Mapping[str, Any], *, then_branch: Any, else_branch: Any) -> Sequence[Any]:
        [test] = inputs
        if not isinstance(test, Array):
            return self.graph(then_branch if np.asarray(test).reshape(()) else else_branch, values)

        def branch(graph: Any) -> Callable[[], list[Any]]:
            return lambda: [_core.array(x) for x in self.graph(graph, values)]

        return list(lax.cond(test.reshape(()), branch(then_branch), branch(else_branch)))

    def _loop(self, inputs: list[Any], values: Mapping[str, Any], *, body: Any) -> Sequence[Any]:
        most, going, *given = inputs
        first = [_core.array(x) for x in given]
        count = len(first)

        def step(number: Any, test: Any, carries: Sequence[Any]) -> tuple[Any, list[Any], list[Any]]:
            names = [value.name for value in body.input]
            test, *results = self.graph(body, {**values, **dict(zip(names, (number, test, *carries), strict=True))})
            kept = [_core.convert(_core.array(x), c.dtype) for x, c in zip(results[:count], carries, strict=True)]
            return _core.array(test).reshape(()), kept, results[count:]

        start = np.asarray(True) if going is None else going
        if len(body.output) == 1 + count:
            end = np.int64(np.iinfo(np.int64).max) if most is None else most
            end = _core.convert(_core.array(end).reshape(()), np.int64)
            state = (_core.array(np.int64(0)), _core.array(start).reshape(()), first)
            state = lax.while_loop(
                lambda s: s[1] & (s[0] < end), lambda s: (s[0] + 1, *step(s[0], s[1], s[2])[:2]), state
            )
            return list(state[2])
        # What is stacked has as many elements as there are steps, which must be known.
        known = most is not None and not isinstance(most, Array) and not isinstance(start, Array)
        if not known or not _goes_on(body):
            raise NotImplementedError(
                "onnx.load: Loop with stacked results is read where the number of its steps is a constant\n"
                "  give that number as a constant of the model, and a condition that stays true"
            )
        steps = int(np.asarray(most).reshape(())) if np.asarray(start).reshape(()) else 0

        def scanned(carries: Any, number: Any) -> Any:
            _, kept, stacked = step(number, np.asarray(True), carries)
            return kept, [_core.array(x) for x in stacked]

        carries, stacked = lax.scan(scanned, first, _core.array(np.arange(steps, dtype=np.int64)))
        return [*carries, *stacked]

    def _scan(
        self,
        inputs: list[Any],
        values: Mapping[str, Any],
        *,
        body: Any,
        num_scan_inputs: int,
        scan_input_axes: Sequence[int] = (),
        scan_input_directions: Sequence[int] = (),
        scan_output_axes: Sequence[int] = (),
        scan_output_directions: Sequence[int] = (),
    ) -> Sequence[Any]:
        count = len(inputs) - num_scan_inputs
        given = [_core.array(x) for x in inputs]
        stacked_count = len(body.output) - count

        def turned(x: Any, backwards: int) -> Any:
            return cnp.flip(x, 0) if backwards else x

        def of_each(numbers: Sequence[int], length: int) -> list[int]:
            return list(numbers) or [0] * length

        sequences = [
            turned(cnp.moveaxis(x, axis, 0), backwards)
            for x, axis, backwards in zip(
                given[count:],
                of_each(scan_input_axes, num_scan_inputs),
                of_each(scan_input_directions, num_scan_inputs),
                strict=True,
            )
        ]
        names = [value.name for value in body.input]

        def step(carries: Any, slices: Any) -> Any:
            results = self.graph(body, {**values, **dict(zip(names, (*carries, *slices), strict=True))})
            kept = [_core.convert(_core.array(x), c.dtype) for x, c in zip(results[:count], carries, strict=True)]
            return kept, [_core.array(x) for x in results[count:]]

        carries, stacked = lax.scan(step, given[:count], sequences)
        return [
            *carries,
            *(
                cnp.moveaxis(turned(x, backwards), 0, axis)
                for x, axis, backwards in zip(
                    stacked,
                    of_each(scan_output_axes, stacked_count),
                    of_each(scan_output_directions, stacked_count),
                    strict=True,
                )
            ),
        ]


def _constant(**attributes: Any) -> Any:
    for name, dtype in (
        ("value_float", np.float32),
        ("value_floats", np.float32),
        ("value_int", np.int64),
        ("value_ints", np.int64),
    ):
        if name in attributes:
            return np.asarray(attributes[name], dtype)
    if "value" in attributes:
        return attributes["value"]
    raise NotImplementedError(
        f"onnx.load: Constant with {', '.join(attributes)} is not read\n  give it as a tensor of numbers: value"
    )


def _goes_on(body: Any) -> bool:
    """Whether a loop's body says that it goes on whatever happens: by a constant, or by what it is told."""
    made = {name: node for node in body.node for name in node.output}
    name = body.output[0].name
    while name in made and made[name].op_type == "Identity":
        name = made[name].input[0]
    if name == body.input[1].name:
        return True
    for tensor in body.initializer:
        if tensor.name == name:
            return bool(tensor.int32_data[0] if tensor.int32_data else tensor.raw_data[0])
    if name in made and made[name].op_type == "Constant":
        [attribute] = made[name].attribute
        return bool(attribute.t.int32_data[0] if attribute.t.int32_data else attribute.t.raw_data[0])
    return False


def bound(row: Row, inputs: Sequence[Any], attributes: Mapping[str, Any], decode: Callable[[Any], Any]) -> Array:
    """The equation that a node is, of inputs and of all its attributes; ``decode`` makes ours of a dtype of theirs."""
    assert all(attributes.get(name, value) == value for name, value in row.fixed.items()), row
    constants = {place for place in row.places.values() if isinstance(place, int)}
    operands = [_core.array(x) for number, x in enumerate(inputs) if number not in constants]
    given: dict[str, Any] = dict(row.needs)
    for name, place in row.places.items():
        value = np.asarray(inputs[place]).tolist() if isinstance(place, int) else attributes[place]
        if isinstance(value, list) and len(value) == 1 and name == "axis":
            value = value[0]
        if name == "axis":
            value = int(value) % operands[0].ndim
        given[name] = decode(value) if name == "dtype" else bool(value) if name == "reverse" else value
    if row.primitive == "convert":
        return _core.convert(operands[0], given["dtype"])
    if not row.places:
        operands = list(cnp.broadcast_arrays(*operands))
    return _core.primitives[row.primitive](*operands, **given)
