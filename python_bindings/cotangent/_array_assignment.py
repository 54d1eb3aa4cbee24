"""``x[i] = y``: an object that is an array becomes another array."""

from __future__ import annotations

from typing import Any

from cotangent import _core
from cotangent._base.messages import placed
from cotangent._core import Array
from cotangent._ops.indexing import require_places
from cotangent.errors import DTypeError
from cotangent.numpy.index_updates import IndexUpdateHelper


def assign(x: Array, index: Any, value: Any, held: bool) -> None:
    """Makes this object the array ``x.at[index].set(value)``: no memory changes, so that views and copies stay what they were.

    A function that is captured (by ``jit``, ``grad``, ``vmap``, as the body of a loop...) may do that with arrays that it made, or was
    given as arguments; its caller's arrays stay as they are. ``held``: somebody holds the object, and can see the change.
    """
    if not held:
        raise TypeError(
            placed(
                "x[i] = y: nobody holds the array x that is assigned to, which is a copy, as are x[i], x.T, x.flat and x.reshape(...)",
                "write x[i, j] = y for x[i][j] = y, or x = x.at[i].set(y)",
                "assigned-copy",
            )
        )
    if not _core.is_own(x):
        raise TypeError(
            placed(
                "x[i] = y: x was made outside of the function that is captured here, which can only assign to arrays of its own",
                "give x to that function as an argument, as part of the carry of a loop, and return it",
                "immutable-array",
            )
        )
    if _core.in_mask() and _core.called_by_user(1):
        require_places(x, index)
    given = _core.array(value)
    if given.dtype.kind == "c" != x.dtype.kind:
        raise DTypeError(
            f"x[i] = y: y is {given.dtype}, and x is {x.dtype}\n  take y.real, or make x complex: x = x.astype({given.dtype.name!r})"
        )
    _core.become(x, IndexUpdateHelper(x)[index].set(value))
