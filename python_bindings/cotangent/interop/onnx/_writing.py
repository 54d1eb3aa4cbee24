"""How primitives are written that are no row of the table: by several nodes, or by one that has programs inside.

`SPECIAL` has them by name. Each is given the writer, the equation and its operands, and gives the results, or None where the equation is to be written
as others are.
"""

from __future__ import annotations

import string
from collections.abc import Sequence
from typing import Any

import numpy as np

from cotangent import _core, ir
from cotangent import numpy as cnp
from cotangent._core import Graph
from cotangent.interop.onnx._integers import integer_extreme, integer_product, integer_sum, shift, signed
from cotangent.interop.onnx._table import WIDENED
from cotangent.interop.onnx._windows import broadcast, convolution, window_slice
from cotangent.interop.onnx._writer import Special, Writer, Written, named


def _names(given: Sequence[Written]) -> list[str]:
    return [named(value) for value in given]


def _expanded(writer: Writer, name: str, shape: Sequence[int]) -> str:
    return writer.node("Expand", [name, writer.integers(shape)]) if len(shape) else name


def _full(writer: Writer, equation: ir.Equation, given: list[Written]) -> list[Written]:
    result = equation.out_types[0]
    return [_expanded(writer, writer.constant(np.asarray(equation.attributes["value"], result.dtype)), result.shape)]


def _iota(writer: Writer, equation: ir.Equation, given: list[Written]) -> list[Written]:
    result = equation.out_types[0]
    axis = equation.attributes["axis"]
    line = np.arange(result.shape[axis]).astype(result.dtype)
    name = writer.constant(line.reshape([-1 if i == axis else 1 for i in range(len(result.shape))]))
    return [_expanded(writer, name, result.shape)]


def _pad(writer: Writer, equation: ir.Equation, given: list[Written]) -> list[Written]:
    low, high, interior = (equation.attributes[name] for name in ("low", "high", "interior"))
    if any(interior):
        # Between elements: each has an axis of its own for a moment.
        def spread(x: Any, value: Any) -> Any:
            for axis, gap in enumerate(interior):
                if gap and x.shape[axis]:
                    x = _core.primitives["pad"](
                        cnp.expand_dims(x, axis + 1),
                        value,
                        low=[0] * (x.ndim + 1),
                        high=[gap if i == axis + 1 else 0 for i in range(x.ndim + 1)],
                        interior=[0] * (x.ndim + 1),
                    )
                    sizes = [*x.shape[:axis], x.shape[axis] * x.shape[axis + 1], *x.shape[axis + 2 :]]
                    x = x.reshape(sizes)
                    x = x[(slice(None),) * axis + (slice(0, x.shape[axis] - gap),)]
            return _core.primitives["pad"](x, value, low=low, high=high, interior=[0] * x.ndim)

        return writer.rewritten(spread, equation.in_types, _names(given))
    x, value = _names(given)
    cut = [max(-a, 0) for a in low], [max(-a, 0) for a in high]
    if any(cut[0]) or any(cut[1]):
        shape = equation.in_types[0].shape
        ends = [size - end for size, end in zip(shape, cut[1], strict=True)]
        if any(end < start for start, end in zip(cut[0], ends, strict=True)):
            return [_expanded(writer, value, equation.out_types[0].shape)]  # no element is left
        places = writer.integers(range(len(shape)))
        x = writer.node("Slice", [x, writer.integers(cut[0]), writer.integers(ends), places])
    dtype = equation.out_types[0].dtype
    amounts = writer.integers([max(a, 0) for a in (*low, *high)])
    return [_padded(writer, x, amounts, value, dtype)]


def _padded(writer: Writer, x: str, amounts: str, value: str, dtype: Any) -> str:
    wide = WIDENED["Pad"].get(np.dtype(dtype).name)
    if wide is None:
        return writer.node("Pad", [x, amounts, value])
    return writer.cast(writer.node("Pad", [writer.cast(x, wide), amounts, writer.cast(value, wide)]), dtype)


def _reverse(writer: Writer, equation: ir.Equation, given: list[Written]) -> list[Written]:
    axes = equation.attributes["axes"]
    last, end = writer.integers([-1] * len(axes)), writer.integers([np.iinfo(np.int64).min] * len(axes))
    return [writer.node("Slice", [named(given[0]), last, end, writer.integers(axes), last])]


def _dot_general(writer: Writer, equation: ir.Equation, given: list[Written]) -> list[Written]:
    found = convolution(writer, equation, given)
    if found is not None:
        return found
    ranks = [len(t.shape) for t in equation.in_types]
    lhs_batch, rhs_batch, lhs_contract, rhs_contract = (
        list(equation.attributes[f"{side}_{what}"]) for what in ("batch", "contract") for side in ("lhs", "rhs")
    )
    inputs, dtype = _names(given), equation.out_types[0].dtype
    batches = len(lhs_batch)
    leading = list(range(batches))
    plain = lhs_batch == rhs_batch == leading and ranks == [batches + 2] * 2
    if plain and lhs_contract == [batches + 1] and rhs_contract == [batches]:
        return [writer.widened("MatMul", inputs, dtype)]
    letters = iter(string.ascii_lowercase + string.ascii_uppercase)
    lhs = [next(letters) for _ in range(ranks[0])]
    rhs = [""] * ranks[1]
    for left, right in zip(lhs_batch + lhs_contract, rhs_batch + rhs_contract, strict=True):
        rhs[right] = lhs[left]
    rhs = [letter or next(letters) for letter in rhs]
    free = [x for i, x in enumerate(lhs) if i not in lhs_batch + lhs_contract]
    free += [x for i, x in enumerate(rhs) if i not in rhs_batch + rhs_contract]
    result = [lhs[i] for i in lhs_batch] + free
    return [writer.widened("Einsum", inputs, dtype, equation=f"{''.join(lhs)},{''.join(rhs)}->{''.join(result)}")]


# ---- Positions that are computed -------------------------------------------------------------------------------------


def _inside(writer: Writer, indices: str, size: int) -> tuple[str, str | None]:
    """The indices as int64, in [0, size), and which of them were; None if all, which is known of constants alone."""
    found = writer.known.get(indices)
    if found is not None:
        wide = found.astype(object)
        within = np.asarray((wide >= 0) & (wide < size), bool)
        safe = writer.constant(np.where(within, found, 0).astype(np.int64))
        return safe, None if within.all() else writer.constant(within)
    wide_name = writer.node("Cast", [indices], to=writer.dtype(np.int64))
    zero, end = writer.constant(np.int64(0)), writer.constant(np.int64(size))
    name = writer.node("And", [writer.node("GreaterOrEqual", [wide_name, zero]), writer.node("Less", [wide_name, end])])
    return writer.node("Where", [name, wide_name, zero]), name


def _gather(writer: Writer, equation: ir.Equation, given: list[Written]) -> list[Written]:
    axis, batch_dims = equation.attributes["axis"], equation.attributes["batch_dims"]
    operand, indices = equation.in_types
    result = equation.out_types[0]
    if batch_dims:
        return writer.rewritten(
            lambda x, at: _gathered_in_batches(x, at, axis, batch_dims), equation.in_types, _names(given)
        )
    zero = writer.constant(np.zeros((), result.dtype))
    if not operand.shape[axis]:
        return [_expanded(writer, zero, result.shape)]
    x, at = _names(given)
    safe, inside = _inside(writer, at, operand.shape[axis])
    found = writer.node("Gather", [x, safe], axis=axis)
    if inside is not None:
        after = len(operand.shape) - axis - 1
        shape = [*indices.shape, *[1] * after]
        inside = writer.node("Reshape", [inside, writer.integers(shape)], allowzero=1) if after else inside
        found = writer.widened("Where", [inside, found, zero], result.dtype)
    return [found]


def _flat_batches(at: Any, axis_size: int, batch_dims: int) -> Any:
    """Positions in one axis of all batches' elements; outside stays outside."""
    at = _core.convert(at, np.int64)
    batch = at.shape[:batch_dims]
    first = np.arange(int(np.prod(batch)), dtype=np.int64) * axis_size
    first = first.reshape(*batch, *[1] * (at.ndim - batch_dims))
    return cnp.where((at >= 0) & (at < axis_size), at + first, -1)


def _in_batches(x: Any, axis: int, batch_dims: int) -> tuple[Any, tuple[int, ...]]:
    """The operand with its batches and the indexed axis as one axis, the first; and the sizes of the others."""
    x = cnp.moveaxis(x, axis, batch_dims)
    rest = x.shape[batch_dims + 1 :]
    return x.reshape(int(np.prod(x.shape[: batch_dims + 1])), *rest), rest


def _gathered_in_batches(x: Any, at: Any, axis: int, batch_dims: int) -> Any:
    size = x.shape[axis]
    flat, _ = _in_batches(x, axis, batch_dims)
    found = _core.primitives["gather"](flat, _flat_batches(at, size, batch_dims), axis=0, batch_dims=0)
    # [batch, indices, before, after] to [batch, before, indices, after]
    inner, before = at.ndim - batch_dims, axis - batch_dims
    order = [*range(batch_dims), *range(at.ndim, at.ndim + before), *range(batch_dims, at.ndim)]
    return cnp.transpose(found, [*order, *range(batch_dims + inner + before, found.ndim)])


def _scatter(reduction: str) -> Special:
    def write(writer: Writer, equation: ir.Equation, given: list[Written]) -> list[Written] | None:
        axis, batch_dims = equation.attributes["axis"], equation.attributes["batch_dims"]
        operand, indices, _ = equation.in_types
        unique = bool(equation.attributes.get("unique"))
        inputs = _names(given)
        if axis or batch_dims or len(indices.shape) != 1:
            primitive = _core.primitives[equation.primitive]
            return writer.rewritten(
                lambda x, at, update: _scattered_along_first(primitive, unique, x, at, update, axis, batch_dims),
                equation.in_types,
                inputs,
            )
        size, count = operand.shape[0], indices.shape[0]
        if 0 in operand.shape or not count:
            return [inputs[0]]
        at = writer.known.get(inputs[1])
        if reduction == "none" and not unique and not (at is not None and len(np.unique(at)) == count):
            return writer.rewritten(_last_updates, equation.in_types, inputs)
        # Outside is a row more, which is cut off.
        safe, inside = _inside(writer, inputs[1], size)
        x = inputs[0]
        if inside is not None:
            safe = writer.node("Where", [inside, safe, writer.constant(np.int64(size))])
            ends = [0] * len(operand.shape) + [1] + [0] * (len(operand.shape) - 1)
            x = _padded(writer, x, writer.integers(ends), writer.constant(np.zeros((), operand.dtype)), operand.dtype)
        places = writer.node("Reshape", [safe, writer.integers([count, 1])])
        wide = WIDENED["ScatterND"].get(np.dtype(operand.dtype).name) if reduction != "none" else None
        updates = inputs[2]
        if wide is not None:
            x, updates = writer.cast(x, wide), writer.cast(updates, wide)
        result = writer.node("ScatterND", [x, places, updates], reduction=reduction)
        if wide is not None:
            result = writer.cast(result, operand.dtype)
        if inside is not None:
            first, last, axes = writer.integers([0]), writer.integers([size]), writer.integers([0])
            result = writer.node("Slice", [result, first, last, axes])
        return [result]

    return write


def _scattered_along_first(
    primitive: Any, unique: bool, x: Any, at: Any, updates: Any, axis: int, batch_dims: int
) -> Any:
    """A scatter of one line of positions along the first axis of an array, that batches are laid out in."""
    size, before = x.shape[axis], axis - batch_dims
    flat, _ = _in_batches(x, axis, batch_dims)
    # [batch, before, indices, after] to [batch, indices, before, after]
    inner = at.ndim - batch_dims
    order = [*range(batch_dims), *range(axis, axis + inner), *range(batch_dims, axis)]
    updates = cnp.transpose(updates, [*order, *range(axis + inner, updates.ndim)])
    places = _flat_batches(at, size, batch_dims).reshape(-1)
    updates = updates.reshape(places.shape[0], *updates.shape[batch_dims + inner :])
    result = primitive(flat, places, updates, axis=0, batch_dims=0, unique=unique)
    moved = (
        [x.shape[i] for i in range(batch_dims)]
        + [size]
        + [n for i, n in enumerate(x.shape) if i >= batch_dims and i != axis]
    )
    return cnp.moveaxis(result.reshape(moved), batch_dims, batch_dims + before)


def _last_updates(x: Any, at: Any, updates: Any) -> Any:
    """A scatter where positions may repeat: first which update each row gets, the last one, then these."""
    at = _core.convert(at, np.int64)
    count = at.shape[0]
    nothing = np.full(x.shape[0], -1, np.int64)
    last = _core.primitives["scatter_max"](
        _core.array(nothing), at, _core.array(np.arange(count, dtype=np.int64)), axis=0, batch_dims=0, unique=False
    )
    chosen = _core.primitives["gather"](updates, last, axis=0, batch_dims=0)
    return cnp.where((last >= 0).reshape(-1, *[1] * (x.ndim - 1)), chosen, x)


def _flat_window(shape: Sequence[int], sizes: Sequence[int], starts: Sequence[Any], batch_dims: int) -> Any:
    """Positions of a window's elements in an array whose axes after the batches are one; starts are clamped."""
    strides = [int(np.prod(shape[i + 1 :])) for i in range(batch_dims, len(shape))]
    total: Any = 0
    for i, (start, stride, size) in enumerate(zip(starts, strides, sizes, strict=True)):
        start = cnp.clip(_core.convert(_core.array(start), np.int64), 0, shape[batch_dims + i] - size)
        line = np.arange(size, dtype=np.int64).reshape([-1 if k == i else 1 for k in range(len(sizes))])
        total = total + (start.reshape(*start.shape, *[1] * len(sizes)) + line) * np.int64(stride)
    return total


def _dynamic_slice(writer: Writer, equation: ir.Equation, given: list[Written]) -> list[Written]:
    batch_dims, sizes = equation.attributes["batch_dims"], list(equation.attributes["sizes"])
    shape = equation.in_types[0].shape
    inputs = _names(given)
    if batch_dims or 0 in shape or 0 in sizes or not shape:

        def taken(x: Any, *starts: Any) -> Any:
            if not x.size or 0 in sizes or not shape:
                return cnp.zeros([*shape[:batch_dims], *sizes], x.dtype) if shape else x
            at = _flat_window(shape, sizes, starts, batch_dims)
            flat = x.reshape(*shape[:batch_dims], -1)
            return _core.primitives["gather"](flat, at, axis=batch_dims, batch_dims=batch_dims)

        return writer.rewritten(taken, equation.in_types, inputs)
    # By positions, whose number is known, as that of the elements between two places is not.
    [x, *starts] = inputs
    for axis, (name, size, window) in enumerate(zip(starts, shape, sizes, strict=True)):
        if size == window:
            continue
        start = writer.node("Max", [writer.cast(name, np.int64), writer.constant(np.int64(0))])
        start = writer.node("Min", [start, writer.constant(np.int64(size - window))])
        line = writer.integers(range(window))
        x = writer.node("Gather", [x, writer.node("Add", [start, line])], axis=axis)
    return [x]


def _dynamic_update_slice(writer: Writer, equation: ir.Equation, given: list[Written]) -> list[Written]:
    batch_dims = equation.attributes["batch_dims"]
    shape, sizes = equation.in_types[0].shape, equation.in_types[1].shape[batch_dims:]

    def written(x: Any, update: Any, *starts: Any) -> Any:
        if not shape:
            return update
        if not x.size or not update.size:
            return x
        batch = shape[:batch_dims]
        at = _flat_window(shape, sizes, starts, batch_dims).reshape(*batch, -1)
        flat = _core.primitives["scatter"](
            x.reshape(*batch, -1), at, update.reshape(*batch, -1), axis=batch_dims, batch_dims=batch_dims, unique=True
        )
        return flat.reshape(shape)

    return writer.rewritten(written, equation.in_types, _names(given))


# ---- Sorting ---------------------------------------------------------------------------------------------------------


def _sort(writer: Writer, equation: ir.Equation, given: list[Written]) -> list[Written]:
    attributes = equation.attributes
    axis, keys = attributes["axis"], attributes["num_keys"]
    if attributes.get("ragged") or any(_core.dtype_kind(t.dtype) == "complex" for t in equation.in_types[:keys]):
        raise writer.unwritten(equation)
    size = equation.in_types[0].shape[axis]
    count = attributes.get("count", size)
    inputs = _names(given)
    largest = int(bool(attributes.get("descending")))
    order: str | None = None

    def by(key: str, last: bool) -> None:
        # Equal elements keep their order, so that sorting by the least important key first sorts by all.
        nonlocal order
        if order is not None:
            key = writer.node("GatherElements", [key, order], axis=axis)
        kept = writer.integers([count if last else size])
        at = writer.nodes_of("TopK", [key, kept], 2, axis=axis, largest=largest, sorted=1)[1]
        order = at if order is None else writer.node("GatherElements", [order, at], axis=axis)

    if 0 in equation.in_types[0].shape or not count:
        return [_empty_of(writer, t) for t in equation.out_types]
    for number in reversed(range(keys)):
        dtype = equation.in_types[number].dtype
        kind, key = _core.dtype_kind(dtype), inputs[number]
        if kind == "float":
            # NaN is above every number: numbers first, then whether they are any.
            isnan = writer.node("IsNaN", [key])
            wide = np.dtype(dtype) if np.dtype(dtype).itemsize >= 4 else np.dtype(np.float32)
            key = key if wide == np.dtype(dtype) else writer.node("Cast", [key], to=writer.dtype(wide))
            by(writer.node("Where", [isnan, writer.constant(np.asarray(np.inf, wide)), key]), False)
            by(writer.node("Cast", [isnan], to=writer.dtype(np.int32)), number == 0)
            continue
        if np.dtype(dtype) == np.uint64:
            key, dtype = signed(writer, key), np.int64
        wide = (
            np.dtype(np.int64) if np.dtype(dtype) in (np.dtype(np.int64), np.dtype(np.uint32)) else np.dtype(np.int32)
        )
        by(key if wide == np.dtype(dtype) else writer.node("Cast", [key], to=writer.dtype(wide)), number == 0)
    assert order is not None
    return [writer.node("GatherElements", [name, order], axis=axis) for name in inputs]


def _empty_of(writer: Writer, described: Any) -> str:
    return _expanded(writer, writer.constant(np.zeros((), described.dtype)), described.shape)


# ---- Programs inside -------------------------------------------------------------------------------------------------


def _types(graph: Graph) -> list[Any]:
    return [(shape, dtype) for shape, dtype, _ in graph.out_avals]


def _cond(writer: Writer, equation: ir.Equation, given: list[Written]) -> list[Written]:
    branches = equation.attributes["branches"]
    index, *inputs = _names(given)

    def chosen(number: int) -> list[str]:
        graph = branches[number]
        if number == len(branches) - 1:
            return writer.graph(graph, inputs)
        here = writer.node("LessOrEqual", [index, writer.constant(np.int32(number))])
        types = _types(graph)
        this = writer.program([], lambda: (writer.graph(graph, inputs), types))
        other = writer.program([], lambda: (chosen(number + 1), types))
        return writer.nodes_of("If", [here], len(types), then_branch=this, else_branch=other)

    return list(chosen(0))


def _while(writer: Writer, equation: ir.Equation, given: list[Written]) -> list[Written]:
    attributes = equation.attributes
    body, condition = attributes["body"], attributes["condition"]
    of_condition, of_body = attributes["num_condition_constants"], attributes["num_body_constants"]
    inputs = _names(given)
    tested, constants = inputs[:of_condition], inputs[of_condition : of_condition + of_body]
    first = inputs[of_condition + of_body :]
    types = _types(body)
    step, going, names = writer.name(), writer.name(), [writer.name() for _ in first]
    [start] = writer.graph(condition, [*tested, *first])

    def write() -> tuple[list[str], list[Any]]:
        results = writer.graph(body, [*constants, *names])
        return [*writer.graph(condition, [*tested, *results]), *results], [((), np.dtype(bool)), *types]

    program = writer.program(
        [
            writer.described(step, ((), np.dtype(np.int64))),
            writer.described(going, ((), np.dtype(bool))),
            *(writer.described(name, aval) for name, aval in zip(names, types, strict=True)),
        ],
        write,
    )
    return list(writer.nodes_of("Loop", ["", start, *first], len(first), body=program))


def _scan(writer: Writer, equation: ir.Equation, given: list[Written]) -> list[Written]:
    attributes = equation.attributes
    graph, length = attributes["graph"], attributes["length"]
    of_constants, of_carries = attributes["num_constants"], attributes["num_carries"]
    if attributes.get("counted"):
        raise writer.unwritten(equation, "with a number of steps that is computed is no operator of ONNX here")
    inputs = _names(given)
    constants, carries = inputs[:of_constants], inputs[of_constants : of_constants + of_carries]
    sequences = inputs[of_constants + of_carries :]
    types = _types(graph)
    if not length:
        stacked = equation.out_types[of_carries:]
        return [*carries, *(_empty_of(writer, t) for t in stacked)]
    # A scan of ONNX is over something.
    counted = not sequences
    over = sequences or [writer.constant(np.arange(length))]
    slices = [] if counted else equation.in_types[of_constants + of_carries :]
    sliced = [(t.shape[1:], t.dtype) for t in slices] or [((), np.dtype(np.int64))]
    states, parts = [writer.name() for _ in carries], [writer.name() for _ in over]
    program = writer.program(
        [
            writer.described(name, aval)
            for name, aval in zip([*states, *parts], [*types[:of_carries], *sliced], strict=True)
        ],
        lambda: (writer.graph(graph, [*constants, *states, *([] if counted else parts)]), types),
    )
    backwards = int(bool(attributes["reverse"]))
    count = len(types) - of_carries
    stacked_to = {"scan_output_directions": [backwards] * count} if count else {}
    return list(
        writer.nodes_of(
            "Scan",
            [*carries, *over],
            len(types),
            body=program,
            num_scan_inputs=len(over),
            scan_input_directions=[backwards] * len(over),
            **stacked_to,
        )
    )


def _atan2(writer: Writer, equation: ir.Equation, given: list[Written]) -> list[Written]:
    above, below = equation.in_types

    def ratio(y: Any, x: Any) -> Any:
        low, high = cnp.minimum(abs(y), abs(x)), cnp.maximum(abs(y), abs(x))
        return cnp.where(low == high, cnp.where(low == 0, low, 1), low / cnp.where(high == 0, 1, high))

    def turned(angle: Any, y: Any, x: Any) -> Any:
        angle = cnp.where(abs(y) > abs(x), np.pi / 2 - angle, angle)
        # The sign of zeros is that of what they divide.
        angle = cnp.where((x < 0) | ((x == 0) & (1 / x < 0)), np.pi - angle, angle)
        angle = cnp.where((y < 0) | ((y == 0) & (1 / y < 0)), -angle, angle)
        return cnp.where((x != x) | (y != y), x + y, angle)

    inputs = _names(given)
    [name] = writer.rewritten(ratio, [above, below], inputs)
    angle = writer.node("Atan", [named(name)])
    return writer.rewritten(turned, [above, above, below], [angle, *inputs])


SPECIAL: dict[str, Special] = {
    "atan2": _atan2,
    "broadcast": broadcast,
    "cond": _cond,
    "dot_general": _dot_general,
    "dynamic_slice": _dynamic_slice,
    "dynamic_update_slice": _dynamic_update_slice,
    "full": _full,
    "gather": _gather,
    "iota": _iota,
    "pad": _pad,
    "reduce_max": integer_extreme("ReduceMax"),
    "reduce_min": integer_extreme("ReduceMin"),
    "reduce_prod": integer_product,
    "reduce_sum": integer_sum,
    "reverse": _reverse,
    "scan": _scan,
    "scatter": _scatter("none"),
    "scatter_add": _scatter("add"),
    "scatter_max": _scatter("max"),
    "scatter_min": _scatter("min"),
    "scatter_mul": _scatter("mul"),
    "shift_left": shift("shift_left"),
    "shift_right_arithmetic": shift("shift_right_arithmetic"),
    "shift_right_logical": shift("shift_right_logical"),
    "sort": _sort,
    "while": _while,
    "window_slice": window_slice,
}
