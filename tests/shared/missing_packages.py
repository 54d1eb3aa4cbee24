"""Programs in a process of their own where a package is not installed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path


def run_without(package: str, program: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Runs a program of Python that cannot import a package; ``folder``: for a module that stands in its place."""
    (folder / f"{package}.py").write_text(f"raise ModuleNotFoundError(name={package!r})")
    return subprocess.run(
        [sys.executable, "-c", program],
        env=os.environ | {"PYTHONPATH": str(folder)},
        capture_output=True,
        text=True,
        check=False,
    )
