"""``jax``: what `cotangent` has otherwise. The modules of this package are laid out as JAX's are; `jax._src` has no other counterparts."""

from __future__ import annotations

import platform
import sys
from types import SimpleNamespace

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
from cotangent.jax.internals.pullbacks import DidntWant, DontWant, GradRef, GradValue
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
from cotangent.jax.internals.windows import ds
from cotangent.jax.names import JAX_VERSION
from cotangent.jax.settings import (
    config,
    enable_x64,
    state,
    threefry_partitionable,
)

__all__ = [
    "NamedSharding",
    "P",
    "Ref",
    "Shard",
    "ad",
    "array_garbage_collection_guard",
    "check_tracer_leaks",
    "checking_leaks",
    "checkpoint",
    "clear_caches",
    "config",
    "copy_to_host_async",
    "debug_infs",
    "debug_key_reuse",
    "debug_nans",
    "default_device",
    "default_matmul_precision",
    "default_prng_impl",
    "device_get",
    "device_put",
    "devices",
    "ds",
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
    "no_execution",
    "no_tracing",
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

# What ``f_vjp.with_refs`` takes and gives back.
ad = SimpleNamespace(DidntWant=DidntWant, DontWant=DontWant, GradRef=GradRef, GradValue=GradValue)

# Options by themselves, those among them that forbid or log what does not happen here.
array_garbage_collection_guard = state("array_garbage_collection_guard")
check_tracer_leaks = checking_leaks = state("check_tracer_leaks")
debug_infs, debug_nans = state("debug_infs"), state("debug_nans")
debug_key_reuse = state("debug_key_reuse")
default_device = state("default_device")
default_matmul_precision = state("default_matmul_precision")
default_prng_impl = state("default_prng_impl")
enable_checks, enable_custom_prng = state("enable_checks"), state("enable_custom_prng")
explain_cache_misses, log_compiles = state("explain_cache_misses"), state("log_compiles")
legacy_prng_key = state("legacy_prng_key")
no_execution, no_tracing = state("no_execution"), state("no_tracing")
numpy_dtype_promotion, numpy_rank_promotion = state("numpy_dtype_promotion"), state("numpy_rank_promotion")
softmax_custom_jvp = state("softmax_custom_jvp")
thread_guard = state("thread_guard")
transfer_guard = state("transfer_guard")
transfer_guard_device_to_device = state("transfer_guard_device_to_device")
transfer_guard_device_to_host = state("transfer_guard_device_to_host")
transfer_guard_host_to_device = state("transfer_guard_host_to_device")


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
