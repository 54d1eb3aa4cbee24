"""Ahead-of-time export: transformed functions as a C library with a header.

The library needs no Python, no cotangent and no LLVM, and of the C library at most ``memcpy``, ``memmove`` and ``memset``. It is linked in
process, so the machine that exports needs no C compiler. What runs in this process only (Python callbacks) is an error that names the operation and
the user's line.

`function` captures a function, `library` makes one library of several, `compile` does both for one function, and `load` brings a saved
library back. With ``target="cuda"`` the program is one for GPUs of NVIDIA: its arrays are in the GPU's memory, the C function takes a
stream besides, and the library needs the driver, and cuBLASLt if the program has large products.
"""

from __future__ import annotations

import copyreg
import json
import sys
import types
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from cotangent import _core
from cotangent._base.arguments import check_arguments, suggestion
from cotangent._base.capture import flatten_arguments
from cotangent._base.names import suggest_names
from cotangent._core import SavedFile
from cotangent._transforms.staging import jit
from cotangent.errors import CorruptFileError
from cotangent.export._function import Function, function
from cotangent.export._gpu import ExportedForGpu
from cotangent.export._library import Exported, default_target, make
from cotangent.export._loading import Loaded, SavedFunction, read_functions, run_native
from cotangent.export._saved import shared_to_json, tree_to_json

__all__ = ["Exported", "Function", "Loaded", "compile", "function", "library", "load"]


def library(
    name: str,
    functions: Mapping[str, Function],
    *,
    target: str | None = None,
    numerics: str = "fast",
    checks: bool = True,
) -> Exported:
    """Makes one C library of several functions, which share structures.

    The files need no Python. An operation that runs in this process only (a Python callback, say) is a
    NotImplementedError where the library is compiled: in `Exported.header`, `Exported.describe` and `Exported.save`.

    Parameters
    ----------
    name : str
        What files are called, and what everything in C begins with.
    functions : dict from str to Function
        By the names that they get in C, behind the library's: ``{"step": …}`` of ``"mlp"`` is ``mlp_step``.
    target : str, optional
        ``"x86-64"``, the default on such machines, has code for three levels of these processors (x86-64-v2, -v3, -v4)
        and takes the best that it finds itself on; ``"x86-64-v2"``, ``"x86-64-v3"``, ``"x86-64-v4"`` have one of them;
        ``"aarch64"``; ``"native"`` is for processors that have what this one has. Libraries for these refuse other
        processors by an error code. ``"riscv64"`` (rv64gc) and ``"riscv64-v"`` (with vectors of at least 128 bits);
        ``"armv7"`` (VFPv4, hard floats); ``"cortex-m4f"``, ``"cortex-m7"``, ``"cortex-m33"``, without an operating
        system: a static library; and ``"wasm32"``, a WebAssembly module (with SIMD) that imports nothing.
    numerics : str, default "fast"
        ``"fast"`` uses what each target has. With ``"portable"``, programs compute the same bits on all of them, but
        for the sign and payload of NaN: vectors of 128 bits, each multiplication and addition rounded.
    checks : bool, default True
        Whether C functions look at pointers (NULL, alignment, overlaps) and at the workspace; some 10 ns a call.
        Lengths of ragged arrays are looked at in any case.

    Returns
    -------
    Exported
        Its ``save`` writes the files.

    Raises
    ------
    ValueError
        A name that is no C identifier, or one that C, C++ or their libraries use; a target that is none.

    Examples
    --------
    >>> w = {"w": ct.numpy.zeros((2, 3))}
    >>> predict = ct.export.function(lambda params, x: x @ params["w"], w, ct.numpy.ones(2), results="y")
    >>> header = ct.export.library("model", {"predict": predict}).header()
    >>> [line for line in header.splitlines() if line.startswith("int model_predict(")]
    ['int model_predict(const model_params* params, const float* x /* [2] */, float* y /* [3] */, const ct_run* run);']
    """
    return make(name, functions, lambda key: f"{name}_{key}", target, checks, numerics)


def compile(  # noqa: A001
    fun: Callable[..., Any],
    *specs: Any,
    name: str = "program",
    donate: str | Sequence[str] = (),
    results: str | Sequence[str] | None = None,
    target: str | None = None,
    numerics: str = "fast",
    checks: bool = True,
    cublaslt: bool = True,
    **keyword_specs: Any,
) -> Exported | ExportedForGpu:
    """Makes a C library of one function, which is called like the library.

    What no library can hold is a NotImplementedError where the library is compiled, in `Exported.header` and
    `Exported.save`: an operation that runs in this process only (a Python callback, say); or, for GPUs, a loop or
    branch that the host would have to wait for.

    The C function takes a parameter for each argument, then one for each result, then a ``ct_run``: numbers by value,
    arrays by pointers, and other pytrees as structures that hold their arrays. For GPUs it takes a pointer for each
    leaf of the arguments, in pytree order (dict keys sorted), then one for each leaf of the result, then a
    ``CUstream``: it enqueues its work there and returns.

    Parameters
    ----------
    fun : callable
        A function of pytrees of arrays, transformed or not.
    *specs : pytrees of arrays or ShapeDtypeStruct
        Its positional arguments; only shapes and dtypes matter.
    name : str, default "program"
        The library's and the C function's name.
    donate : str or sequence of str, default ()
        Names of arguments that are updated in place, see `function`.
    results : str or sequence of str, optional
        Names of the results, see `function`.
    target : str, optional
        As of `library`; or ``"cuda"`` for all GPUs of NVIDIA from compute capability 8.0 on, or one like
        ``"cuda:sm_90"`` for those from 9.0 on.
    numerics : str, default "fast"
        As of `library`; for processors.
    checks : bool, default True
        As of `library`.
    cublaslt : bool, default True
        For GPUs, whether large products of matrices are cuBLASLt's, which the library needs then.
    **keyword_specs : pytrees of arrays or ShapeDtypeStruct
        Its keyword arguments.

    Returns
    -------
    Exported or ExportedForGpu
        Its ``save`` writes the files.

    Raises
    ------
    ValueError
        A name that is no C identifier, or one that C, C++ or their libraries use; a target that is none; donated
        arguments without a result of that name; or an enclosing transform is capturing.

    Examples
    --------
    >>> made = ct.export.compile(lambda x, scale: x * scale, ct.numpy.ones(4), 2.0, name="scaled")
    >>> [line for line in made.header().splitlines() if line.startswith("int scaled(")]
    ['int scaled(const float* x /* [4] */, float scale, float* out /* [4] */, const ct_run* run);']
    """
    _core.check_export_name(name)
    captured = function(fun, *specs, donate=donate, results=results, **keyword_specs)
    if target is not None and target.partition(":")[0] == "cuda":
        return ExportedForGpu(captured, name, target, cublaslt)
    return make(name, {name: captured}, lambda key: key, target, checks, numerics)


def load(path: str | Path, name: str | None = None, *, native: bool | None = None, verify: str = "structure") -> Loaded:
    """Returns the functions of a saved library.

    They are jitted functions: they take and return pytrees as the functions did that were saved, with keywords and
    donated arguments, and compose as these did: under `grad`, `vmap`, `mask` and `jit` their programs become part of
    others.

    The functions raise TypeError for arguments of other structures, shapes or dtypes, and ShapeError for a length of a
    ragged axis that is not from 0 to its bound.

    Parameters
    ----------
    path : str or path
        The file ``NAME.ctir``, which is data; or the folder where `Exported.save` wrote, whose library is code that
        runs.
    name : str, optional
        Which library, when the folder holds several.
    native : bool, optional
        Whether the functions run the code of the folder's library. By default, if it belongs to the file and fits this
        processor; True raises why it does not; with False, as with a file alone, the programs are compiled here. So are
        those that run on a GPU, which is the default device or has an argument.
    verify : str, default "structure"
        ``"structure"``, which reads none of the saved arrays' values; ``"all"`` compares these with their checksum,
        too.

    Returns
    -------
    Loaded
        The functions are its attributes.

    Raises
    ------
    FileNotFoundError
        No saved functions there.
    CorruptFileError
        The file is damaged, or of a newer version.
    TypeError
        A class among the arguments is not there.
    ValueError
        With ``native=True``, the library is another one, or does not fit.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     w, x = {"a": ct.numpy.ones(3)}, ct.numpy.ones(3)
    ...     made = ct.export.compile(lambda w, x: (w["a"] * x).sum(), w, x, name="dot")
    ...     dot = ct.export.load(made.save(folder)).dot
    >>> float(dot(w, x=x))
    3.0
    >>> ct.grad(dot)(w, x)["a"].tolist()
    [1.0, 1.0, 1.0]
    """
    if verify not in ("structure", "all"):
        raise ValueError(
            f"load: verify={verify!r} is neither 'structure' nor 'all'{suggestion(verify, ('structure', 'all'))}\n"
            "  pass verify='all' to compare the saved arrays with their checksum, too, or leave verify out"
        )
    file = _find(Path(path), name)
    if file.suffix in (".so", ".a", ".h", ".c", ".wasm", ".o"):
        raise ValueError(
            f"load: {file} has no programs in it\n"
            f"  give the folder of the library, or its file {file.stem.removeprefix('lib')}.ctir"
        )
    with file.open("rb") as opened:
        begins = opened.read(16)
    if not _core.has_sections(begins):
        return _load_program(file)
    saved = _core.SavedFile(str(file))
    if verify == "all" and saved.has("weights"):
        saved.section("weights")
    description, functions = read_functions(saved, file)
    shared = file.parent / f"lib{file.stem}.so"
    runs_native = native is True or (native is None and Path(path).is_dir() and shared.exists())
    if native is True and not shared.exists():
        raise ValueError(
            f"load: there is no {shared.name} beside {file}, whose code could be run; it was saved for {description['target']}\n"
            "  leave out native=True, and the programs are compiled here, or save the library with its 'so' beside"
        )
    if runs_native:
        runs_native = _use_library(shared, file, saved, description, functions, must=native is True)
    return Loaded(file, {each.name: _jitted(each) for each in functions}, runs_native)


def _load_again(path: str, native: bool) -> Loaded:
    """A copy, in another process say, where the file is."""
    file = Path(path)
    return load(file.parent, file.stem) if native else load(file, native=False)


def _reduce(loaded: Loaded) -> tuple[Callable[[str, bool], Loaded], tuple[str, bool]]:
    return _load_again, (str(loaded._file), loaded.native)


copyreg.pickle(Loaded, _reduce)


def _find(path: Path, name: str | None) -> Path:
    if path.is_file():
        return path
    files = [path / f"{name}.ctir"] if name else sorted(path.glob("*.ctir"))
    if not files or not files[0].exists():
        there = [file.stem for file in sorted(path.glob("*.ctir"))]
        remedy = f"pass one of those that are there as name=: {', '.join(map(repr, there))}"
        raise FileNotFoundError(
            f"no saved functions in {path}: expected {name or '*'}.ctir\n"
            f"  {remedy if there else 'give the folder that Exported.save has returned'}"
        )
    if len(files) > 1:
        names = [file.stem for file in files]
        raise ValueError(f"{path} holds several libraries: {names}\n  pass one of them as name=, name={names[0]!r} say")
    return files[0]


def _use_library(
    shared: Path,
    file: Path,
    saved: SavedFile,
    description: dict[str, Any],
    functions: Sequence[SavedFunction],
    *,
    must: bool,
) -> bool:
    try:
        here = default_target()
        if description["target"] != "native" and description["target"].partition("-v")[0] != here:
            raise ValueError(f"it was made for {description['target']}, which this machine is not")
        if not _is_whole(shared, saved):
            raise ValueError("it is not the one that was written with the file, or not all of it")
        opened = _core.open_library(str(shared.resolve()), description["library"])
        same_text = opened.description.encode() == saved.section("library")
        if not same_text or f"0x{opened.signature:016x}" != description["signature"]:
            raise ValueError(f"it is another library than {file} describes")
        if opened.check() != 0:
            raise ValueError(f"this processor lacks what its code needs; it was made for {description['target']}")
        run_native(opened, description, functions)
    except (OSError, ValueError) as error:
        if must:
            raise ValueError(
                f"load: {shared} cannot be used: {error}\n  leave out native=True, and the programs are compiled here"
            ) from None
        return False
    return True


def _is_whole(shared: Path, saved: SavedFile) -> bool:
    """Whether the library is as long as it was, and begins and ends as it did: one that is cut off would end the process."""
    if not saved.has("shared"):
        return False
    with shared.open("rb") as file:
        return bool(json.loads(saved.section("shared")) == shared_to_json(file))


def _jitted(saved: SavedFunction) -> Callable[..., Any]:
    names = [name for name, _ in saved.arguments]
    places = [index for index, name in enumerate(names[: saved.positional]) if name in saved.in_place]
    made = jit(saved, donate_argnums=places, donate_argnames=sorted(saved.in_place))
    vars(made)["__text_signature__"] = saved.shown  # for its repr
    return made


def _load_program(file: Path) -> Loaded:
    """A file of before libraries had structures, or of a GPU's program: its arguments are leaves."""
    data = file.read_bytes()
    if data[8:12] == b"\x01\0\0\0" and file.with_suffix(".constants.npz").exists():
        raise CorruptFileError(
            f"{file} was saved by a version that kept arrays in a second file, which may belong to another program\n"
            "  export the function again\n"
            "  see docs/errors.md#corrupt-file"
        )
    try:
        graph, constants = _core.load_program(data)
    except CorruptFileError as error:
        raise CorruptFileError(f"{file}: {error}") from None
    count = len(graph.in_avals) - len(constants)
    _, in_tree = flatten_arguments(((0.0,) * count, {}), file.stem)
    _, out_tree = flatten_arguments([0.0] * len(graph.out_avals) if len(graph.out_avals) != 1 else 0.0, file.stem)
    saved = {
        "name": file.stem,
        "in_tree": tree_to_json(in_tree),
        "out_tree": tree_to_json(out_tree),
        "arguments": [[f"argument {index}", 1] for index in range(count)],
        "in_place": [],
        "order": [f"argument {index}" for index in range(count)],
    }
    return Loaded(file, {file.stem: _jitted(SavedFunction(saved, graph, constants))}, native=False)


check_arguments(globals())


class _Module(types.ModuleType):
    @_core.leaving
    def __call__(self, *_: Any, **__: Any) -> Any:
        raise TypeError(
            "ct.export(f, x): ct.export is a module\n  write ct.export.compile(f, x, name='model').save('folder') for a C library"
        )


sys.modules[__name__].__class__ = _Module

suggest_names(globals())
