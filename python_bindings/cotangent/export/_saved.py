"""The saved form of a library: programs, what C sees of them, and the arrays that they close over, in one file.

Structures of arguments and results are saved by the names of their classes. Reading a file imports nothing but modules of cotangent: classes are
those that the process has, and their static data are texts, numbers, tuples of these, and frozen dataclasses, which are made without running code of theirs.
"""

from __future__ import annotations

import contextlib
import dataclasses
import enum
import hashlib
import importlib
import io
import json
import sys
from collections.abc import Mapping, Sequence
from typing import Any, BinaryIO

import numpy as np

from cotangent import _core
from cotangent._core import PyTreeDef
from cotangent.errors import CorruptFileError
from cotangent.export._function import Function, Part


class _UnsaveableError(Exception):
    pass


class MissingClassError(TypeError):
    """A class of a saved structure that this process does not have, or cannot have back."""


def _encoded(value: Any) -> Any:
    """Static data of a class as JSON."""
    if value is None or (isinstance(value, (bool, int, float, str)) and not isinstance(value, enum.Enum)):
        return value
    if isinstance(value, enum.Enum):
        return {"enum": [_name_of(type(value)), value.name]}
    if isinstance(value, tuple) and type(value) is not tuple:
        return {"named": [_name_of(type(value)), *(_encoded(item) for item in value)]}
    if isinstance(value, (tuple, list)):
        return {"tuple" if isinstance(value, tuple) else "list": [_encoded(item) for item in value]}
    if isinstance(value, dict):
        return {"dict": [[_encoded(key), _encoded(item)] for key, item in value.items()]}
    if isinstance(value, complex):
        return {"complex": [value.real, value.imag]}
    if isinstance(value, np.dtype):
        return {"dtype": _core.dtype_name(value)}
    if isinstance(value, PyTreeDef):
        return {"tree": tree_to_json(value)}
    if _is_record(type(value)):
        fields = dataclasses.fields(value)
        return {"record": [_name_of(type(value)), *((f.name, _encoded(getattr(value, f.name))) for f in fields)]}
    if isinstance(value, type) and issubclass(value, np.generic):
        return {"scalar": value.__name__}
    if callable(value) and _is_ours(value) and hasattr(value, "__qualname__") and _found(_name_of(value)) is value:
        return {"function": _name_of(value)}
    raise _UnsaveableError(f"{value!r} of {type(value).__name__}")


def _is_record(type_: type) -> bool:
    """Whether it is a frozen dataclass: what its fields say, and no more."""
    return dataclasses.is_dataclass(type_) and type_.__dataclass_params__.frozen  # type: ignore[attr-defined]


def _other_class(name: str) -> MissingClassError:
    return MissingClassError(
        f"the saved function has a {name} among its static data, and that of this process is another class\n"
        "  load it where the class is as it was, or export it again"
    )


def _record(name: str, fields: Sequence[tuple[str, Any]]) -> Any:
    type_ = _class(name)
    if not _is_record(type_) or [field.name for field in dataclasses.fields(type_)] != [field for field, _ in fields]:
        raise _other_class(name)
    made: Any = object.__new__(type_)
    for field, value in fields:
        object.__setattr__(made, field, _decoded(value))
    return made


def _enum(name: str) -> Any:
    type_ = _class(name)
    if not issubclass(type_, enum.Enum):
        raise _other_class(name)
    return type_


def _named_tuple(name: str, count: int) -> Any:
    type_ = _class(name)
    if not issubclass(type_, tuple) or len(getattr(type_, "_fields", ())) != count:
        raise _other_class(name)
    return type_


def _is_ours(function: Any) -> bool:
    return str(getattr(function, "__module__", "")).partition(".")[0] == "cotangent"


def _function(name: str) -> Any:
    """A function of cotangent's, as an activation is: no file has others called."""
    function = _found(name) if name.partition(":")[0].partition(".")[0] == "cotangent" else None
    if not callable(function) or not _is_ours(function):
        raise MissingClassError(
            f"the saved function has {name} among its static data, which this version does not have\n"
            "  load it with the version that saved it, or export it again"
        )
    return function


def _name_of(named: Any) -> str:
    return f"{named.__module__}:{named.__qualname__}"


def _decoded(data: Any) -> Any:
    if not isinstance(data, dict):
        return data
    ((kind, items),) = data.items()
    if kind == "tuple":
        return tuple(_decoded(item) for item in items)
    if kind == "list":
        return [_decoded(item) for item in items]
    if kind == "dict":
        return {_decoded(key): _decoded(item) for key, item in items}
    if kind == "complex":
        return complex(*items)
    if kind == "enum":
        return _enum(items[0])[items[1]]
    if kind == "named":
        return tuple.__new__(_named_tuple(items[0], len(items) - 1), map(_decoded, items[1:]))
    if kind == "scalar":
        return np.dtype(items).type
    if kind == "function":
        return _function(items)
    if kind == "tree":
        return tree_from_json(items)
    if kind == "record":
        return _record(items[0], items[1:])
    return _core.canonical_dtype(items)


def tree_to_json(tree: PyTreeDef) -> list[Any]:
    """The nodes of a structure. One whose static data cannot be saved is noted as such: it can be exported, but not called after loading."""
    (nodes,) = tree.__getstate__()
    rows: list[Any] = []
    for kind, arity, type_, keys in nodes:
        name = None if type_ is None else _name_of(type_)
        fields = [] if type_ is None else [_fields(type_)]
        try:
            rows.append([kind, arity, name, _encoded(keys), *fields])
        except _UnsaveableError as error:
            rows.append([kind, arity, name, {"lost": str(error)}, *fields])
    return rows


def _fields(type_: type) -> list[str]:
    """The names in whose order a class has its children and static data, as far as it says so."""
    if dataclasses.is_dataclass(type_):
        return [field.name for field in dataclasses.fields(type_)]
    return list(getattr(type_, "_fields", ()))


def _found(name: str) -> Any:
    """What has the name in this process; None if there is none."""
    module, _, path = name.partition(":")
    found: Any = sys.modules.get(module)
    if found is None and module.startswith("cotangent."):
        with contextlib.suppress(ImportError):
            found = importlib.import_module(module)
    for word in path.split("."):
        found = getattr(found, word, None)
    return found


def _class(name: str) -> type:
    found = _found(name)
    if not isinstance(found, type):
        raise MissingClassError(
            f"the saved function takes or returns {name}, which this process does not have\n"
            f"  import {name.partition(':')[0]} before it is loaded, or what defines the class"
        )
    return found


def tree_from_json(rows: Sequence[Any]) -> PyTreeDef:
    """The structure again.

    Raises:
        MissingClassError: a class is not there, or its static data were not saved. CorruptFileError: it is none.
    """
    nodes = []
    try:
        for kind, arity, name, keys, *fields in rows:
            if isinstance(keys, dict) and "lost" in keys:
                raise MissingClassError(
                    f"the saved function has {name} among its arguments, whose static data could not be saved: {keys['lost']}\n"
                    "  export a function whose static data are numbers, strings, enums, tuples, dicts or frozen dataclasses"
                )
            type_ = None if name is None else _class(name)
            if type_ is not None and fields and fields[0] != _fields(type_):
                raise MissingClassError(
                    f"the saved function has {name} among its arguments, with the fields {', '.join(fields[0]) or 'none'}; in this process "
                    f"these are {', '.join(_fields(type_)) or 'none'}\n  load it where the class is as it was, or export it again"
                )
            nodes.append((kind, arity, type_, _decoded(keys)))
        tree = PyTreeDef.__new__(PyTreeDef)
        tree.__setstate__((nodes,))
    except (ValueError, KeyError, AttributeError, OverflowError) as error:
        raise CorruptFileError(
            f"the structure of the arguments of a saved function is damaged: {error}\n"
            "  export it again\n  see docs/errors.md#corrupt-file"
        ) from None
    return tree


def _parts_to_json(parts: Sequence[Part]) -> list[Any]:
    return [[part.name, part.count] for part in parts]


def functions_to_json(functions: Mapping[str, Function]) -> list[dict[str, Any]]:
    """What `library_file` keeps of functions beside their programs."""
    return [
        {
            "name": name,
            "title": function.name,
            "constants": len(function.constants),
            "in_tree": tree_to_json(function.in_tree),
            "out_tree": tree_to_json(function.out_tree),
            "arguments": _parts_to_json(function.arguments),
            "results": _parts_to_json(function.results),
            "in_place": sorted(function.in_place),
            "order": list(function.order),
        }
        for name, function in functions.items()
    ]


def shared_to_json(file: BinaryIO) -> dict[str, Any]:
    """What tells a whole library from one that was cut off or damaged, without reading all of a large one."""
    size = file.seek(0, io.SEEK_END)
    file.seek(0)
    if size <= 1 << 20:
        sample = hashlib.sha256(file.read())
    else:  # arrays, mostly
        sample = hashlib.sha256(file.read(1 << 17))
        file.seek(size - (1 << 17))
        sample.update(file.read())
    return {"bytes": size, "sample": sample.hexdigest()}


def library_file(description: str, functions: Mapping[str, Function], shared: bytes | None) -> bytes:
    """The bytes of NAME.ctir. ``shared``: the library that is written beside it."""
    sections = [
        ("library", description.encode()),
        *([] if shared is None else [("shared", json.dumps(shared_to_json(io.BytesIO(shared))).encode())]),
        ("functions", json.dumps(functions_to_json(functions), separators=(",", ":")).encode()),
        *((f"graph {index}", _core.graph_section(f.graph)) for index, f in enumerate(functions.values())),
    ]
    return _core.save_sections(sections, [array for f in functions.values() for array in f.constants])
