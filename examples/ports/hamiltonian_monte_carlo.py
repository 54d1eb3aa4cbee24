"""Hamiltonian Monte Carlo (Neal, 2011) for Bayesian logistic regression on the Wisconsin breast cancer data; chains by `vmap`.

Written for JAX; only the imports were changed.
"""

import cotangent as jax
import cotangent.numpy as jnp
import numpy as np
from cotangent import lax, random
from sklearn.datasets import load_breast_cancer

CHAINS, WARM_UP, DRAWS, LEAPS, STEP = 4, 150, 250, 12, 0.1


def log_density(beta, x, y):
    scores = x @ beta[1:] + beta[0]
    return jnp.sum(y * scores - jnp.logaddexp(0.0, scores)) - 0.5 * jnp.sum(beta**2)


def transition(position, key, x, y):
    """One proposal along a Hamiltonian path, accepted or not."""

    def potential(beta):
        return -log_density(beta, x, y)

    momentum_key, accept_key = random.split(key)
    momentum = random.normal(momentum_key, position.shape)

    def leap(_, state):
        q, p = state
        p = p - 0.5 * STEP * jax.grad(potential)(q)
        q = q + STEP * p
        return q, p - 0.5 * STEP * jax.grad(potential)(q)

    q, p = lax.fori_loop(0, LEAPS, leap, (position, momentum))
    change = potential(position) - potential(q) + 0.5 * (momentum @ momentum - p @ p)
    accepted = jnp.log(random.uniform(accept_key)) < change
    return jnp.where(accepted, q, position), accepted


@jax.jit
def sample(key, start, x, y):
    def chain(key, start):
        def body(position, key):
            position, accepted = transition(position, key, x, y)
            return position, (position, accepted)

        return lax.scan(body, start, random.split(key, WARM_UP + DRAWS))[1]

    return jax.vmap(chain)(random.split(key, CHAINS), start)


def main():
    """Returns the acceptance rate, the split between chains (R-hat, at worst), and the accuracy of the posterior mean prediction."""
    data = load_breast_cancer()
    x = ((data.data - data.data.mean(0)) / data.data.std(0)).astype(np.float32)[:, :10]
    y = data.target.astype(np.float32)
    start = 0.1 * random.normal(random.key(5), (CHAINS, x.shape[1] + 1))
    draws, accepted = sample(random.key(0), start, x[:400], y[:400])
    draws = np.asarray(draws)[:, WARM_UP:]
    within, between = draws.var(1).mean(0), draws.mean(1).var(0)
    probability = 1 / (1 + np.exp(-(x[400:] @ draws[..., 1:].reshape(-1, 10).T + draws[..., 0].reshape(-1)))).mean(1)
    return {
        "acceptance": float(jnp.mean(accepted)),
        "rhat": float(np.sqrt((within + between) / within).max()),
        "accuracy": float(np.mean((probability > 0.5) == y[400:])),
    }


if __name__ == "__main__":
    result = main()
    print(result)
    assert result["acceptance"] > 0.6
    assert result["rhat"] < 1.1
    assert result["accuracy"] > 0.88
