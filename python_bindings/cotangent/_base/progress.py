"""What a loop tells of how far it is: to a bar of the package tqdm, or to a function."""

from __future__ import annotations

import importlib
import threading
from collections.abc import Callable
from typing import Any

Progress = bool | str | Callable[[int, int], Any] | None

REPORTS = 100  # at most so many, and one for the end: each leaves the compiled loop


class Reporter:
    """Is called with the number of steps that are done. A number no larger than the last begins anew: the program was called again."""

    def __init__(self, progress: bool | str | Callable[[int, int], Any], total: int) -> None:
        self._total = total
        self._lock = threading.Lock()
        self._tell = None if isinstance(progress, (bool, str)) else progress
        if self._tell is None:
            self._new_bar = _bars(progress if isinstance(progress, str) else None, total)
            self._bar: Any = None

    def __call__(self, done: Any) -> None:
        count = int(done)
        if self._tell is not None:
            self._tell(count, self._total)
            return
        with self._lock:
            if self._bar is not None and count <= self._bar.n:
                self._bar.close()
                self._bar = None
            if self._bar is None:
                self._bar = self._new_bar()
            self._bar.update(count - self._bar.n)
            if count == self._total:
                self._bar.close()
                self._bar = None


def _bars(text: str | None, total: int) -> Callable[[], Any]:
    try:
        tqdm = importlib.import_module("tqdm.auto").tqdm
    except ModuleNotFoundError:
        raise ImportError(
            "scan: progress needs the package tqdm\n  pip install tqdm, or pass a function of the steps done and of all steps"
        ) from None
    return lambda: tqdm(total=total, desc=text)
