"""Exported C libraries beside C by hand and the same programs in process: `./dev bench --export`, with `--page` docs/benchmarks_export.md.

`calls.c` of c_libraries/ loops over calls of exported functions, and `by_hand.c` is what one writes without them. Everything runs in one
process in turns; results are compared before they are timed. torch's AOTInductor is compiled once, in half a minute; `--quick` leaves it out.
"""

from __future__ import annotations

import ctypes
import datetime
import os
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import judge
import libraries
import numpy as np
from machine import Limits
from workloads.data import normal, sgd

SOURCES = Path(__file__).resolve().parent / "c_libraries"
PAGE = Path(__file__).resolve().parent.parent / "docs" / "benchmarks_export.md"
CALLS = 2000  # of a thunk of C
NATIVE = {"target": "native", "checks": False}


@dataclass
class Figures:
    """Tables: a title, the unit of its columns, and rows of a name, figures and a note."""

    title: str
    columns: list[str]
    about: str = ""
    rows: list[tuple[str, list[float | None], str]] = field(default_factory=list)

    def add(self, name: str, *values: float | None, note: str = "") -> None:
        self.rows.append((name, list(values), note))
        shown = "".join(f"{text(value):>12}" for value in values)
        print(f"{self.title[:28]:30}{name:58}{shown}  {note}", flush=True)

    def table(self) -> list[str]:
        lines = [f"## {self.title}", "", *([self.about, ""] if self.about else [])]
        lines += [f"| | {' | '.join(self.columns)} | |", "|---" * (len(self.columns) + 2) + "|"]
        lines += [f"| {name} | {' | '.join(map(text, values))} | {note} |" for name, values, note in self.rows]
        return [*lines, ""]


def text(value: float | None) -> str:
    return "–" if value is None else judge.number(value)


def aim(value: float, most: float, unit: str) -> str:
    return f"aim ≤ {most:g} {unit}: {'met' if value <= most else '**missed**'}"


# -------------------------------------------------------------------------------------------------------- the programs


def parameters() -> dict[str, np.ndarray]:
    w1, w2 = normal(64, 32, scale=1 / 8), normal(32, 10, seed=1, scale=1 / 6)
    return {"b1": np.zeros(32, np.float32), "b2": np.zeros(10, np.float32), "w1": w1, "w2": w2}


def batch(count: int) -> tuple[np.ndarray, np.ndarray]:
    return normal(count, 64, seed=2), np.random.default_rng(3).integers(0, 10, count).astype(np.int32)


def step_of(library: Any) -> Callable[..., Any]:
    """Gradient descent on the cross-entropy of an MLP of 64, 32 and 10: new parameters and the loss."""
    xp = library.xp

    def loss(params: Any, x: Any, y: Any) -> Any:
        scores = xp.tanh(x @ params["w1"] + params["b1"]) @ params["w2"] + params["b2"]
        if library.name.startswith("torch"):
            return library.torch.nn.functional.cross_entropy(scores, y)
        rows = xp.take_along_axis(scores, y[:, None], axis=1)[:, 0]
        return xp.mean(library.nn.logsumexp(scores, axis=-1) - rows)

    def step(params: Any, x: Any, y: Any, rate: Any) -> Any:
        value, gradient = library.value_and_grad(loss)(params, x, y)
        return library.tree_map(lambda p, g: p - rate * g, params, gradient), value

    return step


def exported_step(ct: Any, name: str, count: int, folder: Path, **options: Any) -> Path:
    step = step_of(libraries.Library("cotangent", ct, ct.numpy))
    arguments = (parameters(), *batch(count), 0.1)
    made = ct.export.compile(step, *arguments, name=name, donate="params", results=("params", "loss"), **options)
    return made.save(folder)


def compile_calls(folder: Path) -> ctypes.CDLL:
    """The loops of calls, with the exported libraries in `folder`."""
    native = ["-O3", "-march=native", "-fPIC", f"-I{folder}", f"-I{SOURCES}"]
    commands = [
        ["cc", *native, "-DNAME=plain", "-c", SOURCES / "by_hand.c", "-o", folder / "plain.o"],
        ["cc", *native, "-ffast-math", "-DNAME=fast", "-c", SOURCES / "by_hand.c", "-o", folder / "fast.o"],
        ["cc", *native, "-c", SOURCES / "calls.c", "-o", folder / "calls.o"],
        # The maths library follows NumPy's; a shared library with -ffast-math's start files would flush subnormals everywhere.
        ["cc", "-shared", *(folder / f"{name}.o" for name in ("calls", "plain", "fast")), *folder.glob("*.a"), "-lm",
         "-o", folder / "calls.so"],
    ]  # fmt: skip
    for command in commands:
        done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise OSError(done.stderr[:2000])
    return ctypes.CDLL(str(folder / "calls.so"))


def blas() -> Any:
    """Functions of the OpenBLAS that NumPy's wheels bring, on one thread; None where NumPy has another one."""
    folder = Path(np.__file__).resolve().parent.parent / "numpy.libs"
    for file in folder.glob("libscipy_openblas64_*"):
        library = ctypes.CDLL(str(file))
        library.scipy_openblas_set_num_threads64_(1)
        names = ("sgemv", "sger", "sgemm")
        pointers = [ctypes.cast(getattr(library, f"scipy_cblas_{name}64_"), ctypes.c_void_p) for name in names]
        return (ctypes.c_void_p * 3)(*pointers)
    return None


# ---------------------------------------------------------------------------------------------------------- the tables


def calls(ct: Any, code: ctypes.CDLL, peers: list[Any], seconds: float) -> Figures:
    table = Figures("A call of `x + 1`", ["ns", "over C by hand"], "A float by value, its result through a pointer.")
    names = {
        "C by hand, in another file": "add_by_hand", "exported, unchecked, one level": "add_bare",
        "exported, checked, one level": "add_checked", "exported, checked, three levels": "add_dispatched",
    }  # fmt: skip
    thunks: dict[str, judge.Thunk] = {}
    for title, name in names.items():
        function = getattr(code, f"many_{name}")
        function.restype, function.argtypes = ctypes.c_float, [ctypes.c_long]
        if function(5) != 5:
            raise judge.WrongResultError(f"{title}: five calls count to {function(5)}")
        thunks[title] = lambda function=function: function(CALLS)
    with tempfile.TemporaryDirectory() as folder:
        loaded = ct.export.load(
            ct.export.compile(lambda x: x + 1, np.float32(0), name="add", results="y").save(folder), native=True
        )
    one = ct.numpy.float32(1)
    thunks["exported and loaded, from Python"] = partial(loaded.add, one)
    for library in peers:
        if library.name in ("cotangent", "jax"):
            thunks[f"jitted {library.name}, from Python"] = library.thunk(lambda x: x + 1, library.array(np.float32(1)))
    best = {
        name: value * 1e9 / (CALLS if name in names else 1) for name, value in judge.measure(thunks, seconds).items()
    }
    aims = {
        "exported, unchecked, one level": 10,
        "exported, checked, one level": 20,
        "exported, checked, three levels": 20,
    }
    for name, value in best.items():
        note = aim(value, aims[name], "ns") if name in aims else ""
        table.add(name, value, value / best["C by hand, in another file"], note=note)
    return table


def structure(params: dict[str, np.ndarray]) -> np.ndarray:
    """The parameters as C has them, at a multiple of 64 bytes."""
    parts = [params["b1"], params["b2"], np.zeros(6, np.float32), params["w1"].ravel(), params["w2"].ravel()]
    block = np.zeros(sum(map(len, parts)) + 16, np.float32)
    first = -block.ctypes.data % 64 // 4
    block[first : first + block.size - 16] = np.concatenate(parts)
    return block[first : first + block.size - 16]


def steps_in_c(code: ctypes.CDLL, count: int) -> dict[str, Callable[[int, np.ndarray, float], float]]:
    """Each program: so many steps of parameters in place, and the last loss."""
    x, y = batch(count)
    data = (x.ctypes.data_as(ctypes.c_void_p), y.ctypes.data_as(ctypes.c_void_p))

    def program(name: str, *more: Any, after: Iterable[Any] = ()) -> Callable[[int, np.ndarray, float], float]:
        function, after = getattr(code, f"many_{name}"), tuple(after)
        function.restype = ctypes.c_float

        def run(steps: int, params: np.ndarray, rate: float) -> float:
            pointer = params.ctypes.data_as(ctypes.c_void_p)
            return float(function(ctypes.c_long(steps), *more, pointer, *data, ctypes.c_float(rate), *after))

        run.kept = (x, y)  # type: ignore[attr-defined]
        return run

    found = {
        "exported, unchecked, for this processor": program(f"step{count}_bare"),
        "exported, checked, three levels": program(f"step{count}_dispatched"),
        "C by hand, -O3 -march=native": program(f"plain_step{count}"),
        "C by hand, -ffast-math besides": program(f"fast_step{count}"),
    }
    functions = blas()
    if functions is not None:
        found["C by hand, NumPy's OpenBLAS, -ffast-math"] = program(
            "blas_step", ctypes.c_int(count), after=(functions,)
        )
    return found


def aot_inductor(torch: Any, count: int) -> judge.Thunk:
    """torch's step compiled ahead of time, called from Python."""
    from torch.fx.experimental.proxy_tensor import make_fx

    step = step_of(libraries.TorchFunc())
    names = list(parameters())

    def flat(*leaves: Any) -> Any:
        params, value = step(dict(zip(names, leaves[:4], strict=True)), *leaves[4:], 0.1)
        return value, *params.values()

    x, y = batch(count)
    arguments = tuple(torch.from_numpy(np.array(leaf)) for leaf in (*parameters().values(), x, y.astype(np.int64)))
    program = torch.export.export(make_fx(flat)(*arguments), arguments)
    package = torch._inductor.aoti_load_package(torch._inductor.aoti_compile_and_package(program))
    expected = flat(*arguments)
    if not judge.agree(judge.arrays_of(list(package(*arguments))), judge.arrays_of(list(expected)), 1e-4):
        raise judge.WrongResultError("AOTInductor's step differs from torch's")
    return lambda: package(*arguments)


def steps(code: ctypes.CDLL, peers: list[Any], count: int, seconds: float, quick: bool) -> Figures:
    table = Figures(
        f"A training step of the MLP 64-32-10, batch {count}",
        ["µs", "over the exported one"],
        "In C the parameters are updated in place; programs called from Python return new ones.",
    )
    programs = steps_in_c(code, count)
    x, y = batch(count)
    ours, wanted, loss = step_of(peers[0]), parameters(), None
    jitted = peers[0].jit(ours)
    for _ in range(20):
        wanted, loss = jitted(wanted, x, y, 0.1)
    thunks: dict[str, judge.Thunk] = {}
    for name, run in programs.items():
        params = structure(parameters())
        value = run(20, params, 0.1)
        expected = structure({key: np.asarray(leaf) for key, leaf in wanted.items()})
        if not judge.agree([params, np.float32(value)], [expected, np.asarray(loss)], 1e-4):
            raise judge.WrongResultError(f"{name}: differs after 20 steps")
        still = structure(parameters())
        thunks[name] = lambda run=run, still=still: run(CALLS // count, still, 0.0)
    with tempfile.TemporaryDirectory() as folder:
        made = peers[0].module.export.compile(ours, parameters(), x, y, 0.1, name="step", results=("params", "loss"))
        loaded = peers[0].module.export.load(made.save(folder), native=True)
    rate = np.array(0.1, np.float32)
    arguments = peers[0].arrays((parameters(), x, y, rate))
    thunks["exported and loaded, from Python"] = partial(loaded.step, *arguments)
    for library in peers:
        if library.name in ("cotangent", "jax", "torch"):
            data = y.astype(np.int64) if library.name == "torch" else y
            thunk = library.thunk(step_of(library), parameters(), x, data, rate)
            value = judge.arrays_of(thunk()[1])[0]
            if not judge.agree([value], [np.asarray(jitted(parameters(), x, y, 0.1)[1])], 1e-4):
                raise judge.WrongResultError(f"{library.name}: another loss")
            kind = "eager" if library.name == "torch" else "jitted"
            thunks[f"{kind} {library.name}, from Python"] = thunk
    torch = next((library.torch for library in peers if library.name == "torch"), None)
    missing, notes = "" if torch else "torch is not here", {}
    if torch and quick:
        missing = "left out"
    elif torch:
        start = time.perf_counter()
        try:
            thunks["torch AOTInductor, from Python"] = aot_inductor(torch, count)
            notes["torch AOTInductor, from Python"] = f"compiled in {time.perf_counter() - start:.0f} s"
        except Exception as error:
            missing = f"{type(error).__name__}: {str(error).splitlines()[0][:100]}"
    best = {
        name: value * 1e6 / (CALLS // count if name in programs else 1)
        for name, value in judge.measure(thunks, seconds).items()
    }
    base = best["exported, unchecked, for this processor"]
    for name, value in best.items():
        met = count == 1 and name.startswith("exported") and name in programs
        table.add(name, value, value / base, note=aim(value, 0.4, "µs") if met else notes.get(name, ""))
    if missing:
        table.add("torch AOTInductor, from Python", None, None, note=missing)
    return table


LONGEST, WIDTH = 256, 32


def last_of(ct: Any) -> Callable[..., Any]:
    """The sum of a recurrent network's last state, of one row of vectors."""
    w = normal(WIDTH, WIDTH, scale=1 / 8)

    def last(row: Any) -> Any:
        step = lambda h, x: (ct.numpy.tanh(h @ w + x), None)  # noqa: E731
        return ct.lax.scan(step, ct.numpy.zeros(WIDTH, "float32"), row)[0].sum()

    return last


def exported_last(ct: Any, count: int, folder: Path) -> None:
    """Of one row, or of a batch of them."""
    data, one = np.zeros((count, LONGEST, WIDTH), np.float32), ct.mask(last_of(ct))
    batch = ct.Ragged(data, {1: np.zeros(count, np.int32)})
    f, rows = (ct.vmap(one), batch) if count > 1 else (one, batch[0])
    ct.export.compile(lambda rows: f(rows), rows, name=f"last{count}", results="sums").save(folder)


def ragged(ct: Any, code: ctypes.CDLL, count: int, seconds: float) -> Figures:
    about = {
        1: f"A recurrent network over a row of at most {LONGEST} vectors of {WIDTH}: one exported function of a `Ragged`.",
        16: "The same for a batch of 16 rows, whose loop ends with the longest one. Vectors of one time come to lie side by side first, up to the longest "
        "row.",
    }
    table = Figures(
        f"Time follows lengths, rows: {count}",
        ["µs", "over full rows", "longest row over full", "all rows over full"],
        about[count],
    )
    many = getattr(code, f"many_last{count}")
    many.restype = ctypes.c_float
    data, function = normal(count, LONGEST, WIDTH), ct.jit(last_of(ct))
    lengths = {f"length {n}": np.full(count, n, np.int32) for n in (LONGEST, 128, 32, 4)}
    if count > 1:
        lengths["16 to 256, evenly"] = np.linspace(16, LONGEST, count).astype(np.int32)
    thunks: dict[str, judge.Thunk] = {}
    for name, n in lengths.items():
        padded = data.copy()
        for row, length in zip(padded, n, strict=True):
            row[length:] = np.nan
        rows = np.concatenate([padded.ravel().view(np.uint8), n.view(np.uint8)])
        results = np.zeros(count, np.float32)

        def run(rows: np.ndarray = rows, results: np.ndarray = results) -> float:
            pointers = (ctypes.c_void_p(array.ctypes.data) for array in (rows, results))
            return float(many(ctypes.c_long(10), *pointers))

        exact = np.array([function(row[:length]) for row, length in zip(data, n, strict=True)])
        if run() or not judge.agree([results], [exact], 1e-4):
            raise judge.WrongResultError(f"{table.title}, {name}: results differ from those of exact arrays")
        thunks[name] = run
    best = judge.measure(thunks, seconds)
    full = best[f"length {LONGEST}"]
    for name, n in lengths.items():
        table.add(name, best[name] * 1e5, best[name] / full, n.max() / LONGEST, n.mean() / LONGEST)
    return table


def sizes(ct: Any) -> Figures:
    table = Figures(
        "Sizes of libraries",
        ["code and constants, kB", "file, kB"],
        "The MLP's step, batch 1. The first is what binutils' `size` says of the static library; the file is the shared one, or the module. Both hold "
        "the description as JSON.",
    )
    variants: list[tuple[str, str, dict[str, Any], float | None]] = [
        ("unchecked, for this processor", "so", NATIVE, 8),
        ("unchecked, x86-64-v2", "so", {"target": "x86-64-v2", "checks": False}, 8),
        ("checked, x86-64-v2 to -v4 in one", "so", {"target": "x86-64"}, 20),
        ("checked, aarch64", "so", {"target": "aarch64"}, None),
        ("checked, cortex-m7", "a", {"target": "cortex-m7"}, None),
        ("checked, wasm32", "wasm", {"target": "wasm32"}, None),
    ]
    for title, kind, options, most in variants:
        with tempfile.TemporaryDirectory() as folder:
            path = exported_step(ct, "step", 1, Path(folder), **options)
            file = path / ("step.wasm" if kind == "wasm" else f"libstep.{kind}")
            loaded = None if kind == "wasm" else text_bytes(path / "libstep.a")
            note = "" if most is None or loaded is None else aim(loaded / 1e3, most, "kB")
            table.add(title, None if loaded is None else loaded / 1e3, file.stat().st_size / 1e3, note=note)
    return table


def text_bytes(archive: Path) -> int | None:
    """Of code and constants in an archive's objects; None without binutils."""
    try:
        done = subprocess.run(["size", str(archive)], capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return None
    return sum(int(line.split()[0]) for line in done.stdout.splitlines()[1:]) if done.returncode == 0 else None


def export_times(ct: Any, peers: list[Any], repeats: int) -> Figures:
    from workloads.sequence import gpt_arguments, gpt_loss

    table = Figures(
        "Time to export",
        ["for this processor, ms", "three levels, ms", "JAX's jit, ms"],
        f"From a Python function to all files written, the least of {repeats}; JAX's is tracing and compiling in process, without its cache.",
    )
    ours = peers[0]
    jax = next((library for library in peers if library.name == "jax"), None)
    programs: dict[str, tuple[Callable[[Any], Callable[..., Any]], tuple[Any, ...], float | None]] = {
        "`x + 1`": (lambda library: lambda x: x + 1, (np.float32(1),), None),
        "MLP 64-32-10, batch 1, training step": (step_of, (parameters(), *batch(1), np.float32(0.1)), 100),
        "4-layer GPT, training step": (lambda library: sgd(library, gpt_loss(library)), gpt_arguments(4), None),
    }
    for name, (make, arguments, most) in programs.items():
        found: list[float | None] = []
        for options in (NATIVE, {"target": "x86-64"}):
            times = []
            for _ in range(repeats):
                function = make(ours)
                with tempfile.TemporaryDirectory() as folder:
                    start = time.perf_counter()
                    ct.export.compile(lambda *a, f=function: f(*a), *arguments, name="program", **options).save(folder)
                    times.append(time.perf_counter() - start)
            found.append(min(times) * 1e3)
        theirs = None
        if jax is not None:
            arrays = jax.arrays(arguments)
            theirs = min(compiling(jax, make(jax), arrays) for _ in range(repeats)) * 1e3
        table.add(name, *found, theirs, note="" if most is None else aim(found[0] or 0, most, "ms"))
    return table


def compiling(jax: Any, function: Callable[..., Any], arrays: Any) -> float:
    start = time.perf_counter()
    jax.module.jit(lambda *a: function(*a)).lower(*arrays).compile()
    return time.perf_counter() - start


def loading(ct: Any, mebibytes: int) -> Figures:
    table = Figures(
        f"Loading {mebibytes} MiB of weights",
        ["ms"],
        "A function that closes over one matrix of float32; the files are in the system's cache. NumPy reads them from an npz file.",
    )
    rows = mebibytes * 2**20 // 4 // 4096
    weights = normal(rows, 4096, scale=1e-2)
    x = np.ones(4096, np.float32)
    with tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        path = ct.export.compile(lambda x: ct.numpy.array(weights) @ x, x, name="model").save(folder)
        table.add("export, files written", (time.perf_counter() - start) * 1e3)
        np.savez(path / "weights.npz", w=weights)

        def least(f: Callable[[], Any]) -> float:
            return min(judge_time(f) for _ in range(5)) * 1e3

        wanted = weights @ x
        table.add("`load` of the folder, its library's code", least(lambda: ct.export.load(path, native=True)))
        table.add("`load` of the file", least(lambda: ct.export.load(path / "model.ctir", native=False)))
        table.add(
            "`load` of the file, weights verified",
            least(lambda: ct.export.load(path / "model.ctir", native=False, verify="all")),
        )
        loaded = ct.export.load(path, native=True)
        table.add("the first call of what was loaded", judge_time(lambda: loaded.model(x)) * 1e3)
        table.add("further calls", least(lambda: loaded.model(x)))
        if not judge.agree([np.asarray(loaded.model(x))], [wanted], 1e-4):
            raise judge.WrongResultError("the loaded product differs from NumPy's")
        table.add("NumPy's `load` of an npz", least(lambda: np.load(path / "weights.npz")["w"]))
    return table


def judge_time(f: Callable[[], Any]) -> float:
    start = time.perf_counter()
    f()
    return time.perf_counter() - start


# ------------------------------------------------------------------------------------------------------------ the page


def page(tables: list[Figures], about: list[str]) -> str:
    head = [
        "# Benchmarks of exported libraries",
        "",
        "Written by `./dev bench --export --page`; do not edit. Everything runs in one process, called in turn, on one thread but for JAX and torch; the",
        "least time of a call counts. Results are compared before anything is timed. [What exported libraries are](export.md). Aims are those of the",
        "project's plan, which were written for a Zen 5 core.",
        "",
        *about,
        "",
    ]
    return "\n".join([*head, *(line for table in tables for line in table.table())])


def prepared(ct: Any, folder: Path) -> ctypes.CDLL:
    """The loops of calls, and what they call."""
    for name, options in {"add_bare": NATIVE, "add_checked": {"target": "native"}, "add_dispatched": {}}.items():
        ct.export.compile(lambda x: x + 1, np.float32(0), name=name, results="y", **options).save(folder)
    for count in (1, 32):
        exported_step(ct, f"step{count}_bare", count, folder, **NATIVE)
        exported_step(ct, f"step{count}_dispatched", count, folder)
    for count in (1, 16):
        exported_last(ct, count, folder)
    return compile_calls(folder)


def main(wanted: str, seconds: float, quick: bool, write: bool) -> int:
    found, missing = libraries.load(wanted or "cotangent,jax,torch,torch.func,numpy")
    import cotangent as ct

    ct.config.update("threads", 1)
    load, limits = os.getloadavg()[0], Limits(quick).text()
    with tempfile.TemporaryDirectory() as folder:
        code = prepared(ct, Path(folder))
        tables = [calls(ct, code, found, seconds)]
        tables += [steps(code, found, count, seconds, quick) for count in (1, 32)]
        tables += [ragged(ct, code, count, seconds) for count in (1, 16)]
    tables += [sizes(ct), export_times(ct, found, 1 if quick else 3), loading(ct, 16 if quick else 256)]
    versions = ", ".join(f"{name} {version}" for name, version in libraries.versions().items())
    compiler = subprocess.run(["cc", "--version"], capture_output=True, text=True, check=False).stdout.splitlines()[0]
    about = [
        f"{datetime.datetime.now(datetime.UTC):%Y-%m-%d}. Machine: {limits}; load average {load:.1f} when it started. "
        f"Versions: {versions}; {compiler}.",
        *(f"{name} is not here: {why}." for name, why in missing.items()),
    ]
    written = page(tables, about)
    if write:
        PAGE.write_text(written, encoding="utf-8")
        print(f"written: {PAGE.name}")
    return 0
