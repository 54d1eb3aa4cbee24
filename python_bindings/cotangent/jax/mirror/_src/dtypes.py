"""``jax._src.dtypes``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import cotangent.numpy as cnp
from cotangent import _core
from cotangent._base.small_floats import has_small_floats, small_float
from cotangent._core import Array
from cotangent.dtypes import extended, float0, prng_key
from cotangent.jax.internals.tiny_types import TINY, is_tiny
from cotangent.jax.mirror.dtypes import TypePromotionError, canonicalize_dtype
from cotangent.jax.mirror.numpy import result_type as common_dtype
from cotangent.jax.narrowing import canonical, narrow

__all__ = [
    "DType",
    "ExtendedDType",
    "InvalidInputException",
    "TypePromotionError",
    "_dtype_and_weaktype",
    "_float8_dtypes",
    "_jax_type",
    "_jax_types",
    "_weak_types",
    "bool_",
    "canonical",
    "canonicalize_dtype",
    "canonicalize_value",
    "check_and_canonicalize_user_dtype",
    "complex_",
    "default_complex_dtype",
    "default_float_dtype",
    "default_int_dtype",
    "default_types",
    "default_uint_dtype",
    "dtype",
    "extended",
    "finfo",
    "float0",
    "float_",
    "iinfo",
    "int1",
    "int_",
    "is_python_scalar",
    "is_weakly_typed",
    "itemsize_bits",
    "lattice_result_type",
    "prng_key",
    "python_scalar_types",
    "python_scalar_types_to_dtypes",
    "register_canonicalize_value_handler",
    "result_type",
    "safe_to_cast",
    "short_dtype_name",
    "supports_inf",
    "to_complex_dtype",
    "to_floating_dtype",
    "to_inexact_dtype",
    "to_numeric_dtype",
    "uint",
    "uint1",
]

DType = np.dtype
ExtendedDType = extended

# ---- The types -----------------------------------------------------------------------------------------------------

_SMALL = ("bfloat16", "float8_e3m4", "float8_e4m3", "float8_e4m3b11fnuz", "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2",
          "float8_e5m2fnuz", "float8_e8m0fnu")  # fmt: skip
_LEAST = ("float6_e2m3fn", "float6_e3m2fn")
_SIGNED, _UNSIGNED = ("int8", "int16", "int32", "int64"), ("uint8", "uint16", "uint32", "uint64")
_FLOATS, _COMPLEX = ("bfloat16", "float16", "float32", "float64"), ("complex64", "complex128")

if has_small_floats():
    globals().update({name: small_float(name) for name in (*_SMALL, *TINY, *_LEAST)})
    __all__ += [*_SMALL, *TINY, *_LEAST]
int1 = uint1 = None
bool_, int_, uint, float_, complex_ = np.bool_, np.int64, np.uint64, np.float64, np.complex128

python_scalar_types: set[type] = {bool, int, float, complex}
python_scalar_types_to_dtypes = {
    bool: np.dtype(bool),
    int: np.dtype(np.int64),
    float: np.dtype(np.float64),
    complex: np.dtype(np.complex128),
}
_weak_types: list[type] = [int, float, complex]
_jax_types: list[Any] = [
    np.dtype(name)
    for name in ("bool", *_UNSIGNED, *_SIGNED, *_FLOATS, *_COMPLEX)
    if name != "bfloat16" or has_small_floats()
]

_float8_dtypes: list[Any] = (
    [np.dtype(small_float(name)) for name in _SMALL if name != "bfloat16"] if has_small_floats() else []
)


class InvalidInputException(Exception):  # noqa: N818 (JAX's name)
    """No array can be made of a value."""


def finfo(dtype: Any) -> Any:
    """What a floating dtype holds."""
    return cnp.finfo(dtype)


def iinfo(dtype: Any) -> Any:
    """What a dtype of integers holds."""
    return cnp.iinfo(dtype)


def supports_inf(dtype: Any) -> bool:
    """Whether there is an infinity."""
    name = np.dtype(dtype).name
    return np.dtype(dtype).kind in "fc" or name in ("bfloat16", "float8_e3m4", "float8_e4m3", "float8_e5m2")


def itemsize_bits(dtype: Any) -> int:
    """How many bits an element has."""
    if dtype is None:
        raise ValueError("itemsize_bits: dtype cannot be None\n  pass one")
    if is_tiny(dtype):
        name = np.dtype(dtype).name
        return 4 if name.startswith("float") else int(name[-1])
    return 1 if np.dtype(dtype) == bool else 8 * int(np.dtype(dtype).itemsize)


def short_dtype_name(dtype: Any) -> str:
    """As programs that are shown write it: f32."""
    if isinstance(dtype, extended) or getattr(dtype, "type", None) is prng_key:
        return str(dtype)
    name = str(np.dtype(dtype).name)
    for long, short in (("float", "f"), ("uint", "u"), ("int", "i"), ("complex", "c")):
        name = name.replace(long, short)
    return name


# ---- Kinds of values -----------------------------------------------------------------------------------------------


def is_python_scalar(x: Any) -> bool:
    """Whether a value is a number of Python's."""
    return type(x) in python_scalar_types


def is_weakly_typed(x: Any) -> bool:
    """Whether the dtype of a value yields to that of others."""
    if type(x) in (int, float, complex) or x in _weak_of_class(x):
        return True
    return bool(getattr(x, "weak_type", False) or getattr(getattr(x, "aval", None), "weak_type", False))


def _weak_of_class(x: Any) -> tuple[type, ...]:
    return (int, float, complex) if isinstance(x, type) else ()


def dtype(x: Any) -> Any:
    """The dtype of an array, of a number of Python's, or that a type means.

    Raises:
        ValueError: of None.
        TypeError: there is none.
    """
    if x is None:
        raise ValueError(f"Invalid argument to dtype: {x}.")
    if isinstance(x, type) and x in python_scalar_types_to_dtypes:
        return canonical(python_scalar_types_to_dtypes[x])
    if type(x) in python_scalar_types_to_dtypes:
        return canonical(python_scalar_types_to_dtypes[type(x)])
    found = getattr(x, "dtype", None)
    if isinstance(found, np.dtype) or getattr(found, "type", None) is prng_key:
        return canonical(found)
    try:
        return canonicalize_dtype(x, allow_extended_dtype=True)
    except TypeError:
        raise TypeError(f"Cannot determine dtype of {x}") from None


def _dtype_and_weaktype(value: Any) -> tuple[Any, bool]:
    return dtype(value), is_weakly_typed(value)


def _jax_type(dtype: Any, weak_type: bool) -> Any:
    """A dtype, or Python's type of its numbers where it is weak."""
    if not weak_type or dtype == np.bool_:
        return next((kind for kind in _jax_types if kind == dtype), dtype)
    return {"i": int, "u": int, "c": complex}.get(dtype.kind, float)


_handlers: dict[type, Any] = {}


def register_canonicalize_value_handler(kind: type, handler: Any) -> None:
    """Says what makes a value that arrays have of one of a type; None: it is one."""
    _handlers[kind] = handler


def canonicalize_value(x: Any) -> Any:
    """A value as arrays have it: without 64 bits unless these are asked for."""
    if (handler := _handlers.get(type(x))) is not None:
        return handler(x)
    return x if getattr(x, "dtype", None) == float0 else narrow(x)


def check_and_canonicalize_user_dtype(dtype: Any, fun_name: str | None = None) -> Any:
    """The dtype that is computed with where a user names one.

    Raises:
        TypeError: what is given is an array, or no dtype.
    """
    if isinstance(dtype, (Array, np.ndarray)):
        raise ValueError(
            f"{fun_name or 'dtype'}: {type(dtype)} is no dtype. Passing an array as a dtype argument is no longer supported\n"
            "  pass its dtype: x.dtype"
        )
    return canonicalize_dtype(dtype, allow_extended_dtype=True)


# ---- Dtypes of results ---------------------------------------------------------------------------------------------


def to_inexact_dtype(dtype: Any) -> Any:
    """The floating or complex dtype that functions of a dtype have."""
    return canonical(_core.inexact_dtype(dtype))


def to_floating_dtype(dtype: Any) -> Any:
    """The floating dtype of the same precision."""
    inexact = to_inexact_dtype(dtype)
    return np.empty(0, inexact).real.dtype if inexact.kind == "c" else inexact


def to_complex_dtype(dtype: Any) -> Any:
    """The complex dtype of the same precision."""
    inexact = to_inexact_dtype(dtype)
    return inexact if inexact.kind == "c" else np.dtype("complex128" if inexact == np.float64 else "complex64")


def default_int_dtype() -> Any:
    """That of Python's ints."""
    return _core.default_int_dtype()


def default_uint_dtype() -> Any:
    """That of ints without a sign."""
    return canonical(np.dtype("uint64"))


def default_float_dtype() -> Any:
    """That of Python's floats."""
    return _core.default_float_dtype()


def default_complex_dtype() -> Any:
    """That of Python's complex numbers."""
    return _core.default_complex_dtype()


default_types: dict[str, Callable[[], Any]] = {
    "b": lambda: np.dtype(bool),
    "i": default_int_dtype,
    "u": default_uint_dtype,
    "f": default_float_dtype,
    "c": default_complex_dtype,
}


def to_numeric_dtype(dtype: Any) -> Any:
    """The dtype itself, and that of ints for bools."""
    found = canonical(np.dtype(dtype))
    return default_int_dtype() if found == np.bool_ else found


def result_type(*args: Any, return_weak_type_flag: bool = False) -> Any:
    """The dtype that values and types have in common, and whether it is weak."""
    given = [default_float_dtype() if arg is None else arg for arg in args]
    found = common_dtype(*given)
    if not return_weak_type_flag:
        return found
    kinds = {_jax_type(*_dtype_and_weaktype(arg)) for arg in given}
    return found, all(isinstance(kind, type) for kind in kinds)


def lattice_result_type(*args: Any) -> tuple[Any, bool]:
    """The dtype that values have in common, and whether it is weak."""
    kinds = [_dtype_and_weaktype(arg) for arg in args]
    weak = all(is_weak for _, is_weak in kinds)
    return common_dtype(*args), weak


def safe_to_cast(input_dtype_or_value: Any, output_dtype_or_value: Any) -> bool:
    """Whether values of one dtype are put in place of another's without a loss of kind: their common dtype is the other."""
    to = dtype(output_dtype_or_value)
    return bool(common_dtype(input_dtype_or_value, to) == to)
