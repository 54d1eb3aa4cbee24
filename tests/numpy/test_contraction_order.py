"""The order in which einsum contracts: the cheapest of all orders for few operands, no worse than opt_einsum's, and its own."""

from __future__ import annotations

import functools
import math
import random
from typing import Any

import cotangent.numpy as cnp
import numpy as np
import pytest
from cotangent._ops.contraction_order import MOST_SEARCHED, contraction_order
from needs import needed

LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
Network = tuple[tuple[str, ...], str, dict[str, int]]


def network(seed: int, count: int) -> Network:
    """Operands with one to three labels each, most of which two operands have."""
    draw = random.Random(seed)
    labels = LETTERS[: count + 2]
    terms = tuple("".join(sorted(draw.sample(labels, draw.randint(1, 3)))) for _ in range(count))
    used = sorted(set("".join(terms)))
    result = "".join(sorted(draw.sample(used, min(2, len(used)))))
    return terms, result, {label: draw.choice([1, 2, 3, 7, 10]) for label in used}


def summed_first(terms: tuple[str, ...], result: str) -> list[frozenset[str]]:
    """The labels of each operand without those that nothing else has: einsum sums over these before it multiplies."""
    return [
        frozenset(term) & frozenset(result).union(*(other for k, other in enumerate(terms) if k != i))
        for i, term in enumerate(terms)
    ]


def cost(terms: tuple[str, ...], result: str, sizes: dict[str, int], path: list[tuple[int, ...]]) -> int:
    """The number of products of all steps."""
    held, total = summed_first(terms, result), 0
    for step in path:
        assert len(step) == 2 and step[0] < step[1]
        taken = [held[i] for i in step]
        held = [term for i, term in enumerate(held) if i not in step]
        total += math.prod(sizes[label] for label in taken[0] | taken[1])
        held.append((taken[0] | taken[1]) & set(result).union(*held))
    assert len(held) == 1
    return total


def least(terms: tuple[str, ...], result: str, sizes: dict[str, int]) -> int:
    """The least cost of all orders, each of which is tried."""

    @functools.cache
    def of(held: tuple[frozenset[str], ...]) -> int:
        if len(held) == 1:
            return 0
        found = []
        for i in range(len(held)):
            for j in range(i + 1, len(held)):
                others = [term for k, term in enumerate(held) if k not in (i, j)]
                made = (held[i] | held[j]) & frozenset(result).union(*others)
                found.append(math.prod(sizes[label] for label in held[i] | held[j]) + of((*others, made)))
        return min(found)

    return of(tuple(summed_first(terms, result)))


@pytest.mark.parametrize("count", [3, 4, 5])
@pytest.mark.parametrize("seed", range(8))
def test_few_operands_have_the_cheapest_order_of_all(seed: int, count: int) -> None:
    terms, result, sizes = network(seed, count)
    assert cost(terms, result, sizes, contraction_order(terms, result, sizes)) == least(terms, result, sizes)


@pytest.mark.parametrize("seed", range(5))
def test_orders_cost_no_more_than_those_of_opt_einsum(seed: int) -> None:
    oe = needed("opt_einsum")
    for count in (4, MOST_SEARCHED):
        terms, result, sizes = network(seed, count)
        shapes = [tuple(sizes[label] for label in term) for term in terms]
        theirs, _ = oe.contract_path(",".join(terms) + "->" + result, *shapes, shapes=True, optimize="optimal")
        ours = contraction_order(terms, result, sizes)
        assert cost(terms, result, sizes, ours) <= cost(terms, result, sizes, [tuple(sorted(step)) for step in theirs])


@pytest.mark.parametrize("count", [MOST_SEARCHED + 1, 14, 25])
def test_many_operands_are_contracted_in_pairs(count: int) -> None:
    terms = tuple(LETTERS[i : i + 2] for i in range(count))  # a chain of matrices
    sizes = {label: 2 + i % 3 for i, label in enumerate(LETTERS)}
    path = contraction_order(terms, LETTERS[0] + LETTERS[count], sizes)
    assert len(path) == count - 1
    from_left = [(0, count - 1 - k) if k else (0, 1) for k in range(count - 1)]
    assert cost(terms, LETTERS[0] + LETTERS[count], sizes, path) <= cost(
        terms, LETTERS[0] + LETTERS[count], sizes, from_left
    )


def test_a_chain_of_matrices_begins_at_its_narrow_end() -> None:
    path, report = cnp.einsum_path("ij,jk,kl->il", np.ones((100, 100)), np.ones((100, 100)), np.ones((100, 1)))
    assert path == [(1, 2), (0, 1)]
    assert "FLOP" in str(report)


@pytest.mark.parametrize("optimize", [True, "auto", "optimal", "greedy", "dp", False, [(0, 2), (0, 1, 2)]])
def test_every_order_has_the_same_product(optimize: Any) -> None:
    rng = np.random.default_rng(0)
    parts = [rng.standard_normal(shape) for shape in ((3, 4), (4, 5), (5, 3), (3, 1))]
    found = cnp.einsum("ab,bc,ca,a...->...a", *parts, optimize=optimize)
    np.testing.assert_allclose(found, np.einsum("ab,bc,ca,a...->...a", *parts), rtol=1e-4)


def test_axes_of_one_and_ellipses_take_part() -> None:
    parts = [np.ones((1, 4)), np.ones((5, 4)), np.ones((5, 6)), np.ones((2, 6))]
    found = cnp.einsum("...a,...a,...b,...b->...", parts[0], parts[1], parts[2], np.ones((1, 6)))
    np.testing.assert_array_equal(found, np.full(5, 24.0))
