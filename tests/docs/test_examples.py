"""The programs of examples/ports: each reaches its outcome, and the same file with JAX's imports gives the same numbers."""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import platform
import re
import subprocess
import sys
from pathlib import Path

import pytest
from needs import require
from places import ROOT

PORTS = sorted((ROOT / "examples" / "ports").glob("*.py"))
# Figures that rounding may change: steps of an iteration, distances near zero, text chosen by argmax, accuracies by one example.
TOLERANCE = {"iterations": None, "difference": None, "sample": None, "accuracy": 0.03, "rhat": 0.05, "acceptance": 0.02}
IMPORTS = [
    (r"^import cotangent as jax$", "import jax"),
    (r"^import cotangent\.numpy as jnp$", "import jax.numpy as jnp"),
    (r"^from cotangent\b", "from jax"),
]


def run(source: str, name: str) -> dict[str, object]:
    """Runs a program in a process of its own, its assertions included; returns what `main` gives."""
    ending = "import json\nprint('RESULT', json.dumps(result))\n"
    script = source.replace("    print(result)\n", "") + ending
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, f"{name}\n{done.stdout[-2000:]}{done.stderr[-4000:]}"
    return json.loads(done.stdout.split("RESULT ")[1])


def of_jax(source: str) -> dict[str, object]:
    """What a program gives with JAX's imports: of the same text, versions and machine it is remembered, and not run again."""
    for pattern, replacement in IMPORTS:
        source = re.sub(pattern, replacement, source, flags=re.MULTILINE)
    assert not re.search(r"^\s*(import|from) cotangent\b", source, re.MULTILINE)
    versions = [importlib.metadata.version(name) for name in ("jax", "jaxlib", "numpy", "scikit-learn")]
    which = json.dumps([source, versions, sys.version, platform.node(), platform.machine()])
    remembered = ROOT / ".cache" / "jax-results" / f"{hashlib.sha256(which.encode()).hexdigest()[:32]}.json"
    if not remembered.exists():
        remembered.parent.mkdir(parents=True, exist_ok=True)
        remembered.write_text(json.dumps(run(source, "jax")))
    return json.loads(remembered.read_text())


@pytest.mark.parametrize("path", PORTS, ids=lambda path: path.stem)
def test_a_program_by_its_imports(path: Path) -> None:
    source = path.read_text().replace("Path(__file__)", f"Path({str(path)!r})")
    ours = run(source, "cotangent")
    require("jax")
    theirs = of_jax(source)
    assert ours.keys() == theirs.keys()
    for key, expected in theirs.items():
        tolerance = TOLERANCE.get(key, 0.02)
        if tolerance is not None:
            assert ours[key] == pytest.approx(expected, rel=tolerance), f"{key}: {ours} and with JAX {theirs}"
