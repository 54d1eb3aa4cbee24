"""Random loops that read and update parts of the arrays they carry: compiled, they give what Python's own loops give.

Compiled loops update their carries in place, and so have to read what an update overwrites before it. Each program is text, which is shown where
it fails: loops of all kinds and inside of each other, with branches; their steps read old and new arrays, whole or in part, before updates and
after them, and hand on any of them. What sums many elements is divided by their number: otherwise a rounding grows by that number at every
step. `CT_UPDATES_SEED` is where the numbers of the programs begin.
"""

from __future__ import annotations

import math
import os
import random
from collections.abc import Callable
from typing import Any

import cotangent as ct
import cotangent.numpy as cnp
import numpy as np
import pytest

SEED = int(os.environ.get("CT_UPDATES_SEED", "0"))
FIRST_POSITIONS = np.array([0, 2, -1, 2], np.int32)  # with one twice
FAR_POSITIONS = np.array([1, 900, -700, 0], np.int32)  # with some outside
SHAPES = [
    (1,),
    (2,),
    (15,),
    (17,),
    (64,),
    (300,),
    (0,),
    (5, 5),
    (2, 17),
    (17, 16),
    (64, 3),
    (1, 40),
    (5, 0),
    (3, 5, 2),
    (6, 6, 6),
]
DTYPES = ["float32", "float64", "int32", "bool", "complex64"]
FLOATS = ["float32", "float64"]
OPERATIONS = ["set"] * 6 + ["add"] * 4 + ["multiply", "min", "max", "divide", "power"]
Typed = tuple[str, tuple[int, ...], str]  # an array's name, shape and dtype


def of_dtype(value: Any, dtype: Any) -> Any:
    value, dtype = cnp.asarray(value), np.dtype(dtype)
    if value.dtype == dtype:
        return value
    value = value.real if value.dtype.kind == "c" else value
    if dtype == bool:
        return value > 0
    return (cnp.clip(value, -100, 100) if dtype.kind == "i" and value.dtype.kind == "f" else value).astype(dtype)


def fit(value: Any, shape: tuple[int, ...], like: Any) -> Any:
    """As many of the value's elements as the shape wants, or one for all of them; small numbers, of the dtype of `like`."""
    value = of_dtype(value, like.dtype)
    size, wanted = math.prod(value.shape), math.prod(shape)
    if size == 0:
        return cnp.zeros(shape, like.dtype)
    flat = value.reshape(-1)
    value = flat[:wanted].reshape(shape) if size >= wanted else cnp.broadcast_to(flat[size // 2], shape)
    kind = np.dtype(like.dtype).kind
    if kind == "c":
        return value / (1 + value.real * value.real + value.imag * value.imag)
    return cnp.sin(value) if kind == "f" else value % 13 - 3 if kind == "i" else value


def put(x: Any, index: Any, operation: str, value: Any) -> Any:
    kind = np.dtype(x.dtype).kind
    if kind == "b" or (kind == "c" and operation in ("min", "max")):
        operation = "set"
    if (kind == "i" and operation in ("divide", "power")) or (kind == "c" and operation == "power"):
        operation = "multiply"  # powers of complex numbers soon overflow, to infinities of one kind or another
    value = fit(value, x[index].shape, x)
    value = 1.5 + value * value if operation == "divide" else 2 if operation == "power" else value
    return getattr(x.at[index], operation)(value)


def assign(x: Any, index: Any, value: Any) -> Any:
    x = x.copy()
    x[index] = fit(value, x[index].shape, x)
    return x


def window(x: Any, starts: tuple[Any, ...], sizes: tuple[int, ...], value: Any) -> Any:
    return ct.lax.dynamic_update_slice(x, fit(value, sizes, x), starts)


class Program:
    """The text of a function of some arrays and of positions, and what the arrays are."""

    def __init__(self, seed: int, dtypes: list[str]) -> None:
        self.choose = random.Random(seed)
        self.lines: list[str] = []
        self.names = 0
        shape = self.choose.choice(SHAPES)
        arrays: list[Typed] = []
        for i in range(self.choose.randint(1, 3)):
            shape = shape if self.chance(0.5) else self.choose.choice(SHAPES)
            arrays.append((f"c{i}", shape, self.choose.choice(dtypes)))
        self.arrays = arrays
        self.emit(0, f"def program({', '.join(name for name, _, _ in arrays)}, at):")
        newest, stacked = self.loop(1, arrays, [], [], 2)
        kept = [name for name, _, _ in arrays if self.chance(0.15)]
        self.emit(1, f"return [{', '.join([name for name, _, _ in newest] + stacked + kept)}]")
        self.text = "\n".join(self.lines)

    def chance(self, probability: float) -> bool:
        return self.choose.random() < probability

    def emit(self, depth: int, line: str) -> None:
        self.lines.append("    " * depth + line)

    def name(self, letter: str) -> str:
        self.names += 1
        return f"{letter}{self.names}"

    def function(self) -> Callable[..., Any]:
        scope = {"np": np, "cnp": cnp, "lax": ct.lax, "fit": fit, "put": put, "assign": assign, "window": window}
        exec(compile(self.text, "<random program>", "exec"), scope)
        program: Callable[..., Any] = scope["program"]  # type: ignore[assignment]
        return program

    def position(self, size: int, steps: list[str]) -> str:
        choices = [str(self.choose.randint(-size, size - 1) if size else 0)]
        for i in steps:
            choices += [
                i,
                i,
                f"{i} - 1",
                f"{i} + 1",
                f"{max(size, 1) - 1} - {i}",
                f"{i} % {max(size, 1)}",
                f"at[{i} % 4]",
            ]
        return self.choose.choice(choices)

    def index(self, shape: tuple[int, ...], steps: list[str]) -> str:
        items: list[str] = []
        for size in shape[: len(shape) if self.chance(0.7) else 1]:
            start = self.choose.randint(0, size)
            windows = [":", f"{start}:{self.choose.randint(start, size)}", "::-1", "::2", "1:", ":-1"]
            several = ["at", "at[:2]", "np.array([0, 0, 1])", "np.array([-1, 0])"]
            kinds = self.choose.sample(windows, 2)
            if size:  # an axis without elements has no positions
                kinds += [self.position(size, steps)] * 4
                kinds += [] if any(item in several for item in items) else [self.choose.choice(several)]
            items.append(self.choose.choice(kinds))
        if self.chance(0.15):
            items.insert(self.choose.randint(0, len(items)), "None")
        if self.chance(0.1):
            items.append("...")
        return f"np.s_[{', '.join(items)}]"

    def whole(self, array: Typed) -> str:
        name, shape, dtype = array
        choices = [name, f"{name}[::-1]", f"{name}.T", f"{name}.reshape(-1)", f"cnp.roll({name}, 1)"]
        if dtype != "bool":
            choices += [
                f"cnp.cumsum({name}, axis=0) / {max(shape[0], 1)}",
                f"cnp.sum({name}) / {max(math.prod(shape), 1)}",
            ]
            choices += [f"{name} * {name}", f"cnp.sum({name}, axis=-1) / {max(shape[-1], 1)}"]
        if len(shape) == 2 and dtype in FLOATS:
            choices.append(f"cnp.sin({name}) @ {name}.T / {max(shape[1], 1)}")
        return self.choose.choice(choices)

    def value(self, arrays: list[Typed], values: list[str], steps: list[str]) -> str:
        if values and self.chance(0.5):
            return self.choose.choice(values)
        array = self.choose.choice(arrays)
        return self.whole(array) if self.chance(0.15) else f"{array[0]}[{self.index(array[1], steps)}]"

    def update(self, array: Typed, arrays: list[Typed], values: list[str], steps: list[str]) -> str:
        name, shape, _ = array
        value = self.value(arrays, values, steps)
        if self.chance(0.12):
            starts = ", ".join(self.position(size, steps) for size in shape)
            sizes = tuple(self.choose.randint(1, size) if size else 0 for size in shape)
            return f"window({name}, ({starts},), {sizes}, {value})"
        index = self.index(shape, steps)
        if self.chance(0.2):
            return f"assign({name}, {index}, {value})"
        return f"put({name}, {index}, '{self.choose.choice(OPERATIONS)}', {value})"

    def branches(self, array: Typed, arrays: list[Typed], values: list[str], steps: list[str]) -> str:
        y = self.name("y")
        inner = (y, *array[1:])
        ways = [self.update(inner, [inner, *arrays], values, steps), self.update(inner, [inner], values, steps)]
        ways = self.choose.sample([*ways, y, f"fit({self.choose.choice(arrays)[0]}, {array[1]}, {y})"], 2)
        return (
            f"lax.cond({self.choose.choice(steps)} % 2 == 0, lambda {y}: {ways[0]}, lambda {y}: {ways[1]}, {array[0]})"
        )

    def body(
        self, depth: int, arrays: list[Typed], values: list[str], steps: list[str], inside: int
    ) -> tuple[list[str], list[Typed], list[str]]:
        """Statements of a step: the arrays that go on to the next one, all there are, and the values."""
        newest, every, values = list(arrays), list(arrays), list(values)
        for _ in range(self.choose.randint(1, 6)):
            kind = self.choose.random()
            place = self.choose.randrange(len(arrays))
            array = newest[place]
            if kind < 0.4:
                values.append(self.name("v"))
                self.emit(depth, f"{values[-1]} = {self.value(every, [], steps)}")
            elif kind < 0.9 or not inside:
                write = self.branches if kind > 0.8 else self.update
                text = write(array, every, values, steps)
                newest[place] = (self.name("a"), *array[1:])
                self.emit(depth, f"{newest[place][0]} = {text}")
                every.append(newest[place])
            else:
                newest, stacked = self.loop(depth, newest, values, steps, inside - 1)
                every, values = every + newest, values + stacked
        results = []
        for array, new in zip(arrays, newest, strict=True):
            alike = [name for name, *rest in every if rest == list(array[1:])]
            results.append(new[0] if self.chance(0.75) else self.choose.choice(alike))
        return results, every, values

    def loop(
        self, depth: int, arrays: list[Typed], values: list[str], steps: list[str], inside: int
    ) -> tuple[list[Typed], list[str]]:
        kind = self.choose.choice(["fori", "fori", "dynamic", "while", "scan", "scan", "reverse"])
        count = self.choose.randint(1, 4)
        i, step, stacked = self.name("i"), self.name("step"), self.name("stacked")
        inner = [(self.name("b"), *rest) for _, *rest in arrays]
        carry, begin = (f"({', '.join(name for name, *_ in of)},)" for of in (inner, arrays))
        after = [(self.name("o"), *rest) for _, *rest in arrays]
        end = f"({', '.join(name for name, *_ in after)},)"
        scans = kind in ("scan", "reverse")
        arguments = {"while": "carry", "scan": f"carry, {i}", "reverse": f"carry, {i}"}.get(kind, f"{i}, carry")
        self.emit(depth, f"def {step}({arguments}):")
        self.emit(depth + 1, f"{i}, {carry} = carry" if kind == "while" else f"{carry} = carry")
        results, every, known = self.body(depth + 1, inner, values, [*steps, i], inside)
        result = f"({', '.join(results)},)"
        output = self.choose.choice([*known, self.choose.choice(every)[0]])
        self.emit(
            depth + 1,
            f"return {i} + 1, {result}"
            if kind == "while"
            else f"return {result}, {output}"
            if scans
            else f"return {result}",
        )
        if scans:
            self.emit(
                depth, f"{end}, {stacked} = lax.scan({step}, {begin}, cnp.arange({count}), reverse={kind == 'reverse'})"
            )
        elif kind == "while":
            self.emit(depth, f"_, {end} = lax.while_loop(lambda carry: carry[0] < {count}, {step}, (0, {begin}))")
        else:
            stop = f"{count} + 0 * at[0]" if kind == "dynamic" else str(count)
            self.emit(depth, f"{end} = lax.fori_loop(0, {stop}, {step}, {begin})")
        return after, [stacked] if scans else []

    def operands(self) -> tuple[list[Any], Any]:
        draw = np.random.default_rng(self.choose.randrange(1 << 30))
        arrays = []
        for _, shape, dtype in self.arrays:
            numbers = draw.integers(-4, 5, shape) + (
                0 if dtype in ("int32", "bool") else draw.integers(0, 4, shape) / 4
            )
            if dtype == "complex64":
                numbers = numbers + 1j * draw.integers(-3, 4, shape)
            arrays.append(cnp.array((numbers > 0 if dtype == "bool" else numbers).astype(dtype)))
        return arrays, cnp.array(self.choose.choice([FIRST_POSITIONS, FAR_POSITIONS]))


def agree(found: Any, wanted: Any, what: str) -> None:
    for x, y in zip(ct.tree.leaves(found), ct.tree.leaves(wanted), strict=True):
        x, y = np.asarray(x), np.asarray(y)
        assert (x.shape, x.dtype) == (y.shape, y.dtype), what
        scale = np.max(np.abs(y[np.isfinite(y)]), initial=1.0)
        np.testing.assert_allclose(x, y, rtol=1e-3, atol=1e-3 * scale if y.dtype.kind in "fc" else 0, err_msg=what)


def stepwise(function: Callable[..., Any], *arguments: Any) -> Any:
    with ct.disable_jit():
        return function(*arguments)


def loss(program: Callable[..., Any]) -> Callable[..., Any]:
    def total(*arguments: Any) -> Any:
        parts = [0.0 * cnp.sum(arguments[0])]
        for result in program(*arguments):
            size = math.prod(result.shape)
            parts.append(cnp.sum(of_dtype(result, "float64") * np.cos(np.arange(size)).reshape(result.shape)))
        return sum(parts)

    return total


def values(program: Callable[..., Any], arrays: list[Any], at: Any, text: str) -> None:
    wanted, before = stepwise(program, *arrays, at), [np.array(x) for x in arrays]
    agree(ct.jit(program)(*arrays, at), wanted, text)
    agree(arrays, before, text)
    donated = [cnp.array(x) for x in before]
    agree(ct.jit(program, donate_argnums=range(len(arrays)))(*donated, at), wanted, text)


def gradients(program: Callable[..., Any], arrays: list[Any], at: Any, text: str) -> None:
    gradient = ct.grad(loss(program), argnums=tuple(range(len(arrays))))
    agree(ct.jit(gradient)(*arrays, at), stepwise(gradient, *arrays, at), text)


def directions(program: Callable[..., Any], arrays: list[Any], at: Any, text: str) -> None:
    def along(*arrays: Any) -> Any:
        return ct.jvp(lambda *x: program(*x, at), arrays, tuple(cnp.cos(x) for x in arrays))

    agree(ct.jit(along)(*arrays), stepwise(along, *arrays), text)


def batches(program: Callable[..., Any], arrays: list[Any], at: Any, text: str) -> None:
    batch = [cnp.stack([x, x[::-1], -x]) for x in arrays]
    positions = cnp.stack([at, at[::-1], 0 * at + 1])
    rows = [ct.tree.leaves(stepwise(program, *(x[k] for x in batch), positions[k])) for k in range(3)]
    wanted = [np.stack([np.asarray(x) for x in row]) for row in zip(*rows, strict=True)]
    agree(ct.jit(ct.vmap(program))(*batch, positions), wanted, text)


@pytest.mark.parametrize(
    ("check", "dtypes"),
    [(values, DTYPES), (gradients, FLOATS), (directions, FLOATS), (batches, FLOATS)],
    ids=lambda x: getattr(x, "__name__", ""),
)
def test_compiled_loops_update_what_they_carry_as_python_does(
    check: Callable[..., None], dtypes: list[str], share: Callable[[int, int], int]
) -> None:
    for seed in range(SEED, SEED + share(10, 500)):
        made = Program(seed, dtypes)
        check(made.function(), *made.operands(), f"program {seed}\n{made.text}")
