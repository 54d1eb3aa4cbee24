"""What a test file is made of: the modules of the tests that it imports, at any distance."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path


@cache
def tree(file: Path) -> ast.Module:
    return ast.parse(file.read_text())


def imported(file: Path) -> set[str]:
    """The first parts of the names of the modules that a file imports."""
    found: set[str] = set()
    for node in ast.walk(tree(file)):
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            found.add(node.module.split(".")[0])
    return found


@cache
def made_of(file: Path) -> tuple[Path, ...]:
    """The file, and what it imports from beside it and from tests/shared, and what that imports; of a package all modules."""
    shared = next((folder for folder in file.parents if folder.name == "tests"), file.parent) / "shared"
    found: dict[Path, None] = {}
    waiting = [file]
    while waiting:
        now = waiting.pop()
        if now in found:
            continue
        found[now] = None
        for name in sorted(imported(now)):
            for home in (now.parent, file.parent, shared):
                if (module := home / f"{name}.py").is_file():
                    waiting.append(module)
                elif (home / name / "__init__.py").is_file():
                    waiting += sorted((home / name).glob("*.py"))
    return tuple(found)
