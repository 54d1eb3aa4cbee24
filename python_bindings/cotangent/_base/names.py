"""Names that a module of the package lacks: where they are instead, what stands for them here, or which one was meant.

A public module ends with ``suggest_names(globals())``; those that load names at first use raise `no_attribute` themselves.
"""

from __future__ import annotations

import importlib
import sys
from types import ModuleType
from typing import Any

import numpy as np

from cotangent import _core, errors
from cotangent._base.arguments import suggestion

__all__ = ["no_attribute", "suggest_names"]

# Where names that a module lacks are looked for, those first that are asked for most.
_NAMESPACES = (
    "numpy", "", "lax", "nn", "random", "tree", "per_example", "numpy.linalg", "numpy.fft", "nn.initializers", "scipy.special", "scipy.linalg",
    "scipy.signal", "scipy.stats", "scipy.ndimage", "debug", "errors", "experimental.ode",
)  # fmt: skip

_DRAWN = "numbers are drawn by a key, which gives the same every time: key = ct.random.key(0); x = "
_FILTERS = "the filters are parameters: write ct.lax.conv(x, filters, strides, 'SAME') for images (batch, channel, ...)"
_POOLED = "of windows (1, 1, 2, 2) write ct.lax.reduce_window(x, {}, ct.lax.{}, (1, 1, 2, 2), (1, 1, 2, 2), 'VALID'){}"
_CELL = "a recurrent layer is a loop over positions: write ct.lax.scan(lambda h, x: (step(params, h, x), h), h, xs)"
_NORM = "write ct.nn.standardize(x, axis={}) * scale + shift"
_CROSS_ENTROPY = "write -ct.numpy.take_along_axis(ct.nn.log_softmax(logits), labels[:, None], axis=1).mean() for the numbers of classes"
_CLIPPED = (
    "write norm = ct.numpy.sqrt(sum((g**2).sum() for g in ct.tree.leaves(grads)));"
    " grads = ct.tree.map(lambda g: g * ct.numpy.minimum(1, largest / norm), grads)"
)
_LAYER = "a layer is a function of its parameters: write lambda params, x: x @ params['w'] + params['b']"
_OPTIMIZER = "write the update, ct.tree.map(lambda p, g: p - rate * g, params, grads); optax works by the hook of docs/jax_hook.md"

_NO_SUCH_ELEMENTS = "elements are numbers of up to 64 bits, complex ones of up to 128, and bools"

# Names of other libraries, and what is written here: in any module, or in one that stands in front.
_ELSEWHERE = {
    "Tensor": "arrays are made by ct.numpy.array(...); their type is ct.Array",
    **dict.fromkeys(("tensor", "as_tensor", "from_numpy"), "write ct.numpy.array(...)"),
    **dict.fromkeys(("optim", "optimizers", "SGD", "Adam"), _OPTIMIZER),
    **dict.fromkeys(("Linear", "Module", "Sequential", "Dense", "linear", "dense"), _LAYER),
    **dict.fromkeys(("cross_entropy", "CrossEntropyLoss", "softmax_cross_entropy"), _CROSS_ENTROPY),
    **dict.fromkeys(("nll_loss", "NLLLoss"), "write -ct.numpy.take_along_axis(log_probabilities, labels[:, None], axis=1).mean()"),
    **dict.fromkeys(("mse_loss", "MSELoss"), "write ct.numpy.mean((predicted - y) ** 2)"),
    **dict.fromkeys(("l1_loss", "L1Loss"), "write ct.numpy.mean(ct.numpy.abs(predicted - y))"),
    **dict.fromkeys(
        ("binary_cross_entropy_with_logits", "BCEWithLogitsLoss", "binary_cross_entropy", "BCELoss"),
        "write ct.numpy.mean(ct.nn.softplus(logits) - y * logits), where y is 0 or 1",
    ),
    **dict.fromkeys(
        ("Embedding", "embedding", "Embed"), "rows of a parameter, params['table'][ids], of shape (number of ids, width)"
    ),
    **dict.fromkeys(
        ("Dropout", "dropout"), "write ct.numpy.where(ct.random.bernoulli(key, 1 - rate, x.shape), x / (1 - rate), 0)"
    ),
    **dict.fromkeys(("conv1d", "conv2d", "conv3d", "Conv1d", "Conv2d", "Conv3d", "Conv"), _FILTERS),
    **dict.fromkeys(("layer_norm", "LayerNorm"), _NORM.format(-1)),
    **dict.fromkeys(("batch_norm", "BatchNorm", "BatchNorm1d", "BatchNorm2d"), _NORM.format(0)),
    **dict.fromkeys(("max_pool", "max_pool2d", "MaxPool2d"), _POOLED.format("-ct.numpy.inf", "max", "")),
    **dict.fromkeys(("avg_pool", "avg_pool2d", "AvgPool2d"), _POOLED.format("0.0", "add", " / 4")),
    **dict.fromkeys(("RNN", "GRU", "LSTM", "RNNCell", "GRUCell", "LSTMCell"), _CELL),
    **dict.fromkeys(
        ("MultiheadAttention", "MultiHeadAttention", "scaled_dot_product_attention"),
        "write ct.nn.dot_product_attention(query, key, value), of arrays (batch, position, head, width)",
    ),
    **dict.fromkeys(("clip_grad_norm_", "clip_grad_norm", "clip_by_global_norm", "global_norm"), _CLIPPED),
    **dict.fromkeys(("functional", "F"), "functions of layers are those of ct.nn: ct.nn.relu(x), ct.nn.softmax(x)"),
    "utils": "ct.tree has functions of pytrees, ct.debug and ct.testing what looks at programs",
    "cuda": "ct.devices() lists GPUs; arrays go to one by ct.device_put(x, 'cuda')",
    "topk": "write values, positions = ct.lax.top_k(x, k)",
    "clamp": "write ct.numpy.clip(x, low, high)",
    "masked_fill": "write ct.numpy.where(mask, value, x)",
    "cotangent.load": "of arrays: ct.numpy.load(file); of exported functions: ct.export.load(folder)",
    "cotangent.save": "of arrays: ct.numpy.savez(file, **arrays); of functions: ct.export.compile(f, *examples, name='f').save(folder)",
    "savetxt": "write np.savetxt(file, x)",
    "tofile": "write np.asarray(x).tofile(file)",
    "copyto": "write x[...] = y",
    "putmask": "write x[mask] = y",
    **dict.fromkeys(("True_", "False_"), "write True and False"),
    **dict.fromkeys(("np", "jnp"), "write import cotangent.numpy as cnp"),
    **dict.fromkeys(("rand", "random_sample", "ranf"), f"{_DRAWN}ct.random.uniform(key, (3,))"),
    **dict.fromkeys(("random", "randn", "standard_normal", "seed", "default_rng", "RandomState"), f"{_DRAWN}ct.random.normal(key, (3,))"),
    **dict.fromkeys(("integers", "random_integers"), f"{_DRAWN}ct.random.randint(key, (3,), 0, 10)"),
    **dict.fromkeys(("c", "to_c", "export.save"), "write ct.export.compile(f, *examples, name='model').save(folder)"),
    "shuffle": f"{_DRAWN}ct.random.permutation(key, x)",
    **dict.fromkeys(("ascontiguousarray", "asfortranarray", "require", "asfarray"), "write ct.numpy.asarray(x): every array is contiguous"),
    "in1d": "write ct.numpy.isin(x, y)",
    "row_stack": "write ct.numpy.vstack([x, y])",
    "product": "write ct.numpy.prod(x)",
    "cat": "write ct.numpy.concatenate([x, y])",
    "device": "write ct.devices()[0], or a name where a device is asked for: ct.device_put(x, 'cuda')",
    "enable_grad": "leave it out: derivatives are those of functions, ct.grad(f)(x)",
    "inverse": "write ct.numpy.linalg.inv(x)",
    "manual_seed": "write key = ct.random.key(seed), and give keys to the functions of ct.random",
    "mm": "write x @ y",
    "no_grad": "leave it out: nothing is recorded outside of ct.grad; ct.lax.stop_gradient(x) is a constant within",
    "pmap": "write ct.vmap(f)",
    "tree_map": "write ct.tree.map(f, tree)",
    "unsqueeze": "write ct.numpy.expand_dims(x, axis), or x[:, None]",
}  # fmt: skip


def _public(module: ModuleType) -> list[str]:
    names = vars(module).get("__all__") if "__dir__" not in vars(module) else None
    if names is None:
        names = [name for name in dir(module) if not name.startswith("_") and name != "annotations"]
    return list(names)


def _has(module: ModuleType, name: str) -> bool:
    if name in _public(module):
        value = getattr(module, name)
        return callable(value) or not isinstance(value, ModuleType)
    return False


def _elsewhere(module: str, name: str) -> str:
    """What to write for a name that a module lacks, and some other one has; "" if none has it."""
    for key in (f"{module.removeprefix('cotangent.')}.{name}", name):
        if key in _ELSEWHERE:
            return _ELSEWHERE[key]
    for namespace in _NAMESPACES:
        if _has(importlib.import_module(f"cotangent.{namespace}".rstrip(".")), name):
            return f"write ct.{namespace}.{name}".replace("..", ".")
    return _of_numpy(name, getattr(np, name, None)) if module == "cotangent.numpy" else ""


def _of_numpy(name: str, member: Any) -> str:
    """What to write for a function, type or module that only NumPy has; "" for what it has not."""
    if not callable(member) and not isinstance(member, ModuleType):
        return ""
    if not isinstance(member, type | ModuleType):
        return f"write np.{name}(...), NumPy's own; ct.numpy.array(...) makes an array of what it returns"
    if isinstance(member, ModuleType) or not issubclass(member, np.generic):
        return f"np.{name} is NumPy's own; np.asarray(x) is an array of NumPy"
    same = np.dtype(member).name  # types of C have names by their sizes
    return f"write ct.numpy.{same}" if _has(importlib.import_module("cotangent.numpy"), same) else _NO_SUCH_ELEMENTS


def no_attribute(module: str, name: str) -> AttributeError:
    """The error of a module that has not the name: where it is, what is written for it here, or which one was meant."""
    text = f"module {module!r} has no attribute {name!r}"
    if name.startswith("_"):
        return AttributeError(text)
    if instead := _elsewhere(module, name):
        return AttributeError(f"{text}\n  {instead}", name=name)
    # Of many names one is always a little alike; short ones differ in few letters.
    least = 0.7 if len(name) > 3 else 0.6
    return AttributeError(f"{text}{suggestion(name, _public(sys.modules[module]), least)}", name=name)


def suggest_names(namespace: dict[str, Any]) -> None:
    """Ends a public module that has all its names: one that it lacks is an error that says which was meant."""

    def get(name: str) -> Any:
        raise no_attribute(namespace["__name__"], name)

    namespace["__getattr__"] = _core.leaving(get)


suggest_names(vars(errors))  # which all of the package imports, and imports nothing
