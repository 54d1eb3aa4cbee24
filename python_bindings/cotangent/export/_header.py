"""The C header of a library."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from cotangent import _core
from cotangent._core import CompiledFunction
from cotangent.export._layout import ArrayType, Library, Member, Row, Structure, unique
from cotangent.export._signature import Parameter, Signature, type_name

# What compiling finds out about a function, as `NAME_describe` says it.
_FACTS = (
    "workspace_bytes",
    "copied_bytes",
    "arena_bytes",
    "may_stop",
    "shares_loops",
    "bounded",
    "stack_bytes",
    "nanoseconds",
    "donations",
)
Facts = Mapping[str, CompiledFunction]  # by the function's name


_ABI = """/* What the libraries that cotangent exports share. */
#ifndef CT_ABI_1
#define CT_ABI_1
enum {
%(statuses)s
};
typedef struct ct_run {
  size_t size;              /* sizeof(ct_run): later versions append members */
  void* workspace;          /* aligned to 64, not shared with another call at the same time */
  size_t workspace_bytes;
  const volatile int* stop; /* or NULL; looked at now and then by functions that may take long */
  /* or NULL: calls task(data, i) for each i < tasks, in any order, on any threads, and returns when all are done */
  void (*parallel)(void* pool, uint32_t tasks, void (*task)(void* data, uint32_t index), void* data);
  void* pool;
} ct_run;
#endif
"""


def _abi() -> str:
    statuses = _core.library_statuses()
    width = max(len(name) for _, name, _ in statuses)
    lines = [
        f"  {name} = {number}{',' if number != statuses[-1][0] else ' '} {'':{width - len(name)}}/* {text} */"
        for number, name, text in statuses
    ]
    return _ABI % {"statuses": "\n".join(lines)}


def comment(text: str) -> str:
    """Text that may stand inside of a comment."""
    return shown(text.replace("\n", " ")).replace("*/", "* /").replace("/*", "/ *")


def shown(text: str) -> str:
    """The text without characters that one does not see, or that change the order of what one sees: these become their numbers."""
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


def _dimensions(sizes: Sequence[int]) -> str:
    return "".join(f"[{size}]" for size in sizes)


def _member_lines(member: Member) -> str:
    kind = member.type
    remarks = [comment(member.key)] if member.key else []
    if isinstance(kind, ArrayType):
        remarks += [] if kind.dtype in ("float32", "float64") else [kind.remark()]
        declared = f"  {kind.element} {member.name}{_dimensions(kind.dimensions)};"
    elif isinstance(kind, Row):
        declared = f"  {kind.structure.name} {member.name}{_dimensions(kind.counts)};"
    else:
        declared = f"  {kind.name} {member.name};"
    return declared + (f" /* {': '.join(remarks)} */" if remarks else "")


def structure_text(structure: Structure) -> str:
    """The definition of a structure, all of whose bytes are members."""
    taken = {member.name for member in structure.members}
    lines, end, pads = [f"/* {comment(structure.described)} */", f"typedef struct {structure.name} {{"], 0, 0

    def pad(to: int) -> None:
        nonlocal end, pads
        if to > end:
            lines.append(f"  unsigned char {unique(f'pad{pads}', taken)}[{to - end}];")
            pads += 1

    for member in structure.members:
        pad(member.offset)
        lines.append(_member_lines(member))
        end = member.offset + member.type.bytes
    pad(structure.bytes)
    return "\n".join([*lines, f"}} {structure.name};\n"])


def parameter_text(parameter: Parameter) -> str:
    """A parameter as it is declared."""
    kind = parameter.type
    if parameter.by_value:
        return f"{type_name(kind)} {parameter.name}"
    constant = "" if parameter.written else "const "
    sizes = kind.dimensions if isinstance(kind, ArrayType) else kind.counts if isinstance(kind, Row) else ()
    remark = f" /* {_dimensions(sizes)} */" if sizes else ""
    return f"{constant}{type_name(kind)}* {parameter.name}{remark}"


def parameter_remark(parameter: Parameter, types: Mapping[str, str]) -> str:
    """What it holds, and what becomes of it. ``types``: what structures are called, if not as in C."""
    kind = parameter.type
    what = kind.remark() if isinstance(kind, ArrayType) else types.get(type_name(kind), type_name(kind))
    if isinstance(kind, ArrayType) and kind.rows:
        what = f"{' x '.join(map(str, kind.rows))} of {what}"
    if isinstance(kind, ArrayType) and kind.dtype.startswith("complex"):
        what += ", pairs (real, imaginary)"
    if isinstance(kind, ArrayType) and kind.dtype == "key":
        what += ", a random key: its first word << 32 | its second one; random.key(n) is n"
    role = {"in": "", "out": ", written", "inout": ", updated in place"}[parameter.role]
    return f"{what}{role}"


def call_text(signature: Signature) -> str:
    """How Python calls it and what comes back."""
    function = signature.function
    arguments = ", ".join(part.name for part in function.arguments)
    results = ", ".join(part.name for part in function.results)
    return comment(f"{signature.name}({arguments}) -> {results or 'nothing'}")


def described(signature: Signature, types: Mapping[str, str] = MappingProxyType({})) -> list[str]:
    """How it is called, its parameters, and which lengths it takes: lines of a comment."""
    lines = [call_text(signature)]
    lines += [f"  {parameter.name}: {parameter_remark(parameter, types)}" for parameter in signature.parameters]
    return lines + length_remarks(signature)


def length_remarks(signature: Signature) -> list[str]:
    """Which lengths it takes."""
    lines = []
    bounds = dict(_core.length_inputs(signature.function.graph))
    for index, place in enumerate(signature.inputs):
        if index in bounds:
            lines.append(f"  {comment(place.path)}: 0 to {bounds[index]}, else CT_LENGTH")
    return lines


def workspace_name(symbol: str) -> str:
    """The macro of a function's workspace: a size_t without a cast, which C++ compilers may warn of."""
    return f"{symbol.upper()}_WORKSPACE"


def function_text(signature: Signature, facts: CompiledFunction) -> str:
    """Its declarations, with what there is to know."""
    first, *others = described(signature)
    lines = [f"/* {first}", *(f" * {line}" for line in others)]
    if facts.copied_bytes:
        lines.append(f" * {facts.copied_bytes} bytes of what is updated in place pass through the workspace.")
    if facts.shares_loops:
        lines.append(" * Shares its longest loops by run->parallel, where that is given; results do not depend on it.")
    lines.append(f" * {'Time is bounded.' if facts.bounded else 'How long it takes depends on the values.'}")
    lines[-1] += f" Stack: at most {facts.stack_bytes} bytes. */"
    symbol = signature.symbol
    parameters = ", ".join([*map(parameter_text, signature.parameters), "const ct_run* run"])
    lines += [
        f"#define {workspace_name(symbol)} (sizeof(char) * {facts.workspace_bytes}u) /* bytes, a size_t */",
        f"int {symbol}({parameters});",
        f"int {symbol}_leaves(const void* const* inputs, void* const* outputs, const ct_run* run);",
    ]
    return "\n".join(lines) + "\n"


def _assertions(library: Library) -> str:
    lines = []
    for structure in library.structures:
        places = [f"sizeof({structure.name}) == {structure.bytes}"]
        places += [f"offsetof({structure.name}, {member.name}) == {member.offset}" for member in structure.members]
        condition = " &&\n    ".join(places)
        lines.append(
            f'CT_ASSERT({condition},\n    "this compiler lays {structure.name} out otherwise than the library");'
        )
    if not lines:
        return ""
    return "\n".join(
        [
            "#ifdef __cplusplus",
            "#define CT_ASSERT static_assert",
            "#else",
            "#define CT_ASSERT _Static_assert",
            "#endif",
            *lines,
            "#undef CT_ASSERT",
            "",
        ]
    )


def _linked(name: str, target: str) -> str:
    kinds = _core.library_code_files(target)
    other = f" or lib{name}.so" if "so" in kinds else ""
    return f"In {name}.wasm or lib{name}.a" if "wasm" in kinds else f"Link with lib{name}.a{other}"


def header(library: Library, signatures: Sequence[Signature], facts: Facts, number: int, target: str) -> str:
    """The text of NAME.h."""
    name = library.name
    version = _core.version
    guard = f"COTANGENT_{name}_H"
    needs_workspace = any(f.workspace_bytes for f in facts.values())
    parts = [
        f"/* {name}: made by cotangent {version} for {target}. {_linked(name, target)}; needs memcpy, memmove and memset.\n"
        " *\n"
        " * Arrays are contiguous, the last index first. What is not aligned to 64 bytes is slower. Inputs may overlap each other; what is\n"
        " * written overlaps nothing. No function allocates, locks, prints, or keeps state: calls may run at the same time. They return\n"
        " * CT_OK, or why they did nothing. `run` "
        + ("brings the workspace, so many bytes as a function's macro says." if needs_workspace else "may be NULL.")
        + " */",
        f"#ifndef {guard}\n#define {guard}\n\n#include <stddef.h>\n#include <stdint.h>\n",
        _abi(),
        '#ifdef __cplusplus\nextern "C" {\n#endif\n',
        *map(structure_text, library.structures),
        f"#define {name.upper()}_SIGNATURE UINT64_C(0x{number:016x}) /* of names, types and places */\n"
        f"uint64_t {name}_signature(void); /* of the library: must be equal */\n"
        f"int {name}_check(void); /* CT_OK, or CT_CPU where the processor lacks what the code needs */\n"
        f"const char* {name}_describe(void); /* all of this as JSON */\n"
        f"const char* {name}_error(int status); /* what it means */\n",
        *(function_text(signature, facts[signature.name]) for signature in signatures),
        "#ifdef __cplusplus\n}\n#endif\n",
        _assertions(library),
        "#endif\n",
    ]
    return "\n".join(part for part in parts if part)


def description(
    interface: Mapping[str, Any], facts: Facts, number: int, target: str, checks: bool, numerics: str
) -> str:
    """The JSON that NAME_describe returns: the interface, and what compiling found out."""
    functions = [
        {**function, **{fact: getattr(facts[function["name"]], fact) for fact in _FACTS}}
        for function in interface["functions"]
    ]
    document = {
        **interface,
        "cotangent": _core.version,
        "target": target,
        "checks": checks,
        "numerics": numerics,
        "signature": f"0x{number:016x}",
        "functions": functions,
    }
    return json.dumps(document, separators=(",", ":"))
