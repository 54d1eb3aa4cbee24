"""Predator and prey: the Lotka-Volterra equations fitted to the Hudson Bay Company's pelts of hare and lynx, 1900-1920.

Gradients go through an adaptive solver of ordinary differential equations by its adjoint. Written for JAX; only the imports were
changed.
"""

import cotangent as jax
import cotangent.numpy as jnp
import numpy as np
from cotangent.experimental.ode import odeint

HARE = [
    30,
    47.2,
    70.2,
    77.4,
    36.3,
    20.6,
    18.1,
    21.4,
    22,
    25.4,
    27.1,
    40.3,
    57,
    76.6,
    52.3,
    19.5,
    11.2,
    7.6,
    14.6,
    16.2,
    24.7,
]
LYNX = [4, 6.1, 9.8, 35.2, 59.4, 41.7, 19, 13, 8.3, 9.1, 7.4, 8, 12.3, 19.5, 45.7, 51.1, 29.7, 15.8, 9.7, 10.1, 8.6]
STEPS, RATE = 150, 0.02


def dynamics(state, t, rates):
    hare, lynx = state
    return jnp.array([(rates[0] - rates[1] * lynx) * hare, (rates[2] * hare - rates[3]) * lynx])


def loss(params, times, data):
    path = odeint(dynamics, jnp.exp(params["start"]), times, jnp.exp(params["rates"]), rtol=1e-5, atol=1e-5)
    return jnp.mean((jnp.log(path) - jnp.log(data)) ** 2)


@jax.jit
def step(params, mean, square, count, times, data):
    value, grads = jax.value_and_grad(loss)(params, times, data)
    mean = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, mean, grads)
    square = jax.tree.map(lambda s, g: 0.99 * s + 0.01 * g * g, square, grads)
    params = jax.tree.map(
        lambda p, m, s: p - RATE * (m / (1 - 0.9**count)) / (jnp.sqrt(s / (1 - 0.99**count)) + 1e-8),
        params,
        mean,
        square,
    )
    return params, mean, square, value


def main():
    """Returns the mean squared error of logarithms at the start and at the end, and the period that the rates imply."""
    data = np.stack([HARE, LYNX], axis=1).astype(np.float32)
    times = np.arange(21, dtype=np.float32)
    params = {
        "start": jnp.log(jnp.array([30.0, 4.0])),
        "rates": jnp.log(jnp.array([0.4, 0.02, 0.02, 0.6])),
    }
    mean = square = jax.tree.map(jnp.zeros_like, params)
    values = []
    for count in range(1, STEPS + 1):
        params, mean, square, value = step(params, mean, square, float(count), times, data)
        values.append(float(value))
    rates = np.exp(np.asarray(params["rates"]))
    return {"first": values[0], "last": values[-1], "period": float(2 * np.pi / np.sqrt(rates[0] * rates[3]))}


if __name__ == "__main__":
    result = main()
    print(result)
    assert result["last"] < 0.1
    assert 8 < result["period"] < 12
