"""Functions of neural networks, named and computed as ``jax.nn``'s: activations, softmax, attention, initial weights.

Each module is one idea and lists its public names in its ``__all__``; this package is all of them, and `initializers`.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from cotangent import _core
from cotangent._base.names import no_attribute as _no_attribute
from cotangent._ops.functions import tanh as tanh
from cotangent._special.logistic import sigmoid as sigmoid
from cotangent.nn.activations import *
from cotangent.nn.attention import *
from cotangent.nn.normalization import *
from cotangent.nn.rectifiers import *

if TYPE_CHECKING:
    from cotangent.nn import initializers as initializers


@_core.leaving
def __getattr__(name: str) -> object:
    # Loads random numbers only when it is used.
    if name == "initializers":
        return importlib.import_module("cotangent.nn.initializers")
    raise _no_attribute(__name__, name)
