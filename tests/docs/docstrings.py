"""How much of the public functions' docstrings is there: `./dev coverage --docstrings`.

A function counts in the namespace where it is documented (`public_api.homes`), with two marks: its ``Parameters`` section names the parameters
of its signature and no others, and it has an example. `docstrings.toml` has the shares that must be kept.
"""

from __future__ import annotations

import sys
import tomllib
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import cotangent as ct

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "shared"))
import public_api
from numpydoc.docscrape import NumpyDocString
from public_api import Entry

SHARES = Path(__file__).with_suffix(".toml")
ARRAY = "cotangent.Array"  # its methods that are not functions elsewhere count as a namespace of their own


@dataclass
class Share:
    """What the functions of a namespace have."""

    namespace: str
    functions: int = 0
    without_parameters: list[str] = field(default_factory=list)
    without_example: list[str] = field(default_factory=list)

    @property
    def parameters(self) -> float:
        """Percent of the functions whose section names their parameters."""
        return 100.0 * (1 - len(self.without_parameters) / self.functions)

    @property
    def examples(self) -> float:
        """Percent of the functions that have an example."""
        return 100.0 * (1 - len(self.without_example) / self.functions)


def described(doc: str) -> list[str]:
    """The names in the sections of parameters."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of sections that numpydoc does not know
        try:
            read = NumpyDocString(doc)
        except ValueError:  # a section twice
            return []
    names = [name for part in ("Parameters", "Other Parameters") for name, _, _ in read[part]]
    return [name.strip().lstrip("*\\") for several in names for name in several.split(",")]


def functions(namespace: str) -> Iterator[Entry]:
    """The functions that are documented in a namespace."""
    if namespace == ARRAY:
        array = next(entry for entry in public_api.entries("cotangent") if entry.value is ct.Array)
        own = (entry for entry in public_api.members(array) if id(entry.value) not in public_api.homes())
        yield from (entry for entry in own if callable(entry.value))
        return
    for entry in public_api.entries(namespace):
        if entry.is_function and public_api.homes()[id(entry.value)] == entry.path:
            yield entry
        elif entry.is_object:
            yield from public_api.members(entry)


@cache
def measure(namespace: str) -> Share:
    """The share of one namespace."""
    share = Share(namespace)
    for entry in functions(namespace):
        share.functions += 1
        if sorted(described(entry.doc)) != sorted(entry.parameters):
            share.without_parameters.append(entry.name)
        if ">>> " not in entry.doc:
            share.without_example.append(entry.name)
    return share


@cache
def counted() -> tuple[str, ...]:
    """The namespaces that have functions of their own."""
    return tuple(name for name in (*public_api.namespaces(), ARRAY) if measure(name).functions)


def least() -> dict[str, tuple[int, int]]:
    """Of each namespace the shares that must be kept: parameters, examples."""
    table = tomllib.loads(SHARES.read_text())
    return {name: (shares["parameters"], shares["examples"]) for name, shares in table.items()}


def write() -> None:
    """Raises what must be kept to what is there, in whole percents; nothing falls."""
    kept = least() if SHARES.exists() else {}
    lines = [
        "# Percent of a namespace's functions that have these, at least: `python tests/docs/docstrings.py --write` raises them to what is there."
    ]
    for name in counted():
        parameters, examples = kept.get(name, (0, 0))
        share = measure(name)
        lines += ["", f'["{name}"]', f"parameters = {max(parameters, int(share.parameters))}"]
        lines += [f"examples = {max(examples, int(share.examples))}"]
    SHARES.write_text("\n".join(lines) + "\n")


def main(arguments: list[str]) -> int:
    """Prints the table; with names of namespaces, also which of their functions lack what; with --write it keeps the shares."""
    if "--write" in arguments:
        write()
    print(f"{'namespace':38} {'functions':>9} {'parameters':>11} {'example':>8}")
    total = Share("all")
    for name in counted():
        share = measure(name)
        print(f"{name:38} {share.functions:9} {share.parameters:10.1f}% {share.examples:7.1f}%")
        total.functions += share.functions
        total.without_parameters += share.without_parameters
        total.without_example += share.without_example
    print(f"{total.namespace:38} {total.functions:9} {total.parameters:10.1f}% {total.examples:7.1f}%")
    for share in (measure(name) for name in arguments if not name.startswith("-")):
        name = share.namespace
        print(f"\n{name}: parameters are not those of the signature\n  {' '.join(share.without_parameters)}")
        print(f"\n{name}: no example\n  {' '.join(share.without_example)}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
