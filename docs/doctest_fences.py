"""For the site: examples in docstrings, which are bare doctests, become code blocks."""

from typing import Any

import griffe


class DoctestFences(griffe.Extension):
    """Puts a fence around each paragraph of a docstring that starts with ``>>>``."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Rewrites the docstring before it is parsed."""
        if obj.docstring is None or ">>> " not in obj.docstring.value:
            return
        paragraphs = obj.docstring.value.split("\n\n")
        obj.docstring.value = "\n\n".join(
            f"```pycon\n{text.rstrip()}\n```" if text.startswith(">>> ") else text for text in paragraphs
        )
