"""What models share: layers and steps of training, as JAX's users write them, and as torch has them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from judge import TimesBest, Workload

Tree = Any

# A tolerance: an element next to the kink of relu may be on either side of it, and of two that are nearly equal either is largest.
KINKS = 1e-2


def is_torch(library: Any) -> bool:
    return bool(library.name.startswith("torch"))


def functional(library: Any) -> Any:
    return library.torch.nn.functional


class Draw:
    """Initial weights, one after the other."""

    def __init__(self, seed: int) -> None:
        self.generator = np.random.default_rng(seed)

    def normal(self, *shape: int, scale: float = 1.0) -> np.ndarray:
        return (self.generator.standard_normal(shape) * scale).astype(np.float32)

    def dense(self, into: int, out: int) -> np.ndarray:
        return self.normal(into, out, scale=into**-0.5)

    def linear(self, into: int, out: int) -> dict[str, np.ndarray]:
        return {"w": self.dense(into, out), "b": self.normal(out, scale=0.01)}

    def kernel(self, size: int, into: int, out: int, channels_last: bool = True) -> np.ndarray:
        w = self.normal(size, size, into, out, scale=(2 / (size * size * into)) ** 0.5)
        return w if channels_last else np.ascontiguousarray(w.transpose(3, 2, 0, 1))

    def integers(self, below: int, *shape: int) -> np.ndarray:
        return self.generator.integers(0, below, shape).astype(np.int32)

    def uniform(self, *shape: int) -> np.ndarray:
        return self.generator.random(shape, np.float32)


def norm_parameters(width: int) -> dict[str, np.ndarray]:
    return {"scale": np.ones(width, np.float32), "bias": np.full(width, 0.1, np.float32)}


def running(width: int) -> dict[str, np.ndarray]:
    """What batch norm remembers, after some steps."""
    return {"mean": np.full(width, 0.1, np.float32), "var": np.ones(width, np.float32)}


# ----------------------------------------------------------------------------------------------------------- layers


def linear(p: Tree, x: Any) -> Any:
    return x @ p["w"] + p["b"]


def first(x: Any) -> Any:
    """Channels first, for torch."""
    return x.permute(0, 3, 1, 2)


def last(x: Any) -> Any:
    return x.permute(0, 2, 3, 1)


def convolve(library: Any, x: Any, w: Any, stride: int = 1, groups: int = 1, channels_last: bool = True) -> Any:
    """Padded by half of the kernel: NHWC by HWIO, or NCHW by OIHW."""
    half = w.shape[0 if channels_last else 2] // 2
    if is_torch(library):
        x, w = (first(x), w.permute(3, 2, 0, 1)) if channels_last else (x, w)
        y = functional(library).conv2d(x, w, stride=stride, padding=half, groups=groups)
        return last(y) if channels_last else y
    names = ("NHWC", "HWIO", "NHWC") if channels_last else ("NCHW", "OIHW", "NCHW")
    return library.lax.conv_general_dilated(
        x,
        w,
        (stride, stride),
        ((half, half), (half, half)),
        dimension_numbers=names,
        feature_group_count=groups,
    )


def max_pool(library: Any, x: Any) -> Any:
    """Largest of 2x2, channels last."""
    if is_torch(library):
        return last(functional(library).max_pool2d(first(x), 2))
    return library.lax.reduce_window(x, -np.inf, library.lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")


def batch_norm(library: Any, p: Tree, state: Tree, x: Any, channels_last: bool = True) -> tuple[Any, Tree]:
    """By the batch's mean and variance, which also go into the running ones."""
    xp = library.xp
    if is_torch(library):
        mean, var = state["mean"].clone(), state["var"].clone()
        x = first(x) if channels_last else x
        y = functional(library).batch_norm(x, mean, var, p["scale"], p["bias"], True, 0.1, 1e-5)
        return last(y) if channels_last else y, {"mean": mean, "var": var}
    axes, shape = ((0, 1, 2), (1, 1, 1, -1)) if channels_last else ((0, 2, 3), (1, -1, 1, 1))
    mean, var = xp.mean(x, axis=axes), xp.var(x, axis=axes)
    gain = p["scale"] * library.lax.rsqrt(var + 1e-5)
    y = (x - mean.reshape(shape)) * gain.reshape(shape) + p["bias"].reshape(shape)
    count = x.size // mean.size
    stop = library.lax.stop_gradient
    new = {
        "mean": 0.9 * state["mean"] + 0.1 * stop(mean),
        "var": 0.9 * state["var"] + 0.1 * stop(var) * (count / (count - 1)),
    }
    return y, new


def group_norm(library: Any, p: Tree, x: Any, groups: int) -> Any:
    """Of channels that are last."""
    if is_torch(library):
        return last(functional(library).group_norm(first(x), groups, p["scale"], p["bias"], 1e-5))
    xp = library.xp
    n, height, width, channels = x.shape
    y = x.reshape(n, height, width, groups, channels // groups)
    mean = xp.mean(y, axis=(1, 2, 4), keepdims=True)
    var = xp.var(y, axis=(1, 2, 4), keepdims=True)
    y = (y - mean) * library.lax.rsqrt(var + 1e-5)
    return y.reshape(x.shape) * p["scale"] + p["bias"]


def layer_norm(library: Any, p: Tree, x: Any) -> Any:
    if is_torch(library):
        return functional(library).layer_norm(x, x.shape[-1:], p["scale"], p["bias"], 1e-5)
    xp = library.xp
    mean = xp.mean(x, axis=-1, keepdims=True)
    var = xp.var(x, axis=-1, keepdims=True)
    return (x - mean) * library.lax.rsqrt(var + 1e-5) * p["scale"] + p["bias"]


def silu(library: Any, x: Any) -> Any:
    return functional(library).silu(x) if is_torch(library) else library.nn.silu(x)


def softplus(library: Any, x: Any) -> Any:
    return functional(library).softplus(x) if is_torch(library) else library.nn.softplus(x)


def dropout(library: Any, key: Any, x: Any, rate: float) -> Any:
    """Torch draws from its own generator."""
    if is_torch(library):
        return functional(library).dropout(x, rate)
    keep = library.module.random.bernoulli(key, 1 - rate, x.shape)
    return library.xp.where(keep, x / (1 - rate), 0)


def cross_entropy(library: Any, logits: Any, labels: Any) -> Any:
    """Mean over all but the last axis."""
    if is_torch(library):
        return functional(library).cross_entropy(logits.reshape(-1, logits.shape[-1]), labels.reshape(-1).long())
    xp = library.xp
    log_p = library.nn.log_softmax(logits, axis=-1)
    return -xp.mean(xp.take_along_axis(log_p, labels[..., None], axis=-1))


def attention_parameters(draw: Draw, width: int) -> Tree:
    return {"qkv": draw.linear(width, 3 * width), "out": draw.linear(width, width)}


def attention(library: Any, p: Tree, x: Any, heads: int, causal: bool = False) -> Any:
    xp = library.xp
    rows, length, width = x.shape
    qkv = linear(p["qkv"], x).reshape(rows, length, 3, heads, width // heads)
    q, k, v = qkv[:, :, 0], qkv[:, :, 1], qkv[:, :, 2]
    if is_torch(library):
        q, k, v = (part.transpose(1, 2) for part in (q, k, v))
        mixed = functional(library).scaled_dot_product_attention(q, k, v, is_causal=causal).transpose(1, 2)
    else:
        scores = xp.einsum("bqhd,bkhd->bhqk", q, k) / np.sqrt(width // heads)
        if causal:
            scores = xp.where(xp.tril(xp.ones((length, length), bool)), scores, -1e9)
        mixed = xp.einsum("bhqk,bkhd->bqhd", library.nn.softmax(scores, axis=-1), v)
    return linear(p["out"], mixed.reshape(rows, length, width))


def block_parameters(draw: Draw, width: int) -> Tree:
    return {
        "norm1": norm_parameters(width), "attention": attention_parameters(draw, width),
        "norm2": norm_parameters(width), "up": draw.linear(width, 4 * width), "down": draw.linear(4 * width, width),
    }  # fmt: skip


def transformer_block(library: Any, p: Tree, x: Any, heads: int, causal: bool = False) -> Any:
    """Norms before attention and perceptron."""
    x = x + attention(library, p["attention"], layer_norm(library, p["norm1"], x), heads, causal)
    return x + linear(p["down"], library.nn.gelu(linear(p["up"], layer_norm(library, p["norm2"], x))))


# ------------------------------------------------------------------------------------------------ steps of training


def value_and_grad_with_state(library: Any, loss: Any) -> Any:
    """Of a loss that also gives a new state."""
    if not is_torch(library):
        return library.module.value_and_grad(loss, has_aux=True)
    if library.name != "torch":
        both = library.torch.func.grad_and_value(loss, has_aux=True)
        return lambda *arguments: both(*arguments)[::-1]

    def run(*arguments: Any) -> Any:
        states: list[Any] = []

        def value_of(*inner: Any) -> Any:
            value, state = loss(*inner)
            states.append(state)
            return value

        value, gradients = library.value_and_grad(value_of)(*arguments)
        return (value, library.tree_map(lambda leaf: leaf.detach(), states[0])), gradients

    return run


def velocity_of(params: Tree) -> Tree:
    """After some steps: where a gradient is 0 but for rounding, libraries agree."""
    return map_arrays(lambda p: np.full_like(p, 1e-2), params)


def momentum_step(library: Any, loss: Any, rate: float = 0.05) -> Any:
    """SGD with momentum and decay of weights, of a loss with state."""

    def step(params: Tree, velocity: Tree, state: Tree, *batch: Any) -> Any:
        (value, state), gradients = value_and_grad_with_state(library, loss)(params, state, *batch)
        velocity = library.tree_map(lambda v, g, p: 0.9 * v + g + 5e-4 * p, velocity, gradients, params)
        params = library.tree_map(lambda p, v: p - rate * v, params, velocity)
        return params, velocity, state, value

    return step


def leaves(tree: Tree) -> list[Any]:
    if isinstance(tree, dict):
        return [leaf for key in sorted(tree) for leaf in leaves(tree[key])]
    if isinstance(tree, (list, tuple)):
        return [leaf for item in tree for leaf in leaves(item)]
    return [tree]


def adam_update(
    library: Any, params: Tree, moments: Tree, gradients: Tree, rate: float = 1e-3, clip: float = 0, decay: float = 0
) -> Any:
    """Parameters and moments after one update by Adam; `clip`: the gradients' largest norm."""
    xp, tree_map = library.xp, library.tree_map
    if clip:
        norm = xp.sqrt(sum(xp.sum(g * g) for g in leaves(gradients)))
        scale = xp.where(norm > clip, clip / norm, 1.0)
        gradients = tree_map(lambda g: g * scale, gradients)
    count = moments["count"] + 1
    mean = tree_map(lambda m, g: 0.9 * m + 0.1 * g, moments["mean"], gradients)
    square = tree_map(lambda v, g: 0.999 * v + 0.001 * g * g, moments["square"], gradients)
    up, down = 1 - 0.9**count, 1 - 0.999**count
    params = tree_map(
        lambda p, m, v: p - rate * (m / up / (xp.sqrt(v / down) + 1e-8) + decay * p), params, mean, square
    )
    return params, {"count": count, "mean": mean, "square": square}


def adam_step(library: Any, loss: Any, **options: Any) -> Any:
    """Value of a loss, and its parameters after one update by Adam."""

    def step(params: Tree, moments: Tree, *batch: Any) -> Any:
        value, gradients = library.value_and_grad(loss)(params, *batch)
        return *adam_update(library, params, moments, gradients, **options), value

    return step


def map_arrays(function: Callable[[np.ndarray], np.ndarray], tree: Tree) -> Tree:
    from libraries import tree_map

    return tree_map(function, tree)


def moments_of(params: Tree) -> Tree:
    """Adam's after some steps: from 0 the first update is a sign, which rounding decides where a gradient is 0."""
    return {
        "count": np.array(10, np.float32),
        "mean": map_arrays(np.zeros_like, params),
        "square": map_arrays(lambda p: np.full_like(p, 1e-4), params),
    }


def model(name: str, make: Any, unit: str = "ms", own_draws: bool = False, **options: Any) -> Workload:
    """A workload that is to take no longer than the best peer's; `own_draws`: torch draws other random numbers, and is not compared."""
    if not own_draws:
        return Workload(name, make, (TimesBest(1.0),), unit, **{"tolerance": 1e-4} | options)

    def by_torch() -> Any:
        from libraries import Torch

        return make(Torch())

    column = "torch.own draws"
    return Workload(
        name, lambda library: make(library) if hasattr(library, "lax") else None, (TimesBest(1.0),), unit,
        others={column: by_torch}, unlike=(column,), **{"tolerance": 1e-4} | options,
    )  # fmt: skip
