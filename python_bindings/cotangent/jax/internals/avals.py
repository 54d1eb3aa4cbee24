"""Types of values by JAX's names: abstract values, zeros of derivatives, and which trace is live."""

from __future__ import annotations

import contextlib
import threading
import weakref
from collections.abc import Iterator
from typing import Any

import numpy as np

import cotangent as ct
from cotangent import _core, tree_util
from cotangent._base.capture import FLOAT0, ShapeDtypeStruct, SymbolicZero, float0_zeros, tangent_dtype
from cotangent._core import Array
from cotangent.jax.internals.meshes import Mesh, NamedSharding, PartitionSpec
from cotangent.jax.narrowing import canonical

__all__ = [
    "AbstractValue",
    "LiveTrace",
    "OpaqueTraceState",
    "ShapedArray",
    "Trace",
    "UndefinedPrimal",
    "Zero",
    "add_tangents",
    "current_trace",
    "find_top_trace",
    "get_aval",
    "get_opaque_trace_state",
    "instantiate_zeros",
    "is_undefined_primal",
    "live_trace",
    "mapped_aval",
    "own_trace",
    "set_current_trace",
    "shaped",
    "take_current_trace",
    "trace_state_clean",
    "typeof",
    "unmapped_aval",
    "valid_jaxtype",
    "zeros_like_aval",
]


class AbstractValue:
    """What is known of a value while a program is captured."""


class ShapedArray(ShapeDtypeStruct, AbstractValue):
    """The type of an array: shape, dtype, and whether the dtype yields to others."""

    __slots__ = ()

    def __init__(self, shape: Any, dtype: Any, weak_type: bool = False, **_: Any) -> None:
        super().__init__(shape, canonical(dtype), weak_type=weak_type)

    @property
    def vma(self) -> frozenset[str]:
        """The mesh axes along which it varies."""
        return frozenset()

    manual_axis_type = None

    @property
    def sharding(self) -> Any:
        """All elements are on the one device."""
        return NamedSharding(Mesh(), PartitionSpec(*([None] * len(self.shape))))

    def to_tangent_aval(self) -> ShapedArray:
        """The type of its derivatives."""
        return ShapedArray(self.shape, tangent_dtype(self.dtype))

    to_ct_aval = to_cotangent_aval = at_least_vspace = to_tangent_aval

    def strip_weak_type(self) -> ShapedArray:
        """The same, with a dtype that does not yield."""
        return ShapedArray(self.shape, self.dtype)

    def update(self, **changes: Any) -> ShapedArray:
        """The same with other values of some of the arguments."""
        given = {"shape": self.shape, "dtype": self.dtype, "weak_type": self.weak_type}
        return ShapedArray(**{**given, **changes})

    def str_short(self, short_dtypes: bool = False, **_: Any) -> str:
        """As JAX prints it: ``float32[3,2]``, or with short dtypes ``f32[3,2]``."""
        name = str(self.dtype)
        if short_dtypes:
            for long, short in (("bfloat", "bf"), ("float", "f"), ("uint", "u"), ("int", "i"), ("complex", "c")):
                name = name.replace(long, short) if name.startswith(long) else name
        weak = "~" if self.weak_type and not short_dtypes else ""
        return f"{weak}{name}[{','.join(str(size) for size in self.shape)}]"

    def __repr__(self) -> str:
        weak = ", weak_type=True" if self.weak_type else ""
        return f"ShapedArray({self.str_short()}{weak})".replace("~", "")

    def __str__(self) -> str:
        return self.str_short()


def shaped(x: Any) -> Any:
    """The `ShapedArray` of anything with a shape and a dtype."""
    if isinstance(x, AbstractValue):
        return x
    return ShapedArray(x.shape, x.dtype, bool(getattr(x, "weak_type", False)))


def typeof(x: Any) -> Any:
    """The type of an array, of a traced one, or of what becomes one."""
    if isinstance(x, Array):
        return ShapedArray(x.shape, x.dtype, x.weak_type)
    own = getattr(x, "_jax_aval", None)  # references
    if own is not None:
        return own
    if isinstance(x, ShapeDtypeStruct):
        return shaped(x)
    if isinstance(x, np.ndarray) and x.dtype == FLOAT0:
        return ShapedArray(x.shape, FLOAT0)
    return shaped(ct.typeof(x))


get_aval = typeof


def mapped_aval(size: int | None, axis: int | None, aval: Any) -> Any:
    """The type of an element along a mapped axis."""
    if axis is None:
        return aval
    return ShapedArray(aval.shape[:axis] + aval.shape[axis + 1 :], aval.dtype, aval.weak_type)


def unmapped_aval(size: int, axis: int | None, aval: Any, *_: Any) -> Any:
    """The type of all elements of a mapped axis together."""
    if axis is None:
        return aval
    return ShapedArray((*aval.shape[:axis], size, *aval.shape[axis:]), aval.dtype, aval.weak_type)


def valid_jaxtype(x: Any) -> bool:
    """Whether a value may be an argument of a function that is captured."""
    return isinstance(x, (bool, int, float, complex, np.ndarray, np.generic, ct.Array))


class Zero:
    """A derivative that is known to be zero, in rules of primitives."""

    def __init__(self, aval: Any) -> None:
        self.aval = aval

    @staticmethod
    def from_primal_value(value: Any) -> Zero:
        """The zero tangent of a value."""
        return Zero(typeof(value).to_tangent_aval())

    def instantiate(self) -> Any:
        """The zeros as an array."""
        return zeros_like_aval(self.aval)

    def __repr__(self) -> str:
        return f"Zero({self.aval})"


class UndefinedPrimal:
    """An operand in which an operation is linear, in its transpose rule."""

    def __init__(self, aval: Any) -> None:
        self.aval = aval

    def __repr__(self) -> str:
        return f"UndefinedPrimal({self.aval})"


tree_util.register_pytree_node(Zero, lambda z: ((), z.aval), lambda aval, _: Zero(aval))
tree_util.register_pytree_node(UndefinedPrimal, lambda p: ((), p.aval), lambda aval, _: UndefinedPrimal(aval))


def is_undefined_primal(x: Any) -> bool:
    """Whether an operand of a transpose rule is one in which the operation is linear."""
    return type(x) is UndefinedPrimal


def zeros_like_aval(aval: Any) -> Any:
    """Zeros of a type."""
    return float0_zeros(aval.shape) if aval.dtype == FLOAT0 else ct.numpy.zeros(aval.shape, aval.dtype)


def instantiate_zeros(tangent: Any) -> Any:
    """The tangent as an array."""
    return zeros_like_aval(tangent.aval) if isinstance(tangent, (Zero, SymbolicZero)) else tangent


def add_tangents(x: Any, y: Any) -> Any:
    """The sum of two derivatives."""
    return y if isinstance(x, Zero) else x if isinstance(y, Zero) else x + y


class OpaqueTraceState:
    """Which capture is live; equal while it stays the same."""

    def __init__(self, number: int) -> None:
        self._number = number

    def __eq__(self, other: object) -> bool:
        return isinstance(other, OpaqueTraceState) and self._number == other._number

    def __hash__(self) -> int:
        return hash(self._number)


def get_opaque_trace_state(convention: Any = None) -> OpaqueTraceState:
    """Which capture is live."""
    return OpaqueTraceState(_core.capture_number())


def trace_state_clean() -> bool:
    """Whether no program is being captured."""
    return not _core.is_capturing()


class Trace:
    """What operations on traced values go to. Libraries derive their own from it, which `user_traces` brings operations to."""

    is_live_capture = False
    has_heirs = False  # whether a library has derived one

    def __init_subclass__(cls) -> None:
        if cls.__module__ != __name__:
            Trace.has_heirs = True

    def __class_getitem__(cls, item: Any) -> type[Trace]:
        return cls

    @property
    def main(self) -> Any:
        """What libraries compare by identity."""
        return getattr(self, "tag", None)

    def full_raise(self, x: Any) -> Any:
        """A value as one of this trace; JAX hands it on as it is."""
        return x

    def stage_value(self, val: Any) -> Any:
        """A known value as one of this trace."""
        raise NotImplementedError(
            f"{type(self)} must override stage_value\n  define stage_value(self, val) in the class"
        )

    def process_primitive(self, primitive: Any, tracers: Any, params: Any, /) -> Any:
        """The result of an operation, or a list of them where it has several."""
        raise NotImplementedError(
            f"{type(self)} must override process_primitive\n"
            "  define process_primitive(self, primitive, tracers, params) in the class"
        )

    def process_call(self, call_primitive: Any, f: Any, tracers: Any, params: Any, /) -> Any:
        """The results of a function that a primitive calls."""
        raise NotImplementedError(
            f"{type(self)} must override process_call to handle call-like primitives\n"
            "  define process_call(self, call_primitive, f, tracers, params) in the class"
        )

    def process_custom_jvp_call(
        self, primitive: Any, fun: Any, jvp: Any, tracers: Any, /, *, symbolic_zeros: bool
    ) -> Any:
        """The results of a function that brings its derivative."""
        raise NotImplementedError(
            f"{type(self)} must override process_custom_jvp_call to handle custom_jvp primitives\n"
            "  define process_custom_jvp_call(self, primitive, fun, jvp, tracers, *, symbolic_zeros) in the class"
        )

    def process_custom_vjp_call(
        self, primitive: Any, fun: Any, fwd: Any, bwd: Any, tracers: Any, /, *, out_trees: Any, symbolic_zeros: bool
    ) -> Any:
        """The results of a function that brings its reverse derivative."""
        raise NotImplementedError(
            f"{type(self)} must override process_custom_vjp_call to handle custom_vjp primitives\n"
            "  define process_custom_vjp_call(self, primitive, fun, fwd, bwd, tracers, *, out_trees, symbolic_zeros) in the class"
        )

    def __repr__(self) -> str:
        return type(self).__name__


class LiveTrace(Trace):
    """A capture. JAX has one a transform; here a capture serves all, so that the live one is the only one that a value can ask for."""

    is_live_capture = True

    def __init__(self, number: int) -> None:
        self.number = number

    @property
    def main(self) -> LiveTrace:
        """What libraries compare by identity."""
        return self


_traces: weakref.WeakValueDictionary[int, LiveTrace] = weakref.WeakValueDictionary()


def _trace_of(number: int) -> LiveTrace:
    trace = _traces.get(number)
    if trace is None:
        trace = _traces[number] = LiveTrace(number)
    return trace


def live_trace() -> LiveTrace:
    """The live capture; one object as long as somebody holds it."""
    return _trace_of(_core.capture_number())


class _Current(threading.local):
    def __init__(self) -> None:
        self.stack: list[tuple[Trace | None, int]] = []  # with the capture in which each was made the current one


_current = _Current()


def own_trace() -> Trace | None:
    """The library's trace that is the current one. In a program that is captured since, that capture is, and not it."""
    if not _current.stack:
        return None
    trace, number = _current.stack[-1]
    return trace if number == _core.capture_number() else None


def current_trace() -> Trace:
    """The trace that operations go to: a library's own, or the live capture."""
    return own_trace() or live_trace()


@contextlib.contextmanager
def take_current_trace() -> Iterator[Trace]:
    """The current trace, in a scope in which no trace of a library's own is."""
    trace = current_trace()
    with _as_current(None):
        yield trace


@contextlib.contextmanager
def set_current_trace(trace: Trace | None, check_leaks: bool = False) -> Iterator[None]:
    """A scope in which a trace is the current one: a library's own, or the live capture, which None stands for as well.

    Raises:
        NotImplementedError: it is a capture that is not the live one.
    """
    is_own = trace is not None and not trace.is_live_capture
    if trace is not None and not is_own and trace is not live_trace():
        raise NotImplementedError(
            "a capture cannot be made the live one again while another is\n"
            "  compute with its values inside of the function that is being captured"
        )
    with _as_current(trace if is_own else None):
        yield


@contextlib.contextmanager
def _as_current(trace: Trace | None) -> Iterator[None]:
    entry = (trace, _core.capture_number())
    _current.stack.append(entry)
    try:
        yield
    finally:
        # A scope that a generator left open when an error passed it ends with the one around it, or later, when nothing of it is there.
        stack = _current.stack
        for index in reversed(range(len(stack))):
            if stack[index] is entry:
                del stack[index:]
                break


def find_top_trace(values: Any) -> Trace:
    """The innermost capture that values belong to; that of known values is number 0."""
    return _trace_of(_core.capture_number() if any(_core.is_traced(x) for x in values) else 0)
