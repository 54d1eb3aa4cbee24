"""Opacus's quantities of single examples, with hooks and with ghost clipping, of the models as modules of torch.

Each takes the model's parameters and a batch as NumPy arrays, and gives a function of no arguments whose result is that of the workload.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Thunk = Callable[[], Any]
# A module, and its weights in the order of the other libraries' leaves: where True, as a matrix that is the other way round.
Built = tuple[Any, list[tuple[Any, bool]]]


def linear(weight: np.ndarray, bias: np.ndarray | None = None, kind: Any = None) -> Any:
    import torch

    layer = (kind or torch.nn.Linear)(*weight.shape, bias=bias is not None)
    layer.weight.data = torch.from_numpy(weight.T.copy())
    if bias is not None:
        layer.bias.data = torch.from_numpy(bias.copy())
    return layer


def perceptron(params: list[tuple[np.ndarray, np.ndarray]]) -> Built:
    """An MLP with tanh."""
    import torch

    layers = [linear(w, b) for w, b in params]
    chain = [part for layer in layers for part in (layer, torch.nn.Tanh())]
    order = [pair for layer in layers for pair in ((layer.weight, True), (layer.bias, False))]
    return torch.nn.Sequential(*chain[:-1]), order


def convolutional(params: dict[str, np.ndarray]) -> Built:
    """The CNN of `workloads.convolution`."""
    import torch

    layers: list[Any] = []
    for name in ("conv1", "conv2"):
        kernel = params[name]
        layer = torch.nn.Conv2d(kernel.shape[1], kernel.shape[0], 3, padding=1, bias=False)
        layer.weight.data = torch.from_numpy(kernel.copy())
        layers += [layer, torch.nn.ReLU(), torch.nn.MaxPool2d(2)]
    head = linear(params["dense"])
    module = torch.nn.Sequential(*layers, torch.nn.Flatten(), head)
    return module, [(layers[0].weight, False), (layers[3].weight, False), (head.weight, True)]


def recurrent(params: dict[str, np.ndarray]) -> Built:
    """An LSTM whose last state a layer reads, of Opacus's layer for weights that are used at each step."""
    import torch
    from opacus.layers.dp_rnn import RNNLinear

    class Network(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.w, self.u = linear(params["w"], params["b"]), linear(params["u"], kind=RNNLinear)
            self.head = linear(params["head"])

        def forward(self, x: Any) -> Any:
            h = c = x.new_zeros((len(x), len(params["u"])))
            for step in self.w(x).unbind(1):
                i, f, g, o = (step + self.u(h)).chunk(4, 1)
                c = f.sigmoid() * c + i.sigmoid() * g.tanh()
                h = o.sigmoid() * c.tanh()
            return self.head(h)

    network = Network()
    order = [(network.w.bias, False), *((layer.weight, True) for layer in (network.head, network.u, network.w))]
    return network, order


def transformer(params: dict[str, Any]) -> Built:
    """Pre-norm blocks over an embedding that is the head as well."""
    import torch

    functional = torch.nn.functional

    class Block(torch.nn.Module):
        def __init__(self, weights: dict[str, np.ndarray]) -> None:
            super().__init__()
            for name, weight in weights.items():
                setattr(self, name, linear(weight))

        def forward(self, x: Any) -> Any:
            heads = self.qkv(functional.layer_norm(x, x.shape[-1:])).unflatten(-1, (3, 4, -1)).permute(2, 0, 3, 1, 4)
            mixed = functional.scaled_dot_product_attention(*heads.unbind(0), is_causal=True)
            x = x + self.out(mixed.transpose(1, 2).flatten(2))
            return x + self.down(functional.gelu(self.up(functional.layer_norm(x, x.shape[-1:])), approximate="tanh"))

    class Network(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embed = torch.nn.Embedding(*params["embed"].shape)
            self.embed.weight.data = torch.from_numpy(params["embed"].copy())
            self.blocks = torch.nn.ModuleList([Block(weights) for weights in params["blocks"]])
            self.head = linear(params["embed"].T)
            self.head.weight = self.embed.weight

        def forward(self, tokens: Any) -> Any:
            x = self.embed(tokens)
            for block in self.blocks:
                x = block(x)
            return self.head(functional.layer_norm(x, x.shape[-1:])).transpose(1, 2)  # classes before places

    network = Network()
    order = [(getattr(block, name).weight, True) for block in network.blocks for name in ("down", "out", "qkv", "up")]
    return network, [*order, (network.embed.weight, False)]


def from_samples(quantity: str, order: list[tuple[Any, bool]]) -> Any:
    """What stored gradients of examples give."""
    samples = [weight.grad_sample.flatten(1) for weight, _ in order]
    if quantity == "kernel":
        return sum(g @ g.T for g in samples)
    if quantity == "second moment":
        return [turned(g.square().sum(0), *pair) for g, pair in zip(samples, order, strict=True)]
    norms = sum(g.square().sum(1) for g in samples).sqrt()
    if quantity == "norms":
        return norms
    factors = 1 / (1 + norms)
    return [turned(factors @ g, *pair) for g, pair in zip(samples, order, strict=True)]


def turned(found: Any, weight: Any, turn: bool) -> Any:
    """Something of a weight's shape as the other libraries have it."""
    found = found.reshape(weight.shape)
    return (found.T if turn else found).reshape(-1)


def opacus(module_of: Callable[[Any], Built], quantity: str, ghost: bool) -> Callable[..., Thunk]:
    """A quantity of Opacus, by stored gradients of examples or by ghost clipping, which goes backward twice."""

    def make(params: Any, x: np.ndarray, y: np.ndarray) -> Thunk:
        import torch
        from opacus.grad_sample import GradSampleModule, GradSampleModuleFastGradientClipping

        wrap: Any = GradSampleModuleFastGradientClipping if ghost else GradSampleModule
        module, order = module_of(params)
        model = wrap(module, loss_reduction="sum")
        indices = x.dtype == np.int32
        inputs, targets = torch.from_numpy(x.astype(np.int64) if indices else x), torch.from_numpy(y.argmax(-1))

        def losses() -> Any:
            found = torch.nn.functional.cross_entropy(model(inputs), targets, reduction="none")
            return found if found.ndim == 1 else found.mean(1)

        def run() -> Any:
            model.zero_grad(set_to_none=True)
            if not ghost:
                for weight, _ in order:
                    weight.grad_sample = None
                losses().sum().backward()
                return from_samples(quantity, order)
            model.enable_hooks()
            found = losses()
            found.sum().backward(retain_graph=quantity != "norms")
            norms = model.get_norm_sample()
            if quantity == "norms":
                return norms
            model.zero_grad(set_to_none=True)
            model.disable_hooks()
            (found @ (1 / (1 + norms))).backward()
            return [turned(weight.grad, weight, turn) for weight, turn in order]

        return run

    return make
