"""Links: between files of the repository that are pages of the site, from names in code to the reference, and to files of examples."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util.nodes import make_refnode

from cotangent_site import examples

ROOT = Path(__file__).resolve().parents[2]

# Files of the repository that are pages under another name.
PAGES = {"README.md": "index", "CHANGELOG.md": "changelog", "CONTRIBUTING.md": "contributing"}

# `ct` and `cnp` are what the pages and docstrings import the package and its NumPy as.
NAME = re.compile(r"^(ct|cnp|cotangent)((?:\.[A-Za-z_]\w*)+)(?:\(.*\))?$", re.DOTALL)


class LinkFiles(SphinxPostTransform):
    """README.md links to other files of the repository as GitHub shows them: here these are pages, or nothing."""

    default_priority = 8  # before MyST looks for them

    def run(self, **kwargs: Any) -> None:
        """Resolves links to files of the root, and says titles in place of file names."""
        for node in list(self.document.findall(addnodes.pending_xref)):
            if node.get("reftype") != "myst":
                continue
            target = str(node["reftarget"])
            page = target if node.get("refdomain") == "doc" else PAGES.get(target)
            if page in self.env.titles and node.astext().endswith(".md"):
                title = self.env.titles[page].astext()
                node.children = [nodes.inline("", title)]
            if target in PAGES:
                link = make_refnode(self.app.builder, self.env.docname, PAGES[target], None, node.children)
                node.replace_self(link)
            elif node.get("refdomain") != "doc" and (ROOT / target).is_file():
                node.replace_self(node.children)


class LinkExamples(SphinxPostTransform):
    """A link to a file of an example leads to the page that shows the file, in place of the file."""

    default_priority = 8

    def run(self, **kwargs: Any) -> None:
        """Replaces what would be downloaded."""
        folder = Path(self.env.doc2path(self.env.docname)).parent
        for node in list(self.document.findall(addnodes.download_reference)):
            page = examples.page_of((folder / str(node["reftarget"])).resolve())
            if page is not None:
                place = nodes.make_id(Path(str(node["reftarget"])).name)
                link = make_refnode(self.app.builder, self.env.docname, page, place, node.children)
                node.replace_self(link)


class LinkCode(SphinxPostTransform):
    """What is written as code and is a name of the reference, `ct.vmap` or `cotangent.numpy.sum(x)`, is a link to it."""

    default_priority = 400

    def run(self, **kwargs: Any) -> None:
        """Puts links around literals that name an object."""
        objects = self.env.domains.python_domain.objects
        for literal in list(self.document.findall(nodes.literal)):
            found = NAME.match(literal.astext())
            if found is None or isinstance(literal.parent, nodes.reference | nodes.title):
                continue
            name = ("cotangent.numpy" if found[1] == "cnp" else "cotangent") + found[2]
            if name in objects:
                entry = objects[name]
                link = make_refnode(
                    self.app.builder, self.env.docname, entry.docname, entry.node_id, literal.deepcopy(), name
                )
                literal.replace_self(link)
