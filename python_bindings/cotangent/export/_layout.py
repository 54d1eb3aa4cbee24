"""Where arrays of pytrees are in C: names, structures, offsets.

A parameter of a C function is one array, a number, or a structure that mirrors a pytree and holds its arrays. An array of at least 64 bytes
begins at a multiple of 64 of its structure, others at a multiple of their elements; what lies between is a member of its own, so that
every compiler lays the structure out alike. `Library` hands out the names.
"""

from __future__ import annotations

import ast
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from cotangent import _core
from cotangent._base.capture import ShapeDtypeStruct
from cotangent._core import PyTreeDef
from cotangent._transforms.ragged import Ragged
from cotangent.tree_util import DictKey, GetAttrKey, flatten_one_level_with_keys, keystr

LINE = 64  # bytes


@dataclass(frozen=True)
class ArrayType:
    """An array of a pytree, or several equal ones in a row."""

    dtype: str
    itemsize: int
    shape: tuple[int, ...]
    rows: tuple[int, ...] = ()  # of how many, where they are several

    @property
    def element(self) -> str:
        """The type of an element in C."""
        return "uint8_t" if self.dtype.startswith("float8") else _C_TYPES.get(self.dtype, f"{self.dtype}_t")

    @property
    def alignment(self) -> int:
        return self.itemsize // (2 if self.dtype.startswith("complex") else 1)

    @property
    def dimensions(self) -> tuple[int, ...]:
        """In C: a complex number is a pair."""
        return (*self.rows, *self.shape, *((2,) if self.dtype.startswith("complex") else ()))

    @property
    def bytes(self) -> int:
        size = self.itemsize
        for extent in (*self.rows, *self.shape):
            size *= extent
        return size

    def placed_at(self) -> int:
        """What its offset is a multiple of."""
        return LINE if self.bytes >= LINE else self.alignment

    def remark(self) -> str:
        """What Python calls it."""
        bits = {"float16": ", as its 16 bits", "bfloat16": ", as its 16 bits", "bool": ", 0 or 1"}.get(self.dtype, "")
        return f"{self.dtype}{list(self.shape)}{', as its 8 bits' if self.dtype.startswith('float8') else bits}"


_C_TYPES = {
    "float32": "float",
    "float64": "double",
    "complex64": "float",
    "complex128": "double",
    "bool": "uint8_t",
    "float16": "uint16_t",
    "bfloat16": "uint16_t",
    "key": "uint64_t",
}


@dataclass(frozen=True)
class Member:
    """A member of a structure. ``key``: what Python calls it, where C cannot."""

    name: str
    type: Type
    offset: int
    key: str = field(default="", compare=False)


@dataclass(frozen=True)
class Structure:
    """A structure in C. ``described`` is the path in Python that it is named after."""

    name: str
    members: tuple[Member, ...]
    bytes: int
    alignment: int
    described: str = field(compare=False)

    def placed_at(self) -> int:
        return LINE if self.bytes % LINE == 0 else self.alignment


@dataclass(frozen=True)
class Row:
    """Equal structures, one behind the other: an array of them in C."""

    structure: Structure
    counts: tuple[int, ...]

    @property
    def alignment(self) -> int:
        return self.structure.alignment

    @property
    def bytes(self) -> int:
        size = self.structure.bytes
        for count in self.counts:
            size *= count
        return size

    def placed_at(self) -> int:
        return self.structure.placed_at()


Type = ArrayType | Structure | Row


@dataclass(frozen=True)
class Leaf:
    """An array of a pytree: which one, and how many bytes behind the beginning of its parameter."""

    index: int
    offset: int
    path: str


@dataclass(frozen=True)
class Placed:
    """What a pytree becomes: its type and the places of its leaves."""

    type: Type | None  # None: there is nothing in it
    leaves: tuple[Leaf, ...]


@dataclass(frozen=True)
class _Node:
    """A pytree with the names of its children, as paths have them (``"['w']"``, ``"[0]"``, ``".mean"``)."""

    path: str
    leaf: int | None = None
    children: tuple[tuple[str, _Node], ...] = ()


def _node(tree: PyTreeDef, paths: Sequence[str], first: int, path: str) -> _Node:
    if paths == [""]:
        return _Node(path, leaf=first)
    children = []
    at = 0
    for key, child in children_by_name(tree):
        inner = child.paths()
        if inner:
            children.append((key, _node(child, inner, first + at, path + key)))
        at += len(inner)
    return _Node(path, children=tuple(children))


def children_by_name(tree: PyTreeDef) -> list[tuple[str, PyTreeDef]]:
    """The children of a container, with what they are called in paths; those without leaves by their number."""
    children, paths = tree.children(), tree.paths()
    data = tree.node_data()
    if data is not None and data[0] is Ragged:
        lengths = [".n"] if len(children) == 2 else [f".n{number}" for number in range(len(children) - 1)]
        return list(zip([".data", *lengths], children, strict=True))
    named, at = [], 0
    own = _own_keys(tree)
    for number, child in enumerate(children):
        inner = child.paths()
        whole = paths[at] if inner else f"[{number}]"
        key = whole[: len(whole) - len(inner[0])] if inner else whole
        named.append((own[number] if own else key, child))
        at += len(inner)
    return named


def _own_keys(tree: PyTreeDef) -> list[str]:
    """What a registered class calls its children, as far as it says so of an object that is made of the structure alone."""
    data = tree.node_data()
    if data is None or data[0] in (tuple, list, dict) or hasattr(data[0], "_fields"):
        return []
    try:
        node = tree.unflatten([ShapeDtypeStruct((), "float32")] * tree.num_leaves)
        keys = [key for key, _ in flatten_one_level_with_keys(node)[0]]
    except Exception:  # of the class: it takes arrays only, say
        return []
    return [keystr((key,)) for key in keys] if all(isinstance(key, (GetAttrKey, DictKey)) for key in keys) else []


def key_text(key: str) -> str:
    """A part of a path as a word: the key of a dict, an attribute, or an underscore and the number of an item."""
    if key.startswith("."):
        return key[1:]
    inside = key[1:-1]
    try:
        value = ast.literal_eval(inside)
    except (ValueError, SyntaxError):
        return inside
    return value if isinstance(value, str) else f"_{value}"


def is_item(key: str) -> bool:
    return re.fullmatch(r"\[\d+\]", key) is not None


def _in_ascii(word: str) -> str:
    """Letters without their accents, Greek ones by their names."""
    made = ""
    for c in unicodedata.normalize("NFKD", word):
        greek = re.fullmatch(r"GREEK (SMALL|CAPITAL) LETTER (?:FINAL )?([A-Z]+)", unicodedata.name(c, ""))
        if greek is not None:
            made += greek[2].lower() if greek[1] == "SMALL" else greek[2].capitalize()
        elif not unicodedata.combining(c):
            made += c
    return made


def identifier(word: str, otherwise: str, macros: tuple[str, ...] = ()) -> str:
    """The word as far as C allows: accents go, other characters become underscores; keywords and macros, which begin with one of these, get one behind."""
    name = re.sub(r"[^A-Za-z0-9_]", "_", _in_ascii(word))
    if not name.strip("_"):  # Rust has no such name, and gettext has a macro
        name = otherwise
    if name[0].isdigit():
        name = f"_{name}"
    for candidate in (name, f"{name}_", otherwise):
        if _core.can_name_parameter(candidate) and not (candidate.startswith(macros) and not candidate.endswith("_")):
            return candidate
    return f"{otherwise}_"


def unique(name: str, taken: set[str]) -> str:
    """The name, or with a number behind it where it is taken."""
    made, number = name, 1
    while made in taken:
        number += 1
        made = f"{name.rstrip('_')}_{number}"  # two underscores are C++'s
    taken.add(made)
    return made


def distinct(words: Sequence[tuple[str, str]], taken: set[str]) -> list[str]:
    """Names for words of Python, each with its name in C: first those that keep theirs choose, then those that became others."""
    names = {index: unique(name, taken) for index, (word, name) in enumerate(words) if word == name}
    return [names[index] if index in names else unique(name, taken) for index, (_, name) in enumerate(words)]


def _aligned(offset: int, alignment: int) -> int:
    return (offset + alignment - 1) // alignment * alignment


class Library:
    """The names of a library: everything that is public begins with its own. Structures of equal members are one."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.names: set[str] = set()
        self.structures: list[Structure] = []  # each after those that it holds
        self._known: dict[tuple[Any, ...], Structure] = {}
        self._macros = ("CT_", "COTANGENT_", f"{name.upper()}_", "ct_check_", "ct_range", "ct_apart")

    def identifier(self, word: str, otherwise: str) -> str:
        """A name in C that is none of the header's macros, and none of the functions that C source calls."""
        return identifier(word, otherwise, self._macros)

    def place(self, tree: PyTreeDef, avals: Sequence[tuple[tuple[int, ...], Any]], name: str) -> Placed:
        """The layout of a parameter whose leaves have these shapes and dtypes."""
        root = _node(tree, tree.paths(), 0, "")
        return self._place(root, avals, (name,), name)

    def _place(
        self, node: _Node, avals: Sequence[tuple[tuple[int, ...], Any]], words: tuple[str, ...], described: str
    ) -> Placed:
        if node.leaf is not None:
            shape, dtype = avals[node.leaf]
            made = ArrayType(_core.dtype_name(dtype), dtype.itemsize, tuple(shape))
            return Placed(made, (Leaf(node.leaf, 0, node.path),))
        words_of_keys = [key_text(key) for key, _ in node.children]
        names = distinct([(word, self.identifier(word, "item")) for word in words_of_keys], set())
        parts: list[tuple[str, str, Placed]] = []
        items = all(is_item(key) for key, _ in node.children)
        for (key, child), word, name in zip(node.children, words_of_keys, names, strict=True):
            # Equal items of a sequence are one type, named after the sequence.
            inner = words if items else (*words, self.identifier(word, "item"))
            placed = self._place(child, avals, inner, described + key)
            is_empty = placed.type is None or placed.type.bytes == 0
            parts.append(("" if is_empty else name, "" if word == name else key, placed))
        row = self._row([placed for _, _, placed in parts]) if items else None
        return row if row is not None else self._structure(parts, words, described)

    def _row(self, parts: Sequence[Placed]) -> Placed | None:
        """Equal items in a row, if that leaves each where it may be."""
        first = parts[0].type if parts else None
        if first is None or first.bytes == 0 or len(parts) < 2 or any(part.type != first for part in parts):
            return None
        if first.bytes % first.placed_at() != 0:
            return None
        count = len(parts)
        leaves = tuple(
            Leaf(leaf.index, leaf.offset + number * first.bytes, leaf.path)
            for number, part in enumerate(parts)
            for leaf in part.leaves
        )
        if isinstance(first, ArrayType):
            return Placed(ArrayType(first.dtype, first.itemsize, first.shape, (count, *first.rows)), leaves)
        inner = first if isinstance(first, Row) else Row(first, ())
        return Placed(Row(inner.structure, (count, *inner.counts)), leaves)

    def _structure(self, parts: Sequence[tuple[str, str, Placed]], words: tuple[str, ...], described: str) -> Placed:
        offset, alignment, aligned_to = 0, 1, 1
        members: list[Member] = []
        leaves: list[Leaf] = []
        for name, key, placed in parts:
            kind = placed.type
            if kind is None or kind.bytes == 0:
                leaves += [Leaf(leaf.index, 0, leaf.path) for leaf in placed.leaves]
                continue
            offset = _aligned(offset, kind.placed_at())
            members.append(Member(name, kind, offset, key))
            leaves += [Leaf(leaf.index, leaf.offset + offset, leaf.path) for leaf in placed.leaves]
            alignment = max(alignment, kind.alignment)
            aligned_to = max(aligned_to, kind.placed_at())
            offset += kind.bytes
        if not members:
            return Placed(None if not leaves else ArrayType("uint8", 1, (0,)), tuple(leaves))
        made = self._make(tuple(members), _aligned(offset, aligned_to), alignment, words, described)
        return Placed(made, tuple(leaves))

    def _make(
        self, members: tuple[Member, ...], size: int, alignment: int, words: tuple[str, ...], described: str
    ) -> Structure:
        key = (members, size)
        if key not in self._known:
            name = unique("_".join([self.name, *words]), self.names)
            self._known[key] = Structure(name, members, size, alignment, described)
            self.structures.append(self._known[key])
        return self._known[key]
