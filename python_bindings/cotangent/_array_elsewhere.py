"""Names that arrays of other libraries have, and ours do not: what to write instead.

``hasattr`` says no, ``dir`` does not list them, and no other attribute is looked up more slowly for them.
"""

from __future__ import annotations

from typing import Any

from cotangent import _core
from cotangent._core import Array

# Functions of arrays that are methods in other libraries.
_FUNCTIONS = {
    "numpy": (
        "abs", "exp", "expm1", "floor", "ceil", "log", "log10", "log1p", "log2", "sqrt", "square", "sign", "sin", "cos", "tan", "tanh", "isnan",
        "isfinite", "median", "flip", "roll", "tile", "outer", "maximum", "minimum", "pad", "allclose", "where", "unique", "diff", "stack",
    ),
    "nn": ("log_softmax", "logsumexp", "relu", "sigmoid", "softmax"),
}  # fmt: skip

_ELSEWHERE = {
    **{name: f"write ct.{module}.{name}(x)" for module, names in _FUNCTIONS.items() for name in names},
    "backward": "derivatives are those of functions: ct.grad(loss)(params)",
    "contiguous": "leave it out: every array is",
    "cpu": "write ct.device_put(x, 'cpu'), or np.asarray(x) for an array of NumPy",
    "cuda": "write ct.device_put(x, 'cuda')",
    "detach": "write ct.lax.stop_gradient(x)",
    "dim": "write x.ndim",
    "expand": "write ct.numpy.broadcast_to(x, shape)",
    "grad": "derivatives are those of functions: ct.grad(loss)(params)",
    "itemset": "write x[i] = y",
    "norm": "write ct.numpy.linalg.norm(x)",
    "numpy": "write np.asarray(x)",
    "permute": "write x.transpose(axes)",
    "requires_grad": "ct.grad(f, argnums) says what is differentiated",
    "requires_grad_": "ct.grad(f, argnums) says what is differentiated",
    "resize": "the size of an array cannot change; write x = ct.numpy.resize(x, shape)",
    "setflags": "write x.copy() for an array of its own; x[i] = y needs no flag",
    "to": "write ct.device_put(x, device), and x.astype(dtype) for a dtype",
    "unsqueeze": "write ct.numpy.expand_dims(x, axis), or x[:, None]",
    "zero_": "write x[...] = 0",
}


def _elsewhere(name: str, instead: str) -> property:
    def absent(self: Array) -> Any:
        raise AttributeError(f"an array has no attribute {name!r}\n  {instead}", name=name, obj=self)

    return property(_core.leaving(absent))


def _names(self: Array) -> list[str]:
    return [name for name in object.__dir__(self) if name not in _ELSEWHERE]


def attach() -> None:
    """Gives the type `Array` what says so."""
    for name, instead in _ELSEWHERE.items():
        setattr(Array, name, _elsewhere(name, instead))
    Array.__dir__ = _names  # type: ignore[assignment, method-assign]
