"""Batches for our programs from what gives examples: a ``DataLoader`` of torch, a generator, a list."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from cotangent import _core
from cotangent._base.arguments import check_arguments
from cotangent._base.names import suggest_names
from cotangent._transforms.ragged_batches import ragged
from cotangent.interop.torch import array as array_of_tensor
from cotangent.numpy import stack

__all__ = ["batches", "collate"]


def collate(examples: Sequence[Any], *, bound: int | None = None, buckets: Sequence[int] | None = None) -> Any:
    """Makes one batch of examples of one structure, of the same structure.

    Leaves of equal shapes become an array with the examples along axis 0; arrays whose sizes differ become a `Ragged`,
    for ``vmap`` of ``mask``. What is no array or number, a text say, becomes a list. A torch ``DataLoader`` takes it as
    ``collate_fn``.

    Parameters
    ----------
    examples : sequence of pytrees
        Of arrays, NumPy's or torch's, and numbers.
    bound : int, optional
        What every axis of a batch of arrays of one axis or more is padded to, where sizes differ; so that it is a
        `Ragged` of one shape for any batch, give it, or ``buckets``. By default, the largest size in the batch.
    buckets : sequence of int, optional
        Sizes of which bounds are the least that is large enough.

    Returns
    -------
    pytree of arrays
        Of the structure of one example.

    Raises
    ------
    ValueError
        No examples, or examples of different structures.
    ShapeError
        Arrays of different ranks, or larger than the bound.

    Examples
    --------
    >>> batch = ct.interop.data.collate([(np.ones(2), 0, "a"), (np.ones(3), 1, "b")])
    >>> [row.tolist() for row in batch[0].to_list()], batch[1].tolist(), batch[2]
    ([[1.0, 1.0], [1.0, 1.0, 1.0]], [0, 1], ['a', 'b'])
    """
    if not len(examples):
        raise ValueError(
            "interop.data.collate: there are no examples\n  give at least one: the shapes of a batch are those of its examples"
        )
    rows = [_core.tree_flatten(example, None) for example in examples]
    structure = rows[0][1]
    for number, (_, other) in enumerate(rows):
        if other != structure:
            raise ValueError(
                f"interop.data.collate: example 0 has the structure {structure}, example {number} has {other}\n"
                "  give all examples the same keys, and lists of one length; arrays may differ in their sizes"
            )
    return structure.unflatten(
        [_together(list(leaves), bound, buckets) for leaves in zip(*(row[0] for row in rows), strict=True)]
    )


def _host(leaf: Any) -> Any:
    """A leaf as an array; None if it is none."""
    if _core.is_python_scalar(leaf) or isinstance(leaf, np.ndarray | np.generic | _core.Array):
        return _core.array(leaf)
    if hasattr(leaf, "__dlpack__") and hasattr(leaf, "detach"):
        return array_of_tensor(leaf)
    return _core.array(leaf) if hasattr(leaf, "__array__") else None


def _together(leaves: list[Any], bound: int | None, buckets: Sequence[int] | None) -> Any:
    arrays = [_host(leaf) for leaf in leaves]
    if any(x is None for x in arrays):
        return leaves
    if any(_core.dtype_kind(x.dtype) == "key" for x in arrays):
        return _stacked(arrays)
    if arrays[0].ndim and (bound is not None or buckets is not None or len({x.shape for x in arrays}) > 1):
        return ragged(arrays, bound=bound, buckets=buckets)
    return _stacked(arrays)


def _stacked(arrays: Sequence[Any]) -> Any:
    return stack(arrays)


def batches(
    examples: Iterable[Any],
    size: int,
    *,
    drop_last: bool = False,
    bound: int | None = None,
    buckets: Sequence[int] | None = None,
) -> Iterator[Any]:
    """Yields batches of the examples of an iterable, the last one of what is left.

    Parameters
    ----------
    examples : iterable of pytrees
        As of `collate`.
    size : int
        How many examples a batch has.
    drop_last : bool, default False
        Leaves a last batch out that has fewer.
    bound : int, optional
        As of `collate`.
    buckets : sequence of int, optional
        As of `collate`.

    Returns
    -------
    iterator of pytrees of arrays
        What `collate` makes of ``size`` examples each.

    Raises
    ------
    ValueError
        ``size`` is not positive.

    Examples
    --------
    >>> [batch.tolist() for batch in ct.interop.data.batches(range(5), 2)]
    [[0, 1], [2, 3], [4]]
    """
    if size < 1:
        raise ValueError(
            f"interop.data.batches: size={size}; a batch has at least one example\n  pass size=1 for single examples"
        )

    def made() -> Iterator[Any]:
        source = iter(examples)
        while chunk := list(itertools.islice(source, size)):
            if len(chunk) == size or not drop_last:
                yield collate(chunk, bound=bound, buckets=buckets)

    return made()


check_arguments(globals())
suggest_names(globals())
