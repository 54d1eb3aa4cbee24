"""``jax.distributed``: a group of one process."""

from __future__ import annotations

from typing import Any

__all__ = ["initialize", "is_initialized", "shutdown"]

_initialized: list[bool] = []


def initialize(
    coordinator_address: str | None = None, num_processes: int | None = None, process_id: int | None = None, **_: Any
) -> None:
    """Joins a group of processes, which must be this one alone.

    Raises:
        ValueError: there are to be others.
        RuntimeError: it was called before.
    """
    if num_processes not in (None, 1):
        raise ValueError(
            f"jax.distributed.initialize: {num_processes} processes; arrays are on one device of one process here\n"
            "  pass num_processes=1, or leave it out"
        )
    if _initialized:
        raise RuntimeError(
            "distributed.initialize should only be called once.\n"
            "  call jax.distributed.shutdown() before, or ask jax.distributed.is_initialized()"
        )
    _initialized.append(True)


def is_initialized() -> bool:
    """Whether the group has been joined."""
    return bool(_initialized)


def shutdown() -> None:
    """Leaves the group."""
    _initialized.clear()
