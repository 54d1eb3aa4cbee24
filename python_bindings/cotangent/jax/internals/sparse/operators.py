"""What arithmetic does with sparse arrays: where the result is sparse, it stays so; where all of it would have to be stored, it is refused."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

import cotangent.numpy as cnp
from cotangent.jax.internals.sparse.coordinates import Coordinates
from cotangent.jax.internals.sparse.layouts import sum_duplicates, update_layout
from cotangent.jax.internals.sparse.products import dot_general, expanded, multiply_dense, multiply_sparse, todense
from cotangent.jax.internals.sparse.shapes import broadcast_in_dim, concatenate, reshape, reverse, slice_, squeeze

__all__ = ["add", "divide", "matmul", "multiply", "negative", "power", "subtract", "take", "unary"]

# Functions of which f(x + y) is f(x) + f(y), so that parts at one position need not be summed before.
_LINEAR = ("conj", "copy", "imag", "negative", "real")


def unary(function: Callable[[Any], Any], name: str, mat: Coordinates) -> Coordinates:
    """A function that keeps 0 of each element."""
    if name not in _LINEAR and not mat.unique_indices:
        mat = sum_duplicates(mat, mat.nse)
    return mat.with_data(function(mat.data))


def negative(mat: Coordinates) -> Coordinates:
    """The array with other signs."""
    return mat.with_data(-mat.data)


def _promoted(x: Any, y: Any) -> tuple[Any, Any]:
    """Both in the dtype that they have in common."""
    dtype = cnp.result_type(*(side.data if isinstance(side, Coordinates) else side for side in (x, y)))
    out: list[Any] = []
    for side in (x, y):
        if isinstance(side, Coordinates):
            out.append(side if side.data.dtype == dtype else side.with_data(side.data.astype(dtype)))
        else:
            out.append(cnp.asarray(side, dtype))
    return out[0], out[1]


def add(x: Any, y: Any) -> Any:
    """The sum: of two sparse arrays the parts of both, of a sparse and a dense one a dense array.

    Raises:
        NotImplementedError: shapes or layouts differ.
    """
    x, y = _promoted(x, y)
    if isinstance(x, Coordinates) and isinstance(y, Coordinates):
        if x.shape != y.shape:
            raise NotImplementedError(
                "Addition between sparse matrices of different shapes.\n"
                "  give both one shape, by slices or bcoo_broadcast_in_dim"
            )
        if x.indices is y.indices:
            return x.with_data(x.data + y.data)
        if x.n_batch != y.n_batch or x.n_dense != y.n_dense:
            raise NotImplementedError(
                f"Addition between sparse matrices with different batch/dense dimensions.\n"
                f"  give both one layout: y.update_layout(n_batch={x.n_batch}, n_dense={x.n_dense})"
            )
        x, y = x.full_batches(), y.full_batches()
        data = cnp.concatenate([x.data, y.data], axis=x.n_batch)
        return x.of(data, cnp.concatenate([x.indices, y.indices], axis=x.n_batch), x.shape)
    sparse, dense = (x, y) if isinstance(x, Coordinates) else (y, x)
    if dense.shape != np.broadcast_shapes(sparse.shape, dense.shape):
        raise NotImplementedError(
            "Addition between a sparse array X and a dense array Y is not implemented when the output shape is larger "
            "than Y.shape, because the result would be dense.\n  make it dense where that is wanted: X.todense() + Y"
        )
    return todense(sparse) + dense


def subtract(x: Any, y: Any) -> Any:
    """The difference of two sparse arrays."""
    if not (isinstance(x, Coordinates) and isinstance(y, Coordinates)):
        raise NotImplementedError("Subtraction between sparse and dense array.\n  make it dense: x.todense() - y")
    x, y = _promoted(x, y)
    if x.indices is y.indices and x.shape == y.shape:
        return x.with_data(x.data - y.data)
    return add(x, negative(y))


def multiply(x: Any, y: Any) -> Any:
    """The product of each pair of elements, sparse."""
    x, y = _promoted(x, y)
    if isinstance(x, Coordinates) and isinstance(y, Coordinates):
        if x.indices is y.indices and x.unique_indices:
            return x.with_data(x.data * y.data)
        return multiply_sparse(x, y)
    sparse, dense = (x, y) if isinstance(x, Coordinates) else (y, x)
    if dense.ndim > sparse.ndim:
        sparse = expanded(sparse, dense.ndim)
    return sparse.with_data(multiply_dense(sparse, dense))


def divide(x: Any, y: Any) -> Any:
    """The quotient of a sparse array and a dense one."""
    if isinstance(y, Coordinates):
        raise NotImplementedError(
            "Division by a sparse array is not implemented because it would result in dense output.\n"
            "  make it dense where that is wanted: x / y.todense()"
        )
    x, y = _promoted(x, y)
    if not np.issubdtype(x.data.dtype, np.inexact):
        dtype = cnp.true_divide(cnp.ones((), x.data.dtype), 1).dtype
        x, y = x.with_data(x.data.astype(dtype)), y.astype(dtype)
    return x.with_data(multiply_dense(x, 1 / y))


_INTEGERS = (
    "sparse rule for pow is not implemented.\n  raise it to a positive int: x**2, or make it dense: x.todense() ** y"
)


def power(x: Any, y: Any) -> Any:
    """A sparse array to the power of a positive int."""
    try:
        exponent = operator.index(y)
    except TypeError:
        raise NotImplementedError(_INTEGERS) from None
    if exponent <= 0:
        raise NotImplementedError(
            f"sparse rule for integer_pow with non-positive exponent {exponent} is not implemented because it would "
            "result in dense output.\n  make it dense where that is wanted: x.todense() ** n"
        )
    return unary(lambda data: data**exponent, "integer_pow", x)


def _numbers(lhs: Any, rhs: Any) -> Any:
    """The dimension numbers of a product as `numpy.matmul` has it of two arrays whose batches are equal or not there."""
    n_batch = min(max(lhs.ndim - 2, 0), max(rhs.ndim - 2, 0))
    batch = tuple(range(n_batch))
    return ((lhs.ndim - 1,), (max(rhs.ndim - 2, 0),)), (batch, batch)


_BATCHES_DIFFER = (
    "matmul of sparse arrays with different batch dimensions\n"
    "  give both the same ones, as broadcast_in_dim does, or make one of them dense: y.todense()"
)


def matmul(lhs: Any, rhs: Any) -> Any:
    """The product as `numpy.matmul` has it: sparse of two sparse arrays, else dense."""
    lhs, rhs = _promoted(lhs, rhs)
    if not lhs.ndim or not rhs.ndim:
        raise ValueError(
            f"matmul input operands must have at least 1 dimension, got shapes {lhs.shape} and {rhs.shape}\n"
            "  multiply by a scalar with *"
        )
    if not (isinstance(lhs, Coordinates) and isinstance(rhs, Coordinates)):
        return cnp.matmul(todense(lhs), todense(rhs))
    if lhs.ndim > 2 and rhs.ndim > 2 and lhs.shape[:-2] != rhs.shape[:-2]:
        raise NotImplementedError(_BATCHES_DIFFER)
    if rhs.ndim > 2 > lhs.ndim or (lhs.ndim == 2 and rhs.ndim > 2):
        raise NotImplementedError(_BATCHES_DIFFER)
    return dot_general(lhs, rhs, _numbers(lhs, rhs))


# ---- Indexing


def take(mat: Coordinates, index: Any) -> Any:
    """The part of the array that an index of ints, slices, new axes and arrays names."""
    items = index if isinstance(index, tuple) else (index,)
    items = tuple(
        item if isinstance(item, slice) or item is None or item is Ellipsis else _static(item) for item in items
    )
    used = sum(
        np.ndim(i) if getattr(i, "dtype", None) == bool else 1 for i in items if i is not None and i is not Ellipsis
    )
    if used > mat.ndim:
        raise IndexError(
            f"too many indices: array is {mat.ndim}-dimensional, but {used} were indexed\n"
            f"  index at most {mat.ndim} axes, or add axes with None"
        )
    if Ellipsis not in [item if item is Ellipsis else None for item in items]:
        items = (*items, Ellipsis)
    where = next(i for i, item in enumerate(items) if item is Ellipsis)
    items = (*items[:where], *(slice(None),) * (mat.ndim - used), *items[where + 1 :])
    arrays = [i for i, item in enumerate(items) if isinstance(item, np.ndarray) and item.ndim]
    return _take_arrays(mat, items, arrays) if arrays else _take_basic(mat, items)


def _static(item: Any) -> Any:
    array = np.asarray(item)
    if array.dtype == bool:
        return array
    return array if array.ndim else operator.index(array[()])


def _take_basic(mat: Coordinates, items: tuple[Any, ...]) -> Any:
    starts: list[int] = []
    limits: list[int] = []
    steps: list[int] = []
    turned, gone, new = [], [], []
    axis = place = 0
    for item in items:
        if item is None:
            new.append(place)
            place += 1
            continue
        size = mat.shape[axis]
        if isinstance(item, slice):
            inside = range(*item.indices(size))
            if inside.step < 0:
                turned.append(axis)
                inside = inside[::-1]
            stop = inside[-1] + 1 if inside else inside.start
            begin = min(inside.start, size)
            starts, limits, steps = [*starts, begin], [*limits, max(stop, begin)], [*steps, inside.step]
            place += 1
        else:
            at = min(max(item + size if item < 0 else item, 0), size - 1)
            starts, limits, steps = [*starts, at], [*limits, at + 1], [*steps, 1]
            gone.append(axis)
        axis += 1
    out = slice_(mat, starts, limits, steps)
    if turned:
        out = reverse(out, turned)
    if gone:
        out = squeeze(out, gone)
    if new:
        total = out.ndim + len(new)
        rest = [i for i in range(total) if i not in new]
        shape = [1] * total
        for i, size in zip(rest, out.shape, strict=True):
            shape[i] = size
        out = broadcast_in_dim(out, shape, rest)
    return out


def _take_arrays(mat: Coordinates, items: tuple[Any, ...], arrays: list[int]) -> Any:
    """The parts that arrays of ints, known now, name: one after another."""
    whole: list[Any] = []
    for item in items:
        if isinstance(item, np.ndarray) and item.dtype == bool:
            whole.extend(np.nonzero(item))
        elif isinstance(item, int):
            whole.append(np.asarray(item))
        else:
            whole.append(item)
    places = [i for i, item in enumerate(whole) if isinstance(item, np.ndarray)]
    shape = np.broadcast_shapes(*(whole[i].shape for i in places))
    flat = [np.broadcast_to(whole[i], shape).reshape(-1) for i in places]
    together = places == list(range(places[0], places[-1] + 1))
    at = sum(1 for item in whole[: places[0]]) if together else 0
    parts = []
    for values in zip(*flat, strict=True):
        basic = list(whole)
        for i, value in zip(places, values, strict=True):
            basic[i] = int(value)
        part = _take_basic(mat, tuple(basic))
        axes = [axis for axis in range(part.ndim + 1) if axis != at]
        sizes = [*part.shape[:at], 1, *part.shape[at:]]
        parts.append(broadcast_in_dim(update_layout(part, n_batch=0), sizes, axes))
    if not parts:
        basic = list(whole)
        for i in places:
            basic[i] = slice(0, 0)
        return _take_basic(mat, tuple(basic))
    parts = [update_layout(part, n_batch=0) for part in parts]
    out = concatenate(parts, at)
    return reshape(out, [*out.shape[:at], *shape, *out.shape[at + 1 :]]) if len(shape) != 1 else out
