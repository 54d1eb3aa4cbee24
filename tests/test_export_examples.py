"""The examples of exported programs: on a microcontroller, and in a browser."""

from __future__ import annotations

import html
import importlib.util
import json
import re
import shutil
import subprocess
from pathlib import Path
from types import ModuleType

import pytest

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"


def example(path: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(Path(path).stem, EXAMPLES / path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_microcontroller_learns_what_this_machine_does(tmp_path: Path) -> None:
    for tool in ("clang", "ld.lld", "qemu-system-arm"):
        if shutil.which(tool) is None:
            pytest.skip(f"needs {tool}")
    train = example("microcontroller/train.py")
    printed = train.run(tmp_path)
    losses = [int(found) / 1e6 for found in re.findall(r"loss (\d+)e-6", printed)]
    assert losses == pytest.approx(train.losses(), rel=0.02, abs=2e-6)
    assert losses[0] > 0.5 and losses[-1] < 0.002 and printed.endswith("done\n")


def test_a_page_learns_digits(tmp_path: Path) -> None:
    browser = next(filter(None, map(shutil.which, ("chromium-headless-shell", "chromium"))), None)
    if browser is None:
        pytest.skip("needs chromium-headless-shell")
    pytest.importorskip("sklearn")
    page = tmp_path / "digits.html"
    page.write_text(example("browser/page.py").page())
    assert not re.search(r"""(src|href)=["']|https?://""", page.read_text())  # it loads nothing
    options = ["--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=20000", "--dump-dom"]
    done = subprocess.run(
        [browser, *options, f"{page.as_uri()}#demo"], capture_output=True, text=True, timeout=120, check=True
    )
    found = re.search(r'data-ready="([^"]*)"', done.stdout)
    assert found, done.stderr[-2000:]
    state = json.loads(html.unescape(found[1]))
    assert state["losses"] == 500 and state["accuracy"] > 0.93
