"""What pytest runs of a library's tests: leaves some out, takes a share of many, or only those that failed before (see `suites.py`)."""

from __future__ import annotations

import contextlib
import json
import os
import zlib
from pathlib import Path
from typing import Any

import pytest

LEFT_OUT = json.loads(os.environ.get("ECOSYSTEM_LEFT_OUT", "[]"))
SHARE = int(os.environ.get("ECOSYSTEM_SHARE", "1"))
THESE = os.environ.get("ECOSYSTEM_THESE")


def report_name(node: str) -> str:
    """The name of a test in the report, from its node: `folder/file.py::Class::test` is `folder.file.Class::test`."""
    names = node.split("::") if "[" not in node else [*node[: node.index("[")].split("::")]
    rest = node[node.index("[") :] if "[" in node else ""
    names[0] = names[0].removesuffix(".py").replace("/", ".")
    return f"{'.'.join(names[:-1])}::{names[-1]}{rest}"


def pytest_configure(config: pytest.Config) -> None:
    """Flags of absl have their defaults, as its own runner would give them."""
    with contextlib.suppress(ImportError):
        from absl import flags

        flags.FLAGS.mark_as_parsed()


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Whether a file is left out."""
    return True if any(part.endswith(".py") and str(collection_path).endswith(part) for part in LEFT_OUT) else None


def pytest_collection_modifyitems(config: pytest.Config, items: list[Any]) -> None:
    """Leaves out what is not to run."""
    these = set(json.loads(Path(THESE).read_text())) if THESE else None

    def wanted(item: Any) -> bool:
        if any(part in item.nodeid for part in LEFT_OUT):
            return False
        if these is not None:
            return report_name(item.nodeid) in these
        return SHARE == 1 or zlib.crc32(item.nodeid.encode()) % SHARE == 0

    kept = [item for item in items if wanted(item)]
    config.hook.pytest_deselected(items=[item for item in items if item not in set(kept)])
    items[:] = kept
