"""The libraries behind one interface, so that a workload is written once: `Library`, and torch's three ways of running a program.

`jit`, `grad`, `vmap` and their like take and give functions; `xp` has NumPy's names. Where a library's own way to write a workload is a
better one (torch.nn.LSTM), the workload says so itself.
"""

from __future__ import annotations

import importlib.util
import sys
import warnings
from collections.abc import Callable
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np

Function = Callable[..., Any]


def tree_map(function: Function, tree: Any, *rest: Any) -> Any:
    if isinstance(tree, dict):
        return {key: tree_map(function, tree[key], *(other[key] for other in rest)) for key in tree}
    if isinstance(tree, (list, tuple)):
        return type(tree)(tree_map(function, *items) for items in zip(tree, *rest, strict=True))
    return function(tree, *rest)


class Library:
    """Cotangent or JAX."""

    compiles_slowly = False
    functional = True

    def __init__(self, name: str, module: Any, xp: Any) -> None:
        self.returns_early = name == "jax"  # a call may return before its result is there
        self.name, self.module, self.xp, self.nn, self.lax = name, module, xp, module.nn, module.lax
        self.jit, self.grad, self.value_and_grad, self.vmap = (
            module.jit,
            module.grad,
            module.value_and_grad,
            module.vmap,
        )
        self.hessian, self.jacrev = module.hessian, module.jacrev
        self.tree_map = module.tree.map

    def array(self, value: np.ndarray) -> Any:
        return self.xp.asarray(value)

    def wait(self, value: Any) -> Any:
        return self.module.block_until_ready(value)

    def use_threads(self, count: int) -> None:
        """At most so many, 0 for all cores. JAX has no such setting."""
        if self.name == "cotangent":
            self.module.config.update("threads", count)

    def thunk(self, function: Function, *arguments: Any) -> Callable[[], Any]:
        """Runs the compiled function."""
        return self.eager(self.jit(function), *arguments)

    def eager(self, function: Function, *arguments: Any) -> Callable[[], Any]:
        arguments = self.arrays(arguments)
        if not self.returns_early:
            return partial(function, *arguments)
        wait = self.module.block_until_ready
        return lambda: wait(function(*arguments))

    def arrays(self, tree: Any) -> Any:
        return tree_map(lambda leaf: self.array(leaf) if isinstance(leaf, np.ndarray) else leaf, tree)

    def hvp(self, function: Function) -> Function:
        return lambda x, v: self.module.jvp(self.module.grad(function), (x,), (v,))[1]


class NumPy:
    """What NumPy can: no derivatives, nothing compiled."""

    name = "numpy"
    compiles_slowly = False
    functional = False
    xp = np

    def array(self, value: np.ndarray) -> np.ndarray:
        return value

    def arrays(self, tree: Any) -> Any:
        return tree

    def wait(self, value: Any) -> Any:
        return value

    def use_threads(self, count: int) -> None:
        pass

    def thunk(self, function: Function, *arguments: Any) -> Callable[[], Any]:
        return partial(function, *arguments)

    eager = thunk


class Torch:
    """Torch run operation by operation, gradients by autograd's tape."""

    name = "torch"
    compiles_slowly = False
    functional = True

    def __init__(self) -> None:
        import torch

        self.torch, self.threads = torch, torch.get_num_threads()
        self.xp = torch_numpy(torch)
        functional = torch.nn.functional
        self.nn = SimpleNamespace(
            relu=torch.relu, sigmoid=torch.sigmoid, softmax=lambda x, axis=-1: torch.softmax(x, axis),
            logsumexp=lambda x, axis=-1, keepdims=False: torch.logsumexp(x, axis, keepdim=keepdims),
            gelu=lambda x: functional.gelu(x, approximate="tanh"),
        )  # fmt: skip
        self.tree_map = tree_map

    def array(self, value: np.ndarray) -> Any:
        if value.dtype.name == "bfloat16":  # which torch knows, but not as NumPy's
            return self.torch.from_numpy(value.view(np.int16).copy()).view(self.torch.bfloat16)
        return self.torch.from_numpy(np.array(value))

    def arrays(self, tree: Any) -> Any:
        return tree_map(lambda leaf: self.array(leaf) if isinstance(leaf, np.ndarray) else leaf, tree)

    def wait(self, value: Any) -> Any:
        return value

    def use_threads(self, count: int) -> None:
        self.torch.set_num_threads(count or self.threads)

    def jit(self, function: Function) -> Function:
        return function

    def thunk(self, function: Function, *arguments: Any) -> Callable[[], Any]:
        return self.eager(self.jit(function), *arguments)

    def eager(self, function: Function, *arguments: Any) -> Callable[[], Any]:
        return partial(function, *self.arrays(arguments))

    def value_and_grad(self, function: Function, argnums: Any = 0) -> Function:
        torch = self.torch
        positions = argnums if isinstance(argnums, tuple) else (argnums,)

        def run(*arguments: Any) -> Any:
            arguments = list(arguments)
            leaves: list[Any] = []

            def leaf(x: Any) -> Any:
                leaves.append(x.detach().requires_grad_())
                return leaves[-1]

            for position in positions:
                arguments[position] = tree_map(leaf, arguments[position])
            value = function(*arguments)
            gradients = iter(torch.autograd.grad(value, leaves))
            trees = tuple(tree_map(lambda _: next(gradients), arguments[position]) for position in positions)
            return value.detach(), trees if isinstance(argnums, tuple) else trees[0]

        return run

    def grad(self, function: Function, argnums: Any = 0) -> Function:
        both = self.value_and_grad(function, argnums)
        return lambda *arguments: both(*arguments)[1]

    def hessian(self, function: Function) -> Function:
        return lambda x: self.torch.autograd.functional.hessian(function, x, vectorize=True)

    def jacrev(self, function: Function) -> Function:
        return lambda x: self.torch.autograd.functional.jacobian(function, x, vectorize=True)

    def hvp(self, function: Function) -> Function:
        return lambda x, v: self.torch.autograd.functional.hvp(function, x, v)[1]

    def vmap(self, function: Function, in_axes: Any = 0) -> Function:
        raise NotImplementedError("vmap is torch.func's")


class TorchFunc(Torch):
    """The same with torch.func's transforms."""

    name = "torch.func"

    def grad(self, function: Function, argnums: Any = 0) -> Function:
        return self.torch.func.grad(function, argnums)

    def value_and_grad(self, function: Function, argnums: Any = 0) -> Function:
        both = self.torch.func.grad_and_value(function, argnums)
        return lambda *arguments: both(*arguments)[::-1]

    def vmap(self, function: Function, in_axes: Any = 0) -> Function:
        return self.torch.func.vmap(function, in_dims=in_axes)

    def hessian(self, function: Function) -> Function:
        return self.torch.func.hessian(function)

    def jacrev(self, function: Function) -> Function:
        return self.torch.func.jacrev(function)

    def hvp(self, function: Function) -> Function:
        func = self.torch.func
        return lambda x, v: func.jvp(func.grad(function), (x,), (v,))[1]


class TorchCompiled(TorchFunc):
    """The same compiled by torch.compile."""

    name = "torch.compile"
    compiles_slowly = True

    def jit(self, function: Function) -> Function:
        return self.torch.compile(function, dynamic=False)


def torch_numpy(torch: Any) -> Any:
    """NumPy's names for what workloads use."""

    def over(function: Function) -> Function:
        def run(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
            return function(x) if axis is None else function(x, dim=axis, keepdim=keepdims)

        return run

    names = [
        "exp",
        "log",
        "sin",
        "cos",
        "tanh",
        "sqrt",
        "abs",
        "where",
        "stack",
        "arange",
        "zeros",
        "ones",
        "einsum",
        "cumsum",
        "broadcast_to",
        "argmin",
    ]
    return SimpleNamespace(
        **{name: getattr(torch, name) for name in names},
        sum=over(torch.sum), mean=over(torch.mean), max=over(torch.amax), var=lambda x, axis: torch.var(x, axis, correction=0),
        zeros_like=torch.zeros_like, transpose=lambda x, axes: x.permute(axes), reshape=torch.reshape, concatenate=torch.cat,
        sort=lambda x: torch.sort(x)[0], float32=torch.float32, swapaxes=torch.swapaxes, split=torch.tensor_split,
    )  # fmt: skip


def load(wanted: str = "") -> tuple[list[Any], dict[str, str]]:
    """The libraries that are there, ours first, and why the others are not."""
    import cotangent as ct
    import cotangent.numpy as cnp

    found: list[Any] = [Library("cotangent", ct, cnp)]
    missing: dict[str, str] = {}
    names = wanted.split(",") if wanted else ["jax", "torch", "torch.func", "torch.compile", "numpy"]
    if "jax" in names:
        try:
            import jax

            found.append(Library("jax", jax, jax.numpy))
        except ImportError as error:
            missing["jax"] = str(error)
    if any(name.startswith("torch") for name in names):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                kinds = {"torch": Torch, "torch.func": TorchFunc, "torch.compile": TorchCompiled}
                found += [kind() for name, kind in kinds.items() if name in names]
        except ImportError as error:
            missing["torch"] = str(error)
    if "numpy" in names:
        found.append(NumPy())
    return found, missing


def versions() -> dict[str, str]:
    return {
        name: getattr(sys.modules[name], "__version__", "?")
        for name in ("cotangent", "jax", "torch", "numpy")
        if name in sys.modules and importlib.util.find_spec(name) is not None
    }
