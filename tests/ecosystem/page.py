"""Writes docs/ecosystem.md from the results of `./dev ecosystem`: what was run, what passed, why the rest does not, and the times."""

from __future__ import annotations

import json
import os
from collections import Counter
from pathlib import Path
from statistics import geometric_mean
from typing import Any

import environments
import steps
import suites

PAGE = environments.ROOT / "docs" / "ecosystem.md"
REASONS_SHOWN = 12  # groups of failures of one library; the rest is summed

Results = dict[str, dict[str, Any]]

HEAD = """# Libraries of JAX on this package

`./dev ecosystem` runs libraries that were written for JAX, unmodified, by [`cotangent.jax`](jax_hook.md): programs made of them, the tests that
they bring with them, and training steps of which it takes the time. This page is what it wrote; nothing in it is written by hand. The libraries
have the versions of `requirements/ecosystem.txt`, JAX is {jax}. `./dev ecosystem --only suites/optax` runs a part.

{summary}

"""

LIBRARIES = """## The libraries

*Programs* are those of `tests/ecosystem/programs/`: uses of a library as its documentation teaches them, whose results are compared with JAX's
to a relative 1e-3, with dtypes and shapes. *Own tests* are the library's, from its wheel or its source archive; a test that was skipped
there is not counted. Where a library brings no tests to PyPI, the column is empty.

| library | version | programs equal | own tests passed | of those that JAX passes |
| - | - | - | - | - |
"""

PROGRAMS = """
## Programs that differ

| library | program | what is different |
| - | - | - |
"""

TESTS = """
## Tests that fail

Grouped by the first line of their message, numbers left out. Up to {like_it} tests of each group ran in the environment of JAX, too; *fail on JAX* is
how many of these fail there as well, mostly for a package that neither environment has, or for changes of JAX since the library was published.

| library | tests | fail on JAX | message |
| - | - | - | - |
"""

LEFT_OUT = """
## Tests that were left out

A library's tests are one in so many where all of them take too long: which ones is fixed by their names.

| library | what | why |
| - | - | - |
"""

STEPS = """
## Times

A *step* is one call of a jitted training step, of a solver or of a sampler, as in `tests/ecosystem/step_programs/`; the state that comes out
goes into the next call. Two processes, one on JAX and one here, take turns at blocks of the same calls, and the time is the median of {rounds}
blocks. The *first call* traces and compiles; nothing compiled before is used on either side. Above 1, this package is faster. {summary}

"""


def read(folder: Path) -> Results:
    """The results that are there, by the names of their parts."""
    return {
        str(file.relative_to(folder).with_suffix("")): json.loads(file.read_text())
        for file in sorted(folder.rglob("*.json"))
    }


def of_kind(results: Results, kind: str) -> list[Any]:
    """The results of parts of a kind."""
    return [result["result"] for name, result in results.items() if name.startswith(f"{kind}/")]


def cell(text: str) -> str:
    """Text that may stand in a table."""
    return text.replace("|", "\\|").replace("<", "&lt;").replace("\n", " ").replace("*", "\\*").replace("_", "\\_")


def share(part: int, whole: int) -> str:
    """A count with its percentage."""
    return f"{part} of {whole} ({100 * part / whole:.1f} %)" if whole else ""


def counts(suite: dict[str, Any]) -> tuple[int, int, int]:
    """How many of a library's tests passed, were tried, and fail on JAX as well."""
    return suite["passed"], suite["passed"] + len(suite["failures"]), len(suites.fails_on_jax(suite))


def summary(programs: list[dict[str, Any]], own: list[dict[str, Any]], timed: list[dict[str, Any]]) -> str:
    """The sentences at the top."""
    said = []
    if programs:
        libraries = {row["library"] for row in programs} - {"jax"}
        running = {row["library"] for row in programs if not row["error"]} - {"jax"}
        said.append(
            f"{len(running)} of {len(libraries)} libraries run unmodified, in one program at least, and "
            f"{share(sum(not row['error'] for row in programs), len(programs))} programs give JAX's results."
        )
    if own:
        passed, tried, too = (sum(column) for column in zip(*map(counts, own), strict=True))
        said.append(
            f"Of the tests that {len(own)} libraries bring with them, {share(passed, tried)} pass; "
            f"without the {too} that are known to fail on JAX as well, {100 * passed / max(tried - too, 1):.1f} %."
        )
    steps_timed = [row for row in timed if "step" in row]
    if steps_timed:
        ratios = [steps.ratio(row, "step") for row in steps_timed]
        said.append(
            f"{sum(r > 1 for r in ratios)} of {len(ratios)} training steps and solver calls are faster than on JAX, {geometric_mean(ratios):.1f} times on "
            f"geometric average; {sum(r < 1 / steps.AIM_SLOWEST for r in ratios)} are more than {steps.AIM_SLOWEST} times slower."
        )
    return " ".join(said)


def libraries_table(programs: list[dict[str, Any]], own: list[dict[str, Any]]) -> str:
    """A line for each library."""
    versions = environments.versions() | {"jax": environments.constrained("jax")}
    by_suite = {suite["library"]: suite for suite in own}
    lines = []
    for library in sorted({row["library"] for row in programs} | set(by_suite), key=str.lower):
        of = [row for row in programs if row["library"] == library]
        columns = [library, versions.get(library, ""), share(sum(not row["error"] for row in of), len(of))]
        if library in by_suite:
            passed, tried, too = counts(by_suite[library])
            columns += [share(passed, tried), share(passed, tried - too)]
        else:
            columns += ["", ""]
        lines.append("| " + " | ".join(columns) + " |")
    return "\n".join(lines) + "\n"


def failures_table(own: list[dict[str, Any]]) -> str:
    """The failures of each library, grouped by message."""
    lines = []
    for suite in own:
        too = suites.fails_on_jax(suite)
        groups = Counter(suite["failures"].values())
        asked = Counter(suite["failures"][name] for name in suite["on_jax"])
        also = Counter(suite["failures"][name] for name in too)
        shown = [message for message, _ in groups.most_common(REASONS_SHOWN)]
        for message in shown:
            on_jax = f"{also[message]} of {asked[message]}" if asked[message] else ""
            lines.append(f"| {suite['library']} | {groups[message]} | {on_jax} | {cell(message)} |")
        others = set(groups) - set(shown)
        if others:
            count, told, on_jax = (sum(counter[message] for message in others) for counter in (groups, also, asked))
            lines.append(f"| {suite['library']} | {count} | {told} of {on_jax} | {len(others)} other messages |")
    return "\n".join(lines) + "\n"


def left_out_table(own: list[dict[str, Any]]) -> str:
    """What is not run of the suites that were."""
    lines = []
    for suite in own:
        known = suites.SUITES.get(suite["library"])
        if known is None:
            continue
        if known.share > 1:
            lines.append(f"| {suite['library']} | all but one in {known.share} | the whole takes too long |")
        lines += [f"| {suite['library']} | {cell(what)} | {cell(why)} |" for what, why in known.left_out.items()]
    waiting = ", ".join(sorted(set(suites.SUITES) - {suite["library"] for suite in own}, key=str.lower))
    lines += [f"| {waiting} | all | the run was stopped before |"] if waiting else []
    lines += [f"| {libraries} | all | {why} |" for libraries, why in suites.NOT_RUN.items()]
    return "\n".join(lines) + "\n"


def disturbance(results: Results) -> str:
    """A sentence on what else the machine did while steps were timed, if it was more than its processors can do."""
    load = max((result.get("load", 0.0) for name, result in results.items() if name.startswith("steps/")), default=0.0)
    processors = os.cpu_count() or 1
    if load <= processors + 0.5:
        return ""
    return (
        f"While these were measured, up to {load:.1f} processes wanted the {processors} processors: the times are longer than a quiet machine's, "
        "and those of programs that use several threads are uneven.\n\n"
    )


def write(results: Results, file: Path) -> None:
    """Writes the page of some results."""
    programs = [row for rows in of_kind(results, "programs") for row in rows]
    own = sorted(of_kind(results, "suites"), key=lambda suite: suite["library"].lower())
    timed = [row for rows in of_kind(results, "steps") for row in rows]
    text = HEAD.format(jax=environments.constrained("jax"), summary=summary(programs, own, timed))
    text += LIBRARIES + libraries_table(programs, own)
    differing = [row for row in programs if row["error"]]
    if differing:
        text += PROGRAMS + "".join(
            f"| {row['library']} | {cell(row['program'])} | {cell(row['error'])} |\n" for row in differing
        )
    if any(suite["failures"] for suite in own):
        text += TESTS.format(like_it=suites.LIKE_IT) + failures_table(own)
    if left_out := left_out_table(own).strip():
        text += LEFT_OUT + left_out + "\n"
    if timed:
        text += STEPS.format(rounds=steps.ROUNDS, summary=steps.summary(timed)) + disturbance(results)
        ordered = sorted(timed, key=lambda row: steps.ratio(row, "step") if "step" in row else 0.0)
        text += f"{steps.HEAD}\n{'| - ' * steps.HEAD.count(' | ')}| - |\n" + "".join(
            steps.line(row) + "\n" for row in ordered
        )
    file.write_text(text)
