"""The files of `examples/` as pages: one for each example of the gallery, whose links to files lead here."""

from __future__ import annotations

from pathlib import Path

from generate_gallery import Example, examples

from cotangent_site.notebooks import fenced

LANGUAGES = {".py": "python", ".c": "c", ".cc": "cpp", ".rs": "rust", ".jl": "julia", ".html": "html", ".txt": "cmake"}


def page(example: Example) -> str:
    """All files of an example."""
    parts = ["---\norphan: true\n---", f"# {example.title}", "From [the gallery](../gallery.md)."]
    for file in example.files:
        parts += [f"## {file.name}", fenced(file.read_text(), LANGUAGES.get(file.suffix, "text"))]
    return "\n\n".join(parts) + "\n"


def page_of(file: Path) -> str | None:
    """The name of the page that shows a file."""
    return next((f"examples/{example.name}" for example in examples() if file in example.files), None)


def pages() -> dict[str, str]:
    """The pages by their names."""
    return {f"examples/{example.name}.md": page(example) for example in examples()}
