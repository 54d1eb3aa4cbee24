"""A Gaussian mixture fitted to the iris flowers by expectation-maximisation, in a `while_loop` that stops when it has converged.

Written for JAX; only the imports were changed.
"""

import cotangent as jax
import cotangent.numpy as jnp
import numpy as np
from cotangent import lax, random
from cotangent.scipy.special import logsumexp
from sklearn.datasets import load_iris

COMPONENTS, TOLERANCE, LIMIT = 3, 1e-5, 500


def log_densities(params, x):
    """Of every flower under every component: (n, k)."""
    weights, means, covariances = params

    def one(mean, covariance):
        lower = jnp.linalg.cholesky(covariance)
        z = jax.scipy.linalg.solve_triangular(lower, (x - mean).T, lower=True)
        return -0.5 * jnp.sum(z**2, axis=0) - jnp.sum(jnp.log(jnp.diagonal(lower)))

    return jax.vmap(one, out_axes=1)(means, covariances) + jnp.log(weights) - 0.5 * x.shape[1] * np.log(2 * np.pi)


def em_step(params, x):
    joint = log_densities(params, x)
    evidence = logsumexp(joint, axis=1, keepdims=True)
    responsibility = jnp.exp(joint - evidence)
    total = responsibility.sum(0)
    means = (responsibility.T @ x) / total[:, None]
    centred = x[:, None] - means
    covariances = jnp.einsum("nk,nki,nkj->kij", responsibility, centred, centred) / total[:, None, None]
    covariances = covariances + 1e-4 * jnp.eye(x.shape[1])
    return (total / len(x), means, covariances), evidence.mean()


@jax.jit
def fit(key, x):
    def unfinished(state):
        _, old, new, count = state
        return (jnp.abs(new - old) > TOLERANCE) & (count < LIMIT)

    def body(state):
        params, _, new, count = state
        params, likelihood = em_step(params, x)
        return params, new, likelihood, count + 1

    rows = random.choice(key, len(x), (COMPONENTS,), replace=False)
    params = (jnp.full(COMPONENTS, 1 / COMPONENTS), x[rows], jnp.stack([jnp.cov(x.T)] * COMPONENTS))
    return lax.while_loop(unfinished, body, (params, -jnp.inf, 0.0, 0))


def main():
    """Returns the best of eight starts: log likelihood of a flower, iterations, and the share of flowers grouped by species."""
    iris = load_iris()
    x = iris.data.astype(np.float32)
    runs = [fit(key, x) for key in random.split(random.key(0), 8)]
    params, _, likelihood, count = max(runs, key=lambda run: float(run[2]))
    groups = np.asarray(jnp.argmax(log_densities(params, x), axis=1))
    agreeing = sum(np.bincount(iris.target[groups == g], minlength=1).max() for g in np.unique(groups))
    return {"likelihood": float(likelihood), "iterations": int(count), "purity": float(agreeing / len(x))}


if __name__ == "__main__":
    result = main()
    print(result)
    assert result["purity"] > 0.85
    assert 1 < result["iterations"] < LIMIT
