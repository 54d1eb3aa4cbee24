"""`./dev` as a module: the release runs its steps, and finds packages, as the other commands do."""

from __future__ import annotations

import importlib.util
import sys
from importlib.machinery import SourceFileLoader
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent


def _load() -> Any:
    sys.dont_write_bytecode = True
    loader = SourceFileLoader("cotangent_dev", str(ROOT / "dev"))
    spec = importlib.util.spec_from_loader(loader.name, loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


dev = _load()
