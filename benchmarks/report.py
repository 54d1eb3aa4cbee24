"""The table on the terminal, as JSON, and as a page with plots for the documentation."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from judge import OURS, Row, number
from workloads import models

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
    targets = "; ".join(target.text(row) for target in row.workload.targets)
    return [*(cell(row, name) for name in COLUMNS), against_peer(row), of_limit(row), targets, row.verdict()]


def against_peer(row: Row) -> str:
    ratio, best = best_ratio(row), row.best_peer()
    return "" if ratio is None or best is None else f"{ratio:.2f}x {best[0]}"


def of_limit(row: Row) -> str:
    return "" if row.limit is None or OURS not in row.times else f"{row.limit / row.ours():.2f}"


def line(row: Row) -> str:
    """One line for the terminal."""
    values = columns_of(row)
    cells = "".join(f"{value:>10s}" for value in values[: len(COLUMNS)])
    first = f"{row.workload.name + ', ' + row.workload.unit:54s}{cells}{values[-4]:>22s}{values[-3]:>6s}  {values[-2]:34s}{values[-1]}"
    names = dict.fromkeys([*row.workload.others, *row.times, *row.absent])
    others = [f"{own(name)} {cell(row, name)}" for name in names if name not in COLUMNS]
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
    timed = [(row, best_ratio(row)) for row in rows if row.workload.measure is None]
    ratios = [(ratio, row.workload.name) for row, ratio in timed if ratio is not None]
    slower = sorted(pair for pair in ratios if pair[0] < 1 / 1.2)
    wrong = sum(1 for row in rows if row.wrong)
    lost = "; ".join(f"{name} ({1 / ratio:.1f}x slower)" for ratio, name in slower)
    return (
        f"{verdicts.count('met')} of {len(judged)} targets met; {wrong} workloads with a WRONG result; "
        f"slower than the best peer by more than 1.2x in {len(slower)}{': ' + lost if lost else ''}{mean_of(ratios)}"
    )


def mean_of(ratios: list[tuple[float, str]]) -> str:
    """The geometric mean of the best peers' times over ours."""
    if not ratios:
        return ""
    mean = math.exp(sum(math.log(ratio) for ratio, _ in ratios) / len(ratios))
    return f"; the best peer's time over ours, geometric mean of {len(ratios)}: {mean:.2f}"


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


@dataclass(frozen=True)
class Page:
    """A page of the documentation: its file, title, what it says first, and the areas on it."""

    file: str
    title: str
    about: str
    areas: tuple[str, ...]


HOW = """Written by `./dev bench --page`; do not edit. Every library runs the same work in one process, called in turn; the least time of a call
counts. Results are compared before they are timed: one that differs from what most libraries say is WRONG. Of several targets those that are
missed are **bold**."""

ELSEWHERE = (
    Page(
        "benchmarks_per_example.md",
        "Benchmarks of quantities of single examples",
        """Each is a reduction of `vmap(grad(loss))` in one `jit` ([what there is](per_example.md)). `jax.ghost` are ghost norms written out by hand for each
model, `torch.opacus` and `torch.opacus-ghost` Opacus with stored gradients and with ghost clipping, which takes no weights that are used at several
steps or in two layers; JAX and torch.func run the same `vmap(grad(loss))`. Over the plain gradient of the mean loss: processor time of one thread, and
bytes of temporaries besides arguments and results.""",
        (
            "per-example gradients",
            "per-example gradients over the plain gradient",
            "temporaries of per-example gradients over the plain gradient's",
        ),
    ),
    Page(
        "benchmarks_ragged.md",
        "Benchmarks of ragged programs",
        """One program under `mask` for all lengths ([ragged arrays](ragged.md)), next to programs that pad nothing. Columns without a library's name are other
programs of ours: `exact` has a program for each length, `by hand` and `padded` are padded and masked in the program. The network's times and those over
lengths are processor time of one thread. The transformer is compared with a program for each length that is called for each sentence (`one by one`) or for all
sentences of a length (`by length`), and with one program for all of these batches (`in one program`); `dense` has as many words in sentences of
one length; JAX and torch pad and mask, `torch.nested` has nested tensors of the jagged layout.

Costs over lengths: time of the masked program over that of the exact one, for 64 columns and lengths up to 1,024; the first column is the sum over the
lengths, or that of a batch whose rows have 8 lengths from 16 to 1,024 over 8 calls of exact programs.""",
        ("ragged recurrent network", "ragged transformer", "ragged costs over lengths"),
    ),
    Page(
        "benchmarks_models.md",
        "Benchmarks of whole models and programs",
        """Programs as their authors write them, at sizes at which somebody waits for them. Each is written once for cotangent and JAX, and again for torch
where that has a way of its own (its layers, its loops); all results are compared.""",
        tuple(models.AREAS),
    ),
)


def main_page(areas: Iterable[str]) -> Page:
    """What is on no other page."""
    others = {area for page in ELSEWHERE for area in page.areas}
    links = ", ".join(f"[{page.title.removeprefix('Benchmarks of ')}]({page.file})" for page in ELSEWHERE)
    about = f"""Targets are those of the project's plan, which were written for another machine and are scaled by its peers' times over theirs here. The limit
is the least time that the memory's bandwidth (all cores) and one core's arithmetic allow. On pages of their own: {links}."""
    return Page("benchmarks.md", "Benchmarks", about, tuple(area for area in areas if area not in others))


def own(name: str) -> str:
    """A column's title."""
    return name.removeprefix(f"{OURS}.")


def table(rows: list[Row]) -> list[str]:
    """Of one area, without columns in which nothing is."""
    known = [name for row in rows for name in (*row.workload.others, *row.times, *row.wrong, *row.absent)]
    names = [name for name in dict.fromkeys([*COLUMNS, *known]) if any(cell(row, name) != "–" for row in rows)]
    against = [against_peer(row) for row in rows]
    limits = [of_limit(row) for row in rows]
    heads = [*map(own, names), *["best peer / ours"] * any(against), *["of limit"] * any(limits), "target", ""]
    lines = ["| workload | " + " | ".join(heads) + " |", "|---" * (len(heads) + 1) + "|"]
    for row, ahead, limit in zip(rows, against, limits, strict=True):
        values = [cell(row, name) for name in names]
        values += [ahead] * any(against) + [limit] * any(limits) + [targets_of(row), row.verdict()]
        lines.append(f"| {row.workload.name}, {row.workload.unit} | " + " | ".join(values) + " |")
    return lines


def targets_of(row: Row) -> str:
    """What is asked; of several, those that are missed are bold."""
    several = len(row.workload.targets) > 1 and OURS in row.times
    texts = [(target.text(row), several and target.met(row) is False) for target in row.workload.targets]
    return "; ".join(f"**{text}**" if missed else text for text, missed in texts)


def to_markdown(page: Page, tables: dict[str, list[Row]], about: dict[str, Any], pictures: list[str]) -> str:
    rows = [row for area in page.areas for row in tables[area]]
    missing = [f"Not measured: {name}: {why}." for name, why in about["missing"].items()]
    text = [
        f"# {page.title}",
        "",
        HOW,
        page.about,
        "",
        f"Machine: {about['machine']}. Versions: {', '.join(f'{k} {v}' for k, v in about['versions'].items())}.",
        f"This run: {'; '.join(about['notes'])}. [Why targets are missed](design/021-what-the-benchmarks-miss.md).",
        *(["", *missing] if missing else []),
        "",
        f"**{summary(rows)}.**",
        "",
        *(f"![{Path(p).stem}]({p})\n" for p in pictures),
    ]
    for area in page.areas:
        text += [f"## {area[0].upper()}{area[1:]}", "", *table(tables[area]), ""]
    failures = [(row.workload.name, name, why) for row in rows for name, why in row.absent.items()]
    if failures:
        text += ["## What did not run", "", *(f"- {workload}: {name}: {why}" for workload, name, why in failures), ""]
    return "\n".join(text)


def write_pages(
    tables: dict[str, list[Row]], everything: dict[str, int], scaling: Any, about: dict[str, Any], folder: Path
) -> list[str]:
    """Writes the pages of which all workloads were run; `everything` has how many each area has. The names of the files written."""
    written = []
    for page in (main_page(everything), *ELSEWHERE):
        if any(len(tables.get(area, [])) < everything[area] for area in page.areas):
            continue
        here = {area: tables[area] for area in page.areas}
        pictures = plot(here, scaling, folder) if page.file == "benchmarks.md" else []
        (folder / page.file).write_text(to_markdown(page, here, about, pictures))
        written.append(page.file)
    return written


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
