"""vmap: a function of one example over a batch."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np

from cotangent import _core
from cotangent._base.arguments import check_arguments
from cotangent._base.capture import (
    RAGGED_NAMES,
    Captured,
    axis_text,
    check_callable,
    flatten_arguments,
    function_name,
    give_lengths,
    repeated_integers,
    transformed,
)
from cotangent._base.carriers import last_opened
from cotangent._base.messages import indented, marked_axes
from cotangent._base.misplaced import check_options, shown
from cotangent._base.objects import hand_objects_through
from cotangent._core import Array, PyTreeDef
from cotangent._transforms.chunks import apply_in_chunks, checked_chunk_size
from cotangent._transforms.differentiation import Function, P, R
from cotangent._transforms.memory_limits import DIVISION, with_division
from cotangent._transforms.ragged import check_names_of_batch
from cotangent._transforms.sized import capture_sized


def flatten_axes(axes: Any, tree: Any, what: str, name: str) -> list[int | None]:
    """One axis a leaf of ``tree``, from a pytree prefix."""
    is_axis = lambda a: a is None or isinstance(a, (int, np.integer))  # noqa: E731
    axis_leaves, axis_structure = _core.tree_flatten(axes, is_axis)
    for axis in axis_leaves:
        if not is_axis(axis):  # type: ignore[no-untyped-call]
            raise TypeError(
                f"vmap of {name}: {what} must be made of ints and None; got {axis!r}\n"
                f"  name the axis by its number, {what}=0, or {what}=None for what is the same for all examples"
            )
    try:
        subtrees = axis_structure.flatten_up_to(tree)
    except ValueError as error:
        of = "arguments" if what == "in_axes" else "results"
        raise ValueError(
            f"vmap of {name}: {what}={shown(axes)} does not match the structure of the {of}\n{indented(error)}\n"
            f"  give one int or None for all {of}, or a pytree of them that is a prefix of the {of}"
            "\n  see docs/errors.md#vmap-prefix"
        ) from None
    result: list[int | None] = []
    for axis, subtree in zip(axis_leaves, subtrees, strict=True):
        result += [axis] * _core.tree_flatten(subtree, None)[1].num_leaves
    return result


def vmap(
    fun: Callable[P, R],
    in_axes: Any = 0,
    out_axes: Any = 0,
    axis_name: Hashable | None = None,
    axis_size: int | None = None,
    spmd_axis_name: Any = None,
    chunk_size: int | None = None,
) -> Callable[P, R]:
    """Maps a function of one example over a batch, as one program.

    The function is captured once, on one example, and the program is rewritten so that every operation works on the
    whole batch: it costs one call, not one per example. ``fun`` sees arrays without the batch axis, so it must not look
    at values (``if x > 0``); `cotangent.lax.cond`, `cotangent.numpy.where` and loops of `cotangent.lax` do that.

    It nests in any order with `jit`, `grad`, `mask` and itself: ``vmap(vmap(f))`` has two batch axes, ``vmap(grad(f))``
    the gradient of every example. Results are those of a Python loop over the examples, but for the rounding of sums
    that are done in another order.

    Parameters
    ----------
    fun : callable
        The function of one example.
    in_axes : int, None, or a pytree of them, default 0
        The axis of each argument that is the batch: an int (negative counts from the end) or None (the same for all
        examples), for all arguments or as a pytree prefix of the positional arguments. Keyword arguments are mapped
        along axis 0. What has None may be any object, and Python numbers stay such.
    out_axes : int, None, or a pytree of them, default 0
        Where the batch axis goes in the outputs: an int, None (the output must not depend on the example) or a prefix.
    axis_name : hashable, optional
        A name for the batch axis, by which collectives (`lax.psum` and its like) in ``fun`` know it.
    axis_size : int, optional
        The size of the batch, needed only when nothing is batched.
    spmd_axis_name : object, optional
        Accepted for compatibility; arrays are not spread over devices.
    chunk_size : int, optional
        How many examples are computed at a time, by default all of them: memory is that of so many. The rest of a
        division comes last. Derivatives need what each chunk leaves behind; with ``ct.checkpoint(fun)`` it is computed
        again instead.

    Returns
    -------
    callable
        A function of the arguments of ``fun``, each with one axis more where ``in_axes`` says so. It returns what
        ``fun`` does, the same pytree, whose arrays have the batch as a further axis.

    Raises
    ------
    ValueError
        Batch sizes differ, or an axis does not exist; ``chunk_size`` is not positive, is given together with
        ``axis_name``, as a collective needs all examples at once, or for an axis that is ragged.
    TypeError
        ``fun`` cannot be called, or ``in_axes`` or ``out_axes`` hold something else than ints and None.
    ConcretizationError
        ``fun`` asks for the value of an array of one example.

    References
    ----------
    R. Frostig, M. J. Johnson, C. Leary, "Compiling machine learning programs via high-level tracing", SysML 2018.

    Examples
    --------
    >>> dot = ct.vmap(ct.numpy.dot)
    >>> dot(np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([[1.0, 1.0], [0.0, 2.0]])).tolist()
    [3.0, 8.0]
    >>> ct.vmap(lambda w, x: w * x.sum(), in_axes=(None, 1))(10, np.array([[1, 2, 3], [4, 5, 6]])).tolist()
    [50, 70, 90]
    >>> ct.vmap(lambda x: x * x, chunk_size=2)(ct.numpy.arange(5)).tolist()
    [0, 1, 4, 9, 16]
    """
    del spmd_axis_name
    check_callable(fun, "vmap")
    check_options("vmap", fun, in_axes, out_axes)
    chunk_size = _checked_chunk_size(chunk_size, axis_name)
    if isinstance(in_axes, list):
        in_axes = tuple(in_axes)
    if isinstance(in_axes, bool):
        raise TypeError(
            f"vmap: in_axes must be made of ints and None; got {in_axes!r}\n  a flag is no axis: pass in_axes={int(in_axes)}"
        )
    name = function_name(fun)

    @transformed(fun)
    def vmap_fun(*args: Any, **kwargs: Any) -> Any:
        if isinstance(in_axes, tuple) and len(in_axes) != len(args):
            raise ValueError(
                f"vmap of {name}: in_axes has {len(in_axes)} entries, but there are {len(args)} positional arguments\n"
                f"  give {name} as many entries as arguments, None for what is the same for all examples;"
                " keyword arguments are mapped along axis 0 and have no entry"
            )
        function = fun
        if in_axes != 0:

            def is_shared() -> list[bool]:
                shared = [axis is None for axis in flatten_axes(in_axes, args, "in_axes", name)]
                return shared + [False] * _core.tree_flatten(kwargs)[1].num_leaves

            function, args, kwargs = hand_objects_through(fun, args, kwargs, is_shared)
        before = last_opened()
        leaves, structure = flatten_arguments((args, kwargs), name)
        has_carriers = last_opened() is not before
        axes = flatten_axes(in_axes, args, "in_axes", name) + [0] * (
            len(leaves) - _core.tree_flatten(args, None)[1].num_leaves
        )
        batch_axes, size = _batch_axes(leaves, axes, structure.paths(), axis_size, name, args)
        if has_carriers:
            check_names_of_batch((args, kwargs), batch_axes, f"vmap of {name}")
        on_axis = [(leaf, axis) for leaf, axis in zip(leaves, batch_axes, strict=True) if axis >= 0]
        _core.check_sizes([leaf for leaf, _ in on_axis], [axis for _, axis in on_axis])
        examples = [leaf if axis < 0 else (leaf, axis) for leaf, axis in zip(leaves, batch_axes, strict=True)]
        named = None if axis_name is None else (axis_text(axis_name), size)
        mapped = [_core.length_of(leaf, axis) for leaf, axis in on_axis]
        ragged = [length for length in mapped if length is not None]
        lengths = {key: length for key, length in RAGGED_NAMES.get().items() if not named or key != named[0]}
        if named and ragged:
            lengths[named[0]] = ragged[0]
        token = RAGGED_NAMES.set(lengths)
        division, chunk = DIVISION.get(), chunk_size
        if division is not None and chunk_size is None and not named and not ragged:
            chunk, division = division.chunk(size)
        try:
            with with_division(division):
                captured, returned = capture_sized(
                    lambda fun: _capture_examples(fun, examples, structure, name, named), function
                )
        finally:
            RAGGED_NAMES.reset(token)
        positions = _out_positions(captured, out_axes, name)
        operands, placed = leaves + captured.closure, batch_axes + [-1] * len(captured.closure)
        if chunk is not None and chunk < size:
            if ragged:
                raise ValueError(
                    f"vmap of {name}: chunk_size={chunk}, but the mapped axis is ragged\n"
                    "  chunks need a size that is known: leave chunk_size out, or map outside of mask"
                )
            limited = chunk_size is None
            results = apply_in_chunks(captured.graph, operands, placed, positions, size, chunk, limited)
        else:
            graph = _core.graph_vmap(captured.graph, placed, size, positions, named[0] if named else "")
            results = _core.apply_graph(graph, operands)
        for output, index in returned.items():
            if not ragged and positions[output] == batch_axes[index]:
                results[output] = leaves[index]
        if ragged:
            # Also what is the same for all examples is there once for each.
            results = [
                give_lengths(x, {axis: ragged[0]}) if axis >= 0 and axis not in _core.ragged_axes(x) else x
                for x, axis in zip(results, positions, strict=True)
            ]
        return captured.structure.unflatten(results)

    return vmap_fun


def _checked_chunk_size(chunk_size: int | None, axis_name: Hashable | None) -> int | None:
    checked = checked_chunk_size(chunk_size, "vmap")
    if chunk_size is not None and axis_name is not None:
        raise ValueError(
            f"vmap: chunk_size={chunk_size} together with axis_name={axis_name!r}: a collective over the axis needs all examples"
            " at once\n  leave out one of the two"
        )
    return checked


def _batch_axes(
    leaves: list[Array], axes: list[Any], paths: list[str], axis_size: int | None, name: str, args: Sequence[Any]
) -> tuple[list[int], int]:
    """The axis of each argument that is the batch, -1 for none, and the size of the batch."""
    sizes: dict[str, int] = {}
    result: list[int] = []
    for leaf, axis, path in zip(leaves, axes, paths, strict=True):
        if axis is None:
            result.append(-1)
            continue
        if not -leaf.ndim <= axis < leaf.ndim:
            raise ValueError(
                f"vmap of {name}: argument {path[3:]} has shape {leaf.shape}, which has no axis {axis} to map over\n"
                f"{_advice([path], args, _SHARED)}\n  see docs/errors.md#vmap-axis-missing"
            )
        result.append(int(axis) % leaf.ndim)
        sizes[path[3:]] = leaf._bound_shape[axis]
    if axis_size is not None:
        sizes.setdefault("axis_size", axis_size)
    if not sizes:
        raise ValueError(
            f"vmap of {name}: at least one argument must be mapped over, or axis_size given\n"
            "  pass in_axes=0 for an argument with an axis of examples, or axis_size=, how many examples there are"
        )
    size = next(iter(sizes.values()))
    if any(other != size for other in sizes.values()):
        listing = ", ".join(f"{path}: {value}" for path, value in sizes.items())
        raise ValueError(
            f"vmap of {name}: the mapped axes have different sizes ({listing}){_marked(leaves, axes)}\n"
            + (
                "  leave axis_size out: it is the size of the mapped axes\n"
                if axis_size is not None
                else f"{_advice(paths, args, _OF_ONE_SIZE)}\n"
            )
            + "  see docs/errors.md#vmap-sizes-differ"
        )
    return result, size


_SHARED = "  pass in_axes=None for arguments that are the same for all examples"
_OF_ONE_SIZE = "  give arguments an entry for each example, and pass in_axes=None for those that are the same for all"

_BY_NAME = (
    "  arguments that are given by name are mapped over, all of them; one that is the same for all examples stands in the function:"
    " ct.vmap(functools.partial(f, {name}=value))(x), or ct.vmap(lambda x: f(x, {name}=value))(x)"
)

_ROWS = (
    "  a list of rows is no batch, as each of its elements is mapped over by itself; make one first: ct.ragged(rows) for ct.mask,"
    " whatever the lengths, or ct.numpy.array(rows) for rows of one length"
)


def _advice(paths: Sequence[str], args: Sequence[Any], otherwise: str) -> str:
    """What to do about arguments with these paths: of lists of rows, and of other lists, which may be such."""
    keywords = [match[1] for path in paths if (match := re.match(r"\[1\]\['([^']*)'\]", path))]
    by_name = _BY_NAME.format(name=keywords[0]) if keywords else ""
    if by_name and otherwise is _SHARED:
        return by_name
    if by_name:
        otherwise = f"{otherwise}\n{by_name}"
    found = [re.match(r"\[0\]\[(\d+)\]\[", path) for path in paths]
    lists = [args[int(match[1])] for match in found if match and isinstance(args[int(match[1])], list)]
    if any(all(isinstance(row, list) for row in rows) for rows in lists):
        return _ROWS
    return f"{otherwise}\n{_ROWS}" if lists else otherwise


def _marked(leaves: list[Array], axes: list[Any]) -> str:
    """The shapes of what is mapped that differ, each with its axis marked."""
    mapped = [(leaf.shape, int(axis) % leaf.ndim) for leaf, axis in zip(leaves, axes, strict=True) if axis is not None]
    others = [(shape, axis) for shape, axis in mapped[1:] if shape[axis] != mapped[0][0][mapped[0][1]]]
    shown = mapped[:1] + others[:3]
    return marked_axes([shape for shape, _ in shown], [axis for _, axis in shown])


def _out_positions(captured: Captured, out_axes: Any, name: str) -> list[int]:
    """Where each result has the batch, -1 for none."""
    placeholder = captured.structure.unflatten(list(range(captured.structure.num_leaves)))
    axes = flatten_axes(out_axes, placeholder, "out_axes", name)
    positions = []
    for axis, aval in zip(axes, captured.graph.out_avals, strict=True):
        rank = len(aval[0]) + 1
        if axis is not None and not -rank <= axis < rank:
            raise ValueError(
                f"vmap of {name}: out_axes={axis} is out of bounds for a batched output with {rank} axes\n"
                f"  with the axis of the examples it has axes 0 … {rank - 1}: pass out_axes={rank - 1} for the last"
            )
        positions.append(-1 if axis is None else int(axis) % rank)
    return positions


def _capture_examples(
    fun: Function, examples: list[Any], structure: PyTreeDef, name: str, axis: tuple[str, int] | None
) -> tuple[Captured, dict[int, int]]:
    """The program of one example, and which integer inputs it returns as they are: output -> input.

    One array is one length: lengths that a function hands through are still those of its arguments.
    """
    out_structure: PyTreeDef | None = None
    returned: dict[int, int] = {}
    pairs = [item if isinstance(item, tuple) else (item, -1) for item in examples]
    repeated = repeated_integers([leaf for leaf, _ in pairs], [number for _, number in pairs])

    def run(inputs: list[Array]) -> tuple[list[Any], None]:
        nonlocal out_structure
        if repeated:
            inputs = [inputs[repeated.get(index, index)] for index in range(len(inputs))]
        args, kwargs = structure.unflatten(inputs)
        out_leaves, out_structure = flatten_arguments(fun(*args, **kwargs), f"the output of {name}")
        known = {id(x): index for index, x in enumerate(inputs)}
        for output, leaf in enumerate(out_leaves):
            if id(leaf) in known and _core.kind(leaf) in ("signed", "unsigned"):
                returned[output] = known[id(leaf)]
        return out_leaves, None

    graph, closure, _ = _core.capture(run, examples, [], "batch", name, axis=axis)
    assert out_structure is not None
    variables = graph.outputs
    # An object that was assigned to is another array.
    returned = {output: index for output, index in returned.items() if variables[output] == index}
    return Captured(graph, closure, out_structure), returned


check_arguments(globals())
