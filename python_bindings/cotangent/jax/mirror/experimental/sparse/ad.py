"""``jax.experimental.sparse.ad``: derivatives by the elements that a sparse array gives."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import cotangent as ct
from cotangent import tree_util
from cotangent.jax.mirror.experimental.sparse._base import JAXSparse

__all__ = ["grad", "jacfwd", "jacobian", "jacrev", "value_and_grad"]


def _is_sparse(x: Any) -> bool:
    return isinstance(x, JAXSparse)


class _Split:
    """Arguments, of which some are differentiated by: a list of the arrays of those, in which a sparse array has its data alone."""

    def __init__(self, args: tuple[Any, ...], argnums: int | Sequence[int]) -> None:
        self.args = list(args)
        self.numbers = [argnums] if isinstance(argnums, int) else list(argnums)
        self.is_one = isinstance(argnums, int)
        chosen = [self.args[number] for number in self.numbers]
        self.leaves, self.structure = tree_util.tree_flatten(chosen, is_leaf=_is_sparse)
        self.arrays = [leaf.data if _is_sparse(leaf) else leaf for leaf in self.leaves]

    def _with(self, leaf: Any, data: Any) -> Any:
        if not _is_sparse(leaf):
            return data
        (_, *rest), structure = tree_util.tree_flatten(leaf)
        made: Callable[[Any], Any] = lambda value: structure.unflatten([value, *rest])  # noqa: E731
        for _ in range(data.ndim - leaf.data.ndim):
            made = _batched(made, data.shape[0], leaf)
        return made(data)

    def call(self, function: Callable[..., Any], arrays: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        """The function on arguments with other arrays."""
        leaves = [self._with(leaf, array) for leaf, array in zip(self.leaves, arrays, strict=True)]
        args = list(self.args)
        for number, value in zip(self.numbers, self.structure.unflatten(leaves), strict=True):
            args[number] = value
        return function(*args, **kwargs)

    def back(self, derivatives: Sequence[Any]) -> Any:
        """Derivatives by the arrays as those by the arguments."""
        leaves = [self._with(leaf, array) for leaf, array in zip(self.leaves, derivatives, strict=True)]
        made = self.structure.unflatten(leaves)
        return made[0] if self.is_one else tuple(made)


def _batched(made: Callable[[Any], Any], size: int, leaf: Any) -> Callable[[Any], Any]:
    """What makes a sparse array of data with one more leading axis: positions are the same in all batches."""
    import cotangent.numpy as cnp

    def batch(data: Any) -> Any:
        one = made(data[0])
        (_, *rest), _ = tree_util.tree_flatten(one)
        places = [cnp.broadcast_to(place, (data.shape[0], *place.shape)) for place in rest]
        return type(leaf)((data, *places), shape=(data.shape[0], *one.shape))

    return batch


def _derivative(own: Callable[..., Any], name: str, has_value: bool = False) -> Callable[..., Any]:
    def make(fun: Callable[..., Any], argnums: int | Sequence[int] = 0, has_aux: bool = False, **options: Any) -> Any:
        @functools.wraps(fun)
        def derivative(*args: Any, **kwargs: Any) -> Any:
            split = _Split(args, argnums)

            def on_arrays(arrays: Sequence[Any]) -> Any:
                return split.call(fun, arrays, kwargs)

            out = own(on_arrays, has_aux=has_aux, **options)(split.arrays)
            if has_value:
                return out[0], split.back(out[1])
            return (split.back(out[0]), out[1]) if has_aux else split.back(out)

        return derivative

    make.__name__ = make.__qualname__ = name
    make.__doc__ = (
        f"`{name}` of functions of sparse arrays: derivatives by them are sparse arrays with their positions."
    )
    return make


grad = _derivative(ct.grad, "grad")
value_and_grad = _derivative(ct.value_and_grad, "value_and_grad", has_value=True)
jacfwd, jacrev = _derivative(ct.jacfwd, "jacfwd"), _derivative(ct.jacrev, "jacrev")
jacobian = jacrev
