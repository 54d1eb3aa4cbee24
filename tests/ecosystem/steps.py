"""Times of training steps and solver calls of unmodified libraries on JAX and on cotangent: a warm call, and the first one.

    python tests/ecosystem/steps.py --jax JAX_PYTHON --cotangent COTANGENT_PYTHON [--only PART] [--out FILE.json]

A function of a file in `step_programs/` is a program: it returns a jitted ``step`` and the state to begin with, and ``step(state)`` is the
next state and a value. Each program runs in two processes that are alive at the same time, one on JAX and one here; they take turns, so
what else the machine does disturbs both alike. The first call has neither the compiled programs of another call nor of another process.
The values of the first calls are compared. Both sides do a block of the same calls from the same state, and a block's median is the time.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import geometric_mean, median
from typing import Any

HERE = Path(__file__).resolve().parent
FILES = sorted((HERE / "step_programs").glob("*_steps.py"))
COMPARED = 4  # calls whose values are compared; they warm both sides up, too
BLOCK_SECONDS = 0.05
ROUNDS = 7
TOLERANCE = 2e-3
AIM_SLOWEST, AIM_FIRST = 1.1, 5.0  # how much slower a step may be, and how much sooner a first call is to be back


def programs(file: Path) -> list[str]:
    """The names of a file's programs: its public functions, without importing what it imports."""
    lines = file.read_text().splitlines()
    return [line[4 : line.index("(")] for line in lines if line.startswith("def ") and not line.startswith("def _")]


# ------------------------------------------------------------------------------------------------- the side of a program


def serve(file: str, name: str) -> None:
    """Runs one program and does what lines of standard input ask for: `first`, then `block CALLS`. Answers are lines of JSON."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what a library prints is no answer

    import jax
    import numpy as np

    spec = importlib.util.spec_from_file_location("programs", file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["programs"] = module  # where dataclasses look for their annotations

    def answer(**fields: Any) -> None:
        answers.write(json.dumps(fields) + "\n")
        answers.flush()

    step: Any = None
    start: Any = None
    for line in sys.stdin:
        command, *arguments = line.split()
        try:
            if command == "first":
                spec.loader.exec_module(module)
                begin = time.perf_counter()
                step, start = getattr(module, name)()
                jax.block_until_ready([x for x in jax.tree.leaves(start) if isinstance(x, jax.Array)])
                made = time.perf_counter()
                values, state = [], start
                for call in range(COMPARED):
                    state, value = step(state)
                    jax.block_until_ready(value)
                    if call == 0:
                        first = time.perf_counter() - made
                    values.append(np.concatenate([np.ravel(v) for v in jax.tree.leaves(value)]).tolist())
                answer(setup=made - begin, first=first, values=values)
            else:
                state = start
                begin = time.perf_counter()
                for _ in range(int(arguments[0])):
                    state, value = step(state)
                jax.block_until_ready((value, [x for x in jax.tree.leaves(state) if isinstance(x, jax.Array)]))
                answer(seconds=time.perf_counter() - begin)
        except Exception as error:
            if os.environ.get("ECOSYSTEM_TRACEBACK"):
                raise
            answer(error=f"{type(error).__name__}: {' '.join(str(error).split())[:300]}")


# --------------------------------------------------------------------------------------------------- the side that compares


class Side:
    """A process that runs one program."""

    def __init__(self, python: str, prefix: list[str], file: Path, name: str, folder: str) -> None:
        environment = os.environ | {"JAX_PLATFORMS": "cpu", "PYTHONWARNINGS": "ignore", "CT_CACHE_DIR": folder}
        environment.pop("COTANGENT_JAX", None)
        environment.pop("JAX_COMPILATION_CACHE_DIR", None)
        command = [python, *prefix, str(Path(__file__).resolve()), "--serve", str(file), name]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
        )

    def ask(self, line: str) -> dict[str, Any]:
        """The answer to a line; a process that has ended answers with its status."""
        assert self.process.stdin is not None and self.process.stdout is not None
        try:
            self.process.stdin.write(line + "\n")
            self.process.stdin.flush()
            answer = self.process.stdout.readline()
        except BrokenPipeError:
            answer = ""
        if not answer:
            return {"error": f"the process ended with {self.process.wait()}"}
        found: dict[str, Any] = json.loads(answer)
        return found

    def end(self) -> None:
        """Ends the process."""
        if self.process.stdin is not None:
            self.process.stdin.close()
        try:
            self.process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def unequal(theirs: list[list[float]], ours: list[list[float]]) -> str:
    """Why the values of two sides are not equal; empty if they are."""
    import numpy as np

    for call, (x, y) in enumerate(zip(theirs, ours, strict=True)):
        if len(x) != len(y):
            return f"{len(y)} values for {len(x)}"
        if not np.all(np.isfinite(x)):
            return "values on JAX are not finite"
        if not np.allclose(y, x, rtol=TOLERANCE, atol=1e-4):
            return f"values of call {call + 1} differ by up to {np.max(np.abs(np.subtract(x, y))):.2g}"
    return ""


def measure(file: Path, name: str, jax: str, cotangent: str, rounds: int) -> dict[str, Any]:
    """What one run of a program gives: times in seconds on both sides, or the reason why there are none."""
    row: dict[str, Any] = {"program": title(file, name)}
    with tempfile.TemporaryDirectory() as folder:
        sides = {"jax": Side(jax, [], file, name, folder)}
        sides["cotangent"] = Side(cotangent, ["-m", "cotangent.jax"], file, name, folder)
        try:
            begun = {of: side.ask("first") for of, side in sides.items()}
            for of, answer in begun.items():
                if "error" in answer:
                    return row | {"error": f"on {of}: {answer['error']}"}
            row["error"] = unequal(begun["jax"]["values"], begun["cotangent"]["values"])
            row["first"] = {of: answer["first"] for of, answer in begun.items()}
            row["setup"] = {of: answer["setup"] for of, answer in begun.items()}
            once = max(side.ask("block 2")["seconds"] / 2 for side in sides.values())
            calls = max(2, min(2000, int(BLOCK_SECONDS / once)))
            blocks: dict[str, list[float]] = {of: [] for of in sides}
            for turn in range(rounds):
                for of in sorted(sides, reverse=turn % 2 == 1):
                    blocks[of].append(sides[of].ask(f"block {calls}")["seconds"] / calls)
            row["step"] = {of: median(times) for of, times in blocks.items()}
            row["calls"] = calls * rounds
        finally:
            for side in sides.values():
                side.end()
    return row


def together(runs: list[dict[str, Any]]) -> dict[str, Any]:
    """The medians of several runs of one program."""
    failed = next((run for run in runs if run["error"]), None)
    if failed is not None and "step" not in failed:
        return failed
    row = dict(failed or runs[0])
    for field in ("first", "setup", "step"):
        row[field] = {of: median(run[field][of] for run in runs) for of in runs[0][field]}
    return row


def measured(file: Path, name: str, jax: str, cotangent: str, rounds: int, processes: int) -> dict[str, Any]:
    """What a program gives, of so many processes."""
    return together([measure(file, name, jax, cotangent, rounds) for _ in range(processes)])


def title(file: Path, name: str) -> str:
    """What a program is called."""
    return f"{file.stem.removesuffix('_steps')}.{name}"


def ratio(row: dict[str, Any], field: str) -> float:
    """How many times as fast as JAX this package is."""
    return float(row[field]["jax"] / row[field]["cotangent"])


def seconds(value: float) -> str:
    """A time with three digits and its unit."""
    return f"{value * 1e6:.3g} µs" if value < 1e-3 else f"{value * 1e3:.3g} ms" if value < 1 else f"{value:.3g} s"


HEAD = "| program | step on JAX | step here | JAX / here | first call on JAX | first call here | JAX / here | values |"


def line(row: dict[str, Any]) -> str:
    """A row of the table."""
    if "step" not in row:
        return f"| {row['program']} | | | | | | | {row['error'].replace('|', '/')} |"
    cells = [row["program"]]
    for field in ("step", "first"):
        cells += [seconds(row[field]["jax"]), seconds(row[field]["cotangent"]), f"{ratio(row, field):.2f}"]
    return "| " + " | ".join([*cells, row["error"] or "equal"]) + " |"


def summary(rows: list[dict[str, Any]]) -> str:
    """How many programs reach the aims, in sentences."""
    timed = [row for row in rows if "step" in row]
    if not timed:
        return "No program was timed."
    step, first = [ratio(row, "step") for row in timed], [ratio(row, "first") for row in timed]
    return (
        f"{len(timed)} of {len(rows)} programs were timed; {sum(not row['error'] for row in timed)} of them give JAX's values. "
        f"A step is faster than on JAX in {sum(r > 1 for r in step)} and more than {AIM_SLOWEST} times slower in "
        f"{sum(r < 1 / AIM_SLOWEST for r in step)} (geometric mean: {geometric_mean(step):.2f} times as fast). "
        f"A first call is at least {AIM_FIRST:.0f} times as fast in {sum(r >= AIM_FIRST for r in first)} "
        f"(geometric mean: {geometric_mean(first):.2f})."
    )


def main() -> None:
    """The table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jax", default=sys.executable, help="a Python with JAX and the libraries")
    parser.add_argument("--cotangent", default=sys.executable, help="a Python with cotangent and the libraries")
    parser.add_argument("--only", default="", help="parts of FILE.PROGRAM, with commas between them")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="blocks of calls on each side")
    parser.add_argument(
        "--processes", type=int, default=1, help="how often a program is begun anew, for its first call"
    )
    parser.add_argument("--out", help="where the measurements go, as JSON")
    parser.add_argument("--list", action="store_true", help="print the names of the programs")
    parser.add_argument("--serve", nargs=2, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.serve:
        serve(*given.serve)
        return
    if given.list:
        print("\n".join(title(file, name) for file in FILES for name in programs(file)))
        return
    print(HEAD, "| - " * HEAD.count(" | ") + "| - |", sep="\n")
    rows = []
    for file in FILES:
        for name in programs(file):
            if any(part in title(file, name) for part in given.only.split(",")):
                rows.append(measured(file, name, given.jax, given.cotangent, given.rounds, given.processes))
                print(line(rows[-1]), flush=True)
    print("\n" + summary(rows))
    if given.out:
        Path(given.out).write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
