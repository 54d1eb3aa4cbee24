"""Ahead-of-time export: any transformed function as a C library with a header.

The library needs no Python, no cotangent and no LLVM: at most libc and libm. It is linked in process, so the machine that exports needs no
C compiler. Operations that run in this process only (Python callbacks, and what a library computes) are expanded into compiled ones where
there is a rule for it; the others are an error that names the operation and the user's line.
"""

from __future__ import annotations

import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from cotangent import _core
from cotangent._capture import capture, check_callable, flatten_arguments, function_name
from cotangent._core import Array, Graph
from cotangent.errors import CorruptFileError

__all__ = ["Exported", "compile", "load"]


@dataclass
class Exported:
    """A function ready to be written out."""

    graph: Graph
    name: str
    input_names: list[str]
    output_names: list[str]
    constants: list[Array]

    def save(self, directory: str | Path, *, triple: str = "", cpu: str = "") -> Path:
        """Writes ``name.h``, ``libname.a``, ``libname.so`` and ``name.ctir`` (the saved graph).

        Arrays that the function closes over are built into the libraries, and saved beside the graph in ``name.constants.npz``.

        Raises:
            NotImplementedError: an operation runs in this process only (a Python callback, say), so no library can hold it.

        Args:
            directory: made if it is missing.
            triple: the target, for example ``"aarch64-linux-gnu"``; default this machine's.
            cpu: the processor to generate code for; default this machine's.
        """
        path = Path(directory)
        path.mkdir(parents=True, exist_ok=True)
        _core.export_library(
            self.graph, self.name, self.input_names, self.output_names, str(path), triple, cpu, self.constants
        )
        if self.constants:
            # As bytes: NumPy's file format does not know bfloat16.
            arrays = [
                np.frombuffer(np.ascontiguousarray(_core.to_numpy(x)).tobytes(), np.uint8) for x in self.constants
            ]
            np.savez(path / f"{self.name}.constants.npz", *arrays)
        return path


def _identifier(path: str, fallback: str) -> str:
    words = [word for word in path.replace("]", "").replace("'", "").replace(".", "[").split("[") if word]
    name = "_".join(words)
    return name if name.isidentifier() else fallback


def compile(fun: Callable[..., Any], *specs: Any, name: str = "program") -> Exported:  # noqa: A001
    """Captures ``fun`` for export.

    Args:
        fun: a function of pytrees of arrays, transformed or not.
        specs: its positional arguments: arrays or `ShapeDtypeStruct`; only shapes and dtypes matter.
        name: the C function's name.

    Raises:
        ValueError: the name is no C identifier, or an enclosing transform is capturing.

    The C function takes a pointer for each leaf of the arguments, in pytree order (dict keys sorted), then one for each leaf of the
    result.
    """
    check_callable(fun, "export.compile")
    if not name.isidentifier():
        raise ValueError(f"export.compile: {name!r} cannot name a C function; use letters, digits and underscores")
    leaves, structure = flatten_arguments((specs, {}), function_name(fun))
    captured = capture(fun, leaves, structure, "jit", name=function_name(fun))
    if any(_core.is_traced(x) for x in captured.closure):
        raise ValueError(
            f"export.compile: {function_name(fun)} closes over traced arrays; export outside of jit and other transforms"
        )
    parameters = _parameter_names(fun, len(specs))
    inputs = []
    for index, path in enumerate(structure.paths()):
        # "[0][1]['w']" is leaf w of positional argument 1.
        number, _, rest = path[4:].partition("]")
        inputs.append(_identifier(parameters[int(number)] + rest, f"x{index}"))
    outputs = [_identifier(f"out{path}", f"out{index}") for index, path in enumerate(captured.structure.paths())]
    return Exported(captured.graph, name, inputs, outputs, captured.closure)


def _parameter_names(fun: Callable[..., Any], count: int) -> list[str]:
    import inspect

    names = [f"arg{index}" for index in range(count)]
    try:
        parameters = list(inspect.signature(fun).parameters.values())
    except (TypeError, ValueError):
        return names
    for index, parameter in enumerate(parameters[:count]):
        if parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD):
            names[index] = parameter.name
    return names


def _load_constants(file: Path, graph: Graph) -> list[Array]:
    """The values of the graph's last inputs, from the file beside it."""
    if not file.exists():
        return []
    try:
        with np.load(file) as saved:
            parts = [saved[name].tobytes() for name in saved.files]
        avals = graph.in_avals[len(graph.in_avals) - len(parts) :]
        return [
            _core.array(np.frombuffer(part, aval[1]).reshape(aval[0])) for part, aval in zip(parts, avals, strict=True)
        ]
    except (ValueError, OSError, zipfile.BadZipFile) as error:
        raise CorruptFileError(f"{file} is damaged: {error}\n  export the function again") from None


def load(directory: str | Path, name: str | None = None) -> Callable[..., Any]:
    """A callable of a saved function: it takes the argument leaves in order and returns the result leaves, a list (or the only one).

    Args:
        directory: where `Exported.save` wrote.
        name: which function, when the directory holds several.

    Raises:
        FileNotFoundError: no saved graph there. CorruptFileError: it is damaged.
    """
    path = Path(directory)
    files = [path / f"{name}.ctir"] if name else sorted(path.glob("*.ctir"))
    if not files or not files[0].exists():
        raise FileNotFoundError(f"no saved function in {path}: expected {name or '*'}.ctir")
    if len(files) > 1:
        raise ValueError(f"{path} holds several functions: {[file.stem for file in files]}\n  pass name=")
    graph = _core.load_graph(str(files[0]))
    executable = _core.compile_graph(graph)
    constants = _load_constants(files[0].with_suffix(".constants.npz"), graph)

    def loaded(*arguments: Any) -> Any:
        operands, _ = flatten_arguments(arguments, "the arguments")
        results = executable(operands + constants)
        return results[0] if len(results) == 1 else results

    return loaded
