"""The layers of the Python package: it keeps to them, imports stand at the top, and the checks would notice if not."""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
import sys
from pathlib import Path

import check_bounds
import pytest
from places import ROOT

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


FACADES = ("lax", "numpy")


def star_imports(package: str) -> list[str]:
    """The modules of a package whose names type checkers see in it."""
    tree = ast.parse((PACKAGE / package / "__init__.py").read_text())
    nodes = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.names[0].name == "*"]
    return [str(node.module) for node in nodes]


@pytest.mark.parametrize("package", FACADES)
def test_a_package_has_the_names_of_its_modules_whether_they_are_loaded_or_not(package: str) -> None:
    """In a fresh process, asked for in any order: what type checkers see, each name in one module and no module's name."""
    program = f"""
import importlib, pkgutil, random, sys, types
import cotangent.{package} as facade
modules = {star_imports(package)!r}
assert any(module not in sys.modules for module in modules)
names = {{}}
for module in modules:
    for name in importlib.import_module(module).__all__:
        assert names.setdefault(name, module) == module, (name, module)
assert names.keys().isdisjoint(m.name for m in pkgutil.iter_modules(facade.__path__)), "a function would be a module"
for name in random.Random(0).sample(sorted(names), len(names)):
    assert getattr(facade, name) is vars(sys.modules[names[name]])[name], name
public = {{name for name in names if not name.startswith("_")}}
assert set(facade.__all__) - {{"ndarray"}} == public, set(facade.__all__) ^ public
assert set(dir(facade)) >= {{*names, "linalg"}}
assert isinstance(facade.linalg, types.ModuleType)
for missing in ("no_such_name", "_no_such_name"):
    assert not hasattr(facade, missing)
space = {{}}
exec("from cotangent.{package} import *", space)
assert public <= space.keys()
"""
    subprocess.run([sys.executable, "-c", program], check=True)


def test_names_of_the_package_are_those_that_type_checkers_see() -> None:
    program = """
import sys, cotangent as ct
assert not {"cotangent.extend", "cotangent.lax.convolution", "cotangent.numpy.histograms", "dataclasses"} & sys.modules.keys()
for name in [*ct.__all__, *ct._MODULES]:
    assert getattr(ct, name) is getattr(ct, name) and name in dir(ct), name
assert set(ct._NAMES) <= set(ct.__all__)
"""
    subprocess.run([sys.executable, "-c", program], check=True)


def test_modules_are_loaded_by_several_threads_at_once() -> None:
    program = """
import threading, cotangent.numpy as cnp, cotangent.lax as lax
names = [(cnp, "unique"), (cnp, "pad"), (cnp, "kaiser"), (lax, "conv"), (lax, "reduce_window"), (lax, "betainc"), (lax, "add")] * 4
start, failed = threading.Barrier(len(names)), []
def get(package, name):
    start.wait()
    try:
        getattr(package, name)
    except AttributeError as error:
        failed.append(error)
threads = [threading.Thread(target=get, args=entry) for entry in names]
for thread in threads: thread.start()
for thread in threads: thread.join()
assert not failed, failed
"""
    for _ in range(5):
        subprocess.run([sys.executable, "-c", program], check=True)
