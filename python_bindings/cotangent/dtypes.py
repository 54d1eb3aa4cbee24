"""Kinds of dtypes and what is asked about them: ``ct.dtypes.issubdtype(k.dtype, ct.dtypes.prng_key)``."""

from __future__ import annotations

from typing import Any

import numpy as np

from cotangent import _core
from cotangent._base.arguments import check_arguments
from cotangent._base.keys import extended, prng_key
from cotangent._base.names import suggest_names
from cotangent._ops.dtypes import bfloat16, finfo, iinfo, issubdtype, result_type

__all__ = [
    "bfloat16",
    "canonicalize_dtype",
    "extended",
    "finfo",
    "float0",
    "iinfo",
    "issubdtype",
    "itemsize_bits",
    "prng_key",
    "result_type",
    "scalar_type_of",
]

float0 = np.dtype([("float0", np.void, 0)])


def canonicalize_dtype(dtype: Any, allow_extended_dtype: bool = False) -> Any:
    """Returns the dtype that a specification means; 64 bits stay 64 bits.

    Parameters
    ----------
    dtype : dtype, type or str
        ``float``, ``int`` and ``complex`` mean the default widths.
    allow_extended_dtype : bool, default False
        Whether the dtype of random keys is one.

    Returns
    -------
    dtype
        NumPy's.

    Raises
    ------
    ValueError
        It is that of random keys, and these are not allowed.
    DTypeError
        It is no dtype of arrays.

    Examples
    --------
    >>> ct.dtypes.canonicalize_dtype(float), ct.dtypes.canonicalize_dtype("float64")
    (dtype('float32'), dtype('float64'))
    """
    result = _core.canonical_dtype(dtype)
    if _core.dtype_kind(result) == "key" and not allow_extended_dtype:
        raise ValueError(
            f"{result} is the dtype of random keys, not of numbers\n"
            "  pass allow_extended_dtype=True to get it, or name a dtype of numbers"
        )
    return result


def itemsize_bits(dtype: Any) -> int:
    """Returns how many bits an element has.

    Parameters
    ----------
    dtype : dtype, type or str
        As of `canonicalize_dtype`.

    Returns
    -------
    int
        8 for bools, whose elements are bytes.

    Raises
    ------
    DTypeError
        It is no dtype of arrays.

    Examples
    --------
    >>> ct.dtypes.itemsize_bits("bfloat16"), ct.dtypes.itemsize_bits(complex)
    (16, 64)
    """
    return 8 * int(_core.canonical_dtype(dtype).itemsize)


def scalar_type_of(x: Any) -> type:
    """Returns the Python type of the elements of an array.

    Parameters
    ----------
    x : array or number
        Anything that functions of arrays take.

    Returns
    -------
    type
        ``bool``, ``int``, ``float`` or ``complex``.

    Raises
    ------
    TypeError
        ``x`` holds random keys.

    Examples
    --------
    >>> ct.dtypes.scalar_type_of(np.zeros(3, np.uint8))
    <class 'int'>
    """
    kinds = {"bool": bool, "signed": int, "unsigned": int, "float": float, "complex": complex}
    array = _core.array(x)
    kind = _core.dtype_kind(array.dtype)
    if kind not in kinds:
        raise TypeError(f"{array.dtype} has no Python type\n  keys are made of words: ct.random.key_data(key)")
    return kinds[kind]


check_arguments(globals())
suggest_names(globals())
