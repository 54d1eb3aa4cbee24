"""Traces of a library's own: `jax.core.Trace` and `jax.core.Tracer`, to derive from, and how operations reach them.

While `set_current_trace` has made such a trace the current one, an operation on its tracers is its matter: `process_primitive` is
given the primitive, the operands and the parameters, and what it returns is the result. A function of arrays is written in terms of
operations on arrays, so where one meets a `Tracer`, it is captured with inputs of the types that the tracers have, and its equations are handed to
the trace one by one, in JAX's words (`through_trace`). Functions find out by the error that a tracer raises where an array is made of it,
`TracerMetError`: what has no tracers among its arguments pays nothing.
"""

from __future__ import annotations

import functools
import operator
import threading
import types
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from cotangent import _core, tree_util
from cotangent._base.arguments import leaving_methods, suggestion
from cotangent._base.capture import wraps
from cotangent._core import Array, JitFunction, Traced
from cotangent.errors import ConcretizationError
from cotangent.jax import narrowing
from cotangent.jax.internals.avals import ShapedArray, Trace, own_trace, shaped
from cotangent.jax.internals.jaxprs import Literal, as_number, as_operand, captured, closed_jaxpr_of
from cotangent.jax.narrowing import TracerMetError

__all__ = ["TraceTag", "Tracer", "for_traces", "through_trace", "unless_traced"]


class TraceTag:
    """What tells the tracers of one call of a library's transform from those of another: all are equal, and none is another."""

    def __hash__(self) -> int:
        return hash(TraceTag)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TraceTag)


class _NeededError(Exception):
    """A function that is being captured for a trace uses a tracer from outside, which has to become an input."""

    def __init__(self, tracer: Tracer) -> None:
        super().__init__("a tracer of an enclosing function is used where its value is not an input")
        self.tracer = tracer


class UnsizedTracerError(TracerMetError):
    """``len`` of a tracer without axes, which functions of arrays try, too."""

    def __init__(self, tracer: Tracer) -> None:
        super().__init__(tracer)
        self.args = ("len() of unsized object",)


class _State(threading.local):
    def __init__(self) -> None:
        self.inputs: list[dict[int, Array]] = []  # of the functions that are being captured, by the tracers' identities


_state = _State()


def _input_for(tracer: Tracer) -> Array:
    """The input that a tracer is of a function that is being captured for its trace."""
    for known in reversed(_state.inputs):
        if id(tracer) in known:
            return known[id(tracer)]
    raise _NeededError(tracer)


def _met(tracer: Tracer) -> Array:
    """The same, where one is being captured; else TracerMetError."""
    if not _state.inputs or own_trace() is not None:
        raise TracerMetError(tracer)
    return _input_for(tracer)


def through_trace(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The result of a function of arrays on arguments among which are tracers: its equations are handed to the current trace.

    Raises:
        TracerMetError: no trace of a library's own is the current one.
    """
    trace = own_trace()
    leaves, structure = tree_util.tree_flatten((args, kwargs))
    positions = {position: leaf for position, leaf in enumerate(leaves) if type(leaf) is not Array and _is_tracer(leaf)}
    if trace is None:
        if not positions or not _state.inputs:
            raise TracerMetError(next(iter(positions.values()), None))
        args, kwargs = structure.unflatten(
            [_input_for(leaf) if position in positions else leaf for position, leaf in enumerate(leaves)]
        )
        return function(*args, **kwargs)
    tracers = list({id(tracer): tracer for tracer in positions.values()}.values())
    while True:

        def run(*inputs: Any) -> Any:
            known = {id(tracer): value for tracer, value in zip(tracers, inputs, strict=True)}
            given = [known[id(leaf)] if position in positions else leaf for position, leaf in enumerate(leaves)]
            inner_args, inner_kwargs = structure.unflatten(given)
            _state.inputs.append(known)
            try:
                return function(*inner_args, **inner_kwargs)
            finally:
                _state.inputs.pop()

        functools.update_wrapper(run, function, assigned=("__name__", "__qualname__"), updated=())
        try:
            program, _ = captured(run, tuple(shaped(tracer.aval) for tracer in tracers), {})
            break
        except _NeededError as needed:
            if any(needed.tracer is tracer for tracer in tracers):
                raise
            tracers.append(needed.tracer)
    closed = closed_jaxpr_of(program.graph, program.closure, len(tracers))
    return program.structure.unflatten(_processed(trace, closed, tracers))


class _TraceableJit:
    """A jitted function that may be called with tracers of a library's own trace: for these it is one operation.

    Functions are made such where a library has derived a trace; others pay nothing.
    """

    def __init__(self, jitted: Any) -> None:
        self._jitted = jitted
        wraps(jitted.__wrapped__)(self)

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        """That of jitted functions, for `isinstance`."""
        return JitFunction

    @_core.leaving
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        try:
            return self._jitted(*args, **kwargs)
        except TracerMetError:
            return through_trace(self._jitted, args, kwargs)

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else types.MethodType(self, instance)

    def __getattr__(self, name: str) -> Any:
        return getattr(object.__getattribute__(self, "_jitted"), name)  # which a copy that is not filled yet has not

    def __reduce__(self) -> Any:
        return _TraceableJit, (self._jitted,)


def for_traces(jitted: Any) -> Any:
    """A jitted function for programs in which a library has a trace of its own."""
    return _TraceableJit(jitted) if Trace.has_heirs else jitted


def unless_traced(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, but through the current trace where that is a library's own and its tracers are among the arguments."""

    @functools.wraps(function)
    def run(*args: Any, **kwargs: Any) -> Any:
        if own_trace() is not None and any(_is_tracer(leaf) for leaf in tree_util.tree_leaves((args, kwargs))):
            return through_trace(function, args, kwargs)
        return function(*args, **kwargs)

    return run


def _processed(trace: Trace, closed: Any, tracers: list[Any]) -> list[Any]:
    """The results of a program, of which the trace processes the equations whose operands are tracers."""
    values = dict(zip([*closed.constvars, *closed.invars], [*closed.consts, *tracers], strict=True))

    def read(var: Any) -> Any:
        return as_operand(var) if isinstance(var, Literal) else values[var]

    for eqn in closed.eqns:
        if any(not isinstance(var, Literal) and _is_tracer(values[var]) for var in eqn.invars):
            found = _process(trace, eqn, [as_number(v) if isinstance(v, Literal) else values[v] for v in eqn.invars])
        else:
            found = eqn.evaluate(*[read(var) for var in eqn.invars])
        values.update(zip(eqn.outvars, found, strict=True))
    return [read(var) for var in closed.outvars]


def _process(trace: Trace, eqn: Any, operands: list[Any]) -> list[Any]:
    if eqn.primitive.name == "custom_jvp_call":
        fun, jvp = eqn.primitive.get_bind_params(eqn.params)["subfuns"]
        return list(trace.process_custom_jvp_call(eqn.primitive, fun, jvp, operands, symbolic_zeros=False))
    found = trace.process_primitive(eqn.primitive, operands, eqn.params)
    return list(found) if eqn.primitive.multiple_results else [found]


def _is_tracer(x: Any) -> bool:
    return issubclass(type(x), Tracer)


_is_instance = type.__instancecheck__


class _TracerType(type):
    """Traced arrays are instances, too."""

    def __instancecheck__(cls, instance: Any) -> bool:
        # Libraries ask for every leaf of a call.
        return _is_instance(cls, instance) or (cls is Tracer and isinstance(instance, Traced))


@leaving_methods
class _At:
    """``x.at`` of a tracer."""

    def __init__(self, tracer: Tracer, index: Any = None) -> None:
        self._tracer = tracer
        self._index = index

    def __getitem__(self, index: Any) -> _At:
        return _At(self._tracer, (index,))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(f"an update of elements has no attribute {name!r}")

        def update(*args: Any, **kwargs: Any) -> Any:
            def call(x: Any, index: Any, args: Any, kwargs: Any) -> Any:
                return getattr(x.at[index[0]], name)(*args, **kwargs)

            return through_trace(call, (self._tracer, self._index, args, kwargs), {})

        return update


class Tracer(metaclass=_TracerType):
    """A value of a trace of a library's own. Arrays' operators, methods and properties are operations on it, which its trace processes.

    ``isinstance(x, jax.core.Tracer)`` holds for arrays that are being traced by cotangent's transforms as well.
    """

    __slots__ = ("__weakref__", "_line_info", "_trace", "aval")
    __hash__ = None  # type: ignore[assignment]
    __array_priority__ = 1000
    is_of_own_trace = True
    __array_ufunc__ = None  # arrays of NumPy leave operators to it
    _trace: Any
    aval: Any

    def __class_getitem__(cls, item: Any) -> type[Tracer]:
        return cls

    def __init__(self, trace: Any, aval: Any) -> None:
        self._trace = trace
        self.aval = aval

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        """`jax.Array`, for `isinstance`; its own class answers, too."""
        return Array if isinstance(self.aval, ShapedArray) else type(self)

    @property
    def __ct_array__(self) -> Callable[[], Any] | None:
        """The input that it is of a function that is being captured for its trace."""
        if not _state.inputs:
            return None

        return lambda: _input_for(self)

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        return _met(self).__array__(*args, **kwargs)

    @property
    def shape(self) -> Any:
        """The sizes of its axes."""
        return self.aval.shape

    @property
    def dtype(self) -> Any:
        """The type of its elements."""
        return self.aval.dtype

    @property
    def ndim(self) -> int:
        """How many axes it has."""
        return len(self.aval.shape)

    @property
    def size(self) -> int:
        """How many elements it has."""
        return int(np.prod(self.aval.shape, dtype=np.int64))

    @property
    def weak_type(self) -> bool:
        """Whether its dtype yields to others."""
        return bool(getattr(self.aval, "weak_type", False))

    @property
    def at(self) -> _At:
        """Updates of its elements, as arrays have them."""
        return _At(self)

    @property
    def _jax_aval(self) -> Any:
        return self.aval

    def __getattr__(self, name: str) -> Any:
        if hasattr(Array, name):  # what functions of arrays ask of these alone
            return getattr(_met(self), name)
        raise AttributeError(f"{type(self).__name__} has no attribute {name}{suggestion(name, dir(Array))}")

    def full_lower(self) -> Any:
        """The value, where it is known without the trace."""
        return self

    def __len__(self) -> int:
        if not self.shape:
            raise UnsizedTracerError(self)
        return int(self.shape[0])

    def __iter__(self) -> Iterator[Any]:
        return iter([self[index] for index in range(len(self))])

    def __getitem__(self, index: Any) -> Any:
        return through_trace(operator.getitem, (self, index), {})

    def __repr__(self) -> str:
        return f"{type(self).__name__}<{self.aval}>"


def _of_operator(name: str) -> Callable[[Any, Any], Any]:
    function = getattr(operator, name)

    def apply(self: Any, other: Any) -> Any:
        if not (isinstance(other, (Array, np.ndarray, np.generic)) or _core.is_python_scalar(other)):
            return NotImplemented
        return through_trace(function, (self, other), {})

    return apply


def _of_reflected(name: str) -> Callable[[Any, Any], Any]:
    function = getattr(operator, name)

    def apply(self: Any, other: Any) -> Any:
        if not (isinstance(other, (Array, np.ndarray, np.generic)) or _core.is_python_scalar(other)):
            return NotImplemented
        return through_trace(function, (other, self), {})

    return apply


def _of_unary(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda self: through_trace(function, (self,), {})


def _refusal(name: str) -> Callable[..., Any]:
    def refuse(self: Any, *args: Any, **kwargs: Any) -> Any:
        raise ConcretizationError(
            f"{name} of {self!r}: a traced value, of {type(self._trace).__name__}, has no value yet\n"
            "  compute with functions of jnp, which the trace sees"
        )

    return refuse


def _of_method(name: str) -> Callable[..., Any]:
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        return through_trace(lambda x, args, kwargs: getattr(x, name)(*args, **kwargs), (self, args, kwargs), {})

    method.__name__ = name
    return method


def _of_property(name: str) -> property:
    return property(lambda self: through_trace(operator.attrgetter(name), (self,), {}))


_BINARY = (
    "add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "and_", "or_", "xor", "lshift", "rshift",
)  # fmt: skip
_COMPARISONS = ("lt", "le", "gt", "ge", "eq", "ne")
_UNARY: dict[str, Callable[[Any], Any]] = {
    "__neg__": operator.neg,
    "__pos__": operator.pos,
    "__abs__": operator.abs,
    "__invert__": operator.invert,
}
_CONVERSIONS = (
    "__bool__",
    "__int__",
    "__float__",
    "__complex__",
    "__index__",
    "item",
    "tolist",
    "tobytes",
    "__dlpack__",
)
_VALUES_ALONE = (
    "addressable_data", "block_until_ready", "copy_to_host_async", "delete", "devices", "is_deleted", "on_device_size_in_bytes",
    "unsafe_buffer_pointer",
)  # fmt: skip


def _fill() -> None:
    """Gives `Tracer` what arrays have."""
    for name in _BINARY:
        plain = name.rstrip("_")
        setattr(Tracer, f"__{plain}__", _of_operator(name))
        setattr(Tracer, f"__r{plain}__", _of_reflected(name))
    for name in _COMPARISONS:
        setattr(Tracer, f"__{name}__", _of_operator(name))
    for name, function in _UNARY.items():
        setattr(Tracer, name, _of_unary(function))
    for name in _CONVERSIONS:
        setattr(Tracer, name, _refusal(name))
    for name in dir(Array):
        if name.startswith("_") or name in _VALUES_ALONE or name in vars(Tracer):
            continue
        member = getattr(Array, name)
        setattr(Tracer, name, _of_method(name) if callable(member) else _of_property(name))


_fill()
narrowing.through_trace = through_trace
