"""A graph of one example over a batch, some examples at a time: what `vmap` does with ``chunk_size``.

The chunks are the steps of a scan over a batched graph, so memory is that of one chunk; what is left of a division follows with a graph of
its own size.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from cotangent import _core
from cotangent._base import primitives
from cotangent._core import Array, Graph
from cotangent._transforms.control_flow import scan_with
from cotangent.ad_checkpoint import checkpoint


def checked_chunk_size(chunk_size: Any, name: str, of: str = "examples") -> int | None:
    """A number of examples, or of what ``of`` says, or None. A bool is one of Python's ints, but no number of anything."""
    if chunk_size is None:
        return None
    if isinstance(chunk_size, (bool, np.bool_)):
        raise TypeError(
            f"{name}: chunk_size is a number of {of}, or None for all; got {chunk_size}\n"
            "  pass chunk_size=1 for one at a time, chunk_size=None for all at once"
        )
    if chunk_size < 1:
        raise ValueError(f"{name}: chunk_size must be positive; got {chunk_size}\n  None computes all {of} at once")
    return operator.index(chunk_size)


def apply_in_chunks(
    graph: Graph,
    operands: Sequence[Array],
    axes: Sequence[int],
    positions: Sequence[int],
    size: int,
    chunk: int,
    within_limit: bool = False,
) -> list[Array]:
    """The results of a graph of one example for ``size`` of them, ``chunk`` at a time.

    Args:
        axes: where each operand has the batch, -1 for what all examples share.
        positions: where each result gets it, -1 for what does not depend on the example.
        size: more than ``chunk``, which is at least 1.
        within_limit: whether memory goes before time, as of `scan_pieces`.
    """
    inputs = [axis if axis < 0 else 0 for axis in axes]
    outputs = [position if position < 0 else 0 for position in positions]
    batch = [_moved(x, axis, 0) for x, axis in zip(operands, axes, strict=True) if axis >= 0]

    def run(part: Sequence[Array], count: int) -> list[Array]:
        given = iter(part)
        values = [x if axis < 0 else next(given) for x, axis in zip(operands, axes, strict=True)]
        return _core.apply_graph(_core.graph_vmap(graph, inputs, count, outputs), values)

    chunks, rest = divmod(size, chunk)
    stacked = [_cut(x, 0, chunks * chunk, (chunks, chunk)) for x in batch]
    results = scan_pieces(lambda _, part: ((), run(part, chunk)), (), stacked, chunks, within_limit)[1]
    # What is the same for all examples is taken from the first chunk.
    results = [
        _cut(y, 0, 1, (), dropped=1) if position < 0 else _cut(y, 0, chunks, (chunks * chunk,), dropped=2)
        for y, position in zip(results, positions, strict=True)
    ]
    if rest:
        rest_of = [_cut(x, size - rest, size, (rest,)) for x in batch]
        last = (checkpoint(run, static_argnums=1) if within_limit else run)(rest_of, rest)
        results = [
            y if position < 0 else primitives.concatenate(y, z, axis=0)
            for y, z, position in zip(results, last, positions, strict=True)
        ]
    return [y if position < 0 else _moved(y, 0, position) for y, position in zip(results, positions, strict=True)]


def scan_pieces(
    step: Callable[[Any, list[Array]], tuple[Any, Any]],
    carry: Any,
    stacked: Sequence[Array],
    length: int,
    within_limit: bool,
) -> tuple[Any, Any]:
    """A scan over the leading axis of arrays.

    What is made in a step stays there: the compiler makes no products for all steps at once, as it does for other loops.

    Args:
        within_limit: whether memory goes before time: reverse mode then computes steps again rather than keep what they leave behind.
    """
    if within_limit:
        step = checkpoint(step, prevent_cse=False)
    return scan_with(step, carry, list(stacked), length=length, pieces=True)


def _cut(x: Array, first: int, last: int, lead: Sequence[int], dropped: int = 1) -> Array:
    """Elements of the leading axis; ``lead`` takes the place of the ``dropped`` leading axes."""
    rest = x._bound_shape[1:]
    limit, stride = [last, *rest], [1] * (1 + len(rest))
    part = primitives.slice(x, start=[first] + [0] * len(rest), limit=limit, stride=stride)
    return primitives.reshape(part, shape=[*lead, *x._bound_shape[dropped:]])


def _moved(x: Array, source: int, target: int) -> Array:
    """``x`` with one axis elsewhere."""
    if source == target:
        return x
    order = [axis for axis in range(x.ndim) if axis != source]
    order.insert(target, source)
    return primitives.transpose(x, permutation=order)
