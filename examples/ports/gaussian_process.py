"""Gaussian process regression (Rasmussen & Williams, 2006): marginal likelihood by Cholesky, its gradient for the hyperparameters.

Real data: disease progression against body mass index and blood pressure. Written for JAX; only the imports were changed.
"""

import cotangent as jax
import cotangent.numpy as jnp
import numpy as np
from cotangent import lax
from cotangent.scipy.linalg import cho_solve, cholesky, solve_triangular
from sklearn.datasets import load_diabetes

STEPS, RATE = 60, 0.1


def kernel(params, a, b):
    scaled = (a[:, None] - b[None]) / jnp.exp(params["length"])
    return jnp.exp(2 * params["amplitude"]) * jnp.exp(-0.5 * jnp.sum(scaled**2, axis=-1))


def factor(params, x):
    return cholesky(kernel(params, x, x) + jnp.exp(2 * params["noise"]) * jnp.eye(len(x)), lower=True)


def loss(params, x, y):
    """The negative log marginal likelihood of one observation."""
    lower = factor(params, x)
    half = solve_triangular(lower, y, lower=True)
    return (0.5 * half @ half + jnp.sum(jnp.log(jnp.diag(lower)))) / len(x) + 0.5 * np.log(2 * np.pi)


@jax.jit
def fit(params, x, y):
    def step(carry, _):
        params, velocity = carry
        value, grads = jax.value_and_grad(loss)(params, x, y)
        velocity = jax.tree.map(lambda v, g: 0.8 * v - RATE * g, velocity, grads)
        return (jax.tree.map(jnp.add, params, velocity), velocity), value

    (params, _), values = lax.scan(step, (params, jax.tree.map(jnp.zeros_like, params)), None, length=STEPS)
    return params, values


@jax.jit
def predict(params, x, y, new):
    lower, cross = factor(params, x), kernel(params, x, new)
    mean = cross.T @ cho_solve((lower, True), y)
    variance = jnp.exp(2 * params["amplitude"]) - jnp.sum(solve_triangular(lower, cross, lower=True) ** 2, axis=0)
    return mean, variance + jnp.exp(2 * params["noise"])


def main():
    """Returns the likelihoods, the error in units of the data's deviation, and how many of 95 % intervals hold the truth."""
    data = load_diabetes()
    x = data.data[:, [2, 3]]
    x = ((x - x.mean(0)) / x.std(0)).astype(np.float32)
    y = ((data.target - data.target.mean()) / data.target.std()).astype(np.float32)
    params = {"amplitude": jnp.array(0.0), "length": jnp.zeros(2), "noise": jnp.array(0.0)}
    params, values = fit(params, x[:200], y[:200])
    mean, variance = predict(params, x[:200], y[:200], x[200:])
    error = np.asarray(mean) - y[200:]
    return {
        "first": float(values[0]),
        "last": float(values[-1]),
        "error": float(np.sqrt(np.mean(error**2))),
        "coverage": float(np.mean(np.abs(error) < 1.96 * np.sqrt(np.asarray(variance)))),
    }


if __name__ == "__main__":
    result = main()
    print(result)
    assert result["last"] < result["first"]
    assert result["error"] < 0.9
    assert 0.9 < result["coverage"] < 0.99
