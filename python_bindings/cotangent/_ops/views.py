"""Arrays that are parts of others, as in NumPy: ``row = x[0]; row[1] = 5`` changes ``x``, and assigning to ``x`` changes ``row``.

An index of integers, slices, ``None`` and ``...`` makes a view, and so do the functions that put axes elsewhere, take them away or give
them another shape where NumPy need not copy for that. The type of arrays links a view to what it was made of (python_bindings/views.h);
`write_through` is what an assignment does to the arrays that are linked.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar, cast

import numpy as np

from cotangent import _core
from cotangent._base import primitives
from cotangent._core import Array
from cotangent._ops.binding import apart, handing_back
from cotangent._ops.element_bytes import reinterpret
from cotangent._ops.reshaping import missing_size, reshaped
from cotangent._ops.sizes import symbolic_sizes

P = ParamSpec("P")
T = TypeVar("T")


# How a view was made: an index, or one of these names with what belongs to it.
#   ("transpose", the axes in their order, or None)
#   ("reshape", the shape)
#   ("view", the dtype that the same bytes are read as)
#   ("real", None), ("imag", None): of complex numbers
Way = Any


def _is_named(how: Way) -> bool:
    return isinstance(how, tuple) and len(how) == 2 and isinstance(how[0], str)


def _order(axes: Any, rank: int) -> list[int]:
    return list(range(rank))[::-1] if axes is None else [axis % rank for axis in axes]


def _read(base: Array, how: Way) -> Array:
    """The view of an array."""
    if not _is_named(how):
        return base[how]
    match how:
        case ("transpose", axes):
            return primitives.transpose(base, permutation=_order(axes, base.ndim))
        case ("reshape", shape):
            return reshaped(base, _sizes(base, shape))
        case ("view", dtype):
            return reinterpret(base, dtype)
        case ("real", _):
            return primitives.real(base)
    return primitives.imag(base)


def _write(base: Array, how: Way, view: Array) -> Array:
    """The array of which the view is that one."""
    if not _is_named(how):
        return cast("Array", base.at[how].set(view))
    match how:
        case ("transpose", axes):
            return primitives.transpose(view, permutation=np.argsort(_order(axes, base.ndim)).tolist())
        case ("reshape", _):
            return reshaped(view, symbolic_sizes(base))
        case ("view", _):
            return reinterpret(view, base.dtype)
        case ("real", _):
            return primitives.complex(view, primitives.imag(base))
    return primitives.complex(primitives.real(base), view)


def _sizes(base: Array, shape: Any) -> list[Any]:
    sizes = list(shape) if isinstance(shape, (list, tuple)) else [shape]
    missing = [axis for axis, size in enumerate(sizes) if isinstance(size, int) and size == -1]
    if missing:
        sizes[missing[0]] = missing_size(base, sizes)
    return sizes


def as_view(result: Array, base: Array, how: Any) -> Array:
    """``result`` as a view of ``base``; ``how`` is an index or a named way."""
    result = apart(result, base)
    _core.link_view(result, base, how)
    return result


def flat_view(x: Array) -> Array:
    """All elements along one axis, as a view, whether NumPy had to copy for that or not."""
    result = reshaped(x, [x.size])
    return as_view(result, x, ("reshape", [x.size]))


def _as_whole_view(result: Any, source: Any) -> Any:
    return as_view(result, source, ...) if result is source and isinstance(source, Array) else apart(result, source)


def whole_view(function: Callable[P, T]) -> Callable[P, T]:
    """``function``, whose result is a view of an argument that it would hand back."""
    return handing_back(_as_whole_view)(function)


def reshaped_view(result: Array, base: Array) -> Array:
    """``result``, which is ``base`` under another shape, as a view of it; but where NumPy has to copy for that."""
    bases = _core.bases_of_view(base)
    if bases and _is_copy(base, bases, result._bound_shape):
        return result
    return as_view(result, base, ("reshape", symbolic_sizes(result)))


def _is_copy(array: Array, bases: list[tuple[Any, Way]], shape: tuple[int, ...]) -> bool:
    """Whether NumPy copies to reshape a view, as strides say."""
    layout = _layout(array, bases)
    try:
        if layout is not None:
            layout.shape = shape
    except AttributeError:  # by NumPy: "incompatible shape for in-place modification"
        return True
    return False


def is_contiguous(array: Array, order: str) -> bool:
    """Whether the elements of an array of NumPy's that was made as this one would lie one behind the other in an order, "C" or "F"."""
    bases = _core.bases_of_view(array)
    layout = _layout(array, bases) if bases else None
    return layout is None or bool(layout.flags.f_contiguous if order == "F" else layout.flags.c_contiguous)


def _layout(array: Array, bases: list[tuple[Any, Way]]) -> Any:
    """The strides of a view, as those of an array of NumPy's whose elements nobody reads; None where they are not known."""
    first = bases[-1][0]
    strides = np.cumprod([1, *first._bound_shape[:0:-1]])[::-1].tolist() if first.ndim else []
    layout: Any = np.lib.stride_tricks.as_strided(np.empty(1, np.int8), first._bound_shape, strides)
    try:
        for _, how in reversed(bases):
            if not _is_named(how):
                layout = layout[_static(how)]
            elif how[0] == "transpose":
                layout = layout.transpose(how[1])
            elif how[0] == "reshape":
                layout.shape = how[1]
    except (TypeError, IndexError, AttributeError):  # sizes that are values
        return None
    return layout.view() if layout.shape == array._bound_shape else None


def _static(index: Any) -> Any:
    """The index with 0 for positions that the program computes: strides do not depend on them."""
    items = index if isinstance(index, tuple) else (index,)
    return tuple(0 if isinstance(item, Array) else item for item in items)


def living_bases(x: Array) -> list[tuple[Any, Any]]:
    """What an array is a view of, the nearest first, up to the last one that somebody holds; None for others in between."""
    bases = [(None if base is None or _core.is_deleted(base) else base, how) for base, how in _core.bases_of_view(x)]
    while bases and bases[-1][0] is None:
        bases.pop()
    return bases


def write_through(x: Array, index: Any, value: Array, bases: list[tuple[Any, Any]]) -> None:
    """``value`` becomes what ``x`` is, which an assignment at ``index`` made of it, for all arrays that share elements with it, too.

    ``bases``: the `living_bases` of ``x``.
    """
    # What has ended in between is read from what it was made of.
    before: list[Any] = [base for base, _ in bases]
    for level in reversed(range(len(bases) - 1)):
        if before[level] is None:
            before[level] = _read(before[level + 1], bases[level + 1][1])
    after = value
    changed = [(x, index, value)]
    for level, (base, how) in enumerate(bases):
        after = _write(before[level], how, after)
        changed.append((base, how, after))
    for array, _, new in changed:
        if array is not None:
            _core.become(array, new)
    done = {id(array) for array, _, _ in changed if array is not None}
    for array, where, _ in changed:
        if array is not None:
            _refresh(array, where, done)


def _refresh(array: Array, where: Any, done: set[int]) -> None:
    """Gives the views of an array what it has at ``where`` now; ``done`` have it, with the views of theirs."""
    now: list[Any] = []
    for number, view, how in _core.views_of_array(array, where):
        base = array if number < 0 else now[number]
        if base is None or (view is not None and (id(view) in done or not _core.is_own(view))):
            now.append(None)
            continue
        now.append(_read(base, how))
        if view is not None:
            _core.become(view, now[-1])
