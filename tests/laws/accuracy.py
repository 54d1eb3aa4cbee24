"""Errors of the elementary and special functions against mpmath: `./dev accuracy` writes docs/accuracy.md.

One line a function and precision: the worst error in ulp as the eager tier and as compiled code computes it, the point
where it happens, the bound that tests hold it to, and how often and how far the two tiers differ.

    ./dev accuracy                     measure all and write the page
    ./dev accuracy --print gamma       print the lines whose name contains "gamma", write nothing
    ./dev accuracy --points 200        a smaller sample
"""

from __future__ import annotations

import argparse
import math
import sys
import time
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cotangent as ct
import cotangent.numpy as cnp
import numpy as np
from accuracy_records import FOLDS, GROUPS, RECORDS, Fold, Record
from mpmath import mp, mpf

PAGE = Path(__file__).resolve().parents[2] / "docs" / "accuracy.md"
POINTS = 1000
# name -> (bits of the significand, least exponent of a normal number, largest number)
TYPES = {
    "float32": (24, -126, float(np.finfo(np.float32).max)),
    "float64": (53, -1022, float(np.finfo(np.float64).max)),
    "float16": (11, -14, 65504.0),
    "bfloat16": (8, -126, float.fromhex("0x1.fep127")),
}


@dataclass
class Measurement:
    """One function in one precision."""

    record: Record
    dtype: str
    eager: float
    compiled: float
    where: tuple[float, ...]  # the worst point of either
    differ: float  # the share of points where eager and compiled results have other bits
    distance: float  # the largest difference of the two in ulp

    @property
    def worst(self) -> float:
        return max(self.eager, self.compiled)

    @property
    def bound(self) -> float:
        return self.record.small if self.dtype in ("float16", "bfloat16") else float(getattr(self.record, self.dtype))


def _uniform(random: np.random.Generator, low: float, high: float, count: int, least: float) -> np.ndarray:
    """Numbers of an interval: by magnitude where it has one sign, else half of them evenly and half by magnitude."""
    if low > 0 or high < 0:
        signed = np.exp(random.uniform(math.log(min(abs(low), abs(high))), math.log(max(abs(low), abs(high))), count))
        return np.where(low > 0, signed, -signed)
    even = random.uniform(low, high, count)
    end = np.where(random.random(count) * (high - low) < high, high, low)
    start = np.where(random.random(count) < 0.2, least, 1e-4 * np.abs(end))
    magnitude = np.exp(random.uniform(np.log(np.minimum(start, np.abs(end)) + least), np.log(np.abs(end) + least)))
    return np.where(random.random(count) < 0.5, even, np.copysign(magnitude, end))


def sample(record: Record, dtype: str, count: int, seed: int = 0) -> list[np.ndarray]:
    """Arguments that the type represents: the hard points first."""
    random = np.random.default_rng([seed, zlib.crc32(record.name.encode()), zlib.crc32(dtype.encode())])
    bits, least_exponent, largest = TYPES[dtype]
    least = 2.0**least_exponent
    columns = []
    for position, intervals in enumerate(record.arguments):
        inside = [(max(low, -largest), min(high, largest)) for low, high in intervals]
        inside = [
            (max(low, least) if low > 0 else low, min(high, -least) if high < 0 else high) for low, high in inside
        ]
        if position in record.whole:
            column = random.integers(int(inside[0][0]), int(inside[0][1]) + 1, count).astype(float)
        else:
            parts = [_uniform(random, low, high, -(-count // len(inside)), least) for low, high in inside]
            column = np.concatenate(parts)
            random.shuffle(column)
            column = column[:count]
            # Neighbours of round numbers are where formulas change.
            near = random.random(count) < 0.05
            column = np.where(near & (np.abs(column) > 1), np.round(column) * (1 + 2.0 ** (1 - bits)), column)
        hard = np.array([point[position] for point in record.points])
        columns.append(np.concatenate([hard, column]))
    rounded = [np.asarray(cnp.asarray(column, dtype).astype("float64")) for column in columns]
    keep = np.ones(len(rounded[0]), bool)
    for column, intervals in zip(rounded, record.arguments, strict=True):
        within = np.zeros(len(column), bool)
        for low, high in intervals:
            within |= (column >= low) & (column <= high)
        keep &= (within | (np.arange(len(column)) < len(record.points))) & np.isfinite(column)
        keep &= (column != 0) | any(low == 0 < high and record.whole for low, high in intervals)
    return [column[keep] for column in rounded]


def ulp_of(value: mpf, dtype: str) -> mpf:
    """The unit in the last place of a number of this magnitude."""
    bits, least_exponent, _ = TYPES[dtype]
    exponent = mp.frexp(value)[1] - 1 if value else least_exponent
    return mp.ldexp(1, max(exponent, least_exponent) - bits + 1)


def error(got: float, exact: mpf, dtype: str, floor: Any) -> float:
    """In ulp; infinite where one of the two is not finite and the other is."""
    largest = TYPES[dtype][2]
    if mp.isnan(exact) or math.isnan(got):
        return 0.0 if mp.isnan(exact) and math.isnan(got) else math.inf
    if math.isinf(got) or abs(exact) > largest:
        close = abs(exact) > largest * (1 - 1e-5) and (math.isinf(got) or abs(got) > largest * (1 - 1e-5))
        return 0.0 if close and (got > 0) == (exact > 0) else math.inf
    scale = ulp_of(exact if abs(exact) > floor else mpf(floor), dtype)
    return float(abs(mpf(got) - exact) / scale)


def exact_values(record: Record, arguments: list[np.ndarray]) -> list[mpf]:
    """The references."""
    results = []
    with mp.workdps(record.digits):
        for point in zip(*arguments, strict=True):
            try:
                results.append(mp.re(record.reference(*(mpf(float(x)) for x in point))))
            except (ZeroDivisionError, ValueError):
                results.append(mp.nan)
    return results


def evaluated(record: Record, arguments: list[np.ndarray], dtype: str) -> tuple[np.ndarray, np.ndarray]:
    """Results of the eager tier, computed op by op, and of compiled code, as float64."""
    operands = [cnp.asarray(column, dtype) for column in arguments]
    with ct.disable_jit():
        eager = record.call(*operands)
    compiled = ct.jit(record.call)(*operands)
    return np.asarray(eager.astype("float64")), np.asarray(compiled.astype("float64"))


def measure(record: Record, dtype: str, points: int, seed: int = 0) -> Measurement:
    """Worst errors over a sample."""
    arguments = sample(record, dtype, max(1, points // record.slow), seed)
    exact = exact_values(record, arguments)
    eager, compiled = evaluated(record, arguments, dtype)
    with mp.workdps(45):
        exact_points = [tuple(mpf(float(x)) for x in point) for point in zip(*arguments, strict=True)]
        floors = [record.floor(*point) if callable(record.floor) else record.floor for point in exact_points]
        known = [i for i, value in enumerate(exact) if not mp.isnan(value)]
        errors = np.array(
            [[error(float(tier[i]), exact[i], dtype, floors[i]) for tier in (eager, compiled)] for i in known]
        )
        apart = np.array(
            [
                0.0 if a == b or (a != a and b != b) else float(abs(mpf(float(a)) - mpf(float(b))) / ulp_of(mpf(float(b)), dtype))
                for a, b in ((eager[i], compiled[i]) for i in known)
            ]
        )  # fmt: skip
    worst = known[int(np.argmax(errors.max(axis=1)))]
    where = tuple(float(column[worst]) for column in arguments)
    most = errors.max(axis=0)
    return Measurement(
        record, dtype, float(most[0]), float(most[1]), where, float(np.mean(apart > 0)), float(apart.max(initial=0.0))
    )


@dataclass
class FoldMeasurement:
    """One sum or product in one precision; errors in ulp of what the magnitudes give, None in float64, which is the reference."""

    fold: Fold
    dtype: str
    eager: float | None
    compiled: float | None
    differ: float
    distance: float

    @property
    def worst(self) -> float:
        return max(self.eager or 0.0, self.compiled or 0.0)


def measure_fold(fold: Fold, dtype: str, seed: int = 0) -> FoldMeasurement:
    """Errors against float64, and how far the tiers are apart."""
    random = np.random.default_rng(seed)
    operands = [cnp.asarray(random.standard_normal(shape), dtype) for shape in fold.shapes]
    operands = [cnp.abs(x) for x in operands] if fold.positive else operands
    wide = [x.astype("float64") for x in operands]
    with ct.disable_jit():
        eager = np.asarray(fold.call(*operands).astype("float64"))
        exact = np.asarray(fold.call(*wide))
        terms = np.asarray(fold.call(*map(cnp.abs, wide)))
    compiled = np.asarray(ct.jit(fold.call)(*operands).astype("float64"))
    bits, least_exponent, _ = TYPES[dtype]
    unit = 2.0 ** (np.maximum(np.frexp(terms)[1] - 1, least_exponent) - bits + 1)
    errors = [float(np.max(np.abs(tier - exact) / unit)) for tier in (eager, compiled)]
    apart = np.abs(eager - compiled) / unit
    known = errors if dtype != "float64" else [None, None]
    return FoldMeasurement(fold, dtype, *known, float(np.mean(apart > 0)), float(apart.max()))


def fold_line(m: FoldMeasurement) -> str:
    """A row of the page."""
    apart = "same bits" if m.differ == 0 else f"{100 * m.differ:.0f}%, {m.distance:.2f}"
    errors = ["–" if error is None else f"{error:.2f}" for error in (m.eager, m.compiled)]
    return "| " + " | ".join([m.fold.name, m.dtype, *errors, f"{m.fold.bound:g}", apart]) + " |"


def dtypes_of(record: Record) -> tuple[str, ...]:
    """The precisions that a record is measured in."""
    return ("float32", "float64", "bfloat16", "float16") if record.small else ("float32", "float64")


def measurements(records: list[Record], points: int) -> Iterator[Measurement]:
    for record in records:
        for dtype in dtypes_of(record):
            yield measure(record, dtype, points)


def _number(value: float) -> str:
    return "∞" if math.isinf(value) else f"{value:.1f}" if value < 100 else f"{value:.0f}"


def line(m: Measurement) -> str:
    """A row of the page."""
    where = ", ".join(f"{x:.9g}" if m.dtype == "float32" else f"{x:.17g}" for x in m.where)
    apart = "same bits" if m.differ == 0 else f"{100 * m.differ:.0f}%, {_number(m.distance)}"
    cells = [m.record.name, m.dtype, _number(m.eager), _number(m.compiled), where, _number(m.bound), apart]
    return "| " + " | ".join(cells) + " |"


HEADER = "| function | type | eager | compiled | worst at | bound | eager and compiled |\n| --- | --- | --- | --- | --- | --- | --- |"


def page(groups: dict[str, list[Measurement]], points: int) -> str:
    """docs/accuracy.md."""
    parts = [
        "# Accuracy of the functions",
        "Written by `./dev accuracy` (tests/laws/accuracy.py), from the records in tests/laws/accuracy_records.py. Errors are in units in the last\n"
        "place (ulp) of the exact result, computed by mpmath from the exact value of the arguments; correct rounding is 0.5.\n"
        '"Eager" is the interpreter, op by op; "compiled" is `jit` on the machine that wrote the page. The last column says for which\n'
        "share of the points the two have other bits, and by how many ulp at most: see [determinism](determinism.md). The bound is what\n"
        "tests/laws/test_accuracy.py holds both to. Of functions that go through 0, results below the floor count in ulp of the floor.",
        f"Sampled at up to {points} points a row, hard ones among them.",
    ]
    for title, rows in groups.items():
        parts += [f"## {title}", "\n".join([HEADER, *map(line, rows)])]
        floors = [
            f"`{m.record.name}` {m.record.note if callable(m.record.floor) else format(m.record.floor, 'g')}"
            for m in rows
            if m.record.floor and m.dtype == "float32"
        ]
        if floors:
            parts.append("Floors: " + ", ".join(floors) + ".")
        ranges = []
        for m in rows:
            if m.dtype == "float32":
                spans = "; ".join(" and ".join(f"{low:g} to {high:g}" for low, high in i) for i in m.record.arguments)
                ranges.append(f"`{m.record.name}` {spans}")
        parts.append("Ranges (cut to those of the type): " + " · ".join(ranges) + ".")
    return "\n\n".join(parts) + "\n"


def folds_section(rows: list[FoldMeasurement]) -> str:
    """The part of the page on sums and products."""
    return (
        "\n\n".join(
            [
                "## Sums and products",
                "Errors against the same call in float64, in ulp of what the call gives for the magnitudes of its arguments: where terms\n"
                "cancel, errors are relative to the terms. float16 and bfloat16 are summed in float32 and rounded once.",
                "| call | type | eager | compiled | bound | eager and compiled |\n| --- | --- | --- | --- | --- | --- |\n"
                + "\n".join(map(fold_line, rows)),
            ]
        )
        + "\n"
    )


def main(arguments: list[str] | None = None) -> int:
    """The command."""
    parser = argparse.ArgumentParser(prog="./dev accuracy", description="Measure errors in ulp against mpmath.")
    parser.add_argument("--print", metavar="NAME", help="only functions whose name contains this, to the terminal")
    parser.add_argument("--points", type=int, default=POINTS, help="points a row")
    options = parser.parse_args(arguments)
    if options.print is not None:
        chosen = [record for record in RECORDS if options.print in record.name]
        print(HEADER)
        for m in measurements(chosen, options.points):
            print(line(m) + (" ABOVE ITS BOUND" if m.worst > m.bound else ""), flush=True)
        for f in (measure_fold(fold, dtype) for fold in FOLDS if options.print in fold.name for dtype in TYPES):
            print(fold_line(f) + (" ABOVE ITS BOUND" if f.worst > f.fold.bound else ""), flush=True)
        return 0
    groups: dict[str, list[Measurement]] = {}
    above = 0
    for title, records in GROUPS.items():
        start = time.monotonic()
        groups[title] = list(measurements(records, options.points))
        above += sum(m.worst > m.bound for m in groups[title])
        print(f"{title}: {len(records)} functions in {time.monotonic() - start:.0f} s", flush=True)
    folds = [measure_fold(fold, dtype) for fold in FOLDS for dtype in TYPES]
    above += sum(m.worst > m.fold.bound for m in folds)
    PAGE.write_text(page(groups, options.points) + "\n" + folds_section(folds))
    print(f"{PAGE.name} written; {above} rows above their bound")
    return 1 if above else 0


if __name__ == "__main__":
    sys.exit(main())
