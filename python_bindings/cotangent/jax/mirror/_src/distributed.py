"""``jax._src.distributed``: the state of the connection between processes, of which there is one."""

from __future__ import annotations

import dataclasses
from typing import Any

from cotangent.jax.mirror.distributed import initialize, shutdown

__all__ = ["State", "global_state", "initialize", "shutdown"]


@dataclasses.dataclass
class State:
    """Which process this is, and what it is connected to: nothing."""

    process_id: int = 0
    num_processes: int = 1
    service: Any = None
    client: Any = None
    preemption_sync_manager: Any = None
    coordinator_address: str | None = None
    slice_index: int | None = None


global_state = State()
