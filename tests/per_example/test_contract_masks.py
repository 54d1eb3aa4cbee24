"""Sums of products that a mask over one to three axes clears, where the factors are not numbers in the cleared places."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import cotangent as ct
import cotangent.numpy as cnp
import numpy as np
import pytest
from contract_models import products

LETTERS = "abcde"
ORDERS = ("always", "blocks", "gram", "direct")


def planted(rng: np.random.Generator, letters: str, sizes: dict[str, int], read: np.ndarray, kept: str) -> np.ndarray:
    """A factor; about half of it is not finite where none of the places that use it is read."""
    array = rng.normal(size=[sizes[c] for c in letters])
    others = tuple(axis for axis, c in enumerate(kept) if c not in letters)
    is_read = np.any(read, axis=others) if read.size else np.zeros([sizes[c] for c in kept if c in letters], bool)
    own = [c for c in kept if c in letters]
    is_read = np.transpose(is_read, sorted(range(len(own)), key=lambda axis: letters.index(own[axis])))
    shape = [sizes[c] if c in own else 1 for c in letters]
    unread = ~np.broadcast_to(is_read.reshape(shape), array.shape)
    array[unread & (rng.random(array.shape) < 0.5)] = rng.choice([np.nan, np.inf, -np.inf])
    return array


def random_program(seed: int) -> tuple[Callable[..., Any], list[np.ndarray]]:
    """What a mask lets through of a product, or of one product or another, and a reduction of it."""
    draw, rng = random.Random(seed), np.random.default_rng(seed)
    sizes = {letter: draw.choice([1, 2, 3, 4]) for letter in LETTERS}
    some = lambda most: "".join(draw.sample(LETTERS, draw.randint(1, most)))  # noqa: E731
    choices = [[some(3) for _ in range(draw.randint(2, 3))] for _ in range(draw.randint(1, 2))]
    shared = sorted(set.intersection(*[set("".join(factors)) for factors in choices]))
    if not shared:
        return random_program(seed + 1_000_000)
    kept = "".join(draw.sample(shared, min(len(shared), draw.choice([2, 3, 4]))))
    masked = "".join(draw.sample(kept, min(len(kept), draw.randint(1, 3))))
    of_mask = [sizes[c] if c in masked else 1 for c in kept]
    mask = rng.random(of_mask) < draw.choice([0.0, 0.3, 0.6])
    if draw.random() < 0.3:  # a mask that is made of one for each axis
        for axis, size in enumerate(of_mask):
            mask &= (rng.random(size) < 0.6).reshape([-1 if k == axis else 1 for k in range(len(kept))])
    whole = np.broadcast_to(mask, [sizes[c] for c in kept])
    arrays = [mask]
    for choice, read in zip(choices, (whole, ~whole), strict=False):
        arrays += [planted(rng, letters, sizes, read, kept) for letters in choice]
    weights = rng.normal(size=[sizes[c] for c in kept])
    gone = tuple(axis for axis in range(len(kept)) if draw.random() < 0.6)
    kind = draw.choice(["sum", "square", "weigh", "both"])

    def run(mask: Any, *factors: Any) -> Any:
        values, first = [], 0
        for choice in choices:
            values.append(cnp.einsum(f"{','.join(choice)}->{kept}", *factors[first : first + len(choice)]))
            first += len(choice)
        value = cnp.where(mask, values[0], values[1] if len(values) > 1 else 0.0)
        results = []
        if kind in ("sum", "both"):
            results.append(cnp.sum(value, axis=gone))
        if kind in ("square", "both"):
            results.append(cnp.sum(value * value, axis=gone))
        if kind == "weigh":
            results.append(cnp.sum(value * weights, axis=gone))
        return results

    return run, arrays


@pytest.mark.parametrize("chunk", range(10))
def test_what_a_mask_clears_may_be_anything(chunk: int) -> None:
    for number in range(60):
        seed = 1000 * chunk + number
        f, arrays = random_program(seed)
        with products("off"):
            expected = [np.asarray(a) for a in ct.jit(f)(*arrays)]
        assert all(np.isfinite(a).all() for a in expected), seed
        for order in ORDERS:
            with products(order):
                found = ct.jit(f)(*arrays)
            for a, b in zip(found, expected, strict=True):
                scale = float(np.max(np.abs(b), initial=0)) + 1
                np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-9 * scale, err_msg=f"seed {seed}, {order}")
