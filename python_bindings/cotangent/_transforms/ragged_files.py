"""Files that hold a `Ragged`, and the arrays by name that they are made of."""

from __future__ import annotations

import os
from collections.abc import Mapping
from errno import EINVAL
from typing import Any

import numpy as np

from cotangent import _core
from cotangent._transforms.ragged import Ragged
from cotangent._transforms.ragged_exchange import _library
from cotangent.errors import CorruptFileError


def to_arrays(self: Ragged) -> dict[str, np.ndarray[Any, Any]]:
    """Returns NumPy arrays by name that say everything, to be written to a file by whatever writes arrays.

    Padding is 0 in them.

    Returns
    -------
    dict from str to numpy.ndarray
        What `from_arrays` reads.

    Examples
    --------
    >>> sorted(ct.ragged([[1.0, 2.0], [3.0]]).to_arrays())
    ['data', 'description', 'length_1']
    """
    import json  # whose import takes a while

    data = np.array(_core.to_numpy(_core.array(self.data), "to_arrays"))
    lengths = {axis: np.array(_core.to_numpy(length)) for axis, length in self.lengths.items()}
    for axis, length in lengths.items():
        place = np.arange(data.shape[axis]).reshape(-1, *[1] * (data.ndim - axis - 1))
        data[np.broadcast_to(place >= length.reshape(*length.shape, *[1] * (data.ndim - length.ndim)), data.shape)] = 0
    description = {"dtype": data.dtype.name, "names": {str(axis): name for axis, name in self.names.items()}}
    if data.dtype.name not in np.sctypeDict:  # of ml_dtypes, which NumPy writes as bytes without a name
        data = data.view(f"uint{8 * data.dtype.itemsize}")
    text = np.frombuffer(json.dumps(description).encode(), np.uint8)
    return {"data": data, "description": text} | {f"length_{axis}": length for axis, length in lengths.items()}


def from_arrays(arrays: Mapping[str, Any]) -> Ragged:
    """Returns the Ragged that `to_arrays` made these arrays of.

    Parameters
    ----------
    arrays : dict from str to array
        By the names that `to_arrays` gave them.

    Returns
    -------
    Ragged
        With its lengths and names.

    Raises
    ------
    CorruptFileError
        Something is missing or does not fit.

    Examples
    --------
    >>> ct.Ragged.from_arrays(ct.ragged([[1.0, 2.0], [3.0]]).to_arrays()).tolist()
    [[1.0, 2.0], [3.0]]
    """
    import json

    try:
        description = json.loads(bytes(np.asarray(arrays["description"])))
        data = np.asarray(arrays["data"])
        names = {int(axis): name for axis, name in description["names"].items()}
        lengths = {int(key[7:]): np.asarray(arrays[key]) for key in arrays if key.startswith("length_")}
        dtype = description["dtype"]
        if dtype != data.dtype.name:
            data = data.view(_core.canonical_dtype(dtype))
        return Ragged(_core.array(data), lengths, names)
    except (KeyError, ValueError, TypeError, AttributeError, OverflowError, RecursionError) as error:
        raise CorruptFileError(
            f"Ragged.from_arrays: these arrays are not those of a Ragged: {error}\n  give what to_arrays returned, under the same names"
            "\n  see docs/errors.md#corrupt-file"
        ) from None


def _is_safetensors(file: Any, function: str) -> bool:
    if not isinstance(file, (str, os.PathLike)):
        return False
    suffix = os.path.splitext(file)[1]  # noqa: PTH122 (pathlib costs import time)
    if suffix not in (".npz", ".safetensors"):
        raise ValueError(
            f"Ragged.{function}: the file's name must end in .npz or .safetensors; got {str(file)!r}\n"
            f"  name it {os.path.splitext(file)[0] + '.npz'!r}"  # noqa: PTH122
        )
    return suffix == ".safetensors"


def save(self: Ragged, file: Any) -> None:
    """Writes the Ragged to a file.

    Parameters
    ----------
    file : str, path or binary file
        A name ends in ``.npz`` or ``.safetensors``, which says the format; an open file is written as ``.npz``.

    Raises
    ------
    ImportError
        safetensors is not installed.
    ValueError
        Another name.

    Examples
    --------
    >>> import io
    >>> file = io.BytesIO()
    >>> ct.ragged([[1.0, 2.0], [3.0]]).save(file)
    >>> _ = file.seek(0)
    >>> ct.Ragged.load(file).tolist()
    [[1.0, 2.0], [3.0]]
    """
    if _is_safetensors(file, "save"):
        _library("safetensors.numpy", "safetensors", "save").save_file(to_arrays(self), file)
    else:
        np.savez(file, **to_arrays(self))  # type: ignore[arg-type]


def load(file: Any) -> Ragged:
    """Returns the Ragged that `save` wrote.

    Parameters
    ----------
    file : str, path or binary file
        As of `save`.

    Returns
    -------
    Ragged
        With its lengths and names.

    Raises
    ------
    ImportError
        safetensors is not installed.
    CorruptFileError
        The file is not one of a Ragged.
    FileNotFoundError
        There is no such file.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     ct.ragged([[1.0, 2.0], [3.0]]).save(folder + "/rows.npz")
    ...     rows = ct.Ragged.load(folder + "/rows.npz")
    >>> rows.tolist()
    [[1.0, 2.0], [3.0]]
    """
    if _is_safetensors(file, "load"):
        read = _library("safetensors.numpy", "safetensors", "load").load_file
    else:
        read = _read_npz
    try:
        arrays = read(file)
    except Exception as error:
        # Readers raise whatever they trip over. That the file is not there, or cannot be read, is said as it is.
        unread = (CorruptFileError, MemoryError, FileNotFoundError, PermissionError, IsADirectoryError)
        if isinstance(error, unread) or (isinstance(error, OSError) and error.errno not in (None, EINVAL)):
            raise
        raise CorruptFileError(
            f"Ragged.load: {file} is not a file that Ragged.save wrote, or is damaged: {type(error).__name__}\n"
            "  save it again with x.save(file)\n  see docs/errors.md#corrupt-file"
        ) from None
    return from_arrays(arrays)


def _read_npz(file: Any) -> dict[str, np.ndarray[Any, Any]]:
    found = np.load(file, allow_pickle=False)
    if isinstance(found, np.ndarray):
        raise CorruptFileError(
            "Ragged.load: the file has one array, and not those of a Ragged\n  load it with numpy.load, and make one: ct.Ragged(data, lengths)"
            "\n  see docs/errors.md#corrupt-file"
        )
    with found as arrays:
        return dict(arrays)


def attach() -> None:
    """Gives `Ragged` these functions."""
    for method in (to_arrays, save):
        setattr(Ragged, method.__name__, method)
    for constructor in (from_arrays, load):
        setattr(Ragged, constructor.__name__, staticmethod(constructor))
