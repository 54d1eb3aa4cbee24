"""The notebooks run from beginning to end: their cells, in order, in one fresh process each."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

NOTEBOOKS = sorted((Path(__file__).resolve().parent.parent / "notebooks").glob("*.ipynb"))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
def test_notebook_runs(path: Path) -> None:
    cells = json.loads(path.read_text())["cells"]
    script = "\n\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr[-4000:]


def test_the_first_notebook_is_there() -> None:
    assert "00_from_scratch" in [path.stem for path in NOTEBOOKS]
