"""Where the time of a program goes (`profile`), and what the compiler made of it (`explain`)."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any

from cotangent import _core
from cotangent._base.arguments import check_arguments
from cotangent._base.assembler import Registers, registers
from cotangent._base.capture import (
    Captured,
    ShapeDtypeStruct,
    capture,
    check_callable,
    flatten_arguments,
    function_name,
    transformed,
)
from cotangent._base.device import backend_of_arrays
from cotangent._core import Executable, Graph, JitFunction
from cotangent._transforms.sized import capture_sized
from cotangent._transforms.staging import trace_call
from cotangent.ir import Equation, equations

__all__ = ["Contraction", "Explanation", "Group", "Node", "Profile", "Step", "Stored", "explain", "profile"]


@dataclass(frozen=True)
class Group:
    """Operations that became one piece of code.

    Attributes
    ----------
    name : str
        The primitives, the type of the result and the user's line; those of several loops where loops were merged. Of a
        step of a GPU, all that it computes, or what else it does.
    bytes_read : int
        Of arrays in memory, each element once.
    bytes_written : int
        The same.
    flops : float
        Floating-point operations; what transcendental functions are expanded to is counted.
    seconds : tuple of float, ...
        Of each run; empty in an explanation.
    starts : tuple of float, ...
        When each run reached it.

    Examples
    --------
    >>> report = ct.explain(lambda x: x + 1)(np.ones(3, np.float32))
    >>> report.groups[0].bytes_read, report.groups[0].bytes_written
    (12, 12)
    """

    name: str
    bytes_read: int
    bytes_written: int
    flops: float
    seconds: tuple[float, ...] = ()
    starts: tuple[float, ...] = ()

    @property
    def least_seconds(self) -> float:
        """Of a run."""
        return min(self.seconds, default=0.0)


@dataclass(frozen=True)
class Node:
    """One equation of the captured graph, also of its loops and branches: what it would do if nothing were fused.

    Attributes
    ----------
    name : str
        The primitive and the type of its result.
    location : str
        The user's line.
    times : int
        How often loops run it; those whose number of steps only the data knows count once, branches each once.
    bytes : int
        Of operands and results, all times together.
    flops : float
        Of products, their multiplications and additions; of anything else one for each element of the result; all times
        together.

    Examples
    --------
    >>> report = ct.profile(lambda x: x @ x, runs=1)(np.ones((4, 4), np.float32))
    >>> report.nodes[0].flops, report.nodes[0].bytes
    (128.0, 192)
    """

    name: str
    location: str
    times: int
    bytes: int
    flops: float


@dataclass(frozen=True)
class Stored:
    """A variable that has memory of its own, and why it is not computed where it is wanted.

    Attributes
    ----------
    name : str
        Its operation.
    bytes : int
        Its size.
    reason : str
        Why it is stored.

    Examples
    --------
    >>> report = ct.explain(lambda x: x + 1)(np.ones(3, np.float32))
    >>> report.stored[0].bytes, report.stored[0].reason
    (12, 'it is a result')
    """

    name: str
    bytes: int
    reason: str


@dataclass(frozen=True)
class Contraction:
    """A sum of products that is evaluated in another order than it is written.

    So what is larger than its factors is not stored.

    Attributes
    ----------
    name : str
        The operation that it ends in, and the line.
    formula : str
        The longest of its terms, in the notation of ``einsum``; ``1[tv]`` is 1 where integers along ``t`` are ``v``.
    flops : float
        Floating-point operations.
    blocks : int
        How many pieces the longest term is made in.
    bytes_avoided : int
        Of values that are not stored. Where several contractions share them, the first one has them.

    Examples
    --------
    >>> loss = lambda w, x: (x @ w).sum() ** 2
    >>> report = ct.explain(ct.per_example.norms(loss))(np.ones((64, 64), np.float32), np.ones((8, 4, 64), np.float32))
    >>> len(report.contractions)
    1
    """

    name: str
    formula: str
    flops: float
    blocks: int
    bytes_avoided: int


def _quantity(value: float, unit: str) -> str:
    for factor, prefix in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= factor:
            return f"{value / factor:.3g} {prefix}{unit}"
    return f"{value:.3g} {unit}"


def _microseconds(seconds: float) -> str:
    return f"{seconds * 1e6:,.1f} µs"


def _shorter(name: str, width: int = 110) -> str:
    return name if len(name) <= width else name[: width - 1] + "…"


@dataclass(frozen=True)
class Profile:
    """What `profile` measured. Printing it shows a table.

    Attributes
    ----------
    name : str
        Of the function.
    result : object
        What the function returned.
    seconds : float
        The least time of a run of the compiled program.
    runs : tuple of float, ...
        The time of each run.
    stages : tuple of tuple[str, float], ...
        Of compiling: pairs of name and seconds.
    groups : tuple of Group, ...
        Of operations that became one piece of code, in order.
    nodes : tuple of Node, ...
        The equations of the captured graph, with what each would read, write and compute by itself.

    Examples
    --------
    >>> report = ct.profile(lambda x: x.sum(), runs=2)(np.ones(3, np.float32))
    >>> float(report.result), len(report.runs)
    (3.0, 2)
    """

    name: str
    result: Any
    seconds: float
    runs: tuple[float, ...]
    stages: tuple[tuple[str, float], ...]
    groups: tuple[Group, ...]
    nodes: tuple[Node, ...]

    def __str__(self) -> str:
        compiling = sum(seconds for _, seconds in self.stages)
        lines = [f"{self.name}: {_microseconds(self.seconds)} a run; compiled in {compiling * 1e3:.1f} ms"]
        lines += [f"  {_microseconds(seconds):>14}  {name}" for name, seconds in self.stages]
        lines.append("groups: time, memory traffic, arithmetic")
        for group in self.groups:
            seconds = max(group.least_seconds, 1e-9)
            traffic = group.bytes_read + group.bytes_written
            lines.append(
                f"  {_microseconds(group.least_seconds):>14}  {_quantity(traffic, 'B'):>9} at {_quantity(traffic / seconds, 'B/s'):>11}"
                f"  {_quantity(group.flops, 'FLOP'):>11} at {_quantity(group.flops / seconds, 'FLOP/s'):>12}  {_shorter(group.name)}"
            )
        lines.append("operations before they are fused, the most arithmetic first")
        for node in sorted(self.nodes, key=lambda node: -node.flops)[:20]:
            times = f" {node.times} times" if node.times != 1 else ""
            lines.append(
                f"  {_quantity(node.flops, 'FLOP'):>14}  {_quantity(node.bytes, 'B'):>9}  {node.name}{times}  {node.location}".rstrip()
            )
        return "\n".join(lines)

    def trace(self) -> dict[str, Any]:
        """Returns the compile stages and the last run's groups as trace events, which Perfetto (ui.perfetto.dev) shows.

        Returns
        -------
        dict
            To be written as JSON.

        Examples
        --------
        >>> report = ct.profile(lambda x: x + 1, runs=1)(np.ones(3, np.float32))
        >>> "traceEvents" in report.trace()
        True
        """
        events: list[dict[str, Any]] = []
        rows = ["compile", "run"]
        for thread, row in enumerate(rows):
            events.append({"ph": "M", "name": "thread_name", "pid": 1, "tid": thread, "args": {"name": row}})

        def event(row: int, name: str, start: float, seconds: float, **details: Any) -> None:
            events.append(
                {
                    "ph": "X",
                    "name": name,
                    "pid": 1,
                    "tid": row,
                    "ts": start * 1e6,
                    "dur": seconds * 1e6,
                    "args": details,
                }
            )

        now = 0.0
        for name, seconds in self.stages:
            event(0, name, now, seconds)
            now += seconds
        for group in self.groups:
            if group.seconds:
                details = {
                    "bytes_read": group.bytes_read,
                    "bytes_written": group.bytes_written,
                    "flops": group.flops,
                }
                event(1, group.name, now + group.starts[-1], group.seconds[-1], **details)
        return {"traceEvents": events, "displayTimeUnit": "ns"}

    def save_trace(self, path: Any) -> None:
        """Writes `trace` as JSON.

        Parameters
        ----------
        path : str or path
            The file.

        Examples
        --------
        >>> import tempfile
        >>> report = ct.profile(lambda x: x + 1, runs=1)(np.ones(3, np.float32))
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     report.save_trace(folder + "/trace.json")
        """
        with open(path, "w", encoding="utf-8") as file:  # noqa: PTH123 (pathlib costs import time)
            json.dump(self.trace(), file)


@dataclass(frozen=True)
class Step:
    """What a GPU does for a program between two others.

    A launch of a kernel, a copy, a call of the host; or a loop or branch of such.

    Attributes
    ----------
    depth : int
        In how many loops and branches of steps it is.
    name : str
        What the kernel computes: names of groups; or what else is done.
    blocks : int
        Of the kernel's grid; 0 for what is no kernel. With one block all of it is done by 256 threads that wait for
        each other: small programs are, with their loops. Large independent loops and products are spread over the GPU.
    threads : int
        Of a block.
    shared_bytes : int
        Of memory that the threads of a block share.
    bytes : int
        Of the arguments and results that the kernel is given.
    registers : int or None
        Of a thread, as ``ptxas`` assembles the kernel; None where that is not known.
    spilled_bytes : int
        Of what a thread stores in memory because it has no more registers.

    Examples
    --------
    >>> report = ct.explain(ct.jit(lambda x: x + 1, backend="cuda-emulated"))(np.ones(3, np.float32))
    >>> report.steps[0].depth, report.steps[0].blocks
    (0, 1)
    """

    depth: int
    name: str
    blocks: int
    threads: int
    shared_bytes: int
    bytes: int
    registers: int | None = None
    spilled_bytes: int = 0

    def __str__(self) -> str:
        if self.blocks == 0:
            return f"{self.name}"
        shared = f", {_quantity(self.shared_bytes, 'B')} shared" if self.shared_bytes else ""
        taken = f", {self.registers} registers" if self.registers is not None else ""
        spilled = f", {_quantity(self.spilled_bytes, 'B')} spilled" if self.spilled_bytes else ""
        grid = f"{self.blocks} block{'s' if self.blocks > 1 else ''} of {self.threads} threads{taken}{spilled}{shared}"
        return f"kernel of {grid}, arrays of {_quantity(self.bytes, 'B')}: {self.name or 'moves numbers'}"


@dataclass(frozen=True)
class Explanation:
    """What the compiler makes of a function. Printing it shows all of it.

    Attributes
    ----------
    groups : tuple of Group, ...
        Of operations that become one piece of code, with what each reads, writes and computes.
    stored : tuple of Stored, ...
        The variables with memory of their own, with the reason why each is not fused into those that use it.
    scratch_bytes : int
        Memory for temporaries, which share it where they are not wanted at once.
    contractions : tuple of Contraction, ...
        Sums of products in another order than they are written.
    loops : str
        The program as loops, text.

    Examples
    --------
    >>> report = ct.explain(lambda x: ct.numpy.exp(x) + 1)(np.ones(3, np.float32))
    >>> len(report.groups), report.scratch_bytes
    (1, 0)
    """

    name: str
    groups: tuple[Group, ...]
    stored: tuple[Stored, ...]
    scratch_bytes: int
    contractions: tuple[Contraction, ...]
    loops: str
    _list_steps: Callable[[], tuple[tuple[Step, ...], str]] = field(default=lambda: ((), ""), repr=False, compare=False)

    @cached_property
    def _listed_steps(self) -> tuple[tuple[Step, ...], str]:
        return self._list_steps()

    @property
    def steps(self) -> tuple[Step, ...]:
        """Of a GPU, in order; none where the program runs on the processor. Who asks first waits for ``ptxas``, where that is installed."""
        return self._listed_steps[0]

    @property
    def unknown_registers(self) -> str:
        """Why the registers of kernels are not known, where they are not."""
        return self._listed_steps[1]

    def __str__(self) -> str:
        lines = [f"{self.name}: {len(self.groups)} groups, {_quantity(self.scratch_bytes, 'B')} of scratch memory"]
        for group in self.groups:
            lines.append(
                f"  reads {_quantity(group.bytes_read, 'B')}, writes {_quantity(group.bytes_written, 'B')}, "
                f"{_quantity(group.flops, 'FLOP')}: {group.name}"
            )
        if self.contractions:
            lines.append("products in another order than they are written")
            for made in self.contractions:
                blocks = f", in {made.blocks} blocks" if made.blocks > 1 else ""
                avoided = f", {_quantity(made.bytes_avoided, 'B')} not stored" if made.bytes_avoided else ""
                lines.append(f"  {made.formula}, {_quantity(made.flops, 'FLOP')}{blocks}{avoided}: {made.name}")
        if self.steps:
            unknown = (
                f"; registers of kernels are not known: {self.unknown_registers}" if self.unknown_registers else ""
            )
            lines.append(f"steps of the GPU{unknown}")
            lines += [f"  {'  ' * step.depth}{step}" for step in self.steps]
        lines.append("variables with memory of their own, and why they are not fused away")
        lines += [f"  {_quantity(one.bytes, 'B'):>9}  {one.name}: {one.reason}" for one in self.stored]
        return "\n".join(lines)


def _groups(entries: Sequence[dict[str, Any]]) -> tuple[Group, ...]:
    return tuple(
        Group(
            entry["name"],
            entry["bytes_read"],
            entry["bytes_written"],
            entry["operations"],
            tuple(entry["seconds"]),
            tuple(entry["starts"]),
        )
        for entry in entries
    )


def _bytes(types: Sequence[ShapeDtypeStruct]) -> int:
    return sum(one.size * one.dtype.itemsize for one in types)


def _flops(eqn: Equation) -> float:
    results = sum(one.size for one in eqn.out_types)
    if eqn.primitive != "dot_general":
        return results
    contracted = eqn.attributes["lhs_contract"]
    return 2.0 * results * float(math.prod(eqn.in_types[0].shape[axis] for axis in contracted))


def _nodes(graph: Graph, times: int = 1) -> Iterator[Node]:
    """The equations that have no sub-graphs, and those in the sub-graphs of the others, as often as they run."""
    for eqn in equations(graph):
        if eqn.subgraphs:
            for inner in eqn.subgraphs:
                yield from _nodes(inner, times * eqn.attributes.get("length", 1))
            continue
        name = f"{eqn.primitive} -> {', '.join(f'{one.dtype}{list(one.shape)}' for one in eqn.out_types)}"
        moved = _bytes(eqn.in_types) + _bytes(eqn.out_types)
        yield Node(name, eqn.location, times, times * moved, times * _flops(eqn))


def _captured(fun: Callable[..., Any], args: Any, kwargs: Any) -> tuple[Captured, list[Any], str]:
    """The program, the leaves of its arguments, and the back end that it is for."""
    if isinstance(fun, JitFunction):
        traced, leaves = trace_call(fun, args, kwargs)
        return traced._call.captured, leaves, traced._call.backend
    leaves, structure = flatten_arguments((args, kwargs), function_name(fun))
    name = function_name(fun)
    captured = capture_sized(lambda function: capture(function, leaves, structure, "jit", name=name), fun)
    return captured, leaves, _core.named_backend(captured.graph, "", name) or backend_of_arrays(leaves)


def profile(fun: Callable[..., Any], *, runs: int = 10) -> Callable[..., Profile]:
    """Makes a function that compiles a function, runs it, and tells where the time went.

    Parameters
    ----------
    fun : callable
        A function of pytrees of arrays, jitted or not.
    runs : int, default 10
        How often the program runs; least times are shown.

    Returns
    -------
    callable
        A function that returns a `Profile`: the time of every stage of compiling; time, bytes and floating-point
        operations of every group of fused operations; bytes and floating-point operations of every operation of the
        function; a trace for Perfetto. What runs is the compiled program, with its memory and time. On a GPU the groups
        are its steps, timed by its own clock.

    Examples
    --------
    >>> import cotangent.numpy as cnp
    >>> report = ct.profile(lambda x: cnp.sum(cnp.exp(x) * x), runs=2)(cnp.ones(1000))
    >>> round(float(report.result))
    2718
    >>> [group.bytes_read for group in report.groups if "reduce_sum" in group.name]
    [4000]
    """
    check_callable(fun, "profile")
    if runs < 1:
        raise ValueError(f"profile needs at least one run, got runs={runs}\n  pass runs=1, or leave it out for 10")

    @transformed(fun)
    def profiled(*args: Any, **kwargs: Any) -> Profile:
        captured, leaves, backend = _captured(fun, args, kwargs)
        inputs = [_core.peek(leaf) for leaf in [*leaves, *captured.closure]]
        measured = _core.profile_graph(captured.graph, backend, inputs, runs)
        return Profile(
            function_name(fun),
            captured.structure.unflatten(measured["outputs"]),
            min(measured["seconds"]),
            tuple(measured["seconds"]),
            tuple(measured["stages"]),
            _groups(measured["groups"]),
            tuple(_nodes(captured.graph)),
        )

    return profiled


def explain(fun: Callable[..., Any]) -> Callable[..., Explanation]:
    """Makes a function that says what the compiler makes of a function, without running it.

    Parameters
    ----------
    fun : callable
        A function of pytrees of arrays, jitted or not.

    Returns
    -------
    callable
        A function of the same arguments (arrays or `ShapeDtypeStruct`) that returns an `Explanation`: the groups of
        fused operations, the variables that have memory, the contractions, and the loops. Printing it shows all of it.

    Raises
    ------
    TypeError
        ``fun`` cannot be called.

    Examples
    --------
    >>> import cotangent.numpy as cnp
    >>> report = ct.explain(lambda x: cnp.exp(x) @ x)(cnp.ones((4, 4)))
    >>> [(one.name.split()[0], one.reason) for one in report.stored]
    [('exp', 'a matrix product reads it'), ('dot_general', 'it is a result')]
    """
    check_callable(fun, "explain")

    @transformed(fun)
    def explained(*args: Any, **kwargs: Any) -> Explanation:
        captured, _, backend = _captured(fun, args, kwargs)
        graph: Graph = captured.graph
        compiled = _core.compile_graph(graph, backend, use_disk_cache=False)
        described = _core.describe_graph(graph)
        return Explanation(
            function_name(fun),
            _groups(described["groups"]),
            tuple(Stored(*one) for one in described["stored"]),
            described["arena_bytes"],
            tuple(Contraction(*one) for one in described["contractions"]),
            compiled.loop_text(),
            partial(_steps, graph, compiled),
        )

    return explained


def _steps(graph: Graph, compiled: Executable) -> tuple[tuple[Step, ...], str]:
    """Those of a program, and why registers of its kernels are not known."""
    steps = compiled.steps()
    kernels = {kernel for *_, kernel in steps} - {""}
    taken: dict[str, Registers] = {}
    unknown = ""
    if kernels:
        try:
            # What an emulated GPU runs has the same kernels.
            taken, unknown = registers(compiled.ptx() or _core.ptx(graph, "sm_80"))
        except NotImplementedError:
            unknown = "the program calls the host, for which an emulated GPU has other kernels than a GPU"
    if taken.keys() != kernels:
        taken = {}
    listed = []
    for depth, name, blocks, threads, shared_bytes, moved, kernel in steps:
        found = taken.get(kernel)
        count, spilled = (found.count, found.spilled_bytes) if found else (None, 0)
        listed.append(Step(depth, name, blocks, threads, shared_bytes, moved, count, spilled))
    return tuple(listed), unknown


check_arguments(globals())
