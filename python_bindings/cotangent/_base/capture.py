"""From a user function and arguments to a graph: what every transform starts with.

A `Captured` is the graph of a flattened function, the outside values it closes over (its extra inputs), and the structure of what the
function returned.
"""

from __future__ import annotations

import functools
import types
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np

from cotangent import _core
from cotangent._base import primitives
from cotangent._base.arguments import leaving_methods
from cotangent._base.boundary import leaving
from cotangent._base.device import backend_for
from cotangent._base.messages import indented, kind_of
from cotangent._base.pickling import Scoped
from cotangent._core import Array, Graph, PyTreeDef

Aval = tuple[tuple[int, ...], Any, bool]  # shape, dtype, weak
_Wrapper = TypeVar("_Wrapper")

FLOAT0 = np.dtype([("float0", "V")])  # JAX's dtype of derivatives of what has none

# Names of mapped axes that are ragged, and their lengths.
RAGGED_NAMES: Scoped[Mapping[str, Array]] = Scoped(__name__, "RAGGED_NAMES", types.MappingProxyType({}))


@leaving_methods
class ShapeDtypeStruct:
    """The shape and dtype of an array that is not there.

    It stands for an argument where nothing is computed: of `make_ir`, `eval_shape`, ``jit(f).lower`` and
    `export.compile`. Two of equal parts are equal, and can be keys.

    Parameters
    ----------
    shape : sequence of int
        The size of each axis.
    dtype : dtype
        The dtype of the elements. ``float`` and ``int`` mean the default widths.
    sharding : Sharding, optional
        Of one device; it is not kept.
    weak_type : bool, default False
        Whether the dtype yields to others, as those of Python scalars do.

    Raises
    ------
    ValueError
        ``dtype`` is None, or ``sharding`` is of several devices.

    Examples
    --------
    >>> ct.ShapeDtypeStruct((2, 3), "float32")
    ShapeDtypeStruct(shape=(2, 3), dtype=float32)
    >>> ct.jit(lambda x: x @ x.T).eval_shape(ct.ShapeDtypeStruct((2, 3), "float32")).shape
    (2, 2)
    """

    __slots__ = ("dtype", "shape", "weak_type")

    def __init__(self, shape: Sequence[int], dtype: Any, *, sharding: Any = None, weak_type: bool = False) -> None:
        if dtype is None:
            raise ValueError(
                f"ShapeDtypeStruct: a dtype is needed\n  give one: ct.ShapeDtypeStruct({tuple(shape)}, 'float32')"
            )
        backend_for(sharding, "ShapeDtypeStruct")
        self.shape = tuple(shape)
        self.dtype = dtype if dtype == FLOAT0 else _core.canonical_dtype(dtype)
        self.weak_type = weak_type

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of elements."""
        return int(np.prod(self.shape, dtype=np.int64))

    @property
    def sharding(self) -> None:
        """None: there is one device."""
        return None

    @staticmethod
    def like(x: Any) -> ShapeDtypeStruct:
        """Returns the shape and dtype of an array, or of what becomes one.

        Parameters
        ----------
        x : array or number
            Anything that functions of arrays take.

        Returns
        -------
        ShapeDtypeStruct
            See `cotangent.typeof`.

        Examples
        --------
        >>> ct.ShapeDtypeStruct.like(np.zeros((2, 3), np.int8))
        ShapeDtypeStruct(shape=(2, 3), dtype=int8)
        """
        array = _core.array(x)
        return ShapeDtypeStruct(array._bound_shape, array.dtype, weak_type=array.weak_type)

    def update(self, **changes: Any) -> ShapeDtypeStruct:
        """Returns the same with other values of some of the arguments.

        Parameters
        ----------
        **changes : object
            ``shape``, ``dtype``, ``weak_type`` or ``sharding``.

        Returns
        -------
        ShapeDtypeStruct
            A new one.

        Examples
        --------
        >>> ct.ShapeDtypeStruct((2, 3), "float32").update(shape=(5,))
        ShapeDtypeStruct(shape=(5,), dtype=float32)
        """
        given = {"shape": self.shape, "dtype": self.dtype, "weak_type": self.weak_type}
        return ShapeDtypeStruct(**{**given, **changes})

    def _key(self) -> tuple[Any, ...]:
        return self.shape, self.dtype, self.weak_type

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ShapeDtypeStruct) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of a ShapeDtypeStruct without axes\n  it has no axes, as .shape == () says")
        return self.shape[0]

    def __repr__(self) -> str:
        weak = ", weak_type=True" if self.weak_type else ""
        return f"ShapeDtypeStruct(shape={self.shape}, dtype={self.dtype}{weak})"


def function_name(function: Callable[..., Any]) -> str:
    """How errors name a user function."""
    while isinstance(function, functools.partial):
        function = function.func
    name = _text_attribute(function, "__name__")
    return name or type(function).__name__


def _text_attribute(function: Any, name: str) -> str | None:
    """An attribute that is a text on functions. Other callables may lack it, or have something else by that name."""
    value = getattr(function, name, None)
    return value if isinstance(value, str) else None


def wraps(function: Callable[..., Any]) -> Callable[[_Wrapper], _Wrapper]:
    """`functools.wraps` for any callable: partials, objects with ``__call__``, NumPy's ufuncs, mocks."""

    def decorate(wrapper: _Wrapper) -> _Wrapper:
        for name in ("__module__", "__name__", "__qualname__", "__doc__"):
            text = _text_attribute(function, name)
            if text is not None:
                setattr(wrapper, name, text)
        if isinstance(function, types.FunctionType):
            vars(wrapper).update(vars(function))
            wrapper.__annotations__ = function.__annotations__
        wrapper.__wrapped__ = function  # type: ignore[attr-defined]
        return wrapper

    return decorate


def transformed(function: Callable[..., Any]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """`wraps` for a function that is handed to the user: errors leave it without the frames of this package."""

    def decorate(wrapper: Callable[..., Any]) -> Callable[..., Any]:
        return wraps(function)(leaving(wrapper))

    return decorate


def is_inexact_dtype(dtype: Any) -> bool:
    """Whether arrays of the dtype carry derivatives: float and complex ones."""
    return _core.dtype_kind(dtype) in ("float", "complex")


def tangent_dtype(dtype: Any) -> Any:
    """The dtype of the derivatives of arrays of a dtype."""
    return dtype if is_inexact_dtype(dtype) else FLOAT0


def float0_zeros(shape: Sequence[int]) -> Any:
    """JAX's derivative of what has none: zeros of a dtype without values."""
    return np.zeros(shape, FLOAT0)


class SymbolicZero:
    """A tangent or cotangent that is known to be zero, given to and taken from rules that ask for it.

    ``aval`` is the shape and dtype of the zero: a `ShapeDtypeStruct`, an array, or anything else that has both.

    Parameters
    ----------
    aval : ShapeDtypeStruct
        The shape and dtype of the zero: also an array, or anything else that has both.

    Examples
    --------
    >>> ct.custom_derivatives.SymbolicZero(np.zeros(3, np.float32))
    SymbolicZero(float32[3])
    """

    def __init__(self, aval: Any) -> None:
        self.aval = aval if isinstance(aval, ShapeDtypeStruct) else ShapeDtypeStruct(aval.shape, aval.dtype)

    @staticmethod
    def from_primal_value(val: Any) -> SymbolicZero:
        """Returns the zero tangent of a value.

        Parameters
        ----------
        val : array or number
            The value.

        Returns
        -------
        SymbolicZero
            Of its shape; of dtype float0 if it is of integers or bools.

        Examples
        --------
        >>> ct.custom_derivatives.SymbolicZero.from_primal_value(np.zeros(2, np.float32))
        SymbolicZero(float32[2])
        """
        array = val if isinstance(val, Array) else _core.array(val)
        return SymbolicZero(ShapeDtypeStruct(array._bound_shape, tangent_dtype(array.dtype)))

    @property
    def shape(self) -> tuple[int, ...]:
        """The size of each axis."""
        return self.aval.shape

    @property
    def dtype(self) -> Any:
        """The dtype of the zeros."""
        return self.aval.dtype

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return self.aval.ndim

    @property
    def size(self) -> int:
        """The number of elements."""
        return self.aval.size

    def __repr__(self) -> str:
        return f"SymbolicZero({self.dtype}{list(self.shape)})"


def axis_text(name: Hashable) -> str:
    """The name of a batch axis as graphs hold it: any hashable value serves as one."""
    return name if isinstance(name, str) and name else repr(name)


def check_callable(
    function: Any,
    transform: str,
    others: Iterable[Any] = (),
    call: str = "",
    otherwise: str = "pass the function itself, not what it returns: f, and not f(x)",
) -> None:
    """Raises TypeError when ``function`` cannot be called.

    Args:
        others: the other arguments; where a function is among them they are in another order than that of ``call``.
        otherwise: what to do where none is.
    """
    if callable(function):
        return
    if call and any(map(callable, others)):
        hint = f"the arguments stand in another order: write ct.{call}"
    else:
        hint = otherwise
    raise TypeError(f"{transform} expects a function, got {type(function).__name__}\n  {hint}")


def aval_of(leaf: Any) -> Aval:
    """Shape, dtype and weak type of an array or spec."""
    if isinstance(leaf, Array):
        return leaf._bound_shape, leaf.dtype, leaf.weak_type
    return tuple(leaf.shape), leaf.dtype, getattr(leaf, "weak_type", False)


def source_of(leaf: Any) -> Any:
    """What `_core.capture` makes an input from: an array that the input stands for, or the aval of a spec.

    Inside a mask the input is as ragged as the array; a pair (array, axis) stands for one element along the axis.
    """
    return leaf if isinstance(leaf, Array) else aval_of(leaf)


def _described(leaf: Any) -> ShapeDtypeStruct | None:
    """The type of an object that has a shape and a dtype but no elements."""
    if isinstance(leaf, np.generic | np.ndarray) or _core.has_array_method(leaf) or hasattr(leaf, "__array__"):
        return None
    shape, dtype = getattr(leaf, "shape", None), getattr(leaf, "dtype", None)
    if dtype is None or not isinstance(shape, tuple | list):
        return None
    return ShapeDtypeStruct(shape, dtype, weak_type=bool(getattr(leaf, "weak_type", False)))


def flatten_arguments(tree: Any, name: str, *, described: bool = False) -> tuple[list[Array], PyTreeDef]:
    """The leaves of arguments as arrays, with errors that name the path of an unsupported leaf.

    Where only types matter, leaves may be ``described``: any object with a shape and a dtype.
    """
    leaves, structure = _core.tree_flatten(tree)
    for leaf in leaves:
        if not isinstance(leaf, Array):
            break
    else:
        return leaves, structure
    paths = structure.paths()
    arrays = [
        leaf
        if isinstance(leaf, (Array, ShapeDtypeStruct))
        else (described and _described(leaf)) or _core.leaf(leaf, f"{name}{path}")
        for leaf, path in zip(leaves, paths, strict=True)
    ]
    return arrays, structure  # type: ignore[return-value]


def flatten_like(structure: PyTreeDef, tree: Any, what: str) -> list[Any]:
    """The leaves of a tree that must have the structure; ``what`` begins the TypeError that says so."""
    advice = "  return or pass the same containers, with an array where a * is"
    try:
        leaves = structure.flatten_up_to(tree)
    except (ValueError, TypeError) as error:
        raise TypeError(f"{what}, {structure}\n{indented(error)}\n{advice}") from None
    for leaf in leaves:
        if isinstance(leaf, (tuple, list, dict)):
            raise TypeError(
                f"{what}, {structure}\n    there is a {type(leaf).__name__} where an array should be\n{advice}"
            )
    return leaves


class _Aux:
    """The second output of a function with ``has_aux``: arrays, and where ``any_object`` leaves that are handed through as they are."""

    def __init__(self, tree: Any, any_object: bool) -> None:
        self._any_object = any_object
        self._leaves, self._structure = _core.tree_flatten(tree, None)
        self._positions = range(len(self._leaves))

    def arrays(self, name: str) -> list[Array]:
        """The leaves that are arrays, once: after it only the others are kept."""
        paths = self._structure.paths()
        arrays: dict[int, Array] = {}
        for index, leaf in enumerate(self._leaves):
            if self._any_object and (isinstance(leaf, np.generic | np.ndarray) or _core.is_python_scalar(leaf)):
                continue
            try:
                arrays[index] = _core.leaf(leaf, f"the aux output of {name}{paths[index]}")
            except TypeError:
                if not self._any_object or hasattr(leaf, "__array__"):
                    raise
        self._leaves = [None if index in arrays else leaf for index, leaf in enumerate(self._leaves)]
        self._positions = list(arrays)  # type: ignore[assignment]
        return list(arrays.values())

    def unflatten(self, arrays: Sequence[Any]) -> Any:
        """The output made of these arrays."""
        leaves = list(self._leaves)
        for index, array in zip(self._positions, arrays, strict=True):
            leaves[index] = array
        return self._structure.unflatten(leaves)


class Captured:
    """A captured function. ``aux``: what the transform that captured it wants to know of it."""

    def __init__(self, graph: Graph, closure: list[Array], structure: PyTreeDef, aux: Any = None) -> None:
        self.graph = graph
        self.closure = closure
        self.structure = structure
        self.aux = aux


def repeated_integers(leaves: Sequence[Any], axes: Sequence[int] = ()) -> dict[int, int]:
    """Positions of integer leaves that are an earlier leaf once more (and mapped along the same axis), and where that is.

    A function sees those as one value: two axes whose lengths are one array are of one length. Floating leaves stay apart: each has its
    own derivative.
    """
    if len({id(leaf) for leaf in leaves}) == len(leaves):
        return {}
    first: dict[tuple[int, int], int] = {}
    repeated: dict[int, int] = {}
    for index, leaf in enumerate(leaves):
        earlier = first.setdefault((id(leaf), axes[index] if axes else 0), index)
        if earlier != index and isinstance(leaf, Array) and _core.dtype_kind(leaf.dtype) in ("signed", "unsigned"):
            repeated[index] = earlier
    return repeated


def capture(
    function: Callable[..., Any],
    leaves: Sequence[Any],
    structure: PyTreeDef,
    mode: str,
    *,
    name: str,
    concrete: bool = False,
    has_aux: bool = False,
    names: Sequence[str] | None = None,
    ragged: Any = None,
    differentiated: Sequence[bool] = (),
    dependent_as: Sequence[Any] | None = None,
) -> Captured:
    """Runs ``function(*args, **kwargs)`` once on traced leaves of the structure ``(args, kwargs)`` and records it.

    With ``has_aux`` the function returns a pair; the leaves of the second part are further outputs, and ``aux`` is their structure.
    Values that depend on leaves that are ``differentiated`` cannot leave the program as plain numbers. With ``dependent_as``, arrays
    that depend on what the leaves do, the function is one that a rule of the user's stands for when it is differentiated.
    """
    out_structure: PyTreeDef | None = None
    aux_form: _Aux | None = None

    repeated = {} if mode == "jit" else repeated_integers(leaves)

    def run(inputs: list[Array]) -> tuple[list[Any], None]:
        nonlocal out_structure, aux_form
        if repeated:
            inputs = [inputs[repeated.get(index, index)] for index in range(len(inputs))]
        args, kwargs = structure.unflatten(inputs)
        result = function(*args, **kwargs)
        aux_leaves: list[Any] = []
        if has_aux:
            if not isinstance(result, tuple) or len(result) != 2:
                raise TypeError(
                    f"{name} must return a pair (output, aux) because has_aux=True; it returned {kind_of(result)}\n"
                    "  return (output, aux), or leave has_aux out"
                )
            result, aux = result
            aux_form = _Aux(aux, mode == "transform")
            aux_leaves = aux_form.arrays(name)
        out_leaves, out_structure = flatten_arguments(result, f"the output of {name}")
        return [*out_leaves, *aux_leaves], None

    graph, closure, _ = _core.capture(
        run,
        [source_of(leaf) for leaf in leaves],
        names if names is not None else structure_names(structure),
        mode,
        name,
        list(leaves) if concrete else None,
        ragged,
        None,
        list(differentiated),
        dependent_as,
    )
    assert out_structure is not None
    return Captured(graph, closure, out_structure, aux_form)


def keep_recipe(graph: Graph, capture_again: Callable[[], Graph]) -> Graph:
    """The graph, with what captures it again: a program may hold it, and run it inside a mask later (`with_lengths`)."""
    if not _core.keeps_lengths():
        graph._capture_again = capture_again
    return graph


def with_lengths(graph: Graph) -> Graph:
    """The graph to run here.

    Derivatives say how long their ragged axes are only in programs captured inside of a mask, so inside of one a graph from outside is
    captured again.
    """
    capture_again = getattr(graph, "_capture_again", None)
    if capture_again is None or not _core.keeps_lengths():
        return graph
    if not hasattr(graph, "_with_lengths"):
        with _core.EagerScope():
            again = capture_again()
        # A function that gives another program now is none to go by.
        same = again.in_avals == graph.in_avals and again.out_avals == graph.out_avals
        graph._with_lengths = again if same else graph
    return graph._with_lengths


def as_ragged_as(x: Any, model: Any, first: int = 0) -> Any:
    """``x`` inside a mask, its axes from ``first`` on as ragged as those of ``model``.

    Derivatives already are, but for zeros, which nothing has given a length.
    """
    for axis in _core.ragged_axes(model):
        if first + axis not in _core.ragged_axes(x):
            x = set_length(x, _core.length_of(model, axis), first + axis)
    return x


def set_length(x: Array, length: Any, axis: int) -> Array:
    """The first ``length`` elements of ``x`` along an axis, inside a mask."""
    return primitives.set_length(x, length, axis=axis, cuts=True)


def structure_names(structure: PyTreeDef) -> list[str]:
    """Names of inputs for printing: the path without punctuation, where it is one word."""
    names = []
    for path in structure.paths():
        parts = [part for part in path.replace("]", "").replace("'", "").replace(".", "[").split("[") if part]
        words = parts[2:] if len(parts) > 2 and parts[0] == "0" else parts[1:]
        name = "_".join(words)
        names.append(name if name.isidentifier() else "")
    return names


def give_lengths(x: Array, lengths: dict[int, Array]) -> Array:
    """``x`` with ragged axes of the given lengths."""
    for axis, length in lengths.items():
        x = set_length(x, length, axis)
    return x
