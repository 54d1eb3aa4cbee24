"""Temporaries of quantities of single examples: bounds in arrays of activations, and beside those of the plain gradient."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cotangent as ct
import cotangent.numpy as cnp
import numpy as np
import pytest

SMALL = 16 << 10  # what arrays of a number for each example, or class, may take together


def model(sizes: list[int], batch: int) -> tuple[Any, Any, np.ndarray]:
    rng = np.random.default_rng(0)
    draw = lambda *shape: rng.normal(size=shape, scale=shape[0] ** -0.5).astype(np.float32)  # noqa: E731
    weights = [{"w": draw(m, n), "b": np.zeros(n, np.float32)} for m, n in zip(sizes[:-1], sizes[1:], strict=True)]

    def loss(p: Any, x: Any) -> Any:
        for layer in p[:-1]:
            x = cnp.tanh(x @ layer["w"] + layer["b"])
        scores = x @ p[-1]["w"] + p[-1]["b"]
        return cnp.log(cnp.sum(cnp.exp(scores))) - scores[0]

    return loss, weights, draw(batch, sizes[0])


def rows(gradients: Any) -> list[Any]:
    return [g.reshape((g.shape[0], -1)) for g in ct.tree.leaves(gradients)]


def norms(gradients: Any) -> Any:
    return cnp.sqrt(sum(cnp.sum(g * g, axis=1) for g in rows(gradients)))


QUANTITIES: dict[str, Callable[[Any], Any]] = {
    "norms": norms,
    "clipped sum": lambda gradients: (lambda s: [s @ g for g in rows(gradients)])(1 / (1 + norms(gradients))),
    "second moment": lambda gradients: [cnp.sum(g * g, axis=0) for g in rows(gradients)],
}


def programs(loss: Any, quantity: str) -> tuple[Any, Any]:
    gradients = ct.vmap(ct.grad(loss), (None, 0))
    losses = ct.vmap(loss, (None, 0))
    return lambda p, x: QUANTITIES[quantity](gradients(p, x)), ct.grad(lambda p, x: cnp.mean(losses(p, x)))


def scratch(f: Any, *arguments: Any) -> int:
    return int(ct.explain(f)(*arguments).scratch_bytes)


@pytest.mark.parametrize(("quantity", "arrays"), [("norms", 3), ("clipped sum", 2), ("second moment", 2)])
def test_activations_of_two_layers(quantity: str, arrays: int) -> None:
    """The others are dead by the time that the last result is written, and lie in it."""
    batch, width = 512, 1024
    loss, p, x = model([784, width, width, 10], batch)
    of_examples, plain = programs(loss, quantity)
    found = scratch(of_examples, p, x)
    assert found <= arrays * batch * width * 4 + 4 * SMALL
    if quantity != "norms":
        assert found <= 1.2 * scratch(plain, p, x)


@pytest.mark.parametrize("quantity", ["norms", "clipped sum"])
def test_activations_of_one_layer(quantity: str) -> None:
    """Norms have no result that anything could lie in."""
    batch, width = 256, 256
    loss, p, x = model([784, width, 10], batch)
    of_examples, plain = programs(loss, quantity)
    found = scratch(of_examples, p, x)
    assert found <= (2 if quantity == "norms" else 1) * batch * width * 4 + 2 * SMALL
    if quantity != "norms":
        assert found <= 1.2 * scratch(plain, p, x)


@pytest.mark.parametrize("quantity", QUANTITIES)
def test_what_lies_in_a_result_does_not_change_it(quantity: str) -> None:
    loss, p, x = model([300, 256, 200, 10], 128)
    of_examples, _ = programs(loss, quantity)
    with ct.disable_jit():
        expected = of_examples(*ct.tree.map(cnp.asarray, (p, x)))
    for threads in (1, 2):
        ct.config.update("threads", threads)
        found = ct.jit(of_examples)(p, x)
        for a, b in zip(ct.tree.leaves(found), ct.tree.leaves(expected), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)
    ct.config.update("threads", 0)


@pytest.mark.usefixtures("names_devices")  # the host's memory
def test_results_in_the_memory_of_donated_arrays_hold_nothing_else() -> None:
    loss, p, x = model([300, 256, 256, 10], 128)
    _, plain = programs(loss, "norms")
    step = lambda p, x: ct.tree.map(lambda w, g: w - 0.1 * g, p, plain(p, x))  # noqa: E731
    expected = ct.jit(step)(p, x)
    donated = ct.tree.map(lambda w: cnp.asarray(w) + 0, p)
    before = [np.asarray(a).__array_interface__["data"][0] for a in ct.tree.leaves(donated)]
    found = ct.jit(step, donate_argnums=0)(donated, x)
    after = [np.asarray(a).__array_interface__["data"][0] for a in ct.tree.leaves(found)]
    assert before == after
    for a, b in zip(ct.tree.leaves(found), ct.tree.leaves(expected), strict=True):
        np.testing.assert_array_equal(a, b)


def test_sums_in_float64_do_not_slow_down_what_they_add_up() -> None:
    """The squares of a layer are added up where its derivative is wanted, not where it is made."""
    loss, p, x = model([300, 256, 10], 128)
    lines = str(ct.explain(programs(loss, "norms")[0])(p, x)).splitlines()
    nests = [line for line in lines if "FLOP: " in line and " tanh" in line]
    assert nests
    assert all("reduce_sum" not in line for line in nests)


@pytest.mark.parametrize("batch", [256, 1024])
def test_chunks_need_the_memory_of_a_chunk(batch: int) -> None:
    """Whatever the size of the batch: the examples are read where they lie."""
    loss, p, x = model([64, 128, 10], batch)
    clipped = ct.per_example.clipped_sum(loss, 1.0, chunk_size=16)
    norm = lambda p, x: norms(ct.vmap(ct.grad(loss), (None, 0))(p, x[None]))[0]  # noqa: E731
    for f in (clipped, ct.per_example.norms(loss, chunk_size=16), ct.vmap(norm, (None, 0), chunk_size=16)):
        assert scratch(f, p, x) == scratch(f, p, x[:64])
    whole = ct.per_example.clipped_sum(loss, 1.0)
    for actual, expected in zip(ct.tree.leaves(ct.jit(clipped)(p, x)), ct.tree.leaves(whole(p, x)), strict=True):
        np.testing.assert_allclose(actual, expected, rtol=1e-4, atol=1e-4)
    assert scratch(clipped, p, x[:-24]) <= 2 * scratch(clipped, p, x[:64])  # a last chunk of 8 examples


def test_the_least_memory_of_a_batch_holds_no_copy_of_it() -> None:
    loss, p, x = model([64, 128, 10], 1024)
    f = ct.jit(ct.per_example.norms(loss), memory_limit=x.nbytes // 16)
    assert scratch(f, p, x) <= x.nbytes // 16
    np.testing.assert_allclose(f(p, x), ct.per_example.norms(loss)(p, x), rtol=1e-4)
