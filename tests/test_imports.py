"""The layers of the Python package: it keeps to them, imports stand at the top, and the checks would notice if not."""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
import sys
from pathlib import Path

import check_bounds

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "python_bindings" / "cotangent"

# Modules that are loaded at first use, and the function that does it.
AT_FIRST_USE = {("numpy/polynomials.py", "cotangent.numpy")}


def lint_imports(package: Path, folder: Path) -> tuple[int, str]:
    command = Path(sys.executable).parent / "lint-imports"
    found = subprocess.run(
        [command, "--no-cache", "--config", ROOT / "pyproject.toml"],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(package.parent)},
        capture_output=True,
        text=True,
        check=False,
    )
    return found.returncode, found.stdout + found.stderr


def inner_imports(source: str) -> list[str]:
    """The modules of the package that functions import."""
    found = []
    for function in ast.walk(ast.parse(source)):
        if isinstance(function, ast.FunctionDef):
            found += [
                node.module or ""
                for node in ast.walk(function)
                if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("cotangent")
            ]
    return found


def test_layers_import_downwards_and_in_no_circle(tmp_path: Path) -> None:
    code, text = lint_imports(PACKAGE, tmp_path)
    assert code == 0, text


def test_an_import_upwards_is_noticed(tmp_path: Path) -> None:
    copy = tmp_path / "cotangent"
    shutil.copytree(PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    with (copy / "_ops" / "sizes.py").open("a") as file:
        file.write("from cotangent import lax\n")
    code, text = lint_imports(copy, tmp_path)
    assert code == 1
    assert "cotangent._ops.sizes -> cotangent.lax" in text


def test_a_module_without_a_layer_is_noticed(tmp_path: Path) -> None:
    copy = tmp_path / "cotangent"
    shutil.copytree(PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    (copy / "elsewhere.py").write_text("")
    code, text = lint_imports(copy, tmp_path)
    assert code != 0
    assert "elsewhere" in text


def test_imports_stand_at_the_top() -> None:
    found = {
        (str(path.relative_to(PACKAGE)), module)
        for path in sorted(PACKAGE.rglob("*.py"))
        for module in inner_imports(path.read_text())
    }
    assert found == AT_FIRST_USE
    assert inner_imports("def f():\n    from cotangent.lax import scan\n") == ["cotangent.lax"]


def test_nothing_above_the_operations_reads_the_bounds_of_ragged_axes() -> None:
    assert check_bounds.check_tree() == []


def test_a_read_of_the_bounds_is_noticed() -> None:
    assert "_special" in check_bounds.layers_above("_ops")
    assert "_transforms" not in check_bounds.layers_above("_ops")
    assert check_bounds.violations("lax/a.py", "\nn = x._bound_shape[0]\n") == [
        "lax/a.py:2: _bound_shape is for cotangent._ops and below: use cotangent._ops.extents"
    ]
