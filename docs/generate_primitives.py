"""Writes what follows from the records of primitives: docs/primitives.md, which rules each has, and the types of the functions
of `cotangent._base.primitives`. Run by `./dev docs`; a test compares both.
"""

from __future__ import annotations

import keyword
from pathlib import Path

from cotangent import _core

SLOTS = ["type", "jvp", "transpose", "batch", "mask", "lower", "reference"]
HEAD = """# Primitives

Every public function is made of these. The table is generated from the records (`ir/ops/`, `transforms/higher_order/`); the slots are
explained in `ir/primitive.h`. A ✓ is a rule; words are the reason why the slot is empty on purpose.
"""
ATTRIBUTES = """## Attributes

The static parameters of those that have any, and what they hold.

| primitive | attributes |
|---|---|"""


def page() -> str:
    """The page's text."""
    rows = [
        f"| `{name}` | " + " | ".join("✓" if row[slot] == "yes" else row[slot] for slot in SLOTS) + " |"
        for name, row in sorted(_core.slot_matrix().items())
    ]
    table = ["| primitive | " + " | ".join(SLOTS) + " |", "|---|" + ":-:|" * len(SLOTS), *rows]
    attributes = [
        f"| `{name}` | "
        + ", ".join(
            f"`{attribute}` {kind}{' (optional)' if optional else ''}"
            for attribute, kind, optional in record.attributes
        )
        + " |"
        for name, record in sorted(_core.primitives.items())
        if record.attributes
    ]
    return "\n".join([HEAD, f"{len(rows)} primitives.", "", *table, "", ATTRIBUTES, *attributes, ""])


STUB = Path(__file__).parent.parent / "python_bindings/cotangent/_base/primitives.pyi"
STUB_HEAD = """# Written from the records of primitives by `./dev docs`.
import builtins
from collections.abc import Sequence
from typing import Any

from cotangent._core import Array, Graph, Primitive

class _Plain(Primitive):
    def __call__(self, *operands: Any) -> Array: ...

class _Several:
    def __call__(self, *operands: Any) -> list[Array]: ...
"""
TYPES = {
    "flag": "bool",
    "integer": "int",
    "real": "float",
    "text": "str",
    "dtype": "Any",
    "integers": "Sequence[int]",
    "reals": "Sequence[float]",
    "graph": "Graph",
    "graphs": "Sequence[Graph]",
    "opaque": "Any",
    "number": "builtins.complex",
}


def stub() -> str:
    """The text of the stub."""
    classes, names = [STUB_HEAD], []
    for name, primitive in sorted(_core.primitives.items()):
        kind = "_Several" if primitive.several_results else "_Plain"
        if primitive.attributes:
            kind = "_" + "".join(word.capitalize() for word in name.split("_"))
            parameters = [
                f"{attribute}: {TYPES[of]}{' = ...' if optional else ''}"
                for attribute, of, optional in primitive.attributes
            ]
            result = "list[Array]" if primitive.several_results else "Array"
            classes.append(
                f"class {kind}{'' if primitive.several_results else '(Primitive)'}:\n"
                f"    def __call__(self, *operands: Any, {', '.join(parameters)}) -> {result}: ...\n"
            )
        names.append(f"{name}_: {kind}" if keyword.iskeyword(name) else f"{name}: {kind}")
    return "\n".join([*classes, *names, ""])


if __name__ == "__main__":
    STUB.write_text(stub())
    Path(__file__).with_name("primitives.md").write_text(page())
