"""Programs whose shapes depend on their values, where shapes are known: they are run inside of a mask, in which sizes are values.

``jit`` and ``vmap`` capture a function as ever. Where it asks for a shape that nobody knows yet, ``x[x > 0]`` say, they capture it again, as
the program of a `mask` of which no argument is ragged: what is of such a size comes back as a `Ragged`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from cotangent._base.capture import flatten_arguments, function_name, wraps
from cotangent._base.dimensions import OR_STATIC
from cotangent._core import Array
from cotangent._transforms.masking import mask
from cotangent.errors import DataDependentShapeError

# Of a program whose arguments can be numbers of Python.
STATIC = "an argument can be static, ct.jit(f, static_argnums=0) or static_argnames='n'; of what is computed "

T = TypeVar("T")
Function = Callable[..., Any]


def with_sizes(fun: Function) -> Function:
    """The function inside of a mask. `Ragged` arguments stay what they are: their leaves are arrays of exact size."""

    @wraps(fun)
    def sized_fun(*args: Any, **kwargs: Any) -> Any:
        leaves, structure = flatten_arguments((args, kwargs), function_name(fun))

        @wraps(fun)
        def of_leaves(*inputs: Array) -> Any:
            positional, named = structure.unflatten(list(inputs))
            return fun(*positional, **named)

        return mask(of_leaves)(*leaves)

    return sized_fun


def capture_sized(capture: Callable[[Function], T], fun: Function, or_static: str = "") -> T:
    """``capture(fun)``, or that of the function inside of a mask where it needs sizes that are values.

    ``or_static``: what to do about a size that nothing bounds, besides naming a bound, for messages.
    An error of the function inside of the mask is raised as it is, with a note on what asked for the mask.
    """
    try:
        return capture(fun)
    except DataDependentShapeError as error:
        what = str(error).partition("\n")[0]
    token = OR_STATIC.set(or_static)
    try:
        return capture(with_sizes(fun))
    except Exception as error:
        error.add_note(f"  sizes are values in this program, because {what}")
        raise
    finally:
        OR_STATIC.reset(token)
