"""``jax``: what `cotangent` has otherwise. The modules of this package are laid out as JAX's are; `jax._src` has no other counterparts."""

from __future__ import annotations

import contextlib
import platform
import sys
from typing import Any

import numpy as np

import cotangent as ct
from cotangent.jax.internals.avals import (
    typeof,
)
from cotangent.jax.internals.jaxprs import (
    make_jaxpr,
)
from cotangent.jax.internals.meshes import (
    NamedSharding,
    make_mesh,
    reshard,
    set_mesh,
)
from cotangent.jax.internals.meshes import (
    PartitionSpec as P,
)
from cotangent.jax.internals.processes import (
    copy_to_host_async,
    devices,
    host_count,
    host_id,
    host_ids,
    local_devices,
    make_array_from_callback,
    make_array_from_process_local_data,
    make_array_from_single_device_arrays,
    process_indices,
)
from cotangent.jax.internals.references import (
    Ref,
    empty_ref,
    free_ref,
    freeze,
    new_ref,
)
from cotangent.jax.internals.sharded import shard_map, smap
from cotangent.jax.internals.shards import Shard
from cotangent.jax.internals.transforms import (
    checkpoint,
    device_get,
    device_put,
    eval_shape,
    grad,
    hessian,
    jacfwd,
    jacrev,
    jit,
    jvp,
    linearize,
    pmap,
    value_and_grad,
    vjp,
    vmap,
)
from cotangent.jax.internals.transforms import (
    checkpoint as remat,
)
from cotangent.jax.internals.transforms import (
    jacrev as jacobian,
)
from cotangent.jax.names import JAX_VERSION
from cotangent.jax.settings import (
    config,
    enable_x64,
    threefry_partitionable,
)

__all__ = [
    "NamedSharding",
    "P",
    "Ref",
    "Shard",
    "array_garbage_collection_guard",
    "check_tracer_leaks",
    "checking_leaks",
    "checkpoint",
    "clear_caches",
    "config",
    "copy_to_host_async",
    "debug_key_reuse",
    "default_prng_impl",
    "device_get",
    "device_put",
    "devices",
    "empty_ref",
    "enable_checks",
    "enable_custom_prng",
    "enable_x64",
    "eval_shape",
    "explain_cache_misses",
    "free_ref",
    "freeze",
    "grad",
    "hessian",
    "host_count",
    "host_id",
    "host_ids",
    "jacfwd",
    "jacobian",
    "jacrev",
    "jit",
    "jvp",
    "legacy_prng_key",
    "linearize",
    "local_devices",
    "log_compiles",
    "make_array_from_callback",
    "make_array_from_process_local_data",
    "make_array_from_single_device_arrays",
    "make_jaxpr",
    "make_mesh",
    "new_ref",
    "numpy_dtype_promotion",
    "numpy_rank_promotion",
    "pmap",
    "print_environment_info",
    "process_indices",
    "remat",
    "reshard",
    "set_mesh",
    "shard_map",
    "smap",
    "softmax_custom_jvp",
    "thread_guard",
    "threefry_partitionable",
    "transfer_guard",
    "transfer_guard_device_to_device",
    "transfer_guard_device_to_host",
    "transfer_guard_host_to_device",
    "typeof",
    "value_and_grad",
    "vjp",
    "vmap",
]


class _no_check(contextlib.ContextDecorator):  # noqa: N801 (what is called is the option)
    """A ``with`` block, or a decorator, of an option that has nothing to act on."""

    def __init__(self, *_: Any, **__: Any) -> None: ...

    def __enter__(self) -> None: ...

    def __exit__(self, *exception: object) -> None: ...


# What they forbid or log does not happen here.
transfer_guard = transfer_guard_host_to_device = transfer_guard_device_to_host = transfer_guard_device_to_device = (
    _no_check
)
numpy_dtype_promotion = numpy_rank_promotion = default_prng_impl = log_compiles = explain_cache_misses = _no_check
enable_checks = enable_custom_prng = legacy_prng_key = softmax_custom_jvp = _no_check
check_tracer_leaks = checking_leaks = thread_guard = array_garbage_collection_guard = _no_check


def debug_key_reuse(new_val: bool = True) -> _no_check:
    """A ``with`` block in which random keys may be used twice, as they may everywhere; nothing here forbids it.

    Raises:
        NotImplementedError: it is to be forbidden.
    """
    if new_val:
        raise NotImplementedError(
            "jax.debug_key_reuse(True): whether a random key is used twice is not checked\n"
            "  pass False, or leave it out"
        )
    return _no_check()


def clear_caches() -> None:
    """Lets go of what has been compiled; here programs are let go of with the functions that they belong to."""


def print_environment_info(return_string: bool = False) -> str | None:
    """Versions and devices, for reports; printed, or returned."""
    text = "\n".join(
        [
            f"jax:        {JAX_VERSION}, answered by cotangent {ct.__version__}",
            f"numpy:      {np.__version__}",
            f"python:     {sys.version}",
            f"device info: {', '.join(str(device) for device in ct.devices())}",
            f"platform:   {platform.platform()}",
        ]
    )
    if return_string:
        return text
    print(text)
    return None
