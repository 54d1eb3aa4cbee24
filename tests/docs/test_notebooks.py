"""The notebooks run from beginning to end, each in a fresh kernel, and are stored with what they show."""

from __future__ import annotations

import base64
import io
import json
import os
from pathlib import Path

import pytest
from needs import needed, require

needed("nbclient")
needed("ipykernel")

import nbformat  # noqa: E402
import notebook_runs  # noqa: E402
import numpy as np  # noqa: E402
from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError  # noqa: E402

NOTEBOOKS = sorted(notebook_runs.FOLDER.glob("*.ipynb"))

OF_THE_PROCESSOR = {
    "05_meta_learning": "its loops of thousands of steps take many minutes where a GPU's threads run one by one",
    "07_small_gpt": "its training takes many minutes where a GPU's threads run one by one",
    "01_per_example_gradients": "its kernel of 1400 examples takes many minutes where a GPU's threads run one by one",
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
def test_notebook_runs(path: Path, request: pytest.FixtureRequest) -> None:
    if path.stem == "03_export":  # bits of exported libraries are those of the processor's programs
        request.getfixturevalue("names_devices")
    notebook = notebook_runs.read(path)
    if any('["cc"' in cell.source for cell in notebook.cells):
        require("cc")
    run = notebook_runs.executed(notebook)
    # The same cells show something, of the same kinds: numbers and times in them may differ between machines.
    assert shown(run) == shown(notebook), "store it anew: ./dev notebooks " + path.stem
    assert not notebook_runs.unstable(run)


def shown(notebook: nbformat.NotebookNode) -> list[list[str]]:
    """The kinds of outputs of each cell."""
    return [
        [kind for output in cell.get("outputs", []) if output.get("name") != "stderr" for kind in kinds(output)]
        for cell in notebook.cells
    ]


def kinds(output: nbformat.NotebookNode) -> list[str]:
    return sorted(output.get("data", {})) or [output.get("name", output.output_type)]


def of_cells(*sources: str) -> nbformat.NotebookNode:
    return nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in sources])


def test_a_cell_that_raises_fails() -> None:
    with pytest.raises(CellExecutionError, match="assert x == 2"):
        notebook_runs.executed(of_cells("x = 1", "assert x == 2", "x = 3"))


def test_a_kernel_that_dies_fails() -> None:
    with pytest.raises(DeadKernelError):
        notebook_runs.executed(of_cells("import os; os.abort()"))


def test_a_kernel_ends_with_its_notebook() -> None:
    run = notebook_runs.executed(of_cells("import os\nos.getpid()"))
    number = int(run.cells[0].outputs[0].data["text/plain"])
    with pytest.raises(ProcessLookupError):
        os.kill(number, 0)


def test_a_notebook_has_so_much_time() -> None:
    with pytest.raises(CellTimeoutError):
        notebook_runs.executed(of_cells("import time; time.sleep(60)"), seconds=2)


def test_what_is_stored_is_what_a_run_shows_and_nothing_of_the_run() -> None:
    notebook = of_cells(
        "import sys\nprint('one')\nprint('two')\nprint('noise', file=sys.stderr)\n3",
        "object()",
        "from pathlib import Path\nPath.cwd()",
    )
    notebook.metadata["widgets"] = {}
    run = notebook_runs.executed(notebook)
    assert not notebook.cells[0].outputs
    place, folder = notebook_runs.unstable(run)
    assert place.startswith("0x") and folder.endswith("/here")
    text = notebook_runs.stored(run)
    assert text == notebook_runs.stored(nbformat.reads(text, as_version=4))
    first = json.loads(text)["cells"][0]
    assert [output.get("text", output.get("data")) for output in first["outputs"]] == [
        ["one\n", "two\n"],
        {"text/plain": ["3"]},
    ]
    assert first["execution_count"] is None and first["metadata"] == {}
    assert json.loads(text)["metadata"] == notebook_runs.METADATA


def test_pictures_of_the_same_pixels_stay_as_they_were() -> None:
    image = needed("PIL.Image")

    def with_picture(colour: tuple[int, int, int], level: int) -> nbformat.NotebookNode:
        file = io.BytesIO()
        image.new("RGB", (64, 64), colour).save(file, "png", compress_level=level)
        data = {"image/png": base64.b64encode(file.getvalue()).decode()}
        made = of_cells("plt.show()")
        made.cells[0].id = "plot"
        made.cells[0].outputs = [nbformat.v4.new_output("display_data", data)]
        return made

    before, same, other = with_picture((1, 2, 3), 0), with_picture((1, 2, 3), 9), with_picture((1, 2, 4), 0)
    assert notebook_runs.stored(before) != notebook_runs.stored(same)
    for now, kept in ((same, True), (other, False)):
        notebook_runs.keep_pictures(now, before)
        assert (notebook_runs.stored(now) == notebook_runs.stored(before)) == kept


def test_pictures_are_stored_with_few_colours() -> None:
    image = needed("PIL.Image")
    noise = np.random.default_rng(0).integers(0, 255, (32, 32, 4), dtype=np.uint8)
    file = io.BytesIO()
    image.fromarray(noise).save(file, "png")
    notebook = of_cells("plt.show()")
    data = {"image/png": base64.b64encode(file.getvalue()).decode()}
    notebook.cells[0].outputs = [nbformat.v4.new_output("display_data", data)]
    notebook_runs.compact_pictures(notebook)
    stored = image.open(io.BytesIO(base64.b64decode(notebook.cells[0].outputs[0].data["image/png"])))
    assert stored.mode == "P" and stored.size == (32, 32)
    colours = stored.convert("RGB").getcolors()
    assert len(colours) <= notebook_runs.COLOURS


def test_the_notebooks_are_there() -> None:
    assert {path.stem for path in NOTEBOOKS} >= {
        "00_from_scratch",
        "01_per_example_gradients",
        "02_ragged",
        "03_export",
        "04_scientific_computing",
        "05_meta_learning",
        "06_bayesian_inference",
        "07_small_gpt",
        "08_tour",
        "09_porting_from_jax",
        "10_a_primitive",
    }


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
def test_notebook_is_stored_with_its_plots(path: Path) -> None:
    notebook = notebook_runs.read(path)
    for cell in notebook.cells:
        if cell.cell_type == "code":
            pictures = [output.data["image/png"] for output in cell.outputs if "image/png" in output.get("data", {})]
            assert ("plt.show()" in cell.source) == bool(pictures)
            assert all(len(base64.b64decode(picture)) < 80_000 for picture in pictures)
            assert not [output for output in cell.outputs if output.output_type == "error"]
    assert not notebook_runs.unstable(notebook)
    assert path.read_text() == notebook_runs.stored(notebook), f"./dev notebooks --tidy {path.stem}"
