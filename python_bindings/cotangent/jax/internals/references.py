"""`Ref`: a box whose array can be read and written. Inside a captured program it holds the traced value, so writes become data flow.

A reference that is written inside of a program that it was made outside of would carry a value out of it: that is an error that says so,
unless the program is one of a transform that runs once (there the value stays in the live capture).
"""

from __future__ import annotations

from typing import Any

import cotangent as ct
from cotangent import _core
from cotangent.jax.internals.avals import AbstractValue, ShapedArray, typeof

__all__ = ["AbstractRef", "Ref", "free_ref", "freeze", "new_ref"]


class AbstractRef(AbstractValue):
    """The type of a reference to an array."""

    def __init__(self, inner_aval: ShapedArray) -> None:
        self.inner_aval = inner_aval

    @property
    def shape(self) -> tuple[int, ...]:
        """That of the array."""
        return self.inner_aval.shape

    @property
    def dtype(self) -> Any:
        """That of the array."""
        return self.inner_aval.dtype


class Ref:
    """A mutable reference to an array, made by `new_ref`."""

    def __init__(self, value: Any) -> None:
        self._capture = _core.capture_number()
        self._value: Any = ct.numpy.array(value)

    @property
    def _jax_aval(self) -> AbstractRef:
        return AbstractRef(typeof(self._value))

    aval = _jax_aval

    @property
    def shape(self) -> tuple[int, ...]:
        """That of the array."""
        return self._value.shape  # type: ignore[no-any-return]

    @property
    def dtype(self) -> Any:
        """That of the array."""
        return self._value.dtype

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    def _live(self) -> Any:
        if self._value is None:
            raise ValueError("the reference was frozen, and cannot be read or written any more")
        return self._value

    def __getitem__(self, index: Any) -> Any:
        return self._live()[index]

    def __setitem__(self, index: Any, value: Any) -> None:
        if _core.capture_number() != self._capture:
            raise NotImplementedError(
                "a reference is written inside of a function that is captured (jit, grad, scan, ...) and was made outside of it\n"
                "  make it in there with jax.new_ref, or pass the array in and return it"
            )
        self._value = self._live().at[index].set(value)

    def get(self) -> Any:
        """The array."""
        return self._live()

    def set(self, value: Any) -> None:
        """Replaces all elements."""
        self[...] = value

    def addupdate(self, value: Any) -> None:
        """Adds to all elements."""
        self[...] = self._live() + value

    def __repr__(self) -> str:
        return f"Ref({self._value!r})"


def new_ref(init_val: Any, *, memory_space: Any = None, **_: Any) -> Ref:
    """A reference to a copy of an array."""
    return Ref(init_val)


def freeze(ref: Ref) -> Any:
    """The array, after which the reference cannot be used."""
    value, ref._value = ref._live(), None
    return value


def free_ref(ref: Ref) -> None:
    """Ends the reference."""
    freeze(ref)
