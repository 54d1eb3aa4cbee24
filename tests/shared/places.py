"""Where things are: tests say `from places import ROOT`, wherever their folder is."""

from __future__ import annotations

from pathlib import Path

TESTS = Path(__file__).resolve().parent.parent
ROOT = TESTS.parent  # of the repository, or of the folder that `./dev pack-gpu` makes
