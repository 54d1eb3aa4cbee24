"""What program a function is, and what it returns, without running it: `make_ir`, `eval_shape`, `typeof`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
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
    wraps,
)
from cotangent._transforms.jit_arguments import numbers_of
from cotangent._transforms.sized import capture_sized
from cotangent._transforms.staging import captured_program, specs

Function = Callable[..., Any]


def make_ir(fun: Function, static_argnums: int | Sequence[int] = (), return_shape: bool = False) -> Callable[..., Any]:
    """A function of arguments (arrays or `ShapeDtypeStruct`) that returns the captured graph of ``fun``.

    Printing it shows every operation with shape, dtype, bytes and the user's line.

    Args:
        fun: a function of pytrees of arrays.
        static_argnums: positions of arguments that are plain Python values.
        return_shape: whether to return ``(graph, shapes)``, where the shapes are `ShapeDtypeStruct` in the structure of the output.

    >>> import cotangent as ct
    >>> print(ct.make_ir(lambda x: x * 2.0)(1.0).text())  # doctest: +ELLIPSIS
    graph (...
    """
    check_callable(fun, "make_ir")
    static = numbers_of(static_argnums, "static_argnums")

    @wraps(fun)
    def make_ir_fun(*args: Any, **kwargs: Any) -> Any:
        for number in static:
            if not -len(args) <= number < len(args):
                raise ValueError(
                    f"make_ir of {function_name(fun)}: static_argnums={static_argnums}, but there are {len(args)} arguments"
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
    """The shapes and dtypes of ``fun``'s outputs, as `ShapeDtypeStruct` leaves, without computing anything.

    >>> import cotangent as ct
    >>> ct.eval_shape(ct.numpy.outer, ct.ShapeDtypeStruct((2,), "float32"), ct.ShapeDtypeStruct((3,), "float32")).shape
    (2, 3)
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
    """The shape and dtype of an array, or of what becomes one, traced values included.

    >>> import cotangent as ct
    >>> ct.typeof(1.0)
    ShapeDtypeStruct(shape=(), dtype=float32, weak_type=True)
    """
    array = _core.array(x)
    return ShapeDtypeStruct(array._bound_shape, array.dtype, weak_type=array.weak_type)


check_arguments(globals())
