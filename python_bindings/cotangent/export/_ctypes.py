"""The Python module of a library: its functions on NumPy arrays, by ctypes, where there is no cotangent."""

from __future__ import annotations

import keyword
from collections.abc import Sequence

from cotangent import _core
from cotangent.export._header import Facts, call_text, length_remarks, shown
from cotangent.export._layout import ArrayType, Library, Row, Structure, Type
from cotangent.export._names import Names, function_word, is_number, pascal, structure_names
from cotangent.export._signature import Parameter, Signature

_BEGIN = '''\
"""%(name)s: made by cotangent %(version)s for %(target)s. The functions of lib%(name)s.so, which lies beside, on NumPy arrays.

Arguments are arrays of the dtypes and shapes that the functions say: pytrees of Python are structured arrays of the
dtypes below, `zeros(dtype)` makes one. bfloat16 and float8 are their bits, as unsigned integers; a random key is an
integer, `random.key(5)` is 5. Numbers and lists are converted, arrays of another dtype or shape are a TypeError. What
is updated in place must be an array that is contiguous and writable. Calls may run on several threads at the same time.
"""

from __future__ import annotations

import ctypes
%(imports)s
import numpy as np
import numpy.typing as npt

SIGNATURE = 0x%(number)016X  # of names, types and places: the library must have the same


class Error(RuntimeError):
    """What a function says instead of doing its work."""

    def __init__(self, function: str, status: int) -> None:
        super().__init__(f"{function}: {_library.%(name)s_error(status).decode()}")
        self.status = status


def zeros(dtype: npt.DTypeLike, shape: int | tuple[int, ...] = ()) -> np.ndarray:
    """An array that begins at a multiple of 64, where functions are fastest."""
    size = int(np.prod(shape, dtype=int)) * np.dtype(dtype).itemsize
    memory = np.zeros(size + 64, np.uint8)
    first = -memory.ctypes.data %% 64
    return memory[first : first + size].view(dtype).reshape(shape)
'''

_HELPERS = '''\
_library = ctypes.CDLL(str(Path(__file__).with_name("lib%(name)s.so")))
_library.%(name)s_signature.restype = ctypes.c_uint64
_library.%(name)s_error.restype = ctypes.c_char_p
if _library.%(name)s_signature() != SIGNATURE:
    raise ImportError("lib%(name)s.so is of another export than %(name)s.py")
if _status := _library.%(name)s_check():
    raise ImportError(f"lib%(name)s.so: {_library.%(name)s_error(_status).decode()}")


class _Run(ctypes.Structure):
    """What C calls ct_run."""

    _fields_ = (
        ("size", ctypes.c_size_t),
        ("workspace", ctypes.c_void_p),
        ("workspace_bytes", ctypes.c_size_t),
        ("stop", ctypes.c_void_p),
        ("parallel", ctypes.c_void_p),
        ("pool", ctypes.c_void_p),
    )


class _OfThread(threading.local):
    """The workspace of a thread, which all functions take, one after the other."""

    def __init__(self) -> None:
        self.memory = zeros(np.uint8, %(workspace)d)
        self.run = _Run(ctypes.sizeof(_Run), self.memory.ctypes.data, self.memory.size)


_of_thread = _OfThread()


def _call(name: str, function: Callable[..., int], *arguments: object) -> None:
    passed = [each.ctypes.data if isinstance(each, np.ndarray) else each for each in arguments]
    if status := function(*passed, ctypes.byref(_of_thread.run)):
        raise Error(name, status)


def _given(what: str, value: npt.ArrayLike, dtype: npt.DTypeLike, shape: tuple[int, ...] = ()) -> np.ndarray:
    """An argument that is read."""
    array = np.asarray(value)
    if isinstance(value, (bool, int, float, complex, list, tuple)) and array.dtype.kind in "biufc":
        # What has no dtype of its own takes the argument's, unless it would lose its fraction or imaginary part.
        if array.dtype.kind in "iu" and np.dtype(dtype).kind in "iu":
            array = np.array(value, dtype)
        elif np.can_cast(array.dtype, dtype, "same_kind"):
            array = array.astype(dtype)
    _check(what, array, dtype, shape)
    return array if array.flags.c_contiguous and array.flags.aligned else array.copy()


def _updated(what: str, value: np.ndarray, dtype: npt.DTypeLike, shape: tuple[int, ...] = ()) -> np.ndarray:
    """An argument that is updated in place."""
    if not isinstance(value, np.ndarray):
        raise TypeError(f"{what} is updated in place: it must be a NumPy array, and is a {type(value).__name__}")
    _check(what, value, dtype, shape)
    if not (value.flags.c_contiguous and value.flags.aligned and value.flags.writeable):
        raise ValueError(f"{what} is updated in place: it must be contiguous, aligned and writable")
    return value


def _check(what: str, array: np.ndarray, dtype: npt.DTypeLike, shape: tuple[int, ...]) -> None:
    if array.dtype != dtype or array.shape != shape:
        expected, found = (f"{_name(d)}{list(s)}" for d, s in ((np.dtype(dtype), shape), (array.dtype, array.shape)))
        raise TypeError(f"{what} must be {expected}, called with {found}")


def _name(dtype: np.dtype) -> str:
    return next((name for name, each in _STRUCTURES.items() if each == dtype), str(dtype))
'''

_NUMPY = {"bool": "bool_", "bfloat16": "uint16", "key": "uint64"}
_OWN = (
    *(
        "SIGNATURE",
        "Error",
        "zeros",
        "ctypes",
        "threading",
        "Path",
        "Callable",
        "NamedTuple",
        "np",
        "npt",
        "annotations",
    ),
    *(
        "_library",
        "_status",
        "_Run",
        "_OfThread",
        "_of_thread",
        "_call",
        "_given",
        "_updated",
        "_check",
        "_name",
        "_STRUCTURES",
    ),
)
_KEYWORDS = frozenset((*keyword.kwlist, *keyword.softkwlist))


def _numpy_name(kind: ArrayType) -> str:
    return f"np.{'uint8' if kind.dtype.startswith('float8') else _NUMPY.get(kind.dtype, kind.dtype)}"


class _Writer:
    def __init__(self, library: Library, signatures: Sequence[Signature], facts: Facts) -> None:
        self.library = library
        self.signatures = signatures
        self.facts = facts
        self.names = Names(_OWN, _KEYWORDS)
        self.types = structure_names(library, self.names)
        self.classes = {s.name: self.names.take(f"{pascal(s.name)}Results") for s in signatures}
        self.local = self.names.inner()  # parameters hide functions, of which none calls another
        self.functions = {s.name: self.names.take(function_word(s.name)) for s in signatures}

    # ---- Structures --------------------------------------------------------------------------------------------------

    def _dtype(self, kind: Type) -> tuple[str, tuple[int, ...]]:
        """The dtype of an element, and the shape."""
        if isinstance(kind, ArrayType):
            return _numpy_name(kind), (*kind.rows, *kind.shape)
        if isinstance(kind, Row):
            return self.types[kind.structure.name], kind.counts
        return self.types[kind.name], ()

    def structure(self, structure: Structure) -> str:
        formats = []
        for member in structure.members:
            dtype, shape = self._dtype(member.type)
            formats.append(f"({dtype}, {shape})" if shape else dtype)
        rows = {
            "names": [f'"{member.name}"' for member in structure.members],
            "formats": formats,
            "offsets": [str(member.offset) for member in structure.members],
        }
        return "\n".join(
            [
                f"{self.types[structure.name]} = np.dtype(  # {_text(structure.described)}",
                "    {",
                *(_listed(f'        "{key}": [', row, "],") for key, row in rows.items()),
                f'        "itemsize": {structure.bytes},',
                "    },",
                "    align=True,",
                ")",
            ]
        )

    # ---- Functions ---------------------------------------------------------------------------------------------------

    def _value(self, parameter: Parameter, checked: str) -> str:
        """What C takes for a number."""
        kind = parameter.type
        assert isinstance(kind, ArrayType)
        return f"{checked}.view(np.uint16).item()" if kind.dtype == "float16" else f"{checked}.item()"

    def _remark(self, parameter: Parameter) -> str:
        dtype, shape = self._dtype(parameter.type)
        what = f"{dtype.removeprefix('np.')}{list(shape) if shape or dtype.startswith('np.') else ''}"
        return what + {"in": "", "out": ", returned", "inout": ", updated in place"}[parameter.role]

    def _c_type(self, parameter: Parameter) -> str:
        if not parameter.by_value:
            return "ctypes.c_void_p"
        kind = parameter.type
        assert isinstance(kind, ArrayType)
        return f"ctypes.c_{kind.element.removesuffix('_t')}"

    def _result_class(self, signature: Signature, results: Sequence[Parameter]) -> str:
        """The text of a class for several results."""
        lines = [
            f"class {self.classes[signature.name]}(NamedTuple):",
            f'    """What {self.functions[signature.name]} returns."""',
            "",
        ]
        fields = Names((), _KEYWORDS)
        for result in results:
            word = result.path if result.path.isidentifier() else result.name
            field = word.lstrip("_") or "out"
            field = fields.take(field if field.isidentifier() else f"out_{field}")
            # Tuples have methods of these names, which the results matter more than.
            hides = "  # type: ignore[assignment]" if field in ("count", "index") else ""
            kind = self._dtype(result.type)[0] if is_number(result) else "np.ndarray"
            lines.append(f"    {field}: {kind}{hides}")
        return "\n".join([*lines, "", "", ""])

    def function(self, signature: Signature) -> str:
        names = self.local.inner()
        own = {
            p.name: names.take(p.path if p.path.isidentifier() and not p.path.startswith("__") else p.name)
            for p in signature.parameters
        }
        results = [p for p in signature.parameters if p.role == "out"]
        declared, body, passed = [], [], []
        title = self.functions[signature.name]
        for p in signature.parameters:
            name, (dtype, shape) = own[p.name], self._dtype(p.type)
            if p in results:
                made = f"zeros({dtype})" if isinstance(p.type, Structure) else f"np.empty({shape}, {dtype})"
                body.append(f"{name} = {made}")
                passed.append(name)
                continue
            check = "_updated" if p.role == "inout" else "_given"
            declared.append(f"{name}: {'np.ndarray' if p.role == 'inout' else 'npt.ArrayLike'}")
            checked = f'{check}("{title}: {name}", {name}, {dtype}{f", {shape}" if shape else ""})'
            passed.append(self._value(p, checked) if p.by_value else checked)
        text, back = "", "None"
        values = [f"{self._dtype(p.type)[0]}({own[p.name]})" if is_number(p) else own[p.name] for p in results]
        if len(results) == 1:
            back = self._dtype(results[0].type)[0] if is_number(results[0]) else "np.ndarray"
        elif results:
            back, text = self.classes[signature.name], self._result_class(signature, results)
        opening = _listed(f"def {title}(", declared, f") -> {back}:")
        symbol = f"_library.{signature.symbol}"
        if signature.symbol in _KEYWORDS:
            symbol = f'getattr(_library, "{signature.symbol}")'
        call = [f'    "{title}",', f"    {symbol},", *(f"    {each}," for each in passed)]
        doc = [f"{own[p.name]}: {self._remark(p)}" for p in signature.parameters]
        doc += [_text(line).strip() for line in length_remarks(signature)]
        title_line = f'"""{_text(call_text(signature))}'
        lines = [
            *([title_line, "", *doc, '"""'] if doc else [f'{title_line}"""']),
            *body,
            *("_call(", *call, ")"),
        ]
        if results:
            made = values[0] if len(values) == 1 else f"{back}({', '.join(values)})"
            lines.append(f"return {made}")
        types = [*map(self._c_type, signature.parameters), "ctypes.c_void_p"]
        definition = "\n".join([opening, *(f"    {line}" if line else "" for line in lines), "", "", ""])
        return f"{text}{definition}{_listed(f'{symbol}.argtypes = [', types, ']')}\n"

    def text(self, number: int, target: str) -> str:
        functions = "\n\n".join(map(self.function, self.signatures))
        words = {
            "name": self.library.name,
            "version": _core.version,
            "target": target,
            "number": number,
            "workspace": max(self.facts[signature.name].workspace_bytes for signature in self.signatures),
            "imports": "\n".join(
                [
                    "import threading",
                    "from collections.abc import Callable",
                    "from pathlib import Path",
                    *(["from typing import NamedTuple"] if "NamedTuple" in functions else []),
                    "",
                ]
            ),
        }
        types = [f'"{short}": {short}' for short in self.types.values()]
        structures = map(self.structure, self.library.structures)
        return "\n\n".join(
            [
                _BEGIN % words,
                "\n".join([*structures, _listed("_STRUCTURES: dict[str, np.dtype] = {", types, "}"), ""]),
                _HELPERS % words,
                functions,
            ]
        )


def _listed(head: str, parts: Sequence[str], tail: str) -> str:
    """On one line, or each part on one of its own."""
    text = f"{head}{', '.join(parts)}{tail}"
    space = head[: len(head) - len(head.lstrip())]
    return text if len(text) <= 120 else "\n".join([head, *(f"{space}    {part}," for part in parts), f"{space}{tail}"])


def _text(words: str) -> str:
    """Text that may stand in a docstring."""
    return shown(words).replace("\\", "\\\\").replace('"""', "'''").replace("\n", " ").replace("\r", " ")


def python_module(library: Library, signatures: Sequence[Signature], facts: Facts, number: int, target: str) -> str:
    """The text of ``NAME.py``."""
    return _Writer(library, signatures, facts).text(number, target)
