"""A small transformer language model on a licence text, with decoding from a key-value cache.

One jitted step trains; decoding is one `lax.scan` whose carry holds the cache, updated in place by `dynamic_update_slice`. The
cached logits are compared with those of the whole sequence. Written for JAX; only the imports were changed.
"""

from pathlib import Path

import cotangent as jax
import cotangent.numpy as jnp
import numpy as np
from cotangent import lax, random

LAYERS, HEADS, WIDTH, CONTEXT, BATCH, STEPS, RATE = 2, 4, 64, 48, 16, 200, 2e-3
TEXT = Path("/usr/share/common-licenses/GPL-3")


def read():
    if TEXT.exists():
        text = TEXT.read_text()
    else:  # not a Debian system
        text = (Path(__file__).resolve().parents[2] / "LICENSE").read_text()
    characters = sorted(set(text))
    index = {c: i for i, c in enumerate(characters)}
    return np.array([index[c] for c in text], np.int32), characters


def init(key, vocabulary):
    keys = iter(random.split(key, 2 + 4 * LAYERS))

    def dense(m, n):
        return random.normal(next(keys), (m, n)) * (m**-0.5)

    return {
        "embed": random.normal(next(keys), (vocabulary, WIDTH)) * 0.3,
        "position": random.normal(next(keys), (CONTEXT, WIDTH)) * 0.3,
        "blocks": [
            {
                "qkv": dense(WIDTH, 3 * WIDTH),
                "out": dense(WIDTH, WIDTH),
                "up": dense(WIDTH, 4 * WIDTH),
                "down": dense(4 * WIDTH, WIDTH),
                "norm1": jnp.ones(WIDTH),
                "norm2": jnp.ones(WIDTH),
            }
            for _ in range(LAYERS)
        ],
    }


def normalize(x, scale):
    return scale * (x - x.mean(-1, keepdims=True)) * lax.rsqrt(x.var(-1, keepdims=True) + 1e-5)


def heads(x):
    return x.reshape(*x.shape[:-1], HEADS, WIDTH // HEADS)


def attend(q, k, v, mask):
    scores = jnp.einsum("thd,shd->hts", q, k) / np.sqrt(WIDTH // HEADS)
    weights = jax.nn.softmax(jnp.where(mask, scores, -jnp.inf), axis=-1)
    return jnp.einsum("hts,shd->thd", weights, v).reshape(q.shape[0], WIDTH)


def block(p, x, attention):
    q, k, v = jnp.split(normalize(x, p["norm1"]) @ p["qkv"], 3, axis=-1)
    x = x + attention(heads(q), heads(k), heads(v)) @ p["out"]
    return x + jax.nn.gelu(normalize(x, p["norm2"]) @ p["up"]) @ p["down"]


def logits(params, tokens):
    """Of every position of one sequence."""
    count = tokens.shape[0]
    causal = jnp.tril(jnp.ones((count, count), bool))
    x = params["embed"][tokens] + params["position"][:count]
    for p in params["blocks"]:
        x = block(p, x, lambda q, k, v: attend(q, k, v, causal))
    return x @ params["embed"].T


def loss(params, batch):
    log_probabilities = jax.nn.log_softmax(jax.vmap(logits, in_axes=(None, 0))(params, batch[:, :-1]))
    return -jnp.mean(jnp.take_along_axis(log_probabilities, batch[:, 1:, None], axis=-1))


@jax.jit
def step(params, mean, square, count, batch):
    value, grads = jax.value_and_grad(loss)(params, batch)
    mean = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, mean, grads)
    square = jax.tree.map(lambda s, g: 0.99 * s + 0.01 * g * g, square, grads)
    params = jax.tree.map(
        lambda p, m, s: p - RATE * (m / (1 - 0.9**count)) / (jnp.sqrt(s / (1 - 0.99**count)) + 1e-8),
        params,
        mean,
        square,
    )
    return params, mean, square, value


@jax.jit
def decode(params, prompt):
    """Reads the prompt, then goes on with the likeliest character: tokens and logits of every position."""
    cache = [
        {"k": jnp.zeros((CONTEXT, HEADS, WIDTH // HEADS)), "v": jnp.zeros((CONTEXT, HEADS, WIDTH // HEADS))}
    ] * LAYERS

    def advance(carry, t):
        cache, token = carry
        token = jnp.where(t < prompt.shape[0], prompt[jnp.minimum(t, prompt.shape[0] - 1)], token)
        x = params["embed"][token][None] + lax.dynamic_slice_in_dim(params["position"], t, 1)
        past = jnp.arange(CONTEXT) <= t
        new_cache = []
        for p, layer in zip(params["blocks"], cache, strict=True):
            updated = {}

            def attention(q, k, v, layer=layer, updated=updated):
                updated["k"] = lax.dynamic_update_slice(layer["k"], k, (t, 0, 0))
                updated["v"] = lax.dynamic_update_slice(layer["v"], v, (t, 0, 0))
                return attend(q, updated["k"], updated["v"], past)

            x = block(p, x, attention)
            new_cache.append(updated)
        scores = (x @ params["embed"].T)[0]
        return (new_cache, jnp.argmax(scores).astype(jnp.int32)), (token, scores)

    _, outputs = lax.scan(advance, (cache, jnp.int32(0)), jnp.arange(CONTEXT))
    return outputs


def main():
    """Returns the last training loss (mean of 20 steps) and how far cached logits are from those of the whole sequence."""
    text, characters = read()
    params = init(random.key(0), len(characters))
    mean = square = jax.tree.map(jnp.zeros_like, params)
    draw, losses = np.random.default_rng(0), []
    for count in range(1, STEPS + 1):
        starts = draw.integers(0, len(text) - CONTEXT - 1, BATCH)
        batch = np.stack([text[s : s + CONTEXT + 1] for s in starts])
        params, mean, square, value = step(params, mean, square, float(count), batch)
        losses.append(float(value))
    tokens, scores = decode(params, jnp.asarray(text[1000:1016]))
    difference = float(jnp.max(jnp.abs(scores - jax.jit(logits)(params, tokens))))
    sample = "".join(characters[i] for i in np.asarray(tokens))
    return {"loss": float(np.mean(losses[-20:])), "first": losses[0], "difference": difference, "sample": sample}


if __name__ == "__main__":
    result = main()
    print(result)
    assert result["loss"] < 2.6 < result["first"]
    assert result["difference"] < 1e-3
