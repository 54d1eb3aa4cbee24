"""Random models of parts of weights, arranged anew in random ways: quantities of single examples against the program as written."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import cotangent as ct
import cotangent.numpy as cnp
import numpy as np
import pytest
from contract_models import products
from cotangent import per_example as PE

QUANTITIES: dict[str, Callable[[Any], Any]] = {
    "norms": PE.norms,
    "norms of leaves": lambda loss: PE.norms(loss, per_leaf=True),
    "clipped sum": lambda loss: PE.clipped_sum(loss, 0.7),
    "second moment": PE.second_moment,
    "kernel": PE.kernel,
}


def between(choose: random.Random, size: int) -> slice:
    first = choose.randint(0, size - 1)
    return slice(first, choose.randint(first + 1, size))


ARRANGEMENTS: list[Callable[[random.Random, Any], Any]] = [
    lambda choose, w: w[:, between(choose, w.shape[1])],
    lambda choose, w: w[between(choose, w.shape[0])],
    lambda choose, w: w[choose.randint(0, w.shape[0] - 1)][None],
    lambda choose, w: w[:: choose.choice([1, 2])][:, :: choose.choice([1, 2, 3])],
    lambda choose, w: w[::-1, ::-1],
    lambda choose, w: w.T,
    lambda choose, w: cnp.flip(w, choose.randint(0, 1)),
    lambda choose, w: cnp.roll(w, choose.randint(1, 3), choose.randint(0, 1)),
    lambda choose, w: cnp.pad(w, [[choose.randint(0, 2) for _ in range(2)] for _ in range(2)]),
    lambda choose, w: cnp.concatenate([w[:, w.shape[1] // 2 :], w[:, : w.shape[1] // 2 + 1]], 1),
    lambda choose, w: w.reshape(6, -1) if w.size % 6 == 0 else w,
]


def repeated(x: Any, size: int) -> Any:
    """So many elements along the last axis."""
    return cnp.concatenate([x] * -(-size // x.shape[-1]), -1)[..., :size]


def layer(choose: random.Random, w: Any, h: Any) -> Any:
    kind = choose.choice(["dense", "dense", "scan", "two slices"])
    if kind == "scan":
        size = min(w.shape)
        h = repeated(h, size)
        return ct.lax.scan(lambda c, _: (cnp.tanh(c @ w[:size, :size] + 0.1 * h), None), h, None, length=3)[0]
    h = repeated(h, w.shape[0])
    if kind == "dense":
        return cnp.tanh(h @ w)
    half = max(w.shape[1] // 2, 1)
    return cnp.concatenate([cnp.tanh(h @ w[:, :half]), cnp.sin(h @ w[:, half - 1 :])], -1)


def model(seed: int) -> Callable[[Any, Any], Any]:
    def loss(params: Any, x: Any) -> Any:
        choose = random.Random(seed)
        h = cnp.stack([x, 2 * x, cnp.sin(x)]) if choose.random() < 0.3 else x
        for _ in range(choose.randint(1, 3)):
            w = params[choose.choice(["a", "b"])]
            for _ in range(choose.randint(1, 3)):
                w = choose.choice(ARRANGEMENTS)(choose, w)
            h = layer(choose, w, h)
        return cnp.sum(h**2)

    return loss


@pytest.mark.parametrize("group", range(4))
def test_quantities_of_parts(group: int, long_run: bool) -> None:
    count = 100 if long_run else 3
    for seed in range(count * group, count * (group + 1)):
        rng = np.random.default_rng(seed)
        arguments = {"a": rng.normal(size=(6, 8)), "b": rng.normal(size=(5, 12))}, rng.normal(size=(5, 7))
        with ct.enable_x64():
            for name, quantity in QUANTITIES.items():
                found = {}
                for order in ("off", "direct", "always", "gram"):
                    with products(order):
                        result = ct.jit(lambda *a, quantity=quantity, seed=seed: quantity(model(seed))(*a))(*arguments)
                    found[order] = [np.asarray(leaf) for leaf in ct.tree.leaves(result)]
                for order, leaves in found.items():
                    for one, other in zip(leaves, found["off"], strict=True):
                        message = f"seed {seed}, {name}, {order}"
                        np.testing.assert_allclose(
                            one, other, rtol=1e-9, atol=1e-10 * max(1, abs(other).max()), err_msg=message
                        )
