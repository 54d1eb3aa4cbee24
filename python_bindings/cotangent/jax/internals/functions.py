"""`linear_util`, `api_util` and the part of `partial_eval` that libraries use: functions of flat lists, and what is known of their results."""

from __future__ import annotations

import contextlib
import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any

from cotangent import _core, tree_util
from cotangent._base.arguments import leaving_methods
from cotangent.jax.internals.avals import shaped, typeof

__all__ = [
    "PartialVal",
    "Store",
    "StoreException",
    "WrappedFun",
    "debug_info",
    "flatten_fun",
    "flatten_fun_nokwargs",
    "infer_argnums_and_argnames",
    "merge_linear_aux",
    "safe_map",
    "safe_zip",
    "shaped_abstractify",
    "trace_to_jaxpr_nounits",
    "transformation",
    "transformation2",
    "transformation_with_aux",
    "transformation_with_aux2",
    "unzip2",
    "wrap_init",
]


@leaving_methods
class WrappedFun:
    """A function on its way through transformations."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.f = function
        self.debug_info = None

    @property
    def __name__(self) -> str:
        return getattr(self.f, "__name__", type(self.f).__name__)

    def call_wrapped(self, *args: Any, **kwargs: Any) -> Any:
        """Calls it."""
        return self.f(*args, **kwargs)


def wrap_init(f: Callable[..., Any], params: dict[str, Any] | None = None, *, debug_info: Any = None) -> WrappedFun:
    """The start of transformations of a function."""
    return WrappedFun(functools.partial(f, **params) if params else f)


class StoreException(Exception):  # noqa: N818 (JAX's name)
    """A value is asked for that is not there yet, or given where one is."""


@leaving_methods
class Store:
    """A place for a value."""

    def __init__(self) -> None:
        self._held: list[Any] = []

    def store(self, val: Any) -> None:
        """Puts it there, once."""
        if self._held:
            raise StoreException("Store occupied\n  replace(value) puts another in its place")
        self._held.append(val)

    def replace(self, val: Any) -> None:
        """Puts it there, in the place of what was."""
        self._held[:] = [val]

    def get(self) -> Any:
        """The value."""
        if not self._held:
            raise StoreException("Store empty\n  store(value) first")
        return self._held[0]

    val = property(get)

    def __bool__(self) -> bool:
        return bool(self._held)


def transformation(generator: Callable[..., Any]) -> Callable[..., WrappedFun]:
    """A transformation of functions: a generator that yields the arguments of the function, and then, given its result, another."""

    def apply(fun: WrappedFun, *gen_args: Any) -> WrappedFun:
        def run(*args: Any, **kwargs: Any) -> Any:
            steps = generator(*gen_args, *args, **kwargs)
            inner_args, inner_kwargs = next(steps)
            result = steps.send(fun.call_wrapped(*inner_args, **inner_kwargs))
            steps.close()
            return result

        return WrappedFun(run)

    return apply


def transformation_with_aux(generator: Callable[..., Any]) -> Callable[..., tuple[WrappedFun, Callable[[], Any]]]:
    """A transformation whose generator yields a pair at last: the result, and a value to be had when the function has been called."""

    def apply(fun: WrappedFun, *gen_args: Any) -> tuple[WrappedFun, Callable[[], Any]]:
        store = Store()

        def run(*args: Any, **kwargs: Any) -> Any:
            steps = generator(*gen_args, *args, **kwargs)
            inner_args, inner_kwargs = next(steps)
            result, aux = steps.send(fun.call_wrapped(*inner_args, **inner_kwargs))
            steps.close()
            store.replace(aux)
            return result

        return WrappedFun(run), store.get

    return apply


def transformation2(function: Callable[..., Any]) -> Callable[..., WrappedFun]:
    """A transformation of functions: a function of the function and of its arguments."""

    def apply(fun: WrappedFun, *first: Any) -> WrappedFun:
        return WrappedFun(functools.partial(function, fun.call_wrapped, *first))

    return apply


def transformation_with_aux2(function: Callable[..., Any]) -> Callable[..., tuple[WrappedFun, Callable[[], Any]]]:
    """A transformation by a function that is given a `Store` behind the function, for a value to be had when it has been called."""

    def apply(fun: WrappedFun, *first: Any) -> tuple[WrappedFun, Callable[[], Any]]:
        store = Store()
        return WrappedFun(functools.partial(function, fun.call_wrapped, store, *first)), store.get

    return apply


def merge_linear_aux(aux1: Callable[[], Any], aux2: Callable[[], Any]) -> tuple[bool, Any]:
    """The value of the one of two transformations whose function has been called, and whether it is the first.

    Both have been where a function with its derivative was captured for a derivative: the value is the first's then.

    Raises:
        StoreException: none has been called.
    """
    for aux in (aux1, aux2):
        with contextlib.suppress(StoreException):
            return aux is aux1, aux()
    raise StoreException("neither store occupied\n  call the function that one of them belongs to first")


def debug_info(*_: Any, **__: Any) -> None:
    """What JAX prints in errors of a function; here errors name it by themselves."""


def _flat(fun: WrappedFun, call: Callable[[Any], Any]) -> tuple[WrappedFun, Callable[[], Any]]:
    store = Store()

    def run(*leaves: Any) -> list[Any]:
        flat, structure = tree_util.tree_flatten(call(leaves))
        store.replace(structure)
        return flat

    return WrappedFun(run), store.get


def flatten_fun(fun: WrappedFun, in_tree: Any) -> tuple[WrappedFun, Callable[[], Any]]:
    """The function of leaves of ``(args, kwargs)``, and how to get the structure of its result."""

    def call(leaves: Any) -> Any:
        args, kwargs = in_tree.unflatten(leaves)
        return fun.call_wrapped(*args, **kwargs)

    return _flat(fun, call)


def flatten_fun_nokwargs(fun: WrappedFun, in_tree: Any) -> tuple[WrappedFun, Callable[[], Any]]:
    """The function of leaves of its arguments, and how to get the structure of its result."""
    return _flat(fun, lambda leaves: fun.call_wrapped(*in_tree.unflatten(leaves)))


def _as_tuple(x: Any) -> tuple[Any, ...]:
    return () if x is None else (x,) if isinstance(x, (int, str)) else tuple(x)


def infer_argnums_and_argnames(sig: inspect.Signature | None, argnums: Any, argnames: Any) -> tuple[Any, Any]:
    """Positions and names of the same parameters, given either."""
    parameters = list(sig.parameters.values()) if sig else []
    positional = inspect.Parameter.POSITIONAL_OR_KEYWORD
    if argnums is None and argnames is not None:
        names = _as_tuple(argnames)
        argnums = [i for i, p in enumerate(parameters) if p.name in names and p.kind is positional]
    elif argnames is None and argnums is not None:
        kinds = (positional, inspect.Parameter.KEYWORD_ONLY)
        chosen = [parameters[i] for i in _as_tuple(argnums) if -len(parameters) <= i < len(parameters)]
        argnames = [p.name for p in chosen if p.kind in kinds]
    return _as_tuple(argnums), _as_tuple(argnames)


def shaped_abstractify(x: Any) -> Any:
    """The type of an argument."""
    return typeof(x)


def safe_map(f: Callable[..., Any], *args: Any) -> list[Any]:
    """`map` of lists of one length, as a list."""
    return [f(*items) for items in zip(*args, strict=True)]


def safe_zip(*args: Any) -> list[Any]:
    """`zip` of lists of one length, as a list."""
    return list(zip(*args, strict=True))


def unzip2(pairs: Any) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """The first and the second parts of pairs."""
    listed = list(pairs)
    return tuple(x for x, _ in listed), tuple(y for _, y in listed)


class PartialVal(tuple[Any, Any]):
    """The type of a value that is not known, or a value that is."""

    @classmethod
    def unknown(cls, aval: Any) -> PartialVal:
        """A value of which the type is known."""
        return cls((aval, None))

    @classmethod
    def known(cls, const: Any) -> PartialVal:
        """A value that is known."""
        return cls((None, const))

    def get_known(self) -> Any:
        """The value; None if it is not known."""
        return self[1] if self[0] is None else None

    def is_known(self) -> bool:
        """Whether the value is known."""
        return self[0] is None


def trace_to_jaxpr_nounits(
    fun: WrappedFun, pvals: Sequence[Any], instantiate: bool = False
) -> tuple[Any, list[Any], Any]:
    """Which results of a function of unknown values are known: those that do not depend on them keep their values."""
    unknown = [pval[0] for pval in pvals if pval[0] is not None]
    results: list[Any] = []

    def run(inputs: list[Any]) -> tuple[list[Any], None]:
        given = iter(inputs)
        results.extend(fun.call_wrapped(*[pval[1] if pval[0] is None else next(given) for pval in pvals]))
        return [_core.array(result) for result in results], None

    avals = [(aval.shape, aval.dtype, False) for aval in unknown]
    graph, closure, _ = _core.capture(run, avals, [""] * len(avals), "jit", "partial_eval")
    depends = _dependent(graph, len(avals))
    out: list[Any] = []
    for number, result in zip(graph.outputs, results, strict=True):
        if number in depends or instantiate:
            out.append(PartialVal.unknown(shaped(typeof(result))))
        elif _core.is_traced(result):
            out.append(PartialVal.known(_known_output(graph, number, avals, closure)))
        else:
            out.append(PartialVal.known(result))
    return None, out, None


def _known_output(graph: Any, number: int, avals: list[Any], closure: list[Any]) -> Any:
    zeros = [_core.full(shape, 0, dtype) for shape, dtype, _ in avals]
    return _core.apply_graph(graph, [*zeros, *closure])[graph.outputs.index(number)]


def _dependent(graph: Any, inputs: int) -> set[int]:
    """The variables that depend on the first inputs."""
    found = set(range(inputs))
    for parts in graph.equations():
        if not found.isdisjoint(parts["operands"]):
            found.update(parts["outputs"])
    return found
