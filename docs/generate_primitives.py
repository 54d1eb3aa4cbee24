"""Writes docs/primitives.md: which rules every primitive has. Run by `./dev docs`; a test compares the page."""

from __future__ import annotations

from pathlib import Path

from cotangent import _core

SLOTS = ["type", "jvp", "transpose", "batch", "mask", "lower", "reference"]
HEAD = """# Primitives

Every public function is made of these. The table is generated from the records (`ir/ops/`, `transforms/higher_order/`); the slots are
explained in `ir/primitive.h`. A ✓ is a rule; words are the reason why the slot is empty on purpose.
"""


def page() -> str:
    """The page's text."""
    rows = [
        f"| `{name}` | " + " | ".join("✓" if row[slot] == "yes" else row[slot] for slot in SLOTS) + " |"
        for name, row in sorted(_core.slot_matrix().items())
    ]
    table = ["| primitive | " + " | ".join(SLOTS) + " |", "|---|" + ":-:|" * len(SLOTS), *rows]
    return "\n".join([HEAD, f"{len(rows)} primitives.", "", *table, ""])


if __name__ == "__main__":
    Path(__file__).with_name("primitives.md").write_text(page())
