"""What functions of `per_example` take: rules of the user's, batches by name, options that are traced, dtypes; and what errors say."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import cotangent as ct
import cotangent.numpy as cnp
import numpy as np
import pytest
from per_example_models import clip, close, direction, flat, made, plain, vector_of

PE = ct.per_example
KEY = ct.random.key(0)


@ct.custom_vjp
def limited(x: Any) -> Any:
    """The identity, whose cotangent is held to 0.1: a backward rule that is not linear."""
    return x


limited.defvjp(lambda x: (x, None), lambda _, g: (cnp.clip(g, -0.1, 0.1),))


def limited_loss(name: str) -> tuple[Any, Any, Any, Any]:
    """A loss, parameters, a batch, and the gradients of its examples."""
    loss, params, batch = made(name)
    within = lambda p, *example: limited(loss(p, *example))  # noqa: E731
    return within, params, batch, plain(within, params, batch)


@pytest.mark.parametrize("chunk_size", [None, 2])
@pytest.mark.parametrize("model", ["mlp", "rnn"])
def test_backward_rules_need_not_be_linear(model: str, chunk_size: int | None) -> None:
    loss, params, batch, g = limited_loss(model)
    v, rows = direction(params), flat(g)
    weights = np.array([0.1, 1.001, -5.0, 0.2, 30.0])
    found = PE.weighted_sum(loss, chunk_size=chunk_size)(weights, params, *batch)
    close(found, ct.tree.map(lambda leaf: np.einsum("i,i...->...", weights, leaf), g))
    product = PE.fisher_vector_product(loss, chunk_size=chunk_size)(v, params, *batch)
    np.testing.assert_allclose(vector_of(product), (rows @ vector_of(v)) @ rows / len(rows), rtol=1e-9, atol=1e-12)
    moment = PE.second_moment(loss, chunk_size=chunk_size)(params, *batch)
    np.testing.assert_allclose(vector_of(moment), (rows**2).mean(0), rtol=1e-9, atol=1e-15)
    mean, variance = PE.mean_and_variance(loss, chunk_size=chunk_size)(params, *batch)
    np.testing.assert_allclose(vector_of(mean), rows.mean(0), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(vector_of(variance), rows.var(0), rtol=1e-9, atol=1e-15)
    clipped = PE.clipped_sum(loss, 0.05, chunk_size=chunk_size)(params, *batch)
    close(clipped, clip(g, 0.05))
    for inner in (PE.dot, PE.gradient_times_vector):
        np.testing.assert_allclose(
            inner(loss, chunk_size=chunk_size)(v, params, *batch), rows @ vector_of(v), rtol=1e-9
        )
    close(PE.kernel(loss, chunk_size=chunk_size)(params, *batch), rows @ rows.T)
    checkpoints = ct.tree.map(lambda p: np.stack([p, p]), params)
    influence = PE.influence(loss, chunk_size=chunk_size)(checkpoints, [0.5, 3.0], batch, batch)
    close(influence, 3.5 * rows @ rows.T)


PLACES: dict[str, Callable[[Any], Any]] = {
    "jit": lambda x: ct.jit(limited)(x),
    "checkpoint": lambda x: ct.checkpoint(lambda x: limited(x * x))(x),
    "scan": lambda x: ct.lax.scan(lambda h, _: (limited(h * h), None), x, None, length=3)[0],
    "while_loop": lambda x: ct.lax.while_loop(lambda s: s[0] < 3, lambda s: (s[0] + 1, limited(s[1] * s[1])), (0, x))[
        1
    ],
    "cond": lambda x: ct.lax.cond(x > 0, lambda: limited(x), lambda: x),
    "vmap": lambda x: cnp.sum(ct.vmap(limited)(cnp.stack([x, x]))),
}


@pytest.mark.parametrize("place", PLACES)
def test_backward_rules_are_seen_wherever_they_are(place: str) -> None:
    loss = lambda w, x: PLACES[place](cnp.tanh(x @ w))  # noqa: E731
    rng = np.random.default_rng(0)
    w, x, weights = rng.normal(size=3), rng.normal(size=(5, 3)), np.array([0.1, 1.001, -5.0, 0.2, 30.0])
    g = plain(loss, w, (x,))
    close(PE.weighted_sum(loss)(weights, w, x), weights @ g)
    close(PE.fisher_vector_product(loss)(weights[:3], w, x), (g @ weights[:3]) @ g / 5)


@pytest.mark.parametrize("name", ["cond", "normalised"])
def test_weighted_sums_store_no_gradients_of_examples(name: str) -> None:
    """Of no loss without such rules."""
    rng = np.random.default_rng(0)
    w, x, weights = rng.normal(size=(64, 64)), rng.normal(size=(32, 64)), rng.normal(size=32)

    def loss(w: Any, x: Any) -> Any:
        if name == "cond":
            return cnp.sum(ct.lax.cond(x[0] > 0, lambda: cnp.tanh(x @ w), lambda: cnp.sin(x @ w)))
        return cnp.sum(cnp.tanh(x @ (w / cnp.linalg.norm(w, axis=0))))

    for f, before in ((PE.weighted_sum(loss), weights), (PE.fisher_vector_product(loss), w)):
        assert ct.explain(f)(before, w, x).scratch_bytes < w.nbytes * len(x) / 4


def test_a_backward_rule_of_the_model_sees_the_cotangents_of_one_example() -> None:
    """In Gauss–Newton products it is given each example's H J v, as a program that maps over examples gives it."""
    scale = ct.custom_jvp(lambda x: x)
    scale.defjvp(lambda primals, tangents: (primals[0], 2 * tangents[0]))
    w, x = np.array([1.0, 0.5]), np.array([[1.0, 2.0], [3.0, -1.0], [0.5, 0.5]])
    found = PE.gauss_newton_vector_product(lambda w, x: scale(x @ w), lambda out: out**2)(np.ones(2), w, x)
    np.testing.assert_allclose(found, 8 * x.T @ x @ np.ones(2) / 3)


@pytest.mark.parametrize("chunk_size", [None, 2])
def test_gauss_newton_products_of_models_with_backward_rules(chunk_size: int | None) -> None:
    rng = np.random.default_rng(0)
    params = {"w": rng.normal(size=(4, 3)), "v": rng.normal(size=3)}
    x, y, v = rng.normal(size=(5, 4)), rng.normal(size=(5, 3)), direction(params)

    def model(params: Any, x: Any) -> Any:
        h = limited(cnp.tanh(x @ params["w"]))
        return {"a": h * params["v"], "b": cnp.sum(h)}

    loss = lambda out, y: cnp.sum((out["a"] - y) ** 4) * out["b"] ** 2  # noqa: E731
    found = PE.gauss_newton_vector_product(model, loss, chunk_size=chunk_size)(v, params, x, y)

    def joined(params: Any, x: Any) -> Any:
        out = model(params, x)
        return cnp.append(out["a"], out["b"])

    leaves = ct.tree.leaves(ct.vmap(ct.jacrev(joined), in_axes=(None, 0))(params, x))
    j = np.concatenate([np.asarray(leaf).reshape(5, 4, -1) for leaf in leaves], axis=2)
    hessian = ct.hessian(lambda out, y: loss({"a": out[:3], "b": out[3]}, y))
    h = np.asarray(ct.vmap(hessian)(ct.vmap(joined, in_axes=(None, 0))(params, x), y))
    expected = np.einsum("iap,iab,ibq,q->p", j, h, j, vector_of(v)) / 5
    np.testing.assert_allclose(vector_of(found), expected, rtol=1e-9, atol=1e-12)


# ---- dtypes ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("chunk_size", [None, 7])
def test_squares_of_half_precision_are_of_float32(dtype: str, chunk_size: int | None) -> None:
    """300**2, and sums of 50 times 3000, are more than float16 has."""
    loss = lambda w, x: cnp.sum(w * x)  # noqa: E731
    w = cnp.ones(2, dtype)
    signs = np.where(np.arange(50) % 2, 1.0, -1.0)
    x = cnp.asarray(np.stack([signs * 300, np.full(50, 3000.0)], 1)).astype(dtype)
    of = np.asarray(x, np.float64)
    moment = PE.second_moment(loss, chunk_size=chunk_size)(w, x)
    mean, variance = PE.mean_and_variance(loss, chunk_size=chunk_size)(w, x)
    fisher = PE.fisher_vector_product(loss, chunk_size=chunk_size)(w, w, x)
    newton = PE.gauss_newton_vector_product(
        lambda w, x: w * x, lambda out: cnp.sum(out) ** 2 / 64, chunk_size=chunk_size
    )
    product = newton(cnp.full(2, 1 / 16, dtype), w, x)
    for squares in (moment, variance, fisher, product):
        assert str(squares.dtype) == "float32"
    assert str(mean.dtype) == str(PE.weighted_sum(loss)(np.full(50, 1 / 50), w, x).dtype) == dtype
    np.testing.assert_allclose(moment, (of**2).mean(0), rtol=1e-5)
    np.testing.assert_allclose(np.asarray(mean, np.float64), of.mean(0), rtol=1e-2, atol=1e-3)
    np.testing.assert_allclose(variance, of.var(0), rtol=1e-5, atol=1e-3)
    np.testing.assert_allclose(fisher, (of.sum(1) @ of) / 50, rtol=1e-5)
    np.testing.assert_allclose(product, (of.sum(1) @ of) / 50 / 512, rtol=4e-2)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_sums_of_half_precision_are_made_in_float32(dtype: str) -> None:
    """A sum on the way is more than float16 has, its result is not."""
    weights = np.concatenate([np.full(400, 1.0), np.full(400, -0.999)])
    w, x = cnp.ones(1, dtype), cnp.full((800, 1), 400.0, dtype)
    for chunk_size in (None, 100):
        found = PE.weighted_sum(lambda w, x: cnp.sum(w * x), chunk_size=chunk_size)(weights, w, x)
        np.testing.assert_allclose(np.asarray(found, np.float64), [160.0], rtol=1e-2)


# ---- arguments by name -------------------------------------------------------------------------------------------------


def by_name(params: Any, x: Any, *, y: Any) -> Any:
    return (x @ params["w"] - y) ** 2 / 2


QUANTITIES: dict[str, tuple[Callable[..., Any], int]] = {
    "norms": (PE.norms, 0),
    "clipped_sum": (lambda loss: PE.clipped_sum(loss, 0.5), 0),
    "weighted_sum": (PE.weighted_sum, 1),
    "second_moment": (PE.second_moment, 0),
    "mean_and_variance": (PE.mean_and_variance, 0),
    "noise_scale": (PE.noise_scale, 0),
    "dot": (PE.dot, 2),
    "gradient_times_vector": (PE.gradient_times_vector, 2),
    "fisher_vector_product": (PE.fisher_vector_product, 2),
    "kernel": (PE.kernel, 0),
    "private_gradient": (
        lambda loss: PE.private_gradient(loss, clip_norm=1.0, noise_multiplier=1.0, expected_batch_size=4),
        3,
    ),
    "dp_sgd_step": (
        lambda loss: PE.dp_sgd_step(
            loss, learning_rate=0.1, clip_norm=1.0, noise_multiplier=1.0, expected_batch_size=4
        ),
        3,
    ),
    "adaptive_private_gradient": (
        lambda loss: PE.adaptive_private_gradient(loss, noise_multiplier=0.2, expected_batch_size=4),
        4,
    ),
}


def linear_case() -> tuple[Any, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    return {"w": rng.normal(size=3)}, rng.normal(size=(4, 3)), rng.normal(size=4)


@pytest.mark.parametrize("name", QUANTITIES)
@pytest.mark.parametrize("wrap", [lambda f: f, ct.jit], ids=["called", "jitted"])
def test_batches_may_be_given_by_name(name: str, wrap: Any) -> None:
    make, leading = QUANTITIES[name]
    params, x, y = linear_case()
    before = [(), (np.arange(4.0),), ({"w": np.ones(3)},), (KEY,), (KEY, np.float64(0.7))][leading]
    expected = make(lambda params, x, y: by_name(params, x, y=y))(*before, params, x, y)
    f = wrap(make(by_name))
    close(f(*before, params, x, y=y), expected)
    close(f(*before, params, y=y, x=x), expected)


def test_a_second_batch_by_name() -> None:
    params, x, y = linear_case()
    expected = PE.kernel(lambda params, x, y: by_name(params, x, y=y))(params, x, y, others=(x[:2], y[:2]))
    close(PE.kernel(by_name)(params, x, y=y, others=(x[:2], y[:2])), expected)
    close(PE.kernel(by_name)(params, x=x, y=y, others={"y": y[:2], "x": x[:2]}), expected)


def test_targets_of_gauss_newton_products_by_name() -> None:
    params, x, y = linear_case()
    model, v = lambda p, x: cnp.tanh(x @ p["w"]), {"w": np.ones(3)}
    expected = PE.gauss_newton_vector_product(model, lambda out, y: (out - y) ** 2)(v, params, x, y)
    close(PE.gauss_newton_vector_product(model, lambda out, *, y: (out - y) ** 2)(v, params, x, y=y), expected)


def test_arguments_of_the_loss_may_have_any_name() -> None:
    """As keys of dropout have."""
    w, keys = np.ones(3), ct.random.split(KEY, 4)

    def loss(w: Any, key: Any, params: Any) -> Any:
        return w @ ct.random.normal(key, (3,), "float64") * params

    expected = PE.clipped_sum(loss, 1.0)(w, keys, np.arange(4.0))
    close(PE.clipped_sum(loss, 1.0)(w, key=keys, params=np.arange(4.0)), expected)
    private = PE.private_gradient(loss, clip_norm=1.0, noise_multiplier=0.0, expected_batch_size=1)
    close(private(KEY, w, key=keys, params=np.arange(4.0)), expected)


def test_present_with_a_batch_by_name() -> None:
    params, x, y = linear_case()
    present = np.array([True, False, True, True])
    found = PE.clipped_sum(by_name, 0.5, chunk_size=3)(params, x, y=np.where(present, y, np.nan), present=present)
    close(found, PE.clipped_sum(by_name, 0.5)(params, x[present], y=y[present]))


# ---- options that are traced -------------------------------------------------------------------------------------------


def test_options_of_private_gradients_may_be_traced() -> None:
    params, x, y = linear_case()
    loss = lambda p, x, y: by_name(p, x, y=y)  # noqa: E731

    def step(noise: Any, size: Any, rate: Any, bound: Any) -> Any:
        options = {"noise_multiplier": noise, "expected_batch_size": size, "clip_norm": bound}
        return PE.dp_sgd_step(loss, learning_rate=rate, **options)(KEY, params, x, y)

    given = (1.5, 4.0, 0.1, 0.7)
    close(ct.jit(step)(*map(np.float64, given)), step(*given))
    many = ct.vmap(lambda noise: step(noise, *given[1:]))(np.array([0.0, 1.5]))
    close(ct.tree.map(lambda p: p[1], many), step(*given))


def test_options_of_adaptive_clipping_may_be_traced() -> None:
    params, x, y = linear_case()
    loss = lambda p, x, y: by_name(p, x, y=y)  # noqa: E731

    def private(noise: Any, size: Any, quantile: Any, rate: Any, count_noise: Any) -> Any:
        options = {"noise_multiplier": noise, "expected_batch_size": size, "count_noise": count_noise}
        f = PE.adaptive_private_gradient(loss, quantile=quantile, clip_learning_rate=rate, **options)
        return f(KEY, 0.7, params, x, y)

    for given in ((1.5, 4.0, 0.3, 0.2, 2.0), (0.0, 4.0, 0.3, 0.2, 0.0)):
        close(ct.jit(private)(*map(np.float64, given)), private(*given))
    gradient, _ = ct.jit(private)(1.5, 4.0, 0.3, 0.2, 0.7)  # the count alone costs more
    assert np.isnan(gradient["w"]).all()


@pytest.mark.parametrize(
    "changed", [{"noise_multiplier": -1.0}, {"expected_batch_size": 0.0}, {"noise_multiplier": np.inf}]
)
def test_traced_options_that_are_not_valid_give_nan(changed: dict[str, float]) -> None:
    params, x, y = linear_case()
    options = {"noise_multiplier": 1.0, "expected_batch_size": 4.0} | changed

    def private(options: Any) -> Any:
        return PE.private_gradient(lambda p, x, y: by_name(p, x, y=y), clip_norm=1.0, **options)(KEY, params, x, y)

    assert np.isnan(ct.jit(private)(options)["w"]).all()


@pytest.mark.parametrize("bound", [0.0, -1.0, np.nan])
@pytest.mark.parametrize("rows", [4, 0])
def test_a_traced_bound_that_is_not_positive_gives_nan(bound: float, rows: int) -> None:
    """Of everything, with nobody in the batch as well: noise of deviation 0 would be none."""
    params, x, y = linear_case()
    f = PE.adaptive_private_gradient(by_name, noise_multiplier=0.2, expected_batch_size=4)
    gradient, following = ct.jit(f)(KEY, bound, params, x[:rows], y=y[:rows])
    assert np.isnan(gradient["w"]).all() and np.isnan(following)
    private = lambda c: PE.private_gradient(by_name, clip_norm=c, noise_multiplier=1.0, expected_batch_size=4)  # noqa: E731
    assert np.isnan(ct.jit(lambda c: private(c)(KEY, params, x[:rows], y=y[:rows]))(bound)["w"]).all()
    with pytest.raises(ValueError, match="clip_norm must be positive"):
        f(KEY, bound, params, x, y=y)


def test_a_traced_probability() -> None:
    def sample(p: Any) -> Any:
        return PE.poisson_batch(KEY, size=1000, probability=p, bound=200)

    for found, expected in zip(ct.jit(sample)(np.float64(0.1)), sample(0.1), strict=True):
        np.testing.assert_array_equal(found, expected)
    present = ct.vmap(sample)(np.array([0.0, 0.1]))[1]
    assert present.sum(axis=1).tolist() == [0, int(sample(0.1)[1].sum())]
    with pytest.raises(ct.checkify.CheckError, match=r"probability must be between 0 and 1; got 1.5"):
        ct.jit(sample)(1.5)


# ---- errors ------------------------------------------------------------------------------------------------------------


@dataclasses.dataclass
class Layer:
    w: Any


def of_layer(layer: Any, x: Any, y: Any) -> Any:
    return (x @ layer.w - y) ** 2


def pair(params: Any, x: Any, y: Any) -> Any:
    return by_name(params, x, y=y), x


def squares(params: Any, x: Any, y: Any) -> Any:
    return (x * params["w"] - y) ** 2


def loss(params: Any, x: Any, y: Any) -> Any:
    return by_name(params, x, y=y)


P, X, Y = linear_case()
DP: dict[str, Any] = {"clip_norm": 1.0, "noise_multiplier": 1.0, "expected_batch_size": 4}
ADAPTIVE = PE.adaptive_private_gradient(loss, noise_multiplier=0.2, expected_batch_size=4)
DIRECTION = {"w": np.ones(3)}
SINGLE = r"it must return one scalar, the loss of an example; it returned a tuple of 2\n  return the loss alone"
SCALAR = r"of squares: the loss of an example must be a scalar; it has shape \(3,\)\n  reduce it"

ERRORS: dict[str, tuple[Callable[[], Any], type[Exception], str]] = {
    "key forgotten": (
        lambda: PE.private_gradient(loss, **DP)(P, X, Y),
        TypeError,
        r"private_gradient of loss: key must be a random key, .*; got a dict\n  the arguments are \(key, params, \*batch\)",
    ),
    "key of a step forgotten": (
        lambda: PE.dp_sgd_step(loss, learning_rate=0.1, **DP)(P, X, Y),
        TypeError,
        r"of loss: key must be a random key, as ct.random.key\(seed\) is; got a dict",
    ),
    "key of adaptive clipping forgotten": (
        lambda: ADAPTIVE(1.0, P, X, Y),
        TypeError,
        r"adaptive_private_gradient of loss: key must be .*; got a float\n  the arguments are \(key, clip_norm, params",
    ),
    "a seed": (
        lambda: PE.poisson_batch(0, size=4, probability=0.5, bound=4),
        TypeError,
        "poisson_batch: key must be a random key, .*; got an? int",
    ),
    "several keys": (
        lambda: PE.private_gradient(loss, **DP)(ct.random.split(KEY, 3), P, X, Y),
        ValueError,
        r"private_gradient of loss: key must be one random key; got an array of them of shape \(3,\)\n  use ct.vmap",
    ),
    "an argument of others": (
        lambda: PE.kernel(loss)(P, X, Y, others=(X,)),
        TypeError,
        "kernel of loss: others needs as many arguments as the batch has, 2; got 1\n  give all",
    ),
    "a name of others": (
        lambda: PE.kernel(loss)(P, x=X, y=Y, others={"x": X}),
        TypeError,
        r"kernel of loss: others has the arguments \['x'\], the batch \['x', 'y'\]\n  give the same",
    ),
    "an argument of train": (
        lambda: PE.influence(loss)({"w": P["w"][None]}, [0.1], (X,), (X, Y)),
        TypeError,
        "influence of loss: train has 1 argument, test 2\n  give all",
    ),
    "an array of objects": (
        lambda: PE.norms(loss)(P, np.array([{}] * 4), Y),
        ct.errors.DTypeError,
        r"norms of loss: the batch\[0\]: arrays of dtype object",
    ),
    "checkpoints of integers": (
        lambda: PE.influence(loss)({"w": np.ones((1, 3), int)}, [0.1], (X, Y), (X, Y)),
        ct.errors.DTypeError,
        r"influence of loss: checkpoints\['w'\] has dtype int64",
    ),
    "a word in a direction": (
        lambda: PE.dot(loss)({"w": "up"}, P, X, Y),
        TypeError,
        r"unsupported type str at per_example.dot of loss: vector\['w'\]",
    ),
    "a word among weights": (
        lambda: PE.weighted_sum(loss)([1, 2, "a", 4], P, X, Y),
        ct.errors.DTypeError,
        "weighted_sum of loss: weights: cannot make an array .* of type str",
    ),
    "another structure of bounds": (
        lambda: PE.clipped_sum(loss, {"v": 1.0})(P, X, Y),
        ValueError,
        r"clipped_sum of loss: clip_norm has not .* it has PyTreeDef\({'v': \*}\), params PyTreeDef\({'w': \*}\)\n  give one",
    ),
    "a list of bounds of adaptive clipping": (
        lambda: ADAPTIVE(KEY, [1.0], P, X, Y),
        ct.errors.ShapeError,
        "adaptive_private_gradient of loss: clip_norm must be one scalar",
    ),
    "a batch of a step": (
        lambda: PE.dp_sgd_step(loss, learning_rate=0.1, **DP)(KEY, P, X, Y[:3]),
        ct.errors.ShapeError,
        "dp_sgd_step of loss: the arrays of the batch have different",
    ),
    "a complex learning rate": (
        lambda: PE.dp_sgd_step(loss, learning_rate=0.1j, **DP),
        TypeError,
        "dp_sgd_step of loss: learning_rate must be a number, finite; got 0.1j",
    ),
    "rates of adaptive clipping": (
        lambda: PE.adaptive_private_gradient(loss, clip_learning_rate=np.nan, noise_multiplier=0.0, expected_batch_size=4),
        ValueError,
        "clip_learning_rate must be finite; got nan",
    ),
    "a dict that is no loss": (
        lambda: PE.second_moment(lambda p, x, y: {"loss": loss(p, x, y)})(P, X, Y),
        TypeError,
        "it returned a dict\n  return the loss alone$",
    ),
    "a list of checkpoints": (
        lambda: PE.influence(loss)([P, P], [0.1, 0.2], (X, Y), (X, Y)),
        ct.errors.ShapeError,
        r"influence of loss: checkpoints\[0\]\['w'\] has shape \(3,\), and learning_rates is \(2,\); checkpoints are one"
        r" tree .*\n  stack those of a list: ct.tree.map",
    ),
    "scalars of checkpoints": (
        lambda: PE.influence(loss)({"w": P["w"][None], "b": 1.0}, [0.1], (X, Y), (X, Y)),
        ct.errors.ShapeError,
        r"influence of loss: checkpoints\['b'\] has shape \(\), and learning_rates is \(1,\);",
    ),
    "a learning rate for all": (
        lambda: PE.influence(loss)({"w": P["w"][None]}, 0.1, (X, Y), (X, Y)),
        ct.errors.ShapeError,
        r"learning_rates has shape \(\); k checkpoints need \(k,\)",
    ),
    "sizes by name": (
        lambda: PE.norms(loss)(P, X, y=Y[:3]),
        ct.errors.ShapeError,
        r"different numbers of examples \(\[0\]: 4, \['y'\]: 3\)",
    ),
    "scalar by name": (
        lambda: PE.norms(loss)(P, X, y=1.0),
        ct.errors.ShapeError,
        r"norms of loss: the batch\['y'\] is a scalar",
    ),
    "an unknown name": (lambda: PE.norms(loss)(P, X, z=Y), TypeError, r"norms of loss: 'z' is no parameter of loss, whose are params, x, y"),
    "norms of a pair": (
        lambda: PE.norms(pair)(P, X, Y),
        TypeError,
        rf"norms of pair: {SINGLE}, or \(loss, aux\) with has_aux=True",
    ),
    "moments of a pair": (
        lambda: PE.second_moment(pair)(P, X, Y),
        TypeError,
        rf"second_moment of pair: {SINGLE}, as of lambda",
    ),
    "loss of None": (lambda: PE.norms(lambda p, x, y: None)(P, X, Y), TypeError, "it returned None"),
    "no pair": (
        lambda: PE.norms(loss, has_aux=True)(P, X, Y),
        TypeError,
        r"norms of loss: with has_aux=True it must return a pair \(loss, aux\); it returned an array .*\n  return both",
    ),
    "integers": (
        lambda: PE.norms(lambda p, x, y: 3)(P, X, Y),
        ct.errors.DTypeError,
        "must be a real floating scalar; it is int32",
    ),
    **{
        f"{name} of vectors": (
            lambda name=name, before=before: getattr(PE, name)(squares)(*before, P, X, Y),
            ct.errors.ShapeError,
            f"{name} {SCALAR}",
        )
        for name, before in {
            "norms": (),
            "weighted_sum": (Y,),
            "second_moment": (),
            "mean_and_variance": (),
            "noise_scale": (),
            "dot": (DIRECTION,),
            "gradient_times_vector": (DIRECTION,),
            "fisher_vector_product": (DIRECTION,),
        }.items()
    },
    "influence of vectors": (
        lambda: PE.influence(squares)({"w": P["w"][None]}, [0.1], (X, Y), (X, Y)),
        ct.errors.ShapeError,
        f"influence {SCALAR}",
    ),
    "Gauss-Newton of vectors": (
        lambda: PE.gauss_newton_vector_product(lambda p, x: x * p["w"], lambda out, y: out - y)(DIRECTION, P, X, Y),
        ct.errors.ShapeError,
        "gauss_newton_vector_product of <lambda>: the loss of an example must be a scalar",
    ),
    "a dataclass as parameters": (
        lambda: PE.norms(of_layer)(Layer(np.ones(3)), X, Y),
        TypeError,
        r"unsupported type Layer at per_example.norms of of_layer: params\n  .*ct.tree_util.register_dataclass",
    ),
    "a dataclass as a batch": (
        lambda: PE.norms(lambda w, batch: w @ batch.w)(np.ones(3), Layer(X)),
        TypeError,
        r"unsupported type Layer at per_example.norms of <lambda>: the batch\[0\]\n  .*ct.tree_util.register_dataclass",
    ),
    "complex weights": (lambda: PE.weighted_sum(loss)(Y * 1j, P, X, Y), ct.errors.DTypeError, "weights .* must be real"),
    "chunk_size of a flag": (
        lambda: PE.norms(loss, chunk_size=True),
        TypeError,
        "per_example.norms: chunk_size is a number of examples, or None for all; got True",
    ),
    "chunk_size of vmap": (lambda: ct.vmap(loss, chunk_size=True), TypeError, "vmap: chunk_size is a number of"),
    "batch_size of map": (lambda: ct.lax.map(cnp.sin, X, batch_size=True), ValueError, "batch_size must be an int"),
    "noise_multiplier of a vector": (
        lambda: PE.private_gradient(loss, **DP | {"noise_multiplier": np.ones(2)}),
        ct.errors.ShapeError,
        r"noise_multiplier must be one number, finite and not negative; it has shape \(2,\)",
    ),
    "count_noise": (
        lambda: PE.adaptive_private_gradient(loss, noise_multiplier=0.0, expected_batch_size=4, count_noise=-1.0),
        ValueError,
        "count_noise must be finite and not negative; got -1.0",
    ),
    "weights forgotten": (
        lambda: PE.weighted_sum(loss)(P, X, Y),
        TypeError,
        r"weighted_sum of loss: weights must be an array \(4,\), one number for each of the examples; got a dict",
    ),
    "vector forgotten": (
        lambda: PE.dot(loss)(P, X, Y),
        ct.errors.MismatchError,
        r"vector has the structure .*\n  the arguments are \(vector, params, \*batch\)",
    ),
    "a list of numbers": (lambda: PE.norms(loss)(P, X, list(Y)), ct.errors.ShapeError, r"\[1\]\[0\] is a scalar; .*\n.*make an array"),
    "complex clip_norm": (lambda: PE.clipped_sum(loss, 1j), TypeError, "clip_norm must be a positive scalar.*; got 1j"),
    "complex noise_multiplier": (
        lambda: PE.private_gradient(loss, **DP | {"noise_multiplier": 1j}),
        TypeError,
        "noise_multiplier must be a number, finite and not negative; got 1j",
    ),
    "no arguments": (lambda: PE.norms(loss)(), TypeError, r"per_example.norms of loss\(\) missing .*'params'"),
    "outputs of integers": (
        lambda: PE.gauss_newton_vector_product(lambda p, x: (x @ p["w"], cnp.argmax(x)), lambda out, y: out[0] ** 2)(
            DIRECTION, P, X, Y
        ),
        ct.errors.DTypeError,
        r"gauss_newton_vector_product of <lambda>: it returned int32 as outputs\[1\]; .*\n  return what is constant",
    ),
    "epsilon in jit": (
        lambda: ct.jit(lambda z: PE.epsilon(steps=3, sampling_probability=0.1, noise_multiplier=z, delta=1e-5))(1.0),
        TypeError,
        "per_example.epsilon: noise_multiplier is traced, .*\n  call epsilon outside of jit",
    ),
}  # fmt: skip


def test_a_chunk_size_may_be_an_array_of_an_integer() -> None:
    expected = PE.norms(loss)(P, X, Y)
    for chunk_size in (np.int64(3), np.array(3), cnp.array(3)):
        np.testing.assert_allclose(PE.norms(loss, chunk_size=chunk_size)(P, X, Y), expected)
        found = ct.jit(ct.vmap(lambda x, y: loss(P, x, y), chunk_size=chunk_size))(X, Y)
        np.testing.assert_allclose(found, [loss(P, x, y) for x, y in zip(X, Y, strict=True)])


@pytest.mark.parametrize("chunk_size", [None, 3])
def test_inner_products_have_the_dtypes_of_the_parameters(chunk_size: int | None) -> None:
    """As gradients have, whatever the loss is in."""
    for params, wanted in (({"w": np.ones(3, np.float32)}, "float32"), ({"w": np.ones(3)}, "float64")):
        for of in (PE.dot, PE.gradient_times_vector):
            for cast in ("float32", "float64"):
                one = lambda p, x, y, cast=cast: loss(p, x, y).astype(cast)  # noqa: E731
                found = of(one, chunk_size=chunk_size)(params, params, X, Y)
                assert found.dtype == wanted
                np.testing.assert_allclose(found, (X.sum(1) - Y) * X.sum(1), rtol=1e-5)


def test_an_error_in_a_loss_of_a_list_of_checkpoints_has_a_note() -> None:
    """A list of as many checkpoints as their arrays are long is a tree of stacked ones, which the loss knows nothing of."""
    with pytest.raises(TypeError, match="list indices") as caught:
        PE.influence(loss)([P, P, P], [0.1, 0.2, 0.3], (X, Y), (X, Y))
    assert "stack those of a list: ct.tree.map(lambda" in caught.value.__notes__[0]
    found = PE.influence(lambda p, x, y: loss(p[0], x, y))([{"w": P["w"][None]}], [1.0], (X, Y), (X, Y))
    close(found, PE.kernel(loss)(P, X, Y))


@pytest.mark.parametrize("name", ERRORS)
def test_errors(name: str) -> None:
    call, kind, message = ERRORS[name]
    with pytest.raises(kind, match=message):
        call()
