"""A convolutional network on the UCI handwritten digits: two convolutions, max-pooling, Adam.

Written for JAX; only the imports were changed.
"""

import cotangent as jax
import cotangent.numpy as jnp
import numpy as np
from cotangent import lax, random
from sklearn.datasets import load_digits

BATCH, STEPS, RATE = 64, 300, 3e-3


def init(key):
    k1, k2, k3 = random.split(key, 3)
    return {
        "conv1": random.normal(k1, (3, 3, 1, 8)) * np.sqrt(2 / 9),
        "conv2": random.normal(k2, (3, 3, 8, 16)) * np.sqrt(2 / 72),
        "w": random.normal(k3, (2 * 2 * 16, 10)) * np.sqrt(1 / 64),
        "b": jnp.zeros(10),
    }


def convolve(x, kernel):
    return lax.conv_general_dilated(x, kernel, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))


def max_pool(x):
    return lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")


def predict(params, x):
    x = max_pool(jax.nn.relu(convolve(x, params["conv1"])))
    x = max_pool(jax.nn.relu(convolve(x, params["conv2"])))
    return x.reshape(x.shape[0], -1) @ params["w"] + params["b"]


def loss(params, x, y):
    return -jnp.mean(jnp.take_along_axis(jax.nn.log_softmax(predict(params, x)), y[:, None], axis=1))


@jax.jit
def step(state, x, y):
    params, mean, square, count = state
    value, grads = jax.value_and_grad(loss)(params, x, y)
    count = count + 1
    mean = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, mean, grads)
    square = jax.tree.map(lambda s, g: 0.999 * s + 0.001 * g**2, square, grads)
    params = jax.tree.map(
        lambda p, m, s: p - RATE * (m / (1 - 0.9**count)) / (jnp.sqrt(s / (1 - 0.999**count)) + 1e-8),
        params,
        mean,
        square,
    )
    return (params, mean, square, count), value


@jax.jit
def accuracy(params, x, y):
    return jnp.mean(jnp.argmax(predict(params, x), axis=1) == y)


def main():
    """Returns the accuracy on the test images and the last training loss."""
    digits = load_digits()
    images, labels = (digits.images[..., None] / 16.0).astype(np.float32), digits.target.astype(np.int32)
    params = init(random.key(1))
    zeros = jax.tree.map(jnp.zeros_like, params)
    state = (params, zeros, zeros, jnp.array(0.0))
    shuffle = np.random.default_rng(0)
    for _ in range(STEPS):
        batch = shuffle.integers(0, 1400, BATCH)
        state, value = step(state, images[batch], labels[batch])
    return {"accuracy": float(accuracy(state[0], images[1400:], labels[1400:])), "loss": float(value)}


if __name__ == "__main__":
    result = main()
    print(result)
    assert result["accuracy"] > 0.9
