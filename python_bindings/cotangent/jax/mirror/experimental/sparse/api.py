"""``jax.experimental.sparse.api``: functions of all formats."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

from cotangent._base.arguments import suggestion
from cotangent.jax.mirror.experimental.sparse._base import JAXSparse
from cotangent.jax.mirror.experimental.sparse.bcoo import BCOO
from cotangent.jax.mirror.experimental.sparse.bcsr import BCSR
from cotangent.jax.mirror.experimental.sparse.coo import COO
from cotangent.jax.mirror.experimental.sparse.csr import CSC, CSR

__all__ = ["empty", "eye", "todense"]

_FORMATS: dict[str, Any] = {"bcsr": BCSR, "bcoo": BCOO, "coo": COO, "csr": CSR, "csc": CSC}


def _format(name: str, names: Sequence[str]) -> Any:
    if name not in names:
        raise ValueError(
            f"sparse_format={name!r} not recognized; must be one of {list(names)}{suggestion(name, names)}\n"
            "  leave sparse_format out for 'bcoo'"
        )
    return _FORMATS[name]


def todense(arr: Any) -> Any:
    """A dense array of a sparse one; what is dense stays as it is."""
    return arr.todense() if isinstance(arr, JAXSparse) else arr


def empty(
    shape: Sequence[int], dtype: Any = None, index_dtype: Any = "int32", sparse_format: str = "bcoo", **kwds: Any
) -> Any:
    """A sparse array of which no element is given."""
    found = _format(sparse_format, list(_FORMATS))
    return found._empty(tuple(shape), dtype=dtype, index_dtype=index_dtype, **kwds)


def eye(
    N: int,
    M: int | None = None,
    k: int = 0,
    dtype: Any = None,
    index_dtype: Any = "int32",
    sparse_format: str = "bcoo",
    **kwds: Any,
) -> Any:
    """A sparse matrix with ones on a diagonal."""
    found = _format(sparse_format, [name for name in _FORMATS if name != "bcsr"])
    rows, columns, diagonal = operator.index(N), operator.index(N if M is None else M), operator.index(k)
    return found._eye(N=rows, M=columns, k=diagonal, dtype=dtype, index_dtype=index_dtype, **kwds)
