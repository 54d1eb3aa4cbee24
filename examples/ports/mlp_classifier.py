"""A multi-layer perceptron on the UCI handwritten digits, trained by minibatch SGD with momentum.

Written for JAX; only the imports were changed.
"""

import cotangent as jax
import cotangent.numpy as jnp
import numpy as np
from cotangent import random
from cotangent.nn import log_softmax, one_hot, relu
from sklearn.datasets import load_digits

SIZES, BATCH, EPOCHS, RATE, MOMENTUM = [64, 64, 32, 10], 64, 12, 0.05, 0.9


def init(key):
    keys = random.split(key, len(SIZES) - 1)
    return [
        {"w": random.normal(k, (m, n)) * jnp.sqrt(2.0 / m), "b": jnp.zeros(n)}
        for k, m, n in zip(keys, SIZES[:-1], SIZES[1:], strict=True)
    ]


def predict(params, x):
    for layer in params[:-1]:
        x = relu(x @ layer["w"] + layer["b"])
    return log_softmax(x @ params[-1]["w"] + params[-1]["b"])


def loss(params, x, y):
    return -jnp.mean(jnp.sum(predict(params, x) * one_hot(y, 10), axis=1))


@jax.jit
def update(params, velocity, x, y):
    value, grads = jax.value_and_grad(loss)(params, x, y)
    velocity = jax.tree.map(lambda v, g: MOMENTUM * v - RATE * g, velocity, grads)
    return jax.tree.map(jnp.add, params, velocity), velocity, value


@jax.jit
def accuracy(params, x, y):
    return jnp.mean(jnp.argmax(predict(params, x), axis=1) == y)


def main():
    """Returns the accuracy on the test images and the last training loss."""
    digits = load_digits()
    images, labels = (digits.data / 16.0).astype(np.float32), digits.target.astype(np.int32)
    train, test = slice(0, 1400), slice(1400, None)
    params = init(random.key(0))
    velocity = jax.tree.map(jnp.zeros_like, params)
    shuffle = np.random.default_rng(0)
    for _ in range(EPOCHS):
        order = shuffle.permutation(1400)
        for start in range(0, 1400 - BATCH + 1, BATCH):
            batch = order[start : start + BATCH]
            params, velocity, value = update(params, velocity, images[train][batch], labels[train][batch])
    return {"accuracy": float(accuracy(params, images[test], labels[test])), "loss": float(value)}


if __name__ == "__main__":
    result = main()
    print(result)
    assert result["accuracy"] > 0.9
