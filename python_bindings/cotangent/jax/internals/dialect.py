"""The equations of programs in JAX's words: the names and the parameters that its operations have, where ours are others.

`in_jax_words` gives them for an equation of ours; `bind_by_jax_name` computes what an operation with JAX's parameters does, for programs
that evaluate equations themselves: ``eqn.primitive.bind(*values, **eqn.params)``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cotangent as ct
from cotangent import _core
from cotangent.jax.internals.indexing_words import INDEXING_BINDERS

__all__ = ["BINDERS", "HAS_MANY_RESULTS", "WITH_NUMBERS", "bind_by_jax_name", "in_jax_words"]

Params = dict[str, Any]

# Names of operations, where those that libraries look for are others here.
_NAMES = {
    "bitcast": "bitcast_convert_type",
    "broadcast": "broadcast_in_dim",
    "call": "jit",
    "checkpoint": "remat2",
    "convert": "convert_element_type",
    "custom_jvp": "custom_jvp_call",
    "divide": "div",
    "multiply": "mul",
    "reverse": "rev",
    "select": "select_n",
    "subtract": "sub",
    "tag": "name",
}

# Functions of elements, where they are called otherwise.
_ELEMENTWISE_NAMES = {"i0e": "bessel_i0e", "i1e": "bessel_i1e"}

# Those whose `bind` returns a list.
HAS_MANY_RESULTS = frozenset(
    (
        "call", "closed_call", "cond", "core_call", "custom_jvp_call", "custom_vjp_call", "eig", "eigh", "elementwise", "host_callback",
        "jit", "lu", "qr", "remat2", "scan", "sort", "split", "svd", "threefry2x32", "top_k", "while",
    )
)  # fmt: skip


# Operations of elements, ours, which in JAX take single numbers beside arrays.
WITH_NUMBERS = frozenset(
    (
        "add", "and", "atan2", "div", "divide", "elementwise", "eq", "ge", "gt", "le", "lt", "max", "min", "mul", "multiply", "ne", "or",
        "pow", "rem", "shift_left", "shift_right_arithmetic", "shift_right_logical", "sub", "subtract", "xor",
    )
)  # fmt: skip


def _dot_general(params: Params, out: Any) -> Params:
    contract = (tuple(params.pop("lhs_contract")), tuple(params.pop("rhs_contract")))
    batch = (tuple(params.pop("lhs_batch")), tuple(params.pop("rhs_batch")))
    given = {"precision": None, "preferred_element_type": out.dtype, "out_sharding": None}
    return {"dimension_numbers": (contract, batch), **given, **params}


def _slice(params: Params, out: Any) -> Params:
    start, limit, stride = (tuple(params[name]) for name in ("start", "limit", "stride"))
    return {"start_indices": start, "limit_indices": limit, "strides": None if set(stride) <= {1} else stride}


def _scan(params: Params, out: Any) -> Params:
    renamed = {_SCAN.get(name, name): value for name, value in params.items()}
    inputs = len(renamed["jaxpr"].in_avals)
    return {"linear": (False,) * inputs, "unroll": 1, "_split_transpose": False, **renamed}


_SCAN = {"num_carries": "num_carry", "num_constants": "num_consts"}


def _padding(params: Params, out: Any) -> Params:
    return {"padding_config": tuple(zip(params["low"], params["high"], params["interior"], strict=True))}


def _dynamic_slice(params: Params, out: Any) -> Params:
    return {"slice_sizes": tuple(params["sizes"])}


def _bitcast(params: Params, out: Any) -> Params:
    return {"new_dtype": out.dtype}


def _fft(params: Params, out: Any) -> Params:
    return {"fft_type": ct.lax.FftType[str(params["kind"]).upper()], "fft_lengths": tuple(params["lengths"])}


def _renaming(names: dict[str, str], **given: Any) -> Callable[[Params, Any], Params]:
    """Other names of parameters, of which lists are tuples, and those that only JAX has."""

    def rename(params: Params, out: Any) -> Params:
        held = {name: tuple(value) if isinstance(value, list) else value for name, value in params.items()}
        return {**given, **{names.get(name, name): value for name, value in held.items()}}

    return rename


# Functions that JAX computes to an accuracy that may be asked for.
_OF_ACCURACY = (
    "cbrt", "cos", "exp", "exp2", "expm1", "log", "log1p", "logistic", "rsqrt", "sin", "sqrt", "tan", "tanh",
)  # fmt: skip

# By our names: the parameters in JAX's words, given ours and the type of the first result.
_PARAMS: dict[str, Callable[[Params, Any], Params]] = {
    **dict.fromkeys(_OF_ACCURACY, _renaming({}, accuracy=None)),
    "bitcast": _bitcast,
    "broadcast": _renaming({"axes": "broadcast_dimensions"}, sharding=None),
    "call": _renaming({}, inline=False, keep_unused=False),
    "concatenate": _renaming({"axis": "dimension"}),
    "convert": _renaming({"dtype": "new_dtype", "weak": "weak_type"}, weak_type=False, sharding=None),
    "custom_jvp": _renaming({"jaxpr": "call_jaxpr", "rule": "jvp_jaxpr_fun"}, num_consts=0, symbolic_zeros=False),
    "dot_general": _dot_general,
    "dynamic_slice": _dynamic_slice,
    "dynamic_update_slice": lambda params, out: {},
    "fft": _fft,
    "iota": _renaming({"axis": "dimension"}, sharding=None),
    "multiply": _renaming({}, out_dtype=None),
    "mul": _renaming({}, out_dtype=None),
    "pad": _padding,
    "reduce_max": _renaming({}),
    "reduce_min": _renaming({}),
    "reduce_sum": _renaming({}, out_sharding=None),
    "reshape": _renaming({"shape": "new_sizes"}, dimensions=None, sharding=None),
    "reverse": _renaming({"axes": "dimensions"}),
    "round": _renaming({}, rounding_method=ct.lax.RoundingMethod.TO_NEAREST_EVEN),
    "scan": _scan,
    "slice": _slice,
    "sort": _renaming({"axis": "dimension"}, is_stable=True),
    "transpose": _renaming({}),
    "while": _renaming(
        {
            "body": "body_jaxpr",
            "condition": "cond_jaxpr",
            "num_body_constants": "body_nconsts",
            "num_condition_constants": "cond_nconsts",
        }
    ),
}

# The operands of ours in the order of JAX's, where it is another.
_ORDER = {"select": (0, 2, 1)}


# Parameters of which JAX's operations of the same names have none: such an equation keeps ours.
_OURS_ALONE = frozenset(("batch_dims", "count", "descending"))


def _is_ours_alone(params: Params) -> bool:
    return any(params.get(name) for name in _OURS_ALONE)


# What extremes of bools are.
_OF_BOOLS = {"reduce_max": "reduce_or", "reduce_min": "reduce_and"}


def in_jax_words(name: str, params: Params, operand: Any, out: Any) -> tuple[str, Params, tuple[int, ...] | None]:
    """The name of an operation of ours, its parameters and the order of its operands, in JAX's words, given the first types."""
    if name == "bitcast" and "V" in (operand.dtype.kind, out.dtype.kind):  # of random keys, which have their own in JAX
        return name, params, None
    if name == "conj":
        return name, {"input_dtype": operand.dtype}, None
    if name in _OF_BOOLS and operand.dtype == "bool":
        return _OF_BOOLS[name], {"axes": tuple(params["axes"])}, None
    if name == "elementwise":
        function = str(params.get("name")).removeprefix("_")
        function = _ELEMENTWISE_NAMES.get(function, function)
        if hasattr(ct.lax, function):
            return function, {}, None
    form = None if _is_ours_alone(params) else _PARAMS.get(name)
    return _NAMES.get(name, name), params if form is None else form(dict(params), out), _ORDER.get(name)


# ---- Operations by JAX's names


def _evaluated(closed: Any) -> Callable[..., list[Any]]:
    return closed.results  # type: ignore[no-any-return]


def _bind_call(*args: Any, jaxpr: Any = None, subfuns: Any = (), **_: Any) -> list[Any]:
    """The results of a program, or of a function on its way through transformations, which becomes a part of what calls it."""
    if jaxpr is not None:
        return _evaluated(jaxpr)(*args)
    (fun,) = subfuns
    return list(fun.call_wrapped(*args))


def _bind_elementwise(*args: Any, jaxpr: Any, **_: Any) -> list[Any]:
    """A program of scalars, for each element."""
    shape = args[0].shape
    results = ct.vmap(lambda *xs: tuple(jaxpr.results(*xs)))(*[x.ravel() for x in args])
    return [result.reshape(shape) for result in results]


def _bind_custom(*args: Any, call_jaxpr: Any, **_: Any) -> list[Any]:
    return _evaluated(call_jaxpr)(*args)


def _bind_custom_jvp(
    *args: Any, call_jaxpr: Any = None, jvp_jaxpr_fun: Any = None, subfuns: tuple[Any, ...] = (), **_: Any
) -> list[Any]:
    """A function with its derivative: a program, or both of them as functions of flat lists, which may also come before the operands."""
    if call_jaxpr is not None:
        fun, jvp, operands = call_jaxpr.results, jvp_jaxpr_fun, list(args)
    else:
        wrapped, jvp, *operands = (*subfuns, *args)
        fun = wrapped.call_wrapped
    if jvp is None:
        return list(fun(*operands))
    function = ct.custom_jvp(lambda *xs: tuple(fun(*xs)))

    def rule(primals: Any, tangents: Any) -> Any:
        results = jvp.call_wrapped(*primals, *tangents)
        half = len(results) // 2
        return tuple(results[:half]), tuple(results[half:])

    function.defjvp(rule)
    return list(function(*operands))


def _bind_scan(
    *args: Any, jaxpr: Any, length: int, num_carry: int, num_consts: int, reverse: bool = False, **_: Any
) -> list[Any]:
    constants, carries, rows = (
        args[:num_consts],
        args[num_consts : num_consts + num_carry],
        args[num_consts + num_carry :],
    )
    body = _evaluated(jaxpr)

    def step(carry: Any, row: Any) -> Any:
        results = body(*constants, *carry, *row)
        return tuple(results[:num_carry]), tuple(results[num_carry:])

    carry, stacked = ct.lax.scan(step, tuple(carries), tuple(rows), length, reverse=reverse)
    return [*carry, *stacked]


def _bind_while(
    *args: Any, body_jaxpr: Any, cond_jaxpr: Any, body_nconsts: int, cond_nconsts: int, **_: Any
) -> list[Any]:
    of_condition, of_body = args[:cond_nconsts], args[cond_nconsts : cond_nconsts + body_nconsts]
    body, condition = _evaluated(body_jaxpr), _evaluated(cond_jaxpr)
    return list(
        ct.lax.while_loop(
            lambda carry: condition(*of_condition, *carry)[0],
            lambda carry: tuple(body(*of_body, *carry)),
            tuple(args[cond_nconsts + body_nconsts :]),
        )
    )


def _bind_cond(index: Any, *args: Any, branches: Any, **_: Any) -> list[Any]:
    return list(ct.lax.switch(index, [_evaluated(branch) for branch in branches], *args))


def _bind_to_accuracy(name: str) -> Callable[..., Any]:
    return lambda x, *, accuracy=None: getattr(ct.lax, name)(x, accuracy=accuracy)


def _bind_reduction(name: str) -> Callable[..., Any]:
    return lambda x, *, axes, **_: _core.bind(name, [x], axes=axes)


def _bind_of_bits(name: str, ours: str) -> Callable[..., Any]:
    """A reduction by bits, which of bools is an extreme."""

    def reduce(x: Any, *, axes: Any, **_: Any) -> Any:
        array = _core.array(x)
        if array.dtype == "bool":
            return _core.bind(ours, [array], axes=list(axes))[0]
        return getattr(ct.lax, name)(array, axes)

    return reduce


BINDERS: dict[str, Callable[..., Any]] = {
    **{name: getattr(ct.lax, f"bitwise_{name}") for name in ("and", "not", "or", "xor")},
    **{name: _bind_to_accuracy(name) for name in _OF_ACCURACY},
    "bitcast_convert_type": lambda x, *, new_dtype: ct.lax.bitcast_convert_type(x, new_dtype),
    "broadcast_in_dim": lambda x, *, shape, broadcast_dimensions, **_: ct.lax.broadcast_in_dim(
        x, shape, broadcast_dimensions
    ),
    "call": _bind_call,
    "closed_call": _bind_call,
    "core_call": _bind_call,
    "concatenate": lambda *xs, dimension: ct.lax.concatenate(xs, dimension),
    "cond": _bind_cond,
    "convert_element_type": lambda x, *, new_dtype, **_: ct.lax.convert_element_type(x, new_dtype),
    "custom_jvp_call": _bind_custom_jvp,
    "custom_vjp_call": _bind_custom,
    "dot_general": lambda x, y, *, dimension_numbers, precision=None, preferred_element_type=None, **_: (
        ct.lax.dot_general(x, y, dimension_numbers, precision, preferred_element_type)
    ),
    "dynamic_slice": lambda x, *starts, slice_sizes: ct.lax.dynamic_slice(x, starts, slice_sizes),
    "dynamic_update_slice": lambda x, update, *starts: ct.lax.dynamic_update_slice(x, update, starts),
    **INDEXING_BINDERS,
    "elementwise": _bind_elementwise,
    "conj": lambda x, **_: ct.lax.conj(x),
    "fft": lambda x, *, fft_type, fft_lengths: ct.lax.fft(x, fft_type, fft_lengths),
    "integer_pow": lambda x, *, y: ct.lax.integer_pow(x, y),
    "iota": lambda *, dtype, shape, dimension, **_: ct.lax.broadcasted_iota(dtype, shape, dimension),
    "jit": _bind_call,
    "mul": lambda x, y, **_: ct.lax.mul(x, y),
    "name": lambda x, *, name: ct.ad_checkpoint.checkpoint_name(x, name),
    "pad": lambda x, value, *, padding_config: ct.lax.pad(x, value, padding_config),
    "pjit": _bind_call,
    **{name: _bind_reduction(name) for name in ("reduce_max", "reduce_min", "reduce_sum")},
    **{name: _bind_of_bits(name, ours) for ours, name in _OF_BOOLS.items()},
    "remat2": _bind_call,
    "reshape": lambda x, *, new_sizes, **_: ct.lax.reshape(x, new_sizes),
    "rev": lambda x, *, dimensions: ct.lax.rev(x, dimensions),
    "scan": _bind_scan,
    "select_n": lambda which, *cases: ct.lax.select_n(which, *cases),
    "slice": lambda x, *, start_indices, limit_indices, strides=None: ct.lax.slice(
        x, start_indices, limit_indices, strides
    ),
    "sort": lambda *xs, dimension, num_keys=1, **_: ct.lax.sort(xs, dimension=dimension, num_keys=num_keys),
    "squeeze": lambda x, *, dimensions: ct.lax.squeeze(x, dimensions),
    "while": _bind_while,
}


def bind_by_jax_name(name: str, args: tuple[Any, ...], params: Params) -> list[Any]:
    """The results of an operation with JAX's name and parameters. One without any takes those of others that say nothing, as JAX's do."""
    binder = None if _is_ours_alone(params) else BINDERS.get(name)
    if binder is None and all(value is None for value in params.values()):
        params = {}
        binder = getattr(ct.lax, name, None)
    found = _core.bind(name, list(args), **params) if binder is None else binder(*args, **params)
    return list(found) if isinstance(found, (list, tuple)) else [found]
