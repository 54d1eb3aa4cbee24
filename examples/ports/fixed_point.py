"""Implicit differentiation of a fixed point: a deep equilibrium layer whose gradient never sees the iterations.

The solver is a `while_loop`; its derivative comes from the implicit function theorem by `custom_vjp`, itself by a fixed point
(Bai, Kolter & Koltun, "Deep Equilibrium Models", 2019). Written for JAX; only the imports were changed.
"""

from functools import partial

import cotangent as jax
import cotangent.numpy as jnp
import numpy as np
from cotangent import lax, random
from sklearn.datasets import load_digits

WIDTH, STEPS, RATE = 24, 80, 0.3


def solve(f, start):
    def unfinished(state):
        old, new, count = state
        return (jnp.max(jnp.abs(new - old)) > 1e-5) & (count < 100)

    def body(state):
        _, new, count = state
        return new, f(new), count + 1

    return lax.while_loop(unfinished, body, (start, f(start), 0))[1]


@partial(jax.custom_vjp, nondiff_argnums=(0,))
def fixed_point(f, params, start):
    """The z with f(params, z) = z."""
    return solve(lambda z: f(params, z), start)


def forward(f, params, start):
    z = fixed_point(f, params, start)
    return z, (params, z)


def backward(f, residuals, cotangent):
    params, z = residuals
    _, pull = jax.vjp(f, params, z)
    # w = cotangent + w df/dz, the implicit function theorem.
    w = solve(lambda w: cotangent + pull(w)[1], cotangent)
    return pull(w)[0], jnp.zeros_like(z)


fixed_point.defvjp(forward, backward)


def layer(params, z):
    recurrent, drive = params
    return jnp.tanh(z @ recurrent + drive)


def predict(params, x):
    recurrent = 0.9 * params["recurrent"] / jnp.maximum(1.0, jnp.sqrt(jnp.sum(params["recurrent"] ** 2)))
    return fixed_point(layer, (recurrent, x @ params["input"]), jnp.zeros((x.shape[0], WIDTH))) @ params["out"]


def loss(params, x, y):
    return -jnp.mean(jnp.take_along_axis(jax.nn.log_softmax(predict(params, x)), y[:, None], axis=1))


@jax.jit
def step(params, x, y):
    value, grads = jax.value_and_grad(loss)(params, x, y)
    return jax.tree.map(lambda p, g: p - RATE * g, params, grads), value


def main():
    """Returns the accuracy on the test images, and by how much, relatively, the gradient misses a difference quotient."""
    digits = load_digits()
    x, y = (digits.data / 16.0).astype(np.float32), digits.target.astype(np.int32)
    k1, k2, k3, k4 = random.split(random.key(0), 4)
    params = {
        "recurrent": random.normal(k1, (WIDTH, WIDTH)) / WIDTH,
        "input": random.normal(k2, (64, WIDTH)) / 8,
        "out": random.normal(k3, (WIDTH, 10)) / np.sqrt(WIDTH),
    }
    direction = jax.tree.map(lambda p: random.normal(k4, p.shape), params)
    small, some = 2e-3, slice(0, 200)
    slope = sum(
        jnp.vdot(g, d)
        for g, d in zip(
            jax.tree.leaves(jax.grad(loss)(params, x[some], y[some])), jax.tree.leaves(direction), strict=True
        )
    )
    ahead = loss(jax.tree.map(lambda p, d: p + small * d, params, direction), x[some], y[some])
    behind = loss(jax.tree.map(lambda p, d: p - small * d, params, direction), x[some], y[some])
    difference = abs(float((ahead - behind) / (2 * small) / slope - 1))
    for _ in range(STEPS):
        params, _ = step(params, x[:1400], y[:1400])
    accuracy = np.mean(np.asarray(jnp.argmax(predict(params, x[1400:]), axis=1)) == y[1400:])
    return {"accuracy": float(accuracy), "difference": difference}


if __name__ == "__main__":
    result = main()
    print(result)
    assert result["accuracy"] > 0.85
    assert result["difference"] < 2e-2
