"""Arrays from and to files, buffers, text and iterables; what is done by NumPy, on values that are known."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from typing import Any

import numpy as np

from cotangent import _core
from cotangent._base.arguments import check_arguments
from cotangent._base.device import Placement, put_beside
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
    """The bytes of a buffer as a one-axis array."""
    return _made(np.frombuffer(buffer, _core.canonical_dtype(dtype), count, offset))


def fromstring(string: str, dtype: Any = float, count: int = -1, *, sep: str) -> Array:
    """Numbers written in a text, with ``sep`` between them."""
    return _made(np.fromstring(string, _core.canonical_dtype(dtype), count, sep=sep))


def fromiter(iter: Iterable[Any], dtype: Any, count: int = -1, **kwargs: Any) -> Array:  # noqa: A002
    """The elements of an iterable, along one axis."""
    return _made(np.fromiter(iter, _core.canonical_dtype(dtype), count, **kwargs))


def fromfile(file: Any, dtype: Any = float, count: int = -1, sep: str = "", offset: int = 0, **kwargs: Any) -> Array:
    """The numbers in a file, along one axis: their bytes, or text with ``sep`` between them."""
    return _made(np.fromfile(file, _core.canonical_dtype(dtype), count, sep, offset, **kwargs))


def from_dlpack(x: Any, /, *, device: Placement = None, copy: bool | None = None) -> Array:
    """An array of another library that offers ``__dlpack__``.

    It is where the other one is: on the host, or on the GPU. It is a copy, as arrays are immutable and the other library may write to
    its own. With ``copy=False`` the memory is shared, and must not be written to as long as this array, or a result that was made of
    it without computing, is there.

    Raises:
        ValueError: the array is on a device that is not there, or cannot be shared with ``copy=False``.
    """
    if isinstance(x, Array):
        return apart(x, x) if copy else x
    found = _core.from_dlpack(x, copy is False)
    return _gathered(*found) if isinstance(found, tuple) else found


def _gathered(elements: Array, first: int, shape: list[int], strides: list[int]) -> Array:
    """The elements of a view of others, which is ``elements`` of a line from the place ``first`` on, in such strides."""
    places: Any = first
    for axis, (size, stride) in enumerate(zip(shape, strides, strict=True)):
        line = np.arange(size).reshape([size if other == axis else 1 for other in range(len(shape))])
        places = places + _core.put_on(_core.array(line), _core.place_of(elements) or "llvm") * stride
    return elements[places]


# ---- Files -----------------------------------------------------------------------------------------------------------


def save(file: Any, arr: Any, allow_pickle: bool = True) -> None:
    """Writes an array to a ``.npy`` file."""
    np.save(file, _core.to_numpy(arr), allow_pickle=allow_pickle)


def savez(file: Any, *args: Any, allow_pickle: bool = True, **kwds: Any) -> None:
    """Writes several arrays to a ``.npz`` file."""
    arrays = {name: _core.to_numpy(value) for name, value in kwds.items()}
    np.savez(file, *[_core.to_numpy(x) for x in args], allow_pickle=allow_pickle, **arrays)


def savez_compressed(file: Any, *args: Any, allow_pickle: bool = True, **kwds: Any) -> None:
    """Writes several arrays to a compressed ``.npz`` file."""
    arrays = {name: _core.to_numpy(value) for name, value in kwds.items()}
    np.savez_compressed(file, *[_core.to_numpy(x) for x in args], allow_pickle=allow_pickle, **arrays)


def load(file: Any, *args: Any, **kwargs: Any) -> Any:
    """The array in a ``.npy`` file; of a ``.npz`` file, NumPy's mapping of names to arrays."""
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
    """The text of ``repr``, with NumPy's options."""
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
    """The text of ``str``, with NumPy's options."""
    x = _core.array(a)
    return (
        str(x) if _core.is_traced(x) else np.array_str(_core.peek_numpy(x), max_line_width, precision, suppress_small)
    )


def array2string(a: Any, *args: Any, **kwargs: Any) -> str:
    """The elements as text, by `numpy.array2string`."""
    return np.array2string(_core.peek_numpy(a), *args, **kwargs)


def get_printoptions() -> Any:
    """How arrays are printed: NumPy's options, which are shared."""
    return np.get_printoptions()


def set_printoptions(*args: Any, **kwargs: Any) -> None:
    """Sets how arrays are printed; also NumPy's."""
    np.set_printoptions(*args, **kwargs)


def printoptions(*args: Any, **kwargs: Any) -> AbstractContextManager[Any]:
    """How arrays are printed inside of a ``with`` block."""
    return np.printoptions(*args, **kwargs)


iterable: Callable[[Any], bool] = np.iterable


check_arguments(globals())
