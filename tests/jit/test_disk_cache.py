"""The folder of compiled code: bounded, what was not used for the longest goes first."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

PROGRAM = """
import sys
import cotangent as ct
for i in range(int(sys.argv[2]), int(sys.argv[1]) + int(sys.argv[2])):
    assert float(ct.jit(lambda x: x * float(i + 2))(2.0)) == 2.0 * (i + 2)
"""


def run(folder: Path, count: int, megabytes: str | None, first: int = 0) -> None:
    environment = {**os.environ, "CT_CACHE_DIR": str(folder)}
    if megabytes is not None:
        environment["CT_CACHE_MEGABYTES"] = megabytes
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(count), str(first)],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


def test_what_is_compiled_is_kept_in_folders_of_a_share_each(tmp_path: Path) -> None:
    run(tmp_path, 300, None)
    kept = files(tmp_path)
    assert 300 <= len(kept) <= 310
    assert all(path.parent.parent == tmp_path and path.name.startswith(path.parent.name) for path in kept)
    before = {path.name for path in kept}
    run(tmp_path, 300, None)
    assert {path.name for path in files(tmp_path)} == before  # found, and not stored again


def test_no_more_is_kept_than_is_allowed(tmp_path: Path) -> None:
    run(tmp_path, 2000, "1")
    first = {path.name for path in files(tmp_path)}
    for name in first:
        os.utime(tmp_path / name[:2] / name, (1e9, 1e9))
    run(tmp_path, 2000, "1", first=10_000)
    kept = {path.name for path in files(tmp_path)}
    # The last one of each folder stays, and an eighth of what is stored looks at its folder.
    assert len(kept) < 2000
    assert len(kept - first) > 2 * len(kept & first), "what was not used for the longest goes first"


def test_folders_that_others_can_write_are_not_used(tmp_path: Path) -> None:
    folder = tmp_path / "cache"
    folder.mkdir(mode=0o777)
    folder.chmod(0o777)
    run(folder, 2, None)
    assert files(folder) == []
