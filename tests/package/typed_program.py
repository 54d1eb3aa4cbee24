"""A typed program of a user's. `./dev lint` checks it with ``mypy --strict`` and, strictly, with pyright; the tests run it."""

from typing import Any, assert_type

import cotangent as ct
import cotangent.numpy as cnp
from cotangent import Array

Parameters = dict[str, Array]


def initial(seed: int) -> Parameters:
    first, second = ct.random.split(ct.random.key(seed))
    return {"w": ct.random.normal(first, (3, 4)), "b": ct.random.uniform(second, (4,))}


def loss(parameters: Parameters, x: Array) -> Array:
    hidden = ct.nn.relu(x @ parameters["w"] + parameters["b"])
    return cnp.sum(cnp.linalg.norm(hidden, axis=-1)) + ct.scipy.special.gammaln(cnp.abs(cnp.fft.fft(hidden)).sum())


def descended(p: Array, g: Array) -> Array:
    return p - 0.1 * g


@ct.jit
def step(parameters: Parameters, x: Array) -> Parameters:
    gradient = ct.grad(loss)(parameters, x)
    updated: Parameters = ct.tree.map(descended, parameters, gradient)
    return updated


@ct.jit(static_argnames="times")
def repeated(x: Array, times: int) -> Array:
    return x * times


def main() -> None:
    parameters = initial(0)
    x = cnp.ones((5, 3))
    assert_type(step(parameters, x), Parameters)
    assert_type(repeated(x, 2), Array)
    assert_type(ct.vmap(cnp.tanh)(x), Array)
    assert_type(ct.value_and_grad(loss)(parameters, x), tuple[Array, Any])
    assert set(step(parameters, x)) == {"w", "b"}
    assert float(repeated(x, times=2)[0, 0]) == 2.0


if __name__ == "__main__":
    main()
