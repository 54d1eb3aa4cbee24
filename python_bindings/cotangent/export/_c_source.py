"""The C source of a library: around the programs, which the compiler writes, the functions that the header declares."""

from __future__ import annotations

import re
from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from cotangent import _core
from cotangent._core import SourceOfFunction
from cotangent.export._callbacks import callbacks_named
from cotangent.export._header import comment, parameter_text, workspace_name
from cotangent.export._layout import ArrayType, Row, Structure, Type, identifier, unique
from cotangent.export._signature import Parameter, Place, Signature

_CHECKS = """/* What functions find out about their arguments before they write anything. */
typedef struct ct_range {
  const void* begin;
  size_t bytes;
  size_t alignment;
  bool written;
} ct_range;
static inline bool ct_apart(const void* x, size_t x_bytes, const void* y, size_t y_bytes) {
  return x_bytes == 0 || y_bytes == 0 || (uintptr_t)x >= (uintptr_t)y + y_bytes || (uintptr_t)y >= (uintptr_t)x + x_bytes;
}
/* No pointer is NULL, and each is aligned. */
static inline int ct_check_pointers(const ct_range* ranges, int count) {
  for (int i = 0; i < count; ++i)
    if (ranges[i].bytes != 0 && ranges[i].begin == NULL) return CT_NULL;
  for (int i = 0; i < count; ++i)
    if (ranges[i].bytes != 0 && (uintptr_t)ranges[i].begin % ranges[i].alignment != 0) return CT_ALIGNMENT;
  return CT_OK;
}
static inline int ct_check_run(const ct_run* run, size_t bytes) {
  if (run == NULL) return bytes == 0 ? CT_OK : CT_WORKSPACE;
  if (run->size < sizeof(ct_run)) return CT_ABI;
  if (bytes == 0) return CT_OK;
  if (run->workspace == NULL || (uintptr_t)run->workspace % 64 != 0) return CT_WORKSPACE;
  return run->workspace_bytes < bytes ? CT_WORKSPACE : CT_OK;
}
/* Nothing that is written overlaps any other. Of `outputs` ranges from the first output on, each may be all of the input that it is
 * paired with. */
static inline int ct_check_overlaps(const ct_range* ranges, int count, int first, int outputs, const int* pairs) {
  for (int i = 0; i < count; ++i)
    for (int j = 0; j < i; ++j) {
      if (!ranges[i].written && !ranges[j].written) continue;
      if (i >= first && i - first < outputs && pairs[i - first] == j && ranges[i].begin == ranges[j].begin) continue;
      if (!ct_apart(ranges[i].begin, ranges[i].bytes, ranges[j].begin, ranges[j].bytes)) return CT_OVERLAP;
    }
  return CT_OK;
}
"""


def _indices(sizes: Sequence[int], number: int) -> str:
    text = ""
    for axis in range(len(sizes)):
        inner = prod(sizes[axis + 1 :])
        text += f"[{number // inner}]"
        number %= inner
    return text


def _address_in(kind: Type, offset: int, expression: str, arrow: str = ".") -> str:
    """The address of the array that begins `offset` bytes behind what is `expression`."""
    if isinstance(kind, Structure):
        member = next(m for m in kind.members if m.offset <= offset < m.offset + m.type.bytes)
        return _address_in(member.type, offset - member.offset, f"{expression}{arrow}{member.name}")
    if isinstance(kind, Row):
        number, rest = divmod(offset, kind.structure.bytes)
        return _address_in(kind.structure, rest, f"{expression}{_indices(kind.counts, number)}")
    return f"&{expression}{_indices(kind.dimensions, offset // kind.alignment)}"


def _address(parameter: Parameter, offset: int) -> str:
    """The address of an array, typed, as an argument."""
    kind = parameter.type
    if parameter.by_value:
        return f"&{parameter.name}"
    if isinstance(kind, Structure):
        return _address_in(kind, offset, parameter.name, "->")
    if isinstance(kind, Row):  # a pointer to the first
        number, rest = divmod(offset, kind.structure.bytes)
        return _address_in(kind.structure, rest, f"{parameter.name}[{number}]")
    return parameter.name if offset == 0 else f"{parameter.name} + {offset // kind.alignment}"


def _element(dtype: Any) -> str:
    return ArrayType(_core.dtype_name(dtype), 1, ()).element


def _leaf_names(library: str, signature: Signature) -> tuple[list[str], list[str]]:
    """Names of the arrays of a program, after their paths in Python; the constants' behind them."""
    taken = {"arena", "stop", "before", "lane", "vector"}
    # What the source calls its own macros, functions and arrays.
    own = ("CT_", "ct_", "COTANGENT_", f"{signature.symbol}_program", f"{library.upper()}_")

    def named(place: Place, before: str) -> str:
        word = before + ("_".join(part for part in re.split(r"[^A-Za-z0-9_]+", place.path) if part) or before)
        return unique(identifier(f"{word}_" if re.fullmatch(r"temporary\d+", word) else word, "array", own), taken)

    inputs = [named(place, "") for place in signature.inputs]
    inputs += [unique(f"constant{number}", taken) for number in range(len(signature.function.constants))]
    pairs = signature.function.pairs
    return inputs, [named(place, "new_" if pairs[i] >= 0 else "") for i, place in enumerate(signature.outputs)]


def _alignment(dtype: Any) -> int:
    name = _core.dtype_name(dtype)
    return int(dtype.itemsize) // (2 if name.startswith("complex") else 1)


def _bytes(aval: tuple[tuple[int, ...], Any]) -> int:
    shape, dtype = aval
    return prod(shape) * int(dtype.itemsize)


def _size_text(parameter: Parameter) -> str:
    """How many bytes a parameter points to, as an expression."""
    kind = parameter.type
    sizes = kind.dimensions if isinstance(kind, ArrayType) else kind.counts if isinstance(kind, Row) else ()
    count = prod(sizes)
    return f"sizeof *{parameter.name}" if count == 1 else f"{count} * sizeof *{parameter.name}"


class _Function:
    """One function's text."""

    def __init__(self, signature: Signature, source: SourceOfFunction, checks: bool) -> None:
        self.signature = signature
        self.source = source
        self.checks = checks
        self.function = signature.function
        self.in_avals = list(self.function.in_avals)
        self.out_avals = list(self.function.out_avals)
        self.needs_workspace = source.workspace_bytes > 0
        taken = {parameter.name for parameter in signature.parameters} | {"run", "inputs", "outputs", "pairs"}
        self.i, self.status, self.ranges, self.workspace = (
            unique(word, taken) for word in ("i", "status", "ranges", "workspace")
        )

    def text(self) -> str:
        signature = self.signature
        macro = workspace_name(signature.symbol)
        parts = []
        if self.needs_workspace:
            parts.append(
                f'CT_STATIC_ASSERT({macro} >= {self.source.workspace_bytes}, "the header beside this file is another library\'s");\n'
            )
        parts += [self._call(), self._call_of_leaves()]
        return "\n".join(parts)

    def _program_call(self, inputs: Sequence[str], outputs: Sequence[str]) -> list[str]:
        """The lines from the lengths' check on. The addresses are those of all arrays."""
        source = self.source
        lines: list[str] = []
        for index, count, bound in source.lengths:
            lines += self._length_check(inputs[index], self.in_avals[index][1], count, bound)
        arguments = [inputs[i] for i in source.inputs]
        for i in source.outputs:
            place = source.temporaries[i]
            arguments.append(
                outputs[i] if place < 0 else f"({_element(self.out_avals[i][1])}*)(void*)({self.workspace} + {place})"
            )
        if source.takes_arena:
            arguments.append(f"{self.workspace} + {source.arena}" if source.arena else self.workspace)
        if source.takes_stop:
            arguments.append("run == NULL ? NULL : run->stop")
        copies = [
            f"  __builtin_memcpy({outputs[i]}, {self.workspace} + {place}, {_bytes(self.out_avals[i])});"
            for i, place in enumerate(source.temporaries)
            if place >= 0
        ]
        if source.takes_arena or copies:
            lines.append(f"  unsigned char* const {self.workspace} = (unsigned char*)run->workspace;")
        call = f"{self.signature.symbol}_program({', '.join(arguments)})"
        lines.append(f"  if ({call} != 0) return CT_STOPPED;" if source.takes_stop else f"  (void){call};")
        return [*lines, *copies, "  return CT_OK;"]

    def _length_check(self, lengths: str, dtype: Any, count: int, bound: int) -> list[str]:
        kind = np.iinfo(dtype)
        wrong = [f"({lengths})[{self.i}] < 0"] if kind.min < 0 else []
        wrong += [f"({lengths})[{self.i}] > {bound}"] if bound < kind.max else []
        if not wrong:
            return []
        return [
            f"  for (int64_t {self.i} = 0; {self.i} < {count}; ++{self.i})",
            f"    if ({' || '.join(wrong)}) return CT_LENGTH;",
        ]

    @staticmethod
    def _definition(head: str, names: Sequence[str], lines: Sequence[str]) -> str:
        """A function, which says which of its parameters it has no use for."""
        text = "\n".join(lines)
        unused = [f"  (void){name};" for name in names if re.search(rf"(?<![>.\w]){name}\b", text) is None]
        return "\n".join([f"{head} {{", *unused, text, "}\n"])

    def _call(self) -> str:
        signature = self.signature
        parameters = ", ".join([*map(parameter_text, signature.parameters), "const ct_run* run"])
        ins = [self._place(place, aval) for place, aval in zip(signature.inputs, self.in_avals, strict=True)]
        outs = [self._place(place, aval) for place, aval in zip(signature.outputs, self.out_avals, strict=True)]
        lines = self._checks() if self.checks else []
        return self._definition(
            f"int {signature.symbol}({parameters})",
            [*(parameter.name for parameter in signature.parameters), "run"],
            [*lines, *self._program_call(ins, outs)],
        )

    def _place(self, place: Place, aval: tuple[tuple[int, ...], Any]) -> str:
        if _bytes(aval) == 0:
            return "NULL"
        return _address(self.signature.parameters[place.parameter], place.offset)

    def _checks(self) -> list[str]:
        ranges = [
            f"{{{p.name}, {_size_text(p)}, {p.type.alignment}, {'true' if p.written else 'false'}}}"
            for p in self.signature.parameters
            if not p.by_value and p.type.bytes > 0
        ]
        return self._check_lines(ranges, "0, 0, NULL")

    def _check_lines(self, ranges: Sequence[str], overlap_arguments: str) -> list[str]:
        macro = workspace_name(self.signature.symbol)
        size = macro if self.needs_workspace else "0"
        lines = []
        if ranges:
            listed = ",\n                             ".join(ranges)
            count = len(ranges)
            room = count + (1 if self.needs_workspace else 0)
            lines.append(f"  {'' if self.needs_workspace else 'const '}ct_range {self.ranges}[{room}] = {{{listed}}};")
            lines.append(f"  int {self.status} = ct_check_pointers({self.ranges}, {count});")
            lines.append(f"  if ({self.status} != CT_OK) return {self.status};")
            lines.append(f"  {self.status} = ct_check_run(run, {size});")
        else:
            lines.append(f"  const int {self.status} = ct_check_run(run, {size});")
        lines.append(f"  if ({self.status} != CT_OK) return {self.status};")
        if ranges:
            if self.needs_workspace:
                lines.append(f"  {self.ranges}[{count}].begin = run->workspace;")
                lines.append(f"  {self.ranges}[{count}].bytes = {size};")
                lines.append(f"  {self.ranges}[{count}].written = true;")
            lines.append(
                f"  if (ct_check_overlaps({self.ranges}, {room}, {overlap_arguments}) != CT_OK) return CT_OVERLAP;"
            )
        return lines

    def _call_of_leaves(self) -> str:
        ins = [f"(const {_element(aval[1])}*)inputs[{i}]" for i, aval in enumerate(self.in_avals)]
        outs = [f"({_element(aval[1])}*)outputs[{i}]" for i, aval in enumerate(self.out_avals)]
        lines = []
        if self.checks:
            lines += [
                f"  if ({name} == NULL) return CT_NULL;" for name, all_ in (("inputs", ins), ("outputs", outs)) if all_
            ]
            ranges = [
                f"{{{kind}[{i}], {_bytes(aval)}, {_alignment(aval[1])}, {'true' if kind == 'outputs' else 'false'}}}"
                for kind, avals in (("inputs", self.in_avals), ("outputs", self.out_avals))
                for i, aval in enumerate(avals)
            ]
            if outs:
                pairs = ", ".join(map(str, self.function.pairs))
                lines.append(f"  static const int pairs[{len(outs)}] = {{{pairs}}};")
            lines += self._check_lines(ranges, f"{len(ins)}, {len(outs)}, pairs" if outs else "0, 0, NULL")
        return self._definition(
            f"int {self.signature.symbol}_leaves(const void* const* inputs, void* const* outputs, const ct_run* run)",
            ["inputs", "outputs", "run"],
            [*lines, *self._program_call(ins, outs)],
        )


def _string(text: str, width: int = 100) -> str:
    """A literal of C, in pieces."""
    escaped = [{"\\": "\\\\", '"': '\\"', "\n": "\\n", "?": "\\?"}.get(c, c) for c in text]
    lines, line = [], ""
    for piece in escaped:
        if len(line) + len(piece) > width:
            lines.append(line)
            line = ""
        line += piece
    return "\n    ".join(f'"{part}"' for part in [*lines, line])


def c_source(
    name: str,
    signatures: Sequence[Signature],
    described: str,
    target: str,
    checks: bool,
    portable: bool,
) -> str:
    """The text of NAME.c.

    Raises:
        NotImplementedError: an operation runs in this process only.
    """
    functions = []
    for signature in signatures:
        given = signature.for_core()
        ins, outs = _leaf_names(name, signature)
        functions.append(
            (
                signature.function.graph,
                given["symbol"],
                given["parameters"],
                given["inputs"],
                given["outputs"],
                given["pairs"],
                signature.function.constants,
                ins,
                outs,
            )
        )
    with callbacks_named(signature.function.graph for signature in signatures):
        programs, sources = _core.library_source(functions, target, portable)
    statuses = "\n".join(
        f"    case {macro}:\n      return {_string(text)};" for _, macro, text in _core.library_statuses()
    )
    parts = [
        f"/* {comment(name)}: C source made by cotangent {_core.version} for {target}: the functions that {name}.h declares. C11 with the\n"
        " * extensions of GCC and Clang; needs memcpy, memmove and memset. The results are, bit for bit, those of the library for this\n"
        " * target. */",
        f'#include "{name}.h"\n',
        programs,
        _CHECKS if checks else "",
        *(_Function(signature, source, checks).text() for signature, source in zip(signatures, sources, strict=True)),
        f"int {name}_check(void) {{ return CT_OK; }}\n",
        f"uint64_t {name}_signature(void) {{ return {name.upper()}_SIGNATURE; }}\n",
        "/* Standard C has shorter literals. */\n"
        '#pragma GCC diagnostic ignored "-Woverlength-strings"\n'
        f"const char* {name}_describe(void) {{\n  return {_string(described)};\n}}\n",
        f"const char* {name}_error(int status) {{\n  switch (status) {{\n{statuses}\n    default:\n"
        '      return "no status of this library";\n  }\n}\n',
    ]
    return "\n".join(part for part in parts if part)
