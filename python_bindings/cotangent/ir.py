"""Graphs: ``ct.make_ir(f)(*args)`` makes them, `parse` and `deserialize` read them back."""

from __future__ import annotations

from cotangent import _core
from cotangent._core import Graph

__all__ = ["Graph", "deserialize", "parse", "slot_matrix"]


def parse(text: str) -> Graph:
    """The graph of a text made by ``Graph.text()``.

    Raises:
        ValueError: with line and column of what cannot be read.
    """
    return _core.parse_graph(text)


def deserialize(data: bytes) -> Graph:
    """The graph of bytes made by ``Graph.serialize()``, verified.

    Raises:
        CorruptFileError: the bytes are damaged or of another format.
    """
    return _core.deserialize_graph(data)


def slot_matrix() -> dict[str, dict[str, str]]:
    """Primitive -> rule -> "yes", or the reason why it has none."""
    return _core.slot_matrix()
