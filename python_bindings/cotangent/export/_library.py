"""Functions as one C library, and its files."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from platform import machine
from typing import NoReturn

from cotangent import _core
from cotangent._base.arguments import check_arguments, suggestion
from cotangent.export._c_source import c_source
from cotangent.export._callbacks import callbacks_named
from cotangent.export._cmake import cmake_text, cmake_version_text, pkg_config_text
from cotangent.export._cpp import cpp_header
from cotangent.export._ctypes import python_module
from cotangent.export._function import Function
from cotangent.export._header import Facts, description, header, workspace_name
from cotangent.export._javascript import loader
from cotangent.export._julia import julia_module
from cotangent.export._layout import Library
from cotangent.export._rust import rust_module
from cotangent.export._saved import library_file
from cotangent.export._signature import Signature, interface, program_hash, sign, signature_number
from cotangent.export._write import write_files

__all__ = ["Exported"]

_OF_BUILDS = ("cmake", "pc")
# For other languages: what writes them, and the code that they are beside.
_BINDINGS = {
    "hpp": (cpp_header, "a"),
    "rs": (rust_module, "a"),
    "py": (python_module, "so"),
    "jl": (julia_module, "so"),
}
_FILES = ("h", "c", "a", "so", "wasm", "mjs", "ctir", *_OF_BUILDS, *_BINDINGS)
# What compilers link by these names.
_SYSTEM_LIBRARIES = frozenset(
    (
        *(
            "c",
            "m",
            "pthread",
            "dl",
            "rt",
            "util",
            "gcc",
            "gcc_s",
            "gcc_eh",
            "stdc++",
            "c++",
            "c++abi",
            "unwind",
            "atomic",
        ),
        *("crypt", "resolv", "anl", "nsl", "z", "gomp", "omp", "quadmath", "gfortran"),
    )
)
# Headers that programs include: a folder with another of the name would go before.
_HEADERS = frozenset(
    (
        *(
            "assert",
            "complex",
            "ctype",
            "errno",
            "fenv",
            "float",
            "inttypes",
            "iso646",
            "limits",
            "locale",
            "math",
            "setjmp",
            "signal",
        ),
        *(
            "stdalign",
            "stdarg",
            "stdatomic",
            "stdbool",
            "stddef",
            "stdint",
            "stdio",
            "stdlib",
            "stdnoreturn",
            "string",
            "tgmath",
        ),
        *(
            "threads",
            "time",
            "uchar",
            "wchar",
            "wctype",
            "immintrin",
            "unistd",
            "fcntl",
            "memory",
            "malloc",
            "strings",
            "sched",
        ),
    )
)
_OF_LIBRARY = ("signature", "describe", "error", "check")


class Exported:
    """A C library that is ready to be written out; what `library` and `compile` make.

    It is compiled at the first use of a method, once for each target.

    Parameters
    ----------
    library, functions, signatures, target, checks, numerics : object
        What `library` was given, and made of it.

    Examples
    --------
    >>> made = ct.export.compile(lambda x: x * 2, ct.numpy.ones(4), name="twice")
    >>> "int twice(" in made.header()
    True
    """

    def __init__(
        self,
        library: Library,
        functions: Mapping[str, Function],
        signatures: list[Signature],
        target: str,
        checks: bool,
        numerics: str,
    ) -> None:
        self.name = library.name
        self.functions = dict(functions)
        self.target = target
        self.numerics = numerics
        self._library = library
        self._signatures = signatures
        self._checks = checks
        self._interface = interface(library, signatures)
        self._number = signature_number(self._interface)
        self._compiled: dict[str, list[_core.CompiledFunction]] = {}

    def _compile(self, target: str) -> list[_core.CompiledFunction]:
        if target not in self._compiled:
            self._check_size(target)
            with callbacks_named(s.function.graph for s in self._signatures):
                self._compiled[target] = [
                    _core.compile_function(
                        s.function.graph,
                        **s.for_core(),
                        constants=s.function.constants,
                        target=target,
                        portable=self.numerics == "portable",
                    )
                    for s in self._signatures
                ]
        return self._compiled[target]

    def _check_size(self, target: str) -> None:
        """What a processor cannot address is no library for it."""
        most = _core.library_pointer_bits(target) - 1
        for signature in self._signatures:
            sizes = {parameter.path: parameter.type.bytes for parameter in signature.parameters}
            for path, size in sizes.items():
                if size >= 1 << most:
                    raise ValueError(
                        f"export of {signature.symbol} for {target}: {path} takes {size} bytes, and arrays have less than 2**{most} there\n"
                        "  make it smaller, or export for a target with larger memory"
                    )

    def _facts(self, target: str) -> Facts:
        return {s.name: made for s, made in zip(self._signatures, self._compile(target), strict=True)}

    def header(self, *, target: str | None = None) -> str:
        """Returns the text of ``NAME.h``.

        Parameters
        ----------
        target : str, optional
            Another one than the library was made for, see `library`.

        Returns
        -------
        str
            C, which C++ reads, too.

        Raises
        ------
        NotImplementedError
            An operation runs in this process only (a Python callback, say).

        Examples
        --------
        >>> made = ct.export.compile(lambda x: x * 2, ct.numpy.ones(4), name="twice")
        >>> [line for line in made.header().splitlines() if line.startswith("int twice(")]
        ['int twice(const float* x /* [4] */, float* out /* [4] */, const ct_run* run);']
        """
        chosen = _target(self.target if target is None else target)
        return header(self._library, self._signatures, self._facts(chosen), self._number, chosen)

    def c_source(self, *, target: str | None = None) -> str:
        """Returns the text of ``NAME.c``: the same functions as C source.

        To read, to certify, or to compile for any machine: C11 with the extensions of GCC and Clang. The results are,
        bit for bit, those of the library for the same target; for ``"x86-64"`` those of ``"x86-64-v2"``, which every
        processor runs. Compile it for the target: ``-march=x86-64-v3``, say.

        Parameters
        ----------
        target : str, optional
            Another one than the library was made for, see `library`.

        Returns
        -------
        str
            One file, without dependencies.

        Raises
        ------
        NotImplementedError
            An operation runs in this process only (a Python callback, say).

        Examples
        --------
        >>> made = ct.export.compile(lambda x: x * 2, ct.numpy.ones(4), name="twice")
        >>> "int twice(" in made.c_source()
        True
        """
        chosen = _target(self.target if target is None else target)
        return c_source(
            self.name,
            self._signatures,
            self.describe(target=chosen),
            chosen,
            self._checks,
            self.numerics == "portable",
        )

    def describe(self, *, target: str | None = None) -> str:
        """Returns what the library says of itself, as JSON.

        Functions, parameters, places of all arrays, workspaces, whether time is bounded.

        Parameters
        ----------
        target : str, optional
            Another one than the library was made for, see `library`.

        Returns
        -------
        str
            What ``NAME_describe()`` returns in C.

        Raises
        ------
        NotImplementedError
            An operation runs in this process only (a Python callback, say).

        Examples
        --------
        >>> import json
        >>> made = ct.export.compile(lambda x: x * 2, ct.numpy.ones(4), name="twice")
        >>> [function["name"] for function in json.loads(made.describe())["functions"]]
        ['twice']
        """
        chosen = _target(self.target if target is None else target)
        facts = self._facts(chosen)  # what no library can hold is an error here, with the user's line
        program = {**self._interface, "program": program_hash(list(self.functions.values()))}
        return description(program, facts, self._number, chosen, self._checks, self.numerics)

    def save(
        self,
        directory: str | Path,
        *,
        target: str | None = None,
        files: str | Sequence[str] | None = None,
        version: str = "0.0.0",
    ) -> Path:
        """Writes the library's files and returns their folder.

        Arrays that the functions close over are built into the libraries, and saved with the programs. The files are
        written beside the old ones and take their places together: on an error, a full disk say, the old ones are as
        they were. Two exports of a program are equal byte for byte, except for ``target="native"``.

        Parameters
        ----------
        directory : str or path
            Made if it is missing.
        target : str, optional
            Another one than the library was made for, see `library`.
        files : str or sequence of str, optional
            Which: ``"h"``, the header; ``"c"``, C source; ``"a"``, the static library; ``"so"``, the shared one, on
            Linux; ``"wasm"``, the module, and ``"mjs"``, a JavaScript module that calls it, for ``"wasm32"``;
            ``"ctir"``, the saved programs, which `load` reads. By default all of these that there are for the target,
            but no C source and no static library of WebAssembly. Besides ``"cmake"``, ``NAMEConfig.cmake`` for
            ``find_package``, and ``"pc"``, ``NAME.pc`` for pkg-config: they find the libraries beside them, wherever
            the folder is moved. And for other languages ``"hpp"``, a header of C++17 over ``"h"``; ``"rs"``, a module
            for Rust; ``"py"``, one for Python with NumPy alone, and ``"jl"``, one for Julia, which open the shared
            library beside.
        version : str, default "0.0.0"
            Of your library, numbers with points between them, for ``"cmake"`` and ``"pc"``.

        Returns
        -------
        Path
            Of the folder.

        Raises
        ------
        ValueError
            A target or a kind of file that is none, or one that there is not for this target.
        NotImplementedError
            An operation runs in this process only (a Python callback, say).
        OSError
            The files cannot be written.

        Examples
        --------
        >>> import tempfile
        >>> made = ct.export.compile(lambda x: x * 2, ct.numpy.ones(4), name="twice")
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     sorted(path.name for path in made.save(folder, files=["h", "c", "ctir"]).iterdir())
        ['twice.c', 'twice.ctir', 'twice.h']
        """
        files = (files,) if isinstance(files, str) else files
        unknown = [kind for kind in files or () if kind not in _FILES]
        if unknown:
            raise ValueError(
                f"save: files={unknown[0]!r} is no kind of file{suggestion(unknown[0], _FILES)}\n  the kinds: {', '.join(_FILES)}"
            )
        chosen = _target(self.target if target is None else target)
        possible = ("h", "c", *_core.library_code_files(chosen), "ctir")
        if files is None:
            files = tuple(kind for kind in possible if kind != "c" and (kind != "a" or "wasm" not in possible))
        possible += _OF_BUILDS if "wasm" not in possible else ()
        possible += tuple(kind for kind, (_, code) in _BINDINGS.items() if code in possible)
        missing = [kind for kind in files if kind not in possible]
        if missing:
            raise ValueError(
                f"save: there is no file {missing[0]!r} for {chosen}\n  those that there are: {', '.join(possible)}"
            )
        if not re.fullmatch(r"\d+(\.\d+){0,3}", version):
            raise ValueError(
                f"save: version={version!r} is not one to four numbers with points between them\n  write version='1.2.0', say"
            )
        path = Path(directory)
        described = self.describe(target=chosen)
        contents: dict[str, bytes] = {}
        linked: bytes | None = None
        if "h" in files:
            contents[f"{self.name}.h"] = self.header(target=chosen).encode()
        if "c" in files:
            contents[f"{self.name}.c"] = self.c_source(target=chosen).encode()
        if {"a", "so", "wasm"} & set(files):
            archive, linked = _core.make_library(
                self.name, self._compile(chosen), described, self._number, self._checks, chosen
            )
            if "a" in files:
                contents[f"lib{self.name}.a"] = archive
            if "so" in files:
                contents[f"lib{self.name}.so"] = linked
            if "wasm" in files:
                contents[f"{self.name}.wasm"] = linked
        if "mjs" in files:
            contents[f"{self.name}.mjs"] = loader(self.name, described).encode()
        if "ctir" in files:
            contents[f"{self.name}.ctir"] = library_file(described, self.functions, linked if "so" in files else None)
        for kind, (text, _) in _BINDINGS.items():
            if kind in files:
                written = text(self._library, self._signatures, self._facts(chosen), self._number, chosen)
                contents[f"{self.name}.{kind}"] = written.encode()
        if "cmake" in files:
            contents[f"{self.name}Config.cmake"] = cmake_text(self.name).encode()
            contents[f"{self.name}ConfigVersion.cmake"] = cmake_version_text(version).encode()
        if "pc" in files:
            contents[f"{self.name}.pc"] = pkg_config_text(self.name, version).encode()
        write_files(path, contents)
        return path

    @_core.leaving
    def __reduce__(self) -> NoReturn:
        raise TypeError(
            f"{self!r} cannot be pickled\n  save it, and load the folder elsewhere: cotangent.export.load(made.save(folder))"
        )

    def __repr__(self) -> str:
        return f"<C library {self.name} for {self.target}: {', '.join(self.functions)}>"


def _target(name: str) -> str:
    if name.partition(":")[0] == "cuda":
        raise ValueError(
            f"target={name!r} is one for GPUs, whose libraries have one function\n"
            f"  make it with export.compile(f, *specs, target={name!r})"
        )
    _core.library_code_files(name)
    return name


def default_target() -> str:
    """The target of libraries for machines of this one's kind."""
    return "x86-64" if machine() in ("x86_64", "AMD64") else "aarch64"


def make(
    name: str,
    functions: Mapping[str, Function],
    symbol_of: Callable[[str], str],
    target: str | None,
    checks: bool,
    numerics: str,
) -> Exported:
    """The library of these functions, with these symbols."""
    _core.check_export_name(name)
    if name in _SYSTEM_LIBRARIES:
        raise ValueError(
            f"export: {name!r} cannot name a library: lib{name} is one of the system, whose place it would take\n"
            f"  use name='{name}_program', say\n  see docs/errors.md#export-name"
        )
    if numerics not in ("fast", "portable"):
        raise ValueError(
            f"export of {name}: numerics={numerics!r} is neither 'fast' nor 'portable'{suggestion(numerics, ('fast', 'portable'))}\n"
            "  pass numerics='portable' for the same bits on all targets, or leave numerics out"
        )
    if not isinstance(functions, Mapping):
        raise TypeError(
            f"export of {name}: functions must be a dict of names and what export.function makes; got {type(functions).__name__}\n"
            "  pass {'f': export.function(f, *specs)}"
        )
    for key, function in functions.items():
        if not isinstance(key, str):
            raise TypeError(
                f"export of {name}: the name of a function must be a string; got {key!r}\n  name it {f'f{key}'!r}, say"
            )
        if not isinstance(function, Function):
            raise TypeError(
                f"export of {name}: {key!r} must be what export.function makes of a function and its arguments; got "
                f"{'a function' if callable(function) else f'a {type(function).__name__}'}\n"
                f"  pass {{{key!r}: export.function(f, *specs)}}"
            )
    if not functions:
        raise ValueError(
            f"export of {name}: a library has at least one function\n  pass {{'f': export.function(f, *specs)}}"
        )
    if name.lower() == "ct" or name.lower().startswith("ct_"):
        raise ValueError(
            f"export: {name!r} cannot name a library: what begins with ct_ is of all libraries, and of C source\n"
            f"  use name='my_{name}', say\n  see docs/errors.md#export-name"
        )
    if name in _HEADERS:
        raise ValueError(
            f"export: {name!r} cannot name a library: {name}.h is a header of C, whose place it would take\n"
            f"  use name='{name}_program', say\n  see docs/errors.md#export-name"
        )
    library = Library(name)
    symbols = {key: symbol_of(key) for key in functions}
    taken = {f"{name}_{word}" for word in _OF_LIBRARY}
    for key, symbol in symbols.items():
        _core.check_export_name(symbol)
        for made in (symbol, f"{symbol}_leaves", f"{symbol}_entry"):
            if made in taken:
                raise ValueError(
                    f"export of {name}: {key!r} would define {made}, which the library has already\n  name it '{key}_function', say"
                )
            taken.add(made)
    macros: dict[str, str] = {f"{name}_SIGNATURE".upper(): "SIGNATURE"}
    for key, symbol in symbols.items():
        macro = workspace_name(symbol)
        if macro in macros or macro in taken:
            raise ValueError(
                f"export of {name}: {key!r} would define the macro {macro}, which {macros.get(macro, 'a function')!r} has: macros are in capitals\n"
                f"  name it '{key}_function', say"
            )
        macros[macro] = key
    for key, symbol in symbols.items():
        of_another = re.fullmatch(r"(.*)_(entry_\d+|program|program_\d+)", symbol)
        if of_another is not None and of_another[1] in symbols.values():
            raise ValueError(
                f"export of {name}: {key!r} would define {symbol}, which the library has already\n  name it '{key}_function', say"
            )
    library.names |= taken | {f"{symbol}_program" for symbol in symbols.values()}
    signatures = [sign(library, key, symbols[key], function) for key, function in functions.items()]
    chosen = _target(default_target() if target is None else target)
    return Exported(library, functions, signatures, chosen, checks, numerics)


check_arguments(globals())
