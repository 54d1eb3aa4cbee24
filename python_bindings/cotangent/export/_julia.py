"""The Julia module of a library: its functions on arrays, wherever these are, by the C functions that take pointers to leaves."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from cotangent import _core
from cotangent._core import PyTreeDef
from cotangent.export._function import Part
from cotangent.export._header import Facts, call_text, comment, length_remarks
from cotangent.export._layout import Library, children_by_name, is_item, key_text
from cotangent.export._names import Names, function_word, pascal
from cotangent.export._signature import Signature

_BEGIN = '''\
"""
%(name)s, made by cotangent %(version)s for %(target)s: the functions of lib%(name)s.so, which lies beside.

Arguments are nested as in Python: dicts and dataclasses are what has properties of these names, as named tuples do,
sequences are tuples or vectors. Arrays have Python's dimensions reversed, as Julia has the first index first:
`float32[8, 4]` is an `Array{Float32}` of size (4, 8). Numbers are numbers, or arrays without dimensions: these only,
where they are updated in place. bfloat16 and float8 are their bits, a random key is a UInt64.
"""
module %(module)s

const LIBRARY = joinpath(@__DIR__, "lib%(name)s.so")
const SIGNATURE = 0x%(number)016x  # of names, types and places: the library must have the same

"Why a function did nothing."
struct Failure <: Exception
    call::String
    status::Cint
end

function Base.showerror(io::IO, failure::Failure)
    text = unsafe_string(ccall((:%(name)s_error, LIBRARY), Cstring, (Cint,), failure.status))
    print(io, failure.call, ": ", text)
end

function __init__()
    ccall((:%(name)s_signature, LIBRARY), UInt64, ()) == SIGNATURE ||
        error("lib%(name)s.so is of another export than %(name)s.jl")
    status = ccall((:%(name)s_check, LIBRARY), Cint, ())
    status == 0 || throw(Failure("%(name)s", status))
end

const Pointers = Ptr{Ptr{Cvoid}}

"What C calls ct_run."
struct Run
    size::Csize_t
    workspace::Ptr{Cvoid}
    workspace_bytes::Csize_t
    stop::Ptr{Cint}
    parallel::Ptr{Cvoid}
    pool::Ptr{Cvoid}
end

function given(what, value, ::Type{T}, size) where {T}
    value isa Number && isempty(size) && return fill(convert(T, value))
    return updated(what, value, T, size)
end

function updated(what, value, ::Type{T}, size) where {T}
    value isa Array{T} && Base.size(value) == size && return value
    throw(ArgumentError("$what must be an Array{$T} of size $size, got $(summary(value))"))
end

function call(entry, name, workspace_bytes, inputs, outputs)
    workspace = Vector{UInt8}(undef, workspace_bytes + 63)
    GC.@preserve inputs outputs workspace begin
        first = pointer(workspace)
        first += mod(-UInt(first), 64)
        run = Run(sizeof(Run), first, workspace_bytes, C_NULL, C_NULL, C_NULL)
        status = entry(Ptr{Cvoid}[pointer(x) for x in inputs], Ptr{Cvoid}[pointer(x) for x in outputs], run)
    end
    status == 0 || throw(Failure(name, status))
end
'''

_TYPES = {
    "bool": "Bool",
    "key": "UInt64",
    "bfloat16": "UInt16",
    "complex64": "ComplexF32",
    "complex128": "ComplexF64",
}
_WORDS = """\
baremodule begin break catch const continue do else elseif end export false finally for function global if import let local macro module quote
return struct true try using while in isa where abstract mutable primitive type"""
_KEYWORDS = frozenset(_WORDS.split())
# What the module defines, and what of Julia's own it uses.
_USED = """\
LIBRARY SIGNATURE Failure Run Pointers given updated call inputs outputs taken made run Base GC convert fill error throw pointer print first
mod joinpath summary isempty sizeof nothing ccall unsafe_string undef Exception IO String Array Vector Any Number Type Ptr Ref Cvoid Cint
Cstring Csize_t C_NULL ArgumentError Bool UInt UInt8 UInt16 UInt32 UInt64 Int8 Int16 Int32 Int64 Float16 Float32 Float64 ComplexF32 ComplexF64"""
_OWN = frozenset(_USED.split())


@dataclass(frozen=True)
class _Leaf:
    """An array: how it is reached from its argument, its type and size."""

    access: str
    type: str
    size: str


def _element(dtype: str) -> str:
    if dtype.startswith("float8"):
        return "UInt8"
    return _TYPES.get(dtype, re.sub("^(ui|i|f)", lambda found: {"ui": "UI", "i": "I", "f": "F"}[found[0]], dtype))


def _size(shape: Sequence[int]) -> str:
    reverse = [str(extent) for extent in reversed(shape)]
    return f"({reverse[0]},)" if len(reverse) == 1 else f"({', '.join(reverse)})"


def _is_plain(word: str) -> bool:
    return re.fullmatch(r"[A-Za-z_]\w*", word, re.ASCII) is not None and word not in _KEYWORDS


def _property(key: str) -> str:
    """The name of a member, quoted where Julia needs that."""
    word = key_text(key)
    return word if _is_plain(word) else f"var{_raw(word)}"


def _named(key: str, value: str) -> str:
    """A member of a named tuple."""
    word = key_text(key)
    return f"{word} = {value}" if _is_plain(word) else f"Symbol({_quoted(word)}) => {value}"


def _raw(text: str) -> str:
    """A text in which nothing is special but quotes, and backslashes before these."""
    inner = re.sub(r'(\\*)"', lambda found: found[1] * 2 + '\\"', text.replace("\n", " "))
    end = len(inner) - len(inner.rstrip("\\"))
    return '"' + inner + "\\" * end + '"'


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("$", "\\$").replace("\n", " ") + '"'


def _accesses(tree: PyTreeDef, at: str) -> list[str]:
    """How the leaves of a tree are reached."""
    if tree.paths() == [""]:
        return [at]
    made = []
    for number, (key, child) in enumerate(children_by_name(tree), 1):
        made += _accesses(child, f"{at}[{number}]" if is_item(key) else f"{at}.{_property(key)}")
    return made


def _built(tree: PyTreeDef, leaves: list[str], indent: int) -> str:
    """The expression of a tree of these leaves, which are taken from the list."""
    paths = tree.paths()
    if paths == [""]:
        return leaves.pop(0)
    if not paths:
        return "nothing"
    children = children_by_name(tree)
    if all(is_item(key) for key, _ in children):
        return _nested("(", [_built(child, leaves, indent + 4) for _, child in children], indent)
    # What has no arrays in it has no name either.
    named = [_named(key, _built(child, leaves, indent + 4)) for key, child in children if child.paths()]
    return _nested("(; ", named, indent)


def _nested(opening: str, parts: Sequence[str], indent: int) -> str:
    """On one line, or each part on one of its own."""
    only = "," if opening == "(" and len(parts) == 1 else ""
    text = f"{opening}{', '.join(parts)}{only})"
    if indent + len(text) <= 100 and "\n" not in text:
        return text
    space = " " * indent
    return "\n".join([opening.rstrip(), *(f"{space}    {part}," for part in parts), f"{space})"])


class _Writer:
    def __init__(self, library: Library, signatures: Sequence[Signature], facts: Facts) -> None:
        self.library = library
        self.signatures = signatures
        self.facts = facts
        names = Names(_OWN, _KEYWORDS)
        self.functions = {s.name: names.take(function_word(s.name)) for s in signatures}
        self.names = names
        self.module = names.take(pascal(library.name))

    def _leaves(self, part: Part, name: str, avals: Sequence[tuple[tuple[int, ...], object]]) -> list[_Leaf]:
        accesses = _accesses(part.tree, name)
        return [
            _Leaf(access, _element(_core.dtype_name(avals[index][1])), _size(avals[index][0]))
            for access, index in zip(accesses, part.leaves, strict=True)
        ]

    def function(self, signature: Signature) -> str:
        function = signature.function
        names = self.names.inner()
        own = {part.name: names.take(self.library.identifier(part.name, "x")) for part in function.arguments}
        title = self.functions[signature.name] + ("!" if function.in_place else "")
        inputs, outputs, results = [], [], []
        indent = 8 if len(function.results) - len(function.in_place) > 1 else 4
        places: list[str] = []  # of the leaves of arguments
        for part in function.arguments:
            check = "updated" if part.name in function.in_place else "given"
            for leaf in self._leaves(part, own[part.name], function.in_avals):
                what = _quoted(f"{signature.name}: {leaf.access}")
                inputs.append(f"{check}({what}, {leaf.access}, {leaf.type}, {leaf.size})")
                places.append(f"inputs[{len(inputs)}]")
        for part in function.results:
            leaves = self._leaves(part, "", function.out_avals)
            made = []
            for leaf, index in zip(leaves, part.leaves, strict=True):
                pair = function.pairs[index]
                place = places[pair] if pair >= 0 else f"Array{{{leaf.type}}}(undef, {leaf.size})"
                outputs.append(place)
                # In a tree, numbers stay arrays: another function may update them in place.
                made.append(f"outputs[{len(outputs)}]{'[]' if leaf.size == '()' and part.tree.paths() == [''] else ''}")
            if part.name not in function.in_place:
                results.append((part.name, _built(part.tree, made, indent)))
        if len(results) == 1:
            back = results[0][1]
        else:
            back = _nested("(; ", [_named(f".{name}", text) for name, text in results], 4) if results else "nothing"
        arguments = ", ".join(own[name] for name in function.order if name in own)
        doc = [call_text(signature), *(line.strip() for line in length_remarks(signature))]
        return "\n".join(
            [
                '"""',
                *(_quoted(comment(line))[1:-1] for line in doc),
                '"""',
                f"function {title}({arguments})",
                *_tuple("inputs", inputs),
                *_tuple("outputs", outputs),
                f"    call({_quoted(signature.name)}, {self.facts[signature.name].workspace_bytes}, inputs, outputs) do taken, made, run",
                f"        ccall((:{signature.symbol}_leaves, LIBRARY), Cint, (Pointers, Pointers, Ref{{Run}}), taken, made, run)",
                "    end",
                f"    return {back}",
                "end",
                "",
            ]
        )

    def text(self, number: int, target: str) -> str:
        words = {
            "name": self.library.name,
            "module": self.module,
            "version": _core.version,
            "target": target,
            "number": number,
        }
        functions = map(self.function, self.signatures)
        return "\n".join([_BEGIN % words, *functions, f"end  # module {self.module}\n"])


def _tuple(name: str, parts: Sequence[str]) -> list[str]:
    return [f"    {name} = (", *(f"        {part}," for part in parts), "    )"] if parts else [f"    {name} = ()"]


def julia_module(library: Library, signatures: Sequence[Signature], facts: Facts, number: int, target: str) -> str:
    """The text of ``NAME.jl``."""
    return _Writer(library, signatures, facts).text(number, target)
