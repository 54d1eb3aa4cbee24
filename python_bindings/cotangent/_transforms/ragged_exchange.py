"""Batches of rows from and to other forms: lists, values with offsets, other libraries' ragged arrays, files.

All but lists go by one form: the elements of all rows after each other, and where each row begins. The libraries are imported where they
are asked for; none is needed otherwise.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from types import ModuleType
from typing import Any

import numpy as np

from cotangent import _core
from cotangent._base.messages import indented
from cotangent._core import Array
from cotangent._transforms.ragged import Ragged, _names_from_end, numpy_rows
from cotangent._transforms.ragged_batches import _bounds, ragged
from cotangent.errors import DTypeError, ShapeError

Names = Mapping[int, str] | None


def _library(module: str, package: str, function: str) -> ModuleType:
    try:
        return importlib.import_module(module)
    except ImportError:
        raise ImportError(f"Ragged.{function} needs {package}\n  install it: pip install {package}") from None


def _to_arrow_type(function: str, dtype: Any) -> None:
    if _core.dtype_kind(dtype) == "complex" or dtype.name not in np.sctypeDict:
        raise DTypeError(
            f"Ragged.{function}: the library has no arrays of {dtype.name}\n  convert with .astype('float32'), or take real and imag apart"
        )


# ---- values and offsets ------------------------------------------------------------------------------------------------


def _packed(value: Ragged, function: str) -> tuple[np.ndarray[Any, Any], list[np.ndarray[Any, Any]]]:
    """The elements of all rows after each other, and offsets: of the rows, and of the parts of these where axis 2 is ragged too."""
    rows = numpy_rows(value, function)
    rank = value.ndim
    axes = sorted(value.lengths)
    if axes not in ([1], [1, 2]):
        raise ShapeError(
            f"{function}: axis 1 must be ragged, or axes 1 and 2; here these are {axes}\n  exchange axes with ct.mask(ct.numpy.swapaxes) before"
        )
    counts = [np.array([row.shape[0] for row in rows], np.int64)]
    if axes == [1, 2]:
        counts.append(np.array([row.shape[1] for row in rows for _ in range(row.shape[0])], np.int64))
    rest = tuple(_core.array(value.data)._bound_shape[1 + len(axes) :])
    flat = [row.reshape(-1, *rest) for row in rows if row.size or rank == 2]
    values = np.concatenate(flat) if flat else np.zeros((0, *rest), value.dtype)
    return values, [np.concatenate([[0], np.cumsum(count)]).astype(np.int64) for count in counts]


def _indices(offsets: np.ndarray[Any, Any], dtype: Any, function: str) -> np.ndarray[Any, Any]:
    wanted = np.dtype(dtype)
    if wanted not in (np.int32, np.int64):
        raise DTypeError(
            f"{function}: offsets are of int32 or int64; got {wanted}\n  pass dtype='int32' or dtype='int64'"
        )
    if offsets[-1] > np.iinfo(wanted).max:
        raise ValueError(f"{function}: {offsets[-1]} elements are more than int32 can count\n  ask for dtype='int64'")
    return offsets.astype(wanted)


def to_offsets(self: Ragged, dtype: Any = "int32") -> tuple[Array, np.ndarray[Any, Any]]:
    """Returns the elements of all rows after each other, and where each begins.

    Parameters
    ----------
    dtype : dtype, default "int32"
        Of the offsets, int32 or int64.

    Returns
    -------
    tuple
        Values, an array of shape (total, ...), and offsets, a NumPy array of shape (rows + 1,): row ``i`` is
        ``values[offsets[i] : offsets[i + 1]]``.

    Raises
    ------
    ShapeError
        Axis 1 is not the one ragged axis.
    ConcretizationError
        The values are traced.

    Examples
    --------
    >>> values, offsets = ct.ragged([[1.0, 2.0], [], [3.0]]).to_offsets()
    >>> values.tolist(), offsets.tolist()
    ([1.0, 2.0, 3.0], [0, 2, 2, 3])
    """
    values, offsets = _packed(self, "to_offsets")
    if len(offsets) != 1:
        raise ShapeError("to_offsets: axis 2 is ragged too, which one vector of offsets does not say\n  use to_list()")
    return _core.array(values), _indices(offsets[0], dtype, "to_offsets")


def from_offsets(
    values: Any,
    offsets: Any,
    bound: int | None = None,
    names: Names = None,
    buckets: Sequence[int] | None = None,
    function: str = "from_offsets",
) -> Ragged:
    """Makes a batch of the rows ``values[offsets[i] : offsets[i + 1]]``.

    Parameters
    ----------
    values : array, shape (total, ...)
        The elements of all rows after each other.
    offsets : array of integers, shape (rows + 1,)
        Where each row begins, and where the last one ends: they do not decrease.
    bound : int, optional
        What rows are padded to; default the longest row.
    names : dict from int to str, optional
        Axis of one row -> name.
    buckets : sequence of int, optional
        Sizes of which the bound is the least that is large enough.
    function : str, default "from_offsets"
        How errors name this function.

    Returns
    -------
    Ragged
        With axis 1 ragged.

    Raises
    ------
    DTypeError
        Offsets that are not integers.
    ShapeError
        Offsets that decrease, or are outside of the values; a row above the bound.

    Examples
    --------
    >>> ct.Ragged.from_offsets([1.0, 2.0, 3.0], [0, 2, 2, 3], bound=4)
    Ragged([[1., 2.], [], [3.]], lengths={1: [2, 0, 1]}, dtype=float32)
    """
    elements = _core.to_numpy(_core.array(values))
    if elements.ndim == 0:
        raise ShapeError(
            f"{function}: values must have an axis; got a scalar\n  give the elements of all rows after each other: [1.0, 2.0]"
        )
    starts = _checked_offsets(offsets, elements.shape[0], function)
    lengths = np.diff(starts)
    size = int(lengths.max(initial=0))
    (limit,) = _bounds([size], [True], bound, buckets, function)
    data = np.zeros((len(lengths), limit, *elements.shape[1:]), elements.dtype)
    data[np.arange(limit) < lengths[:, None]] = elements[starts[0] : starts[-1]]
    return _batch(data, {1: lengths.astype(np.int32)}, names, function)


def _batch(data: np.ndarray[Any, Any], lengths: Mapping[int, Any], names: Names, function: str) -> Ragged:
    """A batch, with the names of the axes of its rows."""
    made = Ragged(_core.array(data), lengths)
    of_rows = _names_from_end(names, made._lengths, data.shape[1:], function, of_rows=True)
    return Ragged._make(made.data, made._lengths, of_rows)


def _checked_offsets(offsets: Any, size: int, function: str) -> np.ndarray[Any, Any]:
    found = np.asarray(offsets if not isinstance(offsets, Array) else _core.to_numpy(offsets))
    if found.dtype.kind not in "iu":
        raise DTypeError(
            f"{function}: offsets must be integers; got {found.dtype}\n  convert them with .astype('int64')"
        )
    if found.ndim != 1 or not found.size:
        raise ShapeError(
            f"{function}: offsets must have shape (rows + 1,); got {found.shape}\n"
            "  give where each row begins, and where the last one ends: [0, 2, 3]"
        )
    if (found[1:] < found[:-1]).any():
        row = int(np.argmax(found[1:] < found[:-1]))
        raise ShapeError(
            f"{function}: offsets must not decrease; row {row} goes from {found[row]} to {found[row + 1]}\n"
            "  of sizes of rows make offsets: numpy.concatenate([[0], numpy.cumsum(sizes)])"
        )
    if found[0] < 0 or found[-1] > size:
        raise ShapeError(
            f"{function}: offsets from {found[0]} to {found[-1]} are outside of {size} values\n"
            f"  offsets go from 0 to {size}, which is where the last row ends"
        )
    return found.astype(np.int64)


def _from_nested(
    values: np.ndarray[Any, Any], offsets: tuple[Any, Any], bound: Any, names: Names, buckets: Any, function: str
) -> Ragged:
    """A batch of rows of rows: matrices, so the rows within each are of one length."""
    outer, inner = offsets
    starts, within = _checked_offsets(outer, len(inner) - 1, function), _checked_offsets(inner, len(values), function)
    matrices = []
    for row, (begin, end) in enumerate(zip(starts[:-1], starts[1:], strict=True)):
        sizes = np.diff(within[begin : end + 1])
        if (sizes != sizes[:1]).any():
            raise ShapeError(
                f"{function}: the parts of row {row} have different lengths, {sizes.tolist()[:10]}; a ragged axis has one length in each row\n"
                "  flatten one level"
            )
        part = values[within[begin] : within[end]]
        matrices.append(part.reshape(end - begin, int(sizes[0]) if len(sizes) else 0, *values.shape[1:]))
    if not matrices:
        empty = np.zeros((0, 0, 0, *values.shape[1:]), values.dtype)
        return _batch(empty, {1: np.zeros(0, np.int32), 2: np.zeros(0, np.int32)}, names, function)
    wide = [True, True, *[False] * (values.ndim - 1)]
    largest = [max(m.shape[axis] for m in matrices) for axis in range(values.ndim + 1)]
    limits = _bounds(largest, wide, bound, buckets, function)
    data = np.zeros((len(matrices), *limits), values.dtype)
    for index, m in enumerate(matrices):
        data[index, : m.shape[0], : m.shape[1]] = m
    lengths = {axis + 1: np.array([m.shape[axis] for m in matrices], np.int32) for axis in (0, 1)}
    return _batch(data, lengths, names, function)


# ---- other libraries ---------------------------------------------------------------------------------------------------


def to_torch(self: Ragged) -> Any:
    """Returns the rows as a nested tensor of torch, of the jagged layout.

    Returns
    -------
    torch.Tensor
        With a copy of the elements.

    Raises
    ------
    ImportError
        torch is not installed.
    ShapeError
        Axis 1 is not the one ragged axis.

    Examples
    --------
    >>> import torch
    >>> ct.ragged([[1.0, 2.0], [3.0]]).to_torch().offsets().tolist()
    [0, 2, 3]
    """
    torch = _library("torch", "torch", "to_torch")
    values, offsets = to_offsets(self, "int64")
    of_numpy = np.array(_core.to_numpy(values))
    # NumPy's bfloat16 is another library's, which torch does not know: by the same bits.
    bits = torch.from_numpy(of_numpy.view(np.int16)).view(torch.bfloat16) if of_numpy.dtype.name == "bfloat16" else None
    tensor = torch.from_numpy(of_numpy) if bits is None else bits
    return torch.nested.nested_tensor_from_jagged(tensor, offsets=torch.from_numpy(offsets))


def from_torch(
    nested: Any, bound: int | None = None, names: Names = None, buckets: Sequence[int] | None = None
) -> Ragged:
    """Makes a batch of the rows of a nested tensor of torch.

    Parameters
    ----------
    nested : torch.Tensor
        Of the jagged layout.
    bound : int, optional
        What rows are padded to; default the longest row.
    names : dict from int to str, optional
        Axis of one row -> name.
    buckets : sequence of int, optional
        Sizes of which the bound is the least that is large enough.

    Returns
    -------
    Ragged
        With axis 1 ragged.

    Raises
    ------
    ImportError
        torch is not installed.
    TypeError
        No nested tensor of the jagged layout.

    Examples
    --------
    >>> import torch
    >>> ct.Ragged.from_torch(ct.ragged([[1.0, 2.0], [3.0]]).to_torch())
    Ragged([[1., 2.], [3.]], lengths={1: [2, 1]}, dtype=float32)
    """
    torch = _library("torch", "torch", "from_torch")
    if not getattr(nested, "is_nested", False) or nested.layout != torch.jagged:
        raise TypeError(
            f"from_torch: a nested tensor with layout=torch.jagged is needed; got {type(nested).__name__}\n"
            "  torch.nested.nested_tensor(tensors, layout=torch.jagged)"
        )
    rows = [row.detach().cpu().contiguous() for row in nested.unbind()]
    rest = rows[0].shape[1:] if rows else nested.values().shape[1:]
    flat = torch.cat(rows) if rows else torch.zeros((0, *rest), dtype=nested.dtype)
    values = (
        flat.view(torch.int16).numpy().view(_core.canonical_dtype("bfloat16"))
        if flat.dtype == torch.bfloat16
        else flat.numpy()
    )
    offsets = np.cumsum([0, *(row.shape[0] for row in rows)])
    return from_offsets(values, offsets, bound, names, buckets, "from_torch")


def to_arrow(self: Ragged, dtype: Any = "int32") -> Any:
    """Returns the rows as a list array of pyarrow.

    Exact axes behind the ragged one are lists of fixed size.

    Parameters
    ----------
    dtype : dtype, default "int32"
        Of the offsets: int64 makes large lists.

    Returns
    -------
    pyarrow.ListArray or pyarrow.LargeListArray
        With a list for each row.

    Raises
    ------
    ImportError
        pyarrow is not installed.
    DTypeError
        A dtype that Arrow does not have.

    Examples
    --------
    >>> import pyarrow
    >>> ct.ragged([[1.0, 2.0], [3.0]]).to_arrow().to_pylist()
    [[1.0, 2.0], [3.0]]
    """
    arrow = _library("pyarrow", "pyarrow", "to_arrow")
    _to_arrow_type("to_arrow", self.dtype)
    values, offsets = _packed(self, "to_arrow")
    nested = arrow.array(values.reshape(-1))
    for size in reversed(values.shape[1:]):
        if not size:
            raise ShapeError(
                f"to_arrow: values of shape {values.shape} have no elements to make lists of fixed size of\n"
                "  take the axis of size 0 away: x.reshape(...)"
            )
        nested = arrow.FixedSizeListArray.from_arrays(nested, size)
    lists = arrow.ListArray if np.dtype(dtype) == np.int32 else arrow.LargeListArray
    for starts in reversed(offsets):
        nested = lists.from_arrays(arrow.array(_indices(starts, dtype, "to_arrow")), nested)
    return nested


def from_arrow(
    array: Any, bound: int | Sequence[int] | None = None, names: Names = None, buckets: Sequence[int] | None = None
) -> Ragged:
    """Makes a batch of the lists in a list array of pyarrow.

    Lists in lists are matrices: those within one list have one length.

    Parameters
    ----------
    array : pyarrow.ListArray or the like
        Chunked or not.
    bound : int or sequence of int, optional
        What ragged axes are padded to; default the largest size.
    names : dict from int to str, optional
        Axis of one row -> name.
    buckets : sequence of int, optional
        Sizes of which bounds are the least that is large enough.

    Returns
    -------
    Ragged
        With a row for each list.

    Raises
    ------
    ImportError
        pyarrow is not installed.
    TypeError
        No list array, or elements that are no numbers.
    ValueError
        Nulls.

    Examples
    --------
    >>> import pyarrow
    >>> ct.Ragged.from_arrow(pyarrow.array([[1.5, 2.0], [], [3.0]])).tolist()
    [[1.5, 2.0], [], [3.0]]
    """
    arrow = _library("pyarrow", "pyarrow", "from_arrow")
    if isinstance(array, arrow.ChunkedArray):
        array = array.combine_chunks()
    offsets: list[Any] = []
    level, shape = array, []
    while isinstance(level, (arrow.ListArray, arrow.LargeListArray, arrow.FixedSizeListArray)):
        if level.null_count:
            raise ValueError(f"from_arrow: {level.null_count} of the lists are null\n  fill them or drop them")
        if isinstance(level, arrow.FixedSizeListArray):
            shape.append(level.type.list_size)
            level = level.flatten()
        elif shape or len(offsets) == 2:
            raise TypeError(f"from_arrow: {array.type} has ragged lists too deep\n  flatten one level")
        else:
            starts = level.offsets.to_numpy()
            offsets.append(starts - starts[0])
            level = level.values.slice(int(starts[0]), int(starts[-1] - starts[0]))
    if not offsets:
        raise TypeError(
            f"from_arrow: a list array is needed; got {getattr(array, 'type', type(array).__name__)}\n"
            "  of nested lists: pyarrow.array([[1.0], [2.0, 3.0]])"
        )
    if level.null_count:
        raise ValueError(f"from_arrow: {level.null_count} of the elements are null\n  fill them before")
    elements = level.to_numpy(zero_copy_only=False)
    if elements.dtype.kind not in "biufc":
        raise TypeError(
            f"from_arrow: the elements are {level.type}, which are no numbers\n  cast them: pyarrow.compute.cast(array, ...)"
        )
    values = elements.reshape(-1, *shape) if shape else elements
    if len(offsets) == 2:
        return _from_nested(values, (offsets[0], offsets[1]), bound, names, buckets, "from_arrow")
    return from_offsets(values, offsets[0], bound, names, buckets, "from_arrow")  # type: ignore[arg-type]


def to_awkward(self: Ragged) -> Any:
    """Returns the rows as an array of Awkward Array.

    Returns
    -------
    awkward.Array
        With a list for each row.

    Raises
    ------
    ImportError
        awkward is not installed.

    Examples
    --------
    >>> import awkward
    >>> ct.ragged([[1.0, 2.0], [3.0]]).to_awkward().tolist()
    [[1.0, 2.0], [3.0]]
    """
    awkward = _library("awkward", "awkward", "to_awkward")
    _to_arrow_type("to_awkward", self.dtype)
    values, offsets = _packed(self, "to_awkward")
    layout = awkward.contents.NumpyArray(np.ascontiguousarray(values))
    for starts in reversed(offsets):
        layout = awkward.contents.ListOffsetArray(awkward.index.Index64(starts), layout)
    return awkward.Array(layout)


def from_awkward(
    array: Any, bound: int | Sequence[int] | None = None, names: Names = None, buckets: Sequence[int] | None = None
) -> Ragged:
    """Makes a batch of the lists of an Awkward Array.

    Parameters
    ----------
    array : awkward.Array
        Lists of numbers, of any depth.
    bound : int or sequence of int, optional
        What ragged axes are padded to; default the largest size.
    names : dict from int to str, optional
        Axis of one row -> name.
    buckets : sequence of int, optional
        Sizes of which bounds are the least that is large enough.

    Returns
    -------
    Ragged
        With a row for each list.

    Raises
    ------
    ImportError
        awkward is not installed.
    TypeError
        No lists of numbers.
    ValueError
        Missing values.

    Examples
    --------
    >>> import awkward
    >>> ct.Ragged.from_awkward(awkward.Array([[1.5, 2.0], [], [3.0]])).tolist()
    [[1.5, 2.0], [], [3.0]]
    """
    awkward = _library("awkward", "awkward", "from_awkward")
    layout = awkward.to_layout(array)
    if layout.minmax_depth[0] != layout.minmax_depth[1] or layout.purelist_depth < 2:
        raise TypeError(
            f"from_awkward: lists of numbers are needed; got {awkward.type(array)}\n  of nested lists: awkward.Array([[1.0], [2.0, 3.0]])"
        )
    offsets: list[Any] = []
    level = awkward.Array(layout)
    while not offsets or (
        len(offsets) == 1 and level.layout.purelist_depth > 1 and not level.layout.purelist_isregular
    ):
        counts = awkward.num(level, axis=1)
        if awkward.any(awkward.is_none(counts)):
            raise ValueError("from_awkward: there are missing lists\n  fill them with awkward.fill_none")
        offsets.append(np.concatenate([[0], np.cumsum(awkward.to_numpy(counts))]).astype(np.int64))
        level = awkward.flatten(level, axis=1)
    try:
        values = awkward.to_numpy(level, allow_missing=False)
    except ValueError as error:
        raise ValueError(
            f"from_awkward: {awkward.type(array)} is not made of numbers without missing ones, in lists that are ragged at most twice\n"
            f"{indented(error)}\n  fill missing numbers with awkward.fill_none, and flatten lists with awkward.flatten"
        ) from None
    if values.dtype.kind not in "biufc":
        raise TypeError(
            f"from_awkward: the elements are of {values.dtype}, which are no numbers\n  convert them: awkward.values_astype(array, 'float32')"
        )
    if len(offsets) == 2:
        return _from_nested(values, (offsets[0], offsets[1]), bound, names, buckets, "from_awkward")
    return from_offsets(values, offsets[0], bound, names, buckets, "from_awkward")  # type: ignore[arg-type]


METHODS = (to_offsets, to_torch, to_arrow, to_awkward)
CONSTRUCTORS = (from_offsets, from_torch, from_arrow, from_awkward)


def attach() -> None:
    """Gives `Ragged` these functions."""
    for method in METHODS:
        setattr(Ragged, method.__name__, method)
    for constructor in CONSTRUCTORS:
        setattr(Ragged, constructor.__name__, staticmethod(constructor))
    Ragged.from_list = staticmethod(ragged)
