"""Files that take their places together."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Mapping
from pathlib import Path


def write_files(directory: Path, files: Mapping[str, bytes]) -> None:
    """All of the files into the directory, which is made; or on an error none of them: the old ones are as they were."""
    directory.mkdir(parents=True, exist_ok=True)
    written: list[tuple[Path, Path]] = []
    try:
        for index, (name, data) in enumerate(files.items()):
            # Names of files have up to 255 bytes, of which a function's may take all.
            temporary = directory / f".{os.getpid()}.{threading.get_ident()}.{index}.part"
            written.append((temporary, directory / name))
            with temporary.open("wb") as file:
                file.write(data)
        for temporary, path in written:
            temporary.replace(path)
    except OSError:
        for temporary, _ in written:
            with contextlib.suppress(OSError):
                temporary.unlink(missing_ok=True)
        raise
