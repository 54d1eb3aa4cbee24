"""Activations, written so that values do not overflow and derivatives of every order are right where the formula changes."""

from __future__ import annotations

import math
from typing import Any

from cotangent import _core
from cotangent._base import primitives
from cotangent._base.arguments import check_arguments
from cotangent._base.capture import give_lengths
from cotangent._core import Array
from cotangent._ops.binding import choose, inexact, kind, literal, ordered, own
from cotangent._ops.extents import capacity, slice_axis, without_padding
from cotangent._ops.per_element import elementwise, pick
from cotangent._ops.sizes import normalize_axis, ragged_length
from cotangent._special.error import gelu_of_one
from cotangent._special.logistic import is_below, sigmoid
from cotangent._special.support import floats
from cotangent._transforms.rules_by_type import custom_jvp_by_type
from cotangent.errors import ShapeError
from cotangent.nn.rectifiers import relu6, softplus

__all__ = [
    "gelu",
    "glu",
    "hard_sigmoid",
    "hard_silu",
    "hard_swish",
    "hard_tanh",
    "identity",
    "log1mexp",
    "log_sigmoid",
    "mish",
    "silu",
    "soft_sign",
    "swish",
]


@own
def identity(x: Any) -> Array:
    """The value itself, as an array.

    Parameters
    ----------
    x : array
        Anything that is one.

    Returns
    -------
    array
        ``x``.

    Examples
    --------
    >>> ct.nn.identity(ct.numpy.array([-1.0, 2.0]))
    Array([-1.,  2.], dtype=float32)
    """
    return _core.array(x)


def _log1mexp_slope(x: Array, result: Array) -> Array:
    # From here on the 1 of expm1 does not count, and the exponential of all of x would overflow first.
    far = x > 80.0
    inverse = 1.0 / primitives.expm1(pick(far, 0.5 * x, x))
    return pick(far, inverse * inverse, inverse)


@elementwise(_log1mexp_slope)
def _log1mexp(x: Array) -> Array:
    near = x < math.log(2.0)
    close = primitives.log(-primitives.expm1(-pick(near, x, 0.5)))
    far = primitives.log1p(-primitives.exp(-pick(near, 1.0, x)))
    return pick(near, close, far)


def log1mexp(x: Any) -> Array:
    """The logarithm ``log(1 - exp(-x))`` for positive numbers, accurate near 0 and far from it.

    Parameters
    ----------
    x : array
        Positive numbers; the result is -inf at 0 and NaN below.

    Returns
    -------
    array
        Of the shape of ``x``.

    References
    ----------
    Martin Mächler, "Accurately computing log(1 - exp(-|a|))", 2012.

    Examples
    --------
    >>> ct.nn.log1mexp(ct.numpy.array([0.5, 2.0])).round(4)
    Array([-0.9328, -0.1454], dtype=float32)
    """
    return _log1mexp(inexact(x))


def _soft_sign_slope(x: Array, result: Array) -> Array:
    # The inverse first: the square of the sum may overflow.
    inverse = 1.0 / (primitives.abs(x) + 1.0)
    return inverse * inverse


@elementwise(_soft_sign_slope)
def _real_soft_sign(x: Array) -> Array:
    return x / (primitives.abs(x) + 1.0)


def soft_sign(x: Any) -> Array:
    """The quotient ``x / (|x| + 1)``, which lies between -1 and 1.

    Parameters
    ----------
    x : array
        Numbers; integers are computed in the default floating dtype.

    Returns
    -------
    array
        Of the shape of ``x``.

    Examples
    --------
    >>> ct.nn.soft_sign(ct.numpy.array([-1.0, 3.0]))
    Array([-0.5 ,  0.75], dtype=float32)
    """
    array = inexact(x)
    return array / (primitives.abs(array) + 1) if kind(array) == "complex" else _real_soft_sign(array)


def _silu(x: Array) -> tuple[Array, Array]:
    """`silu` of reals, and its derivative."""
    below = is_below(x, 0.0)
    # Half of the exponential at a time: the whole may be subnormal where x times it is not.
    root = primitives.exp(literal(x, 0.5) * choose(below, x, primitives.neg(x)))
    small = root * root
    total = literal(x, 1.0) + small
    value = choose(below, x * root * root, x) / total
    slope = (choose(below, small, 1.0) + x * small / total) / total
    return value, slope


@custom_jvp_by_type
def _real_silu(x: Array) -> Array:
    return _silu(x)[0]


@_real_silu.defjvp
def _real_silu_jvp(primals: tuple[Array], tangents: tuple[Array]) -> tuple[Array, Array]:
    value, slope = _silu(*primals)
    return value, tangents[0] * slope


def silu(x: Any) -> Array:
    """The product ``x * sigmoid(x)``, also called swish.

    Parameters
    ----------
    x : array
        Numbers; integers are computed in the default floating dtype.

    Returns
    -------
    array
        Of the shape of ``x``.

    References
    ----------
    Stefan Elfwing, Eiji Uchibe and Kenji Doya, "Sigmoid-weighted linear units for neural network function
    approximation in reinforcement learning", 2018.

    Examples
    --------
    >>> ct.nn.silu(ct.numpy.array([0.0, 2.0])).round(4)
    Array([0.    , 1.7616], dtype=float32)
    """
    array = inexact(x)
    if kind(array) == "complex":
        return array * sigmoid(array)
    return _real_silu(array)  # type: ignore[no-any-return]


swish = silu


def _mish(x: Array) -> tuple[Array, Array]:
    """`mish` of reals, and its derivative: rational functions of one exponential."""
    below, one, two = is_below(x, 0.0), literal(x, 1.0), literal(x, 2.0)
    root = primitives.exp(literal(x, 0.5) * choose(below, x, primitives.neg(x)))
    small = root * root
    # tanh(softplus(x)) is (y^2 + 2 y) / (y^2 + 2 y + 2) with y = exp(x), and (1 + 2 y) / (1 + 2 y + 2 y^2) with y = exp(-x).
    total = choose(below, small * (small + two) + two, one + two * small * (one + small))
    value = choose(below, (x * root * root) * (small + two), x * (one + two * small)) / total
    tanh_of_softplus = choose(below, small * (small + two), one + two * small) / total
    rest = literal(x, 4.0) * x * (small * (one + small)) * choose(below, 1.0, small) / (total * total)
    return value, tanh_of_softplus + rest


@custom_jvp_by_type
def _real_mish(x: Array) -> Array:
    return _mish(x)[0]


@_real_mish.defjvp
def _real_mish_jvp(primals: tuple[Array], tangents: tuple[Array]) -> tuple[Array, Array]:
    value, slope = _mish(*primals)
    return value, tangents[0] * slope


def mish(x: Any) -> Array:
    """The product ``x * tanh(softplus(x))``.

    Parameters
    ----------
    x : array
        Numbers; integers are computed in the default floating dtype.

    Returns
    -------
    array
        Of the shape of ``x``.

    References
    ----------
    Diganta Misra, "Mish: a self regularized non-monotonic activation function", 2019.

    Examples
    --------
    >>> ct.nn.mish(ct.numpy.array([0.0, 2.0])).round(4)
    Array([0.   , 1.944], dtype=float32)
    """
    array = inexact(x)
    if kind(array) == "complex":
        return array * primitives.tanh(softplus(array))
    return _real_mish(array)  # type: ignore[no-any-return]


def gelu(x: Any, approximate: bool = True) -> Array:
    """The product of ``x`` and the normal distribution function at ``x``.

    Below -5 the formula with tanh is ill-conditioned (it falls like ``exp(x**3 / 14)``): there its relative error
    grows to ``|x|**3`` units in the last place.

    Parameters
    ----------
    x : array
        Real numbers; integers are computed in the default floating dtype.
    approximate : bool
        Whether the distribution function is replaced by a formula with tanh (the default), or exact, with erf.

    Returns
    -------
    array
        Of the shape of ``x``.

    References
    ----------
    Dan Hendrycks and Kevin Gimpel, "Gaussian error linear units (GELUs)", 2016.

    Examples
    --------
    >>> ct.nn.gelu(ct.numpy.array([0.0, 1.0])).round(4)
    Array([0.    , 0.8412], dtype=float32)
    >>> ct.nn.gelu(ct.numpy.array([0.0, 1.0]), approximate=False).round(4)
    Array([0.    , 0.8413], dtype=float32)
    """
    array = inexact(x)
    if approximate:
        cubic = array + literal(array, 0.044715) * (array * array * array)
        # 1 + tanh(u) is twice the sigmoid of 2 u, which keeps its digits where tanh rounds to -1.
        return array * sigmoid(literal(array, math.sqrt(8 / math.pi)) * cubic)
    return gelu_of_one(*floats("gelu", array))


def hard_tanh(x: Any) -> Array:
    """The numbers limited to [-1, 1].

    Parameters
    ----------
    x : array
        Real numbers; integers are computed in the default floating dtype.

    Returns
    -------
    array
        Of the shape of ``x``.

    Examples
    --------
    >>> ct.nn.hard_tanh(ct.numpy.array([-2.0, 0.5, 2.0]))
    Array([-1. ,  0.5,  1. ], dtype=float32)
    """
    array = inexact(x)
    return choose(
        ordered(primitives.gt, array, literal(array, 1.0)),
        1.0,
        choose(ordered(primitives.lt, array, literal(array, -1.0)), -1.0, array),
    )


def hard_sigmoid(x: Any) -> Array:
    """A sigmoid of straight pieces: ``relu6(x + 3) / 6``.

    Parameters
    ----------
    x : array
        Real numbers; integers are computed in the default floating dtype.

    Returns
    -------
    array
        Of the shape of ``x``.

    References
    ----------
    Andrew Howard and others, "Searching for MobileNetV3", 2019.

    Examples
    --------
    >>> ct.nn.hard_sigmoid(ct.numpy.array([-4.0, 0.0, 1.5]))
    Array([0.  , 0.5 , 0.75], dtype=float32)
    """
    return relu6(inexact(x) + 3.0) / 6.0


def hard_silu(x: Any) -> Array:
    """The product ``x * hard_sigmoid(x)``, also called hard swish.

    Parameters
    ----------
    x : array
        Real numbers; integers are computed in the default floating dtype.

    Returns
    -------
    array
        Of the shape of ``x``.

    References
    ----------
    Andrew Howard and others, "Searching for MobileNetV3", 2019.

    Examples
    --------
    >>> ct.nn.hard_silu(ct.numpy.array([-4.0, 1.5, 4.0]))
    Array([-0.   ,  1.125,  4.   ], dtype=float32)
    """
    array = inexact(x)
    return array * hard_sigmoid(array)


hard_swish = hard_silu


def glu(x: Any, axis: int = -1) -> Array:
    """The gated linear unit: one half of an axis times the sigmoid of the other.

    Parameters
    ----------
    x : array
        Numbers; integers are computed in the default floating dtype.
    axis : int
        The axis that is halved, by default the last.

    Returns
    -------
    array
        Of half the size along that axis.

    Raises
    ------
    ShapeError
        The axis has an odd size.

    References
    ----------
    Yann N. Dauphin, Angela Fan, Michael Auli and David Grangier, "Language modeling with gated convolutional
    networks", 2017.

    Examples
    --------
    >>> ct.nn.glu(ct.numpy.array([2.0, 4.0, 0.0, 0.0]))
    Array([1., 2.], dtype=float32)
    """
    array = inexact(x)
    axis = normalize_axis(axis, array.ndim, "glu")
    if axis in _core.ragged_axes(array):
        return _ragged_glu(array, axis)
    size = capacity(array, axis)
    if size % 2:
        raise ShapeError(
            f"glu: axis {axis} of shape {array.shape} must have an even size\n"
            "  name another axis, or pad it: one half is the gate of the other"
        )
    return slice_axis(array, axis, 0, size // 2) * sigmoid(slice_axis(array, axis, size // 2, size))


def _ragged_glu(x: Array, axis: int) -> Array:
    """`glu` along a ragged axis, of an even length."""
    half = primitives.div(ragged_length(x, axis), _core.full((), 2, "int32"))
    values, bound = without_padding(x, [axis]), capacity(x, axis) // 2
    places = primitives.iota(shape=[bound], dtype=half.dtype, axis=0) + half
    held = primitives.min(places, literal(places, max(capacity(x, axis) - 1, 0)))
    second = primitives.gather(values, held, axis=axis, batch_dims=0)
    return give_lengths(slice_axis(values, axis, 0, bound) * sigmoid(second), {axis: half})


# ---- Over an axis ----------------------------------------------------------------------------------------------------


def log_sigmoid(x: Any) -> Array:
    """The logarithm of the sigmoid, without underflow.

    Parameters
    ----------
    x : array
        Numbers; integers are computed in the default floating dtype.

    Returns
    -------
    array
        Of the shape of ``x``.

    Examples
    --------
    >>> ct.nn.log_sigmoid(ct.numpy.array([0.0, -100.0])).round(4)
    Array([  -0.6931, -100.    ], dtype=float32)
    """
    return primitives.neg(softplus(primitives.neg(inexact(x))))


check_arguments(globals())
