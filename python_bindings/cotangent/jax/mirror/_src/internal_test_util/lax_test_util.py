"""``jax._src.internal_test_util.lax_test_util``: the functions of `lax`, with the dtypes, arguments and tolerances to try them with."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from cotangent import lax
from cotangent.jax.mirror import lax as primitives
from cotangent.jax.mirror._src.testing import samples
from cotangent.jax.mirror._src.testing.kinds import dtypes
from cotangent.jax.narrowing import narrowed

__all__ = [
    "NamedReducerOpRecord",
    "OpRecord",
    "ReducerOpRecord",
    "add_bdim",
    "all_bdims",
    "all_dtypes",
    "args_slicer",
    "bool_dtypes",
    "compatible_shapes",
    "complex_dtypes",
    "complex_elem_dtypes",
    "default_dtypes",
    "float_dtypes",
    "inexact_dtypes",
    "int_dtypes",
    "lax_named_reduce_ops",
    "lax_ops",
    "lax_out_dtype_ops",
    "lax_reduce_ops",
    "number_dtypes",
    "op_record",
    "python_scalar_types",
    "slicer",
    "uint_dtypes",
]

float_dtypes, complex_elem_dtypes = dtypes.all_floating, dtypes.floating
complex_dtypes, inexact_dtypes = dtypes.complex, dtypes.all_inexact
int_dtypes, uint_dtypes, bool_dtypes = dtypes.all_integer, dtypes.all_unsigned, dtypes.boolean
default_dtypes = float_dtypes + int_dtypes
number_dtypes = float_dtypes + complex_dtypes + int_dtypes + uint_dtypes
all_dtypes = number_dtypes + bool_dtypes
python_scalar_types = [bool, int, float, complex]

# Shapes that an operator takes together.
compatible_shapes = [[(3,)], [(3, 4), (3, 1), (1, 4)], [(2, 3, 4), (2, 1, 4)]]


class OpRecord(NamedTuple):
    """A function by name, and how it is tried."""

    op: str
    nargs: int
    dtypes: list[Any]
    rng_factory: Callable[..., Any]
    tol: Any


class ReducerOpRecord(NamedTuple):
    """What `lax.reduce` is given, and the primitive that it is then."""

    op: Callable[..., Any]
    reference_op: Callable[..., Any]
    init_val: Any
    dtypes: list[Any]
    primitive: Any


class NamedReducerOpRecord(NamedTuple):
    """A reduction that has a name of its own."""

    op: Callable[..., Any]
    reference_op: Callable[..., Any]
    dtypes: list[Any]


def op_record(op: str, nargs: int, dtypes: list[Any], rng_factory: Callable[..., Any], tol: Any = None) -> OpRecord:
    """A function, how many operands it has, and which."""
    return OpRecord(op, nargs, dtypes, rng_factory, tol)


_small, _default, _positive = samples.rand_small, samples.rand_default, samples.rand_positive
_real, _inexact, _integers = float_dtypes, float_dtypes + complex_dtypes, int_dtypes + uint_dtypes
_arithmetic = default_dtypes + complex_dtypes
_wide = [dtype for dtype in float_dtypes if np.dtype(dtype).itemsize > 2]
_no_bfloat16 = [dtype for dtype in float_dtypes if np.dtype(dtype).name != "bfloat16"]


def _elementary() -> Iterator[OpRecord]:
    f32, f64, c64, c128 = np.float32, np.float64, np.complex64, np.complex128
    for name, kinds, sampler, tol in [
        ("exp", _inexact, _small, None),
        ("exp2", _inexact, _small, None),
        ("expm1", _inexact, _small, {f64: 1e-8}),
        ("log", _inexact, _positive, None),
        ("log1p", _inexact, _positive, None),
        ("tanh", _inexact, _small, {f64: 1e-9, c128: 1e-7}),
        ("logistic", _inexact, _default, None),
        ("sin", _inexact, _default, None),
        ("cos", _inexact, _default, None),
        ("tan", _inexact, _default, {f32: 3e-5}),
        ("sqrt", _real, _positive, None),
        ("sqrt", complex_dtypes, _default, None),
        ("rsqrt", _real, _positive, None),
        ("rsqrt", complex_dtypes, _default, None),
        ("cbrt", _real, _default, None),
        ("square", _inexact, _default, None),
        ("reciprocal", _inexact, _positive, None),
        ("asin", _inexact, _small, {c128: 5e-12}),
        ("acos", _inexact, _small, None),
        ("atan", _inexact, _small, None),
        ("asinh", _inexact, _default, {c64: 1e-4, c128: 1e-5}),
        ("acosh", _inexact, _positive, None),
        ("atanh", _inexact, _small, {f64: 1e-9}),
        ("sinh", _inexact, _default, None),
        ("cosh", _inexact, _default, None),
        ("lgamma", _real, _positive, {f32: 1e-5, f64: 1e-14}),
        ("digamma", _real, _positive, {f64: 1e-14}),
        ("erf", _real, _small, None),
        ("erfc", _real, _small, None),
        ("erf_inv", _real, _small, {f64: 1e-9}),
        ("bessel_i0e", _real, _default, None),
        ("bessel_i1e", _real, _default, None),
    ]:
        yield op_record(name, 1, kinds, sampler, tol)
    yield op_record("atan2", 2, _real, _default)
    yield op_record("betainc", 3, _real, samples.rand_uniform, {f32: 2e-5, f64: 1e-12})
    for name in ("igamma", "igammac"):
        yield op_record(name, 2, _wide, _positive, {f64: 1e-14})


def _arithmetical() -> Iterator[OpRecord]:
    yield op_record("neg", 1, _arithmetic, _small)
    yield op_record("sign", 1, default_dtypes + uint_dtypes, _small)
    yield from (op_record(name, 1, _real, _small) for name in ("floor", "ceil", "is_finite"))
    yield op_record("round", 1, _real, _default)
    yield op_record("nextafter", 2, _no_bfloat16, _default, 0)
    yield from (op_record(name, 1, complex_dtypes, _default) for name in ("real", "imag"))
    yield op_record("complex", 2, complex_elem_dtypes, _default)
    yield op_record("conj", 1, complex_elem_dtypes + complex_dtypes, _default)
    yield op_record("abs", 1, _arithmetic, _default)
    yield op_record("pow", 2, _inexact, _positive)
    yield from (
        op_record(f"bitwise_{name}", 1 if name == "not" else 2, bool_dtypes, _small)
        for name in ("and", "not", "or", "xor")
    )
    yield from (op_record(name, 1, _integers, samples.rand_int) for name in ("population_count", "clz"))
    yield from (op_record(name, 2, _arithmetic, _small) for name in ("add", "sub", "mul"))
    yield op_record("mulhi", 2, _integers, samples.rand_fullrange)
    yield op_record("div", 2, _arithmetic, samples.rand_nonzero)
    yield op_record("rem", 2, default_dtypes, samples.rand_nonzero)
    yield from (op_record(name, 2, all_dtypes, _small) for name in ("max", "min"))
    yield op_record("eq", 2, all_dtypes, samples.rand_some_equal)
    yield op_record("ne", 2, all_dtypes, _small)
    yield from (op_record(name, 2, default_dtypes, _small) for name in ("ge", "gt", "le", "lt"))


def lax_ops() -> list[OpRecord]:
    """The functions of elements."""
    return [*_arithmetical(), *_elementary()]


def lax_out_dtype_ops() -> list[OpRecord]:
    """Those that can be told which dtype to compute in."""
    return [op_record("mul", 2, _arithmetic, _small)]


def _lax(name: str) -> Callable[..., Any]:
    """The function that ``jax.lax`` has."""
    return narrowed(getattr(lax, name), "jax.lax", name)  # type: ignore[no-any-return]


def _primitive(name: str) -> Any:
    return getattr(primitives, name)


def lax_reduce_ops() -> list[ReducerOpRecord]:
    """The functions that `lax.reduce` takes, with the neutral element of each."""
    found = [
        ReducerOpRecord(_lax("add"), np.add, 0, default_dtypes, _primitive("reduce_sum_p")),
        ReducerOpRecord(_lax("mul"), np.multiply, 1, default_dtypes, _primitive("reduce_prod_p")),
        ReducerOpRecord(_lax("max"), np.maximum, 0, uint_dtypes + bool_dtypes, _primitive("reduce_max_p")),
        ReducerOpRecord(_lax("max"), np.maximum, -np.inf, float_dtypes, _primitive("reduce_max_p")),
    ]
    for kind in (np.int32, np.int64):
        found.append(ReducerOpRecord(_lax("max"), np.maximum, np.iinfo(kind).min, [kind], _primitive("reduce_max_p")))
    found.append(ReducerOpRecord(_lax("min"), np.minimum, np.inf, float_dtypes, _primitive("reduce_min_p")))
    for any_kind in (np.int32, np.int64, np.uint32, np.uint64):
        found.append(
            ReducerOpRecord(_lax("min"), np.minimum, np.iinfo(any_kind).max, [any_kind], _primitive("reduce_min_p"))
        )
    bits = int_dtypes + uint_dtypes + bool_dtypes
    return [
        *found,
        ReducerOpRecord(_lax("bitwise_and"), np.bitwise_and, -1, bits, _primitive("reduce_and_p")),
        ReducerOpRecord(_lax("bitwise_or"), np.bitwise_or, 0, bits, _primitive("reduce_or_p")),
        ReducerOpRecord(_lax("bitwise_xor"), np.bitwise_xor, 0, bits, _primitive("reduce_xor_p")),
    ]


def lax_named_reduce_ops() -> list[NamedReducerOpRecord]:
    """The reductions that have names."""
    bits = bool_dtypes + int_dtypes + uint_dtypes
    return [
        NamedReducerOpRecord(_lax("reduce_sum"), np.sum, number_dtypes),
        NamedReducerOpRecord(_lax("reduce_prod"), np.prod, number_dtypes),
        NamedReducerOpRecord(_lax("reduce_max"), np.max, all_dtypes),
        NamedReducerOpRecord(_lax("reduce_min"), np.min, all_dtypes),
        NamedReducerOpRecord(_lax("reduce_and"), np.bitwise_and.reduce, bits),
        NamedReducerOpRecord(_lax("reduce_or"), np.bitwise_or.reduce, bits),
        NamedReducerOpRecord(_lax("reduce_xor"), np.bitwise_xor.reduce, bits),
    ]


# ---- Batches -------------------------------------------------------------------------------------------------------


def all_bdims(*shapes: Sequence[int]) -> Iterator[tuple[int | None, ...]]:
    """Every choice of an axis to map over, or of none, for each operand, but that of none for all."""
    choices = itertools.product(*([None, *range(len(shape) + 1)] for shape in shapes))
    return (chosen for chosen in choices if any(axis is not None for axis in chosen))


def add_bdim(bdim_size: int, bdim: int | None, shape: Sequence[int]) -> tuple[int, ...]:
    """The shape with the axis that is mapped over."""
    return tuple(shape) if bdim is None else (*shape[:bdim], bdim_size, *shape[bdim:])


def slicer(x: Any, bdim: int | None) -> Callable[[int], Any]:
    """What gives one of the parts along an axis, or the whole where there is no axis."""
    if bdim is None:
        return lambda _: x
    return lambda i: lax.index_in_dim(x, i, bdim, keepdims=False)


def args_slicer(args: Sequence[Any], bdims: Sequence[int | None]) -> Callable[[int], list[Any]]:
    """What gives the operands of one of the calls that a mapped one stands for."""
    parts = list(map(slicer, args, bdims))
    return functools.partial(lambda parts, i: [part(i) for part in parts], parts)
