"""The transforms: grad, value_and_grad, vjp, jvp, linearize, vmap, jacfwd, jacrev, hessian, jit, make_ir, eval_shape.

Each captures the user's function once into a graph, applies a graph-to-graph transform, and binds the result: recorded when an
enclosing transform is capturing, run when not.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any

import numpy as np

from cotangent import _core
from cotangent._capture import (
    Captured,
    ShapeDtypeStruct,
    as_ragged_as,
    axis_text,
    capture,
    check_callable,
    flatten_arguments,
    float0_zeros,
    function_name,
    is_inexact_dtype,
)
from cotangent._core import Array, Graph, PyTreeDef
from cotangent.errors import DTypeError, ShapeError

Function = Callable[..., Any]


def _normalize_argnums(argnums: int | Sequence[int], count: int, transform: str) -> tuple[int, ...]:
    numbers = (argnums,) if isinstance(argnums, (int, np.integer)) else tuple(argnums)
    result = []
    for number in numbers:
        if not -count <= number < count:
            raise ValueError(
                f"{transform}: argnums={argnums} needs at least {number + 1 if number >= 0 else -number} positional arguments; got {count}"
            )
        result.append(int(number) % count)
    return tuple(result)


def _differentiated(
    args: tuple[Any, ...], kwargs: dict[str, Any], argnums: tuple[int, ...], name: str, transform: str, allow_int: bool
) -> tuple[list[Array], PyTreeDef, list[bool]]:
    """The leaves of a call, and which of them derivatives are taken with respect to."""
    leaves, structure = flatten_arguments((args, kwargs), name)
    wrt: list[bool] = []
    for number, arg in enumerate(args):
        count = _core.tree_flatten(arg, None)[1].num_leaves
        wrt += [number in argnums] * count
    wrt += [False] * (len(leaves) - len(wrt))
    lengths = _is_length(args)
    for index, leaf in enumerate(leaves):
        if not wrt[index] or is_inexact_dtype(leaf.dtype):
            continue
        if lengths[index]:
            wrt[index] = False
            continue
        if not allow_int:
            path = structure.paths()[index]
            raise DTypeError(
                f"{transform} of {name}: argument {path[3:]} has dtype {leaf.dtype}, which has no derivative\n"
                "  convert it to a floating dtype, choose other argnums, or pass allow_int=True for zero gradients"
            )
        wrt[index] = False
    return leaves, structure, wrt


def _zero_gradient(leaf: Array) -> Any:
    """The gradient of an integer leaf: JAX's float0 zeros; bools while capturing, which outer transforms can carry."""
    if _core.is_capturing():
        return as_ragged_as(_core.full(leaf._bound_shape, False, "bool"), leaf)
    return float0_zeros(leaf._bound_shape)


def _is_length(args: tuple[Any, ...]) -> list[bool]:
    """For each leaf of positional arguments, whether it is a length inside a `Ragged`: those are carried, not differentiated."""
    from cotangent.ragged import Ragged

    flags: list[bool] = []
    for item in _core.tree_flatten(args, lambda value: isinstance(value, Ragged))[0]:
        flags += [False] + [True] * len(item._lengths) if isinstance(item, Ragged) else [False]
    return flags


def value_and_grad(
    fun: Function,
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
) -> Function:
    """A function that returns ``fun``'s value and its gradient.

    Args:
        fun: returns a real floating scalar (with ``has_aux``, a pair of it and any pytree).
        argnums: the positional arguments to differentiate, one or several; each may be a pytree of floating arrays.
        has_aux: whether ``fun`` returns ``(value, aux)``; the result is then ``((value, aux), gradient)``.
        holomorphic: inputs and output are complex, and ``fun`` is holomorphic.
        allow_int: integer and bool leaves get zero gradients (float0) instead of an error.

    Raises:
        ShapeError: the value is not a scalar. DTypeError: the value or an argument has no derivative.

    >>> import cotangent as ct
    >>> value, gradient = ct.value_and_grad(lambda x: x * x)(3.0)
    >>> float(value), float(gradient)
    (9.0, 6.0)
    """
    check_callable(fun, "value_and_grad")
    name = function_name(fun)

    @functools.wraps(fun)
    def value_and_grad_fun(*args: Any, **kwargs: Any) -> Any:
        numbers = _normalize_argnums(argnums, len(args), "grad")
        leaves, structure, wrt = _differentiated(args, kwargs, numbers, name, "grad", allow_int)
        captured = capture(fun, leaves, structure, "transform", name=name, concrete=True, has_aux=has_aux)
        if captured.structure.num_leaves != 1 or captured.structure.num_nodes != 1:
            raise TypeError(
                f"grad needs {name} to return one scalar; it returned {captured.structure}\n  return the loss alone, or (loss, aux) with has_aux=True"
            )
        shape, dtype, _ = captured.graph.out_avals[0]
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
        count = len(captured.graph.out_avals)
        gradients = iter(results[count:])
        lengths = _is_length(args) + [False] * len(leaves)
        by_leaf = iter(
            [
                as_ragged_as(next(gradients), leaf) if flag else leaf if lengths[index] else _zero_gradient(leaf)
                for index, (leaf, flag) in enumerate(zip(leaves, wrt, strict=True))
            ]
        )
        # Gradients in the structure of each differentiated argument.
        trees = []
        for number, arg in enumerate(args):
            tree = _core.tree_flatten(arg, None)[1]
            parts = [next(by_leaf) for _ in range(tree.num_leaves)]
            if number in numbers:
                trees.append((number, tree.unflatten(parts)))
        ordered = dict(trees)
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
    fun: Function,
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
) -> Function:
    """A function that returns the gradient of ``fun``; the arguments are those of `value_and_grad`.

    >>> import cotangent as ct
    >>> float(ct.grad(ct.numpy.sin)(0.0))
    1.0
    """
    check_callable(fun, "grad")
    both = value_and_grad(fun, argnums, has_aux, holomorphic, allow_int)

    @functools.wraps(fun)
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
        capture(fun, leaves, structure, "transform", name=name, concrete=concrete, has_aux=has_aux),
    )


def _tangent_leaves(
    primals: Sequence[Any], tangents: Sequence[Any], leaves: list[Array], transform: str
) -> list[Array | None]:
    """Tangents as arrays of the primals' types; None for leaves without derivatives."""
    if len(primals) != len(tangents):
        raise TypeError(f"{transform}: {len(primals)} primals but {len(tangents)} tangents")
    structure = _core.tree_flatten(tuple(primals), None)[1]
    given = structure.flatten_up_to(tuple(tangents))
    result: list[Array | None] = []
    for leaf, tangent in zip(leaves, given, strict=True):
        if not is_inexact_dtype(leaf.dtype):
            result.append(None)
            continue
        array = _core.array(tangent)
        if array._bound_shape != leaf._bound_shape:
            raise ShapeError(f"{transform}: a tangent has shape {array.shape}, its primal {leaf.shape}")
        if array.dtype != leaf.dtype:
            if not (array.weak_type or array.dtype == leaf.dtype):
                raise DTypeError(
                    f"{transform}: a tangent has dtype {array.dtype}, its primal {leaf.dtype}\n  convert it with .astype({leaf.dtype})"
                )
            array = _core.convert(array, leaf.dtype)
        result.append(array)
    return result


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

    def f_jvp(*tangents: Any) -> Any:
        directions = _tangent_leaves(primals, tangents, leaves, "linearize")
        values = _core.apply_graph(tangent, residuals + [d for d in directions if d is not None])
        return captured.structure.unflatten(_fill_tangents(values, outputs)[:out_count])

    output = captured.structure.unflatten(outputs[:out_count])
    return (output, f_jvp, captured.aux.unflatten(outputs[out_count:])) if has_aux else (output, f_jvp)


def vjp(fun: Function, *primals: Any, has_aux: bool = False) -> Any:
    """The value of ``fun`` and the function that pulls cotangents of its output back to its arguments.

    Returns:
        ``(output, vjp_fun)`` or, with ``has_aux``, ``(output, vjp_fun, aux)``; ``vjp_fun(cotangent)`` is a tuple with one
        cotangent an argument.

    >>> import cotangent as ct
    >>> y, pull = ct.vjp(lambda x, y: x * y, 2.0, 3.0)
    >>> [float(c) for c in pull(1.0)]
    [3.0, 2.0]
    """
    leaves, wrt, captured, outputs, residuals, tangent = _linearized(fun, primals, "vjp", has_aux)
    out_count = captured.structure.num_leaves
    avals = captured.graph.out_avals
    structure = _core.tree_flatten(tuple(primals), None)[1]
    name = function_name(fun)

    def vjp_fun(cotangent: Any) -> Any:
        given = captured.structure.flatten_up_to(cotangent)
        values: list[Array] = []
        for index, aval in enumerate(avals):
            if not is_inexact_dtype(aval[1]):
                continue
            if index >= out_count:
                values.append(_core.full(aval[0], 0.0, aval[1]))
                continue
            array = _core.array(given[index])
            if array._bound_shape != aval[0]:
                raise ShapeError(f"vjp of {name}: the cotangent has shape {array.shape}, the output {aval[0]}")
            if array.dtype != aval[1]:
                if not array.weak_type:
                    raise DTypeError(f"vjp of {name}: the cotangent has dtype {array.dtype}, the output {aval[1]}")
                array = _core.convert(array, aval[1])
            values.append(array)
        linear = [False] * len(residuals) + [True] * sum(wrt)
        pulled = iter(_core.apply_graph(_core.graph_transpose(tangent, linear), residuals + values))
        lengths = _is_length(tuple(primals))
        return structure.unflatten(
            [
                as_ragged_as(next(pulled), leaf) if flag else leaf if lengths[index] else _zero_gradient(leaf)
                for index, (leaf, flag) in enumerate(zip(leaves, wrt, strict=True))
            ]
        )

    output = captured.structure.unflatten(outputs[:out_count])
    return (output, vjp_fun, captured.aux.unflatten(outputs[out_count:])) if has_aux else (output, vjp_fun)


def linear_transpose(fun: Function, *primals: Any) -> Function:
    """The transpose of a function that is linear in its arguments, whose shapes and dtypes ``primals`` give."""
    leaves, structure = flatten_arguments((tuple(primals), {}), function_name(fun))
    captured = capture(fun, leaves, structure, "jit", name=function_name(fun))
    argument_structure = _core.tree_flatten(tuple(primals), lambda x: isinstance(x, ShapeDtypeStruct))[1]
    linear = [True] * len(leaves) + [False] * len(captured.closure)
    graph = _core.graph_transpose(captured.graph, linear)

    def transposed(cotangent: Any) -> Any:
        values = [_core.array(value) for value in captured.structure.flatten_up_to(cotangent)]
        return argument_structure.unflatten(_core.apply_graph(graph, captured.closure + values))

    return transposed


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
    fun: Function,
    in_axes: Any = 0,
    out_axes: Any = 0,
    axis_name: Hashable | None = None,
    axis_size: int | None = None,
    spmd_axis_name: Any = None,
) -> Function:
    """Maps a function of one example over a batch.

    Args:
        fun: the function of one example.
        in_axes: the axis of each argument that is the batch: an int (negative counts from the end) or None (the same for all examples),
            for all arguments or as a pytree prefix of the positional arguments.
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
    name = function_name(fun)

    @functools.wraps(fun)
    def vmap_fun(*args: Any, **kwargs: Any) -> Any:
        if isinstance(in_axes, tuple) and len(in_axes) != len(args):
            raise ValueError(
                f"vmap of {name}: in_axes has {len(in_axes)} entries, but there are {len(args)} positional arguments"
            )
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
        captured = _capture_examples(fun, examples, structure, name, named)
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
        return captured.structure.unflatten(_core.apply_graph(graph, leaves + captured.closure))

    return vmap_fun


def _capture_examples(
    fun: Function, examples: list[Any], structure: PyTreeDef, name: str, axis: tuple[str, int] | None
) -> Captured:
    out_structure: PyTreeDef | None = None

    def run(inputs: list[Array]) -> tuple[list[Any], None]:
        nonlocal out_structure
        args, kwargs = structure.unflatten(inputs)
        out_leaves, out_structure = flatten_arguments(fun(*args, **kwargs), f"the output of {name}")
        return out_leaves, None

    graph, closure, _ = _core.capture(run, examples, [], "batch", name, axis=axis)
    assert out_structure is not None
    return Captured(graph, closure, out_structure)


def _basis(leaves: Sequence[Any], total: int) -> list[Array]:
    """The standard basis of the concatenated leaves: for each leaf an array (total, *shape)."""
    result = []
    offset = 0
    for shape, dtype in leaves:
        size = int(np.prod(shape, dtype=np.int64))
        rows = np.zeros((total, size), dtype=dtype)
        rows[offset + np.arange(size), np.arange(size)] = 1
        result.append(_core.array(rows.reshape((total, *shape))))
        offset += size
    return result


def _jacobian(fun: Function, argnums: int | Sequence[int], has_aux: bool, holomorphic: bool, forward: bool) -> Function:
    transform = "jacfwd" if forward else "jacrev"
    check_callable(fun, transform)
    name = function_name(fun)

    @functools.wraps(fun)
    def jacobian_fun(*args: Any, **kwargs: Any) -> Any:
        numbers = _normalize_argnums(argnums, len(args), transform)
        leaves, structure, wrt = _differentiated(args, kwargs, numbers, name, transform, False)
        captured = capture(fun, leaves, structure, "transform", name=name, concrete=True, has_aux=has_aux)
        out_count = captured.structure.num_leaves
        avals = captured.graph.out_avals
        for index, aval in enumerate(avals[:out_count]):
            if not is_inexact_dtype(aval[1]):
                raise DTypeError(f"{transform} of {name}: output {index} has dtype {aval[1]}, which has no derivative")
        complex_in = [
            leaf for leaf, flag in zip(leaves, wrt, strict=True) if flag and _core.dtype_kind(leaf.dtype) == "complex"
        ]
        if complex_in and not holomorphic:
            raise DTypeError(f"{transform} of {name}: complex arguments need holomorphic=True")
        primal, tangent, count = _core.graph_linearize(captured.graph, wrt + [False] * len(captured.closure))
        results = _core.apply_graph(primal, leaves + captured.closure)
        outputs, residuals = results[: len(results) - count], results[len(results) - count :]
        differentiated = [leaf for leaf, flag in zip(leaves, wrt, strict=True) if flag]
        sources = [(leaf._bound_shape, leaf.dtype) for leaf in differentiated]
        inexact_out = [aval for aval in avals if is_inexact_dtype(aval[1])]
        targets = [(aval[0], aval[1]) for aval in inexact_out]
        rows = sources if forward else [target for target, aval in zip(targets, avals[:out_count], strict=False)]
        total = sum(int(np.prod(shape, dtype=np.int64)) for shape, _ in rows)
        basis = _basis(rows, total)
        if forward:
            graph = _core.graph_vmap(tangent, [-1] * len(residuals) + [0] * len(basis), total, [0] * len(inexact_out))
            columns = _core.apply_graph(graph, residuals + basis)[:out_count]
        else:
            pulled = _core.graph_transpose(tangent, [False] * len(residuals) + [True] * len(sources))
            extra = [_core.full((total, *aval[0]), 0.0, aval[1]) for aval in inexact_out[out_count:]]
            graph = _core.graph_vmap(pulled, [-1] * len(residuals) + [0] * len(inexact_out), total, [0] * len(sources))
            columns = _core.apply_graph(graph, residuals + basis + extra)
        # blocks[o][i] has shape out.shape + in.shape.
        blocks = _jacobian_blocks(columns, rows, forward)
        per_output = []
        for out_index in range(out_count):
            output = outputs[out_index]
            row = [
                as_ragged_as(
                    as_ragged_as(blocks[i][out_index] if forward else blocks[out_index][i], output), leaf, output.ndim
                )
                for i, leaf in enumerate(differentiated)
            ]
            by_leaf = iter(row)
            trees: dict[int, Any] = {}
            for number, arg in enumerate(args):
                tree = _core.tree_flatten(arg, None)[1]
                if number in numbers:
                    trees[number] = tree.unflatten([next(by_leaf) for _ in range(tree.num_leaves)])
            per_output.append(
                trees[numbers[0]] if isinstance(argnums, (int, np.integer)) else tuple(trees[n] for n in numbers)
            )
        jacobian = captured.structure.unflatten(per_output)
        return (jacobian, captured.aux.unflatten(outputs[out_count:])) if has_aux else jacobian

    return jacobian_fun


def _jacobian_blocks(columns: list[Array], rows: Sequence[Any], forward: bool) -> list[list[Array]]:
    """Cuts (total, *shape) stacks into blocks by the leaf that each run of basis vectors belongs to."""
    blocks: list[list[Array]] = []
    offset = 0
    for shape, _ in rows:
        size = int(np.prod(shape, dtype=np.int64))
        row = []
        for column in columns:
            rest = column._bound_shape[1:]
            part = _core.bind(
                "slice",
                [column],
                start=[offset] + [0] * len(rest),
                limit=[offset + size, *rest],
                stride=[1] * (len(rest) + 1),
            )[0]
            if forward:
                permutation = [*range(1, len(rest) + 1), 0]
                part = _core.bind("transpose", [part], permutation=permutation)[0]
                part = _core.bind("reshape", [part], shape=[*rest, *shape])[0]
            else:
                part = _core.bind("reshape", [part], shape=[*shape, *rest])[0]
            row.append(part)
        blocks.append(row)
        offset += size
    return blocks


def jacfwd(
    fun: Function, argnums: int | Sequence[int] = 0, has_aux: bool = False, holomorphic: bool = False
) -> Function:
    """The Jacobian by forward mode: one pass for each input element. Blocks have shape ``output.shape + input.shape``.

    >>> import cotangent as ct
    >>> ct.jacfwd(lambda x: x * x)(ct.numpy.array([1.0, 2.0])).tolist()
    [[2.0, 0.0], [0.0, 4.0]]
    """
    return _jacobian(fun, argnums, has_aux, holomorphic, forward=True)


def jacrev(
    fun: Function, argnums: int | Sequence[int] = 0, has_aux: bool = False, holomorphic: bool = False
) -> Function:
    """The Jacobian by reverse mode: one pass for each output element. Blocks have shape ``output.shape + input.shape``."""
    return _jacobian(fun, argnums, has_aux, holomorphic, forward=False)


def hessian(
    fun: Function, argnums: int | Sequence[int] = 0, has_aux: bool = False, holomorphic: bool = False
) -> Function:
    """The Hessian: forward mode over reverse mode. Blocks have shape ``output.shape + input.shape + input.shape``."""
    return jacfwd(jacrev(fun, argnums, has_aux, holomorphic), argnums, has_aux, holomorphic)


def hvp(fun: Function, primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
    """The product of ``fun``'s Hessian at ``primals`` with ``tangents``: the derivative of the gradient in a direction."""
    argnums = 0 if len(primals) == 1 else tuple(range(len(primals)))
    return jvp(grad(fun, argnums=argnums), primals, tangents)[1]


def _trace_jit(
    fun: Function,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    sources: list[Any],
    static_args: list[tuple[int, Any]],
    static_kwargs: dict[str, Any],
) -> tuple[Graph, list[Array], Any]:
    """What the jitted callable calls for a new signature."""
    _, structure = _core.tree_flatten((args, kwargs), None)
    name = function_name(fun)
    out_structure: PyTreeDef | None = None

    def run(inputs: list[Array]) -> tuple[list[Any], None]:
        nonlocal out_structure
        dynamic, keywords = structure.unflatten(inputs)
        positional = list(dynamic)
        for position, value in static_args:
            positional[position] = value
        result = fun(*positional, **{**keywords, **static_kwargs})
        out_leaves, out_structure = flatten_arguments(result, f"the output of {name}")
        return out_leaves, None

    from cotangent._capture import structure_names

    graph, closure, _ = _core.capture(run, sources, structure_names(structure), "jit", name)
    assert out_structure is not None
    return graph, closure, out_structure.unflatten([0] * out_structure.num_leaves)


def _as_tuple(value: Any) -> tuple[Any, ...]:
    if value is None:
        return ()
    return (value,) if isinstance(value, (int, str, np.integer)) else tuple(value)


def jit(
    fun: Function | None = None,
    *,
    static_argnums: int | Sequence[int] | None = None,
    static_argnames: str | Iterable[str] | None = None,
    donate_argnums: int | Sequence[int] | None = None,
    inline: bool = False,
    keep_unused: bool = False,
    backend: str = "llvm",
) -> Any:
    """Compiles a function, once for every combination of argument structure, shapes, dtypes and static arguments.

    Args:
        fun: a pure function of pytrees of arrays; without it a decorator is returned.
        static_argnums: positions of arguments that are Python values, not arrays: part of the key, and hashable.
        static_argnames: the same by name.
        donate_argnums: positions of arguments whose memory results may be written to. An array that was written over cannot be used
            again: that is a ``ValueError``. One that shares its memory, with a NumPy view say, is left alone.
        backend: ``"llvm"`` or ``"interpreter"``.

    >>> import cotangent as ct
    >>> float(ct.jit(lambda x: x + 1)(2.0))
    3.0
    """
    del inline, keep_unused  # calls are always inlined before compiling; unused arguments cost nothing
    if fun is None:
        return functools.partial(
            jit,
            static_argnums=static_argnums,
            static_argnames=static_argnames,
            donate_argnums=donate_argnums,
            backend=backend,
        )
    check_callable(fun, "jit")
    positions = [int(number) for number in _as_tuple(static_argnums)]
    names = [str(name) for name in _as_tuple(static_argnames)]
    try:
        parameters = list(inspect.signature(fun).parameters.values())
    except (ValueError, TypeError):
        parameters = []
    positional = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    for position in list(positions):
        if -len(positional) <= position < len(positional):
            names.append(positional[position])
        elif parameters and not any(p.kind == p.VAR_POSITIONAL for p in parameters):
            raise ValueError(
                f"jit of {function_name(fun)}: static_argnums={static_argnums} but the function takes {len(positional)} positional arguments"
            )
    for name in list(names):
        if name in positional:
            positions.append(positional.index(name))
        elif (
            parameters
            and name not in {p.name for p in parameters}
            and not any(p.kind == p.VAR_KEYWORD for p in parameters)
        ):
            raise ValueError(
                f"jit of {function_name(fun)}: static_argnames names {name!r}, which is no argument of the function"
            )
    donated = [int(number) for number in _as_tuple(donate_argnums)]
    for position in donated:
        if position in positions or position + len(positional) in positions:
            raise ValueError(f"jit of {function_name(fun)}: argument {position} is both static and donated")
        takes_any = not parameters or any(p.kind == p.VAR_POSITIONAL for p in parameters)
        if not takes_any and not -len(positional) <= position < len(positional):
            raise ValueError(
                f"jit of {function_name(fun)}: donate_argnums={donate_argnums} but the function takes {len(positional)} positional arguments"
            )
    jitted = _core.make_jit(
        fun,
        _trace_jit,
        sorted(set(positions)),
        sorted(set(names)),
        donated,
        function_name(fun),
        backend,
    )
    functools.update_wrapper(jitted, fun)
    return jitted


def make_ir(fun: Function) -> Callable[..., Graph]:
    """A function of arguments (arrays or `ShapeDtypeStruct`) that returns the captured graph of ``fun``.

    Printing it shows every operation with shape, dtype, bytes and the user's line.

    >>> import cotangent as ct
    >>> print(ct.make_ir(lambda x: x * 2.0)(1.0).text())  # doctest: +ELLIPSIS
    graph (...
    """
    check_callable(fun, "make_ir")

    @functools.wraps(fun)
    def make_ir_fun(*args: Any, **kwargs: Any) -> Graph:
        leaves, structure = flatten_arguments((args, kwargs), function_name(fun))
        return capture(fun, leaves, structure, "jit", name=function_name(fun)).graph

    return make_ir_fun


def eval_shape(fun: Function, *args: Any, **kwargs: Any) -> Any:
    """The shapes and dtypes of ``fun``'s outputs, as `ShapeDtypeStruct` leaves, without computing anything."""
    leaves, structure = flatten_arguments((args, kwargs), function_name(fun))
    captured = capture(fun, leaves, structure, "jit", name=function_name(fun))
    return captured.structure.unflatten(
        [ShapeDtypeStruct(shape, dtype) for shape, dtype, _ in captured.graph.out_avals]
    )


def device_put(x: Any, device: Any = None) -> Any:
    """Arrays of a pytree's leaves; every array lives in host memory."""
    del device
    leaves, structure = flatten_arguments(x, "device_put")
    return structure.unflatten(leaves)


def block_until_ready(x: Any) -> Any:
    """Returns ``x``: computation is synchronous."""
    return x
