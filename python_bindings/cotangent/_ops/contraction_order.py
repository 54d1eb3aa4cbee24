"""The order in which `einsum` contracts more than two operands: of few the cheapest of all, of more a good one.

A step multiplies two operands and sums over the labels that nothing else has; over labels that one operand alone has is summed before. Its
cost is the number of products: the sizes of all of its labels, multiplied. The cost of an order is the sum over its steps. `cheapest` looks
at all ways to divide each subset of the operands in two, in time 3**n; while there are more than it can take, the pair is contracted whose
product grows least over its operands. All is integer arithmetic, and ties go to what comes first: equal calls have equal orders, and bits,
on every machine and whatever else is installed.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from cotangent._base.arguments import check_arguments

__all__ = ["MOST_SEARCHED", "Step", "contraction_order"]

MOST_SEARCHED = 8  # operands: 3280 divisions, some milliseconds

Step = tuple[int, ...]


def contraction_order(terms: Sequence[str], result: str, sizes: dict[str, int]) -> list[Step]:
    """Positions of operands, of which each step takes two and appends their product to the rest.

    Args:
        terms: the labels of each operand.
        result: the labels of the result.
        sizes: the size of each label.
    """
    held, kept = [frozenset(term) for term in terms], frozenset(result)
    steps: list[Step] = []
    while len(held) > MOST_SEARCHED:
        i, j, made = _grows_least(held, kept, sizes)
        steps.append((i, j))
        del held[j], held[i]
        held.append(made)
    return [*steps, *cheapest(held, kept, sizes)]


def _product(labels: frozenset[str], sizes: dict[str, int]) -> int:
    return math.prod(max(sizes[label], 1) for label in labels)


def cheapest(terms: Sequence[frozenset[str]], result: frozenset[str], sizes: dict[str, int]) -> list[Step]:
    """The order of least cost; among these, the one whose intermediate results are smallest together."""
    everything = (1 << len(terms)) - 1
    inside: list[frozenset[str]] = [frozenset()] * (everything + 1)  # labels of the operands of a subset
    for subset in range(1, everything + 1):
        low = subset & -subset
        inside[subset] = inside[subset ^ low] | terms[low.bit_length() - 1]
    left = [inside[subset] & (inside[everything ^ subset] | result) for subset in range(everything + 1)]
    best: dict[int, tuple[int, int]] = {1 << i: (0, 0) for i in range(len(terms))}  # products, and elements between
    division: dict[int, int] = {}
    for subset in range(1, everything + 1):
        if subset in best:
            continue
        low, made = subset & -subset, _product(left[subset], sizes)
        found: tuple[int, int] | None = None
        part = (subset - 1) & subset
        while part:
            if part & low:  # each division once
                a, b = best[part], best[subset ^ part]
                products = _product(left[part] | left[subset ^ part], sizes)
                cost = (a[0] + b[0] + products, a[1] + b[1] + made)
                if found is None or cost < found:
                    found, division[subset] = cost, part
            part = (part - 1) & subset
        assert found is not None
        best[subset] = found

    order: list[tuple[int, int]] = []  # pairs of subsets

    def add(subset: int) -> None:
        if subset in division:
            part = division[subset]
            add(part)
            add(subset ^ part)
            order.append((part, subset ^ part))

    add(everything)
    return _positions(order, [1 << i for i in range(len(terms))])


def _positions(order: list[tuple[int, int]], held: list[int]) -> list[Step]:
    steps: list[Step] = []
    for a, b in order:
        i, j = sorted((held.index(a), held.index(b)))
        steps.append((i, j))
        del held[j], held[i]
        held.append(a | b)
    return steps


def _grows_least(
    held: Sequence[frozenset[str]], result: frozenset[str], sizes: dict[str, int]
) -> tuple[int, int, frozenset[str]]:
    """The pair whose product has the fewest elements more than its operands, among those that share a label if any do."""
    elements = [_product(term, sizes) for term in held]
    occurs = Counter(label for term in (result, *held) for label in term)
    found: tuple[bool, int, int, int] | None = None
    labels: frozenset[str] = frozenset()
    for i, a in enumerate(held):
        for j in range(i + 1, len(held)):
            b = held[j]
            made = frozenset(label for label in a | b if occurs[label] > (label in a) + (label in b))
            candidate = (not (a & b), _product(made, sizes) - elements[i] - elements[j], i, j)
            if found is None or candidate < found:
                found, labels = candidate, made
    assert found is not None
    return found[2], found[3], labels


check_arguments(globals())
