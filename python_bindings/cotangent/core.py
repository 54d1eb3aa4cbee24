"""What a program can ask about the values that it is captured with."""

from __future__ import annotations

from typing import Any

from cotangent import _core
from cotangent._base.arguments import check_arguments
from cotangent._base.capture import ShapeDtypeStruct

__all__ = ["ShapedArray", "Tracer", "get_aval"]

ShapedArray = ShapeDtypeStruct


class _TracerType(type):
    def __instancecheck__(cls, instance: Any) -> bool:
        return _core.is_traced(instance)


class Tracer(metaclass=_TracerType):
    """``isinstance(x, ct.core.Tracer)``: whether ``x`` is an array whose value belongs to a program that is being captured.

    >>> import cotangent as ct
    >>> seen = []
    >>> _ = ct.jit(lambda x: seen.append(isinstance(x, ct.core.Tracer)) or x)(1.0)
    >>> seen, isinstance(ct.numpy.ones(2), ct.core.Tracer)
    ([True], False)
    """


def get_aval(x: Any) -> ShapeDtypeStruct:
    """The shape and dtype of an array or number.

    >>> import cotangent as ct
    >>> ct.core.get_aval(1.0)
    ShapeDtypeStruct(shape=(), dtype=float32)
    """
    array = _core.array(x)
    return ShapeDtypeStruct(array.shape, array.dtype)


check_arguments(globals())
