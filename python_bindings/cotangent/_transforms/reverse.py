"""Reverse mode: grad, value_and_grad, vjp, and what they are made of."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from cotangent import _core
from cotangent._base.arguments import check_arguments, leaving_methods
from cotangent._base.capture import (
    Captured,
    ShapeDtypeStruct,
    as_ragged_as,
    capture,
    check_callable,
    flatten_arguments,
    function_name,
    is_inexact_dtype,
    transformed,
)
from cotangent._base.messages import missing_return, returned
from cotangent._base.misplaced import Positions, check_options, check_positions
from cotangent._core import Array, Graph, PyTreeDef
from cotangent._transforms.differentiation import (
    Function,
    P,
    R,
    _differentiated,
    _is_length,
    _leaf,
    _leaves_like,
    _normalize_argnums,
    _of_arrays,
    _of_dtype,
    _zero_gradient,
    _zero_of,
    check_own_lengths,
    lengths_in,
    unlike,
)
from cotangent._transforms.forward import _linearized
from cotangent._transforms.staging import jit
from cotangent.errors import DTypeError, ShapeError
from cotangent.tree_util import Partial


def _check_reduce_axes(reduce_axes: Sequence[Any], transform: str) -> None:
    if tuple(reduce_axes):
        raise ValueError(
            f"{transform}: reduce_axes={reduce_axes!r}, but gradients are not summed by it\n"
            "  sum the gradient over a named axis: ct.lax.psum(gradient, axis_name)"
        )


def value_and_grad(
    fun: Callable[P, R],
    argnums: Positions = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
    reduce_axes: Sequence[Any] = (),
) -> Callable[P, tuple[R, Any]]:
    """Makes a function that returns the value of a function and its gradient.

    Reverse mode: the gradient in all parameters for a small multiple of the cost of the value, whatever their number.
    It keeps intermediate results from the forward pass; `checkpoint` computes them again instead. The function is
    linearized, and the linear part transposed. Values may be looked at (``if x > 0``, ``print``) where no `jit`, `vmap`
    or `mask` stands around it.

    Nests in any order with `jit`, `vmap`, `mask` and itself. Of complex parameters of a real loss the gradient is the
    conjugate of the direction of steepest ascent, as in JAX. At kinks (``abs`` at 0, ``relu`` at 0) it is the
    derivative of one side or the mean of both, the same as that of `jvp`.

    Parameters
    ----------
    fun : callable
        Returns a real floating scalar (with ``has_aux``, a pair of it and any pytree).
    argnums : int or sequence of int, default 0
        The positional arguments to differentiate, one or several; each may be a pytree of floating arrays. The other
        arguments may also hold other objects, which ``fun`` gets as they are, as it gets Python numbers.
    has_aux : bool, default False
        Whether ``fun`` returns ``(value, aux)``; the result is then ``((value, aux), gradient)``.
    holomorphic : bool, default False
        Inputs and output are complex, and ``fun`` is holomorphic: the gradient is its complex derivative.
    allow_int : bool, default False
        Integer and bool leaves get zero gradients (float0) instead of an error.
    reduce_axes : sequence, default ()
        Accepted for compatibility: must be empty.

    Returns
    -------
    callable
        A function of the arguments of ``fun`` that returns ``(value, gradient)``, with ``has_aux`` ``((value, aux),
        gradient)``. The gradient has the structure, shapes and dtypes of the differentiated argument; it is a tuple of
        such if ``argnums`` is a sequence.

    Raises
    ------
    ShapeError
        The value is not a scalar.
    DTypeError
        The value or an argument has a dtype without derivatives.
    TypeError
        ``fun`` returns something else than one array, or ``argnums`` names an argument that there is not.
    NotDifferentiableError
        An operation on the way has no derivative, a `pure_callback` say.

    References
    ----------
    S. Linnainmaa, "Taylor expansion of the accumulated rounding error", BIT Numerical Mathematics 16, 1976.

    A. Radul, A. Paszke, R. Frostig, M. J. Johnson, D. Maclaurin, "You only linearize once: tangents transpose to
    gradients", Proceedings of the ACM on Programming Languages 7 (POPL), 2023.

    Examples
    --------
    >>> value, gradient = ct.value_and_grad(lambda x: x * x)(3.0)
    >>> float(value), float(gradient)
    (9.0, 6.0)
    >>> loss = lambda params, x: (params["w"] * x + params["b"]) ** 2
    >>> value, gradient = ct.value_and_grad(loss)({"w": 2.0, "b": 1.0}, 3.0)
    >>> float(value), float(gradient["w"]), float(gradient["b"])
    (49.0, 42.0, 14.0)
    """
    check_callable(fun, "value_and_grad")
    check_options("value_and_grad", fun, argnums)
    check_positions("value_and_grad", fun, "argnums", argnums)
    _check_reduce_axes(reduce_axes, "grad")
    name = function_name(fun)

    @transformed(fun)
    def value_and_grad_fun(*args: Any, **kwargs: Any) -> Any:
        numbers = _normalize_argnums(argnums, len(args), "grad")
        function, args, kwargs = _of_arrays(fun, args, kwargs, numbers)
        leaves, structure, wrt, layout = _differentiated(args, kwargs, numbers, fun, "grad", allow_int)
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
                f"grad needs {name} to return one scalar; it returned {returned(captured.structure)}"
                + (
                    missing_return(captured.structure, name)
                    or "\n  return the loss alone, or (loss, aux) with has_aux=True"
                )
            )
        avals = captured.graph.out_avals
        shape, dtype, _ = avals[0]
        if shape != ():
            raise ShapeError(
                f"grad needs {name} to return a scalar; it returned shape {shape}\n  reduce it, as by .mean() or .sum(); for a gradient of each example,"
                " ct.vmap(ct.grad(f)) of the function f of one; for all derivatives, ct.jacrev(f)"
                "\n  see docs/errors.md#scalar-needed"
            )
        if holomorphic:
            results = _holomorphic_gradient(captured, leaves, wrt, name)
        else:
            if _core.dtype_kind(dtype) != "float":
                advice = (
                    "for complex functions pass holomorphic=True, or differentiate a real part\n  see docs/errors.md#complex-loss"
                    if _core.dtype_kind(dtype) == "complex"
                    else "integers and bools are constant between jumps: return a float, choose with ct.numpy.where(x > 0, x, 0.0)"
                )
                raise DTypeError(f"grad needs {name} to return a real floating scalar; it returned {dtype}\n  {advice}")
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
            raise DTypeError(
                f"grad(holomorphic=True) of {name} needs complex arguments; got {leaf.dtype}\n"
                "  convert them with .astype('complex64'), or leave holomorphic out"
            )
    dtype = captured.graph.out_avals[0][1]
    if _core.dtype_kind(dtype) != "complex":
        raise DTypeError(
            f"grad(holomorphic=True) needs {name} to return a complex scalar; it returned {dtype}\n"
            "  leave holomorphic out where the function's value is real"
        )
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
    argnums: Positions = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
    reduce_axes: Sequence[Any] = (),
) -> Callable[P, Any]:
    """Makes a function that returns the gradient of a function.

    What `value_and_grad` returns, without the value: see there for what is computed, and how it nests.
    ``grad(grad(f))`` is the second derivative of a function of a scalar; `hessian` and `hvp` are for more.

    Parameters
    ----------
    fun : callable
        Returns a real floating scalar (with ``has_aux``, a pair of it and any pytree).
    argnums : int or sequence of int, default 0
        The positional arguments to differentiate, one or several; each may be a pytree of floating arrays.
    has_aux : bool, default False
        Whether ``fun`` returns ``(value, aux)``; the result is then ``(gradient, aux)``.
    holomorphic : bool, default False
        Inputs and output are complex, and ``fun`` is holomorphic: the gradient is its complex derivative.
    allow_int : bool, default False
        Integer and bool leaves get zero gradients (float0) instead of an error.
    reduce_axes : sequence, default ()
        Accepted for compatibility: must be empty.

    Returns
    -------
    callable
        A function of the arguments of ``fun`` that returns the gradient, with ``has_aux`` ``(gradient, aux)``: of the
        structure, shapes and dtypes of the differentiated argument, or a tuple of such if ``argnums`` is a sequence.

    Raises
    ------
    ShapeError
        The value is not a scalar.
    DTypeError
        The value or an argument has a dtype without derivatives.
    TypeError
        ``fun`` returns something else than one array, or ``argnums`` names an argument that there is not.
    NotDifferentiableError
        An operation on the way has no derivative, a `pure_callback` say.

    Examples
    --------
    >>> float(ct.grad(lambda x: x ** 3)(2.0))
    12.0
    >>> ct.grad(lambda w, x: (w * x).sum(), argnums=(0, 1))(np.float32([1, 2]), np.float32([3, 4]))
    (Array([3., 4.], dtype=float32), Array([1., 2.], dtype=float32))
    >>> ct.jit(ct.vmap(ct.grad(ct.grad(lambda x: x ** 3))))(np.float32([1, 2])).tolist()
    [6.0, 12.0]
    """
    check_callable(fun, "grad")
    check_options("grad", fun, argnums)
    check_positions("grad", fun, "argnums", argnums)
    both = value_and_grad(fun, argnums, has_aux, holomorphic, allow_int, reduce_axes)

    @transformed(fun)
    def grad_fun(*args: Any, **kwargs: Any) -> Any:
        value, gradient = both(*args, **kwargs)
        return (gradient, value[1]) if has_aux else gradient

    return grad_fun


def vjp(fun: Function, *primals: Any, has_aux: bool = False, reduce_axes: Sequence[Any] = ()) -> Any:
    """Returns the value of a function and the function that pulls a cotangent of the output back to the arguments.

    The product of a vector with the Jacobian, from the left: what `grad` does, for outputs of any structure. The
    forward pass is done once; ``vjp_fun`` may be called any number of times, mapped with `vmap`, and is a pytree that
    `jit` takes and returns.

    Parameters
    ----------
    fun : callable
        A function of pytrees of arrays.
    *primals : pytrees of arrays
        The positional arguments: the point.
    has_aux : bool, default False
        Whether ``fun`` returns ``(output, aux)``, where ``aux`` is not differentiated.
    reduce_axes : sequence, default ()
        Accepted for compatibility: must be empty.

    Returns
    -------
    tuple
        ``(output, vjp_fun)`` or, with ``has_aux``, ``(output, vjp_fun, aux)``; ``vjp_fun(cotangent)`` takes a cotangent
        of the structure, shapes and dtypes of ``output`` and returns a tuple with one cotangent for each of
        ``primals``, like it, float0 for integers and bools.

    Raises
    ------
    MismatchError
        ``vjp_fun`` is given a cotangent of another structure, shape or dtype than the output.
    NotDifferentiableError
        An operation on the way has no derivative.

    Examples
    --------
    >>> y, pull = ct.vjp(lambda x, y: x * y, 2.0, 3.0)
    >>> float(y), [float(c) for c in pull(1.0)]
    (6.0, [3.0, 2.0])
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
    is_length = lengths_in(captured.structure)
    out_lengths = [x if length else None for x, length in zip(outputs, is_length, strict=False)]
    vjp_fun = Partial(pullback, residuals, models, out_lengths)
    return (output, vjp_fun, captured.aux.unflatten(outputs[out_count:])) if has_aux else (output, vjp_fun)


@leaving_methods
class _Pullback:
    """The function that `vjp` returns, but for its arrays: residuals, the arguments whose lengths derivatives have, lengths of the output."""

    def __init__(
        self,
        tangent: Graph,
        captured: Captured,
        wrt: list[bool],
        shapes: list[tuple[int, ...]],
        structure: PyTreeDef,
        lengths: list[bool],
        name: str,
    ) -> None:
        self.tangent = tangent  # residuals, tangents of what `wrt` marks -> tangents of the inexact outputs
        self.captured = captured
        self.wrt = wrt  # by leaf of the arguments
        self.shapes = shapes
        self.structure = structure
        self.lengths = lengths
        self.name = name

    def has_rule_of_user(self) -> bool:
        """Whether a backward rule of `custom_vjp` is a part of it. Such a rule need not be linear, which all others are."""
        return _core.has_custom_vjp_rule(self.tangent)

    def __call__(self, residuals: list[Array], models: list[Any], out_lengths: list[Any], /, *cotangents: Any) -> Any:
        """One cotangent an argument, of the cotangent of the output."""
        if len(cotangents) != 1:
            raise TypeError(
                f"vjp of {self.name}: the pullback takes one cotangent, of the structure of the output; got {len(cotangents)}\n"
                "  write pullback(ct.numpy.ones_like(y)) for an output y, pullback((x, y)) for a pair"
            )
        (cotangent,) = cotangents
        where = f"vjp of {self.name}: the cotangent"
        given = _leaves_like(self.captured.structure, cotangent, where, "output")
        for own, value in zip(out_lengths, given, strict=True):
            if own is not None:
                check_own_lengths(own, value, where, "the output")
        values: list[Array] = []
        for index, (shape, dtype, _) in enumerate(self.captured.graph.out_avals):
            if not is_inexact_dtype(dtype):
                continue
            if index >= len(given):  # of the aux output
                values.append(_core.full(shape, 0.0, dtype))
                continue
            array = _leaf(given[index], where)
            if array._bound_shape != shape:
                raise unlike(where, array.shape, "the output", shape)
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
    """Returns the transpose of a function that is linear in its arguments.

    Where ``fun`` is ``x -> A x``, the result is ``y -> Aᵀ y``, without ``A`` ever being made. Complex arguments are not
    conjugated. Only types of the arguments are needed, and ``fun`` is not run.

    Parameters
    ----------
    fun : callable
        A linear function of pytrees of floating or complex arrays. What it closes over is constant.
    *primals : pytrees of arrays or ShapeDtypeStruct
        The arguments; only their shapes and dtypes matter.

    Returns
    -------
    callable
        A function of a cotangent, of the structure, shapes and dtypes of the output, that returns a tuple with one
        cotangent for each of ``primals``.

    Raises
    ------
    MismatchError
        The cotangent has not the structure, shape or dtype of the output.
    NotDifferentiableError
        ``fun`` is not linear: it uses an operation that has no transpose.

    Examples
    --------
    >>> [float(c) for c in ct.linear_transpose(lambda x: 3.0 * x, 1.0)(2.0)]
    [6.0]
    >>> a = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], np.float32)
    >>> (c,) = ct.linear_transpose(lambda x: a @ x, ct.ShapeDtypeStruct((3,), "float32"))(np.float32([1, 10]))
    >>> c.tolist()
    [41.0, 52.0, 63.0]
    """
    check_callable(fun, "linear_transpose")
    leaves, structure = flatten_arguments((tuple(primals), {}), function_name(fun), described=True)
    captured = capture(fun, leaves, structure, "jit", name=function_name(fun))
    argument_structure = _core.tree_flatten(tuple(primals), lambda x: isinstance(x, ShapeDtypeStruct))[1]
    linear = [True] * len(leaves) + [False] * len(captured.closure)
    graph = _core.graph_transpose(captured.graph, linear)

    return Partial(_Transposed(graph, captured, argument_structure, function_name(fun), leaves), captured.closure)


@leaving_methods
class _Transposed:
    """The function that `linear_transpose` returns, but for its arrays: what the linear one closes over."""

    def __init__(
        self, graph: Graph, captured: Captured, structure: PyTreeDef, name: str, arguments: Sequence[Any]
    ) -> None:
        self.graph = graph  # closure, cotangents of the outputs -> cotangents of the arguments
        self.ragged = [(i, x) for i, x in enumerate(arguments) if isinstance(x, Array) and _core.ragged_axes(x)]
        self.captured = captured
        self.structure = structure
        self.name = name

    def __call__(self, closure: list[Array], cotangent: Any) -> Any:
        """One cotangent an argument."""
        what = f"linear_transpose of {self.name}: the cotangent"
        given = _leaves_like(self.captured.structure, cotangent, what, "output")
        values = []
        for value, (shape, dtype, _) in zip(given, self.captured.graph.out_avals, strict=True):
            array = _leaf(value, what)
            if array._bound_shape != shape:
                raise unlike(what, array.shape, "the output", shape)
            values.append(_of_dtype(array, dtype, what, "the output"))
        found = _core.apply_graph(self.graph, closure + values)
        for i, argument in self.ragged:
            found[i] = as_ragged_as(found[i], argument)
        return self.structure.unflatten(found)


def fwd_and_bwd(
    fun: Function, argnums: Positions, has_aux: bool = False, jitted: bool = True
) -> tuple[Function, Function]:
    """Makes of a function its two passes of reverse mode, so that each is compiled once.

    `vjp` returns a function that holds the intermediate results; here these are a value, ``residuals``, that is handed
    from one compiled function to the other.

    Parameters
    ----------
    fun : callable
        Any function of pytrees of arrays.
    argnums : int or sequence of int
        The positional arguments to differentiate.
    has_aux : bool, default False
        Whether ``fun`` returns ``(output, aux)``, where ``aux`` is not differentiated.
    jitted : bool, default True
        Whether both functions are jitted.

    Returns
    -------
    tuple of two callables
        ``fwd(*args)`` gives ``(output, residuals)``, with ``has_aux`` ``(output, aux, residuals)``; ``bwd(residuals,
        cotangent)`` gives the cotangents of the differentiated arguments: a tuple if ``argnums`` is a sequence, else
        that of the one. ``residuals`` is a pytree of arrays.

    Raises
    ------
    TypeError
        ``fun`` cannot be called, or ``argnums`` names an argument that there is not.

    Examples
    --------
    >>> fwd, bwd = ct.fwd_and_bwd(lambda x, y: x * y, argnums=(0, 1))
    >>> output, residuals = fwd(2.0, 3.0)
    >>> [float(c) for c in bwd(residuals, 1.0)]
    [3.0, 2.0]
    """
    check_callable(fun, "fwd_and_bwd")
    check_positions("fwd_and_bwd", fun, "argnums", argnums)

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


check_arguments(globals())
