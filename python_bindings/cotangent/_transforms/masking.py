"""`mask`: exact-size programs run on padded data."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np

from cotangent import _core
from cotangent._base import primitives
from cotangent._base.arguments import check_arguments
from cotangent._base.capture import aval_of, check_callable, flatten_arguments, function_name, transformed
from cotangent._base.messages import warn_user
from cotangent._core import Array, PyTreeDef
from cotangent._transforms.lengths import check_equal, checked_length, collect_requirements
from cotangent._transforms.ragged import Ragged, keeping_lengths
from cotangent.errors import ShapeError

__all__ = ["mask"]


def mask(fun: Callable[..., Any]) -> Callable[..., Any]:
    """Makes of a function of exact-size arrays one of padded arrays, `Ragged`, whose padding reaches no result.

    The law: for every length and every padding, NaN and infinity included, ``unpad(mask(f)(pad(x))) == f(x)``;
    gradients agree on the valid elements and are exactly 0 on padding. Where the length is 0 and NumPy has an error,
    results are those of no elements: ``max`` is the least value of the dtype (-inf), ``min`` the largest, and
    ``argmax`` and ``argmin`` a position that is outside of every array.

    Inside, a `Ragged` argument is a plain array, and ``x.shape[0]`` a size that only the data knows: it can be computed
    with, and be used in shapes, but Python's ``if`` and ``range`` cannot have its value. ``vmap(mask(f))`` maps over a
    batch of rows of different lengths; `jit` outside compiles one program for all lengths; `grad` may stand inside or
    outside.

    Parameters
    ----------
    fun : callable
        A function of pytrees of arrays; inside, `Ragged` arguments are plain arrays whose ragged axes have a symbolic
        size.

    Returns
    -------
    callable
        A function of the same arguments, any of them `Ragged`; outputs whose shape depends on a length come back as
        `Ragged`, all others as arrays.

    Raises
    ------
    ShapeError
        A length has an entry for each of several examples (use ``vmap(mask(f))``), axes of one name have different
        lengths, or an operation needs two lengths to be equal that are not.
    ConcretizationError
        ``fun`` asks for the value of a length or of an element.
    NotImplementedError
        An operation has no rule for ragged axes; the message names it and the line.

    Examples
    --------
    >>> x = ct.Ragged(ct.numpy.array([3.0, 4.0, ct.numpy.nan]), {0: 2})
    >>> float(ct.mask(ct.numpy.mean)(x))
    3.5
    >>> ct.mask(lambda x: x * 2)(x)
    Ragged([6., 8.], lengths={0: 2}, dtype=float32)
    >>> ct.vmap(ct.mask(lambda row: row.max()))(ct.ragged([[1.0, 5.0], [2.0]])).tolist()
    [5.0, 2.0]
    """
    check_callable(fun, "mask")
    name = function_name(fun)

    @transformed(fun)
    def mask_fun(*args: Any, **kwargs: Any) -> Any:
        items, outer = _core.tree_flatten((args, kwargs), lambda value: isinstance(value, Ragged))
        lengths, names_of, data, axes_of = _arguments(items, name)
        if not lengths and args and all(map(_is_list_of_rows, args)):
            warn_user(
                f"mask of {name}: no argument is a Ragged, and lists of arrays are taken apart, each array by itself\n"
                "  make a batch of a list of rows, whatever their lengths: ct.ragged(rows)"
            )
        out_structure: PyTreeDef | None = None
        out_ragged: list[dict[int, int]] = []
        required: list[tuple[slice, Callable[..., None]]] = []  # outputs, and what looks at them
        same_as: list[int | None] = []  # for each length of a result: the argument's length that it is

        def run(inputs: list[Array]) -> tuple[list[Any], None]:
            nonlocal out_structure
            call_args, call_kwargs = outer.unflatten(inputs[len(lengths) :])
            try:
                result, found_required = collect_requirements(lambda: fun(*call_args, **call_kwargs))
            except TypeError as error:
                if type(error) is TypeError and _not_a_size(error):
                    raise TypeError(f"{error}\n  {_SIZES_ARE_SYMBOLIC}") from error
                raise
            leaves, out_structure = flatten_arguments(result, f"the output of {name}")
            out_lengths: list[Array] = []
            for leaf in leaves:
                found: dict[int, int] = {}
                for axis in _core.ragged_axes(leaf):
                    found[axis] = len(out_lengths)
                    length = _core.length_of(leaf, axis)
                    assert length is not None
                    out_lengths.append(length)
                    known = inputs[: len(lengths)]
                    same_as.append(next((i for i, x in enumerate(known) if _core.same_length(x, length)), None))
                out_ragged.append(found)
            for sizes, check in found_required:
                required.append((slice(len(out_ragged), len(out_ragged) + len(sizes)), check))
                leaves += sizes
                out_ragged.extend({} for _ in sizes)
            return leaves, None

        avals = [((), "int32", False)] * len(lengths) + [aval_of(x) for x in data]
        spec: list[dict[int, int]] = [{} for _ in lengths] + axes_of
        labels = _labels(fun, outer, axes_of, names_of, len(lengths))
        graph, closure, _ = _core.capture(run, avals, labels, "mask", name, None, spec)
        in_ragged = [
            v
            for operand, axes in enumerate(axes_of)
            for axis, position in sorted(axes.items())
            for v in (operand, axis, position)
        ]
        flat_out: list[int] = []
        count = 0
        for output, found in enumerate(out_ragged):
            for axis in sorted(found):
                flat_out += [output, axis, count]
                count += 1
        operands = lengths + data + closure
        results = primitives.mask(
            *operands, graph=graph, num_lengths=len(lengths), in_ragged=in_ragged, out_ragged=flat_out
        )
        for places, check in required:
            check(*results[places])
        outputs: list[Any] = []
        total = len(out_ragged)
        shown = required[0][0].start if required else total
        position = 0
        for value, found in zip(results[:shown], out_ragged[:shown], strict=True):
            if not found:
                outputs.append(value)
                continue
            out_lengths, out_names = {}, {}
            for axis in sorted(found):
                source = same_as[position]
                # The argument's own length where it is that, so that the result goes with the argument in later programs.
                out_lengths[axis - value.ndim] = results[total + position] if source is None else lengths[source]
                out_names[axis - value.ndim] = "" if source is None else names_of.get(source, "")
                position += 1
            outputs.append(keeping_lengths(Ragged._make(value, out_lengths, out_names)))
        assert out_structure is not None
        return out_structure.unflatten(outputs)

    return mask_fun


def _is_list_of_rows(argument: Any) -> bool:
    """Whether an argument is a list of arrays of one shape, as rows of one length are, or elements of each under `vmap`."""
    if type(argument) is not list or len(argument) < 2:
        return False
    return all(isinstance(row, (Array, np.ndarray)) and row.shape == argument[0].shape for row in argument)


_SIZES_ARE_SYMBOLIC = "Dim is the size of a ragged axis, which functions of this package take: ct.numpy.zeros(x.shape[0]) for np.zeros(x.shape[0])"


def _not_a_size(error: TypeError) -> bool:
    """Whether NumPy, or somebody else who takes numbers, refused the size of a ragged axis."""
    return "Dim(<=" in str(error) and _SIZES_ARE_SYMBOLIC not in str(error)


def _arguments(items: list[Any], name: str) -> tuple[list[Array], dict[int, str], list[Any], list[dict[int, int]]]:
    """The lengths of a region and their names by position, the arrays, and for each of these axis -> position of its length."""
    lengths: list[Array] = []
    by_name: dict[str, int] = {}
    names_of: dict[int, str] = {}
    data: list[Any] = []
    axes_of: list[dict[int, int]] = []
    for item in items:
        axes: dict[int, int] = {}
        axes_of.append(axes)
        if not isinstance(item, Ragged):
            data.append(item if isinstance(item, Array) else _core.leaf(item, f"the arguments of {name}"))
            continue
        padded = _core.array(item.data)
        data.append(padded)
        for axis, length in item._lengths.items():
            if padded.ndim < -axis:
                raise ShapeError(
                    f"mask of {name}: a Ragged has data of shape {padded.shape}, which has no axis {axis} for its length\n"
                    "  keep the axes of its data, or make another: ct.Ragged(data, lengths)"
                )
            # A function of pytrees may have changed the leaves.
            array = checked_length(length, axis + padded.ndim, padded._bound_shape[axis], f"mask of {name}")
            if array.ndim != 0:
                raise ShapeError(
                    f"mask of {name}: a length has shape {array.shape}, so the argument is a batch\n  map over it with vmap(mask(f))"
                    "\n  see docs/errors.md#batch-without-vmap"
                )
            position = _length_position(lengths, by_name, item._names[axis], array, name)
            axes[axis + padded.ndim] = position
            if item._names[axis]:
                names_of[position] = item._names[axis]
    return lengths, names_of, data, axes_of


def _labels(
    fun: Callable[..., Any],
    structure: PyTreeDef,
    axes_of: list[dict[int, int]],
    names_of: dict[int, str],
    count: int,
) -> list[str]:
    """What messages call the lengths: by their names, or as the function would write them, ``x.shape[0]``."""
    labels = [repr(names_of[position]) if position in names_of else "" for position in range(count)]
    if all(labels):
        return labels
    code = getattr(fun, "__code__", None)
    parameters = code.co_varnames[: code.co_argcount] if code is not None else ()
    for path, axes in zip(structure.paths(), axes_of, strict=True):
        found = re.fullmatch(r"\[(0|1)\]\[(?:(\d+)|'(\w+)')\](.*)", path) if axes else None
        if found is None:
            continue
        kind, place, keyword, rest = found.groups()
        if kind == "0" and int(place) >= len(parameters):
            continue
        argument = f"{parameters[int(place)] if kind == '0' else keyword}{rest}"
        for axis, position in axes.items():
            labels[position] = labels[position] or f"{argument}.shape[{axis}]"
    return labels


_OTHER_NAMES = "\n  give axes of different lengths different names, or none: ct.Ragged(data, lengths)\n  see docs/errors.md#lengths-that-differ"


def _length_position(lengths: list[Array], by_name: dict[str, int], name: str, array: Array, function: str) -> int:
    """The position of a length among the region's, shared by axes of one name."""
    if name and name in by_name:
        position = by_name[name]
        what = f"mask of {function}: axes named {name!r}"
        check_equal(lengths[position], array, what, f"; equal names mean equal lengths{_OTHER_NAMES}")
        return position
    position = next((i for i, known in enumerate(lengths) if known is array), -1)
    if position < 0:
        lengths.append(array)
        position = len(lengths) - 1
    if name:
        by_name[name] = position
    return position


check_arguments(globals())
