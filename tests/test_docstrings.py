"""Public docstrings: their examples run, and the share of functions whose parameters are described does not fall."""

from __future__ import annotations

import doctest
import importlib
import importlib.util
import inspect
from pathlib import Path

import cotangent as ct
import docstrings
import numpy as np
import public_api
import pytest
from public_api import Entry

FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
# Packages that requirements/test.txt has not. Where one is not installed, examples with it are not run.
MISSING = [name for name in ("torch", "pyarrow", "awkward") if importlib.util.find_spec(name) is None]
WITH_ARRAY = (*public_api.namespaces(), docstrings.ARRAY)


def texts(namespace: str) -> dict[str, str]:
    """The docstrings of a namespace by their names: of the module, of what is documented there, and of classes' members."""
    if namespace == docstrings.ARRAY:
        members = public_api.members(Entry("cotangent", "Array", ct.Array))
        return {entry.path: entry.doc for entry in members if id(entry.value) not in public_api.homes()}
    found = {namespace: inspect.cleandoc(importlib.import_module(namespace).__doc__ or "")}
    for entry in public_api.entries(namespace):
        if public_api.homes().get(id(entry.value), entry.path) != entry.path:
            continue
        found[entry.path] = entry.doc
        if entry.is_class and entry.value is not ct.Array:
            found |= {member.path: member.doc for member in public_api.members(entry)}
    return found


@pytest.mark.parametrize("namespace", WITH_ARRAY)
def test_every_example_prints_what_it_shows(namespace: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # files that an example writes
    parser, runner = doctest.DocTestParser(), doctest.DocTestRunner(verbose=False, optionflags=FLAGS)
    failures: list[str] = []
    for name, text in texts(namespace).items():
        test = parser.get_doctest(text, {"ct": ct, "np": np}, name, name, 0)
        if not any(package in example.source for package in MISSING for example in test.examples):
            runner.run(test, out=failures.append)
    assert not failures, "".join(failures)[-6000:]


def test_shares_are_kept_for_every_namespace() -> None:
    assert set(docstrings.least()) == set(docstrings.counted()), "docstrings.toml has a line for each"


@pytest.mark.parametrize("namespace", docstrings.counted())
def test_share_of_described_functions(namespace: str) -> None:
    share, (parameters, examples) = docstrings.measure(namespace), docstrings.least()[namespace]
    assert share.parameters >= parameters, f"parameters that are not those of the signature: {share.without_parameters}"
    assert share.examples >= examples, f"no example: {share.without_example}"


def test_what_describes_parameters() -> None:
    text = "Adds.\n\nParameters\n----------\nx, y : array\n    Numbers.\n*rest : array\n    More.\n\nExamples\n--------\n>>> 1\n1\n"
    assert docstrings.described(text) == ["x", "y", "rest"]
    assert docstrings.described("Adds.\n\nArgs:\n    x: a number.\n") == []


def test_implementation_modules_are_no_namespaces() -> None:
    found = set(public_api.namespaces())
    assert found >= {
        "cotangent",
        "cotangent.numpy",
        "cotangent.numpy.linalg",
        "cotangent.nn.initializers",
        "cotangent.scipy.stats",
    }
    assert not found & {"cotangent.numpy.windows", "cotangent.nn.activations", "cotangent.jax.tree"}
    assert "grad" in {entry.name for entry in public_api.entries("cotangent")}
