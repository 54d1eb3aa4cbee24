"""Batches of arrays of different sizes, as one `Ragged`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from cotangent import _core
from cotangent._base.arguments import check_arguments
from cotangent._base.device import put_beside
from cotangent._transforms.ragged import Ragged, _names_from_end
from cotangent.errors import DTypeError, ShapeError

__all__ = ["ragged"]


def ragged(
    arrays: Sequence[Any],
    bound: int | Sequence[int] | None = None,
    names: Mapping[int, str] | None = None,
    buckets: Sequence[int] | None = None,
) -> Ragged:
    """Makes a batch of arrays whose sizes differ: padded with zeros and stacked along a new axis 0.

    Parameters
    ----------
    arrays : sequence of arrays
        Of one rank; the dtypes of those that have elements are promoted. Axes whose sizes differ become ragged; all axes that differ from
        ``bound`` too.
    bound : int or sequence of int, optional
        What ragged axes are padded to: for all, or an entry an axis (None: the largest size); default the largest size.
    names : dict from int to str, optional
        Axis of one row, counted without the batch -> name; axes of one name have one length.
    buckets : sequence of int, optional
        Sizes of which bounds are the least that is large enough, so that few programs are compiled.

    Returns
    -------
    Ragged
        For ``vmap``: its lengths are vectors along the batch axis, and its axes those of one example.

    Raises
    ------
    ValueError
        No arrays.
    ShapeError
        Ranks that differ or are 0, rows of parts of different lengths, an array larger than its bound or than all buckets, or names of axes that differ in
        an array.
    TypeError
        Arrays of dtypes that are not promoted to a common one.

    Examples
    --------
    >>> rows = ct.ragged([[1.0, 2.0, 3.0], [4.0]])
    >>> rows
    Ragged([[1., 2., 3.], [4.]], lengths={1: [3, 1]}, dtype=float32)
    >>> ct.vmap(ct.mask(ct.numpy.sum))(rows).tolist()
    [6.0, 4.0]
    >>> ct.ragged([[1.0, 2.0, 3.0], [4.0]], buckets=[4, 8]).data.shape
    (2, 4)
    """
    arrays = list(arrays)
    _refuse_texts(arrays)
    given = [_row(number, row) for number, row in enumerate(arrays)]
    if not given:
        raise ValueError(
            "ragged needs at least one array\n  a batch of no rows is ct.Ragged(ct.numpy.zeros((0, bound)), {1: ct.numpy.zeros(0, 'int32')})"
        )
    dtype = _core.promote_types([(x.dtype, x.weak_type) for x in _with_elements(given)])[0]
    items = [_core.to_numpy(_core.convert(x, dtype)) for x in given]
    rank = items[0].ndim
    if rank == 0 or any(item.ndim != rank for item in items):
        raise ShapeError(
            f"ragged: arrays must have one rank of at least 1; got ranks {sorted({item.ndim for item in items})}\n"
            "  make each a row, x[None] or x.ravel(), so that all have as many axes"
        )
    largest = [max(item.shape[axis] for item in items) for axis in range(rank)]
    varies = [len({item.shape[axis] for item in items}) > 1 for axis in range(rank)]
    if not any(varies) and not isinstance(bound, (tuple, list)):
        varies[0] = True
    shape = _bounds(largest, varies, bound, buckets)
    padded = np.zeros((len(items), *shape), dtype=items[0].dtype)
    for index, item in enumerate(items):
        padded[(index, *(slice(0, size) for size in item.shape))] = item  # type: ignore[index]
    axes = [axis for axis in range(rank) if varies[axis] or shape[axis] != largest[axis]]
    lengths = {
        axis - rank: put_beside(_core.array(np.array([item.shape[axis] for item in items], dtype=np.int32)), given)
        for axis in axes
    }
    return Ragged._make(
        put_beside(_core.array(padded), given), lengths, _names_from_end(names, lengths, shape, "ragged", of_rows=True)
    )


def _row(number: int, row: Any) -> _core.Array:
    """A row as an array."""
    try:
        return _core.array(row)
    except ValueError:
        if not isinstance(row, (list, tuple)) or not all(isinstance(part, (list, tuple)) for part in row):
            raise
        sizes = [len(part) for part in row]
        if len(set(sizes)) == 1:
            raise
        raise ShapeError(
            f"ragged: the parts of row {number} have lengths {sizes[:10]}; a ragged axis has one length in each row\n"
            "  make each part a row: ct.ragged([part for row in rows for part in row])"
        ) from None


def _with_elements(rows: Sequence[_core.Array]) -> Sequence[_core.Array]:
    """The rows whose dtype counts: of a list without elements it is a guess; all where none has any."""
    return [row for row in rows if 0 not in row._bound_shape] or rows


def _refuse_texts(rows: Sequence[Any]) -> None:
    """Raises TypeError where a row is a text, and DTypeError where it is one of words."""
    text = next((row for row in rows if isinstance(row, (str, bytes))), None)
    if text is not None:
        numbers = "text" if isinstance(text, bytes) else "text.encode()"
        raise TypeError(
            "ragged: arrays hold numbers, and texts are none\n"
            f"  make numbers of their characters: ct.ragged([list({numbers}) for text in texts]); of words, split them first:"
            " rows = [text.split() for text in texts]"
        )
    word = next((word for row in rows if (word := _word_in(row)) is not None), None)
    if word is not None:
        raise DTypeError(
            f"ragged: arrays hold numbers, and a row has the word {word!r}\n"
            "  number the words: vocabulary = {word: i for i, word in enumerate(sorted({word for row in rows for word in row}))};"
            " ct.ragged([[vocabulary[word] for word in row] for row in rows])"
        )


def _word_in(row: Any) -> str | bytes | None:
    """The first text among the elements of a row."""
    if isinstance(row, np.ndarray):
        row = row.tolist() if row.dtype.kind in "OSTU" else ()
    if isinstance(row, (list, tuple)):
        for item in row:
            found = item if isinstance(item, (str, bytes)) else _word_in(item)
            if found is not None:
                return found
    return None


def _bounds(
    largest: Sequence[int], varies: Sequence[bool], bound: Any, buckets: Sequence[int] | None, name: str = "ragged"
) -> list[int]:
    """What the axes of examples are padded to: ``bound``, or the largest size rounded up to one of ``buckets``."""
    rank = len(largest)
    wanted = list(bound) if isinstance(bound, (tuple, list)) else [bound if v else None for v in varies]
    if len(wanted) != rank:
        raise ShapeError(
            f"{name}: bound has {len(wanted)} entries for arrays with {rank} axes\n  give one number for all ragged axes, or one an axis"
        )
    if buckets is not None and bound is not None:
        raise ValueError(
            f"{name}: give bound or buckets, not both\n  bound={bound!r} is what the axis is padded to; buckets= are bounds to choose from"
        )
    sizes = []
    for axis, size in enumerate(largest):
        limit: Any = wanted[axis]
        if buckets is not None and varies[axis]:
            limit = _bucket(size, axis, buckets, name)
        if limit is None:
            sizes.append(size)
            continue
        if isinstance(limit, bool) or not isinstance(limit, (int, np.integer)):
            raise TypeError(
                f"{name}: the bound of axis {axis} must be an integer; got {limit!r}\n"
                "  give the number of elements that the axis is padded to, or None for the largest there is"
            )
        if size > limit:
            raise ShapeError(
                f"{name}: an array has size {size} in axis {axis}, above the bound {limit}\n  pass bound={size}, or cut it: x[:{limit}]"
                "\n  see docs/errors.md#bound-too-small"
            )
        sizes.append(int(limit))
    return sizes


def _bucket(size: int, axis: int, buckets: Sequence[int], name: str) -> int:
    for bucket in buckets:
        if isinstance(bucket, bool) or not isinstance(bucket, (int, np.integer)) or bucket < 0:
            raise TypeError(
                f"{name}: buckets must be integers from 0 on; got {bucket!r}\n  give bounds to choose from: buckets=(8, 16, 32)"
            )
    large_enough = [int(bucket) for bucket in buckets if bucket >= size]
    if not large_enough:
        raise ShapeError(
            f"{name}: an array has size {size} in axis {axis}, above all buckets {sorted(buckets)}\n  add one of {size} or more"
        )
    return min(large_enough)


check_arguments(globals())
