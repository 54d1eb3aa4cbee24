"""Plays the schedules of pools of threads on machines of 2 to 128 cores: `python benchmarks/pool_simulation.py`.

The loops are those of real programs, with the times that they took on one thread (`pool_loops.json`, which `pool_loops.py` writes). A machine is
a few latencies (`Machine`), a pool a few decisions (`Policy`): today's and the one of docs/design/049-pool-on-many-cores.md. `Loop.play` is the
schedule of one loop, event by event; start there. `--measured` compares with the times of this machine on one thread and on all of its cores.
"""

from __future__ import annotations

import argparse
import heapq
import json
import math
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent

# As in runtime/pool.h: nanoseconds.
LEAST_HOT, LEAST_COLD, LEAST_PIECE = 20_000, 100_000, 4_000
THREAD_COST, MOST_WOKEN = 100, 16


@dataclass(frozen=True)
class Machine:
    """Latencies in nanoseconds, bandwidths in bytes a nanosecond; docs/design/049 says where each comes from."""

    sockets: int = 1
    cores: int = 2  # of all sockets
    cores_of_cache: int = 8  # that share a last-level cache
    line_near: float = 27  # one way, between cores of a cache
    line_far: float = 110  # of a socket
    line_socket: float = 200  # of different sockets
    overlapped: float = 0.1  # of a latency, where many lines are read or written one after the other
    own_line: float = 5  # an atomic operation on a line that the core has
    look: float = 60  # until a worker that waits looks again, on average
    begin: float = 400  # what a caller does before it offers a loop
    wake_call: float = 7_000  # the system's call, and for each that it wakes
    wake_each: float = 1_500
    wake_until: float = 18_000  # from the call to the first instruction
    memory: float = 150  # of a socket
    link: float = 40  # between two sockets

    def cache_of(self, core: int) -> int:
        return core // self.cores_of_cache

    def socket_of(self, core: int) -> int:
        return core * self.sockets // self.cores

    def line(self, one: int, other: int) -> float:
        """Of a cache line from one core to the other."""
        if one == other:
            return self.own_line
        if self.socket_of(one) != self.socket_of(other):
            return self.line_socket
        return self.line_near if self.cache_of(one) == self.cache_of(other) else self.line_far


@dataclass(frozen=True)
class Policy:
    """What a pool decides."""

    limited: bool = False  # no more threads than pay
    wakes: int = 0  # how many a thread wakes before it works; 0: the caller wakes all
    groups: bool = False  # the threads of a cache have a word of their own to join and leave, and help each other first
    placed: bool = False  # pages lie in the memory of the socket that works on them
    finer: bool = False  # loops of few long iterations are cut within these


TODAY = Policy()
NOW = Policy(limited=True, wakes=MOST_WOKEN)
DESIGNED = Policy(limited=True, wakes=MOST_WOKEN, groups=True, placed=True)
FINER = replace(DESIGNED, finer=True)
POLICIES = {"before": TODAY, "now": NOW, "groups": DESIGNED, "finer": FINER}


class Line:
    """A cache line that cores change one after the other."""

    def __init__(self, machine: Machine, owner: int = 0) -> None:
        self.machine, self.owner, self.free = machine, owner, 0.0
        self.changes = 0

    def change(self, at: float, core: int) -> float:
        """When the core has changed it."""
        self.free = max(at, self.free) + self.machine.line(self.owner, core)
        self.owner = core
        self.changes += 1
        return self.free


@dataclass(frozen=True)
class Loop:
    """A loop, as recorded."""

    extent: int
    multiple: int
    estimate: int  # nanoseconds, by the cost model
    in_program: int
    whole: float  # nanoseconds on one thread
    piece: float = 0.0  # that each piece takes more than its share
    spread: float = 0.0  # standard deviation of what equal shares take, relative
    traffic: float = 0.0  # bytes from memory and to it

    def steps(self, policy: Policy) -> int:
        units = -(-self.extent // self.multiple)
        if policy.finer:
            units = max(units, int(self.whole / LEAST_PIECE))
        return min(units, self.estimate // LEAST_PIECE)

    def worth(self, hot: bool) -> bool:
        return self.estimate >= LEAST_HOT and (hot or max(self.estimate, self.in_program) >= LEAST_COLD)

    def threads(self, machine: Machine, policy: Policy) -> int:
        """How many share it, the caller included."""
        most = min(machine.cores, self.steps(policy))
        return min(most, paying(self.estimate, policy.groups)) if policy.limited else most

    def slowed(self, machine: Machine, policy: Policy, threads: int) -> float:
        """How many times longer pieces take because of memory."""
        if self.traffic <= 0:
            return 1.0
        sockets = machine.socket_of(threads - 1) + 1
        wanted = threads * self.traffic / self.whole  # bytes a nanosecond
        if policy.placed or sockets == 1:
            return max(1.0, wanted / (machine.memory * sockets))
        # All lies at the first socket: the others' threads share the links to it.
        here = min(machine.memory, machine.cores / machine.sockets * self.traffic / self.whole)
        return max(1.0, wanted / min(machine.memory, here + machine.link * (sockets - 1)))

    def play(self, machine: Machine, policy: Policy, hot: bool) -> float:
        """How long it takes, in nanoseconds; `hot`: workers wait actively, else they sleep."""
        threads = self.threads(machine, policy)
        if threads < 2 or not self.worth(hot):
            return self.whole
        return Play(self, machine, policy, threads, hot).run()


def paying(estimate: float, groups: bool = False) -> int:
    """How many threads a loop pays for, as `Pool` computes it: each costs all others the time to join and leave."""
    return max(2, int(math.sqrt(estimate / (THREAD_COST / 4 if groups else THREAD_COST))))


@dataclass
class Play:
    """One loop on so many threads. Threads are generators, resumed in the order of their times."""

    loop: Loop
    machine: Machine
    policy: Policy
    threads: int
    hot: bool
    done: int = 0  # steps
    pieces: int = 0
    late: int = 0  # threads that found nothing left
    by: list[int] = field(default_factory=list)

    def run(self) -> float:
        loop, machine, count = self.loop, self.machine, self.threads
        most, units = loop.steps(self.policy), max(-(-loop.extent // loop.multiple), loop.steps(self.policy))
        step = -(-units // most)
        self.all_steps = -(-units // step)
        self.count_of_piece = max(self.all_steps // count // 8, 1)
        self.left = [[i * self.all_steps // count, (i + 1) * self.all_steps // count] for i in range(count)]
        self.ranges = [Line(machine, i) for i in range(count)]
        self.slow = loop.slowed(machine, self.policy, count)
        self.by = [0] * count
        groups = machine.cache_of(count - 1) + 1 if self.policy.groups else 1
        self.gates = [Line(machine) for _ in range(groups)]
        self.members = [0] * groups  # that are to leave
        for i in range(1, count):
            self.members[self.group(i)] += 1
        self.inside = sum(self.members)
        self.root = Line(machine)
        self.last_left = 0.0
        self.queue: list[tuple[float, int, Iterator[float]]] = []
        start = machine.begin + sum(machine.line(0, i) for i in range(count)) * machine.overlapped
        start += sum(machine.line(0, g * machine.cores_of_cache) for g in range(groups)) * machine.overlapped
        self.end = 0.0
        self.launch(start)
        while self.queue:
            at, thread, body = heapq.heappop(self.queue)
            following = next(body, None)
            if following is not None:
                heapq.heappush(self.queue, (max(following, at), thread, body))
        assert self.done == self.all_steps
        return max(self.end, self.last_left)

    def group(self, thread: int) -> int:
        return self.machine.cache_of(thread) if self.policy.groups else 0

    def launch(self, start: float) -> None:
        """Offers the loop: workers that wait see it, others are woken, by the caller or by those it woke."""
        count, machine = self.threads, self.machine
        at = [start + machine.line(0, i) + machine.look for i in range(count)]
        at[0] = start
        if not self.hot:
            waiting = list(range(1, count))
            if self.policy.groups:  # the first of each cache first
                waiting.sort(key=lambda i: (i % machine.cores_of_cache != 0 and i >= machine.cores_of_cache, i))
            width = self.policy.wakes or count
            awake = [0]
            position = 0
            while position < len(waiting):
                waker = awake.pop(0)
                chosen = waiting[position : position + width]
                position += len(chosen)
                called = at[waker]
                at[waker] = called + machine.wake_call + machine.wake_each * len(chosen)
                for nth, one in enumerate(chosen):
                    at[one] = called + machine.wake_until + machine.wake_each * nth
                    awake.append(one)
        for i in range(count):
            heapq.heappush(self.queue, (at[i], i, self.body(i, at[i])))

    def cost(self, begin: int, end: int) -> float:
        """Of a piece. What equal shares take differs by where they are, in waves; all of them take the whole."""
        waves, height = 3, min(self.loop.spread, 0.7) * math.sqrt(2)
        angle = 2 * math.pi * waves / self.all_steps
        share = (end - begin) / self.all_steps
        share += height * (math.cos(angle * begin) - math.cos(angle * end)) / (2 * math.pi * waves)
        return self.loop.whole * share * self.slow + self.loop.piece

    def order(self, thread: int) -> list[int]:
        """Whose ranges a thread looks at: its own, then the next ones'; of its own cache first."""
        count = self.threads
        others = [(thread + k) % count for k in range(count)]
        if self.policy.groups:
            others.sort(key=lambda i: self.group(i) != self.group(thread))
        return others

    def body(self, thread: int, at: float) -> Iterator[float]:
        machine = self.machine
        gate = self.gates[self.group(thread)]
        if thread > 0:
            at = gate.change(at, thread) + machine.line(0, thread)  # a seat, then what the job is
            yield at
        before = self.done
        seen_groups = set()
        for other in self.order(thread):
            if other != thread:
                # A group tells by one word whether it has anything left.
                if self.policy.groups and self.group(other) != self.group(thread):
                    first = other - other % machine.cores_of_cache
                    members = range(first, first + machine.cores_of_cache)
                    if all(self.left[i][0] == self.left[i][1] for i in members if i < self.threads):
                        if self.group(other) not in seen_groups:
                            seen_groups.add(self.group(other))
                            at += machine.line(other, thread) * machine.overlapped
                        continue
                at += machine.line(self.ranges[other].owner, thread) * machine.overlapped
                yield at
            while self.left[other][0] < self.left[other][1]:
                first, last = self.left[other]
                count = min(self.count_of_piece, (last - first + 1) // 2)
                self.left[other] = [first + count, last] if other == thread else [first, last - count]
                at = self.ranges[other].change(at, thread)
                self.pieces += 1
                begin = first if other == thread else last - count
                at += self.cost(begin, begin + count)
                self.done += count
                self.by[thread] += count
                yield at
        if thread > 0:
            self.late += self.done == before
            at = gate.change(at, thread)
            group = self.group(thread)
            self.members[group] -= 1
            if self.policy.groups and self.members[group] == 0:
                at = self.root.change(at, thread)
            self.last_left = max(self.last_left, at + machine.line(thread, 0))
        else:
            self.end = at


@dataclass(frozen=True)
class Program:
    """What runs one after the other."""

    name: str
    serial: float
    loops: tuple[Loop, ...]

    def alone(self) -> float:
        return self.serial + sum(loop.whole for loop in self.loops)

    def seconds(self, machine: Machine, policy: Policy, hot: bool = True) -> float:
        """Nanoseconds of a call; not `hot`: the workers sleep when it begins, and wait actively from the first loop on."""
        total = self.serial
        known: dict[Loop, float] = {}
        for loop in self.loops:
            if not hot and loop.worth(False) and loop.threads(machine, policy) > 1:
                total += loop.play(machine, policy, False)
                hot = True
                continue
            if loop not in known:
                known[loop] = loop.play(machine, policy, hot)
            total += known[loop]
        return total


def read(path: Path = HERE / "pool_loops.json") -> list[Program]:
    """The programs that were recorded. Traffic is spread over a program's loops as their time is."""
    programs = []
    for name, entry in json.loads(path.read_text()).items():
        whole = sum(loop[4] for loop in entry["loops"])
        # Loops that are alike take the same, on average.
        kinds: dict[tuple[int, ...], list[list[float]]] = {}
        for loop in entry["loops"]:
            kinds.setdefault(tuple(loop[:4]), []).append(loop[4:])
        means = {kind: [sum(column) / len(rows) for column in zip(*rows, strict=True)] for kind, rows in kinds.items()}
        loops = [Loop(*loop[:4], *means[tuple(loop[:4])]) for loop in entry["loops"]]
        loops = [replace(loop, traffic=entry["traffic"] * loop.whole / whole) for loop in loops]
        programs.append(Program(name, entry["serial"], tuple(loops)))
    return programs


SIZES = [(1, 2), (1, 8), (1, 16), (1, 32), (1, 64), (2, 64), (2, 128), (4, 64), (4, 128)]


def table(programs: list[Program], policies: dict[str, Policy], hot: bool) -> Iterator[str]:
    """Speedups over one thread, a line for each program and pool."""
    yield "| sockets × cores each | " + " | ".join(f"{s} × {c // s}" for s, c in SIZES) + " |"
    yield "|---|" + "---:|" * len(SIZES)
    for program in programs:
        for name, policy in policies.items():
            speed = []
            for sockets, cores in SIZES:
                machine = Machine(sockets=sockets, cores=cores)
                speed.append(program.alone() / program.seconds(machine, policy, hot))
            yield f"| {program.name}, {name} | " + " | ".join(f"{x:.1f}" for x in speed) + " |"


def measured(seconds: float) -> Iterator[str]:
    """Prediction and measurement on this machine's cores, by calls in turn with one thread and with all."""
    import cotangent as ct
    import libraries
    import pool_loops

    library = libraries.Library("cotangent", ct, ct.numpy)
    recorded = {program.name: program for program in read()}
    cores = ct.config.read("threads")
    yield f"| program | one thread, µs | recorded | {cores} threads, µs | speedup | predicted |"
    yield "|---|---:|---:|---:|---:|---:|"
    for name, make in pool_loops.programs().items():
        if name not in recorded:
            continue
        thunk = make(library)
        thunk()
        best = {1: math.inf, cores: math.inf}
        end, rounds = time.perf_counter() + seconds, 0
        while rounds < 5 or time.perf_counter() < end:
            for threads in best:
                ct.config.update("threads", threads)
                thunk()
                start = time.perf_counter()
                thunk()
                best[threads] = min(best[threads], time.perf_counter() - start)
            rounds += 1
        ct.config.update("threads", 0)
        program = recorded[name]
        predicted = program.alone() / program.seconds(Machine(cores=cores), TODAY)
        yield (
            f"| {name} | {best[1] * 1e6:,.0f} | {program.alone() / 1e3:,.0f} | {best[cores] * 1e6:,.0f} | "
            f"{best[1] / best[cores]:.2f} | {predicted:.2f} |"
        )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cold", action="store_true", help="workers sleep when a call begins")
    parser.add_argument("--measured", action="store_true", help="compare with this machine's times")
    parser.add_argument("--seconds", type=float, default=3, help="of --measured, for each program")
    parser.add_argument("--only", default="", help="programs whose name contains this")
    options = parser.parse_args()
    lines: Callable[[], Iterator[Any]]
    if options.measured:
        lines = lambda: measured(options.seconds)  # noqa: E731
    else:
        lines = lambda: table([p for p in read() if options.only in p.name], POLICIES, not options.cold)  # noqa: E731
    for line in lines():
        print(line, flush=True)
    return 0


if __name__ == "__main__":
    sys.path.insert(0, str(HERE))
    sys.exit(main())
