"""Public functions called with arguments that cannot be right, or hardly: what comes back is an error of Python, or a result.

    ./dev fuzz sizes 50000        sizes and other integers near the ends of 32 and 64 bits
    ./dev fuzz flags 20000        arguments of other types than a function takes
    ./dev fuzz flags --only 123   one call, with its traceback

The calls are those of the records that the tests of all functions go by (`function_cases/`, `numpy_cases/`), with an argument or
two replaced, by the number of the call alone: a failure is repeated with ``--only``. They run in child processes whose memory is
bounded, so that what is really too large is a MemoryError. A child that dies, or takes longer than `PATIENCE`, is a failure of the
call that it wrote down last, and another goes on behind it.

`test_call_fuzz.py` runs a share of the calls. Under the address sanitizer: `./dev fuzz sizes 50000 --sanitize`.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import dataclasses
import faulthandler
import importlib
import inspect
import io
import json
import os
import pkgutil
import random
import resource
import signal
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "shared"))
import function_cases
import numpy_cases
import public_names

PATIENCE = 20  # seconds of processor time, for one call; ten times that of waiting
MEMORY = 3 << 30  # bytes that a child may reserve beyond what it has after importing
SANITIZED = "libasan" in os.environ.get("LD_PRELOAD", "")  # reserves terabytes: memory is bounded by its own options

SIZES = sorted(
    {sign * (2**power + step) for power in (31, 32, 59, 60, 61, 62, 63, 64) for step in (-1, 0, 1) for sign in (1, -1)}
    | {0, 1, 2, 3, 5, -1, -2, -3, -7, 10**30, -(10**30)}
)
# Functions that take time in proportion to an integer, or return so many arrays: they are not asked for what takes for ever.
LOOPS = {"cotangent.scipy.special.sph_harm_y", "cotangent.scipy.special.bessel_jn"} | {
    f"cotangent.numpy.{prefix}split" for prefix in ("", "array_", "h", "v", "d")
}


class Odd:
    """An object that is nothing that a function takes."""

    def __repr__(self) -> str:
        return "Odd()"


WRONG: tuple[Any, ...] = (
    "no",
    "",
    "3",
    1.5,
    None,
    Odd(),
    [1],
    ("a",),
    {},
    b"1",
    1j,
    object,
    ...,
    np.ones(2),
    float("nan"),
)
ERRORS = (  # NameError is about names of axes that no vmap binds
    TypeError, ValueError, OverflowError, IndexError, MemoryError, NotImplementedError, FloatingPointError, NameError,
)  # fmt: skip


@dataclasses.dataclass(frozen=True)
class Call:
    """A call that is right."""

    name: str
    function: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]


class Spy:
    """A namespace that notes what is called in it."""

    def __init__(self, target: Any, name: str, calls: list[Call]) -> None:
        self._spied = (target, name, calls)

    def __getattr__(self, attribute: str) -> Any:
        target, name, calls = self._spied
        found = getattr(target, attribute)
        if isinstance(found, type) or not (callable(found) or inspect.ismodule(found)):
            return found
        return Spy(found, f"{name}.{attribute}", calls)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        target, name, calls = self._spied
        calls.append(Call(name, target, args, kwargs))
        return target(*args, **kwargs)


def right_calls() -> list[Call]:
    """The calls of the records, at most three of a function."""
    import cotangent  # noqa: F401

    for package in (function_cases, numpy_cases):
        for module in pkgutil.iter_modules(package.__path__):
            importlib.import_module(f"{package.__name__}.{module.name}")
    found: list[Call] = []
    for record in function_cases.RECORDS:
        rng = np.random.default_rng(0)
        path = public_names.NAMESPACES[record.space]
        space = Spy(public_names.resolve(path), path, found)
        args = [numpy_cases.fill(arg, record.dtypes[0], rng) for arg in record.args]
        for name in record.names:
            function: Any = space
            for part in name.split("."):
                function = getattr(function, part)
            with contextlib.suppress(Exception):
                if record.call:
                    record.call(function, *args)
                else:
                    function(*args, **record.kwargs)
    for case in numpy_cases.CASES:
        rng = np.random.default_rng(0)
        space = Spy(public_names.resolve("cotangent.numpy"), "cotangent.numpy", found)
        with contextlib.suppress(Exception):
            case(space, *[numpy_cases.fill(arg, case.dtypes[0], rng) for arg in case.args])
    count: dict[str, int] = collections.Counter()
    kept = []
    for call in found:
        count[call.name] += 1
        if count[call.name] <= 3:
            kept.append(call)
    return kept + list(methods_of(kept))


def methods_of(calls: list[Call]) -> Iterator[Call]:
    """The calls of functions that are methods of arrays, too."""
    import cotangent as ct

    for call in calls:
        space, _, name = call.name.rpartition(".")
        if (
            space == "cotangent.numpy"
            and hasattr(ct.numpy.zeros(1), name)
            and call.args
            and isinstance(call.args[0], np.ndarray)
        ):
            yield Call(f"Array.{name}", method(name), call.args, call.kwargs)


def method(name: str) -> Callable[..., Any]:
    """A method of arrays as a function."""
    import cotangent as ct

    return lambda x, /, *args, **kwargs: getattr(ct.numpy.array(x), name)(*args, **kwargs)


# ---- replacing arguments ----------------------------------------------------------------------------------------------------

Place = tuple[Any, ...]  # keys from (args, kwargs) on


def places(value: Any, want: Callable[[Any], bool], at: Place = ()) -> Iterator[Place]:
    """Where the wanted objects are in nested lists, tuples and dicts."""
    if want(value):
        yield at
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from places(item, want, (*at, key))
    elif isinstance(value, (list, tuple)):
        for index, item in enumerate(value):
            yield from places(item, want, (*at, index))


def at_place(value: Any, place: Place) -> Any:
    for key in place:
        value = value[key]
    return value


def replaced(value: Any, place: Place, by: Any) -> Any:
    """A copy with another object at a place."""
    if not place:
        return by
    if isinstance(value, dict):
        return {**value, place[0]: replaced(value.get(place[0]), place[1:], by)}
    items = [replaced(item, place[1:], by) if index == place[0] else item for index, item in enumerate(value)]
    return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)


def parameters_of(call: Call) -> dict[str, inspect.Parameter]:
    """The parameters that may be given by name and are not."""
    try:
        signature = inspect.signature(call.function)
        given = signature.bind_partial(*call.args, **call.kwargs).arguments
    except (TypeError, ValueError):
        return {}
    kinds = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    return {name: p for name, p in signature.parameters.items() if p.kind in kinds and name not in given}


def is_integer(value: Any) -> bool:
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def with_sizes(call: Call, rng: random.Random) -> Call:
    """An integer or two replaced, an array of integers filled with one, or a parameter given that is not."""
    arguments: tuple[Any, ...] = (call.args, dict(call.kwargs))
    for _ in range(rng.choice((1, 1, 1, 2))):
        value = rng.choice([size for size in SIZES if call.name not in LOOPS or size < 2**20])
        kind = rng.random()
        numbers = list(places(arguments, is_integer))
        arrays = list(places(arguments, lambda x: isinstance(x, np.ndarray)))
        names = [name for name, p in parameters_of(call).items() if not isinstance(p.default, bool)]
        if kind < 0.5 and numbers:
            arguments = replaced(arguments, rng.choice(numbers), value)
        elif kind < 0.8 and names:
            arguments = replaced(arguments, (1, rng.choice(names)), value if rng.random() < 0.7 else (value,))
        elif arrays:
            place = rng.choice(arrays)
            array = at_place(arguments, place)
            if array.dtype.kind in "iu" and array.size and rng.random() < 0.8:
                wide = np.iinfo(np.int64)
                arguments = replaced(arguments, place, np.full(array.shape, min(max(value, wide.min), wide.max)))
            elif rng.random() < 0.3:
                shape = rng.choice([(2**62, 0), (0, 2**62), (2**31, 0), (0,), (3, 0, 2**40), (1,) * 64, (1,) * 33])
                arguments = replaced(arguments, place, np.zeros(shape, np.int8))
        elif numbers:
            arguments = replaced(arguments, rng.choice(numbers), value)
    return Call(call.name, call.function, *arguments)


def with_wrong_types(call: Call, rng: random.Random) -> tuple[Call, str, Any]:
    """An argument, or a parameter that was not given, of another type; with the parameter's name."""
    arguments: tuple[Any, ...] = (call.args, dict(call.kwargs))
    names = list(parameters_of(call))
    wrong = rng.choice(WRONG)
    if names and rng.random() < 0.6:
        name = rng.choice(names)
        return Call(call.name, call.function, call.args, {**call.kwargs, name: wrong}), name, wrong
    found = [place for place in places(arguments, lambda x: not isinstance(x, (tuple, list, dict))) if place]
    if not found:
        return call, "", wrong
    place = rng.choice(found)
    name = place[1] if place[0] == 1 and len(place) == 2 else ""
    return Call(call.name, call.function, *replaced(arguments, place, wrong)), name, wrong


# ---- one call -----------------------------------------------------------------------------------------------------------------


def text_of(value: Any) -> str:
    if isinstance(value, np.ndarray) and value.size > 8:
        return f"{value.dtype}{list(value.shape)}"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {text_of(item)}" for key, item in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "(" + ", ".join(map(text_of, value)) + ")"
    return repr(value).replace("\n", "")[:80]


def shapes_of(result: Any) -> Any:
    import cotangent as ct

    return [
        (tuple(leaf.shape), str(leaf.dtype))
        for leaf in ct.tree_util.tree_leaves(result)
        if hasattr(leaf, "shape") and hasattr(leaf, "dtype")
    ]


def traced(call: Call, transform: Callable[[Callable[..., Any]], Callable[..., Any]]) -> Any:
    """The call, transformed as a function of its arrays of floating numbers."""
    arguments = (call.args, dict(call.kwargs))
    dynamic = list(places(arguments, lambda x: isinstance(x, np.ndarray) and x.dtype.kind in "fiu"))

    def function(*arrays: Any) -> Any:
        given = arguments
        for place, array in zip(dynamic, arrays, strict=True):
            given = replaced(given, place, array)
        return call.function(*given[0], **given[1])

    return transform(function)(*[at_place(arguments, place) for place in dynamic])


def gradient(call: Call) -> Any:
    import cotangent as ct

    def transform(function: Callable[..., Any]) -> Callable[..., Any]:
        def total(*arrays: Any) -> Any:
            leaves = ct.tree_util.tree_leaves(function(*arrays))
            return sum(
                ct.numpy.sum(leaf) for leaf in leaves if getattr(getattr(leaf, "dtype", None), "kind", "") == "f"
            )

        return lambda *arrays: ct.grad(
            lambda *floats: total(*_merged(arrays, floats)), argnums=tuple(range(len(_floats(arrays))))
        )(*_floats(arrays))

    return traced(call, transform)


def _floats(arrays: tuple[Any, ...]) -> list[Any]:
    return [x for x in arrays if x.dtype.kind == "f"]


def _merged(arrays: tuple[Any, ...], floats: tuple[Any, ...]) -> list[Any]:
    rest = list(floats)
    return [rest.pop(0) if x.dtype.kind == "f" else x for x in arrays]


def run(call: Call, mode: str) -> None:
    """Raises what the call raises, and AssertionError for a result of another shape than `ct.eval_shape` says."""
    import cotangent as ct

    if mode == "jit":
        shapes_of(traced(call, ct.jit))
    elif mode == "grad":
        shapes_of(gradient(call))
    elif mode == "shape":
        shapes_of(traced(call, ct.eval_shape))
    else:
        shapes_of(call.function(*call.args, **call.kwargs))


def complaint(error: BaseException) -> str | None:
    """What is wrong with an error, or None."""
    import cotangent as ct

    name = type(error).__name__
    if isinstance(error, ct.errors.InternalError) or not isinstance(error, (*ERRORS, ct.errors.TracerLeakError)):
        frame = traceback.extract_tb(error.__traceback__)[-1]
        return f"{name}: {str(error).splitlines()[0][:150] if str(error) else ''} [{Path(frame.filename).name}:{frame.lineno}]"
    return None


# Parameters that are integers, or several: what is neither must be a TypeError.
INTEGER_NAMES = {
    "axis",
    "axes",
    "axis1",
    "axis2",
    "num",
    "k",
    "n",
    "size",
    "length",
    "dimension",
    "batch_dims",
    "num_keys",
    "total_repeat_length",
}
# Names of flags whose value says more than yes or no, or which are not looked at, as NumPy's functions without the means.
NOT_FLAGS: set[str] = {"copy", "initial", "where"}


def accepted_wrongly(call: Call, name: str, wrong: Any) -> bool:
    """Whether a call that came back with a result should have raised a TypeError."""
    try:
        parameter = inspect.signature(call.function).parameters[name]
        default = parameter.default
    except (TypeError, ValueError, KeyError):
        return False
    if isinstance(default, bool) and name not in NOT_FLAGS and "str" not in str(parameter.annotation):
        return not isinstance(wrong, (bool, int, np.bool_))
    if name in INTEGER_NAMES and not (name == "k" and call.name.endswith("polyint")):  # of constants
        return isinstance(wrong, (str, float, complex, Odd))
    return name == "dtype" and wrong is object


def one(kind: str, number: int, calls: list[Call], raising: bool = False) -> str | None:
    """Makes call ``number``: what is wrong with what came of it, or None."""
    rng = random.Random(f"{kind} {number}")
    base = calls[number % len(calls)]
    if kind == "sizes":
        call, name, wrong = with_sizes(base, rng), "", None
        mode = rng.choices(("eager", "shape", "jit", "grad"), (6, 3, 2, 1))[0]
    else:
        call, name, wrong = with_wrong_types(base, rng)
        mode = rng.choices(("eager", "shape"), (4, 1))[0]
    note(f"{number} {mode} {call.name} {text_of(call.args)} {text_of(call.kwargs)}")
    try:
        with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            run(call, mode)
    except BaseException as error:
        if raising:
            raise
        return complaint(error)
    if kind == "flags" and name and accepted_wrongly(call, name, wrong):
        return f"accepted {name}={text_of(wrong)}"
    return None


# ---- processes ------------------------------------------------------------------------------------------------------------------

_log: Any = None


def note(text: str) -> None:
    """Writes down what is about to happen."""
    if _log is not None:
        os.pwrite(_log.fileno(), text[:2000].encode().ljust(2000), 0)


def child(kind: str, start: int, stop: int, stride: int, log: str, found: str) -> None:
    """Makes the calls of a range, and writes down what is wrong."""
    global _log
    warnings.simplefilter("ignore")
    calls = right_calls()
    _log = Path(log).open("r+b", buffering=0)  # noqa: SIM115
    if not SANITIZED:
        reserved = int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
        resource.setrlimit(resource.RLIMIT_AS, (reserved + MEMORY, reserved + MEMORY))
    for number in range(start, stop, stride):
        patience = PATIENCE * (5 if SANITIZED else 1)
        faulthandler.dump_traceback_later(10 * patience, exit=True)
        resource.setrlimit(resource.RLIMIT_CPU, (int(time.process_time()) + patience, resource.RLIM_INFINITY))
        problem = one(kind, number, calls)
        if problem:
            text = os.pread(_log.fileno(), 2000, 0).decode(errors="replace").strip()
            with Path(found).open("a") as file:
                file.write(json.dumps([text, problem]) + "\n")
    faulthandler.cancel_dump_traceback_later()


def fuzz(kind: str, start: int, count: int, stride: int = 1) -> list[tuple[str, str]]:
    """The calls that went wrong, and how, of ``count`` calls at a distance of ``stride``."""
    stop = start + count * stride
    with tempfile.TemporaryDirectory() as folder:
        log, found = Path(folder) / "log", Path(folder) / "found"
        found.touch()
        crashes = []
        while start < stop:
            log.write_bytes(b" " * 2000)
            result = subprocess.run(
                [sys.executable, __file__, kind, "--child", *map(str, (start, stop, stride, log, found))],
                capture_output=True,
                text=True,
                check=False,
            )
            if result.returncode == 0:
                break
            last = log.read_text(errors="replace").strip()
            slow = "Timeout" in result.stderr or result.returncode == -signal.SIGXCPU
            how = "took too long" if slow else f"status {result.returncode}"
            summary = [line for line in result.stderr.splitlines() if "SUMMARY" in line or "ERROR" in line]
            crashes.append((last, f"{how} {' '.join(summary)[:300] or result.stderr.strip()[-300:]}"))
            if not last:
                break
            start = int(last.split()[0]) + stride
        return crashes + [(text, problem) for text, problem in map(json.loads, found.read_text().splitlines())]


def main() -> int:
    parser = argparse.ArgumentParser(description="Public functions with arguments that cannot be right.")
    parser.add_argument("kind", choices=("sizes", "flags"))
    parser.add_argument("count", type=int, nargs="?", default=1000)
    parser.add_argument("--from", type=int, default=0, dest="start")
    parser.add_argument("--only", type=int)
    parser.add_argument("--child", nargs=5, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        child(options.kind, *map(int, options.child[:3]), *options.child[3:])
        return 0
    if options.only is not None:
        print(one(options.kind, options.only, right_calls(), raising=True))
        return 0
    problems = fuzz(options.kind, options.start, options.count)
    for text, problem in problems:
        print(f"{problem}\n    {text}")
    print(f"{len(problems)} of {options.count} calls went wrong")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
