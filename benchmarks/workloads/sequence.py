"""Recurrent networks and transformers: value, gradient and update."""

from __future__ import annotations

from typing import Any

import numpy as np
from judge import TimesBest, Workload

from workloads.data import normal, one_hot, sgd

TIME, HIDDEN, BATCH = 128, 128, 16


def lstm(library: Any) -> Any:
    if not library.functional:
        return None
    x, bias = normal(TIME, BATCH, HIDDEN), np.zeros(4 * HIDDEN, np.float32)
    w, u = (normal(HIDDEN, 4 * HIDDEN, seed=seed, scale=HIDDEN**-0.5) for seed in (1, 2))
    if library.name == "torch":
        torch = library.torch
        network = torch.nn.LSTM(HIDDEN, HIDDEN)
        with torch.no_grad():
            network.weight_ih_l0.copy_(torch.from_numpy(w.T.copy()))
            network.weight_hh_l0.copy_(torch.from_numpy(u.T.copy()))
            network.bias_ih_l0.zero_()
            network.bias_hh_l0.zero_()
        weights = [network.weight_ih_l0, network.weight_hh_l0, network.bias_ih_l0]
        inputs = torch.from_numpy(x)

        def run() -> Any:
            value = (network(inputs)[0] ** 2).mean()
            dw, du, db = torch.autograd.grad(value, weights)
            return value, (dw.T, du.T, db)

        return run
    if not hasattr(library, "lax"):
        return None  # a Python loop of small operations; torch.nn.LSTM is torch's best
    xp, nn, lax = library.xp, library.nn, library.lax

    def loss(params: Any, x: Any) -> Any:
        w, u, b = params

        def cell(carry: Any, x: Any) -> Any:
            h, c = carry
            i, f, g, o = xp.split(x @ w + h @ u + b, 4, axis=-1)
            c = nn.sigmoid(f) * c + nn.sigmoid(i) * xp.tanh(g)
            h = nn.sigmoid(o) * xp.tanh(c)
            return (h, c), h

        start = xp.zeros((BATCH, HIDDEN), np.float32)
        return xp.mean(lax.scan(cell, (start, start), x)[1] ** 2)

    return library.thunk(library.value_and_grad(loss), (w, u, bias), x)


WIDTH, HEADS, LENGTH, ROWS, VOCABULARY = 128, 4, 64, 8, 96


def block_parameters(seed: int) -> dict[str, np.ndarray]:
    shapes = {"qkv": (WIDTH, 3 * WIDTH), "out": (WIDTH, WIDTH), "up": (WIDTH, 4 * WIDTH), "down": (4 * WIDTH, WIDTH)}
    weights = {
        name: normal(*shape, seed=seed + i, scale=shape[0] ** -0.5) for i, (name, shape) in enumerate(shapes.items())
    }
    return {**weights, "gain1": np.ones(WIDTH, np.float32), "gain2": np.ones(WIDTH, np.float32)}


def block(library: Any) -> Any:
    """A pre-norm transformer block with causal attention."""
    xp, nn = library.xp, library.nn
    future = library.array(np.triu(np.full((LENGTH, LENGTH), -1e9, np.float32), 1))

    def norm(x: Any, gain: Any) -> Any:
        x = x - xp.mean(x, axis=-1, keepdims=True)
        return x * (xp.mean(x * x, axis=-1, keepdims=True) + 1e-5) ** -0.5 * gain

    def attention(p: Any, x: Any) -> Any:
        rows, length = x.shape[:2]
        qkv = xp.reshape(x @ p["qkv"], (rows, length, 3, HEADS, WIDTH // HEADS))
        q, k, v = (xp.transpose(qkv[:, :, i], (0, 2, 1, 3)) for i in range(3))
        if library.name.startswith("torch"):
            mixed = library.torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        else:
            scores = q @ xp.swapaxes(k, -1, -2) * (WIDTH // HEADS) ** -0.5
            mixed = nn.softmax(scores + future, axis=-1) @ v
        return xp.reshape(xp.transpose(mixed, (0, 2, 1, 3)), (rows, length, WIDTH)) @ p["out"]

    def apply(p: Any, x: Any) -> Any:
        x = x + attention(p, norm(x, p["gain1"]))
        return x + nn.gelu(norm(x, p["gain2"]) @ p["up"]) @ p["down"]

    return apply


def block_step(library: Any) -> Any:
    if not library.functional:
        return None
    apply = block(library)
    step = sgd(library, lambda p, x: library.xp.mean(apply(p, x) ** 2))
    return library.thunk(step, block_parameters(0), normal(ROWS, LENGTH, WIDTH))


def gpt_loss(library: Any) -> Any:
    apply, xp, nn = block(library), library.xp, library.nn

    def loss(p: Any, tokens: Any, targets: Any) -> Any:
        x = tokens @ p["embed"] + p["position"]
        for parameters in p["blocks"]:
            x = apply(parameters, x)
        scores = x @ p["head"]
        return xp.mean(nn.logsumexp(scores, axis=-1) - xp.sum(scores * targets, axis=-1))

    return loss


def gpt_arguments(layers: int) -> tuple[Any, ...]:
    parameters = {
        "embed": normal(VOCABULARY, WIDTH, seed=90, scale=0.1),
        "position": normal(LENGTH, WIDTH, seed=91, scale=0.1),
        "head": normal(WIDTH, VOCABULARY, seed=92, scale=WIDTH**-0.5),
        "blocks": [block_parameters(10 * i) for i in range(layers)],
    }
    tokens, targets = (one_hot(ROWS * LENGTH, VOCABULARY, seed=s).reshape(ROWS, LENGTH, VOCABULARY) for s in (1, 2))
    return parameters, tokens, targets


def gpt_step(library: Any) -> Any:
    return library.thunk(sgd(library, gpt_loss(library)), *gpt_arguments(4)) if library.functional else None


TOKENS = ROWS * LENGTH
BLOCK_FLOPS = 3 * (2 * 12 * WIDTH**2 * TOKENS + 4 * LENGTH * WIDTH * TOKENS)
LSTM_FLOPS = 3 * 2 * TIME * BATCH * 2 * HIDDEN * 4 * HIDDEN - 2 * TIME * BATCH * HIDDEN * 4 * HIDDEN

WORKLOADS = [
    Workload("LSTM T=128 h=128 b=16, value and gradient", lstm, (TimesBest(0.5),), "ms", flops=LSTM_FLOPS, tolerance=5e-3),
    Workload("transformer block, training step", block_step, (TimesBest(0.65),), "ms", flops=BLOCK_FLOPS),
    Workload(
        "4-layer GPT, training step", gpt_step, (TimesBest(0.65),), "ms",
        flops=4 * BLOCK_FLOPS + 3 * 2 * 2 * TOKENS * VOCABULARY * WIDTH,
    ),
]  # fmt: skip
