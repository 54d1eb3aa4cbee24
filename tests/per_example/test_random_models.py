"""Quantities of the gradients of random models, against the programs as they are written: see `random_models.py` and `random_quantities.py`.

As a program it compares as many as asked: ``python tests/per_example/test_random_models.py FIRST COUNT [QUANTITIES]``.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "shared"))
from random_quantities import compared, contaminated


def problems_of(seeds: range, quantities: int | None) -> tuple[int, list[str]]:
    made, problems = 0, []
    for seed in seeds:
        for text, problem in compared(seed, quantities):
            made += 1
            if problem:
                problems.append(f"{text}\n    {problem}")
    return made, problems


@pytest.mark.parametrize("chunk", range(8))
def test_quantities_of_random_models(chunk: int, long_run: bool) -> None:
    count, quantities = (50, None) if long_run else (6, 10)
    made, problems = problems_of(range(count * chunk, count * (chunk + 1)), quantities)
    assert made > count * 10
    assert not problems, "\n".join(problems)


def test_an_example_that_is_not_a_number_stays_where_it_is(long_run: bool) -> None:
    found = [each for seed in range(300 if long_run else 20) for each in contaminated(seed)]
    assert len(found) > 100
    assert not [each for each in found if each[1]]


if __name__ == "__main__":
    first, count = int(sys.argv[1]), int(sys.argv[2])
    total, wrong = problems_of(range(first, first + count), int(sys.argv[3]) if len(sys.argv) > 3 else None)
    print("\n".join([*wrong, f"{count} models, {total} comparisons, {len(wrong)} wrong"]))
    sys.exit(bool(wrong))
