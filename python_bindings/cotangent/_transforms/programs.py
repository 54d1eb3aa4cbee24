"""What program a function is, and what it returns, without running it: `make_ir`, `eval_shape`, `typeof`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cotangent import _core
from cotangent._base.arguments import check_arguments
from cotangent._base.capture import (
    Captured,
    ShapeDtypeStruct,
    capture,
    check_callable,
    flatten_arguments,
    function_name,
    transformed,
)
from cotangent._base.misplaced import Positions, check_positions
from cotangent._transforms.jit_arguments import numbers_of
from cotangent._transforms.sized import capture_sized
from cotangent._transforms.stages import captured_program, specs

Function = Callable[..., Any]


def make_ir(fun: Function, static_argnums: Positions = (), return_shape: bool = False) -> Callable[..., Any]:
    """Makes a function that returns the captured program of a function, without running it.

    Printing the graph shows every operation with shape, dtype, bytes and the user's line. `make_jaxpr` is another name
    of it. `cotangent.ir` reads and rewrites graphs. Under ``jit`` and other transforms it captures what they would.

    Parameters
    ----------
    fun : callable
        A function of pytrees of arrays.
    static_argnums : int or sequence of int, default ()
        Positions of arguments that are plain Python values.
    return_shape : bool, default False
        Whether to return ``(graph, shapes)``, where the shapes are `ShapeDtypeStruct` in the structure of the output.

    Returns
    -------
    callable
        A function of the arguments of ``fun`` (arrays or `ShapeDtypeStruct`) that returns its `Graph`, or with
        ``return_shape`` ``(graph, shapes)``.

    Raises
    ------
    ValueError
        ``static_argnums`` names an argument that there is not.
    ConcretizationError
        ``fun`` asks for the value of an array.

    Examples
    --------
    >>> graph = ct.make_ir(lambda x: ct.numpy.sin(x) * 2.0)(ct.ShapeDtypeStruct((3,), "float32"))
    >>> graph
    graph (...
    >>> [equation.primitive for equation in ct.ir.equations(graph)]
    ['sin', 'full', 'mul']
    """
    check_callable(fun, "make_ir")
    check_positions("make_ir", fun, "static_argnums", static_argnums)
    static = numbers_of(static_argnums)

    @transformed(fun)
    def make_ir_fun(*args: Any, **kwargs: Any) -> Any:
        for number in static:
            if not -len(args) <= number < len(args):
                raise ValueError(
                    f"make_ir of {function_name(fun)}: static_argnums={static_argnums}, but there are {len(args)} arguments\n"
                    "  number the positional arguments from 0"
                )
        fixed = {number % len(args) for number in static}
        dynamic = tuple(arg for number, arg in enumerate(args) if number not in fixed)

        def run(*values: Any, **named: Any) -> Any:
            given = iter(values)
            return fun(*[args[i] if i in fixed else next(given) for i in range(len(args))], **named)

        leaves, structure = flatten_arguments((dynamic, kwargs), function_name(fun), described=True)
        captured = captured_program(run, leaves, structure, function_name(fun))
        if not return_shape:
            return captured.graph
        return captured.graph, specs(captured.structure, captured.graph.out_avals)

    return make_ir_fun


make_jaxpr = make_ir


def eval_shape(fun: Function, *args: Any, **kwargs: Any) -> Any:
    """Returns the shapes and dtypes of what a function would return, without computing anything.

    Parameters
    ----------
    fun : callable
        A function of pytrees of arrays.
    *args : pytrees of arrays or ShapeDtypeStruct
        The positional arguments; only their shapes and dtypes matter.
    **kwargs : pytrees of arrays or ShapeDtypeStruct
        The keyword arguments.

    Returns
    -------
    pytree of ShapeDtypeStruct
        Of the structure of the output. A size that only the data knows is its bound.

    Raises
    ------
    TypeError
        ``fun`` cannot be called, or a leaf is no array.
    ConcretizationError
        ``fun`` asks for the value of an array.

    Examples
    --------
    >>> x, y = ct.ShapeDtypeStruct((2,), "float32"), ct.ShapeDtypeStruct((3,), "float32")
    >>> ct.eval_shape(lambda x, y: {"outer": ct.numpy.outer(x, y)}, x, y)
    {'outer': ShapeDtypeStruct(shape=(2, 3), dtype=float32)}
    """
    check_callable(fun, "eval_shape")
    name = function_name(fun)
    leaves, structure = flatten_arguments((args, kwargs), name, described=True)
    found: list[Any] = []

    def captured(function: Function) -> Captured:
        def run(*args: Any, **kwargs: Any) -> tuple[()]:
            # An output may be a shape and dtype itself, and is what it says.
            shapes, made = _core.tree_flatten(function(*args, **kwargs))
            paths = made.paths()
            for i, leaf in enumerate(shapes):
                if not isinstance(leaf, ShapeDtypeStruct):
                    leaf = _core.leaf(leaf, f"the output of {name}{paths[i]}")
                    shapes[i] = ShapeDtypeStruct(leaf._bound_shape, leaf.dtype, weak_type=leaf.weak_type)
            found.append(made.unflatten(shapes))
            return ()

        return capture(run, leaves, structure, "jit", name=name)

    capture_sized(captured, fun)
    return found[0]


def typeof(x: Any) -> ShapeDtypeStruct:
    """Returns the shape and dtype of an array, or of what becomes one, traced values included.

    Parameters
    ----------
    x : array or number
        Anything that functions of arrays take.

    Returns
    -------
    ShapeDtypeStruct
        Its ``weak_type`` says whether the dtype yields to others, as that of a Python number does.

    Raises
    ------
    TypeError
        ``x`` cannot become an array.

    Examples
    --------
    >>> ct.typeof(1.0)
    ShapeDtypeStruct(shape=(), dtype=float32, weak_type=True)
    >>> ct.typeof(np.zeros((2, 3), np.int8))
    ShapeDtypeStruct(shape=(2, 3), dtype=int8)
    """
    array = _core.array(x)
    return ShapeDtypeStruct(array._bound_shape, array.dtype, weak_type=array.weak_type)


check_arguments(globals())
