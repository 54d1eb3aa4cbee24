"""The notebooks run from beginning to end: their cells, in order, in one fresh process each."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from needs import require
from places import ROOT

NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))


OF_THE_PROCESSOR = {
    "01_per_example_gradients": "its kernel of 1400 examples takes many minutes where a GPU's threads run one by one",
    "03_export": "it compares bits of exported libraries, which are those of its programs",
}


@pytest.mark.parametrize(
    "path",
    [
        pytest.param(
            path,
            id=path.stem,
            marks=[pytest.mark.processor(OF_THE_PROCESSOR[path.stem])] if path.stem in OF_THE_PROCESSOR else [],
        )
        for path in NOTEBOOKS
    ],
)
def test_notebook_runs(path: Path) -> None:
    cells = json.loads(path.read_text())["cells"]
    script = "\n\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")
    if '["cc"' in script:
        require("cc")
    without_windows = {**os.environ, "MPLBACKEND": "agg"}
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=300, check=False, env=without_windows
    )
    assert done.returncode == 0, done.stderr[-4000:]


def test_the_notebooks_are_there() -> None:
    assert {path.stem for path in NOTEBOOKS} >= {
        "00_from_scratch",
        "01_per_example_gradients",
        "02_ragged",
        "03_export",
    }


@pytest.mark.parametrize("path", [path for path in NOTEBOOKS if path.stem != "00_from_scratch"], ids=lambda p: p.stem)
def test_notebook_is_stored_with_its_plots(path: Path) -> None:
    cells = [cell for cell in json.loads(path.read_text())["cells"] if cell["cell_type"] == "code"]
    for cell in cells:
        kinds = [kind for output in cell["outputs"] for kind in output.get("data", {})]
        assert ("plt.show()" in "".join(cell["source"])) == ("image/png" in kinds)
        assert not [output for output in cell["outputs"] if output["output_type"] == "error"]
