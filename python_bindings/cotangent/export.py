"""Ahead-of-time export: any transformed function as a C library with a header.

The library needs no Python, no cotangent and no LLVM: at most libc and libm. It is linked in process, so the machine that exports needs no
C compiler. Operations that run in this process only (Python callbacks, and what a library computes) are expanded into compiled ones where
there is a rule for it; the others are an error that names the operation and the user's line.

With ``target="cuda"`` the program is one for GPUs of NVIDIA: its arrays are in the GPU's memory, the C function takes a stream besides, and
the library needs the driver, and cuBLASLt if the program has large products.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cotangent import _core
from cotangent._base import primitives
from cotangent._base.arguments import check_arguments
from cotangent._base.capture import aval_of, capture, check_callable, flatten_arguments, function_name
from cotangent._core import Array, Graph
from cotangent._transforms.sized import capture_sized
from cotangent.errors import CorruptFileError, ShapeError

__all__ = ["Exported", "compile", "load"]


@dataclass
class Exported:
    """A function ready to be written out."""

    graph: Graph
    name: str
    input_names: list[str]
    output_names: list[str]
    constants: list[Array]
    target: str | None = None
    cublaslt: bool = True

    def save(self, directory: str | Path, *, triple: str = "", cpu: str = "") -> Path:
        """Writes ``name.h``, ``libname.a``, ``libname.so`` and ``name.ctir`` (the saved graph).

        Arrays that the function closes over are built into the libraries, and saved with the graph. The files are written beside the old
        ones and take their places together: on an error, a full disk say, the old ones are as they were.

        Raises:
            NotImplementedError: an operation runs in this process only (a Python callback, say), so no library can hold it; or, for
                GPUs, a loop or branch that the host would have to wait for.
            ValueError: a target that is not among those below, or an unknown processor; for GPUs, a triple of other processors than
                this machine's.
            OSError: the files cannot be written.

        Args:
            directory: made if it is missing.
            triple: the target: ``"x86_64-linux-gnu"``, ``"x86_64-linux-musl"``, ``"aarch64-linux-gnu"`` or ``"aarch64-linux-musl"``; default
                this machine's.
            cpu: the processor to generate code for; default this machine's, or for a target ``"x86-64-v2"`` and ``"generic"``.
        """
        path = Path(directory)
        files = _core.export_library(
            self.graph,
            self.name,
            self.input_names,
            self.output_names,
            triple,
            cpu,
            self.constants,
            self.target or "",
            self.cublaslt,
        )
        path.mkdir(parents=True, exist_ok=True)
        _write_files(path, files)
        return path


def _write_files(directory: Path, files: Mapping[str, bytes]) -> None:
    """All of the files, or on an error none of them."""
    written: list[tuple[Path, Path]] = []
    try:
        for index, (name, data) in enumerate(files.items()):
            # Names of files have up to 255 bytes, of which a function's may take all.
            temporary = directory / f".{os.getpid()}.{threading.get_ident()}.{index}.part"
            written.append((temporary, directory / name))
            with temporary.open("wb") as file:
                file.write(data)
        for temporary, path in written:
            temporary.replace(path)
    except OSError:
        for temporary, _ in written:
            with contextlib.suppress(OSError):
                temporary.unlink(missing_ok=True)
        raise


def _identifier(path: str, fallback: str) -> str:
    words = [word for word in path.replace("]", "").replace("'", "").replace(".", "[").split("[") if word]
    name = "_".join(words)
    # A keyword, say, is changed where the header is written.
    return name if name.isidentifier() else fallback


def compile(  # noqa: A001
    fun: Callable[..., Any],
    *specs: Any,
    name: str = "program",
    target: str | None = None,
    cublaslt: bool = True,
) -> Exported:
    """Captures ``fun`` for export.

    Args:
        fun: a function of pytrees of arrays, transformed or not.
        specs: its positional arguments: arrays or `ShapeDtypeStruct`; only shapes and dtypes matter.
        name: the C function's name.
        target: None for processors (`Exported.save` says which); ``"cuda"`` for all GPUs of NVIDIA from compute capability 8.0 on, or one
            like ``"cuda:sm_90"`` for those from 9.0 on.
        cublaslt: for GPUs, whether large products of matrices are cuBLASLt's, which the library needs then.

    Raises:
        ValueError: the name is no C identifier, or one that C, C++ or their libraries use; or an enclosing transform is capturing.

    The C function takes a pointer for each leaf of the arguments, in pytree order (dict keys sorted), then one for each leaf of the
    result. It returns 0, or why it did nothing: the header lists these numbers. A length of a `Ragged` argument that is not from 0 to its
    bound is one of them. For a GPU the pointers are the GPU's, and a ``CUstream`` comes last: the function enqueues its work there and
    returns.
    """
    check_callable(fun, "export.compile")
    _core.check_export_name(name)
    leaves, structure = flatten_arguments((specs, {}), function_name(fun))
    with _core.KeepLengths():  # what is loaded may be masked
        captured = capture_sized(
            lambda function: capture(function, leaves, structure, "jit", name=function_name(fun)), fun
        )
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
    return Exported(captured.graph, name, inputs, outputs, captured.closure, target, cublaslt)


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


def load(directory: str | Path, name: str | None = None) -> Callable[..., Any]:
    """A callable of a saved function: it takes the argument leaves in order and returns the result leaves, a list (or the only one).

    It composes as the function did that was saved: under `grad`, `vmap`, `mask` and `jit` its program becomes part of theirs.

    Args:
        directory: where `Exported.save` wrote.
        name: which function, when the directory holds several.

    Raises:
        FileNotFoundError: no saved graph there. CorruptFileError: it is damaged.

    The callable raises TypeError for arguments of other types than the saved function's, and `ShapeError` for a length of a ragged axis
    that is not from 0 to its bound.
    """
    path = Path(directory)
    files = [path / f"{name}.ctir"] if name else sorted(path.glob("*.ctir"))
    if not files or not files[0].exists():
        raise FileNotFoundError(f"no saved function in {path}: expected {name or '*'}.ctir")
    if len(files) > 1:
        raise ValueError(f"{path} holds several functions: {[file.stem for file in files]}\n  pass name=")
    data = files[0].read_bytes()
    if data[8:12] == b"\x01\0\0\0" and files[0].with_suffix(".constants.npz").exists():
        raise CorruptFileError(
            f"{files[0]} was saved by a version that kept arrays in a second file, which may belong to another program\n"
            "  export the function again"
        )
    graph, constants = _core.load_program(data)
    executable = _core.compile_graph(graph)
    title = files[0].stem
    expected = graph.in_avals[: graph.num_inputs - len(constants)]
    bounds = [(index, bound) for index, bound in _core.length_inputs(graph) if index < len(expected)]

    def loaded(*arguments: Any) -> Any:
        operands, _ = flatten_arguments(arguments, "the arguments")
        if len(operands) != len(expected):
            raise TypeError(f"{title} takes {len(expected)} arrays, called with {len(operands)}")
        for index, (operand, (shape, dtype, _)) in enumerate(zip(operands, expected, strict=True)):
            given = aval_of(operand)
            if (tuple(given[0]), given[1]) != (tuple(shape), dtype):
                raise TypeError(
                    f"{title}: argument {index} is {dtype}{list(shape)}, called with {given[1]}{list(given[0])}"
                )
        traced = any(_core.is_traced(x) for x in operands)
        for index, bound in bounds:
            if _core.is_traced(operands[index]):
                continue
            length = _core.to_numpy(operands[index])
            if length.size and (length.min() < 0 or length.max() > bound):
                raise ShapeError(f"{title}: argument {index} is a length of {length.tolist()}, outside 0 … {bound}")
        if traced:
            results = primitives.call(*operands + constants, graph=graph, name=title)
        else:
            results = executable(operands + constants)
        return results[0] if len(results) == 1 else results

    return loaded


check_arguments(globals())
