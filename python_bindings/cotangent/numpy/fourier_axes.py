"""Fourier transforms along one or several axes, cut off or padded first: what the functions of `fft` are made of."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any, SupportsIndex

from cotangent import _core
from cotangent import _ops as ops
from cotangent._base import primitives
from cotangent._base.words import not_among
from cotangent._core import Array
from cotangent._ops.binding import apart, literal
from cotangent._ops.extents import bound_of, capacity, slice_axis
from cotangent._ops.sizes import (
    as_dtype,
    is_dimension,
    length_of_size,
    normalize_axis,
    ragged_length,
    several,
    static_int,
    symbolic_size,
)
from cotangent.lax.fourier import transform as _transform
from cotangent.lax.fourier import transformable
from cotangent.numpy.ragged_fft import ragged_transform


def _fit(x: Array, axis: int, size: int) -> Array:
    """``x`` cut or padded with zeros to ``size`` elements along an axis."""
    if axis in _core.ragged_axes(x):
        x = primitives.fill_padding(x, axes=[axis], value=0.0)
    have = capacity(x, axis)
    if have > size:
        return slice_axis(x, axis, 0, size)
    if have < size:
        none, high = [0] * x.ndim, [0] * x.ndim
        high[axis] = size - have
        zero = _core.full((), 0, x.dtype)
        return primitives.pad(x, zero, low=none, high=high, interior=none)
    return x


def _factor(norm: str | None, inverse: bool, count: int, name: str) -> float:
    """What a result whose inverse divides by ``count`` is multiplied with for another norm."""
    if norm not in (None, "backward", "ortho", "forward"):
        raise not_among(name, "norm", norm, (None, "backward", "ortho", "forward"))
    if norm is None or norm == "backward":
        return 1.0
    power = 0.5 if norm == "ortho" else 1.0
    return math.pow(count, power if inverse else -power)


def _fft(
    name: str, kind: str, a: Any, sizes: Sequence[int] | None, axes: Sequence[int] | None, norm: str | None
) -> Array:
    x = _core.array(a)
    if sizes is not None:
        given: list[Any] = [n if is_dimension(n) else static_int(n, f"{name}: a length") for n in sizes]
        sizes = given
        own = [-1] if name[-1] in "2n" else []  # of several axes, each may be as long as it is
        if any(n <= 0 and n not in own for n in sizes if not is_dimension(n)):
            raise ValueError(
                f"{name}: invalid number of FFT data points: lengths must be positive; got {sizes}\n"
                "  leave the length out for that of the axis"
            )
    if axes is None:
        count = x.ndim if sizes is None else len(sizes)
        if count > x.ndim:
            raise ValueError(
                f"{name}: {count} lengths for an array with {x.ndim} axes\n"
                f"  give one length for each axis, {x.ndim} at most"
            )
        axes = range(x.ndim - count, x.ndim)
    where = [normalize_axis(axis, x.ndim, name) for axis in axes]
    if sizes is not None and len(sizes) != len(where):
        raise ValueError(
            f"{name}: shape and axes have different lengths: {len(sizes)} and {len(where)}\n"
            "  give one length for each of the axes"
        )
    if len(set(where)) != len(where):
        raise ValueError(
            f"{name}: axes must not repeat; got {list(axes)}\n  name each axis once: axes={tuple(dict.fromkeys(where))}"
        )
    if sizes is not None:
        # A size that is a value may be anything.
        whole = [isinstance(n, int) and n == -1 for n in sizes]
        sizes = [symbolic_size(x, axis) if all_ else n for all_, axis, n in zip(whole, where, sizes, strict=True)]
    ragged = _core.ragged_axes(x)
    if any(map(is_dimension, sizes)) if sizes is not None else any(axis in ragged for axis in where):
        return _ragged_fft(name, kind, x, sizes, where, norm)
    # Half a spectrum is along the last axis; other axes are where they are.
    last = list(range(x.ndim - len(where), x.ndim)) if kind in ("RFFT", "IRFFT") else where
    x = ops.moveaxis(x, where, last) if where != last else x
    if sizes is None:
        sizes = [capacity(x, axis) for axis in last]
        if kind == "IRFFT" and sizes:
            sizes[-1] = 2 * (sizes[-1] - 1)
        if any(n <= 0 for n in sizes):
            raise ValueError(
                f"{name}: invalid number of FFT data points: the shape is {x.shape}\n"
                f"  give the length of the result, to which the axis is padded with zeros: {name}(x, {'s=(8, 8)' if name[-1] in '2n' else 'n=8'})"
            )
    else:
        for axis, n in zip(last, sizes, strict=True):
            x = _fit(x, axis, n // 2 + 1 if kind == "IRFFT" and axis == x.ndim - 1 else n)
    lengths = dict(zip(last, sizes, strict=True))
    result = _transform(x, kind, [lengths.get(axis, 0) for axis in range(min(last, default=x.ndim), x.ndim)])
    factor = _factor(norm, kind[0] == "I", math.prod(sizes), name)
    if factor != 1.0:
        result = result * literal(result, factor)
    return apart(ops.moveaxis(result, last, where) if where != last else result, a)


def _ragged_fft(
    name: str, kind: str, x: Array, sizes: Sequence[Any] | None, axes: Sequence[int], norm: str | None
) -> Array:
    """`_fft` where a length is a value: one axis after the other, that with half a spectrum where its array is real."""
    inverse = kind[0] == "I"
    given: Sequence[Any] = [None] * len(axes) if sizes is None else sizes
    steps = list(zip(axes, given, [kind[0] * inverse + "FFT"] * (len(axes) - 1) + [kind], strict=True))
    for axis, size, one in steps[::-1] if kind == "RFFT" else steps:
        if not is_dimension(size) and (size is not None or axis not in _core.ragged_axes(x)):
            x = _fft(name, one, x, None if size is None else [size], [axis], norm)
            continue
        x = transformable(x, one == "RFFT")
        if size is None:
            length, bound = ragged_length(x, axis), capacity(x, axis)
            if one == "IRFFT":
                two, none = _core.full((), 2, "int32"), _core.full((), 0, "int32")
                length, bound = primitives.max(length * two - two, none), 2 * bound - 2
        else:
            length, bound = length_of_size(size), bound_of(size)
        if bound <= 0:
            raise ValueError(
                f"{name}: invalid number of FFT data points: the shape is {x.shape}\n"
                f"  give the length of the result, to which the axis is padded with zeros: {name}(x, {'s=(8, 8)' if name[-1] in '2n' else 'n=8'})"
            )
        power = {None: inverse, "backward": inverse, "ortho": 0.5, "forward": not inverse}
        if norm not in power:
            _factor(norm, inverse, 1, name)  # says what it must be
        count = as_dtype(primitives.max(length, _core.full((), 1, "int32")), "float64")
        factor = primitives.pow(count, _core.full((), -float(power[norm]), "float64")) if power[norm] else None
        x = ragged_transform(x, one, length, bound, axis, factor)
    return x


def _one_axis(axis: Any, name: str) -> int:
    if several(axis):
        raise ValueError(f"{name} takes one axis; got {axis!r}\n  {name}n takes several")
    try:
        return operator.index(axis)
    except TypeError:
        raise TypeError(f"{name}: axis must be an integer; got {axis!r}\n  write axis=-1 for the last one") from None


def _fft1(name: str, kind: str, a: Any, n: int | None, axis: SupportsIndex, norm: str | None) -> Array:
    return _fft(name, kind, a, None if n is None else [n], [_one_axis(axis, name)], norm)


def _fft2(name: str, kind: str, a: Any, s: Sequence[int] | None, axes: Sequence[int] | None, norm: str | None) -> Array:
    if axes is None or len(axes) != 2:
        raise ValueError(f"{name} takes two axes; got {axes!r}\n  {name[:-1]}n takes any number")
    return _fft(name, kind, a, s, axes, norm)
