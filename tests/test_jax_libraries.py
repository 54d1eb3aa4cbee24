"""`cotangent.jax`: programs of unmodified libraries, and of JAX alone, give what they give on JAX. `tests/ecosystem/run.py` runs all of them."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

RUN = Path(__file__).parent / "ecosystem" / "run.py"

# One program of each library; those of JAX alone need JAX.
PROGRAMS = {
    "transforms_programs.loops": "jax",
    "transforms_programs.branches": "jax",
    "transforms_programs.random_numbers": "jax",
    "transforms_programs.indexing_and_updates": "jax",
    "transforms_programs.custom_jvp_log1pexp": "jax",
    "optax_programs.adamw_with_schedule": "optax",
    "equinox_programs.mlp_training": "equinox",
    "flax_linen_programs.mlp_training": "flax",
    "flax_nnx_programs.split_and_merge": "flax",
    "haiku_programs.mlp_training": "haiku",
    "diffrax_programs.gradient_by_checkpoints": "diffrax",
    "numpyro_programs.log_densities": "numpyro",
}


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_program_gives_the_results_of_jax(program: str) -> None:
    for library in ("jax", PROGRAMS[program]):
        if importlib.util.find_spec(library) is None:
            pytest.skip(f"{library} is not installed here")
    done = subprocess.run(
        [sys.executable, RUN, "--only", program], capture_output=True, text=True, check=False, timeout=600
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "1 of 1 programs give JAX's results.", done.stdout


def test_a_program_that_differs_is_reported(tmp_path: Path) -> None:
    spec = importlib.util.spec_from_file_location("ecosystem_run", RUN)
    assert spec is not None and spec.loader is not None
    run = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(run)
    line = {"program": "p", "values": [["float32", [2], [1.0, 2.0]]]}
    assert run.difference(line, line) == ""
    assert run.difference(line, {"values": [["float32", [2], [1.0, 2.1]]]}) == "values differ by up to 0.1"
    assert run.difference(line, {"values": [["float64", [2], [1.0, 2.0]]]}) == "float64[2] for float32[2]"
    assert run.difference(line, {"values": []}) == "0 leaves for 1"
    assert run.difference(line, {"error": "ValueError: no"}) == "ValueError: no"
    assert run.difference({"error": "E"}, line) == "fails on JAX, too: E"
