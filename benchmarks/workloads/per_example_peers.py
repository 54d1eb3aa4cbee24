"""Programs of other hands for quantities of single examples: Opacus, with hooks and with ghost clipping, and ghost norms written out in JAX.

Each takes the model's parameters and a batch as NumPy arrays, and gives a function of no arguments whose result is that of the workload.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Thunk = Callable[[], Any]


def perceptron(params: list[tuple[np.ndarray, np.ndarray]]) -> Any:
    """An MLP with tanh as a module of torch."""
    import torch

    layers: list[Any] = []
    for w, b in params:
        layer = torch.nn.Linear(*w.shape)
        layer.weight.data, layer.bias.data = torch.from_numpy(w.T.copy()), torch.from_numpy(b.copy())
        layers += [layer, torch.nn.Tanh()]
    return torch.nn.Sequential(*layers[:-1])


def convolutional(params: dict[str, np.ndarray]) -> Any:
    """The CNN of `workloads.convolution` as a module of torch."""
    import torch

    layers: list[Any] = []
    for name in ("conv1", "conv2"):
        kernel = params[name]
        layer = torch.nn.Conv2d(kernel.shape[1], kernel.shape[0], 3, padding=1, bias=False)
        layer.weight.data = torch.from_numpy(kernel.copy())
        layers += [layer, torch.nn.ReLU(), torch.nn.MaxPool2d(2)]
    head = torch.nn.Linear(*params["dense"].shape, bias=False)
    head.weight.data = torch.from_numpy(params["dense"].T.copy())
    return torch.nn.Sequential(*layers, torch.nn.Flatten(), head)


def opacus(module_of: Callable[[Any], Any], quantity: str, ghost: bool) -> Callable[..., Thunk]:
    """Opacus's norms or clipped sum, by stored gradients of examples or by ghost clipping, which goes backward twice."""

    def make(params: Any, x: np.ndarray, y: np.ndarray) -> Thunk:
        import torch
        from opacus.grad_sample import GradSampleModule, GradSampleModuleFastGradientClipping

        wrap: Any = GradSampleModuleFastGradientClipping if ghost else GradSampleModule
        model = wrap(module_of(params), loss_reduction="sum")
        inputs, targets = torch.from_numpy(x), torch.from_numpy(y.argmax(1))
        weights = list(model.parameters())

        def losses() -> Any:
            return torch.nn.functional.cross_entropy(model(inputs), targets, reduction="none")

        def rows(gradient: Any) -> Any:
            """One parameter's gradient as the other libraries have it: matrices are the other way round."""
            return (gradient.T if gradient.ndim == 2 else gradient).reshape(-1)

        def run() -> Any:
            model.zero_grad(set_to_none=True)
            if not ghost:
                for weight in weights:
                    weight.grad_sample = None
                losses().sum().backward()
                samples = [weight.grad_sample.flatten(1) for weight in weights]
                norms = sum(g.square().sum(1) for g in samples).sqrt()
                if quantity == "norms":
                    return norms
                factors = 1 / (1 + norms)
                return [rows((factors @ g).reshape(weight.shape)) for g, weight in zip(samples, weights, strict=True)]
            model.enable_hooks()
            found = losses()
            found.sum().backward(retain_graph=quantity != "norms")
            norms = model.get_norm_sample()
            if quantity == "norms":
                return norms
            model.zero_grad(set_to_none=True)
            model.disable_hooks()
            (found @ (1 / (1 + norms))).backward()
            return [rows(weight.grad) for weight in weights]

        return run

    return make


def jax_ghost(quantity: str) -> Callable[..., Thunk]:
    """Of an MLP: norms of inputs times norms of derivatives at outputs, then one gradient of the weighted loss."""

    def make(params: list[tuple[np.ndarray, np.ndarray]], x: np.ndarray, y: np.ndarray) -> Thunk:
        import jax
        import jax.numpy as jnp

        def losses(params: Any, shifts: Any, x: Any, y: Any) -> Any:
            seen = []
            for index, (w, b) in enumerate(params):
                seen.append(x)
                x = x @ w + b + (0 if shifts is None else shifts[index])
                if index + 1 < len(params):
                    x = jnp.tanh(x)
            return jax.nn.logsumexp(x, axis=-1) - jnp.sum(x * y, axis=-1), seen

        @jax.jit
        def run(params: Any, x: Any, y: Any) -> Any:
            shifts = [jnp.zeros((len(x), len(b))) for _, b in params]

            def total(shifts: Any) -> Any:
                found, seen = losses(params, shifts, x, y)
                return found.sum(), seen

            derivatives, seen = jax.grad(total, has_aux=True)(shifts)
            squares = [
                jnp.sum(d * d, axis=1) * (1 + jnp.sum(a * a, axis=1)) for a, d in zip(seen, derivatives, strict=True)
            ]
            norms = sum(squares) ** 0.5
            if quantity == "norms":
                return norms
            weights = 1 / (1 + norms)
            gradient = jax.grad(lambda p: weights @ losses(p, None, x, y)[0])(params)
            return [leaf.reshape(-1) for leaf in jax.tree.leaves(gradient)]

        arguments = jax.tree.map(jnp.asarray, (params, x, y))
        return lambda: jax.block_until_ready(run(*arguments))

    return make
