"""Other packages beside this one: what each needs to take our arrays and functions, or to give us its own.

Each module is for one package, which it imports when it is imported or called; docs/habits.md shows them:

- `interop.einops`: importing it makes our arrays tensors for einops;
- `interop.torch`: functions of ours as differentiable functions of torch, and functions and modules of torch in our programs;
- `interop.data`: batches of arrays and of `Ragged`s from a torch ``DataLoader`` or any iterable;
- `interop.safetensors`: pytrees in files, which are replaced when they are whole;
- `interop.checkpoints`: the states of a training by its steps, in such files;
- `interop.onnx`: programs to and from ONNX.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from cotangent import _core
from cotangent._base.names import no_attribute as _no_attribute

if TYPE_CHECKING:
    from cotangent.interop import checkpoints as checkpoints
    from cotangent.interop import data as data
    from cotangent.interop import einops as einops
    from cotangent.interop import onnx as onnx
    from cotangent.interop import safetensors as safetensors
    from cotangent.interop import torch as torch

_MODULES = ("checkpoints", "data", "einops", "onnx", "safetensors", "torch")


@_core.leaving
def __getattr__(name: str) -> object:
    if name in _MODULES:
        return importlib.import_module(f"cotangent.interop.{name}")
    raise _no_attribute(__name__, name)


def __dir__() -> list[str]:
    return list(_MODULES)
