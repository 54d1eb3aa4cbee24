"""cotangent: composable function transforms, captured once and compiled.

``grad``, ``vmap``, ``mask`` and ``jit`` take functions of arrays and return functions of arrays; any order of nesting works.
"""

from __future__ import annotations

import importlib as _importlib
import os as _os
import sys as _sys
from typing import TYPE_CHECKING as _TYPE_CHECKING

from cotangent import _core

_core.set_package_directory(_os.path.dirname(__file__) + _os.sep)  # noqa: PTH120 (pathlib costs import time)
_core.set_installed_directories([_os.path.dirname(_os.__file__) + _os.sep, _os.path.join(_sys.prefix, "bin") + _os.sep])  # noqa: PTH118, PTH120

from cotangent import _array_elsewhere, _array_methods, _numpy_dispatch, config, errors, ir, lax, numpy, tree, tree_util  # noqa: E402
from cotangent._base.arguments import leaving_methods as _leaving_methods  # noqa: E402
from cotangent._base.callbacks import effects_barrier, pure_callback  # noqa: E402
from cotangent._base.capture import ShapeDtypeStruct  # noqa: E402
from cotangent._base.device import (  # noqa: E402
    Device,
    default_backend,
    device_count,
    devices,
    local_device_count,
    local_devices,
    process_count,
    process_index,
)
from cotangent._base.dimensions import dimension  # noqa: E402
from cotangent._base.names import no_attribute as _no_attribute  # noqa: E402
from cotangent._core import Array  # noqa: E402
from cotangent._transforms import pickled_functions as _pickled_functions  # noqa: E402
from cotangent._transforms import ragged_axes as _ragged_axes  # noqa: E402
from cotangent._transforms import ragged_exchange as _ragged_exchange  # noqa: E402
from cotangent._transforms import ragged_files as _ragged_files  # noqa: E402
from cotangent._transforms import ragged_methods as _ragged_methods  # noqa: E402
from cotangent._transforms import ragged_sparse as _ragged_sparse  # noqa: E402
from cotangent._transforms.batching import vmap  # noqa: E402
from cotangent._transforms.custom_rules import custom_jvp, custom_vjp  # noqa: E402
from cotangent._transforms.forward import jvp, linearize  # noqa: E402
from cotangent._transforms.masking import mask  # noqa: E402
from cotangent._transforms.programs import eval_shape, make_ir, make_jaxpr, typeof  # noqa: E402
from cotangent._transforms.ragged import Ragged  # noqa: E402
from cotangent._transforms.ragged_batches import ragged  # noqa: E402
from cotangent._transforms.reverse import fwd_and_bwd, grad, linear_transpose, value_and_grad, vjp  # noqa: E402
from cotangent._transforms.staging import jit  # noqa: E402
from cotangent.config import debug_infs, debug_nans, default_device, default_matmul_precision, disable_jit, enable_x64  # noqa: E402
from cotangent.ir import Interpreter  # noqa: E402

if _TYPE_CHECKING:
    from cotangent import ad_checkpoint as ad_checkpoint
    from cotangent import checkify as checkify
    from cotangent import core as core
    from cotangent import custom_batching as custom_batching
    from cotangent import custom_derivatives as custom_derivatives
    from cotangent import debug as debug
    from cotangent import dtypes as dtypes
    from cotangent import experimental as experimental
    from cotangent import export as export
    from cotangent import extend as extend
    from cotangent import flatten_util as flatten_util
    from cotangent import image as image
    from cotangent import interop as interop
    from cotangent import nn as nn
    from cotangent import ops as ops
    from cotangent import per_example as per_example
    from cotangent import random as random
    from cotangent import scipy as scipy
    from cotangent import sharding as sharding
    from cotangent import test_util as test_util
    from cotangent import testing as testing
    from cotangent import typing as typing
    from cotangent._ops.einsum import einsum as einsum
    from cotangent._ops.products import tensordot as tensordot
    from cotangent._ops.shapes import transpose as transpose
    from cotangent._profiling import explain as explain
    from cotangent._profiling import profile as profile
    from cotangent._transforms.jacobians import hessian as hessian
    from cotangent._transforms.jacobians import hvp as hvp
    from cotangent._transforms.jacobians import jacfwd as jacfwd
    from cotangent._transforms.jacobians import jacobian as jacobian
    from cotangent._transforms.jacobians import jacrev as jacrev
    from cotangent._transforms.placement import block_until_ready as block_until_ready
    from cotangent._transforms.placement import device_get as device_get
    from cotangent._transforms.placement import device_put as device_put
    from cotangent._transforms.scopes import ensure_compile_time_eval as ensure_compile_time_eval
    from cotangent._transforms.scopes import named_call as named_call
    from cotangent._transforms.scopes import named_scope as named_scope
    from cotangent.ad_checkpoint import checkpoint as checkpoint
    from cotangent.ad_checkpoint import checkpoint_policies as checkpoint_policies
    from cotangent.ad_checkpoint import remat as remat
    from cotangent.custom_derivatives import closure_convert as closure_convert
    from cotangent.custom_derivatives import custom_gradient as custom_gradient
    from cotangent.dtypes import float0 as float0
    from cotangent.extend import primitive as primitive
    from cotangent.extend import transform as transform

_array_methods.attach()
_array_elsewhere.attach()
_numpy_dispatch.attach()
_pickled_functions.attach()
_ragged_methods.attach()
_ragged_axes.attach()
_ragged_exchange.attach()
_ragged_sparse.attach()
_ragged_files.attach()
_leaving_methods(Ragged)

__version__ = "0.1.0"


# Loaded at first use, to keep the import short.
_MODULES = (
    "ad_checkpoint", "checkify", "core", "custom_batching", "custom_derivatives", "debug", "dtypes", "experimental", "export", "extend",
    "flatten_util", "image", "interop", "nn", "ops", "per_example", "random", "scipy", "sharding", "test_util", "testing", "typing",
)  # fmt: skip
_NAMES = {
    name: module
    for module, names in {
        "_ops.packing": ("pack",),
        "_ops.einsum": ("einsum",),  # opt_einsum looks for these three in the package of an array
        "_ops.products": ("tensordot",),
        "_ops.shapes": ("transpose",),
        "_profiling": ("explain", "profile"),
        "ad_checkpoint": ("checkpoint", "checkpoint_policies", "remat"),
        "custom_derivatives": ("closure_convert", "custom_gradient"),
        "extend": ("primitive", "transform"),
        "_transforms.jacobians": ("hessian", "hvp", "jacfwd", "jacobian", "jacrev"),
        "_transforms.scopes": ("ensure_compile_time_eval", "named_call", "named_scope"),
        "_transforms.placement": ("block_until_ready", "device_get", "device_put"),
        "dtypes": ("float0",),
    }.items()
    for name in names
}


@_core.leaving
def __getattr__(name: str) -> object:
    if name in _MODULES:
        return _importlib.import_module(f"cotangent.{name}")
    if name in _NAMES:
        member: object = getattr(_importlib.import_module(f"cotangent.{_NAMES[name]}"), name)
        return globals().setdefault(name, member)
    raise _no_attribute(__name__, name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_MODULES, *_NAMES})


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
    "debug_infs",
    "debug_nans",
    "default_backend",
    "default_device",
    "default_matmul_precision",
    "device_count",
    "device_get",
    "device_put",
    "devices",
    "dimension",
    "disable_jit",
    "effects_barrier",
    "einsum",
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
    "pack",
    "primitive",
    "process_count",
    "process_index",
    "profile",
    "pure_callback",
    "ragged",
    "remat",
    "tensordot",
    "transform",
    "transpose",
    "tree",
    "tree_util",
    "typeof",
    "value_and_grad",
    "vjp",
    "vmap",
]
