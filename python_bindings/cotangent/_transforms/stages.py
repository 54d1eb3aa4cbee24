"""The stages of a jitted function's call: captured (`Traced`), handed to the compiler (`Lowered`), compiled (`Compiled`)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from cotangent import _core
from cotangent._base.arguments import leaving_methods
from cotangent._base.capture import Captured, ShapeDtypeStruct, aval_of, capture, flatten_arguments, keep_recipe
from cotangent._core import Executable, Graph, PyTreeDef
from cotangent._transforms.lengths import Comparison, compare
from cotangent._transforms.sized import capture_sized

Function = Callable[..., Any]


def specs(structure: PyTreeDef, avals: Iterable[Any]) -> Any:
    return structure.unflatten([ShapeDtypeStruct(shape, dtype, weak_type=weak) for shape, dtype, weak in avals])


def _check_dialect(dialect: str | None, method: str) -> None:
    if dialect not in (None, "cotangent"):
        raise ValueError(
            f"lower().{method}(dialect={dialect!r}): there is no such text; programs are compiled from cotangent's own form by LLVM, "
            f"not by XLA\n  lower().{method}() is the program, lower().compile().as_text() the loops that are compiled"
        )


class MemoryAnalysis(dict[str, int]):
    """Bytes by what they are for: as items, and as attributes of the same names.

    Examples
    --------
    >>> used = ct.jit(lambda x: x * 2).lower(ct.ShapeDtypeStruct((10,), "float32")).compile().memory_analysis()
    >>> used.output_size_in_bytes == used["output_size_in_bytes"] == 40
    True
    """

    def __getattr__(self, name: str) -> int:
        if name in self:
            return self[name]
        raise AttributeError(f"a memory analysis has no {name!r}\n  it has {', '.join(self)}")


def _costs(graph: Graph) -> dict[str, float]:
    groups = _core.describe_graph(graph)["groups"]
    accessed = sum(group["bytes_read"] + group["bytes_written"] for group in groups)
    return {"flops": float(sum(group["operations"] for group in groups)), "bytes accessed": float(accessed)}


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


@leaving_methods
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


@leaving_methods
class Traced(_Stage):
    """A function captured for arguments of certain types: ``jit(f).trace(*args)``.

    Parameters
    ----------
    call : object
        What the jitted function knows of the call; its methods make these objects.

    Examples
    --------
    >>> traced = ct.jit(lambda x: x + 1).trace(ct.ShapeDtypeStruct((3,), "float32"))
    >>> traced.out_info, traced.fun_name
    (ShapeDtypeStruct(shape=(3,), dtype=float32), '<lambda>')
    """

    @property
    def ir(self) -> Graph:
        """The program."""
        return self._call.captured.graph

    @property
    def jaxpr(self) -> Graph:
        """The program, under the name that JAX has for it."""
        return self._call.captured.graph

    def lower(self, *, lowering_platforms: Sequence[str] | None = None) -> Lowered:
        """Returns the next stage: the program as the compiler gets it.

        Parameters
        ----------
        lowering_platforms : sequence of str, optional
            Only ``("cpu",)``.

        Returns
        -------
        Lowered
            Of the same program.

        Raises
        ------
        ValueError
            ``lowering_platforms`` names another platform than the one that programs are compiled for here, ``"cpu"``.

        Examples
        --------
        >>> lowered = ct.jit(lambda x: x + 1).trace(1.0).lower()
        >>> float(lowered.compile()(2.0))
        3.0
        """
        if lowering_platforms is not None and tuple(lowering_platforms) != ("cpu",):
            raise ValueError(
                f"lower: lowering_platforms={tuple(lowering_platforms)}; programs are compiled for ('cpu',)\n"
                "  ct.export writes programs for other processors"
            )
        return Lowered(self._call)


@leaving_methods
class Lowered(_Stage):
    """A program that is ready to be compiled: ``jit(f).lower(*args)``.

    Parameters
    ----------
    call : object
        What the jitted function knows of the call; its methods make these objects.

    Examples
    --------
    >>> lowered = ct.jit(lambda x: x + 1).lower(ct.ShapeDtypeStruct((3,), "float32"))
    >>> lowered.in_tree
    PyTreeDef(((*,), {}))
    """

    def as_text(self, dialect: str | None = None, *, debug_info: bool = False) -> str:
        """Returns the program as text.

        Parameters
        ----------
        dialect : str, optional
            None or ``"cotangent"``: the form that `ct.ir.parse` reads; ``"ptx"``, or with another architecture than the
            oldest ``"ptx:sm_90"``: the kernels that are made of it for GPUs.
        debug_info : bool, default False
            Accepted for compatibility: the text always has the user's lines.

        Returns
        -------
        str
            One operation a line.

        Raises
        ------
        ValueError
            For any other ``dialect``: programs are not translated to those of other compilers.
        NotImplementedError
            No kernel can be made of the program: it calls the host.

        Examples
        --------
        >>> print(ct.jit(lambda x: x + 1).lower(1.0).as_text())
        graph (...
        """
        del debug_info
        if dialect is not None and dialect.partition(":")[0] == "ptx":
            return _core.ptx(self._call.captured.graph, dialect.partition(":")[2] or "sm_80")
        _check_dialect(dialect, "as_text")
        return self._call.captured.graph.text()

    def compiler_ir(self, dialect: str | None = None) -> Graph:
        """Returns the program as a graph.

        Parameters
        ----------
        dialect : str, optional
            None or ``"cotangent"``.

        Returns
        -------
        Graph
            See `cotangent.ir`.

        Raises
        ------
        ValueError
            For any other ``dialect``: programs are not translated to those of other compilers.

        Examples
        --------
        >>> ct.jit(lambda x: x + 1).lower(1.0).compiler_ir().num_inputs
        1
        """
        _check_dialect(dialect, "compiler_ir")
        return self._call.captured.graph

    def cost_analysis(self) -> dict[str, float]:
        """Returns what a call computes, and how much memory it reads and writes.

        Returns
        -------
        dict
            ``"flops"``: operations with elements of arrays, where a loop whose end is not known counts as one iteration; and
            ``"bytes accessed"``, of arrays that have memory. `ct.explain` tells them apart.

        Examples
        --------
        >>> ct.jit(lambda x: x + 1).lower(ct.ShapeDtypeStruct((8,), "float32")).cost_analysis()
        {'flops': 8.0, 'bytes accessed': 64.0}
        """
        return _costs(self._call.captured.graph)

    def compile(self, compiler_options: dict[str, Any] | None = None) -> Compiled:
        """Compiles the program.

        Parameters
        ----------
        compiler_options : dict, optional
            Must be empty.

        Returns
        -------
        Compiled
            It is called with the arguments that are not static, of the types that it was made for.

        Raises
        ------
        ValueError
            There are options.

        Examples
        --------
        >>> compiled = ct.jit(lambda x: x * 2).lower(ct.ShapeDtypeStruct((2,), "float32")).compile()
        >>> compiled(np.float32([1, 2])).tolist()
        [2.0, 4.0]
        """
        if compiler_options:
            raise ValueError(
                f"lower().compile() takes no compiler options; got {sorted(compiler_options)}\n  leave them out: they are XLA's"
            )
        return Compiled(self._call, _core.compile_graph(self._call.captured.graph, self._call.backend))


@leaving_methods
class Compiled(_Stage):
    """A compiled program: called with the arguments that are not static, of the very types it was made for.

    Parameters
    ----------
    call : object
        What the jitted function knows of the call.
    executable : object
        Its machine code.

    Examples
    --------
    >>> compiled = ct.jit(lambda x, n: x**n, static_argnums=1).lower(3.0, 2).compile()
    >>> float(compiled(4.0))
    16.0
    """

    def __init__(self, call: _Call, executable: Executable) -> None:
        super().__init__(call)
        self._executable = executable

    def __reduce__(self) -> Any:
        return _compiled_again, (self._call,)  # for the machine that reads it

    def as_text(self) -> str:
        """Returns the loops that were compiled, as text.

        Returns
        -------
        str
            One statement a line.

        Examples
        --------
        >>> text = ct.jit(lambda x: x + 1).lower(np.ones(3, np.float32)).compile().as_text()
        >>> "store" in text
        True
        """
        return self._executable.loop_text()

    def cost_analysis(self) -> dict[str, float]:
        """Returns what a call computes, and how much memory it reads and writes, as `Lowered.cost_analysis` does.

        Returns
        -------
        dict
            ``"flops"``: operations with numbers, and ``"bytes accessed"``.

        Examples
        --------
        >>> compiled = ct.jit(lambda x: x @ x).lower(ct.ShapeDtypeStruct((8, 8), "float32")).compile()
        >>> compiled.cost_analysis()["flops"]
        1024.0
        """
        return _costs(self._call.captured.graph)

    def memory_analysis(self) -> MemoryAnalysis:
        """Returns how much memory a call needs.

        Returns
        -------
        dict
            ``"argument_size_in_bytes"``, ``"output_size_in_bytes"`` and ``"temp_size_in_bytes"``, ints; attributes of these names
            are the same.

        Examples
        --------
        >>> compiled = ct.jit(lambda x: x * 2).lower(ct.ShapeDtypeStruct((10,), "float32")).compile()
        >>> compiled.memory_analysis()["argument_size_in_bytes"]
        40
        """
        graph = self._call.captured.graph
        return MemoryAnalysis(
            argument_size_in_bytes=_bytes(graph.in_avals),
            output_size_in_bytes=_bytes(graph.out_avals),
            temp_size_in_bytes=self._executable.arena_bytes,
        )

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Runs the program.

        Parameters
        ----------
        *args : pytrees of arrays
            The positional arguments that are not static.
        **kwargs : pytrees of arrays
            The keyword arguments that are not static.

        Returns
        -------
        pytree of arrays
            What the function returns.

        Raises
        ------
        TypeError
            The arguments are not those that it was compiled for, or are traced: transform the function, then compile.

        Examples
        --------
        >>> compiled = ct.jit(lambda x, *, scale: x * scale).lower(1.0, scale=2.0).compile()
        >>> float(compiled(3.0, scale=4.0))
        12.0
        """
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
                    f"{call.name} is compiled, so no transform can look into it\n"
                    "  transform the function, then compile: ct.jit(ct.grad(f)).lower(x).compile()"
                )
            shape, dtype, _ = aval_of(leaf)
            if (shape, dtype) != (tuple(expected[0]), expected[1]):
                raise TypeError(
                    f"{call.name} was compiled for {expected[1]}{list(expected[0])} at argument {structure.paths()[index][3:]};"
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
