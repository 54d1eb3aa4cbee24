"""``jax._src.array``."""

from __future__ import annotations

from cotangent._core import Array
from cotangent.jax.internals.processes import (
    make_array_from_callback,
    make_array_from_process_local_data,
    make_array_from_single_device_arrays,
)
from cotangent.jax.internals.shards import Shard

__all__ = [
    "ArrayImpl",
    "Shard",
    "make_array_from_callback",
    "make_array_from_process_local_data",
    "make_array_from_single_device_arrays",
]

ArrayImpl = Array
