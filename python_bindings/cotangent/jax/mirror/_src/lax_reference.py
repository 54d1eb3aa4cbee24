"""``jax._src.lax_reference``: the functions of `jax.lax` on NumPy's arrays, by NumPy and SciPy alone, for tests to compare with."""

from __future__ import annotations

import builtins
import functools
import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

__all__ = [
    "abs",
    "acos",
    "acosh",
    "add",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "bessel_i0e",
    "bessel_i1e",
    "betainc",
    "bitcast_convert_type",
    "bitwise_and",
    "bitwise_not",
    "bitwise_or",
    "bitwise_xor",
    "broadcast",
    "broadcast_in_dim",
    "cbrt",
    "ceil",
    "clamp",
    "clz",
    "complex",
    "concatenate",
    "conj",
    "conv",
    "conv_general_dilated",
    "conv_with_general_padding",
    "convert_element_type",
    "cos",
    "cosh",
    "digamma",
    "div",
    "dot",
    "dot_general",
    "dynamic_slice",
    "dynamic_update_slice",
    "eq",
    "erf",
    "erf_inv",
    "erfc",
    "exp",
    "exp2",
    "expm1",
    "floor",
    "ge",
    "gt",
    "igamma",
    "igammac",
    "imag",
    "is_finite",
    "le",
    "lgamma",
    "log",
    "log1p",
    "logistic",
    "lt",
    "max",
    "min",
    "mul",
    "mulhi",
    "ne",
    "neg",
    "nextafter",
    "pad",
    "padtype_to_pads",
    "population_count",
    "pow",
    "ragged_dot",
    "real",
    "reciprocal",
    "reduce",
    "reduce_window",
    "rem",
    "reshape",
    "rev",
    "round",
    "rsqrt",
    "select",
    "shift_left",
    "shift_right_arithmetic",
    "sign",
    "sin",
    "sinh",
    "slice",
    "sort",
    "sort_key_val",
    "sqrt",
    "square",
    "squeeze",
    "sub",
    "sum",
    "tan",
    "tanh",
    "top_k",
    "transpose",
]

Values = np.ndarray[Any, Any]

# What NumPy has under another name, or the same.
neg = np.negative
sign = np.sign
floor = np.floor
ceil = np.ceil
nextafter = np.nextafter
is_finite = np.isfinite
exp = np.exp
exp2 = np.exp2
expm1 = np.expm1
log = np.log
log1p = np.log1p
sqrt = np.sqrt
cbrt = np.cbrt
square = np.square
reciprocal = np.reciprocal
sin = np.sin
cos = np.cos
tan = np.tan
asin = np.arcsin
acos = np.arccos
atan = np.arctan
atan2 = np.arctan2
sinh = np.sinh
cosh = np.cosh
tanh = np.tanh
asinh = np.arcsinh
acosh = np.arccosh
atanh = np.arctanh
real = np.real
imag = np.imag
abs = np.absolute
pow = np.power
bitwise_not = np.bitwise_not
bitwise_and = np.bitwise_and
bitwise_or = np.bitwise_or
bitwise_xor = np.bitwise_xor
add = np.add
sub = np.subtract
max = np.maximum
min = np.minimum
shift_left = np.left_shift
shift_right_arithmetic = np.right_shift
eq = np.equal
ne = np.not_equal
ge = np.greater_equal
gt = np.greater
le = np.less_equal
lt = np.less
dot = np.dot
sum = np.sum
squeeze = np.squeeze
select = np.where
transpose = np.transpose
sort = np.sort


def _special(name: str) -> Callable[..., Values]:
    """SciPy's function, in double precision."""

    def function(*operands: Values) -> Values:
        import scipy.special  # type: ignore[import-untyped]

        wide = [np.asarray(each, np.float64) for each in operands]
        return np.asarray(getattr(scipy.special, name)(*wide), np.asarray(operands[0]).dtype)

    return function


betainc = _special("betainc")
lgamma = _special("gammaln")
digamma = _special("digamma")
igamma = _special("gammainc")
igammac = _special("gammaincc")
erf = _special("erf")
erfc = _special("erfc")
erf_inv = _special("erfinv")
bessel_i0e = _special("i0e")
bessel_i1e = _special("i1e")


# ---- element by element ----------------------------------------------------------------------------------------------


def round(x: Values) -> Values:
    """Halves go away from zero, as C's `round` has them."""
    x = np.asarray(x)
    whole = np.trunc(x)
    return np.asarray(whole + np.where(np.abs(x - whole) >= 0.5, np.sign(x), 0), x.dtype)


def rsqrt(x: Values) -> Values:
    return np.asarray(1 / np.sqrt(x), np.asarray(x).dtype)


def logistic(x: Values) -> Values:
    return np.asarray(1 / (1 + np.exp(-x)), np.asarray(x).dtype)


def conj(x: Values) -> Values:
    return np.conj(x) + np.zeros((), np.result_type(np.asarray(x).dtype, np.complex64))


def complex(x: Values, y: Values) -> Values:
    return np.asarray(x + np.complex64(1j) * y)


def mul(x: Values, y: Values, /, *, out_dtype: Any = None) -> Values:
    if out_dtype is not None:
        x, y = np.asarray(x, out_dtype), np.asarray(y, out_dtype)
    return np.asarray(np.multiply(x, y))


def mulhi(x: Values, y: Values) -> Values:
    """The upper half of the bits of a product."""
    dtype = np.asarray(x).dtype
    product = np.asarray(x, object) * np.asarray(y, object)
    upper = np.frompyfunc(lambda value: value >> 8 * dtype.itemsize, 1, 1)(product)
    return np.asarray(upper).astype(dtype)


def div(x: Values, y: Values) -> Values:
    """Of integers, rounded towards zero; -1 where the divisor is 0."""
    x, y = np.asarray(x), np.asarray(y)
    dtype = np.result_type(x, y)
    if not np.issubdtype(dtype, np.integer):
        return np.asarray(np.divide(x, y), dtype)
    with np.errstate(over="ignore"):  # the least integer by -1
        quotient = np.floor_divide(x, np.where(y == 0, 1, y).astype(y.dtype))
    upwards = (x != quotient * y) & ((x < 0) != (y < 0)) & (y != 0)
    return np.asarray(np.where(y == 0, np.asarray(-1).astype(dtype), quotient + upwards), dtype)


def rem(x: Values, y: Values) -> Values:
    """With the sign of the dividend; the dividend where the divisor of integers is 0."""
    x, y = np.asarray(x), np.asarray(y)
    if not np.issubdtype(np.result_type(x, y), np.integer):
        return np.asarray(np.fmod(x, y))
    return np.asarray(np.where(y == 0, x, np.fmod(x, np.where(y == 0, 1, y).astype(y.dtype))), np.result_type(x, y))


def _bits(x: Values) -> Values:
    """Of integers, the last axis from the lowest bit to the highest."""
    x = np.asarray(x)
    unsigned = x.view(f"u{x.dtype.itemsize}")
    places = np.arange(8 * x.dtype.itemsize, dtype=unsigned.dtype)
    return np.asarray((unsigned[..., None] >> places) & unsigned.dtype.type(1), bool)


def population_count(x: Values) -> Values:
    return np.asarray(_bits(x).sum(-1), np.asarray(x).dtype)


def clz(x: Values) -> Values:
    """How many bits above the highest one that is set."""
    bits = _bits(x)[..., ::-1]
    return np.asarray(np.where(bits.any(-1), bits.argmax(-1), bits.shape[-1]), np.asarray(x).dtype)


def convert_element_type(operand: Values, dtype: Any) -> Values:
    return np.asarray(operand, dtype)


def bitcast_convert_type(operand: Values, dtype: Any) -> Values:
    """Another axis at the end where elements become smaller, one less where they become larger."""
    operand, to = np.ascontiguousarray(operand).reshape(np.shape(operand)), np.dtype(dtype)
    size, count = operand.dtype.itemsize, to.itemsize
    if size == count:
        return operand.view(to)
    if size > count:
        return operand[..., None].view(to)
    return np.asarray(operand.view(to)[..., 0])


def clamp(min: Any, operand: Values, max: Any) -> Values:
    return np.asarray(np.minimum(np.maximum(operand, min), max), np.asarray(operand).dtype)


# ---- shapes ----------------------------------------------------------------------------------------------------------


def concatenate(operands: Sequence[Values], dimension: int) -> Values:
    return np.concatenate(operands, axis=dimension)


def broadcast(operand: Values, sizes: Sequence[int]) -> Values:
    return np.broadcast_to(operand, (*sizes, *np.shape(operand)))


def broadcast_in_dim(operand: Values, shape: Sequence[int], broadcast_dimensions: Sequence[int]) -> Values:
    sizes = [1] * len(shape)
    for axis, size in zip(broadcast_dimensions, np.shape(operand), strict=True):
        sizes[axis] = size
    return np.broadcast_to(np.reshape(operand, sizes), tuple(shape))


def reshape(operand: Values, new_sizes: Sequence[int], dimensions: Sequence[int] | None = None) -> Values:
    order = range(np.ndim(operand)) if dimensions is None else dimensions
    return np.reshape(np.transpose(operand, tuple(order)), tuple(new_sizes))


def pad(operand: Values, padding_value: Any, padding_config: Sequence[tuple[int, int, int]]) -> Values:
    """Of each axis what is added below, above, and between elements; less than nothing is taken away."""
    operand = np.asarray(operand)
    low, high, inner = np.reshape(np.asarray(padding_config, np.int64), (-1, 3)).T
    sizes = np.asarray(operand.shape, np.int64)
    spread = np.maximum(sizes + (sizes - 1) * inner, 0)
    first = np.maximum(low, 0)
    whole = np.full(first + spread + np.maximum(high, 0), padding_value, operand.dtype)
    whole[tuple(map(builtins.slice, first, first + spread, inner + 1))] = operand
    ends = np.asarray(whole.shape, np.int64) - np.maximum(-high, 0)
    return whole[tuple(map(builtins.slice, np.maximum(-low, 0), ends))]


def rev(operand: Values, dimensions: Sequence[int]) -> Values:
    return np.flip(operand, tuple(dimensions))


def slice(
    operand: Values, start_indices: Sequence[int], limit_indices: Sequence[int], strides: Sequence[int] | None = None
) -> Values:
    steps = [1] * len(start_indices) if strides is None else strides
    return np.asarray(operand)[tuple(map(builtins.slice, start_indices, limit_indices, steps))]


def _block(shape: Sequence[int], starts: Any, sizes: Sequence[int]) -> tuple[builtins.slice, ...]:
    """Moved to where it is inside."""
    first = [
        builtins.min(builtins.max(int(start), 0), whole - size)
        for start, whole, size in zip(starts, shape, sizes, strict=True)
    ]
    return tuple(builtins.slice(start, start + size) for start, size in zip(first, sizes, strict=True))


def dynamic_slice(operand: Values, start_indices: Any, slice_sizes: Sequence[int]) -> Values:
    return np.asarray(operand)[_block(np.shape(operand), start_indices, slice_sizes)]


def dynamic_update_slice(operand: Values, update: Values, start_indices: Any) -> Values:
    result = np.array(operand)
    result[_block(result.shape, start_indices, np.shape(update))] = update
    return result


# ---- products --------------------------------------------------------------------------------------------------------


def dot_general(lhs: Values, rhs: Values, dimension_numbers: Any) -> Values:
    (left, right), (left_batch, right_batch) = dimension_numbers
    letters = iter(range(52))
    of_left: list[int] = [-1] * np.ndim(lhs)
    of_right: list[int] = [-1] * np.ndim(rhs)
    batch = []
    for i, j in zip(left_batch, right_batch, strict=True):
        of_left[i] = of_right[j] = next(letters)
        batch.append(of_left[i])
    for i, j in zip(left, right, strict=True):
        of_left[i] = of_right[j] = next(letters)
    own_left = [i for i, letter in enumerate(of_left) if letter < 0]
    own_right = [j for j, letter in enumerate(of_right) if letter < 0]
    for i in own_left:
        of_left[i] = next(letters)
    for j in own_right:
        of_right[j] = next(letters)
    out = batch + [of_left[i] for i in own_left] + [of_right[j] for j in own_right]
    dtype = np.result_type(lhs, rhs)
    wide = np.float32 if dtype.kind == "V" or dtype.itemsize < 4 else dtype
    return np.asarray(np.einsum(np.asarray(lhs, wide), of_left, np.asarray(rhs, wide), of_right, out)).astype(dtype)


def ragged_dot(lhs: Values, rhs: Values, group_sizes: Values) -> Values:
    """Rows of `lhs`, in groups of so many, times the matrix of their group."""
    result = np.zeros((np.shape(lhs)[0], np.shape(rhs)[-1]), np.result_type(lhs, rhs))
    begin = 0
    for size, matrix in zip(group_sizes, rhs, strict=True):
        end = begin + int(size)
        result[begin:end] = np.asarray(lhs)[begin:end] @ matrix
        begin = end
    return result


def padtype_to_pads(
    in_shape: Sequence[int], filter_shape: Sequence[int], window_strides: Sequence[int], padding: Any
) -> list[tuple[int, int]]:
    """The pairs of paddings that "SAME" and "VALID" stand for."""
    if not isinstance(padding, str):
        return [(int(low), int(high)) for low, high in padding]
    if padding.upper() == "VALID":
        return [(0, 0)] * len(filter_shape)
    pads = []
    for size, window, step in zip(in_shape, filter_shape, window_strides, strict=True):
        missing = builtins.max((-(-size // step) - 1) * step + window - size, 0)
        pads.append((missing // 2, missing - missing // 2))
    return pads


def _windows(
    operand: Values, window: Sequence[int], strides: Sequence[int], pads: Sequence[tuple[int, int]], value: Any
) -> Values:
    """Of the last axes: where windows are, then what is in each of them."""
    others = operand.ndim - len(window)
    padded = pad(operand, value, [(0, 0, 0)] * others + [(low, high, 0) for low, high in pads])
    if not window:
        return padded
    views = np.lib.stride_tricks.sliding_window_view(padded, tuple(window), axis=tuple(range(others, padded.ndim)))
    return views[(builtins.slice(None),) * others + tuple(builtins.slice(None, None, step) for step in strides)]


def _spread(operand: Values, factors: Sequence[int], value: Any = 0) -> Values:
    others = np.ndim(operand) - len(factors)
    return pad(operand, value, [(0, 0, 0)] * others + [(0, 0, factor - 1) for factor in factors])


def conv_with_general_padding(
    lhs: Values,
    rhs: Values,
    window_strides: Sequence[int],
    padding: Any,
    lhs_dilation: Sequence[int] | None,
    rhs_dilation: Sequence[int] | None,
) -> Values:
    ones = [1] * (np.ndim(lhs) - 2)
    image, filters = _spread(lhs, lhs_dilation or ones), _spread(rhs, rhs_dilation or ones)
    pads = padtype_to_pads(image.shape[2:], filters.shape[2:], window_strides, padding)
    windows = _windows(image, filters.shape[2:], window_strides, pads, 0)
    rank = len(ones)
    summed = [1, *range(2 + rank, 2 + 2 * rank)]
    product = np.tensordot(windows, filters, (summed, [1, *range(2, 2 + rank)]))
    return np.asarray(np.moveaxis(product, -1, 1), np.result_type(lhs, rhs))


def conv(lhs: Values, rhs: Values, window_strides: Sequence[int], padding: Any) -> Values:
    return conv_with_general_padding(lhs, rhs, window_strides, padding, None, None)


def conv_general_dilated(
    lhs: Values,
    rhs: Values,
    window_strides: Sequence[int],
    padding: Any,
    lhs_dilation: Sequence[int] | None,
    rhs_dilation: Sequence[int] | None,
    dimension_numbers: Sequence[Sequence[int]],
) -> Values:
    """`dimension_numbers` are permutations of axes: of lhs, rhs and the result."""
    left, right, out = dimension_numbers
    result = conv_with_general_padding(
        np.transpose(lhs, left), np.transpose(rhs, right), window_strides, padding, lhs_dilation, rhs_dilation
    )
    return np.transpose(result, np.argsort(out))


# ---- folds -----------------------------------------------------------------------------------------------------------


def reduce(
    operand: Values, init_value: Any, computation: Callable[[Any, Any], Any], dimensions: Sequence[int]
) -> Values:
    operand = np.asarray(operand)
    lines = np.moveaxis(operand, tuple(dimensions), tuple(range(len(dimensions))))
    parts = (lines[place] for place in itertools.product(*map(range, lines.shape[: len(dimensions)])))
    start = np.full(lines.shape[len(dimensions) :], init_value, operand.dtype)
    return np.asarray(functools.reduce(computation, parts, start), operand.dtype)


def reduce_window(
    operand: Values,
    init_value: Any,
    computation: Callable[[Any, Any], Any],
    window_dimensions: Sequence[int],
    window_strides: Sequence[int],
    padding: Any,
    base_dilation: Sequence[int] | None,
) -> Values:
    operand = np.asarray(operand)
    if base_dilation is not None:
        operand = _spread(operand, base_dilation, init_value)
    pads = padtype_to_pads(operand.shape, window_dimensions, window_strides, padding)
    windows = _windows(operand, window_dimensions, window_strides, pads, init_value)
    return reduce(windows, init_value, computation, range(operand.ndim, windows.ndim))


def sort_key_val(keys: Values, values: Values, dimension: int = -1) -> tuple[Values, Values]:
    order = np.argsort(keys, axis=dimension, kind="stable")
    return np.take_along_axis(keys, order, dimension), np.take_along_axis(values, order, dimension)


def top_k(operand: Values, k: int, axis: int = -1, *, is_stable: bool = True) -> tuple[Values, Values]:
    """The largest, and where they are; of equal ones the first."""
    del is_stable
    last = np.moveaxis(np.asarray(operand), axis, -1)
    # From the end, so that what comes first stays first when the order is turned around.
    order = last.shape[-1] - 1 - np.argsort(last[..., ::-1], axis=-1, kind="stable")[..., ::-1]
    order = order[..., :k]
    values = np.take_along_axis(last, order, -1)
    return np.moveaxis(values, -1, axis), np.moveaxis(order.astype(np.int32), -1, axis)
