"""``jax.example_libraries.stax``: layers as pairs of functions, ``init(key, shape) -> (shape, params)`` and ``apply(params, inputs)``."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import cotangent as ct
import cotangent.numpy as cnp
from cotangent import _core, lax, nn, random
from cotangent.nn import initializers

__all__ = [
    "AvgPool",
    "BatchNorm",
    "Conv",
    "Conv1DTranspose",
    "ConvTranspose",
    "Dense",
    "Dropout",
    "Elu",
    "Exp",
    "FanInConcat",
    "FanInSum",
    "FanOut",
    "Flatten",
    "Gelu",
    "GeneralConv",
    "GeneralConvTranspose",
    "Identity",
    "LeakyRelu",
    "LogSoftmax",
    "MaxPool",
    "Relu",
    "Selu",
    "Sigmoid",
    "Softmax",
    "Softplus",
    "SumPool",
    "Tanh",
    "elementwise",
    "elu",
    "gelu",
    "glorot",
    "glorot_normal",
    "leaky_relu",
    "log_softmax",
    "logsoftmax",
    "normal",
    "ones",
    "parallel",
    "randn",
    "relu",
    "selu",
    "serial",
    "shape_dependent",
    "sigmoid",
    "softmax",
    "softplus",
    "standardize",
    "zeros",
]

elu, gelu, leaky_relu, relu, selu = nn.elu, nn.gelu, nn.leaky_relu, nn.relu, nn.selu
sigmoid, softmax, softplus, standardize = nn.sigmoid, nn.softmax, nn.softplus, nn.standardize
log_softmax = logsoftmax = nn.log_softmax
glorot = glorot_normal = initializers.glorot_normal
normal = randn = initializers.normal
ones, zeros = initializers.ones, initializers.zeros

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


_Numbers = tuple[str, str, str]


def _shape_of(apply: Callable[..., Any], input_shape: Sequence[int], batch: int, out_batch: int, *others: Any) -> Any:
    """The shape of what a function makes of an input, whose batch may be -1."""
    sizes = list(input_shape)
    sizes[batch] = 1
    shape = list(ct.eval_shape(apply, ct.ShapeDtypeStruct(sizes, "float32"), *others).shape)
    shape[out_batch] = input_shape[batch]
    return tuple(shape)


def _convolution(
    convolve: Callable[..., Any],
    dimension_numbers: _Numbers,
    out_chan: int,
    filter_shape: Sequence[int],
    make_w: Any,
    make_b: Any,
) -> Layer:
    lhs, rhs, out = dimension_numbers
    make_w = make_w or glorot_normal(rhs.index("I"), rhs.index("O"))
    make_b = make_b or normal(1e-6)

    def init(rng: Any, input_shape: Sequence[int]) -> Any:
        window = iter(filter_shape)
        sizes = {"O": out_chan, "I": input_shape[lhs.index("C")]}
        kernel = tuple(sizes[axis] if axis in sizes else next(window) for axis in rhs)
        first, second = random.split(rng)
        weights = make_w(first, kernel), make_b(second, tuple(out_chan if axis == "C" else 1 for axis in out))
        return _shape_of(convolve, input_shape, lhs.index("N"), out.index("N"), weights[0]), weights

    def apply(params: Any, inputs: Any, **_: Any) -> Any:
        weight, bias = params
        return convolve(inputs, weight) + bias

    return init, apply


def GeneralConv(  # noqa: N802 (JAX's name)
    dimension_numbers: _Numbers,
    out_chan: int,
    filter_shape: Sequence[int],
    strides: Sequence[int] | None = None,
    padding: Any = "VALID",
    W_init: Any = None,
    b_init: Any = None,
) -> Layer:
    """A convolution."""
    steps = tuple(strides or (1,) * len(filter_shape))

    def convolve(inputs: Any, weight: Any) -> Any:
        return lax.conv_general_dilated(inputs, weight, steps, padding, dimension_numbers=dimension_numbers)

    return _convolution(convolve, dimension_numbers, out_chan, filter_shape, W_init, b_init)


def GeneralConvTranspose(  # noqa: N802 (JAX's name)
    dimension_numbers: _Numbers,
    out_chan: int,
    filter_shape: Sequence[int],
    strides: Sequence[int] | None = None,
    padding: Any = "VALID",
    W_init: Any = None,
    b_init: Any = None,
) -> Layer:
    """A transposed convolution."""
    steps = tuple(strides or (1,) * len(filter_shape))

    def convolve(inputs: Any, weight: Any) -> Any:
        return lax.conv_transpose(inputs, weight, steps, padding, dimension_numbers=dimension_numbers)

    return _convolution(convolve, dimension_numbers, out_chan, filter_shape, W_init, b_init)


Conv = functools.partial(GeneralConv, ("NHWC", "HWIO", "NHWC"))
ConvTranspose = functools.partial(GeneralConvTranspose, ("NHWC", "HWIO", "NHWC"))
Conv1DTranspose = functools.partial(GeneralConvTranspose, ("NHC", "HIO", "NHC"))


def _pooling(reducer: Callable[..., Any], start: float, mean: bool = False) -> Callable[..., Layer]:
    def pool(
        window_shape: Sequence[int],
        strides: Sequence[int] | None = None,
        padding: Any = "VALID",
        spec: str | None = None,
    ) -> Layer:
        """A layer that reduces windows."""
        spec = spec or "N" + "S" * len(window_shape) + "C"
        sizes, steps = iter(window_shape), iter(strides or (1,) * len(window_shape))
        window = tuple(1 if axis in "NC" else next(sizes) for axis in spec)
        step = tuple(1 if axis in "NC" else next(steps) for axis in spec)

        def reduce(inputs: Any) -> Any:
            reduced = lax.reduce_window(inputs, start, reducer, window, step, padding)
            if not mean:
                return reduced
            # Of windows that reach outside, what is inside.
            shape = [1 if axis in "NC" else size for axis, size in zip(spec, inputs.shape, strict=True)]
            counted = cnp.ones(shape, inputs.dtype)
            return reduced / lax.reduce_window(counted, 0.0, lax.add, window, step, padding)

        batch = spec.index("N")
        return (
            lambda rng, input_shape: (_shape_of(reduce, input_shape, batch, batch), ()),
            lambda params, inputs, **_: reduce(inputs),
        )

    return pool


MaxPool, SumPool = _pooling(lax.max, -math.inf), _pooling(lax.add, 0.0)
AvgPool = _pooling(lax.add, 0.0, mean=True)


def BatchNorm(  # noqa: N802 (JAX's name)
    axis: int | Sequence[int] = (0, 1, 2),
    epsilon: float = 1e-5,
    center: bool = True,
    scale: bool = True,
    beta_init: Any = zeros,
    gamma_init: Any = ones,
) -> Layer:
    """A layer that standardizes along the axes, with a learned mean and scale."""
    axes = (axis,) if isinstance(axis, int) else tuple(axis)

    def init(rng: Any, input_shape: Sequence[int]) -> Any:
        shape = tuple(size for i, size in enumerate(input_shape) if i not in axes)
        first, second = random.split(rng)
        beta = beta_init(first, shape) if center else ()
        return input_shape, (beta, gamma_init(second, shape) if scale else ())

    def apply(params: Any, x: Any, **_: Any) -> Any:
        beta, gamma = params
        along = tuple(None if i in axes else slice(None) for i in range(x.ndim))
        z = standardize(x, axes, epsilon=epsilon)
        if scale:
            z = cnp.asarray(gamma, z.dtype)[along] * z
        return z + cnp.asarray(beta, z.dtype)[along] if center else z

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
