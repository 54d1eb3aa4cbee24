"""ct.per_example against the plain programs, ``vmap(grad(loss))`` and a reduction, in float64."""

from __future__ import annotations

import doctest
import inspect
from collections.abc import Callable
from typing import Any

import cotangent as ct
import cotangent.numpy as cnp
import numpy as np
import pytest
from cotangent import per_example as pe
from needs import require
from per_example_models import BATCH, MODELS, clip, close, cross_entropy, direction, flat, made, plain, vector_of

QUANTITIES: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "norms": (
        lambda loss, c, p, *b: pe.norms(loss, chunk_size=c)(p, *b),
        lambda g, p: np.linalg.norm(flat(g), axis=1),
    ),
    "norms of leaves": (
        lambda loss, c, p, *b: pe.norms(loss, per_leaf=True, chunk_size=c)(p, *b),
        lambda g, p: ct.tree.map(lambda x: np.sqrt((x * x).reshape(len(x), int(np.prod(x.shape[1:]))).sum(1)), g),
    ),
    "clipped sum": (
        lambda loss, c, p, *b: pe.clipped_sum(loss, 0.4, chunk_size=c)(p, *b),
        lambda g, p: clip(g, 0.4),
    ),
    "clipped leaves": (
        lambda loss, c, p, *b: pe.clipped_sum(loss, 0.4, per_leaf=True, chunk_size=c)(p, *b),
        lambda g, p: ct.tree.map(lambda x: clip(x, 0.4 / np.sqrt(len(ct.tree.leaves(g)))), g),
    ),
    "weighted sum": (
        lambda loss, c, p, *b: pe.weighted_sum(loss, chunk_size=c)(np.arange(len(b[0])) - 1.0, p, *b),
        lambda g, p: ct.tree.map(lambda x: np.einsum("i,i...->...", np.arange(len(x)) - 1.0, x), g),
    ),
    "second moment": (
        lambda loss, c, p, *b: pe.second_moment(loss, chunk_size=c)(p, *b),
        lambda g, p: ct.tree.map(lambda x: (x * x).mean(0), g),
    ),
    "mean and variance": (
        lambda loss, c, p, *b: pe.mean_and_variance(loss, ddof=1, chunk_size=c)(p, *b),
        lambda g, p: (
            ct.tree.map(lambda x: x.mean(0), g),
            ct.tree.map(lambda x: x.var(0, ddof=1), g),
        ),
    ),
    "kernel": (
        lambda loss, c, p, *b: pe.kernel(loss, chunk_size=c)(p, *b),
        lambda g, p: flat(g) @ flat(g).T,
    ),
    "dot": (
        lambda loss, c, p, *b: pe.dot(loss, chunk_size=c)(direction(p), p, *b),
        lambda g, p: flat(g) @ vector_of(direction(p)),
    ),
    "gradient times vector": (
        lambda loss, c, p, *b: pe.gradient_times_vector(loss, chunk_size=c)(direction(p), p, *b),
        lambda g, p: flat(g) @ vector_of(direction(p)),
    ),
    "Fisher": (
        lambda loss, c, p, *b: vector_of_traced(pe.fisher_vector_product(loss, chunk_size=c)(direction(p), p, *b)),
        lambda g, p: flat(g).T @ (flat(g) @ vector_of(direction(p))) / len(flat(g)),
    ),
    "noise scale": (
        lambda loss, c, p, *b: pe.noise_scale(loss, chunk_size=c)(p, *b),
        lambda g, p: noise_scale(flat(g)),
    ),
    "influence": (
        lambda loss, c, p, *b: pe.influence(loss, chunk_size=c)(
            ct.tree.map(lambda x: cnp.stack([x, 2 * x, x]), p), [0.5, 0.0, 0.25], b, tuple(x[:2] for x in b)
        ),
        lambda g, p: 0.75 * flat(g) @ flat(g)[:2].T,
    ),
}


def vector_of_traced(tree: Any) -> Any:
    return cnp.concatenate([cnp.ravel(x) for x in ct.tree.leaves(tree)])


def noise_scale(g: np.ndarray) -> pe.NoiseScale:
    """The estimators of McCandlish et al. 2018, appendix A.1, for batches of 1 and b."""
    b = len(g)
    small, large = (g * g).sum(1).mean(), (g.mean(0) ** 2).sum()
    squared_norm = (b * large - small) / (b - 1)
    trace = (small - large) / (1 - 1 / b)
    return pe.NoiseScale(trace / squared_norm, trace, squared_norm)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("quantity", QUANTITIES)
def test_quantities(quantity: str, model: str) -> None:
    loss, params, batch = made(model)
    function, reduction = QUANTITIES[quantity]
    expected = reduction(plain(loss, params, batch), params)
    for chunk_size in (None, 2, 5, 9):
        run = lambda p, *b, c=chunk_size: function(loss, c, p, *b)  # noqa: E731
        close(run(params, *batch), expected)
        if chunk_size in (None, 2):
            close(ct.jit(run)(params, *batch), expected)


@pytest.mark.parametrize("quantity", QUANTITIES)
@pytest.mark.parametrize("size", [0, 1])
@pytest.mark.filterwarnings("ignore:Mean of empty slice", "ignore:Degrees of freedom", "ignore:invalid value")
def test_few_examples(quantity: str, size: int) -> None:
    loss, params, batch = made("mlp", size)
    function, reduction = QUANTITIES[quantity]
    if quantity == "noise scale":
        with pytest.raises(ValueError, match=rf"the batch has {size}, and needs 2"):
            function(loss, 2, params, *batch)
        return
    gradient = ct.tree.map(lambda p: np.zeros((0, *np.shape(p))), params) if size == 0 else plain(loss, params, batch)
    with np.errstate(all="ignore"):
        expected = reduction(gradient, params)
    close(function(loss, 2, params, *batch), expected)


@pytest.mark.parametrize("quantity", QUANTITIES)
def test_nested_in_other_transforms(quantity: str) -> None:
    loss, params, batch = made("mlp")
    other = ct.tree.map(lambda p: p * 1.5, params)
    function = lambda p: function_of(loss, 2, p, *batch)  # noqa: E731
    function_of = QUANTITIES[quantity][0]
    both = ct.vmap(function)(ct.tree.map(lambda *ps: cnp.stack(ps), params, other))
    for index, p in enumerate((params, other)):
        close(ct.tree.map(lambda x, i=index: x[i], both), ct.tree.map(np.asarray, function(p)))


@pytest.mark.parametrize("quantity", ["norms", "clipped sum", "second moment", "kernel", "noise scale", "Fisher"])
@pytest.mark.parametrize("chunk_size", [None, 2])
def test_derivatives(quantity: str, chunk_size: int | None) -> None:
    """Against differences of the plain programs."""
    loss, params, batch = made("mlp")
    function, reduction = QUANTITIES[quantity]
    rng = np.random.default_rng(5)
    weights = None

    def summed(values: Any) -> Any:
        nonlocal weights
        leaves = ct.tree.leaves(values)
        weights = weights or [rng.normal(size=np.shape(x)) for x in leaves]
        return sum((w * x).sum() for w, x in zip(weights, leaves, strict=True))

    # The Fisher product's direction is the same at all parameters: it depends on shapes alone.
    v = direction(params, 7)
    at = lambda t: ct.tree.map(lambda p, d: p + t * d, params, v)  # noqa: E731
    value = lambda t: float(summed(reduction(plain(loss, at(t), batch), params)))  # noqa: E731
    step = 1e-5
    expected = (value(step) - value(-step)) / (2 * step)
    objective = lambda p: summed(function(loss, chunk_size, p, *batch))  # noqa: E731
    for run in (lambda f: f, ct.jit):
        gradient = run(ct.grad(objective))(params)
        np.testing.assert_allclose(vector_of(gradient) @ vector_of(v), expected, rtol=1e-6)


def test_a_gradient_of_zero_has_a_norm_with_derivatives() -> None:
    f = pe.norms(lambda w, x: cnp.sum(w * w * x))
    w, x = cnp.array([1.0, 2.0]), cnp.array([[0.0, 0.0], [1.0, 1.0]])
    assert f(w, x).tolist() == [0.0, pytest.approx(2 * np.sqrt(5))]
    np.testing.assert_allclose(ct.jacrev(f)(w, x), [[0, 0], 2 * np.array([1, 2]) / np.sqrt(5)], rtol=1e-6)
    assert np.isfinite(ct.jacrev(pe.clipped_sum(lambda w, x: cnp.sum(w * w * x), 1.0))(w, x)).all()


def test_clipping_of_parts() -> None:
    loss, params, batch = made("mlp")
    gradient = plain(loss, params, batch)
    for bounds in ([0.3, 0.2], [0.3, (0.2, 0.05)]):
        expected = [
            clip(g, c) if not isinstance(c, tuple) else tuple(map(clip, g, c))
            for g, c in zip(gradient, bounds, strict=True)
        ]
        close(pe.clipped_sum(loss, bounds)(params, *batch), expected)
        wide = ct.tree.map(np.float64, bounds)
        close(ct.jit(lambda c: pe.clipped_sum(loss, c, chunk_size=2)(params, *batch))(wide), expected)
    assert np.isnan(vector_of(ct.jit(lambda c: pe.clipped_sum(loss, c)(params, *batch))(-1.0))).all()
    close(pe.clipped_sum(loss, np.inf)(params, *batch), ct.tree.map(lambda g: g.sum(0), gradient))


def test_absent_examples_contribute_nothing() -> None:
    loss, params, (x, y) = made("mlp")
    expected = pe.clipped_sum(loss, 0.4)(params, x[:3], y[:3])
    x = np.concatenate([x[:3], np.full((4, 4), np.nan)])
    x[4] = np.inf
    y = np.concatenate([y[:3], np.zeros(4, y.dtype)])
    for chunk_size in (None, 2):
        present = np.arange(7) < 3
        f = pe.clipped_sum(loss, 0.4, chunk_size=chunk_size)
        close(f(params, x, y, present=present), ct.tree.map(np.asarray, expected))
        assert np.isnan(vector_of(f(params, x, y))).any()
        none = f(params, x, y, present=np.zeros(7, bool))
        assert all((np.asarray(leaf) == 0).all() for leaf in ct.tree.leaves(none))


ABSENT: dict[str, Callable[..., Any]] = {
    "clipped_sum": lambda loss, **how: pe.clipped_sum(loss, 0.5, **how),
    "private_gradient": lambda loss, **how: (
        lambda *args, **there: pe.private_gradient(
            loss, clip_norm=0.5, noise_multiplier=1.0, expected_batch_size=4, **how
        )(ct.random.key(0), *args, **there)
    ),
    "adaptive_private_gradient": lambda loss, **how: (
        lambda *args, **there: pe.adaptive_private_gradient(
            loss, noise_multiplier=0.0, count_noise=0.0, expected_batch_size=4, **how
        )(ct.random.key(0), 0.5, *args, **there)[0]
    ),
    "dp_sgd_step": lambda loss, **how: (
        lambda *args, **there: pe.dp_sgd_step(
            loss, learning_rate=0.1, clip_norm=0.5, noise_multiplier=1.0, expected_batch_size=4, **how
        )(ct.random.key(0), *args, **there)
    ),
}


@pytest.mark.parametrize("chunk_size", [None, 2])
@pytest.mark.parametrize("absent", [np.nan, np.inf, 0.0])
@pytest.mark.parametrize("name", ABSENT)
def test_absent_examples_contribute_nothing_to_derivatives(name: str, absent: float, chunk_size: int | None) -> None:
    """Neither where the loss of an absent example is NaN, nor where its derivatives are, as at zeros here."""
    rng = np.random.default_rng(0)
    w, x, y = rng.normal(size=3), rng.normal(size=(5, 3)), rng.normal(size=5)

    def loss(w: Any, x: Any, y: Any) -> Any:
        return (x @ w / cnp.sqrt(cnp.sum(x * x)) - y) ** 2 + cnp.log(cnp.sum(x * x))

    present = np.array([False, True, True, False, True])
    padded = np.where(present[:, None], x, absent)

    def total(f: Any, **there: Any) -> Any:
        return lambda w, x, y: cnp.sum(cnp.sin(f(w, x, y, **there)))

    f = ABSENT[name](loss, chunk_size=chunk_size)
    expected = ct.grad(total(f), argnums=(0, 1, 2))(w, x[present], y[present])
    for transformed in (lambda g: g, ct.jit):
        found = transformed(ct.grad(total(f, present=present), argnums=(0, 1, 2)))(w, padded, y)
        np.testing.assert_allclose(found[0], expected[0], rtol=1e-9, atol=1e-12)
        for each, of_present in zip(found[1:], expected[1:], strict=True):
            np.testing.assert_allclose(np.asarray(each)[present], of_present, rtol=1e-9, atol=1e-12)
            np.testing.assert_array_equal(np.asarray(each)[~present], np.zeros_like(each)[~present])


def test_derivatives_of_nobody() -> None:
    loss = lambda w, x: cnp.sum(cnp.sin(w * x))  # noqa: E731
    f = lambda w: cnp.sum(pe.clipped_sum(loss, 1.0)(w, np.full((3, 2), np.nan), present=np.zeros(3, bool)))  # noqa: E731
    np.testing.assert_array_equal(ct.grad(f)(np.ones(2)), np.zeros(2))
    empty = pe.clipped_sum(loss, 1.0)(np.ones(2), np.ones((0, 2)), present=np.zeros(0, bool))
    np.testing.assert_array_equal(empty, np.zeros(2))


def test_present_in_other_transforms() -> None:
    rng = np.random.default_rng(0)
    w, x = rng.normal(size=3), rng.normal(size=(4, 5, 3))
    there = rng.random(size=(4, 5)) < 0.5
    x[~there] = np.nan
    loss = lambda w, x: cnp.sum(cnp.sin(w * x) ** 2)  # noqa: E731
    f = lambda w, x, here: cnp.sum(pe.clipped_sum(loss, 0.3)(w, x, present=here) ** 2)  # noqa: E731
    found = ct.vmap(ct.grad(f), in_axes=(None, 0, 0))(w, x, there)
    for each, rows, here in zip(found, x, there, strict=True):
        expected = ct.grad(lambda w, rows=rows[here]: cnp.sum(pe.clipped_sum(loss, 0.3)(w, rows) ** 2))(w)
        np.testing.assert_allclose(each, expected, rtol=1e-9)


def test_auxiliary_outputs() -> None:
    loss, params, batch = made("mlp")
    with_aux = lambda p, x, y: (loss(p, x, y), {"loss": loss(p, x, y), "x": x})  # noqa: E731
    losses = ct.vmap(loss, in_axes=(None, 0, 0))(params, *batch)
    weights = np.ones(BATCH)
    for c in (None, 2):
        for result, aux in (
            (pe.norms(with_aux, has_aux=True, chunk_size=c)(params, *batch)),
            (pe.clipped_sum(with_aux, 1.0, has_aux=True, chunk_size=c)(params, *batch)),
            (pe.weighted_sum(with_aux, has_aux=True, chunk_size=c)(weights, params, *batch)),
        ):
            assert ct.tree.leaves(result)
            np.testing.assert_allclose(aux["loss"], losses, rtol=1e-12)
            np.testing.assert_array_equal(aux["x"], batch[0])


def test_ragged_examples() -> None:
    rng = np.random.default_rng(0)
    rows = [rng.normal(size=(n, 2)) for n in (3, 0, 5, 1)]
    loss, params, _ = made("rnn")
    y = rng.normal(size=4)
    masked = ct.mask(loss)
    gradients = [ct.grad(loss)(params, row, target) for row, target in zip(rows, y, strict=True)]
    g = ct.tree.map(lambda *gs: np.stack(gs), *gradients)
    for c in (None, 3):
        batch = (ct.ragged(rows), y)
        close(pe.norms(masked, chunk_size=c)(params, *batch), np.linalg.norm(flat(g), axis=1))
        close(pe.clipped_sum(masked, 0.5, chunk_size=c)(params, *batch), clip(g, 0.5))
        close(pe.kernel(masked, chunk_size=c)(params, *batch), flat(g) @ flat(g).T)
        close(ct.jit(pe.second_moment(masked, chunk_size=c))(params, *batch), ct.tree.map(lambda x: (x * x).mean(0), g))


def test_a_ragged_number_of_examples() -> None:
    loss, params, batch = made("mlp", 6)
    gradient = plain(loss, params, tuple(x[:4] for x in batch))
    padded = tuple(ct.Ragged(x, {0: 4}, {0: "n"}) for x in batch)
    close(ct.mask(pe.clipped_sum(loss, 0.4))(params, *padded), clip(gradient, 0.4))
    close(ct.mask(pe.second_moment(loss))(params, *padded), ct.tree.map(lambda g: (g * g).mean(0), gradient))
    close(ct.mask(pe.mean_and_variance(loss))(params, *padded)[1], ct.tree.map(lambda g: g.var(0), gradient))
    close(ct.mask(pe.noise_scale(loss))(params, *padded), noise_scale(flat(gradient)))
    assert ct.mask(pe.norms(loss))(params, *padded).unpad().shape == (4,)
    with pytest.raises(ValueError, match="chunk_size=2, but the number of examples is ragged"):
        ct.mask(pe.norms(loss, chunk_size=2))(params, *padded)


@pytest.mark.parametrize("chunk_size", [None, 2])
def test_kernels_between_batches_and_of_outputs(chunk_size: int | None) -> None:
    rng = np.random.default_rng(1)
    params = {"w": rng.normal(size=(4, 3)), "b": rng.normal(size=3)}
    model = lambda p, x: cnp.tanh(x @ p["w"] + p["b"])  # noqa: E731
    x, z = rng.normal(size=(5, 4)), rng.normal(size=(3, 4))
    jacobian = lambda x: ct.vmap(ct.jacrev(model), in_axes=(None, 0))(params, x)  # noqa: E731
    j, k = (
        np.concatenate([np.asarray(m).reshape(len(x), 3, -1) for m in ct.tree.leaves(jacobian(x))], 2) for x in (x, z)
    )
    f, t = pe.kernel(model, chunk_size=chunk_size), pe.kernel(model, trace=True, chunk_size=chunk_size)
    close(f(params, x), np.einsum("iop,jqp->ijoq", j, j))
    close(f(params, x, others=(z,)), np.einsum("iop,jqp->ijoq", j, k))
    close(t(params, x), np.einsum("iop,jop->ij", j, j))
    close(t(params, x, others=(z,)), np.einsum("iop,jop->ij", j, k))
    close(ct.jit(lambda x, z: f(params, x, others=(z,)))(x, z), np.einsum("iop,jqp->ijoq", j, k))
    assert f(params, x[:0], others=(z,)).shape == (0, 3, 3, 3)
    matrix = lambda p, x: cnp.outer(model(p, x), x[:2])  # noqa: E731
    assert pe.kernel(matrix, chunk_size=chunk_size)(params, x, others=(z,)).shape == (5, 3, 3, 2, 3, 2)
    # One of its blocks is the kernel of one output.
    block = pe.kernel(lambda p, x: matrix(p, x)[2, 1], chunk_size=chunk_size)(params, x, others=(z,))
    close(pe.kernel(matrix, chunk_size=chunk_size)(params, x, others=(z,))[:, :, 2, 1, 2, 1], block)


@pytest.mark.parametrize("chunk_size", [None, 2])
def test_gauss_newton_products(chunk_size: int | None) -> None:
    _, params, (x, y) = made("mlp")
    model = lambda p, x: {"logits": cnp.tanh(x @ p[0][0] + p[0][1]) @ p[1][0] + p[1][1], "x": x}  # noqa: E731
    loss = lambda out, y: cross_entropy(out["logits"], y) + cnp.sum(out["x"])  # noqa: E731
    v = direction(params)
    product = pe.gauss_newton_vector_product(model, loss, chunk_size=chunk_size)
    expected = np.zeros(len(vector_of(params)))
    for example, target in zip(x, y, strict=True):
        jacobian = ct.jacrev(lambda p, x=example: model(p, x)["logits"])(params)
        j = np.concatenate([np.asarray(b).reshape(3, -1) for b in ct.tree.leaves(jacobian)], axis=1)
        h = np.asarray(ct.hessian(lambda z, t=target: cross_entropy(z, t))(model(params, example)["logits"]))
        expected += j.T @ h @ j @ vector_of(v) / len(x)
    np.testing.assert_allclose(vector_of(product(v, params, x, y)), expected, rtol=1e-10)
    np.testing.assert_allclose(vector_of(ct.jit(product)(v, params, x, y)), expected, rtol=1e-10)
    # Of a loss that is linear in the outputs it is zero; of the parameters themselves, the Hessian.
    close(
        pe.gauss_newton_vector_product(model, lambda out: out["logits"].sum())(v, params, x),
        ct.tree.map(np.zeros_like, v),
    )


def test_a_small_variance_around_a_large_mean() -> None:
    x = (1e4 + np.array([0.25, -0.25, 0.5, -0.5, 0.0]))[:, None].astype(np.float32)
    for c in (None, 1, 2):
        mean, variance = pe.mean_and_variance(lambda w, x: (w * x).sum(), chunk_size=c)(np.ones(1, np.float32), x)
        np.testing.assert_allclose(mean, [1e4], rtol=1e-7)
        np.testing.assert_allclose(variance, [0.125], rtol=1e-3)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_low_precision_is_summed_in_float32(dtype: str) -> None:
    loss = lambda w, x: cnp.sum(w * x)  # noqa: E731
    w, x = cnp.ones(2, dtype), cnp.full((3000, 2), 300.0, dtype)
    norms = pe.norms(loss)(w, x)
    assert str(norms.dtype) == "float32"
    np.testing.assert_allclose(norms, np.float32(x[0, 0]) * np.sqrt(2), rtol=1e-6)
    for c in (None, 7):
        clipped = pe.clipped_sum(loss, 1.0, chunk_size=c)(w, x)
        assert str(clipped.dtype) == dtype
        np.testing.assert_allclose(np.asarray(clipped, np.float32), 3000 / np.sqrt(2), rtol=4e-3)


def test_several_directions_share_the_gradients() -> None:
    loss, params, batch = made("mlp")
    directions = [direction(params, seed) for seed in range(3)]
    stacked = ct.tree.map(lambda *vs: np.stack(vs), *directions)
    f = ct.vmap(pe.dot(loss), in_axes=(0, None, None, None))
    expected = [flat(plain(loss, params, batch)) @ vector_of(v) for v in directions]
    close(f(stacked, params, *batch), np.stack(expected))


def test_rules_for_reverse_mode_alone() -> None:
    loss = lambda w, x: cnp.sum(reverse_only(w) * x)  # noqa: E731
    np.testing.assert_allclose(pe.dot(loss)(W, W, X), 6.0 * np.ones(4))
    np.testing.assert_allclose(pe.gradient_times_vector(loss)(W, W, X), 6.0 * np.ones(4))
    np.testing.assert_allclose(pe.weighted_sum(loss)(np.ones(4), W, X), 8.0 * np.ones(3))


def test_what_the_loss_refers_to_is_what_it_is_now() -> None:
    scale = 1.0
    f = pe.norms(lambda w, x: scale * cnp.sum(w * x))
    w, x = np.ones(2), np.eye(2)
    assert f(w, x).tolist() == [1.0, 1.0]
    scale = 3.0
    assert f(w, x).tolist() == [3.0, 3.0]
    with ct.disable_jit():
        assert f(w, x).tolist() == [3.0, 3.0]


def test_memory_is_that_of_a_chunk() -> None:
    """Where gradients of examples are stored, they are those of a chunk."""
    params = [np.ones((64, 64), np.float32), np.ones((64, 64), np.float32)]
    loss = lambda p, x: cnp.sum(cnp.tanh(cnp.tanh(x @ p[0]) @ p[1]))  # noqa: E731
    x = np.ones((64, 9, 64), np.float32)
    stored = 64 * 2 * 64 * 64 * 4
    for make in (
        pe.norms,
        pe.second_moment,
        lambda loss, chunk_size: pe.clipped_sum(loss, 1.0, chunk_size=chunk_size),
    ):
        assert ct.explain(make(loss, chunk_size=4))(params, x).scratch_bytes < stored / 2


# ---- errors ------------------------------------------------------------------------------------------------------------


def simple(w: Any, x: Any) -> Any:
    return cnp.sum(w * x)


reverse_only = ct.custom_vjp(lambda x: x * x)
reverse_only.defvjp(lambda x: (x * x, x), lambda x, g: (2 * x * g,))

W, X = np.ones(3), np.ones((4, 3))
KEY = ct.random.key(0)
DP: dict[str, Any] = {"clip_norm": 1.0, "noise_multiplier": 1.0, "expected_batch_size": 4}

ERRORS: dict[str, tuple[Callable[[], Any], type[Exception], str]] = {
    "no function": (lambda: pe.norms(3), TypeError, "per_example.norms"),
    "no batch": (
        lambda: pe.norms(simple)(W),
        TypeError,
        "norms of simple: the batch has no arrays\n  give the arguments",
    ),
    "scalar in the batch": (
        lambda: pe.norms(lambda w, x, s: simple(w, x) * s)(W, X, 2.0),
        ct.errors.ShapeError,
        r"the batch\[1\] is a scalar; .* first axis\n  close over",
    ),
    "sizes": (
        lambda: pe.second_moment(lambda w, x, y: simple(w, x) * y)(W, X, np.ones(3)),
        ct.errors.ShapeError,
        r"different numbers of examples \(\[0\]: 4, \[1\]: 3\)",
    ),
    "loss of a vector": (
        lambda: pe.norms(lambda w, x: w * x)(W, X),
        ct.errors.ShapeError,
        r"the loss of an example must be a scalar; it has shape \(3,\)",
    ),
    "weighted loss of a vector": (
        lambda: pe.weighted_sum(lambda w, x: w * x)(np.ones(4), W, X),
        ct.errors.ShapeError,
        r"the loss of an example must be a scalar; it has shape \(3,\)",
    ),
    "weighted loss of a pair": (
        lambda: pe.weighted_sum(lambda w, x: (simple(w, x), x))(np.ones(4), W, X),
        TypeError,
        "must return one scalar, the loss of an example; it returned a tuple",
    ),
    "integer loss": (
        lambda: pe.fisher_vector_product(lambda w, x: cnp.sum(x).astype("int32"))(W, W, X),
        ct.errors.DTypeError,
        "must be a real floating scalar; it is int32",
    ),
    "integer parameters": (
        lambda: pe.norms(lambda p, x: simple(p["w"], x))({"w": W, "n": np.arange(3)}, X),
        ct.errors.DTypeError,
        r"params\['n'\] has dtype int64; gradients are of real floating parameters\n  close over",
    ),
    "complex parameters": (lambda: pe.kernel(simple)(W + 1j, X), ct.errors.DTypeError, "params has dtype complex128"),
    "no parameters": (lambda: pe.norms(lambda w, x: x.sum())({}, X), ValueError, "params has no arrays"),
    "chunk_size": (
        lambda: pe.norms(simple, chunk_size=0),
        ValueError,
        "per_example.norms: chunk_size must be positive; got 0",
    ),
    "chunk_size of float": (lambda: pe.dot(simple, chunk_size=1.5), TypeError, "chunk_size must be an integer or None"),
    "clip_norm": (lambda: pe.clipped_sum(simple, 0.0), ValueError, "clip_norm must be positive; got 0.0"),
    "clip_norm of None": (
        lambda: pe.clipped_sum(simple, None),
        TypeError,
        "clip_norm must be a positive scalar.*; got None",
    ),
    "clip_norm of text": (
        lambda: pe.clipped_sum(simple, "1"),
        TypeError,
        "clip_norm must be a positive scalar.*; got '1'",
    ),
    "clip_norm of NaN": (lambda: pe.clipped_sum(simple, np.nan), ValueError, "clip_norm must be positive; got nan"),
    "clip_norm of a vector": (lambda: pe.clipped_sum(simple, W), ct.errors.ShapeError, r"it has shape \(3,\)"),
    "clip_norm of another structure": (
        lambda: pe.clipped_sum(lambda p, x: simple(p["w"], x), {"v": 1.0})({"w": W}, X),
        ValueError,
        "clip_norm has not the structure of params, nor that of its first levels",
    ),
    "clip_norm of leaves": (
        lambda: pe.clipped_sum(simple, [1.0, 2.0], per_leaf=True),
        ValueError,
        "per_leaf=True shares out one clip_norm",
    ),
    "present of numbers": (
        lambda: pe.clipped_sum(simple, 1.0)(W, X, present=np.ones(4)),
        ct.errors.DTypeError,
        "present has dtype float64; .*\n  pass present != 0",
    ),
    "present of another size": (
        lambda: pe.clipped_sum(simple, 1.0)(W, X, present=np.ones(3, bool)),
        ct.errors.ShapeError,
        r"present has shape \(3,\); 4 examples need \(4,\)",
    ),
    "weights": (
        lambda: pe.weighted_sum(simple)(W, W, X),
        ct.errors.ShapeError,
        r"weights has shape \(3,\); 4 examples need",
    ),
    "vector of another structure": (
        lambda: pe.dot(simple)([W], W, X),
        ct.errors.MismatchError,
        "vector has the structure .*, params",
    ),
    "vector of another shape": (
        lambda: pe.dot(simple)(np.ones(4), W, X),
        ct.errors.MismatchError,
        r"vector has shape \(4,\), params \(3,\)",
    ),
    "vector of another dtype": (
        lambda: pe.gradient_times_vector(simple)(np.ones(3, np.float32), W, X),
        ct.errors.MismatchError,
        r"vector has dtype float32, params float64\n  convert it with .astype\('float64'\)",
    ),
    "others": (
        lambda: pe.kernel(simple)(W, X, others=X),
        TypeError,
        "others must be a tuple of the arguments of the second batch",
    ),
    "kernel of a pair": (
        lambda: pe.kernel(lambda w, x: (x, w))(W, X),
        TypeError,
        "it must return one array; it returned a tree with 2",
    ),
    "kernel of integers": (
        lambda: pe.kernel(lambda w, x: cnp.sum(x).astype("int32"))(W, X),
        ct.errors.DTypeError,
        "it returned int32; gradients are of real floating outputs",
    ),
    "train": (lambda: pe.influence(simple)(W[None], [1.0], X, (X,)), TypeError, "train must be a tuple"),
    "learning rates": (
        lambda: pe.influence(simple)(W[None], [1.0, 2.0], (X,), (X,)),
        ct.errors.ShapeError,
        r"checkpoints has shape \(1, 3\), and learning_rates is \(2,\)",
    ),
    "noise_multiplier": (
        lambda: pe.private_gradient(simple, **DP | {"noise_multiplier": -1.0}),
        ValueError,
        "noise_multiplier must be finite and not negative; got -1.0",
    ),
    "expected_batch_size": (
        lambda: pe.private_gradient(simple, **DP | {"expected_batch_size": 0}),
        ValueError,
        "expected_batch_size must be finite and positive; got 0",
    ),
    "quantile": (
        lambda: pe.adaptive_private_gradient(simple, noise_multiplier=1.0, expected_batch_size=4, quantile=2.0),
        ValueError,
        "quantile must be between 0 and 1; got 2.0",
    ),
    "count_noise": (
        lambda: pe.adaptive_private_gradient(simple, noise_multiplier=1.0, expected_batch_size=4),
        ValueError,
        r"count_noise=0.2 is too little: .* noise_multiplier=1 allows\n  it must be more than 0.5",
    ),
    "adaptive clip_norm": (
        lambda: pe.adaptive_private_gradient(simple, noise_multiplier=0.0, expected_batch_size=4)(
            KEY, [1.0, 2.0], [W, W], X
        ),
        ct.errors.ShapeError,
        "clip_norm must be one scalar; got a tree of 2",
    ),
    "probability": (
        lambda: pe.poisson_batch(KEY, size=3, probability=1.5, bound=3),
        ValueError,
        "probability must be between 0 and 1; got 1.5",
    ),
    "bound": (
        lambda: pe.poisson_batch(KEY, size=3, probability=0.5, bound=-1),
        ValueError,
        "size and bound must not be negative; got 3 and -1",
    ),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors(name: str) -> None:
    call, kind, message = ERRORS[name]
    with pytest.raises(kind, match=message):
        call()


# ---- the documents -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", pe.__all__)
def test_the_programs_in_docstrings_are_equal(name: str) -> None:
    if name == "epsilon":
        require("dp_accounting")
    [found] = doctest.DocTestFinder(recurse=False).find(getattr(pe, name), name, globs={"ct": ct, "np": np})
    result = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(found)
    assert result.failed == 0
    assert result.attempted >= 2


def test_parameters_are_called_as_those_of_the_loss() -> None:
    def loss(w: Any, x: Any, y: Any) -> Any:
        return (x @ w - y) ** 2

    def names(function: Any) -> list[str]:
        return list(inspect.signature(function).parameters)

    step = pe.dp_sgd_step(loss, learning_rate=0.1, clip_norm=1.0, noise_multiplier=1.0, expected_batch_size=2)
    assert names(step)[:4] == ["key", "params", "x", "y"]
    assert names(pe.norms(loss)) == names(pe.norms(ct.mask(loss))) == ["params", "x", "y", "by_name"]
    assert names(pe.norms(lambda *given: loss(*given))) == ["params", "batch", "by_name"]
    assert names(pe.clipped_sum(lambda w, x, present: loss(w, x, present), 1.0)) == [
        "params",
        "batch",
        "present",
        "by_name",
    ]
    given = np.ones(3, np.float32), np.ones((2, 3), np.float32), np.ones(2, np.float32)
    header = ct.export.compile(pe.clipped_sum(loss, 1.0), *given, name="clipped").header()
    assert (
        "int clipped(const float* params /* [3] */, const float* x /* [2][3] */, const float* y /* [2] */, float* out"
        in header
    )
