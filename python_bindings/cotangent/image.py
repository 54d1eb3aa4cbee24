"""Resampling of images and other regularly spaced arrays, as one matrix product an axis."""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence
from typing import Any

from cotangent import _core
from cotangent import numpy as cnp
from cotangent._base.arguments import check_arguments, suggestion
from cotangent._base.capture import give_lengths
from cotangent._base.names import suggest_names
from cotangent._base.precision import check_precision
from cotangent._core import Array
from cotangent._ops.extents import bound_of, capacity, without_padding
from cotangent._ops.sizes import is_dimension, length_of_size

__all__ = ["ResizeMethod", "resize", "scale_and_translate"]


class ResizeMethod(enum.Enum):
    """The kernel that weighs the input around the place of an output element.

    ``NEAREST`` takes one element; ``LINEAR`` a triangle; ``LANCZOS3`` and ``LANCZOS5`` a windowed sinc of that
    radius (Turkowski, "Filters for common resampling tasks", 1990); ``CUBIC`` the cubic of Keys ("Cubic convolution
    interpolation for digital image processing", 1981) with parameter -1/2, ``CUBIC_PYTORCH`` with -3/4 and with
    repeated edges; ``AREA`` the mean of what an output element covers.
    """

    NEAREST = 0
    LINEAR = 1
    LANCZOS3 = 2
    LANCZOS5 = 3
    CUBIC = 4
    CUBIC_PYTORCH = 5  # the kernel of PyTorch and OpenCV without antialiasing: another parameter, edges repeated
    AREA = 6

    @staticmethod
    def from_string(s: str) -> ResizeMethod:
        """The method of a name.

        Parameters
        ----------
        s : str
            "nearest", "linear", "bilinear", "trilinear", "triangle", "lanczos3", "lanczos5", "cubic", "bicubic",
            "tricubic", "cubic-pytorch", "bicubic-pytorch", "tricubic-pytorch" or "area".

        Returns
        -------
        ResizeMethod
            The method.

        Raises
        ------
        ValueError
            There is no such name.

        Examples
        --------
        >>> ct.image.ResizeMethod.from_string("bilinear").name
        'LINEAR'
        """
        names = {
            "nearest": ResizeMethod.NEAREST,
            "linear": ResizeMethod.LINEAR,
            "bilinear": ResizeMethod.LINEAR,
            "trilinear": ResizeMethod.LINEAR,
            "triangle": ResizeMethod.LINEAR,
            "lanczos3": ResizeMethod.LANCZOS3,
            "lanczos5": ResizeMethod.LANCZOS5,
            "cubic": ResizeMethod.CUBIC,
            "bicubic": ResizeMethod.CUBIC,
            "tricubic": ResizeMethod.CUBIC,
            "cubic-pytorch": ResizeMethod.CUBIC_PYTORCH,
            "bicubic-pytorch": ResizeMethod.CUBIC_PYTORCH,
            "tricubic-pytorch": ResizeMethod.CUBIC_PYTORCH,
            "area": ResizeMethod.AREA,
        }
        if s not in names:
            raise ValueError(f"unknown resize method {s!r}{suggestion(s, names)}\n  the methods are {', '.join(names)}")
        return names[s]


def _triangle(x: Array) -> Array:
    return cnp.maximum(0, 1 - x)


def _lanczos(radius: float) -> Callable[[Array], Array]:
    # sinc(x) sinc(x / radius) inside the radius: Turkowski, "Filters for Common Resampling Tasks", 1990.
    return lambda x: cnp.where(x < radius, cnp.sinc(x) * cnp.sinc(x / radius), 0.0)


def _cubic(a: float) -> Callable[[Array], Array]:
    # Keys, "Cubic Convolution Interpolation for Digital Image Processing", 1981, with the free parameter a.
    def kernel(x: Array) -> Array:
        near = ((a + 2) * x - (a + 3)) * x * x + 1
        far = ((a * x - 5 * a) * x + 8 * a) * x - 4 * a
        weights: Array = cnp.where(x < 1, near, cnp.where(x < 2, far, 0.0))
        return weights

    return kernel


_KERNELS: dict[ResizeMethod, Callable[[Array], Array]] = {
    ResizeMethod.LINEAR: _triangle,
    ResizeMethod.LANCZOS3: _lanczos(3.0),
    ResizeMethod.LANCZOS5: _lanczos(5.0),
    ResizeMethod.CUBIC: _cubic(-0.5),
    ResizeMethod.CUBIC_PYTORCH: _cubic(-0.75),
}


# How far beyond the edge PyTorch's kernel reaches, whose taps out there count for the edge.
_REPEATED = 2


def _same(x: Any, y: Any) -> bool:
    """Whether two sizes are one for all lengths."""
    if is_dimension(x) and is_dimension(y):
        return _core.same_length(x.value, y.value)
    return not is_dimension(x) and not is_dimension(y) and x == y


def _of_size(x: Array, axis: int, size: Any) -> Array:
    return give_lengths(x, {axis: length_of_size(size)}) if is_dimension(size) else x


def _weights(
    in_size: Any, out_size: Any, scale: Array, translation: Array, method: ResizeMethod, antialias: bool, dtype: Any
) -> Array:
    """The matrix [in_size, out_size] of one axis."""
    inverse = 1.0 / scale
    in_bound = bound_of(in_size)
    if is_dimension(in_size):
        in_size = _core.array(in_size)
    positions = cnp.arange(bound_of(out_size), dtype=dtype)
    # The place of an output element's centre in the input.
    place = (positions + 0.5 - translation) * inverse - 0.5
    repeat_edges = method == ResizeMethod.CUBIC_PYTORCH and not antialias
    beyond = _REPEATED if repeat_edges else 0
    taps = cnp.arange(-beyond, in_bound + beyond).astype(dtype)[:, None]
    if method == ResizeMethod.AREA:
        start = (positions - translation) * inverse
        overlap = cnp.minimum((start + inverse)[None, :], taps + 1) - cnp.maximum(start[None, :], taps)
        weights = cnp.maximum(0, overlap)
    else:
        width = cnp.maximum(inverse, 1.0) if antialias else cnp.ones_like(inverse)
        kernel = _KERNELS[ResizeMethod.CUBIC if method == ResizeMethod.CUBIC_PYTORCH and antialias else method]
        weights = kernel(cnp.abs(place[None, :] - taps) / width)
    if isinstance(in_size, Array):
        weights = cnp.where(taps < in_size + beyond, weights, 0)
    if repeat_edges:
        edge = cnp.arange(in_bound)[:, None]
        inner = cnp.where(edge < in_size, weights[beyond : beyond + in_bound], 0)
        inner = inner + cnp.where(edge == 0, cnp.sum(weights[:beyond], axis=0), 0)
        behind = cnp.sum(cnp.where(taps >= in_size, weights, 0), axis=0)
        weights = inner + cnp.where(edge == in_size - 1, behind, 0)
    total = cnp.sum(weights, axis=0, keepdims=True)
    negligible = 1000.0 * float(cnp.finfo(cnp.float32).eps)
    weights = cnp.where(cnp.abs(total) > negligible, weights / cnp.where(total != 0, total, 1), 0)
    if not repeat_edges:
        inside = (place >= -0.5) & (place <= in_size - 0.5)
        weights = cnp.where(inside[None, :], weights, 0)
    matrix: Array = weights.astype(dtype)
    return matrix


def _method(method: Any) -> ResizeMethod:
    return ResizeMethod.from_string(method) if isinstance(method, str) else method


def scale_and_translate(
    image: Any,
    shape: Sequence[int],
    spatial_dims: Sequence[int],
    scale: Any,
    translation: Any,
    method: Any,
    antialias: bool = True,
    precision: Any = None,
) -> Array:
    """Resamples an array at ``x_out = x_in * scale + translation`` along some axes.

    Places are those of the elements' edges: element i covers the range from i to i + 1. What lies outside of the
    input is 0.

    Parameters
    ----------
    image : array
        Numbers; integers are computed in the default floating dtype.
    shape : sequence of int
        The shape of the result, equal to that of the image outside of ``spatial_dims``.
    spatial_dims : sequence of int
        The axes to resample.
    scale : array, shape (k,)
        A factor for each of these axes; differentiable.
    translation : array, shape (k,)
        A shift in output elements for each of these axes; differentiable.
    method : ResizeMethod or str
        The kernel, or its name; not "nearest".
    antialias : bool
        Whether the kernel is widened when an axis shrinks (the default).
    precision : optional
        Checked only: products always have that of their dtype.

    Returns
    -------
    array
        Of the given shape.

    Raises
    ------
    ValueError
        The method is unknown or "nearest", or the shape does not fit.

    References
    ----------
    Ken Turkowski, "Filters for common resampling tasks", 1990.

    Examples
    --------
    >>> x = ct.numpy.array([1.0, 3.0])
    >>> ct.image.scale_and_translate(x, (4,), (0,), ct.numpy.array([1.0]), ct.numpy.array([1.0]), "linear")
    Array([0., 1., 3., 0.], dtype=float32)
    """
    check_precision(precision)
    image = cnp.asarray(image)
    shape, method = tuple(shape), _method(method)
    if len(shape) != image.ndim:
        raise ValueError(
            f"scale_and_translate: shape must have {image.ndim} axes, as the image; got {shape}\n"
            f"  give a size for each of the axes {image.shape}"
        )
    if method == ResizeMethod.NEAREST:
        raise ValueError(
            "scale_and_translate: the nearest method is not defined here\n  use ct.image.resize(image, shape, 'nearest')"
        )
    axes = [axis % image.ndim for axis in spatial_dims]
    fixed = [axis for axis in range(image.ndim) if axis not in axes]
    if any(not _same(shape[axis], image.shape[axis]) for axis in fixed):
        raise ValueError(
            f"scale_and_translate: shape {shape} differs from the image's {image.shape} outside of spatial_dims {tuple(axes)}\n"
            "  give the image's own sizes there, or name the axes in spatial_dims"
        )
    dtype = image.dtype if cnp.issubdtype(image.dtype, cnp.inexact) else cnp.result_type(image, 1.0)
    result: Array = image.astype(dtype)
    real = cnp.real(result).dtype if cnp.issubdtype(dtype, cnp.complexfloating) else dtype
    working = cnp.float32 if cnp.finfo(real).bits < 32 else real
    scale, translation = cnp.asarray(scale, working), cnp.asarray(translation, working)
    for position, axis in enumerate(axes):
        weights = _weights(
            image.shape[axis], shape[axis], scale[position], translation[position], method, antialias, working
        )
        result = without_padding(result, [axis])
        result = cnp.moveaxis(cnp.tensordot(result, weights.astype(result.dtype), axes=(axis, 0)), -1, axis)
        result = _of_size(result, axis, shape[axis])
    final: Array = result.astype(dtype)
    return final


def _ratio(x: Any, y: Any) -> Any:
    if not is_dimension(x) and not is_dimension(y):
        return max(x, 1) / y
    # Of an axis that has no elements nothing is asked.
    top, bottom = (cnp.maximum(cnp.asarray(n, "float64"), 1.0) for n in (x, y))
    return top / bottom


def resize(image: Any, shape: Sequence[int], method: Any, antialias: bool = True, precision: Any = None) -> Array:
    """Resamples an array to another shape of the same number of axes.

    Parameters
    ----------
    image : array
        Numbers; integers are computed in the default floating dtype, but by "nearest".
    shape : sequence of int
        The shape of the result; axes whose size does not change are left as they are.
    method : ResizeMethod or str
        The kernel, or its name: "nearest", "linear", "cubic", "lanczos3", "lanczos5", "area" and others.
    antialias : bool
        Whether the kernel is widened when an axis shrinks (the default).
    precision : optional
        Checked only: products always have that of their dtype.

    Returns
    -------
    array
        Of the given shape.

    Raises
    ------
    ValueError
        The method is unknown, or the shape has another number of axes.

    References
    ----------
    Ken Turkowski, "Filters for common resampling tasks", 1990.

    Examples
    --------
    >>> ct.image.resize(ct.numpy.array([0.0, 1.0]), (4,), "linear")
    Array([0.  , 0.25, 0.75, 1.  ], dtype=float32)
    """
    check_precision(precision)
    array: Array = cnp.asarray(image)
    sizes: list[Any] = [size if is_dimension(size) else int(size) for size in shape]
    shape, method = tuple(sizes), _method(method)
    if len(shape) != array.ndim:
        raise ValueError(
            f"resize: shape must have {array.ndim} axes, as the image; got {shape}\n"
            f"  give a size for each of the axes {array.shape}"
        )
    axes = [axis for axis in range(array.ndim) if not _same(shape[axis], array.shape[axis])]
    if method == ResizeMethod.NEAREST:
        for axis in axes:
            size, wanted = (cnp.asarray(n) if is_dimension(n) else n for n in (array.shape[axis], shape[axis]))
            place = (cnp.arange(bound_of(shape[axis]), dtype=cnp.float32) + 0.5) * size / cnp.maximum(wanted, 1)
            array = cnp.take(array, cnp.floor(place).astype(cnp.int32), axis=axis, mode="clip")
            array = _of_size(array, axis, shape[axis])
        return array
    if any(capacity(array, axis) == 0 for axis in axes):
        raise ValueError(
            f"resize: an axis of size 0 cannot grow; the image's shape is {array.shape}\n"
            "  leave the axis at 0, or make the image of ct.numpy.zeros(shape)"
        )
    scale: Any = [_ratio(shape[axis], array.shape[axis]) for axis in axes]
    if any(isinstance(ratio, Array) for ratio in scale):
        scale = cnp.stack([cnp.asarray(ratio, "float64") for ratio in scale])
    if not axes:
        return cnp.asarray(array, dtype=cnp.result_type(array, 1.0))
    return scale_and_translate(array, shape, axes, scale, [0.0] * len(axes), method, antialias)


check_arguments(globals())
suggest_names(globals())
