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
    **dict.fromkeys(("flags", "strides", "ctypes", "data"), "it is of NumPy's arrays: write np.asarray(x).{}"),
    **dict.fromkeys(("tofile", "dump"), "write np.asarray(x).{}(file)"),
    **dict.fromkeys(("add_", "sub_", "mul_", "div_"), "write x += y, x -= y, x *= y or x /= y"),
    **dict.fromkeys(("append", "extend"), "the size of an array cannot change; write x = ct.numpy.append(x, y)"),
    **dict.fromkeys(("mm", "bmm", "matmul"), "write x @ y"),
    "backward": "derivatives are those of functions: ct.grad(loss)(params)",
    "base": "np.shares_memory(np.asarray(x), np.asarray(y)) says whether two arrays have one memory",
    "bool": "write x.astype(bool)",
    "clamp": "write x.clip(low, high)",
    "contiguous": "leave it out: every array is",
    "cpu": "write ct.device_put(x, 'cpu'), or np.asarray(x) for an array of NumPy",
    "cuda": "write ct.device_put(x, 'cuda')",
    "copy_": "write x[...] = y",
    "detach": "write ct.lax.stop_gradient(x)",
    "dim": "write x.ndim",
    "double": "write x.astype('float64')",
    "dumps": "write pickle.dumps(x)",
    "expand": "write ct.numpy.broadcast_to(x, shape)",
    "fill_": "write x[...] = value",
    "float": "write x.astype('float32')",
    "gather": "write ct.numpy.take_along_axis(x, positions, axis)",
    "grad": "derivatives are those of functions: ct.grad(loss)(params)",
    "itemset": "write x[i] = y",
    "int": "write x.astype('int32')",
    "long": "write x.astype(int)",
    "masked_fill": "write ct.numpy.where(mask, value, x)",
    "norm": "write ct.numpy.linalg.norm(x)",
    "numpy": "write np.asarray(x)",
    "numel": "write x.size",
    "permute": "write x.transpose(axes)",
    "requires_grad": "ct.grad(f, argnums) says what is differentiated",
    "requires_grad_": "ct.grad(f, argnums) says what is differentiated",
    "resize": "the size of an array cannot change; write x = ct.numpy.resize(x, shape)",
    "setflags": "write x.copy() for an array of its own; x[i] = y needs no flag",
    "t": "write x.T",
    "to": "write ct.device_put(x, device), and x.astype(dtype) for a dtype",
    "topk": "write values, positions = ct.lax.top_k(x, k)",
    "type": "write x.astype(dtype)",
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
        setattr(Array, name, _elsewhere(name, instead.format(name)))
    Array.__dir__ = _names  # type: ignore[assignment, method-assign]
