"""What `./dev test --changed` chooses: of a package that is made up here, and of this repository."""

from __future__ import annotations

from pathlib import Path

import affected
import pytest
from definitions import Definition, Package
from places import ROOT

MODULES = {
    "__init__": "from cotangent import numpy\n",
    "_ops/__init__": "",
    "_ops/sorting": "def sort(x):\n    return x\n\ndef argsort(x):\n    return x\n\nLIMIT = 3\n",
    "_ops/selection": "from cotangent._ops.sorting import argsort\n\ndef insert(x):\n    return argsort(x)\n",
    "numpy/__init__": "from cotangent._ops.selection import *\nfrom cotangent._ops.sorting import *\n",
    "stats": "import cotangent.numpy as cnp\n\ndef rank(x):\n    return _rank(x)\n\ndef _rank(x):\n    return cnp.argsort(x)\n",
    "other": "import cotangent.numpy\n\ndef whole():\n    return [cotangent.numpy]\n",
}


@pytest.fixture
def package(tmp_path: Path) -> Package:
    for name, text in MODULES.items():
        file = tmp_path / "cotangent" / f"{name}.py"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return Package(tmp_path / "cotangent")


def test_a_name_is_found_where_it_is_defined(package: Package) -> None:
    assert package.find("cotangent.numpy", "sort") == Definition("cotangent._ops.sorting", "sort")
    assert package.find("cotangent", "numpy") == "cotangent.numpy"
    assert package.find("cotangent.numpy", "no_such_name") is None


def test_what_needs_a_definition_at_any_distance(package: Package) -> None:
    found = package.affected([Definition("cotangent._ops.sorting", "argsort")])
    assert {f"{each.module.removeprefix('cotangent.')}.{each.name}" for each in found} == {
        "_ops.sorting.argsort",
        "_ops.selection.insert",  # by an import
        "stats._rank",  # by an attribute of a package that collects names
        "stats.rank",
        "other.whole",  # the package as a whole
    }
    assert set(found.values()) == {Definition("cotangent._ops.sorting", "argsort")}
    assert len(package.affected([Definition("cotangent._ops.sorting", "LIMIT")])) == 2  # and other.whole


def test_lines_are_definitions(package: Package) -> None:
    def changed(*lines: range) -> set[str]:
        return {each.name for each in affected.changed_definitions("cotangent._ops.sorting", package, list(lines))}

    assert changed(range(2, 3)) == {"sort"}
    assert changed(range(1, 6)) == {"sort", "argsort"}
    assert changed(range(3, 4)) == set()  # an empty line
    imports = [range(1, 2)]
    assert affected.changed_definitions("cotangent._ops.selection", package, imports) == {
        Definition("cotangent._ops.selection", "insert")
    }


def chosen(monkeypatch: pytest.MonkeyPatch, *paths: str) -> dict[str, str]:
    monkeypatch.setattr(affected, "changed_lines", lambda path, reference: None)
    return affected.chosen(list(paths))


def test_a_module_of_functions_is_tested_by_what_names_them(monkeypatch: pytest.MonkeyPatch) -> None:
    found = chosen(monkeypatch, "python_bindings/cotangent/scipy/interpolate.py")
    assert "tests/scipy/test_interpolate.py" in found
    assert "tests/tools/test_imports.py" in found
    assert "tests/export/test_export.py" not in found
    sets = chosen(monkeypatch, "python_bindings/cotangent/numpy/sets.py")
    assert sets["tests/numpy/test_numpy.py"].startswith("python_bindings/cotangent/numpy/sets.py: it names ")
    assert "tests/device/test_several_gpus.py" not in sets


def test_what_every_array_has_is_tested_by_all(monkeypatch: pytest.MonkeyPatch) -> None:
    assert list(chosen(monkeypatch, "python_bindings/cotangent/_array_methods.py")) == ["tests"]


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("jit/c/source.cc", ["tests/cpp", "tests/export"]),
        ("transforms/contract/distinct.cc", ["tests/cpp", "tests/laws", "tests/per_example"]),
        ("docs/masks.md", ["tests/docs/test_docs.py", "tests/docs/test_site.py", "tests/ragged/test_mask_table.py"]),
        ("notebooks/00_from_scratch.ipynb", ["tests/docs/test_notebooks.py"]),
        ("examples/ports/logistic.py", ["tests/docs/test_examples.py"]),
        ("benchmarks/gpu/run.py", ["tests/device/test_gpu_folder.py"]),
        ("tests/shared/fake_cuda.py", ["tests/device/test_cuda_driver.py", "tests/export/test_export_cuda.py"]),
        ("tests/laws/test_laws.py", ["tests/laws/test_laws.py"]),
        ("dev", ["tests/tools/test_dev.py"]),
    ],
)
def test_other_files(path: str, expected: list[str]) -> None:
    found = affected.chosen([path])
    assert set(expected) <= set(found), found
    assert len(found) < 15 and all(found.values())


def test_every_folder_of_sources_has_tests_and_they_exist() -> None:
    folders = {Path(path).parts[0] for path in affected.git("ls-files") if path.endswith((".cc", ".h", ".py"))}
    assert [folder for folder in sorted(folders) if not affected.suite_of(f"{folder}/x.cc") and folder != "tests"] == [
        "dev"
    ] * ("dev" in folders)
    for suites in affected.SUITES.values():
        for suite in suites.split():
            assert (ROOT / "tests" / suite).exists(), suite
