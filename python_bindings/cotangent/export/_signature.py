"""What a library's functions look like in C: parameters with types, the places of all arrays, and the number that stands for it all."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from cotangent import _core
from cotangent.export._function import Function
from cotangent.export._layout import ArrayType, Library, Row, Structure, Type, distinct


@dataclass(frozen=True)
class Parameter:
    """A parameter of a C function."""

    name: str
    path: str  # what Python calls it
    type: Type
    role: str  # "in", "out", "inout"
    by_value: bool

    @property
    def written(self) -> bool:
        return self.role != "in"


@dataclass(frozen=True)
class Place:
    """Where an array is: so many bytes behind what the parameter points to."""

    path: str
    parameter: int
    offset: int


@dataclass(frozen=True)
class Signature:
    """A function of a library."""

    name: str  # in Python: an attribute of what `load` returns
    symbol: str
    function: Function
    parameters: tuple[Parameter, ...]
    inputs: tuple[Place, ...]
    outputs: tuple[Place, ...]

    def for_core(self) -> dict[str, Any]:
        """The arguments of ``_core.compile_function``."""
        return {
            "symbol": self.symbol,
            "parameters": [
                (
                    _value_dtype(p.type) if p.by_value else "",
                    p.type.bytes,
                    p.type.alignment,
                    p.written,
                )
                for p in self.parameters
            ],
            "inputs": [(place.parameter, place.offset) for place in self.inputs],
            "outputs": [(place.parameter, place.offset) for place in self.outputs],
            "pairs": self.function.pairs,
        }


def _value_dtype(kind: Type) -> str:
    """The dtype whose size and register a number by value has."""
    assert isinstance(kind, ArrayType)
    return {"key": "uint64", "bool": "uint8"}.get(kind.dtype, kind.dtype)


def _is_number(kind: Type) -> bool:
    return isinstance(kind, ArrayType) and kind.dimensions == ()


def sign(library: Library, name: str, symbol: str, function: Function) -> Signature:
    """The C function of a captured one."""
    inputs: dict[int, Place] = {}
    outputs: dict[int, Place] = {}
    # Types first: a parameter that is called like the type of one behind it would hide that.
    placed = [
        (
            part,
            library.place(part.tree, [avals[leaf] for leaf in part.leaves], library.identifier(part.name, "x")),
            places,
        )
        for parts, avals, places in (
            (function.arguments, function.in_avals, inputs),
            ([part for part in function.results if part.name not in function.in_place], function.out_avals, outputs),
        )
        for part in parts
    ]
    parameters: list[Parameter] = []
    with_arrays = [(part, layout, places) for part, layout, places in placed if layout.type is not None]
    words = [
        (part.name, library.identifier(part.name, f"x{number}")) for number, (part, _, _) in enumerate(with_arrays)
    ]
    names = distinct(words, {"run", "ct_run", *library.names})
    for (part, layout, places), c_name in zip(with_arrays, names, strict=True):
        assert layout.type is not None
        role = "out" if places is outputs else "inout" if part.name in function.in_place else "in"
        number = len(parameters)
        parameters.append(Parameter(c_name, part.name, layout.type, role, role == "in" and _is_number(layout.type)))
        for leaf in layout.leaves:
            places[part.first + leaf.index] = Place(part.name + leaf.path, number, leaf.offset)
    for output, pair in enumerate(function.pairs):
        if pair >= 0:
            outputs[output] = inputs[pair]
    return Signature(
        name,
        symbol,
        function,
        tuple(parameters),
        tuple(inputs[i] for i in range(len(inputs))),
        tuple(outputs[i] for i in range(len(outputs))),
    )


def type_name(kind: Type) -> str:
    """The type of what a parameter points to, in C."""
    if isinstance(kind, ArrayType):
        return kind.element
    return kind.structure.name if isinstance(kind, Row) else kind.name


def _described_type(kind: Type) -> dict[str, Any]:
    if isinstance(kind, ArrayType):
        return {"type": kind.element, "dtype": kind.dtype, "dimensions": list(kind.dimensions)}
    if isinstance(kind, Row):
        return {"type": kind.structure.name, "dimensions": list(kind.counts)}
    return {"type": kind.name, "dimensions": []}


def _described_structure(structure: Structure) -> dict[str, Any]:
    return {
        "name": structure.name,
        "bytes": structure.bytes,
        "members": [
            {"name": member.name, "offset": member.offset, **_described_type(member.type)}
            for member in structure.members
        ],
    }


def _described_places(places: Sequence[Place], avals: Sequence[Any]) -> list[dict[str, Any]]:
    return [
        {
            "path": place.path,
            "dtype": _core.dtype_name(dtype),
            "shape": list(shape),
            "parameter": place.parameter,
            "offset": place.offset,
        }
        for place, (shape, dtype) in zip(places, avals, strict=True)
    ]


def interface(library: Library, signatures: Sequence[Signature]) -> dict[str, Any]:
    """All that C programs and other languages rely on, as JSON."""
    functions = []
    for signature in signatures:
        function = signature.function
        lengths = dict(_core.length_inputs(function.graph))
        described = _described_places(signature.inputs, function.in_avals)
        for index, bound in lengths.items():
            if index < len(described):
                described[index]["at_most"] = bound
        results = _described_places(signature.outputs, function.out_avals)
        for index, pair in enumerate(function.pairs):
            if pair >= 0:
                results[index]["in_place_of"] = pair
        functions.append(
            {
                "name": signature.name,
                "symbol": signature.symbol,
                "parameters": [
                    {
                        "name": p.name,
                        "path": p.path,
                        "role": p.role,
                        "by_value": p.by_value,
                        "bytes": p.type.bytes,
                        **_described_type(p.type),
                    }
                    for p in signature.parameters
                ],
                "inputs": described,
                "outputs": results,
            }
        )
    return {
        "library": library.name,
        "structures": [_described_structure(structure) for structure in library.structures],
        "functions": functions,
    }


def program_hash(functions: Sequence[Function]) -> str:
    """What tells libraries of one signature apart: 128 bits of the SHA-256 of the programs and what they close over."""
    digest = hashlib.sha256()
    for function in functions:
        digest.update(_core.graph_section(function.graph, locations=False))
        for array in function.constants:
            digest.update(_core.to_numpy(array).tobytes())
    return digest.hexdigest()[:32]


def signature_number(described: dict[str, Any]) -> int:
    """64 bits of the SHA-256 of names, types, places and roles."""
    text = json.dumps(described, sort_keys=True, separators=(",", ":"))
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "little")
