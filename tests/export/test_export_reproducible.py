"""An export on other processors writes the same bytes."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

import cotangent as ct
import pytest
from needs import needs

PROGRAM = """\
import hashlib, json, sys
from pathlib import Path
import numpy as np
import cotangent as ct
import cotangent.numpy as cnp

def loss(params, x, y):
    return cnp.mean((cnp.tanh(x @ params["w"] + params["b"]) @ params["v"] - y) ** 2)

def step(params, x, y):
    gradient = ct.grad(loss)(params, x, y)
    return {"params": ct.tree.map(lambda p, g: p - 0.1 * g, params, gradient)}

def ones(*shape):
    return np.ones(shape, np.float32)

params = {"w": ones(8, 16), "b": ones(16), "v": ones(16, 2)}
functions = {
    "step": ct.export.function(step, params, ones(4, 8), ones(4, 2), donate="params"),
    "sort": ct.export.function(lambda x: cnp.sort(x), ones(100)),
    "factor": ct.export.function(cnp.linalg.cholesky, np.eye(20, dtype=np.float32)),
    "large": ct.export.function(lambda x: cnp.sin(x) @ x, ones(200, 200)),
}
folder = Path(sys.argv[1])
made = ct.export.library("two", functions)
made.save(folder, files=("h", "c", "a", "so", "ctir", "hpp", "rs", "py", "jl", "cmake", "pc"))
made.save(folder / "arm", target="aarch64")
files = sorted(file for file in folder.rglob("*") if file.is_file())
print(json.dumps({str(file.relative_to(folder)): hashlib.sha256(file.read_bytes()).hexdigest() for file in files}))
"""


@needs("qemu-x86_64")
@pytest.mark.skipif(ct.export.default_target() != "x86-64", reason="needs a processor with x86-64")
def test_other_processors_write_the_same(tmp_path: Path) -> None:
    program = tmp_path / "export.py"
    program.write_text(PROGRAM)
    packages = os.pathsep.join(filter(None, sys.path))

    def run(*command: str) -> subprocess.CompletedProcess[str]:
        environment = {**os.environ, "PYTHONPATH": packages}
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)

    def hashes(folder: str, *emulator: str) -> dict[str, str]:
        done = run(*emulator, os.path.realpath(sys.executable), str(program), str(tmp_path / folder))
        assert done.returncode == 0, done.stderr[-3000:]
        return dict(json.loads(done.stdout))

    here = hashes("here")
    assert len(here) == 16 == len(set(here.values()))
    assert here["two.h"] == hashlib.sha256((tmp_path / "here" / "two.h").read_bytes()).hexdigest()
    for processor in ("Nehalem", "Haswell"):
        emulator = ["qemu-x86_64", "-cpu", processor]
        # NumPy's own library for linear algebra stops on some combinations of emulator and host.
        if run(*emulator, os.path.realpath(sys.executable), "-c", "import numpy").returncode == 0:
            assert hashes(processor, *emulator) == here
