"""Records what the loops of real programs take, for `pool_simulation.py`: `python benchmarks/pool_loops.py` writes `pool_loops.json`.

A program runs on one thread. Each loop that threads could share runs in 1 and in 64 parts, several times, and the least time of each part
counts, so that whatever else the machine does is left out. What 64 parts take more than one is what a piece costs over its share. The rest of
the program, which threads do not share, is its serial time.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

PARTS = 64
LAST_CACHE = 32 << 20  # bytes that the cores of a socket's part share: programs within it have no traffic to memory


def programs() -> dict[str, Callable[[Any], Any]]:
    """Name -> library -> (function, arguments)."""
    from workloads import convolution, reductions, sequence, training
    from workloads.data import mlp, mlp_loss, normal, one_hot

    def per_example(library: Any) -> Any:
        gradient = library.vmap(library.grad(mlp_loss(library)), in_axes=(None, 0, 0))
        return library.thunk(gradient, mlp([784, 256, 10]), normal(256, 784), one_hot(256, 10))

    return {
        "MLP 784-256-10, batch 128, SGD step": training.step([784, 256, 10], 128),
        "4-layer GPT, training step": sequence.gpt_step,
        "LSTM, value and gradient": sequence.lstm,
        "softmax": reductions.softmax,
        "product 2048³": lambda library: library.thunk(lambda x, y: x @ y, normal(2048, 2048), normal(2048, 2048)),
        "sort 10⁷": lambda library: library.thunk(library.xp.sort, normal(10**7)),
        "conv2d 32×3×32×32, value and gradient": convolution.conv2d,
        "CNN, gradients of 64 examples": convolution.per_example,
        "MLP 784-256-10, gradients of 256 examples": per_example,
    }


def traffic(thunk: Any) -> int:
    """Bytes that a call has from memory and to it, about: those of its groups, if all its arrays do not fit the last cache."""
    import cotangent as ct

    described = ct.explain(thunk.func)(*thunk.args)
    moved = sum(group.bytes_read + group.bytes_written for group in described.groups)
    largest = max((group.bytes_read + group.bytes_written for group in described.groups), default=0)
    return moved if largest >= LAST_CACHE else 0


def record(thunk: Any, seconds: float) -> dict[str, Any]:
    """The loops of a call: estimate, time as a whole, time that a piece costs more, how uneven the parts are."""
    import cotangent as ct

    best: dict[int, tuple[list[Any], list[list[int]], int]] = {}
    thunk()
    for parts in (1, PARTS):
        loops, elapsed = ct._core.record_loops(thunk, parts)
        times, least = [loop[6] for loop in loops], elapsed - sum(loop[5] for loop in loops)
        end, rounds = time.perf_counter() + seconds, 0
        while rounds < 3 or (time.perf_counter() < end and rounds < 200):
            again, elapsed = ct._core.record_loops(thunk, parts)
            if len(again) != len(loops):
                raise RuntimeError(f"{len(again)} loops were recorded, {len(loops)} the first time")
            times = [
                [min(a, b) for a, b in zip(old, new[6], strict=True)] for old, new in zip(times, again, strict=True)
            ]
            least = min(least, elapsed - sum(loop[5] for loop in again))
            rounds += 1
        best[parts] = loops, times, least
    whole_loops, whole_times, serial = best[1]
    loops, part_times, serial_of_parts = best[PARTS]
    # Work that is cut by the number of threads, as that of a sort, is another loop with each: as it is with many.
    same = len(whole_times) == len(part_times)
    if not same:
        serial = serial_of_parts
    rows = []
    for i, parts in enumerate(part_times):
        whole = sum(whole_times[i]) if same and whole_loops[i][0] == loops[i][0] else sum(parts)
        more = max(0.0, (sum(parts) - whole) / max(len(parts) - 1, 1))
        middle = statistics.median(parts)
        spread = math.sqrt(statistics.fmean(((part - middle) / middle) ** 2 for part in parts)) if middle > 0 else 0.0
        extent, multiple, estimate, in_program = loops[i][:4]
        rows.append([extent, multiple, estimate, in_program, whole, round(more), round(min(spread, 1.0), 3)])
    return {"serial": serial, "traffic": traffic(thunk), "loops": rows}


def compact(recorded: dict[str, Any]) -> str:
    """JSON with a loop a line, each kind once: [how often, extent, multiple, estimate, in program, whole, piece, spread]."""
    lines = []
    for name, program in recorded.items():
        loops = ",\n      ".join(json.dumps(loop) for loop in program["loops"])
        head = f'"serial": {program["serial"]}, "traffic": {program["traffic"]}'
        lines.append(f'  {json.dumps(name, ensure_ascii=False)}: {{{head}, "loops": [\n      {loops}]}}')
    return "{\n" + ",\n".join(lines) + "\n}\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=2, help="for each program and number of parts")
    parser.add_argument("--only", default="", help="programs whose name contains this")
    parser.add_argument("--json", type=Path, default=HERE / "pool_loops.json")
    options = parser.parse_args()
    import cotangent as ct
    import libraries

    library = libraries.Library("cotangent", ct, ct.numpy)
    recorded = json.loads(options.json.read_text()) if options.json.exists() else {}
    for name, make in programs().items():
        if options.only in name:
            recorded[name] = record(make(library), options.seconds)
            total = recorded[name]["serial"] + sum(loop[4] for loop in recorded[name]["loops"])
            print(f"{name}: {len(recorded[name]['loops'])} loops, {total / 1e3:,.0f} µs", flush=True)
    options.json.write_text(compact(recorded))
    return 0


if __name__ == "__main__":
    sys.exit(main())
