"""Reductions of the segments of an array, given by an index an element."""

from __future__ import annotations

from typing import Any

import numpy as np

from cotangent import numpy as cnp
from cotangent._base import primitives
from cotangent._base.arguments import check_arguments
from cotangent._base.capture import set_length
from cotangent._base.device import Placement
from cotangent._base.dimensions import Dim, bound_of, check_equal_sizes, size_if_computed
from cotangent._base.names import suggest_names
from cotangent._core import Array, Primitive
from cotangent._ops.sizes import length_of_size, static_int
from cotangent.errors import DTypeError
from cotangent.numpy.index_updates import check_mode

__all__ = ["segment_max", "segment_min", "segment_prod", "segment_sum"]


def _segments(
    name: str,
    method: str,
    scatter: Primitive,
    data: Any,
    segment_ids: Any,
    num_segments: int | Dim | None,
    identity: Any,
    options: dict[str, Any],
) -> Array:
    data, segment_ids = cnp.asarray(data), cnp.asarray(segment_ids)
    if not cnp.issubdtype(segment_ids.dtype, cnp.integer):
        raise DTypeError(
            f"{name}: segment_ids must be integers; got {segment_ids.dtype}\n  convert them first: .astype('int32')"
        )
    if data.ndim == 0:
        data = cnp.broadcast_to(data, segment_ids.shape)  # the same number for each
    if segment_ids.ndim == 0 or segment_ids.ndim > data.ndim:
        raise ValueError(
            f"{name}: segment_ids {segment_ids.shape} must have the leading axes of the data, whose shape is {data.shape}\n"
            f"  give one segment for each row: shape {data.shape[:1]}"
        )
    for axis, (ids, elements) in enumerate(zip(segment_ids.shape, data.shape, strict=False)):
        check_equal_sizes(name, f"segment_ids.shape[{axis}]", ids, f"data.shape[{axis}]", elements, ValueError)
    if num_segments is None:
        # The result's shape depends on the values, which must be known.
        num_segments = int(cnp.max(segment_ids)) + 1 if segment_ids.size else 0
    num_segments = size_if_computed(num_segments, f"{name}: num_segments")
    if isinstance(num_segments, Dim):
        if options["mode"] == "clip":
            segment_ids = cnp.minimum(segment_ids, num_segments - 1)
        wide = _segments(name, method, scatter, data, segment_ids, bound_of(num_segments), identity, options)
        return set_length(wide, length_of_size(num_segments), 0)
    num_segments = static_int(num_segments, f"{name}: num_segments")
    if num_segments < 0:
        raise ValueError(
            f"{name}: num_segments must not be negative; got {num_segments}\n"
            "  leave num_segments out for the largest segment and one"
        )
    start = cnp.full((num_segments, *data.shape[segment_ids.ndim :]), identity(data.dtype), dtype=data.dtype)
    if options["mode"] != "clip":
        # Of what scatters, not of indices, which would count ids below 0 from the end: ids outside belong to no segment.
        check_mode(options["mode"])
        return scatter(start, segment_ids, data, axis=0, batch_dims=0, unique=bool(options["unique_indices"]))
    result: Array = getattr(start.at[cnp.maximum(segment_ids, 0)], method)(data, **options)
    return result


def _segment_extrema(
    name: str,
    method: str,
    scatter: Primitive,
    data: Any,
    segment_ids: Any,
    num_segments: int | Dim | None,
    identity: Any,
    options: dict[str, Any],
) -> Array:
    """Of complex numbers, the extremum of the real parts, then of the imaginary parts of those."""
    data, segment_ids = cnp.asarray(data), cnp.asarray(segment_ids)

    def segments(method: str, scatter: Primitive, x: Array, identity: Any) -> Array:
        return _segments(name, method, scatter, x, segment_ids, num_segments, identity, options)

    if not cnp.iscomplexobj(data):
        return segments(method, scatter, data, identity)
    real, imaginary = cnp.real(data), cnp.imag(data)
    first = segments(method, scatter, real, identity)
    if first.shape[0] == 0:
        return first.astype(data.dtype)
    outermost = identity(real.dtype)
    among = real == cnp.take(first, segment_ids, axis=0, mode="clip")
    second = segments(method, scatter, cnp.where(among, imaginary, outermost), identity)
    second = cnp.where((first == outermost) & (second == outermost), 0, second)
    undefined = segments("max", primitives.scatter_max, data != data, _lowest)
    result: Array = cnp.where(undefined, np.nan, primitives.complex(first, second))
    return result


def _lowest(dtype: Any) -> Any:
    if cnp.issubdtype(dtype, cnp.inexact):
        return -cnp.inf
    return False if dtype == bool else cnp.iinfo(dtype).min


def _highest(dtype: Any) -> Any:
    if cnp.issubdtype(dtype, cnp.inexact):
        return cnp.inf
    return True if dtype == bool else cnp.iinfo(dtype).max


def _options(indices_are_sorted: bool, unique_indices: bool, mode: Any) -> dict[str, Any]:
    return {"indices_are_sorted": indices_are_sorted, "unique_indices": unique_indices, "mode": mode}


def segment_sum(
    data: Any,
    segment_ids: Any,
    num_segments: int | Dim | None = None,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    bucket_size: int | None = None,
    mode: Any = None,
    *,
    out_sharding: Placement = None,
) -> Array:
    """The sum of the rows of each segment.

    Parameters
    ----------
    data : array
        Its leading axes are those of ``segment_ids``; a scalar stands for each row.
    segment_ids : array of int
        The segment of each row. Rows with an id outside of [0, num_segments) are left out, or with ``mode="clip"``
        belong to the nearest segment.
    num_segments : int, optional
        The number of segments, by default one more than the highest id; needed under ``jit``. Inside ``mask`` also
        a size.
    indices_are_sorted : bool
        A promise, which is not needed.
    unique_indices : bool
        A promise that each segment has one row at most.
    bucket_size : int, optional
        Accepted for JAX's signature: the order in which rows are combined does not depend on it.
    mode : str, optional
        What becomes of ids outside: "clip", or as of ``x.at[...]``.
    out_sharding : device or sharding, optional
        What the result is made on; by default the default device.

    Returns
    -------
    array, shape (num_segments, ...)
        Empty segments are 0.

    Raises
    ------
    DTypeError
        ``segment_ids`` are no integers.
    ValueError
        ``segment_ids`` do not have the leading axes of ``data``.

    Examples
    --------
    >>> ct.ops.segment_sum(ct.numpy.array([1, 2, 3]), ct.numpy.array([0, 0, 2]), 4)
    Array([3, 0, 3, 0], dtype=int32)
    """
    options = _options(indices_are_sorted, unique_indices, mode)
    return _segments(
        "segment_sum", "add", primitives.scatter_add, data, segment_ids, num_segments, lambda dtype: 0, options
    )


def segment_prod(
    data: Any,
    segment_ids: Any,
    num_segments: int | Dim | None = None,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    bucket_size: int | None = None,
    mode: Any = None,
    *,
    out_sharding: Placement = None,
) -> Array:
    """The product of the rows of each segment.

    Parameters
    ----------
    data : array
        Its leading axes are those of ``segment_ids``; a scalar stands for each row.
    segment_ids : array of int
        The segment of each row. Rows with an id outside of [0, num_segments) are left out, or with ``mode="clip"``
        belong to the nearest segment.
    num_segments : int, optional
        The number of segments, by default one more than the highest id; needed under ``jit``. Inside ``mask`` also
        a size.
    indices_are_sorted : bool
        A promise, which is not needed.
    unique_indices : bool
        A promise that each segment has one row at most.
    bucket_size : int, optional
        Accepted for JAX's signature: the order in which rows are combined does not depend on it.
    mode : str, optional
        What becomes of ids outside: "clip", or as of ``x.at[...]``.
    out_sharding : device or sharding, optional
        What the result is made on; by default the default device.

    Returns
    -------
    array, shape (num_segments, ...)
        Empty segments are 1.

    Raises
    ------
    DTypeError
        ``segment_ids`` are no integers.
    ValueError
        ``segment_ids`` do not have the leading axes of ``data``.

    Examples
    --------
    >>> ct.ops.segment_prod(ct.numpy.array([2, 3, 4]), ct.numpy.array([0, 0, 2]), 3)
    Array([6, 1, 4], dtype=int32)
    """
    options = _options(indices_are_sorted, unique_indices, mode)
    return _segments(
        "segment_prod", "mul", primitives.scatter_mul, data, segment_ids, num_segments, lambda dtype: 1, options
    )


def segment_max(
    data: Any,
    segment_ids: Any,
    num_segments: int | Dim | None = None,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    bucket_size: int | None = None,
    mode: Any = None,
    *,
    out_sharding: Placement = None,
) -> Array:
    """The largest of the rows of each segment, element by element.

    Complex numbers are compared by their real parts, then by their imaginary parts.

    Parameters
    ----------
    data : array
        Its leading axes are those of ``segment_ids``; a scalar stands for each row.
    segment_ids : array of int
        The segment of each row. Rows with an id outside of [0, num_segments) are left out, or with ``mode="clip"``
        belong to the nearest segment.
    num_segments : int, optional
        The number of segments, by default one more than the highest id; needed under ``jit``. Inside ``mask`` also
        a size.
    indices_are_sorted : bool
        A promise, which is not needed.
    unique_indices : bool
        A promise that each segment has one row at most.
    bucket_size : int, optional
        Accepted for JAX's signature: the order in which rows are combined does not depend on it.
    mode : str, optional
        What becomes of ids outside: "clip", or as of ``x.at[...]``.
    out_sharding : device or sharding, optional
        What the result is made on; by default the default device.

    Returns
    -------
    array, shape (num_segments, ...)
        Empty segments are the lowest number of the dtype, -inf of floats.

    Raises
    ------
    DTypeError
        ``segment_ids`` are no integers.
    ValueError
        ``segment_ids`` do not have the leading axes of ``data``.

    Examples
    --------
    >>> ct.ops.segment_max(ct.numpy.array([2.0, 3.0, 4.0]), ct.numpy.array([0, 0, 2]), 3)
    Array([  3., -inf,   4.], dtype=float32)
    """
    options = _options(indices_are_sorted, unique_indices, mode)
    return _segment_extrema(
        "segment_max", "max", primitives.scatter_max, data, segment_ids, num_segments, _lowest, options
    )


def segment_min(
    data: Any,
    segment_ids: Any,
    num_segments: int | Dim | None = None,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    bucket_size: int | None = None,
    mode: Any = None,
    *,
    out_sharding: Placement = None,
) -> Array:
    """The smallest of the rows of each segment, element by element.

    Complex numbers are compared by their real parts, then by their imaginary parts.

    Parameters
    ----------
    data : array
        Its leading axes are those of ``segment_ids``; a scalar stands for each row.
    segment_ids : array of int
        The segment of each row. Rows with an id outside of [0, num_segments) are left out, or with ``mode="clip"``
        belong to the nearest segment.
    num_segments : int, optional
        The number of segments, by default one more than the highest id; needed under ``jit``. Inside ``mask`` also
        a size.
    indices_are_sorted : bool
        A promise, which is not needed.
    unique_indices : bool
        A promise that each segment has one row at most.
    bucket_size : int, optional
        Accepted for JAX's signature: the order in which rows are combined does not depend on it.
    mode : str, optional
        What becomes of ids outside: "clip", or as of ``x.at[...]``.
    out_sharding : device or sharding, optional
        What the result is made on; by default the default device.

    Returns
    -------
    array, shape (num_segments, ...)
        Empty segments are the highest number of the dtype, inf of floats.

    Raises
    ------
    DTypeError
        ``segment_ids`` are no integers.
    ValueError
        ``segment_ids`` do not have the leading axes of ``data``.

    Examples
    --------
    >>> ct.ops.segment_min(ct.numpy.array([2.0, 3.0, 4.0]), ct.numpy.array([0, 0, 2]), 3)
    Array([ 2., inf,  4.], dtype=float32)
    """
    options = _options(indices_are_sorted, unique_indices, mode)
    return _segment_extrema(
        "segment_min", "min", primitives.scatter_min, data, segment_ids, num_segments, _highest, options
    )


check_arguments(globals())
suggest_names(globals())
