"""The Rust module of a library: its structures, and safe functions that return a Result."""

from __future__ import annotations

from collections.abc import Sequence

from cotangent import _core
from cotangent.export._header import Facts, described
from cotangent.export._layout import ArrayType, Library, Member, Row, Structure, Type, unique
from cotangent.export._names import Names, function_word, returned, structure_names
from cotangent.export._signature import Parameter, Signature

_WORDS = """\
abstract as async await become box break const continue crate do dyn else enum extern false final fn for gen if impl in let loop macro match
mod move mut override priv pub ref return self Self static struct super trait true try type typeof union unsafe unsized use virtual where while
yield"""
_KEYWORDS = frozenset(_WORDS.split())

_BEGIN = """\
//! %(name)s: made by cotangent %(version)s for %(target)s. Needs no crate and no `std`.
//!
//! Links lib%(name)s.a: `rustc -L` names its folder, or `cargo:rustc-link-search` of a build script. Rust 1.82 or later.
//!
//! Arrays are those of Rust, the last index first; float16 and bfloat16 are their 16 bits, complex numbers pairs.
//! Functions return an `Error` for what is a status in C, and keep no state: they may be called from several threads.
//! `check` says whether the library is the one that belongs to this module: call it once.
#![allow(dead_code, non_snake_case, clippy::too_many_arguments)]

/// Why a function did nothing; after `STOPPED`, what it wrote is unspecified.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Error(pub i32);

impl Error {
%(statuses)s
}

impl core::fmt::Display for Error {
    fn fmt(&self, formatter: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let text = unsafe { core::ffi::CStr::from_ptr(ffi::%(name)s_error(self.0)) };
        formatter.write_str(text.to_str().unwrap_or("unknown"))
    }
}

impl core::error::Error for Error {}

fn result(status: i32) -> Result<(), Error> {
    match status {
        0 => Ok(()),
        _ => Err(Error(status)),
    }
}

/// Of names, types and places: the library must have the same.
pub const SIGNATURE: u64 = 0x%(number)016x;

/// That the library is the one of this module (else `Error::ABI`), and runs on this processor.
pub fn check() -> Result<(), Error> {
    if unsafe { ffi::%(name)s_signature() } != SIGNATURE {
        return Err(Error::ABI);
    }
    result(unsafe { ffi::%(name)s_check() })
}
"""

_RUN = """\
/// What C calls `ct_run`.
#[repr(C)]
struct Run {
    size: usize,
    workspace: *mut core::ffi::c_void,
    workspace_bytes: usize,
    stop: *const i32,
    parallel: *const core::ffi::c_void,
    pool: *const core::ffi::c_void,
}

impl Run {
    fn new(workspace: &mut [core::mem::MaybeUninit<u8>]%(stop)s) -> Self {
        Self {
            size: core::mem::size_of::<Self>(),
            workspace: workspace.as_mut_ptr().cast(),
            workspace_bytes: workspace.len(),
            stop: %(pointer)s,
            parallel: core::ptr::null(),
            pool: core::ptr::null(),
        }
    }
}
"""

_WORKSPACE = """\
/// Memory of a call while it lasts; one of `WORKSPACE` bytes serves all functions, one after the other.
#[repr(C, align(64))]
pub struct Workspace<const BYTES: usize>([core::mem::MaybeUninit<u8>; BYTES]);

impl<const BYTES: usize> Workspace<BYTES> {
    pub const fn new() -> Self {
        Self([core::mem::MaybeUninit::uninit(); BYTES])
    }
}

impl<const BYTES: usize> Default for Workspace<BYTES> {
    fn default() -> Self {
        Self::new()
    }
}
"""

_OWN = (
    *("Error", "Run", "Workspace", "WORKSPACE", "SIGNATURE", "check", "result", "ffi", "core", "BYTES"),
    *("Ok", "Err", "Some", "None", "Option", "Result"),
)


def _element(kind: ArrayType) -> str:
    if kind.dtype == "bool":
        return "bool"
    if kind.element in ("float", "double"):
        return "f32" if kind.element == "float" else "f64"
    return kind.element.replace("uint", "u").replace("int", "i").removesuffix("_t")


class _Writer:
    def __init__(self, library: Library, signatures: Sequence[Signature], facts: Facts) -> None:
        self.library = library
        self.signatures = signatures
        self.facts = facts
        self.names = Names(_OWN, _KEYWORDS)
        self.functions = {s.name: self.names.take(function_word(s.name)) for s in signatures}
        self.constants = {s.name: self.names.take(f"{function_word(s.name).upper()}_WORKSPACE") for s in signatures}
        self.types = structure_names(library, self.names)
        symbols = Names((f"{library.name}_{word}" for word in ("signature", "check", "error")), _KEYWORDS)
        self.symbols = {s.name: symbols.take(s.symbol) for s in signatures}

    # ---- Structures --------------------------------------------------------------------------------------------------

    def _type(self, kind: Type) -> str:
        if isinstance(kind, Structure):
            return self.types[kind.name]
        sizes = kind.dimensions if isinstance(kind, ArrayType) else kind.counts
        made = _element(kind) if isinstance(kind, ArrayType) else self.types[kind.structure.name]
        for size in reversed(sizes):
            made = f"[{made}; {size}]"
        return made

    def _members(self, structure: Structure) -> list[tuple[Member, str]]:
        names = Names((), _KEYWORDS)
        return [(member, names.take(member.name)) for member in structure.members]

    def structure(self, structure: Structure) -> str:
        name, end, pads = self.types[structure.name], 0, 0
        members = self._members(structure)
        taken = {field for _, field in members}
        fields: list[str] = []

        def pad(to: int) -> None:
            nonlocal pads
            if to > end:
                fields.append(f"    {unique(f'pad{pads}', taken)}: [u8; {to - end}],")
                pads += 1

        for member, field in members:
            pad(member.offset)
            fields.append(f"    pub {field}: {self._type(member.type)},")
            end = member.offset + member.type.bytes
        pad(structure.bytes)
        places = [
            f"    assert!(core::mem::offset_of!({name}, {field}) == {member.offset});" for member, field in members
        ]
        return "\n".join(
            [
                f"/// {_line(structure.described)}",
                "#[repr(C)]",
                "#[derive(Clone, Copy)]",
                f"pub struct {name} {{",
                *fields,
                "}",
                "",
                "const _: () = {",
                f"    assert!(core::mem::size_of::<{name}>() == {structure.bytes});",
                *places,
                "};",
                "",
                f"impl {name} {{",
                "    /// All zeros: a constant, so that large ones may be a `static`, in a `Mutex` say, instead of on the stack.",
                "    pub const fn zeroed() -> Self {",
                "        // All of it is numbers, for which zeros are values.",
                "        unsafe { core::mem::zeroed() }",
                "    }",
                "}",
                "",
            ]
        )

    # ---- Functions ---------------------------------------------------------------------------------------------------

    def _pointer(self, parameter: Parameter) -> str:
        kind = self._type(parameter.type)
        if parameter.by_value:
            return "u8" if kind == "bool" else kind
        return f"*{'mut' if parameter.written else 'const'} {kind}"

    def declaration(self, signature: Signature) -> str:
        """The function of C."""
        names = self.names.inner()
        parameters = [f"{names.take(p.name)}: {self._pointer(p)}" for p in signature.parameters]
        symbol = self.symbols[signature.name]
        link = "" if symbol == signature.symbol else f'        #[link_name = "{signature.symbol}"]\n'
        return link + "        " + _listed(f"pub fn {symbol}", [*parameters, "run: *const Run"], " -> i32;", 8)

    def function(self, signature: Signature) -> str:
        facts, result = self.facts[signature.name], returned(signature)
        names = self.names.inner("workspace", "stop", "run")
        own = {p.name: names.take(p.name) for p in signature.parameters}
        declared, passed, body = [], [], []
        for parameter in signature.parameters:
            name, kind = own[parameter.name], self._type(parameter.type)
            if parameter is result:
                passed.append(f"&mut {name}")
            elif parameter.by_value:
                declared.append(f"{name}: {kind}")
                passed.append(f"u8::from({name})" if kind == "bool" else name)
            else:
                declared.append(f"{name}: &{'mut ' if parameter.written else ''}{kind}")
                passed.append(name)
        generic, memory = "", "&mut []"
        if facts.workspace_bytes:
            generic, memory = "<const BYTES: usize>", "&mut workspace.0"
            declared.append("workspace: &mut Workspace<BYTES>")
            body.append(f"const {{ assert!(BYTES >= {self.constants[signature.name]}) }};")
        if facts.may_stop:
            declared.append("stop: Option<&core::sync::atomic::AtomicI32>")
        run = "core::ptr::null()"
        if facts.workspace_bytes or facts.may_stop:
            given = ", stop" if facts.may_stop else ", None" if self._any_stops() else ""
            body.append(f"let run = Run::new({memory}{given});")
            run = "&run"
        if result is not None:
            kind = self._type(result.type)
            body.append(f"let mut {own[result.name]}: {kind} = {_zero(kind)};")
        body.append(
            _checked_call(f"ffi::{self.symbols[signature.name]}", [*passed, run], ")" if result is None else ")?;")
        )
        if result is not None:
            body.append(f"Ok({own[result.name]})")
        head = [f"/// {_line(line)}" for line in described(signature, self.types)]
        back = "()" if result is None else self._type(result.type)
        opening = _listed(
            f"pub fn {self.functions[signature.name]}{generic}", declared, f" -> Result<{back}, Error> {{"
        )
        return "\n".join([*head, opening, *(f"    {line}" for line in body), "}", ""])

    def _any_stops(self) -> bool:
        return any(self.facts[signature.name].may_stop for signature in self.signatures)

    def text(self, number: int, target: str) -> str:
        needing = [s for s in self.signatures if self.facts[s.name].workspace_bytes]
        statuses = "\n".join(
            f"    /// {text}\n    pub const {name.removeprefix('CT_')}: Self = Self({value});"
            for value, name, text in _core.library_statuses()
            if value
        )
        words = {
            "name": self.library.name,
            "version": _core.version,
            "target": target,
            "statuses": statuses,
            "number": number,
        }
        stops = self._any_stops()
        run = {
            "stop": ", stop: Option<&core::sync::atomic::AtomicI32>" if stops else "",
            "pointer": "stop.map_or(core::ptr::null(), |stop| stop.as_ptr().cast_const())"
            if stops
            else "core::ptr::null()",
        }
        constants = [
            f"pub const {self.constants[s.name]}: usize = {self.facts[s.name].workspace_bytes};" for s in needing
        ]
        greatest = max(self.facts[s.name].workspace_bytes for s in self.signatures)
        constants.append(f"/// The greatest of these.\npub const WORKSPACE: usize = {greatest};")
        used = {"Run"} | {
            self.types[_structure(p.type).name]
            for signature in self.signatures
            for p in signature.parameters
            if not isinstance(p.type, ArrayType)
        }
        external = [
            "mod ffi {",
            f"    use super::{{{', '.join(sorted(used))}}};" if len(used) > 1 else "    use super::Run;",
            "",
            f'    #[link(name = "{self.library.name}", kind = "static")]',
            '    unsafe extern "C" {',
            f"        pub fn {self.library.name}_signature() -> u64;",
            f"        pub fn {self.library.name}_check() -> i32;",
            f"        pub fn {self.library.name}_error(status: i32) -> *const core::ffi::c_char;",
            *map(self.declaration, self.signatures),
            "    }",
            "}",
            "",
        ]
        parts = [
            _BEGIN % words,
            *map(self.structure, self.library.structures),
            _WORKSPACE if needing else "",
            "\n".join([*constants, ""]) if needing else "",
            *map(self.function, self.signatures),
            _RUN % run,
            "\n".join(external),
        ]
        return "\n".join(part for part in parts if part)


def _structure(kind: Structure | Row) -> Structure:
    return kind.structure if isinstance(kind, Row) else kind


def _listed(head: str, parts: Sequence[str], tail: str, indent: int = 0) -> str:
    """As rustfmt has it: on one line, or each part on one of its own. The first line's indentation is the caller's."""
    inner = ", ".join(parts)
    text = f"{head}({inner}){tail}"
    if indent + len(text) <= 100 and (head.startswith("pub fn") or len(inner) <= 60):
        return text
    space = " " * indent
    return "\n".join([f"{head}(", *(f"{space}    {part}," for part in parts), f"{space}){tail}"])


def _checked_call(function: str, parts: Sequence[str], end: str) -> str:
    call = _listed(function, parts, "", 8)
    text = f"result(unsafe {{ {call} }}{end}"
    if "\n" not in call and len(text) <= 96:
        return text
    return f"result(unsafe {{\n        {call}\n    }}{end}"


def _line(text: str) -> str:
    return text.replace("\n", " ").replace("\r", " ")


def _zero(kind: str) -> str:
    if kind.startswith("["):  # a complex number
        return f"[{_zero(kind[1:].partition(';')[0])}; 2]"
    return "false" if kind == "bool" else "0.0" if kind[0] == "f" else "0"


def rust_module(library: Library, signatures: Sequence[Signature], facts: Facts, number: int, target: str) -> str:
    """The text of ``NAME.rs``."""
    return _Writer(library, signatures, facts).text(number, target)
