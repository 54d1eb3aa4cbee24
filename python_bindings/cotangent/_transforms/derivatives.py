"""The transforms: grad, value_and_grad, vjp, jvp, linearize, vmap.

Each captures the user's function once into a graph, applies a graph-to-graph transform, and binds the result: recorded when an
enclosing transform is capturing, run when not.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any, ParamSpec, TypeVar

import numpy as np

from cotangent import _core
from cotangent._base.arguments import check_arguments
from cotangent._base.capture import (
    FLOAT0,
    RAGGED_NAMES,
    Captured,
    ShapeDtypeStruct,
    as_ragged_as,
    axis_text,
    capture,
    check_callable,
    flatten_arguments,
    flatten_like,
    float0_zeros,
    function_name,
    give_lengths,
    is_inexact_dtype,
    repeated_integers,
    structure_names,
    wraps,
)
from cotangent._base.device import check_placements
from cotangent._base.objects import hand_objects_through
from cotangent._core import Array, Graph, PyTreeDef
from cotangent._transforms.ragged import Ragged
from cotangent._transforms.staging import jit
from cotangent.errors import DTypeError, MismatchError, ShapeError
from cotangent.tree_util import Partial

Function = Callable[..., Any]
P = ParamSpec("P")
R = TypeVar("R")


def is_inexact(x: Array) -> bool:
    """Whether elements carry derivatives: floating and complex ones."""
    return _core.kind(x) in ("float", "complex")


def _normalize_argnums(argnums: int | Sequence[int], count: int, transform: str) -> tuple[int, ...]:
    numbers = (argnums,) if isinstance(argnums, (int, np.integer)) else tuple(argnums)
    if not numbers:
        raise ValueError(f"{transform}: argnums={argnums} names no argument")
    result = []
    for number in numbers:
        if not -count <= number < count:
            error = TypeError if number >= 0 else ValueError
            raise error(
                f"{transform}: argnums={argnums} needs at least {number + 1 if number >= 0 else -number} positional arguments; got {count}"
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
    args: tuple[Any, ...], kwargs: dict[str, Any], argnums: tuple[int, ...], name: str, transform: str, allow_int: bool
) -> tuple[list[Array], PyTreeDef, list[bool], _Layout]:
    """The leaves of a call, which of them derivatives are taken with respect to, and their layout."""
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
                f"{transform} of {name}: argument {path[3:]} has dtype {leaf.dtype}, which has no derivative\n"
                "  convert it to a floating dtype, choose other argnums, or pass allow_int=True for zero gradients"
            )
        wrt[index] = False
    return leaves, structure, wrt, layout


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


def _check_reduce_axes(reduce_axes: Sequence[Any], transform: str) -> None:
    if tuple(reduce_axes):
        raise ValueError(
            f"{transform}: reduce_axes={reduce_axes!r}; the gradient is summed over named axes with ct.lax.psum instead"
        )


def value_and_grad(
    fun: Callable[P, R],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
    reduce_axes: Sequence[Any] = (),
) -> Callable[P, tuple[R, Any]]:
    """A function that returns ``fun``'s value and its gradient.

    Args:
        fun: returns a real floating scalar (with ``has_aux``, a pair of it and any pytree).
        argnums: the positional arguments to differentiate, one or several; each may be a pytree of floating arrays. The other arguments
            may also hold other objects, which ``fun`` gets as they are, as it gets Python numbers.
        has_aux: whether ``fun`` returns ``(value, aux)``; the result is then ``((value, aux), gradient)``.
        holomorphic: inputs and output are complex, and ``fun`` is holomorphic.
        allow_int: integer and bool leaves get zero gradients (float0) instead of an error.
        reduce_axes: accepted for compatibility: must be empty.

    Raises:
        ShapeError: the value is not a scalar. DTypeError: the value or an argument has no derivative.

    >>> import cotangent as ct
    >>> value, gradient = ct.value_and_grad(lambda x: x * x)(3.0)
    >>> float(value), float(gradient)
    (9.0, 6.0)
    """
    check_callable(fun, "value_and_grad")
    _check_reduce_axes(reduce_axes, "grad")
    name = function_name(fun)

    @wraps(fun)
    def value_and_grad_fun(*args: Any, **kwargs: Any) -> Any:
        numbers = _normalize_argnums(argnums, len(args), "grad")
        function, args, kwargs = _of_arrays(fun, args, kwargs, numbers)
        leaves, structure, wrt, layout = _differentiated(args, kwargs, numbers, name, "grad", allow_int)
        captured = capture(
            function,
            leaves,
            structure,
            "transform",
            name=name,
            concrete=True,
            has_aux=has_aux,
            names=layout.names,
            differentiated=wrt,
        )
        if captured.structure.num_leaves != 1 or captured.structure.num_nodes != 1:
            raise TypeError(
                f"grad needs {name} to return one scalar; it returned {captured.structure}\n  return the loss alone, or (loss, aux) with has_aux=True"
            )
        avals = captured.graph.out_avals
        shape, dtype, _ = avals[0]
        if shape != ():
            raise ShapeError(
                f"grad needs {name} to return a scalar; it returned shape {shape}\n  reduce it (sum, mean), or use vjp or jacrev"
            )
        if holomorphic:
            results = _holomorphic_gradient(captured, leaves, wrt, name)
        else:
            if _core.dtype_kind(dtype) != "float":
                raise DTypeError(
                    f"grad needs {name} to return a real floating scalar; it returned {dtype}\n  for complex functions pass holomorphic=True, or differentiate a real part"  # noqa: E501
                )
            flags = wrt + [False] * len(captured.closure)
            results = _core.apply_graph(_core.graph_value_and_grad(captured.graph, flags), leaves + captured.closure)
        count = len(avals)
        gradients = iter(results[count:])
        by_leaf = [
            as_ragged_as(next(gradients), leaf) if flag else leaf if layout.lengths[index] else None
            for index, (leaf, flag) in enumerate(zip(leaves, wrt, strict=True))
        ]
        # Gradients in the structure of each differentiated argument.
        ordered: dict[int, Any] = {}
        first = 0
        for number, tree in enumerate(layout.trees):
            end = first + tree.num_leaves
            if number in numbers:
                ordered[number] = tree.unflatten(
                    [_zero_gradient(leaves[i]) if by_leaf[i] is None else by_leaf[i] for i in range(first, end)]
                )
            first = end
        gradient = ordered[numbers[0]] if isinstance(argnums, (int, np.integer)) else tuple(ordered[n] for n in numbers)
        if has_aux:
            return (results[0], captured.aux.unflatten(results[1:count])), gradient
        return results[0], gradient

    return value_and_grad_fun


def _holomorphic_gradient(captured: Captured, leaves: list[Array], wrt: list[bool], name: str) -> list[Array]:
    for leaf, flag in zip(leaves, wrt, strict=True):
        if flag and _core.dtype_kind(leaf.dtype) != "complex":
            raise DTypeError(f"grad(holomorphic=True) of {name} needs complex arguments; got {leaf.dtype}")
    dtype = captured.graph.out_avals[0][1]
    if _core.dtype_kind(dtype) != "complex":
        raise DTypeError(f"grad(holomorphic=True) needs {name} to return a complex scalar; it returned {dtype}")
    inexact = [is_inexact_dtype(aval[1]) for aval in captured.graph.out_avals]
    cotangents = [
        _core.full(aval[0], 1.0 if index == 0 else 0.0, aval[1])
        for index, aval in enumerate(captured.graph.out_avals)
        if inexact[index]
    ]
    graph = _core.graph_vjp(captured.graph, wrt + [False] * len(captured.closure))
    return _core.apply_graph(graph, leaves + captured.closure + cotangents)


def grad(
    fun: Callable[P, Any],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
    reduce_axes: Sequence[Any] = (),
) -> Callable[P, Any]:
    """A function that returns the gradient of ``fun``; the arguments are those of `value_and_grad`.

    >>> import cotangent as ct
    >>> float(ct.grad(ct.numpy.sin)(0.0))
    1.0
    """
    check_callable(fun, "grad")
    both = value_and_grad(fun, argnums, has_aux, holomorphic, allow_int, reduce_axes)

    @wraps(fun)
    def grad_fun(*args: Any, **kwargs: Any) -> Any:
        value, gradient = both(*args, **kwargs)
        return (gradient, value[1]) if has_aux else gradient

    return grad_fun


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


def _tangent_leaves(
    primals: Sequence[Any], tangents: Sequence[Any], leaves: list[Array], transform: str
) -> list[Array | None]:
    """Tangents as arrays of the primals' types; None for leaves without derivatives."""
    if len(primals) != len(tangents):
        raise MismatchError(f"{transform}: {len(primals)} primals but {len(tangents)} tangents")
    if isinstance(primals, tuple) != isinstance(tangents, tuple):
        raise MismatchError(f"{transform}: primals and tangents must both be tuples, or both be lists")
    structure = _core.tree_flatten(tuple(primals), None)[1]
    given = _leaves_like(structure, tuple(tangents), f"{transform}: the tangents", "primals")
    result: list[Array | None] = []
    for index, (leaf, tangent) in enumerate(zip(leaves, given, strict=True)):
        where = f"{transform}: the tangent at {structure.paths()[index]}"
        if not is_inexact_dtype(leaf.dtype):
            if getattr(tangent, "dtype", None) not in (FLOAT0, np.bool_):
                raise MismatchError(
                    f"{where} belongs to a primal of dtype {leaf.dtype}, so it must have dtype float0: np.zeros(shape, ct.dtypes.float0)"
                )
            result.append(None)
            continue
        array = _leaf(tangent, where)
        if array._bound_shape != leaf._bound_shape:
            raise MismatchError(f"{where} has shape {array.shape}, its primal {leaf.shape}")
        result.append(_of_dtype(array, leaf.dtype, where, "its primal"))
    return result


def _leaves_like(structure: PyTreeDef, tree: Any, what: str, model: str) -> list[Any]:
    try:
        return flatten_like(structure, tree, f"{what} must have the structure of the {model}")
    except TypeError as error:
        raise MismatchError(str(error)) from None


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
        )
    return _core.convert(array, dtype)


def _fill_tangents(values: list[Array], outputs: Sequence[Array]) -> list[Any]:
    """A tangent for each output: what the graph gives for inexact ones, zeros without values for the rest."""
    given = iter(values)
    return [
        as_ragged_as(next(given), output) if is_inexact_dtype(output.dtype) else _zero_gradient(output)
        for output in outputs
    ]


def jvp(fun: Function, primals: Sequence[Any], tangents: Sequence[Any], has_aux: bool = False) -> Any:
    """The value of ``fun`` and its directional derivative.

    Args:
        fun: any function of pytrees of arrays.
        primals: its positional arguments.
        tangents: the direction, of the same structure, shapes and dtypes.
        has_aux: ``fun`` returns ``(output, aux)``; the result is ``(output, output tangent, aux)``.

    >>> import cotangent as ct
    >>> y, dy = ct.jvp(lambda x: x * x, (3.0,), (1.0,))
    >>> float(dy)
    6.0
    """
    if not isinstance(primals, (tuple, list)) or not isinstance(tangents, (tuple, list)):
        raise TypeError("jvp: primals and tangents must be tuples or lists of arguments")
    leaves, _, captured = _capture_primals(fun, primals, "jvp", has_aux)
    directions = _tangent_leaves(primals, tangents, leaves, "jvp")
    out_count = captured.structure.num_leaves
    nonzero = [direction is not None for direction in directions] + [False] * len(captured.closure)
    avals = captured.graph.out_avals
    force = [index < out_count and is_inexact_dtype(aval[1]) for index, aval in enumerate(avals)]
    graph, nonzero_out = _core.graph_jvp(captured.graph, nonzero, force)
    results = _core.apply_graph(graph, leaves + captured.closure + [d for d in directions if d is not None])
    flags = [flag for flag in range(len(avals)) if nonzero_out[flag]]
    by_output = dict(zip(flags, results[len(avals) :], strict=True))
    out_tangents = _fill_tangents([by_output[i] for i in range(out_count) if i in by_output], results[:out_count])
    output = captured.structure.unflatten(results[:out_count])
    tangent = captured.structure.unflatten(out_tangents)
    if has_aux:
        return output, tangent, captured.aux.unflatten(results[out_count : len(avals)])
    return output, tangent


def _linearized(fun: Function, primals: Sequence[Any], transform: str, has_aux: bool) -> tuple[Any, ...]:
    """Primal outputs, residual values, the tangent graph, and what is needed to call it."""
    leaves, _, captured = _capture_primals(fun, primals, transform, has_aux)
    wrt = [is_inexact_dtype(leaf.dtype) for leaf in leaves]
    primal, tangent, count = _core.graph_linearize(captured.graph, wrt + [False] * len(captured.closure))
    results = _core.apply_graph(primal, leaves + captured.closure)
    split = len(results) - count
    return leaves, wrt, captured, results[:split], results[split:], tangent


def linearize(fun: Function, *primals: Any, has_aux: bool = False) -> Any:
    """The value of ``fun`` and the linear function of tangents at that point, which can be applied many times.

    >>> import cotangent as ct
    >>> y, f_jvp = ct.linearize(ct.numpy.sin, 0.0)
    >>> float(f_jvp(2.0))
    2.0
    """
    leaves, _, captured, outputs, residuals, tangent = _linearized(fun, primals, "linearize", has_aux)
    out_count = captured.structure.num_leaves

    pushforward = _Pushforward(tangent, captured, _core.tree_flatten(tuple(primals), None)[1])
    f_jvp = Partial(pushforward, residuals, leaves, outputs)
    output = captured.structure.unflatten(outputs[:out_count])
    return (output, f_jvp, captured.aux.unflatten(outputs[out_count:])) if has_aux else (output, f_jvp)


@dataclass(eq=False)
class _Pushforward:
    """The function that `linearize` returns, but for its arrays."""

    tangent: Graph  # residuals, tangents of the inexact leaves -> tangents of the inexact outputs
    captured: Captured
    structure: PyTreeDef

    def __call__(self, residuals: list[Array], leaves: list[Array], outputs: list[Array], *tangents: Any) -> Any:
        """The tangent of the output."""
        directions = _tangent_leaves(self.structure.unflatten(leaves), tangents, leaves, "linearize")
        values = _core.apply_graph(self.tangent, residuals + [d for d in directions if d is not None])
        structure = self.captured.structure
        return structure.unflatten(_fill_tangents(values, outputs)[: structure.num_leaves])


def vjp(fun: Function, *primals: Any, has_aux: bool = False, reduce_axes: Sequence[Any] = ()) -> Any:
    """The value of ``fun`` and the function that pulls cotangents of its output back to its arguments.

    Returns:
        ``(output, vjp_fun)`` or, with ``has_aux``, ``(output, vjp_fun, aux)``; ``vjp_fun(cotangent)`` is a tuple with one
        cotangent an argument.

    >>> import cotangent as ct
    >>> y, pull = ct.vjp(lambda x, y: x * y, 2.0, 3.0)
    >>> [float(c) for c in pull(1.0)]
    [3.0, 2.0]
    """
    _check_reduce_axes(reduce_axes, "vjp")
    leaves, wrt, captured, outputs, residuals, tangent = _linearized(fun, primals, "vjp", has_aux)
    out_count = captured.structure.num_leaves
    output = captured.structure.unflatten(outputs[:out_count])
    models = [
        leaf if length or _core.ragged_axes(leaf) else None
        for leaf, length in zip(leaves, _is_length(tuple(primals)), strict=True)
    ]
    pullback = _Pullback(
        tangent,
        captured,
        wrt,
        [leaf._bound_shape for leaf in leaves],
        _core.tree_flatten(tuple(primals), None)[1],
        _is_length(tuple(primals)),
        function_name(fun),
    )
    vjp_fun = Partial(pullback, residuals, models)
    return (output, vjp_fun, captured.aux.unflatten(outputs[out_count:])) if has_aux else (output, vjp_fun)


@dataclass(eq=False)
class _Pullback:
    """The function that `vjp` returns, but for its arrays: residuals, and those arguments whose lengths derivatives have."""

    tangent: Graph  # residuals, tangents of what `wrt` marks -> tangents of the inexact outputs
    captured: Captured
    wrt: list[bool]  # by leaf of the arguments
    shapes: list[tuple[int, ...]]
    structure: PyTreeDef
    lengths: list[bool]
    name: str

    def __call__(self, residuals: list[Array], models: list[Any], cotangent: Any) -> Any:
        """One cotangent an argument."""
        where = f"vjp of {self.name}: the cotangent"
        given = _leaves_like(self.captured.structure, cotangent, where, "output")
        values: list[Array] = []
        for index, (shape, dtype, _) in enumerate(self.captured.graph.out_avals):
            if not is_inexact_dtype(dtype):
                continue
            if index >= len(given):  # of the aux output
                values.append(_core.full(shape, 0.0, dtype))
                continue
            array = _leaf(given[index], where)
            if array._bound_shape != shape:
                raise MismatchError(f"{where} has shape {array.shape}, the output {shape}")
            values.append(_of_dtype(array, dtype, where, "the output"))
        linear = [False] * len(residuals) + [True] * sum(self.wrt)
        pulled = iter(_core.apply_graph(_core.graph_transpose(self.tangent, linear), residuals + values))
        results: list[Any] = []
        for flag, shape, model, length in zip(self.wrt, self.shapes, models, self.lengths, strict=True):
            if length:
                results.append(model)
            elif flag:
                results.append(next(pulled) if model is None else as_ragged_as(next(pulled), model))
            else:
                results.append(_zero_of(shape) if model is None else _zero_gradient(model))
        return self.structure.unflatten(results)


def linear_transpose(fun: Function, *primals: Any) -> Function:
    """The transpose of a function that is linear in its arguments, whose shapes and dtypes ``primals`` give.

    Args:
        fun: a linear function of pytrees of floating or complex arrays. What it closes over is constant.
        primals: arrays or `ShapeDtypeStruct`; only their types matter.

    Returns:
        a function of a cotangent of the output to a tuple with one cotangent an argument.

    >>> import cotangent as ct
    >>> [float(c) for c in ct.linear_transpose(lambda x: 3.0 * x, 1.0)(2.0)]
    [6.0]
    """
    check_callable(fun, "linear_transpose")
    leaves, structure = flatten_arguments((tuple(primals), {}), function_name(fun), described=True)
    captured = capture(fun, leaves, structure, "jit", name=function_name(fun))
    argument_structure = _core.tree_flatten(tuple(primals), lambda x: isinstance(x, ShapeDtypeStruct))[1]
    linear = [True] * len(leaves) + [False] * len(captured.closure)
    graph = _core.graph_transpose(captured.graph, linear)

    return Partial(_Transposed(graph, captured, argument_structure, function_name(fun)), captured.closure)


@dataclass(eq=False)
class _Transposed:
    """The function that `linear_transpose` returns, but for its arrays: what the linear one closes over."""

    graph: Graph  # closure, cotangents of the outputs -> cotangents of the arguments
    captured: Captured
    structure: PyTreeDef
    name: str

    def __call__(self, closure: list[Array], cotangent: Any) -> Any:
        """One cotangent an argument."""
        what = f"linear_transpose of {self.name}: the cotangent"
        given = _leaves_like(self.captured.structure, cotangent, what, "output")
        values = []
        for value, (shape, dtype, _) in zip(given, self.captured.graph.out_avals, strict=True):
            array = _leaf(value, what)
            if array._bound_shape != shape:
                raise MismatchError(f"{what} has shape {array.shape}, the output {shape}")
            values.append(_of_dtype(array, dtype, what, "the output"))
        return self.structure.unflatten(_core.apply_graph(self.graph, closure + values))


def _flatten_axes(axes: Any, tree: Any, what: str, name: str) -> list[int | None]:
    """One axis a leaf of ``tree``, from a pytree prefix."""
    is_axis = lambda a: a is None or isinstance(a, (int, np.integer))  # noqa: E731
    axis_leaves, axis_structure = _core.tree_flatten(axes, is_axis)
    for axis in axis_leaves:
        if not is_axis(axis):  # type: ignore[no-untyped-call]
            raise TypeError(f"vmap of {name}: {what} must be made of ints and None; got {axis!r}")
    try:
        subtrees = axis_structure.flatten_up_to(tree)
    except ValueError as error:
        raise ValueError(
            f"vmap of {name}: {what}={axes!r} does not match the structure of the arguments\n  {error}"
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
) -> Callable[P, R]:
    """Maps a function of one example over a batch.

    Args:
        fun: the function of one example.
        in_axes: the axis of each argument that is the batch: an int (negative counts from the end) or None (the same for all examples),
            for all arguments or as a pytree prefix of the positional arguments. What has None may be any
            object, and Python numbers stay such.
        out_axes: where the batch axis goes in the outputs: an int, None (the output must not depend on the example) or a prefix.
        axis_name: a name for the batch axis, by which collectives (`lax.psum` and its like) in ``fun`` know it.
        axis_size: the size of the batch, needed only when nothing is batched.
        spmd_axis_name: accepted for compatibility; arrays are not spread over devices.

    Raises:
        ValueError: batch sizes differ, or an axis does not exist.

    >>> import cotangent as ct
    >>> ct.vmap(ct.numpy.dot)(ct.numpy.ones((5, 3)), ct.numpy.ones((5, 3))).shape
    (5,)
    """
    del spmd_axis_name
    check_callable(fun, "vmap")
    if isinstance(in_axes, list):
        in_axes = tuple(in_axes)
    if isinstance(in_axes, bool):
        raise TypeError(f"vmap: in_axes must be made of ints and None; got {in_axes!r}")
    name = function_name(fun)

    @wraps(fun)
    def vmap_fun(*args: Any, **kwargs: Any) -> Any:
        if isinstance(in_axes, tuple) and len(in_axes) != len(args):
            raise ValueError(
                f"vmap of {name}: in_axes has {len(in_axes)} entries, but there are {len(args)} positional arguments"
            )
        function = fun
        if in_axes != 0:

            def is_shared() -> list[bool]:
                shared = [axis is None for axis in _flatten_axes(in_axes, args, "in_axes", name)]
                return shared + [False] * _core.tree_flatten(kwargs)[1].num_leaves

            function, args, kwargs = hand_objects_through(fun, args, kwargs, is_shared)
        leaves, structure = flatten_arguments((args, kwargs), name)
        axes = _flatten_axes(in_axes, args, "in_axes", name) + [0] * (
            len(leaves) - _core.tree_flatten(args, None)[1].num_leaves
        )
        paths = structure.paths()
        sizes: dict[str, int] = {}
        batch_axes: list[int] = []
        for leaf, axis, path in zip(leaves, axes, paths, strict=True):
            if axis is None:
                batch_axes.append(-1)
                continue
            if not -leaf.ndim <= axis < leaf.ndim:
                raise ValueError(
                    f"vmap of {name}: argument {path[3:]} has shape {leaf.shape}, which has no axis {axis} to map over\n  pass in_axes=None for arguments that are the same for all examples"  # noqa: E501
                )
            batch_axes.append(int(axis) % leaf.ndim)
            sizes[path[3:]] = leaf._bound_shape[axis]
        if axis_size is not None:
            sizes.setdefault("axis_size", axis_size)
        if not sizes:
            raise ValueError(f"vmap of {name}: at least one argument must be mapped over, or axis_size given")
        size = next(iter(sizes.values()))
        if any(other != size for other in sizes.values()):
            listing = ", ".join(f"{path}: {value}" for path, value in sizes.items())
            raise ValueError(f"vmap of {name}: the mapped axes have different sizes ({listing})")
        examples = [leaf if axis < 0 else (leaf, axis) for leaf, axis in zip(leaves, batch_axes, strict=True)]
        named = None if axis_name is None else (axis_text(axis_name), size)
        mapped = [_core.length_of(leaf, axis) for leaf, axis in zip(leaves, batch_axes, strict=True) if axis >= 0]
        ragged = [length for length in mapped if length is not None]
        names = RAGGED_NAMES.get() - {named[0]} if named else RAGGED_NAMES.get()
        token = RAGGED_NAMES.set(names | {named[0]} if named and ragged else names)
        try:
            captured = _capture_examples(function, examples, structure, name, named)
        finally:
            RAGGED_NAMES.reset(token)
        placeholder = captured.structure.unflatten(list(range(captured.structure.num_leaves)))
        positions = []
        for axis, aval in zip(
            _flatten_axes(out_axes, placeholder, "out_axes", name), captured.graph.out_avals, strict=True
        ):
            rank = len(aval[0]) + 1
            if axis is not None and not -rank <= axis < rank:
                raise ValueError(
                    f"vmap of {name}: out_axes={axis} is out of bounds for a batched output with {rank} axes"
                )
            positions.append(-1 if axis is None else int(axis) % rank)
        graph = _core.graph_vmap(
            captured.graph, batch_axes + [-1] * len(captured.closure), size, positions, named[0] if named else ""
        )
        results = _core.apply_graph(graph, leaves + captured.closure)
        if ragged:
            # Also what is the same for all examples is there once for each.
            results = [
                give_lengths(x, {axis: ragged[0]}) if axis >= 0 and axis not in _core.ragged_axes(x) else x
                for x, axis in zip(results, positions, strict=True)
            ]
        return captured.structure.unflatten(results)

    return vmap_fun


def _capture_examples(
    fun: Function, examples: list[Any], structure: PyTreeDef, name: str, axis: tuple[str, int] | None
) -> Captured:
    out_structure: PyTreeDef | None = None
    pairs = [item if isinstance(item, tuple) else (item, -1) for item in examples]
    repeated = repeated_integers([leaf for leaf, _ in pairs], [number for _, number in pairs])

    def run(inputs: list[Array]) -> tuple[list[Any], None]:
        nonlocal out_structure
        if repeated:
            inputs = [inputs[repeated.get(index, index)] for index in range(len(inputs))]
        args, kwargs = structure.unflatten(inputs)
        out_leaves, out_structure = flatten_arguments(fun(*args, **kwargs), f"the output of {name}")
        return out_leaves, None

    graph, closure, _ = _core.capture(run, examples, [], "batch", name, axis=axis)
    assert out_structure is not None
    return Captured(graph, closure, out_structure)


def fwd_and_bwd(
    fun: Function, argnums: int | Sequence[int], has_aux: bool = False, jitted: bool = True
) -> tuple[Function, Function]:
    """Reverse mode as two functions, so that each is compiled once.

    Args:
        fun: any function of pytrees of arrays.
        argnums: the arguments to differentiate.
        has_aux: ``fun`` returns ``(output, aux)``.
        jitted: whether both functions are jitted.

    Returns:
        ``fwd(*args)`` gives ``(output, residuals)``, with ``has_aux`` ``(output, aux, residuals)``; ``bwd(residuals, cotangent)`` gives
        the cotangents of the arguments, a tuple when ``argnums`` is one. ``residuals`` is a pytree of arrays.

    >>> import cotangent as ct
    >>> fwd, bwd = ct.fwd_and_bwd(lambda x, y: x * y, argnums=(0, 1))
    >>> output, residuals = fwd(2.0, 3.0)
    >>> [float(c) for c in bwd(residuals, 1.0)]
    [3.0, 2.0]
    """
    check_callable(fun, "fwd_and_bwd")

    def fwd(*args: Any) -> Any:
        numbers = _normalize_argnums(argnums, len(args), "fwd_and_bwd")

        def of_some(*chosen: Any) -> Any:
            merged = list(args)
            for number, value in zip(numbers, chosen, strict=True):
                merged[number] = value
            return fun(*merged)

        chosen = [args[number] for number in numbers]
        output, residuals, *aux = vjp(of_some, *chosen, has_aux=has_aux)
        return (output, *aux, residuals)

    def bwd(residuals: Any, cotangent: Any) -> Any:
        pulled = residuals(cotangent)
        return pulled[0] if isinstance(argnums, (int, np.integer)) else pulled

    return (jit(fwd), jit(bwd)) if jitted else (fwd, bwd)


def device_put(x: Any, device: Any = None, *, src: Any = None, donate: Any = False, may_alias: Any = None) -> Any:
    """Arrays of a pytree's leaves; every array lives in host memory.

    Args:
        x: a pytree.
        device: a device or a sharding of one device, or a pytree of them. ``src``, ``donate``: of no effect.
        may_alias: False copies arrays, which are otherwise returned as they are.

    Raises:
        ValueError: it asks for several devices.
    """
    del src, donate
    check_placements(device, "device_put")
    leaves, structure = flatten_arguments(x, "device_put")
    return structure.unflatten([copy.copy(leaf) for leaf in leaves] if may_alias is False else leaves)


def device_get(x: Any) -> Any:
    """The leaves of a pytree as NumPy arrays; leaves that are no arrays are left as they are.

    >>> import cotangent as ct
    >>> ct.device_get({"a": ct.numpy.arange(3)})["a"]
    array([0, 1, 2], dtype=int32)
    """
    leaves, structure = _core.tree_flatten(x, None)
    return structure.unflatten([np.asarray(leaf) if isinstance(leaf, Array) else leaf for leaf in leaves])


def block_until_ready(x: Any) -> Any:
    """Returns ``x``: computation is synchronous."""
    return x


check_arguments(globals())
