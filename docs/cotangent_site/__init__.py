"""The site's own part of Sphinx: pages made of the package, of headers, of notebooks and of examples, and links.

`setup` at the end is where to start: what is written before Sphinx reads the pages, and what is asked while it does.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform

from cotangent_site import examples, headers, links, notebooks, reference


def write(app: Sphinx) -> None:
    """Writes the pages that are made, each only when its text is another than before, so that Sphinx reads no page in vain."""
    made: dict[str, str | bytes] = {}
    for maker in (reference, headers, notebooks, examples):
        made |= maker.pages()
    source = Path(app.srcdir)
    for name, content in made.items():
        file = source / name
        data = content.encode() if isinstance(content, str) else content
        if not file.exists() or file.read_bytes() != data:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(data)
    for folder in {Path(name).parts[0] for name in made}:
        for file in (source / folder).rglob("*"):
            if file.is_file() and file.relative_to(source).as_posix() not in made:
                file.unlink()


class WithoutEmptyEnd(SphinxTransform):
    """Blocks of code end with their last line: the empty one that doctest needs before a fence is not shown."""

    default_priority = 400

    def apply(self, **kwargs: Any) -> None:
        """Cuts the ends."""
        for block in self.document.findall(nodes.literal_block):
            text = block.astext().rstrip()
            block.rawsource, block.children = text, [nodes.Text(text)]


def anchor(name: str, raw: str, text: str, *args: Any, **kwargs: Any) -> tuple[list[nodes.Node], list[nodes.Node]]:
    """The role of a place in a page that links may end at."""
    return [nodes.inline(raw, "", ids=[text])], []


def setup(app: Sphinx) -> dict[str, Any]:
    """Called by Sphinx."""
    app.connect("builder-inited", write)
    app.add_role("anchor", anchor)
    app.add_transform(WithoutEmptyEnd)
    app.add_post_transform(links.LinkFiles)
    app.add_post_transform(links.LinkExamples)
    app.add_post_transform(links.LinkCode)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
