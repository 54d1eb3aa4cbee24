"""``jax.profiler``: marks for a profiler. `cotangent.profile` shows the times of a program's parts without any."""

from __future__ import annotations

import contextlib
from typing import Any

__all__ = ["StepTraceAnnotation", "TraceAnnotation", "annotate_function"]


class TraceAnnotation(contextlib.ContextDecorator):
    """A mark of a name on what is run in a ``with`` block, with nobody to read it."""

    def __init__(self, name: str, **_: Any) -> None:
        self.name = name

    def __enter__(self) -> TraceAnnotation:
        return self

    def __exit__(self, *exception: object) -> None: ...


class StepTraceAnnotation(TraceAnnotation):
    """The same for a step of a training loop."""


def annotate_function(func: Any = None, name: str | None = None, **_: Any) -> Any:
    """The function, marked."""
    return (lambda given: given) if func is None else func
