"""The notebooks as pages: texts, code, and the outputs that are stored in them. Nothing runs; tests run the notebooks."""

from __future__ import annotations

import base64
import json
import re
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parents[2] / "notebooks"


def fenced(text: str, language: str) -> str:
    """A block of code, with a fence longer than any inside of it."""
    fence = "`" * max(3, *(len(run) + 1 for run in re.findall(r"^`{3,}", text, re.MULTILINE)), 3)
    return f"{fence}{language}\n{text.rstrip()}\n{fence}"


def output_of(output: dict[str, Any], name: str, images: dict[str, str | bytes]) -> str:
    """One stored output: a picture, or text."""
    data = output.get("data", {})
    if "image/png" in data:
        picture = f"{name}_{len(images)}.png"
        images[f"notebooks/{picture}"] = base64.b64decode("".join(data["image/png"]))
        return f"![a plot that the code above draws]({picture})"
    text = "".join(output.get("text", data.get("text/plain", "")))
    return fenced(text, "text") if text.strip() else ""


def page(path: Path, made: dict[str, str | bytes]) -> str:
    """A notebook as Markdown; its pictures are added to `made`."""
    parts = []
    images: dict[str, str | bytes] = {}
    for cell in json.loads(path.read_text())["cells"]:
        text = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(text)
        elif cell["cell_type"] == "code" and text.strip():
            parts.append(fenced(text, "python"))
            parts += [output_of(output, path.stem, images) for output in cell.get("outputs", [])]
    made |= images
    parts.append(f"*This page is `notebooks/{path.name}` of the repository, with the outputs that are stored in it.*")
    return "\n\n".join(part for part in parts if part) + "\n"


def pages() -> dict[str, str | bytes]:
    """The pages by their names, and their pictures."""
    made: dict[str, str | bytes] = {}
    for path in sorted(FOLDER.glob("*.ipynb")):
        made[f"notebooks/{path.stem}.md"] = page(path, made)
    return made
