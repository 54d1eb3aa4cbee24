"""Functions of neural networks, named and computed as ``jax.nn``'s: activations, softmax, one-hot codes.

They are compositions of primitives, written so that values do not overflow and derivatives of every order are right
where the formula
changes. `initializers` holds the usual random initial weights.
"""

from __future__ import annotations

import importlib
import math
from typing import Any

from cotangent import _core
from cotangent._arguments import check_arguments
from cotangent._attention import dot_product_attention as dot_product_attention
from cotangent._core import Array
from cotangent._elementwise import Elementwise, by_precision, elementwise, pick
from cotangent.custom import custom_jvp
from cotangent.errors import ShapeError
from cotangent.numpy import reductions
from cotangent.numpy._support import (
    bind1,
    constant,
    give_lengths,
    inexact,
    insert_axes,
    kind,
    literal,
    normalize_axes,
    normalize_axis,
    own,
    static_shape,
)
from cotangent.numpy.comparisons import truth, where
from cotangent.numpy.elementwise import maximum
from cotangent.numpy.functions import tanh as tanh

Axis = Any


@own
def identity(x: Any) -> Array:
    """``x``."""
    return _core.array(x)


def _below(x: Array, bound: float) -> Array:
    return bind1("lt", x, literal(x, bound))


def _pick(condition: Array, x: Any, y: Any) -> Array:
    """Arrays or numbers by a condition; one of them is an array."""
    like = x if isinstance(x, Array) else y
    x = x if isinstance(x, Array) else literal(like, x)
    return bind1("select", condition, x, y if isinstance(y, Array) else literal(like, y))


# ---- Activations -----------------------------------------------------------------------------------------------------


def relu(x: Any) -> Array:
    """``max(x, 0)``, with derivative 0 at 0.

    >>> import cotangent as ct
    >>> ct.nn.relu(ct.numpy.array([-1.0, 2.0])).tolist()
    [0.0, 2.0]
    """
    array = _core.array(x)
    return _pick(bind1("le", array, literal(array, 0)), 0, array)


def relu6(x: Any) -> Array:
    """``min(max(x, 0), 6)``."""
    array = inexact(x)
    return _pick(
        bind1("ge", array, literal(array, 6.0)), 6.0, _pick(bind1("le", array, literal(array, 0.0)), 0.0, array)
    )


def leaky_relu(x: Any, negative_slope: Any = 1e-2) -> Array:
    """``x`` from 0 on, ``negative_slope * x`` below."""
    array = inexact(x)
    return where(bind1("ge", array, literal(array, 0.0)), array, negative_slope * array)  # type: ignore[no-any-return]


def _small_exponential(x: Array) -> Array:
    """``exp(-|x|)``, with derivatives of every order at 0 from the right."""
    return bind1("exp", _pick(_below(x, 0.0), x, bind1("neg", x)))


def _sigmoid(x: Array) -> tuple[Array, Array]:
    """The sigmoid, and its derivative: neither loses digits where it is small."""
    small = _small_exponential(x)
    total = literal(small, 1.0) + small
    return _pick(_below(x, 0.0), small, 1.0) / total, small / (total * total)


@custom_jvp
def _real_sigmoid(x: Array) -> Array:
    return _sigmoid(x)[0]


@_real_sigmoid.defjvp
def _real_sigmoid_jvp(primals: tuple[Array], tangents: tuple[Array]) -> tuple[Array, Array]:
    # One factor is all that a backward pass has to keep.
    value, slope = _sigmoid(*primals)
    return value, tangents[0] * slope


def sigmoid(x: Any) -> Array:
    """``1 / (1 + exp(-x))``."""
    array = inexact(x)
    if kind(array) == "complex":
        return literal(array, 1.0) / (literal(array, 1.0) + bind1("exp", bind1("neg", array)))
    return _real_sigmoid(array)  # type: ignore[no-any-return]


def log_sigmoid(x: Any) -> Array:
    """``log(sigmoid(x))``."""
    return bind1("neg", softplus(bind1("neg", inexact(x))))


def softplus(x: Any) -> Array:
    """``log(1 + exp(x))`` without overflow."""
    array = inexact(x)
    return _pick(_below(array, 0.0), 0.0, array) + bind1("log1p", _small_exponential(array))


def sparse_plus(x: Any) -> Array:
    """``x`` from 1 on, 0 up to -1, and ``(x + 1)**2 / 4`` between."""
    array = inexact(x)
    shifted = array + 1.0
    inside = _pick(bind1("ge", array, literal(array, 1.0)), array, shifted * shifted / 4.0)
    return _pick(bind1("le", array, literal(array, -1.0)), 0.0, inside)


def sparse_sigmoid(x: Any) -> Array:
    """``(x + 1) / 2`` limited to [0, 1]: the derivative of `sparse_plus`."""
    array = inexact(x)
    # By max and min, so that at a bound the slopes of both sides share.
    return bind1("min", bind1("max", array + 1.0, literal(array, 0.0)), literal(array, 2.0)) * 0.5


def _log1mexp_slope(x: Array, result: Array) -> Array:
    # From here on the 1 of expm1 does not count, and the exponential of all of x would overflow first.
    far = x > 80.0
    inverse = 1.0 / bind1("expm1", pick(far, 0.5 * x, x))
    return pick(far, inverse * inverse, inverse)


@elementwise(_log1mexp_slope)
def _log1mexp(x: Array) -> Array:
    near = x < math.log(2.0)
    close = bind1("log", -bind1("expm1", -pick(near, x, 0.5)))
    far = bind1("log1p", -bind1("exp", -pick(near, 1.0, x)))
    return pick(near, close, far)


def log1mexp(x: Any) -> Array:
    """``log(1 - exp(-x))`` for positive x, accurate near 0 and far from it."""
    return _log1mexp(inexact(x))


def _squareplus_root(x: Array, b: Array) -> Array:
    """``sqrt(x**2 + b)``, also where the square overflows: there it is of numbers that are smaller by a power of 2."""
    limit, power = by_precision(x, (2.0**62, 2.0**70), (2.0**510, 2.0**520))
    size = bind1("abs", x)
    large = size > limit
    down = pick(large, 1.0 / power, _core.full((), 1.0, x.dtype))
    scaled = size * down
    root = bind1("sqrt", scaled * scaled + (b * down) * down)
    return pick(large, root * power, root)


def _squareplus_slope(x: Array, b: Array, result: Array) -> Array:
    # (1 + x / root) / 2, without cancellation.
    root = _squareplus_root(x, b)
    end = bind1("or", root == 0.0, root == math.inf)
    limits = pick(x > 0.0, 1.0, pick(x < 0.0, 0.0, _core.full((), 0.5, x.dtype)))
    return pick(end, limits, result / pick(end, 1.0, root))


@elementwise(_squareplus_slope, lambda x, b, result: 0.25 / _squareplus_root(x, b))
def _squareplus(x: Array, b: Array) -> Array:
    # The sum is of magnitudes: below 0 it is the other factor of b / 4.
    half = 0.5 * _squareplus_root(x, b) + 0.5 * bind1("abs", x)
    below = x < 0.0
    return pick(below, (0.25 * b) / pick(bind1("and", below, half != 0.0), half, 1.0), half)


def squareplus(x: Any, b: Any = 4) -> Array:
    """``(x + sqrt(x**2 + b)) / 2``, also where the square overflows or the sum cancels."""
    array, added = _core.promote([x, b], inexact=True)
    if kind(array) == "complex":
        return (array + bind1("sqrt", array * array + added)) / 2
    from cotangent._special.support import floats

    return _squareplus(*floats("squareplus", array, added))


def _soft_sign_slope(x: Array, result: Array) -> Array:
    # The inverse first: the square of the sum may overflow.
    inverse = 1.0 / (bind1("abs", x) + 1.0)
    return inverse * inverse


@elementwise(_soft_sign_slope)
def _real_soft_sign(x: Array) -> Array:
    return x / (bind1("abs", x) + 1.0)


def soft_sign(x: Any) -> Array:
    """``x / (|x| + 1)``."""
    array = inexact(x)
    return array / (bind1("abs", array) + 1) if kind(array) == "complex" else _real_soft_sign(array)


def _silu(x: Array) -> tuple[Array, Array]:
    """`silu` of reals, and its derivative."""
    below = _below(x, 0.0)
    # Half of the exponential at a time: the whole may be subnormal where x times it is not.
    root = bind1("exp", literal(x, 0.5) * _pick(below, x, bind1("neg", x)))
    small = root * root
    total = literal(x, 1.0) + small
    value = _pick(below, x * root * root, x) / total
    slope = (_pick(below, small, 1.0) + x * small / total) / total
    return value, slope


@custom_jvp
def _real_silu(x: Array) -> Array:
    return _silu(x)[0]


@_real_silu.defjvp
def _real_silu_jvp(primals: tuple[Array], tangents: tuple[Array]) -> tuple[Array, Array]:
    value, slope = _silu(*primals)
    return value, tangents[0] * slope


def silu(x: Any) -> Array:
    """``x * sigmoid(x)``."""
    array = inexact(x)
    if kind(array) == "complex":
        return array * sigmoid(array)
    return _real_silu(array)  # type: ignore[no-any-return]


swish = silu


def _mish(x: Array) -> tuple[Array, Array]:
    """`mish` of reals, and its derivative: rational functions of one exponential."""
    below, one, two = _below(x, 0.0), literal(x, 1.0), literal(x, 2.0)
    root = bind1("exp", literal(x, 0.5) * _pick(below, x, bind1("neg", x)))
    small = root * root
    # tanh(softplus(x)) is (y^2 + 2 y) / (y^2 + 2 y + 2) with y = exp(x), and (1 + 2 y) / (1 + 2 y + 2 y^2) with y = exp(-x).
    total = _pick(below, small * (small + two) + two, one + two * small * (one + small))
    value = _pick(below, (x * root * root) * (small + two), x * (one + two * small)) / total
    tanh_of_softplus = _pick(below, small * (small + two), one + two * small) / total
    rest = literal(x, 4.0) * x * (small * (one + small)) * _pick(below, 1.0, small) / (total * total)
    return value, tanh_of_softplus + rest


@custom_jvp
def _real_mish(x: Array) -> Array:
    return _mish(x)[0]


@_real_mish.defjvp
def _real_mish_jvp(primals: tuple[Array], tangents: tuple[Array]) -> tuple[Array, Array]:
    value, slope = _mish(*primals)
    return value, tangents[0] * slope


def mish(x: Any) -> Array:
    """``x * tanh(softplus(x))``."""
    array = inexact(x)
    if kind(array) == "complex":
        return array * bind1("tanh", softplus(array))
    return _real_mish(array)  # type: ignore[no-any-return]


def gelu(x: Any, approximate: bool = True) -> Array:
    """``x`` times the normal distribution function at ``x``: with tanh, or exactly with erf.

    Below -5 the formula with tanh is ill-conditioned (it falls like ``exp(x**3 / 14)``): there its relative error grows to
    ``|x|**3`` units in the last place.

    >>> import cotangent as ct
    >>> round(float(ct.nn.gelu(1.0)), 4)
    0.8412
    """
    array = inexact(x)
    if approximate:
        cubic = array + literal(array, 0.044715) * (array * array * array)
        # 1 + tanh(u) is twice the sigmoid of 2 u, which keeps its digits where tanh rounds to -1.
        return array * sigmoid(literal(array, math.sqrt(8 / math.pi)) * cubic)
    from cotangent._special.error import gelu_of_one
    from cotangent._special.support import floats

    return gelu_of_one(*floats("gelu", array))


def elu(x: Any, alpha: Any = 1.0) -> Array:
    """``x`` above 0, ``alpha * (exp(x) - 1)`` below."""
    array = inexact(x)
    above = bind1("gt", array, literal(array, 0.0))
    return where(above, array, alpha * bind1("expm1", _pick(above, 0.0, array)))  # type: ignore[no-any-return]


def selu(x: Any) -> Array:
    """The self-normalising `elu`."""
    return 1.0507009873554804934193349852946 * elu(x, 1.6732632423543772848170429916717)


def celu(x: Any, alpha: Any = 1.0) -> Array:
    """``x`` above 0, ``alpha * (exp(x / alpha) - 1)`` below: smooth for every alpha."""
    array = inexact(x)
    above = bind1("gt", array, literal(array, 0.0))
    return where(above, array, alpha * _core.bind("expm1", [_pick(above, 0.0, array) / alpha])[0])  # type: ignore[no-any-return]


def hard_tanh(x: Any) -> Array:
    """``x`` limited to [-1, 1]."""
    array = inexact(x)
    return _pick(bind1("gt", array, literal(array, 1.0)), 1.0, _pick(_below(array, -1.0), -1.0, array))


def hard_sigmoid(x: Any) -> Array:
    """``relu6(x + 3) / 6``."""
    return relu6(inexact(x) + 3.0) / 6.0


def hard_silu(x: Any) -> Array:
    """``x * hard_sigmoid(x)``."""
    array = inexact(x)
    return array * hard_sigmoid(array)


hard_swish = hard_silu


def glu(x: Any, axis: int = -1) -> Array:
    """One half of an axis times the sigmoid of the other.

    Raises:
        ShapeError: the axis has an odd size.
    """
    array = inexact(x)
    axis = normalize_axis(axis, array.ndim, "glu")
    size = array._bound_shape[axis]
    if size % 2:
        raise ShapeError(f"glu: axis {axis} of shape {array.shape} must have an even size")
    from cotangent.numpy.shapes import slice_axis

    return slice_axis(array, axis, 0, size // 2) * sigmoid(slice_axis(array, axis, size // 2, size))


# ---- Over an axis ----------------------------------------------------------------------------------------------------


def _shifted(x: Array, axis: Axis, chosen: Any) -> Array:
    """``x`` less its largest element, which carries no derivative."""
    largest = reductions.max(x, axis, keepdims=True, initial=-math.inf, where=chosen)
    return bind1("sub", x, _core.broadcast_to(bind1("stop_gradient", largest), x._bound_shape))


def _choice(x: Array, chosen: Any) -> Array | None:
    return None if chosen is None else _core.broadcast_to(truth(chosen), x._bound_shape)


def softmax(x: Any, axis: Axis = -1, where: Any = None) -> Array:
    """Exponentials that sum to 1 along axes; with ``where``, of the chosen elements, and 0 elsewhere.

    >>> import cotangent as ct
    >>> ct.nn.softmax(ct.numpy.zeros(2)).tolist()
    [0.5, 0.5]
    """
    array = inexact(x)
    chosen = _choice(array, where)
    shifted = _shifted(array, axis, chosen)
    if chosen is not None:
        shifted = _pick(chosen, shifted, -math.inf)
    exponentials = bind1("exp", shifted)
    total = reductions.sum(exponentials, axis, keepdims=True)
    if chosen is not None:
        total = _pick(bind1("eq", total, literal(total, 0.0)), 1.0, total)
    return exponentials / total


def log_softmax(x: Any, axis: Axis = -1, where: Any = None) -> Array:
    """``log(softmax(x))``; with ``where``, minus infinity for elements that are not chosen."""
    array = inexact(x)
    chosen = _choice(array, where)
    shifted = _shifted(array, axis, chosen)
    total = reductions.sum(bind1("exp", shifted), axis, keepdims=True, where=chosen)
    result = shifted - bind1("log", total)
    return result if chosen is None else _pick(chosen, result, -math.inf)


# x - y, and 0 of equal infinities, where the derivative is that of a difference still.
_less = Elementwise(
    lambda x, y: pick(bind1("eq", x, y), 0.0, x - y),
    (lambda x, y, result: literal(x, 1.0), lambda x, y, result: literal(x, -1.0)),
    "less",
)


def logsumexp(
    a: Any, axis: Axis = None, b: Any = None, keepdims: bool = False, return_sign: bool = False, where: Any = None
) -> Any:
    """``log(sum(b * exp(a)))`` without overflow; ``return_sign`` gives the logarithm of the magnitude, and the sign."""
    if b is None:
        array, weights = inexact(a), None
    else:
        array, weights = _core.promote([a, b], inexact=True)
        array = _pick(bind1("eq", weights, literal(weights, 0.0)), -math.inf, array)
    axes = tuple(normalize_axes(axis, array.ndim, "logsumexp"))
    chosen = _choice(array, where)
    if kind(array) == "complex":
        largest = reductions.max(bind1("real", array), axes, keepdims=True, initial=-math.inf, where=chosen)
    else:
        largest = reductions.max(array, axes, keepdims=True, initial=-math.inf, where=chosen)
    # Minus infinity and NaN stay what they are when nothing is subtracted.
    finite = bind1("is_finite", largest)
    if kind(array) != "complex":
        finite = bind1("or", finite, bind1("eq", largest, literal(largest, math.inf)))
    largest = bind1("stop_gradient", _pick(finite, largest, 0.0))
    if kind(array) == "complex":
        exponentials = bind1("exp", array - largest)
    else:
        exponentials = bind1("exp", _less(array, _core.broadcast_to(largest, array._bound_shape)))
    if weights is not None:
        exponentials = weights * exponentials
    total = reductions.sum(exponentials, axes, keepdims=True, where=chosen)
    sign = bind1("sign", total)
    if return_sign or weights is not None:
        magnitude = bind1("abs", total)
        if not return_sign and kind(array) != "complex":
            magnitude = _pick(_below(total, 0.0), math.nan, magnitude)
    else:
        magnitude = total
    result = bind1("log", magnitude) + largest
    if not keepdims:
        shape = [size for i, size in enumerate(result._bound_shape) if i not in axes]
        result, sign = bind1("reshape", result, shape=shape), bind1("reshape", sign, shape=shape)
    return (result, sign) if return_sign else result


def logmeanexp(x: Any, axis: Axis = None, where: Any = None, keepdims: bool = False) -> Array:
    """``log(mean(exp(x)))`` without overflow; with ``where``, of the chosen elements."""
    array = inexact(x)
    total = logsumexp(array, axis, keepdims=keepdims, where=where)
    chosen = constant(array, True, bool) if where is None else _choice(array, where)
    counts = reductions.sum(_core.convert(chosen, total.dtype), axis, keepdims=keepdims)
    return total - bind1("log", counts)  # type: ignore[no-any-return]


def standardize(
    x: Any,
    axis: Axis = -1,
    mean: Any = None,
    variance: Any = None,
    epsilon: Any = 1e-5,
    where: Any = None,
    *,
    algorithm: str = "fast",
) -> Array:
    """``(x - mean) / sqrt(variance + epsilon)`` along axes.

    Args:
        x: floating.
        axis: the axes that mean and variance are taken over.
        mean: known beforehand.
        variance: known beforehand.
        epsilon: keeps the divisor from 0.
        where: the elements that count.
        algorithm: ``"fast"``: the variance is the mean of squares less the square of the mean, at least 0; ``"stable"``:
            the mean of squared differences.
    """
    if algorithm not in ("fast", "stable"):
        raise ValueError(f"standardize: algorithm must be 'fast' or 'stable'; got {algorithm!r}")
    array = inexact(x)
    if mean is None:
        mean = reductions.mean(array, axis, keepdims=True, where=where)
    if variance is None:
        if algorithm == "stable":
            variance = reductions.mean((array - mean) * (array - mean), axis, keepdims=True, where=where)
        else:
            squares = reductions.mean(array * array, axis, keepdims=True, where=where)
            variance = maximum(squares - mean * mean, 0)
    scale = bind1("sqrt", _core.array(variance + epsilon))
    return bind1("div", *_core.promote([array - mean, scale]))


def one_hot(x: Any, num_classes: int, *, dtype: Any = None, axis: int = -1) -> Array:
    """For each integer a vector with 1 at its position, along a new axis; all zeros for positions outside.

    >>> import cotangent as ct
    >>> ct.nn.one_hot(ct.numpy.array([0, 2]), 3).tolist()
    [[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]
    """
    array = _core.array(x)
    (count,), lengths = static_shape(num_classes, "one_hot")
    position = normalize_axis(axis, array.ndim + 1, "one_hot")
    shape = list(array._bound_shape)
    shape.insert(position, count)
    wide = _core.broadcast_to(insert_axes(array, [position]), shape)
    classes = bind1(
        "iota", shape=shape, dtype=_core.default_int_dtype() if kind(array) == "bool" else array.dtype, axis=position
    )
    hit = _core.bind("eq", _core.promote([wide, classes]))[0]
    result = _core.convert(hit, _core.default_float_dtype() if dtype is None else dtype)
    return give_lengths(result, {position: lengths[0]} if lengths else {})


def __getattr__(name: str) -> Any:
    # Loads random only when it is used.
    if name == "initializers":
        return importlib.import_module("cotangent._initializers")
    raise AttributeError(f"module 'cotangent.nn' has no attribute {name!r}")


check_arguments(globals())
