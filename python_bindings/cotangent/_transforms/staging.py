"""Functions as programs: `jit` and its stages.

``jit(f)(x)`` does in one go what ``jit(f).trace(x).lower().compile()(x)`` does step by step.
"""

from __future__ import annotations

import functools
import inspect
import operator
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple, ParamSpec, TypeVar, overload

import numpy as np

from cotangent import _core
from cotangent._base.arguments import check_arguments
from cotangent._base.capture import (
    Captured,
    ShapeDtypeStruct,
    aval_of,
    capture,
    check_callable,
    flatten_arguments,
    function_name,
    keep_recipe,
    structure_names,
    wraps,
)
from cotangent._base.device import backend_for, backend_of, backend_of_arrays, backends_for, one_backend
from cotangent._core import Array, Executable, Graph, JitFunction, PyTreeDef
from cotangent._transforms.jit_arguments import Arguments
from cotangent._transforms.lengths import Comparison, collect_comparisons, compare
from cotangent._transforms.memory_limits import within_limit
from cotangent._transforms.ragged import held_results
from cotangent._transforms.sized import capture_sized

Function = Callable[..., Any]
P = ParamSpec("P")
R = TypeVar("R")

# ---- stages --------------------------------------------------------------------------------------------------------


def specs(structure: PyTreeDef, avals: Iterable[Any]) -> Any:
    return structure.unflatten([ShapeDtypeStruct(shape, dtype, weak_type=weak) for shape, dtype, weak in avals])


def _check_dialect(dialect: str | None, method: str) -> None:
    if dialect not in (None, "cotangent"):
        raise ValueError(
            f"lower().{method}(dialect={dialect!r}): there is no such text; programs are compiled from cotangent's own form by LLVM, "
            f"not by XLA\n  lower().{method}() is the program, lower().compile().as_text() the loops that are compiled"
        )


def _bytes(avals: Iterable[Any]) -> int:
    return sum(int(np.prod(shape, dtype=np.int64)) * dtype.itemsize for shape, dtype, _ in avals)


class _Call:
    """One signature of a function: the program, and how its arguments and results are made of arrays."""

    def __init__(
        self, name: str, captured: Captured, in_tree: PyTreeDef, backend: str, compared: Sequence[Comparison]
    ) -> None:
        self.name = name
        self.captured = captured
        self.in_tree = in_tree  # of (the arguments that are not static, keyword arguments)
        self.backend = backend
        self.compared = compared


class _Stage:
    """What all stages of a call know."""

    def __init__(self, call: _Call) -> None:
        self._call = call

    @property
    def in_tree(self) -> PyTreeDef:
        """The structure of ``(arguments, keyword arguments)``, without the static ones."""
        return self._call.in_tree

    @property
    def out_tree(self) -> PyTreeDef:
        """The structure of the output."""
        return self._call.captured.structure

    @property
    def args_info(self) -> Any:
        """Shapes and dtypes of ``(arguments, keyword arguments)``."""
        avals = self._call.captured.graph.in_avals
        return specs(self.in_tree, avals[: self.in_tree.num_leaves])

    @property
    def in_avals(self) -> Any:
        """The same under another name."""
        return self.args_info

    @property
    def out_info(self) -> Any:
        """Shapes and dtypes of the output."""
        return specs(self.out_tree, self._call.captured.graph.out_avals)

    @property
    def fun_name(self) -> str:
        """The name of the function."""
        return self._call.name


class Traced(_Stage):
    """A function captured for arguments of certain types: ``jit(f).trace(*args)``."""

    @property
    def ir(self) -> Graph:
        """The program."""
        return self._call.captured.graph

    @property
    def jaxpr(self) -> Graph:
        """The program, under the name that JAX has for it."""
        return self._call.captured.graph

    def lower(self, *, lowering_platforms: Sequence[str] | None = None) -> Lowered:
        """The next stage.

        Raises:
            ValueError: ``lowering_platforms`` names another platform than the one that programs are compiled for here, ``"cpu"``.
        """
        if lowering_platforms is not None and tuple(lowering_platforms) != ("cpu",):
            raise ValueError(
                f"lower: lowering_platforms={tuple(lowering_platforms)}; programs are compiled for ('cpu',)\n"
                "  ct.export writes programs for other processors"
            )
        return Lowered(self._call)


class Lowered(_Stage):
    """A program that is ready to be compiled: ``jit(f).lower(*args)``."""

    def as_text(self, dialect: str | None = None, *, debug_info: bool = False) -> str:
        """The program as text.

        Args:
            dialect: None or ``"cotangent"``: the form that `ct.ir.parse` reads; ``"ptx"``, or with another architecture than the
                oldest ``"ptx:sm_90"``: the kernels that are made of it for GPUs.

        Raises:
            ValueError: for any other ``dialect``: programs are not translated to those of other compilers.
            NotImplementedError: no kernel can be made of the program: it calls the host.
        """
        del debug_info
        if dialect is not None and dialect.partition(":")[0] == "ptx":
            return _core.ptx(self._call.captured.graph, dialect.partition(":")[2] or "sm_80")
        _check_dialect(dialect, "as_text")
        return self._call.captured.graph.text()

    def compiler_ir(self, dialect: str | None = None) -> Graph:
        """The program; ``dialect`` as for `as_text`."""
        _check_dialect(dialect, "compiler_ir")
        return self._call.captured.graph

    def compile(self, compiler_options: dict[str, Any] | None = None) -> Compiled:
        """Compiles it. There are no options: anything but None and an empty dict is a ``ValueError``."""
        if compiler_options:
            raise ValueError(f"lower().compile() takes no compiler options; got {sorted(compiler_options)}")
        return Compiled(self._call, _core.compile_graph(self._call.captured.graph, self._call.backend))


class Compiled(_Stage):
    """A compiled program: called with the arguments that are not static, of the very types it was made for."""

    def __init__(self, call: _Call, executable: Executable) -> None:
        super().__init__(call)
        self._executable = executable

    def __reduce__(self) -> Any:
        return _compiled_again, (self._call,)  # for the machine that reads it

    def as_text(self) -> str:
        """The loops that were compiled."""
        return self._executable.loop_text()

    def memory_analysis(self) -> dict[str, int]:
        """Bytes of arguments, results and temporary memory."""
        graph = self._call.captured.graph
        return {
            "argument_size_in_bytes": _bytes(graph.in_avals),
            "output_size_in_bytes": _bytes(graph.out_avals),
            "temp_size_in_bytes": self._executable.arena_bytes,
        }

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Runs the program. ``TypeError`` when the arguments are not those that it was compiled for."""
        call = self._call
        leaves, structure = flatten_arguments((args, kwargs), call.name)
        if structure != call.in_tree:
            raise TypeError(
                f"{call.name} was compiled for arguments of the structure {call.in_tree}; got {structure}\n"
                "  leave static arguments out: their values are part of the program"
            )
        for index, (leaf, expected) in enumerate(zip(leaves, call.captured.graph.in_avals, strict=False)):
            if _core.is_traced(leaf):
                raise TypeError(
                    f"{call.name} is compiled, so no transform can look into it: transform the function, then compile"
                )
            shape, dtype, _ = aval_of(leaf)
            if (shape, dtype) != (tuple(expected[0]), expected[1]):
                raise TypeError(
                    f"{call.name} was compiled for {expected[1]}{list(expected[0])} at {structure.paths()[index][1:]};"
                    f" got {dtype}{list(shape)}\n  call the jitted function, which compiles for every type"
                )
        compare(call.compared, leaves)
        return call.captured.structure.unflatten(self._executable(leaves + call.captured.closure))


def _compiled_again(call: _Call) -> Compiled:
    return Lowered(call).compile()


def captured_program(
    run: Function, leaves: Sequence[Any], structure: PyTreeDef, name: str, names: Sequence[str] | None = None
) -> Captured:
    """The program of a function, for a user to hold."""

    def captured_with(function: Function) -> Captured:
        return capture(function, leaves, structure, "jit", name=name, names=names)

    captured = capture_sized(captured_with, run)
    types = [ShapeDtypeStruct(shape, dtype, weak_type=weak) for shape, dtype, weak in map(aval_of, leaves)]

    def capture_again() -> Graph:
        return capture_sized(
            lambda function: capture(function, types, structure, "jit", name=name, names=names), run
        ).graph

    keep_recipe(captured.graph, capture_again)
    return captured


class Options(NamedTuple):
    """What `jit` was told."""

    static_positions: tuple[int, ...]
    static_names: tuple[str, ...]
    donated_positions: tuple[int, ...]
    donated_names: tuple[str, ...]
    backend: str
    threads: int
    memory_limit: int | None


class Signature(NamedTuple):
    """What a jitted function was called with, but for values of arrays."""

    structure: PyTreeDef  # of (arguments, keyword arguments), None for the static ones
    types: list[ShapeDtypeStruct]
    static_args: list[tuple[int, Any]]
    static_kwargs: dict[str, Any]

    def arguments(self) -> tuple[list[Any], dict[str, Any]]:
        """Those of `Traced`'s makers."""
        args, kwargs = self.structure.unflatten(self.types)
        args = list(args)
        for position, value in self.static_args:
            args[position] = value
        return args, {**kwargs, **self.static_kwargs}


class WithoutStatic(NamedTuple):
    """A call of a jitted function less its static arguments: what is called with the others, and these."""

    fun: Function
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    positions: list[int]  # of `args` among all positional arguments


def without_static(self: JitFunction[..., Any], args: Sequence[Any], kwargs: dict[str, Any]) -> WithoutStatic:
    """Takes the static arguments out of a call.

    Raises:
        ValueError: one cannot be hashed.
    """
    options: Options = self._options
    fun = self.__wrapped__
    fixed = {number % len(args) for number in options.static_positions if -len(args) <= number < len(args)}
    static = {name: value for name, value in kwargs.items() if name in options.static_names}
    for value in [args[number] for number in fixed] + list(static.values()):
        try:
            hash(value)
        except TypeError:
            raise ValueError(f"static arguments must be hashable; got a {type(value).__name__}") from None

    def call(*values: Any, **named: Any) -> Any:
        given = iter(values)
        positional = [args[i] if i in fixed else next(given) for i in range(len(args))]
        return fun(*positional, **named, **static)

    positions = [number for number in range(len(args)) if number not in fixed]
    keywords = {name: value for name, value in kwargs.items() if name not in static}
    return WithoutStatic(call, tuple(args[number] for number in positions), keywords, positions)


def trace_call(self: JitFunction[..., Any], args: Sequence[Any], kwargs: dict[str, Any]) -> tuple[Traced, list[Any]]:
    """The program of a jitted function for such arguments, and the leaves of those that are not static."""
    options: Options = self._options
    call, dynamic, keywords, _ = without_static(self, args, kwargs)
    compared: list[Comparison] = []

    def run(*values: Any, **named: Any) -> Any:
        nonlocal compared
        inputs = _core.tree_flatten((values, named))[0]
        result, compared = collect_comparisons(lambda: call(*values, **named), inputs)
        return result

    name = function_name(self.__wrapped__)
    leaves, structure = flatten_arguments((dynamic, keywords), name, described=True)
    names = structure_names(structure)
    backend = options.backend or backend_of_arrays(leaves)
    captured = within_limit(
        lambda: captured_program(run, leaves, structure, name, names),
        lambda made: made.graph,
        options.memory_limit,
        backend,
        name,
    )
    backend = _core.named_backend(captured.graph, options.backend, name) or backend
    return Traced(_Call(name, captured, structure, backend, compared)), leaves


def _trace(self: JitFunction[..., Any], *args: Any, **kwargs: Any) -> Traced:
    """The program for arguments like these (arrays or `ShapeDtypeStruct`), which are not computed with."""
    return trace_call(self, args, kwargs)[0]


def _lower(self: JitFunction[..., Any], *args: Any, **kwargs: Any) -> Lowered:
    """``trace(*args).lower()``."""
    return _trace(self, *args, **kwargs).lower()


def _eval_shape(self: JitFunction[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Shapes and dtypes of the output for arguments like these."""
    return _trace(self, *args, **kwargs).out_info


_clear_entries = JitFunction.clear_cache


def _clear_cache(self: JitFunction[..., Any]) -> None:
    """Forgets every signature."""
    _clear_entries(self)
    self._signatures.clear()


JitFunction.clear_cache = _clear_cache  # type: ignore[method-assign]
JitFunction.trace = _trace  # type: ignore[method-assign]
JitFunction.lower = _lower  # type: ignore[method-assign]
JitFunction.eval_shape = _eval_shape  # type: ignore[method-assign]

# ---- jit -----------------------------------------------------------------------------------------------------------


around_trace: Callable[[Function], Function] | None = None  # what is put around the capturing of a jitted function


def _trace_jit(
    fun: Function,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    sources: list[Any],
    static_args: list[tuple[int, Any]],
    static_kwargs: dict[str, Any],
    *,
    memory_limit: int | None,
    backend: str,
    signatures: list[Signature],
) -> tuple[Graph, list[Array], Any, list[Comparison]]:
    """What the jitted callable calls for a new signature: the program, what it closes over, a tree like its result, lengths to compare."""
    _, structure = _core.tree_flatten((args, kwargs), None)
    name = function_name(fun)
    out_structure: PyTreeDef | None = None
    compared: list[Comparison] = []

    @wraps(fun)
    def dynamic_fun(*dynamic: Any, **keywords: Any) -> Any:
        positional = list(dynamic)
        for position, value in static_args:
            positional[position] = value
        return fun(*positional, **{**keywords, **static_kwargs})

    def captured(function: Function) -> tuple[Graph, list[Array], Any]:
        def run(inputs: list[Array]) -> tuple[list[Any], None]:
            nonlocal out_structure, compared
            dynamic, keywords = structure.unflatten(inputs)
            result, compared = collect_comparisons(lambda: function(*dynamic, **keywords), inputs)
            if not _core.in_mask():
                result = held_results(result, (dynamic, keywords))
            out_leaves, out_structure = flatten_arguments(result, f"the output of {name}")
            return out_leaves, None

        return _core.capture(run, sources, structure_names(structure), "jit", name)

    graph, closure, _ = within_limit(
        lambda: capture_sized(captured, dynamic_fun), lambda made: made[0], memory_limit, backend, name
    )
    assert out_structure is not None
    avals = [source if isinstance(source, tuple) else aval_of(source) for source in sources]
    types = [ShapeDtypeStruct(shape, dtype, weak_type=weak) for shape, dtype, weak, *_ in avals]
    signatures.append(Signature(structure, types, static_args, static_kwargs))
    placeholders = out_structure.unflatten([0] * out_structure.num_leaves)
    return graph, closure, placeholders, compared


def _platform(backend: str | None, device: Any) -> str:
    """The compiler for what JAX calls a backend or a device.

    Where none is named it is empty: that of the device where the arrays among the arguments are, else of the default device.
    """
    if backend is not None:
        return backend_of(backend) or str(backend)
    return backend_for(device, "jit") or ""


@overload
def jit(
    fun: Callable[P, R],
    *,
    static_argnums: int | Sequence[int] | None = None,
    static_argnames: str | Iterable[str] | None = None,
    donate_argnums: int | Sequence[int] | None = None,
    donate_argnames: str | Iterable[str] | None = None,
    keep_unused: bool = False,
    device: Any = None,
    backend: str | None = None,
    inline: bool = False,
    in_shardings: Any = None,
    out_shardings: Any = None,
    compiler_options: dict[str, Any] | None = None,
    threads: int = 0,
    memory_limit: int | None = None,
) -> JitFunction[P, R]: ...


@overload
def jit(
    fun: None = None,
    *,
    static_argnums: int | Sequence[int] | None = None,
    static_argnames: str | Iterable[str] | None = None,
    donate_argnums: int | Sequence[int] | None = None,
    donate_argnames: str | Iterable[str] | None = None,
    keep_unused: bool = False,
    device: Any = None,
    backend: str | None = None,
    inline: bool = False,
    in_shardings: Any = None,
    out_shardings: Any = None,
    compiler_options: dict[str, Any] | None = None,
    threads: int = 0,
    memory_limit: int | None = None,
) -> Callable[[Callable[P, R]], JitFunction[P, R]]: ...


def jit(
    fun: Function | None = None,
    *,
    static_argnums: int | Sequence[int] | None = None,
    static_argnames: str | Iterable[str] | None = None,
    donate_argnums: int | Sequence[int] | None = None,
    donate_argnames: str | Iterable[str] | None = None,
    keep_unused: bool = False,
    device: Any = None,
    backend: str | None = None,
    inline: bool = False,
    in_shardings: Any = None,
    out_shardings: Any = None,
    compiler_options: dict[str, Any] | None = None,
    threads: int = 0,
    memory_limit: int | None = None,
) -> Any:
    """Compiles a function, once for every combination of argument structure, shapes, dtypes and static arguments.

    Args:
        fun: a pure function of pytrees of arrays; without it a decorator is returned.
        static_argnums: positions of arguments that are Python values, not arrays: part of the key, and hashable.
        static_argnames: the same by name.
        donate_argnums: positions of arguments whose memory results may be written to. An array that was written over cannot be used
            again: that is a ``ValueError``. One that shares its memory, with a NumPy view say, is left alone.
        donate_argnames: the same by name. Where one of the two is given, an argument is donated by position and by keyword.
        keep_unused: whether unused arguments are part of the compiled program; unused arguments cost nothing.
        device: one of `cotangent.devices`, for its backend.
        backend: where the program runs, wherever its arguments are; without it, on the device where these are. ``"llvm"`` (also called
            ``"cpu"``), ``"interpreter"``, ``"cuda"`` (also called ``"gpu"``): kernels on NVIDIA's first GPU, where results stay
            (`device_put`), ``"cuda:1"`` and so on: those on the further ones; or ``"cuda-emulated"``: these kernels, run on the host for
            tests. The environment variable ``CT_DEVICE`` names the one of functions that name none.
        inline: whether calls of it are inlined; calls are always inlined before compiling.
        in_shardings: None, or devices and shardings in any tree, of one device: the program runs there. The same for ``out_shardings``.
        compiler_options: must be empty.
        threads: calls of this function share their loops among at most this many threads; 0 means ``ct.config.read("threads")``. Results
            have the same bits for any number.
        memory_limit: how many bytes of temporary memory a call may use, arguments and results not counted. Every `vmap` in ``fun`` without a
            ``chunk_size`` of its own is then computed in as few equal chunks as that takes, 1, 2, 4, …; so are the batches of
            `ct.per_example`. What is inside of a `vmap` is divided where single examples of the outer one are still too large. Each number
            of chunks is compiled until one fits. Reverse mode through chunks computes them again. Functions that are jitted are divided
            with what calls them, and the limit of the outermost one counts; a transform of the jitted function takes its chunks over,
            and may need more, so limit what is called: ``jit(grad(f), memory_limit=n)``.

    Raises:
        MemoryLimitError: a call needs more temporary memory than ``memory_limit``, even one example at a time.
        ValueError: an option asks for what there is not, or names an argument that the function has not; ``memory_limit`` is negative.

    Besides being called, the result has ``trace``, ``lower`` and ``eval_shape``, which take the same arguments or `ShapeDtypeStruct`,
    ``clear_cache``, and the function itself as ``__wrapped__``.

    >>> import cotangent as ct
    >>> float(ct.jit(lambda x: x + 1)(2.0))
    3.0
    """
    del inline, keep_unused
    placed = backends_for(in_shardings, "jit: in_shardings") | backends_for(out_shardings, "jit: out_shardings")
    if compiler_options:
        raise ValueError(f"jit takes no compiler options; got {sorted(compiler_options)}")
    compiler = one_backend(_platform(backend, device), placed, "jit")
    if fun is None:
        return functools.partial(
            jit,
            static_argnums=static_argnums,
            static_argnames=static_argnames,
            donate_argnums=donate_argnums,
            donate_argnames=donate_argnames,
            backend=compiler,
            threads=threads,
            memory_limit=memory_limit,
        )
    check_callable(fun, "jit")
    if operator.index(threads) < 0:
        raise ValueError(f"jit of {function_name(fun)}: threads={threads}; pass a number of threads, or 0 for all")
    if inspect.isgeneratorfunction(fun):
        raise TypeError(f"jit: {function_name(fun)} is a generator function, which runs only when it is iterated over")
    arguments = Arguments(fun)
    positions, names = arguments.static(static_argnums, static_argnames)
    donated, keywords = arguments.donated(donate_argnums, donate_argnames)
    for position in donated:
        if position in positions or position + len(arguments.positional) in positions:
            raise ValueError(f"jit of {function_name(fun)}: argument {position} is both static and donated")
    if memory_limit is not None and memory_limit < 0:
        raise ValueError(
            f"jit of {function_name(fun)}: memory_limit={memory_limit}; pass a number of bytes, or None for no limit"
        )
    options = Options(
        tuple(sorted(set(positions))),
        tuple(sorted(set(names))),
        tuple(sorted(set(donated))),
        tuple(sorted(set(keywords))),
        compiler,
        operator.index(threads),
        memory_limit,
    )
    return jitted_with(fun, options)


def jitted_with(fun: Function, options: Options) -> JitFunction[..., Any]:
    """A jitted function, of options that `jit` has looked at."""
    signatures: list[Signature] = []
    trace = functools.partial(
        _trace_jit if around_trace is None else around_trace(_trace_jit),
        memory_limit=options.memory_limit,
        backend=options.backend or "llvm",
        signatures=signatures,
    )
    jitted = _core.make_jit(
        fun,
        trace,
        list(options.static_positions),
        list(options.static_names),
        list(options.donated_positions),
        list(options.donated_names),
        function_name(fun),
        options.backend,
        options.threads,
    )
    wraps(fun)(jitted)
    jitted._options = options
    jitted._signatures = signatures
    return jitted


check_arguments(globals())
