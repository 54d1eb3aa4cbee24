"""Elements chosen by conditions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from cotangent import _core
from cotangent._base import primitives
from cotangent._base.arguments import as_list, check_arguments
from cotangent._core import Array, entrance
from cotangent._ops.comparisons import truth
from cotangent._ops.positions import nonzero

__all__ = ["select", "where"]


@entrance("where", primitives.select)
def where(condition: Any, x: Any = None, y: Any = None, /, *, size: int | None = None, fill_value: Any = None) -> Any:
    """Elements of ``x`` where a condition holds, and of ``y`` elsewhere.

    With the condition alone it is `nonzero`. A derivative flows only into the operand that is chosen; but where the
    other one's derivative is NaN or infinite, 0 times it is NaN: make its argument harmless, too, as in ``where(x >
    0, log(where(x > 0, x, 1)), 0)``.

    Parameters
    ----------
    condition : array
        Which elements: bools, or numbers, of which those that are not zero hold.
    x, y : array, optional
        Numbers; promoted to a common dtype and broadcast with the condition.
    size : int, optional
        How many to return: the shape does not depend on values then. None: as many as there are; under ``jit``, where
        that is a value, in a `Ragged`.
    fill_value : int or sequence of int, optional
        Of the form with the condition alone: the index where there are fewer than ``size``; by default 0.

    Returns
    -------
    array or tuple of array
        Of the common dtype and the broadcast shape; without ``x`` and ``y`` an array of indices for each axis.

    Raises
    ------
    ValueError
        Exactly one of ``x`` and ``y`` is given, or ``size`` beside them.

    Examples
    --------
    >>> ct.numpy.where(np.array([True, False]), [1.0, 2.0], [3.0, 4.0])
    Array([1., 4.], dtype=float32)

    >>> ct.numpy.where(np.array([0, 5, 6]))
    (Array([1, 2], dtype=int32),)

    >>> f = lambda x: ct.numpy.where(x > 0, ct.numpy.log(ct.numpy.where(x > 0, x, 1.0)), 0.0)
    >>> float(ct.grad(f)(-1.0)), float(ct.grad(f)(2.0))
    (0.0, 0.5)
    """
    if x is None and y is None:
        return nonzero(condition, size=size, fill_value=fill_value)
    if x is None or y is None:
        raise ValueError(
            "where takes the condition alone, or the condition, x and y\n"
            "  give both: where(condition, x, 0) is 0 where the condition does not hold"
        )
    if size is not None or fill_value is not None:
        raise ValueError(
            "where: size and fill_value belong to the form with the condition alone\n"
            "  leave them out, or pick the elements at the positions: x[where(condition, size=...)]"
        )
    x, y = _core.promote([x, y])
    predicate = truth(condition)
    shape = _core.broadcast_shapes([predicate._bound_shape, x._bound_shape])
    return primitives.select(*(_core.broadcast_to(operand, shape) for operand in (predicate, x, y)))


def select(condlist: Sequence[Any], choicelist: Sequence[Any], default: Any = 0) -> Array:
    """The choice of the first condition that holds, for each element; or the default.

    Parameters
    ----------
    condlist : sequence of array
        The conditions: a sequence of them, or an array with one in each row.
    choicelist : sequence of array
        The choice of each, likewise; all are broadcast and promoted.
    default : array, default 0
        What is chosen where no condition holds.

    Returns
    -------
    array
        Of the common dtype and the broadcast shape.

    Raises
    ------
    ValueError
        There are no conditions, or not as many choices.

    Examples
    --------
    >>> x = ct.numpy.array([1, 2, 3, 4])
    >>> ct.numpy.select([x < 2, x < 4], [x * 10, x * 100], default=-1)
    Array([ 10, 200, 300,  -1], dtype=int32)
    """
    several = "give a list of conditions and one of as many choices: select([x > 0], [x])"
    condlist = as_list("select", "condlist", condlist, several)
    choicelist = as_list("select", "choicelist", choicelist, several)
    if len(condlist) != len(choicelist):
        raise ValueError(
            f"select: {len(condlist)} conditions but {len(choicelist)} choices\n"
            "  give one choice for each condition, and default= for where none holds"
        )
    if len(condlist) == 0:
        raise ValueError(
            "select needs at least one condition\n"
            "  give a list of one condition, and one of one choice, or more: select([x > 0], [x])"
        )
    result = default
    for condition, choice in zip(reversed(condlist), reversed(choicelist), strict=True):
        result = where(condition, choice, result)
    return _core.array(result)


check_arguments(globals())
