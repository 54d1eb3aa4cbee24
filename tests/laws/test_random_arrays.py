"""Random programs that move arrays about and look at them through windows: compiled, they give what the interpreter gives.

Slices with steps, paddings, pieces, updates of parts, reshapes, gathers, pools, convolutions and scans of products, one behind the other, of sizes around those
at which the compiler cuts loops in segments, writes windows out, goes by rows or works in blocks. Each program is text, which is shown where it
fails; loops give the same bits on any number of threads. `CT_ARRAYS_SEED` is where the numbers of the programs begin.
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
from cotangent import lax

SEED = int(os.environ.get("CT_ARRAYS_SEED", "0"))
SIZES = [1, 2, 3, 4, 7, 8, 9, 15, 16, 17, 24, 31, 32, 33, 64, 65, 127, 129, 256, 300, 1000]
MOST = [2_000, 6_000, 40_000, 150_000]  # elements
ELEMENTWISE = [
    "cnp.sin({x})",
    "{x} * 0.5 + 0.25",
    "cnp.maximum({x}, 0)",
    "cnp.where({x} > 0, {x}, {x} * 0.5)",
    "cnp.tanh({x})",
    "{x} * {x} * 0.3",
    "abs({x})",
]
ALONG = [
    "cnp.flip({x}, {a})", "cnp.roll({x}, {k}, {a})", "lax.cumsum({x}, {a}) / {n}", "lax.cummax({x}, {a}, reverse=True)", "cnp.sort({x}, axis={a})",
    "{x} - cnp.mean({x}, axis={a}, keepdims=True)", "ct.nn.softmax({x}, axis={a})", "cnp.sum({x}, axis={a}) / {n}", "cnp.max({x}, axis={a})",
    "cnp.diff({x}, axis={a})", "cnp.take({x}, {at}, axis={a}, mode='clip')", "cnp.repeat({x}, 2, {a})", "cnp.stack([{x}, {x} * 2], {a})",
    "cnp.concatenate([{x}, {x}[{before}1:], {x} * 2], {a})", "cnp.take_along_axis({x}, cnp.argsort({x}, axis={a}), axis={a})",
]  # fmt: skip
CELLS = [
    "cnp.tanh(c @ {w} + u)",
    "cnp.tanh(c @ {w}.T) * ct.nn.sigmoid(u @ {w})", "cnp.where(u > 0, cnp.tanh(c @ {w}), c)", "cnp.tanh(cnp.flip(c, 1) @ {w}) + 0.1 * u",
    "cnp.tanh(c @ {w} + cnp.roll(u, 1, 0))", "cnp.tanh(c @ {w}) - cnp.mean(c, 0) * 0.1", "ct.nn.softmax(c @ {w} + u, -1) + c * 0.5",
]  # fmt: skip
OUTPUTS = ["c", "c * u", "cnp.cumsum(c, 1)", "c[:, ::2]", "cnp.flip(c, 0)", "cnp.sum(c, 1)"]


class Program:
    """The text of a function of some arrays, and what they are."""

    def __init__(self, seed: int) -> None:
        self.choose, self.draw = random.Random(seed), np.random.default_rng(seed)
        self.most = self.choose.choice(MOST)
        self.operands: dict[str, Any] = {}
        self.shapes: dict[str, tuple[int, ...]] = {}
        self.lines: list[str] = []
        for _ in range(self.choose.randint(1, 2)):
            self.array(self.shape())
        if self.choose.random() < 0.2:
            self.add(self.scan())
        for _ in range(self.choose.choice([1, 2, 3, 5, 8])):
            self.step()
        head = f"def program({', '.join(self.operands)}):"
        self.text = "\n".join([head, *self.lines, f"    return [{', '.join(list(self.shapes)[-3:])}]"])

    def shape(self) -> tuple[int, ...]:
        while True:
            shape = tuple(self.choose.choice(SIZES) for _ in range(self.choose.choice([1, 2, 2, 3, 4, 4, 5])))
            if self.most // 16 <= math.prod(shape) <= self.most:
                return shape

    def array(self, shape: tuple[int, ...], scale: float = 1.0) -> str:
        name = f"x{len(self.operands)}"
        self.operands[name] = self.draw.normal(size=shape) * scale
        self.shapes[name] = shape
        return name

    def indices(self, shape: tuple[int, ...]) -> str:
        items = []
        for size in shape:
            start = self.choose.randint(0, size // 2)
            parts = [
                ":",
                "::2",
                "::3",
                "::-1",
                f"{start}:",
                f"{start}:{self.choose.randint(start + 1, max(size, start + 1))}:2",
                f":{max(size - 1, 1)}",
            ]
            items.append(self.choose.choice(parts))
        return ", ".join(items)

    def windows(self, x: str, shape: tuple[int, ...]) -> str:
        """A pool, or a convolution over all axes but the first two."""
        rank = len(shape) - 2
        sizes = [self.choose.choice([1, 2, 3, 3, 5]) for _ in range(rank)]
        steps = [self.choose.choice([1, 1, 2, 3]) for _ in range(rank)]
        around = [(self.choose.randint(-1, 3), self.choose.randint(0, 3)) for _ in range(rank)]
        pads: Any = self.choose.choice(["SAME", "VALID", around])
        if self.choose.random() < 0.5:
            kind, start = self.choose.choice([("add", "0.0"), ("max", "-np.inf")])
            given = pads if isinstance(pads, str) else [(0, 0), (0, 0), *[(max(low, 0), high) for low, high in around]]
            pool = f"lax.reduce_window({x}, {start}, lax.{kind}, {(1, 1, *sizes)}, {(1, 1, *steps)}, {given!r})"
            return f"cnp.clip({pool} / {math.prod(sizes)}, -9, 9)"
        alone = self.choose.random() < 0.4
        inputs, outputs = (1, shape[1]) if alone else (shape[1], self.choose.choice([1, 3, 8]))
        w = self.array((outputs, inputs, *sizes), 1 / math.sqrt(inputs * math.prod(sizes)))
        spread = [self.choose.choice([1, 1, 2]) if not isinstance(pads, str) else 1 for _ in range(rank)]
        groups = shape[1] if alone else 1
        return f"lax.conv_general_dilated({x}, {w}, {tuple(steps)}, {pads!r}, {tuple(spread)}, feature_group_count={groups})"

    def scan(self) -> str:
        rows, units, count = (self.choose.choice(of) for of in ([6, 24, 48], [16, 32, 40], [5, 80]))
        xs, w, start = (
            self.array((count, rows, units), 0.4),
            self.array((units, units), 0.5 / math.sqrt(units)),
            self.array((rows, units)),
        )
        cell, output = self.choose.choice(CELLS).format(w=w), self.choose.choice(OUTPUTS)
        return f"lax.scan(lambda c, u: ({cell}, {output}), {start}, {xs}, reverse={self.choose.random() < 0.3})"

    def expression(self, x: str, shape: tuple[int, ...]) -> str:
        kind = self.choose.random()
        if kind < 0.12:
            return self.choose.choice(ELEMENTWISE).format(x=x)
        if kind < 0.2:
            return f"{x} + {self.choose.choice([name for name in self.shapes if self.shapes[name] == shape])} * 2"
        if kind < 0.25:
            return self.scan()
        if kind < 0.5 and len(shape) > 2:
            return self.windows(x, shape)
        if kind < 0.6:
            order = self.choose.sample(range(len(shape)), len(shape))
            return f"{x}.transpose({order})"
        if kind < 0.68:
            at = self.choose.randrange(max(len(shape) - 1, 1))
            return f"{x}.reshape({(*shape[:at], math.prod(shape[at : at + 2]), *shape[at + 2 :])})"
        if kind < 0.74:
            pads = [
                (self.choose.randint(-1, 3), self.choose.randint(-1, 5), self.choose.choice([0, 0, 1, 2]))
                for _ in shape
            ]
            return f"lax.pad({x}, np.float64({self.choose.choice([0, 1])}), {pads})"
        if kind < 0.8:
            return f"{x}[{self.indices(shape)}]"
        if kind < 0.86:
            index = self.indices(shape)
            return f"{x}.at[{index}].{self.choose.choice(['set', 'add', 'multiply'])}({x}[{index}] * 0.5)"
        axis = self.choose.randrange(len(shape))
        at = self.draw.integers(-shape[axis], shape[axis], 5).tolist()
        return self.choose.choice(ALONG).format(
            x=x,
            a=axis,
            n=shape[axis],
            k=self.choose.choice([1, -1, shape[axis] // 2, 3]),
            at=f"np.array({at})",
            before=":, " * axis,
        )

    def step(self) -> None:
        for _ in range(20):
            x = self.choose.choice(
                [name for name in list(self.shapes)[-3:] if self.shapes[name]] or list(self.operands)
            )
            if self.add(self.expression(x, self.shapes[x])):
                return

    def add(self, text: str) -> bool:
        """Whether the expression is one, and no array without elements, nor a very large one."""
        function = eval(f"lambda {', '.join(self.shapes)}: {text}", dict(SCOPE))
        try:
            made = ct.eval_shape(function, *[ct.ShapeDtypeStruct(of, "float64") for of in self.shapes.values()])
        except (ValueError, IndexError):
            return False
        shapes = [each.shape for each in ct.tree.leaves(made)]
        fits = all(0 < math.prod(shape) <= 4 * self.most and len(shape) < 7 for shape in shapes)
        if fits:
            names = [f"v{len(self.lines)}{letter}" for letter in "ab"[: len(shapes)]]
            self.lines.append(f"    {', '.join(names)} = {text}")
            self.shapes |= zip(names, shapes, strict=True)
        return fits

    def function(self) -> Callable[..., Any]:
        scope = dict(SCOPE)
        exec(compile(self.text, "<random program>", "exec"), scope)
        program: Callable[..., Any] = scope["program"]
        return program


SCOPE: dict[str, Any] = {"np": np, "cnp": cnp, "ct": ct, "lax": lax}


def loss(program: Callable[..., Any]) -> Callable[..., Any]:
    def total(*arrays: Any) -> Any:
        parts = []
        for x in program(*arrays):
            weights = np.cos(np.arange(math.prod(x.shape)) * 1.7).reshape(x.shape)
            parts.append(cnp.sum(x * weights) + 0.125 * cnp.sum(x * x))
        return sum(parts)

    return total


def gradients(program: Callable[..., Any], count: int) -> Callable[..., Any]:
    return ct.grad(loss(program), argnums=tuple(range(count)))


def curvature(program: Callable[..., Any], count: int) -> Callable[..., Any]:
    def slope(*arrays: Any) -> Any:
        slopes = gradients(program, count)(*arrays)
        return sum(cnp.sum(g * np.sin(np.arange(g.size)).reshape(g.shape)) for g in slopes)

    return ct.grad(slope, argnums=tuple(range(count)))


def agree(found: Any, wanted: Any, tolerance: float, what: str) -> None:
    for x, y in zip(ct.tree.leaves(found), ct.tree.leaves(wanted), strict=True):
        x, y = np.asarray(x), np.asarray(y)
        assert x.shape == y.shape, what
        np.testing.assert_allclose(x, y, rtol=0, atol=tolerance * np.max(np.abs(y), initial=1e-3), err_msg=what)


KINDS: dict[str, tuple[Callable[[Callable[..., Any], int], Callable[..., Any]], float]] = {
    "values": (lambda program, count: program, 1e-9),
    "gradients": (gradients, 1e-8),
    "curvature": (curvature, 1e-6),
    "gradients of batches": (lambda program, count: gradients(ct.vmap(program), count), 1e-8),
}


@pytest.mark.parametrize("kind", list(KINDS))
def test_compiled_arrays_are_those_of_the_interpreter(kind: str, share: Callable[[int, int], int]) -> None:
    transform, tolerance = KINDS[kind]
    for seed in range(SEED, SEED + share(50, 3000)):
        made = Program(seed)
        operands = list(made.operands.values())
        if "batches" in kind:
            operands = [np.stack([x, -x[::-1]]) for x in operands]
        function = transform(made.function(), len(operands))
        what = (
            f"program {seed}\n"
            + "\n".join(f"{name}: {x.shape}" for name, x in made.operands.items())
            + f"\n{made.text}"
        )
        found = ct.jit(function)(*operands)
        agree(found, ct.jit(function, backend="interpreter")(*operands), tolerance, what)
        for x, y in zip(ct.tree.leaves(found), ct.tree.leaves(ct.jit(function, threads=1)(*operands)), strict=True):
            assert np.asarray(x).tobytes() == np.asarray(y).tobytes(), what
