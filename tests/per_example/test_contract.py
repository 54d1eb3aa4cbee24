"""Sums of products in another order (`transforms/contract`): the same values as the program as it is written, for all ways to write it."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import cotangent as ct
import cotangent.numpy as cnp
import numpy as np
import pytest
from contract_models import MODELS, column, gradients, mlp, products, ragged, rows, squares, unrolled

QUANTITIES: dict[str, Callable[[Any], Any]] = {
    "norms": lambda g: cnp.sqrt(squares(g)),
    "norms by vdot": lambda g: sum(ct.vmap(cnp.vdot)(a, a) for a in rows(g)),
    "norms by linalg": lambda g: [cnp.linalg.norm(a, axis=1) for a in rows(g)],
    "norms by einsum": lambda g: sum(cnp.einsum("ij,ij->i", a, a) for a in rows(g)),
    "norms by ravel": lambda g: ct.vmap(lambda one: cnp.linalg.norm(ct.flatten_util.ravel_pytree(one)[0]))(g),
    "clipped": lambda g: (lambda s: ct.tree.map(lambda a: cnp.tensordot(s, a, 1), g))(
        cnp.minimum(1.0, 0.1 / cnp.sqrt(squares(g)))
    ),
    "clipped by division": lambda g: (
        lambda n: ct.tree.map(lambda a: cnp.sum(a / cnp.reshape(n, (-1,) + (1,) * (a.ndim - 1)), axis=0), g)
    )(cnp.maximum(cnp.sqrt(squares(g)) / 0.1, 1.0)),
    "chosen": lambda g: ct.tree.map(
        lambda a: cnp.sum(
            cnp.where(cnp.reshape(cnp.arange(a.shape[0]) % 2 == 0, (-1,) + (1,) * (a.ndim - 1)), a, 0.0), axis=0
        ),
        g,
    ),
    "clipped where it is long": lambda g: (
        lambda n: ct.tree.map(lambda a: cnp.sum(cnp.where(column(n > 0.1, a), a * column(0.1 / n, a), a), axis=0), g)
    )(cnp.sqrt(squares(g))),
    "second moment": lambda g: ct.tree.map(lambda a: cnp.mean(a * a, axis=0), g),
    "variance": lambda g: ct.tree.map(lambda a: cnp.mean((a - cnp.mean(a, axis=0)) ** 2, axis=0), g),
    "kernel": lambda g: sum(a @ a.T for a in rows(g)),
    "fourth powers": lambda g: cnp.sum(squares(g) ** 2),
    "with decay": lambda g: sum(cnp.sum((a + 0.5) ** 2) for a in ct.tree.leaves(g)),
}


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("quantity", QUANTITIES)
def test_a_quantity_is_that_of_the_program_as_written(model: str, quantity: str) -> None:
    loss, params, x, y = MODELS[model]()
    of = QUANTITIES[quantity]
    with products("off"):
        expected = ct.jit(lambda p, x, y: of(gradients(loss, p, x, y)))(params, x, y)
    for order in ("gram", "always", "direct", "blocks"):
        with products(order):
            found = ct.jit(lambda p, x, y: of(gradients(loss, p, x, y)))(params, x, y)
        for a, b in zip(ct.tree.leaves(found), ct.tree.leaves(expected), strict=True):
            np.testing.assert_allclose(
                a, b, rtol=1e-9, atol=1e-11 * max(1.0, float(np.max(np.abs(b), initial=0))), err_msg=order
            )


@pytest.mark.parametrize("model", ["mlp", "lstm", "embedding", "transformer"])
def test_gradients_of_a_quantity(model: str) -> None:
    loss, params, x, y = MODELS[model]()

    def total(p: Any, x: Any, y: Any) -> Any:
        return cnp.sum(cnp.sqrt(squares(gradients(loss, p, x, y)) + 1e-3))

    with products("off"):
        expected = ct.jit(ct.grad(total))(params, x, y)
    with products("always"):
        found = ct.jit(ct.grad(total))(params, x, y)
    for a, b in zip(ct.tree.leaves(found), ct.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-8, atol=1e-11)


def test_lengths_gate_what_is_summed_up_after_the_loop() -> None:
    loss, params, x, lengths = ragged()
    found = ct.jit(lambda p, x, n: gradients(loss, p, x, n))(params, x, lengths)

    def exact(p: Any, x: np.ndarray) -> Any:
        s = cnp.zeros(20)
        for row in x:
            s = cnp.tanh(row @ p["wx"] + s @ p["wh"])
        return cnp.sum(s**2)

    for i, length in enumerate(lengths):
        expected = ct.grad(exact)(params, x[i, :length])
        for name in ("wx", "wh"):
            np.testing.assert_allclose(found[name][i], expected[name], rtol=1e-10, atol=1e-13)


@pytest.mark.parametrize("model", MODELS)
def test_norms_store_no_gradients_of_weights(model: str) -> None:
    loss, params, x, y = MODELS[model]()
    with products("always"):
        report = ct.explain(lambda p, x, y: QUANTITIES["norms"](gradients(loss, p, x, y)))(params, x, y)
    assert report.contractions


def test_per_example_gradients_are_not_stored() -> None:
    rng = np.random.default_rng(0)
    b, m, n = 256, 300, 200
    w, x = rng.normal(size=(m, n)).astype(np.float32), rng.normal(size=(b, m)).astype(np.float32)

    def norms(w: Any, x: Any) -> Any:
        g = ct.vmap(ct.grad(lambda w, x: cnp.sum(cnp.tanh(x @ w))), in_axes=(None, 0))(w, x)
        return cnp.sum(g * g, axis=(1, 2))

    a = 1 - np.tanh(x.astype(np.float64) @ w) ** 2
    np.testing.assert_allclose(ct.jit(norms)(w, x), np.sum(x.astype(np.float64) ** 2, 1) * np.sum(a**2, 1), rtol=1e-4)
    assert ct.explain(norms)(w, x).scratch_bytes < 4 * b * (m + n) * 4


def test_an_example_that_is_not_a_number_stays_with_itself() -> None:
    loss, params, x, y = mlp()
    x[2, 1] = np.nan
    with products("always"):
        found = ct.jit(lambda p, x, y: QUANTITIES["norms"](gradients(loss, p, x, y)))(params, x, y)
    assert np.isnan(found[2]) and np.isfinite(np.delete(np.asarray(found), 2)).all()


def test_examples_that_are_left_out_may_be_anything() -> None:
    loss, params, x, y = mlp()
    present = np.arange(7) % 3 != 1

    def total(p: Any, x: Any, y: Any, present: Any) -> Any:
        g = gradients(loss, p, x, y)
        return ct.tree.map(
            lambda a: cnp.sum(cnp.where(cnp.reshape(present, (-1,) + (1,) * (a.ndim - 1)), a, 0.0), axis=0), g
        )

    with products("off"):
        expected = ct.jit(total)(params, x, y, present)
    x[~present] = np.nan
    with products("always"):
        found = ct.jit(total)(params, x, y, present)
    for a, b in zip(ct.tree.leaves(found), ct.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-10)


def test_a_batch_of_nothing() -> None:
    loss, params, _, _ = mlp()
    with products("always"):
        found = ct.jit(lambda p, x, y: QUANTITIES["clipped"](gradients(loss, p, x, y)))(
            params, np.zeros((0, 6)), np.zeros(0, np.int32)
        )
    for a in ct.tree.leaves(found):
        np.testing.assert_array_equal(a, np.zeros(a.shape))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_squares_do_not_come_out_negative(dtype: Any) -> None:
    rng = np.random.default_rng(0)
    a = rng.normal(size=(3, 64, 40)).astype(dtype)
    a[:, 32:] = -a[:, :32]
    d = rng.normal(size=(3, 64, 50)).astype(dtype)
    d[:, 32:] = d[:, :32]  # what the first half adds the second takes away

    def norms(a: Any, d: Any) -> Any:
        g = cnp.einsum("btm,btn->bmn", a, d)
        return cnp.sum(g * g, axis=(1, 2))

    with products("always"):
        assert (np.asarray(ct.jit(norms)(a, d)) >= 0).all()
    with products("direct"):
        np.testing.assert_allclose(ct.jit(norms)(a, d), 0, atol=1e-6)


def test_equal_bits_with_one_thread_and_two() -> None:
    loss, params, x, y = MODELS["lstm"]()
    f = ct.jit(lambda p, x, y: QUANTITIES["clipped"](gradients(loss, p, x, y)))
    results = []
    for threads in (1, 2):
        ct.config.update("threads", threads)
        results.append([np.asarray(a).tobytes() for a in ct.tree.leaves(f(params, x, y))])
    ct.config.update("threads", 0)
    assert results[0] == results[1]


LETTERS = "abcdefgh"


def random_contraction(rng: random.Random) -> tuple[Callable[..., Any], list[np.ndarray]]:
    """A function of arrays that multiplies, adds, turns and sums them up in random order."""
    sizes = {letter: rng.choice([0, 1, 2, 3, 5] if rng.random() < 0.1 else [1, 2, 3, 4, 5]) for letter in LETTERS}
    numbers = np.random.default_rng(rng.randrange(2**32))
    arrays: list[np.ndarray] = []
    program: list[tuple[Any, ...]] = []
    known: list[str] = []  # by value: its letters

    def leaf(letters: str) -> int:
        arrays.append(numbers.normal(size=[sizes[c] for c in letters]))
        program.append(("leaf", len(arrays) - 1))
        known.append(letters)
        return len(known) - 1

    def some(count: int) -> str:
        return "".join(rng.sample(LETTERS, count))

    for _ in range(rng.randint(2, 3)):
        leaf(some(rng.randint(1, 3)))
    for _ in range(rng.randint(2, 6)):
        i = rng.randrange(len(known))
        j = rng.randrange(len(known))
        kind = rng.choice(["einsum", "einsum", "einsum", "square", "sum", "add", "transpose", "weight", "flat"])
        if kind == "einsum":
            union = sorted(set(known[i]) | set(known[j]))
            kept = [c for c in union if rng.random() < 0.75][:5]
            rng.shuffle(kept)
            program.append(("einsum", f"{known[i]},{known[j]}->{''.join(kept)}", i, j))
            known.append("".join(kept))
        elif kind == "square":
            program.append(("mul", i, i))
            known.append(known[i])
        elif kind == "sum" and known[i]:
            axis = rng.randrange(len(known[i]))
            program.append(("sum", i, axis))
            known.append(known[i][:axis] + known[i][axis + 1 :])
        elif kind == "add":
            k = leaf(known[i]) if known[j] != known[i] else j
            program.append((rng.choice(["add", "sub"]), i, k))
            known.append(known[i])
        elif kind == "transpose":
            order = list(range(len(known[i])))
            rng.shuffle(order)
            program.append(("transpose", i, tuple(order)))
            known.append("".join(known[i][k] for k in order))
        elif kind == "weight" and known[i]:
            axis = rng.randrange(len(known[i]))
            k = leaf(known[i][axis])
            program.append((rng.choice(["scale", "divide", "choose"]), i, k, axis))
            known.append(known[i])
        elif kind == "flat" and len(known[i]) >= 2:
            program.append(("flat", i))
            known.append("")

    def run(*inputs: Any) -> Any:
        values: list[Any] = []
        for step in program:
            match step:
                case ("leaf", k):
                    values.append(inputs[k])
                case ("einsum", text, i, j):
                    values.append(cnp.einsum(text, values[i], values[j]))
                case ("mul", i, j):
                    values.append(values[i] * values[j])
                case ("add", i, j):
                    values.append(values[i] + values[j])
                case ("sub", i, j):
                    values.append(values[i] - values[j])
                case ("sum", i, axis):
                    values.append(cnp.sum(values[i], axis=axis))
                case ("transpose", i, order):
                    values.append(cnp.transpose(values[i], order))
                case ("flat", i):
                    flat = cnp.reshape(values[i], (-1,))
                    values.append(cnp.vdot(flat, flat))
                case (kind, i, k, axis):
                    shape = [1] * values[i].ndim
                    shape[axis] = -1
                    by = cnp.reshape(values[k], shape)
                    if kind == "scale":
                        values.append(values[i] * by)
                    elif kind == "divide":
                        values.append(values[i] / (2.0 + by * by))
                    else:
                        values.append(cnp.where(by > 0, values[i], 0.0))
        return values[-1], values[rng_output(len(values))]

    second = rng.random()

    def rng_output(count: int) -> int:
        return int(second * count)

    return run, arrays


@pytest.mark.parametrize("chunk", range(20))
def test_random_sums_of_products(chunk: int) -> None:
    for number in range(100):
        rng = random.Random(1000 * chunk + number)
        f, arrays = random_contraction(rng)
        with ct.disable_jit():
            expected = f(*map(cnp.asarray, arrays))
        for order in ("always", "gram", "blocks"):
            with products(order):
                found = ct.jit(f)(*arrays)
            for a, b in zip(found, expected, strict=True):
                scale = float(np.max(np.abs(b), initial=0)) + 1
                np.testing.assert_allclose(
                    a, b, rtol=1e-9, atol=1e-9 * scale, err_msg=f"seed {1000 * chunk + number}, {order}"
                )


def test_an_unknown_order_is_an_error() -> None:
    with pytest.raises(ValueError, match=r"products='fast'\n  set one of 'gram', 'direct', 'off'"):
        ct.config.update("products", "fast")


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("scale", [1e-12, 1.0, 1e12])
def test_a_norm_that_scales_what_it_squares(dtype: Any, scale: float) -> None:
    rng = np.random.default_rng(0)
    a, d = (rng.normal(size=(5, n)).astype(dtype) * dtype(scale) for n in (30, 20))
    a[1], d[2] = 0, 0
    d[3] *= dtype(1e-3)

    def norms(a: Any, d: Any) -> Any:
        return cnp.linalg.norm(cnp.reshape(cnp.einsum("bm,bn->bmn", a, d), (a.shape[0], -1)), axis=1)

    with products("always"):
        found = ct.jit(norms)(a, d)
        assert ct.explain(norms)(a, d).contractions
    expected = np.linalg.norm(a.astype(np.longdouble), axis=1) * np.linalg.norm(d.astype(np.longdouble), axis=1)
    np.testing.assert_allclose(found, expected, rtol=1e-5)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_gradients_in_half_precision_are_squared_in_float32(dtype: str) -> None:
    rng = np.random.default_rng(0)
    a, d = (cnp.asarray(rng.normal(size=(5, n)), dtype) for n in (30, 20))

    def norms(a: Any, d: Any) -> Any:
        g = cnp.einsum("bm,bn->bmn", a, d).astype("float32")
        return cnp.sum(g * g, axis=(1, 2))

    with products("always"):
        found = ct.jit(norms)(a, d)
        assert ct.explain(norms)(a, d).contractions
    wide = [np.asarray(x.astype("float32")).astype(np.float64) for x in (a, d)]
    np.testing.assert_allclose(found, np.sum(wide[0] ** 2, 1) * np.sum(wide[1] ** 2, 1), rtol=1e-5)


def test_no_example_escapes_its_bound() -> None:
    """Of the Gram matrix of this gradient nothing is left in float32; by default it is not made."""
    rng = np.random.default_rng(0)
    x = (rng.normal(size=(16, 1, 512)) * 1e4 + rng.normal(size=(16, 8, 512))).astype(np.float32)
    c = (np.tile([1, -1], 4)[None, :, None] * rng.normal(size=(16, 1, 512))).astype(np.float32)

    def loss(w: Any, x: Any, c: Any) -> Any:
        return cnp.sum((x @ w) * c)

    assert ct.config.read("products") == "direct"
    total = ct.per_example.clipped_sum(loss, 1.0)(np.zeros((512, 512), np.float32), x, c)
    assert np.linalg.norm(total) <= 16


def test_norms_of_single_products_neither_overflow_nor_underflow() -> None:
    a, d = np.full((64, 300), 1e-30, np.float32), np.full((64, 200), 1e30, np.float32)

    def norms(a: Any, d: Any) -> Any:
        return cnp.sqrt(cnp.sum(cnp.einsum("bm,bn->bmn", a, d) ** 2, axis=(1, 2)))

    assert ct.explain(norms)(a, d).contractions
    np.testing.assert_allclose(ct.jit(norms)(a, d), np.sqrt(60000), rtol=1e-6)


def test_what_has_no_place_is_dropped_though_it_is_infinite() -> None:
    ids, d = np.array([[5, 1], [2, 2]]), np.array([[[np.inf] * 3, [1.0] * 3], [[1.0] * 3, [2.0] * 3]])

    def norms(d: Any) -> Any:
        g = cnp.zeros((2, 5, 3)).at[cnp.arange(2)[:, None], ids].add(d)
        return cnp.sum(g * g, axis=(1, 2)), cnp.einsum("bve,cve->bc", g, g)

    with products("always"):
        squares, kernel = ct.jit(norms)(d)
    np.testing.assert_allclose(squares, [3, 27])
    np.testing.assert_allclose(kernel, [[3, 0], [0, 27]])


def test_hundreds_of_steps_compile_in_time_that_grows_with_their_number() -> None:
    for order in ("gram", "direct"):
        loss, params, x, y = unrolled(steps=200)
        with products(order):
            report = ct.profile(lambda p, x, y: QUANTITIES["norms"](gradients(loss, p, x, y)), runs=1)(params, x, y)
        stages = dict(report.stages)
        # It is a tenth. With all equations visited again in each round it would be four fifths.
        assert stages["contract"] < 0.4 * sum(stages.values())


@pytest.mark.parametrize("products", ["off", "direct", "gram"])
def test_gates_with_axes_in_another_order(products: str) -> None:
    """The gradient of a loss over pairs of neighbours in ragged rows: what gates a factor has its axes turned."""
    random = np.random.default_rng(0)
    draw = lambda *shape: random.standard_normal(shape).astype(np.float32)  # noqa: E731
    parameters = {"e": draw(70, 16), "a": draw(16, 32), "b": draw(16, 32), "c": draw(32), "o": draw(32)}
    lines = [random.integers(0, 70, n).astype(np.int32) for n in random.integers(8, 79, 64)]

    def loss(p: Any, line: Any) -> Any:
        x = p["e"][line]
        return (cnp.tanh(x[:-1] @ p["a"] + x[1:] @ p["b"] + p["c"]) @ p["o"]).mean()

    exact = ct.tree.map(lambda *g: np.mean(g, axis=0), *[ct.grad(loss)(parameters, line) for line in lines[:8]])
    ct.config.update("products", products)
    try:
        mean = lambda p, rows: ct.vmap(ct.mask(loss), (None, 0))(p, rows).mean()  # noqa: E731
        found = ct.jit(ct.grad(mean))(parameters, ct.ragged(lines[:8]))
        ct.jit(ct.grad(mean))(parameters, ct.ragged(lines))
    finally:
        ct.config.update("products", "direct")
    for ours, theirs in zip(ct.tree.leaves(found), ct.tree.leaves(exact), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=2e-3, atol=1e-5)
