"""The element types: their names, what they hold, how they are promoted."""

from __future__ import annotations

import builtins
from typing import Any

import numpy as np

from cotangent import _core
from cotangent._base.arguments import check_arguments
from cotangent._base.keys import extended, prng_key
from cotangent._base.small_floats import SMALL_FLOATS, has_small_floats, small_floats
from cotangent._core import Array
from cotangent._ops.creation import array
from cotangent._ops.sizes import type_of
from cotangent.errors import DTypeError

__all__ = [
    "ComplexWarning",
    "bfloat16",
    "bool",
    "bool_",
    "can_cast",
    "cdouble",
    "character",
    "complex64",
    "complex128",
    "complex_",
    "complexfloating",
    "csingle",
    "double",
    "dtype",
    "finfo",
    "flexible",
    "float8_e3m4",
    "float8_e4m3",
    "float8_e4m3b11fnuz",
    "float8_e4m3fn",
    "float8_e4m3fnuz",
    "float8_e5m2",
    "float8_e5m2fnuz",
    "float8_e8m0fnu",
    "float16",
    "float32",
    "float64",
    "float_",
    "floating",
    "generic",
    "half",
    "iinfo",
    "inexact",
    "int8",
    "int16",
    "int32",
    "int64",
    "int_",
    "integer",
    "isdtype",
    "issubdtype",
    "number",
    "object_",
    "promote_types",
    "result_type",
    "signedinteger",
    "single",
    "uint",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "unsignedinteger",
]


class ScalarType(type):
    """The class of ``ct.numpy.float32`` and its like: a name for a dtype, which makes a scalar array when called.

    NumPy and this library accept it wherever a dtype is wanted, and it equals NumPy's scalar type and the dtype
    itself.

    Examples
    --------
    >>> ct.numpy.float16(1.5)
    Array(1.5, dtype=float16)

    >>> ct.numpy.float16 == np.dtype("float16")
    True
    """

    _spec: Any  # what the extension makes a dtype of

    @property
    def dtype(cls) -> Any:
        """The `numpy.dtype`."""
        return _core.canonical_dtype(cls._spec)

    @property
    def _unknown(cls) -> builtins.bool:
        """NumPy has no such dtype in this process: the package that brings it is not installed."""
        return cls._spec in SMALL_FLOATS and not has_small_floats()

    def __call__(cls, x: Any = 0) -> Array:
        """A scalar of this dtype, or an array of an array.

        Parameters
        ----------
        x : array, default 0
            What is converted.

        Returns
        -------
        array
            Of this dtype.

        Examples
        --------
        >>> ct.numpy.int8([1.7, 2.0])
        Array([1, 2], dtype=int8)
        """
        return array(x, cls.dtype, copy=None)

    def __eq__(cls, other: object) -> builtins.bool:
        if isinstance(other, ScalarType):
            if not SMALL_FLOATS.isdisjoint((cls._spec, other._spec)):
                return builtins.bool(cls._spec == other._spec)
            return builtins.bool(cls.dtype == other.dtype)
        if cls._unknown:
            return builtins.bool(other == cls._spec)
        if isinstance(other, type):
            return cls.dtype.type is other  # so not Python's int, which is a weak type
        return other is not None and builtins.bool(cls.dtype == other)  # NumPy takes None for float64

    def __hash__(cls) -> int:
        return hash(cls._spec) if cls._unknown else hash(cls.dtype.type)

    def __instancecheck__(cls, instance: Any) -> builtins.bool:
        return not cls._unknown and isinstance(instance, cls.dtype.type)

    def __repr__(cls) -> str:
        return f"<cotangent.numpy.{cls.__name__}>"


_TEXT = """The dtype {name}: named where a dtype is wanted; called, it makes a scalar of this dtype, or an array of an array.
{more}
Parameters
----------
x : array, default 0
    What is converted.

Returns
-------
array
    Of this dtype.

Examples
--------
>>> ct.numpy.{name}(1).dtype.name
{printed!r}
"""


def _scalar_type(
    name: str, spec: Any = None, default: str | None = None, kind: type[ScalarType] = ScalarType
) -> ScalarType:
    """A name for a dtype; ``default`` is the dtype that it has without ``enable_x64``, where that makes a difference."""
    more = f"\nIt is {default}, or of twice as many bits with ``enable_x64``.\n" if default else ""
    text = _TEXT.format(name=name, more=more, printed=default or spec or name)
    return kind(name, (), {"_spec": spec or name, "__module__": "cotangent.numpy", "__slots__": (), "__doc__": text})


bool_ = bool = _scalar_type("bool_", "bool")
int8 = _scalar_type("int8")
int16 = _scalar_type("int16")
int32 = _scalar_type("int32")
int64 = _scalar_type("int64")
uint8 = _scalar_type("uint8")
uint16 = _scalar_type("uint16")
uint32 = _scalar_type("uint32")
uint64 = _scalar_type("uint64")
float16 = half = _scalar_type("float16")
bfloat16 = _scalar_type("bfloat16")
float32 = single = _scalar_type("float32")
float64 = double = _scalar_type("float64")
float8_e3m4 = _scalar_type("float8_e3m4")
float8_e4m3 = _scalar_type("float8_e4m3")
float8_e4m3b11fnuz = _scalar_type("float8_e4m3b11fnuz")
float8_e4m3fn = _scalar_type("float8_e4m3fn")
float8_e4m3fnuz = _scalar_type("float8_e4m3fnuz")
float8_e5m2 = _scalar_type("float8_e5m2")
float8_e5m2fnuz = _scalar_type("float8_e5m2fnuz")
float8_e8m0fnu = _scalar_type("float8_e8m0fnu")
complex64 = csingle = _scalar_type("complex64")
complex128 = cdouble = _scalar_type("complex128")
# The defaults: 64 bits wide when `enable_x64` is on.
int_ = _scalar_type("int_", int, "int32")
float_ = _scalar_type("float_", float, "float32")
complex_ = _scalar_type("complex_", complex, "complex64")


class _UnsignedDefault(ScalarType):
    @property
    def dtype(cls) -> Any:
        return np.dtype(f"u{_core.default_int_dtype().name}")


uint = _scalar_type("uint", None, "uint32", _UnsignedDefault)

dtype = np.dtype
generic = np.generic
number = np.number
integer = np.integer
signedinteger = np.signedinteger
unsignedinteger = np.unsignedinteger
inexact = np.inexact
floating = np.floating
complexfloating = np.complexfloating
character = np.character
flexible = np.flexible
object_ = np.object_
ComplexWarning = np.exceptions.ComplexWarning


def _dtype_of(x: Any) -> Any:
    """A dtype, or that of an array."""
    return x.dtype if isinstance(x, (Array, np.ndarray, np.generic)) else _core.canonical_dtype(x)


def finfo(dtype: Any) -> Any:
    """The limits of a floating dtype.

    Parameters
    ----------
    dtype : dtype or array
        Floating or complex; bfloat16 and the dtypes of 8 bits, too.

    Returns
    -------
    finfo
        With ``max``, ``min``, ``eps``, ``tiny``, ``bits``, …: NumPy's object, or that of ml_dtypes.

    Raises
    ------
    ValueError
        The dtype is not floating.

    Examples
    --------
    >>> float(ct.numpy.finfo(ct.numpy.float32).eps) == 2.0**-23
    True
    """
    dtype = _dtype_of(dtype)
    if _core.dtype_kind(dtype) not in ("float", "complex"):
        raise ValueError(f"finfo takes floating dtypes; got {dtype}\n  use iinfo for integers")
    if dtype.name in ("float16", "float32", "float64", "complex64", "complex128"):
        return np.finfo(dtype)
    return small_floats().finfo(dtype)


def iinfo(dtype: Any) -> np.iinfo[Any]:
    """The limits of an integer dtype.

    Parameters
    ----------
    dtype : dtype or array
        Integer.

    Returns
    -------
    iinfo
        NumPy's object, with ``max``, ``min`` and ``bits``.

    Examples
    --------
    >>> ct.numpy.iinfo(ct.numpy.int8).max
    127
    """
    dtype = _dtype_of(dtype)
    if _core.dtype_kind(dtype) not in ("signed", "unsigned"):
        raise ValueError(f"iinfo takes integer dtypes; got {dtype}\n  use finfo for floating and complex dtypes")
    return np.iinfo(dtype)


def result_type(*args: Any) -> Any:
    """The dtype that arrays, numbers and dtypes are promoted to together.

    Python numbers, and arrays of weak type, yield to other dtypes of their kind: int8 and a Python int make int8. An
    integer dtype and a floating one make the floating one: float16 beside int32 stays float16, where NumPy has
    float64.

    Parameters
    ----------
    *args : array, number, dtype or str
        What is promoted; None is the default floating dtype.

    Returns
    -------
    dtype

    Examples
    --------
    >>> ct.numpy.result_type(ct.numpy.int8, 1)
    dtype('int8')

    >>> ct.numpy.result_type(ct.numpy.int32, ct.numpy.float16)
    dtype('float16')
    """
    if not args:
        raise ValueError("result_type needs at least one argument\n  pass an array or a dtype")
    types = []
    for arg in args:
        if isinstance(arg, str) or arg is None:
            types.append((_core.default_float_dtype() if arg is None else _core.canonical_dtype(arg), False))
        else:
            types.append(type_of(arg)[1:])
    return _core.promote_types(types)[0]


def promote_types(a: Any, b: Any) -> Any:
    """The dtype that two dtypes are promoted to.

    Parameters
    ----------
    a, b : dtype
        What is promoted.

    Returns
    -------
    dtype

    Examples
    --------
    >>> ct.numpy.promote_types("int32", "float16")
    dtype('float16')
    """
    return result_type(a, b)


_KINDS: dict[Any, tuple[str, ...]] = {
    np.generic: ("bool", "signed", "unsigned", "float", "complex", "key"),
    np.number: ("signed", "unsigned", "float", "complex"),
    np.integer: ("signed", "unsigned"),
    np.signedinteger: ("signed",),
    np.unsignedinteger: ("unsigned",),
    np.inexact: ("float", "complex"),
    np.floating: ("float",),
    np.complexfloating: ("complex",),
    np.bool_: ("bool",),
    extended: ("key",),
    prng_key: ("key",),
}


def issubdtype(arg1: Any, arg2: Any) -> builtins.bool:
    """Whether a dtype is another one, or belongs to a kind of dtypes.

    Parameters
    ----------
    arg1 : dtype or array
        What is asked about.
    arg2 : dtype or kind
        A dtype, or one of ``integer``, ``floating``, ``inexact``, ``number``, …; bfloat16 is floating.

    Returns
    -------
    bool

    Examples
    --------
    >>> ct.numpy.issubdtype(ct.numpy.bfloat16, ct.numpy.floating)
    True
    """
    if isinstance(arg1, (Array, np.ndarray)):
        arg1 = arg1.dtype
    if arg2 in _KINDS and arg1 in _KINDS and arg1 is not np.bool_:
        return builtins.bool(set(_KINDS[arg1]) <= set(_KINDS[arg2]))
    if _is_foreign(arg1) or (arg2 not in _KINDS and _is_foreign(arg2)):
        return builtins.bool(np.issubdtype(arg1, arg2))
    if arg2 in _KINDS:
        return _core.dtype_kind(arg1) in _KINDS[arg2]
    return builtins.bool(_core.canonical_dtype(arg1) == _core.canonical_dtype(arg2))


def _is_foreign(dtype: Any) -> builtins.bool:
    """Whether it is a dtype, or a class of them, that NumPy knows and arrays here have not."""
    try:
        _core.canonical_dtype(dtype)
    except DTypeError:
        return dtype in (object, np.object_, np.generic) or (isinstance(dtype, type) and issubclass(dtype, np.generic))
    return False


def isdtype(dtype: Any, kind: Any) -> builtins.bool:
    """Whether a dtype is another one, or is of a kind that has a name in the array API standard.

    Parameters
    ----------
    dtype : dtype or array
        What is asked about.
    kind : dtype, str or tuple of them
        ``"bool"``, ``"signed integer"``, ``"unsigned integer"``, ``"integral"``, ``"real floating"``, ``"complex
        floating"``, ``"numeric"``; or a dtype. Of a tuple, any.

    Returns
    -------
    bool

    Raises
    ------
    DTypeError
        There is no such kind.

    Examples
    --------
    >>> ct.numpy.isdtype(ct.numpy.int8, "integral")
    True
    """
    if isinstance(kind, tuple):
        return any(isdtype(dtype, item) for item in kind)
    dtype = _dtype_of(dtype)
    names = {
        "bool": ("bool",),
        "signed integer": ("signed",),
        "unsigned integer": ("unsigned",),
        "integral": ("signed", "unsigned"),
        "real floating": ("float",),
        "complex floating": ("complex",),
        "numeric": ("signed", "unsigned", "float", "complex"),
    }
    if isinstance(kind, str) and kind in names:
        return _core.dtype_kind(dtype) in names[kind]
    return builtins.bool(_core.canonical_dtype(dtype) == _core.canonical_dtype(kind))


def can_cast(from_: Any, to: Any, casting: str = "safe") -> builtins.bool:
    """Whether one dtype can be converted to another one by NumPy's rules.

    Parameters
    ----------
    from_ : dtype or array
        What is converted.
    to : dtype
        To what.
    casting : str, default "safe"
        ``"no"``, ``"equiv"``, ``"safe"`` (no value is lost), ``"same_kind"`` or ``"unsafe"``.

    Returns
    -------
    bool

    Examples
    --------
    >>> ct.numpy.can_cast("int16", "float32"), ct.numpy.can_cast("float32", "int16")
    (True, False)
    """
    return builtins.bool(np.can_cast(_core.canonical_dtype(_dtype_of(from_)), _core.canonical_dtype(to), casting))  # type: ignore[arg-type]


check_arguments(globals())
