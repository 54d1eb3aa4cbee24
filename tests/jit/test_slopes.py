"""Derivatives of element-wise pieces are kept as one array, and what is kept for later loops is as small as it can be."""

from collections.abc import Callable
from typing import Any

import cotangent as ct
import cotangent.numpy as cnp
import numpy as np
import pytest
from cotangent import lax, nn

SIZE = 96
ARRAY = SIZE * SIZE * 4  # bytes

ACTIVATIONS: dict[str, Callable[[Any], Any]] = {
    "gelu": nn.gelu,
    "gelu by erf": lambda x: nn.gelu(x, approximate=False),
    "silu": nn.silu,
    "mish": nn.mish,
    "softplus of tanh": lambda x: nn.softplus(cnp.tanh(x) * x),
    "a quotient": lambda x: x / (1 + cnp.exp(-x)) + cnp.sin(x) * 0.1,
    "chosen": lambda x: cnp.where(x > 0, x * nn.sigmoid(x), cnp.expm1(x) * cnp.cos(x)),
}


def network(activation: Callable[[Any], Any]) -> Callable[..., Any]:
    def loss(weights: Any, x: Any) -> Any:
        for w in weights:
            x = activation(x @ w)
        return cnp.sum(x * x)

    return loss


def data(layers: int = 3, dtype: Any = np.float32) -> tuple[list[np.ndarray], np.ndarray]:
    random = np.random.default_rng(0)
    weights = [(random.standard_normal((SIZE, SIZE)) / SIZE**0.5).astype(dtype) for _ in range(layers)]
    return weights, random.standard_normal((SIZE, SIZE)).astype(dtype)


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_gradients_are_those_of_the_equations(name: str) -> None:
    weights, x = data(dtype=np.float64)
    loss = network(ACTIVATIONS[name])
    gradient = ct.jit(ct.grad(loss))(weights, x)
    forward = ct.jit(lambda w, d: ct.jvp(lambda w: loss(w, x), (w,), (d,))[1])
    random = np.random.default_rng(1)
    direction = [random.standard_normal((SIZE, SIZE)) for _ in weights]
    product = sum(float(np.sum(np.asarray(g) * d)) for g, d in zip(gradient, direction, strict=True))
    np.testing.assert_allclose(product, float(forward(weights, direction)), rtol=1e-10)


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_one_array_is_kept_for_a_slope(name: str) -> None:
    """Of each layer: its result, which the gradient of the next weights wants, and the slope."""
    layers = 6

    def scratch(count: int) -> int:
        compiled = ct.jit(ct.grad(network(ACTIVATIONS[name]))).lower(*data(count)).compile()
        return int(compiled.memory_analysis()["temp_size_in_bytes"])

    more = (scratch(2 * layers) - scratch(layers)) / layers
    assert more <= 2.1 * ARRAY


def test_zeros_that_arrive_stay_zero() -> None:
    """Where the slope is infinite, and where it is not a number."""

    def loss(w: Any, x: Any) -> Any:
        y = cnp.sqrt(cnp.abs(x @ w)) * cnp.exp(x @ w)  # at 0 the slope is infinite
        return cnp.sum((y[:, 1:] @ w[1:]) ** 2)

    w = np.eye(4, dtype=np.float32)
    x = np.ones((3, 4), np.float32)
    x[:, 0] = 0
    gradient = np.asarray(ct.jit(ct.grad(loss))(w, x))
    assert np.isfinite(gradient).all()
    assert not gradient[:, 0].any()
    np.testing.assert_allclose(gradient, np.asarray(ct.grad(loss)(w, x)), rtol=1e-5, atol=1e-5)


def test_second_derivatives() -> None:
    weights, x = data(2)
    loss = network(nn.gelu)

    def along(weights: Any, directions: Any) -> Any:
        return ct.jvp(ct.grad(lambda w: loss(w, x)), (weights,), (directions,))[1]

    jitted, eager = ct.jit(along)(weights, weights), along(weights, weights)
    for a, b in zip(jitted, eager, strict=True):
        np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=2e-3, atol=2e-3)


def test_factors_that_only_the_slope_reads() -> None:
    """In the body of a loop that goes backwards they are inputs, which no equation before has read."""

    def loss(x: Any, w: Any) -> Any:
        def step(carry: Any, _: Any) -> Any:
            decay = cnp.exp(-cnp.abs(carry))
            bent = cnp.where(decay > 0.1, decay, decay * 0.3)
            share = nn.softmax(cnp.hypot(carry, bent) @ w, axis=-1)
            return cnp.tanh(carry @ w), cnp.sum(share**2 * carry)

        carry, results = lax.scan(step, x, None, length=3)
        return cnp.sum(carry) + cnp.sum(results)

    random = np.random.default_rng(3)
    x, w = random.standard_normal((2, 5, 5)) * 0.5
    jitted, expected = (ct.jit(ct.grad(loss, (0, 1)), backend=b)(x, w) for b in (None, "interpreter"))
    for a, b in zip(jitted, expected, strict=True):
        np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=1e-10, atol=1e-12)


def lstm(params: Any, state: Any, x: Any) -> Any:
    w, u, b = params
    h, c = state
    i, f, g, o = cnp.split(x @ w + h @ u + b, 4, axis=-1)
    c = nn.sigmoid(f) * c + nn.sigmoid(i) * cnp.tanh(g)
    h = nn.sigmoid(o) * cnp.tanh(c)
    return (h, c), h


def gru(params: Any, state: Any, x: Any) -> Any:
    w, u, b = params
    h = state[0]
    r, z, n = cnp.split(x @ w + b, 3, axis=-1)
    of_r, of_z, of_n = cnp.split(h @ u, 3, axis=-1)
    z = nn.sigmoid(z + of_z)
    h = (1 - z) * cnp.tanh(n + nn.sigmoid(r + of_r) * of_n) + z * h
    return (h, h), h


@pytest.mark.parametrize(("cell", "gates", "most"), [(lstm, 4, 12), (gru, 3, 14)])
def test_what_tangents_of_a_step_are_multiplied_by_is_stacked_as_products(
    cell: Callable[..., Any], gates: int, most: int
) -> None:
    """A scan's scratch memory for each step, in arrays of a state: 17 and 16 where each factor is stacked."""
    rows, width = 8, 16
    random = np.random.default_rng(4)

    def loss(params: Any, x: Any) -> Any:
        start = (cnp.zeros((rows, width), x.dtype),) * 2
        return cnp.mean(lax.scan(lambda state, x: cell(params, state, x), start, x)[1] ** 2)

    def data(length: int, dtype: Any) -> Any:
        shapes = [(width, gates * width), (width, gates * width), (gates * width,), (length, rows, width)]
        *params, x = (random.standard_normal(shape).astype(dtype) * 0.3 for shape in shapes)
        return params, x

    def scratch(length: int) -> int:
        compiled = ct.jit(ct.grad(loss)).lower(*data(length, np.float32)).compile()
        return int(compiled.memory_analysis()["temp_size_in_bytes"])

    assert (scratch(80) - scratch(40)) / 40 <= (most + 0.1) * rows * width * 4

    params, x = data(7, np.float64)
    directions = [random.standard_normal(p.shape) for p in params]
    forward = ct.jvp(lambda params: loss(params, x), (params,), (directions,))[1]
    for gradient in (ct.grad(loss)(params, x), ct.jit(ct.grad(loss))(params, x)):
        product = sum(float(np.sum(np.asarray(g) * d)) for g, d in zip(gradient, directions, strict=True))
        np.testing.assert_allclose(product, float(forward), rtol=1e-10)


def test_what_has_no_folds_keeps_its_bits() -> None:
    """Bytes that are read as another type are no loop of their own: what is behind them is multiplied in its order."""

    def forward(x: Any) -> Any:
        scale = cnp.arcsinh(x)  # whose sign is that of x: a bit
        return scale * cnp.exp(x) * cnp.sin(x) / cnp.sqrt(1 + x * x)

    x = np.random.default_rng(0).standard_normal(2000).astype(np.float32)
    np.testing.assert_array_equal(np.asarray(ct.jit(forward)(x)), np.asarray(forward(cnp.array(x))))
