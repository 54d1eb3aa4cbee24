"""Convolutions and pooling in ONNX.

Ours are ``window_slice`` of an array that is broadcast over the places of a window, multiplied with filters or reduced. Neither the broadcast nor what
windows see is written where a ``Conv`` or ``AveragePool`` is the whole of it; else the latter is gathered.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from cotangent import _core, ir
from cotangent import numpy as cnp
from cotangent._base.capture import ShapeDtypeStruct
from cotangent.interop.onnx._writer import Later, Writer, Written, named


class Spread(Later):
    """An array that is broadcast."""

    def __init__(self, writer: Writer, source: str, aval: Any, axes: Sequence[int], shape: Sequence[int]) -> None:
        super().__init__(self._written)
        self.writer = writer
        self.source = source
        self.aval = aval
        self.axes = list(axes)
        self.shape = list(shape)

    def _written(self) -> str:
        sizes = [1] * len(self.shape)
        for axis, size in zip(self.axes, self.aval.shape, strict=True):
            sizes[axis] = size
        name = self.source
        if sizes != list(self.aval.shape):
            name = self.writer.node("Reshape", [name, self.writer.integers(sizes)], allowzero=1)
        return name if sizes == self.shape else self.writer.node("Expand", [name, self.writer.integers(self.shape)])


class _Slide(NamedTuple):
    """How a window slides along an axis, as ``window_slice`` says it."""

    axis: int  # of what windows see
    window_axis: int
    elements: int
    places: int
    window: int
    step: int
    window_step: int
    dilation: int
    offset: int

    def positions(self) -> Any:
        """Of the element that place w of the window sees at each of the places o, [w, o]; -1: none."""
        at = np.arange(self.places) * self.step + np.arange(self.window).reshape(-1, 1) * self.window_step + self.offset
        inside = (at >= 0) & (at % self.dilation == 0) & (at // self.dilation < self.elements)
        return np.where(inside, at // self.dilation, -1).astype(np.int64)

    def pads(self) -> tuple[int, int] | None:
        """What is added on both sides for an operator that slides; None if it cannot."""
        low, reach = -self.offset, (self.window - 1) * self.window_step + 1
        high = max((self.places - 1) * self.step + reach - low - self.elements, 0)
        able = self.dilation == 1 and low >= 0 and self.window_step >= 1 and self.window and self.places
        if not able or (self.elements + low + high - reach) // self.step + 1 != self.places:
            return None
        return low, high


class Seen(Later):
    """What windows see."""

    def __init__(self, writer: Writer, equation: ir.Equation, operand: Written) -> None:
        super().__init__(self._written)
        self.writer, self.equation, self.operand = writer, equation, operand
        names = ("axes", "window_axes", "sizes", "step", "window_step", "dilation", "offset")
        shape = equation.in_types[0].shape
        self.slides = [
            _Slide(axis, window_axis, shape[axis], places, shape[window_axis], *rest)
            for axis, window_axis, places, *rest in zip(*(equation.attributes[name] for name in names), strict=True)
        ]

    def moving(self) -> Spread | None:
        """The array whose windows these are, if it is the same for all places of the window."""
        spread = self.operand
        if not isinstance(spread, Spread):
            return None
        windows = {slide.window_axis for slide in self.slides}
        others = [size for axis, size in enumerate(spread.shape) if axis not in windows]
        return spread if not windows & set(spread.axes) and others == list(spread.aval.shape) else None

    def _written(self) -> str:
        source = self.moving()
        operands = [source.aval] if source else self.equation.in_types
        inputs = [source.source] if source else [named(self.operand)]
        return named(self.writer.rewritten(lambda x: self._gathered(x, source is not None), operands, inputs)[0])

    def _gathered(self, x: Any, moves: bool) -> Any:
        """By positions along one axis after the other."""
        gather = _core.primitives["gather"]
        rank = len(self.equation.in_types[0].shape)
        windows = [slide.window_axis for slide in self.slides]
        # Which of the result's axes are where.
        labels = [axis for axis in range(rank) if not moves or axis not in windows]
        for slide in self.slides:
            at = slide.positions()
            if not moves:
                # Places of the window and elements as one axis.
                here = [axis for axis in labels if axis not in (slide.axis, slide.window_axis)]
                x = cnp.transpose(x, [labels.index(axis) for axis in (*here, slide.window_axis, slide.axis)])
                x = x.reshape(*x.shape[:-2], x.shape[-2] * x.shape[-1])
                labels = [*here, slide.axis]
                at = np.where(at >= 0, at + np.arange(slide.window).reshape(-1, 1) * slide.elements, -1)
            place = labels.index(slide.axis)
            x = gather(x, _core.array(at), axis=place, batch_dims=0)
            labels[place : place + 1] = [slide.window_axis, slide.axis]
        return cnp.transpose(x, [labels.index(axis) for axis in range(rank)])


def broadcast(writer: Writer, equation: ir.Equation, given: list[Written]) -> list[Written]:
    """An array in a larger one, written where it is needed."""
    attributes = equation.attributes
    return [Spread(writer, named(given[0]), equation.in_types[0], attributes["axes"], attributes["shape"])]


def window_slice(writer: Writer, equation: ir.Equation, given: list[Written]) -> list[Written]:
    """What windows see, written where it is needed."""
    return [Seen(writer, equation, given[0])]


class _Sliding(NamedTuple):
    """The input and the attributes of an operator with windows."""

    name: str  # [batch, channels, spatial...]
    pads: list[int]
    strides: list[int]
    dilations: list[int]
    windows: list[int]
    places: list[int]


def _sliding(writer: Writer, seen: Seen, channels: Sequence[int]) -> _Sliding | None:
    """Of windows along the spatial axes of an array, with these others as channels and the rest as batch."""
    source = seen.moving()
    pads = [slide.pads() for slide in seen.slides]
    if source is None or any(pad is None for pad in pads) or source.aval.dtype != "float32" or 0 in source.aval.shape:
        return None
    here = {axis: number for number, axis in enumerate(source.axes)}
    spatial = [slide.axis for slide in seen.slides]
    batch = [axis for axis in source.axes if axis not in spatial and axis not in channels]
    order = [here[axis] for axis in (*batch, *channels, *spatial)]
    shape = source.aval.shape
    sizes = [int(np.prod([shape[here[axis]] for axis in group])) for group in (batch, channels)]
    sizes += [shape[here[axis]] for axis in spatial]
    [name] = writer.rewritten(lambda x: cnp.reshape(cnp.transpose(x, order), sizes), [source.aval], [source.source])
    return _Sliding(
        named(name),
        [pad[0] for pad in pads if pad] + [pad[1] for pad in pads if pad],
        [slide.step for slide in seen.slides],
        [slide.window_step for slide in seen.slides],
        [slide.window for slide in seen.slides],
        [slide.places for slide in seen.slides],
    )


def convolution(writer: Writer, equation: ir.Equation, given: list[Written]) -> list[Written] | None:
    """A product of what windows see with filters, as one operator; None if it is another product."""
    seen = given[0]
    if not isinstance(seen, Seen):
        return None
    attributes = equation.attributes
    contracted, with_those = list(attributes["lhs_contract"]), list(attributes["rhs_contract"])
    windows, spatial = [s.window_axis for s in seen.slides], [s.axis for s in seen.slides]
    features = [axis for axis in contracted if axis not in windows]
    rank = len(equation.in_types[0].shape)
    if attributes["lhs_batch"] or not set(windows) <= set(contracted) or set(spatial) & set(contracted):
        return None
    sliding = _sliding(writer, seen, features)
    if sliding is None:
        return None
    # [output, feature, window...]
    filters = equation.in_types[1]
    outputs = [axis for axis in range(len(filters.shape)) if axis not in with_those]
    place = dict(zip(contracted, with_those, strict=True))
    order = [*outputs, *(place[axis] for axis in features), *(place[axis] for axis in windows)]
    count = int(np.prod([filters.shape[axis] for axis in outputs]))
    sizes = [count, int(np.prod([filters.shape[place[axis]] for axis in features])), *sliding.windows]
    if not count:
        return None
    [kernel] = writer.rewritten(lambda w: cnp.reshape(cnp.transpose(w, order), sizes), [filters], [named(given[1])])
    name = writer.node(
        "Conv",
        [sliding.name, named(kernel)],
        pads=sliding.pads,
        strides=sliding.strides,
        dilations=sliding.dilations,
        kernel_shape=sliding.windows,
    )
    batch = [axis for axis in range(rank) if axis not in contracted and axis not in spatial]
    shape = equation.in_types[0].shape
    return _placed(
        writer, name, equation, batch, shape, spatial, sliding, [filters.shape[axis] for axis in outputs], contracted
    )


def _placed(
    writer: Writer,
    name: str,
    equation: ir.Equation,
    batch: list[int],
    shape: Sequence[int],
    spatial: list[int],
    sliding: _Sliding,
    outputs: Sequence[int],
    gone: Sequence[int],
) -> list[Written]:
    """[batch, channel, place...] with the axes where the equation has them: those of the operand, then the channels."""
    left = [axis for axis in range(len(shape)) if axis not in gone]
    whole = [*(shape[axis] for axis in batch), *outputs, *sliding.places]
    labels = [*batch, *range(len(shape), len(shape) + len(outputs)), *spatial]
    order = [labels.index(axis) for axis in (*left, *range(len(shape), len(shape) + len(outputs)))]
    batches = int(np.prod([shape[axis] for axis in batch]))
    channels = int(np.prod(list(outputs)))
    aval = ShapeDtypeStruct((batches, channels, *sliding.places), equation.out_types[0].dtype)
    return writer.rewritten(lambda y: cnp.transpose(cnp.reshape(y, whole), order), [aval], [name])


def pooling(writer: Writer, equation: ir.Equation, given: list[Written]) -> list[Written] | None:
    """The sum of what windows see, as one operator; None if it is another sum."""
    seen = given[0]
    if not isinstance(seen, Seen):
        return None
    windows, axes = [s.window_axis for s in seen.slides], equation.attributes["axes"]
    if set(windows) != set(axes):
        return None
    sliding = _sliding(writer, seen, [])
    if sliding is None:
        return None
    ones = writer.constant(np.ones((1, 1, *sliding.windows), np.float32))
    name = writer.node(
        "Conv",
        [sliding.name, ones],
        pads=sliding.pads,
        strides=sliding.strides,
        dilations=sliding.dilations,
        kernel_shape=sliding.windows,
    )
    shape = equation.in_types[0].shape
    spatial = [s.axis for s in seen.slides]
    batch = [axis for axis in range(len(shape)) if axis not in axes and axis not in spatial]
    return _placed(writer, name, equation, batch, shape, spatial, sliding, [], list(axes))
