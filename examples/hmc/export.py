"""A Hamiltonian Monte Carlo sampler of which all chains are one call of a C function.

    python examples/hmc/export.py build/hmc
    cc -std=c11 -O2 -Ibuild/hmc examples/hmc/main.c build/hmc/libregression.a -lm -o build/hmc/sample
    build/hmc/sample

The model is Bayesian linear regression with known noise, as its posterior is known in closed form: what the chains find can be compared
with it. Another model is another `energy`.
"""

from __future__ import annotations

import sys
from pathlib import Path

import cotangent as ct
import cotangent.numpy as cnp
import numpy as np

POINTS, WEIGHTS, NOISE, PRIOR = 50, 3, 0.5, 2.0  # the last two are standard deviations
CHAINS, WARM_UP, DRAWS, LEAPS, STEP = 4, 100, 1000, 8, 0.02


def data(key):
    """Points of a plane, and noise."""
    inputs, noise = ct.random.split(key)
    x = ct.random.normal(inputs, (POINTS, WEIGHTS))
    return {"x": x, "y": x @ cnp.array([1.0, -2.0, 0.5]) + NOISE * ct.random.normal(noise, (POINTS,))}


def energy(weights, x, y):
    """The negative logarithm of the posterior's density, but for a constant."""
    return 0.5 * cnp.sum((x @ weights - y) ** 2) / NOISE**2 + 0.5 * cnp.sum(weights**2) / PRIOR**2


def transition(weights, key, x, y):
    """A proposal along a Hamiltonian path, and whether it is accepted."""
    for_momentum, for_acceptance = ct.random.split(key)
    momentum = ct.random.normal(for_momentum, weights.shape)
    force = ct.grad(energy)

    def leap(state, _):
        q, p = state
        p = p - 0.5 * STEP * force(q, x, y)
        q = q + STEP * p
        return (q, p - 0.5 * STEP * force(q, x, y)), None

    (proposed, end), _ = ct.lax.scan(leap, (weights, momentum), None, length=LEAPS)
    lost = energy(weights, x, y) - energy(proposed, x, y) + 0.5 * (momentum @ momentum - end @ end)
    accepted = cnp.log(ct.random.uniform(for_acceptance)) < lost
    return cnp.where(accepted, proposed, weights), accepted


def chain(key, x, y):
    start, rest = ct.random.split(key)

    def body(weights, key):
        weights, accepted = transition(weights, key, x, y)
        return weights, (weights, accepted)

    return ct.lax.scan(body, ct.random.normal(start, (WEIGHTS,)), ct.random.split(rest, WARM_UP + DRAWS))[1]


def sample(key, x, y):
    """Draws of all chains, and the share of proposals that were accepted."""
    draws, accepted = ct.vmap(chain, in_axes=(0, None, None))(ct.random.split(key, CHAINS), x, y)
    return {"draws": draws[:, WARM_UP:], "acceptance": cnp.mean(accepted[:, WARM_UP:].astype("float32"))}


def posterior(x, y):
    """Means and standard deviations in closed form."""
    covariance = cnp.linalg.inv(x.T @ x / NOISE**2 + cnp.eye(WEIGHTS) / PRIOR**2)
    return {"mean": covariance @ (x.T @ y) / NOISE**2, "deviation": cnp.sqrt(cnp.diagonal(covariance))}


def library() -> ct.export.Exported:
    key, x, y = ct.random.key(0), np.zeros((POINTS, WEIGHTS), np.float32), np.zeros(POINTS, np.float32)
    functions = {
        "data": ct.export.function(data, key),
        "sample": ct.export.function(sample, key, x, y),
        "posterior": ct.export.function(posterior, x, y),
    }
    return ct.export.library("regression", functions)


def main(folder: Path) -> None:
    library().save(folder)


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "hmc"))
