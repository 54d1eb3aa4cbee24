"""Pytrees in files of the package safetensors: parameters, states of optimizers, random keys and `Ragged`s.

A file is written beside its place and takes it when it is whole, so that a write that is cut off leaves what was there.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from cotangent import _core
from cotangent._base.arguments import check_arguments
from cotangent._base.keys import KEY_DTYPE
from cotangent._base.missing import needed
from cotangent._base.names import suggest_names
from cotangent._core import Array
from cotangent._ops.keys import key_data, wrap_key_data
from cotangent.errors import CorruptFileError
from cotangent.tree_util import keystr, tree_flatten_with_path

__all__ = ["load", "save"]

# Where the file says which arrays are stored as others: those of dtypes that safetensors has not.
_STORED = "cotangent"


def _names(tree: Any) -> tuple[dict[str, Any], Any]:
    """Leaves by names like ``layers.0.w``, and the structure."""
    entries, structure = tree_flatten_with_path(tree)
    named: dict[str, Any] = {}
    for path, leaf in entries:
        name = keystr(path, simple=True, separator=".")
        if name == "__metadata__":
            raise ValueError(
                "interop.safetensors: the format keeps the name '__metadata__' to itself\n  rename the key"
            )
        if name in named:
            raise ValueError(
                f"interop.safetensors: two leaves are called {name!r}, one of them {keystr(path)}\n  rename a key that has dots in it"
            )
        named[name] = leaf
    return named, structure


def _stored(x: Any) -> tuple[Any, str]:
    """NumPy's array to write, and the dtype it stands for if that is another."""
    x = _core.array(x)
    if x.dtype == KEY_DTYPE:
        return _core.to_numpy(key_data(x)), KEY_DTYPE.name
    values = _core.to_numpy(x, "interop.safetensors.save")
    name = values.dtype.name
    if name == "complex128":
        return values.reshape(*values.shape, 1).view(np.float64), name
    if values.dtype.isbuiltin != 1 and name not in _CODES.values():
        return values.view(f"uint{8 * values.dtype.itemsize}"), name
    return values, ""


def save(path: str | os.PathLike[str], tree: Any, *, metadata: Mapping[str, str] | None = None) -> None:
    """Writes the arrays of a pytree to a file, by names that other programs read: ``layers.0.w``.

    What was at the path is replaced once the new file is on the disk; if this is interrupted, it stays.

    Parameters
    ----------
    path : str or path
        Of the file; its folder is made.
    tree : pytree
        Of arrays, numbers, random keys and `Ragged`.
    metadata : dict from str to str, optional
        Texts to keep with them.

    Raises
    ------
    ImportError
        safetensors is not installed.
    ValueError
        Two leaves have one name.
    ConcretizationError
        A leaf is traced.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = folder + "/step.safetensors"
    ...     ct.interop.safetensors.save(path, {"w": ct.numpy.ones(2), "layers": [3, 4]})
    ...     sorted(ct.interop.safetensors.load(path))
    ['layers.0', 'layers.1', 'w']
    """
    write(Path(path), *tensors_of(tree), metadata or {})


def tensors_of(tree: Any) -> tuple[dict[str, Any], dict[str, str]]:
    """NumPy's arrays to write, by their names, and the dtypes that some of them stand for."""
    needed("safetensors.numpy", "interop.safetensors.save")  # said before a thread writes
    stored = {name: _stored(leaf) for name, leaf in _names(tree)[0].items()}
    return {name: values for name, (values, _) in stored.items()}, {
        name: other for name, (_, other) in stored.items() if other
    }


def write(place: Path, tensors: dict[str, Any], others: dict[str, str], metadata: Mapping[str, str]) -> None:
    """Writes what `tensors_of` gave beside the place, and moves it there when it is on the disk."""
    library = needed("safetensors.numpy", "interop.safetensors.save")
    failure = needed("safetensors", "interop.safetensors.save").SafetensorError
    place.parent.mkdir(parents=True, exist_ok=True)
    temporary = place.parent / f".{os.getpid()}.{threading.get_ident()}.part"
    try:
        library.save_file(tensors, temporary, {**metadata, _STORED: json.dumps(others)})
        with temporary.open("rb") as file:
            os.fsync(file.fileno())
        temporary.replace(place)
        _keep_name(place.parent)
    except failure as error:  # what the system says, as text
        raise OSError(
            f"interop.safetensors.save: {place} cannot be written: {error}\n  name a file in a folder that can be written to and has room"
        ) from None
    finally:
        temporary.unlink(missing_ok=True)


def _keep_name(folder: Path) -> None:
    """Has the disk keep what the files of a folder are called."""
    opened = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)


_CODES = {"BOOL": "bool", "BF16": "bfloat16", "F8_E4M3": "float8_e4m3fn", "F8_E5M2": "float8_e5m2", "C64": "complex64"}
_LETTERS = {"F": "float", "I": "int", "U": "uint"}


def _restored(entry: Mapping[str, Any], other: str | None) -> Array:
    code = entry["dtype"]
    dtype = np.dtype(_core.canonical_dtype(_CODES.get(code) or f"{_LETTERS[code[0]]}{code[1:]}"))
    values = np.frombuffer(entry["data"], dtype).reshape(entry["shape"])
    if other is None:
        return _core.array(values)
    if other == KEY_DTYPE.name:
        return wrap_key_data(values)
    whole = values.view(np.dtype(_core.canonical_dtype(other)))
    return _core.array(whole.reshape(whole.shape[:-1]) if other == "complex128" else whole)


def load(path: str | os.PathLike[str], like: Any = None) -> Any:
    """Reads the arrays of a file: as a pytree like another, or by their names.

    Parameters
    ----------
    path : str or path
        Of a file that `save` or another program wrote.
    like : pytree, optional
        A pytree of the structure, shapes and dtypes that the file's has; without it, the result is a dict by names.

    Returns
    -------
    pytree of arrays
        Of the structure of ``like``, or a dict.

    Raises
    ------
    FileNotFoundError
        There is no such file.
    CorruptFileError
        It is damaged, or no file of safetensors.
    ValueError
        The file has other names than ``like``, or an array of another shape or dtype.
    ImportError
        safetensors is not installed.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = folder + "/step.safetensors"
    ...     ct.interop.safetensors.save(path, {"w": ct.numpy.ones(2), "step": 3})
    ...     found = ct.interop.safetensors.load(path, like={"w": ct.numpy.zeros(2), "step": 0})
    >>> found["w"].tolist(), int(found["step"])
    ([1.0, 1.0], 3)
    """
    library = needed("safetensors", "interop.safetensors.load")
    data = Path(path).read_bytes()
    try:
        entries = dict(library.deserialize(data))
        others = json.loads(_metadata(data).get(_STORED, "{}"))
        arrays = {name: _restored(entry, others.get(name)) for name, entry in entries.items()}
    except (library.SafetensorError, KeyError, ValueError, TypeError, AttributeError) as error:
        raise CorruptFileError(
            f"interop.safetensors.load: {path} is damaged, or no file of safetensors: {error}\n"
            "  save it again\n  see docs/errors.md#corrupt-file"
        ) from None
    if like is None:
        return arrays
    named, structure = _names(like)
    if named.keys() != arrays.keys():
        missing = ", ".join(sorted(named.keys() - arrays.keys())[:5]) or "none"
        unknown = ", ".join(sorted(arrays.keys() - named.keys())[:5]) or "none"
        raise ValueError(
            f"interop.safetensors.load: {path} has other arrays: missing {missing}; unknown {unknown}\n"
            "  give the structure that was saved as like, or leave it out: the result is then a dict by these names"
        )
    for name, leaf in named.items():
        expected, found = _core.array(leaf), arrays[name]
        if (expected.shape, expected.dtype) != (found.shape, found.dtype):
            raise ValueError(
                f"interop.safetensors.load: {name} is {found.dtype}{list(found.shape)} in {path}, and {expected.dtype}{list(expected.shape)}"
                f" was expected\n  give what was saved as like, or load without it and convert: load(path)[{name!r}]"
            )
    return structure.unflatten([arrays[name] for name in named])


def _metadata(data: bytes) -> dict[str, str]:
    # The header of the format: its length in 8 bytes, then JSON. `deserialize` has looked at it and leaves the texts out.
    header = json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])
    return dict(header.get("__metadata__", {}))


check_arguments(globals())
suggest_names(globals())
