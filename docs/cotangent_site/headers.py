"""The page of C++ headers: what each opens with. The comment is the documentation; there is no second text to keep."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

# The folders in the order in which they stand on each other.
FOLDERS = ("runtime", "ir", "interpreter", "transforms", "device", "jit", "python_bindings")

HEAD = """# C++ headers

A program in C or C++ that uses cotangent calls functions that `ct.export` wrote for it: [their header](../export.md) is the interface that is
kept. The headers of the library itself are for those who change it, and may change with each version; `namespace ct` holds
all of them. Each opens with what it is, its data structures, and where to start reading; this page is these openings.
[The reading order](../reading_order.md) leads through them.
"""


def opening(text: str) -> list[str]:
    """The lines of the comment that a file begins with, without slashes."""
    lines = []
    for line in text.splitlines():
        if not line.startswith("//"):
            break
        lines.append(line[2:].removeprefix(" "))
    return lines


def as_markdown(lines: list[str]) -> str:
    """Paragraphs as such, indented lines as they stand."""
    parts: list[str] = []
    for block in "\n".join(lines).split("\n\n"):
        rows = block.split("\n")
        start = next((at for at, row in enumerate(rows) if row.startswith("  ")), len(rows))
        if text := "\n".join(rows[:start]).strip():
            parts.append(escaped(text))
        if rest := "\n".join(rows[start:]).rstrip():
            parts.append(f"```text\n{rest}\n```")
    return "\n\n".join(parts)


def escaped(text: str) -> str:
    """Text whose signs mean nothing in Markdown, but for what stands in backticks."""
    pieces = re.split(r"(`[^`]*`)", text)
    pieces[::2] = [re.sub(r"([\\*_\[\]<>#|{}$~])", r"\\\1", piece) for piece in pieces[::2]]
    return "".join(pieces)


def pages() -> dict[str, str]:
    """The page by its name."""
    parts = [HEAD]
    for folder in FOLDERS:
        parts.append(f"## {folder}/\n")
        for file in sorted((ROOT / folder).rglob("*.h"), key=lambda file: (len(file.parts), file)):
            if lines := opening(file.read_text()):
                parts.append(f"### {file.relative_to(ROOT)}\n\n{as_markdown(lines)}\n")
    return {"reference/cpp_headers.md": "\n".join(parts)}
