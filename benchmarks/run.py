"""Side by side with JAX, torch and NumPy: `./dev bench`. Losses are shown as plainly as wins; a result that differs is WRONG, not a time.

Read `judge.py` for what a workload and a target are, `libraries.py` for how libraries are driven, `workloads/` for what is run, and
`report.py` for what is written. Results go to benchmarks/results.json; `--page` also writes docs/benchmarks.md, its plots, and the pages of
single examples and of ragged programs, each if all of its workloads run (`--only ragged --page` writes that one).
"""

from __future__ import annotations

import argparse
import os
import sys
import warnings
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import exported_libraries  # noqa: E402
import judge  # noqa: E402
import libraries  # noqa: E402
import report  # noqa: E402
import scaling  # noqa: E402
import sweep  # noqa: E402
from machine import Limits  # noqa: E402
from workloads import WORKLOADS  # noqa: E402


def parse(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="./dev bench", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--only", default="", metavar="TEXT[,TEXT]", help="workloads or areas whose name contains one of these"
    )
    parser.add_argument(
        "--quick", action="store_true", help="few repetitions and no torch.compile: a look, not a measurement"
    )
    parser.add_argument(
        "--libraries", default="", metavar="NAME[,NAME]", help="peers: jax, torch, torch.func, torch.compile, numpy"
    )
    parser.add_argument(
        "--seconds", type=float, default=0, help="time for each library and workload (default 1; --quick 0.1)"
    )
    parser.add_argument(
        "--no-compile", action="store_true", help="leave torch.compile out, which takes tens of seconds a workload"
    )
    parser.add_argument("--no-scaling", action="store_true", help="leave out how cost grows")
    parser.add_argument(
        "--sweep", action="store_true", help="every public function next to JAX instead (--only, --page)"
    )
    parser.add_argument(
        "--export",
        action="store_true",
        help="exported C libraries beside C by hand instead (--quick, --libraries, --page)",
    )
    parser.add_argument(
        "--sizes", default="small,medium,large", metavar="NAME[,NAME]", help="of --sweep: small, medium, large"
    )
    parser.add_argument(
        "--page", action="store_true", help="write the pages docs/benchmarks*.md of which all workloads run, and plots"
    )
    parser.add_argument("--json", type=Path, default=HERE / "results.json", help="where the figures go")
    parser.add_argument("--list", action="store_true", help="print the workloads' names")
    return parser.parse_args(arguments)


def chosen(only: str) -> dict[str, list[judge.Workload]]:
    words = [word.strip() for word in only.split(",") if word.strip()]
    picked = {
        area: [w for w in members if not words or any(word in w.name or word in area for word in words)]
        for area, members in WORKLOADS.items()
    }
    return {area: members for area, members in picked.items() if members}


def main(arguments: list[str] | None = None) -> int:
    options = parse(arguments)
    if options.sweep:
        return sweep.main(
            options.sizes, options.only, options.seconds or (0.01 if options.quick else 0.05), options.page
        )
    if options.export:
        seconds = options.seconds or (0.05 if options.quick else 1.0)
        return exported_libraries.main(options.libraries, seconds, options.quick, options.page)
    tables = chosen(options.only)
    if options.list or not tables:
        print("\n".join(w.name for members in WORKLOADS.values() for w in members))
        return 0 if options.list else 2
    warnings.filterwarnings("ignore", module="torch")
    warnings.filterwarnings("ignore", "Full backward hook")  # Opacus's
    found, missing = libraries.load(options.libraries)
    limits = Limits(options.quick)
    load = os.getloadavg()[0]
    print(limits.text())
    for name, why in missing.items():
        print(f"{name} is not here: {why}")
    print(report.head())
    seconds = options.seconds or (0.1 if options.quick else 1.0)
    rows: dict[str, list[judge.Row]] = {}
    for area, members in tables.items():
        rows[area] = []
        for workload in members:
            row = judge.run(workload, found, limits, seconds, not (options.quick or options.no_compile))
            rows[area].append(row)
            print(report.line(row), flush=True)
    notes = [f"{seconds:g} s for each library and workload; load average {load:.1f} when it started"]
    if load > limits.cores:
        notes.append(
            "other programs had the cores too, so times above a millisecond say little: run it on a quiet machine"
        )
    if options.quick or options.no_compile:
        notes.append("without torch.compile")
    everything = [row for members in rows.values() for row in members]
    print(f"\n{report.summary(everything)}")
    grown = {} if options.no_scaling or options.only else scaling.run(found, options.quick)
    about = {"machine": limits.text(), "versions": libraries.versions(), "missing": missing, "notes": notes}
    options.json.write_text(report.to_json(rows, grown, about))
    if options.page:
        numbers = {area: len(members) for area, members in WORKLOADS.items()}
        written = report.write_pages(rows, numbers, grown, about, HERE.parent / "docs")
        print(f"written: {', '.join(written) or 'nothing, as some workloads of each page were left out'}")
    return 1 if any(judge.OURS in row.wrong for row in everything) else 0


if __name__ == "__main__":
    sys.exit(main())
