"""``jax.experimental.multihost_utils``: what processes say to each other, of which there is one."""

from __future__ import annotations

from typing import Any

import numpy as np

from cotangent import tree_util

__all__ = [
    "assert_equal",
    "broadcast_one_to_all",
    "global_array_to_host_local_array",
    "host_local_array_to_global_array",
    "process_allgather",
    "sync_global_devices",
]


def broadcast_one_to_all(in_tree: Any, is_source: bool | None = None) -> Any:
    """The arrays of the one process."""
    return tree_util.tree_map(np.asarray, in_tree)


def process_allgather(in_tree: Any, tiled: bool = False) -> Any:
    """The arrays of all processes: along a new first axis of size 1, or with ``tiled`` one behind the other."""
    return tree_util.tree_map(lambda x: np.asarray(x) if tiled else np.asarray(x)[None], in_tree)


def sync_global_devices(name: str) -> None:
    """Waits for the other processes, of which there are none."""


def assert_equal(in_tree: Any, fail_message: str = "") -> None:
    """Whether all processes have the same arrays."""


def host_local_array_to_global_array(local_inputs: Any, global_mesh: Any, pspecs: Any) -> Any:
    """The arrays, which are whole on this process."""
    return local_inputs


def global_array_to_host_local_array(global_inputs: Any, global_mesh: Any, pspecs: Any) -> Any:
    """The arrays, which are whole on this process."""
    return global_inputs
