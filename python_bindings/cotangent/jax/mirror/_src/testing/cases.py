"""Parameters of tests: a number of samples of all combinations, and names by which runners choose.

The environment variable ``JAX_NUM_GENERATED_CASES`` is how many.
"""

from __future__ import annotations

import functools
import math
import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from absl.testing import parameterized

from cotangent.jax.mirror._src.config import Flag

__all__ = [
    "NUM_GENERATED_CASES",
    "cases_from_gens",
    "named_cases_from_sampler",
    "parameterized_filterable",
    "sample_product",
    "sample_product_testcases",
    "sanitize_test_name",
]

NUM_GENERATED_CASES = Flag("jax_num_generated_cases", int(os.environ.get("JAX_NUM_GENERATED_CASES", "10")))
_MOST_TRIES = 100  # for a case that was not there yet
_SEED = 42  # of what is chosen: the same in every run


@functools.cache
def _chosen(number: int, count: int) -> tuple[int, ...]:
    return tuple(int(i) for i in np.random.RandomState(_SEED).choice(number, size=count, replace=False))


def sample_product_testcases(*args: Iterable[dict[str, Any]], **kw: Iterable[Any]) -> list[dict[str, Any]]:
    """Some of the combinations of one dict of each list with one value of each keyword."""
    axes = [list(group) for group in args] + [[{name: value} for value in values] for name, values in kw.items()]
    sizes = tuple(len(axis) for axis in axes)
    number = math.prod(sizes)
    cases = []
    for index in _chosen(number, min(number, NUM_GENERATED_CASES.value)):
        case: dict[str, Any] = {}
        for axis, place in zip(axes, np.unravel_index(index, sizes, order="F"), strict=True):
            case |= axis[place]
        cases.append(case)
    return cases


def sample_product(*args: Iterable[dict[str, Any]], **kw: Iterable[Any]) -> Any:
    """The decorator that runs a test for some of the combinations of one dict of each list with one value of each keyword."""
    return parameterized.parameters(*sample_product_testcases(*args, **kw))


def cases_from_gens(*gens: Callable[[int], Any]) -> Iterator[tuple[Any, ...]]:
    """Cases of a few sizes: a name, and what each generator makes of the size."""
    sizes = (1, 3, 10)
    for size in sizes:
        for number in range(NUM_GENERATED_CASES.value // len(sizes) + 1):
            yield (f"_{size}_{number}", *(gen(size) for gen in gens))


def named_cases_from_sampler(
    gen: Callable[[Callable[[Iterable[Any]], list[Any]]], Iterable[dict[str, Any]]],
) -> Iterator[dict[str, Any]]:
    """Cases of different names from a generator that chooses by the function that it is given."""
    rng = np.random.RandomState(_SEED)

    def choose(among: Iterable[Any]) -> list[Any]:
        values = list(among)
        return [values[rng.randint(len(values))]]

    seen: set[str] = set()
    tries = 0
    while len(seen) < NUM_GENERATED_CASES.value and tries < _MOST_TRIES:
        tries += 1
        cases = list(gen(choose))
        if len(cases) > 1:
            raise RuntimeError(
                "named_cases_from_sampler: the generator made several cases of one choice\n  let it make one"
            )
        if cases and cases[0]["testcase_name"] not in seen:
            tries = 0
            seen.add(cases[0]["testcase_name"])
            yield cases[0]


def sanitize_test_name(s: str) -> str:
    """A name without what runners cannot choose by."""
    return re.sub(r"[ \"'\[\](){}<>=,._]+", "_", s)


def parameterized_filterable(*, kwargs: Sequence[dict[str, Any]], testcase_name: Callable[[dict[str, Any]], str] | None = None,
                             one_containing: str | None = None) -> Any:  # fmt: skip
    """The decorator that runs a test for each dict, under names that runners can choose by; or for one of those with a name like this."""

    def name_of(case: dict[str, Any]) -> str:
        if testcase_name is not None:
            return str(testcase_name(case))
        given = case.get("testcase_name")
        return "_".join(f"{key}={case[key]}" for key in sorted(case)) if given is None else given

    named = [{**case, "testcase_name": sanitize_test_name(name_of(case))} for case in kwargs]
    if one_containing is None:
        return parameterized.named_parameters(*named)
    found = [case for case in named if one_containing in case["testcase_name"]]
    if not found:
        names = "".join(f"\n  {case['testcase_name']}" for case in named)
        raise AssertionError(f"no case has {one_containing!r} in its name; the names are{names}")
    return parameterized.named_parameters([{**found[0], "testcase_name": ""}])
