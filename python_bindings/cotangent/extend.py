"""Additions to the library from Python: `primitive` (an operation with all its rules) and `transform` (a pass over graphs).

With `ct.Interpreter` they are what the built-in operations and transforms are made of, and they compose with those in any order.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from cotangent import _core
from cotangent._base.arguments import check_arguments, leaving_methods
from cotangent._base.attributes import USER_DEFINED, from_attribute, to_attribute
from cotangent._base.capture import capture, check_callable, flatten_arguments, function_name, transformed, wraps
from cotangent._base.names import suggest_names
from cotangent._core import Array, Graph
from cotangent._ops.broadcasting import broadcast_arrays

__all__ = ["Primitive", "primitive", "transform"]

Rule = Callable[..., Any]


@leaving_methods
class Primitive:
    """An operation defined by `primitive`. Calling it binds it: ``p(*arrays, **attributes)``.

    Parameters
    ----------
    name : str
        Its name in programs.
    multiple_results : bool
        Whether calls return a list.
    elementwise : bool, default False
        Whether operands are broadcast against each other.

    Examples
    --------
    >>> ct.primitive("twice", type=lambda x: x, expand=lambda x: x + x)
    <primitive twice>
    """

    def __init__(self, name: str, multiple_results: bool, elementwise: bool = False) -> None:
        self.name = name
        self.multiple_results = multiple_results
        self._elementwise = elementwise

    def __call__(self, /, *operands: Any, **attributes: Any) -> Any:
        """Binds the operation: computes it, or records it where a transform is capturing.

        Parameters
        ----------
        *operands : arrays
            As its rules take them.
        **attributes : object
            As its rules take them.

        Returns
        -------
        array or list of array
            A list with ``multiple_results``.

        Examples
        --------
        >>> twice = ct.primitive("twice", type=lambda x: x, expand=lambda x: x + x)
        >>> twice(np.float32([1, 2])).tolist()
        [2.0, 4.0]
        """
        if self._elementwise and len({_shape(operand) for operand in operands}) > 1:
            operands = tuple(broadcast_arrays(*operands))
        results = _core.bind(
            self.name, list(operands), **{key: to_attribute(value) for key, value in attributes.items()}
        )
        return results if self.multiple_results else results[0]

    def __repr__(self) -> str:
        return f"<primitive {self.name}>"


def primitive(
    name: str,
    *,
    type: Rule,  # noqa: A002
    reference: Rule | None = None,
    expand: Rule | None = None,
    jvp: Rule | None = None,
    transpose: Rule | None = None,
    batch: Rule | None = None,
    mask: Rule | None = None,
    multiple_results: bool = False,
    symbolic_zeros: bool = False,
    elementwise: bool = False,
    has_side_effects: bool = False,
) -> Primitive:
    """Defines an operation by its rules, each a Python function.

    One of ``reference`` and ``expand`` says what it computes. ``expand`` writes it with other operations, from which
    every rule that is not given follows, and which the compiler fuses like any others; ``reference`` computes it with
    NumPy, outside of compiled code (a library call, say). With both, compiled programs call ``reference``, and exported
    libraries hold what ``expand`` says.

    Attributes, the keyword arguments of a call, are numbers, text, dtypes, tuples, lists, dictionaries, NumPy arrays,
    or any hashable object; each rule gets them as keyword arguments, equal to what was given and of the same types.
    They are compared by value. Graphs with others than numbers, texts, dtypes and tuples of numbers of one kind cannot
    be saved. Rules of transforms are run on traced arrays, once for each use; what they compute must come from their
    arguments and from numbers.

    Parameters
    ----------
    name : str
        Letters, digits and underscores. A later definition of the same name takes its place for calls to come.
    type : callable
        ``type(*operands) -> result``, all things with shape and dtype (`ShapeDtypeStruct`).
    reference : callable, optional
        ``reference(*numpy_arrays) -> result``.
    expand : callable, optional
        ``expand(*arrays) -> result``.
    jvp : callable, optional
        ``jvp(primals, tangents) -> (result, tangent)``. A tangent of an integer is None; so is a zero tangent if
        ``symbolic_zeros``. The rule may return None for a zero. Reverse mode follows from it.
    transpose : callable, optional
        ``transpose(cotangent, *operands) -> cotangents``, one an operand or None, for operations that are linear in
        some operands: those are given as `ShapeDtypeStruct`.
    batch : callable, optional
        ``batch(operands, axes) -> (result, axis)``, where an axis is that of the batch, or None for values without one.
    mask : callable, optional
        ``mask(operands, lengths) -> (result, lengths)``, where lengths are a dict from each ragged axis to its length,
        an int32 scalar. Padding may hold anything.
    multiple_results : bool, default False
        Every "result" above, with its tangent, cotangent, axis and lengths, is a list.
    symbolic_zeros : bool, default False
        Whether ``jvp`` is given None for a tangent that is zero.
    elementwise : bool, default False
        Operands and results have one shape and positions do not mix; ``batch`` and ``mask`` follow. Operands of a call
        are broadcast against each other.
    has_side_effects : bool, default False
        It runs exactly once for each time that the program gets there, in the program's order.

    Returns
    -------
    Primitive
        Called with arrays and attributes, it binds the operation: under transforms it is captured, else computed.

    Raises
    ------
    ValueError
        The name is no identifier, or the library's own.

    Examples
    --------
    >>> cube = ct.primitive(
    ...     "cube",
    ...     type=lambda x: x,
    ...     reference=lambda x: x**3,
    ...     jvp=lambda xs, ts: (cube(xs[0]), 3.0 * xs[0] * xs[0] * ts[0]),
    ...     elementwise=True,
    ... )
    >>> ct.jit(ct.vmap(ct.grad(cube)))(np.float32([1, 2])).tolist()
    [3.0, 12.0]
    """
    if not (isinstance(name, str) and name.isidentifier() and name.isascii()):
        raise ValueError(
            f"primitive: the name must be an identifier; got {name!r}\n  use letters, digits and underscores: 'my_primitive'"
        )
    if reference is None and expand is None:
        raise ValueError(
            f"primitive {name}: give reference= or expand=, which say what it computes\n"
            "  reference= is a function of NumPy arrays, expand= one that is written with other operations: expand=lambda x: x * x"
        )
    rules = {
        "type": type,
        "reference": reference,
        "expand": expand,
        "jvp": jvp,
        "transpose": transpose,
        "batch": batch,
        "mask": mask,
    }
    for slot, rule in rules.items():
        if rule is not None:
            check_callable(rule, f"the {slot} rule of primitive {name}")
            rules[slot] = _with_attributes(rule)
    _core.define_primitive(name, rules, multiple_results, symbolic_zeros, has_side_effects, elementwise)
    USER_DEFINED.add(name)
    return Primitive(name, multiple_results, elementwise)


def _shape(operand: Any) -> tuple[Any, ...]:
    shape = getattr(operand, "shape", None)
    return tuple(np.shape(operand) if shape is None else shape)


def _with_attributes(rule: Rule) -> Rule:
    """The rule, given attributes as users wrote them."""

    @wraps(rule)
    def run(*args: Any, **attributes: Any) -> Any:
        return rule(*args, **{key: from_attribute(value) for key, value in attributes.items()})

    return run


def transform(graph_pass: Callable[[Graph], Graph]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Makes a transform of functions of a pass over graphs.

    Parameters
    ----------
    graph_pass : callable
        Takes a `ct.ir.Graph` and returns one with the same inputs and as many outputs, for example made by
        `ct.ir.rewrite`. It is run once for each different graph.

    Returns
    -------
    callable
        A function of functions, like `ct.grad`: the function is captured, its graph handed to the pass, and the result
        bound in its place, so it can be jitted, differentiated, batched, and transformed again.

    Examples
    --------
    >>> @ct.transform
    ... def without_sin(graph):
    ...     return ct.ir.rewrite(graph, lambda eqn, *xs: xs[0] if eqn.primitive == "sin" else None)
    >>> float(ct.grad(without_sin(lambda x: ct.numpy.sin(x) * x))(3.0))
    6.0
    """
    check_callable(graph_pass, "transform")
    pass_name = function_name(graph_pass)
    remembered = functools.lru_cache(maxsize=1024)(graph_pass)

    @wraps(graph_pass)
    def transform_of(fun: Callable[..., Any]) -> Callable[..., Any]:
        check_callable(fun, pass_name)

        @transformed(fun)
        def run(*args: Any, **kwargs: Any) -> Any:
            name = function_name(fun)
            leaves, structure = flatten_arguments((args, kwargs), name)
            captured = capture(fun, leaves, structure, "transform", name=name, concrete=True)
            graph = remembered(captured.graph)
            if not isinstance(graph, Graph):
                raise TypeError(
                    f"{pass_name} must return a graph; it returned {graph.__class__.__name__}\n"
                    "  return what ct.ir.rewrite(graph, visit) gives, or the graph itself where nothing changes"
                )
            _check_signature(captured.graph, graph, pass_name)
            results: list[Array] = _core.apply_graph(graph, leaves + captured.closure)
            return captured.structure.unflatten(results)

        return run

    return transform_of


def _check_signature(before: Graph, after: Graph, name: str) -> None:
    def types(avals: list[Any]) -> list[Any]:
        return [(tuple(shape), dtype) for shape, dtype, _ in avals]

    def texts(avals: list[Any]) -> str:
        return ", ".join(f"{dtype}{list(shape)}" for shape, dtype, _ in avals) or "none"

    if types(before.in_avals) != types(after.in_avals):
        raise TypeError(
            f"{name} must return a graph with the inputs of the one it was given, {texts(before.in_avals)}; it has"
            f" {texts(after.in_avals)}\n  rewrite equations and leave the inputs: ct.ir.rewrite(graph, visit)"
        )
    if len(before.out_avals) != len(after.out_avals):
        raise TypeError(
            f"{name} must return a graph with {len(before.out_avals)} outputs; it returned {len(after.out_avals)}\n"
            "  rewrite equations and leave the outputs: ct.ir.rewrite(graph, visit)"
        )


check_arguments(globals())
suggest_names(globals())
