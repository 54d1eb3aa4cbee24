"""``ct.random``: keys are draws of 64 bits. Values number for number against JAX are in `test_random.py`; here are the rest."""

from __future__ import annotations

from typing import Any

import numpy as np

from function_cases import Family, draw, ints

random = Family("jax.random")
KEY = ints(2, low=0, high=1 << 30, dtype="uint32")
POSITIVE = draw(3, domain=(0.6, 3.0))
UNIT = draw(3, domain=(0.2, 0.8))
X = draw(4, 3)
IMPLICIT = "at a fixed quantile, not with the fixed bits of a rejection: test_random.py"


def words(key: Any) -> Any:
    """What an array of keys holds."""
    from cotangent.random import key_data

    return key_data(key)


def sampler(name: str, *parameters: Any, **options: Any) -> None:
    """Values are compared elsewhere; derivatives by the parameters are those of the samples at a fixed key."""
    random.record(
        name,
        KEY,
        *parameters,
        oracle=None,
        ragged=options.pop("ragged", ()),
        tolerance=options.pop("tolerance", 4),
        **options,
    )


for name in [
    "uniform",
    "normal",
    "cauchy",
    "exponential",
    "gumbel",
    "laplace",
    "logistic",
    "maxwell",
    "double_sided_maxwell",
    "rayleigh",
    "bits",
    "rademacher",
]:
    args = (1.0, 1.5) if name == "double_sided_maxwell" else (draw(3, domain=(0.5, 2)),) if name == "rayleigh" else ()
    sampler(name, *args, call=lambda f, key, *given: f(key, *given, shape=(3,)))
sampler("truncated_normal", -1.0, 2.0, (3,))
sampler("lognormal", draw(domain=(0.5, 2)), (3,))
sampler("ball orthogonal", call=lambda f, key: f(key, 3, shape=(2,)), tolerance=16)
for name in ["gamma", "loggamma", "chisquare", "t", "pareto", "poisson"]:
    sampler(
        name,
        POSITIVE,
        tolerance=64,
        grads=True if name == "pareto" else "whole numbers" if name == "poisson" else IMPLICIT,
    )
for name in ["beta", "f"]:
    sampler(name, POSITIVE, POSITIVE, tolerance=64, grads=IMPLICIT)
sampler("wald", POSITIVE, grads="a choice between two roots: by the point, not by the mean")
sampler("weibull_min", POSITIVE, POSITIVE)
sampler("generalized_normal", 1.5, (3,))
sampler("triangular", np.float32(-1), np.float32(0.3), np.float32(2), (3,))
sampler("dirichlet", POSITIVE, tolerance=64, grads=IMPLICIT)
sampler(
    "multivariate_normal",
    draw(2),
    draw(2, 2),
    call=lambda f, key, m, c: f(key, m, c @ c.T + np.eye(2, dtype=c.dtype), method="cholesky"),
)
for name in ["bernoulli", "geometric"]:
    sampler(name, UNIT, grads="whole numbers")
sampler("binomial", np.float32(6), UNIT, grads="whole numbers")
sampler("multinomial", np.float32(6), np.asarray([0.2, 0.3, 0.5], np.float32))
sampler("categorical", X, grads="positions")
sampler("randint", (3,), 0, 10)
sampler("permutation", X, ragged=({1: 1},))
sampler("choice", draw(5), (3,))
sampler("split", 3)
sampler("fold_in", 7)
sampler("key_data wrap_key_data clone key_impl key_dtype", call=lambda f, key: 0, grads="no numbers", batch="no arrays")
random.record("PRNGKey", ints(low=0, high=1000), oracle=lambda seed: np.asarray([0, seed], np.uint32))
random.record("key", ints(low=0, high=1000), call=lambda f, seed: words(f(seed)), oracle=None)
