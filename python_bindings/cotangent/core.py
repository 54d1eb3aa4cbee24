"""What a program can ask about the values that it is captured with."""

from __future__ import annotations

from typing import Any

from cotangent import _core
from cotangent._base.arguments import check_arguments
from cotangent._base.capture import ShapeDtypeStruct
from cotangent._base.names import suggest_names

__all__ = ["ShapedArray", "Tracer", "get_aval"]

ShapedArray = ShapeDtypeStruct


class _TracerType(type):
    def __instancecheck__(cls, instance: Any) -> bool:
        return _core.is_traced(instance)


class Tracer(metaclass=_TracerType):
    """What ``isinstance`` is asked with: whether a value belongs to a program that is being captured.

    Examples
    --------
    >>> seen = []
    >>> _ = ct.jit(lambda x: seen.append(isinstance(x, ct.core.Tracer)) or x)(1.0)
    >>> seen, isinstance(ct.numpy.ones(2), ct.core.Tracer)
    ([True], False)
    """


def get_aval(x: Any) -> ShapeDtypeStruct:
    """Returns the shape and dtype of an array or number.

    `cotangent.typeof` also says whether the dtype yields to others.

    Parameters
    ----------
    x : array or number
        Anything that functions of arrays take, traced values included.

    Returns
    -------
    ShapeDtypeStruct
        Of the same shape and dtype.

    Examples
    --------
    >>> ct.core.get_aval(np.zeros((2, 3), np.int8))
    ShapeDtypeStruct(shape=(2, 3), dtype=int8)
    """
    array = _core.array(x)
    return ShapeDtypeStruct(array.shape, array.dtype)


check_arguments(globals())
suggest_names(globals())
