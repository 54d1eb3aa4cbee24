"""Random initial weights: ``ct.nn.initializers``. Each maker returns ``init(key, shape, dtype)``."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from cotangent import _core, numpy, random
from cotangent._base import primitives
from cotangent._base.arguments import check_arguments, suggestion
from cotangent._base.capture import transformed
from cotangent._base.device import Placement
from cotangent._base.keys import KEY_DTYPE
from cotangent._base.names import suggest_names
from cotangent._base.words import check_word
from cotangent._core import Array
from cotangent._ops import creation
from cotangent._ops.binding import real_dtype
from cotangent._ops.sizes import is_dimension

__all__ = [
    "constant",
    "delta_orthogonal",
    "glorot_normal",
    "glorot_uniform",
    "he_normal",
    "he_uniform",
    "kaiming_normal",
    "kaiming_uniform",
    "lecun_normal",
    "lecun_uniform",
    "normal",
    "ones",
    "orthogonal",
    "truncated_normal",
    "uniform",
    "variance_scaling",
    "xavier_normal",
    "xavier_uniform",
    "zeros",
]

Initializer = Callable[..., Array]


def zeros(key: Any, shape: Sequence[int], dtype: Any = None, out_sharding: Placement = None) -> Array:
    """Weights that are 0.

    Parameters
    ----------
    key : key
        Not looked at.
    shape : sequence of int
        The shape of the weights.
    dtype : dtype, optional
        By default the default floating dtype.
    out_sharding : device or sharding, optional
        What the result is made on; by default the default device.

    Returns
    -------
    array
        Zeros.

    Examples
    --------
    >>> ct.nn.initializers.zeros(ct.random.key(0), (2,))
    Array([0., 0.], dtype=float32)
    """
    del key
    return creation.zeros(shape, dtype)


def ones(key: Any, shape: Sequence[int], dtype: Any = None, out_sharding: Placement = None) -> Array:
    """Weights that are 1.

    Parameters
    ----------
    key : key
        Not looked at.
    shape : sequence of int
        The shape of the weights.
    dtype : dtype, optional
        By default the default floating dtype.
    out_sharding : device or sharding, optional
        What the result is made on; by default the default device.

    Returns
    -------
    array
        Ones.

    Examples
    --------
    >>> ct.nn.initializers.ones(ct.random.key(0), (2,))
    Array([1., 1.], dtype=float32)
    """
    del key
    return creation.ones(shape, dtype)


def _is_shape(value: Any) -> bool:
    return isinstance(value, (tuple, list)) and all(isinstance(size, (int, np.integer)) for size in value)


def _is_key(value: Any) -> bool:
    dtype = getattr(value, "dtype", None)
    return dtype == KEY_DTYPE or (dtype == np.uint32 and value.shape[-1:] == (2,))


def _check_dtype(dtype: Any) -> None:
    """Raises where the weights are described, not where they are drawn, for what is no dtype."""
    if dtype is not None:
        _core.canonical_dtype(dtype)


def constant(value: Any, dtype: Any = None) -> Initializer:
    """Weights that are copies of a value.

    Parameters
    ----------
    value : array
        Broadcast to the shape of the weights.
    dtype : dtype, optional
        By default the default floating dtype.

    Returns
    -------
    callable
        ``init(key, shape, dtype)``.

    Examples
    --------
    >>> ct.nn.initializers.constant(0.5)(ct.random.key(0), (2,))
    Array([0.5, 0.5], dtype=float32)
    """
    _check_dtype(dtype)

    def init(key: Any, shape: Sequence[int], dtype: Any = dtype) -> Array:
        del key
        return creation.full(shape, value, _core.default_float_dtype() if dtype is None else dtype)

    return transformed(init)(init)


def uniform(scale: Any = 1e-2, dtype: Any = None) -> Initializer:
    """Weights evenly distributed over [0, scale).

    Parameters
    ----------
    scale : float
        The upper end.
    dtype : dtype, optional
        By default the default floating dtype.

    Returns
    -------
    callable
        ``init(key, shape, dtype)``.

    Examples
    --------
    >>> w = ct.nn.initializers.uniform(1.0)(ct.random.key(0), (200, 300))
    >>> round(float(w.mean()), 2)
    0.5
    """
    _check_dtype(dtype)

    def init(key: Any, shape: Sequence[int], dtype: Any = dtype) -> Array:
        draws = random.uniform(key, shape, dtype)
        return draws * _core.convert(scale, draws.dtype)

    return transformed(init)(init)


def normal(stddev: Any = 1e-2, dtype: Any = None) -> Initializer:
    """Weights normally distributed around 0.

    Parameters
    ----------
    stddev : float
        The standard deviation.
    dtype : dtype, optional
        By default the default floating dtype.

    Returns
    -------
    callable
        ``init(key, shape, dtype)``.

    Examples
    --------
    >>> w = ct.nn.initializers.normal(0.5)(ct.random.key(0), (200, 300))
    >>> round(float(w.std()), 2)
    0.5
    """
    _check_dtype(dtype)

    def init(key: Any, shape: Sequence[int], dtype: Any = dtype) -> Array:
        draws = random.normal(key, shape, dtype)
        return draws * _core.convert(stddev, draws.dtype)

    return transformed(init)(init)


def truncated_normal(stddev: Any = 1e-2, dtype: Any = None, lower: float = -2.0, upper: float = 2.0) -> Initializer:
    """Weights normally distributed around 0 and cut at two ends.

    Parameters
    ----------
    stddev : float
        The standard deviation before anything is cut off.
    dtype : dtype, optional
        By default the default floating dtype.
    lower, upper : float
        The ends, in standard deviations.

    Returns
    -------
    callable
        ``init(key, shape, dtype)``.

    Examples
    --------
    >>> w = ct.nn.initializers.truncated_normal(0.5)(ct.random.key(0), (200, 300))
    >>> round(float(w.std()), 2), bool(abs(w).max() <= 1.0)
    (0.44, True)
    """
    _check_dtype(dtype)

    def init(key: Any, shape: Sequence[int], dtype: Any = dtype) -> Array:
        draws = random.truncated_normal(key, lower, upper, shape, dtype)
        return draws * _core.convert(stddev, draws.dtype)

    return transformed(init)(init)


def variance_scaling(
    scale: float,
    mode: str,
    distribution: str,
    in_axis: int | Sequence[int] = -2,
    out_axis: int | Sequence[int] = -1,
    batch_axis: Sequence[int] = (),
    dtype: Any = None,
) -> Initializer:
    """Weights of variance ``scale / n``, n the number of inputs, of outputs, or their mean.

    Axes that are none of inputs, outputs and batch belong to a convolution's window, and count for both.

    Parameters
    ----------
    scale : float
        The factor.
    mode : str
        "fan_in", "fan_out", "fan_avg" or "fan_geo_avg" (their geometric mean): what n is.
    distribution : str
        "truncated_normal" (cut at two standard deviations), "normal" or "uniform".
    in_axis : int or sequence of int
        Axes of inputs, by default the last but one.
    out_axis : int or sequence of int
        Axes of outputs, by default the last.
    batch_axis : sequence of int
        Axes that are neither.
    dtype : dtype, optional
        By default the default floating dtype.

    Returns
    -------
    callable
        ``init(key, shape, dtype)``.

    Raises
    ------
    ValueError
        The mode or the distribution is unknown.

    References
    ----------
    Kaiming He, Xiangyu Zhang, Shaoqing Ren and Jian Sun, "Delving deep into rectifiers: surpassing human-level
    performance on ImageNet classification", 2015.

    Examples
    --------
    >>> init = ct.nn.initializers.variance_scaling(2.0, "fan_in", "normal")
    >>> round(float(init(ct.random.key(0), (200, 300)).var()), 3)
    0.01
    """
    check_word("variance_scaling", "mode", mode, ("fan_in", "fan_out", "fan_avg", "fan_geo_avg"))
    kinds = ("truncated_normal", "normal", "uniform")
    if distribution not in kinds:
        raise ValueError(
            f"variance_scaling: unknown distribution {distribution!r}{suggestion(distribution, kinds)}\n  pass one of {', '.join(kinds)}"
        )
    _check_dtype(dtype)

    def init(key: Any, shape: Sequence[int], dtype: Any = dtype) -> Array:
        if in_axis == -2 and len(shape) < 2:
            raise ValueError(
                f"variance_scaling needs weights of at least two axes; got shape {tuple(shape)}\n"
                "  add an axis to the shape, or say which axes are inputs with in_axis"
            )
        inputs, outputs = _product(shape, in_axis), _product(shape, out_axis)
        field = _product(shape, range(len(shape))) / inputs / outputs / _product(shape, batch_axis)
        count = {
            "fan_in": inputs * field,
            "fan_out": outputs * field,
            "fan_avg": (inputs + outputs) * field / 2,
            "fan_geo_avg": (inputs * outputs) ** 0.5 * field,
        }[mode]
        dtype = _core.default_float_dtype() if dtype is None else _core.canonical_dtype(dtype)
        variance = scale / count
        if distribution == "normal":
            return random.normal(key, shape, dtype) * _root(variance, dtype)
        if _core.dtype_kind(dtype) == "complex":
            radius = None if distribution == "uniform" else 2.0
            return _disk(key, shape, dtype, radius) * _root(variance, dtype)
        if distribution == "uniform":
            return random.uniform(key, shape, dtype, -1.0, 1.0) * _root(3 * variance, dtype)
        # The standard deviation of a normal distribution cut at 2 of its own.
        return random.truncated_normal(key, -2.0, 2.0, shape, dtype) * (_root(variance, dtype) / 0.87962566103423978)

    return transformed(init)(init)


def _root(value: float | Array, dtype: Any) -> float | Array:
    """The square root of a number; of a value, in the real dtype of what is drawn."""
    if isinstance(value, Array):
        return primitives.sqrt(value).astype(real_dtype(dtype))
    return math.sqrt(value)


def _disk(key: Any, shape: Sequence[int], dtype: Any, radius: float | None) -> Array:
    """Complex numbers of mean 0 and variance 1 in a disk: evenly distributed, or normally up to ``radius`` standard deviations."""
    keys = random.split(key)
    part = real_dtype(dtype)
    draws, turns = (random.uniform(keys[i], shape, part) for i in range(2))
    if radius is None:
        length = numpy.sqrt(2 * draws)
    else:
        inside = 1 - math.exp(-(radius**2))
        # What JAX takes for the standard deviation of what is left inside of the radius 2.
        length = numpy.sqrt(-numpy.log1p(-inside * draws)) / 0.95311164380491208
    angle = 2 * math.pi * turns
    return primitives.complex(length * numpy.cos(angle), length * numpy.sin(angle))


def _product(shape: Sequence[int], axes: int | Sequence[int]) -> Any:
    """The product of the sizes of some axes, a value where one is ragged; in float64, as that of numbers."""
    sizes = [shape[axis] for axis in ([axes] if isinstance(axes, (int, np.integer)) else axes)]
    return math.prod(_core.array(size).astype("float64") if is_dimension(size) else size for size in sizes)


_GLOROT = 'Xavier Glorot and Yoshua Bengio, "Understanding the difficulty of training deep feedforward neural networks", 2010.'
_LECUN = 'Yann LeCun, Léon Bottou, Genevieve B. Orr and Klaus-Robert Müller, "Efficient BackProp", 1998.'
_HE = (
    'Kaiming He, Xiangyu Zhang, Shaoqing Ren and Jian Sun, "Delving deep into rectifiers: surpassing human-level\n'
    '    performance on ImageNet classification", 2015.'
)
_DISTRIBUTIONS = {"uniform": "evenly", "truncated_normal": "normally"}
_COUNTS = {"fan_avg": "the mean of the numbers of inputs and outputs", "fan_in": "the number of inputs"}
_TEXT = """Weights that are {spread} distributed, of variance {scale:g} over {count}.

    It is `variance_scaling` with ``scale={scale}``, ``mode="{mode}"`` and ``distribution="{distribution}"``.

    Parameters
    ----------
    in_axis : int or sequence of int
        Axes of inputs, by default the last but one.
    out_axis : int or sequence of int
        Axes of outputs, by default the last.
    batch_axis : sequence of int
        Axes that are neither.
    dtype : dtype, optional
        By default the default floating dtype.

    Returns
    -------
    callable
        ``init(key, shape, dtype)``.

    References
    ----------
    {reference}

    Examples
    --------
    >>> w = ct.nn.initializers.{name}()(ct.random.key(0), (200, 300))
    >>> round(float(w.std()), 2)
    {deviation}
    """


def _scaled(name: str, scale: float, mode: str, distribution: str, reference: str, deviation: float) -> Any:
    """``deviation``: the standard deviation of 200 by 300 weights, for the example."""

    def maker(
        in_axis: int | Sequence[int] = -2,
        out_axis: int | Sequence[int] = -1,
        batch_axis: Sequence[int] = (),
        dtype: Any = None,
    ) -> Initializer:
        return variance_scaling(scale, mode, distribution, in_axis, out_axis, batch_axis, dtype)

    maker.__name__ = maker.__qualname__ = name
    spread, count = _DISTRIBUTIONS[distribution], _COUNTS[mode]
    maker.__doc__ = _TEXT.format(
        name=name, scale=scale, mode=mode, distribution=distribution, reference=reference, deviation=deviation,
        spread=spread, count=count,
    )  # fmt: skip
    return maker


glorot_uniform = xavier_uniform = _scaled("glorot_uniform", 1.0, "fan_avg", "uniform", _GLOROT, 0.06)
glorot_normal = xavier_normal = _scaled("glorot_normal", 1.0, "fan_avg", "truncated_normal", _GLOROT, 0.06)
lecun_uniform = _scaled("lecun_uniform", 1.0, "fan_in", "uniform", _LECUN, 0.07)
lecun_normal = _scaled("lecun_normal", 1.0, "fan_in", "truncated_normal", _LECUN, 0.07)
he_uniform = kaiming_uniform = _scaled("he_uniform", 2.0, "fan_in", "uniform", _HE, 0.1)
he_normal = kaiming_normal = _scaled("he_normal", 2.0, "fan_in", "truncated_normal", _HE, 0.1)


def orthogonal(scale: Any = 1.0, column_axis: int = -1, dtype: Any = None) -> Initializer:
    """Matrices with orthonormal columns (or rows, where there are more columns), times a factor.

    Parameters
    ----------
    scale : float
        The factor.
    column_axis : int
        The axis of columns, by default the last; the others together are the rows.
    dtype : dtype, optional
        By default the default floating dtype.

    Returns
    -------
    callable
        ``init(key, shape, dtype)``, for shapes of at least two axes.

    References
    ----------
    Andrew M. Saxe, James L. McClelland and Surya Ganguli, "Exact solutions to the nonlinear dynamics of learning in
    deep linear neural networks", 2013.

    Examples
    --------
    >>> w = ct.nn.initializers.orthogonal()(ct.random.key(0), (3, 2))
    >>> ct.numpy.abs(w.T @ w).round(3)
    Array([[1., 0.],
           [0., 1.]], dtype=float32)
    """
    _check_dtype(dtype)

    def init(key: Any, shape: Sequence[int], dtype: Any = dtype) -> Array:
        if len(shape) < 2:
            raise ValueError(
                f"orthogonal needs weights of at least two axes; got shape {tuple(shape)}\n"
                "  pass (1, *shape), and take the first row"
            )
        columns = shape[column_axis]
        if len(shape) == 2 and is_dimension(columns) and is_dimension(shape[0]) and shape[0] == shape[1]:
            square = random.orthogonal(key, columns, (), dtype)
            weights = square if column_axis % 2 else numpy.matrix_transpose(square)
            return weights * _core.convert(scale, weights.dtype)
        if 0 in shape:
            return creation.zeros(shape, dtype)
        matrix = random.orthogonal(key, math.prod(shape) // columns, (), dtype, columns)
        others = [size for axis, size in enumerate(shape) if axis != column_axis % len(shape)]
        weights = numpy.moveaxis(numpy.reshape(matrix, (*others, columns)), -1, column_axis)
        return weights * _core.convert(scale, weights.dtype)

    return transformed(init)(init)


def delta_orthogonal(scale: Any = 1.0, column_axis: int = -1, dtype: Any = None) -> Initializer:
    """Weights of convolutions that are an orthogonal matrix at the centre and 0 elsewhere.

    Parameters
    ----------
    scale : float
        The factor.
    column_axis : int
        The axis of columns, by default the last.
    dtype : dtype, optional
        By default the default floating dtype.

    Returns
    -------
    callable
        ``init(key, shape, dtype)``, for shapes of three to five axes with at least as many outputs as inputs.

    References
    ----------
    Lechao Xiao and others, "Dynamical isometry and a mean field theory of CNNs: how to train 10,000-layer vanilla
    convolutional neural networks", 2018.

    Examples
    --------
    >>> w = ct.nn.initializers.delta_orthogonal()(ct.random.key(0), (3, 2, 2))
    >>> (w * w).sum((1, 2)).round(3)
    Array([0., 2., 0.], dtype=float32)
    """
    _check_dtype(dtype)

    def init(key: Any, shape: Sequence[int], dtype: Any = dtype) -> Array:
        if len(shape) not in (3, 4, 5):
            raise ValueError(
                f"delta_orthogonal needs weights of three to five axes; got shape {tuple(shape)}\n"
                "  pass (window..., inputs, outputs); orthogonal() is for matrices"
            )
        if shape[-1] < shape[-2]:
            raise ValueError(
                f"delta_orthogonal needs at least as many outputs as inputs; got shape {tuple(shape)}\n"
                "  put the inputs before the outputs, or use orthogonal()"
            )
        matrix = orthogonal(scale, column_axis, dtype)(key, shape[-2:], dtype)
        low = [(size - 1) // 2 for size in shape[:-2]] + [0, 0]
        high = [size - 1 - at for size, at in zip(shape[:-2], low, strict=False)] + [0, 0]
        wide = primitives.reshape(matrix, shape=[1] * (len(shape) - 2) + list(shape[-2:]))
        zero = _core.full((), 0, matrix.dtype)
        return primitives.pad(wide, zero, low=low, high=high, interior=[0] * len(shape))

    return transformed(init)(init)


# What makers have no default for.
_EXAMPLES = {"constant": ("0.5",), "variance_scaling": ("1.0", "'fan_in'", "'normal'")}


def _maker(function: Any) -> Any:
    """A maker of initializers, which says so where it is called as what it makes: with a key and a shape."""

    @functools.wraps(function)
    def made_by(*args: Any, **kwargs: Any) -> Initializer:
        if args and _is_key(args[0]) and (len(args) == 1 or _is_shape(args[1])):
            shape = repr(tuple(args[1])) if len(args) > 1 else "shape"
            needed = ", ".join(_EXAMPLES.get(function.__name__, ()))
            raise TypeError(
                f"{function.__name__} makes a function, which takes the key and the shape\n"
                f"  write {function.__name__}({needed})(key, {shape})"
            )
        made: Initializer = function(*args, **kwargs)
        return made

    return _core.leaving(made_by)


check_arguments(globals())
# Before its arguments are looked at: a key and a shape are none of them.
_makers = {globals()[name]: _maker(globals()[name]) for name in __all__ if name not in ("ones", "zeros")}
globals().update({name: _makers.get(globals()[name], globals()[name]) for name in __all__})
suggest_names(globals())
