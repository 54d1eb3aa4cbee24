"""Arrays from and to files, buffers, text and iterables; what is done by NumPy, on values that are known."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from typing import Any

import numpy as np

from cotangent import _core
from cotangent._base.arguments import check_arguments
from cotangent._base.device import backend_for, device_at, put_beside
from cotangent._core import Array
from cotangent._ops.binding import apart, kind
from cotangent._ops.keys import key_data

__all__ = [
    "array2string",
    "array_repr",
    "array_str",
    "from_dlpack",
    "frombuffer",
    "fromfile",
    "fromiter",
    "fromstring",
    "get_printoptions",
    "iterable",
    "load",
    "printoptions",
    "save",
    "savez",
    "savez_compressed",
    "set_printoptions",
]


def _made(values: Any) -> Array:
    return put_beside(_core.array(values), ())  # type: ignore[no-any-return]


def frombuffer(buffer: Any, dtype: Any = float, count: int = -1, offset: int = 0) -> Array:
    """The bytes of a buffer as numbers.

    Parameters
    ----------
    buffer : bytes-like
        The bytes, which are copied.
    dtype : dtype, default float
        Of the numbers: float is the default floating dtype.
    count : int, default -1
        How many numbers. -1: all.
    offset : int, default 0
        Where they begin, in bytes.

    Returns
    -------
    array, shape (count,)
        The numbers.

    Raises
    ------
    ValueError
        There are not as many bytes.

    Examples
    --------
    >>> ct.numpy.frombuffer(bytes([1, 0, 2, 0]), dtype=np.int16)
    Array([1, 2], dtype=int16)
    """
    return _made(np.frombuffer(buffer, _core.canonical_dtype(dtype), count, offset))


def fromstring(string: str, dtype: Any = float, count: int = -1, *, sep: str) -> Array:
    """Numbers that are written in a text.

    Parameters
    ----------
    string : str
        The text.
    dtype : dtype, default float
        Of the numbers: float is the default floating dtype.
    count : int, default -1
        How many numbers. -1: all.
    sep : str
        What stands between them; spaces beside it do not count.

    Returns
    -------
    array, shape (count,)
        The numbers.

    Examples
    --------
    >>> ct.numpy.fromstring("1, 2, 3", dtype=int, sep=",")
    Array([1, 2, 3], dtype=int32)
    """
    return _made(np.fromstring(string, _core.canonical_dtype(dtype), count, sep=sep))


def fromiter(iter: Iterable[Any], dtype: Any, count: int = -1, **kwargs: Any) -> Array:  # noqa: A002
    """The elements of an iterable, along one axis.

    Parameters
    ----------
    iter : iterable
        The numbers.
    dtype : dtype
        Of the result.
    count : int, default -1
        How many numbers are taken. -1: all.
    **kwargs : object
        Handed to `numpy.fromiter`.

    Returns
    -------
    array, shape (count,)
        The numbers.

    Examples
    --------
    >>> ct.numpy.fromiter((n * n for n in range(4)), int)
    Array([0, 1, 4, 9], dtype=int32)
    """
    return _made(np.fromiter(iter, _core.canonical_dtype(dtype), count, **kwargs))


def fromfile(file: Any, dtype: Any = float, count: int = -1, sep: str = "", offset: int = 0, **kwargs: Any) -> Array:
    """The numbers in a file, along one axis: their bytes, or text.

    Parameters
    ----------
    file : str, path or file
        What is read.
    dtype : dtype, default float
        Of the numbers: float is the default floating dtype.
    count : int, default -1
        How many numbers. -1: all.
    sep : str, default ""
        What stands between numbers that are written as text. Empty: the file holds their bytes.
    offset : int, default 0
        Where they begin, in bytes.
    **kwargs : object
        Handed to `numpy.fromfile`.

    Returns
    -------
    array, shape (count,)
        The numbers.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.NamedTemporaryFile() as file:
    ...     np.array([1, 2], np.int16).tofile(file.name)
    ...     ct.numpy.fromfile(file.name, np.int16)
    Array([1, 2], dtype=int16)
    """
    return _made(np.fromfile(file, _core.canonical_dtype(dtype), count, sep, offset, **kwargs))


def from_dlpack(x: Any, /, *, device: Any = None, copy: bool | None = None) -> Array:
    """An array of another library that offers ``__dlpack__``.

    It is where the other one is: on the host, or on the GPU. It is a copy, as arrays are immutable and the other
    library may write to its own.

    Parameters
    ----------
    x : object with ``__dlpack__``
        The array of the other library.
    device : Device, str or sharding, optional
        Where the result is wanted. None: where ``x`` is; what is copied from the host goes to the default device.
    copy : bool or None, default None
        False: the memory is shared, and must not be written to as long as this array, or a result that was made of it
        without computing, is there.

    Returns
    -------
    array
        The same elements.

    Raises
    ------
    ValueError
        The array is on a device that is not there, or cannot be shared with ``copy=False``: it is on another device
        than the result is to be, for example.

    Examples
    --------
    >>> ct.numpy.from_dlpack(np.array([1.0, 2.0], np.float32))
    Array([1., 2.], dtype=float32)
    """
    wanted = backend_for(device, "from_dlpack")
    if isinstance(x, Array):
        return _on(wanted, apart(x, x) if copy else x, copy)
    if not hasattr(x, "__dlpack__") and type(x).__name__ != "PyCapsule":
        raise TypeError(
            f"from_dlpack: a {type(x).__name__} has no __dlpack__\n  make an array of it: ct.numpy.asarray(x)"
        )
    found = _core.from_dlpack(x, copy is False)
    return _on(wanted, _gathered(*found) if isinstance(found, tuple) else found, copy)


def _on(wanted: str | None, array: Array, copy: bool | None) -> Array:
    """``array``, which a device of a back end is to have: a named one, or the default."""
    if wanted is None:
        return array if copy is False or _core.place_of(array) else put_beside(array, ())
    here = _core.place_of(array) or "llvm"
    if copy is False and here != wanted:
        raise ValueError(
            f"from_dlpack: memory of {device_at(here)} cannot be shared with {device_at(wanted)}\n  leave copy out, to copy it"
        )
    return _core.put_on(array, wanted)


def _gathered(elements: Array, first: int, shape: list[int], strides: list[int]) -> Array:
    """The elements of a view of others, which is ``elements`` of a line from the place ``first`` on, in such strides."""
    places: Any = first
    for axis, (size, stride) in enumerate(zip(shape, strides, strict=True)):
        line = np.arange(size).reshape([size if other == axis else 1 for other in range(len(shape))])
        places = places + _core.put_on(_core.array(line), _core.place_of(elements) or "llvm") * stride
    return elements[places]


# ---- Files -----------------------------------------------------------------------------------------------------------


def save(file: Any, arr: Any, allow_pickle: bool = True) -> None:
    """Writes an array to a file of NumPy's format ``.npy``.

    Parameters
    ----------
    file : str, path or file
        Where to; ``.npy`` is appended to a name without it.
    arr : array
        What is written.
    allow_pickle : bool, default True
        Handed to `numpy.save`; arrays of numbers are not pickled.

    Examples
    --------
    >>> import io
    >>> file = io.BytesIO()
    >>> ct.numpy.save(file, [1, 2])
    >>> _ = file.seek(0)
    >>> ct.numpy.load(file)
    Array([1, 2], dtype=int32)
    """
    np.save(file, _core.to_numpy(arr, "saving"), allow_pickle=allow_pickle)


def savez(file: Any, *args: Any, allow_pickle: bool = True, **kwds: Any) -> None:
    """Writes several arrays to a file of NumPy's format ``.npz``.

    Parameters
    ----------
    file : str, path or file
        Where to; ``.npz`` is appended to a name without it.
    *args : array
        What is written, under the names ``arr_0``, ``arr_1``, …
    allow_pickle : bool, default True
        Handed to `numpy.savez`; arrays of numbers are not pickled.
    **kwds : array
        What is written under the names of the arguments.

    Examples
    --------
    >>> import io
    >>> file = io.BytesIO()
    >>> ct.numpy.savez(file, weights=[1, 2])
    >>> _ = file.seek(0)
    >>> ct.numpy.load(file)["weights"]
    array([1, 2], dtype=int32)
    """
    arrays = {name: _core.to_numpy(value, "saving") for name, value in kwds.items()}
    np.savez(file, *[_core.to_numpy(x, "saving") for x in args], allow_pickle=allow_pickle, **arrays)


def savez_compressed(file: Any, *args: Any, allow_pickle: bool = True, **kwds: Any) -> None:
    """Writes several arrays to a compressed file of NumPy's format ``.npz``.

    Parameters
    ----------
    file : str, path or file
        Where to; ``.npz`` is appended to a name without it.
    *args : array
        What is written, under the names ``arr_0``, ``arr_1``, …
    allow_pickle : bool, default True
        Handed to `numpy.savez_compressed`; arrays of numbers are not pickled.
    **kwds : array
        What is written under the names of the arguments.

    Examples
    --------
    >>> import io
    >>> file = io.BytesIO()
    >>> ct.numpy.savez_compressed(file, weights=[1, 2])
    >>> _ = file.seek(0)
    >>> ct.numpy.load(file)["weights"]
    array([1, 2], dtype=int32)
    """
    arrays = {name: _core.to_numpy(value, "saving") for name, value in kwds.items()}
    np.savez_compressed(file, *[_core.to_numpy(x, "saving") for x in args], allow_pickle=allow_pickle, **arrays)


def load(file: Any, *args: Any, **kwargs: Any) -> Any:
    """The array in a file of NumPy's format ``.npy``; of a ``.npz`` file, a mapping of names to NumPy's arrays.

    Parameters
    ----------
    file : str, path or file
        What is read.
    *args, **kwargs : object
        Handed to `numpy.load`.

    Returns
    -------
    array or NpzFile
        The array, bfloat16 too; or the mapping.

    Examples
    --------
    >>> import io
    >>> file = io.BytesIO()
    >>> ct.numpy.save(file, np.array([1.5, 2.5], np.float32))
    >>> _ = file.seek(0)
    >>> ct.numpy.load(file)
    Array([1.5, 2.5], dtype=float32)
    """
    result = np.load(file, *args, **kwargs)
    if not isinstance(result, np.ndarray):
        return result
    if result.dtype.kind == "V" and result.dtype.itemsize == 2:  # how NumPy writes a dtype that it does not know
        result = result.view(_core.canonical_dtype("bfloat16"))
    return _made(result)


# ---- Printing --------------------------------------------------------------------------------------------------------


def array_repr(
    arr: Any, max_line_width: int | None = None, precision: int | None = None, suppress_small: bool | None = None
) -> str:
    """The text of an array that ``repr`` gives, with options.

    Parameters
    ----------
    arr : array
        What is written.
    max_line_width : int, optional
        Characters in a line. None: as NumPy's options say, which hold here, too.
    precision : int, optional
        Digits after the point.
    suppress_small : bool, optional
        Whether numbers near 0 are written as 0.

    Returns
    -------
    str

    Examples
    --------
    >>> ct.numpy.array_repr(np.array([1.23456, 2.0], np.float32), precision=2)
    'Array([1.23, 2.  ], dtype=float32)'
    """
    x = _core.array(arr)
    if _core.is_traced(x):
        return repr(x)
    if kind(x) == "key":
        return f"Array({x.shape}, dtype={x.dtype.name}) overlaying:\n{_core.peek_numpy(key_data(x))}"
    values = _core.peek_numpy(x)
    weak = ", weak_type=True" if x.weak_type else ""
    tail = f"dtype={x.dtype.name}{weak})"
    size = f"shape={x.shape}, " if values.size == 0 and x.ndim != 1 else ""
    body = (
        np.array2string(
            values,
            max_line_width=max_line_width,
            precision=precision,
            suppress_small=suppress_small,
            separator=", ",
            prefix="Array(",
            suffix=", ",
        )
        if values.size
        else "[]"
    )
    width = int(np.get_printoptions()["linewidth"]) if max_line_width is None else max_line_width
    last = len(body) - body.rfind("\n") - 1
    fits = (last if "\n" in body else last + len("Array(")) + len(", ") + len(size) + len(tail) <= width
    return f"Array({body},{' ' if fits else chr(10) + ' ' * len('Array(')}{size}{tail}"


def array_str(
    a: Any, max_line_width: int | None = None, precision: int | None = None, suppress_small: bool | None = None
) -> str:
    """The text of an array that ``str`` gives, with options.

    Parameters
    ----------
    a : array
        What is written.
    max_line_width : int, optional
        Characters in a line. None: as NumPy's options say, which hold here, too.
    precision : int, optional
        Digits after the point.
    suppress_small : bool, optional
        Whether numbers near 0 are written as 0.

    Returns
    -------
    str

    Examples
    --------
    >>> ct.numpy.array_str(np.array([1.23456, 2.0]), precision=2)
    '[1.23 2.  ]'
    """
    x = _core.array(a)
    return (
        str(x) if _core.is_traced(x) else np.array_str(_core.peek_numpy(x), max_line_width, precision, suppress_small)
    )


def array2string(a: Any, *args: Any, **kwargs: Any) -> str:
    """The elements of an array as text, by NumPy's function of this name.

    Parameters
    ----------
    a : array
        What is written.
    *args, **kwargs : object
        The options of `numpy.array2string`.

    Returns
    -------
    str

    Examples
    --------
    >>> ct.numpy.array2string(np.array([1, 2]), separator=", ")
    '[1, 2]'
    """
    return np.array2string(_core.peek_numpy(a), *args, **kwargs)


def get_printoptions() -> Any:
    """How arrays are printed: the options of NumPy, which hold for its arrays and those of this library.

    Returns
    -------
    dict

    Examples
    --------
    >>> ct.numpy.get_printoptions()["threshold"]
    1000
    """
    return np.get_printoptions()


def set_printoptions(*args: Any, **kwargs: Any) -> None:
    """Sets how arrays are printed, those of NumPy, too.

    Parameters
    ----------
    *args, **kwargs : object
        The options of `numpy.set_printoptions`.

    Examples
    --------
    >>> ct.numpy.set_printoptions(precision=8)
    """
    np.set_printoptions(*args, **kwargs)


def printoptions(*args: Any, **kwargs: Any) -> AbstractContextManager[Any]:
    """How arrays are printed inside of a ``with`` block, those of NumPy, too.

    Parameters
    ----------
    *args, **kwargs : object
        The options of `numpy.set_printoptions`.

    Returns
    -------
    context manager

    Examples
    --------
    >>> with ct.numpy.printoptions(precision=2):
    ...     print(ct.numpy.array([1.23456]))
    [1.23]
    """
    return np.printoptions(*args, **kwargs)


iterable: Callable[[Any], bool] = np.iterable


check_arguments(globals())
