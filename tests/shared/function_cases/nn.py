"""``ct.nn`` against JAX. `test_nn.py` has the edge cases and options."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.special

from function_cases import Family, draw, ints

nn = Family("jax.nn")
HALF = ("float32", "float16", "bfloat16", "float64")
X = draw(2, 3, domain=(0.2, 2))  # where all are smooth; test_nn.py has the corners


def sigmoid(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


ACTIVATIONS = {
    "celu": lambda x: np.where(x > 0, x, np.expm1(x)),
    "elu": lambda x: np.where(x > 0, x, np.expm1(x)),
    "gelu": lambda x: 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))),
    "hard_sigmoid": lambda x: np.clip(x + 3, 0, 6) / 6,
    "hard_silu": lambda x: x * np.clip(x + 3, 0, 6) / 6,
    "hard_swish": lambda x: x * np.clip(x + 3, 0, 6) / 6,
    "hard_tanh": lambda x: np.clip(x, -1, 1),
    "identity": lambda x: x,
    "leaky_relu": lambda x: np.where(x > 0, x, 0.01 * x),
    "log_sigmoid": lambda x: -np.log1p(np.exp(-x)),
    "mish": lambda x: x * np.tanh(np.log1p(np.exp(x))),
    "relu": lambda x: np.maximum(x, 0),
    "relu6": lambda x: np.clip(x, 0, 6),
    "selu": lambda x: 1.0507009873554805 * np.where(x > 0, x, 1.6732632423543772 * np.expm1(x)),
    "sigmoid": sigmoid,
    "silu": lambda x: x * sigmoid(x),
    "soft_sign": lambda x: x / (1 + np.abs(x)),
    "softplus": lambda x: np.log1p(np.exp(x)),
    "sparse_plus": lambda x: np.where(x <= -1, 0, np.where(x >= 1, x, (x + 1) ** 2 / 4)),
    "sparse_sigmoid": lambda x: np.clip((x + 1) / 2, 0, 1),
    "squareplus": lambda x: (x + np.sqrt(x * x + 4)) / 2,
    "swish": lambda x: x * sigmoid(x),
    "tanh": np.tanh,
}
for name, theirs in ACTIVATIONS.items():
    nn.elements(name, draw(2, 3), dtypes=HALF, oracle=theirs, tolerance=4)
nn.elements("log1mexp", X, dtypes=HALF, oracle=lambda x: np.log(-np.expm1(-x)), tolerance=4)

A = draw(3, 4)
nn.record("softmax", A, dtypes=HALF, oracle=lambda x: scipy.special.softmax(x, -1), tolerance=4)
nn.record("softmax", A, axis=(0, 1), oracle=scipy.special.softmax, tolerance=4)
nn.record("log_softmax", A, dtypes=HALF, oracle=lambda x: scipy.special.log_softmax(x, -1), tolerance=4)
nn.record("logsumexp", A, axis=0, dtypes=HALF, oracle=lambda x: scipy.special.logsumexp(x, 0), tolerance=4)
nn.record("logsumexp", draw(0, 3), axis=1, oracle=lambda x: np.zeros(0), ragged=())
nn.record("logsumexp", draw(), oracle=lambda x: x)
nn.record("logmeanexp", A, axis=1, oracle=lambda x: scipy.special.logsumexp(x, 1) - np.log(x.shape[1]), tolerance=4)
nn.record("softmax", A, np.arange(12).reshape(3, 4) % 3 > 0, call=lambda f, x, w: f(x, 0, where=w), ragged=())
nn.record(
    "standardize",
    A,
    dtypes=("float32", "float64"),
    oracle=lambda x: (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5),
    tolerance=8,
)
nn.record("glu", A, oracle=lambda x: x[:, :2] * sigmoid(x[:, 2:]), ragged=(0,))
nn.record("one_hot", ints(3, low=-1, high=4), 3, oracle=lambda x, n: (x[:, None] == np.arange(n)).astype(np.float32))
nn.record("one_hot", ints(low=0, high=3), 3, axis=0, oracle=lambda x, n: (x == np.arange(n)).astype(np.float32))
Q, K = draw(2, 3, 2, 4), draw(2, 5, 2, 4)
nn.record(
    "dot_product_attention",
    Q,
    K,
    draw(2, 5, 2, 4),
    tolerance=4,
    dtypes=("float32", "bfloat16"),
    ragged=({0: 0, 1: 0, 2: 0}, {0: 1}, {1: 1, 2: 1}),
)
nn.record(
    "dot_product_attention",
    Q,
    draw(2, 3, 2, 4),
    draw(2, 3, 2, 4),
    is_causal=True,
    tolerance=4,
    ragged=({0: 1, 1: 1, 2: 1},),
)

init = Family("jax.nn.initializers")
KEY = ints(2, low=0, high=1 << 30, dtype="uint32")
SHAPE = (3, 4)
for name in [
    "glorot_normal",
    "glorot_uniform",
    "he_normal",
    "he_uniform",
    "kaiming_normal",
    "kaiming_uniform",
    "lecun_normal",
    "lecun_uniform",
    "xavier_normal",
    "xavier_uniform",
    "normal",
    "uniform",
    "truncated_normal",
    "orthogonal",
]:
    init.record(name, KEY, call=lambda f, key: f()(key, SHAPE, "float32"), ragged=(), tolerance=8)
init.record("constant", KEY, call=lambda f, key: f(0.5)(key, SHAPE, "float32"), ragged=())
init.record("delta_orthogonal", KEY, call=lambda f, key: f()(key, (3, 4, 4), "float32"), ragged=(), tolerance=8)
init.record(
    "variance_scaling",
    KEY,
    call=lambda f, key: f(2.0, "fan_avg", "normal")(key, SHAPE, "float32"),
    ragged=(),
    tolerance=8,
)
init.record("zeros ones", KEY, SHAPE, "float32", ragged=())
init.no_record("a typing protocol", "Initializer")
