"""Public docstrings: their examples run, and the share of functions whose parameters are described does not fall."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import docstring_examples
import docstrings
import public_api
import pytest

HOOK = "cotangent.jax"  # which a process that has imported JAX does not install


@pytest.mark.parametrize("namespace", sorted({*public_api.namespaces(), docstrings.ARRAY} - {HOOK}))
def test_every_example_prints_what_it_shows(
    namespace: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    if namespace == docstrings.ARRAY:  # they print where arrays are by default
        request.getfixturevalue("names_devices")
    monkeypatch.chdir(tmp_path)  # files that an example writes
    found = docstring_examples.failures(namespace)
    assert not found, found[-6000:]


def test_every_example_of_the_hook_prints_what_it_shows() -> None:
    script = Path(__file__).with_name("docstring_examples.py")
    done = subprocess.run([sys.executable, script, HOOK], capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-3000:]


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
