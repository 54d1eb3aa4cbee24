"""Layers of networks, as ONNX has them: convolutions, pooling, normalizations, other sizes. `LAYERS`, by the names of their operators."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from cotangent import _core, lax
from cotangent import numpy as cnp


def _pads(
    sizes: Sequence[int], extents: Sequence[int], strides: Sequence[int], pads: Sequence[int] | None, auto_pad: str
) -> list[tuple[int, int]]:
    """What is added on both sides of each spatial axis."""
    rank = len(sizes)
    if auto_pad == "NOTSET":
        given = list(pads or [0] * (2 * rank))
        return list(zip(given[:rank], given[rank:], strict=True))
    if auto_pad == "VALID":
        return [(0, 0)] * rank
    whole = [
        max((-(-size // stride) - 1) * stride + extent - size, 0)
        for size, extent, stride in zip(sizes, extents, strides, strict=True)
    ]
    return [_halves(n, auto_pad) for n in whole]


def _halves(n: int, auto_pad: str) -> tuple[int, int]:
    """What is in front of an axis and behind it, of so much in all: the larger half is behind only for SAME_UPPER."""
    return (n // 2, n - n // 2) if auto_pad == "SAME_UPPER" else (n - n // 2, n // 2)


def _steps_and_gaps(
    rank: int, strides: Sequence[int] | None, dilations: Sequence[int] | None
) -> tuple[list[int], list[int]]:
    return list(strides or [1] * rank), list(dilations or [1] * rank)


def _extents(windows: Sequence[int], dilations: Sequence[int]) -> list[int]:
    return [(window - 1) * gap + 1 for window, gap in zip(windows, dilations, strict=True)]


def _per_channel(v: Any, rank: int) -> Any:
    return _core.array(v).reshape(-1, *[1] * (rank - 2))


def _with_bias(x: Any, bias: Any) -> Any:
    return x if bias is None else x + _per_channel(bias, x.ndim)


def _conv(
    x: Any,
    w: Any,
    b: Any = None,
    *,
    auto_pad: str = "NOTSET",
    dilations: Sequence[int] | None = None,
    group: int = 1,
    kernel_shape: Sequence[int] | None = None,
    pads: Sequence[int] | None = None,
    strides: Sequence[int] | None = None,
) -> Any:
    x, w = _core.array(x), _core.array(w)
    steps, gaps = _steps_and_gaps(x.ndim - 2, strides, dilations)
    padding = _pads(x.shape[2:], _extents(w.shape[2:], gaps), steps, pads, auto_pad)
    return _with_bias(lax.conv_general_dilated(x, w, steps, padding, rhs_dilation=gaps, feature_group_count=group), b)


def _conv_transpose(
    x: Any,
    w: Any,
    b: Any = None,
    *,
    auto_pad: str = "NOTSET",
    dilations: Sequence[int] | None = None,
    group: int = 1,
    kernel_shape: Sequence[int] | None = None,
    output_padding: Sequence[int] | None = None,
    output_shape: Sequence[int] | None = None,
    pads: Sequence[int] | None = None,
    strides: Sequence[int] | None = None,
) -> Any:
    x, w = _core.array(x), _core.array(w)
    rank = x.ndim - 2
    steps, gaps = _steps_and_gaps(rank, strides, dilations)
    more = list(output_padding or [0] * rank)
    extents = _extents(w.shape[2:], gaps)
    if output_shape is not None or auto_pad.startswith("SAME"):
        wanted = list(output_shape or [n * step for n, step in zip(x.shape[2:], steps, strict=True)])
        whole = [
            step * (n - 1) + extra + extent - size
            for step, n, extra, extent, size in zip(steps, x.shape[2:], more, extents, wanted, strict=True)
        ]
        sides = [_halves(n, auto_pad) for n in whole]  # of what is too much, which is cut off
    else:
        sides = _pads(x.shape[2:], extents, steps, pads, auto_pad)
    # The filters, turned round, over the input's elements with gaps between them.
    channels, each = w.shape[:2]
    turned = cnp.flip(w, tuple(range(2, w.ndim))).reshape(group, channels // group, each, *w.shape[2:])
    turned = cnp.swapaxes(turned, 1, 2).reshape(group * each, channels // group, *w.shape[2:])
    padding = [
        (extent - 1 - low, extent - 1 - high + extra)
        for extent, (low, high), extra in zip(extents, sides, more, strict=True)
    ]
    result = lax.conv_general_dilated(
        x, turned, [1] * rank, padding, lhs_dilation=steps, rhs_dilation=gaps, feature_group_count=group
    )
    return _with_bias(result, b)


def _windows(
    x: Any,
    kernel: Sequence[int],
    strides: Sequence[int] | None,
    dilations: Sequence[int] | None,
    pads: Sequence[int] | None,
    auto_pad: str,
    ceil_mode: int,
) -> tuple[list[int], list[int], list[tuple[int, int]], list[tuple[int, int]]]:
    """Strides, dilations, what is added by the model, and by it and by places that are counted in part."""
    steps, gaps = _steps_and_gaps(x.ndim - 2, strides, dilations)
    extents = _extents(kernel, gaps)
    added = _pads(x.shape[2:], extents, steps, pads, auto_pad)
    if not ceil_mode or auto_pad != "NOTSET":
        return steps, gaps, added, added
    whole = []
    for size, extent, step, (low, high) in zip(x.shape[2:], extents, steps, added, strict=True):
        places = -(-(size + low + high - extent) // step) + 1
        places -= (places - 1) * step >= size + low  # a window begins at an element, or in front of one
        whole.append((low, max((places - 1) * step + extent - size - low, high)))
    return steps, gaps, added, whole


def _pooled(x: Any, combine: Any, first: Any, kernel: Sequence[int], how: Any) -> Any:
    steps, gaps, _, whole = how
    return lax.reduce_window(
        x, first, combine, (1, 1, *kernel), (1, 1, *steps), [(0, 0), (0, 0), *whole], window_dilation=(1, 1, *gaps)
    )


def _max_pool(
    x: Any,
    *,
    kernel_shape: Sequence[int],
    auto_pad: str = "NOTSET",
    ceil_mode: int = 0,
    dilations: Sequence[int] | None = None,
    pads: Sequence[int] | None = None,
    storage_order: int = 0,
    strides: Sequence[int] | None = None,
) -> Any:
    x = _core.array(x)
    how = _windows(x, kernel_shape, strides, dilations, pads, auto_pad, ceil_mode)
    least = np.asarray(-np.inf if _core.dtype_kind(x.dtype) == "float" else np.iinfo(x.dtype).min, x.dtype)
    return _pooled(x, lax.max, least, kernel_shape, how)


def _average_pool(
    x: Any,
    *,
    kernel_shape: Sequence[int],
    auto_pad: str = "NOTSET",
    ceil_mode: int = 0,
    count_include_pad: int = 0,
    dilations: Sequence[int] | None = None,
    pads: Sequence[int] | None = None,
    strides: Sequence[int] | None = None,
) -> Any:
    x = _core.array(x)
    how = _windows(x, kernel_shape, strides, dilations, pads, auto_pad, ceil_mode)
    zero = np.zeros((), x.dtype)
    total = _pooled(x, lax.add, zero, kernel_shape, how)
    counted = np.ones((1, 1, *x.shape[2:]), x.dtype)
    steps, gaps, added, whole = how
    if count_include_pad:
        counted = np.pad(counted, [(0, 0), (0, 0), *added], constant_values=1)
        whole = [(0, high - given) for (_, high), (_, given) in zip(whole, added, strict=True)]
    return total / _pooled(_core.array(counted), lax.add, zero, kernel_shape, (steps, gaps, added, whole))


def _over_space(reduce: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x: reduce(x, axis=tuple(range(2, x.ndim)), keepdims=True)


# ---- Normalizations --------------------------------------------------------------------------------------------------


def _batch_normalization(
    x: Any,
    scale: Any,
    b: Any,
    mean: Any,
    var: Any,
    *,
    epsilon: float = 1e-5,
    momentum: float = 0.9,
    training_mode: int = 0,
) -> Any:
    if training_mode:
        raise NotImplementedError(
            "onnx.load: BatchNormalization with training_mode=1 is not read\n  export the model in evaluation mode"
        )
    x = _core.array(x)
    scale, b, mean, var = (_per_channel(v, max(x.ndim, 2)) for v in (scale, b, mean, var))
    return (x - mean) * (scale / cnp.sqrt(var + epsilon)) + b


def _normalized(x: Any, axes: tuple[int, ...], epsilon: float) -> tuple[Any, Any, Any]:
    mean = cnp.mean(x, axis=axes, keepdims=True)
    inverse = 1 / cnp.sqrt(cnp.mean((x - mean) ** 2, axis=axes, keepdims=True) + epsilon)
    return (x - mean) * inverse, mean, inverse


def _instance_normalization(x: Any, scale: Any, b: Any, *, epsilon: float = 1e-5) -> Any:
    x = _core.array(x)
    y = _normalized(x, tuple(range(2, x.ndim)), epsilon)[0]
    return y * _per_channel(scale, x.ndim) + _per_channel(b, x.ndim)


def _layer_normalization(
    x: Any, scale: Any, b: Any = None, *, axis: int = -1, epsilon: float = 1e-5, stash_type: int = 1
) -> Any:
    x = _core.array(x)
    y, mean, inverse = _normalized(x, tuple(range(axis % x.ndim, x.ndim)), epsilon)
    y = y * scale
    return (y if b is None else y + b), mean, inverse


# ---- Other sizes -----------------------------------------------------------------------------------------------------


def _sources(mode: str, size: int, out: int, scale: Any) -> Any:
    """Where the elements of a resized axis lie between those that there were; in float32, by which onnxruntime rounds."""
    at = np.arange(out, dtype=np.float32)
    scale = np.float32(scale)
    if mode == "asymmetric":
        return at / scale
    if mode == "align_corners":
        return at * ((size - 1) / (out - 1)) if out > 1 else at * 0
    if mode == "pytorch_half_pixel" and out <= 1:
        return at * 0
    if mode in ("half_pixel", "pytorch_half_pixel"):
        return (at + 0.5) / scale - 0.5
    if mode == "half_pixel_symmetric":
        return size / 2 * (1 - out / (scale * size)) + (at + 0.5) / scale - 0.5
    raise NotImplementedError(
        f"onnx.load: Resize with coordinate_transformation_mode={mode} is not read\n"
        "  use half_pixel, half_pixel_symmetric, pytorch_half_pixel, asymmetric or align_corners"
    )


_NEAREST: dict[str, Callable[[Any], Any]] = {
    "round_prefer_floor": lambda at: np.ceil(at - 0.5),
    "round_prefer_ceil": lambda at: np.floor(at + 0.5),
    "floor": np.floor,
    "ceil": np.ceil,
}


def _weights(at: Any, size: int, mode: str, a: float, exclude: bool) -> Any:
    """[new element, element]: how much of each element each new one has."""
    low = np.floor(at).astype(int)
    part = at - low
    taps = (0, 1) if mode == "linear" else (-1, 0, 1, 2)
    result = np.zeros((len(at), size))
    for tap in taps:
        far = np.abs(part - tap)
        if mode == "linear":
            weight = 1 - far
        else:
            near = ((a + 2) * far - (a + 3)) * far * far + 1
            weight = np.where(far <= 1, near, ((a * far - 5 * a) * far + 8 * a) * far - 4 * a)
        place = low + tap
        if exclude:
            weight = np.where((place >= 0) & (place < size), weight, 0)
        np.add.at(result, (np.arange(len(at)), np.clip(place, 0, size - 1)), weight)
    return result / result.sum(1, keepdims=True) if exclude else result


def _resize(
    x: Any,
    roi: Any = None,
    scales: Any = None,
    sizes: Any = None,
    *,
    antialias: int = 0,
    axes: Sequence[int] | None = None,
    coordinate_transformation_mode: str = "half_pixel",
    cubic_coeff_a: float = -0.75,
    exclude_outside: int = 0,
    extrapolation_value: float = 0.0,
    keep_aspect_ratio_policy: str = "stretch",
    mode: str = "nearest",
    nearest_mode: str = "round_prefer_floor",
) -> Any:
    if antialias or keep_aspect_ratio_policy != "stretch":
        raise NotImplementedError(
            "onnx.load: Resize with antialias or keep_aspect_ratio_policy is not read\n"
            "  export it with antialias=0 and keep_aspect_ratio_policy='stretch', which are the defaults"
        )
    x = _core.array(x)
    places = list(range(x.ndim)) if axes is None else [axis % x.ndim for axis in axes]
    by_size = sizes is not None and np.asarray(sizes).size > 0
    for number, axis in enumerate(places):
        size = x.shape[axis]
        if by_size:
            out = int(np.asarray(sizes)[number])
            scale = out / size
        else:
            scale = float(np.asarray(scales)[number])
            out = math.floor(size * scale)
        if out == size and scale == 1:
            continue
        at = _sources(coordinate_transformation_mode, size, out, scale)
        if mode == "nearest":
            index = np.clip(_NEAREST[nearest_mode](at), 0, size - 1).astype(np.int64)
            x = _core.primitives["gather"](x, _core.array(index), axis=axis, batch_dims=0)
            continue
        matrix = _weights(at, size, mode, cubic_coeff_a, bool(exclude_outside)).astype(x.dtype)
        x = cnp.moveaxis(cnp.tensordot(x, matrix, axes=[[axis], [1]]), -1, axis)
    return x


LAYERS: dict[str, Callable[..., Any]] = {
    "AveragePool": _average_pool,
    "BatchNormalization": _batch_normalization,
    "Conv": _conv,
    "ConvTranspose": _conv_transpose,
    "GlobalAveragePool": _over_space(cnp.mean),
    "GlobalMaxPool": _over_space(cnp.max),
    "InstanceNormalization": _instance_normalization,
    "LayerNormalization": _layer_normalization,
    "MaxPool": _max_pool,
    "Resize": _resize,
}
