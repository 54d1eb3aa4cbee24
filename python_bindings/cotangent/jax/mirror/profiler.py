"""``jax.profiler``: marks on what a program does, with their times in a file while a trace is taken.

`cotangent.profile` shows the times of a compiled program's parts, without any marks.
"""

from __future__ import annotations

import contextlib
import functools
import gzip
import json
import os
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

__all__ = ["StepTraceAnnotation", "TraceAnnotation", "annotate_function", "start_trace", "stop_trace", "trace"]

_lock = threading.Lock()


class _Trace:
    """The marks since a trace was started, and where they are written to."""

    def __init__(self, folder: Path, is_named_for_perfetto: bool) -> None:
        self.folder = folder
        self.is_named_for_perfetto = is_named_for_perfetto
        self.events: list[dict[str, Any]] = []
        self.start = time.perf_counter()

    def write(self) -> None:
        """Writes the file that TensorBoard and Perfetto (ui.perfetto.dev) show."""
        folder = self.folder / "plugins" / "profile" / time.strftime("%Y_%m_%d_%H_%M_%S")
        folder.mkdir(parents=True, exist_ok=True)
        names = [f"{socket.gethostname()}.trace.json.gz"]
        if self.is_named_for_perfetto:
            names.append("perfetto_trace.json.gz")
        for name in names:
            with gzip.open(folder / name, "wt", encoding="utf-8") as file:
                json.dump({"displayTimeUnit": "ms", "traceEvents": self.events}, file)


_running: list[_Trace] = []


def start_trace(
    log_dir: str | os.PathLike[str], create_perfetto_link: bool = False, create_perfetto_trace: bool = False,
    profiler_options: Any = None,
) -> None:  # fmt: skip
    """Starts to note the marks of all threads, for `stop_trace` to write.

    Raises:
        RuntimeError: a trace has been started already.
        NotImplementedError: a link is asked for, for which a server would be started.
    """
    del profiler_options
    if create_perfetto_link:
        raise NotImplementedError(
            "start_trace: create_perfetto_link=True is not supported\n"
            "  pass create_perfetto_trace=True, and open the file at ui.perfetto.dev"
        )
    with _lock:
        if _running:
            raise RuntimeError(
                "Profile has already been started. Only one profile may be run at a time.\n  call stop_trace() first"
            )
        _running.append(_Trace(Path(log_dir), create_perfetto_trace))


def stop_trace() -> None:
    """Writes the marks since `start_trace` into ``plugins/profile`` of its folder.

    Raises:
        RuntimeError: no trace has been started.
    """
    with _lock:
        if not _running:
            raise RuntimeError("No profile started\n  call start_trace(folder) first")
        done = _running.pop()
    done.write()


@contextlib.contextmanager
def trace(
    log_dir: str | os.PathLike[str], create_perfetto_link: bool = False, create_perfetto_trace: bool = False,
    profiler_options: Any = None,
) -> Iterator[None]:  # fmt: skip
    """A block whose marks are noted and written."""
    start_trace(log_dir, create_perfetto_link, create_perfetto_trace, profiler_options)
    try:
        yield
    finally:
        stop_trace()


class TraceAnnotation(contextlib.ContextDecorator):
    """A mark of a name on what is run in a ``with`` block."""

    def __init__(self, name: str, **kwargs: Any) -> None:
        self.name = name
        self._details = {key: str(value) for key, value in kwargs.items()}
        self._starts: list[float] = []

    def __enter__(self) -> TraceAnnotation:
        self._starts.append(time.perf_counter())
        return self

    def __exit__(self, *exception: object) -> None:
        start = self._starts.pop()
        if not _running:
            return
        now, running = time.perf_counter(), _running[-1]
        event = {
            "name": self.name,
            "ph": "X",
            "ts": (start - running.start) * 1e6,
            "dur": (now - start) * 1e6,
            "pid": os.getpid(),
            "tid": threading.get_ident(),
            "args": self._details,
        }
        running.events.append(event)


class StepTraceAnnotation(TraceAnnotation):
    """The same for a step of a training loop."""


def annotate_function(func: Any = None, name: str | None = None, **kwargs: Any) -> Any:
    """The function, whose calls are marked."""
    if func is None:
        return functools.partial(annotate_function, name=name, **kwargs)

    @functools.wraps(func)
    def run(*args: Any, **options: Any) -> Any:
        with TraceAnnotation(name or str(getattr(func, "__qualname__", "function")), **kwargs):
            return func(*args, **options)

    return run
