"""Jacobians and Hessians: the linearized function, or its transpose, applied to a basis."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, ParamSpec

import numpy as np

from cotangent import _core
from cotangent._base import primitives
from cotangent._base.arguments import check_arguments
from cotangent._base.capture import (
    Captured,
    as_ragged_as,
    capture,
    check_callable,
    function_name,
    is_inexact_dtype,
    transformed,
)
from cotangent._base.device import put_beside
from cotangent._base.messages import missing_return, warn_user
from cotangent._base.misplaced import Positions, check_options, check_positions
from cotangent._core import Array, Graph
from cotangent._transforms.chunks import apply_in_chunks, checked_chunk_size
from cotangent._transforms.differentiation import (
    _differentiated,
    _is_length,
    _normalize_argnums,
    _of_arrays,
    _zero_of,
    lengths_in,
)
from cotangent._transforms.forward import jvp
from cotangent._transforms.reverse import grad
from cotangent.errors import DTypeError

Function = Callable[..., Any]
P = ParamSpec("P")


def _basis(leaves: Sequence[Any], total: int) -> list[Array]:
    """The standard basis of the concatenated leaves: for each leaf an array (total, *shape)."""
    result = []
    offset = 0
    for shape, dtype in leaves:
        size = math.prod(shape)
        if _core.capture_mode() is not None:  # programs compute it: as a constant it is as large as a Jacobian
            number = np.dtype("int32" if total < 2**31 else "int64")
            row, column = (primitives.iota(shape=[total, size], dtype=number, axis=axis) for axis in (0, 1))
            if offset:
                column = primitives.add(column, _core.full((total, size), offset, number))
            ones = _core.convert(primitives.eq(row, column), dtype)
            result.append(primitives.reshape(ones, shape=[total, *shape]))
            offset += size
            continue
        rows = np.zeros((total, size), dtype=dtype)
        rows[offset + np.arange(size), np.arange(size)] = 1
        result.append(_core.array(rows.reshape((total, *shape))))
        offset += size
    return result


def _jacobian(
    fun: Function,
    argnums: Positions,
    has_aux: bool,
    holomorphic: bool,
    allow_int: bool,
    chunk_size: int | None,
    forward: bool,
) -> Function:
    transform = "jacfwd" if forward else "jacrev"
    chunk = checked_chunk_size(chunk_size, transform, "vectors")
    check_callable(fun, transform)
    check_options(transform, fun, argnums)
    check_positions(transform, fun, "argnums", argnums)
    name = function_name(fun)

    @transformed(fun)
    def jacobian_fun(*args: Any, **kwargs: Any) -> Any:
        numbers = _normalize_argnums(argnums, len(args), transform)
        function, args, kwargs = _of_arrays(fun, args, kwargs, numbers)
        leaves, structure, wrt, layout = _differentiated(args, kwargs, numbers, fun, transform, allow_int)
        captured = capture(
            function,
            leaves,
            structure,
            "transform",
            name=name,
            concrete=True,
            has_aux=has_aux,
            differentiated=wrt,
        )
        out_count = captured.structure.num_leaves
        if hint := missing_return(captured.structure, name):
            warn_user(f"{transform} of {name}: {name} returned None, which has no derivatives{hint}")
        _check_exact_output(captured, f"{transform} of {name}")
        avals = captured.graph.out_avals
        differentiated = [leaf for leaf, flag in zip(leaves, wrt, strict=True) if flag]
        _check_dtypes(name, transform, avals[:out_count], differentiated, holomorphic)
        primal, tangent, count = _core.graph_linearize(captured.graph, wrt + [False] * len(captured.closure))
        results = _core.apply_graph(primal, leaves + captured.closure)
        outputs, residuals = results[: len(results) - count], results[len(results) - count :]
        sources = [(leaf._bound_shape, leaf.dtype) for leaf in differentiated]
        inexact_out = [aval for aval in avals if is_inexact_dtype(aval[1])]
        targets = [(aval[0], aval[1]) for aval in inexact_out]
        rows = sources if forward else [target for target, aval in zip(targets, avals[:out_count], strict=False)]
        total = sum(int(np.prod(shape, dtype=np.int64)) for shape, _ in rows)
        # The vectors are as ragged as what they stand for: which element is the last one depends on it.
        models = differentiated if forward else outputs[:out_count]
        vectors = [put_beside(each, differentiated) for each in _basis(rows, total)]
        basis = [as_ragged_as(each, model, 1) for each, model in zip(vectors, models, strict=True)]
        if forward:
            columns = _products(tangent, residuals, basis, total, len(inexact_out), chunk)[:out_count]
        else:
            pulled = _core.graph_transpose(tangent, [False] * len(residuals) + [True] * len(sources))
            extra = [_core.full((total, *aval[0]), 0.0, aval[1]) for aval in inexact_out[out_count:]]
            columns = _products(pulled, residuals, basis + extra, total, len(sources), chunk)
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
            given = iter(row)
            by_leaf = iter(
                [
                    next(given)
                    if flag
                    else _length_of_block(leaf, output)
                    if length
                    else _zero_of((*output._bound_shape, *leaf._bound_shape))
                    for leaf, flag, length in zip(leaves, wrt, layout.lengths, strict=False)
                ]
            )
            trees: dict[int, Any] = {}
            for number, arg in enumerate(args):
                tree = _core.tree_flatten(arg, None)[1]
                parts = [next(by_leaf) for _ in range(tree.num_leaves)]
                if number in numbers:
                    trees[number] = tree.unflatten(parts)
            per_output.append(
                trees[numbers[0]] if isinstance(argnums, (int, np.integer)) else tuple(trees[n] for n in numbers)
            )
        jacobian = captured.structure.unflatten(per_output)
        return (jacobian, captured.aux.unflatten(outputs[out_count:])) if has_aux else jacobian

    return jacobian_fun


def _products(
    linear: Graph, residuals: list[Array], vectors: list[Array], total: int, results: int, chunk: int | None
) -> list[Array]:
    """The results of a linear graph for ``total`` vectors, ``chunk`` of them at a time."""
    axes = [-1] * len(residuals) + [0] * len(vectors)
    if chunk is not None and chunk < total:
        return apply_in_chunks(linear, residuals + vectors, axes, [0] * results, total, chunk)
    return _core.apply_graph(_core.graph_vmap(linear, axes, total, [0] * results), residuals + vectors)


def _check_dtypes(
    name: str, transform: str, avals: Sequence[Any], differentiated: Sequence[Array], holomorphic: bool
) -> None:
    """Raises for outputs and arguments that the transform has no derivative of, unless it is told that they are holomorphic."""
    for index, aval in enumerate(avals):
        if not is_inexact_dtype(aval[1]):
            raise DTypeError(
                f"{transform} of {name}: output {index} has dtype {aval[1]}, which has no derivative\n"
                "  return it as the second of a pair and pass has_aux=True, or convert it to a floating dtype"
                "\n  see docs/errors.md#no-derivative-of-integers"
            )
        if transform == "jacrev" and not holomorphic and _core.dtype_kind(aval[1]) == "complex":
            raise DTypeError(
                f"jacrev of {name}: output {index} has dtype {aval[1]}\n  for holomorphic functions pass holomorphic=True; else"
                " use jacfwd, or differentiate real and imaginary parts"
            )
        if holomorphic and _core.dtype_kind(aval[1]) != "complex":
            raise DTypeError(
                f"{transform}(holomorphic=True) needs {name} to return complex arrays; it returned {aval[1]}\n"
                f"  for real functions leave holomorphic out, {transform}(f)"
            )
    complex_in = [leaf for leaf in differentiated if _core.dtype_kind(leaf.dtype) == "complex"]
    if holomorphic and len(complex_in) != len(differentiated):
        raise DTypeError(
            f"{transform}(holomorphic=True) of {name} needs complex arguments\n  convert them with .astype('complex64'), or leave"
            " holomorphic out"
        )
    if complex_in and transform == "jacfwd" and not holomorphic:
        raise DTypeError(
            f"jacfwd of {name}: complex arguments need holomorphic=True\n  jacrev takes them where outputs are real"
        )


def _check_exact_output(captured: Captured, what: str) -> None:
    if any(lengths_in(captured.structure)):
        raise TypeError(
            f"{what}: the output is a Ragged, and its Jacobian would have the lengths of output and argument\n"
            "  of a function f of exact arrays: ct.mask(ct.jacfwd(f))(ragged), or ct.vmap of it for a batch;\n"
            "  products with it are those of ct.jvp and ct.vjp"
        )


def _length_of_block(length: Array, output: Array) -> Array:
    """The length of an argument's axis in a block, of which the axes of the output are the first; a batch has it for each of them."""
    return _core.broadcast_to(length, (*output._bound_shape, *length._bound_shape)) if length.ndim else length


def _jacobian_blocks(columns: list[Array], rows: Sequence[Any], forward: bool) -> list[list[Array]]:
    """Cuts (total, *shape) stacks into blocks by the leaf that each run of basis vectors belongs to."""
    blocks: list[list[Array]] = []
    offset = 0
    for shape, _ in rows:
        size = int(np.prod(shape, dtype=np.int64))
        row = []
        for column in columns:
            rest = column._bound_shape[1:]
            part = primitives.slice(
                column,
                start=[offset] + [0] * len(rest),
                limit=[offset + size, *rest],
                stride=[1] * (len(rest) + 1),
            )
            if forward:
                permutation = [*range(1, len(rest) + 1), 0]
                part = primitives.transpose(part, permutation=permutation)
                part = _unstacked(part, len(rest), shape)
            else:
                part = _unstacked(part, 0, shape)
            row.append(part)
        blocks.append(row)
        offset += size
    return blocks


def _unstacked(x: Array, axis: int, shape: Sequence[int]) -> Array:
    """An exact axis cut in several."""
    others = x._bound_shape
    if any(others[ragged] == 1 for ragged in _core.ragged_axes(x)):
        # For a reshape one axis of size 1 is like another.
        places = np.arange(others[axis], dtype=np.int32).reshape(shape)
        return primitives.gather(x, _core.array(places), axis=axis, batch_dims=0)
    return primitives.reshape(x, shape=[*others[:axis], *shape, *others[axis + 1 :]])


def jacfwd(
    fun: Callable[P, Any],
    argnums: Positions = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    *,
    chunk_size: int | None = None,
) -> Callable[P, Any]:
    """Makes a function that returns the Jacobian, by forward mode.

    One pass for each element of the differentiated arguments, all of them as one batch: for functions with more outputs
    than inputs. The memory is that of the batch; ``chunk_size`` cuts it.

    Parameters
    ----------
    fun : callable
        A function of pytrees of arrays that returns a pytree of floating arrays (with ``has_aux``, a pair of it and any
        pytree).
    argnums : int or sequence of int, default 0
        The positional arguments to differentiate, each a pytree of floating arrays.
    has_aux : bool, default False
        Whether ``fun`` returns ``(output, aux)``; the result is then ``(jacobian, aux)``.
    holomorphic : bool, default False
        Inputs and outputs are complex, and ``fun`` is holomorphic.
    chunk_size : int, optional
        How many passes at a time; None for all of them. The Jacobian is the same.

    Returns
    -------
    callable
        A function of the arguments of ``fun`` that returns a tree of the structure of the output, whose leaves are
        trees of the structure of the differentiated argument (or tuples of these): blocks of shape ``output.shape +
        input.shape``.

    Raises
    ------
    DTypeError
        An output or an argument has a dtype without derivatives, or arguments are complex without ``holomorphic``.
    TypeError
        The output is a `Ragged`.
    ValueError
        ``chunk_size`` is not positive.

    Examples
    --------
    >>> ct.jacfwd(lambda x: x * x)(np.float32([1, 2])).tolist()
    [[2.0, 0.0], [0.0, 4.0]]
    >>> ct.jacfwd(lambda x, y: x * y, argnums=(0, 1))(2.0, 3.0)
    (Array(3., dtype=float32, weak_type=True), Array(2., dtype=float32, weak_type=True))
    """
    return _jacobian(fun, argnums, has_aux, holomorphic, False, chunk_size, forward=True)


def jacrev(
    fun: Callable[P, Any],
    argnums: Positions = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
    *,
    chunk_size: int | None = None,
) -> Callable[P, Any]:
    """Makes a function that returns the Jacobian, by reverse mode.

    One pass for each element of the output, all of them as one batch: for functions with more inputs than outputs.
    The memory is that of the batch; ``chunk_size`` cuts it. `jacobian` is another name of it.

    Parameters
    ----------
    fun : callable
        A function of pytrees of arrays that returns a pytree of floating arrays (with ``has_aux``, a pair of it and any
        pytree).
    argnums : int or sequence of int, default 0
        The positional arguments to differentiate, each a pytree of floating arrays.
    has_aux : bool, default False
        Whether ``fun`` returns ``(output, aux)``; the result is then ``(jacobian, aux)``.
    holomorphic : bool, default False
        Inputs and outputs are complex, and ``fun`` is holomorphic.
    allow_int : bool, default False
        The blocks of integer and bool arguments are float0 zeros, instead of an error.
    chunk_size : int, optional
        How many passes at a time; None for all of them. The Jacobian is the same.

    Returns
    -------
    callable
        A function of the arguments of ``fun`` that returns a tree of the structure of the output, whose leaves are
        trees of the structure of the differentiated argument (or tuples of these): blocks of shape ``output.shape +
        input.shape``.

    Raises
    ------
    DTypeError
        An output or an argument has a dtype without derivatives, or outputs are complex without ``holomorphic``.
    TypeError
        The output is a `Ragged`.
    ValueError
        ``chunk_size`` is not positive.

    Examples
    --------
    >>> ct.jacrev(lambda x: ct.numpy.stack([x.sum(), (x * x).sum()]))(np.float32([1, 2, 3])).tolist()
    [[1.0, 1.0, 1.0], [2.0, 4.0, 6.0]]
    """
    return _jacobian(fun, argnums, has_aux, holomorphic, allow_int, chunk_size, forward=False)


jacobian = jacrev


def hessian(
    fun: Callable[P, Any], argnums: Positions = 0, has_aux: bool = False, holomorphic: bool = False
) -> Callable[P, Any]:
    """Makes a function that returns the Hessian: forward mode over reverse mode.

    ``jacfwd(jacrev(fun))``: as many passes as the argument has elements. For products with it `hvp` needs one.

    Parameters
    ----------
    fun : callable
        A function of pytrees of arrays that returns a pytree of floating arrays (with ``has_aux``, a pair of it and any
        pytree).
    argnums : int or sequence of int, default 0
        The positional arguments to differentiate, each a pytree of floating arrays.
    has_aux : bool, default False
        Whether ``fun`` returns ``(output, aux)``; the result is then ``(hessian, aux)``.
    holomorphic : bool, default False
        Inputs and outputs are complex, and ``fun`` is holomorphic.

    Returns
    -------
    callable
        A function of the arguments of ``fun`` that returns a tree of the structure of the output, whose leaves are
        trees of trees of the structure of the differentiated argument (with tuples where ``argnums`` is a sequence):
        blocks of shape ``output.shape + input.shape + input.shape``.

    Raises
    ------
    TypeError
        It is taken with respect to a `Ragged`.
    DTypeError
        An output or an argument has a dtype without derivatives.

    Examples
    --------
    >>> ct.hessian(lambda x: x[0] ** 2 * x[1])(np.float32([3, 5])).tolist()
    [[10.0, 6.0], [6.0, 0.0]]
    """
    check_options("hessian", fun, argnums)
    check_positions("hessian", fun, "argnums", argnums)
    name = function_name(fun)
    twice = jacfwd(jacrev(fun, argnums, has_aux, holomorphic), argnums, has_aux, holomorphic)

    @transformed(fun)
    def hessian_fun(*args: Any, **kwargs: Any) -> Any:
        for number in _normalize_argnums(argnums, len(args), "hessian"):
            if any(_is_length((args[number],))):
                raise TypeError(
                    f"hessian of {name}: argument {number} has a Ragged, whose Hessian would have its lengths twice\n"
                    "  of a function f of exact arrays: ct.mask(ct.hessian(f))(ragged), or ct.vmap of it for a batch;\n"
                    "  products with it: ct.hvp(f, (ragged,), (tangent,))"
                )
        return twice(*args, **kwargs)

    return hessian_fun


def hvp(fun: Function, primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
    """Returns the product of the Hessian of a function with a vector, without the Hessian.

    The derivative of the gradient in a direction: forward mode over reverse mode, at a small multiple of the cost of a
    gradient.

    Parameters
    ----------
    fun : callable
        Returns a real floating scalar.
    primals : tuple or list
        The positional arguments: the point.
    tangents : tuple or list
        The vector: of the same structure, shapes and dtypes as ``primals``.

    Returns
    -------
    pytree of arrays
        Of the structure of ``primals[0]`` if there is one argument, else a tuple of as many as ``primals``.

    Raises
    ------
    MismatchError
        ``tangents`` has not the structure, shapes or dtypes of ``primals``.
    ShapeError
        The value of ``fun`` is not a scalar.

    References
    ----------
    B. A. Pearlmutter, "Fast exact multiplication by the Hessian", Neural Computation 6 (1), 1994.

    Examples
    --------
    >>> ct.hvp(lambda x: x[0] ** 2 * x[1], (np.float32([3, 5]),), (np.float32([1, 0]),)).tolist()
    [10.0, 6.0]
    """
    argnums = 0 if len(primals) == 1 else tuple(range(len(primals)))
    return jvp(grad(fun, argnums=argnums), primals, tangents)[1]


check_arguments(globals())
