"""Lengths of ragged axes: what may be one, and which are equal.

A length that is known is looked at when it is given. One that a program computes is held to its bound where a masked region begins;
`checkify` reports one that had to be held, and two of one name that differ.
"""

from __future__ import annotations

import contextlib
import functools
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np

from cotangent import _core
from cotangent._base import dimensions, primitives
from cotangent._core import Array
from cotangent.errors import DTypeError, ShapeError

T = TypeVar("T")

_LONGEST = 2**31 - 1

# What lengths that should be equal are reported to, with bools that say where they are: `checkify` puts its function here before it
# asks for checks of indices.
report_unequal: Callable[[Array, str, str], None] | None = None


def checked_length(length: Any, axis: int, bound: int, name: str = "Ragged") -> Array:
    """The length as int32, which holds every size.

    The conversion could wrap it around: before, one that is known is checked, and one that a program computes held to the bound.

    Raises:
        DTypeError: the length is not of integers.
        ShapeError: it is known, and outside of ``0 … bound``.
    """
    bound = min(bound, _LONGEST)
    if isinstance(length, (bool, np.bool_)):
        raise _not_integers(name, axis, "bool")
    if length is None or isinstance(length, (str, bytes)):
        raise TypeError(
            f"{name}: the length of axis {axis} must be an integer; got {length!r}\n"
            "  give a number from 0 to the bound, or an integer array; leave out axes that are exact"
        )
    known: Any = length if isinstance(length, int) else None  # may have more bits than any dtype
    if known is None:
        array = length if isinstance(length, Array) else _core.array(length)
        if _core.kind(array) not in ("signed", "unsigned"):
            raise _not_integers(name, axis, array.dtype)
        if _core.is_traced(array):
            if array.dtype == np.int32:
                _report_outside(array, bound, _OUTSIDE)
                return array  # held where the region begins
            return primitives.clamp_length(array, _core.full(array._bound_shape, bound, "int32"))
        known = _core.to_numpy(array)
        if known.size and known.min() >= 0 and known.max() <= bound:
            return array if array.dtype == np.int32 else _core.convert(array, "int32")  # one array is one length
        known = known.tolist()
    values = np.asarray(known, dtype=object)
    if values.size and (values.min() < 0 or values.max() > bound):
        hint = (
            "a length is the number of elements that are there, 0 or more"
            if values.min() < 0
            else "pad the data to a larger bound"
        )
        raise ShapeError(
            f"{name}: axis {axis} has length {known}, outside 0 … {bound}, the bound that the data is padded to\n  {hint}"
            "\n  see docs/errors.md#length-out-of-range"
        )
    return _core.convert(_core.array(length), "int32")


def _not_integers(name: str, axis: int, dtype: Any) -> DTypeError:
    return DTypeError(
        f"{name}: the length of axis {axis} must be of integers; got {dtype}\n"
        "  give an integer, or convert an array with .astype('int32')"
    )


def checked_batch(length: Array, axis: int, shape: Sequence[int], name: str = "Ragged") -> None:
    """Raises ShapeError unless a length has an entry for each example of a batch that stands in front of the ragged axis."""
    batch = tuple(length._bound_shape)
    if len(batch) > axis or batch != tuple(shape[: len(batch)]):
        raise ShapeError(
            f"{name}: the length of axis {axis} has shape {batch}, and the data shape {tuple(shape)}\n"
            "  give one length, or an array of them with the shape of the data's first axes: one an example"
        )


def are_lengths(values: Any) -> bool:
    """Whether a child of a ragged node is a length, and not what somebody put in its place: None, an axis of `vmap`, a label."""
    if isinstance(values, Array):
        return _core.kind(values) in ("signed", "unsigned")
    return isinstance(values, np.ndarray) and values.dtype.kind in "iu"


class Comparison(NamedTuple):
    """Lengths that a program takes for equal, each an argument's by its number or one that it closes over, and what compares them.

    The second may be the bound of the first: what looks at the two, unless they are equal, says what it makes of a shorter one.
    """

    first: int | Array
    second: int | Array
    check: Callable[[Array, Array], None]


class Comparisons(threading.local):
    """Of each program that is being captured to be called later: lengths that it takes for equal; None where it may not come to that."""

    def __init__(self) -> None:
        self.noted: list[list[tuple[Array, Array, Callable[[Array, Array], None]]] | None] = []


_comparisons = Comparisons()


def collect_comparisons(run: Callable[[], T], inputs: Sequence[Array]) -> tuple[T, list[Comparison]]:
    """The result of the function of such a program, and what is to be compared in each call of it.

    What the program computes from its inputs is among the lengths that it closes over: it is gone when the capture has ended.
    """
    noted: list[tuple[Array, Array, Callable[[Array, Array], None]]] = []
    _comparisons.noted.append(noted)
    try:
        result = run()
    finally:
        _comparisons.noted.pop()
    values = list(inputs)

    def number_of(x: Array) -> int:
        number = next((i for i, y in enumerate(values) if _core.same_value(x, y)), len(values))
        if number == len(values):
            values.append(x)
        return number

    found: dict[tuple[int, int], Comparison] = {}
    for first, second, check in noted:
        numbers = number_of(first), number_of(second)
        sides = [number if number < len(inputs) else values[number] for number in numbers]
        if numbers[0] != numbers[1]:
            found.setdefault(numbers, Comparison(sides[0], sides[1], check))
    return result, list(found.values())


@contextlib.contextmanager
def may_not_run() -> Iterator[None]:
    """While a branch of a program is captured: lengths that differ there are no error of calls that take another."""
    _comparisons.noted.append(None)
    try:
        yield
    finally:
        _comparisons.noted.pop()


def compare(comparisons: Sequence[Comparison], leaves: Sequence[Array]) -> None:
    """Makes the comparisons of a program, whose capture has ended, for the leaves that it is called with."""
    for first, second, check in comparisons:
        sides = [leaves[x] if isinstance(x, int) else x for x in (first, second)]
        if not any(map(_core.is_traced, sides)):
            check(*sides)


def check_equal(first: Any, second: Any, what: str, advice: str = "", place: str = "") -> None:
    """Checks that two lengths, of one example or of a batch each, are equal.

    At once if they are known; when the program is called if they are arguments of one that is jitted; else under `checkify`.

    Raises:
        ShapeError: they are known and differ; ``what`` begins the message.
    """
    if first is second:
        return
    if _core.is_traced(first) or _core.is_traced(second):
        if _core.get_flag("index_checks") and report_unequal is not None:
            report_unequal(primitives.eq(*_alike(first, second)), f"{what} have different lengths", place)
            return
        noted = _comparisons.noted[-1] if _comparisons.noted else []
        if noted is None:
            return
        first, second = _core.stands_for(first), _core.stands_for(second)
        if _core.is_traced(first) or _core.is_traced(second):
            noted.append(
                (_core.array(first), _core.array(second), functools.partial(check_equal, what=what, advice=advice))
            )
            return
    left, right = _core.to_numpy(first), _core.to_numpy(second)
    if left.ndim and right.ndim and left.shape != right.shape:
        raise ShapeError(
            f"{what} are of batches of shapes {left.shape} and {right.shape}{advice}\n  give both one length for each example"
        )
    left, right = np.broadcast_arrays(left, right)
    if (left == right).all():
        return
    example = np.argwhere(left != right)[0]
    where = f" in example {', '.join(map(str, example))}" if left.ndim else ""
    at = tuple(example)
    raise ShapeError(f"{what} have lengths {int(left[at])} and {int(right[at])}{where}{_at(place)}{advice}")


def check_bounded(length: Array, bound: int, check: Callable[[Array], None]) -> None:
    """Has ``check`` look at a length that may not be its bound.

    At once if it is known; when the program is called if it is an argument of one that is jitted.
    """
    if _core.is_traced(length):
        noted = _comparisons.noted[-1] if _comparisons.noted else []
        if noted is None:
            return
        length = _core.stands_for(length)
        if _core.is_traced(length):
            longest = _core.array(np.int32(bound))  # an array at hand, not a part of the program
            noted.append((length, longest, lambda length, _: check_bounded(length, bound, check)))
            return
    check(length)


def check_position(size: Any, number: int, what: str, place: str = "") -> None:
    """Checks that an axis of a size has a position: at once if the size is known, else under `checkify`.

    Raises:
        IndexError: it has not.
    """
    needed = -number if number < 0 else number + 1
    _check_holds([size], lambda size: size >= needed, what, "which is shorter", IndexError, place=place)


def _check_holds(
    sizes: Sequence[Any],
    holds: Callable[..., Any],
    what: str,
    fault: str,
    error: type[Exception],
    advice: str = "",
    place: str = "",
) -> None:
    """Checks what must hold for sizes, the first of which the message ends with: at once if they are known, else under `checkify`."""
    if any(map(_core.is_traced, sizes)):
        if _core.get_flag("index_checks") and report_unequal is not None:
            report_unequal(holds(*_alike(*sizes)), f"{what}, {fault}", place)
    elif not holds(*map(int, sizes)):
        raise error(f"{what} with length {int(sizes[0])}{_at(place)}{advice or _within(error)}")


_OUTSIDE = "the length of a ragged axis is negative or larger than its bound"


def _report_outside(size: Array, bound: int, what: str) -> None:
    if not _core.get_flag("index_checks") or report_unequal is None:
        return
    most_of_dtype = 2 ** (8 * size.dtype.itemsize - (_core.kind(size) == "signed")) - 1
    least, most = _core.full((), 0, size.dtype), _core.full((), min(bound, most_of_dtype), size.dtype)
    above, below = primitives.ge(*_alike(size, least)), primitives.le(*_alike(size, most))
    report_unequal(primitives.and_(above, below), what, "")


def _within(error: type[Exception]) -> str:
    """What to do about a position that is not there."""
    return "\n  count positions from 0 to below the length, x.shape[axis]" if error is IndexError else ""


def _check_size(size: Any, bound: int) -> None:
    """Checks that a size that is computed is within the bound that it was given: at once if it is known, else under `checkify`."""
    what = f"dimension: the size is outside of 0 … {bound}"
    if _core.is_traced(size):
        _report_outside(size, bound, what)
    elif not 0 <= int(size) <= bound:
        raise ShapeError(
            f"dimension: the size is {int(size)}, outside of 0 … {bound}\n  "
            + (
                "a size is 0 at least: ct.numpy.maximum(n, 0)"
                if int(size) < 0
                else f"pass a larger bound: bound={int(size)}"
            )
        )


Requirement = tuple[list[Array], Callable[..., None]]  # sizes, and what looks at their values


class Requirements(threading.local):
    """What must hold for the lengths at hand, found while a masked region is captured: sizes leave it, and are looked at then."""

    def __init__(self) -> None:
        self.found: list[tuple[int, list[Requirement]]] = []  # of each region that is being captured, with its number


_requirements = Requirements()


def collect_requirements(run: Callable[[], Any]) -> tuple[Any, list[Requirement]]:
    """The result of the function of a masked region, and what it requires of sizes of the region."""
    found: list[Requirement] = []
    _requirements.found.append((_core.capture_number(), found))
    try:
        return run(), found
    finally:
        _requirements.found.pop()


def _require(sizes: list[Array], check: Callable[..., None]) -> None:
    """Looks at sizes inside of a masked region: where it is run if their values are known then, else under `checkify`.

    In a loop, a branch or a derivative within, where sizes may be those of a step, under `checkify`.
    """
    region, found = _requirements.found[-1] if _requirements.found else (0, [])
    if _requirements.found and region == _core.capture_number():
        found.append((sizes, check))
    else:
        check(*sizes)


def require_equal(first: Array, second: Array, what: str, advice: str = "") -> None:
    """`check_equal` for two sizes inside of a masked region."""
    place = _core.calling_place()
    _require([first, second], lambda first, second: check_equal(first, second, what, advice, place))


def require_position(size: Array, number: int, what: str) -> None:
    """`check_position` for a size inside of a masked region."""
    place = _core.calling_place()
    _require([size], lambda size: check_position(size, number, what, place))


def require(
    sizes: list[Array],
    holds: Callable[..., Any],
    what: str,
    fault: str = "which is shorter",
    error: type[Exception] = ValueError,
    advice: str = "",
) -> None:
    """Looks at what must hold for sizes inside of a masked region, as `require_position` does.

    Args:
        sizes: the length that the message is about, and others.
        holds: of the sizes, as ints or arrays.
        what: the message, before the length where it is known, and before ``fault`` where `checkify` reports it.
    """
    place = _core.calling_place()
    _require(sizes, lambda *sizes: _check_holds(sizes, holds, what, fault, error, advice, place))


def _at(place: str) -> str:
    return f"\n  at {place}" if place else ""


def _require_size(size: Array, bound: int) -> None:
    _require([size], lambda size: _check_size(size, bound))


dimensions.require_within = _require_size


def _alike(*values: Any) -> list[Array]:
    arrays = [_core.array(x) for x in values]
    shape = max((x._bound_shape for x in arrays), key=len)
    return [_core.broadcast_to(x, shape) for x in arrays]
