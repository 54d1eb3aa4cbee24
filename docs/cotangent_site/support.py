"""What is known of a function's support, from what is tested: the calls of the table of masks, and the programs that these calls are.

A call's program says which primitives it consists of; their records say the rest. A program with a call of Python in it cannot leave the
process, and stops on a GPU for it; every other one can be exported, and becomes kernels (docs/export.md, docs/gpu.md). `tests/docs/test_site.py`
tries both with every primitive that these programs have.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from functools import cache
from typing import Any

import cotangent as ct
import mask_table
from public_api import Entry

OF_PYTHON = {"host_callback"}  # primitives that call Python
SHOWN = 8  # primitives that are named; of longer lists the rest is counted


def primitives(graph: Any) -> set[str]:
    """The primitives of a program and of the programs in it."""
    found = set()
    for equation in ct.ir.equations(graph):
        found.add(equation.primitive)
        for value in equation.attributes.values():
            for part in value if isinstance(value, list | tuple) else [value]:
                if isinstance(part, ct.ir.Graph):
                    found |= primitives(part)
    return found


@cache
def rows() -> dict[int, mask_table.Row]:
    """The rows of the table by the identity of their functions."""
    return {id(row.function): row for row in mask_table.rows().values()}


def programs(row: mask_table.Row) -> Iterator[tuple[mask_table.Call, set[str]]]:
    """The row's calls, and the primitives that each consists of."""
    for text in row.calls:
        call = mask_table.Call(text, row.function)
        with contextlib.suppress(*mask_table.NO_RESULT):
            yield call, primitives(ct.make_ir(call)(*call.exact(3)))


def lines(entry: Entry) -> list[str]:
    """What is said below a function, as reStructuredText; nothing where nothing is known."""
    row = rows().get(id(entry.value))
    if row is None or row.none or not row.calls:
        return []
    used = set().union(*(names for _, names in programs(row)))
    if not used:
        return []
    calls = ", ".join(f"``{text}``" for text in row.calls)
    mask = f"refused: {row.refused}" if row.refused else f"{calls} (:doc:`letters </masks>`)"
    leaves = "no, it calls Python" if used & OF_PYTHON else "yes"
    device = "kernels, with a step on the host" if used & OF_PYTHON else "kernels"
    names = sorted(used)
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN + 1 else ""
    shown = names[:SHOWN] if more else names
    made = ", ".join(f"``{name}``" for name in shown) + more
    return [
        ".. container:: support",
        "",
        f"   **mask** {mask} · **export** {leaves} · **GPU** {device} · **made of** {made}",
        "",
    ]
