"""Programs within a limit of temporary memory: what `jit` does with ``memory_limit``.

A `Division` says into how many pieces a `vmap` is divided, together with those inside of it. `within_limit` captures a function with one
division after the other, twice as fine each time, and takes the first whose program needs no more than the limit.
"""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from cotangent import _core
from cotangent._base.pickling import Scoped
from cotangent._core import Graph
from cotangent.errors import MemoryLimitError

T = TypeVar("T")


class Division:
    """Into how many pieces a mapped axis is divided; what it does not use is for those inside of it.

    Attributes:
        pieces: how many, a power of two.
        is_used: whether an axis of the program was divided as finely as this; finer divisions of others are the same program.
    """

    def __init__(self, pieces: int, whole: Division | None = None) -> None:
        self.pieces = pieces
        self.whole = whole or self
        self.is_used = False

    def chunk(self, size: int) -> tuple[int, Division]:
        """How many of ``size`` examples are computed at a time, and the division of what is computed for each."""
        own = min(self.pieces, 1 << max(size - 1, 0).bit_length())
        if own == self.pieces and own > 1:
            self.whole.is_used = True
        return max(1, -(-size // own)), Division(self.pieces // own, self.whole)


DIVISION: Scoped[Division | None] = Scoped(__name__, "DIVISION", None)


@contextlib.contextmanager
def with_division(division: Division | None) -> Iterator[None]:
    """What is captured inside is divided so."""
    token = DIVISION.set(division)
    try:
        yield
    finally:
        DIVISION.reset(token)


@contextlib.contextmanager
def _inlined_calls() -> Iterator[None]:
    """Jitted functions are captured with what calls them: the programs that they keep are not divided. Loops stay loops (`python_control`)."""
    previous = _core.override_flag("disable_jit", True)
    try:
        yield
    finally:
        _core.override_flag("disable_jit", previous)


def within_limit(
    capture: Callable[[], T], graph_of: Callable[[T], Graph], limit: int | None, backend: str, name: str
) -> T:
    """What ``capture`` gives with the coarsest division whose program needs no more than ``limit`` bytes of temporary memory.

    Raises:
        MemoryLimitError: the finest division needs more.
    """
    if limit is None or DIVISION.get() is not None:
        return capture()
    captured, division = capture(), Division(1)
    needed = _arena_bytes(graph_of(captured), backend)
    while needed > limit:
        division = Division(2 * division.pieces)
        with with_division(division), _inlined_calls():
            finer = capture()
        if not division.is_used:
            raise MemoryLimitError(_message(graph_of(captured), limit, needed, division.pieces // 2, name))
        captured = finer
        needed = _arena_bytes(graph_of(captured), backend)
    return captured


def _arena_bytes(graph: Graph, backend: str) -> int:
    return _core.compile_graph(graph, backend).arena_bytes


def _message(graph: Graph, limit: int, needed: int, pieces: int, name: str) -> str:
    """What the finest division needs, and what it needs it for: in a chunk, and whatever the chunks are."""
    tried = "even one example at a time" if pieces > 1 else "and has no vmap that could be computed in chunks"
    lines = [
        f"jit of {name}: memory_limit={limit:,}, but the program needs {needed:,} bytes of temporary memory, {tried}"
    ]
    chunks = [_core.describe_graph(body) for body in _bodies_of_chunks(graph)] if pieces > 1 else []
    within = min(max((chunk["arena_bytes"] for chunk in chunks), default=0), needed)
    remaining = needed - within
    if within:
        lines.append(f"  a chunk takes {within:,} of them; the largest arrays in it:")
        lines += _largest([one for chunk in chunks for one in chunk["stored"]], within)
    if remaining:
        besides = f"  {remaining:,} of them are outside of chunks, whatever their size is; the largest arrays there:"
        lines.append(besides if within else "  the largest arrays that it stores:")
        lines += _largest(_core.describe_graph(graph)["stored"], remaining)
    fixed = f" above {remaining:,}" if within and remaining > limit else ""
    lines.append(
        f"  raise the limit{fixed}, or reduce what belongs to one example inside of the function that vmap maps; "
        "ct.explain shows all of the program\n"
        "  see docs/errors.md#memory-limit"
    )
    return "\n".join(lines)


def _largest(stored: Sequence[tuple[str, int, str]], at_most: int) -> list[str]:
    """The largest of what is stored in temporary memory, which results are not, nor what is larger than it."""
    temporary = Counter(
        (bytes_, name) for name, bytes_, reason in stored if bytes_ <= at_most and reason != "it is a result"
    )
    largest = sorted(temporary.items(), reverse=True)[:3]
    return [
        f"    {bytes_:,} bytes{f', {count} times' if count > 1 else ''}: {name}" for (bytes_, name), count in largest
    ]


def _bodies_of_chunks(graph: Graph) -> list[Graph]:
    """What is computed of one chunk, for each axis that is divided: of the innermost, where some are inside of others."""
    found = []
    for equation in graph.equations():
        attributes = equation["attributes"]
        for value in attributes.values():
            for body in value if isinstance(value, (list, tuple)) else [value]:
                if isinstance(body, Graph):
                    found += _bodies_of_chunks(body) or ([body] if attributes.get("pieces") else [])
    return found
