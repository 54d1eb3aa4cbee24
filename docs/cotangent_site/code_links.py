"""What is written as code and is the name of something in the reference, `ct.vmap` or `cotangent.numpy.sum(x)`, is a link to it."""

from __future__ import annotations

import re
from typing import Any

from docutils import nodes
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util.nodes import make_refnode

NAME = re.compile(r"^(?:ct|cotangent)((?:\.[A-Za-z_]\w*)+)(?:\(.*\))?$", re.DOTALL)


class LinkCode(SphinxPostTransform):
    """Runs on every page when it is written."""

    default_priority = 400

    def run(self, **kwargs: Any) -> None:
        """Puts links around literals that name an object."""
        objects = self.env.domains.python_domain.objects
        page = self.env.docname
        for literal in list(self.document.findall(nodes.literal)):
            found = NAME.match(literal.astext())
            if found is None or isinstance(literal.parent, nodes.reference):
                continue
            name = "cotangent" + found[1]
            if name not in objects or isinstance(literal.parent, nodes.title):
                continue
            entry = objects[name]
            if self.app.builder.format != "html":
                continue
            link = make_refnode(self.app.builder, page, entry.docname, entry.node_id, literal.deepcopy(), name)
            literal.replace_self(link)
