"""Runs notebooks, each in a kernel of its own, and stores what they show: `./dev notebooks 02_ragged`, `./dev notebooks` for all.

`executed` runs one from its first cell to its last, in an empty folder, and gives it with its outputs; it raises what went wrong.
`stored` is its text as it belongs in the repository: in nbformat's own order and layout, without counts of executions, times of
execution and what went to stderr. Pictures have few colours, and one whose pixels are those that were stored stays as it was. `unstable` finds what another
machine, or the next run, would show otherwise: absolute paths and addresses of objects.
"""

from __future__ import annotations

import argparse
import base64
import copy
import io
import os
import re
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError
from nbformat import NotebookNode
from traitlets.config import Config

FOLDER = Path(__file__).resolve().parents[2] / "notebooks"
SECONDS = 600  # that a whole notebook may take
COLOURS = 128  # of a stored picture
METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}
# A path of two levels at least, that begins neither in a word nor behind another slash; where an object lies in memory.
UNSTABLE = re.compile(r"(?<![\w.:/)<])/[A-Za-z][\w.-]*/[\w./-]+|\b0x[0-9a-f]{8,}\b")


def read(path: Path) -> NotebookNode:
    """The notebook of a file."""
    return nbformat.read(path, as_version=4)


def executed(notebook: NotebookNode, seconds: float = SECONDS) -> NotebookNode:
    """The notebook with the outputs of one run of all its cells; what a cell raises is a `CellExecutionError`."""
    run = copy.deepcopy(notebook)
    with tempfile.TemporaryDirectory(prefix="notebook-") as folder:
        here = Path(folder) / "here"
        here.mkdir()
        # Sockets in files: free ports that are looked up are not free for long where other kernels start, too.
        kernel = {"transport": "ipc", "connection_file": str(Path(folder) / "kernel.json")}
        end = time.monotonic() + seconds
        client = NotebookClient(
            run,
            kernel_name="python3",
            config=Config(KernelManager=kernel),
            resources={"metadata": {"path": str(here)}},
            timeout_func=lambda cell: max(1.0, end - time.monotonic()),
            coalesce_streams=True,
            record_timing=False,
            shutdown_kernel="immediate",
            extra_arguments=["--HistoryManager.enabled=False", "--InteractiveShell.colors=nocolor"],
        )
        environment = {
            **os.environ,
            "IPYTHONDIR": folder,
            "IPYKERNEL_CELL_NAME": "cell",  # else programs that are printed name a file with the kernel's number
            "MPLBACKEND": "module://matplotlib_inline.backend_inline",
        }
        client.execute(env=environment)
    return run


def outputs(notebook: NotebookNode) -> Iterator[NotebookNode]:
    """All outputs, in their order."""
    for cell in notebook.cells:
        yield from cell.get("outputs", [])


def text_of(output: NotebookNode) -> str:
    """What an output says in letters."""
    return (
        output.get("text", "") or output.get("data", {}).get("text/plain", "") or "\n".join(output.get("traceback", []))
    )


def unstable(notebook: NotebookNode) -> list[str]:
    """What outputs show that belongs to one machine or one run."""
    return [found[0] for output in outputs(notebook) for found in UNSTABLE.finditer(text_of(output))]


def same_picture(one: str, other: str) -> bool:
    """Whether two PNGs have the same pixels; how they are packed depends on versions."""
    from PIL import Image, ImageChops

    left, right = (Image.open(io.BytesIO(base64.b64decode(text))).convert("RGBA") for text in (one, other))
    # Of one channel each: the box of all four would be that of the opacity alone.
    return left.size == right.size and all(
        ImageChops.difference(a, b).getbbox() is None for a, b in zip(left.split(), right.split(), strict=True)
    )


def compact_pictures(notebook: NotebookNode) -> None:
    """Gives pictures a palette: plots have few colours, and take a third of the bytes so."""
    from PIL import Image

    for output in outputs(notebook):
        if picture := output.get("data", {}).get("image/png"):
            full = Image.open(io.BytesIO(base64.b64decode(picture))).convert("RGBA")
            page = Image.alpha_composite(Image.new("RGBA", full.size, "white"), full).convert("RGB")
            file = io.BytesIO()
            page.quantize(COLOURS, Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE).save(file, "png", optimize=True)
            output.data["image/png"] = base64.b64encode(file.getvalue()).decode()


def keep_pictures(notebook: NotebookNode, before: NotebookNode) -> None:
    """Puts the pictures of `before` where those of the notebook show the same."""
    known = {cell.get("id"): cell for cell in before.cells}
    for cell in notebook.cells:
        old = known.get(cell.get("id"), {}).get("outputs", [])
        for output, earlier in zip(cell.get("outputs", []), old, strict=False):
            pictures = [one.get("data", {}).get("image/png") for one in (output, earlier)]
            if all(pictures) and same_picture(*pictures):
                output.data["image/png"] = pictures[1]


def stored(notebook: NotebookNode) -> str:
    """The text of the notebook's file."""
    clean = copy.deepcopy(notebook)
    clean.metadata = nbformat.from_dict(METADATA)
    clean.nbformat, clean.nbformat_minor = 4, 5
    for cell in clean.cells:
        cell.metadata.pop("execution", None)
        if cell.cell_type != "code":
            continue
        cell.execution_count = None
        cell.outputs = [output for output in cell.outputs if output.get("name") != "stderr"]
        for output in cell.outputs:
            if output.output_type == "execute_result":
                output.execution_count = None
            if "metadata" in output:
                output.metadata = NotebookNode()
    nbformat.validate(clean)
    return nbformat.writes(clean) + "\n"


def renew(path: Path) -> str:
    """Runs a notebook and stores it; says what became of it."""
    before = read(path)
    begin = time.perf_counter()
    notebook = executed(before)
    seconds = time.perf_counter() - begin
    if found := unstable(notebook):
        raise ValueError(f"{path.name} shows what belongs to one machine or one run: {', '.join(sorted(set(found)))}")
    for output in outputs(notebook):
        if output.get("name") == "stderr":
            print(output.text, end="", file=sys.stderr)
    compact_pictures(notebook)
    keep_pictures(notebook, before)
    return f"{seconds:5.1f} s  {write(path, stored(notebook))}"


def write(path: Path, text: str) -> str:
    """Writes a notebook's file where its text is another."""
    if path.read_text() == text:
        return "as it was"
    path.write_text(text)
    return "stored"


def main() -> None:
    """Runs those that are named, or all."""
    parser = argparse.ArgumentParser(prog="./dev notebooks", description="Run notebooks and store what they show.")
    parser.add_argument("names", nargs="*", metavar="NAME", help="of notebooks/NAME.ipynb; all without")
    parser.add_argument(
        "--tidy", action="store_true", help="run nothing: bring files into the form in which they are stored"
    )
    options = parser.parse_args()
    paths = [FOLDER / f"{Path(name).stem}.ipynb" for name in options.names] or sorted(FOLDER.glob("*.ipynb"))
    if missing := [path.stem for path in paths if not path.exists()]:
        parser.error(f"there is no notebook {', '.join(missing)}")
    failed = False
    for path in paths:
        print(f"{path.stem:28}", end="", flush=True)
        try:
            print(write(path, stored(read(path))) if options.tidy else renew(path), flush=True)
        except (CellExecutionError, CellTimeoutError, DeadKernelError, ValueError) as error:
            print(f"not stored\n{error}", flush=True)
            failed = True
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
