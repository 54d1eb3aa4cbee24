"""The notebooks as pages: texts, code, and the outputs that are stored in them. Nothing runs; tests run the notebooks.

Their page of contents has each with its first paragraph and its first picture.
"""

from __future__ import annotations

import base64
import json
import re
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parents[2] / "notebooks"
FIRST = ("08_tour",)  # what is read before the others, which follow in the order of their numbers

HEAD = """# Notebooks

Programs with what they print and draw. The files are in `notebooks/`; tests run each of them from its first cell to its last.

"""


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


def with_links(text: str) -> str:
    """Links to other notebooks and to documents lead to their pages."""
    text = re.sub(r"\]\(([\w-]+)\.ipynb\)", r"](\1.md)", text)
    return text.replace("](../docs/", "](../")


def page(path: Path, made: dict[str, str | bytes]) -> str:
    """A notebook as Markdown; its pictures are added to `made`."""
    parts = []
    images: dict[str, str | bytes] = {}
    for cell in json.loads(path.read_text())["cells"]:
        text = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(with_links(text))
        elif cell["cell_type"] == "code" and text.strip():
            parts.append(fenced(text, "python"))
            parts += [output_of(output, path.stem, images) for output in cell.get("outputs", [])]
    made |= images
    parts.append(f"*This page is `notebooks/{path.name}` of the repository, with the outputs that are stored in it.*")
    return "\n\n".join(part for part in parts if part) + "\n"


def in_order() -> list[Path]:
    """The notebooks as one reads them."""
    return sorted(FOLDER.glob("*.ipynb"), key=lambda path: (path.stem not in FIRST, path.stem))


def opening(path: Path) -> tuple[str, str]:
    """The title of a notebook, and its first paragraph."""
    first = "".join(json.loads(path.read_text())["cells"][0]["source"])
    title, _, rest = first.removeprefix("# ").partition("\n")
    return title, with_links(" ".join(rest.strip().split("\n\n")[0].split()))


def contents(made: dict[str, str | bytes]) -> str:
    """The page of contents."""
    parts = [HEAD]
    for path in in_order():
        title, text = opening(path)
        picture = f"{path.stem}_0.png"
        shown = f"![a plot of the notebook]({picture})\n\n" if f"notebooks/{picture}" in made else ""
        parts.append(f"## [{title}]({path.stem}.md)\n\n{shown}{text}\n\n")
    names = "\n".join(path.stem for path in in_order())
    return "".join(parts) + f"```{{toctree}}\n:hidden:\n\n{names}\n```\n"


def pages() -> dict[str, str | bytes]:
    """The pages by their names, and their pictures."""
    made: dict[str, str | bytes] = {}
    for path in in_order():
        made[f"notebooks/{path.stem}.md"] = page(path, made)
    made["notebooks/index.md"] = contents(made)
    return made
