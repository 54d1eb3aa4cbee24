"""Functions as programs: `jit` and its stages.

``jit(f)(x)`` does in one go what ``jit(f).trace(x).lower().compile()(x)`` does step by step.
"""

from __future__ import annotations

import functools
import inspect
import operator
import sys
import types
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple, ParamSpec, TypeVar, overload

from cotangent import _core
from cotangent._base.arguments import check_arguments
from cotangent._base.capture import (
    ShapeDtypeStruct,
    aval_of,
    check_callable,
    flatten_arguments,
    function_name,
    structure_names,
    wraps,
)
from cotangent._base.device import backend_for, backend_of, backend_of_arrays, backends_for, one_backend
from cotangent._base.misplaced import Positions, check_positions
from cotangent._core import Array, Graph, JitFunction, PyTreeDef
from cotangent._transforms.jit_arguments import Arguments
from cotangent._transforms.lengths import Comparison, collect_comparisons
from cotangent._transforms.memory_limits import within_limit
from cotangent._transforms.ragged import held_results
from cotangent._transforms.sized import STATIC, capture_sized
from cotangent._transforms.stages import Lowered, Traced, _Call, captured_program

Function = Callable[..., Any]
P = ParamSpec("P")
R = TypeVar("R")


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
            raise ValueError(
                f"static arguments must be hashable; got a {type(value).__name__}"
                "\n  pass tuples instead of lists, or make the argument dynamic\n  see docs/errors.md#static-argument-not-hashable"
            ) from None

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
    """Captures the function for arguments like these, without computing anything.

    Parameters
    ----------
    *args : pytrees of arrays or ShapeDtypeStruct
        The positional arguments.
    **kwargs : pytrees of arrays or ShapeDtypeStruct
        The keyword arguments.

    Returns
    -------
    Traced
        The first stage: its ``ir`` is the program.

    Examples
    --------
    >>> ct.jit(lambda x: x + 1).trace(ct.ShapeDtypeStruct((3,), "float32")).out_info
    ShapeDtypeStruct(shape=(3,), dtype=float32)
    """
    return trace_call(self, args, kwargs)[0]


def _lower(self: JitFunction[..., Any], *args: Any, **kwargs: Any) -> Lowered:
    """Captures the function for arguments like these, and hands the program to the compiler: ``trace(*args).lower()``.

    Parameters
    ----------
    *args : pytrees of arrays or ShapeDtypeStruct
        The positional arguments.
    **kwargs : pytrees of arrays or ShapeDtypeStruct
        The keyword arguments.

    Returns
    -------
    Lowered
        Not compiled yet: ``compile()`` does that.

    Examples
    --------
    >>> float(ct.jit(lambda x: x + 1).lower(1.0).compile()(2.0))
    3.0
    """
    return _trace(self, *args, **kwargs).lower()


def _eval_shape(self: JitFunction[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Returns the shapes and dtypes of the output for arguments like these.

    Parameters
    ----------
    *args : pytrees of arrays or ShapeDtypeStruct
        The positional arguments.
    **kwargs : pytrees of arrays or ShapeDtypeStruct
        The keyword arguments.

    Returns
    -------
    pytree of ShapeDtypeStruct
        Of the structure of the output.

    Examples
    --------
    >>> ct.jit(lambda x: x.sum(axis=0)).eval_shape(np.ones((2, 3), np.float32))
    ShapeDtypeStruct(shape=(3,), dtype=float32)
    """
    return _trace(self, *args, **kwargs).out_info


_clear_entries = JitFunction.clear_cache


def _clear_cache(self: JitFunction[..., Any]) -> None:
    """Forgets every signature, so that the next call captures the function again.

    Returns
    -------
    None
        What was compiled is found again where the program is the same.

    Examples
    --------
    >>> scale = 2.0
    >>> f = ct.jit(lambda x: scale * x)
    >>> _ = f(1.0)
    >>> scale = 3.0
    >>> f.clear_cache()
    >>> float(f(1.0))
    3.0
    """
    _clear_entries(self)
    self._signatures.clear()


JitFunction.clear_cache = _clear_cache  # type: ignore[method-assign]
JitFunction.trace = _core.leaving(_trace)  # type: ignore[method-assign]
JitFunction.lower = _core.leaving(_lower)  # type: ignore[method-assign]
JitFunction.eval_shape = _core.leaving(_eval_shape)  # type: ignore[method-assign]

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

    try:
        graph, closure, _ = within_limit(
            lambda: capture_sized(captured, dynamic_fun, STATIC), lambda made: made[0], memory_limit, backend, name
        )
    except RecursionError as error:
        _note_recursion(error, fun)
        raise
    assert out_structure is not None
    avals = [source if isinstance(source, tuple) else aval_of(source) for source in sources]
    types = [ShapeDtypeStruct(shape, dtype, weak_type=weak) for shape, dtype, weak, *_ in avals]
    signatures.append(Signature(structure, types, static_args, static_kwargs))
    placeholders = out_structure.unflatten([0] * out_structure.num_leaves)
    return graph, closure, placeholders, compared


def _note_recursion(error: RecursionError, fun: Function) -> None:
    """Says of a jitted function that its own capture has called it again, if it has."""
    captures = 0
    frame: types.FrameType | None = sys._getframe(1)  # the error has lost the frames of the captures within
    while frame is not None:
        captures += frame.f_code is _trace_jit.__code__ and frame.f_locals["fun"] is fun
        frame = frame.f_back
    if captures > 1 and not hasattr(error, "__notes__"):
        error.add_note(
            f"  jit of {function_name(fun)}: it calls itself while it is captured, in a branch that is a part of the program, too\n"
            "  use ct.lax.while_loop or ct.lax.fori_loop, or make what ends the recursion a static argument\n"
            "  see docs/errors.md#recursion-through-jit"
        )


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
    static_argnums: Positions | None = None,
    static_argnames: str | Iterable[str] | None = None,
    donate_argnums: Positions | None = None,
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

    The first call of each combination captures the function, which runs its Python code once, on traced arrays, and
    compiles the program; later ones run the machine code. So the function must be pure: what it prints or appends
    happens at the first call, and what it reads from outside is what it was then. Values of traced arrays cannot steer
    Python (``if``, ``range``, ``int``): `lax.cond`, `lax.while_loop`, `numpy.where` and static arguments do. Results whose
    size only the data knows, as of ``x[x > 0]``, are `Ragged`.

    It nests in any order with `grad`, `vmap`, `mask` and itself; a jitted function inside of another becomes part of
    it. Besides being called, the result has ``trace``, ``lower`` and ``eval_shape``, which take the same arguments or
    `ShapeDtypeStruct`, ``clear_cache``, and the function itself as ``__wrapped__``.

    Parameters
    ----------
    fun : callable, optional
        A pure function of pytrees of arrays; without it a decorator is returned.
    static_argnums : int or sequence of int, optional
        Positions of arguments that are Python values, not arrays: part of the key, and hashable.
    static_argnames : str or iterable of str, optional
        The same by name.
    donate_argnums : int or sequence of int, optional
        Positions of arguments whose memory results may be written to. An array that was written over cannot be used
        again: that is a ``ValueError``. One that shares its memory, with a NumPy view say, is left alone.
    donate_argnames : str or iterable of str, optional
        The same by name. Where one of the two is given, an argument is donated by position and by keyword.
    keep_unused : bool, default False
        Accepted for compatibility: unused arguments cost nothing.
    device : Device, str or Sharding, optional
        One of `cotangent.devices`, for its backend.
    backend : str, optional
        Where the program runs, wherever its arguments are; without it, on the device where these are. ``"llvm"`` (also
        called ``"cpu"``), ``"interpreter"``, ``"cuda"`` (also called ``"gpu"``): kernels on NVIDIA's first GPU, where
        results stay (`device_put`), ``"cuda:1"`` and so on: those on the further ones; or ``"cuda-emulated"``: these
        kernels, run on the host for tests. The environment variable ``CT_DEVICE`` names the one of functions that name
        none.
    inline : bool, default False
        Accepted for compatibility: calls are always inlined before compiling.
    in_shardings, out_shardings : pytree of Device and Sharding, optional
        All of one device: the program runs there.
    compiler_options : dict, optional
        Must be empty.
    threads : int, default 0
        Calls of this function share their loops among at most this many threads; 0 means ``ct.config.read("threads")``.
        Results have the same bits for any number.
    memory_limit : int, optional
        How many bytes of temporary memory a call may use, arguments and results not counted. Every `vmap` in ``fun``
        without a ``chunk_size`` of its own is then computed in as few equal chunks as that takes, 1, 2, 4, …; so are
        the batches of `ct.per_example`. What is inside of a `vmap` is divided where single examples of the outer one
        are still too large. Each number of chunks is compiled until one fits. Reverse mode through chunks computes them
        again. Functions that are jitted are divided with what calls them, and the limit of the outermost one counts; a
        transform of the jitted function takes its chunks over, and may need more, so limit what is called:
        ``jit(grad(f), memory_limit=n)``.

    Returns
    -------
    JitFunction
        A callable of the arguments of ``fun`` that returns what it does: the same pytree, arrays in place of its
        leaves. Without ``fun``, a decorator.

    Raises
    ------
    ConcretizationError
        By a call: the function asks for the value of a traced array.
    MemoryLimitError
        By a call: it needs more temporary memory than ``memory_limit``, even one example at a time.
    ValueError
        An option asks for what there is not, or names an argument that the function has not; ``memory_limit`` or
        ``threads`` is negative. By a call: a static argument is not hashable.
    TypeError
        ``fun`` cannot be called, or is a generator function. By a call: an argument or a result is no array.
    DeviceError
        By a call: the GPU that it is compiled for is not there, or cannot be used.

    Examples
    --------
    >>> f = ct.jit(lambda x, y: {"sum": x + y, "product": x * y})
    >>> f(2.0, np.float32([1, 2]))
    {'product': Array([2., 4.], dtype=float32), 'sum': Array([3., 4.], dtype=float32)}
    >>> @ct.jit(static_argnames="n")
    ... def power(x, n):
    ...     result = x
    ...     for _ in range(n - 1):
    ...         result = result * x
    ...     return result
    >>> float(power(2.0, n=3))
    8.0
    """
    del inline, keep_unused
    placed = backends_for(in_shardings, "jit: in_shardings") | backends_for(out_shardings, "jit: out_shardings")
    if compiler_options:
        raise ValueError(
            f"jit takes no compiler options; got {sorted(compiler_options)}\n"
            "  leave them out: they are XLA's; jit has backend=, threads= and memory_limit="
        )
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
        raise ValueError(
            f"jit of {function_name(fun)}: threads={threads}\n  pass a number of threads, threads=1, or threads=0 for all"
        )
    if inspect.isgeneratorfunction(fun):
        raise TypeError(
            f"jit: {function_name(fun)} is a generator function, which runs only when it is iterated over\n"
            "  return a tuple or a list of arrays instead of yielding them"
        )
    check_positions("jit", fun, "static_argnums", static_argnums, "static_argnames")
    check_positions("jit", fun, "donate_argnums", donate_argnums, "donate_argnames")
    arguments = Arguments(fun)
    positions, names = arguments.static(static_argnums, static_argnames)
    donated, keywords = arguments.donated(donate_argnums, donate_argnames)
    for position in donated:
        if position in positions or position + len(arguments.positional) in positions:
            raise ValueError(
                f"jit of {function_name(fun)}: argument {position} is both static and donated\n"
                "  donate arrays alone: leave it out of donate_argnums"
            )
    if memory_limit is not None and memory_limit < 0:
        raise ValueError(
            f"jit of {function_name(fun)}: memory_limit={memory_limit}\n  pass a number of bytes, or memory_limit=None for no limit"
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
