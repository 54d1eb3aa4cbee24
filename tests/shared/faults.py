"""Takes away what a process has: packages, files, room on the disk. For programs that fail without (tests/errors)."""

from __future__ import annotations

import contextlib
import importlib
import os
import resource
import sys
from collections.abc import Iterator

from cotangent import _core


@contextlib.contextmanager
def without(package: str) -> Iterator[None]:
    """A package is not installed."""
    kept = {name: module for name, module in sys.modules.items() if name.partition(".")[0] == package}
    finder = _Without(package)
    for name in kept:
        del sys.modules[name]
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)
        sys.modules.update(kept)


class _Without:
    def __init__(self, package: str) -> None:
        self._package = package

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:
        if name.partition(".")[0] == self._package:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


@contextlib.contextmanager
def _limited(limit: int, value: int) -> Iterator[None]:
    before = resource.getrlimit(limit)
    resource.setrlimit(limit, (value, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(limit, before)


def without_libraries() -> contextlib.AbstractContextManager[None]:
    """No file can be opened, so none of a library either."""
    return _limited(resource.RLIMIT_NOFILE, 0)


def full_disk(size: int) -> contextlib.AbstractContextManager[None]:
    """Files end at that size."""
    return _limited(resource.RLIMIT_FSIZE, size)


def started(module: str, **environment: str) -> None:
    """Runs a module of the package again, as if the process had begun with these variables."""
    os.environ.update(environment)
    try:
        importlib.reload(importlib.import_module(module))
    except Exception as error:
        _core.shorten_traceback(error)
        raise
