"""``jax._src.util``: lists that are cut, chosen from and put together, and functions as values; libraries take these from JAX's private module."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterable, Sequence
from typing import Any

__all__ = [
    "ceil_of_ratio",
    "concatenate",
    "curry",
    "foreach",
    "fun_name",
    "merge_lists",
    "partition_list",
    "split_list",
    "split_list_checked",
    "stable_unique",
    "subs_list",
    "subs_list2",
    "subvals",
    "tuple_delete",
    "tuple_insert",
    "tuple_update",
    "unflatten",
    "unzip3",
    "wrap_name",
]


def foreach(f: Callable[..., Any], *args: Iterable[Any]) -> None:
    """Calls a function with the items of lists of one length."""
    for items in zip(*args, strict=True):
        f(*items)


def unzip3(triples: Iterable[tuple[Any, Any, Any]]) -> tuple[tuple[Any, ...], tuple[Any, ...], tuple[Any, ...]]:
    """The first, second and third parts of triples."""
    listed = list(triples)
    first, second, third = (tuple(triple[i] for triple in listed) for i in range(3))
    return first, second, third


def subvals(lst: Sequence[Any], replace: Iterable[tuple[int, Any]]) -> tuple[Any, ...]:
    """The items with others at some positions."""
    items = list(lst)
    for position, value in replace:
        items[position] = value
    return tuple(items)


def split_list(args: Sequence[Any], ns: Sequence[int]) -> list[list[Any]]:
    """Consecutive parts of these lengths, and the rest."""
    rest = list(args)
    bounds = [0, *itertools.accumulate(ns), len(rest)]
    return [rest[start:stop] for start, stop in itertools.pairwise(bounds)]


def split_list_checked(args: Sequence[Any], ns: Sequence[int]) -> list[list[Any]]:
    """Consecutive parts of these lengths, which are all there is."""
    if sum(ns) != len(args):
        raise ValueError(
            f"parts of {list(ns)} items are asked for, of {len(args)}\n"
            "  give lengths that add up to the number of items; split_list keeps the rest"
        )
    return split_list(args, ns)[:-1]


def partition_list(bs: Sequence[bool], l: Sequence[Any]) -> tuple[list[Any], list[Any]]:  # noqa: E741 (JAX's name)
    """The items beside a false value, and those beside a true one."""
    pairs = list(zip(bs, l, strict=True))
    return [x for chosen, x in pairs if not chosen], [x for chosen, x in pairs if chosen]


def merge_lists(bs: Sequence[bool], l0: Sequence[Any], l1: Sequence[Any]) -> list[Any]:
    """What `partition_list` took apart: the next of the first list for each false value, of the second for each true one."""
    if len(l1) != sum(map(bool, bs)) or len(l0) + len(l1) != len(bs):
        raise ValueError(
            f"{len(l0)} and {len(l1)} items do not fit {list(bs)}\n"
            "  give one bool for each item: False for those of the first list, True for those of the second"
        )
    given = iter(l0), iter(l1)
    return [next(given[bool(chosen)]) for chosen in bs]


def subs_list(subs: Sequence[int | None], src: Sequence[Any], base: Sequence[Any]) -> list[Any]:
    """The items of ``base``, those of ``src`` where there are their positions."""
    return [own if position is None else src[position] for position, own in zip(subs, base, strict=True)]


def subs_list2(
    subs1: Sequence[int | None],
    subs2: Sequence[int | None],
    src1: Sequence[Any],
    src2: Sequence[Any],
    base: Sequence[Any],
) -> list[Any]:
    """`subs_list` of two lists, of which the first goes first."""
    return subs_list(subs1, src1, subs_list(subs2, src2, base))


def concatenate(xs: Iterable[Sequence[Any]]) -> list[Any]:
    """The items of all."""
    return list(itertools.chain.from_iterable(xs))


def unflatten(xs: Iterable[Any], ns: Sequence[int]) -> list[list[Any]]:
    """Consecutive parts of these lengths.

    Raises:
        ValueError: the items are more or fewer.
    """
    return split_list_checked(list(xs), ns)


def curry(f: Callable[..., Any]) -> Callable[..., Any]:
    """The function, of which a call gives what takes the other arguments."""
    return functools.wraps(f)(functools.partial(functools.partial, f))


def wrap_name(transform_name: str, name: str) -> str:
    """The name of a transformed function."""
    return f"{transform_name}({name})"


def fun_name(fun: Callable[..., Any], default_name: str = "<unnamed function>") -> str:
    """The name of a function; of a partial one that of the whole."""
    while isinstance(fun, functools.partial):
        fun = fun.func
    return str(getattr(fun, "__name__", default_name))


def ceil_of_ratio(x: int, y: int) -> int:
    """A quotient of ints, rounded up."""
    return -(-x // y)


def tuple_insert(t: tuple[Any, ...], idx: int, val: Any) -> tuple[Any, ...]:
    """The tuple with one more item."""
    return (*t[:idx], val, *t[idx:])


def tuple_delete(t: tuple[Any, ...], idx: int) -> tuple[Any, ...]:
    """The tuple without an item."""
    return (*t[:idx], *t[idx + 1 :])


def tuple_update(t: tuple[Any, ...], idx: int, val: Any) -> tuple[Any, ...]:
    """The tuple with another item."""
    return (*t[:idx], val, *t[idx + 1 :])


def stable_unique(it: Iterable[Any]) -> Iterable[Any]:
    """Each item once, in the order in which they come first."""
    return dict.fromkeys(it).keys()
