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
_LAYER = "a layer is a function of its parameters: write lambda params, x: x @ params['w'] + params['b']"
_OPTIMIZER = "write the update, ct.tree.map(lambda p, g: p - rate * g, params, grads); optax works by the hook of docs/jax_hook.md"

# Names of other libraries, and what is written here: in any module, or in one that stands in front.
_ELSEWHERE = {
    **dict.fromkeys(("Tensor",), "arrays are made by ct.numpy.array(...); their type is ct.Array"),
    **dict.fromkeys(("tensor", "as_tensor", "from_numpy"), "write ct.numpy.array(...)"),
    **dict.fromkeys(("optim", "optimizers", "SGD", "Adam"), _OPTIMIZER),
    **dict.fromkeys(("Linear", "Module", "Sequential", "Dense", "linear", "dense"), _LAYER),
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
    if (own := f"{module.removeprefix('cotangent.')}.{name}") in _ELSEWHERE:
        return _ELSEWHERE[own]
    for namespace in _NAMESPACES:
        if _has(importlib.import_module(f"cotangent.{namespace}".rstrip(".")), name):
            return f"write ct.{namespace}.{name}".replace("..", ".")
    if name in _ELSEWHERE or module != "cotangent.numpy" or not callable(getattr(np, name, None)):
        return _ELSEWHERE.get(name, "")
    return f"NumPy's is for arrays of NumPy: ct.numpy.array(np.{name}(...))"


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
