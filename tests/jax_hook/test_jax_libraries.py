"""`cotangent.jax`: programs of unmodified libraries, and of JAX alone, give what they give on JAX. `./dev ecosystem` runs all of them."""

from __future__ import annotations

import json
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import pytest
from needs import require
from places import ROOT

FOLDER = ROOT / "tests" / "ecosystem"
sys.path.insert(0, str(FOLDER))

import environments  # noqa: E402
import page  # noqa: E402
import run  # noqa: E402
import steps  # noqa: E402
import suites  # noqa: E402
import suites_plugin  # noqa: E402

# One program of each library that requirements/test.txt has; flax is not among them for the size of what it needs.
PROGRAMS = {
    "transforms_programs.loops": "jax",
    "transforms_programs.branches": "jax",
    "transforms_programs.random_numbers": "jax",
    "transforms_programs.indexing_and_updates": "jax",
    "transforms_programs.custom_jvp_log1pexp": "jax",
    "training_programs.gradient_of_a_training_run": "jax",
    "optax_programs.adamw_with_schedule": "optax",
    "chex_programs.dataclass_through_transforms": "chex",
    "equinox_programs.mlp_training": "equinox",
    "flax_linen_programs.mlp_training": "flax",
    "flax_nnx_programs.split_and_merge": "flax",
    "haiku_programs.mlp_training": "haiku",
    "diffrax_programs.gradient_by_checkpoints": "diffrax",
    "optimistix_programs.least_squares": "optimistix",
    "numpyro_programs.log_densities": "numpyro",
}


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_program_gives_the_results_of_jax(program: str) -> None:
    for library in ("jax", PROGRAMS[program]):
        require(library)
    done = subprocess.run(
        [sys.executable, FOLDER / "run.py", "--only", program], capture_output=True, text=True, check=False, timeout=600
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "1 of 1 programs give JAX's results.", done.stdout


def test_a_step_is_timed_on_both_sides_and_its_values_are_compared(tmp_path: Path) -> None:
    require("jax")
    file = tmp_path / "small_steps.py"
    file.write_text(
        "import sys\nimport jax\nimport jax.numpy as jnp\n"
        "def product():\n    return jax.jit(lambda x: (x @ x / 2, x.sum())), jnp.eye(3)\n"
        "def wrong():\n    return jax.jit(lambda x: (x, x + float('cotangent' in sys.modules))), jnp.ones(2)\n"
        "def _helper():\n    raise NotImplementedError\n"
        "def broken():\n    raise ValueError('no such thing')\n"
    )
    assert steps.programs(file) == ["product", "wrong", "broken"]
    row = steps.measured(file, "product", sys.executable, sys.executable, rounds=2, processes=1)
    assert row["error"] == "" and row["program"] == "small.product"
    assert all(row[field][of] > 0 for field in ("step", "first") for of in ("jax", "cotangent"))
    assert steps.ratio(row, "first") == row["first"]["jax"] / row["first"]["cotangent"]
    wrong = steps.measured(file, "wrong", sys.executable, sys.executable, rounds=2, processes=1)
    assert wrong["error"] == "values of call 1 differ by up to 1"
    broken = steps.measured(file, "broken", sys.executable, sys.executable, rounds=2, processes=1)
    assert broken == {"program": "small.broken", "error": "on jax: ValueError: no such thing"}


def test_values_of_steps_that_differ_are_told() -> None:
    assert steps.unequal([[1.0], [2.0]], [[1.0], [2.0]]) == ""
    assert steps.unequal([[1.0], [2.0]], [[1.0], [2.5]]) == "values of call 2 differ by up to 0.5"
    assert steps.unequal([[1.0]], [[1.0, 2.0]]) == "2 values for 1"
    assert steps.unequal([[float("nan")]], [[1.0]]) == "values on JAX are not finite"


def test_a_program_that_differs_is_reported() -> None:
    line = {"program": "p", "values": [["float32", [2], [1.0, 2.0]]]}
    assert run.difference(line, line) == ""
    assert run.difference(line, {"values": [["float32", [2], [1.0, 2.1]]]}) == "values differ by up to 0.1"
    assert run.difference(line, {"values": [["float64", [2], [1.0, 2.0]]]}) == "float64[2] for float32[2]"
    assert run.difference(line, {"values": []}) == "0 leaves for 1"
    assert run.difference(line, {"error": "ValueError: no"}) == "ValueError: no"
    assert run.difference({"error": "E"}, line) == "fails on JAX, too: E"


def test_every_program_is_of_a_library_whose_version_is_pinned() -> None:
    known = set(environments.versions()) | {"jax"}
    for file in run.FILES:
        for name in steps.programs(file):
            assert run.library_of(file, name) in known
    assert run.library_of(FOLDER / "programs" / "other_programs.py", "dm_pix_images") == "dm_pix"
    assert run.library_of(FOLDER / "programs" / "science_programs.py", "e3nn_linear_and_gate") == "e3nn-jax"
    assert run.library_of(FOLDER / "programs" / "transforms_programs.py", "loops") == "jax"
    assert set(suites.SUITES) <= known


def test_libraries_of_the_tests_have_the_versions_of_the_ecosystem() -> None:
    lines = (ROOT / "requirements" / "test.txt").read_text().splitlines()
    pinned = dict(line.split("==") for line in lines if "==" in line and ";" not in line)
    of_programs = {run.library_of(Path(f"{name.split('.')[0]}.py"), name.split(".")[1]) for name in PROGRAMS}
    shared = of_programs & set(pinned) - {"jax"}
    assert {"optax", "equinox", "numpyro"} <= shared
    for library in shared:
        assert pinned[library] == environments.versions()[library]


def test_a_report_of_pytest_is_read(tmp_path: Path) -> None:
    file = tmp_path / "test_things.py"
    file.write_text(
        "import pytest\n"
        "class TestIt:\n    def test_good(self): pass\n"
        "@pytest.mark.parametrize('v', ['a.b', 'c::d'])\ndef test_bad(v): assert 12345 == 1\n"
        "def test_left(): pytest.skip('no')\n"
    )
    report = tmp_path / "report.xml"
    subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-c", "/dev/null", f"--rootdir={tmp_path}", f"--junitxml={report}", file],
        check=False, capture_output=True, cwd=tmp_path,
    )  # fmt: skip
    found = suites.results(report)
    assert found["passed"] == 1 and found["skipped"] == 1
    # The names in a report are those that are made of nodes, so that failures can be run again.
    nodes = ["test_things.py::test_bad[a.b]", "test_things.py::test_bad[c::d]"]
    assert set(found["failures"]) == {suites_plugin.report_name(node) for node in nodes}
    assert set(found["failures"].values()) == {"assert … == …"}
    assert suites_plugin.report_name("a/b_test.py::C::test") == "a.b_test.C::test"


@pytest.mark.parametrize(
    ("message", "shown"),
    [
        ("ImportError: cannot import x (/home/me/lib/python3.11/a.py)", "ImportError: cannot import x (a.py)"),
        ("Failed at 0x7f12 after 12.5 s", "Failed at … after … s"),
        ("AssertionError:\n\nNot equal, see https://a.org/b/c", "AssertionError: Not equal, see https://a.org/b/c"),
    ],
)
def test_messages_lose_what_differs_between_runs(message: str, shown: str) -> None:
    assert suites.message_of(ElementTree.Element("failure", message=message)) == shown


def test_the_page_shows_what_fails_and_what_is_slower(tmp_path: Path) -> None:
    def timed(name: str, here: float) -> dict[str, Any]:
        return {
            "program": name, "error": "", "step": {"jax": 1e-3, "cotangent": here}, "first": {"jax": 1.0, "cotangent": 0.1},
        }  # fmt: skip

    suite = {
        "library": "optax", "passed": 97, "skipped": 1, "on_jax": {"a::b": "", "a::c": "E"},
        "failures": {"a::b": "ValueError: <no>", "a::c": "ValueError: <no>", "a::d": "KeyError"},
    }  # fmt: skip
    programs = [
        {"library": "optax", "program": "adam", "error": "", "seconds": {}},
        {"library": "chex", "program": "traces", "error": "values differ by up to 1", "seconds": {}},
    ]
    folder = tmp_path / "results"
    for name, result in {
        "steps/x": [timed("quick", 1e-4), timed("slow", 2e-3)],
        "programs/x": programs,
        "suites/optax": suite,
    }.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / f"{name}.json").write_text(json.dumps({"result": result, "load": 1e4}))
    page.write(page.read(folder), tmp_path / "page.md")
    text = (tmp_path / "page.md").read_text()
    version = environments.versions()["optax"]
    assert f"| optax | {version} | 1 of 1 (100.0 %) | 97 of 100 (97.0 %) | 97 of 99 (98.0 %) |" in text
    assert "| chex | traces | values differ by up to 1 |" in text
    assert "| optax | 2 | 1 of 2 | ValueError: &lt;no> |" in text
    assert "| optax | 1 |  | KeyError |" in text
    assert "1 of 2 libraries run unmodified" in text
    assert "1 of 2 (50.0 %) programs give JAX's results" in text
    assert text.index("| slow |") < text.index("| quick |")
    assert "| slow | 1 ms | 2 ms | 0.50 |" in text
    assert "more than 1.1 times slower in 1" in text
    assert "up to 10000.0 processes wanted" in text
