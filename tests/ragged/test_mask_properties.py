"""The law of mask on random programs; `mask_programs.py` makes them, `mask_law.py` says what is compared."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import mask_law
import pytest
from mask_programs import program

GROUPS = 8
SHARE = 125  # programs of a group, and of all of them
ALL = 2500


@pytest.mark.parametrize("bound", [1, 2])
def test_the_law_of_mask_under_small_bounds(
    bound: int, share: Callable[[int, int], int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """An axis that may have one element at most is like any axis of size 1 in memory."""
    monkeypatch.setattr(mask_law, "BOUND", bound)
    tried: Counter[str] = Counter()
    first = (GROUPS + bound) * ALL
    for seed in range(first, first + share(SHARE // 2, ALL // 4)):
        mask_law.check(program(seed), tried)


@pytest.mark.parametrize("group", range(GROUPS))
def test_the_law_of_mask_on_random_programs(group: int, share: Callable[[int, int], int]) -> None:
    """A program is counted once, however many lengths and ways it is tried in."""
    tried: Counter[str] = Counter()
    broken: list[str] = []
    for seed in range(group * ALL, group * ALL + share(SHARE, ALL)):
        try:
            mask_law.check(program(seed), tried)
        except mask_law.Broken as error:
            broken.append(str(error))
        except (
            NotImplementedError
        ):  # counted in `tried`: an axis with a bound of 1 that a reshape cannot tell from others
            continue
    assert not broken, f"{len(broken)} programs break the law, the first:\n{broken[0]}"
    assert tried["refused"] <= share(SHARE, ALL) // 100
