"""How arrays are printed."""

from __future__ import annotations

from typing import Any

from cotangent import _core
from cotangent._asked import peeked
from cotangent._core import Array
from cotangent.errors import ConcretizationError
from cotangent.numpy.exchange import array_repr


def _shape_text(self: Array) -> str:
    return ",".join(str(size) for size in self.shape)


def _concrete_or_none(self: Array) -> Any:
    try:
        return _core.peek_numpy(self)
    except (ConcretizationError, RuntimeError):
        return None


def _repr(self: Array) -> str:
    if _core.is_deleted(self):
        return f"<deleted Array, {self.dtype.name}[{_shape_text(self)}]>"
    if _core.is_traced(self):
        return _traced_text(self)
    return array_repr(self)


def _traced_text(self: Array) -> str:
    return f"Traced<{self.dtype.name}[{_shape_text(self)}]>"


def _str(self: Array) -> str:
    if _core.is_deleted(self):
        return _repr(self)
    if not _core.is_traced(self):
        return _repr(self) if _core.dtype_kind(self.dtype) == "key" else str(_core.peek_numpy(self))
    values = None if _core.dtype_kind(self.dtype) == "key" else _concrete_or_none(self)
    return _traced_text(self) if values is None else f"Traced<{self.dtype.name}[{_shape_text(self)}]>({values})"


def _format(self: Array, spec: str) -> str:
    if not spec:
        return _str(self)
    if _core.dtype_kind(self.dtype) == "key":
        raise TypeError(
            f"the format {spec!r} is for a number; got a random key\n  print the key without a format, or its words: ct.random.key_data(key)"
        )
    values = peeked(self, "format()")
    if self.ndim == 0:
        return format(values.item(), spec)
    raise TypeError(
        f"the format {spec!r} is for one number; got an Array of shape {self.shape}\n"
        f"  format each, [format(v, {spec!r}) for v in x.ravel().tolist()], or the whole: numpy.array2string(x, precision=3)"
    )
