"""Private training by ct.per_example: noise, bounds that adapt, batches by Poisson sampling, and what it costs."""

from __future__ import annotations

import logging
import sys
from typing import Any

import cotangent as ct
import cotangent.numpy as cnp
import numpy as np
import pytest
from cotangent import per_example as pe
from cotangent.per_example import privacy
from needs import needed
from per_example_models import BATCH, clip, close, direction, flat, made, plain, vector_of


@pytest.mark.parametrize("per_leaf", [False, True])
@pytest.mark.parametrize("chunk_size", [None, 2])
def test_without_noise_it_is_the_clipped_mean(per_leaf: bool, chunk_size: int | None) -> None:
    loss, params, batch = made("conv")
    summed = pe.clipped_sum(loss, 0.3, per_leaf=per_leaf)(params, *batch)
    private = pe.private_gradient(
        loss,
        clip_norm=0.3,
        noise_multiplier=0.0,
        expected_batch_size=BATCH,
        per_leaf=per_leaf,
        chunk_size=chunk_size,
    )
    mean = ct.tree.map(lambda s: np.asarray(s) / BATCH, summed)
    close(private(ct.random.key(0), params, *batch), mean)
    step = pe.dp_sgd_step(
        loss, learning_rate=0.5, clip_norm=0.3, noise_multiplier=0.0, expected_batch_size=BATCH, per_leaf=per_leaf
    )
    close(step(ct.random.key(0), params, *batch), ct.tree.map(lambda p, m: p - 0.5 * m, params, mean))


@pytest.mark.parametrize(("clip_norm", "sensitivity"), [(0.5, 0.5), ({"a": 0.3, "b": 0.4}, 0.5)])
def test_noise(clip_norm: Any, sensitivity: float) -> None:
    params = {"a": np.zeros((100, 50)), "b": np.zeros(2000)}
    private = pe.private_gradient(
        lambda p, x: x * (p["a"].sum() + p["b"].sum()),
        clip_norm=clip_norm,
        noise_multiplier=3.0,
        expected_batch_size=10,
    )
    noise = private(ct.random.key(1), params, np.zeros(4))
    for leaf in ct.tree.leaves(noise):
        np.testing.assert_allclose(np.std(leaf), 3.0 * sensitivity / 10, rtol=0.05)
        assert abs(np.mean(leaf)) < 0.15 * 3 / np.sqrt(leaf.size) * 4
    assert not np.allclose(noise["a"].ravel()[:2000], noise["b"])
    again, other = (private(ct.random.key(k), params, np.zeros(4)) for k in (1, 2))
    assert (np.asarray(again["b"]) == np.asarray(noise["b"])).all()
    assert not np.allclose(other["b"], noise["b"])


def test_the_norm_of_one_example_is_within_the_sensitivity() -> None:
    loss, params, batch = made("mlp", 1)
    loud = lambda p, *e: 1e3 * loss(p, *e)  # noqa: E731
    for options in ({}, {"per_leaf": True}):
        norm = np.linalg.norm(vector_of(pe.clipped_sum(loud, 0.5, **options)(params, *batch)))
        np.testing.assert_allclose(norm, 0.5, rtol=1e-12)


def test_the_adaptive_bound_follows_the_quantile() -> None:
    rng = np.random.default_rng(0)
    x = rng.exponential(size=(400, 1))
    private = ct.jit(
        pe.adaptive_private_gradient(
            lambda w, x: (w * x).sum(), noise_multiplier=1.0, expected_batch_size=400, quantile=0.7, count_noise=4.0
        )
    )
    bound, w = 10.0, np.zeros(1)
    for index in range(200):
        gradient, bound = private(ct.random.key(index), bound, w, x)
    np.testing.assert_allclose(bound, np.quantile(x, 0.7), rtol=0.15)
    assert gradient.shape == (1,)


def test_the_adaptive_bound_without_noise() -> None:
    loss, params, batch = made("mlp", 7)
    present = np.array([True, False, True, True, False, True, True])
    norms = np.linalg.norm(flat(plain(loss, params, batch)), axis=1)
    start = float(np.median(norms))
    options: dict[str, Any] = {"noise_multiplier": 0.0, "count_noise": 0.0, "expected_batch_size": 4}
    gradient, bound = pe.adaptive_private_gradient(loss, quantile=0.3, clip_learning_rate=0.5, **options)(
        ct.random.key(0), start, params, *batch, present=present
    )
    expected = pe.clipped_sum(loss, start)(params, *batch, present=present)
    close(gradient, ct.tree.map(lambda s: np.asarray(s) / 4, expected))
    share = 0.5 + ((norms <= start)[present] - 0.5).sum() / 4
    np.testing.assert_allclose(bound, start * np.exp(-0.5 * (share - 0.3)), rtol=1e-10)
    with_aux = lambda p, x, y: (loss(p, x, y), x)  # noqa: E731
    *_, aux = pe.adaptive_private_gradient(with_aux, has_aux=True, chunk_size=2, **options)(
        ct.random.key(0), start, params, *batch
    )
    np.testing.assert_array_equal(aux, batch[0])


def test_adaptive_noise_is_split_between_gradient_and_count() -> None:
    """Theorem 1 of Andrew et al. 2021: z**-2 = z_gradient**-2 + (2 count_noise)**-2."""
    private = pe.adaptive_private_gradient(
        lambda w, x: (w * x).sum(), noise_multiplier=1.0, count_noise=0.7, expected_batch_size=1
    )
    gradient, _ = private(ct.random.key(0), 2.0, np.zeros(20000), np.zeros((1, 1)))
    np.testing.assert_allclose(np.std(gradient), 2.0 * (1 - 1 / 1.4**2) ** -0.5, rtol=0.03)
    bounds = [float(private(ct.random.key(k), 2.0, np.zeros(1), np.zeros((1, 1)))[1]) for k in range(300)]
    np.testing.assert_allclose(np.std(np.log(bounds)), 0.2 * 0.7, rtol=0.15)


def test_poisson_batches() -> None:
    sample = ct.jit(lambda key: pe.poisson_batch(key, size=1000, probability=0.05, bound=100))
    counts, seen = [], np.zeros(1000)
    for index in range(300):
        rows, present = sample(ct.random.key(index))
        assert rows.shape == present.shape == (100,) and present.dtype == bool
        chosen = np.asarray(rows)[np.asarray(present)]
        assert len(set(chosen.tolist())) == len(chosen)
        assert (np.asarray(rows)[~np.asarray(present)] == 0).all()
        counts.append(len(chosen))
        seen[chosen] += 1
    np.testing.assert_allclose([np.mean(counts), np.var(counts)], [50, 47.5], rtol=0.25)
    np.testing.assert_allclose(seen.reshape(10, 100).sum(1), 1500, rtol=0.15)
    everything, present = pe.poisson_batch(ct.random.key(0), size=5, probability=1.0, bound=5)
    assert everything.tolist() == [0, 1, 2, 3, 4] and present.tolist() == [True] * 5
    assert pe.poisson_batch(ct.random.key(0), size=5, probability=0.0, bound=2)[1].tolist() == [False] * 2
    assert pe.poisson_batch(ct.random.key(0), size=0, probability=0.5, bound=2)[1].tolist() == [False] * 2
    for run in (lambda f: f, ct.jit):
        with pytest.raises(ct.checkify.CheckError, match="5 examples joined a batch with space for 4\n  raise bound"):
            run(lambda key: pe.poisson_batch(key, size=5, probability=1.0, bound=4))(ct.random.key(0))


def test_epsilon() -> None:
    accounting = needed("dp_accounting")
    given: dict[str, Any] = {"steps": 100, "sampling_probability": 0.05, "noise_multiplier": 1.2, "delta": 1e-5}
    event = accounting.PoissonSampledDpEvent(0.05, accounting.GaussianDpEvent(1.2))
    reference = accounting.rdp.RdpAccountant()
    reference.compose(event, 100)
    rdp, pld = pe.epsilon(**given, accountant="rdp"), pe.epsilon(**given)
    assert rdp == reference.get_epsilon(1e-5)
    assert 0.8 * rdp < pld < rdp
    assert pe.epsilon(**given | {"steps": 0}) == 0.0
    assert pe.epsilon(**given | {"noise_multiplier": 0.0}) == np.inf
    for name, value, message in [
        ("delta", 2.0, "delta must be between 0 and 1; got 2.0"),
        ("sampling_probability", -0.1, "sampling_probability must be between 0 and 1"),
        ("steps", -1, "steps must not be negative"),
        ("noise_multiplier", -1.0, "noise_multiplier must be at least 0"),
        ("accountant", "moments", "accountant must be one of"),
    ]:
        with pytest.raises(ValueError, match=message):
            pe.epsilon(**given | {name: value})


def test_epsilon_makes_the_distribution_of_a_step_once(monkeypatch: pytest.MonkeyPatch) -> None:
    accounting = needed("dp_accounting")
    distributions = accounting.pld.privacy_loss_distribution
    made = []
    make = distributions.from_gaussian_mechanism
    monkeypatch.setattr(distributions, "from_gaussian_mechanism", lambda **given: made.append(given) or make(**given))
    privacy._loss_of_one_step.cache_clear()
    given: dict[str, Any] = {"sampling_probability": 0.05, "noise_multiplier": 1.2, "delta": 1e-5}
    few, many = pe.epsilon(steps=100, **given), pe.epsilon(steps=200, **given)
    assert len(made) == 1 and few < many
    books = accounting.pld.PLDAccountant()
    books.compose(accounting.PoissonSampledDpEvent(0.05, accounting.GaussianDpEvent(1.2)), 200)
    np.testing.assert_allclose(many, books.get_epsilon(1e-5), rtol=1e-9)
    pe.epsilon(steps=100, **given | {"noise_multiplier": 1.3})
    assert [each["standard_deviation"] for each in made] == [1.2, 1.2, 1.3]  # the second is the accountant's


def test_epsilon_is_silent_about_orders_that_are_left_out(caplog: pytest.LogCaptureFixture) -> None:
    needed("dp_accounting")
    given: dict[str, Any] = {"steps": 400, "sampling_probability": 0.095, "noise_multiplier": 1.0, "delta": 1e-4}
    logger = logging.getLogger("absl")
    before = list(logger.filters)
    with caplog.at_level(logging.WARNING, "absl"):
        assert 13.4 < pe.epsilon(**given, accountant="rdp") < 13.5
        assert not caplog.records and logger.filters == before
        logger.warning("others are there: Excluding this order")
    assert len(caplog.records) == 1


def test_epsilon_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "dp_accounting", None)
    with pytest.raises(ImportError, match=r"needs the package dp-accounting, .*\n  pip install dp-accounting"):
        pe.epsilon(steps=1, sampling_probability=0.1, noise_multiplier=1.0, delta=1e-5)


def test_batches_of_all_sizes_are_one_program() -> None:
    loss, params, batch = made("mlp", 7)
    traced = []
    f = lambda p, x, y: traced.append(0) or loss(p, x, y)  # noqa: E731
    step = ct.jit(pe.dp_sgd_step(f, learning_rate=1.0, clip_norm=0.4, noise_multiplier=0.0, expected_batch_size=3))
    for count in (0, 3, 7):
        updated = step(ct.random.key(0), params, *batch, present=np.arange(7) < count)
        summed = clip(plain(loss, params, tuple(x[:count] for x in batch)), 0.4) if count else direction(params)
        close(updated, ct.tree.map(lambda p, s, n=count: p - (s / 3 if n else 0), params, summed))
        assert len(traced) == 1


ONE: dict[str, Any] = {"noise_multiplier": 0.2, "expected_batch_size": 4}


def line(params: Any, x: Any) -> Any:
    return x @ params["w"] + params["b"]


LINE, ROWS = {"w": np.ones(3, np.float32), "b": np.float32(0)}, np.arange(12, dtype=np.float32).reshape(4, 3)


@pytest.mark.parametrize("clip_norm", [np.inf, np.float32(np.inf), cnp.array(np.inf), {"w": 1.0, "b": np.inf}])
def test_noise_needs_a_finite_bound(clip_norm: Any) -> None:
    message = (
        r"clip_norm must be finite where there is noise, .*; got inf\n  give a finite clip_norm, or noise_multiplier=0"
    )
    with pytest.raises(ValueError, match="private_gradient of line: " + message):
        pe.private_gradient(line, clip_norm=clip_norm, **ONE)
    with pytest.raises(ValueError, match=message):
        pe.dp_sgd_step(line, clip_norm=clip_norm, learning_rate=0.1, **ONE)
    if not isinstance(clip_norm, dict):
        with pytest.raises(ValueError, match="adaptive_private_gradient of line: " + message):
            pe.adaptive_private_gradient(line, **ONE)(ct.random.key(0), clip_norm, LINE, ROWS)


@pytest.mark.parametrize("wrap", [lambda f: f, ct.jit], ids=["called", "jitted"])
def test_neither_clipping_nor_noise(wrap: Any) -> None:
    options: dict[str, Any] = {"noise_multiplier": 0.0, "expected_batch_size": 4}
    for clip_norm in (np.inf, {"w": np.inf, "b": 1.0}):
        found = wrap(pe.private_gradient(line, clip_norm=clip_norm, **options))(ct.random.key(0), LINE, ROWS)
        np.testing.assert_allclose(found["w"], ROWS.mean(0))
        np.testing.assert_allclose(found["b"], 1.0)
    found, bound = wrap(pe.adaptive_private_gradient(line, **options))(ct.random.key(0), np.inf, LINE, ROWS)
    np.testing.assert_allclose(found["w"], ROWS.mean(0))
    assert bound == np.inf


def test_noise_that_is_infinite_gives_nan() -> None:
    """A bound that is traced, or that float32 does not have."""
    by_bound = lambda c: pe.private_gradient(line, clip_norm=c, **ONE)(ct.random.key(0), LINE, ROWS)  # noqa: E731
    for found in (ct.jit(by_bound)(np.float64(np.inf)), ct.jit(by_bound)(np.float64(1e300)), by_bound(1e40)):
        assert np.isnan(found["w"]).all() and np.isnan(found["b"])
    assert np.isfinite(by_bound(1e30)["w"]).all()
    adaptive = ct.jit(pe.adaptive_private_gradient(line, **ONE))
    found, bound = adaptive(ct.random.key(0), np.float64(np.inf), LINE, ROWS)
    assert np.isnan(found["w"]).all() and np.isnan(bound)


def test_what_epsilon_takes() -> None:
    given: dict[str, Any] = {"steps": 10, "sampling_probability": 0.1, "noise_multiplier": 1.0, "delta": 1e-5}
    expected = pe.epsilon(**given)
    assert pe.epsilon(**given | {"steps": np.int64(10), "noise_multiplier": cnp.array(1.0)}) == expected
    assert pe.epsilon(**given | {"noise_multiplier": np.inf}) == 0.0
    for name in ("sampling_probability", "noise_multiplier", "delta"):
        with pytest.raises(TypeError, match=f"per_example.epsilon: {name} must be a number, .*; got 'a'"):
            pe.epsilon(**given | {name: "a"})
        with pytest.raises(ValueError, match=f"per_example.epsilon: {name} must be .*; got nan"):
            pe.epsilon(**given | {name: np.nan})
    with pytest.raises(
        ValueError, match=r"the accountant 'pld' fails at steps=10, .*noise_multiplier=1e-08, .*\n  with lit"
    ):
        pe.epsilon(**given | {"noise_multiplier": 1e-8})


def test_a_traced_learning_rate_that_is_not_finite_gives_nan() -> None:
    step = lambda rate: pe.dp_sgd_step(line, clip_norm=1.0, learning_rate=rate, **ONE)(ct.random.key(0), LINE, ROWS)  # noqa: E731
    assert np.isnan(ct.jit(step)(np.inf)["w"]).all()
    np.testing.assert_array_equal(ct.jit(step)(0.1)["w"], step(0.1)["w"])
