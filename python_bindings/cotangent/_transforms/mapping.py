"""map: a function over the slices of arrays, one after the other or some at a time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cotangent import _core
from cotangent._base.arguments import check_arguments
from cotangent._base.capture import check_callable, flatten_arguments, wraps
from cotangent._base.messages import marked_axes
from cotangent._transforms.batching import vmap
from cotangent._transforms.control_flow import scan

__all__ = ["map"]


def map(f: Callable[[Any], Any], xs: Any, *, batch_size: int | None = None) -> Any:  # noqa: A001
    """Applies a function to each slice of the leading axes, one after the other or some at a time.

    A ragged leading axis is mapped one by one.

    Parameters
    ----------
    f : callable
        Of one slice of every array.
    xs : pytree of arrays
        With leading axes of one size.
    batch_size : int, optional
        How many slices at a time, as `vmap` does with ``chunk_size``; 0 for all of them. The rest of a division
        comes last.

    Returns
    -------
    pytree of arrays
        The results along a new leading axis.

    Raises
    ------
    ValueError
        The leading axes differ, or ``batch_size`` is negative.

    Examples
    --------
    >>> ct.lax.map(lambda x: x * x, ct.numpy.arange(5), batch_size=2)
    Array([ 0,  1,  4,  9, 16], dtype=int32)
    """
    check_callable(f, "map", (xs,), "lax.map(f, xs)")
    leaves, structure = flatten_arguments(xs, "map's xs")
    if batch_size is None or not leaves or any(leaf.ndim == 0 or 0 in _core.ragged_axes(leaf) for leaf in leaves):

        @wraps(f)
        def step(_: Any, x: Any) -> Any:
            return (), f(x)

        return scan(step, (), xs)[1]
    if not isinstance(batch_size, int) or isinstance(batch_size, bool) or batch_size < 0:
        raise ValueError(
            f"map: batch_size must be an int that is not negative; got {batch_size!r}\n"
            "  pass how many elements are computed at a time, batch_size=8, or leave it out for one"
        )
    sizes = {leaf._bound_shape[0] for leaf in leaves}
    if len(sizes) > 1:
        marked = marked_axes([leaf.shape for leaf in leaves[:4]], [0] * len(leaves[:4]))
        raise ValueError(
            f"map: leading axes differ: {sorted(sizes)}{marked}\n  give arrays with an entry for each call, and let f close over the others"
        )
    return vmap(f, chunk_size=batch_size or None)(structure.unflatten(leaves))


check_arguments(globals())
