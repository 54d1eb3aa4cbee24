"""cotangent: composable function transforms, captured once and compiled.

``grad``, ``vmap``, ``mask`` and ``jit`` take functions of arrays and return functions of arrays; any order of nesting works.
"""

from __future__ import annotations

import os as _os

import numpy as _np

from cotangent import _core

_core.set_package_directory(_os.path.dirname(__file__) + _os.sep)  # noqa: PTH120 (pathlib costs import time)
# Where NumPy's wheels keep OpenBLAS.
_core.set_library_directory(_os.path.dirname(_os.path.dirname(_np.__file__)) + "/numpy.libs")  # noqa: PTH120

from cotangent import _array_methods, _numpy_dispatch, config, errors, ir, lax, numpy, tree, tree_util  # noqa: E402
from cotangent._callbacks import effects_barrier, pure_callback  # noqa: E402
from cotangent._capture import ShapeDtypeStruct  # noqa: E402
from cotangent._core import Array  # noqa: E402
from cotangent._device import (  # noqa: E402
    Device,
    default_backend,
    device_count,
    devices,
    local_device_count,
    local_devices,
    process_count,
    process_index,
)
from cotangent.ad_checkpoint import checkpoint, checkpoint_policies, remat  # noqa: E402
from cotangent.api import (  # noqa: E402
    block_until_ready,
    device_get,
    device_put,
    fwd_and_bwd,
    grad,
    jvp,
    linear_transpose,
    linearize,
    value_and_grad,
    vjp,
    vmap,
)
from cotangent.config import debug_nans, default_matmul_precision, disable_jit, enable_x64  # noqa: E402
from cotangent.custom import custom_jvp, custom_vjp  # noqa: E402
from cotangent.custom_derivatives import closure_convert, custom_gradient  # noqa: E402
from cotangent.extend import primitive, transform  # noqa: E402
from cotangent.ir import Interpreter  # noqa: E402
from cotangent.jacobians import hessian, hvp, jacfwd, jacobian, jacrev  # noqa: E402
from cotangent.ragged import Ragged, mask, ragged  # noqa: E402
from cotangent.scopes import ensure_compile_time_eval, named_call, named_scope  # noqa: E402
from cotangent.staging import eval_shape, jit, make_ir, make_jaxpr, typeof  # noqa: E402

_array_methods.attach()
_numpy_dispatch.attach()

__version__ = "0.1.0"


def __getattr__(name: str) -> object:
    # Modules that are not imported above are loaded at first use, to keep the import short.
    if name in ("explain", "profile"):
        from cotangent import profiling

        return getattr(profiling, name)
    if name == "float0":
        from cotangent import dtypes

        return dtypes.float0
    if not name.startswith("_"):
        import importlib
        import importlib.util

        if importlib.util.find_spec(f"cotangent.{name}") is not None:
            return importlib.import_module(f"cotangent.{name}")
    raise AttributeError(f"module 'cotangent' has no attribute {name!r}")


def __dir__() -> list[str]:
    import pkgutil

    modules = [module.name for module in pkgutil.iter_modules(__path__) if not module.name.startswith("_")]
    return sorted({*globals(), *modules})


__all__ = [
    "Array",
    "Device",
    "Interpreter",
    "Ragged",
    "ShapeDtypeStruct",
    "block_until_ready",
    "checkpoint",
    "checkpoint_policies",
    "closure_convert",
    "config",
    "custom_gradient",
    "custom_jvp",
    "custom_vjp",
    "debug_nans",
    "default_backend",
    "default_matmul_precision",
    "device_count",
    "device_get",
    "device_put",
    "devices",
    "disable_jit",
    "effects_barrier",
    "enable_x64",
    "ensure_compile_time_eval",
    "errors",
    "eval_shape",
    "explain",
    "float0",
    "fwd_and_bwd",
    "grad",
    "hessian",
    "hvp",
    "ir",
    "jacfwd",
    "jacobian",
    "jacrev",
    "jit",
    "jvp",
    "lax",
    "linear_transpose",
    "linearize",
    "local_device_count",
    "local_devices",
    "make_ir",
    "make_jaxpr",
    "mask",
    "named_call",
    "named_scope",
    "numpy",
    "primitive",
    "process_count",
    "process_index",
    "profile",
    "pure_callback",
    "ragged",
    "remat",
    "transform",
    "tree",
    "tree_util",
    "typeof",
    "value_and_grad",
    "vjp",
    "vmap",
]
