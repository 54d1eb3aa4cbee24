"""``jax.example_libraries.stax``: layers as pairs of functions, ``init(key, shape) -> (shape, params)`` and ``apply(params, inputs)``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import cotangent as ct
import cotangent.numpy as cnp
from cotangent import _core, nn, random
from cotangent.nn import initializers

__all__ = [
    "Dense",
    "Dropout",
    "Elu",
    "Exp",
    "FanInConcat",
    "FanInSum",
    "FanOut",
    "Flatten",
    "Gelu",
    "Identity",
    "LeakyRelu",
    "LogSoftmax",
    "Relu",
    "Selu",
    "Sigmoid",
    "Softmax",
    "Softplus",
    "Tanh",
    "elementwise",
    "parallel",
    "serial",
    "shape_dependent",
]

Layer = tuple[Callable[..., Any], Callable[..., Any]]


def Dense(out_dim: int, W_init: Any = None, b_init: Any = None) -> Layer:  # noqa: N802 (JAX's name)
    """An affine layer."""
    make_w, make_b = W_init or initializers.glorot_normal(), b_init or initializers.normal()

    def init(rng: Any, input_shape: Sequence[int]) -> Any:
        first, second = random.split(rng)
        weights = make_w(first, (input_shape[-1], out_dim)), make_b(second, (out_dim,))
        return (*input_shape[:-1], out_dim), weights

    def apply(params: Any, inputs: Any, **_: Any) -> Any:
        weight, bias = params
        return cnp.dot(inputs, weight) + bias

    return init, apply


def elementwise(fun: Callable[..., Any], **fun_kwargs: Any) -> Layer:
    """A layer without parameters that applies a function to each element."""
    return lambda rng, input_shape: (input_shape, ()), lambda params, inputs, **_: fun(inputs, **fun_kwargs)


Tanh, Relu, Exp, Sigmoid = elementwise(cnp.tanh), elementwise(nn.relu), elementwise(cnp.exp), elementwise(nn.sigmoid)
Elu, LeakyRelu, Selu, Gelu = (elementwise(kind) for kind in (nn.elu, nn.leaky_relu, nn.selu, nn.gelu))
Softplus = elementwise(nn.softplus)
LogSoftmax, Softmax = elementwise(nn.log_softmax, axis=-1), elementwise(nn.softmax, axis=-1)
Identity: Layer = elementwise(lambda x: x)


def _flat_shape(shape: Sequence[int]) -> tuple[int, ...]:
    size = 1
    for length in shape[1:]:
        size *= length
    return shape[0], size


Flatten: Layer = (
    lambda rng, input_shape: (_flat_shape(input_shape), ()),
    lambda params, inputs, **_: cnp.reshape(inputs, _flat_shape(inputs.shape)),
)


def FanOut(num: int) -> Layer:  # noqa: N802 (JAX's name)
    """The input several times."""
    return lambda rng, input_shape: ([input_shape] * num, ()), lambda params, inputs, **_: [inputs] * num


FanInSum: Layer = (lambda rng, input_shape: (input_shape[0], ()), lambda params, inputs, **_: sum(inputs))


def FanInConcat(axis: int = -1) -> Layer:  # noqa: N802 (JAX's name)
    """The inputs side by side."""

    def init(rng: Any, input_shape: Sequence[Sequence[int]]) -> Any:
        shape = list(input_shape[0])
        shape[axis] = sum(each[axis] for each in input_shape)
        return tuple(shape), ()

    return init, lambda params, inputs, **_: cnp.concatenate(inputs, axis)


def Dropout(rate: float, mode: str = "train") -> Layer:  # noqa: N802 (JAX's name)
    """A layer that keeps elements with probability ``rate``, where it trains."""

    @_core.leaving
    def apply(params: Any, inputs: Any, **kwargs: Any) -> Any:
        if mode != "train":
            return inputs
        if kwargs.get("rng") is None:
            raise ValueError(
                "Dropout: where it trains, apply takes a random key\n  call apply(params, inputs, rng=key)"
            )
        return cnp.where(random.bernoulli(kwargs["rng"], rate, inputs.shape), inputs / rate, 0)

    return lambda rng, input_shape: (input_shape, ()), apply


def _keys(rng: Any, count: int) -> Any:
    return (None,) * count if rng is None else random.split(rng, count)


def serial(*layers: Layer) -> Layer:
    """Layers one after the other."""

    def init(rng: Any, input_shape: Any) -> Any:
        params = []
        for make, _ in layers:
            rng, own = random.split(rng)
            input_shape, made = make(own, input_shape)
            params.append(made)
        return input_shape, params

    def apply(params: Any, inputs: Any, **kwargs: Any) -> Any:
        keys = _keys(kwargs.pop("rng", None), len(layers))
        for (_, run), own, key in zip(layers, params, keys, strict=True):
            inputs = run(own, inputs, rng=key, **kwargs)
        return inputs

    return init, apply


def parallel(*layers: Layer) -> Layer:
    """Layers side by side, of a list of inputs."""

    def init(rng: Any, input_shape: Any) -> Any:
        keys = random.split(rng, len(layers))
        made = [make(key, shape) for (make, _), key, shape in zip(layers, keys, input_shape, strict=True)]
        return [shape for shape, _ in made], tuple(params for _, params in made)

    def apply(params: Any, inputs: Any, **kwargs: Any) -> Any:
        keys = _keys(kwargs.pop("rng", None), len(layers))
        each = zip(layers, params, inputs, keys, strict=True)
        return [run(own, x, rng=key, **kwargs) for (_, run), own, x, key in each]

    return init, apply


def shape_dependent(make_layer: Callable[[Any], Layer]) -> Layer:
    """A layer that is made for a shape of its input."""

    def init(rng: Any, input_shape: Any) -> Any:
        return make_layer(input_shape)[0](rng, input_shape)

    def apply(params: Any, inputs: Any, **kwargs: Any) -> Any:
        return make_layer(ct.numpy.shape(inputs))[1](params, inputs, **kwargs)

    return init, apply
