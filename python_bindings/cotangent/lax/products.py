"""Products summed over axes."""

from __future__ import annotations

from typing import Any

from cotangent import _core
from cotangent._core import Array

__all__ = [
    "dot_general",
]


def dot_general(
    lhs: Any, rhs: Any, dimension_numbers: Any, precision: Any = None, preferred_element_type: Any = None
) -> Array:
    """Products summed over contracted axes, for every index of batch axes.

    Args:
        dimension_numbers: ``((lhs contracting, rhs contracting), (lhs batch, rhs batch))``.
        preferred_element_type: the dtype that operands are converted to first.
    """
    del precision
    (lhs_contract, rhs_contract), (lhs_batch, rhs_batch) = dimension_numbers
    lhs, rhs = _core.array(lhs), _core.array(rhs)
    if preferred_element_type is not None:
        lhs, rhs = _core.convert(lhs, preferred_element_type), _core.convert(rhs, preferred_element_type)
    return _core.bind(
        "dot_general",
        [lhs, rhs],
        lhs_contract=list(lhs_contract),
        rhs_contract=list(rhs_contract),
        lhs_batch=list(lhs_batch),
        rhs_batch=list(rhs_batch),
    )[0]
