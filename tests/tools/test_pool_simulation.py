"""The simulation of pools: laws of its schedules, its constants are the pool's, and what it says of the recorded programs."""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from places import ROOT

BENCHMARKS = ROOT / "benchmarks"


@pytest.fixture(scope="module")
def simulation() -> Iterator[Any]:
    sys.path.insert(0, str(BENCHMARKS))
    import pool_simulation

    yield pool_simulation
    sys.path.remove(str(BENCHMARKS))


def loop(simulation: Any, **changes: Any) -> Any:
    fields = {"extent": 1000, "multiple": 1, "estimate": 1_000_000, "in_program": 1_000_000, "whole": 1e6, **changes}
    return simulation.Loop(**fields)


POLICIES = ["before", "now", "groups", "finer"]
MACHINES = [(1, 2), (1, 8), (1, 64), (2, 32), (4, 128), (8, 128)]


def test_its_constants_are_those_of_the_pool(simulation: Any) -> None:
    header = (ROOT / "runtime" / "pool.h").read_text()

    def constant(name: str) -> int:
        found = re.search(rf"\b{name} = ([\d']+)", header)
        assert found is not None
        return int(found[1].replace("'", ""))

    assert constant("kLeastHot") == simulation.LEAST_HOT
    assert constant("kLeastCold") == simulation.LEAST_COLD
    assert constant("kLeastPiece") == simulation.LEAST_PIECE
    assert constant("kThreadCost") == simulation.THREAD_COST
    assert constant("kMostWoken") == simulation.MOST_WOKEN


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize(("sockets", "cores"), MACHINES)
@pytest.mark.parametrize("hot", [True, False])
def test_every_step_is_done_once_and_no_thread_is_faster_than_alone(
    simulation: Any, policy: str, sockets: int, cores: int, hot: bool
) -> None:
    machine, rules = simulation.Machine(sockets=sockets, cores=cores), simulation.POLICIES[policy]
    for changes in (
        {},
        {"extent": 7},
        {"extent": 2_000_000, "multiple": 64},
        {"spread": 0.5},
        {"extent": 64, "whole": 5e5},
    ):
        one = loop(simulation, **changes)
        threads = one.threads(machine, rules)
        play = simulation.Play(one, machine, rules, threads, hot)
        took = play.run()
        assert sum(play.by) == play.done == play.all_steps
        assert all(first == last for first, last in play.left)
        assert took > one.whole / threads
        # Each worker joined and left once.
        gates = sum(line.changes for line in play.gates)
        assert gates == 2 * (threads - 1)


def test_one_thread_takes_what_was_recorded(simulation: Any) -> None:
    short = loop(simulation, estimate=simulation.LEAST_HOT - 1)
    assert short.play(simulation.Machine(cores=64), simulation.TODAY, True) == short.whole
    cold = loop(simulation, estimate=simulation.LEAST_HOT, in_program=simulation.LEAST_HOT)
    assert cold.play(simulation.Machine(cores=64), simulation.TODAY, False) == cold.whole
    assert loop(simulation).play(simulation.Machine(cores=1), simulation.TODAY, True) == 1e6


def test_two_threads_are_nearly_twice_as_fast(simulation: Any) -> None:
    for policy in simulation.POLICIES.values():
        took = loop(simulation).play(simulation.Machine(cores=2), policy, True)
        assert 0.5e6 < took < 0.51e6


def test_slow_lines_and_sleepers_cost_time(simulation: Any) -> None:
    near, far = simulation.Machine(cores=64, cores_of_cache=64), simulation.Machine(cores=64, cores_of_cache=1)
    one = loop(simulation)
    for policy in simulation.POLICIES.values():
        assert one.play(near, policy, True) < one.play(far, policy, True)
        assert one.play(near, policy, True) + near.wake_call < one.play(near, policy, False)


def test_memory_is_a_limit(simulation: Any) -> None:
    one = loop(simulation, traffic=20e6)  # 20 bytes a nanosecond and core
    for sockets, cores in MACHINES:
        machine = simulation.Machine(sockets=sockets, cores=cores)
        today, placed = (one.play(machine, policy, True) for policy in (simulation.TODAY, simulation.DESIGNED))
        assert today >= one.traffic / machine.memory
        assert placed >= one.traffic / machine.memory / sockets
        assert placed <= today * 1.001


def test_as_many_threads_as_pay(simulation: Any) -> None:
    for estimate in (20_000, 100_000, 1_000_000, 40_000_000):
        best = simulation.paying(estimate)
        takes = {n: estimate / n + n * simulation.THREAD_COST for n in (best - 1, best, best + 2)}
        assert takes[best] == min(takes.values())


def test_a_thread_wakes_no_more_than_it_is_told(simulation: Any) -> None:
    machine = simulation.Machine(cores=64)
    one = loop(simulation, estimate=10_000_000, whole=1e5)
    serial, chained = (one.play(machine, policy, False) for policy in (simulation.TODAY, simulation.NOW))
    assert chained < 0.7 * serial


def test_recorded_programs(simulation: Any) -> None:
    """What docs/design/049 concludes: the limit and the chain never cost, and finer loops are what many cores lack."""
    programs = simulation.read()
    assert len(programs) >= 8
    mlp, softmax, conv = (next(p for p in programs if p.name.startswith(name)) for name in ("MLP", "softmax", "conv2d"))
    for program in (mlp, softmax, conv):
        for sockets, cores in ((1, 2), (1, 16), (1, 64), (2, 128)):
            machine = simulation.Machine(sockets=sockets, cores=cores)
            for hot in (True, False):
                before, now = (program.seconds(machine, p, hot) for p in (simulation.TODAY, simulation.NOW))
                assert now <= before * 1.01
                if cores <= 16:
                    assert math.isclose(now, before, rel_tol=0.01)
    machine = simulation.Machine(cores=64)
    assert mlp.alone() / mlp.seconds(machine, simulation.NOW) < 8
    assert mlp.alone() / mlp.seconds(machine, simulation.FINER) > 12
