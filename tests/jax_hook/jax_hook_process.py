"""Runs programs in processes where `cotangent.jax` answers for JAX: tests import JAX itself, and both cannot be in one process."""

from __future__ import annotations

import subprocess
import sys
import textwrap


def run(program: str, *options: str, install: bool = True, **environment: str) -> str:
    """What a program prints; with ``install`` the hook is installed before its first line."""
    first = "import cotangent.jax; cotangent.jax.install()\n" if install else ""
    done = subprocess.run(
        [sys.executable, *options, "-c", first + textwrap.dedent(program)],
        capture_output=True,
        text=True,
        check=False,
        env=None if not environment else {"PATH": "", **environment},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()
