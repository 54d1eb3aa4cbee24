"""A variational autoencoder of the UCI handwritten digits (Kingma & Welling, 2014): reparameterised samples, evidence lower bound.

Written for JAX; only the imports were changed.
"""

import cotangent as jax
import cotangent.numpy as jnp
import numpy as np
from cotangent import lax, random
from cotangent.scipy.special import xlog1py, xlogy
from sklearn.datasets import load_digits

LATENT, HIDDEN, BATCH, EPOCHS, RATE = 4, 64, 100, 30, 2e-3


def dense(key, m, n):
    return {"w": jax.nn.initializers.glorot_normal()(key, (m, n)), "b": jnp.zeros(n)}


def init(key):
    k = random.split(key, 4)
    return {
        "enc": dense(k[0], 64, HIDDEN),
        "mean": dense(k[1], HIDDEN, 2 * LATENT),
        "dec": dense(k[2], LATENT, HIDDEN),
        "out": dense(k[3], HIDDEN, 64),
    }


def apply(layer, x):
    return x @ layer["w"] + layer["b"]


def bound(params, key, x):
    """The negative evidence lower bound of one image."""
    mean, log_variance = jnp.split(apply(params["mean"], jnp.tanh(apply(params["enc"], x))), 2)
    z = mean + jnp.exp(0.5 * log_variance) * random.normal(key, mean.shape)
    p = jnp.clip(jax.nn.sigmoid(apply(params["out"], jnp.tanh(apply(params["dec"], z)))), 1e-6, 1 - 1e-6)
    reconstruction = -jnp.sum(xlogy(x, p) + xlog1py(1 - x, -p))
    divergence = 0.5 * jnp.sum(jnp.exp(log_variance) + mean**2 - 1 - log_variance)
    return reconstruction + divergence


def loss(params, key, batch):
    return jnp.mean(jax.vmap(bound, in_axes=(None, 0, 0))(params, random.split(key, batch.shape[0]), batch))


@jax.jit
def epoch(carry, key, images):
    """One pass in a random order, as a single scan."""
    shuffle, noise = random.split(key)
    batches = random.permutation(shuffle, images)[: len(images) // BATCH * BATCH].reshape(-1, BATCH, 64)

    def step(carry, inputs):
        params, mean, square, count = carry
        key, batch = inputs
        value, grads = jax.value_and_grad(loss)(params, key, batch)
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

    carry, values = lax.scan(step, carry, (random.split(noise, len(batches)), batches))
    return carry, values.mean()


def main():
    """Returns the bound before and after training, in nats an image."""
    images = (load_digits().data / 16.0).astype(np.float32)
    key = random.key(0)
    params = init(key)
    zeros = jax.tree.map(jnp.zeros_like, params)
    carry, values = (params, zeros, zeros, jnp.array(0.0)), []
    for i in range(EPOCHS):
        carry, value = epoch(carry, random.fold_in(key, i), images)
        values.append(float(value))
    return {"first": values[0], "last": values[-1]}


if __name__ == "__main__":
    result = main()
    print(result)
    assert result["last"] < 29 < result["first"]
