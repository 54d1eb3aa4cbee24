"""``python -m cotangent.jax program.py [arguments]``, or ``-m module [arguments]``: runs a program written for JAX on cotangent."""

from __future__ import annotations

import argparse
import runpy
import sys
from pathlib import Path

from cotangent.jax import install


def main(arguments: list[str]) -> None:
    """Runs the program as ``python`` would, with ``jax`` answered by cotangent."""
    parser = argparse.ArgumentParser(
        prog="python -m cotangent.jax",
        usage="python -m cotangent.jax [-m] PROGRAM [ARGUMENT ...]",
        description="Runs a program written for JAX on cotangent.",
    )
    parser.add_argument("-m", dest="module", action="store_true", help="PROGRAM is the name of a module, not a file")
    parser.add_argument("program", metavar="PROGRAM", help="a Python file, or a folder with a __main__.py")
    parser.add_argument("arguments", metavar="ARGUMENT", nargs=argparse.REMAINDER, help="handed to the program")
    given = parser.parse_args(arguments)
    install()
    sys.argv = [given.program, *given.arguments]
    if given.module:
        sys.path.insert(0, str(Path.cwd()))
        runpy.run_module(given.program, run_name="__main__", alter_sys=True)
        return
    if not Path(given.program).exists():
        parser.error(f"there is no file {given.program}")
    if Path(given.program).is_file():
        sys.path.insert(0, str(Path(given.program).resolve().parent))
    runpy.run_path(given.program, run_name="__main__")


if __name__ == "__main__":
    main(sys.argv[1:])
