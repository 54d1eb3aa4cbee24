"""NVIDIA's assembler, ``ptxas``, where it is installed: what it makes of kernels, for `explain` (`registers`)."""

from __future__ import annotations

import importlib.util
import os
import re
from dataclasses import dataclass

__all__ = ["Registers", "find_assembler", "registers"]

_INSTALL = "pip install nvidia-cuda-nvcc brings it, or CT_PTXAS names it"


@dataclass(frozen=True)
class Registers:
    """Of a thread of a kernel.

    Attributes:
        count: registers; a GPU has 65,536 for the threads that it runs at once on one of its multiprocessors.
        spilled_bytes: of what is stored in memory because there are no more of them.
    """

    count: int
    spilled_bytes: int


def find_assembler() -> str | None:
    """The one that ``CT_PTXAS`` in the environment names (empty: none); else that of PyPI's package, of the PATH, or of an installed CUDA Toolkit."""
    import shutil

    named = os.environ.get("CT_PTXAS")
    if named is not None:
        return named or None
    package = importlib.util.find_spec("nvidia")
    folders = list(package.submodule_search_locations or ()) if package else []
    places = [os.path.join(folder, version, "bin", "ptxas") for folder in folders for version in ("cu13", "cuda_nvcc")]  # noqa: PTH118 (pathlib costs import time)
    found = [place for place in places if os.access(place, os.X_OK)]
    return next(iter(found), None) or shutil.which("ptxas") or shutil.which("/usr/local/cuda/bin/ptxas")


def registers(ptx: str) -> tuple[dict[str, Registers], str]:
    """What each kernel takes, by its name, on the architecture that its text is for; and why that is not known, where it is not."""
    import subprocess
    import tempfile

    assembler = find_assembler()
    if assembler is None:
        return {}, f"ptxas is not installed; {_INSTALL}"
    architecture = re.findall(r"^\.target (\w+)", ptx, re.MULTILINE)[0]
    with tempfile.NamedTemporaryFile("w", suffix=".ptx") as file:
        file.write(ptx)
        file.flush()
        command = [assembler, "-v", f"-arch={architecture}", file.name, "-o", os.devnull]
        try:
            ended = subprocess.run(command, capture_output=True, text=True, check=False)
        except OSError as error:
            return {}, f"{assembler} does not run: {error.strerror}; {_INSTALL}"
    if ended.returncode != 0:
        return {}, f"{assembler} fails: {ended.stderr.strip()}"
    found = {}
    for text in ended.stderr.split("Compiling entry function ")[1:]:
        count, spilled = re.search(r"Used (\d+) registers", text), re.search(r"(\d+) bytes spill stores", text)
        if count is not None:
            found[text.split("'")[1]] = Registers(int(count[1]), int(spilled[1]) if spilled else 0)
    return found, ""
