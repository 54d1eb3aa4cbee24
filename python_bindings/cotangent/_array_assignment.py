"""``x[i] = y``: an object that is an array becomes another array."""

from __future__ import annotations

import os
import threading
from typing import Any

from cotangent import _core
from cotangent._base.messages import placed
from cotangent._core import Array
from cotangent._ops import creation
from cotangent._ops.indexing import require_places
from cotangent._ops.views import living_bases, write_through
from cotangent.errors import DTypeError
from cotangent.numpy.index_updates import IndexUpdateHelper, warn_of_lost_fractions

# An assignment reads the array, computes another and puts that in its place; of two threads at once one would undo what the other did.
_one_at_a_time = threading.RLock()


def _after_fork() -> None:
    """The thread that may have held the lock is not in this process."""
    global _one_at_a_time
    _one_at_a_time = threading.RLock()


os.register_at_fork(after_in_child=_after_fork)


def _fitting(value: Any, dtype: Any) -> Any:
    """A value; integers of Python's among integers as an array that they must fit, as in NumPy: there is no other dtype that the result could have."""
    if dtype.kind in "iu":
        if type(value) is int:
            return _core.full((), value, dtype)
        if isinstance(value, list) and all(type(each) is int for each in value):
            return creation.array(value, dtype)
    return value


def assign(x: Array, index: Any, value: Any, held: bool) -> None:
    """Makes this object the array ``x.at[index].set(value)``: no memory changes, so that views and copies stay what they were.

    A function that is captured (by ``jit``, ``grad``, ``vmap``, as the body of a loop...) may do that with arrays that it made, or was
    given as arguments; its caller's arrays stay as they are. ``held``: somebody holds the object, and can see the change.
    """
    bases = living_bases(x)
    if not held and not bases:
        raise TypeError(
            placed(
                "x[i] = y: nobody holds the array x that is assigned to, which is a copy, as are z[[0, 1]], z + 1 and z.copy()",
                "write one index, z[[0, 1], j] = y for z[[0, 1]][j] = y, or give the copy a name",
                "assigned-copy",
            )
        )
    if not _core.is_own(x):
        x + 0  # an error of its own, if the capture that x was made in has ended
        raise TypeError(
            placed(
                "x[i] = y: x was made outside of the function that is captured here, which can only assign to arrays of its own",
                "give x to that function as an argument, as part of the carry of a loop, and return it",
                "immutable-array",
            )
        )
    if not all(base is None or _core.is_own(base) for base, _ in bases):
        raise TypeError(
            placed(
                "x[i] = y: x is a view of an array that was made outside of the function that is captured here, which can only assign to "
                "arrays of its own",
                "copy what is the function's own, x = x.copy(), or give it the whole array as an argument and return that",
                "immutable-array",
            )
        )
    if _core.in_mask() and _core.called_by_user(1):
        require_places(x, index)
    value = _fitting(value, x.dtype)
    given = _core.array(value)
    if given.dtype.kind == "c" != x.dtype.kind:
        raise DTypeError(
            f"x[i] = y: y is {given.dtype}, and x is {x.dtype}\n  take y.real, or make x complex: x = x.astype({given.dtype.name!r})"
        )
    warn_of_lost_fractions(x, given, "x[i] = y")
    with _one_at_a_time:
        write_through(x, index, IndexUpdateHelper(x)[index].set(value), bases)
