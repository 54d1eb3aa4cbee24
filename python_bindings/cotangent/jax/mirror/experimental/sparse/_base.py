"""``jax.experimental.sparse._base``: what all sparse arrays are."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from cotangent._core import Traced

__all__ = ["JAXSparse"]


class JAXSparse:
    """A sparse array: its parts, which are arrays, and its shape."""

    data: Any
    shape: tuple[int, ...]
    nse: Any
    # What a format has not, it refuses.
    sum: Any
    transpose: Any
    todense: Any
    tree_flatten: Any
    tree_unflatten: Any
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, args: Sequence[Any], *, shape: Sequence[int]) -> None:
        self.shape = tuple(shape)

    @property
    def dtype(self) -> Any:
        """That of the elements."""
        return self.data.dtype

    @property
    def size(self) -> int:
        """The number of elements, those that are 0 included."""
        return math.prod(self.shape)

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    @property
    def T(self) -> Any:  # noqa: N802 (NumPy's name)
        """The transpose."""
        return self.transpose()

    def __len__(self) -> int:
        return self.shape[0]

    def __repr__(self) -> str:
        name = type(self).__name__
        try:
            extra = "".join(
                f", {kind}={getattr(self, kind)}" for kind in ("n_batch", "n_dense") if getattr(self, kind, 0)
            )
            text = f"{name}({self.dtype}{list(self.shape)}, nse={self.nse}{extra})"
        except Exception:  # made of other things than arrays
            text = f"{name}(<invalid>)"
        return f"{type(self.data).__name__}[{text}]" if isinstance(self.data, Traced) else text

    def _with_shape(self, shape: Sequence[int]) -> Any:
        children, aux = self.tree_flatten()
        return type(self).tree_unflatten({**aux, "shape": tuple(shape)}, children)

    def mapped_along(self, axis: int) -> Any:
        """The array as `vmap` hands on an element of a batch axis.

        Raises:
            ValueError: the axis is not one of the batches.
        """
        n_batch = getattr(self, "n_batch", 0)
        if not 0 <= axis < n_batch:
            raise ValueError(
                f"Cannot map in_axis={axis} for {type(self).__name__} array with n_batch={n_batch}. "
                f"in_axes for batched operations must correspond to a batch dimension.\n"
                f"  store it with {axis + 1} batches: BCOO.fromdense(x, n_batch={axis + 1})"
            )
        return self._with_shape(self.shape[:axis] + self.shape[axis + 1 :])

    def stacked_along(self, axis: int) -> Any:
        """The array of elements whose arrays `vmap` has stacked along an axis."""
        n_batch = getattr(self, "n_batch", 1) - 1
        if not 0 <= axis <= n_batch:
            raise ValueError(
                f"{type(self).__name__}: cannot add out_axis={axis} for array with n_batch={n_batch}. "
                "Batch axes must be a contiguous block of leading dimensions.\n  pass out_axes=0"
            )
        return self._with_shape((*self.shape[:axis], self.data.shape[axis], *self.shape[axis:]))

    def block_until_ready(self) -> Any:
        """Waits for the arrays, and returns the array."""
        for part in self.tree_flatten()[0]:
            part.block_until_ready()
        return self


def _refusal(name: str) -> Any:
    def refuse(self: Any, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError(f"{type(self)}.{name}\n  define {name} in the class")

    refuse.__name__ = name
    return refuse


for _name in (
    *("sum", "transpose", "todense", "tree_flatten", "__neg__", "__pos__", "__matmul__", "__rmatmul__", "__mul__"),
    *("__rmul__", "__add__", "__radd__", "__sub__", "__rsub__", "__getitem__"),
):
    setattr(JAXSparse, _name, _refusal(_name))
