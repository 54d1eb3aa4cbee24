"""Saved functions as functions of this process."""

from __future__ import annotations

import functools
import inspect
import itertools
import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from cotangent import _core
from cotangent._base import primitives
from cotangent._base.arguments import leaving_methods, suggestion
from cotangent._base.capture import aval_of, flatten_arguments
from cotangent._core import Array, Graph, OpenLibrary, PyTreeDef, SavedFile
from cotangent._transforms.lengths import check_bounded
from cotangent.errors import CorruptFileError, ShapeError
from cotangent.export._saved import MissingClassError, tree_from_json

_AGAIN = "\n  export it again\n  see docs/errors.md#corrupt-file"


@leaving_methods
class Loaded:
    """The functions of a saved library, as attributes; what `load` returns.

    One that has a single function can be called itself. ``native`` says whether they run the library's own code.

    Parameters
    ----------
    path : Path
        Where they are from.
    functions : dict from str to callable
        The functions by name.
    native : bool
        Whether they run the library's own code.

    Examples
    --------
    >>> import tempfile
    >>> made = ct.export.compile(lambda x: x * 2, ct.numpy.ones(2), name="twice")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     loaded = ct.export.load(made.save(folder, files="ctir"))
    >>> loaded.native, loaded(np.float32([1, 2])).tolist(), loaded.twice(np.float32([3, 4])).tolist()
    (False, [2.0, 4.0], [6.0, 8.0])
    """

    def __init__(self, path: Path, functions: dict[str, Callable[..., Any]], native: bool) -> None:
        self._file = path.resolve()
        self._name = path.stem
        self._functions = functions
        self.native = native
        self.__dict__.update(functions)

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        """Calls the one function of the library.

        Parameters
        ----------
        *args : pytrees of arrays
            Its positional arguments.
        **kwargs : pytrees of arrays
            Its keyword arguments.

        Returns
        -------
        pytree of arrays
            What the saved function returns.

        Raises
        ------
        TypeError
            The library has several functions, or the arguments are not those that the function was saved for.

        Examples
        --------
        >>> import tempfile
        >>> made = ct.export.compile(lambda x: x * 2, ct.numpy.ones(2), name="twice")
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     twice = ct.export.load(made.save(folder, files="ctir"))
        >>> twice(np.float32([1, 2])).tolist()
        [2.0, 4.0]
        """
        if len(self._functions) != 1:
            raise TypeError(
                f"{self._name} has several functions: {', '.join(self._functions)}\n"
                f"  call one of these: {self._name}.{next(iter(self._functions), '…')}(…)"
            )
        return next(iter(self._functions.values()))(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        functions = self.__dict__.get("_functions", {})  # a copy that is being made has nothing yet
        raise AttributeError(
            f"{self.__dict__.get('_name', 'a saved library')} has no function {name!r}{suggestion(name, functions)}\n"
            f"  its functions: {', '.join(functions)}"
        )

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *self._functions})

    def __copy__(self) -> Loaded:
        return Loaded(self._file, self._functions, self.native)

    def __deepcopy__(self, memo: dict[int, Any]) -> Loaded:
        return self  # nothing in it changes

    def __repr__(self) -> str:
        return f"<{self._name}: {', '.join(self._functions)}>"


class Annotation:
    """What an argument or a result is: its structure with dtypes and shapes in it, ``{'w': float32[4, 3]}``."""

    def __init__(self, tree: PyTreeDef, avals: Sequence[tuple[tuple[int, ...], Any, bool]]) -> None:
        self._leaves = [f"{_core.dtype_name(dtype)}{list(shape)}" for shape, dtype, _ in avals]
        self._text = str(tree).removeprefix("PyTreeDef(").removesuffix(")")

    def __repr__(self) -> str:
        leaves = iter(self._leaves)
        # Stars of the structure, not those in its texts.
        return re.sub(_QUOTED_OR_STAR, lambda found: next(leaves, "*") if found[0] == "*" else found[0], self._text)

    def short(self) -> str:
        """At most a line of it."""
        text = repr(self)
        return text if len(text) <= 60 else f"{text[:59]}…"


_QUOTED_OR_STAR = r"""'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*"|\*"""


@leaving_methods
class SavedFunction:
    """A function of a file: its program and how it is called."""

    def __init__(self, saved: dict[str, Any], graph: Graph, constants: list[Array]) -> None:
        self.name: str = saved["name"]
        self.__name__ = self.name
        self.graph = graph
        self.constants = constants
        self.in_tree: PyTreeDef = tree_from_json(saved["in_tree"])
        self.out_tree: PyTreeDef = tree_from_json(saved["out_tree"])
        self.arguments = [(str(name), int(count)) for name, count in saved["arguments"]]
        self.in_place = set(saved["in_place"])
        # As the function has them: those that were given by name when it was exported may have been anywhere.
        self.order = [str(name) for name in saved["order"]]
        if sorted(self.order) != sorted(name for name, _ in self.arguments):
            raise CorruptFileError(f"the saved function {self.name} has other arguments in another order{_AGAIN}")
        self.__doc__ = f"{self.name}({', '.join(name for name, _ in self.arguments)}), a saved function."
        self.positional = len(self.in_tree.children()[0].children())
        counts = (self.in_tree.num_leaves, self.out_tree.num_leaves)
        if counts != (len(graph.in_avals) - len(constants), len(graph.out_avals)):
            raise CorruptFileError(f"the saved function {self.name} has a program for other arguments{_AGAIN}")
        self._describe()
        self.bounds = [(index, bound) for index, bound in _core.length_inputs(graph) if index < counts[0]]

    def _describe(self) -> None:
        """For `inspect.signature`, `help` and `repr`: what the arguments and the result are."""
        children = [child for half in self.in_tree.children() for child in half.children()]
        avals = iter(self.graph.in_avals)
        kinds = {
            name: Annotation(tree, list(itertools.islice(avals, tree.num_leaves)))
            for (name, _), tree in zip(self.arguments, children, strict=True)
        }
        result = Annotation(self.out_tree, self.graph.out_avals)
        shown = ", ".join(f"{name}: {kinds[name].short()}" for name in self.order)
        self.shown = f"({shown}) -> {result.short()}"
        if all(name.isidentifier() for name in self.order):
            kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
            parameters = [inspect.Parameter(name, kind, annotation=kinds[name]) for name in self.order]
            self.__signature__ = inspect.Signature(parameters, return_annotation=result)

    def bound(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The arguments as they were given when it was exported: by position or by name, whichever way they come now."""
        names = [name for name, _ in self.arguments]
        unknown = [name for name in kwargs if name not in names]
        if unknown:
            raise TypeError(
                f"{self.name} has no argument {unknown[0]!r}{suggestion(unknown[0], names)}\n"
                f"  its arguments: {', '.join(names) or 'none'}"
            )
        if len(args) > len(names):
            raise TypeError(
                f"{self.name} takes {len(names)} argument{'s' * (len(names) != 1)}, called with {len(args)}\n"
                f"  call {self.name}({', '.join(names)})"
            )
        given = dict(zip(self.order, args, strict=False))
        twice = [name for name in given if name in kwargs]
        if twice:
            raise TypeError(
                f"{self.name} was given {twice[0]!r} by position and by name\n  call {self.name}({', '.join(self.order)})"
            )
        given.update(kwargs)
        missing = [name for name in names if name not in given]
        if missing:
            raise TypeError(
                f"{self.name} was called without {', '.join(map(repr, missing))}\n  call {self.name}({', '.join(self.order)})"
            )
        return tuple(given[name] for name in names[: self.positional]), {
            name: given[name] for name in names[self.positional :]
        }

    def path(self, index: int) -> str:
        """What a leaf of the arguments is called."""
        first = 0
        for name, count in self.arguments:
            if index < first + count:
                whole = self.in_tree.paths()[index]
                return name + whole.split("]", 2)[2] if whole.count("]") >= 2 else name
            first += count
        return f"argument {index}"

    def leaves(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Array]:
        """The arguments' leaves, after a look at their structure, shapes, dtypes and lengths."""
        given = self.bound(args, kwargs)
        leaves, tree = flatten_arguments(given, self.name)
        if tree != self.in_tree:
            self._refuse_lists(given)
            same = ": the static data of a class among them differ" if str(tree) == str(self.in_tree) else ""
            raise TypeError(
                f"{self.name} was exported for arguments {self.in_tree}, called with {tree}{same}\n"
                f"  pass what it was exported for: {self.name}{self.shown}"
            )
        operands = []
        for index, (leaf, (shape, dtype, weak)) in enumerate(zip(leaves, self.graph.in_avals, strict=False)):
            given_shape, given_dtype, given_weak = aval_of(leaf)
            if tuple(given_shape) != tuple(shape) or (given_dtype != dtype and not given_weak):
                raise TypeError(
                    f"{self.name}: {self.path(index)} is {dtype}{list(shape)}, called with {given_dtype}{list(given_shape)}\n"
                    + (
                        f"  convert it with .astype({_core.dtype_name(dtype)!r})"
                        if tuple(given_shape) == tuple(shape)
                        else f"  pass an array of shape {tuple(shape)}{self._by_rows(leaves)}, or export the function for {tuple(given_shape)}, too"
                    )
                )
            # A number without a dtype of its own takes the array's, unless it would be cut off.
            if _core.promote_types([(given_dtype, given_weak), (dtype, False)])[0] != dtype:
                kind = _core.dtype_kind(given_dtype)
                raise TypeError(
                    f"{self.name}: {self.path(index)} is {dtype}, called with a {kind} number\n"
                    f"  say what becomes of it: numpy.asarray(x).astype({_core.dtype_name(dtype)!r})"
                )
            operands.append(leaf if given_dtype == dtype and given_weak == weak else _core.convert(leaf, dtype))
        for index, bound in self.bounds:
            check_bounded(operands[index], bound, functools.partial(self.check_length, index=index, bound=bound))
        return operands

    def _refuse_lists(self, given: tuple[tuple[Any, ...], dict[str, Any]]) -> None:
        """Raises TypeError where an argument is a list, and was an array when the function was exported."""
        children = [child for half in self.in_tree.children() for child in half.children()]
        for (name, _), tree, value in zip(self.arguments, children, [*given[0], *given[1].values()], strict=True):
            if isinstance(value, (list, tuple)) and tree.num_leaves == 1 and not tree.children():
                index = next(at for at in range(self.in_tree.num_leaves) if self.path(at) == name)
                shape, dtype, _ = self.graph.in_avals[index]
                kind = f"a {type(value).__name__} of {len(value)} item{'s' * (len(value) != 1)}"
                raise TypeError(
                    f"{self.name}: {name} is {dtype}{list(shape)}, called with {kind}\n"
                    f"  make an array of it: ct.numpy.array({name}, {_core.dtype_name(dtype)!r})"
                )

    def _by_rows(self, leaves: Sequence[Any]) -> str:
        """How to call the function for each row of a batch, where some arguments have one axis more than when it was exported."""
        avals = [
            (tuple(aval_of(leaf)[0]), tuple(shape))
            for leaf, (shape, _, _) in zip(leaves, self.graph.in_avals, strict=False)
        ]
        axes, first = {}, 0
        for name, count in self.arguments:
            pairs = avals[first : first + count]
            rows = [len(given) > 0 and given[1:] == shape for given, shape in pairs]
            if not all(rows) and any(given != shape for given, shape in pairs):
                return ""
            axes[name] = 0 if pairs and all(rows) else None
            first += count
        in_axes = tuple(axes[name] for name in self.order)
        return f"; for each row of a batch: ct.vmap({self.name}, in_axes={in_axes})({', '.join(self.order)})"

    def check_length(self, length: Array, index: int, bound: int) -> None:
        """Raises ShapeError unless a length, whose value is known, is one that the program can have."""
        values = _core.to_numpy(length)
        if values.size and (values.min() < 0 or values.max() > bound):
            raise ShapeError(
                f"{self.name}: {self.path(index)} is a length of {values.tolist()}, outside 0 … {bound}\n"
                f"  pass a length from 0 to {bound}, or export the function with a larger bound\n"
                "  see docs/errors.md#length-out-of-range"
            )

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        """Becomes a part of what is captured: that of `jit` around it, at least."""
        operands = self.leaves(args, kwargs)
        results = primitives.call(*operands, *self.constants, graph=self.graph, name=self.name)
        return self.out_tree.unflatten(results)


def _json(section: bytes, path: Path) -> Any:
    try:
        return json.loads(section)
    except ValueError as error:
        raise CorruptFileError(f"{path} is not a valid saved file: {error}{_AGAIN}") from None


def read_functions(file: SavedFile, path: Path) -> tuple[dict[str, Any], list[SavedFunction]]:
    """What a file holds: the description of the library, and its functions.

    Raises:
        CorruptFileError: it is damaged, or of a newer version. TypeError: classes of arguments are not there.
    """
    description = _json(file.section("library"), path)
    if file.has("shared"):
        file.section("shared")  # is compared with its checksum
    functions = []
    end = 0
    try:
        for index, saved in enumerate(_json(file.section("functions"), path)):
            graph = file.graph(f"graph {index}")
            constants, end = file.weights(graph, int(saved["constants"]), end)
            functions.append(SavedFunction(saved, graph, constants))
        names = [function["name"] for function in description["functions"]]
        if names != [function.name for function in functions]:
            raise CorruptFileError(
                f"{path} is not a valid saved file: it describes other functions than it holds{_AGAIN}"
            )
    except (MissingClassError, CorruptFileError):
        raise
    except (KeyError, ValueError, AttributeError, IndexError, TypeError) as error:
        raise CorruptFileError(f"{path} is not a valid saved file: {error!r}{_AGAIN}") from None
    return description, functions


def run_native(library: OpenLibrary, description: dict[str, Any], functions: Sequence[SavedFunction]) -> None:
    """From now on the programs run the library's code."""
    for function, facts in zip(functions, description["functions"], strict=True):
        library.run(
            function.graph,
            f"{facts['symbol']}_entry",
            facts["arena_bytes"],
            facts["may_stop"] or facts.get("shares_loops", False),  # which earlier versions did not
            facts["donations"],
            facts["nanoseconds"],
        )
