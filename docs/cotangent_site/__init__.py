"""The site's own part of Sphinx: pages made of the package, of headers and of notebooks, and links.

`setup` at the end is where to start: what is written before Sphinx reads the pages, and what is asked while it does.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

from cotangent_site import code_links, headers, notebooks, reference

ROOT = Path(__file__).resolve().parents[2]

# Files of the repository that are pages under another name.
PAGES = {"README.md": "index", "CHANGELOG.md": "changelog", "CONTRIBUTING.md": "contributing"}


def write(app: Sphinx) -> None:
    """Writes the pages that are made, each only when its text is another than before, so that Sphinx reads no page in vain."""
    made: dict[str, str | bytes] = {}
    for maker in (reference, headers, notebooks):
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


def resolve(app: Sphinx, env: Any, node: nodes.Element, content: nodes.Element) -> nodes.Element | None:
    """Links of pages that are files of the repository's root, as README.md is, to others of these, or to what is no page."""
    target = Path(str(node.get("reftarget", ""))).name
    page = PAGES.get(target)
    if page is not None:
        address = app.builder.get_relative_uri(node.get("refdoc", "index"), page)
        return nodes.reference("", "", content, internal=True, refuri=address)
    if node.get("reftype") == "myst" and target and (ROOT / target).exists():
        return content  # a file of the repository that the site has not
    return None


def setup(app: Sphinx) -> dict[str, Any]:
    """Called by Sphinx."""
    app.connect("builder-inited", write)
    app.connect("missing-reference", resolve)
    app.add_post_transform(code_links.LinkCode)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
