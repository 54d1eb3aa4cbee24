"""``jax``: what `cotangent` has otherwise. The modules of this package are laid out as JAX's are; `jax._src` has no other counterparts."""

from __future__ import annotations

import contextlib
from typing import Any

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
from cotangent.jax.internals.references import (
    Ref,
    free_ref,
    freeze,
    new_ref,
)
from cotangent.jax.internals.settings import (
    config,
    enable_x64,
)
from cotangent.jax.internals.transforms import (
    allowing_all as check_tracer_leaks,
)
from cotangent.jax.internals.transforms import (
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
    jacrev as jacobian,
)

__all__ = [
    "NamedSharding",
    "P",
    "Ref",
    "check_tracer_leaks",
    "config",
    "debug_infs",
    "default_prng_impl",
    "device_put",
    "enable_checks",
    "enable_custom_prng",
    "enable_x64",
    "eval_shape",
    "explain_cache_misses",
    "free_ref",
    "freeze",
    "grad",
    "hessian",
    "jacfwd",
    "jacobian",
    "jacrev",
    "jit",
    "jvp",
    "legacy_prng_key",
    "linearize",
    "log_compiles",
    "make_jaxpr",
    "make_mesh",
    "new_ref",
    "numpy_dtype_promotion",
    "numpy_rank_promotion",
    "pmap",
    "reshard",
    "set_mesh",
    "softmax_custom_jvp",
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


def _no_check(*_: Any, **__: Any) -> contextlib.AbstractContextManager[None]:
    return contextlib.nullcontext()


# What they forbid or log does not happen here.
transfer_guard = transfer_guard_host_to_device = transfer_guard_device_to_host = transfer_guard_device_to_device = (
    _no_check
)
numpy_dtype_promotion = numpy_rank_promotion = default_prng_impl = log_compiles = debug_infs = explain_cache_misses = (
    _no_check
)
enable_checks = enable_custom_prng = legacy_prng_key = softmax_custom_jvp = threefry_partitionable = _no_check
