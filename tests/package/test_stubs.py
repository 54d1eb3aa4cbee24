"""The stub of the extension module names what the module has, neither more nor less."""

from __future__ import annotations

import ast
from pathlib import Path

import cotangent
import pytest
import typed_program
from cotangent import _core

# Next to the package that is tested: the stub is installed with it.
TREE = ast.parse((Path(cotangent.__file__).parent / "_core.pyi").read_text())


def names(body: list[ast.stmt]) -> set[str]:
    found: set[str] = set()
    for node in body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef):
            found.add(node.name)
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            found.add(node.target.id)
    return found


def own(names: list[str]) -> set[str]:
    return {name for name in names if not name.startswith("_")}


def test_the_module() -> None:
    assert own(sorted(names(TREE.body))) == own(dir(_core))


@pytest.mark.parametrize(
    "cls", [node for node in TREE.body if isinstance(node, ast.ClassDef)], ids=lambda node: node.name
)
def test_the_classes(cls: ast.ClassDef) -> None:
    if cls.name == "Array":  # most of its methods are attached by the package and typed there
        assert own(sorted(names(cls.body))) <= own(dir(_core.Array))
        return
    made = getattr(_core, cls.name)
    inherited = own(dir(made.__base__)) - vars(made).keys() if cls.bases else set()
    assert own(sorted(names(cls.body))) == own(dir(made)) - inherited


def test_the_typed_program_runs() -> None:
    typed_program.main()
