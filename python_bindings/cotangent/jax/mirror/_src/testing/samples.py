"""Random arrays for tests: what is called with a generator gives a function of shape and dtype.

A shape may also be `NUMPY_SCALAR_SHAPE` or `PYTHON_SCALAR_SHAPE`: a number of that kind instead of an array.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

import cotangent.numpy as cnp
from cotangent import _core

__all__ = [
    "NUMPY_SCALAR_SHAPE",
    "PYTHON_SCALAR_SHAPE",
    "ScalarShape",
    "cast_to_shape",
    "dims_of_shape",
    "dtype_str",
    "format_shape_dtype_string",
    "is_valid_shape",
    "rand_bool",
    "rand_default",
    "rand_fullrange",
    "rand_indices_unique_along_axis",
    "rand_int",
    "rand_nonzero",
    "rand_not_small",
    "rand_positive",
    "rand_small",
    "rand_small_positive",
    "rand_some_equal",
    "rand_some_inf",
    "rand_some_inf_and_nan",
    "rand_some_nan",
    "rand_some_zero",
    "rand_uniform",
    "rand_unique_int",
]

Sampler: TypeAlias = Callable[..., Any]
Generator: TypeAlias = np.random.RandomState


class ScalarShape:
    """The shape of what is a number and no array: it has no sizes."""

    def __init__(self, prefix: str) -> None:
        self.prefix = prefix

    def __len__(self) -> int:
        return 0

    def __getitem__(self, index: int) -> int:
        raise IndexError(f"a number has no axis {index}")


NUMPY_SCALAR_SHAPE, PYTHON_SCALAR_SHAPE = ScalarShape(""), ScalarShape("py")


def is_valid_shape(shape: Any, dtype: Any) -> bool:
    """Whether there are such values: Python has numbers of few dtypes."""
    if shape is not PYTHON_SCALAR_SHAPE:
        return True
    return bool(np.dtype(type(np.zeros((), dtype).item())) == np.dtype(dtype))


def dims_of_shape(shape: Any) -> Sequence[int]:
    """The sizes of a shape, of which one may be given as a number."""
    if isinstance(shape, ScalarShape):
        return ()
    return tuple(shape) if isinstance(shape, (list, tuple)) else (int(shape),)


def cast_to_shape(value: Any, shape: Any, dtype: Any) -> Any:
    """The value as what the shape asks for: an array, or a number of NumPy's or Python's."""
    if shape is NUMPY_SCALAR_SHAPE:
        return np.dtype(dtype).type(value)
    if shape is PYTHON_SCALAR_SHAPE:
        return np.asarray(value).item()
    assert np.shape(value) == tuple(dims_of_shape(shape))
    return value


def dtype_str(dtype: Any) -> str:
    """The name of a dtype."""
    return str(np.dtype(dtype).name)


def format_shape_dtype_string(shape: Any, dtype: Any) -> str:
    """An array's type as text, float32[2,3]."""
    if isinstance(shape, ScalarShape):
        return shape.prefix + dtype_str(dtype)
    sizes = ",".join(map(str, dims_of_shape(shape)))
    return f"{dtype_str(dtype)}[{sizes}{',' if isinstance(shape, int) else ''}]"


def _sampler(draw: Callable[..., Any], scale: float = 1.0, post: Callable[[Any], Any] | None = None) -> Sampler:
    """Numbers that `draw` gives for sizes, times `scale`, in a dtype, and then changed by `post`."""

    def sample(shape: Any, dtype: Any, scale: float = scale, post: Callable[[Any], Any] | None = post) -> Any:
        sizes, kind = dims_of_shape(shape), np.dtype(dtype)

        def part() -> Any:
            drawn = scale * draw(*sizes)
            with np.errstate(invalid="ignore"):
                return np.asarray(abs(drawn) if kind.kind == "u" else drawn).astype(kind)

        values = part() + 1.0j * part() if kind.kind == "c" else part()
        return cast_to_shape(np.asarray(values if post is None else post(values), kind), shape, kind)

    return sample


def rand_default(rng: Generator, scale: float = 3) -> Sampler:
    """Normal numbers of some size."""
    return _sampler(rng.randn, scale)


def rand_small(rng: Generator) -> Sampler:
    """Normal numbers near zero."""
    return _sampler(rng.randn, 1e-3)


def rand_small_positive(rng: Generator) -> Sampler:
    """Numbers above zero and near it."""
    return _sampler(rng.rand, 2e-5)


def rand_positive(rng: Generator) -> Sampler:
    """Numbers from 1 to 3."""
    return _sampler(rng.rand, 2, lambda x: x + 1)


def rand_nonzero(rng: Generator) -> Sampler:
    """Normal numbers, ones for zeros."""
    return _sampler(rng.randn, 3, lambda x: np.where(x == 0, np.ones((), x.dtype), x))


def rand_not_small(rng: Generator, offset: float = 10.0) -> Sampler:
    """Numbers that are away from zero by an offset."""
    return _sampler(rng.randn, 3.0, lambda x: x + np.where(x > 0, offset, -offset))


def rand_uniform(rng: Generator, low: float = 0.0, high: float = 1.0) -> Sampler:
    """Numbers between two."""
    assert low < high
    return _sampler(rng.rand, post=lambda x: x * (high - low) + low)


def rand_some_equal(rng: Generator) -> Sampler:
    """Numbers of which half are one of them."""

    def repeat(x: Any) -> Any:
        return np.where(rng.rand(*np.shape(x)) < 0.5, x.ravel()[0], x) if x.size else x

    return _sampler(rng.randn, 100.0, repeat)


def _replacing(
    rng: Generator, replace: Callable[[Any, Sequence[int], np.dtype[Any]], Any], complex_too: bool = False
) -> Sampler:
    """Normal numbers, some of which are replaced where the dtype is a floating one."""
    plain = rand_default(rng)

    def sample(shape: Any, dtype: Any) -> Any:
        kind = np.dtype(dtype)
        if complex_too and kind.kind == "c":
            real = np.empty(0, kind).real.dtype
            whole = sample(shape, real) + np.ones((), kind) * 1j * sample(shape, real)
            return cast_to_shape(np.asarray(whole, kind), shape, kind)
        if not cnp.issubdtype(kind, np.floating):
            return plain(shape, kind)
        sizes = dims_of_shape(shape)
        return cast_to_shape(np.asarray(replace(lambda: plain(sizes, kind), sizes, kind), kind), shape, kind)

    return sample


def rand_some_inf(rng: Generator) -> Sampler:
    """Numbers among which are infinities."""

    def replace(draw: Any, sizes: Sequence[int], dtype: np.dtype[Any]) -> Any:
        up, down = rng.rand(*sizes) < 0.1, rng.rand(*sizes) < 0.1
        values = np.where(up, np.array(np.inf, dtype), draw())
        return np.where(down, np.array(-np.inf, dtype), values)

    return _replacing(rng, replace)


def rand_some_nan(rng: Generator) -> Sampler:
    """Numbers among which are NaN of both signs."""

    def replace(draw: Any, sizes: Sequence[int], dtype: np.dtype[Any]) -> Any:
        level = rng.rand(*sizes)
        values = np.where(level < 0.1, np.array(np.nan, dtype), draw())
        return np.where(level < 0.05, np.array(-np.nan, dtype), values)

    return _replacing(rng, replace, complex_too=True)


def rand_some_inf_and_nan(rng: Generator) -> Sampler:
    """Numbers among which are infinities and NaN."""

    def replace(draw: Any, sizes: Sequence[int], dtype: np.dtype[Any]) -> Any:
        up, down, neither = (rng.rand(*sizes) < 0.1 for _ in range(3))
        values = draw()
        for where, what in ((up, np.inf), (down, -np.inf), (neither, np.nan)):
            values = np.where(where, np.array(what, dtype), values)
        return values

    return _replacing(rng, replace)


def rand_some_zero(rng: Generator) -> Sampler:
    """Numbers of which half are zeros."""
    plain = rand_default(rng)

    def sample(shape: Any, dtype: Any) -> Any:
        zeros = rng.rand(*dims_of_shape(shape)) < 0.5
        values = np.where(zeros, np.zeros((), dtype), plain(shape, dtype))
        return cast_to_shape(np.asarray(values, dtype), shape, dtype)

    return sample


def rand_fullrange(rng: Generator, standardize_nans: bool = False) -> Sampler:
    """Every pattern of bits."""

    def sample(shape: Any, dtype: Any, post: Callable[[Any], Any] = lambda x: x) -> Any:
        kind, sizes = np.dtype(dtype), dims_of_shape(shape)
        drawn = rng.randint(0, np.iinfo(np.uint8).max, size=kind.itemsize * math.prod(sizes), dtype=np.uint8)
        values = post(drawn).view(kind)
        if shape is PYTHON_SCALAR_SHAPE and kind.kind == "u" and kind.itemsize == (8 if _core.get_enable_x64() else 4):
            values = values.view(f"i{kind.itemsize}")  # the numbers beyond belong to no int of the default dtype
        values = values.reshape(sizes)
        if standardize_nans and cnp.issubdtype(kind, np.floating):
            values[np.isnan(values)] = np.nan
        return cast_to_shape(values, shape, kind)

    return sample


def rand_int(rng: Generator, low: int = 0, high: int | None = None) -> Sampler:
    """Whole numbers from one up to another, which is not among them; up to the largest by default."""
    limit = high

    def sample(shape: Any, dtype: Any) -> Any:
        nonlocal limit
        kind = np.dtype(dtype)
        if limit is None and low == 0:
            if kind.kind not in "iu":
                raise ValueError(f"rand_int: {kind} has no largest whole number\n  pass high")
            limit = np.iinfo(kind).max
        return rng.randint(low, limit, size=shape, dtype=kind if kind.kind in "iu" else np.dtype(np.int64)).astype(kind)

    return sample


def rand_unique_int(rng: Generator, high: int | None = None) -> Sampler:
    """Whole numbers no two of which are equal."""

    def sample(shape: Any, dtype: Any) -> Any:
        return rng.choice(np.arange(high or math.prod(shape), dtype=dtype), size=shape, replace=False)

    return sample


def rand_indices_unique_along_axis(rng: Generator) -> Callable[..., Any]:
    """Indices of an axis with `dim` elements no two of which along an axis are equal, some of them from the end."""

    def sample(dim: int, shape: Sequence[int], axis: int, allow_negative: bool = True) -> Any:
        length = shape[axis]
        others = [size for i, size in enumerate(shape) if i != axis % len(shape)]
        rows = [rng.choice(dim, size=length, replace=False) for _ in range(math.prod(others))]
        found = np.moveaxis(np.array(rows, int).reshape(*others, length), -1, axis)
        return found - dim * rng.choice([False, True], found.shape) if allow_negative else found

    return sample


def rand_bool(rng: Generator) -> Sampler:
    """Truth values."""

    def sample(shape: Any, dtype: Any) -> Any:
        return cast_to_shape(np.asarray(rng.rand(*dims_of_shape(shape)) < 0.5, dtype), shape, dtype)

    return sample
