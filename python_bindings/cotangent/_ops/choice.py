"""Elements chosen by conditions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from cotangent import _core
from cotangent._base import primitives
from cotangent._base.arguments import check_arguments
from cotangent._core import Array, entrance
from cotangent._ops.comparisons import truth
from cotangent._ops.positions import nonzero

__all__ = ["select", "where"]


@entrance("where", primitives.select)
def where(condition: Any, x: Any = None, y: Any = None, /, *, size: int | None = None, fill_value: Any = None) -> Any:
    """Elements of ``x`` where the condition holds, else of ``y``; everything is broadcast.

    With the condition alone: `nonzero`, whose result has a shape that depends on values, so the condition must be
    concrete, or ``size`` given.
    A derivative flows only into the chosen operand; to keep an undefined derivative out, make the argument of the
    other branch harmless
    too (``where(x > 0, log(where(x > 0, x, 1)), 0)``).

    Raises:
        ValueError: exactly one of ``x`` and ``y`` is given.

    >>> import cotangent as ct
    >>> ct.numpy.where(ct.numpy.array([True, False]), 1.0, 2.0).tolist()
    [1.0, 2.0]
    """
    if x is None and y is None:
        return nonzero(condition, size=size, fill_value=fill_value)
    if x is None or y is None:
        raise ValueError("where takes the condition alone, or the condition, x and y")
    if size is not None or fill_value is not None:
        raise ValueError("where: size and fill_value belong to the form with the condition alone")
    x, y = _core.promote([x, y])
    predicate = truth(condition)
    shape = _core.broadcast_shapes([predicate._bound_shape, x._bound_shape])
    return primitives.select(*(_core.broadcast_to(operand, shape) for operand in (predicate, x, y)))


def select(condlist: Sequence[Any], choicelist: Sequence[Any], default: Any = 0) -> Array:
    """For each element, the choice of the first condition that holds, or the default.

    Args:
        condlist: the conditions: a sequence of them, or an array with one in each row.
        choicelist: the choice of each, likewise.
    """
    if len(condlist) != len(choicelist):
        raise ValueError(f"select: {len(condlist)} conditions but {len(choicelist)} choices")
    if len(condlist) == 0:
        raise ValueError("select needs at least one condition")
    result = default
    for condition, choice in zip(reversed(condlist), reversed(choicelist), strict=True):
        result = where(condition, choice, result)
    return _core.array(result)


check_arguments(globals())
