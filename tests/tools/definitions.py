"""Which definitions of the package need which, by their names: what `affected.py` asks who can notice a change.

A definition is a function, a class or a variable of a module, `Definition(module, name)`. One needs another if its source names it: directly,
through an import, or as an attribute of a module, also of one that only collects others' names (`cotangent.numpy` does, with ``import *``). A
module that is named without an attribute is needed as a whole. Nothing is imported: the sources are read.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from functools import cached_property
from pathlib import Path
from typing import NamedTuple


class Definition(NamedTuple):
    """A name that a module defines."""

    module: str
    name: str


def names_of(target: ast.expr) -> Iterator[str]:
    if isinstance(target, ast.Name):
        yield target.id
    elif isinstance(target, ast.Tuple | ast.List):
        for element in target.elts:
            yield from names_of(element)


def top_level(body: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements of a module, with those inside of `if` and `try`."""
    for node in body:
        if isinstance(node, ast.If | ast.Try):
            yield from top_level(
                [*node.body, *node.orelse, *(s for h in getattr(node, "handlers", ()) for s in h.body)]
            )
        else:
            yield node


class Source:
    """What a file defines, imports and names."""

    def __init__(self, text: str) -> None:
        self.tree = ast.parse(text)
        self.lines = text.splitlines()
        self.defined: dict[str, list[ast.stmt]] = {}
        self.other: list[ast.stmt] = []  # statements that define nothing
        for node in top_level(self.tree.body):
            for name in self._names(node):
                self.defined.setdefault(name, []).append(node)
        self.modules: dict[str, str] = {}  # local name → the module that it is
        self.members: dict[str, Definition] = {}  # local name → where it was imported from; maybe a module
        self.stars: list[str] = []
        for found in ast.walk(self.tree):
            self._imports(found)

    def _names(self, node: ast.stmt) -> list[str]:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            return [node.name]
        if isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            return [name for target in targets for name in names_of(target)]
        if not isinstance(node, ast.Import | ast.ImportFrom):
            self.other.append(node)
        return []

    def _imports(self, node: ast.AST) -> None:
        if isinstance(node, ast.Import):
            for alias in node.names:
                self.modules[alias.asname or alias.name.split(".")[0]] = alias.name if alias.asname else alias.name.split(".")[0]  # fmt: skip
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            for alias in node.names:
                if alias.name == "*":
                    self.stars.append(node.module)
                else:
                    self.members[alias.asname or alias.name] = Definition(node.module, alias.name)

    @cached_property
    def texts(self) -> set[str]:
        """The words of its strings, documentation left out: functions that are asked for by their names."""
        found: set[str] = set()
        documentation = {id(node.value) for node in ast.walk(self.tree) if isinstance(node, ast.Expr)}
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in documentation:
                found |= {part for word in node.value.split() for part in word.split(".") if part.isidentifier()}
        return found


class Package:
    """The modules of a package, and what each definition needs."""

    def __init__(self, folder: Path) -> None:
        self.name = folder.name
        self.sources: dict[str, Source] = {}
        for file in sorted(folder.rglob("*.py")):
            parts = [self.name, *file.relative_to(folder).with_suffix("").parts]
            self.sources[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = Source(file.read_text())

    def find(self, module: str, name: str, seen: frozenset[Definition] = frozenset()) -> Definition | str | None:
        """Where a member of a module is defined, or the module that it is; None if it is neither."""
        here = Definition(module, name)
        source = self.sources.get(module)
        if source is None or here in seen:
            return None
        if name in source.defined:
            return here
        if f"{module}.{name}" in self.sources:
            return f"{module}.{name}"
        if name in source.members:
            return self.find(*source.members[name], seen | {here})
        if name in source.modules and source.modules[name] in self.sources:
            return source.modules[name]
        for star in source.stars:
            if (found := self.find(star, name, seen | {here})) is not None:
                return found
        return None

    def members_of(self, module: str) -> set[Definition]:
        """All that a module defines, or collects of others."""
        source = self.sources[module]
        found = {Definition(module, name) for name in source.defined if not name.startswith("__")}
        if any(other.startswith(f"{module}.") for other in self.sources):  # a package has what it imports
            members = (self.find(module, name) for name in source.members if not name.startswith("_"))
            found |= {each for each in members if isinstance(each, Definition)}
        for star in source.stars:
            if star in self.sources and star != module:
                found |= {each for each in self.members_of(star) if not each.name.startswith("_")}
        return found

    def needs(self, nodes: Iterable[ast.AST], source: Source, module: str | None = None) -> set[Definition]:
        """What these parts of a source name."""
        found: set[Definition] = set()
        below: set[int] = set()  # nodes that are the beginning of a name that was looked at as a whole
        for top in nodes:
            for node in ast.walk(top):
                if id(node) in below or not isinstance(node, ast.Attribute | ast.Name):
                    continue
                attributes: list[str] = []
                base: ast.expr = node
                while isinstance(base, ast.Attribute):
                    attributes.insert(0, base.attr)
                    base = base.value
                    below.add(id(base))
                if isinstance(base, ast.Name):
                    found |= self._member(base.id, attributes, source, module)
        return found

    def _member(self, name: str, attributes: list[str], source: Source, module: str | None) -> set[Definition]:
        at: Definition | str | None
        if module is not None and name in source.defined:
            at = Definition(module, name)
        elif name in source.members:
            at = self.find(*source.members[name])
            whole = ".".join(source.members[name])
            at = whole if at is None and whole in self.sources else at
        elif source.modules.get(name, "") in self.sources:
            at = source.modules[name]
        else:
            at = next((found for star in source.stars if (found := self.find(star, name)) is not None), None)
        for attribute in attributes:
            if not isinstance(at, str):
                break
            at = self.find(at, attribute)
        if isinstance(at, str):
            return set() if at == self.name else self.members_of(at)
        return set() if at is None else {at}

    @cached_property
    def public(self) -> dict[Definition, set[str]]:
        """The definitions that modules without an underscore have, each with these modules."""
        found: dict[Definition, set[str]] = {}
        for module in self.sources:
            if not any(part.startswith("_") for part in module.split(".")):
                for each in self.members_of(module):
                    found.setdefault(each, set()).add(module)
        return found

    @cached_property
    def users(self) -> dict[Definition, set[Definition]]:
        """For each definition those that name it."""
        found: dict[Definition, set[Definition]] = {}
        for module, source in self.sources.items():
            for name, nodes in source.defined.items():
                for needed in self.needs(nodes, source, module):
                    found.setdefault(needed, set()).add(Definition(module, name))
        return found

    def affected(self, changed: Iterable[Definition]) -> dict[Definition, Definition]:
        """The definitions that need one of these, at any distance, each with the changed one that it was reached from."""
        found: dict[Definition, Definition] = {}
        waiting = [(each, each) for each in sorted(changed)]
        while waiting:
            now, origin = waiting.pop(0)
            if now not in found:
                found[now] = origin
                waiting += [(user, origin) for user in sorted(self.users.get(now, ()))]
        return found
