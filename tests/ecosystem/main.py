"""`./dev ecosystem`: unmodified libraries of JAX on this package. Programs, steps, the libraries' own tests; docs/ecosystem.md says what came out.

Everything is made of parts: `programs/optax`, `steps/equinox`, `suites/chex`. A part's result is a file in `.cache/ecosystem/results`, and is
made again when the package, the libraries or the part's own file has changed since: what was stopped goes on where it was. `--only` runs
parts whose names hold one of the given words, `--fresh` runs them in any case. The page is written from all results that are there.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import environments
import page
import run
import steps
import suites
from environments import CACHE, WITH_HOOK, WITH_JAX

RESULTS = CACHE / "results"


def parts(workers: int, processes: int) -> dict[str, tuple[bytes, Callable[[], Any]]]:
    """The parts by name: what else than the package and the libraries its result hangs on, and the function that makes it."""
    pythons = {"jax": str(WITH_JAX.python), "cotangent": str(WITH_HOOK.python)}
    found: dict[str, tuple[bytes, Callable[[], Any]]] = {}
    for file in steps.FILES:
        found[f"steps/{file.stem.removesuffix('_steps')}"] = (
            file.read_bytes(),
            lambda file=file: [
                steps.measured(file, name, **pythons, rounds=steps.ROUNDS, processes=processes)
                for name in steps.programs(file)
            ],
        )
    for file in run.FILES:
        found[f"programs/{file.stem.removesuffix('_programs')}"] = (
            file.read_bytes(),
            lambda file=file: run.compare(file, **pythons, kept=CACHE / "programs"),
        )
    for library, suite in suites.SUITES.items():
        found[f"suites/{library}"] = (
            repr(suite).encode(),
            lambda library=library: suites.run(library, workers, CACHE / "suites"),
        )
    return found


def said(name: str, result: Any) -> str:
    """A part's result in one line."""
    if name.startswith("suites/"):
        return suites.line(result)
    good = sum(not row["error"] for row in result)
    slower = sum(steps.ratio(row, "step") < 1 for row in result if "step" in row)
    return f"{name}: {good} of {len(result)} equal" + (f", {slower} slower than on JAX" if "steps/" in name else "")


def main() -> int:
    """Runs what has to be run, and writes the page."""
    parser = argparse.ArgumentParser(
        prog="./dev ecosystem", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", default="", help="words of names of parts, with commas between them")
    parser.add_argument("--fresh", action="store_true", help="run parts whose results are there, too")
    parser.add_argument("--list", action="store_true", help="print the names of the parts")
    parser.add_argument("--workers", type=int, default=2, help="processes that run a library's tests")
    parser.add_argument("--processes", type=int, default=1, help="how often a step is begun anew")
    parser.add_argument("--page", type=Path, default=page.PAGE, help="where the page goes")
    given = parser.parse_args()
    wanted = {
        name: part
        for name, part in parts(given.workers, given.processes).items()
        if any(word in name for word in given.only.split(","))
    }
    if given.list:
        print("\n".join(wanted))
        return 0
    for environment in (WITH_JAX, WITH_HOOK):
        environments.prepare(environment)
    common = environments.build_of(WITH_HOOK).encode() + environments.REQUIREMENTS.read_bytes()
    for name, (own, make) in wanted.items():
        file = RESULTS / f"{name}.json"
        digest = hashlib.sha256(common + own).hexdigest()
        if not given.fresh and file.exists() and json.loads(file.read_text())["digest"] == digest:
            continue
        start = time.monotonic()
        result = make()
        file.parent.mkdir(parents=True, exist_ok=True)
        told = {"digest": digest, "seconds": time.monotonic() - start, "load": os.getloadavg()[0], "result": result}
        file.write_text(json.dumps(told, indent=1))
        print(f"{said(name, result)} ({time.monotonic() - start:.0f} s)", flush=True)
    page.write(page.read(RESULTS), given.page)
    print(f"written: {given.page}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
