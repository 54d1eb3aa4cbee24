"""The C++ header of a library, over its header for C: references and views for pointers, exceptions for statuses, and a class that owns the state."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from cotangent import _core
from cotangent.export._header import Facts, described, workspace_name
from cotangent.export._layout import ArrayType, Library, Member, Row, Structure, Type
from cotangent.export._names import Names, is_number, returned, structure_names, wrapped
from cotangent.export._signature import Parameter, Signature

_BEGIN = """\
// %(name)s: made by cotangent %(version)s for %(target)s. C++17 over %(name)s.h: link what that says.
//
// Functions throw an Error for what is a status in C. Arrays are Views: of C++ arrays, of what has data() and size(), or
// of pointers. Functions that need a workspace take one that is large enough, a call's own while it lasts. Nothing is
// allocated%(but)s.
#ifndef COTANGENT_%(name)s_HPP
#define COTANGENT_%(name)s_HPP

#include <algorithm>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>

#include "%(name)s.h"

static_assert(%(upper)s_SIGNATURE == UINT64_C(0x%(number)016x), "%(name)s.h is the header of another library");

namespace %(space)s {
"""

_ERROR = """\
// What a function says instead of doing its work.
class Error : public std::runtime_error {
 public:
  explicit Error(int status) : std::runtime_error(::%(name)s_error(status)), status_(status) {}
  int status() const noexcept { return status_; }  // CT_LENGTH, say

 private:
  int status_;
};

inline void throw_unless_ok(int status) {
  if (status != CT_OK) throw Error(status);
}

// That the library is the one of this header, and runs on this processor.
inline void check() {
  if (::%(name)s_signature() != %(upper)s_SIGNATURE) {
    throw std::runtime_error("lib%(name)s is of another export than %(name)s.h");
  }
  throw_unless_ok(::%(name)s_check());
}
"""

_VIEW = """\
// The elements of an array of these extents, the last index first, wherever they are.
template <class T, std::size_t... extents>
class View {
 public:
  explicit View(T* elements) noexcept : elements_(elements) {}

  template <class Array, std::enable_if_t<std::is_array_v<Array>, int> = 0,
            std::enable_if_t<std::is_convertible_v<std::remove_all_extents_t<Array>*, T*>, int> = 0>
  View(Array& array) noexcept : elements_(first(array)) {
    static_assert(sizeof(Array) == sizeof(T) * size(), "the array has another number of elements");
  }

  template <class Container, std::enable_if_t<!std::is_array_v<std::remove_reference_t<Container>>, int> = 0,
            std::enable_if_t<std::is_convertible_v<decltype(std::declval<Container&>().data()), T*>, int> = 0>
  View(Container&& container) : elements_(container.data()) {
    const auto given = static_cast<std::size_t>(container.size());
    if (given != size()) {
      throw std::invalid_argument("%(name)s: an array of " + std::to_string(given) + " elements instead of " +
                                  std::to_string(size()));
    }
  }

  static constexpr std::size_t size() noexcept { return (std::size_t{1} * ... * extents); }
  T* data() const noexcept { return elements_; }

 private:
  template <class Element>
  static T* first(Element& element) noexcept {
    if constexpr (std::is_array_v<Element>) {
      return first(element[0]);
    } else {
      return &element;
    }
  }
  T* elements_;
};
"""

_COMPLEX = """\
// Complex numbers as C has them: pairs.
template <class T>
T* pairs(std::complex<T>* numbers) noexcept {
  return reinterpret_cast<T*>(numbers);
}
template <class T>
const T* pairs(const std::complex<T>* numbers) noexcept {
  return reinterpret_cast<const T*>(numbers);
}
"""

_WORKSPACE = """\
// Memory of a call while it lasts; one of so many bytes serves all functions, one after the other.
inline constexpr std::size_t workspace_bytes = %(bytes)s;

template <std::size_t bytes>
struct alignas(64) Workspace {
  unsigned char memory[bytes];
  ct_run run(const volatile int* stop = nullptr) noexcept {
    return {sizeof(ct_run), memory, bytes, stop, nullptr, nullptr};
  }
};
"""

_THREADS = """\
// What shares the loops of a call, if anything: runs all tasks, on whichever threads, and returns when they are done.
struct Threads {
  void (*parallel)(void* pool, std::uint32_t tasks, void (*task)(void* data, std::uint32_t index), void* data) = nullptr;
  void* pool = nullptr;
};
"""

_OWN = (
    "Threads",
    "Error",
    "View",
    "Workspace",
    "Model",
    "Memory",
    "check",
    "throw_unless_ok",
    "pairs",
    "workspace_bytes",
)
_LOCAL = ("workspace", "stop", "threads", "run", "bytes", "memory_", "made")


class _Writer:
    def __init__(self, library: Library, signatures: Sequence[Signature], facts: Facts) -> None:
        self.library = library
        self.signatures = signatures
        self.facts = facts
        symbols = {*library.names, *(signature.symbol for signature in signatures)}
        self.space = Names(symbols).take(library.name if library.name not in symbols else f"{library.name}_library")
        self.names = Names((*_OWN, self.space))
        self.functions = {s.name: self.names.take(library.identifier(s.name, "call")) for s in signatures}
        self.types = structure_names(library, self.names)
        self.owned = self._owned()

    # ---- Functions ---------------------------------------------------------------------------------------------------

    def needs_workspace(self, signature: Signature) -> bool:
        return bool(self.facts[signature.name].workspace_bytes)

    def _element(self, kind: Type) -> str:
        if isinstance(kind, ArrayType):
            if kind.dtype.startswith("complex"):
                return f"std::complex<{kind.element}>"
            return f"std::{kind.element}" if kind.element.endswith("_t") else kind.element
        return self.types[kind.structure.name if isinstance(kind, Row) else kind.name]

    def _declared(self, parameter: Parameter, name: str) -> str:
        kind = parameter.type
        if parameter.by_value:
            assert isinstance(kind, ArrayType)
            return f"{'bool' if kind.dtype == 'bool' else self._element(kind)} {name}"
        element = f"{'' if parameter.written else 'const '}{self._element(kind)}"
        if isinstance(kind, Structure) or is_number(parameter):
            return f"{element}& {name}"
        extents = (*kind.rows, *kind.shape) if isinstance(kind, ArrayType) else kind.counts
        return f"View<{', '.join([element, *map(str, extents)])}> {name}"

    @staticmethod
    def _passed(parameter: Parameter, name: str) -> str:
        kind = parameter.type
        if parameter.by_value:
            return name
        pointer = f"&{name}" if isinstance(kind, Structure) or is_number(parameter) else f"{name}.data()"
        is_complex = isinstance(kind, ArrayType) and kind.dtype.startswith("complex")
        return f"pairs({pointer})" if is_complex else pointer

    def _parameter_names(self, signature: Signature) -> dict[str, str]:
        names = self.names.inner(*_LOCAL)
        return {parameter.name: names.take(parameter.name) for parameter in signature.parameters}

    def function(self, signature: Signature) -> str:
        names = self._parameter_names(signature)
        result, facts = returned(signature), self.facts[signature.name]
        declared = [self._declared(p, names[p.name]) for p in signature.parameters if p is not result]
        passed = [self._passed(p, names[p.name]) for p in signature.parameters]
        needs, macro = self.needs_workspace(signature), workspace_name(signature.symbol)
        body = []
        if needs:
            declared.append("Workspace<bytes>& workspace")
            body.append(f'static_assert(bytes >= {macro}, "the workspace has less than {macro} bytes");')
        if facts.may_stop:
            declared.append("const volatile int* stop = nullptr")
        if facts.shares_loops:
            declared.append("Threads threads = {}")
        stop = "stop" if facts.may_stop else "nullptr"
        run = "&run" if needs or facts.may_stop or facts.shares_loops else "nullptr"
        if needs:
            body.append(f"{'' if facts.shares_loops else 'const '}ct_run run = workspace.run({stop});")
            if facts.shares_loops:
                body += ["run.parallel = threads.parallel;", "run.pool = threads.pool;"]
        elif run == "&run":
            threads = "threads.parallel, threads.pool" if facts.shares_loops else "nullptr, nullptr"
            body.append(f"const ct_run run{{sizeof(ct_run), nullptr, 0, {stop}, {threads}}};")
        if result is not None:
            body.append(f"{self._element(result.type)} {names[result.name]}{{}};")
        body.append(wrapped(f"throw_unless_ok(::{signature.symbol}", [*passed, run], ");", 2).lstrip())
        if result is not None:
            body.append(self._return(result, names[result.name]))
        head = [f"// {line}" for line in described(signature, self.types)]
        if result is not None:
            head.append(f"// Returns {result.name}.")
        kind = "template <std::size_t bytes>\n" if needs else "inline "
        opening = wrapped(f"{self._result(signature)} {self.functions[signature.name]}", declared, " {")
        return "\n".join([*head, f"{kind}{opening}", *(f"  {line}" for line in body), "}", ""])

    def _result(self, signature: Signature) -> str:
        result = returned(signature)
        if result is None:
            return "void"
        assert isinstance(result.type, ArrayType)
        return "bool" if result.type.dtype == "bool" else self._element(result.type)

    @staticmethod
    def _return(result: Parameter, name: str) -> str:
        assert isinstance(result.type, ArrayType)
        return f"return {name} != 0;" if result.type.dtype == "bool" else f"return {name};"

    # ---- The model ---------------------------------------------------------------------------------------------------

    def _owned(self) -> dict[tuple[str, Type], str]:
        """What some function updates in place, by path and type: the names of members."""
        names = self.names.inner(*_LOCAL, *self.functions.values())
        owned: dict[tuple[str, Type], str] = {}
        for signature in self.signatures:
            for parameter in signature.parameters:
                key = (parameter.path, parameter.type)
                if parameter.role == "inout" and key not in owned:
                    owned[key] = names.take(parameter.name)
        return owned

    def _bound(self, signature: Signature) -> dict[str, str]:
        """By parameter, the place in the model's memory: the state, or structures in it for functions that do not take that."""
        bound: dict[str, str] = {}
        for parameter in signature.parameters:
            place = self.owned.get((parameter.path, parameter.type))
            # A state and the one that is made of it, if not in place, cannot both be there.
            if place is not None and place not in bound.values():
                bound[parameter.name] = place
        if bound:
            return bound
        inside: dict[tuple[str, Type], list[str]] = {}
        for (_, kind), name in self.owned.items():
            for member, place in _structures_in(kind, name):
                inside.setdefault((member.name, member.type), []).append(place)
        for parameter in signature.parameters:
            places = inside.get((parameter.name, parameter.type), [])
            if parameter.role == "in" and len(places) == 1:
                bound[parameter.name] = places[0]
        return bound

    def _writes(self, signature: Signature) -> bool:
        """Whether it changes a model."""
        bound = self._bound(signature)
        return any(p.written and p.name in bound for p in signature.parameters)

    def _makes_all(self, signature: Signature) -> bool:
        """Whether a model is all that it makes, of something else."""
        bound, results = self._bound(signature), [p for p in signature.parameters if p.written]
        return len(bound) == len(results) == len(self.owned) and all(
            p.role == "out" and p.name in bound for p in results
        )

    def method(self, signature: Signature) -> str:
        """The function as one of the model, where it takes or makes some of its state."""
        bound = self._bound(signature)
        if not bound:
            return ""
        makes_all, writes = self._makes_all(signature), self._writes(signature)
        own = "made.memory_->" if makes_all else "memory_->"
        names, result, facts = self._parameter_names(signature), returned(signature), self.facts[signature.name]
        given = [p for p in signature.parameters if p is not result]
        declared = [self._declared(p, names[p.name]) for p in given if p.name not in bound]
        passed = [f"{own}{bound[p.name]}" if p.name in bound else names[p.name] for p in given]
        template = ""
        if self.needs_workspace(signature):
            passed.append(f"{own}workspace" if writes else "workspace")
            if not writes:
                declared.append("Workspace<bytes>& workspace")
                template = "  template <std::size_t bytes>\n"
        if facts.may_stop:
            declared.append("const volatile int* stop = nullptr")
            passed.append("stop")
        if facts.shares_loops:
            declared.append("Threads threads = {}")
            passed.append("threads")
        name = self.functions[signature.name]
        kind = "void" if result is None or result.name in bound else self._result(signature)
        back = "" if result is None else f"{own}{bound[result.name]} = " if result.name in bound else "return "
        call = wrapped(f"{back}::{self.space}::{name}", passed, ";", 4)
        if makes_all:
            opening = wrapped(f"static Model {name}", declared, " {", 2)
            return f"{opening}\n    Model made;\n{call}\n    return made;\n  }}\n"
        opening = wrapped(f"{kind} {name}", declared, " {" if writes else " const {", 2)
        return f"{template}{opening}\n{call}\n  }}\n"

    def _member(self, kind: Type, name: str) -> str:
        element = self._element(kind)
        if isinstance(kind, Structure):
            return f"{element} {name}"
        sizes = kind.counts if isinstance(kind, Row) else (*kind.rows, *kind.shape)
        return f"{element} {name}{''.join(f'[{size}]' for size in sizes)}"

    def model(self) -> str:
        """The class that owns what functions update in place; nothing if none does."""
        if not self.owned:
            return ""
        macros = [
            workspace_name(signature.symbol)
            for signature in self.signatures
            if self.needs_workspace(signature) and self._writes(signature)
        ]
        what = ", ".join(self.owned.values())
        lines = [
            f"// Owns {what}, which functions update in place. Those that only read it are const: they may",
            "// run at the same time, each with a workspace of its own.",
            "class Model {",
            " public:",
            "  Model() : memory_(std::make_unique<Memory>()) { check(); }  // all zeros",
            "",
            *filter(None, map(self.method, self.signatures)),
        ]
        for name in self.owned.values():
            lines.append(f"  auto& {name}() noexcept {{ return memory_->{name}; }}")
            lines.append(f"  const auto& {name}() const noexcept {{ return memory_->{name}; }}")
        lines += ["", " private:", "  struct Memory {"]
        lines += [f"    alignas(64) {self._member(kind, name)};" for (_, kind), name in self.owned.items()]
        if macros:
            lines.append(f"    Workspace<{_greatest(macros)}> workspace;")
        lines += ["  };", "  std::unique_ptr<Memory> memory_;", "};", ""]
        return "\n".join(lines)

    # ---- All of it ---------------------------------------------------------------------------------------------------

    def text(self, number: int, target: str) -> str:
        name = self.library.name
        model = self.model()
        functions = [self.function(signature) for signature in self.signatures]
        body = "\n".join([*functions, model])
        macros = [workspace_name(s.symbol) for s in self.signatures if self.needs_workspace(s)]
        words = {
            "name": name,
            "upper": name.upper(),
            "space": self.space,
            "version": _core.version,
            "target": target,
            "number": number,
            "but": " but by a Model, once" if model else "",
        }
        parts = [
            _BEGIN % words,
            "\n".join([*(f"using {short} = ::{long};" for long, short in self.types.items()), ""])
            if self.types
            else "",
            _ERROR % words,
            _VIEW % words if "View<" in body else "",
            _COMPLEX if "pairs(" in body else "",
            _WORKSPACE % {"bytes": _greatest(macros)} if macros else "",
            _THREADS if "Threads threads" in body else "",
            *functions,
            model,
            f"}}  // namespace {self.space}\n\n#endif\n",
        ]
        return "\n".join(part for part in parts if part)


def _greatest(macros: Sequence[str]) -> str:
    return macros[0] if len(macros) == 1 else f"std::max({{{', '.join(macros)}}})"


def _structures_in(kind: Type, place: str) -> Iterator[tuple[Member, str]]:
    if isinstance(kind, Structure):
        for member in kind.members:
            if isinstance(member.type, Structure):
                inside = f"{place}.{member.name}"
                yield member, inside
                yield from _structures_in(member.type, inside)


def cpp_header(library: Library, signatures: Sequence[Signature], facts: Facts, number: int, target: str) -> str:
    """The text of ``NAME.hpp``."""
    return _Writer(library, signatures, facts).text(number, target)
