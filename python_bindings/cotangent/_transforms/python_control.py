"""Loops and branches as Python's own, for `ct.disable_jit`: every step is run when it is reached, so it can be watched."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from cotangent import _core
from cotangent._base import primitives
from cotangent._base.carriers import map_every_leaf
from cotangent._core import Array, PyTreeDef
from cotangent._transforms.memory_limits import DIVISION
from cotangent.errors import ConcretizationError


def wanted(*deciding: Any) -> bool:
    """Whether control flow should be Python's: asked for, and the values that decide are known."""
    if not _core.get_flag("disable_jit") or DIVISION.get() is not None:
        return False
    try:
        for value in deciding:
            _core.peek(value)
    except ConcretizationError:
        return False
    return True


def scan(
    f: Callable[..., Any], carry: Any, xs: list[Array], structure: PyTreeDef, steps: int, reverse: bool
) -> tuple[Any, Any]:
    """`ct.lax.scan` of at least one step."""
    ys: list[Any] = [None] * steps
    for i in reversed(range(steps)) if reverse else range(steps):
        carry, ys[i] = f(carry, structure.unflatten([x[i] for x in xs]))
    return carry, map_every_leaf(lambda *parts: _stacked(parts), *ys)


def _stacked(parts: tuple[Any, ...]) -> Array:
    arrays = _core.promote(list(parts))
    rows = [primitives.broadcast(x, shape=[1, *x._bound_shape], axes=list(range(1, 1 + x.ndim))) for x in arrays]
    return primitives.concatenate(*rows, axis=0)


def while_loop(cond_fun: Callable[[Any], Any], body_fun: Callable[[Any], Any], carry: Any) -> tuple[Any, bool]:
    """`ct.lax.while_loop` as long as its condition is known: the last carry, and whether the loop has ended."""
    while wanted(goes_on := cond_fun(carry)):
        if not goes_on:
            return carry, True
        carry = body_fun(carry)
    return carry, False


def switch(index: Any, branches: Sequence[Callable[..., Any]], operands: tuple[Any, ...]) -> Any:
    """`ct.lax.switch` at a known index."""
    return branches[min(max(int(index), 0), len(branches) - 1)](*operands)
