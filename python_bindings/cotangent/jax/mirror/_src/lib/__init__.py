"""``jax._src.lib``: of XLA there is nothing but names."""

from __future__ import annotations

import importlib
from typing import Any

from cotangent.jax.missing import missing
from cotangent.jax.names import JAX_VERSION

_ABSENT = ("_jax", "_pretty_printer", "cuda_path", "ffi", "gpu_solver", "gpu_sparse", "ifrt_proxy", "jax_jit", "jaxlib", "lapack", "mlir",
           "pmap_lib", "pytree", "triton", "utils", "xla_extension")  # fmt: skip

version = tuple(int(part) for part in JAX_VERSION.split("."))
version_str = JAX_VERSION
cuda_versions = None
jaxlib_extension_version = ifrt_version = 0
xla_client: Any = importlib.import_module("jaxlib.xla_client")
globals().update({name: missing(f"jax._src.lib.{name}") for name in _ABSENT})

__all__ = [
    "cuda_versions",
    "ifrt_version",
    "jaxlib_extension_version",
    "version",
    "version_str",
    "xla_client",
    *_ABSENT,
]
