"""The methods and operators of `Array` that are written in Python.

The extension type has arithmetic, comparison and conversion to Python numbers as C slots. `attach` gives it everything
else by
assigning to the type, once, when the package is imported. The functions are those of `cotangent.numpy`; only what has
no function
there (printing, iteration, exchange with other libraries) is written out here.
"""

from __future__ import annotations

import builtins
import math
import types
from collections.abc import Iterator
from typing import Any

import numpy as np

from cotangent import _array_exchange, _array_shapes, _core, numpy
from cotangent._array_assignment import assign
from cotangent._array_places import PLACES
from cotangent._array_text import _format, _repr, _str
from cotangent._array_writes import SETTERS, WRITES
from cotangent._asked import peeked, plain
from cotangent._base.arguments import left
from cotangent._base.capture import ShapeDtypeStruct
from cotangent._base.keys import KEY_DTYPE
from cotangent._base.messages import placed
from cotangent._core import Array
from cotangent._ops import arithmetic as elementwise
from cotangent._ops import (
    comparisons,
    complex_parts,
    creation,
    diagonals,
    division,
    element_bytes,
    extreme_positions,
    indexing,
    means,
    positions,
    products,
    reductions,
    repetition,
    rounding,
    running,
    shapes,
    sorting,
    taking,
    turning,
)
from cotangent._ops.extents import capacity
from cotangent._ops.keys import key_data, wrap_key_data
from cotangent._ops.views import as_view, flat_view
from cotangent.errors import ConcretizationError
from cotangent.numpy.index_updates import IndexUpdateHelper


def _operand(x: Any) -> bool:
    """Whether an operator understands the other operand."""
    return isinstance(x, Array) or (
        isinstance(x, (np.ndarray, np.generic))
        or _core.is_python_scalar(x)
        or _core.has_array_method(x)
        or (hasattr(x, "__array__") and not isinstance(x, type))
    )


def _not_ours(x: Any) -> Any:
    """What an operator answers where it does not understand the other operand."""
    if type(x) in (list, tuple):
        raise TypeError(
            f"an operator has an array and a {type(x).__name__}\n  make an array of it: ct.numpy.array([1, 2, 3])"
        )
    return NotImplemented


def _asked(x: Any) -> bool:
    """Whether an operator understands the operand on its right, and does not leave the answer to it."""
    return _operand(x) and not _core.answers_operators(x)


def _operator(function: Any) -> Any:
    def method(self: Array, other: Any) -> Any:
        return function(self, other) if _asked(other) else _not_ours(other)

    return method


def _reflected(function: Any) -> Any:
    def method(self: Array, other: Any) -> Any:
        return function(other, self) if _operand(other) else _not_ours(other)

    return method


def _power(self: Array, other: Any, modulus: Any = None) -> Any:
    if modulus is not None:
        raise TypeError("pow() of arrays takes no modulus\n  write x**y % modulus")
    return elementwise.power(self, other) if _asked(other) else _not_ours(other)


# ---- Exchange with Python and NumPy ----------------------------------------------------------------------------------


def _array(self: Array, dtype: Any = None, copy: bool | None = None) -> Any:
    """The elements as a NumPy array; without a copy it is read-only and shares memory."""
    array = plain(self, "conversion to a NumPy array")
    if dtype is not None and np.dtype(dtype) != array.dtype:
        if copy is False:
            raise ValueError(
                f"an array of {array.dtype} cannot become {np.dtype(dtype)} without a copy\n"
                f"  allow a copy, or ask for {array.dtype}"
            )
        return array.astype(dtype)
    return array.copy() if copy else array


def _tolist(self: Array) -> Any:
    """The elements as nested lists of Python numbers; of an array without axes, a number.

    Returns
    -------
    list or number

    Raises
    ------
    ConcretizationError
        The array is traced, and has no values yet.

    Examples
    --------
    >>> ct.numpy.array([[1, 2], [3, 4]]).tolist()
    [[1, 2], [3, 4]]
    """
    return plain(self, "tolist()").tolist()


def _element(self: Array, args: tuple[int, ...], use: str) -> Any:
    """One element as a Python number; ``use`` is what asks for it, for the message of an error."""
    if not args and self.size != 1:
        raise TypeError(
            f"{use} needs an array of one element; this one has shape {self.shape}\n  index it, or use tolist()"
        )
    return plain(self, use).item(*args)


def _item(self: Array, *args: int) -> Any:
    """One element as a Python number.

    Parameters
    ----------
    *args : int
        The index of the element. None: the only one.

    Returns
    -------
    number

    Raises
    ------
    TypeError
        There is no index, and not one element.
    ConcretizationError
        The array is traced, and has no values yet.

    Examples
    --------
    >>> ct.numpy.array([1.5, 2.5]).item(1)
    2.5
    """
    return _element(self, args, "item()")


def _complex(self: Array) -> complex:
    return complex(_element(self, (), "complex()"))


def _whole(round_: Any) -> Any:
    # math.floor, math.ceil and math.trunc: whole numbers, which carry no derivative.
    def method(self: Array) -> int:
        if self.size != 1:
            raise TypeError(
                f"math.{round_.__name__} needs an array of one element; this one has shape {self.shape}\n"
                f"  use ct.numpy.{round_.__name__}(x), or index it first"
            )
        return round_(peeked(self, "int()").item())  # type: ignore[no-any-return]

    return method


def _iterate(self: Array) -> Iterator[Array]:
    if self.ndim == 0:
        raise TypeError("iteration over an array without axes\n  give it an axis first: x.reshape(1)")
    if 0 in _core.ragged_axes(self):
        raise ConcretizationError(
            placed(
                "iteration over a ragged axis: its length is not known when the program is captured",
                "use ct.vmap or ct.lax.scan over it",
            )
        )
    return (self[i] for i in range(capacity(self, 0)))


def _reversed(self: Array) -> Iterator[Array]:
    return iter(turning.flip(self, 0))


def _contains(self: Array, value: Any) -> bool:
    return builtins.bool(reductions.any(comparisons.equal(self, value)))


def _reduce(self: Array) -> Any:
    if self.dtype == KEY_DTYPE:
        return wrap_key_data, (key_data(self),)
    return _restore, (np.array(plain(self, "pickling")), self.weak_type)


def _as_integer_ratio(self: Array) -> Any:
    # The module statistics asks for it.
    """Raises: an element of an array is an array, and not a number of Python.

    The module statistics of Python asks for it.

    Raises
    ------
    TypeError
        Always.

    Examples
    --------
    >>> ct.numpy.ones(2).as_integer_ratio()
    Traceback (most recent call last):
        ...
    TypeError: as_integer_ratio: an element of an array is an array, not a number of Python
      use ct.numpy.mean, ct.numpy.var and the like for those of statistics, or their elements as numbers: x.tolist()
    """
    raise TypeError(
        "as_integer_ratio: an element of an array is an array, not a number of Python\n"
        "  use ct.numpy.mean, ct.numpy.var and the like for those of statistics, or their elements as numbers: x.tolist()"
    )


def _restore(values: Any, weak: bool) -> Array:
    if weak and values.ndim == 0:
        return _core.full((), values.item(), values.dtype, True)
    return _core.array(values)


def _copy(self: Array, *_: Any) -> Array:
    """An array of its own, of the same elements."""
    return creation.copy(self)


# ---- Methods that differ from their function ------------------------------------------------------------------------


def _namespace(self: Array, *, api_version: str | None = None) -> Any:
    """The array functions, by the array API standard: the module ``cotangent.numpy``.

    Parameters
    ----------
    api_version : str, optional
        A version of the standard, from ``"2021.12"`` to ``"2024.12"``.

    Returns
    -------
    module

    Raises
    ------
    ValueError
        The version is not supported.

    Examples
    --------
    >>> ct.numpy.ones(2).__array_namespace__() is ct.numpy
    True
    """
    if api_version not in (None, "2021.12", "2022.12", "2023.12", "2024.12"):
        raise ValueError(
            f"version {api_version!r} of the array API is not supported\n  write api_version='2024.12', or leave it out"
        )
    return numpy


def _conjugate(self: Array) -> Array:
    """The complex conjugate of each element; of a real array a view, as NumPy's method makes it.

    Returns
    -------
    array
        Of the dtype and the shape of the array.

    Examples
    --------
    >>> ct.numpy.array([1 + 2j]).conj()
    Array([1.-2.j], dtype=complex64)
    """
    return complex_parts.conj(self) if self.dtype.kind == "c" else as_view(self, self, ...)


def _tobytes(self: Array, order: str = "C") -> bytes:
    """The bytes of the elements.

    Parameters
    ----------
    order : str, default "C"
        In which order: ``"C"``, the last index varies fastest; ``"F"``, the first.

    Returns
    -------
    bytes

    Examples
    --------
    >>> ct.numpy.array([1, 255], np.uint8).tobytes().hex()
    '01ff'
    """
    return plain(self, "tobytes()").tobytes(order)  # type: ignore[no-any-return]


_T = """The array with its axes in reverse order.

See `transpose`, and ``mT`` for the last two axes only.

Examples
--------
>>> ct.numpy.array([[1, 2], [3, 4]]).T
Array([[1, 3],
       [2, 4]], dtype=int32)
"""

_MT = """The array with its last two axes exchanged.

Examples
--------
>>> ct.numpy.ones((2, 3, 4)).mT.shape
(2, 4, 3)
"""

_REAL = """The real part of each element; a real array is its own.

Examples
--------
>>> ct.numpy.array([1 + 2j]).real
Array([1.], dtype=float32)
"""

_IMAG = """The imaginary part of each element; of real numbers, 0.

Examples
--------
>>> ct.numpy.array([1 + 2j]).imag
Array([2.], dtype=float32)
"""

_AT = """The array with some elements changed: ``x.at[i].set(y)``, ``.add``, ``.multiply``, ``.min``, ``.max``, ``.apply``, ``.get``.

The array stays as it is: the results are other arrays.

Examples
--------
>>> ct.numpy.array([1, 2, 3]).at[0].set(10)
Array([10,  2,  3], dtype=int32)
"""

_AVAL = """The shape and the dtype of the array, without its elements.

Examples
--------
>>> ct.numpy.ones((2, 3)).aval.shape
(2, 3)
"""

_FLAT = """All elements along one axis.

Examples
--------
>>> ct.numpy.array([[1, 2], [3, 4]]).flat
Array([1, 2, 3, 4], dtype=int32)
"""


# Functions of an array, which as attributes of the type take it as their first argument.
_METHODS: dict[str, Any] = {
    "all": reductions.all,
    "any": reductions.any,
    "argmax": extreme_positions.argmax,
    "argmin": extreme_positions.argmin,
    "argpartition": sorting.argpartition,
    "argsort": sorting.argsort,
    "astype": creation.astype,
    "byteswap": element_bytes.byteswap,
    "choose": taking.choose,
    "clip": rounding.clip,
    "conj": _conjugate,
    "conjugate": _conjugate,
    "copy": creation.copy,
    "cumprod": running.cumprod,
    "cumsum": running.cumsum,
    "diagonal": diagonals.diagonal,
    "dot": products.dot,
    "flatten": _array_shapes.flatten,
    "max": reductions.max,
    "mean": means.mean,
    "min": reductions.min,
    "nonzero": positions.nonzero,
    "prod": reductions.prod,
    "ptp": reductions.ptp,
    "ravel": shapes.ravel,
    "repeat": repetition.repeat,
    "round": rounding.round,
    "searchsorted": sorting.searchsorted,
    "squeeze": shapes.squeeze,
    "std": means.std,
    "sum": reductions.sum,
    "swapaxes": shapes.swapaxes,
    "take": taking.take,
    "trace": products.trace,
    "var": means.var,
}

_MEMBERS: dict[str, Any] = {
    "__iter__": _iterate,
    "__contains__": _contains,
    "__reversed__": _reversed,
    "__matmul__": _operator(products.matmul),
    "__rmatmul__": _reflected(products.matmul),
    "__pow__": _power,
    "__rpow__": _reflected(elementwise.power),
    "__floordiv__": _operator(division.floor_divide),
    "__rfloordiv__": _reflected(division.floor_divide),
    "__mod__": _operator(division.remainder),
    "__rmod__": _reflected(division.remainder),
    "__divmod__": _operator(division.divmod),
    "__rdivmod__": _reflected(division.divmod),
    "__round__": rounding.round,
    "__complex__": _complex,
    "__ceil__": _whole(math.ceil),
    "__floor__": _whole(math.floor),
    "__trunc__": _whole(math.trunc),
    "__array__": _array,
    "__array_priority__": 100,
    "__dlpack__": _array_exchange.dlpack,
    "__dlpack_device__": _array_exchange.dlpack_device,
    "__cuda_array_interface__": property(_array_exchange.cuda_array_interface),
    "__array_namespace__": _namespace,
    "__repr__": _repr,
    "__str__": _str,
    "__format__": _format,
    "__copy__": _copy,
    "__deepcopy__": _copy,
    "__reduce__": _reduce,
    "as_integer_ratio": _as_integer_ratio,
    "T": property(shapes.transpose, doc=_T),
    "mT": property(shapes.matrix_transpose, doc=_MT),
    "real": property(complex_parts.real, SETTERS["real"], doc=_REAL),
    "imag": property(complex_parts.imag, SETTERS["imag"], doc=_IMAG),
    "at": property(IndexUpdateHelper, doc=_AT),
    "compress": _array_shapes.compress,
    "aval": property(ShapeDtypeStruct.like, doc=_AVAL),
    "flat": property(flat_view, SETTERS["flat"], doc=_FLAT),
    "item": _item,
    "reshape": _array_shapes.reshape,
    "tobytes": _tobytes,
    "tolist": _tolist,
    "transpose": _array_shapes.transpose,
    "view": _array_shapes.view,
}


def _as_member(name: str, member: Any) -> Any:
    """A method or property as users see it."""
    if isinstance(member, types.FunctionType) and member.__module__.startswith("cotangent._array_"):
        member.__name__, member.__qualname__ = name, f"Array.{name}"  # its own name is none to users
    return left(member)


def attach() -> None:
    """Gives the type `Array` its methods."""
    _core.set_index_hook(indexing.get_item)
    _core.set_assignment_hook(assign)
    for name, member in {**_MEMBERS, **_METHODS, **PLACES, **WRITES}.items():
        setattr(Array, name, _as_member(name, member))
