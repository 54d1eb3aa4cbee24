"""Runs the examples of public docstrings: `python tests/docs/docstring_examples.py cotangent.nn` prints those that fail.

`ct` and `np` are there. Each docstring starts anew; spaces at the ends of lines do not count, and ``...`` stands for any text.
"""

from __future__ import annotations

import doctest
import importlib
import importlib.util
import inspect
import sys
from pathlib import Path

import cotangent as ct

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "shared"))
import docstrings
import numpy as np
import public_api
from public_api import Entry

FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
# Packages that requirements/test.txt has not. Where one is not installed, examples with it are not run.
MISSING = [name for name in ("torch", "pyarrow", "awkward") if importlib.util.find_spec(name) is None]


def texts(namespace: str) -> dict[str, str]:
    """The docstrings of a namespace by their names: of the module, of what is documented there, and of the members of that."""
    if namespace == docstrings.ARRAY:
        members = public_api.members(Entry("cotangent", "Array", ct.Array))
        return {entry.path: entry.doc for entry in members if id(entry.value) not in public_api.homes()}
    found = {namespace: inspect.cleandoc(importlib.import_module(namespace).__doc__ or "")}
    for entry in public_api.entries(namespace):
        if public_api.homes().get(id(entry.value), entry.path) != entry.path:
            continue
        found[entry.path] = entry.doc
        if (entry.is_class or entry.is_object) and entry.value is not ct.Array:
            found |= {member.path: member.doc for member in public_api.members(entry)}
    return found


def failures(namespace: str) -> str:
    """What the examples of a namespace print that they should not; empty when all is well."""
    parser, runner = doctest.DocTestParser(), doctest.DocTestRunner(verbose=False, optionflags=FLAGS)
    found: list[str] = []
    for name, text in texts(namespace).items():
        test = parser.get_doctest(text, {"ct": ct, "np": np}, name, name, 0)
        if not any(package in example.source for package in MISSING for example in test.examples):
            with np.printoptions():  # an example may show what other options print
                runner.run(test, out=found.append)
    return "".join(found)


def main(namespaces: list[str]) -> int:
    """Prints the failures."""
    found = "".join(map(failures, namespaces or [*public_api.namespaces(), docstrings.ARRAY]))
    print(found, end="")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
