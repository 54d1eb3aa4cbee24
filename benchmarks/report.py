"""The table on the terminal, as JSON, and as a page with plots for the documentation."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from judge import OURS, Row, number

COLUMNS = [OURS, "jax", "torch", "torch.func", "torch.compile", "numpy", "C"]


def cell(row: Row, name: str) -> str:
    if name in row.wrong:
        return "WRONG"
    if name in row.times:
        return number(row.times[name])
    return "error" if name in row.absent else "–"


def best_ratio(row: Row) -> float | None:
    """The best peer's time over ours: above 1 we are ahead."""
    best = row.best_peer()
    return None if best is None or OURS not in row.times else best[1] / max(row.ours(), 1e-12)


def columns_of(row: Row) -> list[str]:
    ratio = best_ratio(row)
    best = row.best_peer()
    fraction = "" if row.limit is None or OURS not in row.times else f"{row.limit / row.ours():.2f}"
    targets = "; ".join(target.text(row) for target in row.workload.targets)
    against = "" if ratio is None or best is None else f"{ratio:.2f}x {best[0]}"
    return [*(cell(row, name) for name in COLUMNS), against, fraction, targets, row.verdict()]


HEAD = [*COLUMNS, "best peer / ours", "of limit", "target", ""]


def line(row: Row) -> str:
    """One line for the terminal."""
    values = columns_of(row)
    cells = "".join(f"{value:>10s}" for value in values[: len(COLUMNS)])
    first = f"{row.workload.name + ', ' + row.workload.unit:54s}{cells}{values[-4]:>22s}{values[-3]:>6s}  {values[-2]:34s}{values[-1]}"
    others = [f"{name} {cell(row, name)}" for name in row.workload.others]
    return "\n    ".join([first, ", ".join(others)] if others else [first])


def head() -> str:
    return (
        f"{'workload':54s}"
        + "".join(f"{name[-9:]:>10s}" for name in COLUMNS)
        + f"{'best peer / ours':>22s}{'limit':>6s}  target"
    )


def summary(rows: list[Row]) -> str:
    verdicts = [row.verdict() for row in rows]
    judged = [v for v in verdicts if v]
    ratios = [(row, best_ratio(row)) for row in rows if row.workload.measure is None]
    slower = sorted(((ratio, row.workload.name) for row, ratio in ratios if ratio is not None and ratio < 1 / 1.2))
    wrong = sum(1 for row in rows if row.wrong)
    lost = "; ".join(f"{name} ({1 / ratio:.1f}x slower)" for ratio, name in slower)
    return (
        f"{verdicts.count('met')} of {len(judged)} targets met; {wrong} workloads with a WRONG result; "
        f"slower than the best peer by more than 1.2x in {len(slower)}{': ' + lost if lost else ''}"
    )


def to_json(tables: dict[str, list[Row]], scaling: Any, about: dict[str, Any]) -> str:
    areas = {
        area: [
            {
                "name": row.workload.name, "unit": row.workload.unit, "times": row.times, "wrong": row.wrong, "absent": row.absent,
                "limit": row.limit, "targets": [target.text(row) for target in row.workload.targets], "verdict": row.verdict(),
                "best_peer_over_ours": best_ratio(row),
            }
            for row in rows
        ]
        for area, rows in tables.items()
    }  # fmt: skip
    return json.dumps({"about": about, "areas": areas, "scaling": scaling}, indent=1, ensure_ascii=False) + "\n"


def to_markdown(tables: dict[str, list[Row]], about: dict[str, Any], pictures: list[str]) -> str:
    rows = [row for area in tables.values() for row in area]
    text = [
        "# Benchmarks",
        "",
        "Written by `./dev bench --page`; do not edit. Every library runs the same work in one process, called in turn; the least time of a call",
        "counts. Results are compared before they are timed: one that differs from what most libraries say is WRONG. Targets are those of the",
        "project's plan, which were written for another machine and are scaled by its peers' times over theirs here. The limit is the least time that",
        "the memory's bandwidth (all cores) and one core's arithmetic allow.",
        "",
        f"Machine: {about['machine']}. Versions: {', '.join(f'{k} {v}' for k, v in about['versions'].items())}.",
        f"This run: {'; '.join(about['notes'])}. [Why targets are missed](design/021-what-the-benchmarks-miss.md).",
        *(
            [""] + [f"Not measured: {name}: {why}." for name, why in about["missing"].items()]
            if about["missing"]
            else []
        ),
        "",
        f"**{summary(rows)}.**",
        "",
        *(f"![{Path(p).stem}]({p})\n" for p in pictures),
    ]
    for area, members in tables.items():
        text += [
            f"## {area.capitalize()}",
            "",
            "| workload | " + " | ".join(HEAD) + " |",
            "|---" * (len(HEAD) + 1) + "|",
        ]
        text += [
            f"| {row.workload.name}, {row.workload.unit} | " + " | ".join(columns_of(row)) + " |" for row in members
        ]
        text.append("")
    failures = [(row.workload.name, name, why) for row in rows for name, why in row.absent.items()]
    if failures:
        text += ["## What did not run", "", *(f"- {workload}: {name}: {why}" for workload, name, why in failures), ""]
    return "\n".join(text)


def plot(tables: dict[str, list[Row]], scaling: Any, folder: Path) -> list[str]:
    """Ratios to the best peer, and how cost grows. The names of the files written."""
    import matplotlib as mpl

    mpl.use("svg")
    mpl.rcParams["svg.hashsalt"] = "cotangent"
    from matplotlib import pyplot as plt

    names: list[str] = []
    rows = [row for area in tables.values() for row in area if row.workload.measure is None and best_ratio(row)]
    if rows:
        figure, axes = plt.subplots(figsize=(9, 0.22 * len(rows) + 1))
        ratios = [best_ratio(row) or 0 for row in rows]
        colors = ["#2a7" if ratio >= 1 else "#c33" for ratio in ratios]
        axes.barh(range(len(rows)), [ratio - 1 for ratio in ratios], left=1, color=colors)
        axes.set_yticks(range(len(rows)), [row.workload.name for row in rows], fontsize=7)
        axes.set_xscale("log")
        axes.axvline(1, color="black", linewidth=0.8)
        axes.invert_yaxis()
        axes.set_xlabel("best peer's time / ours (right of 1: we are faster)")
        figure.savefig(folder / "benchmarks.svg", bbox_inches="tight", metadata={"Date": None})
        names.append("benchmarks.svg")
        plt.close(figure)
    if scaling:
        figure, all_axes = plt.subplots(1, len(scaling), figsize=(3.2 * len(scaling), 2.8))
        for axes, (name, curves) in zip(all_axes, scaling.items(), strict=True):
            for library, points in curves.items():
                axes.loglog(*zip(*points, strict=True), marker="o", label=library)
            axes.set_title(name, fontsize=8)
            axes.set_ylabel("seconds", fontsize=7)
            axes.legend(fontsize=7)
        figure.tight_layout()
        figure.savefig(folder / "scaling.svg", bbox_inches="tight", metadata={"Date": None})
        names.append("scaling.svg")
        plt.close(figure)
    return names
