"""Gradients of what an example chooses by branches: made of factors that the branches return."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cotangent as ct
import cotangent.numpy as cnp
import numpy as np
import pytest
from contract_models import OF_VECTORS, Model, cross_entropy, gradients, normal, products, vectors

EXPERTS = 3


def expert(w: Any, x: Any) -> Any:
    return cnp.tanh(x @ w["in"] + w["shift"]) @ w["out"]


def parameters(rng: np.random.Generator, d: int, h: int) -> Any:
    weights = [{"in": normal(rng, d, h), "shift": normal(rng, h), "out": normal(rng, h, d)} for _ in range(EXPERTS)]
    return {"before": normal(rng, d, d), "experts": weights, "after": normal(rng, d, 4)}


def chosen(b: int = 7, d: int = 5, h: int = 6, dtype: Any = np.float64) -> Model:
    """One expert an example, by an index of its own."""
    rng = np.random.default_rng(0)

    def loss(p: Any, x: Any, y: Any) -> Any:
        x = cnp.tanh(x @ p["before"])
        x = x + ct.lax.switch(y % EXPERTS, [lambda x, w=w: expert(w, x) for w in p["experts"]], x)
        return cross_entropy(x @ p["after"], y)

    params = ct.tree.map(lambda leaf: leaf.astype(dtype), parameters(rng, d, h))
    return loss, params, rng.normal(size=(b, d)).astype(dtype), rng.integers(0, 4, b).astype(np.int32)


def routed(b: int = 7) -> Model:
    """By what the model thinks of it, scaled by that."""
    rng = np.random.default_rng(1)

    def loss(p: Any, x: Any, y: Any) -> Any:
        x = cnp.tanh(x @ p["before"])
        shares = ct.nn.softmax(x @ p["router"])
        chosen = cnp.argmax(shares)
        x = x + shares[chosen] * ct.lax.switch(chosen, [lambda x, w=w: expert(w, x) for w in p["experts"]], x)
        return cross_entropy(x @ p["after"], y)

    params = {**parameters(rng, 5, 6), "router": normal(rng, 5, EXPERTS)}
    return loss, params, rng.normal(size=(b, 5)), rng.integers(0, 4, b).astype(np.int32)


def positions(b: int = 4, steps: int = 3) -> Model:
    """One expert a position."""
    rng = np.random.default_rng(2)

    def loss(p: Any, x: Any, y: Any) -> Any:
        x = cnp.tanh(x @ p["before"])
        of_one = lambda x: ct.lax.switch(  # noqa: E731
            cnp.astype(x[0] > 0, "int32") + cnp.astype(x[1] > 0, "int32"),
            [lambda x, w=w: expert(w, x) for w in p["experts"]],
            x,
        )
        return cross_entropy(cnp.mean(x + ct.vmap(of_one)(x), axis=0) @ p["after"], y)

    return loss, parameters(rng, 5, 6), rng.normal(size=(b, steps, 5)), rng.integers(0, 4, b).astype(np.int32)


def nested(b: int = 7) -> Model:
    """Branches in branches."""
    rng = np.random.default_rng(3)

    def loss(p: Any, x: Any, y: Any) -> Any:
        first, second, third = p["experts"]
        inner = lambda x: ct.lax.cond(x[0] > 0, lambda: expert(first, x), lambda: expert(second, x) / 3)  # noqa: E731
        x = x + ct.lax.cond(y > 1, inner, lambda x: expert(third, cnp.sin(x)), x)
        return cross_entropy(x @ p["after"], y)

    return loss, parameters(rng, 5, 6), rng.normal(size=(b, 5)), rng.integers(0, 4, b).astype(np.int32)


def shared(b: int = 7) -> Model:
    """One weight in several branches: as it is, and turned."""
    rng = np.random.default_rng(4)

    def loss(w: Any, x: Any, y: Any) -> Any:
        branches = [lambda x: cnp.tanh(x @ w), lambda x: cnp.sin(x @ w), lambda x: cnp.tanh(w @ x) / 2]
        return cross_entropy(ct.lax.switch(y, branches, x), y)

    return loss, normal(rng, 5, 5), rng.normal(size=(b, 5)), rng.integers(0, 4, b).astype(np.int32)


def for_all(b: int = 7) -> Model:
    """The branch is the same for all examples."""
    rng = np.random.default_rng(5)

    def loss(p: Any, x: Any, y: Any) -> Any:
        first, second, _ = p["experts"]
        x = x + ct.lax.cond(p["after"][0, 0] > 0, lambda x: expert(first, x), lambda x: expert(second, 2 * x), x)
        return cross_entropy(x @ p["after"], y)

    return loss, parameters(rng, 5, 6), rng.normal(size=(b, 5)), rng.integers(0, 4, b).astype(np.int32)


def layers(b: int = 5, depth: int = 3, d: int = 5, h: int = 6, dtype: Any = np.float64) -> Model:
    """A loop over layers, each with branches."""
    rng = np.random.default_rng(6)

    def loss(p: Any, x: Any, y: Any) -> Any:
        step = lambda x, ws: (x + ct.lax.switch(y % 2, [lambda x, w=w: expert(w, x) for w in ws], x), None)  # noqa: E731
        return cross_entropy(ct.lax.scan(step, x, p["layers"])[0] @ p["after"], y)

    stacks = [
        {"in": normal(rng, depth, d, h), "shift": normal(rng, depth, h), "out": normal(rng, depth, h, d)} for _ in "ab"
    ]
    params = ct.tree.map(lambda leaf: leaf.astype(dtype), {"layers": stacks, "after": normal(rng, d, 4)})
    return loss, params, rng.normal(size=(b, d)).astype(dtype), rng.integers(0, 4, b).astype(np.int32)


def parts(b: int = 7, d: int = 5, h: int = 6, dtype: Any = np.float64) -> Model:
    """All experts in one array, of which each branch takes its part."""
    rng = np.random.default_rng(8)

    def loss(p: Any, x: Any, y: Any) -> Any:
        branches = [lambda x, i=i: expert(ct.tree.map(lambda a: a[i], p["experts"]), x) for i in range(EXPERTS)]
        return cross_entropy((x + ct.lax.switch(y % EXPERTS, branches, x)) @ p["after"], y)

    experts = {"in": normal(rng, EXPERTS, d, h), "shift": normal(rng, EXPERTS, h), "out": normal(rng, EXPERTS, h, d)}
    params = ct.tree.map(lambda leaf: leaf.astype(dtype), {"experts": experts, "after": normal(rng, d, 4)})
    return loss, params, rng.normal(size=(b, d)).astype(dtype), rng.integers(0, 4, b).astype(np.int32)


def parts_of_layers(b: int = 5, depth: int = 3, d: int = 5, h: int = 6, dtype: Any = np.float64) -> Model:
    """A loop over layers, each with branches that take their parts of its arrays."""
    rng = np.random.default_rng(9)

    def loss(p: Any, x: Any, y: Any) -> Any:
        def step(x: Any, w: Any) -> Any:
            branches = [lambda x, i=i: expert(ct.tree.map(lambda a: a[i], w), x) for i in range(2)]
            return x + ct.lax.switch(y % 2, branches, x), None

        return cross_entropy(ct.lax.scan(step, x, p["layers"])[0] @ p["after"], y)

    stack = {"in": normal(rng, depth, 2, d, h), "shift": normal(rng, depth, 2, h), "out": normal(rng, depth, 2, h, d)}
    params = ct.tree.map(lambda leaf: leaf.astype(dtype), {"layers": stack, "after": normal(rng, d, 4)})
    return loss, params, rng.normal(size=(b, d)).astype(dtype), rng.integers(0, 4, b).astype(np.int32)


def steps(b: int = 5) -> Model:
    """The same branches in each step of a loop."""
    rng = np.random.default_rng(7)

    def loss(p: Any, x: Any, y: Any) -> Any:
        branches = [lambda x, w=w: expert(w, x) for w in p["experts"]]
        step = lambda x, chosen: (x + ct.lax.switch(chosen, branches, x), None)  # noqa: E731
        return cross_entropy(ct.lax.scan(step, x, (y + cnp.arange(4)) % EXPERTS)[0] @ p["after"], y)

    return loss, parameters(rng, 5, 6), rng.normal(size=(b, 5)), rng.integers(0, 4, b).astype(np.int32)


MODELS: dict[str, Callable[[], Model]] = {
    f.__name__: f for f in (chosen, routed, positions, nested, shared, for_all, layers, parts, parts_of_layers, steps)
}


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("quantity", OF_VECTORS)
def test_quantities(model: str, quantity: str) -> None:
    loss, params, x, y = MODELS[model]()
    of = OF_VECTORS[quantity]
    with products("off"):
        expected = ct.jit(lambda p, x, y: of(vectors(gradients(loss, p, x, y))))(params, x, y)
    for order in ("direct", "always", "blocks"):
        with products(order):
            found = ct.jit(lambda p, x, y: of(vectors(gradients(loss, p, x, y))))(params, x, y)
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-11, err_msg=order)


@pytest.mark.parametrize("model", MODELS)
def test_gradients_that_are_wanted(model: str) -> None:
    loss, params, x, y = MODELS[model]()
    with products("off"):
        expected = ct.jit(lambda p, x, y: vectors(gradients(loss, p, x, y)))(params, x, y)
    found = ct.jit(lambda p, x, y: vectors(gradients(loss, p, x, y)))(params, x, y)
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize(
    ("model", "quantity"),
    [(model, of) for model in (chosen, layers, parts) for of in ("norms", "clipped_sum", "second_moment", "kernel")]
    + [(parts_of_layers, of) for of in ("norms", "clipped_sum", "second_moment")],
)
def test_no_gradient_is_stored(model: Any, quantity: str) -> None:
    b, d, h = 64, 128, 192
    loss, params, x, y = model(b=b, d=d, h=h, dtype=np.float32)
    arguments = {"clip_norm": 1.0} if quantity == "clipped_sum" else {}
    of = getattr(ct.per_example, quantity)(loss, **arguments)
    report = ct.explain(of)(params, x, y)
    assert report.scratch_bytes < b * d * h * 4 / 2  # the gradient of one weight of one expert takes twice as much
    with products("off"):
        expected = ct.jit(lambda *a: of(*a))(params, x, y)
        assert ct.explain(lambda *a: of(*a))(params, x, y).scratch_bytes > 3 * b * d * h * 4
    for found, wanted in zip(ct.tree.leaves(ct.jit(of)(params, x, y)), ct.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5 * np.max(np.abs(wanted)))


def test_what_is_no_number_stays_with_its_example() -> None:
    loss, params, x, y = chosen()
    x[2], y[2] = np.nan, 1
    norms = np.asarray(ct.per_example.norms(loss, per_leaf=True)(params, x, y)["experts"][1]["in"])
    assert np.isnan(norms[2])
    assert np.isfinite(np.delete(norms, 2)).all()
    others = ct.per_example.norms(loss, per_leaf=True)(params, x, y)["experts"][0]["in"]
    assert np.asarray(others)[2] == 0


def test_no_example_has_a_part_of_a_parameter_of_its_own() -> None:
    b, d, h = 64, 96, 128
    loss, params, x, y = parts(b, d, h, np.float32)
    gradients = ct.vmap(ct.grad(loss), (None, 0, 0))
    with products("off"):
        report = ct.explain(lambda p, x, y: gradients(p, x, y)["after"])(params, x, y)
    assert report.scratch_bytes < 4 * b * d * h / 2
