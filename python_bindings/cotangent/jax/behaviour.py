"""What arrays do otherwise while JAX is answered from here: all that is not a matter of a name.

Constant indices out of bounds are clamped in reads and dropped in updates, where cotangent refuses them. Arrays of NumPy of 64 bits beside
an operator have 32. Traced arrays have the attributes by which libraries tell captures apart.
"""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any

import numpy as np

from cotangent import _core
from cotangent._array_assignment import assign
from cotangent._base import callbacks
from cotangent._base.device import Device
from cotangent._base.small_floats import has_small_floats
from cotangent._core import Array, PyTreeDef, Traced
from cotangent._ops import arithmetic, index_plans, indexing
from cotangent._ops.dtypes import ScalarType
from cotangent._transforms import stages, staging
from cotangent._transforms.custom_function import CustomFunction
from cotangent.checkify import checks
from cotangent.jax import narrowing
from cotangent.jax.internals import watched
from cotangent.jax.internals.avals import Trace, live_trace, typeof
from cotangent.jax.internals.captures import counted
from cotangent.jax.internals.jaxprs import traced_jaxpr
from cotangent.jax.internals.namespace_info import namespace_of
from cotangent.jax.internals.processes import DEVICE_MEMBERS
from cotangent.jax.internals.shards import ARRAY_MEMBERS, SHARDING_MEMBERS
from cotangent.jax.internals.shown import SHOWN, whole_power
from cotangent.jax.internals.trees import checked_flatten_up_to, structure_text
from cotangent.jax.internals.user_traces import unless_traced
from cotangent.jax.internals.windows import get_item
from cotangent.jax.mirror.errors import JaxRuntimeError, runtime_error_of
from cotangent.jax.narrowing import narrow, traceable
from cotangent.jax.tracebacks import api_boundary, leave
from cotangent.jax.wording import CONVERSIONS, converting
from cotangent.lax import convolution
from cotangent.numpy import quantiles
from cotangent.sharding import SingleDeviceSharding

__all__ = ["start", "stop"]

_REFLECTED = (
    "add", "sub", "mul", "truediv", "floordiv", "mod", "divmod", "pow", "matmul", "and", "or", "xor", "lshift", "rshift"
)  # fmt: skip
_OPERATORS = [
    *(f"__{name}__" for name in _REFLECTED),
    *(f"__r{name}__" for name in _REFLECTED),
    *(f"__{name}__" for name in ("lt", "le", "gt", "ge", "eq", "ne")),
]


def _trace(x: Array) -> Trace:
    return live_trace()


# Of Python's, which have no operator with an array either.
_COLLECTIONS = (dict, set, frozenset, list, tuple)


def _unsupported(name: str, y: Any) -> str:
    left, right = "ArrayImpl", type(y).__name__
    if name.removeprefix("__r").removesuffix("__") in _REFLECTED:
        left, right = right, left
    return f"unsupported operand type(s) for {name}: '{left}' and '{right}'\n  make an array of it, if it holds numbers"


def _operator(own: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def apply(x: Any, y: Any) -> Any:
        try:
            y = narrow(y) if type(y) is np.ndarray else y
            watch = narrowing.watch
            result = own(x, y) if watch is None else watch(own, (x, y), {})
            if result is NotImplemented and type(y) in _COLLECTIONS:
                raise TypeError(_unsupported(own.__name__, y))
            return result
        except Exception:
            leave()
            raise

    return apply


def _ufunc(own: Callable[..., Any]) -> Callable[..., Any]:
    def apply(x: Any, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        inputs = tuple(narrow(value) if isinstance(value, (np.ndarray, np.generic)) else value for value in inputs)
        return own(x, ufunc, method, *inputs, **kwargs)

    return apply


def _astype(own: Callable[..., Any]) -> Callable[..., Any]:
    def astype(x: Array, dtype: Any, *args: Any, **kwargs: Any) -> Any:
        return own(x, narrow(dtype), *args, **kwargs)

    return astype


def _refuse(x: Array, index: Any, value: Any, held: bool) -> None:
    raise TypeError(
        "JAX arrays are immutable and do not support in-place item assignment.\n"
        "  Instead of x[idx] = y, use x = x.at[idx].set(y) or another .at[] method"
    )


def _format(own: Any) -> Any:
    """In an f-string a single number has the digits that NumPy's scalars have there, those of float64."""

    def format_(x: Any, spec: str) -> str:
        whole = x.ndim > 0 or isinstance(x, Traced) or _core.dtype_kind(x.dtype) == "key"
        return own(x, spec) if whole else format(np.asarray(x)[()], spec)

    return format_


def _round(own: Callable[..., Any]) -> Callable[..., Any]:
    def rounded(x: Array, ndigits: int | None = None) -> Any:
        result = own(x, 0 if ndigits is None else ndigits)
        return result if ndigits is not None else result.astype(_core.default_int_dtype())  # as of Python's numbers

    return rounded


def _compile(own: Callable[..., Any]) -> Callable[..., Any]:
    def compile(x: Any, compiler_options: Any = None, **_: Any) -> Any:  # noqa: A001 (JAX's name)
        for name in compiler_options or ():
            if not name.startswith("xla_"):  # those are another compiler's
                raise JaxRuntimeError(
                    f"INVALID_ARGUMENT: No such compile option: {name!r}\n  leave it out, or name one of XLA's: xla_…"
                )
        return own(x)

    return compile


class _Attributes:
    """Members of a class that are replaced, and put back."""

    def __init__(self, owner: Any) -> None:
        self._owner = owner
        self._own: dict[str, Any] = {}

    def set(self, name: str, member: Any) -> None:
        self._own[name] = vars(self._owner).get(name)
        setattr(self._owner, name, member)

    def wrap(self, name: str, make: Callable[[Any], Any]) -> None:
        """Replaces a member by one that calls it."""
        member = vars(self._owner).get(name)
        if member is not None:
            self.set(name, make(member))

    def restore(self) -> None:
        """Puts everything back."""
        for name, member in self._own.items():
            if member is None:
                delattr(self._owner, name)
            else:
                setattr(self._owner, name, member)
        self._own.clear()


_array, _traced, _sharding = _Attributes(Array), _Attributes(Traced), _Attributes(SingleDeviceSharding)
_device = _Attributes(Device)
_custom, _structures = _Attributes(CustomFunction), _Attributes(PyTreeDef)
_lowered, _convolution = _Attributes(stages.Lowered), _Attributes(convolution)
_scalar_types = _Attributes(ScalarType)
_stage_of_trace, _arithmetic = _Attributes(stages.Traced), _Attributes(arithmetic)


def start() -> None:
    """From here on arrays act as JAX's. NumPy knows the names of its small floats, as it does where JAX is imported."""
    has_small_floats()
    index_plans.constants_are_as_arrays = True
    quantiles.ties_are_even = False
    checks.shows_counted_from_front = True
    _core.set_flag("narrow", True)
    _core.set_flush_subnormals(True)
    callbacks.raised_as = runtime_error_of
    callbacks.given_as = _core.array
    staging.around_trace = counted
    watched.start()
    _array.set("_trace", property(_trace))
    _array.set("aval", property(typeof))
    _custom.wrap("__call__", lambda own: api_boundary(unless_traced(own)))
    _structures.wrap("flatten_up_to", lambda own: _core.leaving(checked_flatten_up_to(own)))
    _structures.set("__repr__", structure_text)
    for name in CONVERSIONS:
        _traced.set(name, converting(name, getattr(Traced, name)))
    _lowered.wrap("compile", lambda own: _core.leaving(_compile(own)))
    _stage_of_trace.set("jaxpr", property(traced_jaxpr))
    _convolution.set("conv_general_dilated", SHOWN["conv_general_dilated"])  # which the other convolutions call
    _arithmetic.set("integer_power", whole_power)
    _scalar_types.wrap("__call__", traceable)
    _array.wrap("astype", _astype)
    _array.wrap("__array_namespace__", namespace_of)
    _core.set_assignment_hook(_refuse)
    _core.set_index_hook(get_item)
    _array.wrap("__round__", _round)
    _array.wrap("__format__", _format)
    for owner, members in ((_array, ARRAY_MEMBERS), (_sharding, SHARDING_MEMBERS), (_device, DEVICE_MEMBERS)):
        for name, member in members.items():
            owner.set(name, _core.leaving(member) if isinstance(member, types.FunctionType) else member)
    for owner in (_array, _traced):
        owner.wrap("__array_ufunc__", _ufunc)
        for name in _OPERATORS:
            owner.wrap(name, _operator)


def stop() -> None:
    """From here on arrays act as cotangent's."""
    index_plans.constants_are_as_arrays = False
    _core.set_assignment_hook(assign)
    _core.set_index_hook(indexing.get_item)
    quantiles.ties_are_even = True
    checks.shows_counted_from_front = False
    _core.set_flag("narrow", False)
    _core.set_flush_subnormals(False)
    callbacks.raised_as = None
    callbacks.given_as = None
    staging.around_trace = None
    watched.stop()
    for attributes in (
        _array,
        _traced,
        _sharding,
        _device,
        _custom,
        _structures,
        _lowered,
        _convolution,
        _arithmetic,
        _scalar_types,
        _stage_of_trace,
    ):
        attributes.restore()
