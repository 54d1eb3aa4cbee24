"""Random programs of numbers of every dtype: compiled, they give what the interpreter gives.

Integers are at the edges of their dtypes, and so are shifts and divisors; floats are added, compared, rounded and converted, among them NaN, infinities
and zeros of either sign. Each program is text, which is shown where it fails. `CT_NUMBERS_SEED` is where the numbers of the programs begin.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from typing import Any

import cotangent as ct
import cotangent.numpy as cnp
import numpy as np
import pytest
from cotangent import lax

SEED = int(os.environ.get("CT_NUMBERS_SEED", "0"))
INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
FLOATS = ["float32", "float64", "float16"]
GROUPS = [
    ["int32"],
    ["int64", "uint64"],
    ["uint32", "int64", "float32"],
    ["float64", "int64"],
    INTEGERS,
    INTEGERS + FLOATS,
]
SHAPES: list[tuple[int, ...]] = [(), (1,), (3,), (8,), (17,), (4, 7)]
EDGES = [
    0.0,
    -0.0,
    np.nan,
    np.inf,
    -np.inf,
    0.5,
    -1.5,
    2.5,
    127.5,
    -129.0,
    65504.0,
    2.0**31,
    -(2.0**31),
    2.0**63,
    -(2.0**63),
    2.0**64,
    1e-40,
    3e38,
]
OF_INTEGERS = [
    "{x} + {y}", "{x} - {y}", "{x} * {y}", "{x} // {y}", "{x} % {y}", "lax.div({x}, {y})", "lax.rem({x}, {y})", "{x} & {y}", "{x} | {y}", "{x} ^ {y}",
    "~{x}", "-{x}", "lax.shift_left({x}, {y})", "lax.shift_right_logical({x}, {y})", "lax.shift_right_arithmetic({x}, {y})", "cnp.maximum({x}, {y})",
    "cnp.minimum({x}, {y})", "abs({x})", "cnp.sign({x})", "lax.population_count({x})", "lax.clz({x})", "{x} ** 3", "cnp.gcd({x}, {y})",
]  # fmt: skip
OF_FLOATS = [
    "{x} + {y}", "{x} - {y}", "{x} / {y}", "{x} * 0.5", "cnp.maximum({x}, {y})", "cnp.fmin({x}, {y})", "-{x}", "abs({x})", "cnp.floor({x})", "cnp.round({x})",
    "cnp.sign({x})", "cnp.trunc({x})", "lax.rem({x}, {y})", "cnp.where(cnp.isnan({x}), {y}, {x})", "cnp.clip({x}, -3, {y})", "cnp.nan_to_num({x})",
]  # fmt: skip


class Program:
    """The text of a function of some numbers, and what they are."""

    def __init__(self, seed: int) -> None:
        self.choose, self.draw = random.Random(seed), np.random.default_rng(seed)
        self.dtypes = self.choose.choice(GROUPS)
        self.shape = self.choose.choice(SHAPES)
        self.known: dict[str, str] = {}  # dtypes of names
        self.lines: list[str] = []
        self.operands = []
        for i in range(self.choose.randint(1, 4)):
            dtype = self.choose.choice(self.dtypes)
            self.known[f"x{i}"] = dtype
            self.operands.append(self.numbers(dtype, self.shape if self.choose.random() < 0.8 else ()))
        head = f"def program({', '.join(self.known)}):"
        for _ in range(self.choose.choice([1, 4, 16, 64, 150])):
            self.step()
        results = list(self.known)[-8:]
        self.text = "\n".join([head, *self.lines, f"    return [{', '.join(results)}]"])

    def numbers(self, dtype: str, shape: tuple[int, ...]) -> Any:
        if dtype in FLOATS:
            with np.errstate(all="ignore"):
                return np.where(
                    self.draw.random(shape) < 0.5, self.draw.choice(EDGES, shape), self.draw.normal(size=shape) * 100
                ).astype(dtype)
        info = np.iinfo(dtype)
        edges = np.array(
            [info.min, info.min + 1, info.max, info.max - 1, info.max // 2, 0, 1, info.bits - 1, info.bits], dtype
        )
        small = self.draw.integers(0 if info.min == 0 else -20, 21, shape).astype(dtype)
        return np.where(self.draw.random(shape) < 0.5, self.draw.choice(edges, shape), small)

    def pick(self, dtype: str = "") -> str:
        names = [name for name, of in self.known.items() if dtype in ("", of)]
        return self.choose.choice(names[-6:] if self.choose.random() < 0.7 else names)

    def operand(self, dtype: str) -> str:
        if self.choose.random() < 0.75:
            return self.pick(dtype)
        if dtype in FLOATS:
            return f"np.{dtype}({self.choose.choice([0.0, 1.0, -3.0, 7.5])})"
        info = np.iinfo(dtype)
        return f"np.{dtype}({self.choose.choice([0, 1, 2, 3, 5, 8, info.bits - 1, info.bits, info.max, info.min])})"

    def step(self) -> None:
        x = self.pick()
        dtype = self.known[x]
        y = self.operand(dtype)
        kind = self.choose.random()
        if kind < 0.2:
            dtype = self.choose.choice(self.dtypes)
            text = f"lax.convert_element_type({x}, '{dtype}')"
        elif kind < 0.3:
            text = f"cnp.where({x} {self.choose.choice(['<', '>=', '==', '!='])} {y}, {x}, {self.pick(dtype)})"
        else:
            text = self.choose.choice(OF_FLOATS if dtype in FLOATS else OF_INTEGERS).format(x=x, y=y)
        name = f"v{len(self.lines)}"
        self.lines.append(f"    {name} = {text}")
        self.known[name] = dtype

    def function(self) -> Callable[..., Any]:
        scope = {"np": np, "cnp": cnp, "lax": lax}
        exec(compile(self.text, "<random program>", "exec"), scope)
        program: Callable[..., Any] = scope["program"]  # type: ignore[assignment]
        return program


def agree(found: list[Any], wanted: list[Any], what: str) -> None:
    for x, y in zip(found, wanted, strict=True):
        assert (x.shape, x.dtype) == (y.shape, y.dtype), what
        np.testing.assert_array_equal(np.asarray(x), np.asarray(y), err_msg=what)


def test_compiled_numbers_are_those_of_the_interpreter(share: Callable[[int, int], int]) -> None:
    for seed in range(SEED, SEED + share(120, 5000)):
        made = Program(seed)
        program = made.function()
        for dtype, operand in zip(made.known.values(), made.operands, strict=False):
            assert operand.dtype == dtype
        wanted = ct.jit(program, backend="interpreter")(*made.operands)
        what = f"program {seed}\n{made.text}"
        agree(ct.jit(program)(*made.operands), wanted, what)
        if seed % 3 == 0:
            batch = [np.stack([x, x[::-1] if x.ndim else x]) for x in made.operands]
            rows = [ct.jit(program, backend="interpreter")(*row) for row in zip(*batch, strict=True)]
            agree(ct.jit(ct.vmap(program))(*batch), [np.stack(row) for row in zip(*rows, strict=True)], what)


@pytest.mark.parametrize("divisor", [2, 5, 8, -3])
def test_what_no_int64_holds_is_negative_in_one(divisor: int) -> None:
    x = np.array([2**64 - 2, 2**63, 2**63 - 1, 16], np.uint64)
    signed = [-2, -(2**63), 2**63 - 1, 16]
    divide, rest = ct.jit(lambda x: (x.astype("int64") // divisor, x.astype("int64") % divisor))(x)
    assert divide.tolist() == [n // divisor for n in signed]
    assert rest.tolist() == [n % divisor for n in signed]
    truncated, remainder = ct.jit(lambda x: (lax.div(x.astype("int64"), divisor), lax.rem(x.astype("int64"), divisor)))(
        x
    )
    assert truncated.tolist() == [abs(n) // abs(divisor) * (1 if (n < 0) == (divisor < 0) else -1) for n in signed]
    assert remainder.tolist() == [abs(n) % abs(divisor) * (-1 if n < 0 else 1) for n in signed]
    # Remainders of them are as large.
    largest = ct.jit(lambda x, y: lax.div(lax.rem(x, y).astype("int64"), divisor))(
        x[:1], np.array([2**64 - 1], np.uint64)
    )
    assert largest.tolist() == [2 // abs(divisor) * (1 if divisor < 0 else -1)]
