"""Ragged arrays and SciPy's sparse matrices, whose rows are vectors of columns and of elements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from cotangent import _core
from cotangent._transforms.ragged import Ragged
from cotangent._transforms.ragged_exchange import _library, _to_arrow_type, from_offsets, to_offsets
from cotangent.errors import DTypeError, ShapeError

Names = Mapping[int, str] | None


def to_csr(self: Ragged, columns: Ragged, shape: Sequence[int] | None = None) -> Any:
    """Returns a sparse matrix of scipy whose row ``i`` has the elements ``self[i]`` in the columns ``columns[i]``.

    Parameters
    ----------
    columns : Ragged
        A batch of rows of integers, of the lengths of these rows.
    shape : sequence of int, optional
        Of the matrix; default as many columns as are needed.

    Returns
    -------
    scipy.sparse.csr_array
        In CSR format; elements of one place are kept apart.

    Raises
    ------
    ImportError
        scipy is not installed.
    ShapeError
        Lengths differ, or rows are not vectors.
    ValueError
        A column outside of the shape.

    Examples
    --------
    >>> columns, elements = ct.ragged([[1], [0, 1]]), ct.ragged([[5.0], [6.0, 7.0]])
    >>> elements.to_csr(columns).toarray().tolist()
    [[0.0, 5.0], [6.0, 7.0]]
    """
    sparse = _library("scipy.sparse", "scipy", "to_csr")
    _to_arrow_type("to_csr", self.dtype)
    (values, offsets), (places, others) = to_offsets(self, "int64"), to_offsets(columns, "int64")
    if values.ndim != 1 or not np.array_equal(offsets, others):
        raise ShapeError(
            "to_csr: elements and columns must be batches of vectors of equal lengths\n  give a column for each element of each row"
        )
    indices = _core.to_numpy(places)
    if indices.dtype.kind not in "iu":
        raise DTypeError(f"to_csr: columns must be integers; got {indices.dtype}\n  convert them with .astype('int32')")
    width = int(indices.max(initial=-1)) + 1
    wanted = tuple(shape) if shape is not None else (len(offsets) - 1, width)
    if wanted[0] != len(offsets) - 1 or wanted[1] < width or indices.min(initial=0) < 0:
        raise ValueError(
            f"to_csr: {len(offsets) - 1} rows with columns up to {width - 1} do not fit in shape {wanted}\n"
            + (
                "  columns are counted from 0: give no negative ones"
                if indices.min(initial=0) < 0
                else f"  pass shape=({len(offsets) - 1}, {width}), or more columns"
            )
        )
    return sparse.csr_array((np.array(_core.to_numpy(values)), np.array(indices), offsets), shape=wanted)


def from_csr(
    matrix: Any, bound: int | None = None, names: Names = None, buckets: Sequence[int] | None = None
) -> tuple[Ragged, Ragged]:
    """Returns the columns and the elements that each row of a sparse matrix of scipy has.

    Other formats are converted to CSR. Arguments are `from_offsets`'.

    Parameters
    ----------
    matrix : scipy.sparse matrix or array
        Other formats are converted to CSR.
    bound : int, optional
        What rows are padded to; default the longest row.
    names : dict from int to str, optional
        Axis of one row -> name.
    buckets : sequence of int, optional
        Sizes of which the bound is the least that is large enough.

    Returns
    -------
    tuple of two Ragged
        Columns and elements, which share their lengths.

    Raises
    ------
    ImportError
        scipy is not installed.
    TypeError
        No sparse matrix.

    Examples
    --------
    >>> import scipy.sparse
    >>> columns, elements = ct.Ragged.from_csr(scipy.sparse.csr_array([[0.0, 5.0], [0.0, 0.0], [6.0, 7.0]]))
    >>> columns.shape[0], [row.tolist() for row in columns.to_list()], [row.tolist() for row in elements.to_list()]
    (3, [[1], [], [0, 1]], [[5.0], [], [6.0, 7.0]])
    """
    sparse = _library("scipy.sparse", "scipy", "from_csr")
    if not sparse.issparse(matrix) or matrix.ndim != 2:
        raise TypeError(
            f"from_csr: a sparse matrix of scipy is needed; got {type(matrix).__name__}\n  make one: scipy.sparse.csr_array(dense)"
        )
    rows = matrix.tocsr()
    columns = from_offsets(rows.indices, rows.indptr, bound, names, buckets, "from_csr")
    elements = from_offsets(rows.data, rows.indptr, bound, names, buckets, "from_csr")
    return columns, Ragged._make(elements.data, columns._lengths, elements._names)


def attach() -> None:
    """Gives `Ragged` these functions."""
    setattr(Ragged, to_csr.__name__, to_csr)
    setattr(Ragged, from_csr.__name__, staticmethod(from_csr))
