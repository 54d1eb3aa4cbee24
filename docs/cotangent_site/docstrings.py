"""Docstrings as reStructuredText: napoleon reads their sections; their prose is plain text with literals in backticks."""

from __future__ import annotations

import re

from sphinx.ext.napoleon import Config
from sphinx.ext.napoleon.docstring import GoogleDocstring, NumpyDocstring

# Without `:param:` and `:type:`: Sphinx would look for links in types, which are words here ("array, shape (m, n)").
CONFIG = Config(napoleon_use_param=False, napoleon_use_rtype=False)


class _Plain(GoogleDocstring):
    """Attributes as parameters are shown: what has an entry of its own is not described as an object twice."""

    def _parse_attributes_section(self, section: str) -> list[str]:
        return self._format_fields("Attributes", self._consume_fields())


class _Google(_Plain):
    """Sections as ``Args:``."""


class _NumPy(_Plain, NumpyDocstring):
    """Sections that are underlined."""


NUMPY_SECTION = re.compile(r"^[A-Z][A-Za-z ]+\n-{3,}\s*$", re.MULTILINE)
EXAMPLE = re.compile(r"^[ \t]*>>> ", re.MULTILINE)
CITATION = re.compile(r"^(\s*)\.\. \[(\w+)\] ", re.MULTILINE)
LITERAL = re.compile(r"(``.+?``|`[^`\n]+`_{0,2})", re.DOTALL)


def plain(text: str) -> str:
    """Prose in which stars, bars and final underscores are themselves."""
    pieces = LITERAL.split(text)
    for at in range(
        1, len(pieces), 2
    ):  # one that ends in a space, as ``out[...] = `` does, has no end in reStructuredText
        pieces[at] = re.sub(r"(?<=[^`\s]) +``$", "``", pieces[at])
    for at in range(0, len(pieces), 2):
        piece = re.sub(r"(?<![\\\w*])\*(?=\S)(?!\*?\w[^*\n]*\w\*)", r"\\*", pieces[at])
        piece = re.sub(r"(?<!\\)\|", r"\\|", piece)
        piece = re.sub(r"(?<=\w)_(?=\W|$)", r"\\_", piece)
        pieces[at] = "\\ " + piece if at and re.match(r"\w", piece) else piece  # the plural of a literal
    return "".join(pieces)


def before_example(block: str) -> str:
    """The block with its prose made plain: what stands before an example, which goes on to the block's end."""
    example = EXAMPLE.search(block)
    end = example.start() if example else len(block)
    return plain(block[:end]) + block[end:]


def prose(doc: str) -> str:
    """The docstring with its prose made plain; examples stay as they are, and citations are items of a list."""
    doc = CITATION.sub(r"\1- [\2] ", doc)
    doc = re.sub(r"\[(\w+)\]_", r"[\1]", doc)
    blocks = re.split(r"(\n[ \t]*\n)", doc)
    return "".join(before_example(block) for block in blocks)


def as_rst(doc: str, name: str, kind: str) -> list[str]:
    """The lines of the docstring of a function or class."""
    reader = _NumPy if NUMPY_SECTION.search(doc) else _Google
    return str(reader(prose(doc), CONFIG, what=kind, name=name)).splitlines()
