"""Sums of products in another order have the same bits with any number of threads: for plans of every kind, those in blocks, too."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

PROGRAM = Path(__file__).with_name("contract_threads.py")


def digests(threads: int) -> list[str]:
    environment = {**os.environ, "CT_THREADS": str(threads)}
    run = subprocess.run(
        [sys.executable, PROGRAM], env=environment, capture_output=True, text=True, timeout=600, check=False
    )
    assert run.returncode == 0, run.stderr
    return run.stdout.splitlines()


def test_equal_bits_with_one_thread_and_two() -> None:
    one, two = digests(1), digests(2)
    assert len(one) == 5 * (5 * 9 + 6)
    assert one == two
