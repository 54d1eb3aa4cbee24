"""The tables of `./dev coverage`: everything in them exists, and nothing that is there is called out of scope."""

from __future__ import annotations

import fnmatch
import subprocess
import sys

import public_names
import pytest

COUNTED = [name for name in public_names.NAMESPACES if not name.startswith("array API")]


@pytest.fixture(scope="module")
def coverage() -> dict[str, public_names.Coverage]:
    return {name: public_names.measure(name) for name in public_names.NAMESPACES}


def test_every_pattern_matches_a_name(coverage: dict[str, public_names.Coverage]) -> None:
    for entry in public_names.DATA["out_of_scope"]:
        left_out = {name for namespace in entry["namespaces"] for name in coverage[namespace].out_of_scope}
        unused = [p for p in entry["names"] if not any(fnmatch.fnmatchcase(name, p) for name in left_out)]
        assert not unused, f"{entry['reason']}: {unused}"


@pytest.mark.parametrize("namespace", COUNTED)
def test_what_is_there_is_not_out_of_scope(namespace: str, coverage: dict[str, public_names.Coverage]) -> None:
    target = public_names.resolve(public_names.NAMESPACES[namespace])
    there = [name for name in coverage[namespace].out_of_scope if target is not None and public_names.has(target, name)]
    assert not there


def test_the_command_prints_a_line_a_namespace_and_what_is_missing() -> None:
    script = public_names.__file__
    done = subprocess.run([sys.executable, script, "jax.nn"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[1].startswith("jax.nn")
    low = subprocess.run(
        [sys.executable, script, "jax.nn", "--at-least", "101"], capture_output=True, text=True, check=False
    )
    assert low.returncode == 1 and "below 101%" in low.stderr
