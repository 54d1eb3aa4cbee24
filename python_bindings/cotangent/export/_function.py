"""A function ready to be put into a library: its program, and what its arguments and results are called."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from cotangent import _core
from cotangent._base.arguments import check_arguments, suggestion
from cotangent._base.capture import capture, check_callable, flatten_arguments, function_name
from cotangent._core import Array, Graph, PyTreeDef
from cotangent._transforms.sized import STATIC, capture_sized
from cotangent._transforms.staging import without_static
from cotangent.export._layout import children_by_name, key_text, unique

__all__ = ["Function", "function"]


@dataclass(frozen=True)
class Part:
    """An argument or a result: its name, its structure, and which leaves of all it has."""

    name: str
    tree: PyTreeDef
    first: int
    count: int

    @property
    def leaves(self) -> range:
        return range(self.first, self.first + self.count)


@dataclass(frozen=True)
class Function:
    """A captured function for `library`; what `function` makes.

    Its members are for the compiler of libraries.

    Attributes
    ----------
    name : str
        Of the function.
    graph : Graph
        The program.
    constants : list of array
        What it closes over.
    in_tree, out_tree : PyTreeDef
        The structures of ``(args, kwargs)`` and of the result.
    arguments, results : tuple
        The parameters of the C function: name, structure and leaves of each.
    in_place : frozenset of str
        Names of arguments whose place results of the same name take.
    order : tuple of str
        The arguments, as the function declares them.
    in_avals, out_avals : list of tuple
        Shapes and dtypes of the leaves of arguments and results.
    pairs : list of int
        For each leaf of the result: which leaf of the arguments it takes the place of, or -1.

    Examples
    --------
    >>> made = ct.export.function(lambda x: x * 2, ct.ShapeDtypeStruct((3,), "float32"))
    >>> made.in_avals == made.out_avals
    True
    """

    name: str
    graph: Graph
    constants: list[Array] = field(repr=False)
    in_tree: PyTreeDef  # of (args, kwargs)
    out_tree: PyTreeDef
    arguments: tuple[Part, ...]
    results: tuple[Part, ...]
    in_place: frozenset[str]  # names of arguments whose place results of the same name take
    order: tuple[str, ...]  # of the arguments, as the function declares them

    @property
    def in_avals(self) -> list[tuple[tuple[int, ...], Any]]:
        """Shapes and dtypes of the leaves of the arguments."""
        return [(shape, dtype) for shape, dtype, _ in self.graph.in_avals[: self.in_tree.num_leaves]]

    @property
    def out_avals(self) -> list[tuple[tuple[int, ...], Any]]:
        """Shapes and dtypes of the leaves of the result."""
        return [(shape, dtype) for shape, dtype, _ in self.graph.out_avals]

    @property
    def pairs(self) -> list[int]:
        """By result leaf: the argument leaf whose place it takes, or -1."""
        pairs = [-1] * self.out_tree.num_leaves
        arguments = {part.name: part for part in self.arguments}
        for result in self.results:
            if result.name in self.in_place:
                for output, input_ in zip(result.leaves, arguments[result.name].leaves, strict=True):
                    pairs[output] = input_
        return pairs


def function(
    fun: Callable[..., Any],
    *specs: Any,
    donate: str | Sequence[str] = (),
    results: str | Sequence[str] | None = None,
    **keyword_specs: Any,
) -> Function:
    """Captures a function for a C library.

    Parameters
    ----------
    fun : callable
        A function of pytrees of arrays, transformed or not.
    *specs : pytrees of arrays or ShapeDtypeStruct
        Its positional arguments; only shapes and dtypes matter. Those that `jit` was told are static are Python values
        that the program has inside, and no arguments of the C function.
    donate : str or sequence of str, default ()
        Names of arguments that the C function updates in place: each is one parameter with the result of that name.
    results : str or sequence of str, optional
        Names of the results, if the function returns a tuple or a list, or of the one result. By default a dict's, a
        named tuple's and a dataclass's own names, and else ``out0``, ``out1``, ...
    **keyword_specs : pytrees of arrays or ShapeDtypeStruct
        Its keyword arguments.

    Returns
    -------
    Function
        For `library`.

    Raises
    ------
    ValueError
        ``donate`` names what is no argument, or no result of the same structure, shapes and dtypes; other names than
        results; or an enclosing transform is capturing.

    Examples
    --------
    >>> def step(params, x):
    ...     return {"params": {"w": params["w"] + x}, "norm": (x * x).sum()}
    >>> ct.export.function(step, {"w": ct.numpy.zeros(3)}, ct.numpy.ones(3), donate="params").pairs
    [-1, 0]
    """
    check_callable(fun, "export.function")
    _check_examples(fun, specs, keyword_specs)
    donated = _names(donate, "donate", "arguments")
    name = function_name(fun)
    names = _argument_names(fun, len(specs), keyword_specs)
    called = fun
    if isinstance(fun, _core.JitFunction):
        called, kept, keyword_specs, positions = without_static(fun, specs, keyword_specs)
        names = [*(names[i] for i in positions), *sorted(keyword_specs)]
        specs = kept
    leaves, in_tree = flatten_arguments((specs, keyword_specs), name)
    try:
        with _core.KeepLengths():  # what is loaded may be masked
            captured = capture_sized(lambda each: capture(each, leaves, in_tree, "jit", name=name), called, STATIC)
    except Exception as error:
        _explain_shapes(error, dict(zip(names, (*specs, *keyword_specs.values()), strict=False)))
        raise
    if any(_core.is_traced(x) for x in captured.closure):
        raise ValueError(
            f"export of {name}: it closes over traced arrays\n  export outside of jit and other transforms"
        )
    arguments = _parts(in_tree, names, flat=False)
    outputs = _results(captured.structure, results, name)
    made = Function(
        name,
        captured.graph,
        captured.closure,
        in_tree,
        captured.structure,
        arguments,
        outputs,
        frozenset(donated),
        (*names[: len(specs)], *_order(fun, names[len(specs) :])),
    )
    _check_in_place(made, donated)
    return made


def _check_examples(fun: Callable[..., Any], specs: tuple[Any, ...], keyword_specs: Mapping[str, Any]) -> None:
    """Raises TypeError unless there is an example of each argument."""
    try:
        signature = inspect.signature(fun)
    except (TypeError, ValueError):
        return
    try:
        signature.bind(*specs, **keyword_specs)
    except TypeError as error:
        taken = ", ".join(signature.parameters)
        raise TypeError(
            f"export of {function_name(fun)}: {error}\n"
            f"  give an example of each argument behind the function, an array or a ShapeDtypeStruct: ct.export.compile({function_name(fun)}, {taken})"
        ) from None


def _names(given: Any, option: str, what: str) -> list[str]:
    names = [given] if isinstance(given, str) else given
    if not isinstance(names, Collection) or not all(isinstance(name, str) for name in names):
        raise TypeError(
            f"export.function: {option} takes names of {what}; got {given!r}\n"
            f"  pass one name, or a list of names: {option}=['params']"
        )
    return list(names)


def _argument_names(fun: Callable[..., Any], count: int, keywords: Mapping[str, Any]) -> list[str]:
    try:
        parameters = list(inspect.signature(fun).parameters.values())
    except (TypeError, ValueError):
        parameters = []
    declared = [
        parameter.name
        for parameter in parameters[:count]
        if parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD)
    ]
    taken = {*declared, *keywords}
    others = [unique(f"arg{index}", taken) for index in range(len(declared), count)]
    return [*declared, *others, *sorted(keywords)]


def _explain_shapes(error: Exception, specs: Mapping[str, Any]) -> None:
    """Says of a function that could not be captured which of its examples are shapes: a tuple of numbers is an example of numbers."""
    for name, spec in specs.items():
        is_shape = type(spec) in (tuple, list) and spec and all(type(size) is int for size in spec)
        if is_shape and len(error.args) == 1 and isinstance(error.args[0], str):
            numbers = f"{len(spec)} number{'s' * (len(spec) != 1)}"
            array = f"ct.ShapeDtypeStruct({tuple(spec)}, 'float32')"
            error.args = (
                f"{error.args[0]}\n  the example of {name} is a {type(spec).__name__} of {numbers}; of an array of this shape write {array}",
            )


def _order(fun: Callable[..., Any], names: Sequence[str]) -> tuple[str, ...]:
    """Keywords in the order of the function's parameters, and those that it has no parameter for behind them."""
    try:
        declared = list(inspect.signature(fun).parameters)
    except (TypeError, ValueError):
        declared = []
    places = {name: index for index, name in enumerate(declared)}
    return tuple(sorted(names, key=lambda name: places.get(name, len(places))))


def _parts(tree: PyTreeDef, names: Sequence[str], *, flat: bool) -> tuple[Part, ...]:
    """The children of a tree, or for arguments those of its two children."""
    children = tree.children() if flat else [child for half in tree.children() for child in half.children()]
    parts, first = [], 0
    for name, child in zip(names, children, strict=True):
        parts.append(Part(name, child, first, child.num_leaves))
        first += child.num_leaves
    return tuple(parts)


def _own_names(tree: PyTreeDef) -> list[str] | None:
    """How the parts of a result are called, if it has parts: a dict's, a named tuple's or a dataclass's are."""
    data = tree.node_data()
    if data is None:
        return None
    if data[0] is tuple:
        return [f"out{index}" for index in range(len(tree.children()))]
    if data[0] is not dict and not hasattr(data[0], "_fields") and not dataclasses.is_dataclass(data[0]):
        return None
    words = [key_text(key) for key, _ in children_by_name(tree)]
    taken = {word for word in words if word and not word.startswith("_")}
    return [
        word if word in taken and not word.startswith("_") else unique(word.lstrip("_") or f"out{index}", taken)
        for index, word in enumerate(words)
    ]


def _results(tree: PyTreeDef, given: str | Sequence[str] | None, name: str) -> tuple[Part, ...]:
    whole = (Part("out", tree, 0, tree.num_leaves),)
    own = _own_names(tree)
    if given is None:
        return whole if own is None else _parts(tree, own, flat=True)
    if isinstance(given, str):
        return (Part(given, tree, 0, tree.num_leaves),)
    given = list(given)
    if own is None and len(given) == 1:
        return (Part(given[0], tree, 0, tree.num_leaves),)
    count = len(tree.children())
    if len(given) != count or len(set(given)) != count:
        remedy = f"pass {count} names that differ" if count > 1 else "pass one name, results='y' say"
        raise ValueError(
            f"export of {name}: results={given!r} must name each of its {max(count, 1)} results once\n  {remedy}"
        )
    return _parts(tree, given, flat=True)


def _check_in_place(made: Function, donated: Sequence[str]) -> None:
    arguments = {part.name: part for part in made.arguments}
    results = {part.name: part for part in made.results}
    for name in donated:
        if name not in arguments:
            raise ValueError(
                f"export of {made.name}: donate={name!r} is no argument{suggestion(name, arguments)}\n"
                f"  its arguments: {', '.join(arguments) or 'none'}"
            )
        if name not in results:
            raise ValueError(
                f"export of {made.name}: no result is called {name!r}, so that nothing can take the argument's place; the results are "
                f"{', '.join(results)}\n  name them by results=, or return a dict with the key {name!r}"
            )
        argument, result = arguments[name], results[name]
        if argument.tree != result.tree:
            raise ValueError(
                f"export of {made.name}: the argument {name!r} is {argument.tree}, the result {result.tree}: only equal structures can "
                f"have one place\n  return {name!r} with the structure of the argument, or leave it out of donate"
            )
        for path, i, o in zip(argument.tree.paths(), argument.leaves, result.leaves, strict=True):
            before, after = made.in_avals[i], made.out_avals[o]
            if before != after:
                raise ValueError(
                    f"export of {made.name}: {name}{path} is {before[1]}{list(before[0])} as an argument and {after[1]}{list(after[0])} as "
                    f"a result: only equal arrays can have one place\n"
                    f"  return it with the argument's shape and dtype, as by .astype({_core.dtype_name(before[1])!r}), or leave {name!r} out of donate"
                )


check_arguments(globals())
