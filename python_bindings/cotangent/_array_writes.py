"""The methods of NumPy's arrays that change the array, and its functions that change their first argument: each is an assignment, ``x[...] = y``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from cotangent import _core
from cotangent._base.calls import warn_of_unused
from cotangent._core import Array
from cotangent._ops import choice, complex_parts, replacing, selection, shapes, sorting
from cotangent._ops.views import flat_view

__all__ = ["SETTERS", "UFUNCS", "WRITERS", "WRITES"]


def _fill(self: Array, value: Any) -> None:
    """Makes all elements one value, as ``x[...] = value`` does.

    Parameters
    ----------
    value : array
        One number, or what is broadcast to the shape.

    Examples
    --------
    >>> x = ct.numpy.zeros(3)
    >>> x.fill(5)
    >>> x
    Array([5., 5., 5.], dtype=float32)
    """
    self[...] = value


def _put(self: Array, indices: Any, values: Any, mode: str | None = None) -> None:
    """Replaces some elements, which positions in the flattened array name: `cotangent.numpy.put` of the array itself.

    Parameters
    ----------
    indices : array of int
        The positions; negative ones count from the end.
    values : array
        The values, repeated as needed.
    mode : str, optional
        For positions outside: ``"clip"``, which is the default, takes the nearest, ``"wrap"`` counts around; ``"raise"`` is an error where
        they are known.

    Raises
    ------
    IndexError
        A position is outside, and the mode ``"raise"``.

    Examples
    --------
    >>> x = ct.numpy.zeros(3)
    >>> x.put([0, 2], [1, 2])
    >>> x
    Array([1., 0., 2.], dtype=float32)
    """
    if mode == "raise":  # what NumPy's function asks for
        mode = None
        if not _core.is_traced(_core.array(indices)):
            places = np.asarray(indices)
            if ((places < -self.size) | (places >= self.size)).any():
                raise IndexError(
                    f"put: position {places.flat[np.abs(places).argmax()]} is out of bounds for {self.size} elements\n"
                    "  use positions of elements, or mode='clip' or mode='wrap'"
                )
    self[...] = replacing.put(self, indices, values, mode, inplace=False)


def _partition(self: Array, kth: int, axis: int = -1) -> None:
    """Puts the elements along an axis in such an order that one is where sorting would put it, smaller ones before and larger ones behind it.

    Parameters
    ----------
    kth : int
        Which position.
    axis : int, default -1
        Along which axis.

    Examples
    --------
    >>> x = ct.numpy.array([3, 1, 2])
    >>> x.partition(1)
    >>> int(x[1])
    2
    """
    self[...] = sorting.partition(self, kth, axis)


def _sort(
    self: Array,
    axis: int = -1,
    kind: None = None,
    order: None = None,
    stable: bool = True,
    descending: bool = False,
) -> Array:
    """The array sorted along an axis, as JAX's method; NumPy's sorts the array itself, and a warning says so where nobody uses the result.

    Parameters
    ----------
    axis : int, default -1
        The axis, negative counting from the end.
    kind, order : None
        Must be None: there is one algorithm, and there are no fields.
    stable : bool, default True
        Without effect: equal elements always keep their order.
    descending : bool, default False
        Whether the largest comes first.

    Returns
    -------
    array
        Of the dtype and the shape of the array.

    Examples
    --------
    >>> ct.numpy.array([3.0, 1.0, 2.0]).sort()
    Array([1., 2., 3.], dtype=float32)
    """
    warn_of_unused("x.sort() returns a sorted array, and x stays as it is\n  write x = x.sort()")
    return sorting.sort(self, axis, kind=kind, order=order, stable=stable, descending=descending)


WRITES: dict[str, Any] = {"fill": _fill, "partition": _partition, "put": _put, "sort": _sort}


def _set_flat(self: Array, value: Any) -> None:
    flat_view(self)[...] = selection.resize(value, (self.size,))


def _set_real(self: Array, value: Any) -> None:
    complex_parts.real(self)[...] = value


def _set_imaginary(self: Array, value: Any) -> None:
    if self.dtype.kind != "c":
        raise TypeError(
            f"x.imag = y: x is {self.dtype}, whose imaginary parts are 0\n  make it complex: x = x.astype('complex64')"
        )
    complex_parts.imag(self)[...] = value


# What an assignment to an attribute is.
SETTERS: dict[str, Callable[[Array, Any], None]] = {
    "flat": _core.leaving(_set_flat),
    "real": _core.leaving(_set_real),
    "imag": _core.leaving(_set_imaginary),
}


# ---- Functions of NumPy's ----------------------------------------------------------------------------------------------


def _copyto(dst: Array, src: Any, casting: str = "same_kind", where: Any = True) -> Any:
    del casting  # what the assignment does
    return src if where is True else choice.where(where, src, dst)


def _putmask(a: Array, mask: Any, values: Any) -> Any:
    return choice.where(shapes.reshape(mask, a.shape), selection.resize(values, a.shape), a)


def _copying(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *args, **kwargs: function(*args, **kwargs, inplace=False)


# By the names of functions of NumPy's that write into their first argument: what that becomes.
WRITERS: dict[str, Callable[..., Any]] = {
    "copyto": _copyto,
    "fill_diagonal": _copying(replacing.fill_diagonal),
    "place": _copying(replacing.place),
    "put": _copying(replacing.put),
    "put_along_axis": _copying(replacing.put_along_axis),
    "putmask": _putmask,
}

# ``np.add.at`` and the like: by the names of ufuncs, those of the updates of ``x.at[i]``.
UFUNCS = {
    "add": "add",
    "subtract": "subtract",
    "multiply": "multiply",
    "divide": "divide",
    "power": "power",
    "minimum": "min",
    "maximum": "max",
}
