"""What a workload is, what its target says, and how calls are timed. Start with `Workload`; `workloads/` has all of them.

A workload prepares, for each library, a thunk: a function of nothing that does the work once and returns its result as arrays. Results are
compared before anything is timed. Thunks are called in turn, in one process, and the least time of a call counts, so that whatever else
the machine does falls on all alike.

Ratios between two programs of ours are of processor time on one thread: threads that wait for more work do so actively for a while, and their
processor time, which is no work, would count.
"""

from __future__ import annotations

import gc
import math
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

Thunk = Callable[[], Any]

OURS = "cotangent"
NO_PEERS = (OURS, "C")


# ---------------------------------------------------------------------------------------------------------- targets


@dataclass(frozen=True)
class AtMost:
    """At most `reach` units where JAX and torch took `jax` and `torch` on the machine the targets were written for.

    Another machine's speed is the geometric mean of its peers' times over those.
    """

    reach: float
    jax: float | None = None
    torch: float | None = None

    def allowed(self, row: Row) -> float:
        here = row.by_library()
        known = [("jax", self.jax), ("torch", self.torch)]
        factors = [here[name] / then for name, then in known if then is not None and name in here]
        return self.reach * (math.prod(factors) ** (1 / len(factors)) if factors else 1)

    def text(self, row: Row) -> str:
        return f"≤ {number(self.allowed(row))}"

    def met(self, row: Row) -> bool | None:
        return row.ours() <= self.allowed(row)


@dataclass(frozen=True)
class TimesBest:
    """At most `factor` times the time of the best peer, or of the best of those named."""

    factor: float
    of: tuple[str, ...] = ()

    def text(self, row: Row) -> str:
        return f"≤ {self.factor:g}x best {'of ' + ', '.join(self.of) if self.of else 'peer'}"

    def met(self, row: Row) -> bool | None:
        best = row.best_peer(self.of)
        return None if best is None else row.ours() <= self.factor * best[1]


@dataclass(frozen=True)
class TimesOwn:
    """At most `factor` times the time of another program of ours, the best of those named."""

    factor: float
    of: tuple[str, ...]

    def text(self, row: Row) -> str:
        return f"≤ {self.factor:g}x {' or '.join(name.partition('.')[2] for name in self.of)}"

    def met(self, row: Row) -> bool | None:
        known = [row.times[name] for name in self.of if name in row.times]
        return row.ours() <= self.factor * min(known) if known else None


@dataclass(frozen=True)
class TimesC:
    """At most `factor` times the same work in C."""

    factor: float

    def text(self, row: Row) -> str:
        return f"≤ {self.factor:g}x C"

    def met(self, row: Row) -> bool | None:
        return row.ours() <= self.factor * row.times["C"] if "C" in row.times else None


@dataclass(frozen=True)
class OfLimit:
    """At least this fraction of the physical limit."""

    fraction: float

    def text(self, row: Row) -> str:
        return f"≥ {self.fraction:g} of the limit"

    def met(self, row: Row) -> bool | None:
        return None if row.limit is None else row.limit / row.ours() >= self.fraction


Target = AtMost | TimesBest | TimesOwn | TimesC | OfLimit


# -------------------------------------------------------------------------------------------------------- workloads


@dataclass(frozen=True)
class Workload:
    """One line of the table."""

    name: str
    # library -> a thunk, or None where the library has no such thing. It gets a `libraries.Library`.
    make: Callable[[Any], Thunk | None]
    targets: tuple[Target, ...] = ()
    unit: str = "µs"
    # What the work needs whoever does it: bytes to and from memory, floating-point operations (of float32 unless `double`).
    bytes: float = 0
    flops: float = 0
    double: bool = False
    tolerance: float = 2e-3  # relative to the largest element
    # The result -> what is compared; for results that are random, say.
    compare: Callable[[list[np.ndarray]], list[np.ndarray]] = lambda arrays: arrays
    # What compilers of whole programs are worth waiting for: torch.compile takes tens of seconds a workload.
    compiled_peer: bool = True
    c: Callable[[], Thunk] | None = None  # the same in C
    # The same by programs that are no library's own way: name, which begins with the library's, -> a thunk.
    others: dict[str, Callable[[], Thunk]] = field(default_factory=dict)
    # Measured otherwise than by calling thunks in turn: library -> value in `unit`.
    measure: Callable[[Any], dict[str, float]] | None = None
    # Of `others`: those whose results are their own, as they have other inputs of the same size.
    unlike: tuple[str, ...] = ()
    processor_time: bool = False  # of one thread, as far as a library can be told
    calls_in_thunk: int = 1  # one thunk does the work this often


@dataclass
class Row:
    """What was measured of a workload."""

    workload: Workload
    times: dict[str, float] = field(default_factory=dict)  # in the workload's unit; libraries with right results only
    wrong: list[str] = field(default_factory=list)
    absent: dict[str, str] = field(default_factory=dict)  # library -> the reason
    limit: float | None = None  # the least time the machine allows

    def ours(self) -> float:
        return self.times.get(OURS, math.inf)

    def by_library(self) -> dict[str, float]:
        """The times with torch's ways of running a program as one library."""
        best: dict[str, float] = {}
        for name, value in self.times.items():
            library = name.split(".")[0]
            best[library] = min(value, best.get(library, math.inf))
        return best

    def best_peer(self, of: tuple[str, ...] = ()) -> tuple[str, float] | None:
        peers = {name: value for name, value in self.times.items() if name.split(".")[0] not in NO_PEERS}
        peers = {name: value for name, value in peers.items() if not of or name in of}
        name = min(peers, key=peers.__getitem__, default=None)
        return None if name is None else (name, peers[name])

    def verdict(self) -> str:
        if OURS in self.wrong:
            return "WRONG"
        if OURS not in self.times:
            return "FAILED"
        results = [target.met(self) for target in self.workload.targets]
        known = [result for result in results if result is not None]
        return "met" if known and all(known) else "missed" if known else ""


def number(value: float) -> str:
    """Three significant digits."""
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}"


# ----------------------------------------------------------------------------------------------------------- timing

SCALE = {"s": 1.0, "ms": 1e3, "µs": 1e6}


def settle(longest: float = 0.3) -> None:
    """Waits until the threads of the library that ran last sleep: while they spin, waiting for more, the next one lacks a core.

    The system says which threads run; processor time would tell, too, but comes in ticks of milliseconds.
    """
    deadline = time.perf_counter() + longest
    quiet = 0
    while quiet < 3 and time.perf_counter() < deadline:
        time.sleep(2e-4)
        quiet = 0 if others_run() else quiet + 1


def others_run() -> bool:
    """Whether another thread of this process runs."""
    own = str(threading.get_native_id())
    for task in Path("/proc/self/task").iterdir():
        try:
            if task.name != own and (task / "stat").read_text().rpartition(") ")[2].startswith("R"):
                return True
        except OSError:  # it has ended
            continue
    return False


# A turn is long enough for caches and threads to be as they are when nothing else runs; short calls are timed by the dozen, as
# reading the clock takes time.
TURN, DOZEN = 5e-3, 5e-5
PROCESSOR_DOZEN = 1e-3  # its clock is a call of the system
SLOW = 1.0  # what takes longer is timed by the call whose result is compared


def measure(
    thunks: dict[str, Thunk], seconds: float, least_rounds: int = 3, processor_time: bool = False
) -> dict[str, float]:
    """Least seconds of a call of each, called in turn for about `seconds` a thunk."""
    clock, dozen = (time.process_time, PROCESSOR_DOZEN) if processor_time else (time.perf_counter, DOZEN)
    counts: dict[str, int] = {}
    for name, thunk in thunks.items():
        thunk()
        start = time.perf_counter()
        thunk()
        counts[name] = max(1, min(5000, int(dozen / max(time.perf_counter() - start, 1e-8))))
    best = dict.fromkeys(thunks, math.inf)
    deadline = time.perf_counter() + seconds * len(thunks)
    rounds = 0
    gc.collect()
    gc.disable()
    try:
        while rounds < least_rounds or (time.perf_counter() < deadline and rounds < 400):
            for name, thunk in thunks.items():
                repeat = range(counts[name])
                if len(thunks) > 1:
                    settle()
                    thunk()
                end = clock() + TURN
                while True:
                    start = clock()
                    for _ in repeat:
                        thunk()
                    now = clock()
                    best[name] = min(best[name], (now - start) / counts[name])
                    if now >= end:
                        break
            rounds += 1
    finally:
        gc.enable()
    return best


@contextmanager
def on_one_thread(libraries: list[Any]) -> Iterator[None]:
    """Libraries that can be told so compute on one thread."""
    for library in libraries:
        library.use_threads(1)
    try:
        yield
    finally:
        for library in libraries:
            library.use_threads(0)


class WrongResultError(Exception):
    """What a workload that measures by itself raises where results differ."""


def arrays_of(result: Any) -> list[np.ndarray]:
    """The leaves of a nest of lists, tuples and dicts."""
    if isinstance(result, dict):
        return [leaf for key in sorted(result) for leaf in arrays_of(result[key])]
    if isinstance(result, (list, tuple)):
        return [leaf for item in result for leaf in arrays_of(item)]
    if hasattr(result, "detach"):
        result = result.detach()
        result = result.float() if result.dtype.is_floating_point and result.dtype.itemsize == 2 else result
    array = np.asarray(result)
    return [array.astype(np.float32) if array.dtype.name == "bfloat16" else array]


def agree(a: Iterable[np.ndarray], b: Iterable[np.ndarray], tolerance: float) -> bool:
    left, right = list(a), list(b)
    if len(left) != len(right):
        return False
    for x, y in zip(left, right, strict=True):
        if x.shape != y.shape:
            return False
        finite = np.abs(y[np.isfinite(y)])
        scale = float(np.max(finite)) if finite.size else 0.0
        if not np.allclose(x, y, rtol=tolerance, atol=tolerance * max(scale, 1e-30)):
            return False
    return True


def run(workload: Workload, libraries: list[Any], limits: Any, seconds: float, compiled: bool) -> Row:
    """Prepares, compares and times one workload."""
    row = Row(workload)
    if workload.measure is not None:
        try:
            row.times = workload.measure(libraries)
        except WrongResultError as error:
            row.wrong, row.absent = [OURS], {OURS: str(error)}
        except Exception as error:
            row.absent[OURS] = f"{type(error).__name__}: {str(error)[:200]}"
        return row
    thunks: dict[str, Thunk] = {}
    for library in libraries:
        if library.compiles_slowly and not (compiled and workload.compiled_peer):
            continue
        try:
            thunk = workload.make(library)
            if thunk is not None:
                thunk()
                thunks[library.name] = thunk
        except Exception as error:
            row.absent[library.name] = (
                f"{type(error).__name__}: {str(error).strip().splitlines()[0][:200] if str(error) else ''}"
            )
    if workload.c is not None:
        try:
            thunks["C"] = workload.c()
        except OSError as error:
            row.absent["C"] = str(error)
    wanted = {library.name.split(".")[0] for library in libraries}
    for name, make in workload.others.items():
        if name.split(".")[0] not in wanted:
            continue
        try:
            thunk = make()
            thunk()
            thunks[name] = thunk
        except Exception as error:
            row.absent[name] = f"{type(error).__name__}: {str(error)[:200]}"
    results: dict[str, list[np.ndarray]] = {}
    slow: dict[str, float] = {}
    for name, thunk in thunks.items():
        start = time.perf_counter()
        result = thunk()
        took = time.perf_counter() - start
        if took > SLOW and not workload.processor_time:
            slow[name] = took
        if name not in workload.unlike:
            results[name] = workload.compare(arrays_of(result))
    # What most libraries say is right, however many programs each has.
    agreeing = {a: [b for b in results if agree(results[a], results[b], workload.tolerance)] for a in results}
    majority = max(agreeing.values(), key=lambda names: len({name.split(".")[0] for name in names}), default=[])
    row.wrong = [name for name in results if name not in majority]
    right = [name for name in thunks if name in majority or name in workload.unlike]
    quick = {name: thunks[name] for name in right if name not in slow}
    with on_one_thread(libraries if workload.processor_time else []):
        best = measure(quick, seconds, processor_time=workload.processor_time)
    best |= {name: slow[name] for name in right if name in slow}
    factor = SCALE[workload.unit] / workload.calls_in_thunk
    row.times = {name: value * factor for name, value in best.items()}
    if limits is not None and (workload.bytes or workload.flops):
        row.limit = limits.seconds(workload) * SCALE[workload.unit]
    return row
