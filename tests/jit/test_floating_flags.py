"""Compiling leaves the processor's flags of divisions by zero and the like as they were.

NumPy asks for them after a function that it calls for each element, and would take those of a compiler for its own.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import cotangent as ct, cotangent.numpy as cnp, numpy as np
function = {
    "jit": ct.jit(lambda x: cnp.tanh(x) * 2.25),
    "grad": ct.grad(lambda x: x**2),
    "eager": lambda x: cnp.exp(-x) + 1,
}["%s"]
with np.errstate(all="raise"):
    print(*map(float, np.frompyfunc(function, 1, 1)(np.ones(2, np.float32))))
"""
EXPECTED = {"jit": 1.7135870, "grad": 2.0, "eager": 1.3678794}


@pytest.mark.parametrize("of", list(EXPECTED))
def test_a_function_that_is_compiled_within_one_of_numpys(of: str, tmp_path: Path) -> None:
    # In a process of its own, which sets up the compiler, and stores what it compiles.
    environment = {**os.environ, "CT_CACHE_DIR": str(tmp_path)}
    run = subprocess.run(
        [sys.executable, "-c", PROGRAM % of], env=environment, capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr
    assert [float(x) for x in run.stdout.split()] == pytest.approx([EXPECTED[of]] * 2, rel=1e-6)
