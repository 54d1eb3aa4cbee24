"""``jax.numpy``: types of 64 bits, of which arrays have 32 unless ``jax_enable_x64`` is set, and the dtypes that others have in common."""

from __future__ import annotations

import contextlib
import functools
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

import cotangent.numpy as cnp
from cotangent import _core
from cotangent._base.keys import KEY_DTYPE
from cotangent._core import Array
from cotangent._ops.dtypes import ScalarType
from cotangent.jax.internals.namespace_info import __array_namespace_info__
from cotangent.jax.internals.promotion import check_strict, common_dtype, yields
from cotangent.jax.internals.shown import SHOWN_OF_NUMPY
from cotangent.jax.internals.tiny_types import TINY, tiny_type
from cotangent.jax.narrowing import canonical, check_int, narrow, narrowed_function, traceable
from cotangent.jax.settings import enable_x64
from cotangent.jax.tracebacks import api_boundary
from cotangent.numpy.array_api import __array_api_version__

__all__ = [
    "__array_api_version__",
    "__array_namespace_info__",
    "arange",
    "array",
    "array_equal",
    "asarray",
    "complex128",
    "complex_",
    "double",
    "equal",
    "float64",
    "float_",
    "full",
    "int64",
    "int_",
    "isclose",
    "not_equal",
    "promote_types",
    "reshape",
    "result_type",
    "save",
    "shape",
    "uint",
    "uint64",
    "vectorize",
    *TINY,
    *SHOWN_OF_NUMPY,
]

# One operation each in programs that are shown.
globals().update({name: narrowed_function(function) for name, function in SHOWN_OF_NUMPY.items()})


class _Wide(ScalarType):
    """A type that makes arrays of 32 bits where 64 are off."""

    @traceable
    def __call__(self, x: Any = 0) -> Any:
        """A scalar, or an array of an array."""
        return cnp.array(x, narrow(self.dtype))

    def __eq__(self, other: object) -> bool:
        return super().__eq__(other)

    __hash__ = ScalarType.__hash__


def _wide(name: str) -> ScalarType:
    return _Wide(name, (), {"_spec": name, "__module__": "jax.numpy", "__slots__": ()})


float64 = double = _wide("float64")
int64, uint64, complex128 = _wide("int64"), _wide("uint64"), _wide("complex128")
float_, int_, uint, complex_ = float64, int64, uint64, complex128
globals().update({name: tiny_type(name) for name in TINY})


def _default_of_kind(dtype: Any) -> Any:
    """The dtype that numbers of Python's of the kind of a dtype have."""
    kinds = {"i": _core.default_int_dtype, "f": _core.default_float_dtype, "c": _core.default_complex_dtype}
    if dtype.kind == "u":
        return canonical(np.dtype("uint64"))
    make = kinds.get("f" if dtype.kind == "V" else dtype.kind)  # small floats are of no kind of NumPy's
    return dtype if make is None else make()


def result_type(*args: Any) -> Any:
    """The dtype that arrays and types have in common: int32, where signed and unsigned ones of 32 bits meet in one of 64.

    Where all of them yield to others, it is what a number of Python's has.
    """
    check_strict(args)
    found = cnp.result_type(*args) if _core.get_enable_x64() else canonical(common_dtype(*args))
    return _default_of_kind(found) if args and all(yields(arg) for arg in args) else found


def promote_types(a: Any, b: Any) -> Any:
    """The dtype that two have in common, of 64 bits where one has them."""
    check_strict((a, b))
    with enable_x64(True):
        return cnp.promote_types(a, b)


def shape(a: Any) -> Any:
    """The sizes of the axes; none of what is no array, as NumPy has it."""
    return () if a is None else cnp.shape(narrow(a))


_reshape = narrowed_function(cnp.reshape)


@functools.wraps(_reshape)
def reshape(a: Any, shape: Any, order: str = "C", **kwargs: Any) -> Any:
    """The elements under another shape; of NumPy's arrays an array of NumPy's, whose values are known in a program that is captured."""
    is_numpys: bool = isinstance(a, (np.ndarray, np.generic))
    if is_numpys and kwargs.get("out_sharding") is None:
        with contextlib.suppress(Exception):  # for which there is an error of ours
            return a.reshape(shape, order=order)
    return _reshape(a, shape, order, **kwargs)


def _of_keys_too(function: Callable[..., Any], of_keys: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    """A comparison that takes random keys as well."""
    plain = narrowed_function(function)

    @functools.wraps(plain)
    def compare(x: Any, y: Any, *args: Any, **kwargs: Any) -> Any:
        if getattr(x, "dtype", None) == KEY_DTYPE and getattr(y, "dtype", None) == KEY_DTYPE:
            return of_keys(x, y)
        return plain(x, y, *args, **kwargs)

    return compare


def _same_keys(x: Any, y: Any) -> Any:
    return cnp.all(x == y) if x.shape == y.shape else cnp.array(False)


equal, not_equal = _of_keys_too(cnp.equal, operator.eq), _of_keys_too(cnp.not_equal, operator.ne)
array_equal, isclose = _of_keys_too(cnp.array_equal, _same_keys), _of_keys_too(cnp.isclose, operator.eq)


def _of_ints(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function that makes an array of its first argument, of a dtype that may be named."""
    plain = narrowed_function(function)

    @functools.wraps(plain)
    def make(object: Any, dtype: Any = None, *args: Any, **kwargs: Any) -> Any:  # noqa: A002 (JAX's name)
        if dtype is None:
            check_int(object)
        return plain(object, dtype, *args, **kwargs)

    return make


def _wrapping(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of numbers, of which the bits beyond 32 are not in the result."""
    plain = narrowed_function(function)

    @functools.wraps(plain)
    def make(*args: Any, **kwargs: Any) -> Any:
        result = plain(*args, **kwargs)
        return narrow(result)

    return make


def save(file: Any, arr: Any, allow_pickle: bool = True) -> None:
    """Writes an array to a ``.npy`` file; what is none as NumPy has it."""
    cnp.save(file, arr if isinstance(arr, Array) else np.asarray(arr), allow_pickle)


_asarray = _of_ints(cnp.asarray)


@functools.wraps(_asarray)
def asarray(a: Any, dtype: Any = None, order: str | None = None, *, copy: bool | None = None, **kwargs: Any) -> Any:
    """An array of numbers; `copy` forbids a copy of arrays of ours alone: memory of others is not shared."""
    shares = copy is False and not isinstance(a, Array)
    return _asarray(a, dtype, order, copy=None if shares else copy, **kwargs)


@api_boundary
@functools.wraps(cnp.vectorize)
def vectorize(*args: Any, **kwargs: Any) -> Any:
    """A function of arrays from one of their elements."""
    return api_boundary(traceable(cnp.vectorize(*args, **kwargs)))


array = _of_ints(cnp.array)
arange, full = _wrapping(cnp.arange), _wrapping(cnp.full)
