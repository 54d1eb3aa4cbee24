"""What derivatives of all modes share: which leaves are differentiated, and of what types tangents and cotangents are."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any, ParamSpec, TypeVar

from cotangent import _core
from cotangent._base.arguments import check_arguments
from cotangent._base.capture import (
    Captured,
    as_ragged_as,
    capture,
    check_callable,
    flatten_arguments,
    flatten_like,
    float0_zeros,
    function_name,
    is_inexact_dtype,
    structure_names,
)
from cotangent._base.messages import argument_text, marked_difference
from cotangent._base.objects import hand_objects_through
from cotangent._core import Array, PyTreeDef
from cotangent._transforms.lengths import are_lengths, check_equal
from cotangent._transforms.ragged import Ragged
from cotangent.errors import DTypeError, MismatchError, ShapeError

Function = Callable[..., Any]
P = ParamSpec("P")
R = TypeVar("R")


def is_inexact(x: Array) -> bool:
    """Whether elements carry derivatives: floating and complex ones."""
    return _core.kind(x) in ("float", "complex")


def _normalize_argnums(argnums: int | Sequence[int], count: int, transform: str) -> tuple[int, ...]:
    try:
        several: Any = argnums if hasattr(argnums, "__iter__") else (argnums,)
        numbers = tuple(map(operator.index, several))
    except TypeError:
        raise TypeError(
            f"{transform}: argnums must be an integer, or a sequence of them; got {argnums!r}\n"
            "  pass the number of the argument to differentiate by, counted from 0: argnums=0"
        ) from None
    if not numbers:
        raise ValueError(f"{transform}: argnums={argnums} names no argument\n  pass argnums=0 for the first")
    result = []
    for number in numbers:
        if not -count <= number < count:
            error = TypeError if number >= 0 else ValueError
            raise error(
                f"{transform}: argnums={argnums} needs at least {number + 1 if number >= 0 else -number} positional arguments; got {count}\n"
                "  pass by position what is differentiated, and the number of its position, counted from 0"
            )
        result.append(int(number) % count)
    return tuple(result)


class _Layout:
    """What the structure of a call says about its leaves.

    Args:
        trees: the structure of each positional argument.
        lengths: for each leaf, whether it is a length inside a `Ragged`: those are carried, not differentiated.
        names: of the leaves, for printing.
    """

    def __init__(self, structure: PyTreeDef, args: tuple[Any, ...]) -> None:
        self.trees = structure.children()[0].children()
        self.lengths = _is_length(args) + [False] * structure.num_leaves
        self.names = structure_names(structure)


_layouts: dict[PyTreeDef, _Layout] = {}
_MOST_LAYOUTS = 1024


def _layout(structure: PyTreeDef, args: tuple[Any, ...]) -> _Layout:
    try:
        known = _layouts.get(structure)
    except (TypeError, ValueError):  # data of a registered class that cannot be compared
        return _Layout(structure, args)
    if known is None:
        if len(_layouts) >= _MOST_LAYOUTS:
            _layouts.clear()
        known = _layouts[structure] = _Layout(structure, args)
    return known


def _differentiated(
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    argnums: tuple[int, ...],
    fun: Function,
    transform: str,
    allow_int: bool,
) -> tuple[list[Array], PyTreeDef, list[bool], _Layout]:
    """The leaves of a call, which of them derivatives are taken with respect to, and their layout."""
    name = function_name(fun)
    leaves, structure = flatten_arguments((args, kwargs), name)
    layout = _layout(structure, args)
    wrt: list[bool] = []
    for number, tree in enumerate(layout.trees):
        wrt += [number in argnums] * tree.num_leaves
    wrt += [False] * (len(leaves) - len(wrt))
    for index, leaf in enumerate(leaves):
        if not wrt[index] or is_inexact(leaf):
            continue
        if layout.lengths[index]:
            wrt[index] = False
            continue
        if not allow_int:
            path = structure.paths()[index]
            raise DTypeError(
                f"{transform} of {name}: argument {argument_text(fun, path[3:])} has dtype {leaf.dtype}, which has no derivative\n"
                f"  pass floating numbers, {_as_float(leaf)}, or choose other argnums; allow_int=True is for zeros (float0) in its place"
                "\n  see docs/errors.md#no-derivative-of-integers"
            )
        wrt[index] = False
    return leaves, structure, wrt, layout


def _as_float(leaf: Array) -> str:
    """How to write the floating numbers that are meant by an array of integers."""
    return (
        "x.astype('float32') for x"
        if leaf.ndim or _core.is_traced(leaf)
        else f"{float(_core.peek_numpy(leaf))} for {_core.peek_numpy(leaf)}"
    )


def _of_arrays(
    fun: Function, args: tuple[Any, ...], kwargs: dict[str, Any], argnums: tuple[int, ...]
) -> tuple[Function, tuple[Any, ...], dict[str, Any]]:
    """A function of arrays: what is not differentiated may be any object."""
    if len(args) == len(argnums) and not kwargs:
        return fun, args, kwargs

    def is_constant() -> list[bool]:
        flags = [number not in argnums for number, arg in enumerate(args) for _ in _core.tree_flatten(arg)[0]]
        return flags + [True] * _core.tree_flatten(kwargs)[1].num_leaves

    return hand_objects_through(fun, args, kwargs, is_constant)


def _zero_of(shape: tuple[int, ...]) -> Any:
    """A derivative of what has none: JAX's float0 zeros; bools while capturing, which outer transforms can carry."""
    return _core.full(shape, False, "bool") if _core.is_capturing() else float0_zeros(shape)


def _zero_gradient(leaf: Array) -> Any:
    """The gradient of an integer leaf."""
    zero = _zero_of(leaf._bound_shape)
    return as_ragged_as(zero, leaf) if isinstance(zero, Array) else zero


def _is_length(args: tuple[Any, ...]) -> list[bool]:
    """For each leaf of positional arguments, whether it is a length inside a `Ragged`: those are carried, not differentiated."""
    flags: list[bool] = []
    for item in _core.tree_flatten(args, lambda value: isinstance(value, Ragged))[0]:
        flags += [False] + [True] * len(item._lengths) if isinstance(item, Ragged) else [False]
    return flags


def lengths_in(structure: PyTreeDef) -> list[bool]:
    """For each leaf of a structure, whether it is a length inside a `Ragged`."""
    if structure.num_nodes == 1:
        return [False] * structure.num_leaves
    return _is_length((structure.unflatten(range(structure.num_leaves)),))


_OWN_LENGTHS = (
    "\n  derivatives are of the elements that there are: make a tangent or cotangent with the lengths of what it belongs to,"
    " ct.Ragged(data, x.lengths, x.names)\n  see docs/errors.md#tangent-mismatch"
)


def check_own_lengths(own: Any, given: Any, what: str, model: str) -> None:
    """Raises MismatchError where a tangent or cotangent has other lengths than what it belongs to; float0 is none."""
    if are_lengths(given) and are_lengths(own):
        try:
            check_equal(given, own, f"{what} and {model}", _OWN_LENGTHS)
        except ShapeError as error:
            raise MismatchError(str(error)) from None


def _capture_primals(
    fun: Function, primals: Sequence[Any], transform: str, has_aux: bool, concrete: bool = True
) -> tuple[list[Array], PyTreeDef, Captured]:
    check_callable(fun, transform)
    name = function_name(fun)
    leaves, structure = flatten_arguments((tuple(primals), {}), name)
    return (
        leaves,
        structure,
        capture(
            fun,
            leaves,
            structure,
            "transform",
            name=name,
            concrete=concrete,
            has_aux=has_aux,
            differentiated=[is_inexact_dtype(leaf.dtype) for leaf in leaves],
        ),
    )


def _leaves_like(structure: PyTreeDef, tree: Any, what: str, model: str) -> list[Any]:
    try:
        return flatten_like(structure, tree, f"{what} must have the structure of the {model}")
    except TypeError as error:
        raise MismatchError(f"{error}\n  see docs/errors.md#tangent-mismatch") from None


def unlike(what: str, given: Sequence[Any], model: str, own: Sequence[Any]) -> MismatchError:
    """The error of a tangent or cotangent of another shape than what it belongs to."""
    sizes = f"ct.numpy.ones({tuple(own)})" if all(isinstance(n, int) for n in own) else "ct.numpy.ones_like(...)"
    return MismatchError(
        f"{what} has shape {tuple(given)}, {model} {tuple(own)}{marked_difference(given, own)}\n"
        f"  a tangent or cotangent has the shape and dtype of what it belongs to: {sizes} is one\n"
        "  see docs/errors.md#tangent-mismatch"
    )


def _leaf(value: Any, what: str) -> Array:
    try:
        return _core.leaf(value, what)
    except TypeError as error:
        raise MismatchError(str(error)) from None


def _of_dtype(array: Array, dtype: Any, where: str, what: str) -> Array:
    """A tangent or cotangent with the dtype it must have; Python floats take it, other dtypes are an error."""
    if array.dtype == dtype:
        return array
    if not (array.weak_type and is_inexact_dtype(array.dtype)):
        raise MismatchError(
            f"{where} has dtype {array.dtype}, {what} {dtype}\n  convert it with .astype({str(dtype)!r})"
            "\n  see docs/errors.md#tangent-mismatch"
        )
    return _core.convert(array, dtype)


check_arguments(globals())
